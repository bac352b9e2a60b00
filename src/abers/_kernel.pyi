from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

_Floats: TypeAlias = NDArray[np.float64]
_Ints: TypeAlias = NDArray[np.int64]

@final
class Table:
    def __init__(
        self, thresholds: _Floats, lower: _Floats, upper: _Floats, quantiles: _Floats
    ) -> None: ...
    @property
    def thresholds(self) -> _Floats: ...
    @property
    def lower(self) -> _Floats: ...
    @property
    def upper(self) -> _Floats: ...
    @property
    def quantiles(self) -> _Floats: ...
    @property
    def n_pieces(self) -> int: ...
    def bounds(
        self, scores: _Floats, out: _Floats, n_threads: int
    ) -> tuple[int, int]: ...

@final
class PooledCounts:
    def __init__(
        self,
        scores: list[_Floats],
        negatives: list[_Ints],
        positives: list[_Ints],
        scale: int,
        postulate: int,
        increasing: bool,
    ) -> None: ...
    def bounds(
        self, scores: _Floats, out: _Floats, n_threads: int, newton_steps: int = ...
    ) -> tuple[int, int]: ...
    @property
    def bytes(self) -> int: ...

@final
class PooledWeights:
    def __init__(
        self,
        scores: list[_Floats],
        negatives: list[_Floats],
        positives: list[_Floats],
        scale: float,
        postulate: float,
        increasing: bool,
    ) -> None: ...
    def bounds(
        self, scores: _Floats, out: _Floats, n_threads: int, newton_steps: int = ...
    ) -> tuple[int, int]: ...
    @property
    def bytes(self) -> int: ...

def split_by_label(
    scores: _Floats, labels: NDArray[Any], out: _Floats
) -> tuple[int, int, int, int, int]: ...
def merge_classes(zeros: _Floats, ones: _Floats) -> tuple[_Floats, _Ints, _Ints]: ...
def order_statistics(zeros: _Floats, ones: _Floats, ranks: _Ints) -> _Floats: ...
def fit_classes(
    zeros: _Floats, ones: _Floats, quantiles: _Floats, increasing: bool
) -> Table: ...
def fit_diagram(
    scores: _Floats,
    negatives: _Ints | _Floats,
    positives: _Ints | _Floats,
    quantiles: _Floats,
    increasing: bool,
) -> Table: ...
def rank_sum_of_classes(zeros: _Floats, ones: _Floats) -> tuple[float, ...]: ...
def rank_sum_of_diagram(
    negatives: _Ints | _Floats, positives: _Ints | _Floats
) -> tuple[float, ...]: ...
def minorant(points: _Ints) -> _Ints: ...
def inner_corners(zeros: _Ints, ones: _Ints) -> _Ints: ...
def content(
    scores: _Floats, negatives: _Ints, positives: _Ints, salt_zero: int, salt_one: int
) -> tuple[int, int, int]: ...
def ranked(
    negatives: _Ints, positives: _Ints, ranks: _Ints
) -> tuple[_Ints, _Ints, _Ints]: ...
def merge_runs(
    scores: list[_Floats], negatives: list[_Ints], positives: list[_Ints]
) -> tuple[_Floats, _Ints, _Ints]: ...
def fit_part(
    scores: _Floats,
    zeros: _Ints,
    ones: _Ints,
    left: _Ints,
    right: _Ints,
    increasing: bool,
) -> tuple[_Floats, _Floats]: ...
def merge_folds(bounds: _Floats, loss: int, out: _Floats) -> None: ...
def merge_rules(
    tables: list[Table], scores: list[_Floats], loss: int, out: _Floats
) -> tuple[int, int]: ...
