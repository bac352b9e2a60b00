"""In a notebook every cell that draws shows its picture, whoever draws it."""

import nbformat
import pytest
from nbclient import NotebookClient

HEAD = """
import pandas as pd
import numpy as np
from matplotlib import pyplot as plt
from sklearn.calibration import CalibrationDisplay

import abers
from abers import plots

plt.rcParams["figure.dpi"] = 25  # what is shown counts, not how large
rng = np.random.default_rng(3)
s = rng.normal(size=200)
y = (rng.random(200) < 1 / (1 + np.exp(-s))).astype(int)
p = 1 / (1 + np.exp(-2 * s))
table, labels = np.stack((p / 2, p / 2, 1 - p), axis=1), np.where(y, s > 0, 2)
"""
OURS = [
    "plots.RuleDisplay.from_rule(abers.fit_rule(s, y))",
    "plots.RuleDisplay.from_predictions(y, p)",
    "plots.ReliabilityDisplay.from_predictions(y, p)",
    "plots.ReliabilityDisplay.from_predictions(y, p / 2, before=p)",
    "plots.ReliabilityDisplay.by_group(y, p, s > 0)",
    "plots.DecisionCurveDisplay.from_predictions(y, p)",
    "plots.ClassesDisplay.from_predictions(labels, table)",
    "plots.ClassesDisplay.confusion(labels, table)",
    "plots.LossesDisplay.from_predictions(y, {'a': p, 'b': p / 2})",
]
OTHERS = [
    "plt.plot(s);",
    "CalibrationDisplay.from_predictions(y, p);",
    "pd.Series(s).plot();",
]


def cells():
    """Ours first, for the first figure starts the backend; one of theirs after each."""
    for place, code in enumerate(OURS):
        yield code
        yield OTHERS[place % len(OTHERS)]


@pytest.fixture(scope="module", params=["", "%matplotlib inline"], ids=["", "inline"])
def drawn(request, tmp_path_factory):
    """The outputs of each cell of a notebook that draws everything twice."""
    book = nbformat.v4.new_notebook()
    codes = [request.param + HEAD, *cells(), *cells()]
    book.cells = [nbformat.v4.new_code_cell(code) for code in codes]
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MPLBACKEND", raising=False)
        home = tmp_path_factory.mktemp("home")
        for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR"):
            patch.setenv(name, str(home / name))
        NotebookClient(book, timeout=60, kernel_name="python3").execute()
    return [(cell.source, cell.outputs) for cell in book.cells[1:]]


def test_each_cell_shows_its_one_picture_twice_in_a_row(drawn):
    pictures = [
        (code, sum("image/png" in output.get("data", {}) for output in outputs))
        for code, outputs in drawn
    ]
    assert pictures == [(code, 1) for code in (*cells(), *cells())]


def test_a_display_says_in_one_line_what_it_shows(drawn):
    texts = {
        code: output.data["text/plain"]
        for code, outputs in drawn
        for output in outputs
        if output.output_type == "execute_result"
    }
    assert list(texts) == OURS
    for code, text in texts.items():
        part = {"by_group": "Panels", "confusion": "Confusion"}
        _, display, method = code.split("(")[0].split(".")
        assert text.startswith(part.get(method, display) + "(")
        assert len(text.splitlines()) == 1
        assert len(text) <= 200
        assert " at 0x" not in text
    rule = "Rule(200 rows, 104 positive, 49 pieces)"
    assert texts[OURS[0]] == f"RuleDisplay(rule={rule}, loss='log')"
