"""What is in files: it comes back as it was, and nothing else does."""

import copy
import math
import os
import pickle
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st

import abers
import plain_writer
from abers.core.diagram import trusted_diagram
from abers.errors import InvalidParameter

GOLDEN = Path(__file__).parents[1] / "golden"
INF = math.inf

RULES = {  # scores, labels, options
    "increasing": ([1, 2, 3, 4], [0, 1, 0, 1], {}),
    "decreasing": ([1, 2, 3, 4], [1, 0, 1, 0], {"increasing": False}),
    "integer weights": ([1, 2, 3], [0, 1, 0], {"sample_weight": [3, 1, 2]}),
    "real weights": ([1, 2, 3], [0, 1, 0], {"sample_weight": [0.1, 1e9, 7]}),
    "weights beyond integers": ([1, 2], [0, 1], {"sample_weight": [1e17, 1]}),
    "infinite scores": ([-INF, 0, INF], [0, 0, 1], {}),
    "tiny and huge scores": ([-5e-324, 0, 1e308], [0, 1, 1], {}),
    "no thresholds": ([INF], [0], {}),
    "one observation": ([0.1], [1], {}),
}
DIAGRAMS = {  # scores, counts, positives
    "counts": ([3, 1, 2], [5, 1, 2**40], [0, 1, 7]),
    "weights": ([1, 2], [0.1, 1e300], [0.1, 1]),
    "weights, whole for label 0": ([1, 2], [1.5, 2], [0.5, 1]),
    "weights, whole for label 1": ([1, 2], [1.5, 2], [1, 1]),
    "counts at infinite scores": ([-INF, 0.5, INF], [1, 1, 1], [0, 1, 0]),
}
GROUPS = {  # groups of the scores 3, 1, -0.0, 1 with labels 0, 1, 1, 0; options
    "text": (["b", "a", "a", "b"], {"minimum": 1}),
    "text of all kinds": (["", "Größe 😀", '"],[\\', "\x00"], {"minimum": 0}),
    "integers": ([-1, 2**70, -1, 10**300], {"minimum": 0, "increasing": False}),
    "floats": ([0.1, 2.0, -0.0, 0.1], {"minimum": 1}),
    "booleans": ([True, True, False, True], {"minimum": 1}),
    "one group, too small": ([7] * 4, {}),
    "groups with real weights": ([7, 8, 7, 7], {"sample_weight": [0.1, 2, 1e-9, 1]}),
    "weights that are whole in a group": (
        [7, 8, 7, 7],
        {"sample_weight": [2, 0.5, 1, 3]},
    ),
    "small groups that share a rule": (["b", "a", "a", "b"], {"minimum": 2}),
}

FOLDS = {  # folds of the scores 3, 1, -0.0, inf with labels 0, 1, 1, 0; options
    "two folds": ([0, 1, 1, 0], {}),
    "one fold, decreasing": ([0] * 4, {"increasing": False}),
    "as many folds as rows": ([3, 0, 2, 1], {"weight": 4}),
    "a weight of a third": ([0, 1, 1, 0], {"weight": 1 / 3}),
    "any weight": ([0, 1, 1, 0], {"weight": Fraction(10**20 + 1, 3 * 10**20)}),
    "folds with real weights": ([0, 1, 1, 0], {"sample_weight": [0.1, 2, 1e-9, 1]}),
    "weights that are whole in a fold": (
        [0, 1, 1, 0],
        {"sample_weight": [2, 0.5, 0.25, 1]},
    ),
    "weights beyond integers in a fold": (
        [0, 1, 1, 0],
        {"sample_weight": [1e17, 2, 3, 1]},
    ),
    "a fold without weight": ([0, 1, 2, 0], {"sample_weight": [2, 0, 3, 1]}),
    "no weight but in the last fold": ([0, 0, 1, 2], {"sample_weight": [0, 0, 0, 0.5]}),
}

REGRESSIONS = {  # options for scores 3, 1, -0.0, inf with targets 0.1, 4, 2, -7
    "trimmed": {},
    "both ends": {"low": -7, "high": 1e300},
    "low": {"low": -7.5, "trim": 3},
    "high, decreasing": {"high": 4, "increasing": False},
    "weights of targets": {"sample_weight": [0.1, 3, 1e-9, 1], "low": -8},
    "no width": {"sample_weight": [0, 2, 0, 0]},
}


