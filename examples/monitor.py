"""
An alarm that may be looked at after every row
==============================================

A weekly check with a level of 1 % gives a false alarm every other year, and a daily one
three or four a year. You may look at a `Monitor` as often as you like: as long as
nothing changes, the probability that there is *ever* an alarm is at most ``alpha``.

The data are simulated: from row 4,000 on, the odds are twice as high as before.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

import abers

rng = np.random.default_rng(0)


def draw(count, *, odds=1.0):
    """Draw scores and labels."""
    score = rng.normal(size=count)
    return score, rng.random(count) < expit(score - 1 + np.log(odds))


# %%
# The monitor begins with the calibration rows of the rule. Rows arrive with their
# labels, 500 per day; the world changes after the eighth day.

monitor = abers.Monitor(*draw(3_000), alpha=0.01)
for day in range(1, 21):
    state = monitor.update(*draw(500, odds=1.0 if day <= 8 else 2.0))
    if state.alarm:
        print(f"alarm on day {day}: {state.alarms}")
        break

# %%
# Three tests bet that the stream differs from the calibration rows, each with a capital
# of 1. If nothing has changed their bets are fair, and fair bets rarely make a fortune.
# The scores have not changed, and their test has won nothing.

display = monitor.plot()

# %%
# How often is there an alarm if nothing changes? In 50 streams of 3,000 rows, looked at
# after each row:

alarms = 0
for seed in range(50):
    quiet = abers.Monitor(*draw(1_000), alpha=0.01, random_state=seed)
    alarms += quiet.update(*draw(3_000)).alarm
print(f"{alarms} of 50")

plt.show()
