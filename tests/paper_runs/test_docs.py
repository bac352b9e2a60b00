"""docs/paper.md: its pictures are small, and its tables are the paper's and ours."""

import csv
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from abers.paper.results import PRINTED, TABLE_METHODS

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "paper.md").read_text(encoding="utf-8")
LINKED = sorted(re.findall(r"\"paper/([\w-]+\.svg)\"", TEXT))
GOLDEN = Path(__file__).parents[1] / "golden" / "paper-tables.csv"
ROWS = ("tree", "bagging", "logistic", "naive Bayes", "neural network", "SVM")


def test_pictures_are_kept_beside_the_page_and_no_others():
    assert len(LINKED) == 4  # two, in both themes
    assert sorted(path.name for path in (DOCS / "paper").iterdir()) == LINKED


@pytest.mark.parametrize("name", LINKED)
def test_picture_is_small_and_well_formed(name):
    content = (DOCS / "paper" / name).read_bytes()
    assert len(content) < 60_000
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


def number(cell):
    text = cell.strip().replace("∞", "inf")
    return None if text == "-" else float(text)
