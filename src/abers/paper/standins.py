"""Stand-ins: scikit-learn's algorithms as an engine that scores rows."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Protocol

from threadpoolctl import threadpool_limits

from abers.paper.algorithms import ALGORITHMS
from abers.paper.preparation import Preparation
from abers.paper.scores import Candidate, PairScores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abers.paper.columns import Table
    from abers.paper.splits import Pair
    from abers.validation import IntArray


class Engine(Protocol):
    """What runs underlying algorithms."""

    @property
    def name(self) -> str:
        """What readers call it, and its version: other versions, other numbers."""

    def settings(self, algorithm: str) -> tuple[str, ...]:
        """Return the grid of an algorithm as text."""

    def score(
        self, table: Table, algorithm: str, pairs: Sequence[Pair], test: IntArray
    ) -> list[Candidate]:
        """Train on each pair with each setting; score calibration and test rows."""


@dataclass(frozen=True, slots=True)
class StandIns:
    """The algorithms of scikit-learn."""

    name: str = f"scikit-learn {version('scikit-learn')}"

    def settings(self, algorithm: str) -> tuple[str, ...]:
        """Return the grid of an algorithm as text."""
        return ALGORITHMS[algorithm].settings

    def score(
        self, table: Table, algorithm: str, pairs: Sequence[Pair], test: IntArray
    ) -> list[Candidate]:
        """Train on each pair with each setting; score calibration and test rows.

        Parameters
        ----------
        table : Table
            All rows.
        algorithm : str
            One of `ALGORITHMS`.
        pairs : sequence of Pair
            Rows that train and rows that calibrate.
        test : ndarray of int
            Test rows.

        Returns
        -------
        list of Candidate
            One for each setting of the grid. Gaps are filled and numbers standardised
            by the rows that train. One thread, so that numbers do not depend on the
            machine and processes side by side do not wait for each other.
        """
        chosen = ALGORITHMS[algorithm]
        with threadpool_limits(1):
            by_pair = [_score_pair(table, algorithm, pair, test) for pair in pairs]
        by_setting = zip(*by_pair, strict=True)
        return [
            Candidate(setting, scores)
            for setting, scores in zip(chosen.settings, by_setting, strict=True)
        ]


def _score_pair(
    table: Table, algorithm: str, pair: Pair, test: IntArray
) -> list[PairScores]:
    chosen = ALGORITHMS[algorithm]
    preparation = Preparation.of(table, pair.train)
    train, calibrate, new = (
        preparation.apply(table.take(rows))
        for rows in (pair.train, pair.calibrate, test)
    )
    scorers = chosen.learn(train, table.labels[pair.train], chosen.grid)
    return [
        PairScores(*both) for both in zip(scorers(calibrate), scorers(new), strict=True)
    ]
