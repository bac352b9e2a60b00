"""Regression: how good predictions of a number are, on held-out rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from abers import validation
from abers.core.diagram import Diagram
from abers.core.effective_sizes import effective_size
from abers.core.group_names import rows_by_group
from abers.core.isotonic import isotonic_regression
from abers.core.regression import RegressionRule, as_targets, midpoints
from abers.errors import InvalidData, InvalidParameter, InvalidType
from abers.evaluation.discrimination import Estimate
from abers.evaluation.groups import columns_of_groups
from abers.evaluation.metrics import PairedChange, paired_change
from abers.evaluation.score_bands import edges_of
from abers.formatting import Printout, as_json
from abers.storage.atomic import replace_text

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from abers.core.guarantees import Guarantee
    from abers.validation import FloatArray, IntArray

SIDE = 1.959963984540054  # standard errors of a 95 % interval


@dataclass(frozen=True, slots=True)
class SquaredErrorParts:
    """The mean squared error as miscalibration - discrimination + uncertainty.

    Attributes
    ----------
    miscalibration : float
        What isotonic regression on these rows would save.
    discrimination : float
        What the predictions, recalibrated, save compared with the mean target.
    uncertainty : float
        The variance of the targets.
    """

    miscalibration: float
    discrimination: float
    uncertainty: float

    @property
    def skill(self) -> float:
        """R²: 1 - error / variance of the targets; NaN if these are all equal."""
        if not self.uncertainty:
            return math.nan
        return (self.discrimination - self.miscalibration) / self.uncertainty


@dataclass(frozen=True, slots=True)
class TargetBand:
    """The rows of one range of predictions, or of one group.

    Attributes
    ----------
    name : str or None
        Of a group.
    column : str or None
        Of the groups.
    start, end : float
        A band has the predictions from `start` on that are below `end`.
    n_rows : int
        Rows.
    mean_prediction, mean_prediction_before : float
        The latter is NaN if it is unknown.
    mean_target : Estimate
        The interval is the mean ± 1.96 standard errors of target minus prediction; NaN
        with one row.
    """

    name: str | None
    column: str | None
    start: float
    end: float
    n_rows: int
    mean_prediction: float
    mean_prediction_before: float
    mean_target: Estimate

    @property
    def standard_error(self) -> float:
        """Of the mean of target minus prediction; NaN with one row."""
        return (self.mean_target.upper - self.mean_target.lower) / (2 * SIDE)

    @property
    def agrees(self) -> bool:
        """Whether the mean prediction lies in the interval of the mean target."""
        return not (
            self.mean_prediction < self.mean_target.lower
            or self.mean_prediction > self.mean_target.upper
        )


@dataclass(frozen=True, slots=True, repr=False)
class RegressionEvaluation:
    """How good predictions of a number are, from `evaluate_regressor`.

    Attributes
    ----------
    name : str or None
        Name shown in the report.
    n_rows : int
        Rows that count.
    held_out : bool
        Whether the user says that no row was used for the fit.
    squared_error : PairedChange
        Mean squared error before and after calibration, paired over rows.
    parts_before, parts_after : SquaredErrorParts
        The former is None if nothing is known of the time before.
    before_is : str or None
        What the predictions before calibration are.
    overall : TargetBand
        All rows.
    bands : tuple of TargetBand
        By range of the prediction, lowest first.
    groups : tuple of TargetBand
        By group.
    mean_width : float
        Of the bounds; NaN if there are none.
    guarantee : Guarantee or None
        What is proven of the bounds.
    """

    name: str | None
    n_rows: int
    held_out: bool
    squared_error: PairedChange
    parts_before: SquaredErrorParts | None
    parts_after: SquaredErrorParts
    before_is: str | None
    overall: TargetBand
    bands: tuple[TargetBand, ...]
    groups: tuple[TargetBand, ...]
    mean_width: float
    guarantee: Guarantee | None

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as plain JSON types.

        Returns
        -------
        dict
            Nested like the attributes; NaN becomes None.
        """
        return {each.name: as_json(getattr(self, each.name)) for each in fields(self)}

    def to_html(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        facts: Mapping[str, object] | None = None,
    ) -> None:
        """Write one self-contained page; an existing one is replaced atomically.

        Parameters
        ----------
        path : path-like
            File to write.
        title : str, default=None
            Heading of the page.
        facts : mapping, default=None
            Extra facts to list at its end.
        """
        from abers.report import regression_page

        page: str = regression_page(self, title=title, facts=facts)
        replace_text(path, page)

    def to_markdown(
        self,
        *,
        title: str | None = None,
        facts: Mapping[str, object] | None = None,
    ) -> str:
        """Return the sentences and tables of the page, for a model card.

        Parameters
        ----------
        title : str, default=None
            Heading of the document.
        facts : mapping, default=None
            Facts to list at its end.

        Returns
        -------
        str
            Markdown.
        """
        from abers.report import targets_text

        return targets_text.document(self, title=title, facts=facts).markdown()

    def printout(self) -> Printout:
        """Return the printed form.

        Returns
        -------
        Printout
            The main results, and the bands.
        """
        from abers.report import targets_text

        return targets_text.printout(self)

    def __repr__(self) -> str:
        error = self.squared_error.after
        return f"RegressionEvaluation({self.n_rows} rows, squared error {error:.4g})"

    def __str__(self) -> str:
        return self.printout().text()

    def _repr_html_(self) -> str:
        return self.printout().html()


