"""Calibrators: scores in, probabilities out; no model is needed.

IVAPCalibrator and StackedCalibrator have bounds, the others do not. Platt's sigmoid and
isotonic regression are those of the paper's section 5; temperature scaling and beta
calibration came later. Temperature scaling handles many classes directly; the others
fit each class against the rest, and the results are normalised.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import narwhals as nw
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import _check_feature_names, check_is_fitted

from abers import validation
from abers.core import guarantees
from abers.core.calibrator import are_columns, plain_classes
from abers.core.class_scores import (
    ClassScores,
    of_probabilities,
    rounded_log_odds,
)
from abers.core.curve_calibrator import (
    CurveCalibrator,
    has_rounded_steps,
    temperature_logits,
    with_first,
)
from abers.core.curves import (
    best_inverse_temperature,
    fitted_beta,
    fitted_platt,
    fitted_steps,
)
from abers.core.log_odds import (
    SCORES,
    against_rest,
    finite_ends,
    kind_of,
    log_odds,
    refuse_impossible,
    symmetric_ends,
    within,
)
from abers.core.merging import LOSSES
from abers.core.multiclass import (
    MULTICLASS_OF_ONE_RULE,
    MinimaxPredictor,
    bounds_of_class,
    chosen_multiclass,
    problems_of,
    warn_of_inverted,
    with_weight,
)
from abers.core.predictions import both_classes
from abers.core.stacked import KINDS
from abers.core.stacked_fit import fit_stacked_rule
from abers.core.top import TopPredictor, top_rule_of
from abers.core.venn_abers_calibrator import VennAbersCalibrator
from abers.errors import InvalidData, InvalidParameter
from abers.estimators.cross_fit import checked_weights, warn_of_light
from abers.estimators.scoring import as_class_labels

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from abers.choices import (
        LossName,
        MulticlassOfOneRule,
        ScoreKind,
        ScoreScale,
        StackedScale,
    )
    from abers.core.calibrator import Calibrator
    from abers.core.fitted import Tags
    from abers.core.guarantees import Guarantee
    from abers.core.predictions import Predictions
    from abers.core.rule import Weight
    from abers.validation import FloatArray, IntArray

__all__ = [
    "BetaCalibrator",
    "IVAPCalibrator",
    "IsotonicCalibrator",
    "PlattCalibrator",
    "StackedCalibrator",
    "TemperatureCalibrator",
]


@dataclass(frozen=True, slots=True, eq=False)
class CalibrationScores:
    """Calibration rows: scores, labels as class numbers, weights."""

    columns: FloatArray
    labels: IntArray
    weights: FloatArray

    def counted(self) -> CalibrationScores:
        """Drop rows of weight 0."""
        kept = self.weights > 0
        return CalibrationScores(
            self.columns[kept], self.labels[kept], self.weights[kept]
        )


class ScoreCalibrator(ClassifierMixin, BaseEstimator, ABC):
    """The common part of all calibrators: fitting, prediction, and their tags."""

    _choices: ClassVar[tuple[str, ...]] = SCORES
    scores: StackedScale
    classes_: np.ndarray
    scores_kind_: ScoreKind
    n_features_in_: int
    calibrator_: Calibrator

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit to calibration scores and labels.

        Parameters
        ----------
        X : array-like of shape (n,), (n, 1), (n, 2) or (n, C)
            One score per row, for the second class, or one per class, in the order of
            `classes_`. If the columns of a frame are named like the classes, they must
            be in this order.
        y : array-like of shape (n,)
            Labels.
        sample_weight : array-like of shape (n,), default=None
            A row of weight w counts as w rows.

        Returns
        -------
        calibrator
            Itself.
        """
        self._fit(X, y, sample_weight)
        return self

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like
            Scores, as for `fit`.

        Returns
        -------
        ndarray of shape (n, C)
            Rows sum to 1.
        """
        return self._probabilities(X)

    def _sample(self, X: Any, y: ArrayLike, sample_weight: Any) -> CalibrationScores:
        """Check the calibration rows; set the classes, names and kind of scores."""
        validation.check_choice(self.scores, self._choices, "scores")
        columns = as_columns(X)
        classes, labels = encoded(y, columns.shape[1])
        refuse_reordered(X, classes)
        validation.check_length(labels.size, len(columns), "y", "scores")
        weights = checked_weights(sample_weight, labels.size)
        if weights is None:
            weights = np.ones(labels.size)
        remember_names(self, X)
        self.classes_ = classes
        self.scores_kind_ = kind_of(columns[weights > 0], self.scores)
        return CalibrationScores(columns, labels, weights)

    def _columns(self, X: ArrayLike) -> FloatArray:
        """Check new scores."""
        check_is_fitted(self)
        check_names(self, X)
        columns = as_columns(X)
        check_columns(self, columns)
        return columns

    @abstractmethod
    def _fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> None: ...

    @abstractmethod
    def _probabilities(self, X: ArrayLike) -> FloatArray: ...

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return the more probable class of each row.

        Parameters
        ----------
        X : array-like
            Scores, as for `fit`.

        Returns
        -------
        ndarray of shape (n,)
            Members of `classes_`.
        """
        most_probable = self.predict_proba(X).argmax(axis=1)
        predicted: np.ndarray = self.classes_[most_probable]
        return predicted

    def save(self, path: str | os.PathLike[str], metadata: Tags | None = None) -> None:
        """Write `calibrator_` to a file, which `abers.load` reads.

        Parameters
        ----------
        path : path-like
            Any name; the usual extension is `.abers`. An existing file is replaced
            atomically.
        metadata : mapping, default=None
            Your own tags (model, date, …).
        """
        check_is_fitted(self)
        self.calibrator_.save(path, metadata)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags


