"""`abers export`: files for programs without Python, by their ending."""

import json

import numpy as np
import onnx
import pandas as pd
import pytest

import abers
from abers.export import steps, to_onnx, to_source, to_sql


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A rule that remembers its column, and rules for groups that do not."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    scores, labels = rng.random(300), rng.random(300) < 0.5
    rule = abers.fit_rule(scores, labels)
    rule.save("rule.abers", {"abers:score": "margin"})
    groups = np.where(scores > 0.5, "north", "south")
    abers.fit_rules(scores, labels, groups, minimum=10).save("groups.abers")
    return tmp_path


@pytest.fixture
def export(invoke, folder):  # noqa: ARG001 (runs in it)
    """Export a rule; return what was printed."""

    def exported(*arguments):
        answer = invoke("export", *arguments)
        assert answer.code == 0
        return answer

    return exported


@pytest.mark.parametrize("ending", ["csv", "tsv", "json", "parquet", "arrow", "csv.gz"])
def test_a_table_is_the_one_that_python_writes(folder, export, ending):
    done = export("rule.abers", f"cli.{ending}", "--loss", "brier")
    assert f"The rule was written to cli.{ending}." in done.err
    made = steps(abers.load("rule.abers"), loss="brier")
    made.write(folder / f"python.{ending}")
    written = (folder / f"cli.{ending}").read_bytes()
    if ending == "csv.gz":  # which has the time in it
        assert pd.read_csv("cli.csv.gz").equals(pd.read_csv("python.csv.gz"))
    else:
        assert written == (folder / f"python.{ending}").read_bytes()


def test_scores_may_be_float32(folder, export):
    export("rule.abers", "single.json", "--dtype", "float32")
    expected = steps(abers.load("rule.abers"), dtype="float32").start.tolist()
    start = json.loads((folder / "single.json").read_text())["start"]
    assert [float(score) for score in start] == expected


@pytest.mark.parametrize(
    ("name", "language"), [("f.h", "c"), ("F.java", "java"), ("f.mjs", "javascript")]
)
def test_source_code_is_named_after_its_file(folder, export, name, language):
    export("rule.abers", name)
    rule = abers.load("rule.abers")
    made = to_source(rule, language, name=name.partition(".")[0])
    assert (folder / name).read_bytes() == made[name]


@pytest.mark.parametrize("name", ["rule.abers", "groups.abers"])
def test_a_graph_is_the_one_that_python_makes(folder, export, name):
    export(name, "r.onnx", "--dtype", "float32", "--loss", "brier")
    made = to_onnx(abers.load(name), dtype="float32", loss="brier")
    assert onnx.load(folder / "r.onnx") == made


def test_sql_has_the_column_of_the_fit(folder, export):
    export("rule.abers", "r.sql", "--to", "postgres", "--scores", "public.new")
    rule = abers.load("rule.abers")
    names = {"table": "steps", "scores": ("public", "new"), "score": "margin"}
    assert (folder / "r.sql").read_text() == to_sql(rule, "postgres", **names).script


def test_sql_for_groups_needs_their_column(folder, export):
    export("groups.abers", "g.sql", "--to", "duckdb", "--by", "region")
    assert 's."region"' in (folder / "g.sql").read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("rule.abers", "r.sql"), 2, "--to must name the dialect of a file"),
        (("rule.abers", "r.csv", "--to", "duckdb"), 2, "--to must name the dialect"),
        (
            ("rule.abers", "r.sql", "--to", "sqlite"),
            2,
            "numbers of SQLite must be bound",
        ),
        (("rule.abers", "r.sql", "--to", "oracle"), 2, "dialect must be 'duckdb' or"),
        (
            ("rule.abers", "r.h", "--dtype", "float32"),
            2,
            "--dtype must go with a table",
        ),
        (("rule.abers", "r.xlsx"), 2, "must end with .csv"),
        (("rule.abers", "rule.java"), 2, "must begin with a capital letter"),
        (("groups.abers", "g.sql", "--to", "duckdb"), 2, "name it with --by"),
        (("groups.abers", "g.h"), 2, "source code must be that of one rule"),
        (("rule.abers", "old.h"), 1, "'old.h' exists"),
        (("rule.abers", "rule.abers", "--force"), 1, "must not be what is read"),
    ],
)
def test_a_failure_writes_nothing(folder, invoke, arguments, code, message):
    (folder / "old.h").write_text("mine")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    answer = invoke("export", *arguments)
    assert answer.code == code
    assert message in answer.err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
