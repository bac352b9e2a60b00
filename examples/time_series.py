"""
Time series: calibrate on what came later
=========================================

If the world changes, random folds look too good: they calibrate on rows from the
future. Calibrate every model on rows that come after its training rows, as in real use.
``TimeSeriesSplit`` does that; any other splitter of scikit-learn, or pairs of row
numbers, would work, too.

The data are simulated: cases become rarer from month to month.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import TimeSeriesSplit

import abers
from abers.plots import ReliabilityDisplay

rng = np.random.default_rng(0)
month = np.repeat(np.arange(24), 400)
X = rng.normal(size=(month.size, 4))
y = (rng.random(month.size) < expit(X.sum(axis=1) - month / 8)).astype(int)
past, next_months = np.split(np.arange(month.size), [20 * 400])
print(
    f"observed: first year {y[month < 12].mean():.2f}, "
    f"last four months {y[next_months].mean():.2f}"
)

# %%
# Five random folds, five folds in order of time, and only the latest rows.

forest = RandomForestClassifier(100, min_samples_leaf=5, random_state=0)
models = {
    "random folds": abers.CalibratedClassifier(forest, random_state=0),
    "TimeSeriesSplit": abers.CalibratedClassifier(forest, cv=TimeSeriesSplit(5)),
    "latest months": abers.CalibratedClassifier(
        forest, cv=[(past[:-1_200], past[-1_200:])]
    ),
}
predictions = {}
for name, model in models.items():
    p = model.fit(X[past], y[past]).predict_proba(X[next_months])[:, 1]
    loss = abers.evaluation.log_loss(y[next_months], p)
    print(f"{name:16s} predicted {p.mean():.3f}, log loss {loss:.4f}")
    predictions[name] = p

# %%
# No guarantee holds here: new rows do not resemble the calibration rows. The latest
# rows are merely the most similar. Watch the stream with `abers.Monitor`, and refit.

display = ReliabilityDisplay.from_predictions(
    y[next_months],
    predictions["latest months"],
    before=predictions["random folds"],
    name="latest months",
    before_name="random folds",
)

plt.show()
