"""Monitor: the capital of its tests."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from abers.errors import InvalidParameter
from abers.online.monitor import Monitor
from abers.plots import _base, _style

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Self

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from numpy.typing import ArrayLike

    from abers.choices import ThemeName
    from abers.plots._style import Theme
    from abers.validation import FloatArray, IntArray

LONGEST_POWER = 4  # digits of a power of ten that is written out
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
WHAT = {  # what each test is about
    "scores": "scores",
    "labels": "labels: rate of positives",
    "slope": "labels: slope",
}


class MonitorDisplay(_base.Display):
    """Draw the capital of a monitor's tests over time, on a logarithmic scale.

    A test raises the alarm where its capital reaches the dashed line.

    Parameters
    ----------
    paths : mapping
        From `Monitor.capital_paths`: for each test, rows and logarithms of its capital.
    limit : float
        The capital at which a test raises the alarm.
    alarms : mapping, default=None
        The tests that have raised it, and the row of each alarm.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        The axes, and their figure.
    lines_ : dict of matplotlib Line2D
        The capital of each test.
    limit_, alarms_ : matplotlib Line2D
        The limit, and where it was reached.

    Examples
    --------
    >>> import abers
    >>> monitor = abers.Monitor([1, 2, 3], [0, 1, 0])
    >>> _ = monitor.update([2, 3], [1, 1])
    >>> display = monitor.plot()
    >>> list(display.lines_)
    ['scores', 'labels', 'slope']
    >>> import matplotlib.pyplot as plt
    >>> plt.close(display.figure_)
    """

    size = (_style.WIDTH, 4.0)

    lines_: dict[str, Line2D]
    limit_: Line2D
    alarms_: Line2D

    def __init__(
        self,
        paths: Mapping[str, tuple[IntArray, FloatArray]],
        *,
        limit: float,
        alarms: Mapping[str, int] | None = None,
    ) -> None:
        self.paths = paths
        self.limit = limit
        self.alarms = alarms

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        p: ArrayLike,
        *,
        calibration: tuple[ArrayLike, ArrayLike],
        alpha: float = 0.01,
        random_state: int | None = 0,
        pos_label: Any = None,
        ax: Axes | None = None,
        theme: ThemeName = "light",
    ) -> Self:
        """Feed labels and probabilities to a monitor, in their order, and draw it.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels 0 or 1, or any two with `pos_label`.
        p : array-like of shape (n,)
            Probabilities of label 1, or of `pos_label`; or any scores.
        calibration : tuple of two array-like
            Labels and probabilities of the calibration rows.
        alpha : float, default=0.01
            The largest probability that there is ever a false alarm.
        random_state : int, default=0
            Seed of the tests, which break ties at random; None draws one.
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

        Examples
        --------
        >>> from abers.plots import MonitorDisplay
        >>> before = [0, 1, 0, 1], [0.25, 0.5, 0.5, 0.75]
        >>> display = MonitorDisplay.from_predictions(
        ...     [1, 1], [0.5, 0.75], calibration=before
        ... )
        >>> display.limit  # three tests share an alpha of 0.01
        300.0
        >>> import matplotlib.pyplot as plt
        >>> plt.close(display.figure_)
        """
        labels, scores = calibration
        monitor = Monitor(
            scores,
            _base.binary_labels(labels, pos_label),
            alpha=alpha,
            random_state=random_state,
        )
        monitor.update(p, _base.binary_labels(y, pos_label))
        return cls.from_monitor(monitor, ax=ax, theme=theme)

    @classmethod
    def from_estimator(  # type: ignore[override]  # it needs calibration rows
        cls,
        model: Any,
        X: Any,
        y: ArrayLike,
        *,
        calibration: tuple[Any, ArrayLike],
        pos_label: Any = None,
        **options: Any,
    ) -> Self:
        """Feed the probabilities of a fitted classifier to a monitor, and draw it.

        Parameters
        ----------
        model : classifier
            Fitted, with `predict_proba` and `classes_`.
        X : array-like
            Features, or scores, of new rows in the order in which they came.
        y : array-like of shape (n,)
            Their labels, members of `model.classes_`.
        calibration : tuple of array-like
            Features, or scores, and labels of calibration rows.
        pos_label : object, default=None
            Class whose probabilities are tested; None is `model.classes_[1]` of two.
        **options
            Options of `from_predictions`, such as `alpha`, `ax` and `theme`.

        Returns
        -------
        display
            The display, with its artists as attributes.
        """
        then, now = (
            _base.predictions_of_class(model, *rows, pos_label).column()
            for rows in (calibration, (X, y))
        )
        return cls.from_predictions(*now, calibration=then, **options)

    @classmethod
    def from_monitor(
        cls, monitor: Monitor, *, ax: Axes | None = None, theme: ThemeName = "light"
    ) -> Self:
        """Draw what a monitor has seen so far.

        Parameters
        ----------
        monitor : Monitor
            With at least one row.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure with pyplot.
        theme : {"light", "dark"}, default="light"
            Background that the colours are chosen for.

        Returns
        -------
        display
            The display, with its artists as attributes.
        """
        state = monitor.state
        display = cls(monitor.capital_paths(), limit=state.limit, alarms=state.alarms)
        return display.plot(ax=ax, theme=theme)

    def _check(self) -> None:
        if not any(rows.size for rows, _ in self.paths.values()):
            msg = "a monitor to draw must have seen rows; got none. Call update first."
            raise InvalidParameter(msg)

    def _draw(self, ax: Axes, look: Theme) -> None:
        looks = {
            "scores": (look.accent, "-"),
            "labels": (look.strong, "-"),
            "slope": (look.strong, _style.DOTTED),
        }
        limit = math.log10(self.limit)
        self.limit_ = ax.axhline(
            limit, color=look.ink, linewidth=1, linestyle=_style.DASHED
        )
        self.lines_ = {}
        highest = limit
        for test, (rows, logs) in self.paths.items():
            colour, style = looks[test]
            exponents = logs / math.log(10)
            (self.lines_[test],) = ax.plot(
                rows, exponents, color=colour, linestyle=style, linewidth=1.5
            )
            highest = max(highest, float(exponents.max(initial=limit)))
        alarms = self.alarms or {}
        (self.alarms_,) = ax.plot(
            list(alarms.values()), [limit] * len(alarms), "o", color=look.ink, zorder=3
        )
        # Capital far above the limit adds no information.
        ax.set_ylim(top=min(highest, 4 * limit) + 0.1 * limit)
        ax.set(xlabel="row of the stream", ylabel="capital")
        ax.yaxis.set_major_locator(_whole_numbers())
        ax.yaxis.set_major_formatter(_power_of_ten)
        _style.legend(ax, self._entries(), look)

    def _entries(self) -> list[tuple[Artist, str]]:
        """Return the legend entries."""
        lines: list[tuple[Artist, str]] = [
            (line, WHAT[test]) for test, line in self.lines_.items()
        ]
        return [*lines, (self.limit_, f"alarm at {self.limit:,.4g}")]


class LedgerDisplay(MonitorDisplay):
    """Draw the capital of the tests after each file of a monitor.

    Parameters
    ----------
    paths : mapping
        For each test, numbers of files (from 1) and logarithms of its capital.
    limit : float
        The capital at which a test raises the alarm.
    dates : sequence of str
        The dates of the files.
    alarms : mapping, default=None
        For each test with an alarm, the number of the file that raised it.
    began : int, default=None
        The estimated file in which the change began.
    """

    def __init__(
        self,
        paths: Mapping[str, tuple[IntArray, FloatArray]],
        *,
        limit: float,
        dates: Sequence[str],
        alarms: Mapping[str, int] | None = None,
        began: int | None = None,
    ) -> None:
        super().__init__(paths, limit=limit, alarms=alarms)
        self.dates = dates
        self.began = began

    def _draw(self, ax: Axes, look: Theme) -> None:
        if self.began is not None:
            self.began_ = ax.axvline(
                self.began, color=look.soft, linewidth=1.2, linestyle=_style.DOTTED
            )
        super()._draw(ax, look)
        for line in self.lines_.values():
            line.set_drawstyle("steps-post")  # the path within a file is not kept
        ax.set(xlabel="file, and its date", xlim=(0.9, max(2, len(self.dates)) + 0.1))
        ax.xaxis.set_major_locator(_whole_numbers(4))  # dates are wide
        ax.xaxis.set_major_formatter(self._number_and_date)

    def _entries(self) -> list[tuple[Artist, str]]:
        entries = super()._entries()
        if self.began is not None:
            entries.append((self.began_, "the change began (an estimate)"))
        return entries

    def _number_and_date(self, number: float, _: object = None) -> str:
        place = round(number)
        inside = 1 <= place <= len(self.dates)
        return f"{place:,}\n{self.dates[place - 1]}" if inside else ""


def _whole_numbers(most: int = 6) -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(nbins=most, integer=True)


def _power_of_ten(exponent: float, _: object = None) -> str:
    """Write a power of ten, without an exponent if it is short."""
    power = round(exponent)
    if abs(power) <= LONGEST_POWER:
        return f"{10.0**power:,g}" if power < 0 else f"{10**power:,}"
    return f"10{str(power).translate(SUPERSCRIPTS)}"
