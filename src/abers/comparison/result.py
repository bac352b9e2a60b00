"""The result of a comparison: losses, and differences paired over the rows."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from abers import validation
from abers.core.predictions import Predictions
from abers.formatting import (
    MOST_PLACES,
    Table,
    as_json,
    change,
    count,
    label_as_json,
    label_name,
    number,
)
from abers.losses import LOSS_NAMES, SCORING_LOSSES, paired_difference
from abers.storage.atomic import replace_text

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    from abers.choices import LossName
    from abers.validation import FloatArray, IntArray

PLACES = 5  # of a loss or a difference, at least


@dataclass(frozen=True, slots=True)
class Difference:
    """The loss of a method minus that of another one, paired over rows.

    Attributes
    ----------
    mean : float
        Mean of the differences.
    standard_error : float
        Standard error of the mean; NaN if a loss is infinite.
    """

    mean: float
    standard_error: float


@dataclass(frozen=True, slots=True)
class MethodLoss:
    """The losses of a method: natural-log loss and plain Brier loss.

    Attributes
    ----------
    name : str
        The name of the method.
    log_loss : float
        Mean over rows; infinite if an observed label had probability 0.
    brier_loss : float
        Mean over rows.
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


# By one loss; the other breaks ties.
_RANKS: dict[str, Callable[[MethodLoss], tuple[float, float]]] = {
    "log": lambda method: (method.log_loss, method.brier_loss),
    "brier": lambda method: (method.brier_loss, method.log_loss),
}


