"""Tables, sparse rows, labels, weights and fit parameters go where they should."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, TimeSeriesSplit
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import abers
from witnesses import Recording, X, Y, log_odds, rule_of, single

wrappers = pytest.mark.parametrize(
    "wrapper", [abers.IVAPClassifier, abers.CVAPClassifier]
)


def as_polars(rows):
    return pl.DataFrame(rows, schema=[f"x{j}" for j in range(rows.shape[1])])


def as_pandas(rows):
    """With an index that is not 0, 1, 2, …"""
    frame = pd.DataFrame(rows, columns=[f"x{j}" for j in range(rows.shape[1])])
    return frame.set_index(np.arange(len(rows))[::-1] * 10)


@pytest.mark.parametrize("table", [as_pandas, as_polars])
@pytest.mark.parametrize(
    "wrapper", [abers.IVAPClassifier(random_state=0), abers.CVAPClassifier(cv=KFold(3))]
)
def test_tables_give_the_numbers_of_arrays(table, wrapper):
    model = make_pipeline(StandardScaler(), LogisticRegression())
    wrapper = clone(wrapper).set_params(estimator=model)
    expected = clone(wrapper).fit(X, Y).predict_bounds(X)
    fitted = wrapper.fit(table(X), Y)
    np.testing.assert_array_equal(fitted.predict_bounds(table(X)), expected)
    assert fitted.feature_names_in_.tolist() == ["x0", "x1", "x2", "x3", "x4"]
    assert fitted.n_features_in_ == 5


@pytest.mark.parametrize(
    "kind", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array]
)
@wrappers
def test_sparse_rows_give_the_numbers_of_dense_rows(kind, wrapper):
    bits = X > 0
    fitted = wrapper(BernoulliNB(), random_state=0).fit(kind(bits * 1.0), Y)
    dense = wrapper(BernoulliNB(), random_state=0).fit(bits * 1.0, Y)
    assert fitted.rules_ == dense.rules_
    np.testing.assert_array_equal(
        fitted.predict_proba(kind(bits * 1.0)), dense.predict_proba(bits * 1.0)
    )


@pytest.mark.parametrize(
    "names",
    [["no", "yes"], [False, True], [-1, 1], [1, 2], [0.0, 1.0]],
    ids=lambda names: repr(names[1]),
)
@pytest.mark.parametrize("container", [np.asarray, list, pd.Series])
@wrappers
def test_labels_of_any_kind_keep_their_names_and_numbers(names, container, wrapper):
    labels = np.array(names)[Y]
    fitted = wrapper(GaussianNB(), random_state=0).fit(X, container(labels))
    plain = wrapper(GaussianNB(), random_state=0).fit(X, Y)
    assert fitted.classes_.tolist() == names
    np.testing.assert_array_equal(fitted.predict_proba(X), plain.predict_proba(X))
    np.testing.assert_array_equal(fitted.predict(X), np.array(names)[plain.predict(X)])


@pytest.mark.parametrize("method", ["decision_function", "predict_proba"])
def test_response_method_chooses_what_scores(method):
    ivap = abers.IVAPClassifier(
        calibration=np.arange(80), response_method=method, random_state=0
    ).fit(X, Y)
    raw = getattr(LogisticRegression().fit(X[80:], Y[80:]), method)(X[:80])
    scores = single(raw) if raw.ndim == 1 else log_odds(raw)
    assert ivap.rules_ == [[abers.fit_rule(scores, Y[:80])]]


WEIGHTS = np.arange(240) % 4 * 1.0


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("name", ["ivap", "cvap"])
def test_weights_reach_the_classifier_and_the_rules(routing, name):
    pairs = [(np.arange(80, 240), np.arange(80))]
    with config_context(enable_metadata_routing=routing):
        model = GaussianNB()
        wrapper = (
            abers.IVAPClassifier(model, calibration=np.arange(80))
            if name == "ivap"
            else abers.CVAPClassifier(model, cv=pairs)
        )
        if routing:
            model.set_fit_request(sample_weight=True)
            wrapper.set_fit_request(sample_weight=True)
        wrapper.fit(X, Y, sample_weight=WEIGHTS)
    trained = GaussianNB().fit(X[80:], Y[80:], sample_weight=WEIGHTS[80:])
    assert wrapper.rules_ == [[rule_of(trained, X[:80], Y[:80], WEIGHTS[:80])]]


def test_weights_go_into_the_rules_of_a_classifier_that_takes_none():
    class Unweighted(Recording):
        def fit(self, X, y):
            return super().fit(X, y)

    ivap = abers.IVAPClassifier(Unweighted(), calibration=np.arange(80))
    with pytest.warns(UserWarning, match="Unweighted does not take sample_weight, so"):
        ivap.fit(X, Y, sample_weight=WEIGHTS)
    rule = abers.fit_rule(single(X[:80, 0]), Y[:80], sample_weight=WEIGHTS[:80])
    assert ivap.rules_ == [[rule]]


@pytest.mark.parametrize(
    ("model", "parameter"),
    [
        (
            make_pipeline(StandardScaler(), LogisticRegression()),
            "logisticregression__sample_weight",
        ),
        (
            make_pipeline(StandardScaler(), make_pipeline(GaussianNB())),
            "pipeline__gaussiannb__sample_weight",
        ),
    ],
    ids=["pipeline", "pipeline in a pipeline"],
)
def test_the_warning_about_a_pipeline_names_the_parameter_that_helps(model, parameter):
    wrapper = abers.IVAPClassifier(model, calibration=np.arange(80))
    advice = f"in the rules only. Pass {parameter}=... as well, or use metadata routing"
    with pytest.warns(UserWarning, match=advice):
        wrapper.fit(X, Y, sample_weight=WEIGHTS)
    wrapper.fit(X, Y, sample_weight=WEIGHTS, **{parameter: WEIGHTS})  # no warning
    trained = clone(model).fit(X[80:], Y[80:], **{parameter: WEIGHTS[80:]})
    assert wrapper.rules_ == [[rule_of(trained, X[:80], Y[:80], WEIGHTS[:80])]]


def test_a_pipeline_that_cannot_take_weights_gets_no_advice():
    model = make_pipeline(StandardScaler(), KNeighborsClassifier())
    with pytest.warns(
        UserWarning, match="Pipeline does not take.* in the rules only.$"
    ):
        abers.IVAPClassifier(model).fit(X, Y, sample_weight=WEIGHTS)


LIGHT = (
    "the {} calibration rows have a total weight of only {}, so that a new case, which "
    "counts as one row, outweighs them: scale sample_weight so that it sums to the "
    "number of rows."
)


@pytest.mark.parametrize(
    ("estimator", "count", "total"),
    [
        (abers.CVAPClassifier(random_state=0), 180, "1"),
        (abers.CVAPClassifier(cv=TimeSeriesSplit(2)), 120, "0.667"),
        (abers.IVAPClassifier(calibration=np.arange(80)), 60, "0.333"),
        (abers.IVAPClassifier(FrozenEstimator(GaussianNB().fit(X, Y))), 180, "1"),
        (abers.IVAPCalibrator(), 180, "1"),
        (abers.PlattCalibrator(), 180, "1"),
        (abers.IsotonicCalibrator(dummies=True), 180, "1"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_weights_that_a_new_case_outweighs_cause_one_warning(estimator, count, total):
    """The rows of weight 0 do not count: three in four have a weight."""
    rows = X if hasattr(estimator, "estimator") else X[:, 0]
    with pytest.warns(UserWarning, match="scale sample_weight") as warned:
        estimator.fit(rows, Y, sample_weight=WEIGHTS / WEIGHTS.sum())
    assert [str(each.message) for each in warned] == [LIGHT.format(count, total)]
    assert warned[0].filename == __file__


@pytest.mark.parametrize(
    "estimator",
    [abers.PlattCalibrator(regularised=False), abers.IsotonicCalibrator()],
    ids=["plain Platt", "plain isotonic"],
)
def test_where_only_the_ratio_of_weights_matters_none_is_too_light(estimator):
    light = clone(estimator).fit(X[:, 0], Y, sample_weight=WEIGHTS / WEIGHTS.sum())
    plain = estimator.fit(X[:, 0], Y, sample_weight=WEIGHTS)
    np.testing.assert_allclose(
        light.predict_proba(X[:, 0]), plain.predict_proba(X[:, 0]), rtol=1e-6
    )


def test_weights_of_half_a_row_are_heavy_enough():
    abers.IVAPCalibrator().fit(X[:, 0], Y, sample_weight=np.full(240, 0.5))
    with pytest.warns(UserWarning, match="total weight of only"):
        abers.IVAPCalibrator().fit(X[:, 0], Y, sample_weight=np.full(240, 0.49))


def test_integer_weights_in_the_rules_are_copies_of_calibration_rows():
    """Weights: bit for bit what repeated rows give."""
    model = FrozenEstimator(GaussianNB().fit(X, Y))
    weighted = abers.IVAPClassifier(model).fit(X, Y, sample_weight=WEIGHTS)
    times = WEIGHTS.astype(int)
    copied = abers.IVAPClassifier(model).fit(X.repeat(times, axis=0), Y.repeat(times))
    np.testing.assert_array_equal(weighted.predict_bounds(X), copied.predict_bounds(X))


@pytest.mark.parametrize("routing", [False, True])
def test_fit_parameters_reach_the_classifier_row_for_row_or_whole(routing):
    eval_set, offset = [(X[:7], Y[:7])], np.arange(240.0)
    with config_context(enable_metadata_routing=routing):
        model = Recording()
        if routing:
            model.set_fit_request(eval_set=True, offset=True, tag=True)
        ivap = abers.IVAPClassifier(model, calibration=np.arange(80))
        ivap.fit(X, Y, eval_set=eval_set, offset=offset, tag="mine")
    seen = ivap.estimators_[0].seen_
    assert seen["eval_set"] is eval_set
    assert seen["tag"] == "mine"
    assert seen["offset"].tolist() == list(range(80, 240))


def test_a_fit_parameter_that_the_classifier_does_not_know_is_an_error():
    with pytest.raises(TypeError, match="unheard_of"):
        abers.IVAPClassifier(GaussianNB()).fit(X, Y, unheard_of=1)
