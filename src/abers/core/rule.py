"""The rule: the calibration map, all that prediction needs."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from abers import validation
from abers._kernel import Table
from abers.core import merging, prior
from abers.core.diagram import Cells

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from abers.validation import FloatArray

_ARRAYS = ("thresholds", "lower", "upper", "score_quantiles")
_CELLS = ("cell_cuts", "cell_counts", "cell_positives", "cell_squares")
_FACTS = ("n_observations", "n_positives", "increasing", "metadata")


class Rule:
    """A fitted inductive Venn-Abers predictor: two step functions of the score.

    Made by `fit_rule`, `fit_rule_from_diagram` or `load_rule`. A rule never changes:
    its arrays are read-only, equal rules compare equal, and threads may share one.

    The **bounds** of a score are the probability if the new case were a 0 (lower) and
    if it were a 1 (upper). One of the two is calibrated as long as new cases resemble
    the calibration cases and all of these have weight 1; after `with_prior` that is not
    proven. They are not a confidence interval, and they shrink to a point as data grow.

    Examples
    --------
    >>> import abers
    >>> rule = abers.fit_rule([1, 2, 3], [0, 1, 0])
    >>> rule.bounds([1, 2, 3])
    array([[0.        , 0.5       ],
           [0.33333333, 0.66666667],
           [0.33333333, 0.66666667]])
    >>> rule.probability([2])  # 2/3 / (1 - 1/3 + 2/3)
    array([0.5])
    """

    __slots__ = (
        "_cells",
        "_increasing",
        "_metadata",
        "_n_observations",
        "_n_positives",
        "_table",
    )

    def __init__(
        self,
        table: Table,
        *,
        n_observations: float,
        n_positives: float,
        increasing: bool,
        metadata: Mapping[str, Any] | None = None,
        cells: Cells | None = None,
    ) -> None:
        self._table = table
        self._cells = cells
        self._n_observations = n_observations
        self._n_positives = n_positives
        self._increasing = increasing
        self._metadata = MappingProxyType(dict(metadata or {}))

    @property
    def thresholds(self) -> FloatArray:
        """Ascending; piece j holds for thresholds[j-1] <= score < thresholds[j]."""
        return self._table.thresholds

    @property
    def lower(self) -> FloatArray:
        """Lower bound of each piece; one value more than there are thresholds."""
        return self._table.lower

    @property
    def upper(self) -> FloatArray:
        """Upper bound of each piece; one value more than there are thresholds."""
        return self._table.upper

    @property
    def increasing(self) -> bool:
        """Whether a higher score means a higher probability."""
        return self._increasing

    @property
    def n_observations(self) -> float:
        """Total weight of the calibration set; their number if all weigh 1."""
        return self._n_observations

    @property
    def n_positives(self) -> float:
        """Total weight of the calibration observations labelled 1."""
        return self._n_positives

    @property
    def score_quantiles(self) -> FloatArray:
        """The 101 percentiles of the calibration scores, each a score that occurred."""
        return self._table.quantiles

    @property
    def cells(self) -> Cells | None:
        """Rows and positives in cells: the percents of the scores, the outer ones cut.

        None if the rule is of a file of an earlier version, or of a diagram with
        weights that are no numbers of rows.
        """
        return self._cells

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The user's own tags, as given to `save`; read-only."""
        return self._metadata

    def bounds(self, scores: ArrayLike, *, n_threads: int = 1) -> FloatArray:
        """Return the lower and upper probability of each score.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Real numbers, ±inf allowed, NaN refused.
        n_threads : int, default=1
            Threads that share the rows, if there are many.

        Returns
        -------
        ndarray of shape (n, 2)
            Columns lower and upper. Not a confidence interval; see the class.
        """
        return looked_up(scores, self._table, n_threads)

    def probability(
        self, scores: ArrayLike, loss: str = "log", *, n_threads: int = 1
    ) -> FloatArray:
        """Return one probability for each score: the bounds merged by minimax.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Real numbers, ±inf allowed, NaN refused.
        loss : {"log", "brier"}, default="log"
            The loss whose worst excess over the better bound is made smallest.
        n_threads : int, default=1
            Threads that share the rows, if there are many.

        Returns
        -------
        ndarray of shape (n,)
            Between the bounds. No guarantee of calibration is proven for it.
        """
        validation.check_choice(loss, merging.LOSSES, "loss")
        lower, upper = self.bounds(scores, n_threads=n_threads).T
        return merging.MINIMAX[loss](lower, upper)

    def save(
        self,
        path: str | os.PathLike[str],
        metadata: Mapping[str, str | float | bool | None] | None = None,
    ) -> None:
        """Write the rule to a file; an existing one is replaced at once or not at all.

        Parameters
        ----------
        path : path-like
            Any name; `.abers` is usual.
        metadata : mapping, default=None
            Tags of your own (model, date, …), added to those that the rule has.
        """
        from abers.storage import rules

        rules.save_rule(self, path, metadata)

    def with_metadata(self, metadata: Mapping[str, str | float | bool | None]) -> Rule:
        """Return the same rule with more tags; those of the same name are replaced.

        Parameters
        ----------
        metadata : mapping
            Tags of your own (model, date, …).

        Returns
        -------
        Rule
            It shares its arrays with this one.

        Examples
        --------
        >>> import abers
        >>> rule = abers.fit_rule([1, 2], [0, 1]).with_metadata({"model": "v7"})
        >>> dict(rule.metadata)
        {'model': 'v7'}
        """
        return Rule(
            self._table,
            n_observations=self._n_observations,
            n_positives=self._n_positives,
            increasing=self._increasing,
            metadata={**self._metadata, **metadata},
            cells=self._cells,
        )

    def with_prior(self, rate: float) -> Rule:
        """Return the rule for cases with another share of positives.

        It assumes that P(score | label) is what it was at calibration: only how many
        positives there are has changed, by under-sampling before the fit, say, or
        because the rule is used elsewhere. Nothing is guaranteed for the new bounds; a
        tag says so. Steps that rounding makes equal are dropped.

        Parameters
        ----------
        rate : float
            The share of positives among the cases to come, above 0 and below 1;
            `abers.estimate_prior` estimates it.

        Returns
        -------
        Rule
            With all odds multiplied by the ratio of the odds of the new rate and of the
            old one, which is that of the calibration rows, or of an earlier prior. It
            has no cells, so that `check` tests its mean only.

        Examples
        --------
        >>> import abers
        >>> rule = abers.fit_rule([1, 2, 3, 4], [0, 1, 0, 1])  # half are positive
        >>> rule.bounds([4])  # odds of 1 and infinity
        array([[0.5, 1. ]])
        >>> rule.with_prior(0.2).bounds([4])  # odds of 1/4
        array([[0.2, 1. ]])
        """
        new = validation.as_rate(rate, "rate")
        old = prior.base_rate(self._metadata, self._n_positives, self._n_observations)
        if new == old:
            return self
        lower, upper = (
            prior.adjusted(bound, old, new) for bound in (self.lower, self.upper)
        )
        changes = (np.diff(lower) != 0) | (np.diff(upper) != 0)
        kept = np.append(True, changes)  # the first piece is always kept
        tags = {prior.PRIOR_TAG: new, prior.GUARANTEE_TAG: prior.NO_GUARANTEE}
        return Rule(
            Table(
                self.thresholds[changes],
                lower[kept],
                upper[kept],
                self.score_quantiles.copy(),
            ),
            n_observations=self._n_observations,
            n_positives=self._n_positives,
            increasing=self._increasing,
            metadata={**self._metadata, **tags},
        )

    def with_cells(self, cells: Cells | None) -> Rule:
        """Return the same rule with other cells, or without.

        Parameters
        ----------
        cells : Cells or None
            Of the same calibration rows.

        Returns
        -------
        Rule
            It shares its arrays with this one.
        """
        return Rule(
            self._table,
            n_observations=self._n_observations,
            n_positives=self._n_positives,
            increasing=self._increasing,
            metadata=self._metadata,
            cells=cells,
        )

    def mirrored(self) -> Rule:
        """Return the rule of the other class: scores negated, labels exchanged.

        Returns
        -------
        Rule
            Its bounds of -score are one minus the upper and one minus the lower bound
            that this one has of the score. Without cells.

        Examples
        --------
        >>> import abers
        >>> rule = abers.fit_rule([1, 2, 3], [0, 1, 0])
        >>> rule.mirrored().bounds([-1])  # 1 - 1/2 and 1 - 0
        array([[0.5, 1. ]])
        """
        # No score is below a threshold of -inf, so that the piece before it is empty.
        first = int(self.thresholds[:1].tolist() == [-np.inf])
        # Piece j holds from its threshold on, its mirror image up to and with it.
        with np.errstate(over="ignore"):  # inf comes after the largest number
            thresholds = np.nextafter(-self.thresholds[first:][::-1], np.inf)
        return Rule(
            Table(
                thresholds,
                1 - self.upper[first:][::-1],
                1 - self.lower[first:][::-1],
                0.0 - self.score_quantiles[::-1],
            ),
            n_observations=self._n_observations,
            n_positives=self._n_observations - self._n_positives,
            increasing=self._increasing,
            metadata=self._metadata,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rule):
            return NotImplemented
        return (
            all(
                np.array_equal(getattr(self, name), getattr(other, name))
                for name in _ARRAYS
            )
            and self._n_observations == other._n_observations
            and self._n_positives == other._n_positives
            and self._increasing == other._increasing
            and typed_tags(self.metadata) == typed_tags(other.metadata)
            and _are_equal(self._cells, other._cells)
        )

    def __hash__(self) -> int:
        return hash((self.thresholds.tobytes(), self.upper.tobytes(), self._increasing))

    def __copy__(self) -> Rule:
        return self

    def __deepcopy__(self, memo: object) -> Rule:
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Return arrays, numbers and text alone, as every serializer can write them."""
        cells = self._cells or (None,) * len(_CELLS)
        return {
            **{name: np.array(getattr(self, name)) for name in _ARRAYS},
            **dict(zip(_CELLS, cells, strict=True)),
            "n_observations": self._n_observations,
            "n_positives": self._n_positives,
            "increasing": self._increasing,
            "metadata": dict(self._metadata),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Become the rule of a state; one that no rule can have is refused."""
        validation.check_state(state, (*_ARRAYS, *_CELLS, *_FACTS), "Rule")
        thresholds, lower, upper, quantiles = (
            validation.as_scores(state[name], name) for name in _ARRAYS
        )
        validation.check_length(
            lower.size, thresholds.size + 1, "lower bounds", "pieces"
        )
        validation.as_bounds(lower, upper)
        validation.check_ascending(thresholds, "thresholds")
        validation.check_ascending(quantiles, "score_quantiles", ties=True)
        rows = (state["n_observations"], state["n_positives"])
        validation.as_weights(rows, 2, "n_observations and n_positives", "numbers")
        Rule.__init__(
            self,
            Table(thresholds, lower, upper, quantiles),
            n_observations=state["n_observations"],
            n_positives=state["n_positives"],
            increasing=validation.as_flag(state["increasing"], "increasing"),
            metadata=state["metadata"],
            cells=_restored_cells(state),
        )

    def __repr__(self) -> str:
        direction = "" if self._increasing else ", decreasing"
        return (
            f"Rule({self._n_observations} observations, {self._n_positives} positive, "
            f"{self.lower.size} pieces{direction})"
        )


