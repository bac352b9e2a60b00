"""`abers check` fails by its exit code."""

import json
import os

import numpy as np
import pandas as pd
import pytest

import abers
from abers import tables
from abers.evaluation.check import check


@pytest.fixture(scope="module")
def folder(files):
    """The files, and rows that came later."""
    rng = np.random.default_rng(8)
    scores = rng.random(3_000)
    labels = rng.random(3_000) < scores**2
    recent = pd.DataFrame(
        {
            "score": scores,
            "fate": np.where(labels, "won", "lost"),
            "region": rng.choice(["north", "south", "east"], 3_000),
        }
    )
    folder = files.folder
    recent.to_parquet(folder / "recent.parquet")
    shifted = pd.DataFrame({"score": scores**2, "label": labels.astype(int)})
    shifted.to_csv(folder / "shifted.csv", index=False)
    path = folder / "scores.csv"
    tables.fit_table(path, by="region").save(folder / "set.abers")
    tables.fit_table(path, label="label").save(folder / "fitted.abers")
    return folder


def results(answer):
    """The result in each line of the table."""
    words = ("pass", "fail", "inconclusive")
    lines = answer.out.decode().splitlines()
    head = next(i for i, line in enumerate(lines) if "result" in line)
    start = lines[head].index("result")
    cells = [line[start:] for line in lines[head + 1 : -1]]
    return [word for cell in cells for word in words if cell.startswith(word)]


def assert_same(answer, expected, missing=0):
    document = json.loads(answer.out)
    del document["notes"]  # how labels were read
    assert document.pop("page") is None
    assert (document.pop("n_missing"), document.pop("warnings")) == (missing, [])
    assert (document.pop("schema_version"), len(document.pop("sha256"))) == (1, 64)
    plain = expected.to_dict()
    for test in plain["findings"]:  # JSON has no NaN
        test |= {key: None for key, value in test.items() if value != value}  # noqa: PLR0124
    assert document == json.loads(json.dumps(plain))


def test_a_check_that_passes_exits_0(run, folder):
    """Labels are words."""
    options = ("--label", "fate", "--pos-label", "won", "--max-ece", "0.05", "--json")
    answer = run(folder, "check", "rule.abers", "recent.parquet", *options)
    assert answer.code == 0
    rows = pd.read_parquet(folder / "recent.parquet")
    rule = abers.load(folder / "rule.abers")
    expected = check(rule, rows["score"], rows["fate"] == "won", max_ece=0.05)
    assert expected.passed
    assert_same(answer, expected)


def test_a_check_that_fails_exits_3_and_names_the_tests(run, folder):
    narrow = os.environ | {"COLUMNS": "80"}
    answer = run(folder, "check", "rule.abers", "shifted.csv", env=narrow)
    assert (answer.code, answer.err) == (3, "")
    shown = answer.out.decode()
    assert results(answer) == ["fail", "pass", "fail", "pass", "fail"]
    assert "\nMost has changed at scores from " in shown
    assert "\nFailed: score drift (PSI), change of the mean (p-value)," in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert "score drift (PSI)" in shown


def test_without_labels_the_scores_are_checked_alone(run, folder):
    piped = (folder / "shifted.csv").read_bytes()
    unlabelled = b"\n".join(line.split(b",")[0] for line in piped.split(b"\n"))
    answer = run(folder, "check", "rule.abers", "-", piped=unlabelled)
    assert (answer.code, results(answer)) == (3, ["fail"])
    assert answer.err.startswith("No column of labels was found, so only the scores")


def test_inconclusive_tests_do_not_fail(run, folder):
    piped = b"score,label\n0.9,1\n0.8,1\n,1\n0.7,\n0.1,0\n"
    answer = run(folder, "check", "rule.abers", "-", "--drop-missing", piped=piped)
    assert answer.code == 0
    assert set(results(answer)) <= {"pass", "inconclusive"}
    assert "2 rows with missing values" in answer.out.decode()
    assert answer.out.decode().endswith(" were inconclusive.\n")


