"""Every command that reads tables reads CSV in the dialect it is told."""

import pytest

import abers

COMMANDS = {
    "fit": ("fit", "european.csv", "-o", "{out}"),
    "predict": ("predict", "rule.abers", "european.csv", "-o", "{out}"),
    "evaluate": ("evaluate", "rule.abers", "european.csv", "--by", "région"),
    "check": ("check", "rule.abers", "european.csv", "--by", "région"),
    "compare": ("compare", "european.csv", "--methods", "uncalibrated,IVAP"),
}
OPTIONS = ("--decimal", ",", "--encoding", "latin-1")


@pytest.fixture(scope="module")
def folder(files):
    """The same rows as elsewhere, as a spreadsheet in Europe writes them."""
    rows = zip(files.scores, files.labels, files.regions, strict=True)
    lines = [f"{s}".replace(".", ",") + f"#{y}#{r} é" for s, y, r in rows]
    text = "\n".join(["score#label#région", *lines, ""])
    (files.folder / "european.csv").write_bytes(text.encode("latin-1"))
    return files.folder


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_reads_a_dialect(run, folder, tmp_path, name):
    arguments = [text.format(out=tmp_path / "out") for text in COMMANDS[name]]
    answer = run(folder, *arguments, "--json", "--delimiter", "#", *OPTIONS)
    assert (answer.code, answer.err) == (0, "")


def test_the_rule_is_that_of_the_plain_table(run, folder, tmp_path):
    options = ("--delimiter", "#", *OPTIONS)
    run(folder, "fit", "european.csv", "-o", tmp_path / "a.abers", *options)
    run(folder, "fit", "scores.csv", "-o", tmp_path / "b.abers")
    assert (tmp_path / "a.abers").read_bytes() == (tmp_path / "b.abers").read_bytes()


@pytest.mark.parametrize("tab", ["tab", r"\t", "\t"])
def test_a_tab_may_be_spelt(run, tmp_path, tab):
    (tmp_path / "t.csv").write_text("score\tlabel\ta,b,c,d\n1\t0\t\n2\t1\t\n")
    answer = run(tmp_path, "fit", "t.csv", "-o", "rule", "--delimiter", tab)
    assert answer.code == 0
    assert abers.load(tmp_path / "rule").n_rows == 2


@pytest.mark.parametrize(
    "wrong",
    [("--delimiter", "::"), ("--decimal", "x"), ("--encoding", "latin-99")],
    ids=lambda option: option[0],
)
def test_a_dialect_that_nobody_writes_is_wrong_use(run, folder, tmp_path, wrong):
    answer = run(folder, "fit", "scores.csv", "-o", tmp_path / "out", *wrong)
    assert (answer.code, answer.out) == (2, b"")
    assert answer.err.startswith(f"abers: {wrong[0][2:]} must be ")
    assert answer.err.count("\n") == 1


def test_a_dialect_for_parquet_is_wrong_use(run, folder, tmp_path):
    out = ("-o", tmp_path / "out", "--decimal", ",")
    answer = run(folder, "fit", "scores.parquet", *out)
    assert (answer.code, answer.out) == (2, b"")
    assert answer.err == (
        "abers: --decimal must go with CSV or TSV; 'scores.parquet' is parquet, which "
        "says itself how it is written. Leave it out.\n"
    )
    assert not (tmp_path / "out").exists()
