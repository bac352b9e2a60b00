"""Files with the right checksum that hold nothing of ours all the same."""

import math
from fractions import Fraction

import numpy as np
import pytest

import abers
import plain_writer
from abers._kernel import Table
from abers.core.diagram import trusted_diagram
from abers.errors import InvalidFile, InvalidParameter

INF, NAN = math.inf, math.nan
NINES = int("9" * 400)  # beyond all floats

# Of the rule of scores 1, 2, 3 with labels 0, 1, 0; its bounds are
LOWER, UPPER = [0, 0, 1 / 3, 1 / 3], [1 / 2, 2 / 3, 2 / 3, 1]

TYPES, FACTS = "types and lengths of a rule", "counts and tags are not those of a rule"
THRESHOLDS, BOUNDS = "thresholds are not ascending", "bounds are not monotone"
QUANTILES = "score quantiles are not 101 ascending scores"
CELLS, SUMS = "cells are not those of", "cells do not add up"
FORGED_RULES = [
    (THRESHOLDS, {"thresholds": [2.0, 1, 3]}),
    (THRESHOLDS, {"thresholds": [1.0, 1, 3]}),
    (THRESHOLDS, {"thresholds": [NAN, 2, 3]}),
    (THRESHOLDS, {"thresholds": [1, 2, NAN]}),
    (THRESHOLDS, {"thresholds": [-INF, 2, 3]}),
    (THRESHOLDS, {"thresholds": [-0.0, 2, 3]}),
    (THRESHOLDS, {"thresholds": [NAN], "lower": [0.0, 0], "upper": [0.5, 1]}),
    (BOUNDS, {"lower": [0, 0.4, 1 / 3, 1 / 3]}),
    (BOUNDS, {"lower": [0, 0.4, 1 / 3, 1 / 3], "upper": [0.5, 0.6, 0.7, 1]}),
    (BOUNDS, {"upper": [1 / 2, 2 / 3, 0.6, 1]}),
    (BOUNDS, {"lower": [0, 0.7, 0.7, 0.7]}),
    (BOUNDS, {"lower": [-0.1, 0, 1 / 3, 1 / 3]}),
    (BOUNDS, {"upper": [1 / 2, 2 / 3, 2 / 3, 1.1]}),
    (BOUNDS, {"upper": [1 / 2, 2 / 3, 2 / 3, INF]}),
    (BOUNDS, {"lower": [0, NAN, 1 / 3, 1 / 3]}),
    (BOUNDS, {"upper": [1 / 2, 2 / 3, 2 / 3, NAN]}),
    (BOUNDS, {"lower": [-0.0, 0, 1 / 3, 1 / 3]}),
    (BOUNDS, {"lower": [0.0] * 4, "upper": [-0.0, 0.2, 0.3, 0.4]}),
    (BOUNDS, {"upper": [1 / 2, 1 / 2, 2 / 3, 1]}),  # nothing changes at a threshold
    (BOUNDS, {"lower": UPPER, "upper": LOWER}),
    (BOUNDS, {"increasing": False}),
    (QUANTILES, {"score_quantiles": [1.0] * 100}),
    (QUANTILES, {"score_quantiles": [1.0] * 102}),
    (QUANTILES, {"score_quantiles": np.empty(0)}),
    (QUANTILES, {"score_quantiles": [2.0] + [1.0] * 100}),
    (QUANTILES, {"score_quantiles": [1.0] * 100 + [NAN]}),
    (QUANTILES, {"score_quantiles": [-0.0] * 101}),
    # The cuts are 1, 2 and 3, so that there are four cells: 0, 1, 1 and 1 rows.
    (CELLS, {"cell_counts": [0, 1, 2], "cell_positives": [0, 1, 0]}),
    (CELLS, {"cell_positives": [0, 1]}),
    (CELLS, {"cell_positives": [0, 2, -1, 0]}),
    (CELLS, {"cell_positives": [0, 0, 2, 0]}),
    (CELLS, {"cell_counts": [-1, 2, 1, 1]}),
    (CELLS, {"cell_counts": [0.0, 1, 1, 1]}),  # weights, but positives are rows
    (CELLS, {"cell_counts": [0.0, 1, 1, 1], "cell_positives": [0.0, 0, 1, 0]}),
    (CELLS, {"cell_squares": [0.0, 1, 1]}),
    (CELLS, {"cell_squares": [0, 1, 1, 1]}),  # integers
    (CELLS, {"cell_squares": [1.0, 1, 1, 1]}),  # of no rows
    (CELLS, {"cell_squares": [0.0, 0, 1, 1]}),  # of a row
    (CELLS, {"cell_squares": [0.0, 1, 1, 2]}),  # above the square of the sum
    (CELLS, {"cell_squares": [0.0, 1, 1, NAN]}),
    (CELLS, {"cell_squares": [-0.0, 1, 1, 1]}),
    (SUMS, {"cell_counts": [0, 1, 1, 2]}),
    (SUMS, {"cell_positives": [0, 1, 1, 0]}),
    (TYPES, {"lower": [0.0, 0, 0]}),
    (TYPES, {"upper": [0.5, 0.6, 0.7, 0.8, 1]}),
    (TYPES, {"thresholds": [1.0, 2]}),
    (TYPES, {"thresholds": np.empty(0), "lower": np.empty(0), "upper": np.empty(0)}),
    (TYPES, {"thresholds": [1, 2, 3]}),  # integers
    (TYPES, {"lower": [0, 0, 0, 0]}),
    (FACTS, {"n_positives": 4}),
    (FACTS, {"n_positives": -1}),
    (FACTS, {"n_positives": 1.0}),
    (FACTS, {"n_positives": -0.0}),
    (FACTS, {"n_positives": True}),
    (FACTS, {"n_positives": None}),
    (FACTS, {"n_observations": 0, "n_positives": 0}),
    (FACTS, {"n_observations": 3.0}),
    (FACTS, {"n_observations": "3"}),
    (FACTS, {"n_observations": [3]}),
    (FACTS, {"n_observations": True}),
    (FACTS, {"n_observations": 2**53 + 1}),
    (FACTS, {"n_observations": NINES}),
    (FACTS, {"increasing": 1}),
    (FACTS, {"increasing": "true"}),
    (FACTS, {"increasing": None}),
    (FACTS, {"metadata": None}),
    (FACTS, {"metadata": []}),
    (FACTS, {"metadata": {"a": [1]}}),
    (FACTS, {"metadata": {"a": {"b": 1}}}),
    (FACTS, {"metadata": {"a": NINES}}),
    (FACTS, {"metadata": {"half of a character": "\ud83d"}}),
]

