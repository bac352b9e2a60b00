"""The diagram: what a calibration set is once its order is all that matters.

Beside it, what else is counted of calibration rows: the rows of each class in order,
the rows in cells of the score, which a rule keeps, and hashes that tell rows apart.
"""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from abers import _kernel, validation
from abers.core.fitted import (
    Contents,
    Fitted,
    are_tags,
    checked_tags,
    contents_of,
    flaw_of,
    frozen,
    is_ascending,
    stored,
)
from abers.errors import InvalidScores, InvalidWeights

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import ArrayLike, NDArray

    from abers.core.fitted import Arrays, Facts
    from abers.validation import FloatArray, IntArray

PERCENTS = np.arange(101)


class Classes(NamedTuple):
    """Sorted scores of the observations labelled 0 and of those labelled 1."""

    zeros: FloatArray
    ones: FloatArray


def sorted_classes(scores: object, labels: object) -> Classes:
    """Check observations of weight one, split them by label, sort each class."""
    s = validation.as_calibration_scores(scores)
    y = validation.as_labels(labels)
    validation.check_length(y.size, s.size, "labels", "scores")
    out = np.empty(s.size)
    n_zeros, n_missing, first_missing, n_bad, first_bad = _kernel.split_by_label(
        s, y, out
    )
    if n_missing:
        validation.refuse_missing_scores(
            n_missing, first_missing, s.size, purpose="calibrating"
        )
    if n_bad:
        validation.refuse_bad_labels(y, n_bad, first_bad)
    classes = Classes(out[:n_zeros], out[n_zeros:])
    for part in classes:
        # Scores that come in order, from a database say, cost one look at each; in
        # others the look ends at the first that is not.
        if not _kernel.is_ascending(part):
            part.sort()
    return classes


