"""
Weights: rows that stand for many
=================================

One negative in twenty was kept. Let each of them count as twenty: ``sample_weight`` is
the number of rows that a row represents. Integer weights give the same rule as repeated
rows, bit for bit.

The data are simulated.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

import abers

rng = np.random.default_rng(0)
score = rng.normal(size=200_000)
label = rng.random(200_000) < expit(1.2 * score - 4)
kept = label | (rng.random(200_000) < 0.05)
weight = np.where(label, 1, 20)[kept]
print(f"{len(score)} rows, {kept.sum()} kept, {label.sum()} positive")

# %%
# Without the weights, the rule is right for the sample and wrong for the population.

rules = {
    "all rows": abers.fit_rule(score, label),
    "sample": abers.fit_rule(score[kept], label[kept]),
    "weighted": abers.fit_rule(score[kept], label[kept], sample_weight=weight),
}
new = rng.normal(size=50_000)
truth = expit(1.2 * new - 4)
print(f"{'truth':9s} mean {truth.mean():.4f}")
for name, rule in rules.items():
    p = rule.probability(new)
    print(f"{name:9s} mean {p.mean():.4f}, mean error {np.abs(p - truth).mean():.4f}")

# %%
# The rule of the sample overstates the odds twentyfold; the weights correct it.

grid = np.linspace(-2, 3, 200)
figure, ax = plt.subplots(figsize=(5, 3.4), layout="constrained")
ax.semilogy(grid, expit(1.2 * grid - 4), color="#6e7781", label="truth")
for name, colour in {"sample": "#d55e00", "weighted": "#005b8f"}.items():
    ax.semilogy(grid, rules[name].probability(grid), color=colour, label=name)
ax.set(xlabel="score", ylabel="probability", ylim=(0.001, 1))
ax.yaxis.set_major_formatter("{x:g}")  # 0.001, not 10 with a small exponent
ax.legend()

# %%
# The same as with repeated rows, bit for bit:

repeated = abers.fit_rule(
    np.repeat(score[kept], weight), np.repeat(label[kept], weight)
)
print(rules["weighted"] == repeated)

# %%
# Weights cannot show what was lost: the bounds are no wider than those of the full
# data, although rows were thrown away. And no guarantee is proven for weights.

for name in ("all rows", "weighted"):
    lower, upper = rules[name].bounds(new).T
    print(f"{name:9s} mean width of the bounds {np.mean(upper - lower):.5f}")

plt.show()
