"""Classes: each of several against the rest, and which are mistaken for which."""

from __future__ import annotations

from typing import TYPE_CHECKING

from abers.errors import InvalidParameter
from abers.evaluation.classwise import confusion_of, evaluate_classes
from abers.evaluation.counts import with_weight
from abers.evaluation.predictor import predictions_of
from abers.plots import _base
from abers.plots._confusion import Confusion
from abers.plots._panels import MOST, Panel, Panels

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Self

    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from abers.choices import ThemeName


class ClassesDisplay(Panels, _base.Display):
    """Draw the reliability of each class against the rest, one panel each.

    The worst class comes first: the one with the most standard errors between its mean
    probability and the share of its rows, as in the table of `abers.evaluate`. At most
    twelve are drawn; a remark below counts the others. Each panel shows the number of
    rows of its class.

    Parameters
    ----------
    panels : sequence
        A name, a curve and a band for each class; `from_predictions` makes them.
    left_out : int, default=0
        Number of classes without a panel.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        One for each panel.
    ax_, figure_ : matplotlib Axes and Figure
        The axes that the panels replaced, and their figure.
    lines_ : list of matplotlib Line2D
        The curves.

    Examples
    --------
    >>> from abers.plots import ClassesDisplay
    >>> p = [[0.5, 0.25, 0.25], [0.5, 0.5, 0.0], [0.0, 0.25, 0.75]]
    >>> display = ClassesDisplay.from_predictions(["a", "b", "c"], p)
    >>> sorted(panel.name for panel in display.panels)
    ['a', 'b', 'c']
    >>> import matplotlib.pyplot as plt
    >>> plt.close(display.figure_)
    """

    def __init__(self, panels: Sequence[Panel], *, left_out: int = 0) -> None:
        super().__init__(panels, left_out=left_out, what="classes")

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        p: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        ax: Axes | None = None,
        theme: ThemeName = "light",
    ) -> Self:
        """Compute the curves from labels and probabilities, and draw them.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels.
        p : array-like of shape (n, C)
            Probabilities of each class.
        classes : array-like of shape (C,), default=None
            Labels of the columns; None takes those in `y`, ascending.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.
        ax : matplotlib Axes, default=None
            Axes of a grid, replaced by the panels; None creates a figure with pyplot.
        theme : {"light", "dark"}, default="light"
            Background that the colours are chosen for.

        Returns
        -------
        display
            The display, with its artists as attributes.
        """
        predictions = predictions_of(None, p, y, classes=classes, name="p")
        predictions, weights, _ = with_weight(predictions, sample_weight)
        every = evaluate_classes(predictions, weights)
        panels = [Panel(c.name, c.curve, c.consistency, c.n_rows) for c in every[:MOST]]
        return cls(panels, left_out=len(every) - len(panels)).plot(ax=ax, theme=theme)

    @staticmethod
    def confusion(
        y: ArrayLike,
        p: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        ax: Axes | None = None,
        theme: ThemeName = "light",
    ) -> Confusion:
        """Draw which classes are mistaken for which: the confusion of the top label.

        The larger the share of the rows of its class, the darker a cell is (on dark
        pages, the brighter); errors have another colour. With up to twelve classes,
        there are numbers in the cells. With more than twenty, those with the most
        errors are drawn separately and the others together: their common cell is grey,
        since it contains right and wrong rows.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels.
        p : array-like of shape (n, C)
            Probabilities of each class.
        classes : array-like of shape (C,), default=None
            Labels of the columns; None takes those in `y`, ascending.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure with pyplot.
        theme : {"light", "dark"}, default="light"
            Background that the colours are chosen for.

        Returns
        -------
        display
            The cells, with their artists as attributes.

        Examples
        --------
        >>> from abers.plots import ClassesDisplay
        >>> p = [[0.5, 0.25, 0.25], [0.5, 0.5, 0.0], [0.0, 0.25, 0.75]]
        >>> display = ClassesDisplay.confusion(["a", "b", "c"], p)
        >>> display.confusion  # "b" is taken for "a", which comes first in a tie
        array([[1, 0, 0],
               [1, 0, 0],
               [0, 0, 1]])
        >>> import matplotlib.pyplot as plt
        >>> plt.close(display.figure_)
        """
        predictions = predictions_of(None, p, y, classes=classes, name="p")
        predictions, weights, _ = with_weight(predictions, sample_weight)
        cells = confusion_of(predictions, weights)
        return Confusion(cells, predictions.classes).plot(ax=ax, theme=theme)

    @classmethod
    def _predictions(
        cls, model: Any, X: Any, y: ArrayLike, pos_label: Any
    ) -> tuple[Any, Any, dict[str, Any]]:
        """Return the probabilities of all classes."""
        if pos_label is not None:
            msg = f"pos_label must be None to draw all classes; got {pos_label!r}."
            raise InvalidParameter(msg)
        return y, model.predict_proba(X), {"classes": model.classes_}
