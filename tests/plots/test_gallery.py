"""The gallery, and pages like it, show what their code makes."""

import importlib.util
import re
from dataclasses import fields
from pathlib import Path

import pytest

from abers.plots._style import THEMES, Theme

ROOT = Path(__file__).parents[2]
# Each of these pages has a folder of its name for its pictures.
PAGES = [
    ROOT / "docs" / f"{name}.md"
    for name in (
        *("costs", "formula", "gallery"),
        *("prior-shift", "regression", "streaming"),
    )
]


def linked(page):
    """The pictures that a page shows."""
    return sorted(re.findall(rf"{page.stem}/([\w-]+\.svg)", page.read_text()))


PICTURES = [page.with_suffix("") / name for page in PAGES for name in linked(page)]


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("gallery", ROOT / "tools/gallery.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


@pytest.fixture(scope="module")
def made(tool):
    """All pictures, by the paths of their files."""
    return {
        page.with_suffix("") / name: picture
        for page in PAGES
        for name, picture in tool.pictures(page).items()
    }


def test_code_of_the_pages_makes_all_of_their_pictures(made):
    assert sorted(made) == sorted(PICTURES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pictures_are_kept_beside_the_page_and_no_others(page):
    kept = sorted(path.name for path in page.with_suffix("").iterdir())
    assert kept == linked(page)


@pytest.mark.parametrize(
    "path", PICTURES, ids=lambda path: f"{path.parent.name}/{path.stem}"
)
def test_picture_is_small(path, made):
    assert len(made[path].encode()) < 40_000
    assert path.stat().st_size < 40_000


@pytest.mark.parametrize(
    "path", PICTURES, ids=lambda path: f"{path.parent.name}/{path.stem}"
)
def test_kept_picture_says_what_the_made_one_says(path, made):
    """Words only: ticks and last digits are matplotlib's to choose."""

    def words(picture):
        texts = re.findall(r"<text [^>]*>(.*?)</text>", picture)
        return [text for text in texts if re.search("[a-z]", text)]

    assert words(path.read_text()) == words(made[path])


PLAIN = """
```python
>>> import matplotlib.pyplot as plt
>>> display, ax = plt.subplots()
>>> _ = ax.plot([0, 1], label="line")
>>> _ = ax.legend()

```
<img src="page/plain.svg" alt="">
"""


def test_a_plain_figure_is_drawn_in_the_colours_of_both_themes(tool, tmp_path):
    (tmp_path / "page.md").write_text(PLAIN)
    light, dark = tool.pictures(tmp_path / "page.md").values()
    for picture, theme in ((light, "light"), (dark, "dark")):
        used = set(re.findall(r"#[0-9a-f]{6}(?=[;\"])", picture))
        colours = {getattr(THEMES[theme], field.name) for field in fields(Theme)}
        assert len(used) > 4
        assert used <= colours
        assert "line" in picture
