"""What cannot work is refused in one sentence: what must hold, and what came."""

import math
import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

import abers
from abers.errors import InvalidData, InvalidParameter, InvalidType

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] + RNG.normal(size=60) > 0).astype(int)
CLASSIFIERS = [
    abers.IVAPClassifier,
    abers.CVAPClassifier,
    abers.CalibratedClassifier,
]
few_rows = pytest.mark.filterwarnings("ignore:each of the 5 folds calibrates")
CALIBRATORS = [
    abers.IVAPCalibrator,
    abers.PlattCalibrator,
    abers.IsotonicCalibrator,
    abers.BetaCalibrator,
    abers.TemperatureCalibrator,
    abers.StackedCalibrator,
]


class Scores(ClassifierMixin, BaseEstimator):
    """Score the rows by whatever function it is given."""

    def __init__(self, function=None):
        self.function = function

    def fit(self, _X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return self.function(X)


def nan_below(X):
    first = np.asarray(X)[:, 0]
    return np.where(first < 0, np.nan, first)


def one_too_few(X):
    return X[1:, 0]


def three_columns(X):
    return X[:, :3]


def whole(sentence):
    return f"^{re.escape(sentence)}$"


# --- unfitted ---


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_bounds"])
def test_an_unfitted_classifier_says_so_in_scikit_learns_words(kind, method):
    with pytest.raises(NotFittedError, match=f"This {kind.__name__} .* not fitted yet"):
        getattr(kind(GaussianNB()), method)(X)


@pytest.mark.parametrize("kind", CALIBRATORS)
@pytest.mark.parametrize("method", ["predict", "predict_proba"])
def test_an_unfitted_calibrator_says_so_in_scikit_learns_words(kind, method):
    with pytest.raises(NotFittedError, match=f"This {kind.__name__} .* not fitted yet"):
        getattr(kind(), method)([0.5])


@pytest.mark.parametrize("kind", [abers.IVAPCalibrator, abers.StackedCalibrator])
def test_unfitted_bounds_say_so_too(kind):
    with pytest.raises(NotFittedError):
        kind().predict_bounds([0.5])


def test_a_frozen_but_unfitted_model_is_named():
    with pytest.raises(NotFittedError):
        abers.IVAPClassifier(FrozenEstimator(GaussianNB())).fit(X, Y)


# --- labels ---


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("label", [0, "spam", True])
def test_one_class_in_y_is_refused_by_name(kind, label):
    sentence = (
        f"{kind.__name__} needs labels of at least two classes; "
        f"got one class only, [{label!r}]."
    )
    with pytest.raises(InvalidData, match=whole(sentence)):
        kind(GaussianNB()).fit(X, [label] * 60)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_no_rows_and_a_class_for_a_model_are_refused(kind):
    sentence = f"{kind.__name__} needs labels of at least two classes; got no rows."
    with pytest.raises(InvalidData, match=whole(sentence)):
        kind(GaussianNB()).fit(X[:0], [])
    sentence = "the classifier must be an instance; got the class GaussianNB. Pass Ga"
    with pytest.raises(InvalidParameter, match=sentence):
        kind(GaussianNB).fit(X, Y)


@pytest.mark.parametrize("dtype", [str, object])
def test_a_class_with_fewer_members_than_folds_is_warned_of_by_name(dtype):
    labels = np.array(["a"] * 56 + ["b"] * 4, dtype=dtype)
    cvap = abers.CVAPClassifier(GaussianNB(), cv=5, merge="pooled")
    with pytest.warns(
        UserWarning, match=r"'b' has only 4 of 60 rows.*5 folds"
    ) as warned:
        cvap.fit(X, labels)
    assert len(warned) == 1
    assert warned[0].filename == __file__
    assert len(cvap.estimators_) == 5


def test_training_rows_of_one_class_are_refused():
    pairs = [(np.flatnonzero(Y == 0), np.flatnonzero(Y == 1))]
    with pytest.raises(InvalidData, match=r"training rows .* got only \[0\]"):
        abers.CVAPClassifier(GaussianNB(), cv=pairs).fit(X, Y)


@pytest.mark.parametrize("label", [2, -1])
def test_a_label_that_a_prefit_model_does_not_know_is_refused(label):
    model = FrozenEstimator(GaussianNB().fit(X, Y))
    labels = np.where(np.arange(60) == 7, label, Y)
    sentence = (
        f"labels must be among those of the prefit model, [0, 1]; got {label} at row 7."
    )
    with pytest.raises(InvalidData, match=whole(sentence)):
        abers.IVAPClassifier(model).fit(X, labels)


def test_an_unknown_name_is_refused_by_a_prefit_model():
    names = np.array(["no", "yes"], dtype=object)[Y]
    model = FrozenEstimator(GaussianNB().fit(X, names))
    with pytest.raises(InvalidData, match=r"\['no', 'yes'\]; got 'maybe' at row 0"):
        abers.IVAPClassifier(model).fit(X, np.where(np.arange(60), names, "maybe"))


@pytest.mark.parametrize("kind", CLASSIFIERS + CALIBRATORS)
def test_missing_y_is_refused(kind):
    with pytest.raises(ValueError, match="requires y to be passed"):
        kind().fit(X[:, :1], None)


@pytest.mark.parametrize("kind", CLASSIFIERS + CALIBRATORS)
def test_continuous_labels_are_refused(kind):
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        kind().fit(X[:, :1], X[:, 0])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("kind", CLASSIFIERS + CALIBRATORS)
def test_missing_and_infinite_labels_are_refused(kind, bad):
    labels = np.where(np.arange(60) == 7, bad, Y)
    with pytest.raises(ValueError, match=r"Input y contains (NaN|infinity)"):
        kind().fit(X[:, :1], labels)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_another_number_of_labels_than_rows_is_refused(kind):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        kind(GaussianNB()).fit(X, Y[1:])


# --- what the user's classifier says ---


def test_nan_from_the_classifier_is_refused_with_its_name_and_row():
    model = abers.IVAPClassifier(Scores(nan_below), calibration=np.arange(30))
    first = int(np.argmax(X[:30, 0] < 0))
    sentence = (
        "the classifier must not give NaN as a score; "
        f"Scores.decision_function did, first at row {first}."
    )
    with pytest.raises(InvalidData, match=whole(sentence)):
        model.fit(X, Y)


def test_nan_from_the_classifier_is_refused_at_prediction_too():
    positive = np.abs(X)
    model = abers.IVAPClassifier(Scores(nan_below)).fit(positive, Y)
    with pytest.raises(InvalidData, match="first at row 1"):
        model.predict_proba([[1.0, 0, 0], [-1.0, 0, 0]])


def test_another_number_of_scores_than_rows_is_refused():
    model = abers.IVAPClassifier(Scores(one_too_few), calibration=np.arange(30))
    sentence = (
        "the classifier must give one score for each row; "
        "Scores.decision_function gave (29,) for 30 rows."
    )
    with pytest.raises(InvalidData, match=whole(sentence)):
        model.fit(X, Y)


class Tensor:
    """Refuse to become an array, in the words of torch."""

    def __init__(self, error):
        self.error = error
        self.shape, self.ndim = (60,), 1

    def __len__(self):
        return 60

    def detach(self):
        return self

    def __array__(self, dtype=None, copy=None):
        raise self.error


TENSORS = {
    "grad": Tensor(
        RuntimeError(
            "Can't call numpy() on Tensor that requires grad. "
            "Use tensor.detach().numpy() instead."
        )
    ),
    "bfloat16": Tensor(TypeError("Got unsupported ScalarType BFloat16")),
}
UNREADABLE = {
    "fit_rule": (lambda values: abers.fit_rule(values, Y), "scores"),
    "labels": (lambda values: abers.fit_rule(X[:, 0], values), "labels"),
    "bounds": (lambda values: abers.fit_rule(X[:, 0], Y).bounds(values), "scores"),
    "calibrator": (lambda values: abers.IVAPCalibrator().fit(values, Y), "scores"),
    "y": (lambda values: abers.PlattCalibrator().fit(X[:, 0], values), "y"),
    "y of a classifier": (lambda values: abers.CVAPClassifier().fit(X, values), "y"),
    "classifier": (
        lambda values: abers.IVAPClassifier(Scores(lambda _: values)).fit(X, Y),
        "scores by Scores.decision_function",
    ),
}


@pytest.mark.parametrize("tensor", TENSORS.values(), ids=TENSORS)
@pytest.mark.parametrize(("use", "name"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_tensor_that_is_no_array_yet_is_refused_with_the_way_out(use, name, tensor):
    sentence = (
        f"{name} must be numbers that numpy can read; the Tensor given says: "
        f"{str(tensor.error).rstrip('.')}. Of a torch tensor pass "
        "tensor.detach().cpu().double().numpy()."
    )
    with pytest.raises(InvalidType, match=whole(sentence)):
        use(tensor)


def test_masked_scores_of_a_classifier_are_missing():
    model = abers.IVAPClassifier(
        Scores(lambda X: np.ma.masked_less(X[:, 0], -0.5)), calibration=np.arange(30)
    )
    first = int((X[:30, 0] < -0.5).argmax())
    with pytest.raises(InvalidData, match=f"NaN as a score.*first at row {first}"):
        model.fit(X, Y)


@pytest.mark.parametrize("estimator", [*CLASSIFIERS, *CALIBRATORS])
def test_masked_labels_are_missing(estimator):
    labels = np.ma.array(Y, mask=np.isin(np.arange(60), [7, 9]))
    sentence = (
        "y must not be missing; got masked labels in 2 of 60 rows, first at row 7. "
        "Drop the rows without a label."
    )
    with pytest.raises(InvalidData, match=whole(sentence)):
        estimator().fit(X if estimator in CLASSIFIERS else X[:, 0], labels)


@few_rows
@pytest.mark.parametrize("estimator", [*CLASSIFIERS, *CALIBRATORS])
def test_a_mask_that_hides_nothing_changes_nothing(estimator):
    rows = X if estimator in CLASSIFIERS else X[:, 0]
    options = {"random_state": 0} if estimator in CLASSIFIERS else {}
    plain = estimator(**options).fit(rows, Y)
    masked = estimator(**options).fit(rows, np.ma.array(Y, mask=False))
    np.testing.assert_array_equal(masked.predict_proba(rows), plain.predict_proba(rows))


@pytest.mark.parametrize(
    ("function", "error", "says"),
    [
        (lambda X: X[:, 0] + 1j, InvalidType, "decision_function must be real numbers"),
        (lambda X: np.zeros((len(X), 2, 2)), InvalidData, r"gave \(12, 2, 2\) for"),
    ],
    ids=["complex", "three-dimensional"],
)
def test_scores_that_are_no_column_of_numbers_are_refused(function, error, says):
    with pytest.raises(error, match=says):
        abers.IVAPClassifier(Scores(function)).fit(X, Y)


def test_more_columns_of_scores_than_classes_are_refused():
    with pytest.raises(InvalidData, match=r"2 classes.*3 columns"):
        abers.IVAPClassifier(Scores(three_columns)).fit(X, Y)


def test_a_classifier_without_scores_is_refused():
    sentence = (
        "the classifier must have decision_function or predict_proba to score rows; "
        "KMeans has not."
    )
    with pytest.raises(InvalidParameter, match=whole(sentence)):
        abers.IVAPClassifier(KMeans()).fit(X, Y)


def test_a_response_method_that_the_classifier_lacks_is_refused():
    model = abers.CVAPClassifier(Perceptron(), response_method="predict_proba")
    with pytest.raises(
        InvalidParameter, match=r"must have predict_proba .* Perceptron"
    ):
        model.fit(X, Y)


def test_scores_of_pairs_are_refused_with_a_hint():
    """With decision_function_shape="ovo" and more than two classes."""
    model = abers.IVAPClassifier(SVC(decision_function_shape="ovo"))
    with pytest.raises(InvalidParameter, match="set decision_function_shape='ovr' on"):
        model.fit(X, np.arange(60) % 3)


# --- X and scores ---


@few_rows
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_another_number_of_columns_than_at_fit_is_refused(kind):
    model = kind(GaussianNB()).fit(X, Y)
    with pytest.raises(ValueError, match=r"X has 2 features, but .* expecting 3"):
        model.predict_proba(X[:, :2])


@pytest.mark.parametrize("kind", CALIBRATORS)
@pytest.mark.parametrize("columns", [1, 2, 4])
def test_another_number_of_score_columns_than_at_fit_is_refused(kind, columns):
    calibrator = kind().fit(X, np.arange(60) % 3)
    sentence = f"scores must have 3 columns as at fit; got {columns}."
    with pytest.raises(InvalidData, match=whole(sentence)):
        calibrator.predict_proba(np.zeros((2, columns)))


@pytest.mark.parametrize("kind", [abers.PlattCalibrator, abers.IsotonicCalibrator])
def test_three_columns_are_refused_where_one_was_fitted(kind):
    fitted = kind().fit(X[:, 0], Y)
    with pytest.raises(InvalidData, match=r"1 column as at fit; got 3\.$"):
        fitted.predict_proba(X)


@pytest.mark.parametrize("kind", CALIBRATORS)
def test_missing_scores_are_counted_and_the_first_is_named(kind):
    """Missing scores."""
    scores = np.where(np.arange(60) % 20 == 3, np.nan, X[:, 0])
    match = "got NaN in 3 of 60 rows, first at row 3"
    with pytest.raises(InvalidData, match=match):
        kind().fit(scores, Y)
    with pytest.raises(InvalidData, match=match):
        kind().fit(X[:, 0], Y).predict_proba(scores)


@pytest.mark.parametrize("kind", CALIBRATORS)
def test_scores_and_labels_must_be_equally_long(kind):
    with pytest.raises(InvalidData, match="equally long; got 59 y and 60 scores"):
        kind().fit(X[:, 0], Y[1:])


@pytest.mark.parametrize("kind", CALIBRATORS)
def test_nothing_to_calibrate_with_is_refused(kind):
    with pytest.raises(ValueError, match="empty"):
        kind().fit([], [])


@pytest.mark.parametrize("kind", CALIBRATORS)
def test_scores_of_three_dimensions_are_refused(kind):
    with pytest.raises(InvalidData, match=r"got \(2, 2, 2\)"):
        kind().fit(np.zeros((2, 2, 2)), [0, 1])


# --- weights ---


@pytest.mark.parametrize("kind", CLASSIFIERS + CALIBRATORS)
@pytest.mark.parametrize(
    ("weights", "match"),
    [
        (np.where(np.arange(60) == 4, -1.0, 1.0), "not negative; got -1.0 at row 4"),
        (np.where(np.arange(60) == 4, np.nan, 1.0), "got nan at row 4"),
        (np.zeros(60), "must not all be zero"),
    ],
)
def test_bad_weights_are_refused(kind, weights, match):
    with pytest.raises(InvalidData, match=match):
        kind().fit(X[:, :1], Y, sample_weight=weights)


@pytest.mark.parametrize(
    ("kind", "others"),
    [(kind, "rows of X") for kind in CLASSIFIERS]
    + [(kind, "scores") for kind in CALIBRATORS],
)
def test_another_number_of_weights_than_rows_is_refused(kind, others):
    sentence = (
        f"sample_weight and {others} must be equally long; "
        f"got 59 sample_weight and 60 {others}."
    )
    with pytest.raises(InvalidData, match=whole(sentence)):
        kind().fit(X[:, :1], Y, sample_weight=np.ones(59))


# --- options ---


@pytest.mark.parametrize("kind", [*CLASSIFIERS[:2], abers.IVAPCalibrator])
@pytest.mark.parametrize("option", ["loss", "multiclass"])
def test_an_unknown_option_is_refused_and_the_offered_ones_are_named(kind, option):
    ways = "'auto' or 'ovo' or 'ovr'"
    ways += " or 'top'" * (kind is not abers.CVAPClassifier)
    offered = {"loss": "'log' or 'brier'", "multiclass": ways}[option]
    sentence = f"{option} must be {offered}; got 'nonsense'."
    with pytest.raises(InvalidParameter, match=whole(sentence)):
        kind(**{option: "nonsense"}).fit(X[:, :1], Y)


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (abers.CVAPClassifier(merge="mean"), "merge must be .*; got 'mean'"),
        (abers.IVAPCalibrator(scores="odds"), "scores must be .*; got 'odds'"),
        (abers.IVAPClassifier(response_method="predict"), "response_method must be"),
        (abers.CVAPClassifier(cv=1), "cv must be at least 2; got 1"),
        (abers.CVAPClassifier(cv="five"), "cv must be .*; got 'five'"),
        (abers.CVAPClassifier(cv=2.5), r"cv must be .*; got 2\.5"),
        (abers.CVAPClassifier(cv=True), "cv must be .*; got True"),
        (abers.CVAPClassifier(cv=[]), "cv must give at least one pair"),
        (abers.CVAPClassifier(cv=[([0, 1, 2], [])]), "each with calibration rows"),
        (abers.CVAPClassifier(cv=[1, 2, 3]), r"cv must be pairs .*; got 1\."),
        (abers.CVAPClassifier(cv=[([0, 1], [60])]), "each row a number below 60"),
        (abers.CVAPClassifier(cv=[([0, 1], [0.5])]), "each row a number below 60"),
        (abers.CVAPClassifier(cv=[([0, 1], [True])]), "a mask of 60 booleans"),
        (abers.IVAPClassifier(calibration=0), "calibration must be .*; got 0 for 60"),
        (abers.IVAPClassifier(calibration=60), "calibration must be .*; got 60 for 60"),
        (abers.IVAPClassifier(calibration=1.5), r"calibration must be .*; got 1\.5"),
        (abers.IVAPClassifier(calibration=True), "calibration must be .*; got True"),
        (abers.IVAPClassifier(calibration="20%"), "calibration must be .*; got '20%'"),
        (abers.IVAPClassifier(calibration=None), "calibration must be .*; got None"),
        (
            abers.IVAPClassifier(calibration=[0, 60, 61]),
            "row numbers below 60, .*; got the row number 60.$",
        ),
        (
            abers.IVAPClassifier(calibration=[-1, 3]),
            "row numbers below 60, of which 0 is the first; got the row number -1.$",
        ),
        (
            abers.IVAPClassifier(calibration=[5, 3, 3]),
            "distinct row numbers .*; got the row number 3 more than once.$",
        ),
        (abers.IVAPClassifier(calibration=[True, False]), "a mask of 60 booleans"),
        (abers.IVAPClassifier(calibration=[0.1, 0.2]), "array of float64"),
        (abers.IVAPClassifier(calibration=np.arange(60)), "rows on both sides"),
        (abers.IVAPClassifier(calibration=[False] * 60), "rows on both sides"),
    ],
    ids=str,
)
def test_a_bad_option_is_refused_in_one_sentence(model, match):
    with pytest.raises(InvalidParameter, match=match) as caught:
        model.fit(X[:, :1], Y)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("calibrator", "option"),
    [
        (abers.PlattCalibrator(regularised="no"), "regularised"),
        (abers.IsotonicCalibrator(dummies=0), "dummies"),
    ],
    ids=["regularised", "dummies"],
)
def test_a_flag_that_is_neither_true_nor_false_is_refused(calibrator, option):
    with pytest.raises(InvalidType, match=f"{option} must be True or False; got"):
        calibrator.fit(X[:, 0], Y)


