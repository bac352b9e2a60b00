"""
How sure is a language model (LLM), really?
===========================================

Asked how sure it is, a language model says 80 %, 90 % or 95 %, and hardly anything
else. As a probability that is poor. As a *score* it is good enough: it orders answers,
if only roughly, and a rule learns what each level is worth. All you need is a few
hundred answers that were marked as right or wrong.

**The data are simulated**; no language model was asked. Stated confidences come in a
few round numbers, and are right less often than they claim.
"""

import numpy as np

import abers
from abers.plots import RuleDisplay

rng = np.random.default_rng(0)
levels = np.array([0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.99, 1.0])
often = np.array([2, 2, 4, 5, 17, 10, 26, 22, 8, 4]) / 100
right = np.array([0.33, 0.35, 0.38, 0.42, 0.46, 0.5, 0.6, 0.7, 0.82, 0.86])


def ask(count):
    """Draw stated confidences, and whether the answers were right."""
    level = rng.choice(len(levels), count, p=often)
    return levels[level], rng.random(count) < right[level]


# %%
# Six hundred marked answers. Ties are not a problem: rows with equal scores are pooled.

stated, correct = ask(600)
rule = abers.fit_rule(stated, correct)
print("stated   answers  right    lower   upper   probability")
for level in levels:
    rows = stated == level
    (lower, upper), p = rule.bounds([level])[0], rule.probability([level])[0]
    print(
        f"{level:6.2f} {rows.sum():9d} {correct[rows].mean():6.2f} "
        f"{lower:8.3f} {upper:7.3f} {p:10.3f}"
    )

# %%
# The bounds are the estimates after adding the next answer to the marked ones, as wrong
# (lower) and as right (upper). Where few were marked, the bounds are far apart.

display = RuleDisplay.from_rule(rule)

# %%
# On new answers, before and after. Some answers with a stated confidence of 100 % are
# wrong, which makes the log loss infinite.

stated_new, correct_new = ask(5_000)
print(abers.evaluate(rule, stated_new, correct_new, before=stated_new))

# %%
# One use: return the answer if the probability is at least 0.7, and ask a person
# otherwise.

for name, p in {
    "stated": stated_new,
    "calibrated": rule.probability(stated_new),
}.items():
    alone = p >= 0.7
    print(
        f"{name:10s} answers {alone.mean():4.0%} alone, "
        f"{correct_new[alone].mean():4.0%} of these right"
    )
