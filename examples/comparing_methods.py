"""
Which method is best, on these rows?
====================================

There is no method that is always best. `compare` lets all of them predict the same
held-out rows, and shows how certain the differences are.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB

import abers
from abers.plots import LossesDisplay

X, y = load_breast_cancer(return_X_y=True)

# %%
# Naive Bayes is overconfident. Five models are trained, each without one fold, and all
# methods calibrate the same five, each on the fold that it has not seen; all are tested
# on the same further rows.

comparison = abers.compare(X, y, estimator=GaussianNB(), random_state=0)
print(comparison)

# %%
# Differences are paired over rows: from the reference, and from the best method, each
# with its standard error. One temperature, pooled CVAP and the stacked probability of
# `CalibratedClassifier` are level here. A sigmoid of naive Bayes' probabilities, which
# are near 0 or 1, is the worst of the calibration methods.

display = LossesDisplay.from_comparison(comparison)

# %%
# With another classifier, the order changes. With some hundred rows of nearly separable
# classes, a method with one parameter is hard to beat, and a rule of 85 rows has little
# to say; one rule of all five folds has more.

forest = RandomForestClassifier(100, random_state=0)
comparison = abers.compare(X, y, estimator=forest, random_state=0)
for method in comparison.methods:
    print(f"{method.name:22s} {method.log_loss:8.4f} {method.brier_loss:8.4f}")
