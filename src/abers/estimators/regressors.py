"""Regressors: any scikit-learn regressor becomes a Venn-Abers regressor.

An IVAP is a cross predictor with one pair of training and calibration rows, so the two
public classes differ only in how they choose the pairs.
"""

from __future__ import annotations

from reprlib import repr as shortened
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import RegressorMixin, is_classifier
from sklearn.linear_model import LinearRegression
from sklearn.utils.validation import (
    _num_samples,
    assert_all_finite,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from abers.core import guarantees
from abers.core.inverted import FALSE_ALARMS
from abers.core.regression import (
    as_ends,
    as_targets,
    check_targets,
    fitted_regression_rule,
    least_weight,
    midpoints,
    trim_of,
)
from abers.errors import InvalidData, InvalidParameter, InvertedScoresWarning, warn
from abers.estimators.cross_fit import (
    CrossFit,
    SplitIntoFolds,
    SplitOnce,
    warn_of_few,
    warn_of_fitted,
)
from abers.estimators.scoring import (
    innermost,
    predictions,
    rounded_to,
    step_of,
)

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike

    from abers.core.guarantees import Guarantee
    from abers.core.regression import RankCorrelation, RegressionRule
    from abers.estimators.cross_fit import FitRows, Pair, ScoredFold
    from abers.validation import FloatArray

__all__ = ["CVAPRegressor", "IVAPRegressor"]

FEW_ROWS_EFFECT = "that draws predictions towards their middle: use fewer folds"


class Ends(NamedTuple):
    """The ends of targets, and how many targets are trimmed at unknown ones."""

    low: float | None
    high: float | None
    trim: int


class VennAbersRegressor(RegressorMixin, CrossFit):
    """K regressors, each with the rule fitted to its calibration rows."""

    default_estimator = LinearRegression
    low: float | None
    high: float | None
    trim: int
    estimators_: list[Any]
    rules_: list[RegressionRule]
    steps_: list[float]

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        **params: Any,
    ) -> Self:
        """Train the regressor and fit the rules.

        Parameters
        ----------
        X : array-like of shape (n, features)
            Whatever the regressor takes.
        y : array-like of shape (n,)
            Targets: finite numbers, none beyond `low` and `high`.
        sample_weight : array-like of shape (n,), default=None
            Passed to the regressor, if it takes weights, and used by the rules, where a
            row of weight w counts as w rows.
        **params : dict
            Further parameters for the `fit` of the regressor, or routed as metadata.

        Returns
        -------
        object
            Itself.
        """
        ends = self._checked_ends()
        self._check_estimator()
        warn_of_fitted(self._inner())
        targets = _as_targets(y, type(self).__name__)
        rows, pairs = self._rows(X, targets, sample_weight, params)
        kept = np.ones(targets.size, bool) if rows.weights is None else rows.weights > 0
        check_targets(targets, kept, ends.low, ends.high, "y")
        _check_calibration_rows(pairs, rows.weights, ends)
        warn_of_few(pairs, FEW_ROWS_EFFECT)
        folds = self._train(rows, pairs, predictions)
        steps = [step_of(fold.scores) for fold in folds]
        fitted = [
            _fitted_rule(fold, step, rows, ends)
            for fold, step in zip(folds, steps, strict=True)
        ]
        self.estimators_ = [fold.estimator for fold in folds]
        self.rules_ = [rule for rule, _ in fitted]
        self.steps_ = steps
        # Last, so that the regressor is fitted even if warnings raise.
        _warn_of_inverted([order for _, order in fitted])
        return self

    def predict(self, X: Any) -> FloatArray:
        """Return the midpoint of the bounds, averaged over the folds.

        Parameters
        ----------
        X : array-like of shape (n, features)
            As for `fit`.

        Returns
        -------
        ndarray of shape (n,)
            Estimates of the mean target. No guarantee of calibration is proven.
        """
        return _mean_of_folds(midpoints(self.predict_fold_bounds(X)))

    def predict_bounds(self, X: Any) -> FloatArray:
        """Return the lower and upper bound, averaged over the folds.

        Parameters
        ----------
        X : array-like of shape (n, features)
            As for `fit`.

        Returns
        -------
        ndarray of shape (n, 2)
            Bounds for a mean, not an interval in which the target lies.
        """
        return _mean_of_folds(self.predict_fold_bounds(X))

    def predict_fold_bounds(self, X: Any) -> FloatArray:
        """Return the bounds from each fold, before averaging.

        Parameters
        ----------
        X : array-like of shape (n, features)
            As for `fit`.

        Returns
        -------
        ndarray of shape (K, n, 2)
            Lower and upper value by the rule of each fold.
        """
        check_is_fitted(self)
        if getattr(X, "ndim", 2) != 1:  # its own message is better
            validate_data(self, X, skip_check_array=True, reset=False)
        n_rows = _num_samples(X)
        return np.stack(
            [
                rule.bounds(rounded_to(step, predictions(estimator, X, n_rows)))
                for estimator, rule, step in zip(
                    self.estimators_, self.rules_, self.steps_, strict=True
                )
            ]
        )

    @property
    def guarantee_(self) -> Guarantee:
        """Whether a value between the bounds is proven to be calibrated, or why not."""
        check_is_fitted(self)
        first, *others = self.rules_
        return guarantees.FOLDS if others else first.guarantee

    def _checked_ends(self) -> Ends:
        low, high = as_ends(self.low, self.high)
        return Ends(low, high, trim_of(low, high, self.trim))

    def _check_estimator(self) -> None:
        inner = self._inner()
        if isinstance(inner, type):
            it = inner.__name__
            msg = f"estimator must be an instance; got the class {it}. Pass {it}()."
            raise InvalidParameter(msg)
        if not hasattr(inner, "fit"):
            msg = f"estimator must be a regressor; got {shortened(inner)}."
            raise InvalidParameter(msg)
        name = type(innermost(inner)).__name__
        if is_classifier(inner):
            other = type(self).__name__.replace("Regressor", "Classifier")
            msg = (
                f"estimator must be a regressor; {name} is a classifier. Use "
                f"abers.{other} for it."
            )
            raise InvalidParameter(msg)
        if not hasattr(inner, "predict"):
            msg = f"estimator must be a regressor with predict; {name} has none."
            raise InvalidParameter(msg)


