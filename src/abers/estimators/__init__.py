"""Estimators: Venn-Abers prediction with the manners of scikit-learn."""

from abers.estimators.calibrators import (
    BetaCalibrator,
    IsotonicCalibrator,
    IVAPCalibrator,
    PlattCalibrator,
    TemperatureCalibrator,
)
from abers.estimators.classifiers import CVAPClassifier, IVAPClassifier

__all__ = [
    "BetaCalibrator",
    "CVAPClassifier",
    "IVAPCalibrator",
    "IVAPClassifier",
    "IsotonicCalibrator",
    "PlattCalibrator",
    "TemperatureCalibrator",
]
