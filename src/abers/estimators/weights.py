"""Weights: checks of those that calibrators and classifiers are given."""

from __future__ import annotations

import inspect
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from abers import validation

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from abers.estimators.folds import Pair
    from abers.validation import FloatArray

LIGHT = 0.5  # of the weight 1 that a new case has, on average


def checked_weights(
    sample_weight: ArrayLike | None, size: int, other: str = "scores"
) -> FloatArray | None:
    """Return finite weights, some of them positive; None if none were given."""
    if sample_weight is None:
        return None
    weights = validation.as_weights(sample_weight, size, other=other)
    validation.check_total(weights, "sample_weight")
    return weights


def warn_of_light(weights: FloatArray | None, *, below_fit: int = 0) -> None:
    """Warn of calibration rows that a new case outweighs, as if there were few.

    The line that calls `fit` is shown; so many calls below `fit` is this called from.
    """
    if weights is None:
        return
    count, total = np.count_nonzero(weights), weights.sum()
    if total < LIGHT * count:
        msg = (
            f"the {count} calibration rows have a total weight of only {total:.3g}, so "
            "that a new case, which counts as one row, outweighs them: scale "
            "sample_weight so that it sums to the number of rows."
        )
        warnings.warn(msg, UserWarning, stacklevel=3 + below_fit)


def weights_to_calibrate(
    weights: FloatArray | None, pairs: list[Pair]
) -> FloatArray | None:
    """Return the weights of all rows that calibrate, in any pair."""
    if weights is None:
        return None
    calibrates = np.zeros(weights.size, bool)
    for _, rows in pairs:
        calibrates[rows] = True
    return weights[calibrates]


def warn_of_unweighted(estimator: Any, params: dict[str, Any]) -> None:
    """Warn of weights that a classifier is trained without, unless a step has them."""
    if any(name.endswith("__sample_weight") for name in params):
        return
    msg = (
        f"{type(estimator).__name__} does not take sample_weight, so the weights act "
        "in the rules only."
    )
    steps = []
    while isinstance(estimator, Pipeline):
        name, estimator = estimator.steps[-1]
        steps.append(name)
    if steps and takes(estimator, "sample_weight"):
        parameter = "__".join((*steps, "sample_weight"))
        msg += f" Pass {parameter}=... as well, or use metadata routing."
    warnings.warn(msg, UserWarning, stacklevel=4)


def takes(estimator: Any, parameter: str) -> bool:
    """Whether a classifier is trained with this parameter; a prefit one with none."""
    if isinstance(estimator, FrozenEstimator):
        return False
    return parameter in inspect.signature(estimator.fit).parameters
