"""The executable specification: the paper's Algorithms 1-8 on exact fractions.

Vovk, Petej and Fedorova (2015), Sections 2-4; Algorithm 8 stands in a part of Section 3
that the print leaves out. A comment ``line n`` names the line of the paper's algorithm;
``DEVIATION:`` marks where the print is not followed, with the reason and the test in
tests/paper/test_algorithms.py that pins it. Nothing here is fast, and nothing of the
library is imported: the library is tested against it.

Dictionaries keep the paper's indices: P_i is ``points[i]``, with P_-1 and P_k'+1 where
an algorithm needs them. Scores may be anything that can be sorted, so not NaN. Weights
are positive and exact, even if floats. The test object has weight 1, or any weight in
Algorithm 8.
"""

from __future__ import annotations

import decimal
import math
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from operator import add
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ZERO, ONE = Fraction(0), Fraction(1)


class Score(Protocol):
    """Anything that sorts: floats with both infinities, fractions, strings."""

    def __lt__(self, other: Self, /) -> bool: ...


class Bounds(NamedTuple):
    """The pair (p0, p1): the estimates with the new case as a 0 and as a 1."""

    lower: Fraction
    upper: Fraction


@dataclass(frozen=True, slots=True)
class Point:
    """A point in the plane, or the vector to it."""

    x: Fraction
    y: Fraction

    def __add__(self, other: Point) -> Point:
        return Point(self.x + other.x, self.y + other.y)

    def __sub__(self, other: Point) -> Point:
        return Point(self.x - other.x, self.y - other.y)


ORIGIN = Point(ZERO, ZERO)
Points = dict[int, Point]
Vector = tuple[Fraction, ...]


def turn(a: Point, b: Point, c: Point) -> Fraction:
    """Return (b - a) x (c - b): positive for a left turn, negative for a right one."""
    return (b.x - a.x) * (c.y - b.y) - (b.y - a.y) * (c.x - b.x)


def slope(a: Point, b: Point) -> Fraction:
    """Return the slope of the line through two points."""
    return (b.y - a.y) / (b.x - a.x)


def is_at_or_above(p: Point, a: Point, b: Point) -> bool:
    """Return whether p lies on or above the line through a and b."""
    return p.y >= a.y + slope(a, b) * (p.x - a.x)


@dataclass(frozen=True, slots=True)
class Diagram:
    """Weight and labels per distinct score: the increments of the CSD, eq. (1)."""

    scores: tuple[Score, ...]  # s'_1 < … < s'_k'
    increments: tuple[Point, ...]  # (w_j, w_j y'_j)

    @classmethod
    def from_rows(
        cls,
        scores: Sequence[Score],
        labels: Sequence[int],
        weights: Sequence[float | Fraction] | None = None,
    ) -> Diagram:
        """Sort rows and pool those with equal scores (-0.0 equals 0.0)."""
        totals: dict[Score, Point] = defaultdict(lambda: ORIGIN)
        weights = [1] * len(scores) if weights is None else weights
        for s, y, w in zip(scores, labels, weights, strict=True):
            totals[s] += Point(Fraction(w), Fraction(w) * y)
        keys = tuple(sorted(totals))
        return cls(keys, tuple(totals[s] for s in keys))

    def points(self) -> Points:
        """Cumulate the diagram: P_0, …, P_k' of eq. (1)."""
        return dict(enumerate(accumulate(self.increments, add, initial=ORIGIN)))


class Stack(list[Point]):
    """The paper's stack, Top last; it counts pushes, like the lemma on time."""

    pushes = 0

    def push(self, point: Point) -> None:
        """Put a point on top."""
        self.pushes += 1
        self.append(point)


def corners_for_upper(points: Points) -> Stack:
    """Run Algorithm 1: initialise the corners for computing F1, P_-1 at the bottom."""
    stack = Stack()
    stack.push(points[-1])  # line 1
    stack.push(points[0])  # line 2
    for i in range(1, max(points) + 1):  # line 3
        while len(stack) > 1 and turn(stack[-2], stack[-1], points[i]) <= 0:  # line 4
            stack.pop()  # line 5
        stack.push(points[i])  # line 6
    return stack  # line 7


