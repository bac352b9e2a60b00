"""Which rows train and which calibrate; a prefit model is left alone."""

import hashlib
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    ShuffleSplit,
    StratifiedKFold,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import abers
from witnesses import Recording, X, Y, rule_of, single_log_odds

MODELS = [
    GaussianNB(),
    LogisticRegression(),
    LinearSVC(),
    RandomForestClassifier(5, random_state=0),
    make_pipeline(StandardScaler(), LogisticRegression()),
]


@pytest.mark.parametrize(
    ("calibration", "count"),
    [(0.2, 48), (0.5, 120), (1, 1), (31, 31), (np.int64(7), 7), (np.float32(0.25), 60)],
)
def test_a_fraction_or_a_count_of_rows_calibrates(calibration, count):
    ivap = abers.IVAPClassifier(GaussianNB(), calibration=calibration, random_state=0)
    ivap.fit(X, Y)
    assert ivap.rules_[0][0].n_rows == count


def test_a_mask_row_numbers_and_a_list_name_the_same_calibration_rows():
    rows = np.arange(3, 240, 4)
    mask = np.isin(np.arange(240), rows)
    ways = [rows, mask, rows.tolist(), mask.tolist(), pd.Series(mask), rows[::-1]]
    fitted = [abers.IVAPClassifier(calibration=way).fit(X, Y).rules_ for way in ways]
    assert all(rules == fitted[0] for rules in fitted)
    assert fitted[0][0][0].n_positives == Y[rows].sum()


SHUFFLED = np.random.default_rng(5).permutation(240)[:60]


@pytest.mark.parametrize(
    "calibration",
    [0.25, 60, SHUFFLED, SHUFFLED.tolist(), np.isin(np.arange(240), SHUFFLED)],
    ids=["fraction", "number", "rows", "list", "mask"],
)
def test_training_rows_keep_the_order_of_the_data(calibration):
    """A forest draws rows by their place, so that another order is another model."""
    numbered = np.column_stack((np.arange(240.0), X))
    ivap = abers.IVAPClassifier(Recording(), calibration=calibration, random_state=0)
    seen = ivap.fit(numbered, Y).estimators_[0].seen_["X"][:, 0]
    assert seen.size == 180
    assert (np.diff(seen) > 0).all()


def test_a_forest_is_the_one_that_is_trained_by_hand_in_the_order_of_the_data():
    forest = RandomForestClassifier(20, random_state=0)
    ivap = abers.IVAPClassifier(forest, calibration=SHUFFLED).fit(X, Y)
    train = np.setdiff1d(np.arange(240), SHUFFLED)
    by_hand = abers.IVAPClassifier(
        FrozenEstimator(clone(forest).fit(X[train], Y[train]))
    ).fit(X[SHUFFLED], Y[SHUFFLED])
    np.testing.assert_array_equal(ivap.predict_bounds(X), by_hand.predict_bounds(X))


def test_the_random_split_is_not_stratified():
    """Erratum 11: stratifying breaks Proposition 1."""
    positives = {
        abers.IVAPClassifier(GaussianNB(), calibration=60, random_state=seed)
        .fit(X, Y)
        .rules_[0][0]
        .n_positives
        for seed in range(20)
    }
    assert len(positives) > 5


def test_the_random_split_follows_random_state():
    first, again, other = (
        abers.IVAPClassifier(GaussianNB(), random_state=seed).fit(X, Y).rules_
        for seed in (0, 0, 1)
    )
    assert first == again
    assert first != other


def test_a_number_of_folds_is_stratified_and_shuffled_by_random_state():
    cvap = abers.CVAPClassifier(GaussianNB(), cv=4, random_state=3).fit(X, Y)
    splitter = StratifiedKFold(4, shuffle=True, random_state=3)
    same = abers.CVAPClassifier(GaussianNB(), cv=splitter).fit(X, Y)
    assert cvap.rules_ == same.rules_


@pytest.mark.parametrize(
    "splitter",
    [KFold(3), ShuffleSplit(4, test_size=30, random_state=0), StratifiedKFold(3)],
)
def test_any_splitter_makes_the_folds(splitter):
    cvap = abers.CVAPClassifier(GaussianNB(), cv=splitter).fit(X, Y)
    expected = [
        [rule_of(GaussianNB().fit(X[train], Y[train]), X[hold], Y[hold])]
        for train, hold in splitter.split(X, Y)
    ]
    assert cvap.rules_ == expected


def test_swapped_pairs_train_on_one_fold_and_calibrate_on_the_rest():
    """Section 5: the paper's proportion 1:9."""
    swapped = [(hold, train) for train, hold in KFold(5).split(X)]
    cvap = abers.CVAPClassifier(GaussianNB(), cv=swapped).fit(X, Y)
    assert [fold[0].n_rows for fold in cvap.rules_] == [192] * 5


