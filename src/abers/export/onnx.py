"""ONNX: a rule, a calibrator or a classifier with its inner model, in one graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from abers import validation
from abers.core.merging import LOSSES
from abers.core.rule import Rule
from abers.core.rule_set import RuleSet
from abers.errors import InvalidParameter, need
from abers.export.onnx_graph import ML, Graph
from abers.export.step_table import (
    DTYPES,
    LARGEST_INTEGER,
    answering,
    pieces_of,
)

if TYPE_CHECKING:
    import os

    from onnx import ModelProto

ANSWERS = ("lower", "upper", "probability")


def to_onnx(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    loss: str = "log",
    dtype: str = "float64",
    tolerance: float | None = None,
    check: Any = None,
) -> ModelProto:
    """Return a rule, or a whole classifier, as a graph of ONNX.

    Parameters
    ----------
    model : Rule, RuleSet, IVAPCalibrator, IVAPClassifier or CVAPClassifier
        What to export. A classifier takes its inner model with it, which skl2onnx must
        be able to convert (onnxmltools for LightGBM and XGBoost). Of more than two
        classes, each is asked about against the rest (`multiclass="ovr"`). A
        `CVAPClassifier` merges by `"minimax"`, or has `ensemble=False`.
    path : path-like, default=None
        A file to write, usually named `.onnx`; one that exists is replaced.
    loss : {"log", "brier"}, default="log"
        The loss for which the bounds of a rule are merged to one probability.
        Calibrators and classifiers have their own.
    dtype : {"float64", "float32"}, default="float64"
        The type of the scores or features that the graph takes. The answer to a
        float32 is the one for the same number as a double.
    tolerance : float, default=None
        How far the graph's scores of a classifier may be from those of the inner model,
        relative to one plus their size. A score closer than that to a calibration
        score is taken for it. None is 2^-48, as in abers, and 2^-20 where the graph
        computes in float32; more where `check` shows that it has to be.
    check : array-like, default=None
        Rows, as for `predict_proba`, to run through the graph, best with those of the
        fit among them. How many of their bounds differ goes into the model's
        metadata, and a share above 0.1 % is a warning.

    Returns
    -------
    onnx.ModelProto
        Opset 13, IR version 7. A rule has the input `score`, a rule set also `group`
        (text or 64-bit integers; what it does not name has the pooled rule), and the
        outputs `lower`, `upper` and `probability`, doubles of shape (rows,).
        A classifier has the input `X` of shape (rows, features), a calibrator `score`,
        or `scores` of several columns. Their outputs are `lower` and `upper`, of shape
        (rows,) for two classes and (rows, C) for more; `probabilities` of shape
        (rows, C); `label`; and for two classes of several folds `fold_lower` and
        `fold_upper` of shape (rows, folds). NaN is answered by NaN, and its label is
        the first class. The metadata have `abers.version` and `abers.loss`.

    Raises
    ------
    InvalidParameter
        If the graph's scores are not those of the inner model.

    Notes
    -----
    A rule answers to the last bit. So does a classifier with one fold and two classes,
    given the same score; whether the runtime computes it is what `check` is for. What
    is merged of several folds or classes agrees to a few units in the last place.

    Examples
    --------
    >>> import abers
    >>> from onnx.reference import ReferenceEvaluator  # or any runtime
    >>> graph = abers.export.to_onnx(abers.fit_rule([1, 2], [0, 1]))
    >>> new = {"score": np.array([0.5, 1.5, np.nan])}
    >>> ReferenceEvaluator(graph).run(["lower", "upper"], new)
    [array([ 0.,  0., nan]), array([0.5, 1. , nan])]
    """
    validation.check_choice(loss, LOSSES, "loss")
    validation.check_choice(dtype, DTYPES, "dtype")
    need("onnx", extra="onnx", what="a graph of ONNX")
    if isinstance(model, Rule | RuleSet):
        if tolerance is not None or check is not None:
            msg = "tolerance and check must be None for rules, whose bits are kept."
            raise InvalidParameter(msg)
        if isinstance(model, Rule):
            made = _of_rule(model, loss, dtype)
        else:
            made = _of_rules(model, loss, dtype)
    else:
        from abers.export.onnx_estimators import of_estimator

        made = of_estimator(model, dtype, tolerance, check)
    if path is not None:
        from abers.storage.atomic import replacing

        with replacing(path) as file:
            file.write(made.SerializeToString())
    return made


def _of_rule(rule: Rule, loss: str, dtype: str) -> ModelProto:
    """Return the graph of one rule."""
    graph = Graph()
    scores = graph.input("score", dtype, ["rows"])
    start, *columns = pieces_of(rule, loss, dtype)
    steps = graph.steps_of(scores, start)
    for name, values in zip(ANSWERS, columns, strict=True):
        graph.output(name, graph.read(values, steps), np.float64, ["rows"])
    return graph.model({"abers.loss": loss})


def _of_rules(rules: RuleSet, loss: str, dtype: str) -> ModelProto:
    """Return the graph of rules for groups; a table tells whose rule answers."""
    graph = Graph()
    parts = [
        (groups, pieces_of(rule, loss, dtype)) for groups, rule in answering(rules)
    ]
    owners = {g: k for k, (groups, _) in enumerate(parts) for g in groups if k}
    scores = graph.input("score", dtype, ["rows"])
    names = list(rules)
    is_text = isinstance(names[0], str)
    _refuse_other_groups(names)
    group = graph.input("group", np.str_ if is_text else np.int64, ["rows"])
    owner = _owner(graph, group, owners, is_text=is_text)
    starts = [pieces[0] for _, pieces in parts]
    steps = graph.steps_of_groups(scores, owner, starts)
    for k, name in enumerate(ANSWERS, 1):
        values = np.concatenate([pieces[k] for _, pieces in parts])
        graph.output(name, graph.read(values, steps), np.float64, ["rows"])
    return graph.model({"abers.loss": loss})


def _refuse_other_groups(names: list[Any]) -> None:
    """Refuse groups that are neither text nor integers of 64 bits."""
    for name in names:
        is_integer = isinstance(name, int)
        fits = is_integer and -LARGEST_INTEGER <= name < LARGEST_INTEGER
        if not isinstance(name, str) and not fits:
            msg = (
                "groups must be text, or integers of 64 bits, to be an input of a "
                f"graph; got {name!r}."
            )
            raise InvalidParameter(msg)


def _owner(graph: Graph, group: str, owners: dict[Any, int], *, is_text: bool) -> str:
    """Return, for each group, the place of the rule that answers; 0 for all others."""
    if not owners:  # all share the first rule
        size = graph.add("Shape", group)
        return graph.add("Expand", graph.constant(np.int64(0)), size)
    graph.need(ML, 2)
    settings: dict[str, Any] = {"keys_strings": list(owners)}
    if not is_text:
        settings = {"keys_int64s": [int(name) for name in owners]}
    return graph.add(
        "LabelEncoder",
        group,
        domain=ML,
        default_int64=0,
        values_int64s=list(owners.values()),
        **settings,
    )
