"""The definition itself: what every fast path is measured against.

Isotonic regression is written down as the max-min formula: at the i-th distinct score
it is the maximum over a <= i of the minimum over b >= i of the average label of the
scores a, …, b (Robertson, Wright and Dykstra 1988, Section 1.4). A prediction is two
such fits, made from scratch for every test score and label, as Section 2 of the paper
defines it. No corner, stack, pooling or step function: nothing is shared with the
library or with its specification, and all arithmetic is exact.

Scores are any numbers but NaN. Weights are taken exactly, floats too; the test object
has weight 1.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import accumulate


def isotonic_value(scores, labels, weights, s) -> Fraction:
    """Return the value, at one of the scores, of the isotonic regression of all."""
    weight, positive = defaultdict(int), defaultdict(int)
    for score, label, w in zip(scores, labels, weights, strict=True):
        weight[score] += w
        positive[score] += w * label
    keys = sorted(weight)
    i = keys.index(s)
    # The average label of the keys a, …, b - 1 is (y[b] - y[a]) / (w[b] - w[a]).
    w = [0, *accumulate(weight[key] for key in keys)]
    y = [0, *accumulate(positive[key] for key in keys)]
    return max(
        min(Fraction(y[b] - y[a], w[b] - w[a]) for b in range(i + 1, len(keys) + 1))
        for a in range(i + 1)
    )


def exact(weights, size) -> list[int | Fraction]:
    """Return weights as exact numbers, ones by default."""
    return [1] * size if weights is None else [Fraction(w) for w in weights]


def isotonic(scores, labels, weights=None) -> list[Fraction]:
    """Return the isotonic regression at every observation, in the order given."""
    weights = exact(weights, len(scores))
    return [isotonic_value(scores, labels, weights, s) for s in scores]


def refit(scores, labels, s, label, weights=None) -> Fraction:
    """Return f_label(s): the regression, at s, of calibration set and (s, label)."""
    weights = [*exact(weights, len(scores)), 1]
    return isotonic_value([*scores, s], [*labels, label], weights, s)


def bounds(scores, labels, s, weights=None) -> tuple[Fraction, Fraction]:
    """Return (p0, p1): the prediction of the IVAP at s, Section 2."""
    return refit(scores, labels, s, 0, weights), refit(scores, labels, s, 1, weights)


def pooled(folds, row, label, weight=1) -> Fraction:
    """Return the isotonic regression at the centre of the star, by enumeration.

    `folds` lists for each chain its observations (score, label, weight). An upper set
    that holds the centre takes all that is above it or tied in each chain, and a run
    of keys just below it; a lower set the mirror. The value at the centre is the
    maximum over upper sets of the minimum over lower sets of the average label of
    what they have in common (max-min formula for partial orders).
    """
    chains = [_arms(fold, s) for fold, s in zip(folds, row, strict=True)]
    fixed = [(weight, weight * Fraction(label)), *(ties for _, ties, _ in chains)]
    downs = _all_sums([below for below, _, _ in chains])
    ups = _all_sums([above for _, _, above in chains])
    w, y = (sum(parts) for parts in zip(*fixed, strict=True))
    return max(
        min(Fraction(y + y0 + y1) / (w + w0 + w1) for w1, y1 in ups) for w0, y0 in downs
    )


def _arms(fold, s):
    """Cumulate (weight, positives) away from s: below, the ties themselves, above."""
    keys = sorted({score for score, _, _ in fold})

    def cumulated(scores):
        sums = [(0, 0)]
        for key in scores:
            mass = [(w, w * label) for score, label, w in fold if score == key]
            w, y = (sum(part) for part in zip(*mass, strict=True))
            sums.append((sums[-1][0] + w, sums[-1][1] + y))
        return sums

    below = cumulated([key for key in reversed(keys) if key < s])
    ties = cumulated([key for key in keys if key == s])[-1]
    above = cumulated([key for key in keys if key > s])
    return below, ties, above


def _all_sums(arms):
    """Every way to take one start of each arm: the sums of (weight, positives)."""
    sums = {(0, 0)}
    for arm in arms:
        sums = {(w + dw, y + dy) for w, y in sums for dw, dy in arm}
    return sums
