"""Cross-fitting: models are trained on some rows and score the others.

The common part of all classifiers and regressors that train a user's model: which rows
train and which calibrate, where parameters of `fit` go, and the training itself. A
single split is a cross-fit with one pair of training and calibration rows.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Real
from reprlib import repr as shortened
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.utils import (
    _safe_indexing,
    check_random_state,
    get_tags,
    indexable,
)
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import (
    _num_samples,
    check_is_fitted,
    has_fit_parameter,
    validate_data,
)

from abers import validation
from abers.errors import InvalidData, InvalidParameter, warn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from abers.validation import FloatArray, IntArray

    Pair = tuple[IntArray, IntArray]  # training rows, calibration rows

DEFAULT_FOLDS = 5
FEW_ROWS = 30  # too few to calibrate a fold on its own
LIGHT = 0.5  # mean weight; a new case has weight 1
ONLY_BY_SPLITTER = "groups must have a splitter that keeps them together; pass {}."


@dataclass(frozen=True, slots=True, eq=False)
class FitRows:
    """All rows of a fit, to train on and to calibrate with."""

    X: Any
    y: np.ndarray  # labels or targets, as passed to the model
    weights: FloatArray | None  # for the rules
    fit_params: dict[str, Any]  # for the model; some have one entry per row

    def train(self, model: Any, rows: IntArray) -> None:
        """Train a model on some of the rows."""
        size = self.y.size
        params = {name: rows_of(v, rows, size) for name, v in self.fit_params.items()}
        model.fit(rows_of(self.X, rows, size), self.y[rows], **params)


class ScoredFold(NamedTuple):
    """A trained model, and its scores of its calibration rows."""

    estimator: Any
    rows: IntArray
    scores: Any  # of these rows


class CrossFit(MetaEstimatorMixin, BaseEstimator, ABC):
    """An estimator that trains a model and calibrates it on held-out rows."""

    estimator: Any
    default_estimator: ClassVar[Any]  # the class to use if no model is given
    random_state: Any

    def _inner(self) -> Any:
        return self.default_estimator() if self.estimator is None else self.estimator

    def _is_prefit(self) -> bool:
        return isinstance(self._inner(), FrozenEstimator)

    @abstractmethod
    def _pairs(self, X: Any, y: np.ndarray, split_params: dict[str, Any]) -> list[Pair]:
        """Choose the rows that train and those that calibrate."""

    @abstractmethod
    def _check_splits_groups(self) -> None:
        """Raise if groups would be split between training and calibration."""

    def _rows(
        self,
        X: Any,
        y: np.ndarray,
        sample_weight: ArrayLike | None,
        params: dict[str, Any],
    ) -> tuple[FitRows, list[Pair]]:
        """Check the arguments of `fit` other than labels or targets."""
        X, y = indexable(X, y)
        validate_data(self, X, skip_check_array=True)
        weights = checked_weights(sample_weight, y.size, "rows of X")
        fit_params, split_params = self._routed(sample_weight, params)
        pairs = self._pairs(X, y, split_params)
        if weights is not None:
            calibrates = np.zeros(y.size, bool)
            calibrates[np.concatenate([calibrate for _, calibrate in pairs])] = True
            warn_of_light(weights[calibrates])
        return FitRows(X, y, weights, fit_params), pairs

    def _train(
        self,
        rows: FitRows,
        pairs: Sequence[Pair],
        score: Callable[[Any, Any, int], Any],
    ) -> list[ScoredFold]:
        """Train a model for each pair, and score its calibration rows."""
        folds: list[ScoredFold] = Parallel(n_jobs=getattr(self, "n_jobs", None))(
            delayed(_fit_fold)(clone(self._inner()), rows, pair, score)
            for pair in pairs
        )
        return folds

    def get_metadata_routing(self) -> MetadataRouter:
        """Declare where metadata goes: to this estimator and to its model."""
        return (
            MetadataRouter(owner=self.__class__.__name__)
            .add_self_request(self)
            .add(
                estimator=self._inner(),
                method_mapping=MethodMapping().add(caller="fit", callee="fit"),
            )
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._inner()).input_tags
        for name in ("sparse", "allow_nan", "pairwise", "string", "categorical"):
            setattr(tags.input_tags, name, getattr(inner, name))
        return tags

    def _routed(
        self, sample_weight: ArrayLike | None, params: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the parameters of the model's fit and of the splitter."""
        if _routing_enabled():
            routed = process_routing(self, "fit", sample_weight=sample_weight, **params)
            return routed.estimator.fit, routed.get("splitter", {}).get("split", {})
        inner, fit_params, split_params = self._inner(), dict(params), {}
        if "groups" in fit_params and not has_fit_parameter(inner, "groups"):
            split_params["groups"] = fit_params.pop("groups")
            self._check_splits_groups()
        if sample_weight is not None and has_fit_parameter(inner, "sample_weight"):
            fit_params["sample_weight"] = np.asarray(sample_weight)
        elif sample_weight is not None and not self._is_prefit():
            warn_of_unweighted(inner, params)
        return fit_params, split_params


