"""The rule over the score: its bounds, and the band that the whole curve lies in.

Infinite scores have places of their own, beside the axis of the finite ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from abers import validation
from abers.core import merging
from abers.core.fit import fit_rule
from abers.core.rule import Rule
from abers.errors import InvalidParameter
from abers.evaluation.bands import CalibrationBand, band_of_rows
from abers.plots import _curves, _style
from abers.validation import as_probabilities

if TYPE_CHECKING:
    from typing import Any, Self

    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.patches import Polygon
    from numpy.typing import ArrayLike

    from abers.plots._curves import Points
    from abers.plots._style import Theme
    from abers.validation import FloatArray

    Bounds = tuple[FloatArray, FloatArray, FloatArray]  # upper, lower, between them

LARGEST = 1e300  # matplotlib computes with differences of what it draws
SMALLEST = 1e-290
MARGIN = 0.03  # to each side of the scores, where only new ones can lie
LANE = 0.1  # the distance of the place for infinite scores
DRAWS = 4_000  # scores that stand for all


@dataclass(frozen=True, slots=True)
class ScoreAxis:
    """A window of finite scores, with a lane at each side for infinite ones."""

    low: float
    high: float
    minus: bool  # whether -inf occurs
    plus: bool
    cut: bool  # whether some finite scores lie outside

    @classmethod
    def of(cls, quantiles: FloatArray) -> ScoreAxis:
        """Show the scores that occurred, save for outliers that would hide the rest.

        >>> ScoreAxis.of(np.array([-np.inf, 1, 2, 3]))
        ScoreAxis(low=1.0, high=3.0, minus=True, plus=False, cut=False)
        """
        minus, plus = bool(quantiles[0] == -np.inf), bool(quantiles[-1] == np.inf)
        finite = np.clip(quantiles[np.isfinite(quantiles)], -LARGEST, LARGEST)
        if not finite.size:
            return cls(-1.0, 1.0, minus, plus, cut=False)
        first, last = float(finite[0]), float(finite[-1])
        inner = finite[[finite.size // 100, -1 - finite.size // 100]]
        reach = float(inner[1] - inner[0]) or np.inf
        low, high = max(first, inner[0] - reach), min(last, inner[1] + reach)
        cut = low > first or high < last
        least = max(1e-9 * max(abs(low), abs(high)), SMALLEST)
        if high - low < least:
            pad = max(abs(low) / 2, 1.0)
            low, high = low - pad, high + pad
        return cls(float(low), float(high), minus, plus, cut)

    @property
    def ends(self) -> tuple[float, float]:
        """The window and its margins."""
        margin = MARGIN * (self.high - self.low)
        return self.low - margin, self.high + margin

    @property
    def lanes(self) -> tuple[float, float]:
        """The places of -inf and inf."""
        distance = LANE * (self.high - self.low)
        return self.low - distance, self.high + distance

    def flipped(self) -> ScoreAxis:
        """Return the axis of the negated scores."""
        return ScoreAxis(-self.high, -self.low, self.plus, self.minus, self.cut)

    def draw(self, ax: Axes, label: str = "score") -> None:
        """Set limits, ticks and the label."""
        from matplotlib.ticker import AutoLocator

        width = MARGIN * (self.high - self.low)
        (left, right), (first, last) = self.lanes, self.ends
        ax.set_xlim(
            left - width if self.minus else first, right + width if self.plus else last
        )
        if self.minus or self.plus:  # their places need ticks of their own
            ticks = np.asarray(AutoLocator().tick_values(self.low, self.high))
            ax.set_xticks(ticks[(ticks >= first) & (ticks <= last)])
        places = [left] * self.minus + [right] * self.plus
        signs = ["\N{MINUS SIGN}∞"] * self.minus + ["∞"] * self.plus
        ax.set_xticks(places, labels=signs, minor=True)
        label += " (outliers lie beyond the edges)" if self.cut else ""
        ax.set_xlabel(label)
        ax.spines["bottom"].set_bounds(first, last)

    def steps(
        self,
        thresholds: FloatArray,
        values: FloatArray,
        *,
        pixels: int = _curves.PIXELS,
    ) -> list[Points]:
        """Return the corners of a step function: in the left lane, window, right lane.

        Piece j holds for thresholds[j-1] <= score < thresholds[j].
        """
        start, stop, at_minus, at_plus = np.searchsorted(
            thresholds, (*self.ends, -np.inf, np.inf), side="right"
        )
        first, last = self.ends
        edges = np.concatenate(([first], thresholds[start:stop], [last]))
        parts = [
            _curves.thinned(
                *_curves.stairs(edges, values[start : stop + 1]), pixels=pixels
            )
        ]
        width = MARGIN * (self.high - self.low) * np.array([-0.9, 0.9])
        if self.minus:
            parts.insert(0, (self.lanes[0] + width, values[[at_minus] * 2]))
        if self.plus:
            parts.append((self.lanes[1] + width, values[[at_plus] * 2]))
        return parts


class RuleDisplay(_style.AxesDisplay):
    """Draw the bounds of a rule over the score, and the probability between them.

    The bounds are the estimated probability of label 1 after adding the new case to the
    calibration data with label 0 (lower) and with label 1 (upper). With unit weights,
    one of the two is calibrated as long as new cases resemble the calibration cases.
    They are not a confidence interval, and they shrink to a point as data grow.

    Below is the distribution of the calibration scores, by percentiles.
    Infinite scores have places of their own at the sides.

    Parameters
    ----------
    rule : Rule
        The rule.
    loss : {"log", "brier"}, default="log"
        The loss that the bounds are merged for.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        What was drawn on.
    lower_, upper_, merged_ : matplotlib Line2D
        The three step functions; NaN separates the places of infinite scores.

    Examples
    --------
    >>> import abers
    >>> from abers.plots import RuleDisplay
    >>> display = RuleDisplay.from_rule(abers.fit_rule([1, 2, 3], [0, 1, 0]))
    >>> display.lower_.get_ydata()[[0, -1]]  # from 0 to 1/3
    array([0.        , 0.33333333])
    >>> import matplotlib.pyplot as plt
    >>> plt.close(display.figure_)
    """

    size = (_style.WIDTH, 4.2)

    lower_: Line2D
    upper_: Line2D
    merged_: Line2D

    def __init__(self, rule: Rule, *, loss: str = "log") -> None:
        self.rule = rule
        self.loss = loss

    @classmethod
    def from_rule(
        cls,
        rule: Rule,
        *,
        loss: str = "log",
        ax: Axes | None = None,
        theme: str = "light",
    ) -> Self:
        """Draw a rule.

        Parameters
        ----------
        rule : Rule
            The rule.
        loss : {"log", "brier"}, default="log"
            Loss that the bounds are merged for.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure with pyplot.
        theme : {"light", "dark"}, default="light"
            Background that the colours are chosen for.

        Returns
        -------
        display
            The display, with its artists as attributes.
        """
        return cls(rule, loss=loss).plot(ax=ax, theme=theme)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        *,
        pos_label: Any = None,
        ax: Axes | None = None,
        theme: str = "light",
    ) -> Self:
        """Draw the rule of an estimator that has one, merged for the loss it has.

        Parameters
        ----------
        model : IVAPClassifier or IVAPCalibrator
            Fitted, with two classes.
        pos_label : object, default=None
            The class whose probabilities are drawn; None is `model.classes_[1]`. For
            the other one, scores are negated.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure with pyplot.
        theme : {"light", "dark"}, default="light"
            Background that the colours are chosen for.

        Returns
        -------
        display
            The display, with its artists as attributes.
        """
        rules = [rule for fold in getattr(model, "rules_", []) for rule in fold]
        if len(rules) != 1:
            msg = (
                f"model must have one rule to draw; got a {type(model).__name__} with "
                f"{len(rules)}. Draw one of model.rules_ with from_rule, if it has any."
            )
            raise InvalidParameter(msg)
        place = 1
        if pos_label is not None:
            classes = np.asarray(model.classes_)
            place = validation.place_among(pos_label, classes, "pos_label")
        rule = rules[0] if place else rules[0].mirrored()
        return cls(rule, loss=model.loss).plot(ax=ax, theme=theme)

    def _check(self) -> None:
        validation.check_type(self.rule, Rule, "rule")
        validation.check_choice(self.loss, merging.LOSSES, "loss")

    def _draw(self, ax: Axes, look: Theme) -> None:
        rule = self.rule
        axis = ScoreAxis.of(rule.score_quantiles)
        limit = _limit_of(rule, axis)
        axis.draw(ax)
        _draw_scores(ax, look, axis, rule.score_quantiles, limit)
        self._draw_steps(ax, look, axis)
        entries = [
            (self.upper_, "upper: if it were a 1"),
            (self.merged_, "merged to one probability"),
            (self.lower_, "lower: if it were a 0"),
        ]
        low, high = rule.bounds([axis.low / 2 + axis.high / 2])[0]
        place = _style.legend_place(high / limit, low / limit, rising=rule.increasing)
        _style.legend(ax, entries, look, **place)

    def _draw_steps(self, ax: Axes, look: Theme, axis: ScoreAxis) -> None:
        """Draw the three step functions, and fill between the bounds."""
        rule = self.rule
        lower, upper = rule.lower, rule.upper
        values = upper, lower, merging.MINIMAX[self.loss](lower, upper)
        self.upper_, self.lower_, self.merged_ = draw_bounds(
            ax, look, axis, rule.thresholds, values
        )


class BandDisplay(_style.AxesDisplay):
    """Draw the band that holds the whole calibration curve, and a rule over it.

    With the given confidence, the curve P(label = 1 | score) lies in the band at all
    scores at once, if it rises with the score (falls, for a rule that does). A rule
    that leaves the band is miscalibrated at that confidence. This is what the bounds of
    a rule do not tell.

    Parameters
    ----------
    band : CalibrationBand
        Of `abers.calibration_band`; for a falling rule, of the negated scores.
    rule : Rule, default=None
        The rule to hold against it; None if the scores are probabilities themselves.
    score_quantiles : array-like, default=None
        Percentiles of the scores; None takes those that the band has.
    loss : {"log", "brier"}, default="log"
        The loss that the bounds of the rule are merged for.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        What was drawn on.
    line_ : matplotlib Line2D
        The probability of the rule; for probabilities themselves, the diagonal.
    fills_ : list of matplotlib Polygon
        The band; those of infinite scores apart.

    Examples
    --------
    >>> from abers.plots import BandDisplay
    >>> display = BandDisplay.from_scores([1, 2], [0, 1], confidence=0.7)
    >>> display.band.upper.round(3)
    array([0.96, 1.  ])
    >>> import matplotlib.pyplot as plt
    >>> plt.close(display.figure_)
    """

    size = (_style.WIDTH, 4.2)

    line_: Line2D
    fills_: list[Polygon]

    def __init__(
        self,
        band: CalibrationBand,
        rule: Rule | None = None,
        score_quantiles: ArrayLike | None = None,
        *,
        loss: str = "log",
    ) -> None:
        self.band = band
        self.rule = rule
        self.score_quantiles = score_quantiles
        self.loss = loss

    @classmethod
    def from_scores(
        cls,
        scores: ArrayLike,
        labels: ArrayLike,
        *,
        rule: Rule | None = None,
        confidence: float = 0.95,
        loss: str = "log",
        pos_label: Any = None,
        ax: Axes | None = None,
        theme: str = "light",
    ) -> Self:
        """Compute the band of scores and labels, and draw it.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Real numbers, ±inf allowed.
        labels : array-like of shape (n,)
            0 or 1, or bool, or any two with `pos_label`.
        rule : Rule, default=None
            The rule to hold against the band; None fits one to the same rows, which
            can hardly leave it.
        confidence : float, default=0.95
            Probability with which the band covers the whole curve, at least.
        loss : {"log", "brier"}, default="log"
            Loss that the bounds are merged for.
        pos_label : object, default=None
            The label that the rule has probabilities of; None: labels are 0 and 1.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure with pyplot.
        theme : {"light", "dark"}, default="light"
            Background that the colours are chosen for.

        Returns
        -------
        display
            The display, with its artists as attributes.
        """
        s = validation.as_calibration_scores(scores)
        ones, _ = validation.binary_labels(labels, pos_label, option="pos_label")
        if rule is None:
            rule = fit_rule(s, ones)
            quantiles = rule.score_quantiles
        else:
            validation.check_type(rule, Rule, "rule")
            quantiles = _percentiles(s)
        band = band_of_rows(s if rule.increasing else -s, ones, confidence=confidence)
        return cls(band, rule, quantiles, loss=loss).plot(ax=ax, theme=theme)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: ArrayLike,
        *,
        confidence: float = 0.95,
        pos_label: Any = None,
        ax: Axes | None = None,
        theme: str = "light",
    ) -> Self:
        """Ask a fitted classifier, and hold it against the band.

        Parameters
        ----------
        model : classifier
            Fitted. If it has one rule, as an IVAPClassifier has, the band is over the
            scores; else it is over the probabilities.
        X : array-like
            Features, or scores, of held-out rows.
        y : array-like of shape (n,)
            Their labels, members of `model.classes_`.
        confidence : float, default=0.95
            Probability with which the band covers the whole curve, at least.
        pos_label : object, default=None
            Class whose probabilities are drawn; None is `model.classes_[1]` of two.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure with pyplot.
        theme : {"light", "dark"}, default="light"
            Background that the colours are chosen for.

        Returns
        -------
        display
            The display, with its artists as attributes.
        """
        answers = _curves.answers_of(model, X, y, pos_label)
        if len(answers.rules) != 1 or answers.scores is None:
            p = as_probabilities(answers.probabilities)
            band = band_of_rows(p, answers.labels, confidence=confidence)
            return cls(band, None, _percentiles(p)).plot(ax=ax, theme=theme)
        return cls.from_scores(
            answers.scores,
            answers.labels,
            rule=answers.rules[0],
            confidence=confidence,
            loss=model.loss,
            ax=ax,
            theme=theme,
        )

    def _check(self) -> None:
        validation.check_choice(self.loss, merging.LOSSES, "loss")

    def _draw(self, ax: Axes, look: Theme) -> None:
        rising = self.rule is None or self.rule.increasing
        quantiles = self._quantiles(rising=rising)
        axis = ScoreAxis.of(quantiles)
        if self.rule is None:
            limit = _curves.limit_above(self._probability(axis.high))
        else:
            limit = _limit_of(self.rule, axis)
        lower, upper = _outlines(self.band, axis, rising=rising)
        axis.draw(ax, _curves.PREDICTED if self.rule is None else "score")
        _draw_scores(ax, look, axis, quantiles, limit)
        self.fills_ = [
            _curves.fill(ax, look.band, low, high)
            for low, high in zip(lower, upper, strict=True)
        ]
        line = self._line(axis)
        self.line_ = ax.plot(*line, color=look.strong, linewidth=1.8)[0]
        name = _curves.PREDICTED if self.rule is None else "probability of the rule"
        label = f"holds the whole curve, {self.band.confidence:.0%} confidence"
        if self.band.is_empty:
            runs = "rising" if rising else "falling"
            label = (
                f"empty: no {runs} curve fits, {self.band.confidence:.0%} confidence"
            )
        entries = [(self.line_, name), (self.fills_[0], label)]
        place = self._place(axis.low / 2 + axis.high / 2, limit, rising=rising)
        _style.legend(ax, entries, look, **place)

    def _quantiles(self, *, rising: bool) -> FloatArray:
        """Return percentiles; the band has cells of about as many rows each."""
        if self.score_quantiles is not None:
            return np.asarray(self.score_quantiles, dtype=np.float64)
        scores = self.band.scores if rising else -self.band.scores[::-1]
        places = np.linspace(0, scores.size - 1, 101).round().astype(np.int64)
        return scores[places]

    def _probability(self, score: float) -> float:
        if self.rule is None:
            return min(max(score, 0.0), 1.0)
        return float(self.rule.probability([score], self.loss)[0])

    def _line(self, axis: ScoreAxis) -> Points:
        """Return the points of what is held against the band."""
        if self.rule is None:
            ends = np.array([axis.low, axis.high])
            return ends, ends
        merged = merging.MINIMAX[self.loss](self.rule.lower, self.rule.upper)
        return _curves.joined(axis.steps(self.rule.thresholds, merged))

    def _place(self, middle: float, limit: float, *, rising: bool) -> dict[str, Any]:
        """Place the legend where neither the band nor the rule goes."""
        scores = self.band.scores
        at = int(np.searchsorted(scores, middle if rising else -middle))
        p = self._probability(middle)
        upper = self.band.upper[min(at, scores.size - 1)]
        lower = self.band.lower[max(at - 1, 0)]  # above upper, if the band is empty
        high, low = max(upper, lower, p), min(upper, lower, p)
        return _style.legend_place(high / limit, low / limit, rising=rising)


def _limit_of(rule: Rule, axis: ScoreAxis) -> float:
    """Return how far the axis must reach: to 1, or less if everything is rare.

    Beyond all scores the upper bound is 1, so for the last hundredth of them the lower
    one decides.
    """
    inner = rule.score_quantiles[99 if rule.increasing else 1]
    end = axis.high if rule.increasing else axis.low
    bounds = rule.bounds([inner, end])
    return _curves.limit_above(float(max(bounds[0, 1], bounds[1, 0])))


def _draw_scores(
    ax: Axes, look: Theme, axis: ScoreAxis, quantiles: FloatArray, limit: float
) -> None:
    """Set up the axis of probabilities, and draw below it where the scores are."""
    ax.set_ylabel("probability")
    _curves.reserve(ax, look, "scores", limit=limit)
    score_histogram(ax, look.bars, axis, quantiles, limit=limit)


def _percentiles(scores: FloatArray) -> FloatArray:
    """Return the 101 percentiles, each a score that occurred."""
    found: FloatArray = np.quantile(scores, np.arange(101) / 100, method="inverted_cdf")
    return found


def _outlines(
    band: CalibrationBand, axis: ScoreAxis, *, rising: bool
) -> tuple[list[Points], list[Points]]:
    """Return the corners of both step functions, lane by lane."""
    if not rising:
        lower, upper = (
            [(-x[::-1], y[::-1]) for x, y in reversed(parts)]
            for parts in _outlines(band, axis.flipped(), rising=True)
        )
        return lower, upper
    lower = axis.steps(band.scores, np.append(0.0, band.lower))
    # An upper value holds up to its score, so the next begins right after it.
    after = np.nextafter(band.scores[band.scores < np.inf], np.inf)
    upper = axis.steps(after, np.append(band.upper, 1.0)[: after.size + 1])
    return lower, upper


def draw_bounds(
    ax: Axes, look: Theme, axis: ScoreAxis, thresholds: FloatArray, values: Bounds
) -> tuple[Line2D, Line2D, Line2D]:
    """Draw three step functions over the score, and fill between the outer two."""
    upper, lower, between = values
    # The lines hide the edge of what is filled: it may be coarse.
    edges = (
        axis.steps(thresholds, y, pixels=_curves.PIXELS // 2) for y in (lower, upper)
    )
    for low, high in zip(*edges, strict=True):
        _curves.fill(ax, look.band, low, high)
    pens = (
        (upper, look.strong, "-", 1.6),
        (lower, look.accent, _style.DASHED, 1.6),
        (between, look.ink, _style.DOTTED, 1.2),
    )
    above, below, inside = (
        ax.plot(
            *_curves.joined(axis.steps(thresholds, y)),
            color=colour,
            linestyle=dashes,
            linewidth=width,
        )[0]
        for y, colour, dashes, width in pens
    )
    return above, below, inside


def score_histogram(
    ax: Axes, colour: str, axis: ScoreAxis, quantiles: FloatArray, *, limit: float = 1.0
) -> Polygon:
    """Draw where scores are, by their percentiles; infinite ones have bars apart."""
    from_to, levels = (
        np.linspace(0, 1, quantiles.size),
        (np.arange(DRAWS) + 0.5) / DRAWS,
    )
    finite = np.clip(quantiles, -LARGEST, LARGEST)
    drawn = np.interp(levels, from_to, finite)  # as many scores, spread as these are
    heights, edges = np.histogram(drawn, _curves.BINS, (axis.low, axis.high))
    width = (edges[1] - edges[0]) / 2 * np.array([-1, 1])
    at_minus, at_plus = (DRAWS * (quantiles == end).mean() for end in (-np.inf, np.inf))
    if axis.minus:
        edges = np.append(axis.lanes[0] + width, edges)
        heights = np.append([at_minus, 0], heights)
    if axis.plus:
        edges = np.append(edges, axis.lanes[1] + width)
        heights = np.append(heights, [0, at_plus])
    return _curves.bars(ax, colour, edges, heights, limit=limit)