# Of the rule of 2,500 rows; 21 of them are below the first cut, 21 from the last on.
FORGED_CUTS = [
    lambda cuts: cuts[::-1],
    lambda cuts: cuts[1:],
    lambda cuts: np.append(cuts[1:], NAN),
    lambda cuts: np.append(-INF, cuts[1:]),  # below all scores
    lambda cuts: np.append(cuts[:-1], 9_999.0),
    lambda cuts: np.where(cuts == 1250, 1250.5, cuts),  # the median
    lambda cuts: cuts.astype(np.int64),
    lambda cuts: cuts[1:-1],  # would be version 2
    lambda cuts: np.arange(1.0, cuts[-1]),  # more than any rule has
]

# Of the diagram of scores 1, 2 with negatives 2, 4 and positives 1, 0.
TYPES, TAGS = "types and lengths of a diagram", "tags are not text"
SCORES, WEIGHTS = "scores are not ascending", "weights are not those of a calibration"
HUGE = 2**63 - 1
FORGED_DIAGRAMS = [
    (SCORES, {"scores": [2.0, 1]}),
    (SCORES, {"scores": [1.0, 1]}),
    (SCORES, {"scores": [NAN, 2]}),
    (SCORES, {"scores": [1, NAN]}),
    (SCORES, {"scores": [-0.0, 2]}),
    (TYPES, {"scores": [1, 2]}),  # integers
    (TYPES, {"scores": [1.0, 2, 3]}),
    (TYPES, {"positives": [1]}),
    (TYPES, {"positives": [1.0, 0]}),  # beside integers
    (TYPES, {name: np.empty(0) for name in ("negatives", "positives", "scores")}),
    (WEIGHTS, {"negatives": [-1, 4]}),
    (WEIGHTS, {"positives": [1, -1]}),
    (WEIGHTS, {"negatives": [2, 0]}),  # nothing at the second score
    (WEIGHTS, {"negatives": [2, 2**53 - 3]}),  # 2**53 in all
    (WEIGHTS, {"negatives": [2.0, 4], "positives": [1.0, 0]}),  # would be integers
    (WEIGHTS, {"negatives": [HUGE, HUGE], "positives": [HUGE, HUGE]}),
    (WEIGHTS, {"negatives": [0.5, NAN], "positives": [0.5, 1]}),
    (WEIGHTS, {"negatives": [0.5, INF], "positives": [0.5, 1]}),
    (WEIGHTS, {"negatives": [0.5, -0.5], "positives": [0.5, 1]}),
    (WEIGHTS, {"negatives": [0.5, -0.0], "positives": [0.5, 1]}),
    (WEIGHTS, {"negatives": [0.5, 1e308], "positives": [0.5, 1e308]}),
    (TAGS, {"metadata": {"a": [1]}}),
    (TAGS, {"metadata": None}),
]


