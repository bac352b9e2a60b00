"""The methods of the study of accuracy, by protocol and number of classes.

Constants are those of each library. Of probmetrics' calibrators, CalArena's, these are
left out: binning, the kernel and boosted trees, which are below the middle of its
leaderboard or far slower; Dirichlet calibration, which needs a later Python; and those
that only wrap what is here already.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator

import abers
from experiments.accuracy.predictions import FOLDS, CrossFit, PostHoc, Replay

if TYPE_CHECKING:
    from collections.abc import Callable

    from abers.validation import FloatArray, IntArray

Cell = PostHoc | CrossFit
PROTOCOLS = ("post hoc", "K models")
LIBRARIES = ("abers", "scikit-learn", "probmetrics", "none")


class Method(NamedTuple):
    """A way to calibrate, and whose it is."""

    library: str
    predict: Callable[[Any], FloatArray]  # a cell -> (m, C) of its test rows


# Post hoc: probabilities of calibration rows and their labels, then new probabilities.


def fitted(make: Callable[[], Any], cell: PostHoc) -> FloatArray:
    """Fit a calibrator with scikit-learn's API."""
    calibrator = make().fit(cell.p_calibration, cell.y_calibration)
    return calibrator.predict_proba(cell.p_test)


def stacked(cell: PostHoc) -> FloatArray:
    """Apply a stacked rule."""
    two = cell.p_test.shape[1] == 2
    p, new = (of[:, 1] if two else of for of in (cell.p_calibration, cell.p_test))
    p = abers.fit_stacked_rule(p, cell.y_calibration).probability(new)
    return np.stack((1 - p, p), axis=1) if two else p


class Given(ClassifierMixin, BaseEstimator):
    """A classifier whose X are its probabilities."""

    def __init__(self, classes: int) -> None:
        self.classes = classes
        self.classes_ = np.arange(classes)

    def fit(self, X: FloatArray, y: IntArray) -> Given:  # noqa: ARG002
        """Do nothing; scikit-learn expects it."""
        return self

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """Return X."""
        return X

    def predict(self, X: FloatArray) -> IntArray:
        """Return the most probable class."""
        return X.argmax(axis=1)


def by_sklearn(method: str, cell: PostHoc) -> FloatArray:
    """Apply CalibratedClassifierCV to a frozen model."""
    model = FrozenEstimator(Given(cell.p_test.shape[1]))
    return fitted(lambda: CalibratedClassifierCV(model, method=method), cell)


def by_probmetrics(name: str, cell: PostHoc) -> FloatArray:
    """Apply a calibrator of probmetrics."""
    return fitted(partial(probmetrics_calibrator, name, cell.p_test.shape[1]), cell)


def probmetrics_calibrator(name: str, classes: int) -> Any:
    """Make a calibrator as CalArena does."""
    from probmetrics import calibrators as all_of_them

    if name in ("BetacalCalibrator", "CenteredIsotonicRegressionCalibrator"):
        binary = getattr(all_of_them, name)()
        return all_of_them.MulticlassOneVsRestCalibrator(binary)
    if name in ("affine", "quadratic"):
        return all_of_them.BinaryLogisticCalibrator(name)
    if name == "ts-mix":
        return all_of_them.get_calibrator(name)
    if name == "VennAbersCalibrator" and classes == 2:
        return all_of_them.BinaryVennAbersCalibrator()
    return getattr(all_of_them, name)()


