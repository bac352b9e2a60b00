"""Weights become whole numbers of units: once, exactly, in any order of rows."""

import math
from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given, settings

import oracle
from abers import _kernel
from abers.core.units import (
    LEAST_SCALE,
    Magnitudes,
    Units,
    canonical,
    common_scale,
    magnitudes,
    rescaled,
    scale_for,
    units,
    units_of_counts,
)
from abers.errors import InvalidData

MOST = 2**53
NONE = np.array([0])

# Of one size or of many; the least and the largest are not refused beside others.
alike = st.floats(0.01, 100)
of_all_sizes = st.one_of(
    alike,
    st.floats(0, 2.0**25),
    st.integers(0, 2**25).map(float),
    st.integers(-1074, 25).map(lambda e: math.ldexp(1, e)),
)


def real_weights(element=of_all_sizes, max_size=20):
    """Draw weights that are not all whole, one of which at least does not vanish."""
    rest = st.lists(element, max_size=max_size - 1)
    return st.builds(lambda weights, w: [*weights, w], rest, alike).filter(
        lambda weights: not all(w.is_integer() for w in weights)
    )


def array(*weights):
    return np.array(weights, dtype=float)


def scale_of(weights, **options):
    return scale_for(magnitudes(np.array(weights)), **options)


def units_at(draws, scale):
    half = len(draws) // 2
    masses = np.array(draws, np.int64)
    return Units(masses[:half], masses[half : 2 * half], scale)


def values(masses):
    """Return the masses themselves, exactly."""
    flat = [*masses.negatives.tolist(), *masses.positives.tolist()]
    return [Fraction(count, 2**masses.scale) for count in flat]


# The rule, in Fractions.


@given(real_weights(), st.fractions(1, 3, max_denominator=5))
def test_scale_is_the_largest_that_the_sum_of_powers_allows(weights, new_case):
    powers = sum(Fraction(2) ** math.frexp(w)[1] for w in weights if w > 0)
    p, q = new_case.numerator, new_case.denominator
    scale = scale_of(weights, new_case=new_case)
    assert (q * powers + p) * 2**scale <= MOST < (q * powers + p) * 2 ** (scale + 1)


@given(real_weights())
@example([0.5, math.ulp(0.0)])
@example([math.nextafter(2.0**20, 0)] * 4096)
def test_units_are_the_nearest_and_with_the_new_case_they_stay_exact(weights):
    scale = scale_of(weights)
    counted = units(np.array(weights), scale)
    assert counted.dtype == np.int64
    assert counted.tolist() == [round(Fraction(w) * 2**scale) for w in weights]
    assert sum(counted.tolist()) + 2**scale <= MOST


@given(st.lists(st.integers(0, 2**48), min_size=1, max_size=20))
def test_whole_weights_are_their_own_units(weights):
    assert scale_of(array(*weights)) == 0
    assert units(array(*weights), 0).tolist() == weights


def test_whole_weights_are_exact_up_to_the_last_total():
    assert scale_of([2.0**52, 2.0**52 - 1]) == 0
    with pytest.raises(InvalidData, match="at most 9007199254740991"):
        scale_of([2.0**52, 2.0**52])


def test_counts_are_whole_only_if_their_positives_are():
    counts, positives = array(3, 2), array(0.5, 2)
    assert scale_for(magnitudes(counts, array(1, 2))) == 0
    assert scale_for(magnitudes(counts, positives)) == scale_of([3.5, 2])


@given(real_weights(), st.lists(st.floats(0, 1), min_size=20, max_size=20))
def test_counts_and_positives_are_rounded_and_negatives_are_the_difference(
    counts, shares
):
    positives = [c * share for c, share in zip(counts, shares, strict=False)]
    scale = scale_for(magnitudes(np.array(counts), np.array(positives)))
    masses = units_of_counts(np.array(counts), np.array(positives), scale)
    ones = [round(Fraction(y) * 2**scale) for y in positives]
    both = [round(Fraction(c) * 2**scale) for c in counts]
    assert masses.positives.tolist() == ones
    assert (masses.negatives + masses.positives).tolist() == both
    assert (masses.negatives >= 0).all()


# What decides the scale adds up.


@given(real_weights(), st.data())
def test_magnitudes_of_parts_add_up_whatever_the_order_of_rows(weights, data):
    shuffled = np.array(data.draw(st.permutations(weights)))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(weights)), max_size=3)))
    parts = [magnitudes(part) for part in np.split(shuffled, cuts)]
    assert sum(parts, start=Magnitudes()) == magnitudes(np.array(weights))


