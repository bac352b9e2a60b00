"""Sample: a real classifier on real data, whose probabilities are badly wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit
from sklearn.datasets import load_digits
from sklearn.naive_bayes import GaussianNB

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from abers.validation import FloatArray, IntArray

EIGHT = 8
# Of 1,797 images: the first 397 train, the last 200 are new.
CUTS = {"calibration": 397, "recent": 1197, "new": 1597}
PALE = 0.5  # ink that is left when the scanner fades


@dataclass(frozen=True, slots=True, eq=False)
class ScoredImages:
    """Images that a classifier has scored.

    Attributes
    ----------
    images : ndarray of int64
        Their numbers in the data.
    ink : ndarray of str
        "thick" or "thin": whether an image has more ink than the median to train.
    scores : ndarray of float64
        The probability of an eight, says naive Bayes.
    labels : ndarray of int64
        1 for an eight.
    """

    images: IntArray
    ink: NDArray[np.str_]
    scores: FloatArray
    labels: IntArray


def scored_digits(seed: int = EIGHT) -> dict[str, ScoredImages]:
    """Ask naive Bayes of handwritten digits whether they are eights.

    Parameters
    ----------
    seed : int, default=8
        Draws which images train and which are scored.

    Returns
    -------
    dict of str to ScoredImages
        "calibration", "recent" and "new" images; "pale" are the recent ones after the
        scanner has faded. None of them was used to train.

    Notes
    -----
    The data are those of `sklearn.datasets.load_digits`, 1,797 images of 8 x 8 pixels.
    Naive Bayes takes pixels for independent, counts the same evidence many times, and
    is far too sure; it orders images well, all the same.

    Examples
    --------
    >>> from abers.estimators.sample import scored_digits
    >>> recent = scored_digits()["recent"]
    >>> f"said {recent.scores.mean():.2f}, came {recent.labels.mean():.2f}"
    'said 0.18, came 0.10'
    """
    pixels, digits = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(digits.size)
    train, *parts = np.split(order, list(CUTS.values()))
    darkness = pixels.mean(axis=1)
    ink = np.where(darkness > np.median(darkness[train]), "thick", "thin")
    labels = (digits == EIGHT).astype(np.int64)
    model = GaussianNB(var_smoothing=0.1).fit(pixels[train], labels[train])

    def scored(rows: IntArray, shade: float = 1.0) -> ScoredImages:
        of_others, of_eights = model.predict_log_proba(pixels[rows] * shade).T
        # Rounded, so that every machine makes the same tables.
        scores = expit((of_eights - of_others).round(4))
        return ScoredImages(rows, ink[rows], scores, labels[rows])

    found: dict[str, Any] = dict(zip(CUTS, map(scored, parts), strict=True))
    return found | {"pale": scored(parts[1], PALE)}
