"""What is in files: it comes back as it was, and nothing else does."""

import copy
import math
import os
import pickle
import subprocess
import sys
import tracemalloc
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings, strategies as st

import abers
import fitted_things
import plain_writer
from abers._kernel import Table
from abers.core.curves import Matrix
from abers.core.diagram import trusted_diagram
from abers.errors import InvalidData, InvalidFile, InvalidParameter
from fitted_things import INF, KINDS, THINGS, bits, contents

GOLDEN = Path(__file__).parents[1] / "golden"
TAGS = {"auc": 0.875, "live": True, "model": "Größe 😀", "note": None, "rows": 3}
ALL = pytest.mark.parametrize("thing", THINGS.values(), ids=THINGS)
EACH_KIND = pytest.mark.parametrize(
    "thing", [THINGS[name] for name in KINDS.values()], ids=KINDS
)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("files") / "any.abers"


def saved(thing, path, metadata=None):
    thing.save(path, metadata)
    return path.read_bytes()


# The same again.


@ALL
def test_what_is_saved_comes_back_to_the_last_bit(thing, path):
    thing.save(path)
    loaded = abers.load(path)
    assert type(loaded) is type(thing)
    assert bits(loaded) == bits(thing)


def test_things_that_come_back_include_the_extreme_ones():
    assert THINGS["rule without thresholds"].thresholds.size == 0
    assert THINGS["rule of infinite scores"].thresholds[-1] == INF
    assert isinstance(THINGS["weighted rule"].n_rows, float)
    assert THINGS["rule set whose small groups share a rule"].rest is None
    assert THINGS["rule set"].rest is not None
    empty = THINGS["pooled rule with an empty fold"]
    assert [diagram is None for diagram in empty.diagrams] == [False, True, False]


@pytest.mark.parametrize("name", [name for name in THINGS if "rule set" in name])
def test_a_rule_set_that_comes_back_has_the_same_rules(name, path):
    rule_set = THINGS[name]
    rule_set.save(path)
    loaded = abers.load(path)
    assert loaded == rule_set
    assert loaded.rules == rule_set.rules
    assert loaded.pooled == rule_set.pooled
    assert loaded.rest == rule_set.rest
    assert list(map(repr, loaded)) == list(map(repr, rule_set))
    assert repr(loaded.counts) == repr(rule_set.counts)
    assert loaded.keeps_diagram == rule_set.keeps_diagram
    if loaded.keeps_diagram:
        assert loaded.diagrams == rule_set.diagrams


@pytest.mark.parametrize("name", [name for name in THINGS if "pooled" in name])
def test_a_pooled_rule_that_comes_back_has_the_same_bounds(name, path):
    rule = THINGS[name]
    rule.save(path)
    loaded = abers.load(path)
    assert loaded.diagrams == rule.diagrams
    assert [diagram and diagram.is_exact for diagram in loaded.diagrams] == [
        diagram and diagram.is_exact for diagram in rule.diagrams
    ]
    scores = np.random.default_rng(0).choice([-1, 0, 2, 3, INF], (50, loaded.n_folds))
    assert loaded.bounds(scores).tobytes() == rule.bounds(scores).tobytes()


@pytest.mark.parametrize("window", [None, 4, 5, 100])
def test_a_set_that_was_saved_goes_on_as_if_it_had_not_been(window, path):
    online = fitted_things.online_set(window)
    online.save(path)
    again = abers.load(path)
    probes = [-INF, 0, 1, 2, 3, INF]
    for score, label in [(2, 1), (2, 1), (5, 0), (1, 0), (0.5, 1)]:
        np.testing.assert_array_equal(again.bounds(probes), online.bounds(probes))
        again.add(score, label)
        online.add(score, label)
    assert again.diagram() == online.diagram()


@pytest.mark.parametrize("name", ["protected rule", "protected set with a window"])
def test_protected_ones_that_were_saved_go_on_as_if_they_had_not_been(name, path):
    protected = pickle.loads(pickle.dumps(THINGS[name]))
    protected.save(path)
    again = abers.load(path)
    rng = np.random.default_rng(0)
    waiting = np.arange(31, 40) / 8
    for _ in range(5):
        scores = rng.normal(size=7)
        np.testing.assert_array_equal(again.predict(scores), protected.predict(scores))
        scores, waiting = np.append(waiting, scores), []
        labels = rng.integers(0, 2, scores.size)
        again.update(scores, labels)
        protected.update(scores, labels)
    again.drop([INF], ids=["a"])
    protected.drop([INF], ids=["a"])
    assert bits(again) == bits(protected)


