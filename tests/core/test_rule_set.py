"""A rule set is a value: it adds up, never changes, and equals its copies."""

import copy
import io
import pickle

import joblib
import numpy as np
import pytest

import abers
from abers.errors import InvalidData, InvalidParameter, InvalidType
from strategies import either_way

SCORES = [1, 2, 1, 2, 3, 5]
LABELS = [0, 1, 0, 1, 0, 1]
GROUPS = ["shop", "shop", "web", "web", "web", "phone"]
SMALL = abers.fit_rules(SCORES, LABELS, GROUPS, minimum=1)
KEPT = abers.fit_rules(SCORES, LABELS, GROUPS, minimum=1, keep_diagram=True)


def drawn(size):
    """Scores, labels and groups of which the last two are small among 400 rows."""
    rng = np.random.default_rng(2015)
    labels = rng.integers(0, 2, size)
    names = ["shop", "web", "phone", "fax"]
    groups = rng.choice(names, size, p=[0.45, 0.35, 0.1, 0.1])
    return (labels + rng.normal(size=size)).round(2), labels, groups


def halves(columns, seed=0):
    first = np.random.default_rng(seed).integers(0, 2, len(columns[0])) == 0
    return ([column[part] for column in columns] for part in (first, ~first))


@pytest.mark.parametrize("seed", range(5))
def test_sum_is_the_rule_set_of_all_rows_to_the_last_bit(seed):
    columns = drawn(400)
    parts = halves(columns, seed)
    one, other = (abers.fit_rules(*part, keep_diagram=True) for part in parts)
    whole = abers.fit_rules(*columns, keep_diagram=True)
    assert list(whole.rules) == ["shop", "web"]
    assert whole.rest is not None
    assert one + other == other + one == whole
    assert (one + other).pooled == whole.pooled
    assert (one + other).rest == whole.rest
    assert (one + other).rules == whole.rules
    assert (one + other).without_diagram() == abers.fit_rules(*columns)


def test_two_small_groups_may_sum_to_a_large_one():
    half = abers.fit_rules([1, 2], [0, 1], ["a", "a"], minimum=2, keep_diagram=True)
    assert not half.rules
    assert list((half + half).rules) == ["a"]


def test_group_is_added_and_counts_for_the_pooled_rule():
    options = {"minimum": 1, "keep_diagram": True}
    boat = abers.fit_rules([1, 2, 3], [0, 1, 1], ["boat"] * 3, **options)
    more = (KEPT + boat).without_diagram()
    assert list(more) == ["boat", "phone", "shop", "web"]
    assert more["boat"] == boat["boat"].without_diagram()
    assert more["web"] == SMALL["web"]
    assert more.pooled == abers.fit_rule([*SCORES, 1, 2, 3], [*LABELS, 0, 1, 1])
    assert "boat" not in SMALL


@pytest.mark.parametrize(
    ("group", "options", "shown"),
    [
        (1, {"minimum": 2}, "('int', 2, True)"),
        (1, {"minimum": 1, "increasing": False}, "('int', 1, False)"),
        (1.0, {"minimum": 1}, "('float', 1, True)"),
        (True, {"minimum": 1}, "('bool', 1, True)"),
        ("1", {"minimum": 1}, "('str', 1, True)"),
    ],
)
def test_sets_of_another_kind_are_not_added(group, options, shown):
    one = abers.fit_rules([1], [0], [1], minimum=1)
    other = abers.fit_rules([1], [0], [group], **options)
    with pytest.raises(InvalidParameter) as caught:
        one + other
    assert str(caught.value) == (
        "rule sets to add must agree in their type of group, minimum and "
        f"increasing; got ('int', 1, True) and {shown}."
    )


def test_sets_without_diagrams_say_how_to_fit_sets_to_add():
    """Rules do not determine the rows that they were fitted to."""
    for one, other in [(SMALL, SMALL), (SMALL, KEPT), (KEPT, SMALL)]:
        with pytest.raises(
            InvalidParameter, match=r"fit_rules\(…, keep_diagram=True\)"
        ):
            one + other
    with pytest.raises(InvalidParameter, match="must keep their diagrams to be added"):
        _ = SMALL.diagrams


def test_set_that_keeps_its_diagrams_has_the_same_rules():
    assert (KEPT.keeps_diagram, SMALL.keeps_diagram) == (True, False)
    assert KEPT != SMALL
    assert KEPT.without_diagram() == SMALL
    assert SMALL.without_diagram() is SMALL
    names = ["shop", "web", "phone", None]
    assert (KEPT.bounds([2] * 4, names) == SMALL.bounds([2] * 4, names)).all()
    for group in names:
        assert KEPT[group].without_diagram() == SMALL[group]


def test_rules_of_a_set_that_keeps_its_diagrams_take_weights():
    """Rows 1, 2, 3 labelled 0, 1, 0: 1 of 4, and 3 of 4 with a case of weight 2."""
    assert KEPT["web"].bounds([2], weight=2).tolist() == [[0.25, 0.75]]
    rows = abers.fit_rule(SCORES, LABELS, keep_diagram=True)
    assert KEPT.pooled == KEPT["phone"] == KEPT[None] == rows
    with pytest.raises(InvalidParameter, match=r"keep_diagram=True\.$"):
        SMALL["web"].bounds([2], weight=2)


def test_set_adds_to_nothing_but_sets():
    with pytest.raises(TypeError, match="unsupported operand"):
        SMALL + 1