def sweep_upper(points: Points, initial: Stack) -> tuple[Vector, Stack]:
    """Run Algorithm 2: compute F1 by emptying S, the initial corners; return S' too."""
    points = dict(points)  # line 5 overwrites them
    stack = Stack()  # S', the active corner on top
    values = []
    while initial:  # line 1
        stack.push(initial.pop())  # line 2
    for i in range(1, max(points) + 1):  # line 3
        values.append(slope(stack[-1], stack[-2]))  # line 4
        points[i - 1] = points[i - 2] + points[i] - points[i - 1]  # line 5
        if is_at_or_above(points[i - 1], stack[-1], stack[-2]):  # line 6
            continue  # line 7
        stack.pop()  # line 8
        while len(stack) > 1 and turn(points[i - 1], stack[-1], stack[-2]) <= 0:  # 9
            stack.pop()  # line 10
        stack.push(points[i - 1])  # line 11
    return tuple(values), stack  # line 12


def corners_for_lower(points: Points) -> Stack:
    """Run Algorithm 3: initialise the corners for F0, P_k'+1 at the bottom."""
    stack = Stack()
    stack.push(points[max(points)])  # line 1
    stack.push(points[max(points) - 1])  # line 2
    for i in range(max(points) - 2, -1, -1):  # line 3
        while len(stack) > 1 and turn(stack[-2], stack[-1], points[i]) >= 0:  # line 4
            stack.pop()  # line 5
        stack.push(points[i])  # line 6
    return stack  # line 7


def sweep_lower(points: Points, initial: Stack) -> tuple[Vector, Stack]:
    """Run Algorithm 4: compute F0 by emptying S, the initial corners; return S' too."""
    points = dict(points)  # line 5 overwrites them
    stack = Stack()  # S', the active corner on top
    values = []
    while initial:  # line 1
        stack.push(initial.pop())  # line 2
    for i in range(max(points) - 1, 0, -1):  # line 3
        values.append(slope(stack[-1], stack[-2]))  # line 4
        points[i] = points[i - 1] + points[i + 1] - points[i]  # line 5
        if is_at_or_above(points[i], stack[-1], stack[-2]):  # line 6
            continue  # line 7
        stack.pop()  # line 8
        while len(stack) > 1 and turn(points[i], stack[-1], stack[-2]) >= 0:  # line 9
            stack.pop()  # line 10
        stack.push(points[i])  # line 11
    return tuple(values[::-1]), stack  # line 12


def upper(diagram: Diagram) -> Vector:
    """Return F1, the upper probabilities at the keys, by Algorithms 1 and 2.

    >>> [str(p) for p in upper(Diagram.from_rows([1, 2, 3], [0, 1, 0]))]
    ['1/2', '2/3', '2/3']
    """
    # The extended CSD stretches over [-1, k]; the paper's [-1, k'] forgets the ties.
    points = diagram.points() | {-1: Point(-ONE, -ONE)}
    return sweep_upper(points, corners_for_upper(points))[0]


def lower(diagram: Diagram) -> Vector:
    """Return F0, the lower probabilities at the keys, by Algorithms 3 and 4.

    >>> [str(p) for p in lower(Diagram.from_rows([1, 2, 3], [0, 1, 0]))]
    ['0', '1/3', '1/3']
    """
    points = diagram.points()
    # DEVIATION: the paper appends P_k' + (1, 1); the postulated label is 0, so the
    # increment is (1, 0). Pinned by test_printed_last_point_is_wrong.
    points[len(points)] = points[len(points) - 1] + Point(ONE, ZERO)
    return sweep_lower(points, corners_for_lower(points))[0]


