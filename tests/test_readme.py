"""The README and the guide are run as written, in an empty folder."""

import doctest
from pathlib import Path

import pytest

from abers.cli.demo import FOLDER

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
ON_ENGINES = ROOT / "docs" / "scaling.md"  # tests/engines runs it
RUNNABLE = [page for page in PAGES if ">>> " in page.read_text() and page != ON_ENGINES]


@pytest.mark.parametrize("page", RUNNABLE, ids=lambda page: page.name)
def test_page_prints_what_it_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    results = doctest.testfile(str(page), module_relative=False, verbose=False)
    assert results.failed == 0
    assert results.attempted > 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_goes_to_the_folder_that_make_demo_has_filled(page):
    """There the same commands would find their outputs."""
    assert f"cd {FOLDER}" not in page.read_text()


def test_readme_is_among_the_pages_that_run():
    assert ROOT / "README.md" in RUNNABLE