def _mean_of_folds(values: FloatArray) -> FloatArray:
    """Average over the first axis without overflow."""
    mean: FloatArray = (values / len(values)).sum(axis=0)
    return mean if len(values) > 1 else values[0]


def _fitted_rule(
    fold: ScoredFold, step: float, rows: FitRows, ends: Ends
) -> tuple[RegressionRule, RankCorrelation | None]:
    """Fit a rule to the predictions of a fold."""
    return fitted_regression_rule(
        rounded_to(step, fold.scores),
        rows.y[fold.rows],
        sample_weight=None if rows.weights is None else rows.weights[fold.rows],
        **ends._asdict(),
    )


def _as_targets(y: ArrayLike, owner: str) -> FloatArray:
    """Return one column of targets; `fit` of this class is named in the message."""
    if y is None:
        msg = f"{owner} requires y to be passed, but the target y is None."
        raise InvalidData(msg)
    if isinstance(y, np.ma.MaskedArray) and np.ma.is_masked(y):
        rows = np.flatnonzero(y.mask)
        msg = (
            f"y must not be missing; got masked targets in {rows.size} of {y.size} "
            f"rows, first at row {rows[0]}. Drop the rows without a target."
        )
        raise InvalidData(msg)
    column = column_or_1d(y, warn=True)
    assert_all_finite(column, input_name="y")
    targets = as_targets(column, "y")
    if targets.size < 2:
        got = "1 sample" if targets.size else "none"
        msg = (
            f"{owner} needs at least two rows, to train on one and calibrate with the "
            f"other; got {got}."
        )
        raise InvalidData(msg)
    return targets


def _check_calibration_rows(
    pairs: list[Pair], weights: FloatArray | None, ends: Ends
) -> None:
    """Raise if a fold has too few rows for a rule, before anything is trained."""
    least = least_weight(*ends)
    for rows in (calibrate for _, calibrate in pairs):
        total = len(rows) if weights is None else weights[rows].sum()
        if total < least or not total:
            msg = (
                f"each rule must have at least {least or 1} calibration rows, or as "
                f"much weight; got {total:g}. Use more rows or fewer folds, or give "
                "low and high if they are known."
            )
            raise InvalidData(msg)