OURS = {
    "stacked": Method("abers", stacked),
    "IVAP": Method("abers", partial(fitted, abers.IVAPCalibrator)),
    "beta": Method("abers", partial(fitted, abers.BetaCalibrator)),
    "Platt": Method("abers", partial(fitted, abers.PlattCalibrator)),
    "isotonic": Method("abers", partial(fitted, abers.IsotonicCalibrator)),
    "temperature": Method("abers", partial(fitted, abers.TemperatureCalibrator)),
}
SKLEARN = {
    f"{name} (scikit-learn)": Method("scikit-learn", partial(by_sklearn, name))
    for name in ("sigmoid", "isotonic", "temperature")
}
NAMES = {
    "beta (betacal)": "BetacalCalibrator",
    "spline": "MLISplineCalibrator",
    "centered isotonic": "CenteredIsotonicRegressionCalibrator",
    "Venn-Abers (venn-abers)": "VennAbersCalibrator",
    "temperature (probmetrics)": "TemperatureScalingCalibrator",
    "temperature, Laplace": "ts-mix",
    "ensemble temperature": "ETSCalibrator",
}
NAMES_OF_TWO = NAMES | {
    "Platt on log-odds": "affine",
    "quadratic": "quadratic",
    "CDF spline": "CDFSplineCalibrator",
}
NAMES_OF_MANY = NAMES | {
    "vector scaling": "VectorScalingCalibrator",
    "matrix scaling": "MatrixScalingCalibrator",
    "SVS": "SVSCalibrator",
    "SMS": "SMSCalibrator",
}
UNCALIBRATED = "uncalibrated"


def post_hoc(classes: int) -> dict[str, Method]:
    """Return the calibrators of probabilities."""
    names = NAMES_OF_TWO if classes == 2 else NAMES_OF_MANY
    theirs = {
        name: Method("probmetrics", partial(by_probmetrics, item))
        for name, item in names.items()
    }
    as_it_is = Method("none", lambda cell: cell.p_test)
    return OURS | SKLEARN | theirs | {UNCALIBRATED: as_it_is}


# K models: estimators are given a replayed classifier, and fitted as by anybody.


def cross_fitted(
    make: Callable[..., Any], options: dict[str, Any], cell: CrossFit
) -> FloatArray:
    """Fit an estimator on the recorded folds."""
    model = Replay(cell)
    estimator = make(model, cv=model.splitter(), **options)
    return estimator.fit(cell.X_train, cell.y_train).predict_proba(cell.X_test)


def beta_per_fold(cell: CrossFit) -> FloatArray:
    """Calibrate each model on its fold, and average."""
    held_out = cell.held_out()
    by_fold = [
        by_probmetrics(
            "BetacalCalibrator",
            PostHoc(held_out[rows], cell.y_train[rows], cell.of_test()[k], cell.y_test),
        )
        for k in range(FOLDS)
        if (rows := cell.folds == k).any()
    ]
    return np.mean(by_fold, axis=0)


def sms_of_all_folds(cell: CrossFit) -> FloatArray:
    """Fit one calibrator to all out-of-fold rows, apply it to each model, average."""
    calibrator = probmetrics_calibrator("SMSCalibrator", cell.held_out().shape[1])
    calibrator.fit(cell.held_out(), cell.y_train)
    return np.mean([calibrator.predict_proba(p) for p in cell.of_test()], axis=0)


def k_models(classes: int) -> dict[str, Method]:
    """Return the methods that are cross-fitted."""
    ours: dict[str, tuple[Any, dict[str, Any]]] = {
        "CalibratedClassifier": (abers.CalibratedClassifier, {}),
        "CVAP, pooled": (abers.CVAPClassifier, {"merge": "pooled"}),
        "CVAP, minimax": (abers.CVAPClassifier, {"merge": "minimax"}),
    }
    methods = {
        name: Method("abers", partial(cross_fitted, make, options))
        for name, (make, options) in ours.items()
    }
    for name in ("sigmoid", "isotonic", "temperature"):
        theirs = partial(cross_fitted, CalibratedClassifierCV, {"method": name})
        methods[f"{name} (scikit-learn)"] = Method("scikit-learn", theirs)
    if classes == 2:
        methods["beta per fold (betacal)"] = Method("probmetrics", beta_per_fold)
    else:
        methods["SMS of all folds"] = Method("probmetrics", sms_of_all_folds)
    methods["mean of the models"] = Method(
        "none", lambda cell: cell.of_test().mean(axis=0)
    )
    methods["one model of all rows"] = Method(
        "none", lambda cell: cell.probabilities[FOLDS, len(cell.y_train) :]
    )
    return methods


def methods(protocol: str, classes: int) -> dict[str, Method]:
    """Return the methods of a protocol, ours first."""
    return post_hoc(classes) if protocol == "post hoc" else k_models(classes)