@given(st.lists(st.floats(0, 1e300).map(math.floor).map(float), max_size=20))
def test_whole_totals_add_up_until_they_are_too_large(weights):
    parts = [magnitudes(array(w)) for w in weights]
    total = sum(parts, start=Magnitudes()).whole_total
    assert total == magnitudes(array(*weights)).whole_total
    assert total == min(sum(map(int, weights)), MOST)


@given(real_weights(), st.data())
def test_sums_of_units_do_not_depend_on_the_order_of_rows(weights, data):
    rows = data.draw(st.permutations(range(len(weights))))
    w, keys = np.array(weights), np.arange(len(weights)) % 3
    scale = scale_of(weights)

    def sums(order):
        totals = np.zeros(3, np.int64)
        np.add.at(totals, keys[order], units(w[order], scale))
        return totals.tolist()

    assert sums(np.array(rows)) == sums(np.arange(len(weights)))


# What is refused, in one sentence and with the way out.


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([2.0**33, 0.5], "about 2**34; scale"),
        ([1e300, 0.5], "about 2**997; scale"),
        ([2.0**53], "got 9007199254740992 or more"),
        ([1e308, 1e308], "got 9007199254740992 or more"),
        ([2.0**-53], "all are less than 2**-52"),
        ([1e-20, 1e-300], "all are less than 2**-66"),
    ],
)
def test_weights_without_a_scale_are_refused(weights, words):
    first, *rest = words.split("; ")
    with pytest.raises(InvalidData) as refusal:
        scale_of(weights, name="case_weight")
    message = str(refusal.value)
    assert message.startswith("case_weight must ")
    assert first in message
    assert not rest or "Scale the weights to a mean of 1, or give integers." in message


def test_real_weights_are_refused_where_a_scale_is_too_coarse():
    assert scale_of([2.0**32 - 1, 0.5, 0.25]) == LEAST_SCALE
    with pytest.raises(InvalidData, match="less than about 2\\*\\*33, because a new"):
        scale_of([2.0**32, 0.5])


def test_new_case_of_another_weight_leaves_less_room():
    half = Fraction(1, 2)
    assert scale_of([2.0**51], new_case=half) == 0
    with pytest.raises(InvalidData, match="at most 4503599627370495"):
        scale_of([2.0**52], new_case=half)
    with pytest.raises(InvalidData, match="because a new case weighs 1/2"):
        scale_of([2.0**31, 0.5], new_case=half)


def test_tiny_weights_vanish_beside_large_ones_without_a_refusal():
    weights = [1.0, 1e-300, 2.0**-60]
    assert units(np.array(weights), scale_of([*weights, 0.5])).tolist()[1:] == [0, 0]


# The canonical form.

masses_at_a_scale = st.builds(
    units_at,
    st.lists(st.integers(0, 2**40), min_size=2, max_size=8),
    st.integers(0, 12),
)


@given(masses_at_a_scale)
def test_canonical_form_is_the_coarsest_of_the_same_masses(masses):
    stripped = canonical(masses)
    assert values(stripped) == values(masses)
    flat = [*stripped.negatives.tolist(), *stripped.positives.tolist()]
    assert stripped.scale == 0 or any(count % 2 for count in flat)


@given(masses_at_a_scale, st.integers(0, 8))
def test_equal_masses_have_one_canonical_form(masses, finer):
    one, other = canonical(masses), canonical(rescaled(masses, masses.scale + finer))
    assert values(one) == values(other)
    assert one.scale == other.scale


@settings(max_examples=200)
@given(masses_at_a_scale, st.integers(0, 8))
def test_canonical_form_changes_no_bound(masses, finer):
    keep = (masses.negatives + masses.positives) > 0
    masses = Units(masses.negatives[keep], masses.positives[keep], masses.scale)
    if not masses.negatives.size:
        return
    fine = rescaled(masses, masses.scale + finer)
    tables = [fitted(each) for each in (masses, fine, canonical(masses))]
    for table in tables[1:]:
        for name in ("thresholds", "lower", "upper"):
            np.testing.assert_array_equal(
                getattr(table, name), getattr(tables[0], name), strict=True
            )


# Adding.


@given(st.lists(masses_at_a_scale, min_size=1, max_size=4))
def test_dyadic_masses_add_up_exactly_whatever_their_total(parts):
    scale = common_scale(parts)
    assert scale == max(part.scale for part in parts)
    assert [values(rescaled(part, scale)) for part in parts] == list(map(values, parts))


