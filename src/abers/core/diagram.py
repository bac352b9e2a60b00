"""The diagram: counts per distinct score, all that a rule needs of its rows.

The rows of each class in ascending order are computed here, too: a fit in memory starts
from them, without counting first.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from abers import _kernel, validation
from abers.core.fitted import (
    Contents,
    Fitted,
    Layout,
    are_tags,
    checked_tags,
    contents_of,
    flaw_of,
    frozen,
    is_ascending,
    stored,
)
from abers.core.units import (
    ONE,
    Units,
    canonical,
    common_scale,
    is_scale,
    magnitudes,
    rescaled,
    scale_for,
    shown,
    total_text,
    units,
    units_of_counts,
)
from abers.errors import InvalidData

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from fractions import Fraction

    from numpy.typing import ArrayLike, NDArray

    from abers.core.fitted import Arrays, Facts
    from abers.validation import FloatArray, IntArray

PERCENTS = np.arange(101)
ARRAYS = {"negatives": "i", "positives": "i", "scores": "f"}  # in units


class Classes(NamedTuple):
    """Sorted scores of the rows labelled 0 and of those labelled 1."""

    zeros: FloatArray
    ones: FloatArray


def sorted_classes(scores: object, labels: object) -> Classes:
    """Check rows of weight one, split them by label, sort each class."""
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
        # Scores that arrive sorted, from a database say, cost one look at each; in
        # others, the look ends at the first that is out of order.
        if not _kernel.is_ascending(part):
            part.sort()
    return classes


def percentile_ranks(total: int) -> IntArray:
    """Return the ranks, from 1, of the 101 percentiles: the least r >= q * total."""
    return np.maximum(1, -(-PERCENTS * total // 100))


class Diagram(Fitted):
    """Weights per distinct score: the increments of the paper's CSD, eq. (1).

    A diagram is all that a rule needs of a calibration set. Diagrams of parts add up to
    the diagram of the whole, so a calibration set can be counted day by day or shard by
    shard. Make one with `from_rows` or `from_counts`. Counts that are already in order
    may be passed directly; they are checked and copied.

    Weights that are not all whole are rounded once, to multiples of ``2**-scale``, as
    fine as their total allows; everything after that is exact. Whole weights have scale
    0.

    Parameters
    ----------
    scores : array-like of shape (k,)
        The distinct scores, ascending.
    negatives, positives : array-like of shape (k,)
        Weight of the rows labelled 0 and 1 at each score. A score whose weights are
        negligible next to the others is dropped.
    metadata : mapping, default=None
        Your own tags; not compared, and not kept by `+`.

    Examples
    --------
    >>> import abers
    >>> monday = abers.rules.Diagram.from_rows([1, 2, 2], [0, 1, 0])
    >>> tuesday = abers.rules.Diagram.from_counts([2, 3], [1, 4], positives=[1, 0])
    >>> both = monday + tuesday
    >>> both.scores, both.counts, both.positives
    (array([1., 2., 3.]), array([1, 3, 4]), array([0, 2, 0]))
    >>> both == abers.rules.Diagram([1, 2, 3], negatives=[1, 1, 4], positives=[0, 2, 0])
    True
    """

    __slots__ = ("scores", "units")
    _layout: ClassVar = Layout(
        "diagram", arrays=ARRAYS, facts={"metadata": are_tags, "scale": is_scale}
    )

    scores: FloatArray  # s'_1 < … < s'_k'
    units: Units  # in canonical form

    def __init__(
        self,
        scores: ArrayLike,
        negatives: ArrayLike,
        positives: ArrayLike,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        s, masses = _as_scores_and_masses(scores, negatives, positives)
        self._set(*_canonical(s, masses), checked_tags(metadata))

    @classmethod
    def from_rows(
        cls,
        scores: ArrayLike,
        labels: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
    ) -> Diagram:
        """Count the rows; those of weight 0 are dropped.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Real numbers, ±inf allowed.
        labels : array-like of shape (n,)
            0 or 1, or bool.
        sample_weight : array-like of shape (n,), default=None
            A row of weight w counts as w rows.
        """
        if sample_weight is None:
            return diagram_of_classes(sorted_classes(scores, labels))
        s, one, w = weighted_rows(scores, labels, sample_weight)
        return diagram_of_rows(s, one, w, scale_for(magnitudes(w)))

    @classmethod
    def from_counts(
        cls, scores: ArrayLike, counts: ArrayLike, positives: ArrayLike
    ) -> Diagram:
        """Make a diagram from existing counts, for example those of GROUP BY score.

        Parameters
        ----------
        scores : array-like of shape (n,)
            In any order; counts of equal scores are added.
        counts, positives : array-like of shape (n,)
            Rows at each score, and how many of them are labelled 1.
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
            raise InvalidData(msg)
        kept = total > 0
        validation.check_scores(s, kept)
        columns = s[kept], total[kept], ones[kept]
        scale = scale_for(magnitudes(*columns[1:]), "counts")
        return diagram_of_counts(*columns, scale)

    @classmethod
    def sum(cls, diagrams: Iterable[Diagram]) -> Diagram:
        """Add several diagrams at once.

        Parameters
        ----------
        diagrams : iterable of Diagram
            At least one.

        Examples
        --------
        >>> import abers
        >>> days = [abers.rules.Diagram.from_rows([1, 2], [0, 1]) for _ in range(7)]
        >>> abers.rules.Diagram.sum(days).counts
        array([7, 7])
        """
        parts = list(diagrams)
        if not parts:
            msg = "diagrams must not be empty; got none to add up."
            raise InvalidData(msg)
        for place, part in enumerate(parts):
            validation.check_type(part, Diagram, f"diagrams[{place}]")
        parts = [part for part in parts if part.scores.size] or parts[:1]
        if len(parts) == 1:
            return parts[0]
        scale = common_scale([part.units for part in parts])
        masses = [rescaled(part.units, scale) for part in parts]
        scores, zeros, ones = _kernel.merge_runs(
            [part.scores for part in parts],
            [each.negatives for each in masses],
            [each.positives for each in masses],
        )
        # The kernel's 64-bit type is "long long"; numpy shows it under that name.
        summed = Units(zeros.view(np.int64), ones.view(np.int64), scale)
        return _trusted(*_canonical(scores, summed))

    def __add__(self, other: Diagram) -> Diagram:
        """Return the diagram of both calibration sets together."""
        if not isinstance(other, Diagram):
            return NotImplemented
        return Diagram.sum((self, other))

    def __setattr__(self, name: str, value: object) -> None:
        msg = f"a Diagram never changes; {name} cannot be set."
        raise AttributeError(msg)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Diagram):
            return NotImplemented
        return self.scale == other.scale and all(
            np.array_equal(mine, theirs)
            for mine, theirs in zip(self._arrays(), other._arrays(), strict=True)
        )

    def __hash__(self) -> int:
        return hash((self.scores.tobytes(), self.n_rows, self.n_positives))

    def __repr__(self) -> str:
        return (
            f"Diagram({self.scores.size} scores, {total_text(self.n_rows)} rows, "
            f"{total_text(self.n_positives)} positive)"
        )

    def _arrays(self) -> tuple[FloatArray, IntArray, IntArray]:
        return self.scores, self.units.negatives, self.units.positives

    def _contents(self) -> Contents:
        scores, negatives, positives = self._arrays()
        arrays = {
            "negatives": stored(negatives),
            "positives": stored(positives),
            "scores": stored(scores),
        }
        facts = {"metadata": dict(self.metadata), "scale": self.scale}
        return Contents(facts, arrays)

    def _restore(self, facts: Facts, arrays: Arrays) -> None:
        masses = Units(arrays["negatives"], arrays["positives"], facts["scale"])
        self._set(arrays["scores"], masses, facts["metadata"])

    @classmethod
    def _flaw(cls, facts: Facts, arrays: Arrays) -> str | None:
        scores, negatives, positives = (
            arrays[name] for name in ("scores", "negatives", "positives")
        )
        if not scores.size == negatives.size == positives.size > 0:
            return "its arrays are not equally long, or empty"
        if not is_ascending(scores):
            return "its scores are not ascending"
        masses = Units(negatives, positives, facts["scale"])
        if not are_weights(negatives, positives, 2**masses.scale):
            return "its weights are not those of a calibration set"
        if canonical(masses).scale < masses.scale:
            return "its weights are not in the largest unit that they have in common"
        return None

    def _set(
        self, scores: FloatArray, masses: Units, metadata: Mapping[str, Any]
    ) -> None:
        """Take the arrays of a diagram without a check or a copy."""
        for array in (scores, masses.negatives, masses.positives):
            frozen(array)
        object.__setattr__(self, "scores", scores)
        object.__setattr__(self, "units", masses)
        object.__setattr__(self, "_metadata", MappingProxyType(dict(metadata)))

    @property
    def scale(self) -> int:
        """Weights are multiples of 2**-scale; 0 if all are whole."""
        return self.units.scale

    @property
    def negatives(self) -> IntArray | FloatArray:
        """Weight of the rows labelled 0 at each score."""  # w_j (1 - y'_j)
        return frozen(shown(self.units.negatives, self.scale))

    @property
    def positives(self) -> IntArray | FloatArray:
        """Weight of the rows labelled 1 at each score."""  # w_j y'_j
        return frozen(shown(self.units.positives, self.scale))

    @property
    def counts(self) -> IntArray | FloatArray:
        """Weight at each score, whatever the label."""
        return shown(self.units.negatives + self.units.positives, self.scale)

    @property
    def is_exact(self) -> bool:
        """Whether all weights are whole, so that none was rounded."""
        return self.scale == 0

    @property
    def n_rows(self) -> int | float:
        """Total weight: the number of rows if they all weigh 1."""
        return self._mass(self.units.total)

    @property
    def n_positives(self) -> int | float:
        """Total weight of the rows labelled 1."""
        return self._mass(int(self.units.positives.sum()))

    def _mass(self, units: int) -> int | float:
        return units / 2**self.scale if self.scale else units

    @property
    def score_quantiles(self) -> FloatArray:
        """The 101 percentiles of the scores, each a score that occurs."""
        cumulated = np.cumsum(self.units.negatives + self.units.positives)
        places = places_of(cumulated, percentile_ranks(cumulated[-1]))
        return self.scores[places]


