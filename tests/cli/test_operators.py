"""What goes wrong with calibrator files in operation is a sentence; nothing is lost."""

import os
import subprocess

import numpy as np
import pandas as pd
import pytest

CLASSES = list("abc")
COLUMNS = [f"p_{name}" for name in CLASSES]
HEAD = "p_a,p_b,p_c,kind\n"
ROW = "0.2,0.3,0.5,c\n"
OLD = b"precious"


@pytest.fixture(scope="module")
def folder(tmp_path_factory, invoke):
    """A folder with a calibrator, the rows it was fitted to, and costs."""
    folder = tmp_path_factory.mktemp("operators")
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.ones(3), 300)
    table = pd.DataFrame(p, columns=COLUMNS)
    table["kind"] = [CLASSES[rng.choice(3, p=row)] for row in p]
    table.to_csv(folder / "rows.csv", index=False)
    table[COLUMNS].astype(str).to_parquet(folder / "text.parquet")
    table.assign(p_c=[[x] for x in p[:, 2]]).to_parquet(folder / "lists.parquet")
    (folder / "costs.csv").write_text("action,a,b,c\nstop,0,1,1\ngo,1,0,0\n")
    words = ("--label", "kind", "--probabilities", "p_*", "--method", "temperature")
    answer = invoke("fit", folder / "rows.csv", *words, "-o", folder / "three.abers")
    assert answer.code == 0, answer.err
    return folder


# What is in the file, and what is said of it.
TABLES = {
    "other columns": ("x,y\n1,2\n", "must have the column 'p_a'; its columns are 'x'"),
    "a renamed feature": (HEAD.replace("p_c", "q_c") + ROW, "the column 'p_c'"),
    "an empty file": ("", "it is empty"),
    "probabilities that do not sum to 1": (
        HEAD + ROW + "0.2,0.3,0.4,c\n",
        "add up to 1 in each row; got 0.9 in row 2 of 'wrong.csv'.",
    ),
    "a probability above 1": (
        HEAD + "1.2,0.3,0.5,c\n",
        "from 0 to 1; got 1.2 in row 1",
    ),
    "text among numbers": (HEAD + ROW + "0.2,0.3,high,c\n", "got 'high' in row 2"),
    "decimal commas": ("p_a;p_b;p_c;kind\n0,2;0,3;0,5;c\n", "say --decimal ','"),
    "a row that is too short": (HEAD + ROW + "0.2,0.3\n", "row 2"),
    "a number of another kind": (HEAD + "0x1p-1,0.3,0.5,c\n", "must hold numbers"),
}
COMMANDS = {
    "predict": ("predict",),
    "decide": ("decide", "--costs", "costs.csv"),
    "evaluate": ("evaluate",),
    "check": ("check",),
}


@pytest.fixture
def call(invoke, folder, monkeypatch):
    """Run a command in the folder; whatever fails leaves all files as they were."""
    monkeypatch.chdir(folder)

    def called(*words):
        before = {path: path.read_bytes() for path in folder.iterdir()}
        answer = invoke(*words)
        if answer.code:
            after = {path: path.read_bytes() for path in folder.iterdir()}
            assert after == before
            assert answer.err.startswith("abers: ")
            assert answer.err.count("\n") == 1
        return answer

    return called


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("text", "sentence"), TABLES.values(), ids=TABLES)
def test_a_wrong_table_is_a_sentence(call, folder, command, text, sentence):
    (folder / "wrong.csv").write_text(text)
    (folder / "out.csv").write_bytes(OLD)
    verb, *more = COMMANDS[command]
    if verb in {"predict", "decide"}:
        more += ["-o", "out.csv", "--force"]
    answer = call(verb, "three.abers", "wrong.csv", *more)
    assert answer.code in (1, 2), answer.out
    assert sentence in answer.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ("evaluate", "three.abers", "unseen.csv"),
            "classes of the fit, 'a', 'b', 'c'",
        ),
        (("check", "three.abers", "unseen.csv"), "got 'd' in row 2 of 'unseen.csv'"),
        (("check", "three.abers", "rows.csv", "--pos-label", "d"), "got 'd'."),
        (("predict", "three.abers", "rows.csv", "--scores", "p_a,p_b"), "got 2, 'p_a'"),
        (("predict", "three.abers", "rows.csv", "--scores", "p_a,,p_b"), "commas"),
        (("predict", "three.abers", "rows.csv", "--loss", "brier"), "loss must go"),
        (("predict", "three.abers", "rows.csv", "--prior", ".5"), "prior must go"),
        (("predict", "three.abers", "rows.csv", "--by", "kind"), "--by must go"),
        (("check", "three.abers", "rows.csv", "--loss", "brier"), "loss must go"),
        (("evaluate", "three.abers", "rows.csv", "--before", "p_a"), "--before must"),
        (
            ("predict", "three.abers", "lists.parquet", "-o", "o.csv"),
            "must be numbers or text",
        ),
        (("predict", "rows.csv", "rows.csv"), "must be a file that abers has"),
        (("predict", "three.abers", "three.abers"), "must be a table; it is a rule"),
        (
            ("fit", "unseen.csv", "--label", "kind", "--scores", "q_*", "-o", "x"),
            "'q_*'",
        ),
    ],
)
def test_a_wrong_request_is_a_sentence(call, folder, words, sentence):
    (folder / "unseen.csv").write_text(HEAD + ROW + "0.2,0.3,0.5,d\n")
    answer = call(*words)
    assert answer.code in (1, 2), answer.out
    assert sentence in answer.err


