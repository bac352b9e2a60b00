"""The honest band: how uncertain the calibration curve itself is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from abers import validation
from abers.core import merging
from abers.core.fit import fit_rule
from abers.core.rule import Rule
from abers.evaluation.bands import CalibrationBand, calibration_band
from abers.plots import curves, strip, style
from abers.plots.rule import limit_of_rule
from abers.plots.score_axis import ScoreAxis, joined
from abers.validation import as_probabilities

if TYPE_CHECKING:
    from typing import Any, Self

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Polygon
    from numpy.typing import ArrayLike

    from abers.plots.score_axis import Points
    from abers.validation import FloatArray


class BandDisplay:
    """Draw the band that holds the whole calibration curve, and a rule over it.

    With the given confidence, the curve P(label = 1 | score) lies in the band at all
    scores at once, if it rises with the score (falls, for a rule that does). A rule
    that leaves the band is miscalibrated at that confidence. This is what the bounds of
    a rule do not tell.

    Parameters
    ----------
    band : CalibrationBand
        Of `abers.bands.calibration_band`; for a falling rule, of the negated scores.
    rule : Rule, default=None
        The rule to hold against it; None if the scores are probabilities themselves.
    score_quantiles : array-like, default=None
        Percentiles of the scores; None takes those that the band has.
    loss : {"log", "brier"}, default="log"
        The loss that the bounds of the rule are merged for.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes that were drawn on.
    figure_ : matplotlib Figure
        Their figure.
    line_ : matplotlib Line2D
        The probability of the rule; for probabilities themselves, the diagonal.
    fills_ : list of matplotlib Polygon
        The band; those of infinite scores apart.

    Examples
    --------
    >>> from abers.plots import BandDisplay
    >>> display = BandDisplay.from_scores([1, 2], [0, 1], confidence=0.7)
    >>> display.band.upper.round(3)
    array([0.95, 1.  ])
    >>> import matplotlib.pyplot as plt
    >>> plt.close(display.figure_)
    """

    size = (style.WIDTH, 4.2)

    ax_: Axes
    figure_: Figure
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
        ax: Axes | None = None,
        theme: str = "light",
    ) -> Self:
        """Compute the band of scores and labels, and draw it.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Real numbers, ±inf allowed.
        labels : array-like of shape (n,)
            0 or 1, or bool.
        rule : Rule, default=None
            The rule to hold against the band; None fits one to the same rows, which
            can hardly leave it.
        confidence : float, default=0.95
            Probability with which the band covers the whole curve, at least.
        loss : {"log", "brier"}, default="log"
            The loss that the bounds of the rule are merged for.
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure by pyplot.
        theme : {"light", "dark"}, default="light"
            The background that the colours are for.

        Returns
        -------
        BandDisplay
            With the artists as attributes.
        """
        s = validation.as_calibration_scores(scores)
        if rule is None:
            rule = fit_rule(s, labels)
            quantiles = rule.score_quantiles
        else:
            validation.check_type(rule, Rule, "rule")
            quantiles = percentiles(s)
        band = calibration_band(
            s if rule.increasing else -s, labels, confidence=confidence
        )
        return cls(band, rule, quantiles, loss=loss).plot(ax=ax, theme=theme)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: ArrayLike,
        *,
        confidence: float = 0.95,
        ax: Axes | None = None,
        theme: str = "light",
    ) -> Self:
        """Ask a fitted classifier of two classes, and hold it against the band.

        Parameters
        ----------
        model : classifier
            Fitted. If it has one rule, as an IVAPClassifier has, the band is over the
            scores; else it is over the probabilities.
        X : array-like
            Features, or scores, of rows that were not used for fitting.
        y : array-like of shape (n,)
            Their labels; `model.classes_[1]` is the positive one.
        confidence : float, default=0.95
            Probability with which the band covers the whole curve, at least.
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure by pyplot.
        theme : {"light", "dark"}, default="light"
            The background that the colours are for.

        Returns
        -------
        BandDisplay
            With the artists as attributes.
        """
        said = curves.answers_of(model, X, y)
        if len(said.rules) != 1 or said.scores is None:
            p = as_probabilities(said.probabilities)
            band = calibration_band(p, said.labels, confidence=confidence)
            return cls(band, None, percentiles(p)).plot(ax=ax, theme=theme)
        return cls.from_scores(
            said.scores,
            said.labels,
            rule=said.rules[0],
            confidence=confidence,
            loss=model.loss,
            ax=ax,
            theme=theme,
        )

    def plot(self, *, ax: Axes | None = None, theme: str = "light") -> Self:
        """Draw what was computed.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure by pyplot.
        theme : {"light", "dark"}, default="light"
            The background that the colours are for.

        Returns
        -------
        BandDisplay
            Itself.
        """
        validation.check_choice(self.loss, merging.LOSSES, "loss")
        rising = self.rule is None or self.rule.increasing
        quantiles = self._quantiles(rising=rising)
        axis = ScoreAxis.of(quantiles)
        if self.rule is None:
            limit = curves.limit_above(self._probability(axis.high))
        else:
            limit = limit_of_rule(self.rule, axis)
        lower, upper = _outlines(self.band, axis, rising=rising)
        with style.canvas(ax, theme, self.size) as (axes, look):
            axis.draw(axes, curves.PREDICTED if self.rule is None else "score")
            axes.set_ylabel("probability")
            strip.reserve(axes, look, "scores", limit=limit)
            strip.score_histogram(axes, look.bars, axis, quantiles, limit=limit)
            self.fills_ = [
                curves.fill(axes, look.band, low, high)
                for low, high in zip(lower, upper, strict=True)
            ]
            line = self._line(axis)
            self.line_ = axes.plot(*line, color=look.strong, linewidth=1.8)[0]
            said = curves.PREDICTED if self.rule is None else "probability of the rule"
            label = f"holds the whole curve, {self.band.confidence:.0%} confidence"
            entries = [(self.line_, said), (self.fills_[0], label)]
            place = self._place(axis.low / 2 + axis.high / 2, limit, rising=rising)
            style.key(axes, entries, look, **place)
        self.ax_, self.figure_ = axes, style.figure_of(axes)
        return self

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
        return joined(axis.steps(self.rule.thresholds, merged))

    def _place(self, middle: float, limit: float, *, rising: bool) -> dict[str, Any]:
        """Place the legend where neither the band nor the rule goes."""
        scores = self.band.scores
        at = int(np.searchsorted(scores, middle if rising else -middle))
        p = self._probability(middle)
        high = max(self.band.upper[min(at, scores.size - 1)], p)
        low = min(self.band.lower[max(at - 1, 0)], p)
        return style.place(high / limit, low / limit, rising=rising)


def percentiles(scores: FloatArray) -> FloatArray:
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