class IVAPCalibrator(ScoreCalibrator):
    """Calibrate scores with an inductive Venn-Abers predictor.

    The **bounds** are the estimated probability of the second class after adding the
    new case to the calibration data with the first class (lower) and with the second
    (upper). With two classes and unit weights, one of the two is calibrated as long as
    new cases resemble the calibration cases. They are not a confidence interval, and
    they shrink to a point as data grow.

    Parameters
    ----------
    loss : {"log", "brier"}, default="log"
        The loss for which bounds are merged into one probability.
    multiclass : {"auto", "ovo", "ovr", "top"}, default="auto"
        With more than two classes: a rule for each pair of classes, coupled ("ovo"), or
        a rule for each class against the rest, merged for all classes at once ("ovr").
        "auto" uses pairs if the two rarest classes together have enough calibration
        rows (2,000), else one class against the rest. Only "top" has a guarantee, for
        rows without weights: it predicts the frequencies of all classes among rows with
        the same top class and a similar score; see `abers.rules.fit_top_rule`.
    scores : {"auto", "probability", "margin"}, default="auto"
        What several columns of scores are. "auto" treats them as probabilities if at
        fit all lie between 0 and 1 and all rows sum to 1, give or take 0.0005 per
        column (as if rounded to three digits); else as margins. Probabilities are
        compared by their log-odds, rounded like a classifier's: equal odds stay equal,
        whatever the last bits of the columns.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
        The labels, ascending; column c of the scores belongs to `classes_[c]`.
    rules_ : list of list of Rule
        One list, with a rule for each problem (two classes: one rule). None where a
        pair of classes had no calibration data.
    multiclass_ : str
        "ovo", "ovr" or "top", as chosen at fit; two classes are one pair.
    scores_kind_ : str
        "probability" or "margin", as decided at fit.
    n_features_in_ : int
        Number of columns of scores.
    feature_names_in_ : ndarray of str
        Names of the columns, if X was a frame; frames with other names, or another
        order, are refused.

    Examples
    --------
    >>> import abers
    >>> calibrator = abers.IVAPCalibrator().fit([1, 2, 3], [0, 1, 0])
    >>> calibrator.predict_bounds([2])
    array([[0.33333333, 0.66666667]])
    >>> calibrator.predict_proba([2])
    array([[0.5, 0.5]])
    """

    rules_: list[list[Any]]  # of Rule or None, or one TopRule

    def __init__(
        self,
        *,
        loss: LossName = "log",
        multiclass: MulticlassOfOneRule = "auto",
        scores: ScoreScale = "auto",
    ) -> None:
        self.loss = loss
        self.multiclass = multiclass
        self.scores = scores

    def _fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> None:
        validation.check_choice(self.loss, LOSSES, "loss")
        validation.check_choice(self.multiclass, MULTICLASS_OF_ONE_RULE, "multiclass")
        sample = self._sample(X, y, sample_weight)
        classes, n_columns = self.classes_, sample.columns.shape[1]
        if n_columns == 1 and self.scores == "auto":
            self.scores_kind_ = "margin"  # any score that orders the rows
        sizes = np.bincount(sample.labels, minlength=len(classes))
        self.multiclass_ = chosen_multiclass(self.multiclass, sizes)
        problems = problems_of(len(classes), self.multiclass_)
        sample = sample.counted()
        weights = None if sample_weight is None else sample.weights
        warn_of_light(weights)
        scores = self._scores(sample.columns)
        samples = [p.rows(scores, sample.labels, weights) for p in problems]
        if self.multiclass_ == "top":
            rule, tests = top_rule_of(samples)
            self.rules_ = [[rule]]
        else:
            fitted = [rows.rule(keep_diagram=True) for rows in samples]
            self.rules_ = [[rule for rule, _ in fitted]]
            tests = [test for _, test in fitted]
        names = classes.tolist()
        fix = f"Put the columns in the order of the classes, {names!r}."
        if n_columns == 1:
            fix = f"Negate the scores, or pass scores of class {names[-1]!r}."
        # Last, so that the calibrator is fitted even if warnings raise.
        warn_of_inverted(problems, [tests], classes, fix)

    @property
    def calibrator_(self) -> VennAbersCalibrator:  # type: ignore[override]
        """The fitted map, for saving and production; bounds are merged by `loss`."""
        check_is_fitted(self)
        if self.multiclass_ == "top":
            msg = "multiclass='top' has no calibrator; save rules_[0][0], or fit 'ovr'."
            raise InvalidParameter(msg)
        has_one = self.n_features_in_ == 1
        return VennAbersCalibrator(
            self.rules_,
            plain_classes(self.classes_),
            reads="score" if has_one else self.scores_kind_,
            is_rounded=not has_one and self.scores_kind_ == "probability",
            multiclass=self.multiclass_,
            loss=self.loss,
            columns=column_names(self),
        )

    def _probabilities(self, X: ArrayLike) -> FloatArray:
        return self._predictor().probability([self._new_scores(X)])

    @property
    def guarantee_(self) -> Guarantee:
        """Whether one of the bounds is proven to be calibrated; if not, why."""
        check_is_fitted(self)
        is_top = self.multiclass_ == "top"
        return guarantees.VECTOR if is_top else self.calibrator_.guarantee

    def predict_bounds(
        self, X: ArrayLike, *, pos_label: Any = None, weight: Weight | None = None
    ) -> FloatArray:
        """Return lower and upper probability.

        Parameters
        ----------
        X : array-like
            Scores, as for `fit`.
        pos_label : object, default=None
            The class whose bounds to return; None is `classes_[1]` with two classes,
            and every class with more.
        weight : float, array-like of shape (n,) or tuple of two, default=None
            The weight of each new case, in the unit of `sample_weight`; None is 1. A
            tuple (w0, w1) if it depends on the class, of two. With
            known weights, the guarantee for two classes still holds;
            `abers.rules.shift_weights` estimates weights.

        Returns
        -------
        ndarray of shape (n, 2) or (n, C, 2)
            For two classes or one `pos_label`, (n, 2); for more, those of each class.
            Without a weight the probability lies between them. They are the estimates
            after adding the new case to the calibration data with label 0 and with
            label 1, not a confidence interval; with more than two classes, they are the
            smallest and largest probability of a class while each rule's estimate stays
            within its own bounds. One class against the rest with `loss="brier"` merges
            by a projection that often leaves these bounds; they are then widened to
            contain the probability.
        """
        predictor = with_weight(self._predictor(), weight)
        bounds = predictor.bounds([self._new_scores(X)])
        return bounds_of_class(bounds, self.classes_, pos_label)

    def predictions(self, X: ArrayLike) -> Predictions:
        """Return probabilities, bounds and scores.

        Parameters
        ----------
        X : array-like
            Scores, as for `fit`.

        Returns
        -------
        Predictions
            If the scores are probabilities, they are the ones before calibration.
        """
        given, predictor = self._new_scores(X), self._predictor()
        before = given.probabilities
        is_one = self.n_features_in_ == 1
        if before is None and is_one and isinstance(predictor, MinimaxPredictor):
            scores = predictor.problems[0].scored(given)
            if ((scores >= 0) & (scores <= 1)).all():
                before = both_classes(scores)
        return predictor.predictions(
            [given], self.classes_, before=before, guarantee=self.guarantee_
        )

    def _predictor(self) -> MinimaxPredictor | TopPredictor:
        check_is_fitted(self)
        if self.multiclass_ == "top":
            return TopPredictor(self.rules_[0][0], self.loss)
        count = len(self.classes_)
        problems = problems_of(count, self.multiclass_)
        return MinimaxPredictor(problems, count, self.loss, self.rules_)

    def _new_scores(self, X: ArrayLike) -> ClassScores:
        return self._scores(self._columns(X))

    def _scores(self, columns: FloatArray) -> ClassScores:
        if columns.shape[1] == 1:
            return ClassScores(columns[:, 0], are_logarithms=False, are_exact=True)
        if self.scores_kind_ == "margin":
            return ClassScores(columns, are_logarithms=False, are_exact=True)
        return of_probabilities(columns)


