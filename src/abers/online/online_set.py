"""An inductive Venn-Abers predictor whose calibration set changes all the time."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from abers import _kernel, validation
from abers.core import guarantees, merging
from abers.core.diagram import Diagram, are_weights, trusted_diagram
from abers.core.fit import rule_of_diagram
from abers.core.fitted import Contents, Layout, Stored, are_tags, is_ascending, is_flag
from abers.errors import InvalidData, InvalidParameter
from abers.validation import LARGEST_EXACT_INTEGER

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from abers.choices import LossName
    from abers.core.fitted import Arrays, Facts
    from abers.core.guarantees import Guarantee
    from abers.core.rule import Rule
    from abers.validation import FloatArray, IntArray


class Arrivals(NamedTuple):
    """Rows in order of arrival, counted by label."""

    scores: FloatArray
    negatives: IntArray
    positives: IntArray


def is_window(value: object) -> bool:
    """Return whether this is a valid number of rows to keep, or None for all."""
    return value is None or (type(value) is int and 0 < value < LARGEST_EXACT_INTEGER)


class OnlineVennAbers(Stored):
    """An inductive Venn-Abers predictor to which rows can be added and removed.

    After any number of changes, its bounds equal those of a rule fitted to the current
    rows, bit for bit; but a change costs microseconds, not a fit. The set may be empty:
    without rows the bounds are 0 and 1.

    Threads may share it, with or without the GIL: one changes it at a time, and the
    others wait. The set may change between two calls of a thread.

    Parameters
    ----------
    window : int, default=None
        How many rows are kept; when more come, the oldest are removed. None keeps all.
    increasing : bool, default=True
        Whether a higher score means a higher probability of label 1.

    Examples
    --------
    >>> import abers
    >>> online = abers.OnlineVennAbers()
    >>> online.add_many([1, 2, 3], [0, 1, 0]).bounds([2])
    array([[0.33333333, 0.66666667]])
    >>> online.add(2, 1).bounds([2])  # 2 of 4, and 3 of 4: blocks of 2 and 3
    array([[0.5 , 0.75]])
    >>> online.remove(2, 1).rule() == abers.fit_rule([1, 2, 3], [0, 1, 0])
    True
    """

    __slots__ = ("_alone", "_increasing", "_kept", "_metadata", "_rule", "_window")
    _layout: ClassVar = Layout(
        "calibration-set",
        # Counts at distinct scores; with a window, runs of arrivals, oldest first.
        arrays={"negatives": "i", "positives": "i", "scores": "f"},
        facts={"increasing": is_flag, "metadata": are_tags, "window": is_window},
    )

    def __init__(self, *, window: int | None = None, increasing: bool = True) -> None:
        self._window = None if window is None else validation.as_count(window, "window")
        if not is_window(self._window):
            msg = (
                "window must be at least 1 and below 2**53, or None to keep all; got "
                f"{self._window}."
            )
            raise InvalidParameter(msg)
        self._increasing = validation.as_flag(increasing, "increasing")
        self._kept = _kernel.Online(self._window or 0, self._increasing)
        self._rule: Rule | None = None
        self._metadata: dict[str, Any] = {}
        # A single call of the kernel is thread-safe; the lock is for two calls in a
        # row.
        self._alone = threading.Lock()

    @classmethod
    def from_rows(
        cls,
        scores: ArrayLike,
        labels: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        window: int | None = None,
        increasing: bool = True,
    ) -> OnlineVennAbers:
        """Start with a calibration set, oldest row first.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Real numbers, ±inf allowed, NaN refused.
        labels : array-like of shape (n,)
            0 or 1, or bool.
        sample_weight : array-like of shape (n,), default=None
            Integers: one of weight w counts as w rows.
        window : int, default=None
            How many rows are kept.
        increasing : bool, default=True
            Whether a higher score means a higher probability of label 1.

        Returns
        -------
        OnlineVennAbers
            With these rows, or the last `window` of them.
        """
        made = cls(window=window, increasing=increasing)
        return made.add_many(scores, labels, sample_weight=sample_weight)

    @classmethod
    def from_diagram(
        cls, diagram: Diagram, *, increasing: bool = True
    ) -> OnlineVennAbers:
        """Start with counts; no window, since a diagram has no order of arrival.

        Parameters
        ----------
        diagram : Diagram
            Its weights must be integers.
        increasing : bool, default=True
            Whether a higher score means a higher probability of label 1.

        Returns
        -------
        OnlineVennAbers
            With the rows of the diagram.
        """
        validation.check_type(diagram, Diagram, "diagram")
        if not diagram.is_exact:
            msg = "diagram must count rows; got weights that are not integers."
            raise InvalidData(msg)
        made = cls(increasing=increasing)
        negatives, positives, _ = diagram.units
        made._kept = _kernel.Online.of_counts(
            diagram.scores, negatives, positives, made._increasing
        )
        return made

    @property
    def window(self) -> int | None:
        """How many rows are kept; None for all."""
        return self._window

    @property
    def guarantee(self) -> Guarantee:
        """Whether one of the bounds is proven to be calibrated; if not, why."""
        return guarantees.PAIR

    @property
    def increasing(self) -> bool:
        """Whether a higher score means a higher probability."""
        return self._increasing

    @property
    def metadata(self) -> dict[str, Any]:
        """A copy of your own tags, as given to `save`."""
        return dict(self._metadata)

    @property
    def n_rows(self) -> int:
        """Number of rows kept."""
        return sum(self._kept.totals())

    @property
    def n_positives(self) -> int:
        """Number of rows labelled 1."""
        return self._kept.totals()[1]

    def __len__(self) -> int:
        return self.n_rows

    def add(self, score: float, label: int) -> OnlineVennAbers:
        """Add one row.

        Parameters
        ----------
        score : float
            A real number or ±inf.
        label : int or bool
            0 or 1.

        Returns
        -------
        OnlineVennAbers
            Itself.
        """
        if (one := _plain(score, label)) is None:
            return self.add_many([score], [label])
        with self._alone:
            self._check_room(1)
            self._kept.add(*one)
            self._rule = None
        return self

    def add_many(
        self,
        scores: ArrayLike,
        labels: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
    ) -> OnlineVennAbers:
        """Add rows in their order: all or none.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Real numbers, ±inf allowed, NaN refused.
        labels : array-like of shape (n,)
            0 or 1, or bool.
        sample_weight : array-like of shape (n,), default=None
            Integers: one of weight w counts as w rows.

        Returns
        -------
        OnlineVennAbers
            Itself.
        """
        self._add(arrivals_of(scores, labels, sample_weight))
        return self

    def remove(self, score: float, label: int) -> OnlineVennAbers:
        """Remove one row; of several equal rows, the oldest.

        Parameters
        ----------
        score : float
            As it was added.
        label : int or bool
            As it was added.

        Returns
        -------
        OnlineVennAbers
            Itself.

        Raises
        ------
        InvalidData
            If there is no such row; nothing is changed.
        """
        if (one := _plain(score, label)) is None:
            return self.remove_many([score], [label])
        with self._alone:
            if not self._kept.remove(*one):
                self._refuse_absent(*one)
            self._rule = None
        return self

    def remove_many(
        self,
        scores: ArrayLike,
        labels: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
    ) -> OnlineVennAbers:
        """Remove rows: all or none.

        Parameters
        ----------
        scores : array-like of shape (n,)
            As they were added, in any order.
        labels : array-like of shape (n,)
            As they were added.
        sample_weight : array-like of shape (n,), default=None
            How many rows of each to remove.

        Returns
        -------
        OnlineVennAbers
            Itself.

        Raises
        ------
        InvalidData
            If one of them is not there, or not that often; nothing is changed.
        """
        leaving = arrivals_of(scores, labels, sample_weight)
        if not leaving.scores.size:
            return self
        distinct = Arrivals(*_distinct(leaving))
        with self._alone:
            missing = self._kept.lacking(*distinct)
            if missing < distinct.scores.size:
                self._refuse_absent(*(column[missing].item() for column in distinct))
            self._kept.remove_many(*leaving)
            self._rule = None
        return self

    def bounds(self, scores: ArrayLike) -> FloatArray:
        """Return the current lower and upper probability of each score.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Real numbers, ±inf allowed, NaN refused.

        Returns
        -------
        ndarray of shape (n, 2)
            Columns lower and upper. Not a confidence interval; see `Rule`.
        """
        s = validation.as_scores(scores)
        validation.check_scores(s, purpose="predicting")
        if s.size > MANY and self.n_rows:
            return self.rule().bounds(s)
        out = np.empty((s.size, 2))
        self._kept.bounds(s + 0.0, out)
        return out

    def probability(self, scores: ArrayLike, loss: LossName = "log") -> FloatArray:
        """Return one probability for each score: the bounds merged by minimax.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Real numbers, ±inf allowed, NaN refused.
        loss : {"log", "brier"}, default="log"
            The loss for which the merge is minimax.

        Returns
        -------
        ndarray of shape (n,)
            Between the bounds. No guarantee of calibration is proven for it.
        """
        validation.check_choice(loss, merging.LOSSES, "loss")
        lower, upper = self.bounds(scores).T
        return merging.MINIMAX[loss](lower, upper)

    def diagram(self) -> Diagram:
        """Return the current rows, counted at each distinct score.

        Returns
        -------
        Diagram
            A copy, which later changes do not affect.
        """
        if not self.n_rows:
            msg = "an empty set has no diagram and no rule; add rows first."
            raise InvalidData(msg)
        return trusted_diagram(*self._kept.diagram())

    def rule(self) -> Rule:
        """Return the rule of the current rows.

        Returns
        -------
        Rule
            Equal to `fit_rule` of these rows; cached until the next change.
        """
        with self._alone:
            if self._rule is None:
                diagram = self.diagram()
                self._rule = rule_of_diagram(diagram, increasing=self._increasing)
            return self._rule

    def learn_one(self, x: float, y: int) -> None:
        """Add one row, with river's API.

        Parameters
        ----------
        x : float
            The score.
        y : int or bool
            The label.
        """
        self.add(x, y)

    def predict_proba_one(self, x: float) -> dict[bool, float]:
        """Return the probability of either label, with river's API.

        Parameters
        ----------
        x : float
            The score.

        Returns
        -------
        dict
            The log-minimax probability of True, and the rest for False.
        """
        positive = float(self.probability([x])[0])
        return {False: 1 - positive, True: positive}

    def __repr__(self) -> str:
        facts = [f"n_rows={self.n_rows}"]
        if self._window is not None:
            facts.append(f"window={self._window}")
        if not self._increasing:
            facts.append("increasing=False")
        return f"OnlineVennAbers({', '.join(facts)})"

    def _contents(self) -> Contents:
        facts = {
            "increasing": self._increasing,
            "metadata": dict(self._metadata),
            "window": self._window,
        }
        arrivals = self._kept_rows()
        arrays = arrivals if self._window is None else _without_repeats(arrivals)
        return Contents(facts, arrays._asdict())

    def _restore(self, facts: Facts, arrays: Arrays) -> None:
        OnlineVennAbers.__init__(
            self, window=facts["window"], increasing=facts["increasing"]
        )
        self._metadata = dict(facts["metadata"])
        arrivals = Arrivals(**arrays)
        if self._window is None:  # all at once
            self._kept = _kernel.Online.of_counts(*arrivals, self._increasing)
        else:
            self._add(arrivals)

    @classmethod
    def _flaw(cls, facts: Facts, arrays: Arrays) -> str | None:
        scores, negatives, positives = Arrivals(**arrays)
        if not scores.size == negatives.size == positives.size:
            return "its arrays are not equally long"
        if scores.size and not are_weights(negatives, positives):
            return "its counts are not those of rows"
        window = facts["window"]
        if window is None:
            return None if is_ascending(scores) else "its scores are not ascending"
        ones = positives > 0
        apart = (scores[1:] != scores[:-1]) | (ones[1:] != ones[:-1])
        if not (
            ((negatives > 0) != ones).all()
            and apart.all()
            and negatives.sum() + positives.sum() <= window
        ):
            return "its arrivals are not those of its window"
        return None

    def _kept_rows(self) -> Arrivals:
        """Return the current rows: at distinct scores, or in order of arrival."""
        arrivals = (
            self._kept.diagram() if self._window is None else self._kept.arrivals()
        )
        return Arrivals(*arrivals)

    def _add(self, arrivals: Arrivals) -> None:
        """Add rows that were checked."""
        count = int(arrivals.negatives.sum() + arrivals.positives.sum())
        with self._alone:
            self._check_room(count)
            self._kept.add_many(*arrivals)
            self._rule = None

    def _check_room(self, count: int) -> None:
        """Raise if a file could not hold this many rows."""
        if self.n_rows + count >= LARGEST_EXACT_INTEGER:
            msg = (
                "fewer than 2**53 rows can be kept; got "
                f"{count} to add to {self.n_rows}."
            )
            raise InvalidData(msg)

    def _refuse_absent(self, score: float, negatives: int, positives: int) -> None:
        """Raise an error that names the missing row."""
        wanted = f"{negatives} of label 0 and {positives} of label 1"
        msg = (
            f"only rows that were added can be removed; of score {score!r} "
            f"{wanted} should leave, but not so many are kept. Nothing was changed."
        )
        raise InvalidData(msg)


MANY = 1000  # scores that make it worth fitting a rule
REAL = int | float | np.integer | np.bool_


def _plain(score: object, label: object) -> tuple[float, int, int] | None:
    """Return one row as the kernel takes it, if no further checks are needed."""
    if not (isinstance(score, float) and isinstance(label, REAL)):
        return None
    if score != score or label not in (0, 1):  # noqa: PLR0124 (NaN)
        return None
    positive = 1 if label else 0
    return score + 0.0, 1 - positive, positive


def arrivals_of(
    scores: ArrayLike, labels: ArrayLike, sample_weight: ArrayLike | None
) -> Arrivals:
    """Return the rows with weights above 0, in order."""
    s, y = validation.as_scores(scores), validation.as_labels(labels)
    validation.check_length(y.size, s.size, "labels", "scores")
    counts = np.ones(s.size, dtype=np.int64)
    if sample_weight is not None:
        weights = validation.as_weights(sample_weight, s.size)
        if (weights != np.floor(weights)).any():
            row = int((weights != np.floor(weights)).argmax())
            msg = (
                f"sample_weight must be integers here; got {weights[row]} at row {row}."
                " Rows can come and go only as a whole."
            )
            raise InvalidData(msg)
        with np.errstate(over="ignore"):
            total = weights.sum()
        if total > LARGEST_EXACT_INTEGER:
            msg = f"sample_weight must add up to less than 2**53; got {total:.6g}."
            raise InvalidData(msg)
        counts = weights.astype(np.int64)
    kept = counts > 0
    validation.check_scores_and_labels(s, y, kept)
    s, counts, positive = s[kept] + 0.0, counts[kept], y[kept] == 1
    return Arrivals(s, counts * ~positive, counts * positive)


def _without_repeats(arrivals: Arrivals) -> Arrivals:
    """Merge consecutive equal arrivals into one: equal sets have equal bytes."""
    scores, negatives, positives = arrivals
    if not scores.size:
        return arrivals
    ones = positives > 0
    new = np.ones(scores.size, dtype=np.bool_)
    new[1:] = (scores[1:] != scores[:-1]) | (ones[1:] != ones[:-1])
    starts = np.flatnonzero(new)
    counts = (np.add.reduceat(column, starts) for column in (negatives, positives))
    return Arrivals(scores[starts], *counts)


def _distinct(arrivals: Arrivals) -> tuple[FloatArray, IntArray, IntArray]:
    """Count rows at each distinct score."""
    scores, at = np.unique(arrivals.scores, return_inverse=True)
    negatives, positives = (np.zeros(scores.size, dtype=np.int64) for _ in arrivals[1:])
    np.add.at(negatives, at, arrivals.negatives)
    np.add.at(positives, at, arrivals.positives)
    return scores, negatives, positives