def trusted_diagram(
    scores: FloatArray, negatives: IntArray, positives: IntArray, scale: int = 0
) -> Diagram:
    """Make a diagram of units known to be canonical, without a check or a copy."""
    return _trusted(scores, Units(negatives, positives, scale))


def _trusted(scores: FloatArray, masses: Units) -> Diagram:
    made = object.__new__(Diagram)
    made._set(scores, masses, {})
    return made


def diagram_of_classes(classes: Classes) -> Diagram:
    """Count rows of weight 1 that are sorted within each class."""
    return trusted_diagram(*_kernel.merge_classes(*classes))


def weighted_rows(
    scores: object, labels: object, sample_weight: object
) -> tuple[FloatArray, NDArray[np.bool_], FloatArray]:
    """Check rows; return scores, labels and weights of those with positive weight."""
    s = validation.as_calibration_scores(scores)
    y = validation.as_labels(labels)
    w = validation.as_weights(sample_weight, s.size)
    validation.check_total(w, "sample_weight")
    validation.check_length(y.size, s.size, "labels", "scores")
    kept = w > 0
    validation.check_scores_and_labels(s, y, kept)
    return s[kept], y[kept] == 1, w[kept]


def diagram_of_rows(
    scores: FloatArray, is_one: NDArray[np.bool_], weights: FloatArray, scale: int
) -> Diagram:
    """Count checked rows in units of 2**-scale; empty if every weight rounds to 0."""
    rounded = units(weights, scale)
    ones = np.where(is_one, rounded, 0)
    return _pooled(scores, Units(rounded - ones, ones, scale))