def test_a_monitor_that_was_saved_goes_on_as_if_it_had_not_been(path):
    monitor = fitted_things.monitor()
    monitor.save(path)
    again = abers.load(path)
    rng = np.random.default_rng(0)
    for _ in range(5):
        rows = rng.normal(size=7), rng.integers(0, 2, 7)
        assert again.update(*rows).to_dict() == monitor.update(*rows).to_dict()
    assert bits(again) == bits(monitor)


numbers = st.integers(-(10**300), 10**300) | st.floats(
    allow_nan=False, allow_infinity=False
)
tags = st.dictionaries(
    st.text().filter(lambda key: not key.startswith("abers:")),
    st.text() | st.booleans() | st.none() | numbers,
)


@settings(max_examples=100)
@given(tags)
def test_any_tags_come_back(path, tags):
    THINGS["rule"].save(path, tags)
    loaded_tags = abers.load(path).metadata
    assert {key: repr(loaded_tags[key]) for key in loaded_tags} == {
        key: repr(tags[key]) for key in tags
    }


@EACH_KIND
def test_tags_are_added_to_those_that_are_there(thing, path):
    thing.save(path, {"model": "spam", "day": 1})
    abers.load(path).save(path, MappingProxyType({"day": 2, "note": None}))
    assert abers.load(path).metadata == {"model": "spam", "day": 2, "note": None}


def test_weights_with_many_digits_come_back_and_longer_ones_are_refused(path):
    columns = ([1, 2, 3], [0, 1, 0], [0, 1, 1])
    long = Fraction(10**15 + 1, 10**15)
    abers.rules.fit_pooled_rule(*columns, weight=long).save(path)
    assert abers.load(path).weight == long
    for longer in (Fraction(10**16 + 1, 10**16), Fraction(10**5000, 10**5000 + 1)):
        with pytest.raises(InvalidParameter, match=r"^weight must .* most 2\*\*53"):
            abers.rules.fit_pooled_rule(*columns, weight=longer)


def test_names_of_groups_may_be_longer_than_any_header(path):
    groups = [f"{i} {'x' * 1000}" for i in range(2000)]
    rule_set = abers.fit_rules(range(2000), [0] * 2000, groups)
    rule_set.save(path)
    assert abers.load(path) == rule_set


@pytest.mark.parametrize(
    "groups", [[INF, 1.0], ["\ud83d", "a"], [10**400, 1]], ids=["inf", "half", "huge"]
)
def test_groups_that_no_file_can_hold_are_refused_by_the_fit(groups):
    with pytest.raises(InvalidData, match=r"^groups must be text or finite numbers"):
        abers.fit_rules([1, 2], [0, 1], groups)


def test_rules_of_many_rows_come_back_with_their_cells(path):
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=20_000), rng.random(20_000) < 0.2
    for weights in (None, rng.exponential(size=20_000)):
        rule = abers.fit_rule(scores, labels, sample_weight=weights)
        rule.save(path)
        loaded = abers.load(path)
        assert bits(loaded) == bits(rule)
        assert loaded.cells.cuts.size > 110


# Equal contents, equal bytes.


def test_equal_rules_give_equal_bytes(path):
    scores, labels = [0.0, 1.0, 2.0, 3.0], [0, 1, 0, 1]
    rule = abers.fit_rule(scores, labels)
    diagram = abers.rules.Diagram.from_rows(scores, labels)
    twins = {
        "rows in another order": abers.fit_rule(scores[::-1], labels[::-1]),
        "the other zero": abers.fit_rule([-0.0, 1, 2, 3], labels),
        "unit weights": abers.fit_rule(scores, labels, sample_weight=[1.0] * 4),
        "its diagram": abers.rules.fit_rule_from_diagram(diagram),
    }
    check_that_bytes_are_equal(rule, twins, path)
    halves = abers.fit_rule(scores * 2, labels * 2, sample_weight=[0.5] * 8)
    assert halves == rule
    assert saved(halves, path) != saved(rule, path)  # it keeps how its weights scatter
    assert saved(halves.with_cells(rule.cells), path) == saved(rule, path)


