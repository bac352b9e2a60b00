"""The definition itself: what every fast path is measured against.

Isotonic regression is written down as the max-min formula: at the i-th distinct score
it is the maximum over a <= i of the minimum over b >= i of the average label of the
scores a, …, b (Robertson, Wright and Dykstra 1988, Section 1.4). A prediction is two
such fits, made from scratch for every test score and label, as Section 2 of the paper
defines it. No corner, stack, pooling or step function: nothing is shared with the
library or with its specification, and all arithmetic is exact.

On the star of several folds, and on vectors of scores, the same formula holds with
upper and lower sets of the partial order in the place of a and b (ibid., Theorem
1.4.4): all of them are tried.

Scores are any numbers but NaN. Weights are taken exactly, floats too; the test object
has weight 1, on a star any.
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
    """Return the isotonic regression at every row, in the order given."""
    weights = exact(weights, len(scores))
    return [isotonic_value(scores, labels, weights, s) for s in scores]


def refit(scores, labels, s, label, weights=None) -> Fraction:
    """Return f_label(s): the regression, at s, of calibration set and (s, label)."""
    weights = [*exact(weights, len(scores)), 1]
    return isotonic_value([*scores, s], [*labels, label], weights, s)


def bounds(scores, labels, s, weights=None) -> tuple[Fraction, Fraction]:
    """Return (p0, p1): the prediction of the IVAP at s, Section 2."""
    return refit(scores, labels, s, 0, weights), refit(scores, labels, s, 1, weights)


def pooled(folds, scores, label, weight=1) -> Fraction:
    """Return the regression on the star of all folds, at the test object.

    A fold is a list of (score, label) or (score, label, weight); the test object has a
    score in each, the postulated label and a weight.
    """
    # An upper set that holds the centre is all above it and, in each fold, a suffix of
    # what is below; a lower set is mirrored. They meet in such suffixes, the centre
    # with its ties, and prefixes of what is above: here all sums of weight and labels.
    below, above = {(0, 0)}, {(Fraction(weight), Fraction(weight) * label)}
    for fold, s in zip(folds, scores, strict=True):
        at = defaultdict(lambda: (0, 0))
        for score, y, *rest in fold:
            w = Fraction(*rest) if rest else 1
            at[score] = plus(at[score], (w, w * y))
        down = [at[key] for key in sorted(at, reverse=True) if key < s]
        up = [at[key] for key in sorted(at) if key > s]
        suffixes = list(accumulate(down, plus, initial=(0, 0)))
        prefixes = list(accumulate(up, plus, initial=at[s]))
        below = {plus(some, more) for some in below for more in suffixes}
        above = {plus(some, more) for some in above for more in prefixes}
    return max(min(Fraction(y + b, w + a) for a, b in above) for w, y in below)


def partial(vectors, labels, row, label, weights=None) -> Fraction:
    """Return the regression on vectors of scores, at a test object of weight 1.

    One vector is above another if none of its scores is lower.
    """
    vectors, labels = [*vectors, row], [*labels, label]
    weights = [*exact(weights, len(labels) - 1), 1]
    size = len(vectors)

    def mask(chosen):
        return sum(1 << i for i in range(size) if chosen(vectors[i]))

    above = [mask(lambda v, u=u: all(map(float.__ge__, v, u))) for u in vectors]
    below = [mask(lambda v, u=u: all(map(float.__le__, v, u))) for u in vectors]
    uppers, lowers = (
        [
            chosen
            for chosen in range(1 << (size - 1), 1 << size)  # all that hold the row
            if not any(chosen >> i & 1 and sets[i] & ~chosen for i in range(size))
        ]
        for sets in (above, below)
    )
    masses = list(zip(weights, labels, strict=True))

    def average(chosen):
        some = [mass for i, mass in enumerate(masses) if chosen >> i & 1]
        return Fraction(sum(w * y for w, y in some), sum(w for w, _ in some))

    averages = {both: average(both) for both in {u & v for u in uppers for v in lowers}}
    return max(min(averages[u & v] for v in lowers) for u in uppers)


def plus(a, b):
    """Add two pairs of weight and positives."""
    return a[0] + b[0], a[1] + b[1]