# Of the rule set of groups "a" with scores 1, 2 and "b" with score 0.
FORGED_RULE_SETS = [
    {"scores": [2.0, 1, 0]},
    {"scores": [1.0, 1, 0]},
    {"scores": [1.0, 2, -0.0]},
    {"scores": [1.0, 2, NAN]},
    {"scores": [1, 2, 0]},  # integers
    {"scores": [1.0, 2]},
    {"negatives": [1, 0, -1]},
    {"negatives": [1, 0, 0], "positives": [0, 1, 0]},  # nothing in "b"
    {"negatives": [1.0, 0, 1], "positives": [0.0, 1, 0]},  # would be integers
    {"negatives": [1e308, 0, 1e308], "positives": [0, 1, 0.5]},  # inf in all
    {"positives": [0.0, 1, 0]},  # beside integers
    {"positives": [0, 1]},
    {"sizes": [2, 1, 0]},
    {"sizes": [3, 0]},
    {"sizes": [4, -1]},
    {"sizes": [-1, 4]},
    {"sizes": [2, 2]},
    {"sizes": [2, HUGE]},
    {"sizes": [3]},
    {"sizes": np.empty(0, np.int64)},
    {"sizes": [2.0, 1]},
    {"sizes": np.array([2, 1], np.uint8)},
    {"names": '["b","a"]'},
    {"names": '["a","a"]'},
    {"names": '["a"]'},
    {"names": '["a","b","c"]'},
    {"names": '["a",1]'},
    {"names": "[0,false]"},
    {"names": "[1,1.5]"},
    {"names": "[1,2.0]"},
    {"names": "[-0.0,1.0]"},
    {"names": "[1.50,2.0]"},
    {"names": "[1.5,1e999]"},
    {"names": "[1.5,NaN]"},
    {"names": "[null,null]"},
    {"names": '["a",null]'},
    {"names": '[["a"],["b"]]'},
    {"names": '{"a":1,"b":2}'},
    {"names": '"ab"'},
    {"names": "12"},
    {"names": '["a", "b"]'},
    {"names": '["a","b"]' + " " * 8},
    {"names": '["a","\\u0062"]'},
    {"names": '["a","é"]'},
    {"names": '["a","\\ud83d"]'},
    {"names": f"[1,{NINES}]"},
    {"names": '["a","b"'},
    {"names": "[" * 10**5},
    {"names": f"[1,{'9' * 5000}]"},
    {"names": [1.0, 2]},
    {"minimum": -1},
    {"minimum": 1.0},
    {"minimum": True},
    {"minimum": None},
    {"small_groups": "pooled"},  # would be version 1
    {"small_groups": "own"},
    {"small_groups": None},
    {"small_groups": ["rest"]},
    {"increasing": 1},
    {"increasing": None},
    {"metadata": None},
    {"metadata": {"a": [1]}},
]

