"""The result of a comparison: losses, and differences paired over the rows."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from abers import validation
from abers.comparison.methods import METHODS
from abers.comparison.trials import try_on_classifier, try_on_scores
from abers.errors import InvalidParameter
from abers.formatting import as_json, label_as_json, label_name, places
from abers.losses import SCORING_LOSSES, class_losses, row_losses
from abers.storage.atomic import replace_text

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import ArrayLike

    from abers.comparison.trials import Trial
    from abers.validation import FloatArray, IntArray

PLACES = 5  # of a loss or a difference, at least
LOSS_NAMES = {"log": "log loss", "brier": "Brier loss"}


@dataclass(frozen=True, slots=True)
class Difference:
    """The loss of a method minus that of another one, paired over rows.

    Attributes
    ----------
    mean : float
        Of the differences.
    standard_error : float
        Of their mean; NaN where a loss is infinite.
    """

    mean: float
    standard_error: float


@dataclass(frozen=True, slots=True)
class MethodLoss:
    """What a method costs: natural-log loss and plain Brier loss.

    Attributes
    ----------
    name : str
        The name of the method.
    log_loss : float
        Infinite if a label was observed that had probability 0.
    brier_loss : float
        Its mean over rows, as the log loss.
    log_difference, brier_difference : Difference
        From the reference.
    log_difference_from_best, brier_difference_from_best : Difference
        From the method with the smallest log loss, and the smallest Brier loss.
    """

    name: str
    log_loss: float
    brier_loss: float
    log_difference: Difference
    brier_difference: Difference
    log_difference_from_best: Difference
    brier_difference_from_best: Difference


# By one loss; the other decides between equals.
_RANKS: dict[str, Callable[[MethodLoss], tuple[float, float]]] = {
    "log": lambda method: (method.log_loss, method.brier_loss),
    "brier": lambda method: (method.brier_loss, method.log_loss),
}


@dataclass(frozen=True, slots=True)
class Ranked:
    """A method's place by one of the losses, as tables show it."""

    name: str
    loss: float
    from_reference: Difference | None  # None for the reference itself
    from_best: Difference | None  # None for the best one


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparison:
    """Losses of several methods on the same rows; printed, it is a table.

    Attributes
    ----------
    methods : tuple of MethodLoss
        The best log loss first.
    reference : str
        The method that differences are taken from.
    n_rows : int
        Number of test rows.
    n_positives : int or None
        Number of them labelled 1; None with more than two classes.
    how : str
        One sentence: what was compared on which rows.
    probabilities : dict of str to ndarray of shape (n_rows,) or (n_rows, C)
        Predictions of each method: of label 1, or of each of C classes.
    labels : ndarray of shape (n_rows,)
        0 or 1, where 1 is the positive class; places in `classes` if there are more.
    rows : ndarray of shape (n_rows,)
        The test rows of the data.
    weights : ndarray of shape (n_rows,) or None
        Their weights.
    positive : object
        The label that counts as 1, as it was given; None with more than two classes.
    classes : tuple
        The labels; the positive one of two comes last.
    """

    methods: tuple[MethodLoss, ...]
    reference: str
    n_rows: int
    n_positives: int | None
    how: str
    probabilities: dict[str, FloatArray]
    labels: IntArray
    rows: IntArray
    weights: FloatArray | None
    positive: Any = None
    classes: tuple[Any, ...] = ()

    def ranked(self, loss: str = "log") -> tuple[Ranked, ...]:
        """Rank the methods by one of the losses.

        Parameters
        ----------
        loss : {"log", "brier"}, default="log"
            Natural-log loss or plain Brier loss.

        Returns
        -------
        tuple of Ranked
            The best first, with differences from the reference and from the best.
        """
        validation.check_choice(loss, SCORING_LOSSES, "loss")
        best, *_ = ordered = sorted(self.methods, key=_RANKS[loss])
        return tuple(
            Ranked(
                method.name,
                getattr(method, f"{loss}_loss"),
                None
                if method.name == self.reference
                else getattr(method, f"{loss}_difference"),
                None
                if method is best
                else getattr(method, f"{loss}_difference_from_best"),
            )
            for method in ordered
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain types that JSON knows.

        Returns
        -------
        dict
            All but the predictions and labels of the rows. Infinity is "inf", what is
            not a number is None.
        """
        return {
            "reference": self.reference,
            "n_rows": self.n_rows,
            "n_positives": self.n_positives,
            "positive": label_as_json(self.positive),
            "classes": [label_as_json(label) for label in self.classes],
            "how": self.how,
            "best": {loss: self.ranked(loss)[0].name for loss in SCORING_LOSSES},
            "methods": as_json(self.methods),
        }

    def to_html(
        self,
        path: str | os.PathLike[str],
        title: str | None = None,
        *,
        facts: Mapping[str, object] | None = None,
    ) -> None:
        """Write one self-contained page; an existing one is replaced at once or not.

        It is dated; with SOURCE_DATE_EPOCH in the environment, by that.

        Parameters
        ----------
        path : path-like
            The page to write.
        title : str, default=None
            Its heading.
        facts : mapping, default=None
            What to list with the hashes and versions at its end, such as names of files
            and the version of the data.
        """
        from abers.report import comparison_page

        page: str = comparison_page(self, title=title, facts=facts)
        replace_text(path, page)

    def __repr__(self) -> str:
        tables = ["\n".join(_aligned(self._cells(loss))) for loss in SCORING_LOSSES]
        return "\n\n".join([self.how, *tables, self._legend()])

    def _repr_html_(self) -> str:
        tables = []
        for loss in SCORING_LOSSES:
            head, *body = self._cells(loss)
            rows = [_html_row(head, "th"), *(_html_row(row, "td") for row in body)]
            tables.append("<table>\n" + "\n".join(rows) + "\n</table>")
        return (
            f"<p>{html.escape(self.how)}</p>\n"
            + "\n".join(tables)
            + f"\n<p>{html.escape(self._legend())}</p>"
        )

    def _cells(self, loss: str) -> list[list[str]]:
        """Return the table of a loss, its head first."""
        head = ["method", LOSS_NAMES[loss], "from reference", "from best"]
        return [head] + [
            [
                method.name,
                f"{method.loss:.{PLACES}f}",
                _shown(method.from_reference, "reference"),
                _shown(method.from_best, "best"),
            ]
            for method in self.ranked(loss)
        ]

    def _legend(self) -> str:
        name = label_name(self.positive)
        rows = f"{self.n_rows:,} rows of {len(self.classes)} classes"
        if self.n_positives is not None:
            rows = f"{self.n_positives:,} of {self.n_rows:,} rows positive"
            rows += f" ({name})" if name else ""
        weighted = "" if self.weights is None else "; losses are means by weight"
        return (
            f"{rows}{weighted}. Differences are from {self.reference!r} and from the "
            "best method, paired over rows, ± one standard error."
        )


def compare(
    X: Any,
    y: ArrayLike,
    *,
    estimator: Any = None,
    test: Any = None,
    cv: Any = 5,
    methods: Iterable[str] | None = None,
    reference: str | None = None,
    sample_weight: ArrayLike | None = None,
    random_state: Any = 0,
    positive: Any = None,
) -> Comparison:
    """Compare ways to make probabilities of scores, on rows that they have not seen.

    Parameters
    ----------
    X : array-like
        Without an estimator: scores of shape (n,) or (n, 1), or the probabilities of
        two classes (n, 2), or the scores of C classes (n, C), in the order of their
        labels. With one: whatever the classifier takes.
    y : array-like of shape (n,)
        Labels of two or more classes.
    estimator : classifier, default=None
        A classifier to train; None if X is scores. A `FrozenEstimator` is prefit and
        is not trained: give rows that it has not seen.
    test : float, int or array-like, default=None
        Rows to judge: a fraction or number, drawn at random, or a boolean mask or row
        numbers, say the latest ones. None: a quarter of the rows with an estimator;
        with scores every row, by cross-validation.
    cv : int, splitter or iterable, default=5
        Number of folds (stratified, shuffled by `random_state`), a scikit-learn
        splitter, or pairs (training rows, other rows). With an estimator, it splits
        the rows that are not in `test`, and numbers of rows count those only.
    methods : iterable of str, default=None
        Names of methods, see below; all that apply if None.
    reference : str, default=None
        The method that differences are taken from; the first in the table below.
    sample_weight : array-like of shape (n,), default=None
        A row of weight w counts as w rows, in fits and in losses.
    random_state : int, RandomState instance or None, default=0
        Draws the test rows and shuffles the folds.
    positive : object, default=None
        Which of two labels counts as 1; None: the greater one. One column of scores
        is about this label.

    Returns
    -------
    Comparison
        Losses, paired differences and predictions.

    Notes
    -----
    ========================= ======================================================
    "underlying"              the scores themselves, if they are probabilities
    "Platt (probability)"     a sigmoid of the probability
    "Platt (log-odds)"        a sigmoid of its log-odds, if there are no margins
    "Platt (margin)"          a sigmoid of the margin (`decision_function`)
    "temperature"             the log-odds, or the margin, divided by a temperature
    "beta"                    beta calibration: the ends of log-odds bent apart
    "isotonic"                isotonic regression; its log loss is often infinite
    "isotonic with dummies"   with a 0 added at +inf and a 1 at -inf
    "IVAP"                    an inductive Venn-Abers predictor, merged by minimax
    "CVAP"                    a cross Venn-Abers predictor, its folds merged by minimax
    "CVAP pooled"             with one rule of all folds; needs an estimator
    ========================= ======================================================

    *Scores alone* are probabilities if all lie between 0 and 1, else margins. Each
    fold is predicted by methods fitted to the other folds. With one score column there
    is nothing to train again: "CVAP" is then a merge of rules of sub-samples, each of
    a fifth of those rows. For infinite log-odds see `calibrated`.

    *With an estimator* all methods are evaluated on the test rows. The other rows make
    K folds, one classifier is trained for each, and all of them serve "CVAP" and "CVAP
    pooled", which are `CVAPClassifier` with either `merge`; the last one, calibrated on
    the last fold, serves all other methods. One more is trained on all of them for
    "underlying": so K + 1 trainings. Platt runs on both probability and margin where
    there are both, because the scale can decide; temperature and beta run on the margin
    if there is one, else on log-odds.

    *With more than two classes* methods read the probabilities of all classes, or their
    margins if there are none: Platt, beta and isotonic regression one class against the
    rest, normalised; Platt runs on log-odds or margins. "CVAP" and "CVAP pooled" need
    an estimator. The Brier loss is the sum over classes of squared differences, as
    scikit-learn has it, so that of two classes would be twice the plain one.

    The best method is the one with the smallest loss on the test rows, for each loss
    by itself. It is chosen by the same rows, so that the differences from it flatter it
    a little: one within two standard errors may well be as good.

    The standard error of a weighted mean difference d is √(n/(n-1) Σ w²(d_i - d)²) / Σw
    over the n rows with w > 0. It is that of judging other rows: what other training
    rows would change is not in it. An infinite loss makes the difference infinite (NaN
    if both are) and its error NaN.

    Examples
    --------
    >>> from abers.comparison import compare
    >>> comparison = compare([1, 2, 1, 2], [0, 1, 0, 1], test=[2, 3], methods=["IVAP"])
    >>> comparison.probabilities["IVAP"]  # 1/2 / (1 - 0 + 1/2), 1 / (1 - 1/2 + 1)
    array([0.33333333, 0.66666667])
    >>> round(comparison.methods[0].brier_loss, 3)  # 1/9
    0.111
    """
    _chosen_reference(reference, METHODS)  # before the work
    attempt = try_on_scores
    if estimator is not None:
        attempt = partial(try_on_classifier, estimator)
    trial = attempt(
        X,
        y,
        test=test,
        cv=cv,
        methods=methods,
        sample_weight=sample_weight,
        random_state=random_state,
        positive=positive,
    )
    compared = tuple(name for name in METHODS if name in trial.probabilities)
    return _compared(trial, _chosen_reference(reference, compared))


def _chosen_reference(wanted: str | None, compared: tuple[str, ...]) -> str:
    if wanted is None:
        return compared[0]
    if wanted not in compared:
        offered = ", ".join(map(repr, compared))
        msg = f"reference must be one of the methods, {offered}; got {wanted!r}."
        raise InvalidParameter(msg)
    return wanted


def _compared(trial: Trial, reference: str) -> Comparison:
    """Compute the losses of a trial's methods and their paired differences."""
    weights = np.ones(trial.rows.size) if trial.weights is None else trial.weights
    counted = weights > 0  # 0 times infinity is no loss
    y, w = trial.labels[counted], weights[counted]
    losses = {name: _losses(y, p[counted]) for name, p in trial.probabilities.items()}
    means = {
        name: tuple(float(np.average(loss, weights=w)) for loss in both)
        for name, both in losses.items()
    }
    best_log = min(means, key=lambda name: means[name])
    best_brier = min(means, key=lambda name: means[name][::-1])
    results = [
        MethodLoss(
            name=name,
            log_loss=means[name][0],
            brier_loss=means[name][1],
            log_difference=_difference(log_loss, losses[reference][0], w),
            brier_difference=_difference(brier_loss, losses[reference][1], w),
            log_difference_from_best=_difference(log_loss, losses[best_log][0], w),
            brier_difference_from_best=_difference(
                brier_loss, losses[best_brier][1], w
            ),
        )
        for name, (log_loss, brier_loss) in losses.items()
    ]
    return Comparison(
        methods=tuple(sorted(results, key=_RANKS["log"])),
        reference=reference,
        n_rows=trial.rows.size,
        how=trial.how,
        rows=trial.rows,
        weights=trial.weights,
        **_about_the_positive_class(trial),
    )


def _about_the_positive_class(trial: Trial) -> dict[str, Any]:
    """Return labels and predictions, mirrored if the first class is the positive one.

    Losses are computed before, for 1 - p knows less of a small p.
    """
    classes, labels, p = trial.classes.tolist(), trial.labels, trial.probabilities
    if trial.mirrored:
        classes, labels = classes[::-1], 1 - labels
        p = {name: 1 - column for name, column in p.items()}
    two = len(classes) == 2
    return {
        "n_positives": int((labels == 1).sum()) if two else None,
        "probabilities": p,
        "labels": labels,
        "positive": classes[1] if two else None,
        "classes": tuple(classes),
    }


def _losses(y: IntArray, p: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the natural-log loss and the Brier loss of each row."""
    if p.ndim == 2:
        return class_losses(p, y, "log"), class_losses(p, y, "brier")
    return row_losses(p, y == 0, y == 1, "log"), row_losses(p, y == 0, y == 1, "brier")


def _difference(loss: FloatArray, other: FloatArray, w: FloatArray) -> Difference:
    if loss is other:  # the reference itself, even where it is infinite
        return Difference(0.0, 0.0)
    if not (np.isfinite(loss).all() and np.isfinite(other).all()):
        with np.errstate(invalid="ignore"):
            return Difference(float(loss.sum() - other.sum()), math.nan)
    each = loss - other
    mean = np.average(each, weights=w)
    if each.size == 1:
        return Difference(float(mean), math.nan)
    squares = (w**2 * (each - mean) ** 2).sum() * each.size / (each.size - 1)
    return Difference(float(mean), float(np.sqrt(squares) / w.sum()))


def _shown(difference: Difference | None, itself: str) -> str:
    if difference is None:
        return itself
    mean, error = difference.mean, difference.standard_error
    if math.isnan(error):
        return f"{mean:+.{places(mean, 2, least=PLACES)}f}"
    shown = places(error, 2, least=PLACES)
    return f"{mean:+.{shown}f} ± {error:.{shown}f}"


def _aligned(rows: list[list[str]]) -> list[str]:
    """Return the lines of a table, with a rule below its head."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    head, *body = rows
    return [
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in (head, ["-" * width for width in widths], *body)
    ]


def _html_row(cells: list[str], tag: str) -> str:
    first, *rest = map(html.escape, cells)
    right = "".join(f'<{tag} style="text-align:right">{cell}</{tag}>' for cell in rest)
    return f'<tr><{tag} style="text-align:left">{first}</{tag}>{right}</tr>'
