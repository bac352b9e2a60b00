import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import abers
from experiments.accuracy import study, tables
from experiments.accuracy.columns import Cell, columns, shuffled


def cells(pooled, minimax):
    """Two-class cells with these log losses, and a best column at 0."""
    return [
        tables.Cell(
            "adult 500",
            "LightGBM",
            {"classes": 2},
            {
                "log loss": {
                    "underlying": np.zeros(5),
                    "pooled": np.full(5, p),
                    "minimax": np.full(5, m),
                }
            },
            {},
        )
        for p, m in zip(pooled, minimax, strict=True)
    ]


def test_a_journal_goes_on_after_a_line_that_was_cut_off(tmp_path):
    path = tmp_path / "journal.jsonl"
    path.write_text('{"set": "iris"}\n{"set": "wi')
    assert study.journal(path) == [{"set": "iris"}]
    assert path.read_text() == '{"set": "iris"}\n'


@pytest.mark.parametrize(
    ("pooled", "minimax", "default"),
    [
        ([1, 1, 1, 3, 3], [2, 2, 2, 2.5, 2.5], "pooled"),
        ([1, 1, 3, 3, 3], [4, 4, 2, 2, 2], "minimax"),  # better in 40 % only
        ([1, 1, 1, 1, 9], [2, 2, 2, 2, 2], "minimax"),  # worse on average
    ],
)
def test_the_default_must_be_better_on_average_and_in_60_percent(
    pooled, minimax, default
):
    verdict = tables.decision(cells(pooled, minimax))
    assert f'`merge` to choose is "{default}"' in verdict


@pytest.mark.parametrize("merge", ["pooled", "minimax"])
def test_the_columns_are_what_the_classifier_predicts(merge):
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    cell = Cell.trained(model, X[:400], y[:400], X[400:], shuffled(5, 0))
    cvap = abers.CVAPClassifier(model, cv=shuffled(5, 0), merge=merge)
    cvap.fit(X[:400], y[:400])
    ours = columns(2, 5)[merge](cell)
    np.testing.assert_allclose(ours, cvap.predict_proba(X[400:]), rtol=1e-12)


def test_every_task_is_measured_once():
    names = [study.key(t[0].name, *t[1:]) for t in study.tasks()]
    assert len(names) == len(set(names)) == 25 * 5 * 5 + 4 * 5 * 5 * 3
