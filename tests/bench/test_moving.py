"""The code of docs/moving.md runs beside the libraries that it compares with."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import abers

PAGE = Path(__file__).parents[2] / "docs" / "moving.md"


def code_of(page):
    """Keep the code and blank all else, so that errors name the line of the page."""
    text = page.read_text()
    blocks = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    lines = [""] * (text.count("\n") + 1)
    for block in blocks.finditer(text):
        first = text.count("\n", 0, block.start(1))
        code = block.group(1).splitlines()
        lines[first : first + len(code)] = code
    return "\n".join(lines)


def test_moving_page_runs_and_its_asserts_hold(tmp_path):
    """In a process of its own: importing venn_abers changes numpy's error state."""
    script = tmp_path / "moving.py"
    script.write_text(code_of(PAGE))
    done = subprocess.run(
        [sys.executable, "moving.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_r_prints_what_the_page_shows_and_agrees_elsewhere(tmp_path):
    """Equal numbers, not close ones: at calibration scores, between and beyond them."""
    text = PAGE.read_text()
    block = re.search(r"^```r\n(.*?)^```$", text, re.MULTILINE | re.DOTALL).group(1)
    shown = re.search(r"^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL).group(1)
    assert run_r(block, tmp_path) == shown

    i = np.arange(1, 201)
    score, label = 37 * i % 101, (53 * i * i % 101 < 37 * i % 101).astype(int)
    new = np.arange(-1, 103, 0.5)
    rule = abers.fit_rule(score, label)
    isotonic = abers.IsotonicCalibrator().fit(score, label)
    for name in ("thresholds", "lower", "upper"):
        np.savetxt(tmp_path / name, getattr(rule, name), fmt="%.17g")
    more = """
s <- seq(-1, 102.5, 0.5)
file <- function(name) scan(name, quiet = TRUE)
k <- findInterval(s, file("thresholds")) + 1
step <- as.stepfun(isoreg(score, label))(s)
values <- cbind(sapply(s, refit, 0), sapply(s, refit, 1), file("lower")[k],
                file("upper")[k], step)
write.table(format(values, digits = 17), "values", quote = FALSE, row.names = FALSE,
            col.names = FALSE)
"""
    run_r(block + more, tmp_path)
    values = np.loadtxt(tmp_path / "values")
    np.testing.assert_array_equal(values[:, :2], rule.bounds(new))
    np.testing.assert_array_equal(values[:, 2:4], rule.bounds(new))
    higher = isotonic.predict_proba(np.clip(np.ceil(new), 0, 100))[:, 1]
    np.testing.assert_array_equal(values[:, 4], higher)


def run_r(code, folder):
    done = subprocess.run(
        ["Rscript", "-e", code],  # noqa: S607 (whichever R there is)
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout
