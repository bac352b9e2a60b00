"""The gallery shows what its code makes."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "gallery.md"
LINKED = sorted(re.findall(r"gallery/([\w-]+\.svg)", PAGE.read_text()))


@pytest.fixture(scope="module")
def made():
    spec = importlib.util.spec_from_file_location("gallery", ROOT / "tools/gallery.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool.pictures(PAGE)


def test_code_of_the_page_makes_all_of_its_pictures(made):
    assert sorted(made) == LINKED


def test_pictures_are_kept_beside_the_page_and_no_others():
    kept = sorted(path.name for path in (ROOT / "docs" / "gallery").iterdir())
    assert kept == LINKED


@pytest.mark.parametrize("name", LINKED)
def test_picture_is_small(name, made):
    assert len(made[name].encode()) < 40_000
    assert (ROOT / "docs" / "gallery" / name).stat().st_size < 40_000


@pytest.mark.parametrize("name", LINKED)
def test_kept_picture_says_what_the_made_one_says(name, made):
    """Words only: ticks and last digits are matplotlib's to choose."""

    def words(picture):
        texts = re.findall(r"<text [^>]*>(.*?)</text>", picture)
        return [text for text in texts if re.search("[a-z]", text)]

    kept = (ROOT / "docs" / "gallery" / name).read_text()
    assert words(kept) == words(made[name])