class SplitOnce(CrossFit):
    """Rows are split once, by `calibration`; for a prefit model, all rows calibrate."""

    calibration: Any

    def _pairs(
        self, _X: Any, y: np.ndarray, _split_params: dict[str, Any]
    ) -> list[Pair]:
        if self._is_prefit():
            return [(np.arange(0), np.arange(y.size))]
        return [calibration_pair(self.calibration, y.size, self.random_state)]

    def _check_splits_groups(self) -> None:
        raise InvalidParameter(
            ONLY_BY_SPLITTER.format("calibration, as row numbers of whole groups")
        )


class SplitIntoFolds(CrossFit):
    """Rows are split by `cv`, and `n_jobs` folds are trained in parallel."""

    cv: Any
    n_jobs: int | None
    stratifies: ClassVar[bool] = True  # if cv is a number

    def _pairs(self, X: Any, y: np.ndarray, split_params: dict[str, Any]) -> list[Pair]:
        pairs = cross_pairs(
            self.cv, X, y, self.random_state, split_params, stratify=self.stratifies
        )
        if self._has_own_folds():
            return pairs
        pairs = [(train, _distinct(calibrate, y.size)) for train, calibrate in pairs]
        if not self._is_prefit():
            warn_of_overlap(pairs, y.size)
        return pairs

    def _has_own_folds(self) -> bool:
        """Whether folds are made here: no row is in two of them, or on both sides."""
        return self.cv is None or isinstance(self.cv, int | np.integer)

    def _check_splits_groups(self) -> None:
        if not hasattr(self.cv, "split"):
            way = f"cv=GroupKFold({DEFAULT_FOLDS}), or another splitter by groups"
            raise InvalidParameter(ONLY_BY_SPLITTER.format(way))

    def get_metadata_routing(self) -> MetadataRouter:
        """Declare where metadata goes: also to the splitter."""
        router = super().get_metadata_routing()
        if hasattr(self.cv, "split"):
            router.add(
                splitter=self.cv,
                method_mapping=MethodMapping().add(caller="fit", callee="split"),
            )
        return router


def _fit_fold(
    estimator: Any, rows: FitRows, pair: Pair, score: Callable[[Any, Any, int], Any]
) -> ScoredFold:
    """Train on one side of a pair, and score the other."""
    train, calibrate = pair
    if not isinstance(estimator, FrozenEstimator):
        rows.train(estimator, train)
    part = rows_of(rows.X, calibrate, rows.y.size)
    return ScoredFold(estimator, calibrate, score(estimator, part, len(calibrate)))


def rows_of(values: Any, rows: IntArray, size: int) -> Any:
    """Select rows of a table or column; return anything else unchanged."""
    if isinstance(values, str) or not (
        getattr(values, "shape", ()) or hasattr(values, "__len__")
    ):
        return values
    if _num_samples(values) != size:
        return values
    return _safe_indexing(values, rows)


# --- which rows train and which calibrate ---


def calibration_pair(calibration: Any, size: int, random_state: Any) -> Pair:
    """Split rows once: at random without stratifying, or as specified by the user."""
    if np.ndim(calibration) == 0:
        count = _calibration_count(calibration, size)
        rows = check_random_state(random_state).permutation(size)
        return np.sort(rows[count:]), np.sort(rows[:count])
    return _named_rows(np.asarray(calibration), size)


