"""
The logits of a neural network (PyTorch, JAX, TensorFlow)
=========================================================

A network that is trained until it fits is overconfident. Its logits still order the
cases well, and they are all that calibration needs: columns of numbers from any
framework. Here the network is scikit-learn's, on handwritten digits.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import softmax
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.neural_network import MLPClassifier

import abers
from abers.plots import ReliabilityDisplay

rng = np.random.default_rng(0)
X, y = load_digits(return_X_y=True)
X = X + rng.normal(0, 5, X.shape)  # noise, so that there is something to doubt
train, calibrate, new = np.split(rng.permutation(len(y)), [600, 1_400])
network = MLPClassifier((100,), alpha=0, max_iter=300, random_state=0)
network.fit(X[train], y[train])


def logits(features):
    """Return what the last layer says before the softmax, as any framework could."""
    hidden = np.maximum(features @ network.coefs_[0] + network.intercepts_[0], 0)
    return hidden @ network.coefs_[1] + network.intercepts_[1]


before = softmax(logits(X[new]), axis=1)
print(f"right: {np.mean(before.argmax(axis=1) == y[new]):.1%}")
print(f"mean confidence: {before.max(axis=1).mean():.1%}")

# %%
# Calibrators take one column of scores per class. `TemperatureCalibrator` divides all
# logits by one number, which is what most people do. `IVAPCalibrator` learns a rule for
# each class. `StackedCalibrator` mixes the network's own probabilities, a linear map of
# all logits, and such rules, and has bounds.

calibrators = {
    "stacked": abers.StackedCalibrator(scores="log-odds"),
    "IVAP": abers.IVAPCalibrator(scores="margin"),
    "temperature": abers.TemperatureCalibrator(),
    "isotonic": abers.IsotonicCalibrator(),
}
print(f"{'none':12s} log loss {log_loss(y[new], before):.3f}")
for name, calibrator in calibrators.items():
    p = calibrator.fit(logits(X[calibrate]), y[calibrate]).predict_proba(logits(X[new]))
    zeros = np.sum(p[np.arange(len(new)), y[new]] == 0)
    note = f" (infinite: {zeros} digits had probability 0)" if zeros else ""
    print(f"{name:12s} log loss {log_loss(y[new], p):.3f}{note}")

# %%
# With 80 calibration rows per class, one parameter does better than ten rules: a
# network is wrong in just the way that a temperature corrects. The mixture does better
# than either, and its weights show what it is made of.

print(calibrators["stacked"].rule_)
after = calibrators["stacked"].predict_proba(logits(X[new]))
display = ReliabilityDisplay.from_predictions(y[new], after, before=before)

# %%
# The bounds of the first rows, for the digit that is most probable.

bounds = calibrators["stacked"].predict_bounds(logits(X[new]))
for row in range(4):
    digit = after[row].argmax()
    low, high = bounds[row, digit]
    print(
        f"digit {digit}, really {y[new][row]}: probability {after[row, digit]:.2f}, "
        f"bounds {low:.2f} to {high:.2f}"
    )

plt.show()