def evaluate_regressor(
    predictor: Any,
    X: Any,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    groups: Any = None,
    before: ArrayLike | None = None,
    bands: int | ArrayLike = 10,
    name: str | None = None,
    held_out: bool = False,
) -> RegressionEvaluation:
    """Evaluate predictions of a number on rows that were not used for the fit.

    Parameters
    ----------
    predictor : regressor, RegressionRule or None
        A fitted regressor, with bounds if it has `predict_bounds`; a rule; or None if
        `X` are predictions already.
    X : array-like
        Features for a regressor, scores for a rule, or predictions.
    y : array-like of shape (n,)
        Targets.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows.
    groups : array-like of shape (n,), mapping or data frame, default=None
        The group of each row; several columns have names, as for `evaluate`.
    before : array-like of shape (n,), default=None
        Predictions before calibration. By default the scores of a rule; for
        `IVAPRegressor` and `CVAPRegressor` the mean prediction of their models.
    bands : int or array-like, default=10
        How many bands of about equal size; or the predictions at which all bands but
        the first start.
    name : str, default=None
        Name shown in the report.
    held_out : bool, default=False
        Whether you know that no row was used for the fit. The report says that you said
        so.

    Returns
    -------
    RegressionEvaluation
        Results, with `to_dict`, `to_html`, `to_markdown` and a short text.

    Examples
    --------
    >>> from abers.evaluation import evaluate_regressor
    >>> found = evaluate_regressor(None, [1, 1, 3, 3], [0, 2, 4, 6], before=[2] * 4)
    >>> found.squared_error.before, found.squared_error.after  # 24 / 4, 12 / 4
    (6.0, 3.0)
    >>> found.overall.mean_prediction, found.overall.mean_target.value
    (2.0, 3.0)
    >>> found.parts_after  # recalibrated, 3 becomes 5: 8 / 4 less
    SquaredErrorParts(miscalibration=2.0, discrimination=4.0, uncertainty=5.0)
    """
    targets = _finite(y, "y")
    if not targets.size:
        msg = "y must not be empty; got no rows."
        raise InvalidData(msg)
    p, bounds = _predictions(predictor, X)
    validation.check_length(targets.size, p.size, "y", "X")
    earlier, before_is = _before(predictor, X, before, p.size)
    w = np.ones(p.size)
    if sample_weight is not None:
        w = validation.as_relative_weights(sample_weight, p.size)
    columns = {} if groups is None else columns_of_groups(groups)
    for column, names in columns.items():
        what = "groups" if column is None else f"groups[{column!r}]"
        validation.check_length(len(names), p.size, what, "y")
    rows = _Rows(targets, p, earlier, w)
    counted = np.flatnonzero(w > 0)
    # Only the counts at distinct predictions matter.
    counts = Diagram.from_rows(p[counted], np.zeros(counted.size, dtype=np.int64))
    edges = edges_of(bands, counts)
    return RegressionEvaluation(
        name=name,
        n_rows=counted.size,
        held_out=validation.as_flag(held_out, "held_out"),
        squared_error=paired_change(
            None if earlier is None else (earlier - targets)[counted] ** 2,
            (p - targets)[counted] ** 2,
            w[counted],
        ),
        parts_before=None if earlier is None else rows.parts(earlier, counted),
        parts_after=rows.parts(p, counted),
        before_is=before_is,
        overall=rows.band(counted),
        bands=tuple(rows.bands(edges, counted)),
        groups=tuple(
            rows.band(kept, name=str(group), column=column)
            for column, names in columns.items()
            for group, places in rows_by_group(names).items()
            if (kept := np.intersect1d(places, counted)).size
        ),
        mean_width=math.nan
        if bounds is None
        else float(np.average(bounds[:, 1] - bounds[:, 0], weights=w)),
        guarantee=_guarantee_of(predictor),
    )