def cross_pairs(
    cv: Any,
    X: Any,
    y: np.ndarray,
    random_state: Any,
    split_params: dict[str, Any],
    *,
    stratify: bool = True,
) -> list[Pair]:
    """Split rows K times: every pair is (training rows, calibration rows)."""
    if cv is None:
        cv = DEFAULT_FOLDS
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        folds = int(cv)
        if folds < 2:
            msg = f"cv must be at least 2; got {folds}."
            raise InvalidParameter(msg)
        if stratify:
            return _stratified(folds, y, random_state)
        splitter = KFold(min(folds, y.size), shuffle=True, random_state=random_state)
        return list(splitter.split(y))
    if hasattr(cv, "split") and not isinstance(cv, str):
        pairs = list(cv.split(X, y, **split_params))
    elif np.iterable(cv) and not isinstance(cv, str):
        pairs = [_as_pair(pair, len(y)) for pair in cv]
    else:
        msg = f"cv must be a number, a splitter or pairs of rows; got {cv!r}."
        if isinstance(cv, str) and cv == "prefit":
            msg += (
                " To calibrate a model that is fitted already, pass "
                "FrozenEstimator(model), of sklearn.frozen, as the estimator."
            )
        raise InvalidParameter(msg)
    if not pairs or any(not len(test) for _, test in pairs):
        msg = "cv must give at least one pair, each with calibration rows."
        raise InvalidParameter(msg)
    return pairs


def _stratified(cv: int, y: np.ndarray, random_state: Any) -> list[Pair]:
    """Split into stratified, shuffled folds, as many as the largest class can fill."""
    classes, counts = np.unique(y, return_counts=True)
    folds = min(cv, int(counts.max()))
    if folds < 2:
        msg = (
            "some class must have at least two rows, to train on one and calibrate "
            f"with the other; got one row of each of the {len(classes)} classes."
        )
        raise InvalidData(msg)
    splitter = StratifiedKFold(folds, shuffle=True, random_state=random_state)
    if counts.min() >= cv:
        return list(splitter.split(y, y))
    rare = classes.tolist()[counts.argmin()]
    lacking = f"some of the {folds} folds lack it"
    if counts.min() >= folds:
        lacking = f"only {folds} folds are made"
    warn(
        f"class {rare!r} has only {int(counts.min())} of {y.size} rows, fewer than "
        f"cv={cv}, so that {lacking}: its probabilities are rough. Use fewer folds, "
        "or more rows of it."
    )
    with warnings.catch_warnings():  # scikit-learn warns of the same without the name
        warnings.simplefilter("ignore", UserWarning)
        return list(splitter.split(y, y))


def _distinct(rows: IntArray, size: int) -> IntArray:
    """Remove repeated rows of a fold, which would count twice."""
    rows = np.asarray(rows) % size  # -1 is the last row
    _, first = np.unique(rows, return_index=True)
    return rows[np.sort(first)]


def _as_pair(pair: Any, size: int) -> Pair:
    if np.iterable(pair) and len(pair := tuple(pair)) == 2:
        train, calibrate = (_as_rows(side, size) for side in pair)
        if train is not None and calibrate is not None:
            return train, calibrate
    msg = (
        "cv must be pairs (training rows, calibration rows), each row a number below "
        f"{size} or a mask of {size} booleans; got {shortened(pair)}."
    )
    raise InvalidParameter(msg)


def _as_rows(side: Any, size: int) -> IntArray | None:
    """Return row numbers, also of a mask; None if it is neither."""
    rows: np.ndarray = np.asarray(side)
    if rows.ndim == 1 and not rows.size:
        return np.empty(0, np.int64)
    if rows.dtype.kind == "b" and rows.shape == (size,):
        return np.flatnonzero(rows)
    # From -size, which is the first row, to size - 1.
    if rows.dtype.kind in "iu" and rows.ndim == 1 and (abs(rows + 0.5) < size).all():
        return rows
    return None


def _calibration_count(calibration: Any, size: int) -> int:
    if isinstance(calibration, bool) or not isinstance(calibration, Real):
        good, count = False, 0
    elif isinstance(calibration, int | np.integer):
        count = int(calibration)
        good = 1 <= count < size
    else:
        good = 0 < float(calibration) < 1  # NaN and inf cannot be rounded
        count = round(float(calibration) * size) if good else 0
        count = min(max(count, 1), size - 1)
    if not good or count < 1:
        msg = (
            "calibration must be a fraction between 0 and 1, a number of rows below "
            f"{size}, a mask or row numbers; got {calibration!r} for {size} rows."
        )
        raise InvalidParameter(msg)
    return count


