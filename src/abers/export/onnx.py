"""ONNX: a rule, or the rules for groups, in one graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from abers import validation
from abers.core.merging import LOSSES
from abers.core.rule_set import RuleSet
from abers.errors import InvalidParameter, need
from abers.export.description import described, is_of_classes
from abers.export.mixture import served
from abers.export.onnx_classes import GraphOfClasses
from abers.export.onnx_graph import ML, Arithmetic, Graph
from abers.export.step_table import (
    DTYPES,
    LARGEST_INTEGER,
    pieces_of,
    rules_with_groups,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from onnx import ModelProto

    from abers.choices import LossName, Precision
    from abers.core.rule import Rule
    from abers.core.stacked import StackedRule
    from abers.core.venn_abers_calibrator import VennAbersCalibrator
    from abers.export.mixture import Mixture

ANSWERS = ("lower", "upper", "probability")


def to_onnx(
    rule: Rule | RuleSet | StackedRule | VennAbersCalibrator,
    path: str | os.PathLike[str] | None = None,
    *,
    loss: LossName = "log",
    dtype: Precision = "float64",
) -> ModelProto:
    """Return a rule as an ONNX graph.

    Parameters
    ----------
    rule : Rule, RuleSet, StackedRule or VennAbersCalibrator
        What to export. A calibrator must have one model. The results of a stacked rule,
        and of more than two classes, agree within 1e-12.
    path : path-like, default=None
        A file to write, usually named `.onnx`; one that exists is replaced.
    loss : {"log", "brier"}, default="log"
        The loss for which the bounds are merged into one probability.
    dtype : {"float64", "float32"}, default="float64"
        The type of the input scores. A float32 gives the same result as the equal
        double.

    Returns
    -------
    onnx.ModelProto
        Opset 13, IR version 7. It has the input `score`, for a rule set also `group`
        (text or 64-bit integers; other values get the pooled rule), and the outputs
        `lower`, `upper` and `probability`, doubles of shape (rows,). They equal the
        rule's, bit for bit; NaN gives NaN. With C > 2 classes, `score` and the outputs
        have shape (rows, C). The metadata have `abers.version` and `abers.loss`.

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
    if is_of_classes(rule):
        return _written(_of_classes(rule, loss, dtype), path)
    own, mixture, reading = served(rule, loss)
    parts = rules_with_groups(own)
    pieces = [pieces_of(each, loss, dtype, reading) for _, each in parts]
    graph = Graph()
    scores = graph.input("score", dtype, ["rows"])
    starts = [start for start, *_ in pieces]
    if isinstance(own, RuleSet):
        owners = {g: k for k, (groups, _) in enumerate(parts) for g in groups if k}
        owner = _owner(graph, list(own), owners)
        steps = graph.steps_of_groups(scores, owner, starts)
    else:
        steps = graph.steps_of(scores, starts[0])
    mixed = None if mixture is None else _mixer(graph, mixture, scores)
    for k, name in enumerate(ANSWERS, 1):
        values = np.concatenate([columns[k] for columns in pieces])
        answer = graph.read(values, steps)
        if mixed is not None:
            answer = mixed(answer)
        graph.output(name, answer, np.float64, ["rows"])
    return _written(graph.model({"abers.loss": loss}), path)


def _of_classes(fitted: object, loss: LossName, dtype: Precision) -> ModelProto:
    """Return the graph of a calibrator of one model and more than two classes."""
    calibrator = described(fitted, loss)
    graph = Graph()
    shape: list[str | int] = ["rows", calibrator.n_classes]
    given = graph.cast(graph.input("score", dtype, shape), np.float64)
    answers = GraphOfClasses(graph, calibrator).answers(given)
    for name, answer in zip(ANSWERS, answers, strict=True):
        graph.output(name, answer, np.float64, shape)
    return graph.model({"abers.loss": loss})


def _written(made: ModelProto, path: str | os.PathLike[str] | None) -> ModelProto:
    """Write a graph to a file, if one is named."""
    if path is not None:
        from abers.storage.atomic import replacing

        with replacing(path) as file:
            file.write(made.SerializeToString())
    return made


def _mixer(graph: Graph, mixture: Mixture, scores: str) -> Callable[[str], str]:
    """Return a function that mixes the values of steps with the model and its curve."""
    ops, score = Arithmetic(graph), graph.cast(scores, np.float64)
    fixed = mixture.fixed(ops, score)
    if mixture.reads == "probability":
        inside = ops.within(score, 0.0, 1.0)
        is_one = graph.add("Equal", inside, score)
        fixed = graph.add("Where", is_one, fixed, ops.number(np.nan))

    def mixed(value: str) -> str:
        whole = ops.plus(ops.times(ops.number(mixture.of_rule), value), fixed)
        return graph.add("Min", whole, ops.number(1.0))

    return mixed


def _refuse_other_groups(names: list[Any]) -> None:
    """Raise for groups that are neither text nor 64-bit integers."""
    for name in names:
        is_integer = isinstance(name, int)
        fits = is_integer and -LARGEST_INTEGER <= name < LARGEST_INTEGER
        if not isinstance(name, str) and not fits:
            msg = (
                "groups must be text, or integers of 64 bits, to be an input of a "
                f"graph; got {name!r}."
            )
            raise InvalidParameter(msg)


def _owner(graph: Graph, names: list[Any], owners: dict[Any, int]) -> str:
    """Add the input of groups; return the place of the rule for each row.

    Groups that `owners` does not name get the first rule.
    """
    _refuse_other_groups(names)
    is_text = isinstance(names[0], str)
    group = graph.input("group", np.str_ if is_text else np.int64, ["rows"])
    if not owners:  # all share the first rule
        size = graph.add("Shape", group)
        return graph.add("Expand", graph.constant(np.int64(0)), size)
    graph.versions[ML] = 2
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