def made(name):
    if name in REGRESSIONS:
        columns = [3, 1, -0.0, INF], [0.1, 4, 2, -7]
        return abers.fit_regression_rule(*columns, **REGRESSIONS[name])
    if name in FOLDS:
        folds, options = FOLDS[name]
        return abers.fit_pooled_rule([3, 1, -0.0, INF], [0, 1, 1, 0], folds, **options)
    if name in GROUPS:
        groups, options = GROUPS[name]
        return abers.fit_rules([3, 1, -0.0, 1], [0, 1, 1, 0], groups, **options)
    if name in DIAGRAMS:
        return abers.Diagram.from_counts(*DIAGRAMS[name])
    scores, labels, options = RULES[name]
    return abers.fit_rule(scores, labels, **options)


@pytest.fixture(params=RULES)
def rule(request):
    return made(request.param)


@pytest.fixture(params=DIAGRAMS)
def diagram(request):
    return made(request.param)


@pytest.fixture(params=GROUPS)
def rule_set(request):
    return made(request.param)


@pytest.fixture(params=FOLDS)
def pooled_rule(request):
    return made(request.param)


@pytest.fixture(params=REGRESSIONS)
def regression_rule(request):
    return made(request.param)


@pytest.fixture(params=[*RULES, *DIAGRAMS, *GROUPS, *FOLDS, *REGRESSIONS])
def thing(request):
    return made(request.param)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("files") / "any.abers"


def saved(thing, path, metadata=None):
    thing.save(path, metadata)
    return path.read_bytes()


def arrays_of(thing):
    _, arrays = plain_writer.parts(thing)
    return bits(arrays)


def bits(arrays):
    return {name: (array.dtype, array.tobytes()) for name, array in arrays.items()}


def test_rule_comes_back_to_the_last_bit(rule, path):
    rule.save(path)
    found = abers.load(path)
    assert found == rule
    assert arrays_of(found) == arrays_of(rule)


def test_rules_that_come_back_include_the_extreme_ones():
    assert made("no thresholds").thresholds.size == 0
    assert made("infinite scores").thresholds[-1] == INF
    assert isinstance(made("weights beyond integers").n_observations, float)


def test_diagram_comes_back_to_the_last_bit(diagram, path):
    diagram.save(path)
    found = abers.load(path)
    assert found == diagram
    assert arrays_of(found) == arrays_of(diagram)


def test_rule_set_comes_back_to_the_last_bit(rule_set, path):
    rule_set.save(path)
    found = abers.load(path)
    assert found == rule_set
    assert arrays_of(found) == arrays_of(rule_set)
    assert found.rules == rule_set.rules
    assert found.pooled == rule_set.pooled
    assert found.rest == rule_set.rest
    assert [diagram.is_exact for diagram in found.diagrams.values()] == [
        diagram.is_exact for diagram in rule_set.diagrams.values()
    ]


def test_rule_sets_that_come_back_include_those_that_share_a_rule():
    shares = {name: made(name).rest is not None for name in GROUPS}
    assert [name for name, has in shares.items() if has] == [
        "text",
        "floats",
        "small groups that share a rule",
    ]


rows = st.tuples(
    st.floats(allow_nan=False),
    st.booleans(),
    st.integers(1, 9) | st.floats(1e-6, 1e6),
)
numbers = st.integers(-(10**300), 10**300) | st.floats(
    allow_nan=False, allow_infinity=False
)
tags = st.dictionaries(st.text(), st.text() | st.booleans() | st.none() | numbers)


def test_pooled_rule_comes_back_to_the_last_bit(pooled_rule, path):
    pooled_rule.save(path)
    found = abers.load(path)
    assert found == pooled_rule
    assert arrays_of(found) == arrays_of(pooled_rule)
    assert found.weight == pooled_rule.weight
    assert [diagram and diagram.is_exact for diagram in found.diagrams] == [
        diagram and diagram.is_exact for diagram in pooled_rule.diagrams
    ]
    scores = np.random.default_rng(0).choice([-1, 0, 2, 3, INF], (50, found.n_folds))
    assert found.bounds(scores).tobytes() == pooled_rule.bounds(scores).tobytes()