def _named_rows(rows: np.ndarray, size: int) -> Pair:
    if rows.dtype.kind == "b" and rows.shape == (size,):
        mask = rows
    else:
        wrong = _wrong_rows(rows, size)
        if wrong:
            msg = (
                f"calibration must be a mask of {size} booleans or distinct row "
                f"numbers below {size}, of which 0 is the first; got {wrong}."
            )
            raise InvalidParameter(msg)
        mask = np.zeros(size, bool)
        mask[rows] = True
    if mask.all() or not mask.any():
        msg = "calibration must leave rows on both sides; got all rows or none."
        raise InvalidParameter(msg)
    return np.flatnonzero(~mask), np.flatnonzero(mask)


def _wrong_rows(rows: np.ndarray, size: int) -> str | None:
    """Return why these are not distinct row numbers, or None."""
    if rows.dtype.kind not in "iu" or rows.ndim != 1 or not rows.size:
        return f"an array of {rows.dtype} with shape {rows.shape}"
    outside = rows[(rows < 0) | (rows >= size)]
    if outside.size:
        return f"the row number {outside[0]}"
    numbers, repeats = np.unique(rows, return_counts=True)
    if repeats.max() > 1:
        return f"the row number {numbers[repeats > 1][0]} more than once"
    return None


# --- weights ---


def checked_weights(
    sample_weight: ArrayLike | None, size: int, other: str = "scores"
) -> FloatArray | None:
    """Return finite weights, at least one positive; None if none were given."""
    if sample_weight is None:
        return None
    weights = validation.as_weights(sample_weight, size, other=other)
    validation.check_total(weights, "sample_weight")
    return weights


# --- warnings ---


def warn_of_fitted(model: Any) -> None:
    """Warn if a fitted model that is not frozen is trained again."""
    last = model
    while isinstance(last, Pipeline):
        last = last.steps[-1][1]
    if _is_fitted(last):
        warn(
            f"the {type(last).__name__} given is fitted already, and will be trained "
            "again from the start: pass FrozenEstimator(model), of sklearn.frozen, to "
            "calibrate it as it is, or clone(model) to train a new one."
        )


def _is_fitted(model: Any) -> bool:
    """Return whether a model has learnt something that training would overwrite."""
    if isinstance(model, FrozenEstimator):
        return False
    try:
        check_is_fitted(model)
        needs_fit: bool = get_tags(model).requires_fit
    except (NotFittedError, TypeError, AttributeError):  # or unknown
        return False
    return needs_fit


def warn_of_unweighted(estimator: Any, params: dict[str, Any]) -> None:
    """Warn if weights do not reach the model, unless one of its steps gets them."""
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
    if steps and has_fit_parameter(estimator, "sample_weight"):
        parameter = "__".join((*steps, "sample_weight"))
        msg += f" Pass {parameter}=... as well, or use metadata routing."
    warn(msg)


def warn_of_light(weights: FloatArray | None) -> None:
    """Warn if a new case outweighs the calibration rows, which then count as few."""
    if weights is None:
        return
    count, total = np.count_nonzero(weights), weights.sum()
    if total < LIGHT * count:
        warn(
            f"the {count} calibration rows have a total weight of only {total:.3g}, so "
            "that a new case, which counts as one row, outweighs them: scale "
            "sample_weight so that it sums to the number of rows."
        )


def warn_of_overlap(pairs: list[Pair], size: int) -> None:
    """Warn if rows calibrate a model that was trained on them."""
    for fold, (train, calibrate) in enumerate(pairs):
        trains = np.zeros(size, bool)
        trains[train] = True
        count = np.count_nonzero(trains[calibrate])
        if count:
            warn(
                f"{count} of the {len(calibrate)} calibration rows of fold {fold} are "
                "training rows of the same fold, whose labels its model knows, so that "
                "predictions are too sure: let no row be on both sides of a pair."
            )
            return


def warn_of_few(pairs: list[Pair], effect: str) -> None:
    """Warn if folds that are merged one by one have few calibration rows."""
    rows = sum(len(calibrate) for _, calibrate in pairs) / len(pairs)
    if len(pairs) > 1 and rows < FEW_ROWS:
        warn(
            f"each of the {len(pairs)} folds calibrates with {rows:.3g} rows only; "
            f"{effect}."
        )
