"""scikit-learn's own checks of estimators: nothing excused that is ours to keep."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

import abers
from strategies import either_way

MODELS = [GaussianNB(), DecisionTreeClassifier(random_state=0), LogisticRegression()]
REGRESSORS = [
    LinearRegression(),
    DecisionTreeRegressor(random_state=0),
    GradientBoostingRegressor(n_estimators=20, random_state=0),
]
CALIBRATORS = [
    abers.IVAPCalibrator(),
    abers.PlattCalibrator(),
    abers.IsotonicCalibrator(),
    abers.BetaCalibrator(),
    abers.TemperatureCalibrator(),
    abers.StackedCalibrator(),
]
# Any two values of two options come together here or in the defaults, above.
OPTIONS = [
    {"merge": "pooled", "ensemble": True, "multiclass": "ovo"},
    {"merge": "pooled", "ensemble": True, "multiclass": "ovr"},
    {"merge": "pooled", "ensemble": False, "multiclass": "auto"},
    {"merge": "minimax", "ensemble": False, "multiclass": "ovo"},
    {"merge": "minimax", "ensemble": False, "multiclass": "ovr"},
]
# A row of weight 2 falls on one side of a random split; two copies may not.
RANDOM_SPLIT = {
    f"check_sample_weight_equivalence_on_{kind}_data": "the split is random"
    for kind in ("dense", "sparse")
}
# A new target that could be a million times as large as any other moves every mean.
FAR_ENDS = {"check_regressors_train": "the ends tell nothing"}
# Negative margins stay negative at any temperature: there is no intercept.
NO_INTERCEPT = {"check_classifiers_one_label": "a temperature keeps the order"}


class OnOneColumn(ClassifierMixin, BaseEstimator):
    """Feed one column of X to a calibrator: scikit-learn hardly checks 1-D estimators.

    The last one, downwards: of the blobs that it draws to ask for 83 % of right
    answers, the first column does not tell enough.
    """

    def __init__(self, calibrator=None):
        self.calibrator = calibrator

    def fit(self, X, y, sample_weight=None):
        X, y = validate_data(self, X, y)
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        if kind != "binary":
            msg = f"Only binary classification is supported. Got {kind} labels."
            raise ValueError(msg)
        self.calibrator_ = clone(self.calibrator)
        self.calibrator_.fit(-X[:, -1], y, sample_weight=sample_weight)
        self.classes_ = self.calibrator_.classes_
        return self

    def predict_proba(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        return self.calibrator_.predict_proba(-X[:, -1])

    def predict(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        return self.calibrator_.predict(-X[:, -1])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class OnProbabilities(ClassifierMixin, BaseEstimator):
    """Feed the probabilities of a tree to a calibrator: a column for each class."""

    def __init__(self, calibrator=None):
        self.calibrator = calibrator

    def fit(self, X, y, sample_weight=None):
        X, y = validate_data(self, X, y)
        type_of_target(y, input_name="y", raise_unknown=True)
        if len(np.unique(y)) < 2:
            msg = "This classifier needs more than one class."
            raise ValueError(msg)
        self.model_ = DecisionTreeClassifier(max_depth=3, random_state=0)
        self.model_.fit(X, y, sample_weight=sample_weight)
        self.classes_ = self.model_.classes_
        scores = self.model_.predict_proba(X)
        self.calibrator_ = clone(self.calibrator)
        self.calibrator_.fit(scores, y, sample_weight=sample_weight)
        return self

    def predict_proba(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        return self.calibrator_.predict_proba(self.model_.predict_proba(X))

    def predict(self, X):
        most_probable = self.predict_proba(X).argmax(axis=1)
        return self.classes_[most_probable]


def excused(estimator):
    if isinstance(estimator, OnOneColumn) and isinstance(
        estimator.calibrator, abers.TemperatureCalibrator
    ):
        return NO_INTERCEPT
    if isinstance(estimator, abers.IVAPRegressor | abers.CVAPRegressor):
        return excused_of_regressors(estimator)
    return RANDOM_SPLIT if isinstance(estimator, abers.IVAPClassifier) else {}


def excused_of_regressors(estimator):
    excused = {} if estimator.low is None else FAR_ENDS
    if isinstance(estimator, abers.IVAPRegressor):
        return excused | RANDOM_SPLIT
    return excused


# Its own naive Bayes takes the logarithm of a class that weights have emptied.
@pytest.mark.filterwarnings(
    "ignore:divide by zero encountered in log:RuntimeWarning:sklearn.naive_bayes"
)
# The checks are done on few rows.
@pytest.mark.filterwarnings("ignore:each of the 3 folds calibrates:UserWarning")
# Some labels of theirs fall where our scores rise.
@either_way
@pytest.mark.filterwarnings("ignore:class .* has only . of .* rows:UserWarning")
@parametrize_with_checks(
    [
        *(abers.CVAPClassifier(model, cv=3) for model in MODELS),
        *(abers.CVAPClassifier(GaussianNB(), cv=3, **some) for some in OPTIONS),
        *(abers.CalibratedClassifier(model, cv=3) for model in MODELS),
        abers.CalibratedClassifier(GaussianNB(), cv=3, ensemble=False),
        *(abers.IVAPClassifier(model) for model in MODELS),
        *(abers.CVAPRegressor(model, cv=3) for model in REGRESSORS),
        *(abers.IVAPRegressor(model) for model in REGRESSORS),
        abers.CVAPRegressor(cv=3, low=-1e9, high=1e9),
        abers.IVAPRegressor(low=-1e9),
        *(OnOneColumn(calibrator) for calibrator in CALIBRATORS),
        *(OnProbabilities(calibrator) for calibrator in CALIBRATORS[1:]),
    ],
    expected_failed_checks=excused,
)
def test_estimator_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)
