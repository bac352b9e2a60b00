"""Predictions: what every kind of predictor returns for some rows.

Rules, calibrators, classifiers and plain probabilities all become `Predictions`, which
evaluations, checks, plots and reports read. There is one column per class. With two
classes, results are about one of them, `pos_label`; with more, about all of them or
about the top label, the most probable class of each row.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from abers.losses import class_losses, row_losses

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from numpy.typing import NDArray

    from abers.choices import LossName
    from abers.core.diagram import Diagram
    from abers.core.guarantees import Guarantee
    from abers.core.rule import Rule
    from abers.validation import FloatArray, IntArray

TWO = 2  # classes
NO_LABELS = np.empty(0, dtype=np.int64)


class ProbabilityColumn(NamedTuple):
    """Probabilities of an event, and the rows in which it occurred."""

    labels: NDArray[np.bool_]
    probabilities: FloatArray


class FoldScores(NamedTuple):
    """The scores of one class (or of the second of two) from the model of each fold."""

    fits: tuple[Rule | Diagram | None, ...]  # of each fold's calibration rows
    scores: tuple[FloatArray, ...]  # of the predicted rows
    n_rows: float  # total weight of the calibration rows


@dataclass(frozen=True, slots=True)
class FitSource:
    """The fit behind the predictions; empty if unknown."""

    rules: tuple[Rule, ...] = ()  # of all folds and problems
    n_rows: float | None = None  # total weight of the calibration rows
    n_positives: float | None = None  # with two classes, of the second
    metadata: Mapping[str, Any] = field(default_factory=dict)
    # The rule that was applied to the scores; that of all groups if there are several.
    rule: Rule | None = None
    # It compares a class with another one, or with all others (None).
    separated: tuple[int, int | None] = (1, None)


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """Probabilities of n rows and C classes, and everything known about them.

    Attributes
    ----------
    probabilities : ndarray of shape (n, C)
        One column per class.
    classes : tuple
        The labels, in the order of the columns.
    labels : ndarray of shape (n,)
        The observed classes, as indices into `classes`; empty if unknown.
    shown : int or None
        With two classes, the column that results are about; None with more.
    bounds : ndarray of shape (n, C, 2) or None
        Lower and upper probabilities.
    before : ndarray of shape (n, C) or None
        Probabilities before calibration.
    scores : ndarray of shape (n,) or None
        The scores to which `source.rule` was applied. None for a predictor with several
        models, whose probabilities do not follow a single column of scores.
    source : FitSource
        The rules behind the predictions.
    by_fold : tuple of FoldScores
        One entry for two classes, else one per class; empty if the fit did not keep the
        distribution of its scores, or compared classes in pairs.
    guarantee : Guarantee or None
        What is proven of the bounds; None without bounds.
    loss : str
        The loss for which bounds are merged.
    """

    probabilities: FloatArray
    classes: tuple[Any, ...]
    labels: IntArray = field(default_factory=lambda: NO_LABELS)
    shown: int | None = None
    bounds: FloatArray | None = None
    before: FloatArray | None = None
    scores: FloatArray | None = None
    source: FitSource = FitSource()
    by_fold: tuple[FoldScores, ...] = ()
    guarantee: Guarantee | None = None
    loss: LossName = "log"

    @classmethod
    def of_two_classes(
        cls,
        p: FloatArray,
        classes: tuple[Any, ...] = (0, 1),
        *,
        bounds: FloatArray | None = None,
        before: FloatArray | None = None,
        **more: Any,
    ) -> Self:
        """Make predictions from columns about the second class; bounds are (n, 2)."""
        return cls(
            both_classes(p),
            classes,
            shown=1,
            bounds=None if bounds is None else bounds_of_both(bounds),
            before=None if before is None else both_classes(before),
            **more,
        )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.probabilities)

    @property
    def pos_label(self) -> Any:
        """The label that results are about; None with more than two classes."""
        return None if self.shown is None else self.classes[self.shown]

    @property
    def earlier(self) -> Predictions | None:
        """The same rows before calibration."""
        if self.before is None:
            return None
        return Predictions(self.before, self.classes, self.labels, self.shown)

    def column(self) -> ProbabilityColumn:
        """Return the class that is shown; with more than two classes, the top label."""
        if self.shown is not None:
            return self.class_column(self.shown)
        top = self.probabilities.argmax(axis=1)
        return ProbabilityColumn(
            top == self.labels, self._of_each_row(self.probabilities, top)
        )

    def class_column(self, place: int) -> ProbabilityColumn:
        """Return one class against the rest."""
        return ProbabilityColumn(self.labels == place, self.probabilities[:, place])

    def column_bounds(self) -> FloatArray | None:
        """Return the bounds of the class that is shown, or of the top label: (n, 2)."""
        if self.bounds is None or self.shown is not None:
            return None if self.bounds is None else self.bounds[:, self.shown]
        return self._of_each_row(self.bounds, self.probabilities.argmax(axis=1))

    def column_scores(self) -> FloatArray | None:
        """Return the scores, negated if the first of two classes is shown."""
        if self.scores is None or self.shown != 0:
            return self.scores
        return 0.0 - self.scores

    def column_rule(self) -> Rule | None:
        """Return the rule of the scores, mirrored for the first of two classes."""
        rule = self.source.rule
        return rule.mirrored() if rule is not None and self.shown == 0 else rule

    def row_losses(self, loss: LossName) -> FloatArray:
        """Return the loss of each row; for two classes, Brier loss is a single square.

        With more classes, squared differences are summed over them.
        """
        if self.shown is None:
            return class_losses(self.probabilities, self.labels, loss)
        labels, p = self.column()
        return row_losses(p, ~labels, labels, loss)

    def taken(self, rows: NDArray[Any]) -> Predictions:
        """Return some of the rows, by a mask or by index."""
        tables: dict[str, Any] = {
            name: None if table is None else table[rows]
            for name in ("probabilities", "bounds", "before", "scores")
            for table in (getattr(self, name),)
        }
        labels = self.labels[rows] if self.labels.size else self.labels
        by_fold = tuple(
            each._replace(scores=tuple(scores[rows] for scores in each.scores))
            for each in self.by_fold
        )
        return replace(self, labels=labels, by_fold=by_fold, **tables)

    def against_rest(self, place: int) -> Predictions:
        """Return two-class predictions of one class against the rest."""
        others = tuple(c for at, c in enumerate(self.classes) if at != place)
        return Predictions.of_two_classes(
            self.probabilities[:, place],
            (others, self.classes[place]),
            before=None if self.before is None else self.before[:, place],
            labels=(self.labels == place).astype(np.int64),
            by_fold=self.by_fold[place : place + 1],
        )

    @staticmethod
    def _of_each_row(table: FloatArray, columns: IntArray) -> FloatArray:
        chosen: FloatArray = table[np.arange(columns.size), columns]
        return chosen


def both_classes(p: FloatArray) -> FloatArray:
    """Return the probabilities of both classes: (n, 2); each column is contiguous.

    >>> both_classes(np.array([0.25, 1.0]))
    array([[0.75, 0.25],
           [0.  , 1.  ]])
    """
    return np.array([1 - p, p]).T


def bounds_of_both(bounds: FloatArray) -> FloatArray:
    """Return the bounds of both classes, (n, 2, 2), from those of the second, (n, 2).

    >>> bounds_of_both(np.array([[0.25, 0.5]]))
    array([[[0.5 , 0.75],
            [0.25, 0.5 ]]])
    """
    return np.stack((1 - bounds[:, ::-1], bounds), axis=1)
