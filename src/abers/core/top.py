"""An exactly valid predictor for many classes, by the top class and its score.

The top class of a case is the one with the highest score. Within the rows of one top
class the question "is the top class right?" has two answers, and isotonic regression on
the top score groups rows into level sets. Under a hypothetical label, the new case
belongs to one of them, and the frequencies of all classes in it, the case included,
form a vector of probabilities. The bag of rows determines the level sets, and each row
of a level set is equally likely to be the new one, so the vector of the true label is
calibrated.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from abers import validation
from abers.core import guarantees
from abers.core.auc import NO_PAIRS, mann_whitney_of_diagram
from abers.core.diagram import Diagram
from abers.core.fit import rule_of_diagram
from abers.core.fitted import (
    Contents,
    Fitted,
    Layout,
    are_tags,
    is_ascending,
    is_whole,
    stored,
)
from abers.core.predictions import FitSource, Predictions
from abers.errors import InvalidData, InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from abers.choices import LossName
    from abers.core.auc import MannWhitney
    from abers.core.class_scores import ClassScores
    from abers.core.fitted import Arrays, Facts
    from abers.core.guarantees import Guarantee
    from abers.core.multiclass import ProblemRows
    from abers.validation import FloatArray, IntArray

# Slopes are compared as doubles: fractions of fewer rows are equal only if these are.
MOST_ROWS = 2**26
MIN_CLASSES = 2
CASES = ("wrong", "right")  # whether the top class of the new case is the true one


class LevelSets(NamedTuple):
    """Counts of each class in the level set of a case, by its score."""

    thresholds: FloatArray
    counts: IntArray  # (pieces, C)


class TopRule(Fitted):
    """A Venn predictor for many classes, made by `fit_top_rule`.

    It is immutable: equal rules compare equal, and threads may share one.
    """

    __slots__ = ("_n_classes", "_n_rows", "_right", "_wrong")
    _layout: ClassVar = Layout(
        "top-rule",
        # The level sets of all top classes are stored end to end.
        arrays={
            f"{case}_{name}": letter
            for case in CASES
            for name, letter in (("counts", "i"), ("sizes", "i"), ("thresholds", "f"))
        },
        facts={"metadata": are_tags, "n_classes": is_whole, "n_rows": is_whole},
    )

    def __init__(
        self,
        n_classes: int,
        n_rows: int,
        wrong: Sequence[LevelSets],
        right: Sequence[LevelSets],
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        self._n_classes, self._n_rows = n_classes, n_rows
        self._wrong, self._right = tuple(wrong), tuple(right)  # of each top class
        self._metadata = MappingProxyType(dict(metadata or {}))

    @property
    def n_classes(self) -> int:
        """Number of columns of the scores."""
        return self._n_classes

    @property
    def n_rows(self) -> int:
        """Calibration rows."""
        return self._n_rows

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee: one of the C vectors is calibrated."""
        return guarantees.VECTOR

    def vectors(self, scores: ArrayLike) -> FloatArray:
        """Return the vector of probabilities under each hypothetical label.

        Parameters
        ----------
        scores : array-like of shape (n, C)
            A score for each class. The highest one is the top class; the first, if
            several are equal.

        Returns
        -------
        ndarray of shape (n, C, C)
            Row h of a case is its vector if the label were h. The vector of the true
            label is calibrated.
        """
        columns = _as_columns(scores, self.n_classes)
        top = columns.argmax(axis=1)
        labels = np.arange(self.n_classes)
        wrong, right = self._counts(columns, top)
        is_right = labels == top[:, np.newaxis]
        counts = np.where(
            is_right[..., np.newaxis], right[:, np.newaxis], wrong[:, np.newaxis]
        ) + np.eye(self.n_classes, dtype=np.int64)
        shares: FloatArray = counts / counts.sum(axis=2, keepdims=True)
        return shares

    def bounds(self, scores: ArrayLike) -> FloatArray:
        """Return the smallest and largest probability of each class.

        Parameters
        ----------
        scores : array-like of shape (n, C)
            As for `vectors`.

        Returns
        -------
        ndarray of shape (n, C, 2)
            Over the C hypothetical labels; not a confidence interval.
        """
        vectors = self.vectors(scores)
        return np.stack((vectors.min(axis=1), vectors.max(axis=1)), axis=-1)

    def probability(self, scores: ArrayLike) -> FloatArray:
        """Return the mean of the C vectors.

        Parameters
        ----------
        scores : array-like of shape (n, C)
            As for `vectors`.

        Returns
        -------
        ndarray of shape (n, C)
            Within the bounds; rows sum to 1. No guarantee is proven for it.
        """
        mean: FloatArray = self.vectors(scores).mean(axis=1)
        return mean

    def top_right(self, scores: ArrayLike) -> FloatArray:
        """Return bounds for the probability that the top class is right.

        Parameters
        ----------
        scores : array-like of shape (n, C)
            As for `vectors`.

        Returns
        -------
        ndarray of shape (n, 2)
            The bound that belongs to the truth (the lower one if the top class is
            wrong) is calibrated within each top class. These are bounds for this one
            event, not for the largest predicted probability.
        """
        columns = _as_columns(scores, self.n_classes)
        top = columns.argmax(axis=1)
        every = np.arange(top.size)
        wrong, right = self._counts(columns, top)
        return np.stack(
            (
                wrong[every, top] / (wrong.sum(axis=1) + 1),
                (right[every, top] + 1) / (right.sum(axis=1) + 1),
            ),
            axis=1,
        )

    def _counts(self, columns: FloatArray, top: IntArray) -> tuple[IntArray, IntArray]:
        """Count the classes in the case's level set: top wrong, top right."""
        wrong, right = np.empty((2, *columns.shape), dtype=np.int64)
        for c in range(self.n_classes):
            rows = np.flatnonzero(top == c)
            s = columns[rows, c]
            of_wrong, of_right = self._wrong[c], self._right[c]
            wrong[rows] = of_wrong.counts[
                of_wrong.thresholds.searchsorted(s, side="right")
            ]
            right[rows] = of_right.counts[of_right.thresholds.searchsorted(s)]
        return wrong, right

    def __repr__(self) -> str:
        return f"TopRule({self._n_classes} classes, {self._n_rows} rows)"

    def _contents(self) -> Contents:
        facts = {
            "metadata": dict(self._metadata),
            "n_classes": self._n_classes,
            "n_rows": self._n_rows,
        }
        arrays: Arrays = {}
        for case, sets in (("right", self._right), ("wrong", self._wrong)):
            thresholds = [each.thresholds for each in sets]
            arrays[f"{case}_counts"] = np.concatenate([s.counts.ravel() for s in sets])
            arrays[f"{case}_sizes"] = np.array([each.size for each in thresholds])
            arrays[f"{case}_thresholds"] = stored(np.concatenate(thresholds))
        return Contents(facts, arrays)

    def _restore(self, facts: Facts, arrays: Arrays) -> None:
        n_classes = facts["n_classes"]
        wrong, right = (_parted(arrays, case, n_classes) for case in CASES)
        tags = facts["metadata"]
        TopRule.__init__(self, n_classes, facts["n_rows"], wrong, right, tags)

    @classmethod
    def _flaw(cls, facts: Facts, arrays: Arrays) -> str | None:
        n_classes, n_rows = facts["n_classes"], facts["n_rows"]
        if n_classes < MIN_CLASSES or not 0 < n_rows < MOST_ROWS:
            return "it must have two classes or more, and rows"
        for case in CASES:
            sizes = arrays[f"{case}_sizes"]
            n_pieces = arrays[f"{case}_thresholds"].size + n_classes
            if not (
                sizes.size == n_classes
                and ((sizes >= 0) & (sizes < n_pieces)).all()
                and sizes.sum() + n_classes == n_pieces
                and arrays[f"{case}_counts"].size == n_pieces * n_classes
            ):
                return "its level sets are not those of its classes"
        both = zip(*(_parted(arrays, case, n_classes) for case in CASES), strict=True)
        for c, (wrong, right) in enumerate(both):
            if not _are_of_one_bag(c, wrong, right, n_rows):
                return "its level sets are not those of one set of rows"
        return None