def test_groups_of_one_rule_are_checked_and_named(run, folder):
    options = ("--label", "fate", "--pos-label", "won", "--by", "region")
    rows = pd.read_parquet(folder / "recent.parquet")
    broken = rows["region"] == rows["region"].iloc[0]
    rows.loc[broken, "fate"] = "won"
    rows.to_parquet(folder / "broken.parquet")
    answer = run(folder, "check", "rule.abers", "broken.parquet", *options)
    assert answer.code == 3
    assert f"In group {rows['region'].iloc[0]}, most at" in answer.out.decode()
    answer = run(folder, "check", "rule.abers", "broken.parquet", *options, "--json")
    expected = check(
        abers.load(folder / "rule.abers"),
        rows["score"],
        rows["fate"] == "won",
        groups=rows["region"],
    )
    assert [g.name for g in expected.groups if g.result == "fail"] == [
        rows["region"].iloc[0]
    ]
    assert_same(answer, expected)


def test_rules_for_groups_are_checked_by_their_column(run, folder):
    options = ("--label", "fate", "--pos-label", "won", "--alpha", "0.001", "--json")
    answer = run(folder, "check", "set.abers", "recent.parquet", *options)
    rows = pd.read_parquet(folder / "recent.parquet")
    expected = check(
        abers.load(folder / "set.abers"),
        rows["score"],
        rows["fate"] == "won",
        groups=rows["region"],
        alpha=0.001,
    )
    assert answer.code == (0 if expected.passed else 3)
    assert_same(answer, expected)


def test_checking_the_rows_of_the_fit_warns(run, folder):
    answer = run(folder, "check", "fitted.abers", "scores.csv")
    assert answer.code == 0
    assert answer.err.startswith("warning: These look like rows that the predictor")


def test_label_column_and_positive_label_are_those_of_the_fit(run, folder):
    """An option wins over what the rule remembers, and without labels none is asked."""
    path = folder / "recent.parquet"
    options = {"label": "fate", "pos_label": "won"}
    tables.fit_table(path, **options).save(folder / "fate.abers")
    answer = run(folder, "check", "fate.abers", "recent.parquet")
    assert answer.code == 0
    assert "AUC" in answer.out.decode()
    other = run(folder, "check", "fate.abers", "recent.parquet", "--pos-label", "lost")
    assert other.code == 3
    columns = ("--label", "label", "--pos-label", "1")
    for table in (("shifted.csv", *columns), ("new.csv",)):  # another column, and none
        answer = run(folder, "check", "fate.abers", *table, "--drop-missing")
        assert answer.code in {0, 3}, answer.err
    shown = run(folder, "inspect", "fate.abers").out.decode()
    for line in (
        "label column     fate\n",
        "positive label   won\n",
        'negative labels  ["lost"]\n',
    ):
        assert line in shown


# Arguments, exit code, message. 1 failed, 2 wrong use.
CASES = {
    "no table": (("rule.abers",), 2, "Missing argument"),
    "two pipes": (("-", "-"), 2, "standard input must be named once"),
    "a wrong limit": (
        *(("rule.abers", "shifted.csv", "--alpha", "1"), 2),
        "alpha must be above 0 and below 1; got 1.0",
    ),
    "missing scores": (
        *(("rule.abers", "new.csv"), 1),
        "it is in 1 of 3 rows, first in row 2 of 'new.csv'",
    ),
}


@pytest.mark.parametrize(("arguments", "code", "message"), CASES.values(), ids=CASES)
def test_a_failure_is_one_line(run, folder, arguments, code, message):
    answer = run(folder, "check", *arguments)
    assert (answer.code, answer.out) == (code, b"")
    assert answer.err.startswith("abers: ")
    assert answer.err.count("\n") == 1
    assert message in answer.err