def diagram_of_counts(
    scores: FloatArray, counts: FloatArray, positives: FloatArray, scale: int
) -> Diagram:
    """Add checked counts in units of 2**-scale; empty if every weight rounds to 0."""
    return _pooled(scores, units_of_counts(counts, positives, scale))


def _pooled(scores: FloatArray, masses: Units) -> Diagram:
    """Sort by score, and add counts of equal scores."""
    order = np.argsort(scores)  # sums of integers do not depend on it
    s = scores[order] + 0.0  # one kind of zero
    first = np.flatnonzero(np.concatenate(([True], s[1:] != s[:-1])))
    zeros, ones = (
        np.add.reduceat(mass[order], first)
        for mass in (masses.negatives, masses.positives)
    )
    return _trusted(*_canonical(s[first], Units(zeros, ones, masses.scale)))


def _canonical(scores: FloatArray, masses: Units) -> tuple[FloatArray, Units]:
    """Drop scores whose units are 0, and make the others canonical."""
    if masses.scale:
        kept = (masses.negatives > 0) | (masses.positives > 0)
        if not kept.all():
            negatives, positives, scale = masses
            scores = scores[kept]
            masses = Units(negatives[kept], positives[kept], scale)
    return scores, canonical(masses)


# Several diagrams in one state or file are stored end to end.
ARRAYS_END_TO_END = {**ARRAYS, "scales": "i", "sizes": "i"}
NOTHING = trusted_diagram(np.empty(0), np.empty(0, np.int64), np.empty(0, np.int64))


