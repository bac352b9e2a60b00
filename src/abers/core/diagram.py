"""The diagram: what a calibration set is once its order is all that matters.

Beside it, what else is counted of calibration rows: the rows of each class in order,
the rows in cells of the score, which a rule keeps, and hashes that tell rows apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from abers import _kernel, validation
from abers.errors import InvalidScores, InvalidWeights

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping

    from numpy.typing import ArrayLike, NDArray

    from abers.validation import FloatArray, IntArray

    Hashes = NDArray[np.uint64]

PERCENTS = np.arange(101)
LEAST_OUTER_ROWS = 20  # of the outermost cell
# More rows see a drift of the scores within a cell: beyond 10**6 of them the percents
# are cut, too, up to ten times, so that a check stays as fast.
ROWS_FOR_FINER_CELLS = 10**6
MOST_CELLS_OF_A_PERCENT = 10
MOST_CUTS = 1_500  # of 2**53 rows there are fewer
SPACE = 2**64  # of the hashes of rows
# Two odd numbers keep a score's two labels apart, and 0.0 away from 0.
SALT = np.array([0x9E3779B97F4A7C15, 0xD1B54A32D192ED03], dtype=np.uint64)


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


def outer_ranks(total: int) -> IntArray:
    """Ranks, from 1, where cells begin besides the percentiles; in no order.

    The two outer cells hold scores that are far apart, so that a drift of the scores
    within them looks like a change of the labels. Each is cut into cells whose rows
    below (or above) the cut fall by factors of 2**(1/4), down to 20.

    >>> outer_ranks(2_500)  # 25 rows in the outer cells: 21 remain
    array([  22, 2480])
    """
    finer = math.isqrt(total // ROWS_FOR_FINER_CELLS)
    finer = min(max(1, finer), MOST_CELLS_OF_A_PERCENT)
    cells = 100 * finer
    inner = -(-np.arange(1, cells) * total // cells) if finer > 1 else PERCENTS[:0]
    largest = total / cells / LEAST_OUTER_ROWS
    steps = math.floor(4 * math.log2(largest)) if largest > 1 else 0
    sizes = total / cells * 2.0 ** (-np.arange(1, steps + 1) / 4)
    outer = np.maximum(np.floor(sizes), LEAST_OUTER_ROWS).astype(np.int64)
    return np.concatenate((inner, outer + 1, total + 1 - outer))


def cut_ranks(total: int) -> IntArray:
    """Ranks of the percentiles and of all cuts, ascending; the first is 1."""
    return np.sort(np.concatenate((percentile_ranks(total), outer_ranks(total))))


# Without slots: before Python 3.11.4 a frozen dataclass that has them ignores its own
# __getstate__ and __setstate__ (CPython gh-104035).
@dataclass(frozen=True, eq=False)
class Diagram:
    """Weights per distinct score: the increments of the paper's CSD, eq. (1).

    A diagram is all that a rule needs of a calibration set. Diagrams of parts add
    up to the diagram of the whole, so a calibration set may be counted day by day or
    shard by shard. Make one with `from_observations` or `from_counts`; counts that
    are in order already may be given as they are, and are checked and copied.

    Attributes
    ----------
    scores : ndarray of float64
        The distinct scores, ascending.
    negatives, positives : ndarray of int64 or float64
        Weight of the observations labelled 0 and 1 at each score; integers for plain
        counts, floats as soon as a weight is no integer.
    metadata : mapping
        The user's own tags, as given to `save`; not compared, and not kept by `+`.

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

    scores: FloatArray  # s'_1 < … < s'_k'
    negatives: IntArray | FloatArray  # w_j (1 - y'_j)
    positives: IntArray | FloatArray  # w_j y'_j
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        columns = _checked(self.scores, self.negatives, self.positives)
        _set_fields(self, *columns, self.metadata)

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

    def __getstate__(self) -> dict[str, Any]:
        """Return arrays and text alone, as every serializer can write them."""
        return {
            "scores": self.scores,
            "negatives": self.negatives,
            "positives": self.positives,
            "metadata": dict(self.metadata),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Become the diagram of a state; one that no diagram can have is refused."""
        columns = ("scores", "negatives", "positives")
        validation.check_state(state, (*columns, "metadata"), "Diagram")
        checked = _checked(*(state[name] for name in columns))
        _set_fields(self, *checked, state["metadata"])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Diagram):
            return NotImplemented
        return (
            np.array_equal(self.scores, other.scores)
            and np.array_equal(self.negatives, other.negatives)
            and np.array_equal(self.positives, other.positives)
        )

    def __hash__(self) -> int:
        return hash((self.scores.tobytes(), self.n_observations, self.n_positives))

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
        return self.scores[_places(cumulated, ranks)]

    def save(
        self,
        path: str | os.PathLike[str],
        metadata: Mapping[str, str | float | bool | None] | None = None,
    ) -> None:
        """Write the diagram to a file; an existing one is replaced at once or not.

        Parameters
        ----------
        path : path-like
            Any name; `.abers` is usual.
        metadata : mapping, default=None
            Tags of your own, added to those that the diagram has.
        """
        from abers.storage import rules

        rules.save_diagram(self, path, metadata)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Diagram:
        """Read a diagram that `save` has written; nothing in it is executed.

        Parameters
        ----------
        path : path-like
            The file.

        Returns
        -------
        Diagram
            Equal to the one that was saved, with its tags.
        """
        from abers.storage import rules

        return rules.load_diagram(path)


def trusted_diagram(
    scores: FloatArray,
    negatives: IntArray | FloatArray,
    positives: IntArray | FloatArray,
    metadata: Mapping[str, Any] | None = None,
) -> Diagram:
    """Make a diagram of arrays that are known to be one, unchecked and uncopied."""
    made = object.__new__(Diagram)
    _set_fields(made, scores, negatives, positives, metadata or {})
    return made


def _set_fields(
    diagram: Diagram,
    scores: FloatArray,
    negatives: IntArray | FloatArray,
    positives: IntArray | FloatArray,
    metadata: Mapping[str, Any],
) -> None:
    """Set the fields of a frozen diagram; its arrays are read-only from now on."""
    columns = {"scores": scores, "negatives": negatives, "positives": positives}
    for name, array in columns.items():
        array.flags.writeable = False
        object.__setattr__(diagram, name, array)
    object.__setattr__(diagram, "metadata", metadata)


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
    """Return both as integers if they are, and quotients of them are rounded once.

    That is so while the total and the test object together do not exceed 2**53.
    """
    if (
        negatives.sum() + positives.sum() < validation.LARGEST_EXACT_INTEGER
        and (negatives == np.floor(negatives)).all()
        and (positives == np.floor(positives)).all()
    ):
        return negatives.astype(np.int64), positives.astype(np.int64)
    return negatives, positives


def _places(cumulated: NDArray[Any], ranks: IntArray | FloatArray) -> NDArray[np.intp]:
    """Return the first places up to which there is as much weight as each rank."""
    found = np.searchsorted(cumulated, ranks, side="left")
    return np.minimum(found, cumulated.size - 1)


class Cells(NamedTuple):
    """Weight of the rows, and of the positives, in cells of the score.

    A hundred numbers and some more that a rule keeps of its labels. With them recent
    rows can be compared with the calibration rows themselves, not only with what was
    fitted to them. The cells are cut by scores alone: cells that depend on the labels
    would spoil the level of every test by them.

    Each cell but the first begins with its cut. Numbers of rows are int64, weights
    float64. With weights that are no numbers of rows, `squares` are the sums of their
    squares; None otherwise.
    """

    cuts: FloatArray
    counts: NDArray[Any]
    positives: NDArray[Any]
    squares: FloatArray | None = None


def cell_cuts(ordered: ArrayLike) -> FloatArray:
    """Return where cells begin: distinct scores, without the first and the last.

    >>> cell_cuts(np.repeat([1.0, 2.0, 3.0], [50, 50, 1]))
    array([1., 2.])
    """
    inner = np.asarray(ordered, dtype=np.float64)[1:-1]
    # They ascend. `np.unique` would sort them again, and load `numpy.ma` to predict one
    # small table.
    distinct = np.empty(inner.size, dtype=np.bool_)
    distinct[:1] = True
    np.not_equal(inner[1:], inner[:-1], out=distinct[1:])
    return inner[distinct]


def cells_of_rows(
    cuts: FloatArray,
    scores: FloatArray,
    labels: NDArray[Any],
    weights: FloatArray | None = None,
) -> Cells:
    """Count rows that are in no order; squares of extreme weights may overflow.

    >>> cells_of_rows(np.array([2.0]), np.array([1, 2, 2, 3]), np.array([0, 1, 0, 1]))
    Cells(cuts=array([2.]), counts=array([1, 3]), positives=array([0, 2]), squares=None)
    """
    cell, size = np.searchsorted(cuts, scores, side="right"), cuts.size + 1
    if weights is None:
        return Cells(
            cuts,
            np.bincount(cell, minlength=size),
            np.bincount(cell[labels == 1], minlength=size),
        )
    with np.errstate(over="ignore", under="ignore"):
        masses = (weights, weights * labels, weights**2)
        counts, ones, squares = (
            np.bincount(cell, mass, minlength=size).astype(np.float64)
            for mass in masses
        )
    return Cells(cuts, counts, ones, squares)


def cells_of_classes(cuts: FloatArray, classes: Classes) -> Cells:
    """Count rows that are sorted within each class."""
    zeros, ones = (_sizes(part.searchsorted(cuts), part.size) for part in classes)
    return Cells(cuts, zeros + ones, ones)


def cells_of_diagram(diagram: Diagram) -> Cells | None:
    """Count the rows of a diagram; None if its weights are no numbers of rows."""
    if not diagram.is_exact:
        return None  # how far such weights scatter is not known
    masses = diagram.counts, diagram.positives
    below, ones_below = (np.append(0, mass.cumsum()) for mass in masses)
    ranks = cut_ranks(below[-1].item())
    cuts = cell_cuts(diagram.scores[_places(below[1:], ranks)])
    place = np.searchsorted(diagram.scores, cuts)
    counts, ones = (_sizes(mass[place], mass[-1]) for mass in (below, ones_below))
    return Cells(cuts, counts, ones)


def cuts_of_weights(diagram: Diagram, n_rows: float) -> FloatArray:
    """Return where cells begin that hold the weights of so many effective rows."""
    rows, cumulated = math.ceil(n_rows), np.cumsum(diagram.counts)
    shares = np.sort(np.concatenate((PERCENTS / 100, outer_ranks(rows) / rows)))
    return cell_cuts(diagram.scores[_places(cumulated, shares * cumulated[-1])])


def _sizes(below: IntArray, total: int) -> IntArray:
    """Return what is in each cell, of what is below its cuts; `np.diff` is slower."""
    edges = np.empty(below.size + 2, dtype=np.int64)
    edges[0], edges[1:-1], edges[-1] = 0, below, total
    return edges[1:] - edges[:-1]


def hashes_of(scores: FloatArray, salt: Any) -> Hashes:
    """Hash each score with its label's salt; both kinds of zero are one."""
    return mixed((scores + 0.0).view(np.uint64) + salt)


def mixed(numbers: Hashes) -> Hashes:
    """Scatter 64-bit numbers evenly, each to one place: the end of splitmix64."""
    z = numbers ^ (numbers >> np.uint64(30))
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return z