@few_rows
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_a_refused_fit_leaves_the_earlier_one_standing(kind):
    model = kind(LogisticRegression(), random_state=0).fit(X, Y)
    before = model.predict_bounds(X)
    with pytest.raises(InvalidData):
        model.fit(X, np.zeros(60))
    np.testing.assert_array_equal(model.predict_bounds(X), before)


@pytest.mark.parametrize("fraction", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("kind", [abers.IVAPClassifier, abers.IVAPRegressor])
def test_a_fraction_that_is_no_number_is_refused(kind, fraction):
    words = f"calibration must be a fraction between 0 and 1.*got {fraction!r} for 60"
    with pytest.raises(InvalidParameter, match=words):
        kind(calibration=fraction).fit(X, Y)


DISPATCHED = """
import numpy as np, sklearn, abers
class Tensor:
    def __init__(self, values): self.values = values
    def __dlpack__(self): return self.values.__dlpack__()
    def __array_namespace__(self, api_version=None): return np
    def __len__(self): return len(self.values)
    shape = property(lambda self: self.values.shape)
    ndim = property(lambda self: self.values.ndim)
    dtype, device = object(), "cpu"
X = np.arange(40.0).reshape(20, 2) % 7
y = np.arange(20) % 2
sklearn.set_config(array_api_dispatch=True)
for fit, name in (
    (lambda: abers.IVAPClassifier().fit(X, Tensor(y)), "y"),
    (lambda: abers.CVAPClassifier().fit(Tensor(X), y), "X"),
    (lambda: abers.IVAPCalibrator().fit(X[:, 0], Tensor(y)), "y"),
):
    try:
        fit()
    except abers.errors.InvalidType as wrong:
        assert str(wrong).startswith(f"{name} must be a NumPy array"), wrong
        assert f"Pass np.asarray({name})" in str(wrong), wrong
    else:
        raise AssertionError(name)
abers.IVAPClassifier().fit(X, y)
"""


def test_tensors_under_array_api_dispatch_are_refused_with_the_way_out():
    """SciPy reads the variable when it is imported, hence the process."""
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}
    run = [sys.executable, "-W", "ignore", "-c", DISPATCHED]
    subprocess.run(run, check=True, env=environment)


