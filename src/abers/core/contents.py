"""Contents: what a set of rows is, in three numbers that know no order.

Each pair of score and label is hashed, and the hashes are added up, modulo 2**64. So
contents of parts add up to those of the whole, however the rows were cut, counted or
merged on the way: rows that were lost, doubled or changed between two passes are
noticed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from abers import _kernel

if TYPE_CHECKING:
    from abers.core.diagram import Diagram
    from abers.validation import FloatArray

Hashes = NDArray[np.uint64]

SPACE = 2**64
# Two odd numbers keep a score's two labels apart, and 0.0 away from 0.
SALT = np.array([0x9E3779B97F4A7C15, 0xD1B54A32D192ED03], dtype=np.uint64)


@dataclass(frozen=True, slots=True)
class Content:
    """Numbers of rows by label, and the sum of their hashes.

    >>> from abers import Diagram
    >>> low, high = Diagram([1], [2], [0]), Diagram([1, 3], [1, 0], [0, 1])
    >>> content_of(low) + content_of(high) == content_of(low + high)
    True
    """

    n_negatives: int = 0
    n_positives: int = 0
    total: int = 0  # of the hashes, modulo 2**64

    def __add__(self, other: Content) -> Content:
        """Return the content of the rows of both."""
        return Content(
            self.n_negatives + other.n_negatives,
            self.n_positives + other.n_positives,
            (self.total + other.total) % SPACE,
        )


def content_of(diagram: Diagram) -> Content:
    """Return the content of the rows that a diagram of integer weights counts."""
    negatives = np.asarray(diagram.negatives, dtype=np.int64)
    positives = np.asarray(diagram.positives, dtype=np.int64)
    salt = SALT.tolist()
    return Content(*_kernel.content(diagram.scores, negatives, positives, *salt))


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
