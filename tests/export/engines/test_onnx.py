"""Graphs of rules answer in ONNX Runtime as abers does, to the bit."""

import numpy as np
import onnx
import pytest
from onnxruntime import InferenceSession, SessionOptions

import abers
from abers.export import to_onnx
from abers.export.description import is_of_classes
from export_cases import (
    all_answers,
    answers,
    calibrators,
    largest_difference,
    mismatches,
    pair_calibrators,
    probes,
    rule_of,
    rule_set,
    rules,
    stacked_rules,
)

RULES = rules()
STACKED = stacked_rules()
PAIRS = pair_calibrators()
CLASSES = {name: case for name, case in calibrators().items() if is_of_classes(case[0])}
NAN = float("nan")


def run(model, **inputs):
    """Run a graph, from its bytes, by one thread; return outputs by name."""
    options = SessionOptions()
    options.intra_op_num_threads = 1
    session = InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))


def read(model, scores, **inputs):
    """Return lower, upper and probability of each score."""
    predictions = run(model, score=np.asarray(scores, dtype=float), **inputs)
    return np.column_stack(
        [predictions[name] for name in ("lower", "upper", "probability")]
    )


def facts(model):
    return {each.key: each.value for each in model.metadata_props}


# Rules


@pytest.mark.parametrize("kind", RULES)
@pytest.mark.parametrize("loss", ["log", "brier"])
def test_every_kind_of_rule(kind, loss):
    """At each threshold, beside it, at the edges of doubles, and in between."""
    rule = RULES[kind]
    scores = np.r_[probes(rule), np.random.default_rng(0).normal(size=100_000)]
    expected = np.column_stack(
        (rule.bounds(scores), rule.probability(scores, loss=loss))
    )
    assert mismatches(read(to_onnx(rule, loss=loss), scores), expected) == 0


@pytest.mark.parametrize("kind", RULES)
def test_float32_is_read_as_the_same_double(kind):
    rule = RULES[kind]
    with np.errstate(over="ignore", under="ignore"):
        nearest = probes(rule).astype(np.float32)
        infinity = np.float32(np.inf)
        beside = [np.nextafter(nearest, s * infinity) for s in (-1, 1)]
    scores = np.concatenate((nearest, *beside))
    predictions = run(to_onnx(rule, dtype="float32"), score=scores)
    assert (
        mismatches(
            np.column_stack(
                [predictions[k] for k in ("lower", "upper", "probability")]
            ),
            answers(rule, scores.astype(float)),
        )
        == 0
    )


@pytest.mark.parametrize("scores", [[], [0.5]], ids=["no row", "one row"])
def test_few_rows(scores):
    rule = RULES["rare"]
    assert mismatches(read(to_onnx(rule), scores), answers(rule, scores)) == 0


def test_nan_has_no_answer():
    predictions = read(to_onnx(RULES["rare"]), [NAN, 0.5, -NAN])
    assert np.isnan(predictions[[0, 2]]).all()
    assert mismatches(predictions[1], answers(RULES["rare"], [0.5])) == 0


def test_a_million_steps():
    rule = rule_of(1_000_000)
    scores = probes(rule)[::7]
    assert mismatches(read(to_onnx(rule), scores), answers(rule, scores)) == 0


def test_old_runtimes_can_run_it():
    """Opset 13 and IR 7 alone; and the facts are there."""
    model = to_onnx(RULES["middling"], loss="brier")
    assert model.ir_version == 7
    assert [(o.domain, o.version) for o in model.opset_import] == [("", 13)]
    assert facts(model) == {"abers.version": abers.__version__, "abers.loss": "brier"}


def test_a_file_is_what_was_returned(tmp_path):
    made = to_onnx(RULES["rare"], tmp_path / "rule.onnx")
    assert onnx.load(tmp_path / "rule.onnx") == made


# Rules for groups


@pytest.mark.filterwarnings("ignore::abers.errors.UnknownGroupWarning")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rules_for_groups(dtype):
    """Each group at the thresholds of all; small, unseen and empty ones, too."""
    found_rules = rule_set()
    scores = np.concatenate([probes(found_rules[g]) for g in (None, *found_rules)])
    with np.errstate(over="ignore", under="ignore"):
        scores = scores.astype(dtype)
    model = to_onnx(found_rules, dtype=dtype)
    for group in (*found_rules, "unseen", ""):
        groups = np.full(scores.size, group, dtype=object)
        outputs = run(model, score=scores, group=groups)
        outputs = np.column_stack(
            [outputs[k] for k in ("lower", "upper", "probability")]
        )
        exact = scores.astype(float)
        expected = np.column_stack(
            (found_rules.bounds(exact, groups), found_rules.probability(exact, groups))
        )
        assert mismatches(outputs, expected) == 0, group


@pytest.mark.filterwarnings("ignore::abers.errors.UnknownGroupWarning")
def test_groups_that_are_integers_and_nan():
    rng = np.random.default_rng(0)
    scores, groups = rng.random(400), rng.integers(-2, 2, 400) * 2**40
    found_rules = abers.fit_rules(scores, rng.random(400) < scores, groups, minimum=9)
    queries = np.r_[scores, NAN]
    by = np.r_[groups[:-1], 12345, groups[0]]
    predictions = read(to_onnx(found_rules), queries, group=by)
    expected = np.column_stack(
        (
            found_rules.bounds(scores, by[:-1]),
            found_rules.probability(scores, by[:-1]),
        )
    )
    assert mismatches(predictions[:-1], expected) == 0
    assert np.isnan(predictions[-1]).all()


def test_groups_that_share_the_pooled_rule():
    scores, labels = [1.0, 2.0, 3.0], [0, 1, 0]
    few = abers.fit_rules(scores, labels, ["a", "b", "b"], minimum=30)
    predictions = read(
        to_onnx(few), scores, group=np.array(["a", "b", "c"], dtype=object)
    )
    assert mismatches(predictions, answers(few[None], scores)) == 0


@pytest.mark.parametrize("kind", STACKED)
def test_every_kind_of_stacked_rule(kind):
    rule, scores = STACKED[kind]
    outside = [NAN, -0.1, 1.1] if rule.reads == "probability" else [NAN]
    predictions = read(to_onnx(rule), np.r_[scores, outside])
    assert (
        largest_difference(predictions[: scores.size], answers(rule, scores)) <= 1e-12
    )
    assert np.isnan(predictions[scores.size :]).all()


@pytest.mark.parametrize("kind", PAIRS)
def test_the_calibrator_of_a_classifier_of_the_paper(kind):
    calibrator, given = PAIRS[kind]
    model = to_onnx(calibrator, loss=calibrator.loss)
    assert mismatches(read(model, given), answers(calibrator, given)) == 0


@pytest.mark.parametrize("kind", CLASSES)
def test_more_than_two_classes(kind):
    calibrator, rows = CLASSES[kind]
    wrong = [[NAN, 0.5, 0.5]]
    if calibrator.reads == "probability":
        wrong += [[-0.1, 0.6, 0.5], [0.5, 0.4, 0.3]]
    outputs = run(to_onnx(calibrator), score=np.r_[rows, wrong])
    outputs = np.stack([outputs[n] for n in ("lower", "upper", "probability")], axis=-1)
    assert np.isnan(outputs[len(rows) :]).all()
    expected = all_answers(calibrator, rows)
    assert largest_difference(outputs[: len(rows)], expected) <= 1e-12
