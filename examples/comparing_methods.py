"""
Which method is best, on these rows?
====================================

There is no method that is always best. `compare` lets all of them predict the same
held-out rows, and says how sure the differences are.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB

import abers
from abers.plots import LossDisplay

X, y = load_breast_cancer(return_X_y=True)

# %%
# Naive Bayes is overconfident. Every method may use the same rows, spends them in its
# own way, and is tested on the same others; the first line of the result says how.

found = abers.compare(X, y, estimator=GaussianNB(), random_state=0)
print(found)

# %%
# Differences are paired over rows: from the reference, and from the best method, each
# with its standard error. One temperature and pooled CVAP are level here, and ahead of
# the others. Plain isotonic regression gave probability 0 to something that happened,
# and its log loss is infinite.

display = LossDisplay.from_comparison(found)

# %%
# Another classifier, another order. With some hundred rows of nearly separable classes,
# a method with one parameter is hard to beat, and a rule of 85 rows has little to say.

forest = RandomForestClassifier(100, random_state=0)
found = abers.compare(X, y, estimator=forest, random_state=0)
for method in found.methods:
    print(f"{method.name:22s} {method.log_loss:8.4f} {method.brier_loss:8.4f}")
