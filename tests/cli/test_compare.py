"""`abers compare` answers as `abers.compare` does, on a column of scores."""

import json

import numpy as np
import pandas as pd
import pytest

import abers

N = 600


@pytest.fixture(scope="module")
def rows():
    """Scores, weights, and what came of it."""
    rng = np.random.default_rng(3)
    chance = 1 / (1 + np.exp(-rng.normal(size=N)))
    return pd.DataFrame(
        {
            "w": rng.integers(1, 4, N),
            "score": chance.round(3),
            "bought": np.where(rng.random(N) < chance, "yes", "no"),
        }
    )


@pytest.fixture(scope="module")
def folder(rows, tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare")
    rows.to_csv(folder / "rows.csv", index=False)
    (folder / "old.html").write_text("precious")
    return folder


YES = ("--label", "bought", "--pos-label", "yes")
NOTE = "Column 'bought': 'yes' is the positive label, against 'no'."


def assert_same(answer, expected):
    """Equal to the last bit."""
    assert answer.code == 0, answer.err
    document = json.loads(answer.out)
    expected = json.loads(json.dumps(expected.to_dict()))
    assert {key: document.pop(key) for key in expected} == expected
    page = document.pop("page")
    assert page is None or page.endswith(".html")
    assert document.pop("notes") in ([], [NOTE])
    assert document == {"schema_version": 1, "n_missing": 0, "warnings": []}


def test_scores_are_compared_as_the_library_does(run, folder, rows):
    """Names of methods may be written in small letters."""
    options = ("--cv", "3", "--seed", "4", "--weight", "w", "--json")
    methods = (
        "--methods",
        "ivap, uncalibrated,Platt (Log-Odds)",
        "--html",
        "page.html",
    )
    answer = run(folder, "compare", "rows.csv", *YES, *options, *methods)
    expected = abers.compare(
        rows["score"],
        rows["bought"] == "yes",
        sample_weight=rows["w"],
        cv=3,
        methods=["IVAP", "uncalibrated", "Platt (log-odds)"],
        random_state=4,
    )
    assert_same(answer, expected)
    assert "Methods compared" in (folder / "page.html").read_text()


def test_methods_are_shown_best_first(run, folder):
    options = ("--test", "150", "--cv", "3")
    answer = run(folder, "compare", "rows.csv", *YES, *options)
    assert (answer.code, answer.err) == (0, f"{NOTE}\n")
    shown = answer.out.decode()
    assert shown.startswith("150 scored rows, predicted by methods fitted to 450")
    assert max(map(len, shown.splitlines())) <= 80
    _, *tables, legend = shown.split("\n\n")
    for table, loss in zip(tables, ("log", "Brier"), strict=True):
        head, *body = table.splitlines()
        assert head.split() == [
            *("method", loss, "loss", "from", "reference", "from", "best")
        ]
        losses = [float(line[25:35].split()[-1].replace("∞", "inf")) for line in body]
        assert losses == sorted(losses)
        assert len(losses) == 9
        assert body[0].endswith(" best")
    assert "paired over" in legend


# Arguments, exit code, message. 1 failed, 2 wrong use.
CASES = {
    "a wrong seed": ((*YES, "--seed", "-1"), 2, "--seed must be from 0 to"),
    "a wrong share": ((*YES, "--test", "half"), 2, "--test must be a share"),
    "an endless share": ((*YES, "--test", "inf"), 2, "--test must be a share"),
    "no number of rows": ((*YES, "--test", "nan"), 2, "--test must be a share"),
    "a page that exists": ((*YES, "--html", "old.html"), 1, "with --force"),
}


@pytest.mark.parametrize(("arguments", "code", "message"), CASES.values(), ids=CASES)
def test_a_failure_is_one_line(run, folder, arguments, code, message):
    answer = run(folder, "compare", "rows.csv", *arguments)
    assert (answer.code, answer.out) == (code, b"")
    assert answer.err.startswith("abers: ")
    assert answer.err.count("\n") == 1
    assert message in answer.err