def lower_by_symmetry(diagram: Diagram) -> Vector:
    """Return F0 as one minus F1 of the mirrored diagram."""
    # DEVIATION: the paper prints F0_i(s', w, y') = 1 - F1_i(-s', w, 1 - y'); the mirror
    # reverses the keys, so the index on the right is k'+1-i. Pinned by
    # test_symmetry_needs_the_reversed_index.
    ranks = range(-len(diagram.scores), 0)  # they stand for -s': only order matters
    swapped = [Point(step.x, step.x - step.y) for step in diagram.increments]
    mirrored = Diagram(tuple(ranks), tuple(reversed(swapped)))
    return tuple(1 - p for p in reversed(upper(mirrored)))


@dataclass(frozen=True, slots=True)
class Node:
    """A key s'_i and its bounds; a leaf is just the bounds between two keys."""

    key: Score
    payload: Bounds
    left: Node | Bounds
    right: Node | Bounds


def tree(diagram: Diagram) -> Node | Bounds:
    """Run Algorithm 5: arrange keys and bounds as a binary search tree, BST(1, k')."""
    size = len(diagram.scores)
    key = dict(enumerate(diagram.scores, start=1))
    f0 = {0: ZERO} | dict(enumerate(lower(diagram), start=1))
    f1 = {size + 1: ONE} | dict(enumerate(upper(diagram), start=1))

    def payload(i: int, j: int) -> Bounds:
        return Bounds(f0[i], f1[j])

    def bst(a: int, b: int) -> Node | Bounds:
        if b == a:  # lines 1-3
            return Node(key[a], payload(a, a), payload(a - 1, a), payload(a, a + 1))
        if b == a + 1:  # lines 4-6
            return Node(key[a], payload(a, a), payload(a - 1, a), bst(b, b))
        # DEVIATION: line 7 is printed as an ElsIf without condition; it is the Else.
        # Pinned by test_tree_has_a_node_per_key_and_a_leaf_per_gap.
        c = (a + b) // 2  # line 8
        return Node(key[c], payload(c, c), bst(a, c - 1), bst(c + 1, b))  # lines 9-10

    # DEVIATION: the paper needs a key; without any the definition gives (0, 1).
    # Pinned by test_without_calibration_the_bounds_are_zero_and_one.
    return bst(1, size) if size else payload(0, 1)


def search(root: Node | Bounds, s: Score) -> Bounds:
    """Run Algorithm 6: send a score through the tree."""
    node = root  # line 1
    while isinstance(node, Node):  # line 2
        if s < node.key:  # line 3
            node = node.left  # line 4
        elif node.key < s:  # line 5
            node = node.right  # line 6
        else:  # line 7
            return node.payload  # line 8
    return node  # line 9


def predict(
    scores: Sequence[Score],
    labels: Sequence[int],
    s: Score,
    weights: Sequence[float | Fraction] | None = None,
) -> Bounds:
    """Return (p0, p1) of an IVAP for a test object of score s.

    >>> [str(p) for p in predict([1, 2, 3], [0, 1, 0], 2)]
    ['1/3', '2/3']
    """
    return search(tree(Diagram.from_rows(scores, labels, weights)), s)


def minorant(diagram: Diagram) -> tuple[Point, ...]:
    """Return the corners of the greatest convex minorant, by Graham's scan."""
    corners: list[Point] = []
    for point in diagram.points().values():
        while len(corners) > 1 and turn(corners[-2], corners[-1], point) <= 0:
            corners.pop()
        corners.append(point)
    return tuple(corners)


def isotonic_regression(diagram: Diagram) -> Vector:
    """Return the slope of the minorant over each key.

    >>> [str(p) for p in isotonic_regression(Diagram.from_rows([1, 2], [1, 0]))]
    ['1/2', '1/2']
    """
    ends = [point.x for point in diagram.points().values()]
    pieces = list(pairwise(minorant(diagram)))
    return tuple(slope(a, b) for a, b in pieces for end in ends if a.x < end <= b.x)