def test_regression_rule_comes_back_to_the_last_bit(regression_rule, path):
    regression_rule.save(path, {"day": 1})
    found = abers.load(path)
    assert arrays_of(found) == arrays_of(regression_rule)
    for name in ("low", "high", "trim", "increasing", "n_observations"):
        assert repr(getattr(found, name)) == repr(getattr(regression_rule, name))
    assert found.metadata == {"day": 1}
    found.save(path, {"day": 2})
    assert abers.load(path).metadata == {"day": 2}


def test_weights_with_many_digits_come_back_or_are_refused(path):
    columns = ([1, 2, 3], [0, 1, 0], [0, 1, 1])
    long = Fraction(10**1000 - 1, 10**999 + 1)
    abers.fit_pooled_rule(*columns, weight=long).save(path)
    assert abers.load(path).weight == long
    for longer in (Fraction(10**1000 + 1, 10**999), Fraction(10**5000, 10**5000 + 1)):
        rule = abers.fit_pooled_rule(*columns, weight=longer)
        with pytest.raises(InvalidParameter, match=r"^a weight to save .* 1000 digits"):
            rule.save(path)
    assert abers.load(path).weight == long


def test_folds_without_rows_come_back_as_such(path):
    rule = made("a fold without weight")
    assert [diagram is None for diagram in rule.diagrams] == [False, True, False]
    rule.save(path)
    assert abers.load(path).diagrams == rule.diagrams


def test_pooled_rule_of_nothing_comes_back(path):
    nothing = abers.PooledRule([None, None], weight=1, increasing=True)
    nothing.save(path)
    assert abers.load(path) == nothing
    assert abers.load(path).bounds([[1, 2]]).tolist() == [[0, 1]]


def test_tags_are_added_to_those_that_the_pooled_rule_has(path):
    made("two folds").save(path, {"model": "spam", "day": 1})
    abers.load(path).save(path, {"day": 2})
    assert abers.load(path).metadata == {"model": "spam", "day": 2}


@settings(max_examples=100)
@given(
    st.lists(st.tuples(rows, st.integers(0, 3)), min_size=1),
    st.booleans(),
    st.fractions(Fraction(1, 10**9), 10**9),
    tags,
)
def test_any_pooled_rule_with_any_tags_comes_back(path, rows, weighted, weight, tags):
    (scores, labels, weights), numbers = (
        zip(*(row for row, _ in rows), strict=True),
        [fold for _, fold in rows],
    )
    folds = [sorted(set(numbers)).index(fold) for fold in numbers]
    rule = abers.fit_pooled_rule(
        scores,
        labels,
        folds,
        weight=weight,
        sample_weight=weights if weighted else None,
    )
    rule.save(path, tags)
    found = abers.load(path)
    assert arrays_of(found) == arrays_of(rule)
    assert found.weight == weight
    assert {k: repr(v) for k, v in found.metadata.items()} == {
        k: repr(v) for k, v in tags.items()
    }


def test_groups_in_a_file_keep_their_type(rule_set, path):
    rule_set.save(path)
    assert list(map(repr, abers.load(path))) == list(map(repr, rule_set))


def test_names_of_groups_may_be_longer_than_any_header(path):
    groups = [f"{i} {'x' * 1000}" for i in range(2000)]
    rule_set = abers.fit_rules(range(2000), [0] * 2000, groups)
    rule_set.save(path)
    assert abers.load(path) == rule_set


@settings(max_examples=200)
@given(st.lists(rows, min_size=1), st.booleans(), st.booleans(), tags)
def test_any_rule_with_any_tags_comes_back(path, rows, weighted, increasing, tags):
    scores, labels, weights = zip(*rows, strict=True)
    rule = abers.fit_rule(
        scores,
        labels,
        sample_weight=weights if weighted else None,
        increasing=increasing,
    )
    rule.save(path, tags)
    found = abers.load(path)
    assert arrays_of(found) == arrays_of(rule)
    assert found.n_observations == rule.n_observations
    assert found.n_positives == rule.n_positives
    assert found.increasing is rule.increasing
    assert {k: repr(v) for k, v in found.metadata.items()} == {
        k: repr(v) for k, v in tags.items()
    }


