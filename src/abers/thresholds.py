"""Thresholds: limits shared by evaluations, checks, pages and commands."""

# A difference is significant if its p-value is below this.
SIGNIFICANCE = 0.01
# Events or non-events of a group; with fewer, the normal approximation fails.
FEW_EVENTS = 5
# Positives or negatives; with fewer, bounds and standard errors are wide.
FEW_LABELS = 50
# Population stability index: moderate drift from the first limit, large above the
# second.
MODERATE_DRIFT, LARGE_DRIFT = 0.1, 0.2
# Default number of equal-width bins of the expected calibration error.
ECE_BINS = 10
# The largest acceptable expected calibration error of a check.
LARGEST_ECE = 0.02
