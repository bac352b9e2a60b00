"""The stacked rule as a calibrator of probmetrics, which is what CalArena runs.

In CalArena's `custom_calibrators.py`::

    from calarena_entry import StackedCalibrator

    CUSTOM_CALIBRATORS = {"abers": StackedCalibrator}

Probabilities are those of all classes, (n, C), or for two classes those of the second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from probmetrics.calibrators import Calibrator

import abers

if TYPE_CHECKING:
    from numpy.typing import NDArray


class StackedCalibrator(Calibrator):
    """Calibrate by `abers.fit_stacked_rule`."""

    def _fit_impl(self, X: NDArray[np.floating], y: NDArray[np.integer]) -> None:
        self.rule_ = abers.fit_stacked_rule(_scores(X), y)

    def _predict_proba_impl(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        p = self.rule_.probability(_scores(X))
        return np.stack((1 - p, p), axis=1) if p.ndim == 1 else p


def _scores(p: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the probability of the second of two classes, or those of all."""
    p = np.asarray(p, np.float64)
    return p[:, 1] if p.ndim == 2 and p.shape[1] == 2 else p
