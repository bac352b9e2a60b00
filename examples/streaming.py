"""
Streams: a calibration set that changes all the time
====================================================

Cases come one by one, and their labels later. `OnlineVennAbers` adds and removes rows
in microseconds, and its bounds always equal those of a rule fitted to the current rows,
bit for bit.

The data are simulated: the odds of a score rise and fall slowly.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

import abers

rng = np.random.default_rng(0)
n = 30_000
score = rng.normal(size=n)
truth = expit(score + 1.5 * np.sin(np.arange(n) / 3_000))
label = (rng.random(n) < truth).astype(int)

# %%
# One predictor keeps everything, the other the last 2,000 rows. Each predicts a case
# *before* it learns its label.

everything = abers.OnlineVennAbers()
window = abers.OnlineVennAbers(window=2_000)
predicted = {"everything": np.empty(n), "the last 2,000": np.empty(n)}
start = time.perf_counter()
for case in range(n):
    for name, online in zip(predicted, (everything, window), strict=True):
        predicted[name][case] = online.probability(score[case : case + 1])[0]
        online.add(score[case], label[case])
spent = (time.perf_counter() - start) / (2 * n)
print(f"{spent * 1e6:.0f} microseconds to predict and learn a case, on this machine")

# %%
# The window follows the change; all data together show only the average.

for name, p in predicted.items():
    loss = -np.mean(np.log(np.where(label == 1, p, 1 - p))[2_000:])
    print(f"{name:15s} log loss {loss:.4f}")
loss = -np.mean(np.log(np.where(label == 1, truth, 1 - truth))[2_000:])
print(f"{'the truth':15s} log loss {loss:.4f}")

# %%
# It is the same rule, bit for bit:

again = abers.fit_rule(score[-2_000:], label[-2_000:])
print(window.rule() == again)

# %%
figure, ax = plt.subplots(figsize=(5, 3.4), layout="constrained")
cuts = np.arange(0, n + 1, 500)
middle = (cuts[1:] + cuts[:-1]) / 2


def means(values):
    """Return the means of 500 cases each."""
    return np.add.reduceat(values, cuts[:-1]) / 500


ax.plot(middle, means(label), color="#6e7781", label="observed rate")
ax.plot(
    middle, means(predicted["the last 2,000"]), color="#005b8f", label="the last 2,000"
)
ax.plot(
    middle, means(predicted["everything"]), "--", color="#d55e00", label="everything"
)
ax.set(xlabel="case", ylabel="mean of 500 cases", ylim=(0, 1))
ax.legend()
plt.show()