class Baseline(ScoreCalibrator):
    """The common part of these calibrators: checks, and the kind of scores."""

    @property
    def _is_binary(self) -> bool:
        return len(self.classes_) == 2

    def _class_scores(self, columns: FloatArray) -> list[FloatArray]:
        """Return log-odds or margins: one column for two classes, else C columns."""
        refuse_impossible(columns, self.scores_kind_)
        if self._is_binary:
            return [log_odds(columns, self.scores_kind_)]
        return against_rest(columns, self.scores_kind_)

    def _memberships(self, labels: IntArray) -> list[NDArray[np.bool_]]:
        """Return, for each column of `_class_scores`, which rows are positive."""
        if self._is_binary:
            return [labels == 1]
        return [labels == c for c in range(len(self.classes_))]

    def _set_curve(
        self,
        method: str,
        sample: CalibrationScores,
        numbers: ArrayLike = (),
        steps: Sequence[tuple[FloatArray, FloatArray]] = (),
    ) -> None:
        """Set the fitted curve."""
        takes_score = self._is_binary and method in ("platt", "isotonic")
        self.calibrator_ = CurveCalibrator(
            method,
            plain_classes(self.classes_),
            reads="score" if takes_score else self.scores_kind_,
            totals=np.bincount(
                sample.labels, sample.weights, len(self.classes_)
            ).astype(np.float64),
            is_rounded=has_rounded_steps(method, self.scores_kind_, len(self.classes_)),
            numbers=np.array(numbers, dtype=np.float64),
            steps=steps,
            columns=column_names(self),
        )

    def _probabilities(self, X: ArrayLike) -> FloatArray:
        columns = self._columns(X)
        refuse_impossible(columns, self.calibrator_.reads)
        return self.calibrator_.class_probabilities(columns)

    def _masses(self, sample: CalibrationScores) -> list[tuple[FloatArray, FloatArray]]:
        """Return, for each column of `_class_scores`, the weights of both labels."""
        return [
            (sample.weights * ~ones, sample.weights * ones)
            for ones in self._memberships(sample.labels)
        ]


