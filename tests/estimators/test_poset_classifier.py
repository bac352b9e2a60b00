"""PosetClassifier: several models by the partial order of their scores."""

import pickle
import re

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import abers
from abers import validation
from abers.errors import (
    InvalidLabels,
    InvalidParameter,
    InvalidScores,
    InvalidWeights,
    InvertedScoresWarning,
)

X, Y = load_breast_cancer(return_X_y=True)
TREE = DecisionTreeClassifier(max_depth=4, random_state=0)
LINEAR = make_pipeline(StandardScaler(), LogisticRegression())
PAIR = [("nb", GaussianNB()), ("tree", TREE)]
MASK = np.arange(len(Y)) % 3 == 0


@pytest.fixture(scope="module")
def model():
    return abers.PosetClassifier(PAIR, calibration=MASK).fit(X, Y)


def test_bounds_are_those_of_the_rule_of_the_models_scores(model):
    """Trained on the same rows, calibrated on the others."""
    assert model.rule_.n_observations == MASK.sum()
    assert model.rule_.n_positives == Y[MASK].sum()
    tree = clone(TREE).fit(X[~MASK], Y[~MASK])
    with np.errstate(divide="ignore"):
        score = np.diff(np.log(tree.predict_proba(X)), axis=1)[:, 0]
    assert np.allclose(np.unique(model.rule_.scores[:, 1]), np.unique(score[MASK]))
    alone = abers.IVAPClassifier(GaussianNB(), calibration=MASK).fit(X, Y)
    keys = np.unique(model.rule_.scores[:, 0])
    assert np.isin(alone.rules_[0][0].score_quantiles, keys).all()


def test_predictions_belong_together(model):
    bounds, p = model.predict_bounds(X), model.predict_proba(X)
    assert (bounds[:, 0] < p[:, 1]).all()
    assert (p[:, 1] < bounds[:, 1]).all()
    assert np.allclose(p.sum(axis=1), 1)
    assert (model.predict(X) == model.classes_[p.argmax(axis=1)]).all()
    assert np.allclose(model.predict_log_proba(X), np.log(p))
    mirrored = model.predict_bounds(X, positive=0)
    assert (mirrored == 1 - bounds[:, ::-1]).all()
    assert np.mean(model.predict(X) == Y) > 0.9


def test_brier_merges_the_same_bounds(model):
    brier = clone(model).set_params(loss="brier").fit(X, Y)
    lower, upper = model.predict_bounds(X).T
    assert (brier.predict_proba(X)[:, 1] == abers.brier_minimax(lower, upper)).all()


def test_twice_the_same_model_is_an_ivap():
    """(s, s) is ordered as s is."""
    poset = abers.PosetClassifier([LINEAR, LINEAR], calibration=MASK).fit(X, Y)
    alone = abers.IVAPClassifier(LINEAR, calibration=MASK).fit(X, Y)
    assert (poset.predict_bounds(X) == alone.predict_bounds(X)).all()


def test_a_row_alone_is_what_it_is_in_a_batch():
    """A linear model's last bit depends on the batch."""
    poset = abers.PosetClassifier([LINEAR, GaussianNB()], calibration=MASK).fit(X, Y)
    bounds = poset.predict_bounds(X)
    alone = np.concatenate([poset.predict_bounds(row[None]) for row in X[:100]])
    assert (alone == bounds[:100]).all()


def test_names_are_made_up_where_there_are_none():
    models = [GaussianNB(), GaussianNB(var_smoothing=0.1), TREE]
    poset = abers.PosetClassifier(models, random_state=0).fit(X, Y)
    assert list(poset.named_estimators_) == [
        *("gaussiannb-1", "gaussiannb-2", "decisiontreeclassifier")
    ]
    assert poset.rule_.n_scores == 3
    assert poset.estimators_[1].var_smoothing == 0.1
    assert all(
        given is not fitted
        for given, fitted in zip(models, poset.estimators_, strict=True)
    )


def test_parameters_of_named_models_can_be_set_and_searched():
    poset = abers.PosetClassifier(PAIR)
    assert poset.get_params()["tree__max_depth"] == 4
    poset = clone(poset).set_params(tree__max_depth=2, nb=LINEAR, calibration=0.3)
    assert poset.estimators[0][1] is LINEAR
    assert poset.estimators[1][1].max_depth == 2
    assert TREE.max_depth == 4
    unnamed = clone(abers.PosetClassifier([GaussianNB(), TREE])).set_params(
        loss="brier"
    )
    assert unnamed.loss == "brier"
    search = GridSearchCV(
        abers.PosetClassifier(PAIR, random_state=0), {"tree__max_depth": [1, 4]}, cv=3
    )
    assert search.fit(X, Y).best_score_ > 0.85


@pytest.mark.parametrize("labels", [np.array(["no", "yes"])[Y], Y == 1, Y * 2 - 1])
def test_labels_of_any_kind(labels):
    poset = abers.PosetClassifier(PAIR, calibration=MASK).fit(X, labels)
    assert poset.classes_.tolist() == np.unique(labels).tolist()
    assert set(poset.predict(X)) <= set(labels)


def test_prefit_models_calibrate_with_all_rows():
    fitted = [FrozenEstimator(clone(m).fit(X[~MASK], Y[~MASK])) for _, m in PAIR]
    poset = abers.PosetClassifier(fitted).fit(X[MASK], Y[MASK])
    assert poset.rule_.n_observations == MASK.sum()
    split = abers.PosetClassifier(PAIR, calibration=MASK).fit(X, Y)
    assert poset.rule_ == split.rule_
    mixed = abers.PosetClassifier([fitted[0], TREE], calibration=MASK).fit(X, Y)
    assert mixed.rule_ == split.rule_
    with pytest.raises(InvalidLabels, match="among those of the prefit classifiers"):
        poset.fit(X, Y + 1)