def test_masks_and_negative_row_numbers_make_pairs_too():
    train, hold = np.arange(160), np.arange(160, 240)
    masks = np.arange(240) < 160, np.arange(240) >= 160
    plain, masked, negative = (
        abers.CVAPClassifier(GaussianNB(), cv=[pair]).fit(X, Y).rules_
        for pair in [(train, hold), masks, (train, hold - 240)]
    )
    assert plain == masked == negative


def test_the_last_pair_of_contiguous_folds_is_the_ivap_of_the_last_rows():
    """Erratum 15: KFold's last fold is the paper's IVAP split."""
    cvap = abers.CVAPClassifier(GaussianNB(), cv=KFold(5)).fit(X, Y)
    ivap = abers.IVAPClassifier(GaussianNB(), calibration=np.arange(192, 240))
    assert cvap.rules_[-1:] == ivap.fit(X, Y).rules_


@pytest.mark.parametrize("routing", [False, True])
def test_groups_reach_the_splitter(routing):
    groups = np.arange(240) % 6
    with config_context(enable_metadata_routing=routing):
        cvap = abers.CVAPClassifier(GaussianNB(), cv=GroupKFold(3))
        cvap.fit(X, Y, groups=groups)
    pairs = list(GroupKFold(3).split(X, Y, groups))
    assert cvap.rules_ == abers.CVAPClassifier(GaussianNB(), cv=pairs).fit(X, Y).rules_


def test_all_rows_calibrate_a_prefit_model():
    model = GaussianNB().fit(X[:100], Y[:100])
    ivap = abers.IVAPClassifier(FrozenEstimator(model)).fit(X[100:], Y[100:])
    assert ivap.rules_ == [[rule_of(model, X[100:], Y[100:])]]


def test_a_prefit_model_may_list_its_classes_in_any_order():
    class Backwards(Recording):
        def fit(self, X, y):
            super().fit(X, y)
            self.classes_ = self.classes_[::-1]
            return self

        def predict_proba(self, X):
            p = np.clip(np.round(np.asarray(X)[:, 0] * 8), 1, 15) / 16
            return np.stack((p, 1 - p), axis=1)  # of "yes" and of "no"

    names = np.array(["no", "yes"])[Y]
    model = Backwards().fit(X, names)
    ivap = abers.IVAPClassifier(
        FrozenEstimator(model), response_method="predict_proba"
    ).fit(X, names)
    assert ivap.classes_.tolist() == ["no", "yes"]
    yes, no = model.predict_proba(X).T
    scores = single_log_odds(np.log(yes) - np.log(no))
    assert ivap.rules_ == [[abers.fit_rule(scores, Y)]]


def test_prefit_models_train_nothing_in_cross_calibration_either():
    model = FrozenEstimator(GaussianNB().fit(X, Y))
    cvap = abers.CVAPClassifier(model, cv=KFold(3)).fit(X, Y)
    expected = [[rule_of(model, X[h], Y[h])] for _, h in KFold(3).split(X)]
    assert cvap.rules_ == expected


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_a_prefit_model_hashes_the_same_before_and_after(model):
    model = clone(model).fit(X[:100], Y[:100])
    digest = joblib.hash(model), hashlib.sha256(pickle.dumps(model)).digest()
    frozen = FrozenEstimator(model)
    ivap = abers.IVAPClassifier(frozen).fit(X[100:], Y[100:])
    ivap.predict_proba(X)
    assert digest == (
        joblib.hash(model),
        hashlib.sha256(pickle.dumps(model)).digest(),
    )


def test_metadata_routing_leaves_a_prefit_model_alone():
    """Never call set_fit_request on a FrozenEstimator."""
    model = GaussianNB().fit(X[:100], Y[:100])
    before = pickle.dumps(model)
    weights = np.arange(1.0, 141.0)
    with config_context(enable_metadata_routing=True):
        ivap = abers.IVAPClassifier(FrozenEstimator(model)).set_fit_request(
            sample_weight=True
        )
        ivap.fit(X[100:], Y[100:], sample_weight=weights)
    assert ivap.rules_ == [[rule_of(model, X[100:], Y[100:], weights)]]
    assert pickle.dumps(model) == before


def test_the_estimator_passed_in_stays_unfitted():
    model = LogisticRegression()
    abers.CVAPClassifier(model, cv=2).fit(X, Y)
    abers.IVAPClassifier(model).fit(X, Y)
    assert "coef_" not in vars(model)