@given(st.integers(1, 2**31), st.lists(st.integers(0, 2**52), min_size=2, max_size=8))
def test_finer_masses_are_rounded_once_to_what_the_total_allows(whole, draws):
    coarse, fine = Units(np.array([whole]), NONE, 0), units_at(draws, 52)
    scale = common_scale([coarse, fine])
    exact = whole + sum(values(fine)) + 1
    rounded = [round(value * 2**scale) for value in values(fine)]
    both = rescaled(fine, scale)
    assert [*both.negatives.tolist(), *both.positives.tolist()] == rounded
    assert (whole << scale) + sum(rounded) + 2**scale <= MOST
    assert scale == 52 or exact * 2 ** (scale + 2) > MOST
    assert scale == common_scale([fine, coarse])


def test_scale_of_a_sum_leaves_room_for_rounding_up():
    """3 * 2**-31 is 1.5 units at scale 30, and half of a thousand are rounded up."""
    many = np.full(1000, 3)
    fine = Units(many, 0 * many, 31)
    room = 2**23 - 1 - Fraction(sum(values(fine)))
    coarse = Units(np.array([math.floor(room * 2**30)]), NONE, 30)
    assert (sum(values(coarse)) + sum(values(fine)) + 1) * 2**30 <= MOST
    assert common_scale([coarse, fine]) == 29


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ([(2**52, 0), (2**52, 0)], "at most 9007199254740991"),
        ([(2**52, 0), (3, 1)], "must be whole or add up to less than about 2**33"),
        ([(2**34, 0), (1, 50)], "got a total of about 2**34"),
        ([(2**53 - 1, 0), (1, 50)], "got a total of about 2**53"),
    ],
)
def test_sums_without_a_scale_are_refused(parts, words):
    masses = [Units(np.array([count]), NONE, scale) for count, scale in parts]
    with pytest.raises(InvalidData) as refusal:
        common_scale(masses)
    assert words in str(refusal.value)


# The rules that come of it.


def fitted(masses):
    scores = np.arange(float(masses.negatives.size))
    return _kernel.fit_diagram(
        scores,
        masses.negatives,
        masses.positives,
        np.zeros(101),
        increasing=True,
        postulate=2**masses.scale,
    )


def bounds_of(table, scores):
    out = np.empty((len(scores), 2))
    table.bounds(np.array(scores, float), out, 1)
    return out.tolist()


@settings(max_examples=300)
@given(real_weights(max_size=8), st.data())
def test_rule_of_units_is_the_definition_on_the_rounded_weights(weights, data):
    labels = [data.draw(st.integers(0, 1)) for _ in weights]
    scale = scale_of(weights)
    counted = units(np.array(weights), scale)
    kept = np.flatnonzero(counted)
    one = np.array(labels)[kept] == 1
    count = counted[kept]
    masses = canonical(Units(np.where(one, 0, count), np.where(one, count, 0), scale))
    scores = np.arange(float(kept.size))
    rounded = [Fraction(c, 2**scale) for c in count.tolist()]
    for s, pair in zip(scores, bounds_of(fitted(masses), scores), strict=True):
        exact = oracle.bounds(scores.tolist(), one.astype(int).tolist(), s, rounded)
        assert pair == [float(p) for p in exact]


@settings(max_examples=300)
@given(
    st.lists(st.tuples(st.integers(-40, 3), st.booleans()), min_size=1, max_size=8),
    st.floats(1, 1.9),
)
def test_rule_of_units_is_accurate_over_many_magnitudes(rows, mantissa):
    """The weights as given, ten orders of magnitude apart: 1e-12 at most."""
    weights = [math.ldexp(mantissa, e) for e, _ in rows] + [0.7]
    labels = [int(label) for _, label in rows] + [1]
    scale = scale_of(weights)
    count = units(np.array(weights), scale)
    one = np.array(labels) == 1
    kept = count > 0
    masses = Units(np.where(one, 0, count)[kept], np.where(one, count, 0)[kept], scale)
    places = np.flatnonzero(kept).astype(float).tolist()
    table = fitted(masses)
    for place, pair in zip(places, bounds_of(table, range(len(places))), strict=True):
        exact = oracle.bounds(
            [float(i) for i in range(len(weights))],
            labels,
            place,
            [Fraction(w) for w in weights],
        )
        for p, q in zip(pair, exact, strict=True):
            assert abs(Fraction(p) - q) <= Fraction(1, 10**12)