def test_set_is_made_of_diagrams():
    diagrams = {
        "web": abers.rules.Diagram.from_rows([1, 2, 3], [0, 1, 0]),
        "shop": abers.rules.Diagram.from_counts([1, 2], [1, 1], [0, 1]),
        "phone": abers.rules.Diagram.from_rows([5], [1]),
    }
    rule_set = abers.rules.RuleSet(diagrams, minimum=1)
    assert rule_set == SMALL
    kept = abers.rules.RuleSet(diagrams, minimum=1, keep_diagram=True)
    assert kept == KEPT
    assert kept.diagrams == diagrams


@pytest.mark.parametrize(
    ("diagrams", "error", "text"),
    [
        ({}, InvalidData, r"diagrams must have names, at least one; got \[\]"),
        ({None: KEPT.diagrams["web"]}, InvalidData, r"must have names.* \[None\]"),
        ({"web": SMALL["web"]}, InvalidType, "'web' must be a Diagram; got a Rule"),
        ({("a", 1): KEPT.diagrams["web"]}, InvalidType, "text, numbers or booleans"),
    ],
)
def test_diagrams_must_be_named_and_diagrams(diagrams, error, text):
    with pytest.raises(error, match=text):
        abers.rules.RuleSet(diagrams)


def pickled(rule_set):
    return pickle.loads(pickle.dumps(rule_set))


def through_joblib(rule_set):
    stream = io.BytesIO()
    joblib.dump(rule_set, stream)
    stream.seek(0)
    return joblib.load(stream)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled, through_joblib])
@pytest.mark.parametrize(
    "options", [{}, {"increasing": False}, {"minimum": 5}, {"keep_diagram": True}]
)
@either_way
def test_copy_equals_the_original_in_every_part(copied, options):
    rule_set = abers.fit_rules(*drawn(3000), **options)
    twin = copied(rule_set)
    assert twin == rule_set
    assert hash(twin) == hash(rule_set)
    assert twin.rules == rule_set.rules
    assert twin.minimum == rule_set.minimum
    assert twin.counts == rule_set.counts
    assert twin.pooled == rule_set.pooled
    assert twin.rest == rule_set.rest


@pytest.mark.parametrize(
    "change",
    [
        {"scores": [1, 2, 1, 2, 3, 6]},
        {"labels": [1, 1, 0, 1, 0, 1]},
        {"groups": ["shop", "shop", "web", "web", "web", "boat"]},
        {"groups": ["shop", "web", "web", "web", "web", "phone"]},
        {"minimum": 2},
        {"increasing": False},
        {"sample_weight": [1, 1, 1, 1, 1, 2]},
    ],
    ids=str,
)
def test_sets_that_differ_are_not_equal(change):
    plain = {"scores": SCORES, "labels": LABELS, "groups": GROUPS, "minimum": 1}
    assert abers.fit_rules(**plain) == SMALL
    assert abers.fit_rules(**{**plain, **change}) != SMALL


def test_groups_of_different_type_are_not_equal():
    made = [abers.fit_rules([1, 2], [0, 1], [name] * 2) for name in (1, 1.0, True, "1")]
    assert [one == other for one in made for other in made] == np.eye(
        4
    ).ravel().tolist()


def test_tags_make_sets_differ(tmp_path):
    SMALL.save(tmp_path / "tagged", metadata={"model": "svm"})
    tagged = abers.load(tmp_path / "tagged")
    assert tagged != SMALL
    assert pickled(tagged).metadata == {"model": "svm"}
    KEPT.save(tmp_path / "kept", metadata={"model": "svm"})
    kept = abers.load(tmp_path / "kept")
    assert kept.without_diagram() == tagged
    assert not (kept + kept).metadata


def test_set_equals_nothing_but_sets():
    assert SMALL.rules != SMALL


@pytest.mark.parametrize(
    "name",
    [
        "rules",
        "pooled",
        "minimum",
        "counts",
        "diagrams",
        "increasing",
        "new",
        "rest",
    ],
)
def test_attributes_cannot_be_assigned(name):
    with pytest.raises(AttributeError):
        setattr(SMALL, name, None)


@pytest.mark.parametrize("name", ["rules", "diagrams", "metadata"])
def test_mappings_are_read_only(name):
    with pytest.raises(TypeError, match="does not support item assignment"):
        getattr(KEPT, name)["web"] = None


def test_counts_may_be_changed_and_the_set_does_not_care():
    SMALL.counts["web"] = (0, 0)
    assert SMALL.counts["web"] == (2, 1)


@pytest.mark.parametrize("name", ["scores", "negatives", "positives"])
def test_diagrams_cannot_be_written_to(name):
    with pytest.raises(ValueError, match="read-only"):
        getattr(KEPT.diagrams["web"], name)[0] = 7


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"minimum": 1}, "2 with a rule of their own, 6 rows, 3 positive"),
        ({}, "0 with a rule of their own, 6 rows, 3 positive"),
        (
            {"increasing": False, "sample_weight": [0.5] * 6},
            "0 with a rule of their own, 3.0 rows, 1.5 positive, decreasing",
        ),
    ],
)
def test_repr_tells_what_the_set_was_made_from(options, text):
    rule_set = abers.fit_rules(SCORES, LABELS, GROUPS, **options)
    assert repr(rule_set) == f"RuleSet(3 groups, {text})"
