"""States: what pickles and other serializers keep, and what is refused of it."""

import copy
import pickle

import numpy as np
import pytest

import abers
from abers.errors import AbersError

PLAIN = str | int | float | bool | None | np.ndarray
ROWS = [1, 2, 3, 4], [0, 1, 0, 1]
MADE = {
    "rule": abers.fit_rule(*ROWS).with_metadata({"model": "v7"}),
    "falling rule": abers.fit_rule(*ROWS, increasing=False),
    "weighted rule": abers.fit_rule(*ROWS, sample_weight=[0.5, 1, 2, 3]),
    "rule without cells": abers.fit_rule(*ROWS).with_cells(None),
    "mirrored rule": abers.fit_rule(*ROWS).mirrored(),
    "diagram": abers.Diagram.from_observations(*ROWS),
    "weighted diagram": abers.Diagram([1, 2], [0.5, 0], [0, 1], {"day": 1}),
    "rule set": abers.fit_rules(*ROWS, [True, True, False, False], minimum=1),
    "pooled rule": abers.fit_pooled_rule(*ROWS, [0, 0, 1, 1], weight=1 / 3),
    "regression rule": abers.fit_regression_rule(*ROWS, low=0, high=2),
    "trimmed rule": abers.fit_regression_rule(*ROWS, trim=2, increasing=False),
    "empty fold": abers.PooledRule(
        [abers.Diagram.from_observations(*ROWS), None], weight=2, increasing=False
    ),
}
ALL = pytest.mark.parametrize("made", MADE.values(), ids=MADE)


def restored(made, state):
    twin = object.__new__(type(made))
    twin.__setstate__(state)
    return twin


def is_plain(value):
    if isinstance(value, dict):
        return all(map(is_plain, (*value, *value.values())))
    if isinstance(value, list):
        return all(map(is_plain, value))
    return isinstance(value, PLAIN | abers.Diagram)


@ALL
def test_state_is_a_dict_of_arrays_numbers_and_text(made):
    state = made.__getstate__()
    assert type(state) is dict
    assert all(map(is_plain, state.values()))
    assert all(is_plain(value.__getstate__()) for value in state.get("diagrams", []))


@ALL
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle_of_every_protocol_equals_the_original(made, protocol):
    twin = pickle.loads(pickle.dumps(made, protocol))
    assert twin == made
    assert twin.metadata == made.metadata


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_copy_of_a_diagram_is_read_only_too(copied):
    twin = copied(MADE["weighted diagram"])
    assert twin == MADE["weighted diagram"]
    assert twin.metadata == {"day": 1}
    with pytest.raises(ValueError, match="read-only"):
        twin.scores[0] = 9.0


def test_pickle_keeps_cells_and_their_squares():
    rule = MADE["weighted rule"]
    twin = pickle.loads(pickle.dumps(rule))
    for mine, theirs in zip(rule.cells, twin.cells, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert pickle.loads(pickle.dumps(MADE["rule without cells"])).cells is None


DAMAGE = {
    "unsorted thresholds": ("rule", {"thresholds": [2.0, 1, 3, 4]}, "^thresholds must"),
    "NaN threshold": ("rule", {"thresholds": [1, 2, 3, np.nan]}, "^thresholds must"),
    "short bounds": ("rule", {"lower": [0.0]}, "^lower bounds and pieces must be"),
    "crossed bounds": ("rule", {"lower": np.full(5, 2.0)}, "^bounds must satisfy"),
    "falling quantiles": (
        "rule",
        {"score_quantiles": np.arange(101.0)[::-1]},
        "^score_quantiles must be ascending numbers",
    ),
    "text for a number": ("rule", {"n_positives": "2"}, "must be real numbers"),
    "negative number": ("rule", {"n_observations": -1}, "finite and not negative"),
    "number for a flag": ("rule", {"increasing": 1}, "^increasing must be True"),
    "tags in a list": ("rule", {"metadata": []}, "^metadata must be a dict"),
    "short cells": ("rule", {"cell_counts": [4]}, "cell_counts and cells must be"),
    "missing cells": ("rule", {"cell_positives": None}, "^cell_positives must be"),
    "negative squares": (
        "weighted rule",
        {"cell_squares": np.full(5, -1.0)},
        "^cell_squares must be finite and not negative",
    ),
    "crossed values": (
        "regression rule",
        {"upper": np.full(6, -1.0)},
        "^bounds must be finite, with lower <= upper",
    ),
    "infinite values": ("trimmed rule", {"upper": [np.inf]}, "^bounds must be finite"),
    "short values": ("trimmed rule", {"upper": [1.0, 2]}, "^lower bounds and upper"),
    "text for an end": ("regression rule", {"low": "0"}, "^low must be a finite"),
    "crossed ends": ("regression rule", {"high": -1}, "^low must be below high"),
    "no trim": ("trimmed rule", {"trim": 0}, "^trim must be at least 1"),
    "part of a trim": ("trimmed rule", {"trim": 0.5}, "^trim must be an integer"),
    "unsorted scores": ("diagram", {"scores": [2, 1, 3, 4]}, "distinct and ascending"),
    "negative weights": ("diagram", {"negatives": [-1, 0, 1, 0]}, "not negative"),
    "short weights": ("diagram", {"positives": [1]}, "must be equally long"),
    "no diagram": ("pooled rule", {"diagrams": ["x", None]}, "must be a Diagram"),
    "no diagrams": ("pooled rule", {"diagrams": None}, "^diagrams must be a list"),
    "no weight": ("pooled rule", {"weight_numerator": 0}, "^weight must be"),
    "no denominator": (
        "pooled rule",
        {"weight_denominator": 0},
        "^weight_denominator must be positive",
    ),
    "a name too many": ("rule set", {"groups": [1, 2, 3]}, "must be equally long"),
    "a name twice": ("rule set", {"groups": [1, 1]}, "must be equally long"),
    "a name that is none": ("rule set", {"groups": [1, [2]]}, "^groups must be"),
    "negative minimum": ("rule set", {"minimum": -1}, "^minimum must be"),
    "no fallback": ("rule set", {"fallback": None}, "^fallback must be 'rest' or"),
}


@pytest.mark.parametrize(("name", "change", "says"), DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_state_is_refused_with_a_sentence(name, change, says):
    made = MADE[name]
    state = made.__getstate__()
    assert restored(made, state) == made
    assert change.keys() <= state.keys()
    with pytest.raises(AbersError, match=says):
        restored(made, state | change)


@ALL
def test_a_state_with_a_part_too_few_or_too_many_is_refused(made):
    state = made.__getstate__()
    owner = type(made).__name__
    for name in state:
        part = {key: value for key, value in state.items() if key != name}
        with pytest.raises(AbersError, match=f"^the state of a {owner} must hold"):
            restored(made, part)
    for other in (state | {"more": 1}, None, []):
        with pytest.raises(AbersError, match=f"^the state of a {owner} must hold"):
            restored(made, other)
