"""Calibrators and classifiers as one graph: inner models, rules, and the merge."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit, log_expit

from abers import validation
from abers.errors import InvalidParameter, InvalidType, need
from abers.estimators.calibrators import IVAPCalibrator
from abers.estimators.multiclass import problems_of as problems
from abers.estimators.scoring import COMPLEMENT_NOISE, NOISE, Scored
from abers.estimators.venn_abers_classifiers import VennAbersClassifier
from abers.export import baking
from abers.export.onnx_graph import Graph
from abers.export.onnx_merging import many_classes, two_classes
from abers.export.onnx_scores import class_columns, inner_scores, run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onnx import ModelProto

    from abers.export.baking import RawSteps, Scoring
    from abers.export.onnx_scores import InnerScores
    from abers.validation import FloatArray

SINGLE_NOISE = 2.0**-20  # of scores that are computed in float32
WIDEST = 2.0**-12  # scores further apart are not the same
MOST_OTHERS = 0.01  # share of rows whose scores may be, by features next to a split
MOST_ALIKE = 0.999  # share of the other rows whose scores are within the tolerance
WORTH_A_WARNING = 0.001  # share of rows whose bounds differ
DIFFERENT = 2.0**-40  # bounds that differ by less were merged by other exponentials
N_TRIED = 200  # rows to compare scores on, if none are given


def of_estimator(
    model: Any, dtype: str, tolerance: float | None, check: Any
) -> ModelProto:
    """Return the graph of a calibrator or a classifier."""
    if not isinstance(model, IVAPCalibrator | VennAbersClassifier):
        msg = (
            "model must be a Rule, a RuleSet, an IVAPCalibrator, an IVAPClassifier or "
            f"a CVAPClassifier; got a {type(model).__name__}."
        )
        raise InvalidType(msg)
    if not hasattr(model, "rules_"):
        msg = f"model must be fitted; this {type(model).__name__} is not."
        raise InvalidParameter(msg)
    _refuse_what_is_no_graph(model)
    if tolerance is not None and not 0 <= tolerance <= WIDEST:
        msg = f"tolerance must be between 0 and 2^-12; got {tolerance!r}."
        raise InvalidParameter(msg)
    is_calibrator = isinstance(model, IVAPCalibrator)
    if check is not None or not is_calibrator:
        need("onnxruntime", extra="onnx", what="a graph of a classifier")
    graph = Graph()
    if is_calibrator:
        scores, scoring, facts = _of_columns(graph, model, dtype, tolerance)
    else:
        need("skl2onnx", extra="onnx", what="a graph of a classifier")
        scores, scoring, facts = _of_models(graph, model, dtype, tolerance, check)
    _answer(graph, model, scores, scoring)
    facts = {"abers.loss": model.loss, **facts}
    made = graph.model(facts)
    if check is not None:
        made = graph.model({**facts, **_checked(made, model, dtype, check)})
    return made


def _refuse_what_is_no_graph(model: Any) -> None:
    if len(model.classes_) > 2 and model.multiclass_ == "ovo":
        msg = (
            "more than two classes must be fitted with multiclass='ovr' to become a "
            "graph; the pairs of classes of 'ovo' are coupled by iteration."
        )
        raise InvalidParameter(msg)
    if getattr(model, "merge", None) == "pooled" and len(model.estimators_) > 1:
        msg = (
            "merge='pooled' must have ensemble=False to become a graph, since the rule "
            "of several folds is no table of steps; or merge by 'minimax'."
        )
        raise InvalidParameter(msg)


def _of_columns(
    graph: Graph, model: IVAPCalibrator, dtype: str, tolerance: float | None
) -> tuple[list[list[str]], Scoring, dict[str, str]]:
    """Add the input of a calibrator; return its scores and how they are read."""
    count = model.n_features_in_
    if count == 1:
        given = graph.input("score", dtype, ["rows"])
        return [[graph.cast(given, np.float64)]], Scored, {}
    table = graph.cast(graph.input("scores", dtype, ["rows", count]), np.float64)
    are_margins = model.scores_kind_ == "margin"
    if are_margins:
        return [class_columns(graph, table, count, are_margins=True)], Scored, {}
    logs = graph.add("Log", table)
    noise = NOISE if tolerance is None else tolerance
    scores = class_columns(graph, logs, count, are_margins=False)
    return [scores], baking.unrounded(noise), {"abers.tolerance": repr(noise)}


def _of_models(
    graph: Graph, model: Any, dtype: str, tolerance: float | None, check: Any
) -> tuple[list[list[str]], Scoring, dict[str, str]]:
    """Add the inner classifiers; return their scores and how they are read."""
    X = graph.input("X", dtype, ["rows", model.estimators_[0].n_features_in_])
    features = {kind: graph.cast(X, kind) for kind in ("float64", "float32")}
    inner = [
        inner_scores(graph, features, each, model.response_method_, model.classes_)
        for each in model.estimators_
    ]
    noise = SINGLE_NOISE if any(each.are_single for each in inner) else NOISE
    error = _error_of_scores(graph, model, inner, dtype, check)
    if tolerance is not None:
        noise = tolerance
    elif check is not None and error > 0:
        noise = max(noise, 2.0 ** np.ceil(np.log2(error)))
    scoring = baking.margins(noise)
    if inner[0].are_logarithms:
        scoring = baking.log_odds(noise, of_pair=len(model.classes_) == 2)
    facts = {"abers.tolerance": repr(float(noise))}
    return [each.tensors for each in inner], scoring, facts


def _error_of_scores(
    graph: Graph, model: Any, inner: list[InnerScores], dtype: str, check: Any
) -> float:
    """Return how far the graph's scores are off, relative to one plus their size.

    Rows next to a split of a tree may have another score altogether. If many have, the
    graph computes something else, and is refused.
    """
    rows = _tried(model, check, dtype)
    asked = problems(len(model.classes_), model.multiclass_)
    errors = []
    with _without_names():
        ours = model._scores(rows.astype(np.float64))  # noqa: SLF001
    theirs = _run_in_part(graph, inner, rows)
    for scores, found, each in zip(ours, theirs, inner, strict=True):
        exact = replace(scores, are_exact=True)
        for problem, raw in zip(asked, found, strict=True):
            expected = problem.scored(exact).values
            errors.append(_relative(raw, expected, each.are_logarithms))
    worst = np.max(errors, axis=0)
    others = (worst > WIDEST).mean()
    if others > MOST_OTHERS:
        msg = (
            "the graph must compute the scores of the inner classifier, by "
            f"response_method={model.response_method_!r}; for {others:.1%} of the rows "
            "it does not. Set another one, or report it to the converter."
        )
        raise InvalidParameter(msg)
    same = worst[worst <= WIDEST]
    return float(np.quantile(same, MOST_ALIKE)) if same.size else 0.0


def _run_in_part(
    graph: Graph, inner: list[InnerScores], rows: FloatArray
) -> list[list[FloatArray]]:
    """Return the scores that a graph computes so far, by classifier and problem."""
    part = Graph()
    part.inputs, part.versions = graph.inputs, graph.versions
    part.nodes, part.constants = list(graph.nodes), list(graph.constants)
    for each in inner:
        for tensor in each.tensors:
            part.output(f"{tensor}_score", tensor, np.float64, ["rows"])
    found = run(part.model({}), {"X": rows})
    return [[found[f"{tensor}_score"] for tensor in each.tensors] for each in inner]


@contextmanager
def _without_names() -> Iterator[None]:
    """Ask a model that knows the names of its features by a table without any."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        yield


