"""The numbers of a cross predictor are those of its probabilities, not of one fold."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

import abers


def rows(n, seed, *, classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    odds = X[:, 0] + X[:, 1] * X[:, 2] + rng.logistic(size=n)
    cuts = np.quantile(odds, np.arange(1, classes) / classes)
    return X, np.searchsorted(cuts, odds)


def fitted(merge="pooled", *, classes=2, **options):
    model = abers.CVAPClassifier(
        DecisionTreeClassifier(max_depth=5, random_state=0),
        cv=4,
        merge=merge,
        random_state=0,
        **options,
    )
    return model.fit(*rows(800, 0, classes=classes))


def weighted_auc(y, p, weights=None):
    ranks = np.unique(p, return_inverse=True)[1]  # scores may be infinite
    return roc_auc_score(y, ranks, sample_weight=weights)


WEIGHTS = np.random.default_rng(5).exponential(size=600)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["rows", "weights"])
@pytest.mark.parametrize("merge", ["pooled", "minimax"])
def test_the_auc_is_that_of_the_probabilities(merge, weights):
    model, (X, y) = fitted(merge), rows(600, 1)
    p = model.predict_proba(X)[:, 1]
    evaluation = abers.evaluate(model, X, y, sample_weight=weights)
    first_fold = model.estimators_[0].predict_proba(X)[:, 1]
    assert evaluation.ranking.auc == pytest.approx(
        weighted_auc(y, p, weights), abs=1e-12
    )
    assert evaluation.ranking.auc != pytest.approx(
        weighted_auc(y, first_fold, weights), abs=1e-3
    )


@pytest.mark.parametrize("merge", ["pooled", "minimax"])
def test_the_auc_of_a_group_is_that_of_its_probabilities(merge):
    model, (X, y) = fitted(merge), rows(600, 1)
    group = np.arange(600) % 3
    p = model.predict_proba(X)[:, 1]
    evaluation = abers.evaluate(model, X, y, groups=group)
    for each in evaluation.groups:
        inside = group == each.name
        assert each.auc == pytest.approx(weighted_auc(y[inside], p[inside]), abs=1e-12)
        assert each.drift is None


def test_drift_is_not_available_where_no_calibration_probabilities_are_kept():
    model, (X, y) = fitted(), rows(2_000, 1)
    evaluation = abers.evaluate(model, X + 2, y)
    assert evaluation.drift is None
    assert evaluation.score_quantiles is None
    assert not any("drift" in name for name, _ in evaluation.printout().facts)


def test_one_model_for_all_folds_still_has_scores_and_drift():
    model, (X, y) = fitted(ensemble=False), rows(2_000, 1)
    evaluation = abers.evaluate(model, X + 2, y)
    assert evaluation.drift.level == "large"
    score = model.predictions(X + 2).scores
    assert evaluation.ranking.auc == pytest.approx(weighted_auc(y, score), abs=1e-12)


def test_of_many_classes_one_against_the_rest_is_ranked_by_its_probabilities():
    model, (X, y) = fitted(classes=3), rows(600, 1, classes=3)
    p = model.predict_proba(X)
    one = abers.evaluate(model, X, y, pos_label=2)
    assert one.ranking.auc == pytest.approx(weighted_auc(y == 2, p[:, 2]), abs=1e-12)
    assert one.drift is None
    every = abers.evaluate(model, X, y)
    for each in every.by_class:
        place = list(model.classes_).index(each.name)
        expected = weighted_auc(y == each.name, p[:, place])
        assert each.auc == pytest.approx(expected, abs=1e-12)


def test_the_page_does_not_say_that_a_cross_predictor_keeps_the_ranking(tmp_path):
    model, (X, y) = fitted(), rows(600, 1)
    evaluation = abers.evaluate(model, X, y)
    evaluation.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "not how well they rank" not in page
    assert "may order" in page
