"""
Drift: when the world changes
=============================

A rule is right as long as new cases resemble the calibration cases. `check` asks
whether they still do. It distinguishes two changes that are often confused: different
*cases* (the scores move, and the rule is still right) and a different *world* (the same
score means something else).

The data are simulated.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

import abers

rng = np.random.default_rng(0)


def week(*, scores=0.0, world=0.0, count=1_000):
    """Draw a week: move the scores, or what a score means."""
    score = rng.normal(scores, 1, count)
    return score, rng.random(count) < expit(1.5 * score - 1 + world)


def show(result):
    """Print the tests and limits of a check."""
    for finding in result.findings:
        print(f"{finding.name:6s} {finding.value:7.4f}  {finding.result}")


rule = abers.fit_rule(*week(count=5_000))

# %%
# Nothing has changed. `psi` is the drift of the scores; `mean` and `slope` are
# p-values, for a change of all probabilities and for a change of their spread.

show(abers.check(rule, *week()))

# %%
# Different cases: the scores have moved, and so has the observed rate. The drift of the
# scores is reported; no test of the probabilities fails.

show(abers.check(rule, *week(scores=1.0)))

# %%
# A different world: the scores are as before, but the odds have doubled. Without labels
# nobody could know.

show(abers.check(rule, *week(world=np.log(2))))

# %%
# A check every Monday: the world begins to change in week 12, a little each week.
# ``alpha`` is the probability of a false alarm of each check, whatever the size of the
# calibration set; 0.001 is one false alarm in a thousand weeks.

p_values, alarms = [], []
for number in range(24):
    moved = 0.08 * max(0, number - 11)
    result = abers.check(rule, *week(world=moved), alpha=0.001)
    tests = {finding.name: finding for finding in result.findings}
    p_values.append(tests["mean"].value)
    alarms.append(any(tests[n].result == "fail" for n in ("mean", "slope")))
print(f"first alarm in week {alarms.index(True)}")

figure, ax = plt.subplots(figsize=(5, 3.2), layout="constrained")
ax.semilogy(p_values, "o-", color="#005b8f", markersize=4)
ax.axhline(0.001, color="#d55e00", linestyle="--", label="alpha")
ax.axvline(11.5, color="#6e7781", linestyle=":", label="the world changes")
ax.set(xlabel="week", ylabel="p-value, change of the mean")
ax.yaxis.set_major_formatter("{x:g}")  # 0.001, not 10 with a small exponent
ax.legend(loc="lower left")
plt.show()
