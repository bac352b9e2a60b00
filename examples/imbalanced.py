"""
Imbalanced data, and negatives that were dropped
================================================

One case in fifty is positive. People balance such data before they train, by class
weights or by dropping negatives, and then wonder about the probabilities: the model now
predicts a world in which half of the cases are positive. Calibration on rows that are
*not* balanced corrects this.

The data are simulated.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

import abers
from abers.plots import ReliabilityDisplay

X, y = make_classification(
    60_000, n_informative=6, weights=[0.98], flip_y=0.005, random_state=0
)
train, new = np.split(np.arange(len(y)), [30_000])
balanced = LogisticRegression(class_weight="balanced")
before = balanced.fit(X[train], y[train]).predict_proba(X[new])[:, 1]
print(f"observed {y[new].mean():.3f}, predicted {before.mean():.3f}")

# %%
# ``CalibratedClassifier`` trains the same classifier, balanced as it was, and
# calibrates on folds as they are.

model = abers.CalibratedClassifier(
    LogisticRegression(class_weight="balanced"), random_state=0
).fit(X[train], y[train])
after = model.predict_proba(X[new])[:, 1]
print(f"observed {y[new].mean():.3f}, predicted {after.mean():.3f}")
display = ReliabilityDisplay.from_predictions(y[new], after, before=before)

# %%
# If negatives were dropped *before* you got the data, each of the others stands for
# several. Give them weights, and the probabilities are right for the original
# population. Here one negative in ten was kept.

draws = np.random.default_rng(0)
kept = train[(y[train] == 1) | (draws.random(train.size) < 0.1)]
weights = np.where(y[kept] == 1, 1, 10)
for name, sample_weight in {"no weights": None, "weights": weights}.items():
    model = abers.CalibratedClassifier(LogisticRegression(), random_state=0)
    model.fit(X[kept], y[kept], sample_weight=sample_weight)
    p = model.predict_proba(X[new])[:, 1]
    loss = abers.evaluation.log_loss(y[new], p)
    print(f"{name:10s} predicted {p.mean():.3f}, log loss {loss:.4f}")

plt.show()