# Of the pooled rule of folds with scores 1, 2 and 0.
FORGED_POOLED_RULES = [
    {"scores": [2.0, 1, 0]},
    {"scores": [1.0, 1, 0]},
    {"scores": [1.0, 2, -0.0]},
    {"scores": [1.0, 2, NAN]},
    {"scores": [1, 2, 0]},  # integers
    {"scores": [1.0, 2]},
    {"scores": np.empty(0)},
    {"negatives": [1, 0, -1]},
    {"negatives": [1, 0, 0], "positives": [0, 1, 0]},  # nothing at the score 0
    {"negatives": [1.0, 0, 1], "positives": [0.0, 1, 0]},  # would be integers
    {"negatives": [1e308, 0, 1e308], "positives": [0, 1, 0.5]},  # inf in all
    {"negatives": [1.5, 0, NAN], "positives": [0.0, 1, 0]},
    {"negatives": [HUGE, 0, HUGE]},
    {"positives": [0.0, 1, 0]},  # beside integers
    {"positives": [0.5, 1, 0]},
    {"positives": [0, 1]},
    {"sizes": [3]},  # 0 behind 1 and 2
    {"sizes": [4, -1]},
    {"sizes": [-1, 4]},
    {"sizes": [2, 2]},
    {"sizes": [2, 0]},
    {"sizes": [1, 1]},
    {"sizes": [2, HUGE]},
    {"sizes": [2, HUGE, HUGE]},  # 0 in all, modulo 2**64
    {"sizes": [2, 2, -1]},
    {"sizes": [0, 0]},
    {"sizes": np.empty(0, np.int64)},
    {"sizes": [2.0, 1]},
    {"sizes": np.array([2, 1], np.uint8)},
    {"weight": "0"},
    {"weight": "-1"},
    {"weight": "+1"},
    {"weight": "01"},
    {"weight": "1/1"},
    {"weight": "2/4"},
    {"weight": "1/0"},
    {"weight": "1/-2"},
    {"weight": "0/2"},
    {"weight": "1 /2"},
    {"weight": "1_0"},
    {"weight": "1\n"},
    {"weight": "0.5"},
    {"weight": "1e999999999"},
    {"weight": "\u0661"},  # a one in Arabic
    {"weight": "nan"},
    {"weight": "inf"},
    {"weight": ""},
    {"weight": "9" * 301},  # beyond all weights
    {"weight": "1/" + "9" * 301},
    {"weight": "9" * 1001 + "/" + "8" * 1001},
    {"weight": "9" * 5000},
    {"weight": 1},
    {"weight": 0.5},
    {"weight": True},
    {"weight": None},
    {"weight": [1, 2]},
    {"increasing": 1},
    {"increasing": "true"},
    {"increasing": None},
    {"metadata": None},
    {"metadata": []},
    {"metadata": {"a": [1]}},
    {"metadata": {"a": NINES}},
    {"metadata": {"half of a character": "\ud83d"}},
]
NO_ROWS = {
    "negatives": np.empty(0, np.int64),
    "positives": np.empty(0, np.int64),
    "scores": np.empty(0),
}
FORGED_EMPTY_FOLDS = [
    {"sizes": np.empty(0, np.int64)},  # no folds at all
    {"sizes": [0, 1]},
    {"sizes": [1, -1]},
    {"negatives": np.empty(0)},
    {"scores": np.empty(0, np.int64)},
    {"metadata": {"a": [1]}},
]

# Of the regression rule of scores 1, 2 with targets 2, 3 between 1 and 5: bounds are
# 1, 1.5, 1.5, 2, 2 and 10/3, 10/3, 4, 4, 5.
TYPES, FACTS = "types and lengths of a regr", "ends, counts and tags are not those of"
FORGED_REGRESSION_RULES = [
    (THRESHOLDS, {"thresholds": [2.0, 1, 3, 4]}),
    (THRESHOLDS, {"thresholds": [-INF, 2, 3, 4]}),
    (THRESHOLDS, {"thresholds": [1, 2, 3, NAN]}),
    (BOUNDS, {"lower": [0.5, 1, 2, 2, 3]}),  # below low
    (BOUNDS, {"upper": [3.0, 4, 4.5, 5, 5.5]}),
    (BOUNDS, {"upper": [3.0, 4, 4.5, 5, INF]}),
    (BOUNDS, {"upper": [3.0, 4, 4.5, 5, NAN]}),
    (BOUNDS, {"lower": [1.0, 3, 2, 3, 3]}),
    (BOUNDS, {"lower": [1.0, 1, 1, 2, 2]}),  # nothing changes at a threshold
    (BOUNDS, {"increasing": False}),
    (BOUNDS, {"low": None, "trim": 1, "lower": [-INF, 1, 2, 3, 3]}),
    (QUANTILES, {"score_quantiles": [1.0] * 100}),
    (TYPES, {"lower": [1.0, 2]}),
    (TYPES, {"lower": [1, 1, 2, 2, 3]}),  # integers
    (FACTS, {"low": 5.0}),
    (FACTS, {"low": 1}),
    (FACTS, {"low": -0.0}),
    (FACTS, {"low": "1"}),
    (FACTS, {"low": True}),
    (FACTS, {"high": 1e400}),
    (FACTS, {"high": None}),  # trimmed by none
    (FACTS, {"trim": 1}),  # though both ends are there
    (FACTS, {"low": None, "trim": 0}),
    (FACTS, {"low": None, "trim": 1.0}),
    (FACTS, {"low": None, "trim": True}),
    (FACTS, {"low": None, "trim": 3}),  # of two rows
    (FACTS, {"n_observations": 0}),
    (FACTS, {"n_observations": 2.0}),
    (FACTS, {"increasing": 1}),
    (FACTS, {"metadata": {"a": [1]}}),
]