def test_tags_are_added_to_those_that_the_rule_has(path):
    abers.fit_rule([1], [0]).save(path, {"model": "spam", "day": 1})
    abers.load(path).save(path, MappingProxyType({"day": 2, "note": None}))
    assert abers.load(path).metadata == {"model": "spam", "day": 2, "note": None}


def test_tags_are_added_to_those_that_the_rule_set_has(path):
    made("text").save(path, {"model": "spam", "day": 1})
    abers.load(path).save(path, {"day": 2})
    assert abers.load(path).metadata == {"model": "spam", "day": 2}


@pytest.mark.parametrize(
    "groups", [[INF, 1.0], ["\ud83d", "a"], [10**400, 1]], ids=["inf", "half", "huge"]
)
def test_groups_that_no_file_can_hold_are_refused(groups, tmp_path):
    rule_set = abers.fit_rules([1, 2], [0, 1], groups)
    with pytest.raises(
        InvalidParameter, match=r"^groups to save must be text or finite"
    ):
        rule_set.save(tmp_path / "any.abers")
    assert list(tmp_path.iterdir()) == []


def test_tags_may_be_long_but_not_endless(path):
    rule = abers.fit_rule([1], [0])
    long = {f"Größe {i} 😀": "x" * 5_000 for i in range(100)}
    rule.save(path, long)
    assert abers.load(path).metadata == long
    with pytest.raises(InvalidParameter, match="must fit into 1048576 bytes"):
        rule.save(path, {"text": "x" * 2**20})
    assert abers.load(path).metadata == long


@pytest.mark.parametrize(
    ("metadata", "shown"),
    [
        ({"auc": math.nan}, "'auc': nan"),
        ({"auc": INF}, "'auc': inf"),
        ({"size": 10**400}, "'size': 1000"),
        ({"names": ["a", "b"]}, r"'names': \['a', 'b'\]"),
        ({"nested": {}}, "'nested': {}"),
        ({"raw": b"bytes"}, "'raw': b'bytes'"),
        ({1: "one"}, "1: 'one'"),
        ({"half": "\ud83d"}, "'half': '.ud83d'"),
        ({"\ude00": 1}, "'.ude00': 1"),
        ([("a", 1)], r"\[\('a', 1\)\]"),
        ("text", "'text'"),
    ],
)
@pytest.mark.parametrize("name", ["increasing", "counts", "text", "two folds"])
def test_bad_tags_are_refused_before_anything_is_written(
    name, metadata, shown, tmp_path
):
    with pytest.raises(InvalidParameter, match=f"^metadata must map text .* {shown}"):
        made(name).save(tmp_path / "any.abers", metadata)
    assert list(tmp_path.iterdir()) == []


def test_equal_rules_give_equal_bytes(path):
    scores, labels = [0.0, 1.0, 2.0, 3.0], [0, 1, 0, 1]
    rule = abers.fit_rule(scores, labels)
    diagram = abers.Diagram.from_observations(scores, labels)
    twins = {
        "rows in another order": abers.fit_rule(scores[::-1], labels[::-1]),
        "the other zero": abers.fit_rule([-0.0, 1, 2, 3], labels),
        "unit weights": abers.fit_rule(scores, labels, sample_weight=[1.0] * 4),
        "its diagram": abers.fit_rule_from_diagram(diagram),
        "a copy": copy.deepcopy(rule),
        "a pickle": pickle.loads(pickle.dumps(rule)),
    }
    expected = saved(rule, path)
    assert {name: twin == rule for name, twin in twins.items()} == dict.fromkeys(
        twins, True
    )
    assert {name: saved(twin, path) for name, twin in twins.items()} == dict.fromkeys(
        twins, expected
    )
    halves = abers.fit_rule(scores * 2, labels * 2, sample_weight=[0.5] * 8)
    assert halves == rule
    assert saved(halves, path) != expected  # it keeps how its weights scatter
    assert saved(halves.with_cells(rule.cells), path) == expected


def test_equal_diagrams_give_equal_bytes(path):
    positive = abers.Diagram.from_counts([0.0, 1], [0.5, 2], [0.0, 1])
    negative = trusted_diagram(
        np.array([-0.0, 1]), positive.negatives, np.array([-0.0, 1])
    )
    assert negative == positive
    assert saved(negative, path) == saved(positive, path)


