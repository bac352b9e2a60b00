"""The code of docs/moving.md runs beside the libraries that it compares with."""

import re
import subprocess
import sys
from pathlib import Path

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