def looked_up(scores: ArrayLike, table: Table, n_threads: int) -> FloatArray:
    """Return the lower and upper bound of each score; refuse missing ones."""
    s = validation.as_scores(scores)
    out = np.empty((s.size, 2))
    missing, first = table.bounds(s, out, validation.as_threads(n_threads))
    if missing:
        validation.refuse_missing_scores(missing, first, s.size, purpose="predicting")
    return out


def typed_tags(metadata: Mapping[str, Any]) -> list[tuple[str, type, Any]]:
    """List tags so that 1, 1.0 and True differ, as they do in a file."""
    return sorted((key, type(tag), tag) for key, tag in metadata.items())


def _restored_cells(state: dict[str, Any]) -> Cells | None:
    """Return the cells of a state, None if it has none."""
    cuts, counts, positives, squares = (state[name] for name in _CELLS)
    if counts is None:
        return None
    cuts = validation.as_scores(cuts, "cell_cuts")
    validation.check_ascending(cuts, "cell_cuts")
    size = cuts.size + 1
    validation.as_weights(counts, size, "cell_counts", "cells")
    validation.as_weights(positives, size, "cell_positives", "cells")
    if squares is not None:
        validation.as_weights(squares, size, "cell_squares", "cells")
    return Cells(cuts, counts, positives, squares)


def _are_equal(mine: Cells | None, theirs: Cells | None) -> bool:
    """Compare cells where both are known; they add nothing to bounds."""
    if mine is None or theirs is None:
        return True
    return all(map(np.array_equal, mine[:3], theirs[:3]))