def pool_adjacent_violators(diagram: Diagram) -> Vector:
    """Return the same regression by pooling neighbours that break the order."""
    blocks = level_sets(diagram.increments)
    return tuple(block.value for block in blocks for _ in range(block.keys))


@dataclass(frozen=True, slots=True)
class Block:
    """Keys with the same value: their weight, positives and number."""

    total: Point
    keys: int = 1

    @property
    def value(self) -> Fraction:
        """The average label."""
        return slope(ORIGIN, self.total)

    def __add__(self, other: Block) -> Block:
        return Block(self.total + other.total, self.keys + other.keys)


def level_sets(increments: Iterable[Point]) -> list[Block]:
    """Return the level sets of the isotonic regression of a chain, lowest first."""
    blocks: list[Block] = []
    for step in increments:
        block = Block(step)
        while blocks and blocks[-1].value >= block.value:
            block = blocks.pop() + block
        blocks.append(block)
    return blocks


def log_minimax(p0: Fraction, p1: Fraction) -> Fraction:
    """Merge bounds by minimising the larger extra log loss of Section 4."""
    return p1 / (1 - p0 + p1)


def brier_minimax(p0: Fraction, p1: Fraction) -> Fraction:
    """Merge bounds by minimising the larger extra Brier loss of Section 4."""
    return p1 + p0**2 / 2 - p1**2 / 2


def geometric_mean(values: Sequence[Fraction]) -> decimal.Decimal:
    """Return the geometric mean GM to the precision of the decimal context."""
    product = math.prod(values, start=ONE)
    ratio = decimal.Decimal(product.numerator) / product.denominator
    return ratio ** (decimal.Decimal(1) / len(values))


def merge_folds(folds: Sequence[tuple[Fraction, Fraction]]) -> float:
    """Merge the folds' bounds as in Algorithm 7: minimax for log loss.

    Geometric means are irrational: they are computed to 60 digits, and the result is
    rounded once, to the float nearest to GM(p1) / (GM(1 - p0) + GM(p1)).

    >>> merge_folds([(Fraction(0), Fraction(1, 9)), (Fraction(0), Fraction(1))])
    0.25
    """
    with decimal.localcontext(prec=60):
        gm0 = geometric_mean([1 - p0 for p0, _ in folds])
        gm1 = geometric_mean([p1 for _, p1 in folds])
        # IVAPs never give 0/0 (Lemma 2); other folds that rule out both labels get 1/2.
        return float(gm1 / (gm0 + gm1)) if gm0 + gm1 else 0.5


def merge_folds_brier(folds: Sequence[tuple[Fraction, Fraction]]) -> Fraction:
    """Merge the folds' bounds for the Brier loss: the mean of the folds' minimax."""
    return sum((brier_minimax(*fold) for fold in folds), ZERO) / len(folds)


def cross_predict(
    folds: Iterable[tuple[Sequence[Score], Sequence[int], Score]],
) -> float:
    """Run Algorithm 7, CVAP; a fold has calibration scores, labels and a test score."""
    # Line 1, the split, and the training in line 3 come before there are scores.
    return merge_folds([predict(*fold) for fold in folds])  # lines 2-4


Tentacle = list[Block]  # away from the centre: the last block is the neighbour


class Star(NamedTuple):
    """The partial order of all folds: the central block C and its tentacles."""

    centre: Block
    lower: list[Tentacle]
    upper: list[Tentacle]


def star(
    folds: Iterable[tuple[Diagram, Score]], label: int, weight: Fraction | int = ONE
) -> Star:
    """Arrange folds around the test object, which has a score in each of them."""
    folds = list(folds)
    # "The number of times the test object occurs in the training set plus 1 or K".
    postulate = Point(Fraction(weight), Fraction(weight) * label)
    ties = (
        step
        for diagram, s in folds
        for key, step in zip(diagram.scores, diagram.increments, strict=True)
        if not (key < s or s < key)
    )
    both = [tentacles(diagram, s) for diagram, s in folds]
    return Star(
        Block(sum(ties, postulate)),
        [below for below, _ in both],
        [above for _, above in both],
    )