def test_whole_weights_go_to_the_models_and_into_the_rule():
    weights = 1 + np.arange(len(Y)) % 3
    poset = abers.PosetClassifier(PAIR, calibration=MASK).fit(X, Y, weights)
    assert poset.rule_.n_observations == weights[MASK].sum()
    tree = clone(TREE).fit(X[~MASK], Y[~MASK], sample_weight=weights[~MASK])
    assert (poset.named_estimators_.tree.predict(X) == tree.predict(X)).all()
    with pytest.raises(InvalidWeights, match="sample_weight must be whole numbers"):
        poset.fit(X, Y, weights / 2)
    neighbours = [KNeighborsClassifier(), TREE]
    with pytest.warns(UserWarning, match="KNeighborsClassifier does not take sample"):
        abers.PosetClassifier(neighbours, calibration=MASK).fit(X, Y, weights)
    none = np.where(MASK, 0, 1)
    with pytest.raises(InvalidWeights, match="some calibration rows must have a pos"):
        abers.PosetClassifier(PAIR, calibration=MASK).fit(X, Y, none)


def test_metadata_are_routed():
    with sklearn.config_context(enable_metadata_routing=True):
        models = [
            GaussianNB().set_fit_request(sample_weight=True),
            clone(TREE).set_fit_request(sample_weight=False),
        ]
        poset = abers.PosetClassifier(models, calibration=MASK)
        poset.set_fit_request(sample_weight=True)
        poset.fit(X, Y, sample_weight=np.full(len(Y), 2))
    assert poset.rule_.n_observations == 2 * MASK.sum()
    with pytest.raises(InvalidParameter, match="metadata routing"):
        abers.PosetClassifier(PAIR).fit(X, Y, groups=Y)


def test_several_jobs_change_nothing(model):
    jobs = abers.PosetClassifier(PAIR, calibration=MASK, n_jobs=2).fit(X, Y)
    assert jobs.rule_ == model.rule_
    assert (jobs.predict_bounds(X) == model.predict_bounds(X)).all()


def test_it_comes_back_from_a_pickle(model):
    back = pickle.loads(pickle.dumps(model))
    assert (back.predict_bounds(X) == model.predict_bounds(X)).all()


def test_evaluate_takes_it(model):
    found = abers.evaluate(model, X, Y)
    assert 0 < found.after.log.loss < 0.3


def test_inverted_scores_are_warned_of_by_name():
    frozen = [FrozenEstimator(clone(m).fit(X, 1 - Y)) for _, m in PAIR]
    message = (
        r"The scores of 'frozenestimator-\d' are inverted .* as are those of 1 more"
    )
    with pytest.warns(InvertedScoresWarning, match=message) as caught:
        abers.PosetClassifier(frozen).fit(X, Y)
    assert [w.filename for w in caught] == [__file__]


@pytest.mark.parametrize(
    ("estimators", "message"),
    [
        (GaussianNB(), "a list of at least two classifiers, or of pairs"),
        ([GaussianNB()], "got 1. For one classifier use IVAPClassifier"),
        ([("nb", GaussianNB()), TREE], "all pairs (name, classifier), or all class"),
        ([(1, GaussianNB()), (2, TREE)], "all pairs (name, classifier), or all class"),
        ([("nb", GaussianNB()), ("nb", TREE)], "Names provided are not unique"),
        ([GaussianNB(), LinearRegression()], "LinearRegression has not"),
        ([GaussianNB, TREE], "got the class GaussianNB. Pass GaussianNB()."),
    ],
)
def test_estimators_that_will_not_do_are_refused(estimators, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        abers.PosetClassifier(estimators).fit(X, Y)


def test_two_classes_only():
    three = np.arange(len(Y)) % 3
    message = (
        "Only binary classification is supported. PosetClassifier got 3 classes, "
        "[0, 1, 2]; to ask about one class against the rest, pass y == label."
    )
    with pytest.raises(InvalidLabels, match=re.escape(message)):
        abers.PosetClassifier(PAIR).fit(X, three)
    with pytest.raises(InvalidLabels, match="got one class only, \\[0\\]"):
        abers.PosetClassifier(PAIR).fit(X, Y * 0)
    with pytest.raises(InvalidLabels, match="needs labels of two classes; got no rows"):
        abers.PosetClassifier(PAIR).fit(X[:0], Y[:0])


def test_three_models_have_a_limit_that_is_said_before_they_are_trained():
    class Untrainable(GaussianNB):
        def fit(self, *_, **__):
            raise AssertionError

    models = [Untrainable(), Untrainable(), Untrainable()]
    size = validation.MOST_VECTORS + 2
    many, labels = np.zeros((size, 1)), np.arange(size) % 2
    with pytest.raises(InvalidScores, match="Pass calibration=10000, or take two"):
        abers.PosetClassifier(models, calibration=size - 1).fit(many, labels)


def test_an_unfitted_one_says_so():
    with pytest.raises(NotFittedError):
        abers.PosetClassifier(PAIR).predict(X)


def test_a_loss_that_does_not_exist_is_refused_before_and_after_the_fit(model):
    with pytest.raises(InvalidParameter, match="loss must be"):
        abers.PosetClassifier(PAIR, loss="hinge").fit(X, Y)
    other = pickle.loads(pickle.dumps(model)).set_params(loss="hinge")
    with pytest.raises(InvalidParameter, match="loss must be"):
        other.predict_proba(X)