def test_a_table_without_rows_predicts_none_and_cannot_be_judged(call, folder):
    (folder / "none.csv").write_text(HEAD)
    answer = call("predict", "three.abers", "none.csv")
    assert (answer.code, answer.out.count(b"\n")) == (0, 1)
    for command in ("check", "evaluate"):
        answer = call(command, "three.abers", "none.csv")
        assert "must have rows to judge; it has none." in answer.err


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_numbers_that_are_stored_as_text_are_read(call, folder, ending):
    pd.read_csv(folder / "rows.csv").to_parquet(folder / "rows.parquet")
    expected = call("predict", "three.abers", "rows.parquet", "--format", "csv").out
    name = {"csv": "rows.csv", "parquet": "text.parquet"}[ending]
    predicted = call("predict", "three.abers", name, "--format", "csv").out
    last = [line.split(b",")[-4:] for line in expected.splitlines()]
    assert [line.split(b",")[-4:] for line in predicted.splitlines()] == last


def test_missing_scores_get_no_probability(call, folder):
    (folder / "gaps.csv").write_text(HEAD + ROW + "0.2,,0.5,c\n")
    answer = call("predict", "three.abers", "gaps.csv")
    assert answer.out.decode().splitlines()[2] == "0.2,,0.5,c,,,,"
    assert "1 row has no score, and so no probability." in answer.err
    answer = call("predict", "three.abers", "gaps.csv", "--missing", "error")
    assert "it is in row 2 of 'gaps.csv'" in answer.err
    answer = call("evaluate", "three.abers", "gaps.csv")
    assert "it is in 1 of 2 rows, first in row 2 of 'gaps.csv'" in answer.err


@pytest.mark.parametrize("locale", ["C", "C.UTF-8", "de_DE.UTF-8", "tr_TR.ISO-8859-9"])
def test_the_locale_changes_nothing(run, folder, locale):
    (folder / "name.csv").write_text("p_a,p_b,p_c,näme\n0.2,0.3,0.5,Çelik\n")
    setting = os.environ | {"LC_ALL": locale, "LANG": locale}
    answer = run(folder, "predict", "three.abers", "name.csv", env=setting)
    usual = run(folder, "predict", "three.abers", "name.csv")
    assert (answer.code, answer.out, answer.err) == (0, usual.out, "")
    assert "Çelik" in answer.out.decode()


@pytest.mark.parametrize("force", [True, False])
def test_two_jobs_on_one_output_leave_one_whole_file(command, folder, tmp_path, force):
    """Without --force the later job fails with a sentence; with it, both succeed."""
    out = tmp_path / "out.csv"
    words = ["predict", "three.abers", *["rows.csv"] * 20, "-o", str(out)]
    words += ["--force"] * force
    jobs = [
        subprocess.Popen([command, *words], cwd=folder, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    messages = [job.communicate()[1].decode() for job in jobs]
    codes = sorted(job.returncode for job in jobs)
    assert codes == ([0, 0] if force else [0, 1]), messages
    if not force:
        assert sum(f"abers: '{out}' exists" in text for text in messages) == 1
    assert len(pd.read_csv(out)) == 20 * 300
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


@pytest.fixture(scope="module", params=["venn-abers", "beta"])
def results(tmp_path_factory, invoke, request):
    """A folder with a rule, or a calibrator, of the labels won and lost."""
    folder = tmp_path_factory.mktemp("results")
    rng = np.random.default_rng(5)
    scores = rng.normal(size=200)
    won = np.where(rng.normal(size=200) < scores, "won", "lost")
    table = pd.DataFrame({"score": scores, "result": won})
    table.to_csv(folder / "rows.csv", index=False)
    table.iloc[won == "lost"].to_csv(folder / "lost.csv", index=False)
    table.loc[np.flatnonzero(won == "lost")[0], "result"] = "lsot"
    table.to_csv(folder / "wrong.csv", index=False)
    words = ("--label", "result", "--pos-label", "won", "--method", request.param)
    words += ("--score", "score", "-o", folder / "won.abers")
    answer = invoke("fit", folder / "rows.csv", *words)
    assert answer.code == 0, answer.err
    return folder


@pytest.mark.parametrize("command", ["check", "evaluate"])
def test_a_misspelt_label_does_not_count_as_negative(
    invoke, results, command, monkeypatch
):
    """Those of the fit are remembered; if all others are negative, they are named."""
    monkeypatch.chdir(results)
    assert "positive label" not in invoke(command, "won.abers", "rows.csv").err
    assert invoke(command, "won.abers", "lost.csv").code in (0, 3)
    answer = invoke(command, "won.abers", "wrong.csv")
    assert (answer.code, answer.out) == (1, b"")
    assert "must hold the labels of the fit, 'won', 'lost'; got 'lsot'" in answer.err
    answer = invoke(command, "won.abers", "wrong.csv", "--pos-label", "won")
    assert "'won' is the positive label, against the others 'lsot', 'lost'." in (
        answer.err
    )
