"""Hashes of rows: a score and a label as one number of 64 bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from abers.validation import FloatArray

    Hashes = NDArray[np.uint64]

SPACE = 2**64  # of the hashes of rows
# Two odd numbers keep a score's two labels apart, and 0.0 away from 0.
SALT = np.array([0x9E3779B97F4A7C15, 0xD1B54A32D192ED03], dtype=np.uint64)


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