def end_to_end(diagrams: Iterable[Diagram | None]) -> Arrays:
    """Return the arrays of all diagrams end to end, their scales and their sizes."""
    parts = [NOTHING if diagram is None else diagram for diagram in diagrams]
    columns = [contents_of(part).arrays for part in (*parts, NOTHING)]  # at least one
    joined = {
        name: np.concatenate([column[name] for column in columns]) for name in ARRAYS
    }
    scales = np.array([part.scale for part in parts], dtype=np.int64)
    sizes = np.array([part.scores.size for part in parts], dtype=np.int64)
    return {**joined, "scales": scales, "sizes": sizes}


def cut_apart(arrays: Arrays) -> list[Diagram | None]:
    """Return the diagrams that are stored end to end, None where one is empty."""
    stops = np.cumsum(arrays["sizes"])[:-1]
    names = ("scores", "negatives", "positives")
    pieces = (np.split(arrays[name], stops) for name in names)
    return [
        trusted_diagram(scores, zeros, ones, scale) if scores.size else None
        for scores, zeros, ones, scale in zip(
            *pieces, arrays["scales"].tolist(), strict=True
        )
    ]


def flaw_of_parts(arrays: Arrays, new_case: Fraction = ONE) -> str | None:
    """Return why diagrams cannot be stored end to end like this, or None."""
    sizes, scales = arrays["sizes"], arrays["scales"]
    n_scores = arrays["scores"].size
    fit = ((sizes >= 0) & (sizes <= n_scores)).all()  # the sum might overflow
    if not (sizes.size and fit and sizes.sum() == n_scores):
        return "its sizes are not those of its arrays"
    if len({arrays[name].size for name in ARRAYS}) > 1:
        return "its arrays are not equally long"
    if scales.size != sizes.size or scales[sizes == 0].any():
        return "its scales are not those of its parts"
    parts = [part for part in cut_apart(arrays) if part is not None]
    flaws = (flaw_of(Diagram, contents_of(part)) for part in parts)
    if flaw := next(filter(None, flaws), None):
        return flaw
    try:
        common_scale([part.units for part in parts], new_case=new_case)
    except InvalidData:
        return "its weights are too large in all"
    return None


def _as_scores_and_masses(
    scores: object, negatives: object, positives: object
) -> tuple[FloatArray, Units]:
    """Return scores and units, if these are valid contents of a diagram; else raise."""
    s = validation.as_calibration_scores(scores) + 0.0  # a copy, with one kind of zero
    validation.check_scores(s)
    falling = ~(s[1:] > s[:-1])
    if falling.any():
        row = int(falling.argmax()) + 1
        msg = (
            "scores must be distinct and ascending; "
            f"got {s[row].item()!r} at row {row}, after {s[row - 1].item()!r}. "
            "Diagram.from_counts takes them in any order."
        )
        raise InvalidData(msg)
    name = "negatives and positives"
    zeros = validation.as_weights(negatives, s.size, "negatives")
    ones = validation.as_weights(positives, s.size, "positives")
    masses = np.concatenate((zeros, ones))
    validation.check_total(masses, name)
    none = (zeros == 0) & (ones == 0)
    if none.any():
        row = int(none.argmax())
        msg = (
            "negatives and positives must not both be zero at a score; "
            f"they are at row {row}. Leave that score out."
        )
        raise InvalidData(msg)
    scale = scale_for(magnitudes(masses), name)
    return s, Units(units(zeros, scale), units(ones, scale), scale)


def are_weights(negatives: IntArray, positives: IntArray, new_case: int = 1) -> bool:
    """Return whether these are counts whose total with a new case is at most 2**53."""
    total = negatives.sum(dtype=np.float64) + positives.sum(dtype=np.float64)
    return bool(
        (negatives >= 0).all()
        and (positives >= 0).all()
        and ((negatives > 0) | (positives > 0)).all()
        and total <= validation.LARGEST_EXACT_INTEGER - new_case
    )


def places_of(
    cumulated: NDArray[Any], ranks: IntArray | FloatArray
) -> NDArray[np.intp]:
    """Return the first places where the cumulated weight reaches each rank."""
    places = np.searchsorted(cumulated, ranks, side="left")
    return np.minimum(places, cumulated.size - 1)
