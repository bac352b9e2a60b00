"""`abers compare` answers as `abers.compare` does, on scores and on features."""

import json

import numpy as np
import pandas as pd
import pytest

import abers
from abers.estimators.models import for_table, model_named

N = 600


@pytest.fixture(scope="module")
def rows():
    """Two numbers, one of them with gaps, a word, and what came of it."""
    rng = np.random.default_rng(3)
    age, town = rng.normal(size=N).round(2), rng.choice(["Ulm", "Rom", "Nice"], N)
    chance = 1 / (1 + np.exp(-age - (town == "Ulm")))
    return pd.DataFrame(
        {
            "age": np.where(rng.random(N) < 0.1, np.nan, age),
            "height": rng.normal(size=N).round(2),
            "town": town,
            "w": rng.integers(1, 4, N),
            "score": chance.round(3),
            "bought": np.where(rng.random(N) < chance, "yes", "no"),
        }
    )


@pytest.fixture(scope="module")
def folder(rows, tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare")
    rows.to_csv(folder / "rows.csv", index=False)
    (folder / "mine.py").write_text(
        "from sklearn.naive_bayes import GaussianNB\n"
        "model = GaussianNB(var_smoothing=0.01)\n"
        "class Hopeless(GaussianNB):\n"
        "    def fit(self, X, y, sample_weight=None):\n"
        "        raise RuntimeError('too hard.\\nVery hard.')\n"
    )
    (folder / "old.html").write_text("precious")
    return folder


YES = ("--label", "bought", "--positive", "yes")


def assert_same(answer, expected):
    """Equal to the last bit."""
    assert answer.code == 0, answer.err
    found = json.loads(answer.out)
    expected = json.loads(json.dumps(expected.to_dict()))
    assert {key: found.pop(key) for key in expected} == expected
    assert found == {"missing": 0, "page": found["page"], "warnings": []}


def test_scores_are_compared_as_the_library_does(run, folder, rows):
    """Names of methods may be written in small letters."""
    options = ("--cv", "3", "--seed", "4", "--weight", "w", "--json")
    methods = ("--methods", "ivap, underlying,Platt (Log-Odds)", "--html", "page.html")
    answer = run(folder, "compare", "rows.csv", *YES, *options, *methods)
    expected = abers.compare(
        rows["score"],
        rows["bought"] == "yes",
        sample_weight=rows["w"],
        cv=3,
        methods=["IVAP", "underlying", "Platt (log-odds)"],
        random_state=4,
    )
    assert_same(answer, expected)
    assert "Methods compared" in (folder / "page.html").read_text()


def test_features_train_a_model_that_sees_words_and_gaps(run, folder, rows):
    """Text is codes by order of appearance; the pipeline is the library's."""
    features = ("--features", "age,town", "--features", "height", "--target", "bought")
    model = ("--model", "logistic", "--seed", "2", "--test", "200", "--cv", "3")
    answer = run(
        *(folder, "compare", "-", *features, "--positive", "yes", *model, "--json"),
        piped=rows.to_csv(index=False).encode(),
    )
    codes, _ = pd.factorize(rows["town"])
    expected = abers.compare(
        np.column_stack([rows["age"], codes, rows["height"]]),
        (rows["bought"] == "yes").astype(int),
        estimator=for_table(
            model_named("logistic", random_state=2), [False, True, False]
        ),
        test=200,
        cv=3,
        random_state=2,
    )
    assert_same(answer, expected)
    assert expected.how.startswith("LogisticRegression tested on 200 other rows")


def test_a_model_of_ones_own_is_compared_and_shown_best_first(run, folder):
    options = ("--features", "all", "--model", "mine:model", "--cv", "3")
    answer = run(folder, "compare", "rows.csv", *YES, *options)
    assert (answer.code, answer.err) == (0, "")
    shown = answer.out.decode()
    assert shown.startswith("GaussianNB tested on 150 other rows: trained on 300")
    assert max(map(len, shown.splitlines())) <= 80
    _, *tables, legend = shown.split("\n\n")
    for table, loss in zip(tables, ("log", "Brier"), strict=True):
        head, *body = table.splitlines()
        assert head.split() == [
            *("method", loss, "loss", "from", "reference", "from", "best")
        ]
        losses = [float(line[25:35].split()[-1]) for line in body]
        assert losses == sorted(losses)
        assert len(losses) == 10
        assert body[0].endswith(" best")
    assert "paired over" in legend


# Arguments, exit code, message. 1 failed, 2 wrong use.
CASES = {
    "a model without features": (("--model", "logistic"), 2, "go with --features"),
    "features and scores": (
        *(("--features", "age", "--score", "score"), 2),
        "--features must stand instead of --score",
    ),
    "a wrong share": ((*YES, "--test", "half"), 2, "--test must be a share"),
    "an endless share": ((*YES, "--test", "inf"), 2, "--test must be a share"),
    "no number of rows": ((*YES, "--test", "nan"), 2, "--test must be a share"),
    "a page that exists": ((*YES, "--html", "old.html"), 1, "with --force"),
    "a model that gives up": (
        *((*YES, "--features", "age", "--model", "mine:Hopeless"), 1),
        "the model must learn from these columns; mine:Hopeless did not: too hard.",
    ),
}


@pytest.mark.parametrize(("arguments", "code", "message"), CASES.values(), ids=CASES)
def test_a_failure_is_one_line(run, folder, arguments, code, message):
    answer = run(folder, "compare", "rows.csv", *arguments)
    assert (answer.code, answer.out) == (code, b"")
    assert answer.err.startswith("abers: ")
    assert answer.err.count("\n") == 1
    assert message in answer.err