def _parted(arrays: Arrays, case: str, n_classes: int) -> list[LevelSets]:
    """Split the stored level sets by top class."""
    ends = np.cumsum(arrays[f"{case}_sizes"])
    counts = arrays[f"{case}_counts"].reshape(-1, n_classes)
    thresholds = np.split(arrays[f"{case}_thresholds"], ends[:-1])
    of_classes = np.split(counts, (ends + np.arange(1, n_classes + 1))[:-1])
    return [LevelSets(*pair) for pair in zip(thresholds, of_classes, strict=True)]


def _are_of_one_bag(c: int, wrong: LevelSets, right: LevelSets, n_rows: int) -> bool:
    """Return whether the rows of one top class may have these level sets.

    The bounds of "the top class is right" must not fall with the score, must begin at 0
    and end at 1, and the upper one must exceed the lower one.
    """
    for thresholds, counts in (wrong, right):
        if (
            not is_ascending(thresholds)
            or ((counts < 0) | (counts > n_rows)).any()
            or (counts.sum(axis=1) > n_rows).any()
            or not (counts[1:] != counts[:-1]).any(axis=1).all()
        ):
            return False
    of_wrong = wrong.counts[:, c] / (wrong.counts.sum(axis=1) + 1)
    of_right = (right.counts[:, c] + 1) / (right.counts.sum(axis=1) + 1)
    every = np.union1d(wrong.thresholds, right.thresholds)
    with np.errstate(over="ignore"):  # the largest double is followed by inf
        at = np.concatenate([every, np.nextafter(every, np.inf), [-np.inf]])
    lower = of_wrong[wrong.thresholds.searchsorted(at, side="right")]
    upper = of_right[right.thresholds.searchsorted(at)]
    return bool(
        (of_wrong[1:] >= of_wrong[:-1]).all()
        and (of_right[1:] >= of_right[:-1]).all()
        and (lower < upper).all()
        and of_wrong[0] == 0
        and of_right[-1] == 1
    )


