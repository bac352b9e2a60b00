"""Estimators: Venn-Abers prediction with the manners of scikit-learn."""

from abers.estimators.baselines import IsotonicCalibrator, PlattCalibrator
from abers.estimators.calibrators import IVAPCalibrator
from abers.estimators.classifiers import CVAPClassifier, IVAPClassifier

__all__ = [
    "CVAPClassifier",
    "IVAPCalibrator",
    "IVAPClassifier",
    "IsotonicCalibrator",
    "PlattCalibrator",
]
