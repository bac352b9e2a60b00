"""Hypothesis draws the same examples on every run, unless asked to explore."""

import os

# Before scipy is loaded: else scikit-learn leaves out its check of array-API input.
os.environ["SCIPY_ARRAY_API"] = "1"

from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None, database=None)
settings.register_profile("explore", deadline=None, database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))
