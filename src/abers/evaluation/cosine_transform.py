"""The cosine transform of values at midpoints, via numpy's Fourier transform."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from abers.validation import FloatArray


def cosine_transform(values: FloatArray) -> FloatArray:
    """Return the amplitudes of the cosine waves with 0, 1, … half periods.

    >>> cosine_transform(np.ones(4)).round(9).tolist()
    [8.0, 0.0, 0.0, 0.0]
    """
    n = values.size
    ordered = np.concatenate((values[::2], values[1::2][::-1]))
    turned = np.fft.fft(ordered) * np.exp(-0.5j * np.pi * np.arange(n) / n)
    waves: FloatArray = 2 * turned.real
    return waves


def from_cosine_waves(waves: FloatArray) -> FloatArray:
    """Return the values whose `cosine_transform` is given.

    >>> from_cosine_waves(cosine_transform(np.array([1.0, 2.0, 4.0]))).round(9).tolist()
    [1.0, 2.0, 4.0]
    """
    n = waves.size
    half = np.arange(n // 2 + 1)
    mirrored = np.append(0.0, waves[:0:-1])[half]
    turned = (waves[half] - 1j * mirrored) * np.exp(0.5j * np.pi * half / n)
    ordered = np.fft.irfft(turned / 2, n)
    values = np.empty(n)
    values[::2], values[1::2] = ordered[: (n + 1) // 2], ordered[: (n - 1) // 2 : -1]
    return values
