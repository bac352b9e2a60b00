"""Confidence intervals by classifiers: those of their rule, or a sentence why not."""

import pickle

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

import abers
from abers.errors import InvalidParameter

RNG = np.random.default_rng(7)
X = RNG.normal(size=(600, 2))
Y = np.where(RNG.random(600) < 1 / (1 + np.exp(-X[:, 0])), "yes", "no")
MANY = np.digitize(X[:, 0], [-0.5, 0.5])
NEW = RNG.normal(size=(50, 2))
FROZEN = FrozenEstimator(LogisticRegression().fit(X[:300], Y[:300]))
ROWS = X[300:], Y[300:]


@pytest.mark.parametrize("method", ["decision_function", "predict_proba"])
@pytest.mark.parametrize("kind", [abers.IVAPClassifier, abers.CalibratedClassifier])
def test_a_classifier_has_the_intervals_of_its_rule(kind, method):
    model = kind(FROZEN, response_method=method).fit(*ROWS)
    ((rule,), (_,), _) = model.predictions(X[300:]).by_fold[0]
    scores = model.predictions(X[300:]).by_fold[0].scores[0]
    kept = abers.fit_rule(scores, Y[300:] == "yes", keep_diagram=True)
    assert kept.without_diagram() == rule
    new_scores = model.predictions(NEW).by_fold[0].scores[0]
    expected = kept.interval(new_scores, 0.8)
    assert model.predict_interval(NEW, 0.8).tolist() == expected.tolist()
    mirrored = model.predict_interval(NEW, 0.8, pos_label="no")
    assert mirrored.tolist() == (1 - expected[:, ::-1]).tolist()
    again = pickle.loads(pickle.dumps(model))
    assert again.predict_interval(NEW, 0.8).tolist() == expected.tolist()


def test_bounds_lie_inside_the_interval():
    model = abers.IVAPClassifier(random_state=0).fit(X, Y)
    p0, p1 = model.predict_bounds(NEW).T
    lower, upper = model.predict_interval(NEW).T
    assert ((lower <= p0) & (p1 <= upper)).all()


@pytest.mark.parametrize(
    ("model", "labels", "why"),
    [
        (abers.CVAPClassifier(), Y, "Use IVAPClassifier"),
        (abers.CVAPClassifier(merge="pooled"), Y, "Use IVAPClassifier"),
        (abers.CVAPClassifier(ensemble=False), Y, "Use IVAPClassifier"),
        (abers.CalibratedClassifier(), Y, "FrozenEstimator"),
        (abers.CalibratedClassifier(ensemble=False), Y, "FrozenEstimator"),
        (abers.IVAPClassifier(), MANY, "two classes"),
        (abers.IVAPClassifier(multiclass="top"), MANY, "two classes"),
    ],
)
def test_ensembles_and_many_classes_say_why_not(model, labels, why):
    model.fit(X, labels)
    with pytest.raises(InvalidParameter, match=why) as raised:
        model.predict_interval(NEW)
    assert str(raised.value).count(". ") <= 1


@pytest.mark.parametrize("kind", [abers.IVAPClassifier, abers.CalibratedClassifier])
def test_rows_with_weights_are_refused(kind):
    model = kind(FROZEN).fit(*ROWS, sample_weight=RNG.integers(1, 3, 300))
    with pytest.raises(InvalidParameter, match="without weights"):
        model.predict_interval(NEW)


@pytest.mark.parametrize("pos_label", [None, "no"])
def test_evaluation_and_page_show_widths_of_intervals(pos_label, tmp_path):
    model = abers.IVAPClassifier(FROZEN).fit(*ROWS)
    evaluation = abers.evaluate(model, X[:300], Y[:300], pos_label=pos_label)
    lower, upper = model.predict_interval(X[:300]).T
    assert evaluation.interval_widths.mean == pytest.approx((upper - lower).mean())
    assert evaluation.to_dict()["interval_widths"]["maximum"] == (upper - lower).max()
    assert "mean width of 90 % intervals" in str(evaluation)
    evaluation.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "the 90 % confidence interval of the probability" in page


def test_evaluation_without_a_diagram_has_no_intervals():
    rule = abers.fit_rule(X[:, 0], Y == "yes")
    evaluation = abers.evaluate(rule, X[:, 0], Y == "yes")
    assert evaluation.interval_widths is None
    assert "intervals" not in str(evaluation)