def forged(thing, changes):
    record, arrays = plain_writer.parts(thing)
    for name, value in changes.items():
        if name in arrays and isinstance(value, str):
            arrays[name] = plain_writer.names_as_bytes(value)
        elif name in arrays:
            arrays[name] = np.array(value)
        else:
            record[name] = value
    return plain_writer.written(record, arrays)


def shown(changes):
    return str(changes)[:60] if isinstance(changes, dict) else ""


@pytest.mark.parametrize(("reason", "changes"), FORGED_RULES, ids=shown)
def test_no_rule_comes_from_what_no_fit_has_made(reason, changes, tmp_path):
    path = tmp_path / "rule.abers"
    path.write_bytes(forged(abers.fit_rule([1, 2, 3], [0, 1, 0]), changes))
    with pytest.raises(InvalidFile, match=f"that abers has saved; its .*{reason}"):
        abers.load(path)


@pytest.mark.parametrize("forge", FORGED_CUTS)
def test_no_rule_has_cuts_that_are_not_of_its_scores(forge, tmp_path):
    path = tmp_path / "rule.abers"
    rule = abers.fit_rule(np.arange(1, 2501), np.arange(2500) > 1000)
    cuts = forge(rule.cells.cuts)
    sizes = np.zeros(cuts.size + 1, dtype=np.int64)
    counts = np.resize(rule.cells.counts, sizes.size)
    counts[-1] += 2500 - counts.sum()
    ones = counts // 2
    ones[-1] += 1499 - ones.sum()
    changes = {"cell_cuts": cuts}
    if cuts.size != rule.cells.cuts.size:
        changes |= {"cell_counts": abs(counts), "cell_positives": abs(ones)}
    path.write_bytes(forged(rule, changes))
    with pytest.raises(InvalidFile, match=f"that abers has saved; its .*{CELLS}"):
        abers.load(path)


@pytest.mark.parametrize(("reason", "changes"), FORGED_DIAGRAMS, ids=shown)
def test_no_diagram_comes_from_what_nobody_counted(reason, changes, tmp_path):
    path = tmp_path / "diagram.abers"
    diagram = abers.Diagram.from_counts([1, 2], [3, 4], [1, 0])
    path.write_bytes(forged(diagram, changes))
    with pytest.raises(InvalidFile, match=f"that abers has saved; its .*{reason}"):
        abers.load(path)


@pytest.mark.parametrize("changes", FORGED_RULE_SETS, ids=shown)
def test_no_rule_set_comes_from_what_nobody_counted(changes, tmp_path):
    path = tmp_path / "rules.abers"
    rule_set = abers.fit_rules([1, 2, 0], [0, 1, 0], ["a", "a", "b"], minimum=1)
    path.write_bytes(forged(rule_set, {}))
    assert abers.load(path) == rule_set
    path.write_bytes(forged(rule_set, changes))
    reason = "its contents are not those of a rule set"
    with pytest.raises(InvalidFile, match=f"that abers has saved; {reason}"):
        abers.load(path)


@pytest.mark.parametrize(("reason", "changes"), FORGED_REGRESSION_RULES, ids=shown)
def test_no_regression_rule_comes_from_what_no_fit_has_made(reason, changes, tmp_path):
    path = tmp_path / "rule.abers"
    rule = abers.fit_regression_rule([1, 2], [2, 3], low=1, high=5)
    path.write_bytes(forged(rule, {}))
    assert abers.load(path) == rule
    path.write_bytes(forged(rule, changes))
    says = f"that abers has saved; its .*({reason}|header makes no sense)"
    with pytest.raises(InvalidFile, match=says):
        abers.load(path)