def percentile_ranks(total: int) -> IntArray:
    """Ranks, from 1, of the 101 percentiles: the least r with r >= q * total."""
    return np.maximum(1, -(-PERCENTS * total // 100))


class Diagram(Fitted):
    """Weights per distinct score: the increments of the paper's CSD, eq. (1).

    A diagram is all that a rule needs of a calibration set. Diagrams of parts add
    up to the diagram of the whole, so a calibration set may be counted day by day or
    shard by shard. Make one with `from_observations` or `from_counts`; counts that
    are in order already may be given as they are, and are checked and copied.

    Parameters
    ----------
    scores : array-like of shape (k,)
        The distinct scores, ascending.
    negatives, positives : array-like of shape (k,)
        Weight of the rows labelled 0 and 1 at each score; kept as int64 if all are
        integers, else as float64.
    metadata : mapping, default=None
        The user's own tags; not compared, and not kept by `+`.

    Examples
    --------
    >>> import abers
    >>> monday = abers.Diagram.from_observations([1, 2, 2], [0, 1, 0])
    >>> tuesday = abers.Diagram.from_counts([2, 3], counts=[1, 4], positives=[1, 0])
    >>> both = monday + tuesday
    >>> both.scores, both.counts, both.positives
    (array([1., 2., 3.]), array([1, 3, 4]), array([0, 2, 0]))
    >>> both == abers.Diagram([1, 2, 3], negatives=[1, 1, 4], positives=[0, 2, 0])
    True
    """

    __slots__ = ("metadata", "negatives", "positives", "scores")
    KIND: ClassVar = "diagram"
    ARRAYS: ClassVar = {"negatives": "fi", "positives": "fi", "scores": "f"}
    FACTS: ClassVar = {"metadata": are_tags}

    scores: FloatArray  # s'_1 < … < s'_k'
    negatives: IntArray | FloatArray  # w_j (1 - y'_j)
    positives: IntArray | FloatArray  # w_j y'_j
    metadata: Mapping[str, Any]

    def __init__(
        self,
        scores: ArrayLike,
        negatives: ArrayLike,
        positives: ArrayLike,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        columns = _checked(scores, negatives, positives)
        self._set(*columns, checked_tags(metadata))

    @classmethod
    def from_observations(
        cls,
        scores: ArrayLike,
        labels: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
    ) -> Diagram:
        """Count observations; rows of weight 0 are left out.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Real numbers, ±inf allowed.
        labels : array-like of shape (n,)
            0 or 1, or bool.
        sample_weight : array-like of shape (n,), default=None
            An observation of weight w counts as w observations.
        """
        if sample_weight is None:
            columns = _kernel.merge_classes(*sorted_classes(scores, labels))
            return trusted_diagram(*columns)
        s = validation.as_calibration_scores(scores)
        y = validation.as_labels(labels)
        w = validation.as_weights(sample_weight, s.size)
        validation.check_total(w, "sample_weight")
        validation.check_length(y.size, s.size, "labels", "scores")
        kept = w > 0
        _refuse_missing(s, kept)
        bad = kept & (y != 0) & (y != 1)
        if bad.any():
            validation.refuse_bad_labels(y, int(bad.sum()), int(bad.argmax()))
        s, w, one = s[kept], w[kept], y[kept] == 1
        return cls._pooled(s, np.where(one, 0.0, w), np.where(one, w, 0.0))

    @classmethod
    def from_counts(
        cls, scores: ArrayLike, counts: ArrayLike, positives: ArrayLike
    ) -> Diagram:
        """Take counts that somebody else has made, say by GROUP BY score.

        Parameters
        ----------
        scores : array-like of shape (n,)
            In any order; equal scores are added up.
        counts, positives : array-like of shape (n,)
            Observations at each score, and how many of them are labelled 1.
        """
        s = validation.as_calibration_scores(scores)
        total = validation.as_weights(counts, s.size, "counts")
        ones = validation.as_weights(positives, s.size, "positives")
        validation.check_total(total, "counts")
        if (ones > total).any():
            row = int((ones > total).argmax())
            msg = (
                "positives must not exceed counts; "
                f"got {ones[row].item()!r} of {total[row].item()!r} at row {row}."
            )
            raise InvalidWeights(msg)
        kept = total > 0
        _refuse_missing(s, kept)
        return cls._pooled(s[kept], (total - ones)[kept], ones[kept])

    @classmethod
    def sum(cls, diagrams: Iterable[Diagram]) -> Diagram:
        """Add diagrams up, all at once: the diagram of all observations.

        Parameters
        ----------
        diagrams : iterable of Diagram
            At least one.

        Examples
        --------
        >>> import abers
        >>> days = [abers.Diagram.from_observations([1, 2], [0, 1]) for _ in range(7)]
        >>> abers.Diagram.sum(days).counts
        array([7, 7])
        """
        parts = list(diagrams)
        if not parts:
            msg = "diagrams must not be empty; got none to add up."
            raise InvalidWeights(msg)
        for place, part in enumerate(parts):
            validation.check_type(part, Diagram, f"diagrams[{place}]")
        parts = [part for part in parts if part.scores.size] or parts[:1]
        if len(parts) == 1:
            return parts[0]
        if sum(_whole_total(part) for part in parts) < validation.LARGEST_EXACT_INTEGER:
            runs = zip(
                *((p.scores, p.negatives, p.positives) for p in parts), strict=True
            )
            scores, zeros, ones = _kernel.merge_runs(*map(list, runs))
            # The kernel's 64 bits are "long long", which numpy shows by its name.
            return trusted_diagram(scores, zeros.view(np.int64), ones.view(np.int64))
        columns = [
            np.concatenate([getattr(part, name) for part in parts], dtype=np.float64)
            for name in ("scores", "negatives", "positives")
        ]
        validation.check_total(columns[1] + columns[2], "counts")
        return cls._pooled(*columns)

    @classmethod
    def _pooled(
        cls,
        scores: FloatArray,
        negatives: FloatArray,
        positives: FloatArray,
    ) -> Diagram:
        """Sort, and add up what lies at equal scores."""
        order = np.argsort(scores, kind="stable")
        s = scores[order] + 0.0  # one kind of zero
        first = np.flatnonzero(np.concatenate(([True], s[1:] != s[:-1])))
        zeros, ones = (
            np.add.reduceat(mass[order], first) for mass in (negatives, positives)
        )
        return trusted_diagram(s[first], *_exact_if_possible(zeros, ones))

    def __add__(self, other: Diagram) -> Diagram:
        """Count both calibration sets together."""
        if not isinstance(other, Diagram):
            return NotImplemented
        return Diagram.sum((self, other))

    def __setattr__(self, name: str, value: object) -> None:
        msg = f"a Diagram never changes; {name} cannot be set."
        raise AttributeError(msg)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Diagram):
            return NotImplemented
        return all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in Diagram.ARRAYS
        )

    def __hash__(self) -> int:
        return hash((self.scores.tobytes(), self.n_observations, self.n_positives))

    def __repr__(self) -> str:
        return (
            f"Diagram({self.scores.size} scores, {self.n_observations} observations, "
            f"{self.n_positives} positive)"
        )

    def _contents(self) -> Contents:
        arrays = {name: stored(getattr(self, name)) for name in Diagram.ARRAYS}
        return Contents({"metadata": dict(self.metadata)}, arrays)

    def _restore(self, facts: Facts, arrays: Arrays) -> None:
        counts = arrays["negatives"], arrays["positives"]
        self._set(arrays["scores"], *counts, facts["metadata"])

    @classmethod
    def _flaw(cls, facts: Facts, arrays: Arrays) -> str | None:  # noqa: ARG003
        scores, negatives, positives = (
            arrays[name] for name in ("scores", "negatives", "positives")
        )
        if not scores.size == negatives.size == positives.size > 0:
            return "its arrays are not equally long, or empty"
        if not is_ascending(scores):
            return "its scores are not ascending"
        if not are_weights(negatives, positives):
            return "its weights are not those of a calibration set"
        return None

    def _set(
        self,
        scores: FloatArray,
        negatives: IntArray | FloatArray,
        positives: IntArray | FloatArray,
        metadata: Mapping[str, Any],
    ) -> None:
        """Take arrays that are known to be those of a diagram, without a copy."""
        columns = {"scores": scores, "negatives": negatives, "positives": positives}
        for name, array in columns.items():
            object.__setattr__(self, name, frozen(array))
        object.__setattr__(self, "metadata", MappingProxyType(dict(metadata)))

    @property
    def counts(self) -> IntArray | FloatArray:
        """Weight at each score, whatever the label."""
        return np.add(self.negatives, self.positives)

    @property
    def is_exact(self) -> bool:
        """Whether all weights are integers, so that a rule is exact to the last bit."""
        return self.negatives.dtype.kind == self.positives.dtype.kind == "i"

    @property
    def n_observations(self) -> int | float:
        """Total weight: the number of observations if they all weigh 1."""
        total: int | float = self.counts.sum().item()
        return total

    @property
    def n_positives(self) -> int | float:
        """Total weight of the observations labelled 1."""
        total: int | float = self.positives.sum().item()
        return total

    @property
    def score_quantiles(self) -> FloatArray:
        """The 101 percentiles of the scores, each a score that occurs."""
        cumulated = np.cumsum(self.counts)
        total = cumulated[-1]
        ranks = percentile_ranks(total) if self.is_exact else PERCENTS / 100 * total
        places = places_of(cumulated, ranks)
        places[-1] = self.scores.size - 1  # small weights may be lost in the sums
        return self.scores[places]


def trusted_diagram(
    scores: FloatArray,
    negatives: IntArray | FloatArray,
    positives: IntArray | FloatArray,
    metadata: Mapping[str, Any] | None = None,
) -> Diagram:
    """Make a diagram of arrays that are known to be one, unchecked and uncopied."""
    made = object.__new__(Diagram)
    made._set(scores, negatives, positives, metadata or {})
    return made


# Several diagrams in one state or file stand end to end.
ARRAYS_END_TO_END = {**Diagram.ARRAYS, "sizes": "i"}


def end_to_end(diagrams: Iterable[Diagram | None]) -> Arrays:
    """Return the arrays of all diagrams, one after the other, and their sizes."""
    parts = list(diagrams)
    empty = {name: np.empty(0, np.int64) for name in Diagram.ARRAYS} | {
        "scores": np.empty(0)
    }
    columns = [empty if d is None else contents_of(d).arrays for d in parts]
    joined = {
        name: np.concatenate([column[name] for column in columns]) for name in empty
    }
    sizes = [column["scores"].size for column in columns]
    return {**joined, "sizes": np.array(sizes, dtype=np.int64)}


def cut_apart(arrays: Arrays) -> list[Diagram | None]:
    """Return the diagrams that stand end to end, None where one is empty."""
    stops = np.cumsum(arrays["sizes"])[:-1]
    names = ("scores", "negatives", "positives")
    pieces = zip(*(np.split(arrays[name], stops) for name in names), strict=True)
    return [
        # Beside a part with real weights, whole ones are stored as floats.
        trusted_diagram(scores, *_exact_if_possible(zeros, ones))
        if scores.size
        else None
        for scores, zeros, ones in pieces
    ]


def flaw_of_parts(arrays: Arrays) -> str | None:
    """Say why diagrams cannot stand end to end like this, if so."""
    sizes = arrays["sizes"]
    n_scores = arrays["scores"].size
    fit = ((sizes >= 0) & (sizes <= n_scores)).all()  # a sum of others may overflow
    if not (sizes.size and fit and sizes.sum() == n_scores):
        return "its sizes are not those of its arrays"
    if len({arrays[name].size for name in Diagram.ARRAYS}) > 1:
        return "its arrays are not equally long"
    if (arrays["negatives"] < 0).any() or (arrays["positives"] < 0).any():
        return "its weights are not those of a calibration set"
    parts = cut_apart(arrays)
    for part in parts:
        if part is not None and (flaw := flaw_of(Diagram, contents_of(part))):
            return flaw
    written = end_to_end(parts)
    if any(arrays[name].dtype != written[name].dtype for name in written):
        return "its weights are integers and are not stored so"
    with np.errstate(over="ignore"):
        total = sum(part.n_observations for part in parts if part is not None)
    return None if total < math.inf else "its weights are beyond all numbers in all"


def _checked(
    scores: object, negatives: object, positives: object
) -> tuple[FloatArray, IntArray | FloatArray, IntArray | FloatArray]:
    """Return copies of what a user calls a diagram, if it is one."""
    s = validation.as_calibration_scores(scores) + 0.0  # a copy, with one kind of zero
    _refuse_missing(s, np.ones(s.size, dtype=np.bool_))
    falling = ~(s[1:] > s[:-1])
    if falling.any():
        row = int(falling.argmax()) + 1
        msg = (
            "scores must be distinct and ascending; "
            f"got {s[row].item()!r} at row {row}, after {s[row - 1].item()!r}. "
            "Diagram.from_counts takes them in any order."
        )
        raise InvalidScores(msg)
    zeros = validation.as_weights(negatives, s.size, "negatives") + 0.0
    ones = validation.as_weights(positives, s.size, "positives") + 0.0
    with np.errstate(over="ignore"):
        total = zeros + ones
    validation.check_total(total, "negatives and positives")
    if not total.all():
        row = int((total == 0).argmax())
        msg = (
            "negatives and positives must not both be zero at a score; "
            f"they are at row {row}. Leave that score out."
        )
        raise InvalidWeights(msg)
    return s, *_exact_if_possible(zeros, ones)


def _whole_total(diagram: Diagram) -> float:
    """Return the number of rows; infinity if weights are none."""
    if not diagram.is_exact:
        return math.inf
    total: int = (diagram.negatives.sum() + diagram.positives.sum()).item()
    return total


def _refuse_missing(scores: FloatArray, kept: NDArray[np.bool_]) -> None:
    missing = kept & np.isnan(scores)
    if missing.any():
        validation.refuse_missing_scores(
            int(missing.sum()),
            int(missing.argmax()),
            scores.size,
            purpose="calibrating",
        )


def _exact_if_possible(
    negatives: FloatArray, positives: FloatArray
) -> tuple[IntArray, IntArray] | tuple[FloatArray, FloatArray]:
    """Return both as integers if they are, and quotients of them are rounded once."""
    with np.errstate(over="ignore"):
        total = negatives.sum() + positives.sum()
    if _are_whole(negatives, positives, total.item()):
        return negatives.astype(np.int64), positives.astype(np.int64)
    return negatives, positives


def are_weights(negatives: NDArray[Any], positives: NDArray[Any]) -> bool:
    """Tell whether these are weights, held as integers if they can be."""
    if (negatives < 0).any() or (positives < 0).any():
        return False
    with np.errstate(over="ignore"):
        total = negatives.sum(dtype=np.float64) + positives.sum(dtype=np.float64)
    return bool(
        negatives.dtype == positives.dtype
        and ((negatives > 0) | (positives > 0)).all()
        and total < math.inf
        and _are_whole(negatives, positives, total) == (negatives.dtype == np.int64)
    )


def _are_whole(negatives: NDArray[Any], positives: NDArray[Any], total: float) -> bool:
    """Tell whether weights are integers, and quotients of them are rounded once.

    That is so while the total and the test object together do not exceed 2**53.
    """
    return bool(
        total < validation.LARGEST_EXACT_INTEGER
        and (negatives == np.floor(negatives)).all()
        and (positives == np.floor(positives)).all()
    )


def places_of(
    cumulated: NDArray[Any], ranks: IntArray | FloatArray
) -> NDArray[np.intp]:
    """Return the first places up to which there is as much weight as each rank."""
    places = np.searchsorted(cumulated, ranks, side="left")
    return np.minimum(places, cumulated.size - 1)
