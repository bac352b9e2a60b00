"""The page of the study is made of its numbers, and both protocols run in small.

The calibrators of other libraries are in accuracy_peers.
"""

import re

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer

import abers
from experiments.accuracy import study, tables
from experiments.accuracy.methods import PROTOCOLS, methods
from experiments.accuracy.predictions import FOLDS, CrossFit, Replay, classifier
from experiments.accuracy.sources import Table, sources

HERE = ("abers", "scikit-learn", "none")  # libraries


def measurement(method, log_loss, *, source="pima", protocol="K models"):
    measures = {"ece": 0.1, "zeros": 0, "failed": False, "seconds": 0.1}
    return study.Measurement(
        *(protocol, source, 2, "LightGBM", 0, 500, method),
        log_loss=log_loss,
        brier=log_loss,
        **measures,
    )


@pytest.fixture(scope="module")
def table():
    return Table(*load_breast_cancer(return_X_y=True))


@pytest.fixture(scope="module")
def recorded(table):
    return CrossFit.trained(table, "logistic regression", 0, 300)


def test_the_page_has_the_numbers_that_were_measured():
    results = study.read_results()
    _, _, measured = study.PAGE.read_text("utf-8").partition(study.MARK)
    assert measured.lstrip() == tables.page(results)
    assert {entry.source for entry in results} == set(sources())
    for two in (True, False):
        of = {entry.classes for entry in results if (entry.classes == 2) == two}
        for protocol in PROTOCOLS:
            field = tables.Field.of(results, protocol, two=two)
            assert field.methods == [*methods(protocol, min(of))]


def test_the_guide_quotes_the_page():
    guide = (study.HERE.parents[1] / "docs" / "guide.md").read_text("utf-8")
    _, _, section = guide.partition("## How accurate it is")
    section = section.partition("\n## ")[0]
    page = study.PAGE.read_text("utf-8")
    quoted = re.findall(r"[-+]?\d+\.\d ± \d+\.\d", section)
    assert len(quoted) == 19
    for number in quoted:
        assert number in page, number


def test_numbers_are_kept_as_they_are(tmp_path):
    results = [measurement("isotonic", 0.123456), measurement("sigmoid", 0.5)]
    study.write_results(results, tmp_path / "results.csv.gz")
    assert study.read_results(tmp_path / "results.csv.gz") == results


def test_measures_by_hand():
    p = np.array([[0.5, 0.5], [0.25, 0.75], [1.0, 0.0]])
    measures = study.measures(np.array([0, 1, 1]), p)
    impossible = -np.log(np.finfo(float).eps)
    assert measures["log_loss"] == round(
        (np.log(2) + np.log(4 / 3) + impossible) / 3, 6
    )
    assert measures["brier"] == round((0.5 + 0.125 + 2.0) / 3, 6)
    assert measures["ece"] == round((0.5 + 0.25 + 1.0) / 3, 5)
    assert measures["zeros"] == 1


def test_excess_is_over_the_best_peer_and_a_win_over_every_other_method():
    losses = {
        "CalibratedClassifier": 0.1,
        "sigmoid (scikit-learn)": 0.2,
        "mean of the models": 0.4,
    }
    results = [measurement(method, loss) for method, loss in losses.items()]
    field = tables.Field.of(results, "K models", two=True)
    assert field.excess("log_loss").round(9).tolist() == [[-0.1, 0.0, 0.2]]
    assert field.wins("log_loss").tolist() == [[1.0, 0.5, 0.0]]


def test_a_source_counts_once_whatever_its_experiments():
    results = [
        measurement("sigmoid (scikit-learn)", 0.0),
        measurement("sigmoid (scikit-learn)", 1.0, source="adult"),
    ]
    field = tables.Field.of(results, "K models", two=True)
    estimate = field.over_sources(field.measures["log_loss"][:, 0])
    assert estimate == (0.5, 0.5)  # 0 and 1: the spread over the root of two


def test_both_protocols_run_and_are_resumed(tmp_path):
    models = ("naive Bayes", "nearest neighbours")
    results = study.run(tmp_path, ["breast cancer"], models, HERE)
    assert all(np.isfinite(entry.log_loss) for entry in results)
    assert not any(entry.failed for entry in results)
    for protocol in PROTOCOLS:
        seen = {entry.method for entry in results if entry.protocol == protocol}
        offered = methods(protocol, 2).items()
        assert seen == {name for name, of in offered if of.library in HERE}
    assert study.run(tmp_path, ["breast cancer"], models, HERE) == results
    page = tables.page(results)
    assert "## Post hoc, two classes" in page
    assert "## K models, two classes" in page


@pytest.mark.parametrize(
    "make",
    [
        lambda model, cv: abers.CalibratedClassifier(model, cv=cv),
        lambda model, cv: abers.CVAPClassifier(model, cv=cv, merge="pooled"),
        lambda model, cv: CalibratedClassifierCV(model, cv=cv, method="isotonic"),
    ],
)
def test_a_replayed_classifier_gives_what_training_gives(table, recorded, make):
    model = Replay(recorded)
    replayed = make(model, model.splitter()).fit(recorded.X_train, recorded.y_train)
    train, test = CrossFit.rows(table, 0, 300)
    trained = make(classifier("logistic regression", 0), model.splitter())
    trained.fit(table.X[train], table.y[train])
    np.testing.assert_allclose(
        replayed.predict_proba(recorded.X_test),
        trained.predict_proba(table.X[test]),
        rtol=0,
        atol=1e-9,
    )


def test_a_replayed_classifier_refuses_rows_that_it_was_not_trained_on(recorded):
    with pytest.raises(ValueError, match="all folds but one"):
        Replay(recorded).fit(recorded.X_train[:50], recorded.y_train[:50])


def test_the_last_model_is_that_of_all_rows(recorded):
    model = Replay(recorded).fit(recorded.X_train, recorded.y_train)
    assert model.model_ == FOLDS
