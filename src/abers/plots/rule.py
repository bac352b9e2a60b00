"""The rule over the score: its bounds, and the confidence band of the curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from abers import validation
from abers.core import merging
from abers.core.diagram import Diagram
from abers.core.pooled import PooledRule
from abers.core.regression import RegressionRule, as_targets
from abers.core.rule import Rule
from abers.errors import InvalidParameter, InvalidType
from abers.evaluation.bands import CalibrationBand, band_of_rows
from abers.plots import _base, _curves, _style

if TYPE_CHECKING:
    from typing import Any, Self, TypeAlias

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.lines import Line2D
    from matplotlib.patches import StepPatch
    from numpy.typing import ArrayLike

    from abers.choices import LossName, ThemeName
    from abers.plots._style import Theme
    from abers.validation import FloatArray, IntArray

    AnyRule = Rule | PooledRule | RegressionRule
    Steps: TypeAlias = "Rule | PooledSteps | RegressionRule"

LARGEST_DRAWN = 1e300  # matplotlib computes differences of coordinates
SMALLEST_DRAWN = 1e-290
MARGIN = 0.03  # to each side of the calibration scores
SCORES_DRAWN = 4_000  # scores drawn in place of all
MOST_POINTS = 300  # of many rows, this many are drawn, evenly spaced by score


@dataclass(frozen=True, slots=True)
class ScoreAxis:
    """A window of finite scores."""

    low: float
    high: float
    cut: bool  # whether some scores lie outside

    @classmethod
    def of(cls, quantiles: FloatArray) -> ScoreAxis:
        """Choose a window for these scores, without outliers that would hide the rest.

        >>> ScoreAxis.of(np.array([-np.inf, 1, 2, 3]))
        ScoreAxis(low=1.0, high=3.0, cut=True)
        """
        finite = quantiles[np.isfinite(quantiles)].clip(-LARGEST_DRAWN, LARGEST_DRAWN)
        if not finite.size:
            return cls(-1.0, 1.0, cut=True)
        first, last = float(finite[0]), float(finite[-1])
        inner = finite[[finite.size // 100, -1 - finite.size // 100]]
        reach = float(inner[1] - inner[0]) or np.inf
        low, high = max(first, inner[0] - reach), min(last, inner[1] + reach)
        cut = finite.size < quantiles.size or low > first or high < last
        least = max(1e-9 * max(abs(low), abs(high)), SMALLEST_DRAWN)
        if high - low < least:
            pad = max(abs(low) / 2, 1.0)
            low, high = low - pad, high + pad
        return cls(float(low), float(high), bool(cut))

    @property
    def ends(self) -> tuple[float, float]:
        """The window with its margins."""
        margin = MARGIN * (self.high - self.low)
        return self.low - margin, self.high + margin

    def draw(self, ax: Axes, label: str = "score") -> None:
        """Set limits and the label."""
        ax.set_xlim(self.ends)
        ax.set_xlabel(label + " (outliers lie beyond the edges)" * self.cut)

    def points(self, thresholds: FloatArray) -> tuple[FloatArray, IntArray]:
        """Return the corners of step functions: scores, and the piece from each on.

        Piece j holds for thresholds[j-1] <= score < thresholds[j].
        """
        first, last = self.ends
        start, stop = np.searchsorted(thresholds, self.ends, side="right")
        x = np.concatenate(([first], thresholds[start:stop], [last]))
        return x, np.append(np.arange(start, stop + 1), stop)


class PooledSteps(NamedTuple):
    """The bounds of a pooled rule for one score in all folds, as a rule has them."""

    thresholds: FloatArray  # piece j holds for thresholds[j-1] <= score < thresholds[j]
    lower: FloatArray
    upper: FloatArray
    score_quantiles: FloatArray
    increasing: bool


def steps_of(rule: AnyRule) -> Steps:
    """Return the bounds of a rule as step functions of one score."""
    if not isinstance(rule, PooledRule):
        return rule
    diagrams = [diagram for diagram in rule.diagrams if diagram is not None]
    if not diagrams:
        msg = "a pooled rule to draw must have calibration rows; got none."
        raise InvalidParameter(msg)
    whole = Diagram.sum(diagrams)
    # Both bounds change at a calibration score, or right after it.
    thresholds, places = _steps_at(whole.scores)
    bounds = rule.bounds(np.repeat(places[:, np.newaxis], rule.n_folds, axis=1))
    lower, upper = bounds.T
    quantiles = whole.score_quantiles
    return PooledSteps(thresholds, lower, upper, quantiles, rule.increasing)


class RuleDisplay(_base.Display):
    """Draw the bounds of a rule over the score, and the probability between them.

    The bounds are the estimated probability of label 1 after adding the new case to the
    calibration data with label 0 (lower) and with label 1 (upper). With unit weights,
    one of the two is calibrated as long as new cases resemble the calibration cases.
    They are not a confidence interval, and they shrink to a point as data grow.

    With a band, the rule is compared with other rows: with the given confidence, the
    curve P(label = 1 | score) lies in the band at all scores at once, if it rises with
    the score (falls, for a rule that does). A rule that leaves the band is
    miscalibrated at that confidence. The bounds cannot show that.

    With a confidence, and a rule that keeps its diagram, the confidence intervals of
    `Rule.interval` are drawn: how well the calibration rows determine the curve, at
    each score separately.

    A histogram below shows the distribution of the scores; outliers and infinite scores
    lie beyond the edges. A pooled rule is drawn for the same score in all folds. A
    regression rule has bounds for a mean, not an interval for the target: targets,
    drawn as dots, scatter beyond them.

    Parameters
    ----------
    rule : Rule, PooledRule or RegressionRule, default=None
        The rule; None if the scores of the band are probabilities themselves.
    band : CalibrationBand, default=None
        Returned by `abers.evaluation.calibration_band`; for a falling rule, of the
        negated scores.
    score_quantiles : array-like, default=None
        Percentiles of the scores; None takes those of the rule, or of the band.
    rows : tuple of two array-like, default=None
        Scores and targets of rows to draw with the rule of a regression.
    loss : {"log", "brier"}, default="log"
        Loss for which the bounds are merged.
    confidence : float, default=None
        Confidence of the intervals to draw, instead of a band; None draws none.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        The axes, and their figure.
    lower_, upper_ : matplotlib Line2D
        The bounds, as steps, if there is a rule.
    line_ : matplotlib Line2D
        The value between the bounds; for probabilities themselves, the diagonal.
    fill_ : matplotlib PolyCollection
        The band or the intervals; without them, the area between the bounds.
    dots_ : matplotlib Line2D
        The rows of a regression, if there are any.

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

    size = (_style.WIDTH, 4.4)

    lower_: Line2D
    upper_: Line2D
    line_: Line2D
    fill_: PolyCollection
    dots_: Line2D

    def __init__(
        self,
        rule: AnyRule | None = None,
        band: CalibrationBand | None = None,
        *,
        score_quantiles: ArrayLike | None = None,
        rows: tuple[ArrayLike, ArrayLike] | None = None,
        loss: LossName = "log",
        confidence: float | None = None,
    ) -> None:
        self.rule = rule
        self.band = band
        self.score_quantiles = score_quantiles
        self.rows = rows
        self.loss = loss
        self.confidence = confidence

    @classmethod
    def from_rule(
        cls,
        rule: AnyRule,
        *,
        loss: LossName = "log",
        confidence: float | None = None,
        ax: Axes | None = None,
        theme: ThemeName = "light",
    ) -> Self:
        """Draw a rule.

        Parameters
        ----------
        rule : Rule, PooledRule or RegressionRule
            The rule.
        loss : {"log", "brier"}, default="log"
            Loss for which the bounds are merged.
        confidence : float, default=None
            Confidence of the intervals to draw, for a rule that keeps its diagram; None
            draws none.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure with pyplot.
        theme : {"light", "dark"}, default="light"
            Background that the colours are chosen for.

        Returns
        -------
        display
            The display, with its artists as attributes.
        """
        display = cls(rule, loss=loss, confidence=confidence)
        return display.plot(ax=ax, theme=theme)

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        scores: ArrayLike,
        *,
        rule: AnyRule | None = None,
        confidence: float = 0.95,
        loss: LossName = "log",
        pos_label: Any = None,
        ax: Axes | None = None,
        theme: ThemeName = "light",
    ) -> Self:
        """Draw a rule, or probabilities, with the band from labels and scores.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels 0 or 1, or any two with `pos_label`; for the rule of a regression,
            targets, which are drawn as dots instead of a band.
        scores : array-like of shape (n,)
            Scores that the rule takes; without a rule, probabilities.
        rule : Rule, PooledRule or RegressionRule, default=None
            The rule to compare with the band, fitted to other rows; None compares the
            probabilities.
        confidence : float, default=0.95
            Coverage probability of the band for the whole curve, at least.
        loss : {"log", "brier"}, default="log"
            Loss for which the bounds are merged.
        pos_label : object, default=None
            Label to which the rule's probabilities belong; None if labels are 0 and 1.
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
        >>> from abers.plots import RuleDisplay
        >>> display = RuleDisplay.from_predictions([0, 1], [0.1, 0.9], confidence=0.7)
        >>> display.band.upper.round(3)
        array([0.96, 1.  ])
        >>> import matplotlib.pyplot as plt
        >>> plt.close(display.figure_)
        """
        if isinstance(rule, RegressionRule):
            return cls(rule, rows=(scores, y)).plot(ax=ax, theme=theme)
        if rule is None:
            s = validation.as_probabilities(scores, "scores")
        else:
            s = validation.as_calibration_scores(scores)
        is_rising = rule is None or rule.increasing
        labels = _base.binary_labels(y, pos_label)
        band = band_of_rows(s if is_rising else -s, labels, confidence=confidence)
        display = cls(rule, band, score_quantiles=_percentiles(s), loss=loss)
        return display.plot(ax=ax, theme=theme)

    @classmethod
    def from_estimator(  # type: ignore[override]  # options written out
        cls,
        model: Any,
        X: Any = None,
        y: ArrayLike | None = None,
        *,
        confidence: float = 0.95,
        pos_label: Any = None,
        ax: Axes | None = None,
        theme: ThemeName = "light",
    ) -> Self:
        """Draw the rule of a fitted estimator, with the band from held-out rows.

        Parameters
        ----------
        model : estimator
            Fitted. If it has one rule, as an IVAPClassifier does, that rule is drawn
            over the scores; else the band is over the probabilities, and needs rows.
        X : array-like, default=None
            Features, or scores, of held-out rows; None draws the rule alone.
        y : array-like of shape (n,), default=None
            Their labels.
        confidence : float, default=0.95
            Coverage probability of the band for the whole curve, at least.
        pos_label : object, default=None
            Class whose probabilities are drawn; None is `model.classes_[1]` of two. For
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
        options: Any = {"ax": ax, "theme": theme}
        if X is None or y is None:
            rule = _only_rule(model, pos_label)
            options["loss"] = getattr(model, "loss", "log")
            return cls.from_rule(rule, **options)
        predictions = _base.predictions_of_class(model, X, y, pos_label)
        options["confidence"] = confidence
        labels, p = predictions.column()
        scores = predictions.column_scores()
        if len(predictions.source.rules) != 1 or scores is None:
            return cls.from_predictions(labels, p, **options)
        options |= {"rule": predictions.column_rule(), "loss": predictions.loss}
        return cls.from_predictions(labels, scores, **options)

    def _check(self) -> None:
        validation.check_choice(self.loss, merging.LOSSES, "loss")
        if self.rule is None and self.band is None:
            msg = "rule must be given, or band; got neither."
            raise InvalidParameter(msg)
        if not isinstance(self.rule, Rule | PooledRule | RegressionRule | None):
            msg = (
                "rule must be a Rule, a PooledRule or a RegressionRule; got a "
                f"{type(self.rule).__name__}."
            )
            raise InvalidType(msg)
        if self.confidence is not None and (
            self.band is not None or not isinstance(self.rule, Rule)
        ):
            msg = (
                "confidence must be None unless a Rule is drawn without a band, since "
                "only such a rule has intervals."
            )
            raise InvalidParameter(msg)
        if self.confidence is not None and isinstance(self.rule, Rule):
            self.rule.interval([], self.confidence)  # raises if it has none
        if self.rows is not None and not isinstance(self.rule, RegressionRule):
            msg = (
                "rows must be None unless the rule is that of a regression; got a "
                f"{type(self.rule).__name__}."
            )
            raise InvalidParameter(msg)

    def _draw(self, ax: Axes, look: Theme) -> None:
        steps = None if self.rule is None else steps_of(self.rule)
        quantiles = self._quantiles(steps)
        axis = ScoreAxis.of(quantiles)
        axis.draw(ax, _curves.PREDICTED if steps is None else "score")
        if isinstance(self.rule, RegressionRule):
            ax.set_ylabel("target")
        else:
            limit = self._limit(steps, axis)
            ax.set_ylabel("probability")
            _curves.reserve(ax, look, "scores", limit=limit)
            score_histogram(ax, look.bars, axis, quantiles, limit=limit)
        entries: list[tuple[Artist, str]] = []
        if self.band is not None:
            entries = [(self._draw_band(ax, look, axis), self._band_label())]
        elif self.confidence is not None:
            entries = [self._draw_intervals(ax, look, axis)]
        if steps is not None:
            entries = self._draw_steps(ax, look, axis, steps) + entries
        else:
            ends = [axis.low, axis.high]
            (self.line_,) = ax.plot(ends, ends, color=look.strong, linewidth=1.8)
            entries.insert(0, (self.line_, _curves.PREDICTED))
        if self.rows is not None:
            dots = _seen_rows(self.rows, axis)
            (self.dots_,) = ax.plot(
                *dots, ".", color=look.soft, markersize=3.5, zorder=2.5
            )
            entries.append((self.dots_, "targets"))
        _style.legend(ax, entries, look)

    def _draw_steps(
        self, ax: Axes, look: Theme, axis: ScoreAxis, steps: Steps
    ) -> list[tuple[Artist, str]]:
        """Draw the bounds and the area between them; return legend entries."""
        lower, upper = steps.lower, steps.upper
        if isinstance(self.rule, RegressionRule):
            names = "upper: with its target high", "midpoint"
            last, between = "lower: with its target low", lower / 2 + upper / 2
        else:
            names = "upper: with the case as a 1", "merged to one probability"
            last = "lower: with the case as a 0"
            between = merging.MINIMAX[self.loss](lower, upper)
        x, pieces = axis.points(steps.thresholds)
        if self.band is None and self.confidence is None:
            self._fill(ax, look, (x, pieces), lower, upper)
        pens = (
            (upper, look.strong, "-", 1.6),
            (lower, look.accent, _style.DASHED, 1.6),
            (between, look.ink, _style.DOTTED, 1.2),
        )
        self.upper_, self.lower_, self.line_ = (
            ax.plot(
                x,
                values[pieces],
                color=colour,
                linestyle=dashes,
                linewidth=width,
                drawstyle="steps-post",
            )[0]
            for values, colour, dashes, width in pens
        )
        return [
            (self.upper_, names[0]),
            (self.line_, names[1]),
            (self.lower_, last),
        ]

    def _draw_band(self, ax: Axes, look: Theme, axis: ScoreAxis) -> PolyCollection:
        """Fill the band: lower ends hold from a score upwards, upper ends up to it."""
        band: Any = self.band
        thresholds = band.scores
        lower, upper = np.append(0.0, band.lower), np.append(band.upper, 1.0)
        if not self._is_rising:
            thresholds, lower, upper = -thresholds[::-1], lower[::-1], upper[::-1]
        self._fill(ax, look, axis.points(thresholds), lower, upper)
        return self.fill_

    def _fill(
        self,
        ax: Axes,
        look: Theme,
        points: tuple[FloatArray, IntArray],
        lower: FloatArray,
        upper: FloatArray,
    ) -> None:
        """Fill between two step functions."""
        x, pieces = points
        self.fill_ = _curves.fill(
            ax, look, x, lower[pieces], upper[pieces], step="post"
        )

    def _draw_intervals(
        self, ax: Axes, look: Theme, axis: ScoreAxis
    ) -> tuple[PolyCollection, str]:
        """Fill the intervals, which change at a calibration score or right after it."""
        rule: Any = self.rule
        thresholds, places = _steps_at(rule.diagram.scores)
        lower, upper = rule.interval(places, self.confidence).T
        self._fill(ax, look, axis.points(thresholds), lower, upper)
        return self.fill_, f"interval of each score, {self.confidence:.0%} confidence"

    def _band_label(self) -> str:
        band: Any = self.band
        if band.is_empty:
            runs = "rising" if self._is_rising else "falling"
            return f"empty: no {runs} curve fits, {band.confidence:.0%} confidence"
        return f"holds the whole curve, {band.confidence:.0%} confidence"

    @property
    def _is_rising(self) -> bool:
        return self.rule is None or self.rule.increasing

    def _quantiles(self, steps: Steps | None) -> FloatArray:
        """Return percentiles of the scores in the picture."""
        if self.score_quantiles is not None:
            return np.asarray(self.score_quantiles, dtype=np.float64)
        if self.band is None and steps is not None:
            return steps.score_quantiles
        band: Any = self.band  # its cells have about equally many rows
        scores = band.scores if self._is_rising else -band.scores[::-1]
        return _percentiles(scores)

    @staticmethod
    def _limit(steps: Steps | None, axis: ScoreAxis) -> float:
        """Return how far the axis must reach: to 1, or less if everything is rare.

        Above all scores, the upper bound is 1, so for the highest hundredth of them the
        lower bound decides.
        """
        if steps is None:
            return _curves.limit_above(min(max(axis.high, 0.0), 1.0))
        at, end = (0.99, axis.high) if steps.increasing else (0.01, axis.low)
        inner = steps.score_quantiles[round(at * (steps.score_quantiles.size - 1))]
        high, last = np.searchsorted(steps.thresholds, (inner, end), side="right")
        return _curves.limit_above(float(max(steps.upper[high], steps.lower[last])))


def _steps_at(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the scores where step functions may change, and a score in each piece."""
    thresholds = np.union1d(scores, np.nextafter(scores, np.inf))
    below = np.nextafter(thresholds[:1], -np.inf)
    return thresholds, np.concatenate((below, thresholds))