def check_that_bytes_are_equal(thing, twins, path):
    twins |= {"copy": copy.deepcopy(thing), "pickle": pickle.loads(pickle.dumps(thing))}
    expected = saved(thing, path)
    assert {name: twin == thing for name, twin in twins.items()} == dict.fromkeys(
        twins, True
    )
    assert {name: saved(twin, path) for name, twin in twins.items()} == dict.fromkeys(
        twins, expected
    )


def test_equal_diagrams_give_equal_bytes(path):
    positive = abers.rules.Diagram.from_counts([0.0, 1], [0.5, 2], [0.0, 1])
    negative = trusted_diagram(np.array([-0.0, 1]), *positive.units)
    check_that_bytes_are_equal(positive, {"the other zero": negative}, path)


def test_equal_rule_sets_give_equal_bytes(path):
    columns = ([3, 1, 0, 1], [0, 1, 1, 0], ["b", "a", "a", "b"])
    scores, labels, groups = (
        [column[row] for row in [2, 0, 3, 1]] for column in columns
    )
    options = {"minimum": 1, "keep_diagram": True}
    parts = [
        abers.fit_rules(scores[row:stop], labels[row:stop], groups[row:stop], **options)
        for row, stop in ((0, 3), (3, 4))
    ]
    twins = {
        "rows in another order": abers.fit_rules(scores, labels, groups, **options),
        "unit weights": abers.fit_rules(*columns, sample_weight=[1.0] * 4, **options),
        "a sum": parts[0] + parts[1],
        "a sum the other way": parts[1] + parts[0],
    }
    check_that_bytes_are_equal(THINGS["rule set with its diagrams"], twins, path)
    plain = {name: twin.without_diagram() for name, twin in twins.items()}
    check_that_bytes_are_equal(THINGS["rule set"], plain, path)


def test_equal_pooled_rules_give_equal_bytes(path):
    columns = ([3, 1, 0, INF], [0, 1, 1, 0], [0, 1, 1, 0])
    rule = abers.rules.fit_pooled_rule(*columns)
    shuffled = ([column[row] for row in [2, 0, 3, 1]] for column in columns)
    twins = {
        "rows in another order": abers.rules.fit_pooled_rule(*shuffled),
        "the other zero": THINGS["pooled rule"],
        "unit weights": abers.rules.fit_pooled_rule(*columns, sample_weight=[1.0] * 4),
        "halves": abers.rules.fit_pooled_rule(
            *(column * 2 for column in columns), sample_weight=[0.5] * 8
        ),
        "another one": abers.rules.fit_pooled_rule(*columns, weight=Fraction(2, 2)),
        "its diagrams": abers.rules.PooledRule(
            rule.diagrams, weight=1.0, increasing=True
        ),
    }
    check_that_bytes_are_equal(rule, twins, path)


def test_equal_poset_rules_give_equal_bytes(path):
    scores, labels = [[1, 2], [2, 1], [2, 1], [0.0, 3]], [0, 1, 0, 1]
    twins = {
        "rows in another order": abers.rules.fit_poset_rule(scores[::-1], labels[::-1]),
        "the other zero": abers.rules.fit_poset_rule([*scores[:3], [-0.0, 3]], labels),
        "weights": abers.rules.fit_poset_rule(scores, labels, sample_weight=[1.0] * 4),
    }
    check_that_bytes_are_equal(abers.rules.fit_poset_rule(scores, labels), twins, path)


def test_arrivals_that_differ_only_in_how_they_came_give_equal_bytes(path):
    one, other = (abers.OnlineVennAbers(window=9) for _ in range(2))
    one.add_many([1, 2], [0, 1], sample_weight=[2, 3])
    other.add_many([1, 1, 2, 2, 2], [0, 0, 1, 1, 1])
    assert saved(one, path) == saved(other, path)


def test_order_of_tags_does_not_matter(path):
    rule = THINGS["rule"]
    forth, back = {"a": 1, "b": 2, "c": 3}, {"c": 3, "b": 2, "a": 1}
    assert saved(rule, path, forth) == saved(rule, path, back)


def test_rules_with_tags_of_different_types_differ(path):
    tagged = []
    for value in (1, 1.0, True, "1"):
        THINGS["rule"].save(path, {"v": value})
        tagged.append(abers.load(path))
    assert all(a != b for i, a in enumerate(tagged) for b in tagged[:i])


