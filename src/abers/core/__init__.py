"""From scores to probabilities: diagrams, rules, merging and coupling."""