def _percentiles(scores: FloatArray) -> FloatArray:
    """Return the 101 percentiles, each a score that occurred."""
    quantiles: FloatArray = np.quantile(
        scores, np.arange(101) / 100, method="inverted_cdf"
    )
    return quantiles


def _only_rule(model: Any, pos_label: Any) -> AnyRule:
    """Return the single rule of an estimator, for one of its classes."""
    rules: list[Any] = []
    for fold in (*getattr(model, "rules_", []), *getattr(model, "pooled_rules_", [])):
        rules += fold if isinstance(fold, list) else [fold]
    if len(rules) != 1:
        msg = (
            f"model must have one rule to draw; got a {type(model).__name__} with "
            f"{len(rules)}. Draw one of model.rules_ with from_rule, if it has any, or "
            "pass X and y to draw the probabilities."
        )
        raise InvalidParameter(msg)
    rule: AnyRule = rules[0]
    if pos_label is not None:
        classes = np.asarray(model.classes_)
        if validation.place_among(pos_label, classes, "pos_label") == 0:
            rule = rules[0].mirrored()
    return rule


def _seen_rows(rows: tuple[ArrayLike, ArrayLike], axis: ScoreAxis) -> Any:
    """Return the rows to draw, by score; if there are many, some of them."""
    s, y = validation.as_scores(rows[0]), as_targets(rows[1])
    validation.check_length(y.size, s.size, "targets", "scores")
    first, last = axis.ends
    seen = (s >= first) & (s <= last) & np.isfinite(y)
    s, y = s[seen], y[seen]
    order = np.argsort(s, kind="stable")
    if order.size > MOST_POINTS:
        kept = np.linspace(0, order.size - 1, MOST_POINTS).round().astype(np.int64)
        order = order[kept]
    return s[order], y[order]


def score_histogram(
    ax: Axes, colour: str, axis: ScoreAxis, quantiles: FloatArray, *, limit: float = 1.0
) -> StepPatch:
    """Draw a histogram of scores from percentiles."""
    levels = (np.arange(SCORES_DRAWN) + 0.5) / SCORES_DRAWN
    finite = np.clip(quantiles, -LARGEST_DRAWN, LARGEST_DRAWN)
    # As many scores, spread as these are.
    drawn = np.interp(levels, np.linspace(0, 1, quantiles.size), finite)
    heights, edges = np.histogram(drawn, _curves.BINS, (axis.low, axis.high))
    return _curves.bars(ax, colour, edges, heights, limit=limit)