@pytest.mark.parametrize("changes", FORGED_POOLED_RULES, ids=shown)
def test_no_pooled_rule_comes_from_what_nobody_counted(changes, tmp_path):
    path = tmp_path / "pooled.abers"
    rule = abers.fit_pooled_rule([1, 2, 0], [0, 1, 0], [0, 0, 1])
    path.write_bytes(forged(rule, {}))
    assert abers.load(path) == rule
    path.write_bytes(forged(rule, changes))
    reason = "its contents are not those of a pooled rule"
    with pytest.raises(InvalidFile, match=f"that abers has saved; {reason}"):
        abers.load(path)


@pytest.mark.parametrize("changes", FORGED_EMPTY_FOLDS, ids=shown)
def test_no_pooled_rule_comes_from_folds_that_are_less_than_empty(changes, tmp_path):
    path = tmp_path / "pooled.abers"
    rule = abers.fit_pooled_rule([1, 2, 0], [0, 1, 0], [0, 0, 1])
    path.write_bytes(forged(rule, NO_ROWS | {"sizes": [0, 0]}))
    assert abers.load(path).diagrams == (None, None)
    path.write_bytes(forged(rule, NO_ROWS | {"sizes": [0, 0]} | changes))
    with pytest.raises(InvalidFile, match="contents are not those of a pooled rule"):
        abers.load(path)


@pytest.mark.parametrize(
    ("weight", "number"), [("3", 3), ("2/7", Fraction(2, 7)), ("1/10", Fraction("0.1"))]
)
def test_honest_weights_of_another_writer_are_read(weight, number, tmp_path):
    path = tmp_path / "pooled.abers"
    rule = abers.fit_pooled_rule([1, 2, 0], [0, 1, 0], [0, 0, 1])
    path.write_bytes(forged(rule, {"weight": weight}))
    assert abers.load(path).weight == number


@pytest.mark.parametrize("changes", [{}, {"n_observations": 2.5}, {"n_positives": 0}])
def test_an_honest_file_of_another_writer_is_read(changes, tmp_path):
    path = tmp_path / "rule.abers"
    rule = abers.fit_rule([1, 2, 3], [0, 1, 0]).with_cells(None)
    path.write_bytes(forged(rule, changes))
    assert abers.load(path).bounds([2]).tolist() == rule.bounds([2]).tolist()


def test_a_diagram_that_could_not_be_loaded_is_not_saved(tmp_path):
    unsorted = trusted_diagram(np.array([2.0, 1]), np.array([1, 0]), np.array([0, 1]))
    with pytest.raises(InvalidParameter, match=r"diagram to save .* not ascending\.$"):
        unsorted.save(tmp_path / "diagram.abers")
    assert list(tmp_path.iterdir()) == []


def test_a_rule_that_could_not_be_loaded_is_not_saved(tmp_path):
    crossed = abers.Rule(
        Table(np.empty(0), np.array([0.6]), np.array([0.4]), np.zeros(101)),
        n_observations=1,
        n_positives=0,
        increasing=True,
    )
    with pytest.raises(InvalidParameter, match=r"rule to save .* not monotone"):
        crossed.save(tmp_path / "rule.abers")
    assert list(tmp_path.iterdir()) == []


def test_a_pooled_rule_that_could_not_be_loaded_is_not_saved(tmp_path):
    counts = np.array([1, 0]), np.array([0, 1])
    unsorted = abers.PooledRule(
        [trusted_diagram(np.array([2.0, 1]), *counts)], weight=1, increasing=True
    )
    with pytest.raises(InvalidParameter, match=r"pooled-rule to save .* not ascending"):
        unsorted.save(tmp_path / "pooled.abers")
    heavy = abers.Diagram.from_counts([1], [1.5e308], [0.5])
    overflowing = abers.PooledRule([heavy, heavy], weight=1, increasing=True)
    with pytest.raises(InvalidParameter, match=r"pooled-rule to save .* its weights"):
        overflowing.save(tmp_path / "pooled.abers")
    tagged = abers.PooledRule([None], weight=1, increasing=True, metadata={"a": [1]})
    with pytest.raises(InvalidParameter, match=r"metadata must map .* 'a': \[1\]"):
        tagged.save(tmp_path / "pooled.abers")
    assert list(tmp_path.iterdir()) == []
