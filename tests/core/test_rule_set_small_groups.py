"""Small groups: they share the rule of their rows, if these are enough for one."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, strategies as st

import abers
from strategies import NASTY, either_way, probes


def drawn(sizes):
    """Scores, labels and groups; as many rows of each label as `sizes` says."""
    rng = np.random.default_rng(2015)
    groups = np.repeat(list(sizes), [2 * size for size in sizes.values()])
    labels = np.tile([0, 1], groups.size // 2)
    scores = (labels + rng.normal(size=groups.size)).round(1)
    return rows_where(rng.permutation(groups.size), scores, labels, groups)


def same_bounds(rule, expected):
    tests = np.linspace(-4, 5, 1001)
    return rule.bounds(tests).tobytes() == expected.bounds(tests).tobytes()


def rows_where(chosen, *columns):
    return [column[chosen] for column in columns]


SIZES = {"web": 200, "shop": 100, "phone": 20, "fax": 15, "letter": 10}


@pytest.mark.parametrize("increasing", [True, False])
@either_way
def test_small_groups_share_the_rule_of_the_left_over_rows_to_the_last_bit(increasing):
    scores, labels, groups = drawn(SIZES)
    rule_set = abers.fit_rules(scores, labels, groups, increasing=increasing)
    small = [name for name in rule_set if name not in rule_set.rules]
    assert small == ["fax", "letter", "phone"]
    left = rows_where(np.isin(groups, small), scores, labels)
    expected = abers.fit_rule(*left, increasing=increasing)
    assert rule_set.rest == expected
    tests = np.linspace(-4, 5, 1001)
    for name in small:
        bounds = rule_set.bounds(tests, [name] * tests.size)
        assert bounds.tobytes() == expected.bounds(tests).tobytes()
        assert rule_set[name] == expected


@pytest.mark.filterwarnings("ignore::abers.errors.UnknownGroupWarning")
def test_rows_of_all_kinds_may_be_mixed():
    scores, labels, groups = drawn(SIZES)
    rule_set = abers.fit_rules(scores, labels, groups)
    names = np.random.default_rng(0).choice([*SIZES, "boat"], scores.size)
    bounds = rule_set.bounds(scores, names)
    for name in set(names.tolist()):
        rows = names == name
        assert bounds[rows].tobytes() == rule_set[name].bounds(scores[rows]).tobytes()


def test_kind_tells_which_rule_answers():
    rule_set = abers.fit_rules(*drawn(SIZES))
    kinds = rule_set.kind_of(["web", "fax", "boat", None])
    assert kinds.dtype == object
    assert kinds.tolist() == ["own", "rest", "pooled", "pooled"]
    assert rule_set.rule_of(["web", "fax", "boat"]).tolist() == ["web", None, None]
    assert rule_set.kind_of([]).shape == (0,)


def test_unseen_group_has_the_rule_of_all_rows():
    scores, labels, groups = drawn(SIZES)
    rule_set = abers.fit_rules(scores, labels, groups)
    assert same_bounds(rule_set["boat"], abers.fit_rule(scores, labels))
    assert rule_set["boat"] != rule_set.rest


@pytest.mark.parametrize(
    ("negatives", "positives", "kind"),
    [(5, 5, "rest"), (4, 5, "pooled"), (5, 4, "pooled"), (50, 4, "pooled")],
)
def test_left_over_rows_need_the_minimum_of_each_label(negatives, positives, kind):
    scores = np.arange(60 + negatives + positives) % 7
    labels = [0, 1] * 30 + [0] * negatives + [1] * positives
    groups = ["web"] * 60 + ["fax"] * negatives + ["phone"] * positives
    rule_set = abers.fit_rules(scores, labels, groups, minimum=5)
    assert rule_set.kind_of(["fax", "phone"]).tolist() == [kind] * 2
    rows = slice(60, None) if kind == "rest" else slice(None)
    assert same_bounds(rule_set["fax"], abers.fit_rule(scores[rows], labels[rows]))
    assert (rule_set.rest is None) is (kind == "pooled")


def test_single_small_group_has_too_few_rows_and_the_rule_of_all():
    scores, labels, groups = drawn({"web": 40, "fax": 29})
    rule_set = abers.fit_rules(scores, labels, groups)
    assert rule_set.kind_of(["web", "fax"]).tolist() == ["own", "pooled"]
    assert same_bounds(rule_set["fax"], abers.fit_rule(scores, labels))


def test_without_small_groups_nothing_is_shared():
    rule_set = abers.fit_rules(*drawn({"web": 30, "fax": 30}))
    assert rule_set.rest is None
    assert rule_set.kind_of(["web", "fax", "boat"]).tolist() == ["own", "own", "pooled"]


def test_if_all_groups_are_small_the_rest_are_all():
    scores, labels, groups = drawn({"web": 20, "fax": 20})
    rule_set = abers.fit_rules(scores, labels, groups)
    assert rule_set.kind_of(["web", "fax", "boat"]).tolist() == ["rest"] * 2 + [
        "pooled"
    ]
    assert rule_set.rest == rule_set.pooled == abers.fit_rule(scores, labels)


def test_with_a_minimum_of_0_no_group_is_small():
    rule_set = abers.fit_rules([1, 2, 3], [0, 1, 1], ["a", "b", "c"], minimum=0)
    assert rule_set.rest is None
    assert rule_set.kind_of(list("abc")).tolist() == ["own"] * 3


def test_weights_count_for_the_minimum_of_the_rest():
    columns = [1, 2, 3, 4], [0, 1, 0, 1], ["a", "a", "b", "b"]
    shared = abers.fit_rules(*columns, minimum=3, sample_weight=[1, 2, 2, 1])
    assert shared.kind_of(["a", "b"]).tolist() == ["rest", "rest"]
    weighted = abers.fit_rule(*columns[:2], sample_weight=[1, 2, 2, 1])
    assert same_bounds(shared["a"], weighted)
    fewer = abers.fit_rules(*columns, minimum=3, sample_weight=[1, 2, 1.5, 1])
    assert fewer.kind_of(["a", "b"]).tolist() == ["pooled", "pooled"]


def test_numbers_that_have_become_floats_name_the_same_small_groups():
    rule_set = abers.fit_rules([1, 2], [0, 1], [7, 8], minimum=1)
    assert rule_set.kind_of([7.0, 8.0, 9.0]).tolist() == ["rest", "rest", "pooled"]


def test_small_groups_of_a_sum_share_the_rows_of_both():
    options = {"minimum": 2, "keep_diagram": True}
    one = abers.fit_rules([1, 2], [0, 1], ["a", "b"], **options)
    other = abers.fit_rules([3, 4], [0, 1], ["c", "c"], **options)
    assert (one.rest, other.rest) == (None, None)
    both = one + other
    assert both.kind_of(list("abc")).tolist() == ["rest"] * 3
    assert both.rest.without_diagram() == abers.fit_rule([1, 2, 3, 4], [0, 1, 0, 1])


def test_repr_tells_how_many_groups_share_a_rule():
    text = repr(abers.fit_rules(*drawn(SIZES)))
    assert "5 groups, 2 with a rule of their own, 3 sharing one, 690 rows" in text


rows = st.tuples(st.sampled_from(NASTY), st.booleans(), st.sampled_from("abcd"))


@pytest.mark.filterwarnings("ignore::abers.errors.UnknownGroupWarning")
@given(st.lists(rows, min_size=1, max_size=16), st.integers(0, 4))
def test_any_group_has_the_bounds_of_the_rows_that_the_definition_names(rows, minimum):
    """Its own if they suffice, else all of small groups if they do, else all rows."""
    scores, labels, groups = (np.array(column) for column in zip(*rows, strict=True))
    rule_set = abers.fit_rules(scores, labels, groups, minimum=minimum)
    counts = Counter(zip(groups.tolist(), labels.tolist(), strict=True))
    tests = probes(scores.tolist())

    def is_enough(names):
        each = [sum(counts[name, label] for name in names) for label in (False, True)]
        return min(each) >= minimum

    names = sorted(set(groups.tolist()))
    small = [name for name in names if not is_enough([name])]
    for name in [*names, "unseen"]:
        if name in names and name not in small:
            chosen, kind = [name], "own"
        elif name in small and is_enough(small):
            chosen, kind = small, "rest"
        else:
            chosen, kind = names, "pooled"
        own, ones = rows_where(np.isin(groups, chosen), scores, labels)
        expected = abers.fit_rule(own, ones).bounds(tests)
        bounds = rule_set.bounds(tests, [name] * len(tests))
        assert bounds.tobytes() == expected.tobytes()
        assert rule_set.kind_of([name]).tolist() == [kind]
