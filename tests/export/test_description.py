"""JSON of calibrators of several models or classes is enough to answer as they do."""

import json

import numpy as np
import pytest

import abers
from abers.errors import AbersError
from abers.export import steps, to_json, to_onnx, to_source, to_sql
from export_cases import all_answers, calibrators, largest_difference, loss_of

CASES = calibrators()
NAMES = {"table": "steps", "scores": "scores", "score": "score"}


def expit(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    p = np.exp(x - x.max())
    return p / p.sum()


def coarse(x):
    return np.float64(np.float32(np.rint(x * 2**22) / 2**22))


def against_rest(logs, c):
    """Return log p_c - log of the sum of the others; 0 if both are impossible."""
    rest = np.log(np.exp(np.delete(logs, c)).sum())
    return 0.0 if np.isneginf(logs[c]) and np.isneginf(rest) else logs[c] - rest


def pooled(made, tables, scores):
    """Return the bounds of one rule: the root of a function that falls, by bisection.

    The value t that the new case shares is that of the sets which are best at t.
    """
    bounds = []
    for label in (0, 1):
        low, high = 0.0, 1.0
        for _ in range(60):
            t = (low + high) / 2
            phi = made["new_case"] * (label - t)
            for table, score in zip(tables, scores, strict=True):
                ones, zeros = (
                    np.append(0.0, np.cumsum(table[n])) for n in ("ones", "zeros")
                )
                h = made["row"] * (ones - t * (ones + zeros))
                upto = (numbers(table["start"]) <= score).sum()
                below = (numbers(table["after"]) <= score).sum()
                phi += h[upto:].min() - h[: below + 1].min()
            low, high = (t, high) if phi > 0 else (low, t)
        bounds.append((low + high) / 2)
    return bounds


def numbers(column):
    return np.array([float(x) for x in column])


def merged(made, tables, scores):
    """Return lower, upper, and what one class adds: its merged upper bound, or p."""
    is_log, has_two = made["loss"] == "log", made["n_classes"] == 2
    if made["merge"] == "pooled":
        pairs = np.array([pooled(made, tables, scores)])
    else:
        step = [
            np.flatnonzero(numbers(table["start"]) <= score)[-1]
            for table, score in zip(tables, scores, strict=True)
        ]
        pairs = np.array(
            [(t["lower"][k], t["upper"][k]) for t, k in zip(tables, step, strict=True)]
        )
    p0, p1 = pairs.T
    if not is_log:
        return p0.mean(), p1.mean(), (p1 + (p0 - p1) * (p0 + p1) / 2).mean()
    with np.errstate(divide="ignore"):
        zeros, ones = (np.exp(np.log(x).mean()) for x in (1 - p0, p1))
    p = ones / (zeros + ones) if has_two else ones
    return *sorted((1 - zeros, ones)), p


def mixed(made, values, stated, curve):
    """Mix values of the rules with what model and curve say, if it is a stack."""
    if "stacked" not in made:
        return values
    weights = made["stacked"]["weights"]
    (name,) = set(weights) - {"model", "venn_abers"}
    fixed = weights.get("model", 0) * stated + weights[name] * curve
    return np.minimum(weights["venn_abers"] * values + fixed, 1)


def of_two(made, row):
    """Answer for the second of two classes: tables start at what is given."""
    values = np.array(merged(made, made["rules"][0], row))
    stated = curve = 0.0
    if "stacked" in made:
        kind, c = made["stacked"]["kind"], made["stacked"]["coefficients"]
        score = row
        if made["reads"] != kind:
            score = np.log(row) - np.log(1 - row)
        if made["is_rounded"]:
            score = coarse(score) if kind == "log-odds" else np.float64(np.float32(row))
        if kind == "margin":
            logit = c["slope"] * score.clip(c["low"], c["high"]) + c["intercept"]
        else:
            p = score if kind == "probability" else expit(score)
            rest = 1 - score if kind == "probability" else expit(-score)
            ends = c["clip"], 1 - c["clip"]
            of_p, of_rest = np.log(p.clip(*ends)), np.log(rest.clip(*ends))
            logit, stated = c["a"] * of_p - c["b"] * of_rest + c["c"], p.mean()
        curve = expit(logit.mean())
    return mixed(made, values, stated, curve)[np.newaxis]


def of_many(made, row):
    """Answer for every class: log-probabilities, each class against the rest."""
    stack, is_margin = made.get("stacked"), made["reads"] == "margin"
    stated, logits, scores = 0.0, 0.0, []
    for given in row.reshape(made["n_models"], -1):
        logs = np.log(given) if made["reads"] == "probability" else given
        if stack is None:
            rest = [logs[c] if is_margin else against_rest(logs, c) for c in range(3)]
            rounds = np.float32 if is_margin else coarse
            scores.append([rounds(x) if made["is_rounded"] else x for x in rest])
            continue
        if made["is_rounded"]:
            logs = np.float64(np.float32(logs)) if is_margin else coarse(logs)
        if not is_margin:
            stated = stated + softmax(logs) / made["n_models"]
            logs = logs - logs.max()
            logs = logs - np.log(np.exp(logs).sum())
        c = stack["coefficients"]
        features = logs.clip(c["low"], c["high"])
        new = np.array(c["matrix"]) @ (features - features.mean()) + c["intercepts"]
        logits = logits + new / made["n_models"]
        rest = [against_rest(logs, c) for c in range(3)]
        scores.append(logs if is_margin else np.rint(np.array(rest) * 2**16) / 2**16)
    by_class = zip(made["rules"], np.array(scores, dtype=float).T, strict=True)
    lower, upper, p = np.array([merged(made, *each) for each in by_class]).T
    low = lower / (lower + upper.sum() - upper)
    high = upper / (upper + lower.sum() - lower)
    values = np.stack((low, high, p / p.sum()), axis=1)
    curve = 0.0 if stack is None else softmax(logits)[:, np.newaxis]
    stated = stated[:, np.newaxis] if np.ndim(stated) else stated
    return mixed(made, values, stated, curve)


@pytest.mark.parametrize("kind", CASES)
def test_json_is_enough_to_answer(kind):
    calibrator, rows = CASES[kind]
    rows = rows[::17]
    made = json.loads(to_json(calibrator, loss=loss_of(calibrator)))
    read = of_two if made["n_classes"] == 2 else of_many
    with np.errstate(divide="ignore", over="ignore"):
        predictions = np.array([read(made, row) for row in rows])
    expected = all_answers(calibrator, rows).reshape(predictions.shape)
    predictions[..., 0] = np.minimum(
        predictions[..., 0], predictions[..., 2]
    )  # up to rounding
    predictions[..., 1] = np.maximum(predictions[..., 1], predictions[..., 2])
    assert largest_difference(predictions, expected) <= 1e-12


def test_a_rule_has_the_json_of_its_steps():
    rule = abers.fit_rule([1, 2], [0, 1])
    assert to_json(rule) == steps(rule).to_json()


@pytest.mark.parametrize("language", ["java", "javascript"])
def test_several_models_are_for_c_alone(language):
    with pytest.raises(AbersError, match="ensemble=False or a frozen model"):
        to_source(CASES["models"][0], language, name="Served")


@pytest.mark.parametrize(
    "make", [steps, to_onnx, lambda x: to_sql(x, "duckdb", **NAMES)]
)
def test_several_models_name_what_else_to_do(make):
    with pytest.raises(AbersError, match="ensemble=False or a frozen model"):
        make(CASES["models"][0])


def pairs_of_classes():
    model = abers.IVAPClassifier(multiclass="ovo", random_state=0)
    rng = np.random.default_rng(0)
    return model.fit(rng.normal(size=(90, 2)), np.arange(90) % 3).calibrator_


def falling():
    scores, folds = np.linspace(0.1, 0.9, 60), np.arange(60) % 3
    return abers.fit_stacked_rule(
        scores, np.arange(60) % 7 < 3, kind="margin", folds=folds, increasing=False
    )


def of_a_curve():
    return abers.PlattCalibrator().fit([0, 1, 2, 3], [0, 1, 0, 1]).calibrator_


@pytest.mark.parametrize("make", [to_json, lambda x: to_source(x, "c", name="a")])
@pytest.mark.parametrize(
    ("made", "message"),
    [
        (pairs_of_classes, "Fit with multiclass='ovr'"),
        (falling, "negate the scores"),
        (of_a_curve, "got a CurveCalibrator"),
    ],
)
def test_what_has_no_description_is_refused(make, made, message):
    with pytest.raises(AbersError, match=message):
        make(made())
