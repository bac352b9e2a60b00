"""Groups: each that is large has the rule of its own rows, unseen ones that of all."""

import datetime as dt
import math
from decimal import Decimal
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import abers
from abers.core import merging
from abers.errors import InvalidData, InvalidParameter, InvalidType, UnknownGroupWarning
from strategies import INF, NASTY, either_way, probes

NAN = math.nan

SCORES = [1, 2, 1, 2, 3, 5]
LABELS = [0, 1, 0, 1, 0, 1]
GROUPS = ["shop", "shop", "web", "web", "web", "phone"]
SMALL = abers.fit_rules(SCORES, LABELS, GROUPS, minimum=1)


def drawn(size=3000, names=("shop", "web", "phone"), seed=2015):
    """Scores, labels and groups of which the last is small."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, size)
    share = np.array([*[1.0] * (len(names) - 1), 0.01])
    groups = rng.choice(np.array(names), size, p=share / share.sum())
    return (labels + rng.normal(size=size)).round(2), labels, groups


def rows_of(group, *columns):
    return [column[columns[-1] == group] for column in columns]


def same_bits(one, other):
    return one == other and all(
        getattr(one, name).tobytes() == getattr(other, name).tobytes()
        for name in ("thresholds", "lower", "upper", "score_quantiles")
    )


@pytest.mark.parametrize("increasing", [True, False])
@either_way
def test_rule_of_a_group_is_the_rule_of_its_rows_to_the_last_bit(increasing):
    columns = drawn()
    rule_set = abers.fit_rules(*columns, increasing=increasing)
    assert list(rule_set.rules) == ["shop", "web"]
    for group, rule in rule_set.rules.items():
        scores, labels, _ = rows_of(group, *columns)
        assert same_bits(rule, abers.fit_rule(scores, labels, increasing=increasing))


@pytest.mark.parametrize("increasing", [True, False])
@either_way
def test_pooled_rule_is_the_rule_of_all_rows_to_the_last_bit(increasing):
    scores, labels, groups = drawn()
    rule_set = abers.fit_rules(scores, labels, groups, increasing=increasing)
    expected = abers.fit_rule(scores, labels, increasing=increasing)
    assert same_bits(rule_set.pooled, expected)


@pytest.mark.filterwarnings("ignore::abers.errors.UnknownGroupWarning")
def test_bounds_are_those_of_the_rule_that_answers():
    columns = drawn()
    rule_set = abers.fit_rules(*columns)
    tests = np.linspace(-4, 5, 1001)
    names = np.random.default_rng(0).choice(["web", "phone", "shop", "boat"], 1001)
    bounds = rule_set.bounds(tests, names)
    for group in ("web", "shop"):
        scores, labels, _ = rows_of(group, *columns)
        expected = abers.fit_rule(scores, labels).bounds(tests[names == group])
        assert bounds[names == group].tobytes() == expected.tobytes()
    rest = np.isin(names, ["phone", "boat"])
    expected = abers.fit_rule(*columns[:2]).bounds(tests[rest])
    assert bounds[rest].tobytes() == expected.tobytes()


rows = st.tuples(st.sampled_from(NASTY), st.booleans(), st.sampled_from("abc"))


@given(st.lists(rows, min_size=1, max_size=12))
def test_any_groups_have_the_bounds_of_their_rows(rows):
    scores, labels, groups = (np.array(column) for column in zip(*rows, strict=True))
    rule_set = abers.fit_rules(scores, labels, groups, minimum=0)
    assert list(rule_set.rules) == sorted(set(groups.tolist()))
    tests = probes(scores.tolist())
    for group in rule_set:
        own, ones, _ = rows_of(group, scores, labels, groups)
        expected = abers.fit_rule(own, ones).bounds(tests)
        bounds = rule_set.bounds(tests, [group] * len(tests))
        assert bounds.tobytes() == expected.tobytes()


def test_row_has_the_same_bounds_alone_and_in_a_batch():
    scores, labels, groups = drawn(200)
    rule_set = abers.fit_rules(scores, labels, groups, minimum=1)
    pairs = zip(scores, groups, strict=True)
    alone = np.concatenate([rule_set.bounds([s], [group]) for s, group in pairs])
    assert alone.tobytes() == rule_set.bounds(scores, groups).tobytes()


@pytest.mark.parametrize("loss", merging.LOSSES)
def test_probability_is_the_merge_of_the_bounds(loss):
    lower, upper = SMALL.bounds(SCORES, GROUPS).T
    expected = merging.MINIMAX[loss](lower, upper)
    np.testing.assert_array_equal(SMALL.probability(SCORES, GROUPS, loss), expected)


def test_probability_is_made_for_log_loss_by_default():
    probability, expected = (
        SMALL.probability([2], ["web"]),
        abers.rules.log_minimax([1 / 3], [2 / 3]),
    )
    assert probability.tolist() == expected.tolist()


def test_no_rows_have_no_bounds():
    assert SMALL.bounds([], []).shape == (0, 2)
    assert SMALL.probability([], []).shape == (0,)
    assert SMALL.rule_of([]).shape == (0,)


def test_rule_of_names_the_group_and_none_stands_for_the_pooled_rule():
    owners = SMALL.rule_of(["web", "phone", "boat", None, "shop"])
    assert owners.dtype == object
    assert owners.tolist() == ["web", None, None, None, "shop"]


@pytest.mark.parametrize("missing", [None, NAN, np.nan, pd.NA, pd.NaT])
def test_missing_group_is_left_to_the_pooled_rule(missing):
    assert SMALL.rule_of(["web", missing]).tolist() == ["web", None]
    assert SMALL.rule_of([missing]).tolist() == [None]
    assert SMALL[missing] == SMALL.pooled


@pytest.mark.parametrize(
    ("minimum", "own"),
    [(0, ["phone", "shop", "web"]), (1, ["shop", "web"]), (2, []), (2**53 - 1, [])],
)
def test_minimum_counts_negatives_and_positives_apart(minimum, own):
    rule_set = abers.fit_rules(SCORES, LABELS, GROUPS, minimum=minimum)
    assert list(rule_set.rules) == own
    assert rule_set.minimum == minimum


def test_a_minimum_that_no_file_can_hold_is_refused():
    with pytest.raises(InvalidParameter, match=r"^minimum must be below 2\*\*53; got"):
        abers.fit_rules(SCORES, LABELS, GROUPS, minimum=2**53)


@pytest.mark.parametrize(("negatives", "positives"), [(30, 30), (29, 30), (30, 29)])
def test_thirty_of_each_are_enough_by_default(negatives, positives):
    labels = [0] * negatives + [1] * positives
    rule_set = abers.fit_rules(range(len(labels)), labels, ["a"] * len(labels))
    assert ("a" in rule_set.rules) is (negatives == positives == 30)


def test_thirty_of_each_bring_the_bounds_to_one_in_thirty_one_and_no_further():
    """What the docstring of `fit_rules` gives as the reason for the default."""
    rule_set = abers.fit_rules(range(60), [0] * 30 + [1] * 30, ["perfect"] * 60)
    assert rule_set["perfect"].upper.min() == 1 / 31
    assert rule_set["perfect"].lower.max() == 30 / 31


def test_groups_are_in_ascending_order_whatever_the_order_of_rows():
    names = ["b", "a", "B", "10", "9", ""]
    for shift in range(len(names)):
        groups = names[shift:] + names[:shift]
        rule_set = abers.fit_rules(
            range(6), [0, 1] * 3, groups, minimum=0, keep_diagram=True
        )
        for seen in (rule_set, rule_set.rules, rule_set.counts, rule_set.diagrams):
            assert list(seen) == ["", "10", "9", "B", "a", "b"]


def test_set_speaks_of_the_groups_seen_small_ones_too():
    assert list(SMALL) == ["phone", "shop", "web"]
    assert len(SMALL) == 3
    assert "phone" in SMALL
    assert "boat" not in SMALL
    assert SMALL.counts == {"phone": (0, 1), "shop": (1, 1), "web": (2, 1)}


def test_item_is_the_rule_that_answers():
    assert SMALL["web"] == SMALL.rules["web"]
    assert SMALL["phone"] == SMALL["boat"] == SMALL.pooled


def pandas_series(values, dtype=None):
    """A column whose index is not the row number."""
    return pd.Series(values, index=range(len(values), 0, -1), dtype=dtype)


TEXT_KINDS = {
    "list": list,
    "tuple": tuple,
    "list of numpy's": lambda values: list(np.array(values)),
    "numpy": np.array,
    "numpy objects": partial(np.array, dtype=object),
    "numpy strings": partial(np.array, dtype=np.dtypes.StringDType()),
    "masked, but nothing is": np.ma.array,
    "pandas": pandas_series,
    "pandas objects": partial(pandas_series, dtype="object"),
    "pandas string": partial(pandas_series, dtype="string"),
    "pandas category": partial(pandas_series, dtype="category"),
    "pandas categorical": pd.Categorical,
    "pandas index": pd.Index,
    "polars": pl.Series,
    "polars categorical": partial(pl.Series, dtype=pl.Categorical),
    "polars enum": partial(pl.Series, dtype=pl.Enum(["web", "shop", "phone"])),
    "pyarrow": pa.array,
    "pyarrow chunks": lambda values: pa.chunked_array([values[:2], values[2:]]),
    "pyarrow dictionary": lambda values: pa.array(values).dictionary_encode(),
}


@pytest.mark.parametrize("kind", TEXT_KINDS.values(), ids=TEXT_KINDS)
def test_text_of_any_kind_gives_the_same_rules_and_bounds(kind):
    groups = kind(GROUPS)
    assert abers.fit_rules(SCORES, LABELS, groups, minimum=1) == SMALL
    assert SMALL.rule_of(groups).tolist() == SMALL.rule_of(GROUPS).tolist()


WITH_MISSING = {
    "list": [1, None],
    "floats": [1.0, NAN],
    "masked": np.ma.array([1, 2], mask=[False, True]),
    "pandas": pandas_series([1, None]),
    "pandas Int64": pandas_series([1, None], "Int64"),
    "pandas category": pandas_series([1, None], "category"),
    "polars": pl.Series([1, None]),
    "pyarrow": pa.array([1, None]),
    "pyarrow chunks": pa.chunked_array([[1], [None]]),
}


@pytest.mark.parametrize("groups", WITH_MISSING.values(), ids=WITH_MISSING)
def test_integers_are_found_in_columns_that_became_floats(groups):
    rule_set = abers.fit_rules([1, 2], [0, 1], [1, 1], minimum=1)
    owners = rule_set.rule_of(groups).tolist()
    assert list(map(repr, owners)) == ["1", "None"]


@pytest.mark.parametrize("groups", WITH_MISSING.values(), ids=WITH_MISSING)
def test_missing_group_is_refused_in_fitting(groups):
    with pytest.raises(InvalidData) as caught:
        abers.fit_rules([1, 2], [0, 1], groups)
    assert str(caught.value) == (
        "groups must not be missing; got none in 1 of 2 rows, first at row 1. "
        "Drop these rows, or give them a group of their own."
    )


NAMES = {
    "text": (["1", "0"], "1"),
    "integers": ([1, 0], 1),
    "huge integers": ([2**70, -1], 2**70),
    "floats": ([0.5, 1e300], 0.5),
    "whole floats": ([1.0, 0.0], 1.0),
    "booleans": ([True, False], True),
    "numpy integers": (np.array([1, 0], np.uint8), 1),
    "numpy floats": (np.array([0.5, 0], np.float32), 0.5),
    "numpy booleans": (np.array([True, False]), True),
}


@pytest.mark.parametrize(("groups", "first"), NAMES.values(), ids=NAMES)
def test_groups_keep_their_type_and_become_plain(groups, first):
    rule_set = abers.fit_rules([1, 2], [0, 1], groups, minimum=0)
    owner = rule_set.rule_of(groups)[0]
    assert (owner, type(owner)) == (first, type(first))
    assert [type(group) for group in rule_set] == [type(first)] * 2


def test_both_zeros_are_one_group():
    rule_set = abers.fit_rules([1, 2], [0, 1], [-0.0, 0.0], minimum=1)
    assert list(map(repr, rule_set)) == ["0.0"]


CONFUSED = [(["1", "2"], 1), ([1, 2], "1"), ([1, 0], True), ([True, False], 1)]


@pytest.mark.parametrize(("groups", "other"), CONFUSED)
def test_types_of_groups_are_not_confused(groups, other):
    rule_set = abers.fit_rules([1, 2], [0, 1], groups, minimum=0)
    assert other not in rule_set
    wanted = type(groups[0]).__name__
    text = f"^groups must be {wanted}, as those of the rule set; got {other!r} at row 1"
    with pytest.raises(InvalidType, match=text):
        rule_set.bounds([1, 1], [None, other])
    with pytest.raises(InvalidType):
        rule_set[other]


@pytest.mark.parametrize("groups", [["1", 1], [1, "1"], [True, 1], [1, 1.5], [1.0, 1]])
def test_groups_of_two_types_are_refused(groups):
    text = f"must be {type(groups[0]).__name__}, as the first one is; got .* at row 1"
    with pytest.raises(InvalidType, match=text):
        abers.fit_rules([1, 2], [0, 1], groups)


@pytest.mark.parametrize(
    ("groups", "error", "text"),
    [
        (
            [dt.date(2015, 11, 3)],
            InvalidType,
            "text, numbers or booleans; got datetime",
        ),
        ([b"web"], InvalidType, "got b'web' at row 0"),
        ([("a", 1)], InvalidType, r"got \('a', 1\) at row 0"),
        ([["a"]], InvalidType, r"got \['a'\] at row 0"),
        ([1j], InvalidType, "got 1j at row 0"),
        ([Decimal(1)], InvalidType, r"got Decimal\('1'\) at row 0"),
        (np.array(["2015-11-03"], "M8[ns]"), InvalidType, r"got datetime64\[ns\]"),
        (np.array([b"web"]), InvalidType, "got b'web' at row 0"),
        (pd.Series([pd.Timestamp(0)]), InvalidType, "got Timestamp"),
        (pl.Series([dt.date(2015, 11, 3)]), InvalidType, "got datetime.date"),
        ("web", InvalidData, r"one column of names; got 'web' of shape \(\)"),
        (7, InvalidData, r"one column of names; got 7 of shape \(\)"),
        (np.array([["a"]]), InvalidData, r"got \[\['a'\]\] of shape \(1, 1\)"),
        (pd.DataFrame({"a": ["b"]}), InvalidData, r"of shape \(1, 1\)"),
        ([], InvalidData, "equally long; got 0 groups and 1 scores"),
        (["a", "b"], InvalidData, "equally long; got 2 groups and 1 scores"),
    ],
)
def test_refusal_says_what_must_hold_and_what_came(groups, error, text):
    for call in (partial(abers.fit_rules, [1], [0]), partial(SMALL.bounds, [1])):
        with pytest.raises(error, match=f"^groups .*{text}"):
            call(groups)


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"scores": [1, 2, NAN, 4]}, InvalidData, "first at row 2"),
        ({"labels": [0, 1, 0, 7]}, InvalidData, "got 7 at row 3"),
        ({"labels": [0, 1]}, InvalidData, "got 2 labels and 4 scores"),
        ({"sample_weight": [1, 1, 1, -1]}, InvalidData, "got -1.0 at row 3"),
        ({"sample_weight": [0, 0, 0, 0]}, InvalidData, "must not all be zero"),
        ({"scores": [], "labels": [], "groups": []}, InvalidData, "not be empty"),
        ({"minimum": -1}, InvalidParameter, "an integer, not negative; got -1"),
        ({"minimum": 1.0}, InvalidParameter, "minimum must be .* got 1.0"),
        ({"minimum": True}, InvalidParameter, "minimum must be .* got True"),
        ({"increasing": 1}, InvalidType, "increasing must be True or False; got 1"),
    ],
)
def test_rows_are_refused_by_their_number_in_the_whole(given, error, text):
    plain = {"scores": range(4), "labels": [0, 1, 0, 1], "groups": ["b", "b", "a", "a"]}
    with pytest.raises(error, match=text):
        abers.fit_rules(**{**plain, **given})


def test_missing_score_has_no_bounds_and_is_located_in_the_whole():
    with pytest.raises(InvalidData, match="1 of 3 rows, first at row 2"):
        SMALL.bounds([1, 2, NAN], ["web", "shop", "web"])


def test_unknown_loss_is_refused():
    with pytest.raises(
        InvalidParameter, match="loss must be 'log' or 'brier'; got 'l1'"
    ):
        SMALL.probability([1], ["web"], loss="l1")


def test_nothing_passed_is_modified():
    columns = [np.array(SCORES, float), np.array(LABELS), np.array(GROUPS, object)]
    before = [column.copy() for column in columns]
    abers.fit_rules(*columns, minimum=1).bounds(columns[0], columns[2])
    for column, copied in zip(columns, before, strict=True):
        assert column.flags.writeable
        np.testing.assert_array_equal(column, copied)


@pytest.mark.parametrize("weights", [[1, 2, 3], [0.25, 1, 0.7]], ids=["whole", "real"])
def test_weighted_rule_of_a_group_is_the_rule_of_its_rows(weights):
    scores, labels, groups = drawn()
    w = np.random.default_rng(7).choice(weights, scores.size)
    kept = abers.fit_rules(scores, labels, groups, sample_weight=w, keep_diagram=True)
    rule_set = kept.without_diagram()
    assert same_bits(rule_set.pooled, abers.fit_rule(scores, labels, sample_weight=w))
    for group, rule in rule_set.rules.items():
        own, ones, mass, _ = rows_of(group, scores, labels, w, groups)
        alone = abers.fit_rule(own, ones, sample_weight=mass)
        if kept.diagrams[group].is_exact:
            assert same_bits(rule, alone)
        # Weights of all groups are rounded to multiples of one power of two.
        bounds, expected = rule.bounds(scores), alone.bounds(scores)
        np.testing.assert_allclose(bounds, expected, rtol=1e-11)


def test_integer_weights_are_repeated_rows():
    scores, labels, groups = drawn(300)
    w = np.arange(scores.size) % 4
    weighted = abers.fit_rules(scores, labels, groups, minimum=1, sample_weight=w)
    columns = (np.repeat(column, w) for column in (scores, labels, groups))
    assert weighted == abers.fit_rules(*columns, minimum=1)


def test_weights_count_for_the_minimum():
    rule_set = abers.fit_rules([1, 2], [0, 1], ["a", "a"], sample_weight=[30, 29.5])
    assert rule_set.counts == {"a": (30, 29.5)}
    assert not rule_set.rules


def test_rows_of_weight_zero_are_left_out_and_so_are_their_groups():
    rule_set = abers.fit_rules(
        [1, 2, NAN, 4], [0, 1, 1, 9], ["a", "a", "b", None], sample_weight=[1, 1, 0, 0]
    )
    assert rule_set == abers.fit_rules([1, 2], [0, 1], ["a", "a"])


def test_infinite_scores_and_one_class_are_legal():
    rule_set = abers.fit_rules([-INF, INF], [1, 1], ["a", "a"], minimum=0)
    assert same_bits(rule_set["a"], abers.fit_rule([-INF, INF], [1, 1]))


@pytest.mark.parametrize("method", ["bounds", "probability"])
def test_unknown_groups_are_warned_of_once_per_call(method):
    """At the line of the caller; the first of them and their number are named."""
    call = getattr(SMALL, method)
    groups = ["shop", "moon", None, "mars", "moon"]
    with pytest.warns(UnknownGroupWarning) as raised:
        call([1, 2, 2, 2, 2], groups)
    (warning,) = raised
    assert str(warning.message) == (
        "3 of 5 rows have a group that the rule set has not seen, the first is 'moon' "
        "at row 1; the rule of all rows was used for them."
    )
    assert warning.filename == __file__


def test_known_and_missing_groups_are_not_warned_of():
    """Every warning is an error here."""
    assert SMALL.bounds([1, 2, 3], ["shop", None, "web"]).shape == (3, 2)
    SMALL.kind_of(["moon"])
    SMALL.rule_of(["moon"])
    assert SMALL["moon"] == SMALL.pooled
