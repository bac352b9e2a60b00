"""Classes: displays of more than two classes."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from abers import validation
from abers.errors import InvalidParameter
from abers.evaluation.classwise import confusion_of, evaluate_each_class
from abers.evaluation.counts import diagram_of, scatter_of
from abers.evaluation.predictor import class_answers_of
from abers.evaluation.reliability import consistency_of, curve_of
from abers.plots import _curves, _style
from abers.plots._style import shown
from abers.plots.reliability import MOST, SPANS, Panel, PanelsDisplay

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.patches import Polygon
    from matplotlib.path import Path
    from numpy.typing import ArrayLike, NDArray

    from abers.evaluation.predictor import ClassAnswers
    from abers.evaluation.reliability import ConsistencyBand, ReliabilityCurve
    from abers.plots._style import Theme
    from abers.validation import FloatArray, IntArray

CONFIDENCE = "probability of the most probable class"
RIGHT = "share of rows of that class"

MOST_CELLS = 20  # classes of a confusion matrix that are drawn by themselves
MOST_NUMBERS = 12  # classes of one with numbers in its cells
LONGEST = 12  # characters of a class beside it
SHADES = 10
WIDEST = 40  # characters that fit below the cells, side by side
LARGE = 10_000  # numbers from here on are counted in thousands


class TopLabelDisplay(_style.AxesDisplay):
    """Draw how often the most probable of several classes is the right one.

    That is top-label calibration, also called confidence calibration: of the rows for
    which the highest probability was 0.8, eight in ten should be of that class. It says
    nothing about the other classes, for which see `ClasswiseDisplay`. The band is where
    the curve would be if the probabilities were calibrated, at each of them on its own.

    Parameters
    ----------
    curve : ReliabilityCurve
        Of the highest probability of each row, and whether it was right.
    band : ConsistencyBand, default=None
        Of `abers.reliability.consistency_band`; None draws none.
    before : ReliabilityCurve, default=None
        The same before calibration; None draws none.
    histograms : sequence of array-like, default=None
        Shares of the rows in bins of equal width from 0 to 1, of `before` if there is
        one and of `curve`, if the curves are thinned ones; None counts their weights.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        What was drawn on.
    line_, before_ : matplotlib Line2D
        The curves.
    fill_ : matplotlib Polygon
        The band, if there is one.

    Examples
    --------
    >>> from abers.plots import TopLabelDisplay
    >>> p = [[0.5, 0.25, 0.25], [0.5, 0.5, 0.0], [0.0, 0.25, 0.75]]
    >>> display = TopLabelDisplay.from_predictions(["a", "b", "c"], p)
    >>> display.line_.get_data()  # one of two is right at 0.5: "a", the first of a tie
    (array([0.5 , 0.75]), array([0.5, 1. ]))
    >>> import matplotlib.pyplot as plt
    >>> plt.close(display.figure_)
    """

    size = (_style.WIDTH, 4.8)

    line_: Line2D
    before_: Line2D
    fill_: Polygon

    def __init__(
        self,
        curve: ReliabilityCurve,
        band: ConsistencyBand | None = None,
        *,
        before: ReliabilityCurve | None = None,
        histograms: Sequence[ArrayLike] | None = None,
    ) -> None:
        self.curve = curve
        self.band = band
        self.before = before
        self.histograms = histograms

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        p: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        before: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        confidence: float | None = 0.9,
        ax: Axes | None = None,
        theme: str = "light",
    ) -> Self:
        """Compute the curve of labels and probabilities, and draw it.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels.
        p : array-like of shape (n, C)
            Probabilities of each class.
        classes : array-like of shape (C,), default=None
            Labels of the columns; None takes those in `y`, ascending.
        before : array-like of shape (n, C), default=None
            Probabilities before calibration.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.
        confidence : float, default=0.9
            Confidence level of the band; None draws no band.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure with pyplot.
        theme : {"light", "dark"}, default="light"
            Background that the colours are chosen for.

        Returns
        -------
        display
            The display, with its artists as attributes.
        """
        answers = class_answers_of(
            None, p, y, classes=classes, before=before, counted=None, name="p"
        )
        display = cls._of_answers(answers, sample_weight, confidence)
        return display.plot(ax=ax, theme=theme)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: ArrayLike,
        *,
        before: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        confidence: float | None = 0.9,
        ax: Axes | None = None,
        theme: str = "light",
    ) -> Self:
        """Ask a fitted classifier, and draw how often its prediction is right.

        Parameters
        ----------
        model : classifier
            Fitted, with `predict_proba` and `classes_`.
        X : array-like
            Features, or scores, of held-out rows.
        y : array-like of shape (n,)
            Their labels, members of `model.classes_`.
        before : array-like of shape (n, C), default=None
            Probabilities before calibration; our classifiers tell their own.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.
        confidence : float, default=0.9
            Confidence level of the band; None draws no band.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure with pyplot.
        theme : {"light", "dark"}, default="light"
            Background that the colours are chosen for.

        Returns
        -------
        display
            The display, with its artists as attributes.
        """
        answers = class_answers_of(
            model, X, y, classes=None, before=before, counted=None
        )
        display = cls._of_answers(answers, sample_weight, confidence)
        return display.plot(ax=ax, theme=theme)

    @classmethod
    def _of_answers(
        cls,
        answers: ClassAnswers,
        weights: ArrayLike | None,
        confidence: float | None,
    ) -> Self:
        tables = [t for t in (answers.before, answers.probabilities) if t is not None]
        diagrams = [
            diagram_of(t.argmax(axis=1) == answers.labels, t.max(axis=1), weights)
            for t in tables
        ]
        band = None
        if confidence is not None:
            highest = answers.probabilities.max(axis=1)
            scatter = scatter_of(diagrams[-1], highest, weights)
            band = consistency_of(diagrams[-1], scatter=scatter, confidence=confidence)
        *before, after = map(curve_of, diagrams)
        return cls(after, band, before=before[0] if before else None)

    def _draw(self, ax: Axes, look: Theme) -> None:
        curves = [c for c in (self.before, self.curve) if c is not None]
        heights: list[FloatArray | None] = [None] * len(curves)
        if self.histograms is not None:
            heights = [np.asarray(bins) for bins in self.histograms]
        limit = _curves.limit_of(curves, heights)
        diagonal = _curves.frame(ax, look, limit)
        ax.set(xlabel=CONFIDENCE, ylabel=RIGHT)
        entries: list[tuple[Artist, str]] = []
        if self.band is not None:
            self.fill_ = _curves.draw_band(ax, look, self.band, limit=limit)
            share = f"{self.band.confidence:.0%} of curves, if calibrated"
            entries.append((self.fill_, share))
        whole = ((_curves.BOTTOM, _curves.TOP),)
        spans = whole if self.before is None else SPANS
        for place, curve in enumerate(curves):
            after = curve is self.curve
            colour = look.strong if after else look.accent
            strip = look.bars if self.before is None else colour
            _curves.histogram(
                ax, strip, curve, heights[place], limit=limit, span=spans[place]
            )
            dashes = "-" if after else _style.DASHED
            line = _curves.draw_curve(ax, colour, curve, limit=limit, linestyle=dashes)
            name = RIGHT if self.before is None else "after" if after else "before"
            entries.insert(place, (line, name))
            if after:
                self.line_ = line
            else:
                self.before_ = line
        entries.append((diagonal, "calibrated"))
        _style.legend(ax, entries, look, **_curves.free_corner(curves, limit))


class _OfClasses(_style.Display):
    """A display of all classes, and of nothing but labels and probabilities."""

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        p: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        ax: Axes | None = None,
        theme: str = "light",
    ) -> Self:
        """Compute what is drawn of labels and probabilities, and draw it.

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
            As `plot` takes them; None makes a new figure by pyplot.
        theme : {"light", "dark"}, default="light"
            Background that the colours are chosen for.

        Returns
        -------
        display
            The display, with its artists as attributes.
        """
        answers = class_answers_of(
            None, p, y, classes=classes, before=None, counted=None, name="p"
        )
        return cls._of_answers(answers, sample_weight).plot(ax=ax, theme=theme)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        ax: Axes | None = None,
        theme: str = "light",
    ) -> Self:
        """Ask a fitted classifier, and draw what it says of all classes.

        Parameters
        ----------
        model : classifier
            Fitted, with `predict_proba` and `classes_`.
        X : array-like
            Features, or scores, of held-out rows.
        y : array-like of shape (n,)
            Their labels, members of `model.classes_`.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.
        ax : matplotlib Axes, default=None
            As `plot` takes them; None makes a new figure by pyplot.
        theme : {"light", "dark"}, default="light"
            Background that the colours are chosen for.

        Returns
        -------
        display
            The display, with its artists as attributes.
        """
        answers = class_answers_of(model, X, y, classes=None, before=None, counted=None)
        return cls._of_answers(answers, sample_weight).plot(ax=ax, theme=theme)

    @classmethod
    @abstractmethod
    def _of_answers(cls, answers: ClassAnswers, weights: ArrayLike | None) -> Self:
        """Compute what is drawn."""


class ClasswiseDisplay(_OfClasses, PanelsDisplay):
    """Draw the reliability of each class against the rest, in a panel of its own.

    At most twelve classes are drawn, in the given order; how many are left out stands
    below. A panel names the rows of its class. `from_predictions` and `from_estimator`
    put the worst first: most standard errors between the mean probability of a class
    and the share of its rows, as in the table of `abers.evaluate`.

    Parameters
    ----------
    panels : sequence of Panel
        A name, a curve and a band each.
    left_out : int, default=0
        Classes that are not among the panels.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        One for each class that is drawn.
    figure_ : matplotlib Figure
        Their figure.
    lines_ : list of matplotlib Line2D
        The curves.

    Examples
    --------
    >>> from abers.plots import ClasswiseDisplay
    >>> p = [[0.5, 0.25, 0.25], [0.5, 0.5, 0.0], [0.0, 0.25, 0.75]]
    >>> display = ClasswiseDisplay.from_predictions(["a", "b", "c"], p)
    >>> sorted(panel.name for panel in display.panels)
    ['a', 'b', 'c']
    >>> import matplotlib.pyplot as plt
    >>> plt.close(display.figure_)
    """

    what = ("class", "classes")

    @classmethod
    def _of_answers(cls, answers: ClassAnswers, weights: ArrayLike | None) -> Self:
        w = None
        if weights is not None:
            w = validation.as_weights(weights, answers.labels.size, other="labels")
            validation.check_total(w, "sample_weight")
            answers, w = answers.taken(w > 0), w[w > 0]
        found = evaluate_each_class(
            answers, w, confusion_of(answers.labels, answers.probabilities, w)
        )
        panels = [Panel(c.name, c.curve, c.consistency, c.n_rows) for c in found[:MOST]]
        return cls(panels, left_out=len(found) - len(panels))


class ConfusionDisplay(_OfClasses, _style.AxesDisplay):
    """Draw which classes are taken for which: the confusion of the most probable class.

    A cell is the darker, the larger its share of the rows of its class (on dark pages,
    the brighter); errors have the other colour. Up to twelve classes there are numbers
    in the cells. Of more than twenty classes, those with the most errors are drawn, and
    the others together: their common cell is grey, for it holds right and wrong ones.

    Parameters
    ----------
    confusion : array-like of shape (C, C)
        Rows of each class (row) by the most probable class (column).
    classes : sequence
        The labels.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        What was drawn on.
    shown_ : ndarray
        The numbers of the cells that were drawn.
    names_ : list of str
        What their classes are called.

    Examples
    --------
    >>> from abers.plots import ConfusionDisplay
    >>> p = [[0.5, 0.25, 0.25], [0.5, 0.5, 0.0], [0.0, 0.25, 0.75]]
    >>> display = ConfusionDisplay.from_predictions(["a", "b", "c"], p)
    >>> display.confusion  # "b" is taken for "a", which comes first in a tie
    array([[1, 0, 0],
           [1, 0, 0],
           [0, 0, 1]])
    >>> import matplotlib.pyplot as plt
    >>> plt.close(display.figure_)
    """

    size = (_style.WIDTH, 5.4)

    mixes_colours = True
    shown_: FloatArray
    names_: list[str]

    def __init__(self, confusion: ArrayLike, classes: Sequence[Any]) -> None:
        self.confusion = confusion
        self.classes = classes

    @classmethod
    def _of_answers(cls, answers: ClassAnswers, weights: ArrayLike | None) -> Self:
        w = None
        if weights is not None:
            w = validation.as_weights(weights, answers.labels.size, other="labels")
        return cls(
            confusion_of(answers.labels, answers.probabilities, w), answers.classes
        )

    def _check(self) -> None:
        shape, count = np.shape(self.confusion), len(self.classes)
        if shape != (count, count) or not count:
            msg = (
                "confusion must have a row and a column for each class; got shape "
                f"{shape} and {count} classes."
            )
            raise InvalidParameter(msg)

    def _draw(self, ax: Axes, look: Theme) -> None:
        cells = np.asarray(self.confusion, dtype=np.float64)
        names = [shown(name, LONGEST) for name in self.classes]
        self.shown_, self.names_ = _largest_errors(cells, names)
        count = len(self.names_)
        colours = _colours(look, self.shown_, pooled=count < len(names))
        _fill_cells(ax, self.shown_, colours)
        if count <= MOST_NUMBERS:
            _write_numbers(ax, look, self.shown_, colours)
        turned = count * max(map(len, self.names_)) > WIDEST
        ax.set_xticks(range(count), self.names_, rotation=90 if turned else 0)
        ax.set_yticks(range(count), self.names_)
        ax.grid(visible=False)
        ax.tick_params(length=0)
        ax.set(
            xlim=(-0.5, count - 0.5),
            ylim=(count - 0.5, -0.5),
            aspect="equal",
            xlabel="most probable class",
            ylabel="class",
        )


def _largest_errors(
    cells: FloatArray, names: list[str]
) -> tuple[FloatArray, list[str]]:
    """Keep the classes with the most errors, and add up all others."""
    count = len(names)
    if count <= MOST_CELLS:
        return cells, names
    errors = cells.sum(axis=0) + cells.sum(axis=1) - 2 * cells.diagonal()
    kept = np.sort(np.argsort(-errors, kind="stable")[: MOST_CELLS - 1])
    place = np.full(count, MOST_CELLS - 1)
    place[kept] = np.arange(MOST_CELLS - 1)
    smaller = np.zeros((MOST_CELLS, MOST_CELLS))
    np.add.at(smaller, (place[:, np.newaxis], place), cells)
    rest = f"{count - MOST_CELLS + 1} others"
    return smaller, [*(names[c] for c in kept), rest]


def _colours(look: Theme, cells: FloatArray, *, pooled: bool) -> NDArray[np.str_]:
    """Return the colour of each cell, by its share of the rows of its class.

    The last class may be several, pooled: their common cell has right and wrong ones.
    """
    sums = cells.sum(axis=1, keepdims=True)
    shares = np.divide(cells, sums, out=np.zeros_like(cells), where=sums > 0)
    # A root, for errors are rare; in steps, since each colour is one path.
    shades = np.ceil(np.sqrt(shares) * SHADES).astype(np.int64)
    steps = range(SHADES + 1)
    right, wrong, either = (
        np.array([_mixed(look.paper, colour, step / SHADES) for step in steps])
        for colour in (look.strong, look.accent, look.bars)
    )
    diagonal = np.eye(len(cells), dtype=np.bool_)
    colours: NDArray[np.str_] = np.where(diagonal, right[shades], wrong[shades])
    if pooled:
        colours[-1, -1] = either[shades[-1, -1]]
    return colours


def _fill_cells(ax: Axes, cells: FloatArray, colours: NDArray[np.str_]) -> None:
    """Fill all cells of one colour at once, so that pictures stay small."""
    from matplotlib.patches import PathPatch

    for colour in np.unique(colours[cells > 0]).tolist():
        rows, columns = np.nonzero((colours == colour) & (cells > 0))
        path = _squares(columns, rows)
        ax.add_patch(PathPatch(path, facecolor=colour, linewidth=0))


def _squares(x: IntArray, y: IntArray) -> Path:
    """Return one path of squares around these points, with a gap between them."""
    from matplotlib.path import Path

    half = 0.47
    corners = half * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]])
    points = np.stack((x, y), axis=1)[:, np.newaxis] + corners
    codes = [Path.MOVETO, *[Path.LINETO] * 3, Path.CLOSEPOLY]
    return Path(points.reshape(-1, 2), codes * x.size)


def _write_numbers(
    ax: Axes, look: Theme, cells: FloatArray, colours: NDArray[np.str_]
) -> None:
    """Write the number of each cell that has one, in the colour read best on it."""
    inks = {_luminance(colour): colour for colour in (look.ink, look.paper)}
    for row, column in np.argwhere(cells > 0).tolist():
        behind = _luminance(str(colours[row, column]))
        best = max(inks, key=lambda ink: abs(math.log((ink + 0.05) / (behind + 0.05))))
        ax.text(
            column,
            row,
            _short(cells[row, column]),
            ha="center",
            va="center",
            color=inks[best],
            fontsize=_style.SMALL,
        )


def _short(number: float) -> str:
    """Write a number in few characters.

    >>> _short(12.0), _short(0.251), _short(123456.0)
    ('12', '0.251', '123k')
    """
    if number >= LARGE:
        return f"{number / 1_000:.3g}k"
    return f"{number:.0f}" if number == round(number) else f"{number:.3g}"


def _mixed(paper: str, colour: str, share: float) -> str:
    """Mix a colour into the paper, so that nothing is transparent.

    >>> _mixed("#ffffff", "#000000", 0.5)
    '#808080'
    """
    parts = [
        round((1 - share) * old + share * new)
        for old, new in zip(_parts(paper), _parts(colour), strict=True)
    ]
    return "#" + "".join(f"{part:02x}" for part in parts)


def _luminance(colour: str) -> float:
    """Return the relative luminance of a colour, as WCAG has it but with one power.

    >>> _luminance("#ffffff"), _luminance("#000000")
    (1.0, 0.0)
    """
    red, green, blue = (math.pow(part / 255, 2.2) for part in _parts(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _parts(colour: str) -> list[int]:
    return [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
