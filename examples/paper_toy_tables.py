"""
The paper's toy tables
======================

The longer version of the paper prints two tables that one can check by hand: both
bounds at each score, for every labelling of three calibration cases with the scores 1,
2, 3, and of four. Here they are, computed three times: by the definition, by the
paper's algorithms on exact fractions, and by the library.
"""

from fractions import Fraction
from itertools import product

import matplotlib.pyplot as plt
import numpy as np

import abers
from abers import reference

# %%
# **The definition**: put the new case among the others, with label 0 and with label 1,
# do isotonic regression, and read the value at the new case. Isotonic regression as
# everyone learns it: pool neighbours that are out of order.


def isotonic(groups):
    """Return the means of pooled groups, given as (sum, count), for each group."""
    blocks = []
    for total, count in groups:
        blocks.append([total, count, 1])
        while len(blocks) > 1 and (
            Fraction(*blocks[-2][:2]) >= Fraction(*blocks[-1][:2])
        ):
            last = blocks.pop()
            blocks[-1] = [a + b for a, b in zip(blocks[-1], last, strict=True)]
    return [Fraction(s, n) for s, n, members in blocks for _ in range(members)]


def by_definition(labels, place, postulated):
    """Return the value at a calibration score that the new case shares."""
    groups = [
        (label + postulated, 2) if at == place else (label, 1)
        for at, label in enumerate(labels)
    ]
    return isotonic(groups)[place]


# %%
# **The algorithms**, numbers 1 to 4 of the paper, are in `abers.reference`.


def row(labels):
    """Return both bounds at each score, as fractions, checked three times."""
    scores = range(1, len(labels) + 1)
    diagram = reference.Diagram.from_rows(scores, labels)
    lower, upper = reference.lower(diagram), reference.upper(diagram)
    for values, postulated in ((lower, 0), (upper, 1)):
        definition = [by_definition(labels, p, postulated) for p in range(len(labels))]
        assert list(values) == definition
    bounds = abers.fit_rule(scores, labels).bounds(scores)
    assert bounds[:, 0].tolist() == [float(p) for p in lower]
    assert bounds[:, 1].tolist() == [float(p) for p in upper]
    return lower, upper


for count in (3, 4):
    print(f"{'labels':10s} {'lower':18s} upper")
    for labels in product((0, 1), repeat=count):
        cells = [" ".join(f"{p!s:>4}" for p in values) for values in row(labels)]
        print(f"{' '.join(map(str, labels)):10s} {cells[0]:18s} {cells[1]}".rstrip())
    print()

# %%
# No assertion failed: all three agree in each of the 24 rows. The library's numbers are
# the floating-point numbers nearest to the fractions.

# %%
# The first table as a picture: a panel for each labelling, a circle for each label, and
# a bar from the lower to the upper bound at each score.

figure, panels = plt.subplots(
    *(2, 4), figsize=(6, 3.6), sharex=True, sharey=True, layout="constrained"
)
for ax, labels in zip(panels.flat, product((0, 1), repeat=3), strict=True):
    lower, upper = np.array(row(labels), float)
    ax.vlines([1, 2, 3], lower, upper, color="#005b8f", linewidth=6)
    ax.plot([1, 2, 3], labels, "o", color="#d55e00", fillstyle="none", clip_on=False)
    ax.set(xlim=(0.5, 3.5), ylim=(0, 1), xticks=[1, 2, 3], yticks=[0, 0.5, 1])
figure.supxlabel("score")
figure.supylabel("bounds")

plt.show()
