"""Smooth error: the calibration error without bins, by Błasiok and Nakkiran."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.fft import dct, idct
from scipy.optimize import brentq

from abers.evaluation.metrics import diagram_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from abers.core.diagram import Diagram
    from abers.validation import FloatArray

GRIDS = tuple(2**k for k in range(9, 21))  # from 512 to a million cells of [0, 1]
FINE = 16  # cells that a bandwidth should have
TOLERANCE = 1e-4  # of the bandwidth, relative


def smooth_calibration_error(
    y: ArrayLike, p: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Return the smooth ECE (smECE): no bins to choose, the bandwidth chooses itself.

    Unlike the ECE it moves little if predictions move little. Noise of the labels does
    not average out: even perfect probabilities have a smooth ECE above 0, so compare
    values of as many rows.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels 0 or 1.
    p : array-like of shape (n,)
        Probabilities of label 1.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows.

    Returns
    -------
    float
        Between 0 and 1, to 0.1 % or 1e-5, whichever is larger.

    Notes
    -----
    The residuals p - y, at p, are smoothed by a Gaussian kernel of standard deviation
    sigma that is reflected at 0 and at 1; smECE_sigma is the integral of the absolute
    value. It falls as sigma grows, and the smooth ECE is where it equals sigma.

    The reflected kernel is that of heat in a rod that loses none: each cosine wave of k
    half periods shrinks by exp(-(pi k sigma)² / 2). So residuals are put on a
    grid once, and every sigma takes one cosine transform of it.

    References
    ----------
    Błasiok, Nakkiran: Smooth ECE: principled reliability diagrams via kernel smoothing,
    ICLR 2024.

    Examples
    --------
    >>> from abers import evaluation
    >>> y, p = [0, 1], [0.5, 0.5]
    >>> evaluation.smooth_calibration_error(y, p)  # nothing is left to smooth
    0.0
    >>> round(evaluation.smooth_calibration_error([1, 1], [0.75, 0.75]), 3)
    0.25
    """
    return smooth_error_of(diagram_of(y, p, sample_weight))


def smooth_error_of(diagram: Diagram) -> float:
    """Return the smooth ECE of predictions that are counted already."""
    counts = diagram.counts
    residuals = (diagram.scores * counts - diagram.positives) / counts.sum()
    sigma = float(abs(residuals).sum())  # without smoothing: the most it can be
    if sigma == 0:
        return 0.0
    for cells in GRIDS:
        if sigma * cells < FINE and cells < GRIDS[-1]:
            continue
        waves = _waves(diagram.scores, residuals, cells)
        sigma = _fixed_point(waves)
        if sigma * cells >= FINE:
            break
    return sigma


def _waves(p: FloatArray, residuals: FloatArray, cells: int) -> FloatArray:
    """Put residuals on a grid of midpoints; return its cosine transform.

    A residual between two midpoints is shared by both, so that its place is kept.
    """
    place = np.clip(p * cells - 0.5, 0, cells - 1)
    left = np.minimum(place.astype(np.int64), cells - 2)
    right = (place - left) * residuals
    density = np.bincount(left, weights=residuals - right, minlength=cells)
    density[1:] += np.bincount(left, weights=right, minlength=cells - 1)
    waves: FloatArray = dct(density * cells)
    return waves


def _fixed_point(waves: FloatArray) -> float:
    """Find the bandwidth that equals the error smoothed by it."""
    decay = -0.5 * (np.pi * np.arange(waves.size)) ** 2

    def excess(sigma: float) -> float:
        smoothed = idct(waves * np.exp(decay * sigma**2))
        return float(abs(smoothed).mean()) - sigma

    highest = excess(0.0)
    if highest <= 0:  # residuals that cancel within the cells of the grid
        return 0.0
    top = 1.01 * highest  # above, so that rounding cannot reach it
    sigma: float = brentq(excess, 0.0, top, xtol=1e-7, rtol=TOLERANCE)
    return sigma
