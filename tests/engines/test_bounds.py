"""Workers are told what the rule would say, and hold no calibration rows."""

import pickle
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest

import abers
from abers.engines.bounds import frame_bounds
from abers.errors import InvalidData, InvalidParameter, InvalidType
from engine_rows import PREDICTORS, expected_columns, predictors

RNG = np.random.default_rng(0)
SIZE = 2_000
SCORES = RNG.random(SIZE)
LABELS = (RNG.random(SIZE) < SCORES).astype(int)
SHOPS = np.array(["shop", "web", "phone", "post"])
NAMES = {
    "text": SHOPS[(RNG.random(SIZE) ** 20 * 4).astype(int)],
    "numbers": (RNG.random(SIZE) ** 20 * 5).astype(int),
    "booleans": RNG.random(SIZE) < 0.01,
}
UNSEEN = {"text": "fax", "numbers": 99, "booleans": True}
GROUPED = {"s": [1, 2, 1, 2, 3], "y": [0, 1, 0, 1, 0], "g": ["a", "a", "b", "b", "b"]}


@pytest.fixture(params=NAMES)
def rule_set(request):
    rules = abers.fit_rules(SCORES, LABELS, NAMES[request.param], minimum=30)
    return rules, NAMES[request.param].tolist(), UNSEEN[request.param]


def bounds_of(bounds, scores, groups):
    """Return lower and upper probability as a worker computes them."""
    lower, upper, _ = bounds.arrays(pa.array(scores), pa.array(groups))
    return np.column_stack((lower, upper)).tolist()


@pytest.mark.filterwarnings("ignore::abers.errors.UnknownGroupWarning")
@pytest.mark.parametrize("loss", ["log", "brier"])
def test_workers_give_the_bounds_of_the_rule_set(rule_set, loss):
    rules, groups, unseen = rule_set
    bounds = frame_bounds(rules, ["s", "g"], score="s", by="g", loss=loss)
    groups = [None, unseen, *groups[2:]]
    lower, upper, probability = bounds.arrays(pa.array(SCORES), pa.array(groups))
    expected = rules.bounds(SCORES, groups)
    assert np.column_stack((lower, upper)).tolist() == expected.tolist()
    assert probability.to_pylist() == rules.probability(SCORES, groups, loss).tolist()


def test_unpickled_tables_are_equal_and_fit_nothing(rule_set):
    rules, groups, _ = rule_set
    bounds = frame_bounds(rules, ["s", "g"], score="s", by="g")
    with mock.patch("abers.core.fit._kernel.fit_diagram") as fitted:
        restored = pickle.loads(pickle.dumps(bounds))
        pairs = bounds_of(restored, SCORES, groups)
    fitted.assert_not_called()
    assert restored == bounds
    assert pairs == rules.bounds(SCORES, groups).tolist()


def test_workers_get_rules_without_their_diagrams():
    scores, labels = RNG.random(50_000), RNG.integers(0, 2, 50_000)
    rules = abers.fit_rules(scores, labels, ["a"] * 50_000, keep_diagram=True)
    bounds = frame_bounds(rules, ["s", "g"], score="s", by="g")
    assert len(pickle.dumps(bounds)) < len(pickle.dumps(rules)) / 50
    assert (
        bounds_of(bounds, scores, ["a"] * 50_000) == rules["a"].bounds(scores).tolist()
    )


def test_a_worker_unpacks_a_predictor_once(rule_set):
    rules, _, _ = rule_set
    sent = pickle.dumps(frame_bounds(rules, ["s", "g"], score="s", by="g"))
    assert pickle.loads(sent).predictor is pickle.loads(sent).predictor