class PlattCalibrator(Baseline):
    """Calibrate scores by Platt's method: the sigmoid 1 / (1 + exp(A s + B)).

    With two classes scores must be finite.

    Parameters
    ----------
    regularised : bool, default=True
        Use the targets (k_+ + 1) / (k_+ + 2) and 1 / (k_- + 2) instead of 1 and 0,
        where k_+ and k_- count the labels 1 and 0. Predictions may lie beyond the
        targets.
    scores : {"auto", "probability", "margin"}, default="auto"
        What three or more columns are; one column, or the second of two, is used
        unchanged. "auto" treats them as probabilities if at fit all rows lie between 0
        and 1 and sum to 1, give or take 0.0005 per column, else as margins.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
        The labels, ascending.
    A_, B_ : float, or ndarray of shape (C,)
        The parameters of the sigmoid; one each per class with more than two classes. A
        is not forced to be negative.
    ends_ : ndarray of shape (C, 2)
        With more than two classes, the scores that replace -inf and +inf for each
        class.
    scores_kind_ : str
        "probability" or "margin", as decided at fit.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, if X was a frame; frames with other names, or another
        order, are refused.

    Notes
    -----
    *More than two classes*: one sigmoid for each class against the rest, normalised to
    sum to 1. Probabilities are scored by their log-odds, log p_c - log(sum of the
    others), margins by the column of the class. An infinite score is replaced by the
    smallest or largest finite one seen in calibration; if fewer than two were seen, by
    one unit less or more.

    Examples
    --------
    >>> import abers
    >>> calibrator = abers.PlattCalibrator().fit([-10, 0, 1, 11], [0, 0, 1, 1])
    >>> calibrator.predict_proba([11])[0, 1].round(3)  # above 3/4, the target
    np.float64(0.761)
    """

    def __init__(
        self, *, regularised: bool = True, scores: ScoreScale = "auto"
    ) -> None:
        self.regularised = regularised
        self.scores = scores

    def _fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> None:
        regularised = validation.as_flag(self.regularised, "regularised")
        sample = self._sample(X, y, sample_weight)
        if regularised:
            # The targets add two rows of weight 1
            warn_of_light(sample.weights)
        if self._is_binary:
            scores = binary_scores(sample.columns)
            _refuse_infinite(scores)
            (masses,) = self._masses(sample)
            self.A_, self.B_ = fitted_platt(scores, *masses, regularised=regularised)
            self._set_curve("platt", sample, [self.A_, self.B_])
            return
        sample = sample.counted()
        by_class = self._class_scores(sample.columns)
        self.ends_ = np.array([finite_ends(scores) for scores in by_class])
        fitted = [
            fitted_platt(within(scores, ends), *masses, regularised=regularised)
            for scores, ends, masses in zip(
                by_class, self.ends_, self._masses(sample), strict=True
            )
        ]
        self.A_, self.B_ = np.transpose(fitted)
        self._set_curve("platt", sample, np.column_stack((fitted, self.ends_)))


