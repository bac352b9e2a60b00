"""Experiments: the paper's, reproduced, and a study of accuracy; not installed."""