def tentacles(diagram: Diagram, s: Score) -> tuple[Tentacle, Tentacle]:
    """Return the lower and the upper tentacle of a fold: its level 1 and 2 blocks."""
    steps = diagram.increments
    a = sum(key < s for key in diagram.scores)  # the number of keys below s
    b = sum(not s < key for key in diagram.scores)  # and of those not above it
    below, above = [], []
    stop = 0
    for block in level_sets(steps):  # level 1
        start, stop = stop, stop + block.keys
        if stop <= a:
            below.append(block)
        elif start >= b:
            above.append(block)
        else:  # it contains or straddles the test object: level 2
            below += level_sets(steps[start:a])
            above += level_sets(steps[b:stop])
    return below, above[::-1]


def isotonise_centre(star: Star) -> Star:
    """Run Algorithm 8: pool into C whatever is out of order with it; return the rest.

    One run is enough: pooling an upper N leaves g(N) < g(C), the remaining upper
    neighbours have no smaller g, and pooling a lower one raises g(C). So in the end the
    blocks pooled from above have values below t := g(C) and the others t or more; from
    below it is the other way round. The blocks of a tentacle are pieces of a minorant,
    so what was pooled is that prefix of the part above which has the least sum of w (y
    - t), and that suffix of the part below which has the largest. With these the sum
    over C is 0: this equation determines isotonic regression at C.

    The paper justifies the pooling of blocks by Theorem 2.5 of Barlow et al. (1972).
    Its own remark in brackets says that the theorem does not apply, and indeed a block
    of level 1 may break (test_a_block_through_the_test_object_may_break); the argument
    above does not need it.
    """
    centre = star.centre
    below, above = ([list(t) for t in ts] for ts in star[1:])
    while True:
        # DEVIATION: the paper does not say that, once N is pooled, the next block of
        # its tentacle becomes a neighbour, as it must. Pinned by
        # test_next_block_of_a_tentacle_must_become_the_neighbour.
        uppers, lowers = ([t for t in ts if t] for ts in (above, below))
        too_low = any(t[-1].value < centre.value for t in uppers)
        too_high = any(t[-1].value > centre.value for t in lowers)
        if not (too_low or too_high):  # line 1
            break
        if uppers:
            nearest = min(uppers, key=lambda t: t[-1].value)  # line 2
            if nearest[-1].value < centre.value:  # line 3
                centre += nearest.pop()  # line 4
        if lowers:
            nearest = max(lowers, key=lambda t: t[-1].value)  # line 6
            if nearest[-1].value > centre.value:  # line 7
                centre += nearest.pop()  # line 8
    # DEVIATION: the paper then regresses the tentacles and repeats the loop until g is
    # isotonic everywhere. A tentacle only loses its nearest blocks, so it increases as
    # before and there is nothing to repeat. Pinned by
    # test_one_run_leaves_the_whole_star_isotonic.
    return Star(centre, below, above)


def pooled_predict(
    folds: Iterable[tuple[Sequence[Score], Sequence[int], Score]],
    weight: Fraction | int = ONE,
) -> Bounds:
    """Return (p0, p1) from one isotonic regression for all folds, with Algorithm 8.

    A fold is its calibration scores, labels and test score; the postulated row counts
    as `weight` rows. With one fold and weight 1, this is the IVAP.

    >>> [str(p) for p in pooled_predict([([1, 2, 3], [0, 1, 0], 2), ([5], [1], 7)])]
    ['1/2', '3/4']
    """
    chains = [(Diagram.from_rows(x, y), s) for x, y, s in folds]
    # The paper considers "only the case of postulated label 1"; label 0 works the same
    # way.
    p0, p1 = (isotonise_centre(star(chains, y, weight)).centre.value for y in (0, 1))
    return Bounds(p0, p1)
