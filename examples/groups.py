"""
Groups: calibrated overall, but not in each group
=================================================

Two branches use one score. In one of them it has another meaning: the same score goes
with twice the odds. A rule of all rows is right on average and wrong for both; a rule
for each group is right for each.

The data are simulated, so that the truth is known.
"""

import numpy as np
from scipy.special import expit

import abers
from abers.plots import ReliabilityDisplay

rng = np.random.default_rng(0)


def draw(count):
    """Draw scores, labels and branches; the third branch is small."""
    branch = rng.choice(["north", "south", "island"], count, p=[0.6, 0.37, 0.03])
    score = rng.normal(size=count)
    shift = np.select([branch == "north", branch == "south"], [-0.35, 0.35], 1.5)
    return score, rng.random(count) < expit(score - 1 + shift), branch


score, label, branch = draw(6_000)
new_score, new_label, new_branch = draw(20_000)

# %%
# One rule for all. *z* is the distance between mean prediction and observed rate in
# standard errors.

one = abers.fit_rule(score, label)
evaluation = abers.evaluate(one, new_score, new_label, groups=new_branch)
print(evaluation)

# %%
after = one.probability(new_score)
display = ReliabilityDisplay.by_group(new_label, after, new_branch)

# %%
# A rule for each branch (Mondrian prediction). A group with fewer than 30 positives or
# negatives does not get its own rule. Such groups share one rule, fitted to all their
# rows, if together they have enough; otherwise the rule of all rows applies.

rules = abers.fit_rules(score, label, branch)
print(rules)
for name in np.unique(branch):
    print(f"{name:7s} {np.sum(branch == name):5d} rows: {rules.kind_of([name])[0]}")

# %%
# Now each branch is close to its observed rate. The bounds of the island are wide,
# because it has few rows.

evaluation = abers.evaluate(rules, new_score, new_label, groups=new_branch)
print(evaluation)
for name in np.unique(branch):
    rows = new_branch == name
    lower, upper = rules.bounds(new_score[rows], new_branch[rows]).T
    print(f"{name:7s} mean width of the bounds {np.mean(upper - lower):.3f}")

# %%
after = rules.probability(new_score, new_branch)
display = ReliabilityDisplay.by_group(new_label, after, new_branch)