def _relative(
    found: FloatArray,
    ours: FloatArray,
    are_logarithms: bool,  # noqa: FBT001
) -> FloatArray:
    """Return the distance of scores, relative to one plus their size."""
    size = abs(ours)
    if are_logarithms:
        size = abs(log_expit(ours)) + abs(log_expit(-ours))
    with np.errstate(invalid="ignore"):
        errors = np.where(found == ours, 0.0, abs(found - ours) / (1 + size))
    if are_logarithms:  # 1 - p, which a model may have computed, has no more digits
        errors[abs(expit(found) - expit(ours)) <= COMPLEMENT_NOISE] = 0.0
    return np.where(np.isnan(errors), np.inf, errors)


def _tried(model: Any, check: Any, dtype: str) -> FloatArray:
    """Return the rows to compare scores on."""
    if check is None:
        rng = np.random.default_rng(0)
        return rng.normal(size=(N_TRIED, model.estimators_[0].n_features_in_)).astype(
            dtype
        )
    return np.asarray(validation.as_numbers(check, "check"), dtype=dtype)


def _answer(
    graph: Graph, model: Any, scores: list[list[str]], scoring: Scoring
) -> None:
    """Add the rules and the outputs."""
    by_problem = [
        [
            (table, graph.steps_of(tensor, table.start))
            for table, tensor in zip(tables, tensors, strict=True)
        ]
        for tables, tensors in zip(
            zip(*_tables(model, scoring), strict=True),
            zip(*scores, strict=True),
            strict=True,
        )
    ]
    if len(model.classes_) == 2:
        found = two_classes(graph, by_problem[0], model.loss)
    else:
        found = many_classes(graph, by_problem, model.loss)
    place = graph.add("ArgMax", found["probabilities"], axis=1, keepdims=0)
    classes = _plain(model.classes_)
    label = graph.add("Gather", graph.constant(classes), place)
    widths = {"probabilities": len(classes), "fold_lower": len(scores)}
    widths["fold_upper"] = len(scores)
    if len(classes) > 2:
        widths |= {"lower": len(classes), "upper": len(classes)}
    for name, tensor in found.items():
        shape: list[str | int] = ["rows"]
        shape += [widths[name]] if name in widths else []
        graph.output(name, tensor, np.float64, shape)
    graph.output("label", label, classes.dtype, ["rows"])