def test_equal_rule_sets_give_equal_bytes(path):
    rule_set = made("text")
    rows = [2, 0, 3, 1]
    columns = ([3, 1, 0, 1], [0, 1, 1, 0], ["b", "a", "a", "b"])
    scores, labels, groups = ([column[row] for row in rows] for column in columns)
    shuffled = abers.fit_rules(scores, labels, groups, minimum=1)
    parts = [
        abers.fit_rules(scores[row:stop], labels[row:stop], groups[row:stop], minimum=1)
        for row, stop in ((0, 3), (3, 4))
    ]
    twins = {
        "rows in another order": shuffled,
        "unit weights": abers.fit_rules(*columns, minimum=1, sample_weight=[1.0] * 4),
        "a sum": parts[0] + parts[1],
        "a sum the other way": parts[1] + parts[0],
        "a copy": copy.deepcopy(rule_set),
        "a pickle": pickle.loads(pickle.dumps(rule_set)),
    }
    expected = saved(rule_set, path)
    assert {name: saved(twin, path) for name, twin in twins.items()} == dict.fromkeys(
        twins, expected
    )


def test_equal_pooled_rules_give_equal_bytes(path):
    columns = ([3, 1, 0, INF], [0, 1, 1, 0], [0, 1, 1, 0])
    rule = abers.fit_pooled_rule(*columns)
    rows = [2, 0, 3, 1]
    shuffled = ([column[row] for row in rows] for column in columns)
    twins = {
        "rows in another order": abers.fit_pooled_rule(*shuffled),
        "the other zero": made("two folds"),
        "unit weights": abers.fit_pooled_rule(*columns, sample_weight=[1.0] * 4),
        "halves": abers.fit_pooled_rule(
            *(column * 2 for column in columns), sample_weight=[0.5] * 8
        ),
        "another one": abers.fit_pooled_rule(*columns, weight=Fraction(2, 2)),
        "its diagrams": abers.PooledRule(rule.diagrams, weight=1.0, increasing=True),
        "a copy": copy.deepcopy(rule),
        "a pickle": pickle.loads(pickle.dumps(rule)),
    }
    expected = saved(rule, path)
    assert {name: twin == rule for name, twin in twins.items()} == dict.fromkeys(
        twins, True
    )
    assert {name: saved(twin, path) for name, twin in twins.items()} == dict.fromkeys(
        twins, expected
    )


def test_order_of_tags_does_not_matter(path):
    rule = abers.fit_rule([1], [0])
    forth, back = {"a": 1, "b": 2, "c": 3}, {"c": 3, "b": 2, "a": 1}
    assert saved(rule, path, forth) == saved(rule, path, back)


def test_bytes_do_not_depend_on_the_process(path):
    script = (
        "import abers, sys; abers.fit_rule([1, 2, 3], [0, 1, 0]).save("
        "sys.argv[1], {name: len(name) for name in {'a', 'bb', 'ccc', 'dddd'}})"
    )
    found = set()
    for seed in ("0", "1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", script, str(path)]
        subprocess.run(command, env=environment, check=True)
        found.add(path.read_bytes())
    assert len(found) == 1


def test_a_second_writer_gives_the_same_bytes(thing, path):
    assert saved(thing, path) == plain_writer.written(*plain_writer.parts(thing))


def test_safetensors_reads_our_files(thing, path):
    thing.save(path, {"model": "spam"})
    assert bits(safetensors.numpy.load_file(path)) == arrays_of(thing)


GOLDEN_TAGS = {"auc": 0.875, "live": True, "model": "Größe 😀", "note": None, "rows": 3}


def golden_plain_rule(path):
    """How tests/golden/rule-v1.abers was made: by a rule that knew no cells."""
    abers.fit_rule([1, 2, 3], [0, 1, 0]).with_cells(None).save(path, GOLDEN_TAGS)


def golden_rule(path):
    """How tests/golden/rule-v2.abers was made."""
    abers.fit_rule([1, 2, 3], [0, 1, 0]).save(path, GOLDEN_TAGS)


