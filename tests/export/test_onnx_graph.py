"""Graphs of rules by the reference of ONNX; tests/export/engines has a runtime."""

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

import abers
from abers.errors import InvalidParameter, InvalidType, MissingExtra
from abers.export import to_onnx
from export_cases import answers, mismatches, probes, rule_set, rules

RULES = rules()
ANSWERS = ["lower", "upper", "probability"]


def read(model, **inputs):
    return np.column_stack(ReferenceEvaluator(model).run(ANSWERS, inputs))


@pytest.mark.parametrize("kind", RULES)
def test_every_kind_of_rule(kind):
    scores = probes(RULES[kind])
    predictions = read(to_onnx(RULES[kind]), score=scores)
    assert mismatches(predictions, answers(RULES[kind], scores)) == 0


@pytest.mark.filterwarnings("ignore::abers.errors.UnknownGroupWarning")
def test_rules_for_groups():
    made = rule_set()
    scores = np.concatenate([probes(made[group]) for group in (None, *made)])
    for group in (*made, "unseen"):
        groups = np.full(scores.size, group)
        predictions = read(to_onnx(made), score=scores, group=groups)
        expected = np.column_stack(
            (made.bounds(scores, groups), made.probability(scores, groups))
        )
        assert mismatches(predictions, expected) == 0


def test_nan_has_no_answer():
    predictions = read(to_onnx(RULES["rare"]), score=np.array([np.nan, 0.5]))
    assert np.isnan(predictions).all(axis=1).tolist() == [True, False]


def test_what_is_missing_is_named_with_its_extra(monkeypatch):
    monkeypatch.setattr("abers.errors.find_spec", lambda name: name != "onnx" or None)
    with pytest.raises(MissingExtra, match=r"pip install \"abers\[onnx\]\" brings it"):
        to_onnx(RULES["rare"])


@pytest.mark.parametrize(
    ("rule", "options", "error", "message"),
    [
        (abers.IVAPCalibrator(), {}, InvalidType, "got a IVAPCalibrator"),
        (RULES["rare"], {"loss": "hinge"}, InvalidParameter, "loss must be"),
        (RULES["rare"], {"dtype": "float16"}, InvalidParameter, "dtype must be"),
        (
            abers.fit_rules([1, 2], [0, 1], [0.5, 1.5], minimum=1),
            {},
            InvalidParameter,
            "groups must be text, or integers",
        ),
    ],
)
def test_refusals(rule, options, error, message):
    with pytest.raises(error, match=message):
        to_onnx(rule, **options)
