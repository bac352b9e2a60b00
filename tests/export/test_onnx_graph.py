"""Graphs of rules by the reference of ONNX; a runtime has more in tests/exports."""

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator
from sklearn.linear_model import LogisticRegression

import abers
from abers.errors import MissingExtra
from abers.export import to_onnx
from export_cases import answers, mismatches, probes, rule_set, rules

RULES = rules()
ANSWERS = ["lower", "upper", "probability"]


def read(model, **inputs):
    return np.column_stack(ReferenceEvaluator(model).run(ANSWERS, inputs))


@pytest.mark.parametrize("kind", RULES)
def test_every_kind_of_rule(kind):
    scores = probes(RULES[kind])
    found = read(to_onnx(RULES[kind]), score=scores)
    assert mismatches(found, answers(RULES[kind], scores)) == 0


@pytest.mark.filterwarnings("ignore::abers.errors.UnknownGroupWarning")
def test_rules_for_groups():
    made = rule_set()
    scores = np.concatenate([probes(made[group]) for group in (None, *made)])
    for group in (*made, "unseen"):
        groups = np.full(scores.size, group)
        found = read(to_onnx(made), score=scores, group=groups)
        expected = np.column_stack(
            (made.bounds(scores, groups), made.probability(scores, groups))
        )
        assert mismatches(found, expected) == 0


def test_nan_has_no_answer():
    found = read(to_onnx(RULES["rare"]), score=np.array([np.nan, 0.5]))
    assert np.isnan(found).all(axis=1).tolist() == [True, False]


@pytest.mark.parametrize("missing", ["onnx", "onnxruntime"])
def test_what_is_missing_is_named_with_its_extra(monkeypatch, missing):
    """One sentence, whether it is needed for a rule or for a classifier only."""
    model = RULES["rare"]
    if missing == "onnxruntime":
        X = np.arange(40.0)[:, np.newaxis]
        model = abers.IVAPClassifier(LogisticRegression(), random_state=0)
        model.fit(X, np.arange(40) % 3 == 0)
    monkeypatch.setattr("abers.errors.find_spec", lambda name: name != missing or None)
    with pytest.raises(MissingExtra, match=r"pip install \"abers\[onnx\]\" brings it"):
        to_onnx(model)