@dataclass(frozen=True, slots=True)
class Ranked:
    """A method's rank by one of the losses, as shown in tables.

    Attributes
    ----------
    name : str
        Name of the method.
    loss : float
        Its mean loss.
    from_reference : Difference or None
        Its loss less that of the reference; None for the reference itself.
    from_best : Difference or None
        Its loss less that of the best method; None for the best one.
    """

    name: str
    loss: float
    from_reference: Difference | None
    from_best: Difference | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparison:
    """Losses of several methods on the same rows; printed as a table.

    Attributes
    ----------
    methods : tuple of MethodLoss
        Sorted by log loss, best first.
    reference : str
        The method to which others are compared.
    n_rows : int
        Number of test rows.
    n_positives : int or None
        Number of them labelled 1; None with more than two classes.
    how : str
        One sentence: what was compared on which rows.
    probabilities : dict of str to ndarray of shape (n_rows,) or (n_rows, C)
        Predictions of each method: of label 1, or of each of C classes.
    labels : ndarray of shape (n_rows,)
        0 or 1, where 1 is the positive class; indices into `classes` if there are more.
    rows : ndarray of shape (n_rows,)
        The test rows of the data.
    weights : ndarray of shape (n_rows,) or None
        Their weights.
    pos_label : object
        The label that counts as 1; None with more than two classes.
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
    pos_label: Any = None
    classes: tuple[Any, ...] = ()

    @property
    def best(self) -> str:
        """The name of the method with the smallest log loss."""
        return self.methods[0].name

    def ranked(self, loss: LossName = "log") -> tuple[Ranked, ...]:
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
        """Return the numbers as plain JSON types.

        Returns
        -------
        dict
            Everything but the predictions and labels of the rows. Infinity becomes
            "inf", NaN becomes None.
        """
        return {
            "reference": self.reference,
            "n_rows": self.n_rows,
            "n_positives": self.n_positives,
            "pos_label": label_as_json(self.pos_label),
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
        """Write one self-contained page; an existing one is replaced atomically.

        It shows today's date, or that of SOURCE_DATE_EPOCH in the environment.

        Parameters
        ----------
        path : path-like
            The page to write.
        title : str, default=None
            Its heading.
        facts : mapping, default=None
            Extra facts to list with hashes and versions at its end, such as file names
            and the version of the data.
        """
        from abers.report import comparison_page

        page: str = comparison_page(self, title=title, facts=facts)
        replace_text(path, page)

    def table(self, loss: LossName = "log", *, most_places: int = MOST_PLACES) -> Table:
        """Return a table of the methods by one of the losses, best first.

        Parameters
        ----------
        loss : {"log", "brier"}, default="log"
            Natural-log loss or plain Brier loss.
        most_places : int, default=9
            The largest number of decimal places; five are shown, or as many as the
            standard error needs.

        Returns
        -------
        Table
            One row per method.
        """
        least = min(PLACES, most_places)

        def shown(difference: Difference | None, itself: str) -> str:
            if difference is None:
                return itself
            limits = {"least": least, "most": most_places}
            return change(difference.mean, difference.standard_error, **limits)

        name = LOSS_NAMES[loss]
        return Table.of(
            self.ranked(loss),
            {
                "method": lambda method: method.name,
                name: lambda method: number(method.loss, least),
                "from reference": lambda m: shown(m.from_reference, "reference"),
                "from best": lambda method: shown(method.from_best, "best"),
            },
            caption=f"{name[0].upper()}{name[1:]} of {count(self.n_rows, 'row')}; "
            f"differences from {self.reference} and from the best method, paired over "
            "rows, ± one standard error",
        )

    def __repr__(self) -> str:
        tables = [self.table(loss).text() for loss in SCORING_LOSSES]
        return "\n\n".join([self.how, *tables, self.legend()])

    def _repr_html_(self) -> str:
        tables = [self.table(loss).html() for loss in SCORING_LOSSES]
        how, legend = (f"<p>{escape(text)}</p>" for text in (self.how, self.legend()))
        return "\n".join([how, *tables, legend])

    def legend(self) -> str:
        """Count the rows, and explain the differences.

        Returns
        -------
        str
            The text below the table.
        """
        name = label_name(self.pos_label)
        rows = f"{self.n_rows:,} rows of {len(self.classes)} classes"
        if self.n_positives is not None:
            rows = f"{self.n_positives:,} of {self.n_rows:,} rows positive"
            rows += f" ({name})" if name else ""
        weighted = "" if self.weights is None else "; losses are means by weight"
        return (
            f"{rows}{weighted}. Differences are from {self.reference!r} and from the "
            "best method, paired over rows, ± one standard error."
        )


def compared(
    probabilities: dict[str, FloatArray],
    labels: IntArray,
    weights: FloatArray | None,
    *,
    reference: str,
    how: str,
    rows: IntArray,
    classes: np.ndarray,
    mirrored: bool = False,
) -> Comparison:
    """Compare predictions (n, C) of rows with their labels.

    Labels are indices into the classes. With two classes, the last is positive, or the
    first if `mirrored`; losses are computed before mirroring, since 1 - p loses the
    digits of a small p.
    """
    names, two = tuple(classes.tolist()), len(classes) == 2
    w = np.ones(labels.size) if weights is None else weights
    counted = w > 0  # 0 times infinity is not a loss
    methods = _method_losses(
        {
            name: Predictions(
                q[counted], names, labels[counted], shown=1 if two else None
            )
            for name, q in probabilities.items()
        },
        w[counted],
        reference,
    )
    p = {name: q[:, 1] if two else q for name, q in probabilities.items()}
    if mirrored:
        names, labels = names[::-1], 1 - labels
        p = {name: 1 - column for name, column in p.items()}
    return Comparison(
        methods,
        reference,
        labels.size,
        int((labels == 1).sum()) if two else None,
        how,
        p,
        labels,
        rows,
        weights,
        names[1] if two else None,
        names,
    )


def _method_losses(
    predictions: dict[str, Predictions], w: FloatArray, reference: str
) -> tuple[MethodLoss, ...]:
    """Compute mean losses and their paired differences; best log loss first."""
    losses = {
        name: (each.row_losses("log"), each.row_losses("brier"))
        for name, each in predictions.items()
    }
    means = {
        name: (np.average(log, weights=w).item(), np.average(brier, weights=w).item())
        for name, (log, brier) in losses.items()
    }
    best_log = min(means, key=lambda name: means[name])
    best_brier = min(means, key=lambda name: means[name][::-1])
    methods = [
        MethodLoss(
            name,
            *means[name],
            _difference(log, losses[reference][0], w),
            _difference(brier, losses[reference][1], w),
            _difference(log, losses[best_log][0], w),
            _difference(brier, losses[best_brier][1], w),
        )
        for name, (log, brier) in losses.items()
    ]
    return tuple(sorted(methods, key=_RANKS["log"]))


def _difference(loss: FloatArray, other: FloatArray, w: FloatArray) -> Difference:
    if loss is other:  # the reference itself, even if its loss is infinite
        return Difference(0.0, 0.0)
    return Difference(*paired_difference(loss, other, w))
