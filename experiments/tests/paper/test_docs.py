"""docs/paper.md: its pictures are small, and its tables are the paper's and ours."""

import csv
import re
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import pytest

from experiments.paper.claims import STATEMENTS
from experiments.paper.reproduction_page import verdicts_sentence
from experiments.paper.results import PRINTED, TABLE_METHODS
from made_records import index, of

DOCS = Path(__file__).parents[3] / "docs"
TEXT = (DOCS / "paper.md").read_text(encoding="utf-8")
LINKED = sorted(re.findall(r"\"paper/([\w-]+\.svg)\"", TEXT))
GOLDEN = Path(__file__).parents[1] / "golden" / "tables.csv"
ROWS = ("tree", "bagging", "logistic", "naive Bayes", "neural network", "SVM")


def test_pictures_are_kept_beside_the_page_and_no_others():
    assert len(LINKED) == 4  # two, in both themes
    assert sorted(path.name for path in (DOCS / "paper").iterdir()) == LINKED


@pytest.mark.parametrize("name", LINKED)
def test_picture_is_small_and_well_formed(name):
    content = (DOCS / "paper" / name).read_bytes()
    assert len(content) < 80_000
    assert ET.fromstring(content).tag.endswith("svg")  # noqa: S314 (our own)


def golden():
    """Return our tables, as a run gave them: engine, loss and algorithm to losses."""
    with GOLDEN.open(newline="", encoding="utf-8") as file:
        return {
            (line["engine"], line["loss"], line["algorithm"]): tuple(
                float(line[method]) for method in TABLE_METHODS
            )
            for line in csv.DictReader(file)
        }


@pytest.mark.parametrize(
    ("head", "loss"), [("log loss", "log_loss"), ("Brier loss", "brier_loss")]
)
def test_cells_are_the_paper_s_weka_s_and_scikit_learn_s(head, loss):
    lines = TEXT[TEXT.index(f"| {head} | Platt |") :].splitlines()[2:]
    ours = golden()
    for name, line in zip(ROWS, lines[: len(ROWS)], strict=True):
        cells = [cell.split(" / ") for cell in line.strip("| ").split(" | ")[1:]]
        columns = zip(*cells, strict=True)
        paper, weka, here = (tuple(map(number, column)) for column in columns)
        assert paper == PRINTED[loss][name]
        assert weka == ours.get(("Weka", loss, name), (None,) * 4), name
        assert here == ours["scikit-learn", loss, name], name


def test_the_claim_on_table_1_is_judged_by_weka_s_run():
    ours = golden()
    losses = {
        ("adult-5000", name, "4:1"): {
            method: (ours["Weka", "log_loss", name][place], 0.5)
            for place, method in enumerate(TABLE_METHODS)
        }
        for name in ROWS
    }
    claim = of("tables: isotonic infinite")(index(losses, "Weka 3.9.7"))
    assert claim.verdict == "holds"
    assert "Infinite for 6 of 6 algorithms" in claim.evidence


def test_cells_of_the_six_data_sets_are_weka_s():
    with (GOLDEN.parent / "weka-sets.csv").open(encoding="utf-8") as file:
        ours = {(row["data"], row["algorithm"]): row for row in csv.DictReader(file)}
    table = TEXT[TEXT.index("| log loss | J48 |") :].split("\n\n")[0].splitlines()[2:]
    algorithms = [name for name in ROWS if name != "neural network"]
    shown = set()
    for line in table:
        data, *cells = line.strip("| ").split(" | ")
        for name, cell in zip(algorithms, cells, strict=True):
            if cell != "-":
                losses = (ours[data, name][m] for m in ("Platt", "IVAP", "CVAP"))
                assert [*map(number, cell.split(" / "))] == [*map(float, losses)]
                shown.add((data, name))
    assert shown == set(ours)


def number(cell):
    text = cell.strip().replace("∞", "inf")
    return None if text == "-" else float(text)


# The claims of the run that the page is about: name, source, verdict and evidence.
CLAIMS = Path(__file__).parents[1] / "golden" / "claims.csv"


@pytest.fixture(scope="module")
def claims():
    with CLAIMS.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_run_has_every_claim_and_its_source(claims):
    named = {name: row.source for name, row in STATEMENTS.items()}
    assert {line["name"]: line["source"] for line in claims} == named


def test_verdicts_are_counted_as_in_the_run(claims):
    found = SimpleNamespace(claims=[SimpleNamespace(**line) for line in claims])
    assert verdicts_sentence(found) in " ".join(TEXT.split())


def test_every_count_is_one_of_the_run(claims):
    """Every "n of m" of the summary stands in the evidence of some claim."""
    summary = " ".join(TEXT[TEXT.index("## Summary") :].split("\n## ")[0].split())
    evidence = " ".join(line["evidence"] for line in claims)
    told = set(re.findall(r"\d+ of \d+", summary))
    assert len(told) > 20
    for count in told:  # "adult 3/4" is the count of one place
        assert count in evidence or count.replace(" of ", "/") in evidence, count