def _tables(model: Any, scoring: Scoring) -> list[list[RawSteps]]:
    """Return the steps of each fold, one table a problem."""
    if getattr(model, "merge", None) == "pooled":
        return [[baking.baked_pooled(rule, scoring) for rule in model.pooled_rules_]]
    return [[baking.baked(rule, scoring) for rule in rules] for rules in model.rules_]


def _plain(classes: np.ndarray) -> np.ndarray:
    """Return classes as a type that ONNX has."""
    if classes.dtype.kind in "iu":
        return classes.astype(np.int64)
    if classes.dtype.kind == "O" and not all(isinstance(c, str) for c in classes):
        msg = f"classes must be of one type, text or numbers; got {classes.tolist()!r}."
        raise InvalidParameter(msg)
    return classes


def _checked(made: ModelProto, model: Any, dtype: str, check: Any) -> dict[str, str]:
    """Run rows through both; return how many bounds differ, and by how much."""
    rows = np.asarray(validation.as_numbers(check, "check"), dtype=dtype)
    found = run(made, {made.graph.input[0].name: rows})
    exact = rows.astype(np.float64)
    bounds = np.stack((found["lower"], found["upper"]), axis=-1)
    with _without_names():
        ours = model.predict_bounds(exact)
    distance = abs(bounds - ours).reshape(len(ours), -1)
    if "fold_lower" in found:
        of_folds = np.stack((found["fold_lower"], found["fold_upper"]), axis=-1)
        with _without_names():
            by_fold = model.predict_fold_bounds(exact)[:, 0].transpose(1, 0, 2)
        apart = abs(of_folds - by_fold).reshape(len(ours), -1)
        distance = np.concatenate((distance, apart), axis=1)
    largest = np.where(np.isnan(distance), np.inf, distance).max(axis=1, initial=0.0)
    differing = int((largest > DIFFERENT).sum())
    if differing > WORTH_A_WARNING * len(rows):
        msg = (
            f"the bounds of {differing} of {len(rows)} rows differ from those of "
            f"abers, by up to {largest.max():.2g}: the graph scores them otherwise."
        )
        warnings.warn(msg, UserWarning, stacklevel=4)
    return {
        "abers.check.rows": str(len(rows)),
        "abers.check.differing": str(differing),
        "abers.check.largest": repr(float(largest.max(initial=0.0))),
    }