def test_bytes_do_not_depend_on_the_process(path):
    script = (
        "import abers, sys; abers.fit_rule([1, 2, 3], [0, 1, 0]).save("
        "sys.argv[1], {name: len(name) for name in {'a', 'bb', 'ccc', 'dddd'}})"
    )
    contents = set()
    for seed in ("0", "1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", script, str(path)]
        subprocess.run(command, env=environment, check=True)
        contents.add(path.read_bytes())
    assert len(contents) == 1


@ALL
def test_a_second_writer_gives_the_same_bytes(thing, path):
    assert saved(thing, path) == plain_writer.written(*plain_writer.parts(thing))


@ALL
def test_safetensors_reads_our_files(thing, path):
    thing.save(path, {"model": "spam"})
    _, arrays = plain_writer.parts(thing)
    tensors = safetensors.numpy.load_file(path)
    assert {name: (a.dtype, a.tobytes()) for name, a in tensors.items()} == {
        name: (a.dtype, a.tobytes()) for name, a in arrays.items()
    }


# What is not written.


def test_tags_may_be_long_but_not_endless(path):
    rule = THINGS["rule"]
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
        ({"abers:mine": 1}, "'abers:mine': 1"),
        ({"abers:prior": 2.0}, "'abers:prior': 2.0"),
        ({"abers:neg-labels": "lost"}, "'abers:neg-labels'"),
        ([("a", 1)], r"\[\('a', 1\)\]"),
        ("text", "'text'"),
    ],
)
@EACH_KIND
def test_bad_tags_are_refused_before_anything_is_written(
    thing, metadata, shown, tmp_path
):
    with pytest.raises(InvalidParameter, match=f"^metadata must map text .* {shown}"):
        thing.save(tmp_path / "any.abers", metadata)
    assert list(tmp_path.iterdir()) == []


UNSORTED = trusted_diagram(np.array([2.0, 1]), np.array([1, 0]), np.array([0, 1]))
CROSSED = Table(np.empty(0), np.array([0.6]), np.array([0.4]), np.zeros(101))


@pytest.mark.parametrize(
    ("thing", "says"),
    [
        (UNSORTED, "diagram to save .* its scores are not ascending"),
        (
            abers.rules.Rule(CROSSED, n_rows=1, n_positives=0, increasing=True),
            "rule to save .* its bounds are not monotone",
        ),
        (
            abers.rules.PooledRule([UNSORTED]),
            "pooled-rule to save .* are not ascending",
        ),
    ],
)
def test_what_could_not_be_loaded_is_not_saved(thing, says, tmp_path):
    with pytest.raises(InvalidParameter, match=says):
        thing.save(tmp_path / "any.abers")
    assert list(tmp_path.iterdir()) == []


def test_a_count_takes_no_memory_that_its_file_does_not_have(path):
    """A few bytes may say that a score was seen 2**40 times."""
    record, arrays = plain_writer.parts(THINGS["monitor"])
    arrays["negatives"][0] += 2**40
    record["n_calibration"] += 2**40
    path.write_bytes(plain_writer.written(record, arrays))
    tracemalloc.start()
    loaded = abers.load(path)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert taken < 10**6
    assert loaded.state.n_calibration == 4 + 2**40
    state = loaded.update([arrays["scores"][0], 100.0])
    assert 0 < state.p_values.scores[-2] < 1  # one of very many that are equal
    assert state.p_values.scores[-1] > 1 - 1e-9  # above all of them


# Files that were written once, and are read for ever.


def golden_rule_set(**options):
    return abers.fit_rules(
        [1, 2, 3, 4, 1, 2, 3, 4, INF],
        [0, 1, 0, 1, 1, 1, 0, 0, 1],
        ["web"] * 4 + ["fax"] * 2 + ["phone"] * 2 + ["Größe 😀"],
        minimum=2,
        sample_weight=[1] * 8 + [0.5],
        **options,
    )


def golden_pooled_rule():
    """The second fold has no weight."""
    return abers.rules.fit_pooled_rule(
        [1, 2, 3, 9, 5, INF],
        [0, 1, 0, 1, 1, 0],
        [0, 0, 0, 1, 2, 2],
        weight=Fraction(1, 2),
        sample_weight=[1, 1, 1, 0, 1, 2],
    )


