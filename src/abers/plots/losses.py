"""Losses by method, with the errors of their differences."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from abers import validation
from abers.errors import InvalidParameter, InvalidType
from abers.evaluation.counts import with_weight
from abers.evaluation.predictor import predictions_of
from abers.losses import LOSS_NAMES, SCORING_LOSSES, paired_difference
from abers.plots import _base, _style
from abers.plots._style import shown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Self

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from numpy.typing import ArrayLike

    from abers.choices import LossName, ThemeName
    from abers.plots._style import Theme
    from abers.validation import FloatArray

ERRORS = 2  # half the length of a whisker, in standard errors
LONGEST = 24  # characters of a name beside the axes


@dataclass(frozen=True, slots=True)
class Loss:
    """The mean loss of a method, with the error of its difference."""

    name: str
    loss: float
    standard_error: float  # of the paired difference from the reference; NaN: unknown

    @property
    def reach(self) -> float:
        """Half the length of the whisker; 0 if there is none."""
        return ERRORS * self.standard_error if self.standard_error > 0 else 0.0


class LossesDisplay(_base.Display):
    """Draw the losses of methods, best first, with the errors of the differences.

    A whisker extends two standard errors of the paired difference from the reference
    method to each side: where it crosses the vertical line, the difference may be
    noise. An infinite loss is an arrow at the edge.

    Parameters
    ----------
    losses : sequence of Loss
        The name, loss and standard error of each method.
    reference : str
        The method that the others are compared with.
    loss : {"log", "brier"}, default="log"
        Natural-log loss or plain Brier loss.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        The axes, and their figure.
    points_, arrows_ : matplotlib Line2D
        The losses, the best at height 0, and the infinite ones.

    Examples
    --------
    >>> from abers.plots import LossesDisplay
    >>> p = {"sure": [0.0, 1.0, 0.0], "IVAP": [0.25, 0.5, 0.25]}
    >>> display = LossesDisplay.from_predictions([0, 1, 1], p)
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['IVAP', 'sure']
    >>> display.losses[0].loss  # the last row had probability 0
    inf
    >>> import matplotlib.pyplot as plt
    >>> plt.close(display.figure_)
    """

    points_: Line2D
    arrows_: Line2D

    def __init__(
        self, losses: Sequence[Loss], *, reference: str, loss: LossName = "log"
    ) -> None:
        self.losses = losses
        self.reference = reference
        self.loss = loss

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        p: Mapping[str, ArrayLike],
        *,
        reference: str | None = None,
        loss: LossName = "log",
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        pos_label: Any = None,
        ax: Axes | None = None,
        theme: ThemeName = "light",
    ) -> Self:
        """Compute the losses of several predictions of the same rows, and draw them.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels 0 or 1, or any two with `pos_label`, or those of several classes.
        p : mapping of str to array-like of shape (n,) or (n, C)
            For each method, probabilities of label 1, of `pos_label`, or of each class.
        reference : str, default=None
            The method that the others are compared with; None is the first one.
        loss : {"log", "brier"}, default="log"
            Natural-log loss or plain Brier loss.
        classes : array-like of shape (C,), default=None
            Labels of the columns; None takes those in `y`, ascending.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.
        pos_label : object, default=None
            Label to which the probabilities belong; None if labels are 0 and 1.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure with pyplot.
        theme : {"light", "dark"}, default="light"
            Background that the colours are chosen for.

        Returns
        -------
        display
            The display, with its artists as attributes.
        """
        validation.check_choice(loss, SCORING_LOSSES, "loss")
        if not isinstance(p, Mapping) or not p:
            msg = (
                "p must map the name of each method to its probabilities; got "
                f"{reprlib.repr(p)}."
            )
            raise InvalidType(msg)
        reference = next(iter(p)) if reference is None else reference
        validation.check_choice(reference, tuple(p), "reference")
        of_rows = {}
        for name, table in p.items():
            more: Any = {"pos_label": pos_label} if np.ndim(table) == 1 else {}
            predictions, weights, _ = with_weight(
                predictions_of(None, table, y, classes=classes, name=name, **more),
                sample_weight,
            )
            of_rows[name] = predictions.row_losses(loss)
        w = np.ones(of_rows[reference].size) if weights is None else weights
        losses = [
            Loss(
                name,
                float(np.average(each, weights=w)),
                paired_difference(each, of_rows[reference], w)[1],
            )
            for name, each in of_rows.items()
        ]
        return cls(losses, reference=reference, loss=loss).plot(ax=ax, theme=theme)

    @classmethod
    def _predictions(
        cls, model: Any, X: Any, y: ArrayLike, pos_label: Any
    ) -> tuple[Any, Any, dict[str, Any]]:
        """Return a classifier's probabilities, and any before calibration."""
        name = type(model).__name__
        if pos_label is not None:
            one = _base.predictions_of_class(model, X, y, pos_label)
            labels, p = one.column()
            before = None if one.earlier is None else one.earlier.column().probabilities
            return labels, _named(before, name, p), {}
        every = predictions_of(model, X, y)
        tables = _named(every.before, name, every.probabilities)
        return y, tables, {"classes": model.classes_}

    @classmethod
    def from_comparison(
        cls,
        comparison: Any,
        *,
        loss: LossName = "log",
        ax: Axes | None = None,
        theme: ThemeName = "light",
    ) -> Self:
        """Draw the losses of a comparison.

        Parameters
        ----------
        comparison : Comparison
            The result of `abers.compare`.
        loss : {"log", "brier"}, default="log"
            Natural-log loss or plain Brier loss.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure with pyplot.
        theme : {"light", "dark"}, default="light"
            Background that the colours are chosen for.

        Returns
        -------
        display
            The display, with its artists as attributes.
        """
        validation.check_choice(loss, SCORING_LOSSES, "loss")
        losses = losses_of(comparison, loss)
        display = cls(losses, reference=comparison.reference, loss=loss)
        return display.plot(ax=ax, theme=theme)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of a figure that fits all methods, in inches."""
        return _style.WIDTH, 1.4 + 0.3 * len(self.losses)

    def _check(self) -> None:
        validation.check_choice(self.loss, SCORING_LOSSES, "loss")
        if not self.losses:
            msg = "losses must not be empty; got no method to draw."
            raise InvalidParameter(msg)

    def _draw(self, ax: Axes, look: Theme) -> None:
        rows = sorted(self.losses, key=lambda row: (np.isnan(row.loss), row.loss))
        finite = [row for row in rows if np.isfinite(row.loss)]
        low, high = _limits(finite)
        ax.set(xlim=(low, high), ylim=(len(rows) - 0.5, -0.5))
        ax.set(xlabel=LOSS_NAMES[self.loss])
        ax.grid(visible=False, axis="y")
        ax.set_yticks(
            range(len(rows)), labels=[shown(row.name, LONGEST) for row in rows]
        )
        ax.tick_params(axis="y", length=0)
        if not finite:
            ax.set_xticks([])
        self._draw_whiskers(ax, look, finite)
        losses = [row.loss for row in finite]
        places, edge = range(len(rows)), [high] * (len(rows) - len(finite))
        self.points_, self.arrows_ = (
            ax.plot(x, y, marker, color=colour, markersize=7, clip_on=False)[0]
            for x, y, marker, colour in (
                (losses, places[: len(finite)], "o", look.strong),
                (edge, places[len(finite) :], ">", look.accent),
            )
        )
        for place, row in enumerate(rows):
            ax.annotate(
                _shown(row.loss),
                (1, place),
                xycoords=ax.get_yaxis_transform(),
                xytext=(10, 0),
                textcoords="offset points",
                verticalalignment="center",
                color=look.ink,
                fontsize=_style.SMALL,
            )

    def _draw_whiskers(self, ax: Axes, look: Theme, rows: Sequence[Loss]) -> None:
        """Draw the errors of the differences, and the reference method."""
        shown_at = [place for place, row in enumerate(rows) if row.standard_error > 0]
        at = [row.loss for row in rows if row.name == self.reference]
        if not at:
            note = f"no differences: the loss of {shown(self.reference)} is not finite"
            note = _style.fitted(note, _style.width_of(ax.figure))
            ax.set_title(note, loc="left", color=look.soft, fontsize=_style.SMALL)
        if not at or not shown_at:
            return
        whiskers = ax.hlines(
            shown_at,
            [rows[place].loss - rows[place].reach for place in shown_at],
            [rows[place].loss + rows[place].reach for place in shown_at],
            color=look.strong,
            linewidth=1.6,
        )
        line = ax.axvline(at[0], color=look.soft, linewidth=1, linestyle=_style.DOTTED)
        entries: list[tuple[Artist, str]] = [
            (whiskers, f"± {ERRORS} standard errors of the difference"),
            (line, f"from {shown(self.reference)}"),
        ]
        _style.legend(ax, entries, look, side="right")


def _named(
    before: FloatArray | None, name: str, after: FloatArray
) -> dict[str, FloatArray]:
    return {name: after} if before is None else {"before": before, name: after}


def losses_of(comparison: Any, loss: LossName) -> list[Loss]:
    """Return the losses of a comparison in its order."""
    return [
        Loss(
            method.name,
            getattr(method, f"{loss}_loss"),
            getattr(method, f"{loss}_difference").standard_error,
        )
        for method in comparison.methods
    ]


def _shown(loss: float) -> str:
    return "∞" if loss == np.inf else f"{loss:.5f}"


def _limits(rows: Sequence[Loss]) -> tuple[float, float]:
    """Return the limits of the axis, with margins around the whiskers."""
    if not rows:
        return 0.0, 1.0
    low = min(row.loss - row.reach for row in rows)
    high = max(row.loss + row.reach for row in rows)
    margin = 0.05 * (high - low) or 0.1 * abs(high) or 0.1
    return low - margin, high + margin