def fit_top_rule(scores: ArrayLike, labels: ArrayLike) -> TopRule:
    """Fit an exactly valid predictor for many classes.

    Parameters
    ----------
    scores : array-like of shape (n, C)
        A score for each class, ±inf allowed. Scores of one class are compared with each
        other, and the highest of a row is its top class.
    labels : array-like of shape (n,)
        The class of each row, as a column number: 0 … C - 1.

    Returns
    -------
    TopRule
        Its `vectors`, `bounds`, `probability` and `top_right` take new scores.

    Notes
    -----
    Memory is proportional to the number of pieces of its level sets; a prediction takes
    O(log k) time per row.

    Examples
    --------
    >>> import abers
    >>> rule = abers.rules.fit_top_rule([[3, 1, 2]] * 10, [0] * 10)
    >>> rule.top_right([[3, 1, 2]])  # 10 of 11, 11 of 11
    array([[0.90909091, 1.        ]])
    >>> rule.probability([[3, 1, 2]]).round(3)  # 31, 1 and 1 of 33
    array([[0.939, 0.03 , 0.03 ]])
    """
    rule, _ = fitted_top_rule(scores, labels)
    return rule


def fitted_top_rule(
    scores: ArrayLike, labels: ArrayLike
) -> tuple[TopRule, list[MannWhitney | None]]:
    """Fit a top rule; also test each class for inverted scores."""
    columns = _as_columns(scores, None)
    n_classes = columns.shape[1]
    y = validation.as_class_places(labels, len(columns), n_classes)
    top = columns.argmax(axis=1)
    wrong, right = [], []
    tests: list[MannWhitney | None] = []
    for c in range(n_classes):
        rows = top == c
        if not rows.any():
            none = LevelSets(np.empty(0), np.zeros((1, n_classes), np.int64))
            wrong.append(none)
            right.append(none)
            tests.append(NO_PAIRS)
            continue
        diagram = Diagram.from_rows(columns[rows, c], y[rows] == c)
        place = diagram.scores.searchsorted(columns[rows, c])
        below = np.zeros((diagram.scores.size + 1, n_classes), np.int64)
        np.add.at(below, (place + 1, y[rows]), 1)
        of_wrong, of_right = _level_sets(diagram, below.cumsum(axis=0))
        wrong.append(of_wrong)
        right.append(of_right)
        tests.append(mann_whitney_of_diagram(diagram))
    return TopRule(n_classes, len(columns), wrong, right), tests


def _level_sets(diagram: Diagram, below: IntArray) -> tuple[LevelSets, LevelSets]:
    """Count the classes in the level set of a case, at and between all scores."""
    keys, size = diagram.scores, diagram.scores.size
    first, stop = _ends_as_one(diagram)
    right = _pieces(keys, below[stop] - below[first])
    # A case with label 0 has label 1 among the mirrored rows, and is rounded there.
    mirrored = Diagram(
        0.0 - keys[::-1], diagram.positives[::-1], diagram.negatives[::-1]
    )
    first, stop = (size - ends[::-1] for ends in _ends_as_one(mirrored)[::-1])
    wrong = _pieces(keys, below[stop] - below[first])
    return wrong, right


def _pieces(keys: FloatArray, counts: IntArray) -> LevelSets:
    changes = (counts[1:] != counts[:-1]).any(axis=1)
    return LevelSets(keys[changes], counts[np.append(True, changes)])