def golden_stacked_rule():
    """Three rows that say nothing of three classes, and numbers that are exact."""
    score = -45426 / 2**16  # log(1/3) - log(2/3), rounded to 2^-16
    rules = [abers.fit_rule([score] * 3, np.arange(3) == c) for c in range(3)]
    curve = Matrix(np.eye(3), np.array([0, 0.5, 0]), low=-4.0, high=0.0)
    return abers.rules.StackedRule(
        rules, curve, np.array([0.25, 0.25, 0.5]), kind="log-odds"
    )


def golden_curve_calibrator():
    """Steps at 1, 2 and 3, the last two of one value."""
    calibrator = abers.IsotonicCalibrator().fit([1, 2, 3], ["no", "yes", "no"])
    return calibrator.calibrator_.with_columns(["s"])


def golden_venn_abers_calibrator():
    return abers.IVAPCalibrator().fit([1, 2, 3], [0, 1, 0]).calibrator_


def golden_protected():
    """A base that says 1/2, and 1/4 issued for two rows: each may cost 1 bit."""
    base_facts, base_arrays = contents(abers.fit_rule([1, 1], [0, 1]))
    facts = {
        "account": 2.0,
        "allowance": 0.5,
        "base": base_facts,
        "excess": -1.5,
        "metadata": {},
    }
    arrays = {
        "active": np.append([0.25, 0.75], np.zeros(43)),
        "ids": plain_writer.names_as_bytes('["x"]'),
        "waiting_base": np.array([0.5, 0.5]),
        "waiting_issued": np.array([0.25, 0.25]),
        "waiting_scores": np.array([1.0, INF]),
        **{f"rule_{name}": array for name, array in base_arrays.items()},
        "set_negatives": np.empty(0, np.int64),
        "set_positives": np.empty(0, np.int64),
        "set_scores": np.empty(0),
    }
    protected = abers.Protected.__new__(abers.Protected)
    protected.__setstate__(facts | arrays)
    return protected


RECIPES = {  # how the files tests/golden/<kind>-v1.abers were made
    "rule": lambda: abers.fit_rule([1, 2, 3], [0, 1, 0], sample_weight=[0.5, 2, 1]),
    "rule-with-diagram": lambda: abers.fit_rule(
        [1, 2, 3], [0, 1, 0], sample_weight=[0.5, 2, 1], keep_diagram=True
    ),
    "diagram": lambda: abers.rules.Diagram.from_counts(
        [-INF, 0.5, 2], [10, 4, 1], [2, 4, 0]
    ),
    "rule-set": golden_rule_set,
    "rule-set-with-diagrams": lambda: golden_rule_set(keep_diagram=True),
    "pooled-rule": golden_pooled_rule,
    "poset-rule": lambda: abers.rules.fit_poset_rule(
        [[0, 4], [1, 3], [3, 1], [3, INF]], [0, 1, 0, 1], increasing=[True, False]
    ),
    "regression-rule": lambda: abers.rules.fit_regression_rule(
        [1, 2, 3], [2, 4, 8], low=0
    ),
    "stacked-rule": golden_stacked_rule,
    "curve-calibrator": golden_curve_calibrator,
    "venn-abers-calibrator": golden_venn_abers_calibrator,
    "calibration-set": lambda: fitted_things.online_set(window=5),
    "monitor": fitted_things.monitor,
    "file-monitor": fitted_things.begun_file_monitor,
    "protected": golden_protected,
    "top-rule": fitted_things.top_rule,
}


@pytest.mark.parametrize("kind", RECIPES)
def test_golden_files_are_what_is_written_today(kind, path):
    assert RECIPES.keys() == KINDS.keys() | {"rule-set-with-diagrams"}
    assert saved(RECIPES[kind](), path, TAGS) == golden(kind).read_bytes()


def golden(kind):
    return GOLDEN / f"{kind}-v1.abers"


def test_the_golden_rule_is_read_for_ever():
    rule = abers.load(golden("rule"))
    assert rule.thresholds.tolist() == [1 + 2**-52, 2, 3 + 2**-51]
    # 2 of 2 + 1 and a new 0; 1 of 1 and 1/2; 3 of 3 and 1.
    assert rule.lower.tolist() == pytest.approx([0, 0, 1 / 2, 1 / 2], rel=1e-15)
    assert rule.upper.tolist() == pytest.approx([2 / 3, 3 / 4, 3 / 4, 1], rel=1e-15)
    assert set(rule.score_quantiles) == {1, 2, 3}
    assert (rule.n_rows, rule.n_positives) == (3.5, 2)
    assert rule.increasing is True
    assert rule.metadata == TAGS
    assert rule.cells.counts.tolist() == [0, 0.5, 2, 1]
    assert rule.cells.positives.tolist() == [0, 0, 2, 0]
    assert rule.cells.squares.tolist() == [0, 0.25, 4, 1]


