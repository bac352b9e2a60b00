"""Estimators: Venn-Abers prediction with the manners of scikit-learn."""

from abers.estimators.baselines import (
    BetaCalibrator,
    IsotonicCalibrator,
    PlattCalibrator,
    TemperatureCalibrator,
)
from abers.estimators.calibrators import IVAPCalibrator
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
