"""`abers evaluate` answers as `abers.evaluate` does, and writes a page."""

import hashlib
import io
import json
import os
import re
import resource
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import abers
from abers import tables
from abers.storage.container import sha256_of
from abers.tables.rows import sampled

N = 1_500


@pytest.fixture(scope="module")
def fresh():
    """Rows that no rule has seen."""
    rng = np.random.default_rng(5)
    scores = rng.random(N)
    labels = (rng.random(N) < scores**2).astype(int)
    return pd.DataFrame(
        {
            "id": np.arange(N),
            "score": scores,
            "label": labels,
            "region": rng.choice([f"r{i}" for i in range(13)], N),
            "w": rng.integers(0, 4, N),
            "before": scores.round(1),
            "fate": np.where(labels == 1, "won", "lost"),
        }
    )


@pytest.fixture(scope="module")
def folder(files, fresh):
    """The files, fresh rows, and rules as `abers fit` makes them."""
    folder = files.folder
    fresh.to_csv(folder / "fresh.csv", index=False)
    options = {"by": "region", "metadata": {"v": 1}}
    tables.fit_table(folder / "scores.csv").save(folder / "fitted.abers")
    tables.fit_table(folder / "scores.csv", **options).save(folder / "set.abers")
    (folder / "gaps.csv").write_text("score,label\n0.5,1\n,0\nNaN,1\n0.25,\n0.75,0\n")
    (folder / "old.html").write_text("precious")
    return folder


def as_read(expected):
    """What JSON makes of a dictionary."""
    return json.loads(json.dumps(expected))


NOTHING_MORE = {"schema_version": 1, "n_missing": 0, "page": None}
NOTHING_MORE |= {"notes": [], "warnings": []}


def assert_contains(answer, expected):
    """Assert that all numbers are there, to the last bit; return the rest."""
    assert answer.code == 0, answer.err
    document = json.loads(answer.out)
    assert {key: document.pop(key) for key in expected} == as_read(expected)
    return document


def test_numbers_of_rules_for_groups_are_those_of_the_library(run, folder, fresh):
    """The rules know their column of groups."""
    options = ("--weight", "w", "--before", "before", "--json")
    answer = run(folder, "evaluate", "set.abers", "fresh.csv", *options)
    expected = abers.evaluate(
        abers.load(folder / "set.abers"),
        fresh["score"],
        fresh["label"],
        sample_weight=fresh["w"],
        groups=fresh["region"],
        before=fresh["before"],
    )
    assert len(expected.groups) == 13
    rest = assert_contains(answer, expected.to_dict())
    assert rest.pop("sha256") == sha256_of(folder / "set.abers")
    assert rest == NOTHING_MORE
    assert answer.err == ""


def test_the_page_compares_methods_on_a_sample_and_says_so(run, folder, fresh):
    options = ("--sample", "400", "--name", "mine", "--title", "Of <mine>", "--json")
    page = ("--html", "page.html")
    answer = run(folder, "evaluate", "rule.abers", "fresh.csv", *page, *options)
    rows = sampled(N, 400)
    compared = abers.compare(fresh["score"][rows], fresh["label"][rows])
    how = f"{compared.how[:-1]}; they are drawn at random from 1,500."
    expected = abers.evaluate(
        abers.load(folder / "rule.abers"),
        fresh["score"],
        fresh["label"],
        comparison=replace(compared, how=how),
        name="mine",
    )
    assert assert_contains(answer, expected.to_dict())["page"] == "page.html"
    text = (folder / "page.html").read_text()
    assert how in text
    assert "Of &lt;mine&gt;" in text
    (folder / "page.html").unlink()


def facts_of(page):
    """Return what a page lists at its end."""
    return dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page.read_text()))


def test_page_names_files_tags_and_the_checksum_of_the_rule(run, folder):
    tagged = tables.fit_table(folder / "scores.csv", metadata={"model": "7.2"})
    tagged.save(folder / "tagged.abers")
    checksum = hashlib.sha256((folder / "tagged.abers").read_bytes()).hexdigest()
    tags = ("--tag", "data version=2026-10", "--tag", "tables=another.csv")
    options = ("--html", "facts.html", "--sample", "0", "--force", *tags)
    for rule, piped in (("tagged.abers", None), ("-", "tagged.abers")):
        answer = run(
            *(folder, "evaluate", rule, "fresh.csv", *options),
            piped=piped and (folder / piped).read_bytes(),
        )
        assert answer.code == 0, answer.err
        facts = facts_of(folder / "facts.html")
        assert facts["SHA-256 of the rule file"] == checksum
        assert facts["rule file"] == ("standard input" if piped else rule)
        assert facts["tables"] == "fresh.csv"
        assert facts["data version"] == "2026-10"
        assert facts["tag model"] == "7.2"
        assert facts["score column of the fit"] == "score"
    (folder / "facts.html").unlink()


