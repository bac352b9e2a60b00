"""
How much calibration data?
==========================

The bounds shrink to a point as data grow, faster than the calibration curve is learnt.
So they do not show how well the curve is known; `calibration_band` does. `sample_size`
plans how many rows are needed.

The data are simulated, so that the true curve is known.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

import abers
from abers.plots import RuleDisplay

rng = np.random.default_rng(0)


def draw(count):
    """Draw scores and labels; the true probability is a sigmoid of the score."""
    score = rng.normal(size=count)
    return score, (rng.random(count) < expit(1.5 * score - 1)).astype(int)


# %%
# Width of the bounds, error of the probability and width of the band, by the number of
# calibration rows:

grid = rng.normal(size=2_000)
truth = expit(1.5 * grid - 1)
print("  rows   bounds    error     band")
for count in (100, 1_000, 10_000, 100_000):
    score, label = draw(count)
    rule = abers.fit_rule(score, label)
    lower, upper = rule.bounds(grid).T
    error = np.mean(np.abs(rule.probability(grid) - truth))
    band = abers.evaluation.calibration_band(score, label)
    at = np.searchsorted(band.scores, grid, side="right") - 1
    inside = (at >= 0) & (at < len(band.scores) - 1)
    width = np.mean(band.upper[at[inside] + 1] - band.lower[at[inside]])
    print(f"{count:6d} {np.mean(upper - lower):8.4f} {error:8.4f} {width:8.4f}")

# %%
# The band at 1,000 rows, with the rule and the true curve (grey) inside. It covers the
# whole curve at once, whatever its shape, as long as it rises; that is why it is wide.

score, label = draw(1_000)
display = RuleDisplay.from_predictions(label, score, rule=abers.fit_rule(score, label))
shown = np.linspace(*display.ax_.get_xlim(), 200)
truth = expit(1.5 * shown - 1)
(line,) = display.ax_.plot(shown, truth, color="#6e7781", label="truth")

# %%
# Planned beforehand: rows for a mean calibration error of a tenth of the base rate. The
# rarer the event, the more rows.

for rate in (0.5, 0.2, 0.1):
    rows = abers.evaluation.sample_size(ece=rate / 10, base_rate=rate, auc=0.8)
    print(f"{rate:4.0%} positive: {rows:,} rows")

plt.show()