def golden_rule_of_many_rows(path):
    """How tests/golden/rule-v3.abers was made."""
    labels = np.arange(2500) * 769 % 2500 < 500
    abers.fit_rule(np.arange(1, 2501), labels).save(path)


def golden_weighted_rule(path):
    """How tests/golden/weighted-rule-v2.abers was made."""
    weights = {"sample_weight": [0.5, 2, 1]}
    abers.fit_rule([1, 2, 3], [0, 1, 0], **weights).save(path)


def golden_diagram(path):
    """How tests/golden/diagram-v1.abers was made."""
    abers.Diagram.from_counts([-INF, 0.5, 2], [10, 4, 1], [2, 4, 0]).save(path)


def golden_weights(path):
    """How tests/golden/weighted-diagram-v1.abers was made."""
    abers.Diagram.from_counts([0.5, INF], [2.5, 1], [0.25, 1]).save(path)


def as_in_version_1(rule_set):
    """The same groups; those that are small get the rule of all rows."""
    return abers.RuleSet(rule_set.diagrams, minimum=rule_set.minimum, fallback="pooled")


def golden_plain_rule_set(path):
    """How tests/golden/rule-set-v1.abers was made: when small groups shared nothing."""
    rule_set = abers.fit_rules(
        [1, 2, 1, 2, 3, INF],
        [0, 1, 0, 1, 0, 1],
        ["shop", "shop", "web", "web", "web", "Größe 😀"],
        minimum=1,
        sample_weight=[1, 1, 1, 1, 1, 0.5],
    )
    as_in_version_1(rule_set).save(path, GOLDEN_TAGS)


def small_groups():
    return abers.fit_rules(
        [1, 2, 3, 4, 1, 2, 3, 4],
        [0, 1, 0, 1, 1, 1, 0, 0],
        ["web"] * 4 + ["fax"] * 2 + ["phone"] * 2,
        minimum=2,
    )


def golden_plain_small_groups(path):
    """How tests/golden/small-groups-v1.abers was made."""
    as_in_version_1(small_groups()).save(path)


def golden_small_groups(path):
    """How tests/golden/small-groups-v2.abers was made."""
    small_groups().save(path)


def golden_pooled_rule(path):
    """How tests/golden/pooled-rule-v1.abers was made; the second fold has no weight."""
    rule = abers.fit_pooled_rule(
        [1, 2, 3, 9, 5, INF],
        [0, 1, 0, 1, 1, 0],
        [0, 0, 0, 1, 2, 2],
        weight=Fraction(1, 2),
        sample_weight=[1, 1, 1, 0, 1, 2],
    )
    rule.save(path, GOLDEN_TAGS)


def golden_regression_rule(path):
    """How tests/golden/regression-rule-v1.abers was made."""
    rule = abers.fit_regression_rule([1, 2, 3], [2, 4, 8], low=0)
    rule.save(path, GOLDEN_TAGS)


def test_rule_file_of_version_1_is_read_for_ever():
    rule = abers.load(GOLDEN / "rule-v1.abers")
    assert rule.thresholds.tolist() == [1 + 2**-52, 2, 3 + 2**-51]
    assert rule.lower.tolist() == [0, 0, 1 / 3, 1 / 3]
    assert rule.upper.tolist() == [1 / 2, 2 / 3, 2 / 3, 1]
    assert rule.score_quantiles.tolist() == [1] * 34 + [2] * 33 + [3] * 34
    assert (rule.n_observations, rule.n_positives) == (3, 1)
    assert rule.increasing is True
    assert rule.metadata == GOLDEN_TAGS
    assert rule.cells is None


def test_rule_file_of_version_2_is_read_for_ever():
    rule = abers.load(GOLDEN / "rule-v2.abers")
    assert rule == abers.load(GOLDEN / "rule-v1.abers")
    assert rule.cells.counts.tolist() == [0, 1, 1, 1]
    assert rule.cells.positives.tolist() == [0, 0, 1, 0]
    assert rule.cells.squares is None
    weighted = abers.load(GOLDEN / "weighted-rule-v2.abers")
    assert weighted.cells.counts.tolist() == [0, 0.5, 2, 1]
    assert weighted.cells.positives.tolist() == [0, 0, 2, 0]
    assert weighted.cells.squares.tolist() == [0, 0.25, 4, 1]