def test_the_golden_rule_with_its_diagram_is_read_for_ever():
    rule = abers.load(golden("rule-with-diagram"))
    assert rule.without_diagram() == abers.load(golden("rule"))
    assert rule.diagram == abers.rules.Diagram([1, 2, 3], [0.5, 0, 1], [0, 2, 0])
    # Both share a level with the ones of 2 and the zero of 3: 2 of 3 + 2, 3 of 3 + 1.
    assert rule.bounds([2], weight=(2, 1)).tolist() == [[2 / 5, 3 / 4]]


def test_the_golden_diagram_is_read_for_ever():
    diagram = abers.load(golden("diagram"))
    assert diagram.scores.tolist() == [-INF, 0.5, 2]
    assert diagram.negatives.tolist() == [8, 0, 1]
    assert diagram.positives.tolist() == [2, 4, 0]
    assert diagram.is_exact
    assert diagram.metadata == TAGS


@pytest.mark.filterwarnings("ignore::abers.errors.UnknownGroupWarning")
def test_the_golden_rule_set_is_read_for_ever():
    rule_set = abers.load(golden("rule-set"))
    assert rule_set.counts["Größe 😀"] == (0, 0.5)
    kept = abers.load(golden("rule-set-with-diagrams"))
    assert kept.without_diagram() == rule_set
    assert kept.diagrams["fax"] == abers.rules.Diagram([1, 2], [0, 0], [1, 1])
    names = ["web", "fax", "phone", "boat"]
    # The rest is the 1s at 1 and 2 and the 0s at 3 and 4, one block with the new case,
    # and half a 1 above; all rows are three 1s and three 0s at 1, 2, 3, and others.
    assert rule_set.bounds([2] * 4, names).tolist() == [
        pytest.approx(pair, rel=1e-15)
        for pair in ([1 / 3, 2 / 3], [2 / 5, 3 / 5], [2 / 5, 3 / 5], [3 / 7, 4 / 7])
    ]
    assert rule_set.kind_of(names).tolist() == ["own", "rest", "rest", "pooled"]
    assert (rule_set.minimum, rule_set.increasing) == (2, True)
    assert rule_set.metadata == TAGS


def test_the_golden_pooled_rule_is_read_for_ever():
    rule = abers.load(golden("pooled-rule"))
    first, second, third = rule.diagrams
    assert first == abers.rules.Diagram([1, 2, 3], [1, 0, 1], [0, 1, 0])
    assert second is None
    assert third == abers.rules.Diagram([5, INF], [0, 2], [1, 0])
    assert (rule.weight, rule.increasing) == (Fraction(1, 2), True)
    # The new case is tied with the 1 of the first fold; the 0 above joins them, and
    # in the third fold the 1 below and the two 0 above: 2 or 2.5 ones in 5.5.
    assert rule.bounds([[2, -7, 6]]).tolist() == [[2 / 5.5, 2.5 / 5.5]]
    assert rule.metadata == TAGS


def test_the_golden_poset_rule_is_read_for_ever():
    rule = abers.load(golden("poset-rule"))
    assert rule.increasing == (True, False)
    assert rule.scores.tolist() == [[0, 4], [1, 3], [3, INF], [3, 1]]
    assert rule.negatives.tolist() == [1, 0, 0, 1]
    assert rule.positives.tolist() == [0, 1, 1, 0]
    # (2, 2) stands between two 1s, one of them at (3, inf), which a lower second score
    # is above, and the 0 at (3, 1): 2 of 4, or 3 of 4.
    assert rule.bounds([[2, 2]]).tolist() == [[2 / 4, 3 / 4]]
    assert rule.metadata == TAGS


