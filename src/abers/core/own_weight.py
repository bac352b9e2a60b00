"""A rule that keeps its diagram, so that a new case can have a weight of its own.

Let row i have weight w_i > 0, and let the rows be weighted exchangeable: given the bag
of calibration rows and the new row, the new row is row i with probability w_i / sum w.
This holds under covariate shift with w = dQ/dP, and under a known prior shift, where
the weight depends on the label. If the rule is fitted with these weights, and the new
row is added with its own weight, the bound that belongs to its label is calibrated.

The step functions of a rule are for a new row of weight 1. They do not determine the
bounds for another weight: zeros 1, 1 and ones 1, 0 at two scores have the same step
functions as zeros 0, 1 and ones 2, 0, but other bounds at weight 3. Hence the diagram.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from abers import _kernel, validation
from abers.core import guarantees
from abers.core.diagram import ARRAYS, Diagram, trusted_diagram
from abers.core.fitted import (
    Contents,
    Layout,
    contents_of,
    flaw_of,
    layout_of,
    twin,
)
from abers.core.intervals import intervals_of
from abers.core.prior import PRIOR_TAG
from abers.core.rule import Rule
from abers.core.units import is_scale
from abers.errors import InvalidData, InvalidParameter

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from abers.core.fitted import Arrays, Facts
    from abers.core.guarantees import Guarantee
    from abers.core.rule import Weight
    from abers.validation import FloatArray, IntArray

EXACT_BITS = 53  # of a double
MOST_UNITS = 2.0**62  # of all rows and a new one, in the kernel


class RuleWithDiagram(Rule):
    """A rule that keeps its diagram, from `fit_rule(…, keep_diagram=True)`.

    It does everything that a `Rule` does. In addition, `bounds` and `probability`
    accept a weight for each new case, and `interval` returns confidence intervals.
    """

    __slots__ = ("_diagram", "_own_weight")
    _diagram: Diagram
    _own_weight: _kernel.OwnWeight | None  # made when first needed
    _layout: ClassVar = Layout(
        "rule-with-diagram",
        arrays={
            **layout_of(Rule).arrays,
            **{f"diagram_{name}": letters for name, letters in ARRAYS.items()},
        },
        facts={**layout_of(Rule).facts, "diagram_scale": is_scale},
    )

    @property
    def keeps_diagram(self) -> bool:
        """Whether the rule was fitted with `keep_diagram=True`."""
        return True

    @property
    def diagram(self) -> Diagram:
        """The calibration rows, counted at each distinct score."""
        return self._diagram

    @property
    def guarantee(self) -> Guarantee:
        """Whether one of the bounds is proven to be calibrated; if not, why."""
        of_pair = super().guarantee
        is_weighted = of_pair is guarantees.WEIGHTED
        return guarantees.OWN_WEIGHT if is_weighted else of_pair

    def bounds(
        self, scores: ArrayLike, *, weight: Weight | None = None, n_threads: int = 1
    ) -> FloatArray:
        """Return the lower and upper probability of each score.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Real numbers, ±inf allowed, NaN refused.
        weight : float, array-like of shape (n,) or tuple of two, default=None
            The weight of each new case, above 0, in the unit of `sample_weight`. If it
            depends on the label, a tuple (w0, w1): the lower bound adds the case with
            weight w0, the upper one with w1. None is 1.
        n_threads : int, default=1
            Number of threads, used if there are many rows and no weights.

        Returns
        -------
        ndarray of shape (n, 2)
            Columns lower and upper, at least w / (n_rows + w) apart if both have weight
            w. Not a confidence interval; see `Rule`.

        Examples
        --------
        >>> import abers
        >>> rule = abers.fit_rule([1, 2, 3], [0, 1, 0], keep_diagram=True)
        >>> rule.bounds([2], weight=2)  # 1 of 4, and 3 of 4
        array([[0.25, 0.75]])
        >>> rule.bounds([2], weight=(2, 4))  # 1 of 4, and 5 of 6
        array([[0.25      , 0.83333333]])
        """
        if weight is None:
            return super().bounds(scores, n_threads=n_threads)
        s = validation.as_scores(scores)
        validation.check_scores(s, purpose="predicting")
        as_zero, as_one, shifts = self._units_of(weight, s.size)
        if self._own_weight is None:
            negatives, positives, _ = self._diagram.units
            self._own_weight = _kernel.OwnWeight(
                self._diagram.scores, negatives, positives, self._increasing
            )
        out = np.empty((s.size, 2))
        self._own_weight.bounds(s + 0.0, as_zero, as_one, shifts, out)
        return out

    @property
    def has_intervals(self) -> bool:
        """Whether `interval` can be used: all calibration rows must have weight 1."""
        return super().guarantee is not guarantees.WEIGHTED

    def interval(self, scores: ArrayLike, confidence: float = 0.9) -> FloatArray:
        """Return a confidence interval of P(label = 1 | score), for each score.

        The bounds show how far one more case could move the estimate; the interval
        shows how far the estimate itself may be off, and is wider. For each score, over
        repeated samples of calibration rows, it covers with the given probability or
        more, if P(label = 1 | score) rises with the score (falls, for a rule that does)
        and rows are independent. It is about the score of a case, not about all its
        features, and about one score at a time: `abers.evaluation.calibration_band`
        covers the whole curve, and is wider still.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Real numbers, ±inf allowed, NaN refused.
        confidence : float, default=0.9
            Coverage probability of the interval of a single score, at least.

        Returns
        -------
        ndarray of shape (n, 2)
            Columns lower and upper; the bounds lie inside. Each score is based on
            different rows, so the limits need not rise with the score.

        Notes
        -----
        The limits are those of Clopper and Pearson for runs of neighbouring rows: from
        the score upwards for the upper limit, downwards for the lower one. Each is the
        narrowest of three lengths, 1/2, 2 and 8 times n^(2/3) rows, at a sixth of 1 -
        confidence. They are widened to contain the bounds.
        `benchmarks/INTERVAL.md` has coverage and widths.

        Examples
        --------
        >>> import numpy as np
        >>> import abers
        >>> scores, labels = np.arange(6), [0, 0, 0, 1, 1, 1]
        >>> rule = abers.fit_rule(scores, labels, keep_diagram=True)
        >>> rule.bounds([0])  # one more case: 0 of 2, or 1 of 4
        array([[0.  , 0.25]])
        >>> rule.interval([0], confidence=0.7).round(3)  # 0 of 2: 1 - sqrt(0.05)
        array([[0.   , 0.776]])
        """
        validation.check_confidence(confidence)
        if not self.has_intervals:
            msg = (
                "interval needs calibration rows without weights, since these do not "
                "tell how many rows there are; got a rule of weighted rows. Fit it "
                "without sample_weight, or use "
                "abers.evaluation.calibration_band(…, sample_weight=…)."
            )
            raise InvalidParameter(msg)
        bounds = super().bounds(scores)
        s = validation.as_scores(scores)
        limits = intervals_of(self._diagram, s, confidence, increasing=self._increasing)
        return np.column_stack(
            (
                np.minimum(limits[:, 0], bounds[:, 0]),
                np.maximum(limits[:, 1], bounds[:, 1]),
            )
        )

    def without_diagram(self) -> Rule:
        """Return the rule with the same step functions and without the diagram.

        Returns
        -------
        Rule
            It shares its arrays with this one.
        """
        return self.with_cells(self._cells)

    def _units_of(
        self, weight: Weight, n_rows: int
    ) -> tuple[IntArray, IntArray, IntArray]:
        """Return weights as a 0 and as a 1, in finer units, and the refinement.

        Units are those of the diagram, divided by the largest power of two at which all
        rows and the new case do not exceed 2**53. This depends on the case's own weight
        only, so a row has the same bits alone and in a batch.
        """
        pair = weight if isinstance(weight, tuple) else (weight, weight)
        if len(pair) != len(("label 0", "label 1")):
            msg = f"weight must be one or a tuple of two; got a tuple of {len(pair)}."
            raise InvalidData(msg)
        as_zero, as_one = (_as_own_weights(each, n_rows) for each in pair)
        scale = self._diagram.scale
        with np.errstate(over="ignore"):
            total = self._diagram.units.total + np.ldexp(
                np.maximum(as_zero, as_one), scale
            )
        if (total >= MOST_UNITS).any():
            row = int((total >= MOST_UNITS).argmax())
            msg = (
                "weight must not be so large that the calibration rows vanish beside "
                f"it; got {max(as_zero[row], as_one[row])} at row {row}, and these "
                f"weigh {self._n_rows} in all. Scale the weights to a mean of 1."
            )
            raise InvalidData(msg)
        _, exponents = np.frexp(total)
        shifts = np.maximum(EXACT_BITS - exponents, 0).astype(np.int64)
        units = [
            np.rint(np.ldexp(each, scale + shifts)).astype(np.int64)
            for each in (as_zero, as_one)
        ]
        least = np.minimum(*units)
        if (least == 0).any():
            row = int((least == 0).argmax())
            msg = (
                "weight must not vanish beside the calibration rows, which weigh "
                f"{self._n_rows} in all; got {min(as_zero[row], as_one[row])} at row "
                f"{row}."
            )
            raise InvalidData(msg)
        return units[0], units[1], shifts

    def _contents(self) -> Contents:
        return _joined(super()._contents(), self._diagram)

    def _restore(self, facts: Facts, arrays: Arrays) -> None:
        super()._restore({name: facts[name] for name in layout_of(Rule).facts}, arrays)
        self._diagram = _diagram_of(facts, arrays)
        self._own_weight = None

    @classmethod
    def _flaw(cls, facts: Facts, arrays: Arrays) -> str | None:
        of_diagram = Contents(
            {"metadata": {}, "scale": facts["diagram_scale"]},
            {name: arrays[f"diagram_{name}"] for name in ARRAYS},
        )
        return (
            super()._flaw(facts, arrays)
            or flaw_of(Diagram, of_diagram)
            or _flaw_of_fit(facts, arrays)
        )


def with_diagram(rule: Rule, diagram: Diagram) -> RuleWithDiagram:
    """Return a rule with the diagram to which it was fitted; both are shared."""
    return twin(RuleWithDiagram, rule, _diagram=diagram, _own_weight=None)


def _joined(of_rule: Contents, diagram: Diagram) -> Contents:
    of_diagram = contents_of(diagram)
    return Contents(
        of_rule.facts | {"diagram_scale": of_diagram.facts["scale"]},
        of_rule.arrays
        | {f"diagram_{name}": array for name, array in of_diagram.arrays.items()},
    )


def _as_own_weights(values: ArrayLike, n_rows: int) -> FloatArray:
    """Return the weights of new cases, one per row, all above 0."""
    if np.ndim(values) == 0:
        values = np.full(n_rows, values)
    weights = validation.as_weights(values, n_rows, "weight")
    if (weights == 0).any():
        row = int((weights == 0).argmax())
        msg = f"weight must be above 0; got 0 at row {row}."
        raise InvalidData(msg)
    return weights


def _diagram_of(facts: Facts, arrays: Arrays) -> Diagram:
    scores, negatives, positives = (
        arrays[f"diagram_{name}"] for name in ("scores", "negatives", "positives")
    )
    return trusted_diagram(scores, negatives, positives, facts["diagram_scale"])


def _flaw_of_fit(facts: Facts, arrays: Arrays) -> str | None:
    """Return a message if the rule differs from a new fit to its diagram, else None."""
    diagram = _diagram_of(facts, arrays)
    negatives, positives, scale = diagram.units
    quantiles = diagram.score_quantiles
    table = _kernel.fit_diagram(
        diagram.scores,
        negatives,
        positives,
        quantiles,
        facts["increasing"],
        1 << scale,
    )
    is_fitted = (
        PRIOR_TAG not in facts["metadata"]
        and facts["n_rows"] == diagram.n_rows
        and facts["n_positives"] == diagram.n_positives
        and np.array_equal(arrays["score_quantiles"], quantiles)
        and all(
            np.array_equal(arrays[name], getattr(table, name))
            for name in ("thresholds", "lower", "upper")
        )
    )
    return None if is_fitted else "its rule is not that of its diagram"
