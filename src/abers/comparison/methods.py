"""Methods: every map from scores to probabilities that is compared, by name.

A method is a calibrator with scikit-learn's API. With K models, each is calibrated on
its own fold, and the mean of the K probabilities is the prediction. A cross-predictor
combines the K models in its own way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone

from abers.core.log_odds import finite_ends, log_odds, within
from abers.errors import InvalidParameter
from abers.estimators.calibrated_classifier import CalibratedClassifier
from abers.estimators.calibrators import (
    BetaCalibrator,
    IsotonicCalibrator,
    IVAPCalibrator,
    PlattCalibrator,
    StackedCalibrator,
    TemperatureCalibrator,
)
from abers.estimators.scoring import class_scores, response_of
from abers.estimators.venn_abers_classifiers import CVAPClassifier

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from numpy.typing import NDArray

    from abers.validation import FloatArray, IntArray

# The input of a method for two classes. For more, every method gets one column per
# class.
COLUMNS = "columns"  # probabilities of both classes if there are any, else the margin
SCORE = "score"  # one column: the margin if there is one, else the log-odds
FINITE = "finite"  # the same, with infinite scores replaced


class Scores(NamedTuple):
    """Scores of some rows from one model, in each form that a method may need."""

    columns: FloatArray  # probabilities (n, C) if there are any, else margins
    kind: str  # of the columns: "probability" or "margin"
    score: FloatArray | None = None  # (n, 1), with two classes
    has_margin: bool = False  # the score is a margin, not log-odds

    @classmethod
    def of_columns(cls, columns: FloatArray, kind: str) -> Self:
        """Use columns of scores as they are: (n, 1), (n, 2) or (n, C)."""
        if columns.shape[1] > 2:
            return cls(columns, kind)
        if kind == "margin":
            return cls(columns, kind, columns, has_margin=True)
        score = log_odds(columns, kind)[:, np.newaxis]
        if columns.shape[1] == 1:
            columns = np.concatenate((1 - columns, columns), axis=1)
        return cls(columns, kind, score)

    @classmethod
    def of_model(cls, model: Any, X: Any, n_rows: int, classes: np.ndarray) -> Self:
        """Get all outputs of a fitted classifier."""
        given = class_scores(model, X, n_rows, classes, "auto")
        columns, kind = given.probabilities, "probability"
        if columns is None and hasattr(model, "predict_proba"):
            other = class_scores(model, X, n_rows, classes, "predict_proba")
            columns = other.probabilities
        if columns is None:
            columns, kind = given.values.reshape(n_rows, -1), "margin"
        if len(classes) > 2:
            return cls(columns, kind)
        score = given.of_pair(0, 1)[:, np.newaxis]  # rounded, as classifiers do
        return cls(columns, kind, score, has_margin=not given.are_logarithms)

    def offered(self) -> tuple[str, ...]:
        """Name the methods that apply to these scores."""
        return _offered(
            self.columns.shape[1] if self.score is None else 2,
            probabilities=self.kind == "probability",
            margins=self.has_margin,
            models=False,
        )

    def part(self, rows: IntArray | NDArray[np.bool_]) -> Self:
        """Return the scores of some rows."""
        score = None if self.score is None else self.score[rows]
        return self._replace(columns=self.columns[rows], score=score)


class Method(NamedTuple):
    """A way to turn scores into probabilities."""

    calibrator: Any = None  # fitted to scores; None if the method needs K models
    given: str = COLUMNS
    needs: str = ""  # the scale of scores that the method needs
    crossed: Any = None  # replaces K calibrators, if not None

    def predict(
        self, scores: Scores, labels: IntArray, weights: FloatArray | None, new: Scores
    ) -> FloatArray:
        """Fit to weighted rows of one model, and predict other rows: (m, C)."""
        if weights is not None:
            counted = weights > 0
            scores, labels = scores.part(counted), labels[counted]
            weights = weights[counted]
        columns, new_columns, kind = scores.columns, new.columns, scores.kind
        if scores.score is not None and new.score is not None and self.given != COLUMNS:
            columns, new_columns, kind = scores.score, new.score, "margin"
            if self.given == FINITE:
                ends = finite_ends(columns)
                columns, new_columns = within(columns, ends), within(new_columns, ends)
        model = clone(self.calibrator).set_params(scores=kind)
        p: FloatArray = model.fit(columns, labels, weights).predict_proba(new_columns)
        return p


class Uncalibrated(BaseEstimator):
    """Leave probabilities unchanged."""

    def __init__(self, *, scores: str = "probability") -> None:
        self.scores = scores

    def fit(self, _X: Any, _y: Any, _sample_weight: Any = None) -> Self:
        """Learn nothing."""
        return self

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """Return what was given."""
        return X


PLATT = PlattCalibrator()
METHODS = {
    "uncalibrated": Method(Uncalibrated(), needs="probabilities"),
    "Platt (probability)": Method(PLATT, needs="probability"),
    "Platt (log-odds)": Method(PLATT, FINITE, needs="log-odds"),
    "Platt (margin)": Method(PLATT, FINITE, needs="margin"),
    "temperature": Method(TemperatureCalibrator()),
    "beta": Method(BetaCalibrator()),
    "isotonic": Method(IsotonicCalibrator(), SCORE),
    "isotonic with dummies": Method(IsotonicCalibrator(dummies=True), SCORE),
    "IVAP": Method(IVAPCalibrator(), SCORE),
    "CVAP": Method(crossed=CVAPClassifier()),
    "CVAP pooled": Method(crossed=CVAPClassifier(merge="pooled")),
    "stacked": Method(StackedCalibrator(), crossed=CalibratedClassifier()),
}


def offered_with(estimator: Any, n_classes: int) -> tuple[str, ...]:
    """Name the methods that apply to K models of a classifier."""
    return _offered(
        n_classes,
        probabilities=hasattr(estimator, "predict_proba"),
        margins=response_of(estimator, "auto", n_classes) == "decision_function",
        models=True,
    )


def _offered(
    n_classes: int, *, probabilities: bool, margins: bool, models: bool
) -> tuple[str, ...]:
    """Name the methods whose scores or models are available."""
    scales = {"", "margin" if margins else "log-odds"}
    if probabilities:
        scales |= {"probabilities", "probability"}
    if n_classes > 2:  # of which probabilities are preferred, a column per class
        scales = {"", "log-odds", "probabilities"} if probabilities else {"", "margin"}
    return tuple(
        name
        for name, method in METHODS.items()
        if method.needs in scales and (models or method.calibrator is not None)
    )


def chosen(methods: Iterable[str] | None, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the methods to compare, in the order of the table; all if None."""
    if methods is None:
        return names
    wanted = (methods,) if isinstance(methods, str) else tuple(methods)
    must = f"methods must be among {', '.join(map(repr, names))}"
    for name in wanted:
        if name not in names:
            where = " here" if name in METHODS else ""
            msg = f"{must}{where}; got {name!r}."
            raise InvalidParameter(msg)
    if not wanted:
        msg = f"{must}; got none."
        raise InvalidParameter(msg)
    return tuple(name for name in names if name in wanted)