class StackedCalibrator(Baseline):
    """Calibrate scores by a mixture of the model, a curve and a Venn-Abers rule.

    The most accurate calibrator, for any number of classes: `fit_stacked_rule` as a
    scikit-learn estimator. See `StackedRule` for what its bounds are.

    Parameters
    ----------
    scores : {"auto", "probability", "log-odds", "margin"}, default="auto"
        What the scores are. Log-odds of more than two classes are logits, one column
        per class, whose softmax gives the probabilities. "auto" decides at fit between
        probabilities and margins: one column is probabilities if all lie between 0 and
        1, several are if all rows also sum to 1, give or take 0.0005 per column.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
        The labels, ascending; column c of the scores belongs to `classes_[c]`.
    rule_ : StackedRule
        The fitted mixture.
    weights_ : dict of str to float
        The weight of each part of the mixture, by name.
    scores_kind_ : str
        "probability", "log-odds" or "margin", as decided at fit.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, if X was a frame; frames with other names, or another
        order, are refused.

    Examples
    --------
    >>> import abers
    >>> p, y = [0.1, 0.2, 0.3, 0.6, 0.7, 0.8], [0, 1, 0, 1, 0, 1]
    >>> calibrator = abers.StackedCalibrator().fit(p, y)
    >>> calibrator.predict_proba([0.7]).round(2)
    array([[0.37, 0.63]])
    >>> list(calibrator.weights_)
    ['model', 'beta', 'venn_abers']
    """

    _choices: ClassVar = ("auto", *KINDS)

    def __init__(self, *, scores: StackedScale = "auto") -> None:
        self.scores = scores

    def _fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> None:
        sample = self._sample(X, y, sample_weight)
        warn_of_light(sample.weights)  # a new row counts as one row
        refuse_impossible(sample.columns[sample.weights > 0], self.scores_kind_)
        self.rule_ = fit_stacked_rule(
            self._stacked_scores(sample.columns),
            sample.labels,
            kind=self._kind_of_rule(),
            sample_weight=None if sample_weight is None else sample.weights,
        )
        self.weights_ = self.rule_.weights
        reads = self.scores_kind_
        self.calibrator_ = (
            self.rule_.read_as(reads)
            .with_classes(plain_classes(self.classes_))
            .with_columns(column_names(self))
        )

    def _probabilities(self, X: ArrayLike) -> FloatArray:
        scores = self._new_scores(X)
        p = self.rule_.probability(scores)
        return both_classes(p) if self._is_binary else p

    def predict_bounds(self, X: ArrayLike, *, pos_label: Any = None) -> FloatArray:
        """Return the lower and upper bound of the probability.

        Parameters
        ----------
        X : array-like
            Scores, as for `fit`.
        pos_label : object, default=None
            The class whose bounds to return; None is `classes_[1]` with two classes,
            and every class with more.

        Returns
        -------
        ndarray of shape (n, 2) or (n, C, 2)
            For two classes or one `pos_label`, (n, 2). They contain the probability.
            Not a confidence interval.
        """
        scores = self._new_scores(X)
        return bounds_of_class(self.rule_.bounds(scores), self.classes_, pos_label)

    @property
    def guarantee_(self) -> Guarantee:
        """Whether one of the bounds is proven to be calibrated; if not, why."""
        check_is_fitted(self)
        return self.rule_.guarantee

    def _new_scores(self, X: ArrayLike) -> FloatArray:
        return self._stacked_scores(self._columns(X))

    def _stacked_scores(self, columns: FloatArray) -> FloatArray:
        """Return scores in the form of the rule: one column for two classes."""
        if not self._is_binary:
            return columns
        if columns.shape[1] == 1:
            return np.ascontiguousarray(columns[:, 0])
        kind = "probability" if self.scores_kind_ == "probability" else "margin"
        return log_odds(columns, kind)

    def _kind_of_rule(self) -> ScoreKind:
        """Return the kind of scores: two columns of probabilities become log-odds."""
        two_columns = self._is_binary and self.n_features_in_ == 2
        if two_columns and self.scores_kind_ == "probability":
            return "log-odds"
        return self.scores_kind_