@dataclass(frozen=True, slots=True)
class _Rows:
    """Targets, predictions after and before calibration, and weights."""

    y: FloatArray
    p: FloatArray
    earlier: FloatArray | None
    w: FloatArray

    def band(
        self,
        rows: IntArray,
        *,
        start: float = -math.inf,
        end: float = math.inf,
        name: str | None = None,
        column: str | None = None,
    ) -> TargetBand:
        """Compare the mean prediction of some rows with their mean target."""
        y, p, w = self.y[rows], self.p[rows], self.w[rows]
        residuals, n = y - p, effective_size(w)
        error = math.nan
        if n > 1:
            away = residuals - np.average(residuals, weights=w)
            error = math.sqrt(np.average(away**2, weights=w) / (n - 1))
        mean = float(np.average(y, weights=w))
        return TargetBand(
            *(name, column, start, end, rows.size),
            mean_prediction=float(np.average(p, weights=w)),
            mean_prediction_before=math.nan
            if self.earlier is None
            else float(np.average(self.earlier[rows], weights=w)),
            mean_target=Estimate(mean, mean - SIDE * error, mean + SIDE * error),
        )

    def bands(self, edges: FloatArray, counted: IntArray) -> list[TargetBand]:
        """Return the bands that have rows."""
        places = np.searchsorted(edges, self.p[counted], side="right")
        ends = [-math.inf, *edges.tolist(), math.inf]
        return [
            self.band(rows, start=start, end=end)
            for place, (start, end) in enumerate(pairwise(ends))
            if (rows := counted[places == place]).size
        ]

    def parts(self, p: FloatArray, counted: IntArray) -> SquaredErrorParts:
        """Split the mean squared error of predictions, by isotonic regression."""
        y, p, w = self.y[counted], p[counted], self.w[counted]
        least = y.min()  # isotonic regression takes nonnegative numbers
        _, at = np.unique(p, return_inverse=True)
        mass = np.bincount(at, w)
        means = np.bincount(at, w * (y - least)) / mass
        fitted = least + isotonic_regression(means, mass).values[at]
        error, best, variance = (
            float(np.average((y - each) ** 2, weights=w))
            for each in (p, fitted, np.average(y, weights=w))
        )
        return SquaredErrorParts(error - best, variance - best, variance)


def _finite(values: ArrayLike, name: str) -> FloatArray:
    """Return a column of finite numbers."""
    numbers = as_targets(values, name)
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if wrong.size:
        msg = (
            f"{name} must be finite; got {validation.shown(numbers[wrong[0]])} at row "
            f"{wrong[0]}, and {wrong.size:,} such rows in all. Drop them."
        )
        raise InvalidData(msg)
    return numbers


def _predictions(predictor: Any, X: Any) -> tuple[FloatArray, FloatArray | None]:
    """Return predictions, and bounds if there are any."""
    if predictor is None:
        return _finite(X, "X"), None
    if isinstance(predictor, RegressionRule):
        bounds = predictor.bounds(X)
        return midpoints(bounds), bounds
    if not hasattr(predictor, "predict") or hasattr(predictor, "predict_proba"):
        msg = (
            "predictor must be a fitted regressor, a RegressionRule, or None for "
            f"predictions; got {validation.shown_object(predictor)}. For classes, use "
            "abers.evaluate."
        )
        raise InvalidType(msg)
    p = validation.as_numbers(predictor.predict(X), "predictions")
    if p.ndim != 1:
        msg = f"predictor must predict one number per row; got {p.shape[1]}."
        raise InvalidParameter(msg)
    predict_bounds = getattr(predictor, "predict_bounds", None)
    return p, None if predict_bounds is None else predict_bounds(X)


def _before(
    predictor: Any, X: Any, before: ArrayLike | None, n_rows: int
) -> tuple[FloatArray | None, str | None]:
    """Return predictions before calibration, and what they are; None if unknown."""
    if before is not None:
        given = _finite(before, "before")
        validation.check_length(given.size, n_rows, "before", "y")
        return given, "the predictions given as those before"
    if isinstance(predictor, RegressionRule):
        return validation.as_scores(X), "the scores"
    models = getattr(predictor, "estimators_", None)
    if models is None or not hasattr(predictor, "predict_fold_bounds"):
        return None, None
    means = np.mean([model.predict(X) for model in models], axis=0)
    if len(models) == 1:
        return means, "the predictions of the model"
    return means, f"the mean of the predictions of {len(models)} models"


def _guarantee_of(predictor: Any) -> Guarantee | None:
    """Return the guarantee of a rule or of our regressors; None of others."""
    if isinstance(predictor, RegressionRule):
        return predictor.guarantee
    return getattr(predictor, "guarantee_", None)