def _ends_as_one(diagram: Diagram) -> tuple[IntArray, IntArray]:
    """Return the first score of each level set, and the one after its last.

    The new case has label 1. Its score is score m, or between scores m - 1 and m, or,
    in the last position, above all scores. Its value in the isotonic regression is the
    rule's upper bound, and 1 in the last position.
    """
    size = diagram.scores.size
    n = np.append(0, np.cumsum(diagram.counts))
    y = np.append(0, np.cumsum(diagram.positives))
    _, upper = rule_of_diagram(diagram).bounds(diagram.scores).T
    links = _links(n.tolist(), y.tolist())
    before = links[1:]
    slopes = np.append(-1.0, (y[1:] - y[before]) / (n[1:] - n[before]))
    values = np.append(upper, 1.0)
    # To the right, the level set ends at a corner of the minorant of all points.
    corners = [size]
    while corners[-1]:
        corners.append(int(links[corners[-1]]))
    at = np.array(corners[::-1])
    stop = at[slopes[at[1:]].searchsorted(values, side="right")]
    stop = np.maximum(stop, np.minimum(np.arange(1, size + 2), size))
    # To the left, it ends where the chain of the points up to the case gets less steep.
    jumps = [links]
    while jumps[-1].any():
        jumps.append(jumps[-1][jumps[-1]])
    first = np.arange(size + 1)
    for jump in jumps[::-1]:
        far = jump[first]
        first = np.where(slopes[far] >= values, far, first)
    first = np.where(slopes[first] >= values, links[first], first)
    return first, stop


def _links(n: list[int], y: list[int]) -> IntArray:
    """Return, for each point, the corner before it on the minorant of those up to it.

    Graham's scan, with products of integers.
    """
    links = [0] * len(n)
    for i in range(1, len(n)):
        at = i - 1
        while at:
            before = links[at]
            if (y[i] - y[at]) * (n[at] - n[before]) > (y[at] - y[before]) * (
                n[i] - n[at]
            ):
                break
            at = before
        links[i] = at
    return np.array(links, dtype=np.int64)


def _as_columns(scores: ArrayLike, n_classes: int | None) -> FloatArray:
    columns = validation.as_numbers(scores, "scores")
    if columns.ndim != 2 or columns.shape[1] < 2 or not columns.shape[0]:
        wanted = "at least 2" if n_classes is None else n_classes
        msg = (
            f"scores must be a table of {wanted} columns, one per class, and at least "
            f"one row; got shape {columns.shape}."
        )
        raise InvalidData(msg)
    if n_classes is not None and columns.shape[1] != n_classes:
        msg = f"scores must have {n_classes} columns; got {columns.shape[1]}."
        raise InvalidData(msg)
    purpose = "calibrating" if n_classes is None else "predicting"
    validation.check_scores(columns, purpose=purpose)
    if len(columns) >= MOST_ROWS and n_classes is None:
        msg = f"scores must have fewer than 2**26 rows; got {len(columns)}."
        raise InvalidData(msg)
    return columns + 0.0


def refuse_weights(weights: object) -> None:
    """Refuse sample weights, before any model is trained."""
    if weights is not None:
        msg = (
            "sample_weight must be None with multiclass='top', whose guarantee is for "
            "rows of weight 1. Choose multiclass='ovr'."
        )
        raise InvalidParameter(msg)


def top_rule_of(
    rows: Sequence[ProblemRows],
) -> tuple[TopRule, list[MannWhitney | None]]:
    """Fit a top rule to the rows of each class against the rest."""
    refuse_weights(rows[0].weights)
    scores, labels = (
        np.stack(columns, axis=1)
        for columns in zip(*((part.scores, part.labels) for part in rows), strict=True)
    )
    return fitted_top_rule(scores, labels.argmax(axis=1))


@dataclass(frozen=True, slots=True, eq=False)
class TopPredictor:
    """A top rule that predicts from a classifier's scores."""

    rule: TopRule
    loss: LossName

    def probability(self, scores: Sequence[ClassScores]) -> FloatArray:
        """Return the probability of each class: (n, C)."""
        return self.rule.probability(self._columns(scores))

    def bounds(self, scores: Sequence[ClassScores]) -> FloatArray:
        """Return lower and upper probability: (n, C, 2)."""
        return self.rule.bounds(self._columns(scores))

    def predictions(
        self,
        scores: Sequence[ClassScores],
        classes: NDArray[np.generic],
        *,
        before: FloatArray | None,
        guarantee: Guarantee,
    ) -> Predictions:
        """Return probabilities and bounds."""
        columns = self._columns(scores)
        return Predictions(
            self.rule.probability(columns),
            tuple(classes.tolist()),
            shown=None,
            bounds=self.rule.bounds(columns),
            before=before,
            source=FitSource(n_rows=self.rule.n_rows),
            guarantee=guarantee,
            loss=self.loss,
        )

    def _columns(self, scores: Sequence[ClassScores]) -> FloatArray:
        (only,) = scores
        every = range(self.rule.n_classes)
        return np.stack([only.of_class(c) for c in every], axis=1)