class IsotonicCalibrator(Baseline):
    """Calibrate scores by isotonic regression, without bounds.

    Between two calibration scores, the value of the lower one applies; below all of
    them, the first value. Predictions of 0 and 1 are common, and with them infinite log
    loss.

    Parameters
    ----------
    dummies : bool, default=False
        Add a row labelled 0 at +inf and one labelled 1 at -inf, so that no prediction
        is 0 or 1.
    scores : {"auto", "probability", "margin"}, default="auto"
        What three or more columns are; one column, or the second of two, is used
        unchanged. "auto" treats them as probabilities if at fit all rows lie between 0
        and 1 and sum to 1, give or take 0.0005 per column, else as margins.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
        The labels, ascending.
    thresholds_, values_ : ndarray, or list of C ndarray
        The distinct calibration scores and the isotonic regression there; with more
        than two classes, one array per class.
    scores_kind_ : str
        "probability" or "margin", as decided at fit.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, if X was a frame; frames with other names, or another
        order, are refused.

    Notes
    -----
    *More than two classes*: one regression for each class against the rest, normalised
    to sum to 1; a row that is 0 for all C classes becomes 1/C. Probabilities are
    scored by their log-odds, log p_c - log(sum of the others), margins by the column
    of the class.

    Examples
    --------
    >>> import abers
    >>> calibrator = abers.IsotonicCalibrator().fit([1, 2, 3], [0, 1, 0])
    >>> calibrator.predict_proba([1, 2.5])[:, 1]
    array([0. , 0.5])
    """

    thresholds_: Any
    values_: Any

    def __init__(self, *, dummies: bool = False, scores: ScoreScale = "auto") -> None:
        self.dummies = dummies
        self.scores = scores

    def _fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> None:
        dummies = validation.as_flag(self.dummies, "dummies")
        sample = self._sample(X, y, sample_weight)
        if dummies:
            # Each dummy has weight 1
            warn_of_light(sample.weights)
        if self._is_binary:
            scores = binary_scores(sample.columns)
            self.thresholds_, self.values_ = fitted_steps(
                scores, sample.labels == 1, sample.weights, dummies=dummies
            )
            steps = [(self.thresholds_, self.values_)]
            self._set_curve("isotonic", sample, steps=steps)
            return
        sample = sample.counted()
        fitted = [
            fitted_steps(scores, ones, sample.weights, dummies=dummies)
            for scores, ones in zip(
                self._class_scores(sample.columns),
                self._memberships(sample.labels),
                strict=True,
            )
        ]
        self.thresholds_ = [thresholds for thresholds, _ in fitted]
        self.values_ = [values for _, values in fitted]
        self._set_curve("isotonic", sample, steps=fitted)

    def _class_scores(self, columns: FloatArray) -> list[FloatArray]:
        """Return rounded log-odds, so that equal odds are tied."""
        scores = super()._class_scores(columns)
        if self.scores_kind_ == "margin":
            return scores
        return [rounded_log_odds(column) for column in scores]


class BetaCalibrator(Baseline):
    """Calibrate probabilities by beta calibration: a, b >= 0 and an intercept.

    The log-odds of the calibrated probability are a ln p - b ln(1 - p) + c. With a = b
    this is Platt's sigmoid of the log-odds; different a and b bend the two ends
    differently, and a = b = 1, c = 0 leaves probabilities unchanged.

    Parameters
    ----------
    scores : {"auto", "probability", "margin"}, default="auto"
        What the scores are; a margin s means the probability 1 / (1 + exp(-s)). "auto"
        decides at fit: one column is probabilities if all lie between 0 and 1, several
        are if all rows also sum to 1, give or take 0.0005 per column; else margins.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
        The labels, ascending.
    a_, b_, c_ : float, or ndarray of shape (C,)
        The parameters; one each per class with more than two classes.
    clip_ : float
        0.1 / n for n calibration rows: probabilities are clipped to [clip_, 1 - clip_].
    scores_kind_ : str
        "probability" or "margin", as decided at fit.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, if X was a frame; frames with other names, or another
        order, are refused.

    Notes
    -----
    The method is that of M. Kull, T. M. Silva Filho and P. Flach, "Beta calibration: a
    well-founded and easily implemented improvement on logistic calibration for binary
    classifiers", AISTATS 2017: a logistic regression on ln p and -ln(1 - p), refitted
    without the feature whose coefficient is negative, if one is.

    *Ridge*. If a threshold separates the classes, there is no finite best fit, and if
    one nearly does, the fit is overconfident. So a ridge is added to the sum of the log
    losses: 0.05 times the squared distance of (a, b, c) from (1, 1, 0). It weighs less
    than one row, and makes the optimum finite and unique.

    *More than two classes*: one fit for each class against the rest, to the log-odds
    log p_c - log(sum of the others) of probabilities, or to the margin of the class,
    normalised to sum to 1.

    Examples
    --------
    Half of the rows are positive, whatever the probability: all that is left of 0.1
    and 0.9 is the pull of the ridge.

    >>> import abers
    >>> p, y = [0.1, 0.1, 0.9, 0.9] * 1000, [0, 1, 0, 1] * 1000
    >>> calibrator = abers.BetaCalibrator().fit(p, y)
    >>> calibrator.predict_proba([0.9]).round(4)
    array([[0.5, 0.5]])
    """

    def __init__(self, *, scores: ScoreScale = "auto") -> None:
        self.scores = scores

    def _fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> None:
        sample = self._sample(X, y, sample_weight)
        warn_of_light(sample.weights)  # the ridge weighs less than a row
        sample = sample.counted()
        fitted = [
            fitted_beta(scores, *masses)
            for scores, masses in zip(
                self._class_scores(sample.columns), self._masses(sample), strict=True
            )
        ]
        self.clip_ = fitted[0].clip
        if self._is_binary:
            self.a_, self.b_, self.c_ = fitted[0][:3]
        else:
            self.a_, self.b_, self.c_ = np.transpose([curve[:3] for curve in fitted])
        self._set_curve("beta", sample, fitted)


