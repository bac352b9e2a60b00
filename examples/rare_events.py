"""
Rare events: one case in a hundred
==================================

Fraud, defects, churn: the interesting class is rare, so the model is trained on a
sample in which it is not, and the probabilities are far too high. A rule corrects them,
and its bounds show how much the data can say.

The data are simulated.
"""

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier

import abers
from abers.plots import RuleDisplay

X, y = make_classification(
    60_000, n_informative=5, weights=[0.99], flip_y=0, class_sep=1.5, random_state=0
)
train, calibrate, new = np.split(np.arange(60_000), [20_000, 40_000])
print(f"{y.mean():.2%} of all cases are positive")

# %%
# The model sees all positives of its training rows, but only as many negatives. For the
# *order* of the cases that is fine. Its probabilities are those of the sample.

rng = np.random.default_rng(0)
positives = train[y[train] == 1]
negatives = rng.choice(train[y[train] == 0], len(positives), replace=False)
balanced = np.concatenate((positives, negatives))
model = HistGradientBoostingClassifier(random_state=0).fit(X[balanced], y[balanced])

score = model.decision_function(X)
raw = model.predict_proba(X)[:, 1]
print(f"mean prediction of the model: {raw[new].mean():.2%}")

# %%
# Among the calibration rows positives are as rare as in reality. One line fits a rule
# to their scores.

rule = abers.fit_rule(score[calibrate], y[calibrate])
print(f"mean prediction of the rule:  {rule.probability(score[new]).mean():.2%}")
print(abers.evaluate(rule, score[new], y[new], before=raw[new]))

# %%
# The rule cannot be more certain than its data: with *n* negatives among the
# calibration rows, no probability is below 1 / (*n* + 2). No setting is needed for
# this.

n_negatives = rule.n_rows - rule.n_positives
lowest = rule.probability(score[new]).min()
print(f"lowest probability {lowest:.6f}, limit {1 / (n_negatives + 2):.6f}")

# %%
# The rule over the score. Where positives are few, the bounds are wide.

display = RuleDisplay.from_rule(rule)