def test_pages_of_columns_and_comparisons_name_their_tables(run, folder):
    options = ("--html", "facts.html", "--force", "--tag", "by=me")
    labels = ("--label", "fate", "--pos-label", "won", "--sample", "0")
    run(folder, "evaluate", "--probability", "score", "fresh.csv", *options, *labels)
    facts = facts_of(folder / "facts.html")
    assert (facts["probabilities"], facts["tables"]) == ("score", "fresh.csv")
    assert facts["rows"].endswith(" positive, that is &#39;won&#39;)")
    assert "SHA-256 of probabilities and labels" in facts
    run(folder, "compare", "fresh.csv", *options)
    facts = facts_of(folder / "facts.html")
    assert (facts["tables"], facts["by"]) == ("fresh.csv", "me")
    (folder / "facts.html").unlink()


def test_people_read_a_few_lines_and_the_worst_groups(run, folder, fresh):
    wide = os.environ | {"COLUMNS": "100"}
    answer = run(
        folder, "evaluate", "rule.abers", "fresh.csv", "--by", "region", env=wide
    )
    assert (answer.code, answer.err) == (0, "")
    evaluation = abers.evaluate(
        abers.load(folder / "rule.abers"),
        fresh["score"],
        fresh["label"],
        groups=fresh["region"],
    )
    first, *lines = answer.out.decode().splitlines()
    assert first == evaluation.printout().headline
    for (name, text), line in zip(evaluation.printout().facts, lines, strict=False):
        assert line.split(None, len(name.split())) == [*name.split(), text]
    groups = [line.split()[0] for line in lines[-11:-1]]
    assert groups == [group.name for group in evaluation.groups[:10]]
    assert lines[-1].strip() == "… and 3 more"


def test_judging_the_rows_of_the_fit_warns(run, folder):
    """A tenth of the rows, which the fingerprint in the rule recognises."""
    rows = pd.read_csv(folder / "scores.csv").sample(200, random_state=0)
    rows.to_parquet(piped := io.BytesIO())
    answer = run(folder, "evaluate", "fitted.abers", "-", piped=piped.getvalue())
    assert answer.code == 0
    assert answer.err.startswith("warning: These look like rows that the predictor")
    assert answer.err.count("\n") == 1


def test_a_column_of_probabilities_is_judged_without_a_rule(run, folder, fresh):
    """Labels are words, and rows that lack a value are left out."""
    rows = fresh[["score", "fate"]].rename(columns={"score": "p"})
    rows.loc[3, "p"] = np.nan
    rows.loc[5, "fate"] = None
    options = ("--probability", "p", "--label", "fate", "--pos-label", "won")
    piped = rows.to_csv(index=False).encode()
    answer = run(
        folder, "evaluate", "-", *options, "--drop-missing", "--json", piped=piped
    )
    kept = rows.dropna()
    expected = abers.evaluate(None, kept["p"], kept["fate"], pos_label="won").to_dict()
    expected["classes"] = [None, "won"]  # the command reads labels as 0 and 1
    assert assert_contains(answer, expected)["n_missing"] == 2


def test_label_column_and_positive_label_are_those_of_the_fit(run, folder, fresh):
    options = {"label": "fate", "pos_label": "won"}
    tables.fit_table(folder / "fresh.csv", **options).save(folder / "fate.abers")
    answer = run(folder, "evaluate", "fate.abers", "fresh.csv", "--json")
    document = json.loads(answer.out)
    assert document["n_positives"] == int((fresh["fate"] == "won").sum())
    assert document["pos_label"] == "won"


# Arguments, exit code, message. 1 failed, 2 wrong use.
CASES = {
    "no table": (("rule.abers",), 2, "a rule and a table"),
    "score and probability": (
        *(("--probability", "score", "--score", "score", "fresh.csv"), 2),
        "--score must go with a rule",
    ),
    "a rule and probabilities": (
        *(("rule.abers", "fresh.csv", "--probability", "score"), 2),
        "--probability judges a column, without a rule; leave out 'rule.abers'.",
    ),
    "two pipes": (("-", "-"), 2, "standard input must be named once"),
    "a page that exists": (
        *(("rule.abers", "fresh.csv", "--html", "old.html"), 1),
        "'old.html' exists; overwrite it with --force",
    ),
    "a page into a pipe": (
        ("rule.abers", "fresh.csv", "--html", "-"),
        2,
        "name a file",
    ),
    "missing values": (
        *(("rule.abers", "gaps.csv"), 1),
        "to judge; it is in 2 of 5 rows, first in row 2 of 'gaps.csv'",
    ),
}


@pytest.mark.parametrize(("arguments", "code", "message"), CASES.values(), ids=CASES)
def test_a_failure_is_one_line(run, folder, arguments, code, message):
    answer = run(folder, "evaluate", *arguments)
    assert (answer.code, answer.out) == (code, b"")
    assert answer.err.startswith("abers: ")
    assert answer.err.count("\n") == 1
    assert message in answer.err


def test_a_full_disk_leaves_the_old_page_and_no_other(run, folder):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    options = ("--html", "old.html", "--force", "--sample", "0")
    answer = run(
        *(folder, "evaluate", "rule.abers", "fresh.csv", *options),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50_000,) * 2),
    )
    assert (answer.code, answer.out) == (1, b"")
    assert answer.err == "abers: File too large: 'old.html'.\n"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