class TemperatureCalibrator(Baseline):
    """Calibrate the probabilities of any number of classes by one temperature.

    Logits (logarithms of probabilities, or margins) are divided by a temperature T, and
    softmax turns them into probabilities. T > 1 makes a model less confident, T < 1
    more; the order of the classes never changes.

    Parameters
    ----------
    scores : {"auto", "probability", "margin"}, default="auto"
        What the scores are. "auto" decides at fit: one column is probabilities if all
        lie between 0 and 1, several are if all rows also sum to 1, give or take 0.0005
        per column; else margins. A single column of margins is the logit of the second
        class; that of the first is 0.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
        The labels, ascending.
    temperature_ : float
        T; infinite if the scores are inverted, and then all classes are equally
        probable.
    inverse_temperature_ : float
        1 / T, at least 0.
    ends_ : tuple of float
        The logits that replace -inf and +inf.
    scores_kind_ : str
        "probability" or "margin", as decided at fit.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, if X was a frame; frames with other names, or another
        order, are refused.

    Notes
    -----
    The method is that of C. Guo, G. Pleiss, Y. Sun and K. Q. Weinberger, "On
    calibration of modern neural networks", ICML 2017: T minimises the log loss of the
    calibration rows. The loss is convex in 1 / T, so T follows from the root of its
    derivative, at any scale of the logits. If all logits are equal, T = 1.

    *No finite optimum*. If every row's largest logit is that of its label, the loss
    keeps falling as T goes to 0, where every prediction is 0 or 1. In that case, T is
    chosen so that the mean loss of the m rows with a smaller logit exceeds its limit by
    ln((m + 2) / (m + 1)). That is the loss of predicting (m + 1) / (m + 2), Laplace's
    rule of succession after m correct answers out of m.

    *Infinite logits*, from probabilities of exactly 0, are replaced by the smallest or
    largest finite one seen in calibration; if fewer than two were seen, by one unit
    less or more. For the log-odds of two classes, the replacement is the finite value
    furthest from 0, with the sign of the infinite one, since there is no intercept to
    correct it; if all were 0, it is 1.

    *Tiny probabilities*. An overconfident model, such as naive Bayes, gives some
    observed labels a probability of almost 0, and a few of these would determine the
    temperature of all. So probabilities below 2^-52, the spacing of doubles at 1, are
    raised to it, and log-odds stay within ±36. Margins are not clipped. (scikit-learn
    adds 1e-12 to every probability.)

    Examples
    --------
    >>> import abers
    >>> p, y = [0.9, 0.9, 0.9, 0.9], [1, 1, 1, 0]  # log-odds ln 9, to become ln 3
    >>> calibrator = abers.TemperatureCalibrator().fit(p, y)
    >>> round(calibrator.temperature_, 6), calibrator.predict_proba([0.9]).round(6)
    (2.0, array([[0.25, 0.75]]))
    """

    def __init__(self, *, scores: ScoreScale = "auto") -> None:
        self.scores = scores

    def _fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> None:
        sample = self._sample(X, y, sample_weight).counted()
        refuse_impossible(sample.columns, self.scores_kind_)
        logits = temperature_logits(
            sample.columns, self.scores_kind_, len(self.classes_)
        )
        self.ends_ = (symmetric_ends if self._is_binary else finite_ends)(logits)
        self.inverse_temperature_ = best_inverse_temperature(
            with_first(within(logits, self.ends_)), sample.labels, sample.weights
        )
        with np.errstate(divide="ignore", over="ignore"):
            self.temperature_ = float(1 / np.float64(self.inverse_temperature_))
        numbers = [self.inverse_temperature_, *self.ends_]
        self._set_curve("temperature", sample, numbers)


