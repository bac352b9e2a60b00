"""From scores to probability: diagram, rule, merging, coupling."""