def test_rule_file_of_version_3_is_read_for_ever():
    rule = abers.load(GOLDEN / "rule-v3.abers")
    assert rule.cells.cuts.tolist() == [22, *range(25, 2476, 25), 2480]
    assert rule.cells.counts.tolist() == [21, 3, *[25] * 98, 5, 21]
    assert rule.cells.positives.sum() == 500
    assert rule.cells.squares is None


def test_rules_of_many_rows_come_back_with_their_cells(path):
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=20_000), rng.random(20_000) < 0.2
    for weights in (None, rng.exponential(size=20_000)):
        rule = abers.fit_rule(scores, labels, sample_weight=weights)
        rule.save(path)
        loaded = abers.load(path)
        assert loaded == rule
        for mine, theirs in zip(rule.cells, loaded.cells, strict=True):
            np.testing.assert_array_equal(mine, theirs)
        assert pickle.loads(pickle.dumps(rule)).cells.cuts.size > 110


def test_regression_rule_file_of_version_1_is_read_for_ever():
    rule = abers.load(GOLDEN / "regression-rule-v1.abers")
    # A new case at 2 has the target 0, and shares (4 + 0) / 2; or it has the 8, which
    # is the largest but none, and shares (4 + 8) / 2.
    assert rule.bounds([2]).tolist() == [[2, 6]]
    assert rule.thresholds.tolist() == [1, 1 + 2**-52, 2, 2 + 2**-51, 3]
    assert rule.lower.tolist() == pytest.approx([0, 1, 1, 2, 2, 8 / 3], rel=1e-15)
    assert rule.upper.tolist() == pytest.approx([14 / 3, 14 / 3, 6, 6, 8, 8])
    assert (rule.low, rule.high, rule.trim) == (0, None, 1)
    assert (rule.n_observations, rule.increasing) == (3, True)
    assert rule.metadata == GOLDEN_TAGS


def test_diagram_file_of_version_1_is_read_for_ever():
    diagram = abers.load(GOLDEN / "diagram-v1.abers")
    assert diagram.scores.tolist() == [-INF, 0.5, 2]
    assert diagram.negatives.tolist() == [8, 0, 1]
    assert diagram.positives.tolist() == [2, 4, 0]
    assert diagram.is_exact


def test_weighted_diagram_file_of_version_1_is_read_for_ever():
    diagram = abers.load(GOLDEN / "weighted-diagram-v1.abers")
    assert diagram.scores.tolist() == [0.5, INF]
    assert diagram.negatives.tolist() == [2.25, 0]
    assert diagram.positives.tolist() == [0.25, 1]
    assert not diagram.is_exact


def test_rule_set_file_of_version_1_is_read_for_ever():
    rule_set = abers.load(GOLDEN / "rule-set-v1.abers")
    assert rule_set.counts == {"Größe 😀": (0, 0.5), "shop": (1, 1), "web": (2, 1)}
    assert list(rule_set.rules) == ["shop", "web"]
    assert rule_set["shop"].bounds([2]).tolist() == [[1 / 2, 1]]
    assert rule_set["web"].bounds([2]).tolist() == [[1 / 3, 2 / 3]]
    assert rule_set.pooled.n_observations == 5.5
    pooled = [[2 / 4, 3 / 4]]  # the 1s at 2 and the 0 at 3, with the new case
    assert rule_set["Größe 😀"].bounds([2]).tolist() == pooled
    assert rule_set["boat"].bounds([2]).tolist() == pooled
    assert (rule_set.minimum, rule_set.increasing) == (1, True)
    assert (rule_set.fallback, rule_set.rest) == ("pooled", None)
    assert rule_set.metadata == GOLDEN_TAGS


def bounds_at_2(rule_set):
    names = ["web", "fax", "phone", "boat"]
    return dict(zip(names, rule_set.bounds([2] * 4, names).tolist(), strict=True))


