"""The gallery, and the page on costs, show what their code makes."""

import importlib.util
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ["gallery", "costs"]


def text_of(page):
    return (ROOT / "docs" / f"{page}.md").read_text()


def linked(page):
    return sorted(re.findall(rf"{page}/([\w-]+\.svg)", text_of(page)))


LINKED = [(page, name) for page in PAGES for name in linked(page)]


@cache
def made(page):
    spec = importlib.util.spec_from_file_location("gallery", ROOT / "tools/gallery.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool.pictures(ROOT / "docs" / f"{page}.md")


@pytest.mark.parametrize("page", PAGES)
def test_code_of_the_page_makes_all_of_its_pictures(page):
    assert sorted(made(page)) == linked(page) != []


@pytest.mark.parametrize("page", PAGES)
def test_pictures_are_kept_beside_the_page_and_no_others(page):
    kept = sorted(path.name for path in (ROOT / "docs" / page).iterdir())
    assert kept == linked(page)


@pytest.mark.parametrize(("page", "name"), LINKED)
def test_picture_is_small(page, name):
    assert len(made(page)[name].encode()) < 40_000
    assert (ROOT / "docs" / page / name).stat().st_size < 40_000


@pytest.mark.parametrize(("page", "name"), LINKED)
def test_kept_picture_says_what_the_made_one_says(page, name):
    """Words only: ticks and last digits are matplotlib's to choose."""

    def words(picture):
        texts = re.findall(r"<text [^>]*>(.*?)</text>", picture)
        return [text for text in texts if re.search("[a-z]", text)]

    kept = (ROOT / "docs" / page / name).read_text()
    assert words(kept) == words(made(page)[name])
