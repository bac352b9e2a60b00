"""The scores of an inner classifier, as tensors of a graph.

skl2onnx, or onnxmltools, converts the classifier; of its graph what leads to the score
is kept. Doubles are asked for first: a graph that needs float32, as of trees, gets the
features as float32, and its scores are known no better than that.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from abers.errors import InvalidParameter, need
from abers.estimators.scoring import innermost, response_of
from abers.export.onnx_graph import ML, OPSET, Graph

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

# Of ai.onnx.ml, what copies numbers and computes none.
COPYING = {"ArrayFeatureExtractor", "LabelEncoder", "ZipMap"}
OTHER_CONVERTERS = {"LGBMClassifier": "lightgbm", "XGBClassifier": "xgboost"}
LARGEST = float(np.finfo(np.float64).max)


class InnerScores(NamedTuple):
    """Scores of the problems by one classifier: doubles, (rows,) each."""

    tensors: list[str]
    are_logarithms: bool
    are_single: bool  # computed in float32 somewhere


def inner_scores(
    graph: Graph,
    features: dict[str, str],
    estimator: Any,
    response_method: str,
    classes: np.ndarray,
) -> InnerScores:
    """Add the graph of a fitted classifier; `features` names them by type."""
    method = response_of(estimator, response_method, len(classes))
    is_margin = method == "decision_function"
    known = np.asarray(getattr(estimator, "classes_", classes))
    while type(estimator).__name__ == "FrozenEstimator":
        estimator = estimator.estimator
    with warnings.catch_warnings():  # about what converters call, not about the model
        warnings.simplefilter("ignore")
        inner, dtype = _converted(estimator, features, is_margin=is_margin)
    output, is_logarithm = _adopted(graph, inner, is_margin=is_margin)
    scores = graph.cast(output, np.float64)
    if is_margin and len(classes) == 2:
        tensors = [column(graph, scores, -1)]
    else:
        if not is_margin and not is_logarithm:
            scores = graph.add("Log", scores)
        scores = _in_columns(graph, scores, known, classes)
        tensors = class_columns(graph, scores, len(classes), are_margins=is_margin)
    return InnerScores(tensors, not is_margin, dtype == "float32")


def class_columns(
    graph: Graph, scores: str, n_classes: int, *, are_margins: bool
) -> list[str]:
    """Return the score of each problem, of margins or logarithms (rows, C).

    That of the second class against the first, or of each class against the rest.
    """
    columns = [column(graph, scores, c) for c in range(n_classes)]
    if n_classes == 2:
        return [graph.add("Sub", columns[1], columns[0])]
    if are_margins:
        return columns
    return [
        graph.add("Sub", own, _log_sum_of_others(graph, scores, c, n_classes))
        for c, own in enumerate(columns)
    ]


def column(graph: Graph, table: str, place: int) -> str:
    """Return one column of a table."""
    return graph.add("Gather", table, graph.constant(np.int64(place)), axis=1)


def _log_sum_of_others(graph: Graph, logs: str, c: int, n_classes: int) -> str:
    """Return the logarithm of the sum of all other probabilities: (rows,)."""
    others = graph.constant(np.delete(np.arange(n_classes), c))
    logs = graph.add("Gather", logs, others, axis=1)
    largest = graph.add("ReduceMax", logs, axes=[1], keepdims=1)
    # Where all are -inf, a finite number in its place makes the sum 0, not NaN.
    largest = graph.add("Max", largest, graph.constant(-LARGEST))
    relative = graph.add("Exp", graph.add("Sub", logs, largest))
    total = graph.add("ReduceSum", relative, graph.constant([1]), keepdims=1)
    found = graph.add("Add", graph.add("Log", total), largest)
    return graph.add("Squeeze", found, graph.constant([1]))


def _in_columns(
    graph: Graph, scores: str, known: np.ndarray, classes: np.ndarray
) -> str:
    """Give each class its column; one that the classifier never saw is hopeless."""
    if len(known) == len(classes):
        return scores
    first = graph.add("Gather", scores, graph.constant([0]), axis=1)
    nothing = graph.add("Mul", first, graph.constant(0.0))
    hopeless = graph.add("Sub", nothing, graph.constant(np.inf))
    scores = graph.add("Concat", scores, hopeless, axis=1)
    places = np.full(len(classes), len(known))
    places[np.searchsorted(classes, known)] = np.arange(len(known))
    return graph.add("Gather", scores, graph.constant(places), axis=1)


def _converted(
    estimator: Any, features: dict[str, str], *, is_margin: bool
) -> tuple[ModelProto, str]:
    """Convert a classifier; return its graph and the type that it computes in."""
    _refuse_missing_values(innermost(estimator))
    library = OTHER_CONVERTERS.get(type(estimator).__name__)
    try:
        if library is not None:
            return _by_onnxmltools(estimator, library, features, is_margin=is_margin)
        with suppress(Exception):  # whatever: float32 is next
            made = _by_skl2onnx(estimator, "float64", features, is_margin=is_margin)
            if not _computes_in_single(made):
                _opened(made)
                return made, "float64"
        made = _by_skl2onnx(estimator, "float32", features, is_margin=is_margin)
        for node in made.graph.node:
            if node.op_type == "TreeEnsembleClassifier":
                _add_other_class(node)
    except InvalidParameter:
        raise
    except Exception as cause:
        name = type(innermost(estimator)).__name__
        reason = str(cause).strip().partition("\n")[0]
        msg = f"the classifier must be one that skl2onnx converts; {name}: {reason}"
        raise InvalidParameter(msg) from cause
    return made, "float32"


def _refuse_missing_values(estimator: Any) -> None:
    """Refuse trees that split off missing values, whose conversion would not end."""
    trees = np.ravel(getattr(estimator, "estimators_", [estimator]))
    thresholds = [tree.tree_.threshold for tree in trees if hasattr(tree, "tree_")]
    if any(np.isinf(each).any() for each in thresholds):
        msg = (
            "the trees of the classifier must not split off missing values, which "
            "skl2onnx cannot convert; impute them, or take histogram boosting."
        )
        raise InvalidParameter(msg)


def _by_skl2onnx(
    estimator: Any, dtype: str, features: dict[str, str], *, is_margin: bool
) -> ModelProto:
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    kind = DoubleTensorType if dtype == "float64" else FloatTensorType
    shape = [None, estimator.n_features_in_]
    raw = {"raw_scores": True} if is_margin else {}
    final = innermost(estimator)
    # Each converter knows other options, and refuses those that it does not know.
    tries = ({"zipmap": False, **raw}, raw, {"zipmap": False})
    for options in tries:
        with suppress(NameError):
            made: ModelProto = convert_sklearn(
                estimator,
                initial_types=[(features[dtype], kind(shape))],
                options={id(final): options},
                target_opset={"": OPSET, ML: 1},
            )
            return made
    msg = f"skl2onnx has no option for the scores of {type(final).__name__}."
    raise InvalidParameter(msg)


def _by_onnxmltools(
    estimator: Any, library: str, features: dict[str, str], *, is_margin: bool
) -> tuple[ModelProto, str]:
    need("onnxmltools", extra="onnx", what=f"a graph of {library}")
    import onnxmltools
    from onnxmltools.convert.common.data_types import FloatTensorType

    kind = FloatTensorType([None, estimator.n_features_in_])
    convert = getattr(onnxmltools, f"convert_{library}")
    settings = {"zipmap": False} if library == "lightgbm" else {}
    made = convert(
        estimator,
        initial_types=[(features["float32"], kind)],
        target_opset=OPSET,
        **settings,
    )
    for node in made.graph.node:
        for setting in node.attribute:
            # It has no option for margins: they are what is transformed at the end.
            if is_margin and setting.name == "post_transform":
                setting.s = b"NONE"
    return made, "float32"


def _add_other_class(forest: NodeProto) -> None:
    """Let a forest of two classes add up both probabilities.

    Its leaves have that of one class only, and the other is 1 minus the sum, by which
    a float32 near 0 loses most of its digits: that of a few trees out of many.
    """
    from onnx import helper

    given = {each.name: helper.get_attribute_value(each) for each in forest.attribute}
    weights = np.asarray(given["class_weights"], dtype=np.float32)
    trees = given["class_treeids"]
    share = np.float32(1 / len(set(trees)))
    if (
        given.get("post_transform", b"NONE") != b"NONE"
        or len(set(given["class_ids"])) > 1
        or len(weights) != len(set(zip(trees, given["class_nodeids"], strict=True)))
        or (weights < 0).any()
        or (weights > share).any()
    ):
        return  # no forest of two classes
    more = {
        "class_ids": [1] * len(trees) + [0] * len(trees),
        "class_nodeids": 2 * list(given["class_nodeids"]),
        "class_treeids": 2 * list(trees),
        "class_weights": [*weights.tolist(), *(share - weights).tolist()],
    }
    kept = [each for each in forest.attribute if each.name not in more]
    del forest.attribute[:]
    forest.attribute.extend(kept)
    forest.attribute.extend(helper.make_attribute(*each) for each in more.items())


def _computes_in_single(model: ModelProto) -> bool:
    """Whether something in a graph for doubles computes in float32 all the same."""
    return any(
        node.domain == ML and node.op_type not in COPYING for node in model.graph.node
    )


def _opened(model: ModelProto) -> Any:
    """Return a session that runs a graph, by one thread."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def run(model: ModelProto, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Run a graph; return its outputs by name."""
    names = [output.name for output in model.graph.output]
    return dict(zip(names, _opened(model).run(names, inputs), strict=True))