@pytest.mark.parametrize(
    ("model", "way"),
    [
        (abers.CVAPClassifier(), r"cv=GroupKFold\(5\)"),
        (abers.CVAPClassifier(cv=[(range(30), range(30, 60))]), "another splitter"),
        (abers.CVAPRegressor(cv=3), r"cv=GroupKFold\(5\)"),
        (abers.IVAPClassifier(), "row numbers of whole groups"),
        (abers.IVAPRegressor(), "row numbers of whole groups"),
    ],
)
def test_groups_that_nothing_keeps_together_are_refused(model, way):
    """Rows of one group in training and calibration would be a leak unseen."""
    with pytest.raises(InvalidParameter, match=f"groups must have a splitter.*{way}"):
        model.fit(X, Y, groups=np.arange(60) // 6)


def test_a_splitter_says_itself_whether_it_uses_groups():
    with pytest.warns(UserWarning, match="groups parameter is ignored by KFold"):
        abers.CVAPClassifier(GaussianNB(), cv=KFold(3), merge="pooled").fit(
            X, Y, groups=Y
        )


NAMES = np.array(["no", "yes"] * 30, dtype=object)


def without_the_fifth(missing):
    labels = NAMES.copy()
    labels[5] = missing
    return labels


@pytest.mark.parametrize(
    "labels",
    [
        without_the_fifth(None),
        without_the_fifth(float("nan")),
        pd.Series(without_the_fifth(None), dtype="string"),
        pd.Series(without_the_fifth(None), dtype="category"),
    ],
    ids=["None", "NaN", "NA", "category"],
)
@pytest.mark.parametrize(
    "fit",
    [
        lambda y: abers.IVAPClassifier(GaussianNB()).fit(X, y),
        lambda y: abers.CVAPClassifier(GaussianNB()).fit(X, y),
        lambda y: abers.IVAPCalibrator().fit(X[:, 0], y),
        lambda y: abers.PlattCalibrator().fit(X[:, 0], y),
    ],
    ids=["IVAP", "CVAP", "calibrator", "Platt"],
)
def test_a_missing_label_is_named_by_its_row(fit, labels):
    with pytest.raises(InvalidData, match=r"in 1 of 60 rows, first at row 5\. Drop"):
        fit(labels)
