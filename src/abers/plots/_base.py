"""The base of all displays: how they draw, and how they use a classifier.

A `Picture` can be drawn. A `Display`, the public kind, can also be made from labels and
probabilities, or from a classifier and rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from abers import validation
from abers.errors import InvalidParameter
from abers.evaluation.predictor import predictions_of
from abers.plots import _style

if TYPE_CHECKING:
    from typing import Self

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from abers.choices import ThemeName
    from abers.core.predictions import Predictions
    from abers.plots._style import Theme

FACT = 80  # of a value in the repr of a display


class Picture(ABC):
    """A figure to draw: on the user's axes, or on a new figure."""

    # Whether it mixes colours of its theme: then another theme must redraw it.
    mixes_colours: ClassVar[bool] = False
    ax_: Axes
    figure_: Figure

    def __repr__(self) -> str:
        given = ((k, v) for k, v in vars(self).items() if not k.endswith("_"))
        facts = [_fact(name, value) for name, value in given if value is not None]
        return f"{type(self).__name__}({', '.join(facts)})"

    @property
    @abstractmethod
    def size(self) -> tuple[float, float]:
        """Width and height of a new figure, in inches."""

    def plot(self, *, ax: Axes | None = None, theme: ThemeName = "light") -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure with pyplot.
        theme : {"light", "dark"}, default="light"
            Background for which colours are chosen.

        Returns
        -------
        display
            The display, with its artists as attributes.
        """
        look = _style.look_of(theme)
        self._check()
        with _style.ALONE:
            if ax is None:
                from matplotlib import pyplot as plt

                # Before the fonts: pyplot starts its backend with the first figure, and
                # what a notebook's backend sets then must not be undone with the fonts.
                options: Any = {"layout": "constrained", "facecolor": look.paper}
                figure = plt.figure(figsize=self.size, **options)
            with _style.drawing(theme):
                self.ax_ = axes = figure.subplots() if ax is None else ax
                self.figure_ = _style.figure_of(axes)
                _style.dress(axes, look)
                self._draw(axes, look)
        return self

    def _check(self) -> None:  # noqa: B027 (most have nothing to check)
        """Raise if it cannot be drawn, before a figure is made."""

    @abstractmethod
    def _draw(self, ax: Axes, look: Theme) -> None:
        """Draw on axes with our style."""


class Display(Picture):
    """A picture of labels and probabilities, given or from a classifier."""

    @classmethod
    @abstractmethod
    def from_predictions(cls, *columns: Any, **options: Any) -> Self:
        """Compute the display from labels and probabilities, and draw it."""

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: ArrayLike, *, pos_label: Any = None, **options: Any
    ) -> Self:
        """Draw what `from_predictions` draws, for a fitted classifier.

        Parameters
        ----------
        model : classifier
            Fitted, with `predict_proba` and `classes_`.
        X : array-like
            Features, or scores, of held-out rows.
        y : array-like of shape (n,)
            Their labels, members of `model.classes_`.
        pos_label : object, default=None
            Class whose probabilities are drawn; None is `model.classes_[1]` of two
            classes.
        **options
            Options of `from_predictions`, such as `sample_weight`, `ax` and `theme`.

        Returns
        -------
        display
            The display, with its artists as attributes.
        """
        labels, p, more = cls._predictions(model, X, y, pos_label)
        return cls.from_predictions(labels, p, **(more | options))

    @classmethod
    def _predictions(
        cls, model: Any, X: Any, y: ArrayLike, pos_label: Any
    ) -> tuple[Any, Any, dict[str, Any]]:
        """Return labels, probabilities and options for `from_predictions`."""
        labels, p = predictions_of_class(model, X, y, pos_label).column()
        return labels, p, {"name": type(model).__name__}


def predictions_of_class(
    model: Any, X: Any, y: ArrayLike, pos_label: Any
) -> Predictions:
    """Get the probabilities of one class from a fitted classifier."""
    classes = np.asarray(model.classes_)
    if pos_label is not None:
        validation.place_among(pos_label, classes, "pos_label")
    elif classes.size != 2:
        msg = (
            "model must have two classes, or pos_label be one of them; got "
            f"{classes.size} classes. Pass pos_label={classes.tolist()[0]!r}, or draw "
            "all of them by ReliabilityDisplay or ClassesDisplay."
        )
        raise InvalidParameter(msg)
    return predictions_of(model, X, y, pos_label=pos_label)


def binary_labels(y: ArrayLike, pos_label: Any) -> Any:
    """Return labels as 0 and 1; `pos_label`, if given, is 1."""
    return validation.binary_labels(y, pos_label, "y", option="pos_label")[0]


def _fact(name: str, value: Any) -> str:
    """Describe an attribute of a display: its value if short, else its size.

    >>> _fact("loss", "log"), _fact("scores", [0.5] * 100)
    ("loss='log'", '100 scores')
    """
    text = repr(value)
    if len(text) <= FACT and "\n" not in text:
        return f"{name}={text}"
    if is_dataclass(value):
        points = len(getattr(value, fields(value)[0].name))
        return f"{name}={type(value).__name__}({points} points)"
    if hasattr(value, "shape"):
        return f"{name} of shape {value.shape}"
    return f"{len(value)} {name}" if hasattr(value, "__len__") else name