def _warn_of_inverted(orders: list[RankCorrelation | None]) -> None:
    """Warn of inverted predictions, at one level for all folds together."""
    against = [
        order
        for order in orders
        if order is not None and order.p_value * len(orders) < FALSE_ALARMS
    ]
    if against:
        worst = min(against, key=lambda order: order.p_value)
        where = "" if len(orders) == 1 else f" in {len(against)} of {len(orders)} folds"
        warn(
            f"The predictions are inverted{where} (rank correlation "
            f"{worst.correlation:.3f}): higher ones go with lower targets. Check that "
            "targets mean the same where the regressor was trained as where it is "
            "calibrated.",
            InvertedScoresWarning,
        )


class IVAPRegressor(SplitOnce, VennAbersRegressor):
    """A regressor with an inductive Venn-Abers regressor on held-out rows.

    The **bounds** of an object are the value that isotonic regression gives it if its
    target is as low as possible, and if it is as high as possible. With unit weights,
    the value for its true target lies between the two and is calibrated as long as new
    cases resemble the calibration cases. They are bounds for a mean, not an interval in
    which the target lies, and they shrink to a point as data grow. If `low` or `high`
    is None, this holds for trimmed targets; see `RegressionRule`.

    Calibration rows are not used for training, which costs more accuracy than
    calibration gains: use `CVAPRegressor`, unless you need the guarantee or the model
    is already trained.

    Parameters
    ----------
    estimator : regressor, default=None
        Anything with `predict`; linear regression if None. A `FrozenEstimator` is
        prefit: nothing is trained, all rows calibrate.
    calibration : float, int or array-like, default=0.2
        Fraction or number of calibration rows, drawn at random; or a boolean mask or
        row numbers, say of the latest rows. All other rows train, in their order.
    low, high : float, default=None
        The smallest and largest possible target, if known in advance. An end that is
        None is trimmed.
    trim : int, default=1
        How many targets are trimmed at an end that is None; see `fit_regression_rule`.
    random_state : int, RandomState instance or None, default=None
        Draws the calibration rows.

    Attributes
    ----------
    estimators_ : list of one regressor
        The fitted regressor.
    rules_ : list of one RegressionRule
        Its rule.
    steps_ : list of one float
        Predictions are rounded to multiples of this before the rule is applied.

    Examples
    --------
    >>> import abers
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = abers.IVAPRegressor(random_state=0).fit(X, y)
    >>> model.predict(X[:2]).shape, model.predict_bounds(X[:2]).shape
    ((2,), (2, 2))
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        calibration: Any = 0.2,
        low: float | None = None,
        high: float | None = None,
        trim: int = 1,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.calibration = calibration
        self.low = low
        self.high = high
        self.trim = trim
        self.random_state = random_state


class CVAPRegressor(SplitIntoFolds, VennAbersRegressor):
    """A cross Venn-Abers regressor: K regressors, calibrated by their own folds.

    Every row both trains and calibrates, which makes it more accurate than
    `IVAPRegressor`; no guarantee of calibration is proven. Exactly K regressors are
    trained, and rules are built once, at fit.

    Parameters
    ----------
    estimator : regressor, default=None
        Anything with `predict`; linear regression if None.
    cv : int, splitter or iterable, default=5
        Number of folds (shuffled by `random_state`; None is 5), a scikit-learn
        splitter, or pairs (training rows, calibration rows).
    low, high : float, default=None
        The smallest and largest possible target, if known in advance. An end that is
        None is trimmed.
    trim : int, default=1
        How many targets of a fold are trimmed at an end that is None; see
        `fit_regression_rule`.
    n_jobs : int, default=None
        Number of folds to train in parallel.
    random_state : int, RandomState instance or None, default=None
        Shuffles the folds if `cv` is a number.

    Attributes
    ----------
    estimators_ : list of K regressors
        The fitted regressors.
    rules_ : list of K RegressionRule
        The rule of each fold.
    steps_ : list of K float
        A fold's predictions are rounded to multiples of this before its rule is
        applied.

    Examples
    --------
    >>> import abers
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = abers.CVAPRegressor(random_state=0).fit(X, y)
    >>> len(model.rules_), model.predict(X[:2]).shape
    (5, (2,))
    """

    stratifies = False

    def __init__(
        self,
        estimator: Any = None,
        *,
        cv: Any = 5,
        low: float | None = None,
        high: float | None = None,
        trim: int = 1,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.cv = cv
        self.low = low
        self.high = high
        self.trim = trim
        self.n_jobs = n_jobs
        self.random_state = random_state
