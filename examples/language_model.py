"""
How sure is a language model (LLM), really?
===========================================

Asked how sure it is, a language model says 80 %, 90 % or 95 %, and hardly anything
else. As a probability that is poor. As a *score* it is fine: it orders answers, if only
roughly, and a rule learns what each level is worth. All that is needed are some hundred
answers that somebody has marked as right or wrong.

**The data are simulated**, no language model was asked: stated confidences come in a
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
# Six hundred marked answers. Ties are no difficulty: rows of equal score are
# pooled.

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
# The bounds are what the marked answers would say if the next answer were added to
# them, as wrong (lower) and as right (upper). Where few were marked they are far apart.

display = RuleDisplay.from_rule(rule)

# %%
# On new answers, before and after. Some answers that were stated with 100 % are wrong,
# which makes the log loss infinite.

stated_new, correct_new = ask(5_000)
print(abers.evaluate(rule, stated_new, correct_new, before=stated_new))

# %%
# A use for it: answer by yourself where the probability is at least 0.7, and ask a
# person otherwise.

for name, p in {
    "stated": stated_new,
    "calibrated": rule.probability(stated_new),
}.items():
    alone = p >= 0.7
    print(
        f"{name:10s} answers {alone.mean():4.0%} alone, "
        f"{correct_new[alone].mean():4.0%} of these right"
    )