def _refuse_infinite(scores: FloatArray) -> None:
    if not np.isfinite(scores).all():
        row = int(np.argmin(np.isfinite(scores)))
        msg = (
            "scores must be finite for a sigmoid; "
            f"got {scores[row].item()!r} at row {row}."
        )
        raise InvalidData(msg)


# --- columns of scores ---


def as_columns(X: Any) -> FloatArray:
    """Return scores as an array (n, columns) without NaN."""
    columns = validation.as_numbers(X, "scores")
    if columns.ndim == 1:
        columns = columns[:, np.newaxis]
    if columns.ndim != 2 or columns.shape[1] == 0:
        msg = (
            "scores must have shape (n,), or (n, C) with a column a class; "
            f"got {columns.shape}."
        )
        raise InvalidData(msg)
    validation.check_scores(columns)
    return columns


def remember_names(calibrator: Any, X: Any) -> None:
    """Set `n_features_in_`, and `feature_names_in_` if X is a frame."""
    _check_feature_names(calibrator, X, reset=True)
    shape = np.shape(X)
    calibrator.n_features_in_ = shape[1] if len(shape) > 1 else 1


def column_names(calibrator: Any) -> list[str]:
    """Return the names of the columns at fit, if known and distinct."""
    names = [str(name) for name in getattr(calibrator, "feature_names_in_", ())]
    return names if are_columns(names) else []


def check_names(calibrator: Any, X: Any) -> None:
    """Raise for a frame whose names, or their order, differ from the fit."""
    _check_feature_names(calibrator, X, reset=False)
    refuse_reordered(X, calibrator.classes_)  # numbers as names pass the check above


def refuse_reordered(X: Any, classes: np.ndarray) -> None:
    """Raise if columns have the names of the classes in another order."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return
    named = {str(name): name for name in frame.columns}
    wanted = [str(label) for label in classes.tolist()]
    if list(named) != wanted and set(named) == set(wanted):
        ordered = [named[label] for label in wanted]
        msg = (
            f"the columns of scores must be in the order of the classes, {ordered!r}; "
            f"got {frame.columns!r}. Pass X[{ordered!r}]."
        )
        raise InvalidData(msg)


def check_columns(calibrator: Any, columns: FloatArray) -> None:
    """Raise if the number of columns differs from the fit."""
    if columns.shape[1] != calibrator.n_features_in_:
        wanted = calibrator.n_features_in_
        msg = (
            f"scores must have {wanted} column{'s' * (wanted != 1)} as at fit; "
            f"got {columns.shape[1]}."
        )
        raise InvalidData(msg)


def binary_scores(columns: FloatArray) -> FloatArray:
    """Return the column with scores of the second of two classes."""
    if columns.shape[1] > 2:
        msg = (
            "scores must have one column, or two of which the second counts; "
            f"got {columns.shape[1]}."
        )
        raise InvalidData(msg)
    return np.ascontiguousarray(columns[:, -1])


def encoded(y: ArrayLike, n_columns: int) -> tuple[np.ndarray, IntArray]:
    """Return the classes, and labels as class numbers."""
    labels = as_class_labels(y, "this calibrator")
    classes, encoded = np.unique(labels, return_inverse=True)
    if len(classes) == 0:
        msg = "y must not be empty; got no rows to calibrate with."
        raise InvalidData(msg)
    wanted = max(2, n_columns)
    if len(classes) < wanted:
        classes, encoded = _with_missing_classes(classes, encoded, wanted)
    if len(classes) > wanted:
        msg = (
            f"scores must have a column for each of the {len(classes)} classes in y; "
            f"got {n_columns}."
        )
        raise InvalidData(msg)
    return classes, encoded.astype(np.int64)


def _with_missing_classes(
    classes: np.ndarray, encoded: IntArray, wanted: int
) -> tuple[np.ndarray, IntArray]:
    """Add the classes that did not occur, if the labels imply them."""
    if classes.dtype.kind == "b" and wanted == 2:
        all_classes = np.array([False, True])
    elif classes.dtype.kind in "iuf" and np.isin(classes, np.arange(wanted)).all():
        all_classes = np.arange(wanted).astype(classes.dtype)
    elif classes.dtype.kind in "iuf" and wanted == 2 and classes.tolist() == [-1]:
        all_classes = np.array([-1, 1], dtype=classes.dtype)
    else:
        msg = (
            f"y must hold {wanted} classes, or labels 0 … {wanted - 1} that tell which "
            f"class is missing; got only {classes.tolist()!r} (one class or too few)."
        )
        raise InvalidData(msg)
    return all_classes, np.searchsorted(all_classes, classes)[encoded]
