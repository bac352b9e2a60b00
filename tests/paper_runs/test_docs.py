"""docs/paper.md: its pictures are small, and its printed numbers are the paper's."""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from abers.paper.tables import BRIER_LOSS, LOG_LOSS

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "paper.md").read_text(encoding="utf-8")
LINKED = sorted(re.findall(r"\"paper/([\w-]+\.svg)\"", TEXT))
ROWS = ("tree", "bagging", "logistic", "naive Bayes", "SVM")


def test_pictures_are_kept_beside_the_page_and_no_others():
    assert len(LINKED) == 4  # two, in both themes
    assert sorted(path.name for path in (DOCS / "paper").iterdir()) == LINKED


@pytest.mark.parametrize("name", LINKED)
def test_picture_is_small_and_well_formed(name):
    content = (DOCS / "paper" / name).read_bytes()
    assert len(content) < 60_000
    assert ET.fromstring(content).tag.endswith("svg")  # noqa: S314 (our own)


@pytest.mark.parametrize(
    ("head", "printed"), [("log loss", LOG_LOSS), ("Brier loss", BRIER_LOSS)]
)
def test_first_number_of_a_cell_is_the_paper_s(head, printed):
    lines = TEXT[TEXT.index(f"| {head} | Platt |") :].splitlines()[2:7]
    for name, line in zip(ROWS, lines, strict=True):
        cells = [cell.split(" / ") for cell in line.strip("| ").split(" | ")[1:]]
        assert all(len(cell) == 3 for cell in cells), line
        values = [cell[0].strip().replace("∞", "inf") for cell in cells]
        assert tuple(float(value) for value in values) == printed[name]