def test_the_golden_regression_rule_is_read_for_ever():
    rule = abers.load(golden("regression-rule"))
    # A new case at 2 has the target 0, and shares (4 + 0) / 2; or it has the 8, which
    # is the largest but none, and shares (4 + 8) / 2.
    assert rule.bounds([2]).tolist() == [[2, 6]]
    assert rule.thresholds.tolist() == [1, 1 + 2**-52, 2, 2 + 2**-51, 3]
    assert rule.lower.tolist() == pytest.approx([0, 1, 1, 2, 2, 8 / 3], rel=1e-15)
    assert rule.upper.tolist() == pytest.approx([14 / 3, 14 / 3, 6, 6, 8, 8])
    assert (rule.low, rule.high, rule.trim) == (0, None, 1)
    assert (rule.n_rows, rule.increasing) == (3, True)
    assert rule.metadata == TAGS


def test_the_golden_calibration_set_is_read_for_ever():
    recent = abers.load(golden("calibration-set"))
    assert (recent.window, recent.increasing, len(recent)) == (5, False, 4)
    assert recent.diagram() == abers.rules.Diagram(
        [-INF, 0, 2, 1e308], [1, 0, 1, 0], [0, 1, 0, 1]
    )
    assert recent.metadata == TAGS


def test_the_golden_stacked_rule_is_read_for_ever():
    stacked = abers.load(golden("stacked-rule"))
    assert stacked.weights == {"model": 0.25, "matrix": 0.25, "venn_abers": 0.5}
    assert (stacked.kind, stacked.n_classes, stacked.n_models) == ("log-odds", 3, 1)
    assert stacked.n_rows == 3
    # The model says 1/3, the curve raises the second class by exp(1/2), and each rule
    # has one of three rows: 1/4 and 2/4, merged to 1/3, between 1/5 and 1/2.
    curve = np.array([1, math.exp(0.5), 1]) / (2 + math.exp(0.5))
    expected = 1 / 12 + curve / 4 + np.array([[1 / 3], [1 / 5], [1 / 2]]) / 2
    row = [[7.0, 7, 7]]
    assert stacked.probability(row)[0] == pytest.approx(expected[0], rel=1e-14)
    assert pytest.approx(expected[1:], rel=1e-14) == stacked.bounds(row)[0].T
    assert stacked.metadata == TAGS


def test_the_golden_calibrators_are_read_for_ever():
    curve = abers.load(golden("curve-calibrator"))
    assert (curve.classes, curve.columns) == (("no", "yes"), ("s",))
    assert curve.probability([1, 2, 9]).tolist() == [0, 0.5, 0.5]
    rules = abers.load(golden("venn-abers-calibrator"))
    assert rules.bounds([2]).tolist() == [[1 / 3, 2 / 3]]
    assert curve.metadata == rules.metadata == TAGS


def test_the_golden_protected_rule_is_read_for_ever():
    protected = abers.load(golden("protected"))
    assert (protected.excess, protected.account, protected.n_waiting) == (-1.5, 2, 2)
    assert protected.base == abers.fit_rule([1, 1], [0, 1])
    protected.update([INF], [0], ids=["x"])  # log2(1/2 / (3/4)) bits
    assert protected.excess == pytest.approx(-1.5 - math.log2(1.5), rel=1e-15)
    assert protected.update([1], [1]).excess == pytest.approx(-0.5 - math.log2(1.5))
    assert protected.metadata == TAGS


def test_the_golden_top_rule_is_read_for_ever():
    rule = abers.load(golden("top-rule"))
    assert rule.top_right([[5, 1, 0], [0, 0, 1]]).tolist() == [[0.5, 0.75], [0, 1]]
    assert rule.metadata == TAGS


def test_the_golden_monitor_is_read_for_ever():
    monitor = abers.load(golden("monitor"))
    state = monitor.state
    assert state.alarms == fitted_things.monitor().state.alarms
    assert (state.n_rows, state.n_labels, state.n_dropped, state.n_waiting) == (
        *(34, 31, 1, 2),
    )
    assert monitor.metadata == TAGS


@pytest.mark.parametrize("kind", KINDS)
def test_every_changed_byte_is_noticed(kind, tmp_path):
    rng = np.random.default_rng(0)
    data = np.frombuffer(golden(kind).read_bytes(), np.uint8)
    for place in rng.integers(0, data.size, 100):
        damaged = data.copy()
        damaged[place] ^= 1 << rng.integers(8)
        path = tmp_path / f"{place}.abers"
        path.write_bytes(damaged.tobytes())
        with pytest.raises(InvalidFile):
            abers.load(path)
