"""Stand-ins: what they learn is what scikit-learn learns, setting by setting."""

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from experiments.paper.sklearn_engine import ALGORITHMS, SklearnEngine
from experiments.paper.tasks import Preparation, split


@pytest.fixture(scope="module")
def prepared(small_task):
    rows = np.arange(small_task.n_train)
    preparation = Preparation.of(small_task.table, rows)
    train, new = (
        preparation.apply(small_task.table.take(some))
        for some in (rows, small_task.test)
    )
    return train, small_task.table.labels[rows], new


def pruned_tree(alpha):
    return DecisionTreeClassifier(
        criterion="entropy", min_samples_leaf=2, ccp_alpha=alpha, random_state=0
    )


@pytest.mark.parametrize(
    ("name", "build"),
    [
        ("tree", pruned_tree),
        ("bagging", lambda a: BaggingClassifier(pruned_tree(a), 10, random_state=0)),
    ],
)
def test_one_grown_tree_gives_every_pruned_one(prepared, name, build):
    """The same bits as scikit-learn, which grows a tree for each setting."""
    train, labels, new = prepared
    algorithm = ALGORITHMS[name]
    found = algorithm.learn(train, labels, algorithm.grid)(new)
    sizes = set()
    for setting, scores in zip(algorithm.grid, found, strict=True):
        model = build(setting["ccp_alpha"]).fit(train.design, labels)
        expected = model.predict_proba(new.design)[:, 1]
        np.testing.assert_allclose(scores.probability, expected, rtol=0, atol=1e-15)
        sizes.add(np.unique(expected).size)
    assert len(sizes) >= 3  # the settings do prune


def test_naive_bayes_is_bayes_rule_by_hand(prepared):
    """A normal density for each number, (n + 1) / (N + 3) for the three names."""
    train, labels, new = prepared
    found = ALGORITHMS["naive Bayes"].learn(train, labels, ({},))(new)[0]
    joint = []
    for label in (0, 1):
        rows = labels == label
        x, code = train.numeric[rows], train.codes[rows, 0]
        mean, variance = x.mean(axis=0), x.var(axis=0)
        density = -((new.numeric - mean) ** 2) / variance / 2 - np.log(variance) / 2
        names = np.log((np.bincount(code, minlength=3) + 1) / (code.size + 3))
        joint.append(np.log(rows.mean()) + density.sum(1) + names[new.codes[:, 0]])
    np.testing.assert_allclose(found.probability, expit(joint[1] - joint[0]), rtol=1e-6)


def test_logistic_is_at_its_optimum(prepared):
    """As another optimiser finds it if it is given time."""
    train, labels, new = prepared
    found = ALGORITHMS["logistic"].learn(train, labels, ({"C": 0.1},))(new)[0]
    model = LogisticRegression(C=0.1, solver="lbfgs", tol=1e-9, max_iter=10_000)
    expected = model.fit(train.design, labels).predict_proba(new.design)[:, 1]
    np.testing.assert_allclose(found.probability, expected, rtol=1e-7)
    np.testing.assert_allclose(found.margin, logit(found.probability), rtol=1e-9)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_gives_probabilities_and_finite_margins(small_task, name):
    pairs = split("1:1", small_task.n_train).pairs
    candidates = SklearnEngine().score(small_task.table, name, pairs, small_task.test)
    assert [c.setting for c in candidates] == list(ALGORITHMS[name].settings)
    for candidate in candidates:
        assert len(candidate.pairs) == 2
        for scores in (candidate.pairs[0].calibration, candidate.pairs[1].test):
            assert scores.probability.size == 100
            assert ((scores.probability >= 0) & (scores.probability <= 1)).all()
            assert np.isfinite(scores.margin).all()
            order = np.argsort(scores.probability, kind="stable")
            assert (np.diff(scores.margin[order]) >= -1e-9).all()


def test_labels_of_the_test_rows_are_not_looked_at(small_task):
    table = small_task.table
    changed = type(table)(table.columns, table.labels.copy())
    changed.labels[small_task.test] ^= 1
    pairs = split("4:1", small_task.n_train).pairs
    for name in ("tree", "naive Bayes"):
        ours, theirs = (
            SklearnEngine().score(some, name, pairs, small_task.test)[0].pairs[0].test
            for some in (table, changed)
        )
        np.testing.assert_array_equal(ours.probability, theirs.probability)


def test_algorithms_of_the_paper_have_their_names_in_weka():
    assert [a.weka for a in ALGORITHMS.values() if a.weka] == [
        "J48",
        "J48 bagging",
        "logistic",
        "naive Bayes",
        "neural networks",
        "SVM",
    ]
