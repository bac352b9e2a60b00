"""The README and the guide are run as written, in an empty folder."""

import doctest
import re
from pathlib import Path

import pytest
from matplotlib import pyplot as plt

from abers.cli.demo import FOLDER
from abers.core import guarantees

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
ON_ENGINES = ROOT / "docs" / "scaling.md"  # tests/engines runs it
RUNNABLE = [page for page in PAGES if ">>> " in page.read_text() and page != ON_ENGINES]


@pytest.mark.parametrize("page", RUNNABLE, ids=lambda page: page.name)
def test_page_prints_what_it_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    results = doctest.testfile(str(page), module_relative=False, verbose=False)
    plt.close("all")  # matplotlib warns of many open figures
    assert results.failed == 0
    assert results.attempted > 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_goes_to_the_folder_that_make_demo_has_filled(page):
    """There the same commands would find their outputs."""
    assert f"cd {FOLDER}" not in page.read_text()


@pytest.mark.parametrize("page", ["README.md", "docs/guide.md"])
def test_page_says_of_the_guarantee_what_the_library_says(page):
    assert guarantees.PAIR.statement in (ROOT / page).read_text("utf-8")


def test_readme_is_among_the_pages_that_run():
    assert ROOT / "README.md" in RUNNABLE


def test_serving_prints_the_same_if_all_its_python_is_run(tmp_path, monkeypatch):
    """The blocks without prompts, too, up to the first that needs another engine."""
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "serving.md").read_text().partition("## Score by ONNX")[0]
    names, failed = {}, 0
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        if ">>> " not in block:
            exec(block, names)  # noqa: S102 (a page of ours)
            continue
        test = doctest.DocTestParser().get_doctest(block, names, "serving", None, 0)
        test.globs = names  # the parser has copied them
        failed += doctest.DocTestRunner().run(test, clear_globs=False).failed
    assert "model" in names
    assert failed == 0
