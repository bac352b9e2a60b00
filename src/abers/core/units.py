"""Weights as whole numbers of units, so that rules of real weights are exact, too.

Sums of doubles depend on their order; sums of integers do not. So weights are rounded
once, on arrival: a weight w becomes the whole number of *units* nearest to w *
2**scale, and a new case, of weight 1, becomes 2**scale units. After that, everything is
integer arithmetic, and a bound is a quotient of two integers, rounded once.

One scale serves all weights of a call. It is 0 if they are whole. Otherwise it is the
largest at which all units and the new case cannot exceed 2**53, however they are
rounded. It depends on `Magnitudes` alone, which add up exactly over rows and parts, so
neither the order of rows nor the division into parts changes a bit. A weight that is
too small next to the total has no units, and its row is dropped like one of weight 0.

A bound is off by at most half a unit per row of its block: by some 1e-12 if the weights
add up to 1e4, and by ten times as much with each power of ten; REAL_WEIGHTS.md, among
the benchmarks, derives the limit and measures it.

Diagrams keep units in canonical form: common trailing zero bits are stripped, as far as
the scale allows. Whole masses then have scale 0, halves scale 1, and equal masses have
equal units, however they were made. Bounds stay the same, because units and the new
case shrink alike. And a scale is never finer than its masses need, so whole and dyadic
masses add up exactly as long as the total, in the finer of the two units, stays within
2**53.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from abers.errors import InvalidData
from abers.validation import LARGEST_EXACT_INTEGER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from abers.validation import FloatArray, IntArray

LEAST_EXPONENT = -1073  # of the smallest double, as returned by frexp
LEAST_SCALE = 20  # for real weights; at a coarser scale bounds may err by 1e-6
MOST_SCALE = 52  # at which a new case and a unit do not exceed 2**53
ONE = Fraction(1)


@dataclass(frozen=True, slots=True)
class Magnitudes:
    """The sizes of weights, which determine their scale; they add up over parts.

    >>> magnitudes(np.array([3.0, 2.0])) + magnitudes(np.array([0.5]))
    Magnitudes(exponents={2: 2, 0: 1}, whole_total=None)
    """

    # How many weights lie in [2**(e - 1), 2**e), for each e with any.
    exponents: Mapping[int, int] = field(default_factory=dict)
    whole_total: int | None = 0  # capped at 2**53; None unless all weights are whole

    def __add__(self, other: Magnitudes) -> Magnitudes:
        """Return the magnitudes of the weights of both."""
        exponents = dict(Counter(self.exponents) + Counter(other.exponents))
        if self.whole_total is None or other.whole_total is None:
            return Magnitudes(exponents, None)
        total = self.whole_total + other.whole_total
        return Magnitudes(exponents, min(total, LARGEST_EXACT_INTEGER))


class Units(NamedTuple):
    """Masses of both labels in units of 2**-scale, one pair per score."""

    negatives: IntArray
    positives: IntArray
    scale: int

    @property
    def total(self) -> int:
        """How many units there are."""
        return int(self.negatives.sum() + self.positives.sum())


def is_scale(value: object) -> bool:
    """Return whether this is a valid scale of a diagram."""
    return type(value) is int and 0 <= value <= MOST_SCALE


def magnitudes(weights: FloatArray, positives: FloatArray | None = None) -> Magnitudes:
    """Return the magnitudes of finite weights, none negative; zeros do not count.

    If counts come with positives, both must be whole for the weights to be whole.

    >>> magnitudes(np.array([0.0, 3.0, 4.0]))
    Magnitudes(exponents={2: 1, 3: 1}, whole_total=7)
    """
    _, exponent = np.frexp(weights[weights > 0])
    rows = np.bincount(exponent - LEAST_EXPONENT)
    (present,) = np.nonzero(rows)
    exponents = (present + LEAST_EXPONENT).tolist()
    return Magnitudes(
        dict(zip(exponents, rows[present].tolist(), strict=True)),
        _whole_total(weights) if positives is None or _are_whole(positives) else None,
    )


def scale_for(
    magnitudes: Magnitudes, name: str = "sample_weight", new_case: Fraction = ONE
) -> int:
    """Return the scale for weights of these magnitudes; raise if there is none.

    A new case weighs `new_case`, p / q: masses then count q times, and the new case p *
    2**scale. Each weight is less than its 2**e; B is the sum of these 2**e. The scale s
    is the largest with (q B + p) 2**s <= 2**53.

    >>> scale_for(magnitudes(np.array([3.0, 2.0])))
    0
    >>> scale_for(magnitudes(np.array([3.0, 2.5])))  # (4 + 4 + 1) 2**49 <= 2**53
    49
    """
    p, q = new_case.numerator, new_case.denominator
    total = magnitudes.whole_total
    if total is not None:
        if q * total + p > LARGEST_EXACT_INTEGER:
            _refuse_whole_total(total, name, (LARGEST_EXACT_INTEGER - p) // q)
        return 0
    exponents = magnitudes.exponents
    lowest = min(0, *exponents)
    bound = sum(rows << (e - lowest) for e, rows in exponents.items())  # B 2**-lowest
    scale = _largest_scale(q * bound + (p << -lowest), lowest)
    if scale < LEAST_SCALE:
        _refuse_real_total(bound, lowest, name, new_case)
    if max(exponents) + scale <= 0:  # no weight is as large as a unit
        msg = (
            f"{name} must not all vanish beside a new case, which weighs {new_case}; "
            f"all are less than 2**{max(exponents)}. Scale them to a mean of 1."
        )
        raise InvalidData(msg)
    return scale


def units(weights: FloatArray | IntArray, scale: int) -> IntArray:
    """Return weights in units of 2**-scale, rounded half to even.

    >>> units(np.array([1.0, 0.3, 0.125, 0.375, 0.1]), 2)
    array([4, 1, 0, 2, 0])
    """
    return np.rint(np.ldexp(weights, scale)).astype(np.int64)


def units_of_counts(counts: FloatArray, positives: FloatArray, scale: int) -> Units:
    """Return counts and their positives in units; negatives are the difference.

    >>> units_of_counts(np.array([2.5]), np.array([0.75]), 1)  # 5 and 1.5 units
    Units(negatives=array([3]), positives=array([2]), scale=1)
    """
    ones = units(positives, scale)
    return Units(units(counts, scale) - ones, ones, scale)


def shown(units: IntArray, scale: int) -> IntArray | FloatArray:
    """Return the masses of units: integers if the scale is 0.

    >>> shown(np.array([3, 1]), 0), shown(np.array([3, 1]), 1)
    (array([3, 1]), array([1.5, 0.5]))
    """
    return np.ldexp(units, -scale) if scale else units


def total_text(weight: float) -> str:
    """Return a total weight for people: rows in full, others to six digits.

    >>> total_text(1234567), total_text(594.3377149120952)
    ('1234567', '594.338')
    """
    return str(weight) if weight == int(weight) else f"{weight:.6g}"


def canonical(masses: Units) -> Units:
    """Strip the common trailing zero bits, as far as the scale allows.

    >>> canonical(Units(np.array([4, 12]), np.array([0, 8]), 3))  # 1/2, 3/2 and 1
    Units(negatives=array([1, 3]), positives=array([0, 2]), scale=1)
    >>> canonical(Units(np.array([4, 12]), np.array([0, 8]), 1)).scale  # 2, 6 and 4
    0
    """
    if masses.scale == 0:
        return masses
    bits = int(np.bitwise_or.reduce(masses.negatives | masses.positives))
    zeros = (bits & -bits).bit_length() - 1 if bits else masses.scale
    return rescaled(masses, masses.scale - min(zeros, masses.scale))


def rescaled(masses: Units, scale: int) -> Units:
    """Return masses at another scale: exact if it is finer, else rounded once.

    >>> rescaled(Units(np.array([5]), np.array([2]), 1), 3)
    Units(negatives=array([20]), positives=array([8]), scale=3)
    >>> rescaled(Units(np.array([5]), np.array([2]), 1), 0)  # 2.5 and 1
    Units(negatives=array([2]), positives=array([1]), scale=0)
    """
    shift = scale - masses.scale
    if shift == 0:
        return masses
    return Units(units(masses.negatives, shift), units(masses.positives, shift), scale)


def common_scale(
    parts: Sequence[Units], name: str = "counts", new_case: Fraction = ONE
) -> int:
    """Return the scale at which canonical masses are added; raise if there is none.

    It is the finest scale of the parts, or the finest that their total allows, if that
    is coarser. Convert all parts with `rescaled`, add them, drop scores without units,
    and make the sum canonical: two halves at one score make a whole.

    >>> none, one, many = np.array([0]), np.array([1]), np.array([2**30])
    >>> common_scale([Units(many, none, 0), Units(one, none, 1)])  # of 1/2: exact
    1
    >>> common_scale([Units(many, none, 0), Units(one, none, 50)])  # of 2**-50: rounded
    22
    """
    p, q = new_case.numerator, new_case.denominator
    finest = max((part.scale for part in parts), default=0)
    total = sum(part.total << (finest - part.scale) for part in parts)
    scale = _largest_scale(q * total + (p << finest), -finest)
    if scale >= finest:
        return finest
    if finest == 0:
        _refuse_whole_total(total, name, (LARGEST_EXACT_INTEGER - p) // q)
    if scale >= LEAST_SCALE:
        rounded = sum(rescaled(part, scale).total for part in parts)
        if q * rounded + (p << scale) > LARGEST_EXACT_INTEGER:  # many rounded up
            scale -= 1
    if scale < LEAST_SCALE:
        _refuse_real_total(total, -finest, name, new_case)
    return scale


def order_free_sums(values: FloatArray, places: IntArray, size: int) -> FloatArray:
    """Sum nonnegative numbers at each place, with the same bits in any order.

    They are rounded to multiples of a power of two at which no sum reaches 2**53, one
    power per place, so the sums are exact.

    >>> order_free_sums(np.array([0.1, 0.2, 0.3, 7]), np.array([0, 0, 0, 2]), 3)
    array([0.6, 0. , 7. ])
    """
    _, exponents = np.frexp(values)
    exponents[values == 0] = LEAST_EXPONENT
    largest = np.full(size, LEAST_EXPONENT, dtype=exponents.dtype)
    np.maximum.at(largest, places, exponents)
    _, bits = np.frexp(np.bincount(places, minlength=size).astype(np.float64))
    shifts = 53 - bits - largest
    rounded = np.rint(np.ldexp(values, shifts[places]))
    sums = np.bincount(places, rounded, minlength=size)
    total: FloatArray = np.ldexp(sums, -shifts)
    return total


def order_free_sum(values: FloatArray) -> float:
    """Sum finite nonnegative numbers, with the same bits in any order."""
    _, exponent = np.frexp(values.max(initial=0.0))
    shift = 53 - values.size.bit_length() - int(exponent)
    return float(np.ldexp(np.rint(np.ldexp(values, shift)).sum(), -shift))


def _largest_scale(total: int, exponent: int) -> int:
    """Return the largest s with total * 2**exponent * 2**s <= 2**53."""
    return 53 - (total - 1).bit_length() - exponent


def _are_whole(weights: FloatArray) -> bool:
    return bool((weights == np.floor(weights)).all())


def _whole_total(weights: FloatArray) -> int | None:
    """Return the total of whole weights, capped at 2**53; None for other weights."""
    if not _are_whole(weights):
        return None
    with np.errstate(over="ignore"):
        # Exact if below 2**53; not below if the exact total is not.
        total = weights.sum()
    return int(min(total, LARGEST_EXACT_INTEGER))


def _refuse_whole_total(total: int, name: str, largest: int) -> None:
    more = " or more" if total >= LARGEST_EXACT_INTEGER else ""
    msg = (
        f"{name} must add up to at most {largest}, so that bounds are rounded only "
        f"once; got {total}{more}. Scale them down."
    )
    raise InvalidData(msg)


def _refuse_real_total(
    total: int, exponent: int, name: str, new_case: Fraction
) -> None:
    power = round(math.log2(total)) + exponent
    most = 53 - LEAST_SCALE - (new_case.denominator - 1).bit_length()
    msg = (
        f"{name} must be whole or add up to less than about 2**{most}, because a new "
        f"case weighs {new_case}; got a total of about 2**{power}. Scale the weights "
        "to a mean of 1, or give integers."
    )
    raise InvalidData(msg)