@pytest.mark.filterwarnings("ignore::abers.errors.UnknownGroupWarning")
def test_bounds_of_a_frame_are_those_of_the_rule_and_travel_without_its_rows():
    rules = abers.fit_rules(*GROUPED.values(), minimum=1)
    bounds = frame_bounds(rules, ["s", "g"], score="s", by="g", loss="brier")
    arrived = pickle.loads(pickle.dumps(bounds))
    scores, groups = pa.array([2.0, None, 2.0, 2.0]), pa.array(["a", "a", "z", None])
    lower, upper, probability = arrived.arrays(scores, groups)
    of_groups = rules.bounds([2, 2, 2], ["a", "z", "z"]).T.tolist()
    assert [c for c in lower.to_pylist() if c is not None] == of_groups[0]
    assert [c for c in upper.to_pylist() if c is not None] == of_groups[1]
    assert probability.to_pylist()[1] is None
    assert probability[0].as_py() == rules.probability([2], ["a"], "brier")[0]
    for column in arrived.arrays(pa.array([], pa.float64()), pa.array([], pa.string())):
        assert column.to_pylist() == []


def test_bounds_that_cannot_be_added_are_refused(monkeypatch):
    rule = abers.fit_rule([1, 2], [0, 1])
    rules = abers.fit_rules(*GROUPED.values(), minimum=1)
    for options, present, error, message in [
        ({"score": "s"}, ["s", "Lower"], InvalidData, "it has 'Lower' already"),
        ({}, ["s"], InvalidParameter, "needs score="),
        ({"score": "t"}, ["s"], InvalidData, "must have the column 't'"),
        ({"score": "s", "by": "g"}, ["s", "g"], InvalidParameter, "one rule for all"),
        ({"score": "s", "loss": "hinge"}, ["s"], InvalidParameter, "loss must be"),
    ]:
        with pytest.raises(error, match=message):
            frame_bounds(rule, present, **options)
    with pytest.raises(InvalidParameter, match="name it with by="):
        frame_bounds(rules, ["s", "g"], score="s")
    strict = frame_bounds(rule, ["s"], score="s", missing="error")
    with pytest.raises(InvalidData, match="null or NaN; it is in the frame"):
        strict.arrays(pa.array([1.0, None]))
    monkeypatch.setattr("abers.engines.bounds.MOST_BYTES", 10)
    with pytest.raises(InvalidParameter, match="must have at most 0 MB to be sent"):
        frame_bounds(rule, ["s"], score="s")


@pytest.mark.parametrize("name", PREDICTORS)
def test_any_saved_predictor_gives_its_own_numbers(name, tmp_path):
    predictor, scores = predictors(tmp_path)[name]
    names = [f"s{i}" for i in range(scores.shape[1])]
    made = frame_bounds(predictor, names, score=names, prefix="p_")
    bounds = pickle.loads(pickle.dumps(made))
    columns = [pa.array([None, *column]) for column in scores.T]
    columns[1:] = [pa.array([0.5, *column]) for column in scores.T[1:]]
    columns_added = bounds.arrays(*columns)
    expected = expected_columns(predictor, scores)
    assert bounds.names == tuple(f"p_{name}" for name in expected)
    for new, numbers in zip(columns_added, expected.values(), strict=True):
        assert new.to_pylist() == [None, *numbers.tolist()]


class Curve:
    """A calibrator without bounds, of named classes."""

    classes = ("cat", "dog", "eel")

    def probability(self, scores):
        return scores / scores.sum(axis=1, keepdims=True)


def test_a_calibrator_without_bounds_adds_probabilities_of_its_classes():
    bounds = frame_bounds(Curve(), ["a", "b", "c"], score=["c", "a", "b"])
    assert bounds.names == ("probability_cat", "probability_dog", "probability_eel")
    added = bounds.arrays(*map(pa.array, ([1.0], [2.0], [5.0])))
    assert [each.to_pylist() for each in added] == [[0.125], [0.25], [0.625]]


def test_columns_and_losses_that_a_predictor_does_not_take_are_refused(tmp_path):
    stacked, _ = predictors(tmp_path)["stacked models"]
    present = ["a", "b", "c"]
    with pytest.raises(InvalidParameter, match="3 columns, for 3 models; got 1: 'a'"):
        frame_bounds(stacked, present, score="a")
    with pytest.raises(
        InvalidParameter, match="loss must go with a rule; got a Stacked"
    ):
        frame_bounds(stacked, present, score=present, loss="brier")
    with pytest.raises(InvalidType, match="rule must be a rule or a calibrator"):
        frame_bounds(abers.rules.Diagram([1], [1], [0]), present, score="a")