@pytest.mark.filterwarnings("ignore::abers.errors.UnknownGroupWarning")
def test_small_groups_of_version_1_have_the_rule_of_all_rows_for_ever():
    rule_set = abers.load(GOLDEN / "small-groups-v1.abers")
    everything = [3 / 7, 4 / 7]  # three 1s and three 0s at 1, 2, 3, with the new case
    assert bounds_at_2(rule_set) == {
        "web": [1 / 3, 2 / 3],
        "fax": everything,
        "phone": everything,
        "boat": everything,
    }
    assert (rule_set.fallback, rule_set.rest) == ("pooled", None)
    more = rule_set + rule_set
    assert (more.fallback, more["fax"]) == ("pooled", more.pooled)
    with pytest.raises(InvalidParameter, match=r"must agree in .* and fallback; got"):
        rule_set + small_groups()


@pytest.mark.filterwarnings("ignore::abers.errors.UnknownGroupWarning")
def test_small_groups_of_version_2_share_a_rule_for_ever():
    rule_set = abers.load(GOLDEN / "small-groups-v2.abers")
    # That of the 1s at 1 and 2 and the 0s at 3 and 4: one block, with the new case.
    assert bounds_at_2(rule_set) == {
        "web": [1 / 3, 2 / 3],
        "fax": [2 / 5, 3 / 5],
        "phone": [2 / 5, 3 / 5],
        "boat": [3 / 7, 4 / 7],
    }
    assert rule_set == small_groups()
    assert rule_set != abers.load(GOLDEN / "small-groups-v1.abers")


def test_rule_set_of_version_1_is_saved_as_it_was(path):
    for name in ("rule-set-v1.abers", "small-groups-v1.abers"):
        abers.load(GOLDEN / name).save(path)
        assert path.read_bytes() == (GOLDEN / name).read_bytes()


def test_pooled_rule_file_of_version_1_is_read_for_ever():
    rule = abers.load(GOLDEN / "pooled-rule-v1.abers")
    first, second, third = rule.diagrams
    assert first.scores.tolist() == [1, 2, 3]
    assert first.negatives.tolist() == [1, 0, 1]
    assert first.positives.tolist() == [0, 1, 0]
    assert second is None
    assert third.scores.tolist() == [5, INF]
    assert third.negatives.tolist() == [0, 2]
    assert (rule.n_folds, rule.n_observations, rule.n_positives) == (3, 6, 2)
    assert (rule.weight, rule.increasing) == (Fraction(1, 2), True)
    # The new case is tied with the 1 of the first fold; the 0 above joins them, and
    # in the third fold the 1 below and the two 0 above: 2 or 2.5 ones in 5.5.
    assert rule.bounds([[2, -7, 6]]).tolist() == [[2 / 5.5, 2.5 / 5.5]]
    assert rule.metadata == GOLDEN_TAGS


@pytest.mark.parametrize(
    ("recipe", "name"),
    [
        (golden_plain_rule, "rule-v1.abers"),
        (golden_rule, "rule-v2.abers"),
        (golden_weighted_rule, "weighted-rule-v2.abers"),
        (golden_rule_of_many_rows, "rule-v3.abers"),
        (golden_diagram, "diagram-v1.abers"),
        (golden_weights, "weighted-diagram-v1.abers"),
        (golden_plain_rule_set, "rule-set-v1.abers"),
        (golden_plain_small_groups, "small-groups-v1.abers"),
        (golden_small_groups, "small-groups-v2.abers"),
        (golden_pooled_rule, "pooled-rule-v1.abers"),
        (golden_regression_rule, "regression-rule-v1.abers"),
    ],
)
def test_golden_files_are_what_is_written_today(recipe, name, path):
    recipe(path)
    assert path.read_bytes() == (GOLDEN / name).read_bytes()


def test_tags_of_a_diagram_come_back(tmp_path):
    path = tmp_path / "day.abers"
    diagram = abers.Diagram.from_observations([1, 2], [0, 1])
    diagram.save(path, {"day": "monday"})
    loaded = abers.load(path)
    assert loaded.metadata == {"day": "monday"}
    loaded.save(path, {"shop": 7})
    assert abers.load(path).metadata == {"day": "monday", "shop": 7}


def test_rules_with_tags_of_different_types_differ(tmp_path):
    rule = abers.fit_rule([1, 2], [0, 1])
    tagged = []
    for value in (1, 1.0, True, "1"):
        rule.save(tmp_path / "rule.abers", {"v": value})
        tagged.append(abers.load(tmp_path / "rule.abers"))
    assert all(a != b for i, a in enumerate(tagged) for b in tagged[:i])