def _adopted(graph: Graph, inner: ModelProto, *, is_margin: bool) -> tuple[str, bool]:
    """Add what leads to the scores; return their name, and whether they are logarithms.

    Naive Bayes ends with exponentials of logarithms, which are what is needed: a
    probability that is 0 has lost its order among others.
    """
    from onnx import compose

    prefix = f"model{len(graph.nodes)}_"
    inner = compose.add_prefix(inner, prefix, rename_inputs=False)
    made_by = {name: node for node in inner.graph.node for name in node.output}
    score = inner.graph.output[-1].name
    last = made_by[score]
    is_logarithm = not is_margin and last.op_type == "Exp"
    if is_logarithm:
        score = last.input[0]
    nodes = _leading_to(score, inner, made_by)
    used = {name for node in nodes for name in node.input}
    graph.nodes.extend(nodes)
    graph.constants.extend(c for c in inner.graph.initializer if c.name in used)
    for each in inner.opset_import:
        graph.need(each.domain, each.version)
    return score, is_logarithm


def _leading_to(
    tensor: str, model: ModelProto, made_by: dict[str, NodeProto]
) -> list[NodeProto]:
    """Return the nodes that a tensor is computed by, in their order."""
    needed, waiting = set(), [tensor]
    while waiting:
        node = made_by.get(waiting.pop())
        if node is not None and node.output[0] not in needed:
            needed.add(node.output[0])
            waiting.extend(node.input)
    return [node for node in model.graph.node if node.output[0] in needed]
