"""The gallery, and pages like it, show what their code makes."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Each of these pages has a folder of its name for its pictures.
PAGES = [ROOT / "docs" / f"{name}.md" for name in ("gallery", "partial-orders")]
FOLDERS = {page.stem: page.with_suffix("") for page in PAGES}
LINKED = sorted(
    (page.stem, name)
    for page in PAGES
    for name in re.findall(rf"{page.stem}/([\w-]+\.svg)", page.read_text())
)


@pytest.fixture(scope="module")
def made():
    spec = importlib.util.spec_from_file_location("gallery", ROOT / "tools/gallery.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return {
        (page.stem, name): picture
        for page in PAGES
        for name, picture in tool.pictures(page).items()
    }


def test_code_of_a_page_makes_all_of_its_pictures(made):
    assert sorted(made) == LINKED


def test_pictures_are_kept_beside_their_page_and_no_others():
    kept = sorted(
        (page, path.name)
        for page, folder in FOLDERS.items()
        for path in folder.iterdir()
    )
    assert kept == LINKED


@pytest.mark.parametrize("name", LINKED, ids="/".join)
def test_picture_is_small(name, made):
    assert len(made[name].encode()) < 40_000
    assert (FOLDERS[name[0]] / name[1]).stat().st_size < 40_000


@pytest.mark.parametrize("name", LINKED, ids="/".join)
def test_kept_picture_says_what_the_made_one_says(name, made):
    """Words only: ticks and last digits are matplotlib's to choose."""

    def words(picture):
        texts = re.findall(r"<text [^>]*>(.*?)</text>", picture)
        return [text for text in texts if re.search("[a-z]", text)]

    kept = (FOLDERS[name[0]] / name[1]).read_text()
    assert words(kept) == words(made[name])
