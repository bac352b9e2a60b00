"""Predictions: what a predictor of any kind gives for some rows.

Rules, calibrators, classifiers and plain probabilities all become `Predictions`, which
evaluations, checks, plots and reports read. They have a column per class. Of two
classes one is shown, that of `pos_label`; of more, all of them, or the top label: the
most probable class of each row.
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
    """Probabilities of one event, and in which rows it occurred."""

    labels: NDArray[np.bool_]
    probabilities: FloatArray


class FoldScores(NamedTuple):
    """The scores of one class, or of the second of two, by the model of each fold."""

    fits: tuple[Rule | Diagram | None, ...]  # of the calibration rows of each fold
    scores: tuple[FloatArray, ...]  # of the rows predicted
    n_rows: float  # total weight of the calibration rows


@dataclass(frozen=True, slots=True)
class FitSource:
    """The fit that predictions come from; empty if nothing is known of it."""

    rules: tuple[Rule, ...] = ()  # those of all folds and problems
    n_rows: float | None = None  # total weight of the calibration rows
    n_positives: float | None = None  # of two classes, the second
    metadata: Mapping[str, Any] = field(default_factory=dict)
    # The rule that was given the scores; that of all groups if there are several.
    rule: Rule | None = None
    # It tells a class from another one, or from all others (None).
    separated: tuple[int, int | None] = (1, None)


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """Probabilities of n rows and C classes, and all that is known beside them.

    Attributes
    ----------
    probabilities : ndarray of shape (n, C)
        A column per class.
    classes : tuple
        The labels, in the order of the columns.
    labels : ndarray of shape (n,)
        The observed classes, by their place in `classes`; empty if unknown.
    shown : int or None
        Of two classes, the column that results are about; None with more.
    bounds : ndarray of shape (n, C, 2) or None
        Lower and upper probabilities.
    before : ndarray of shape (n, C) or None
        Probabilities before calibration.
    scores : ndarray of shape (n,) or None
        What `source.rule` was given. None for a predictor of several models, whose
        probabilities follow no single column of scores.
    source : FitSource
        The rules behind the predictions.
    by_fold : tuple of FoldScores
        Of two classes one, of more one for each class; none if the fit did not keep the
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
        """Make predictions from columns of the second class; bounds are (n, 2)."""
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
        """Return the class shown; of more than two classes, the top label."""
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
        """Return the bounds of the class shown, or of the top label: (n, 2)."""
        if self.bounds is None or self.shown is not None:
            return None if self.bounds is None else self.bounds[:, self.shown]
        return self._of_each_row(self.bounds, self.probabilities.argmax(axis=1))

    def column_scores(self) -> FloatArray | None:
        """Return the scores, negated for the first of two classes."""
        if self.scores is None or self.shown != 0:
            return self.scores
        return 0.0 - self.scores

    def column_rule(self) -> Rule | None:
        """Return the rule of the scores, mirrored for the first of two classes."""
        rule = self.source.rule
        return rule.mirrored() if rule is not None and self.shown == 0 else rule

    def row_losses(self, loss: LossName) -> FloatArray:
        """Return the loss of each row; the Brier loss of two classes is the plain one.

        With more classes squared differences are added up over them.
        """
        if self.shown is None:
            return class_losses(self.probabilities, self.labels, loss)
        labels, p = self.column()
        return row_losses(p, ~labels, labels, loss)

    def taken(self, rows: NDArray[Any]) -> Predictions:
        """Take some of the rows, by a mask or by their numbers."""
        tables: dict[str, Any] = {
            name: None if table is None else table[rows]
            for name in ("probabilities", "bounds", "before", "scores")
            for table in (getattr(self, name),)
        }
        labels = self.labels[rows] if self.labels.size else self.labels
        return replace(self, labels=labels, by_fold=(), **tables)

    def against_rest(self, place: int) -> Predictions:
        """Turn one class against the rest into predictions of two classes."""
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
