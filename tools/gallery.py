"""Make the pictures of a page, by the code that it shows.

`python tools/gallery.py [page [folder]]` runs the blocks of the page in their order;
without a page those of docs/gallery.md. Its pictures stand in a folder of its name.
Where the page shows a picture, the display made last is written, in both themes.
"""

from __future__ import annotations

import re
import sys
from doctest import DocTestParser
from pathlib import Path

import matplotlib.pyplot as plt

from abers.plots import svg

PAGE = Path(__file__).parent.parent / "docs" / "gallery.md"
SHOWN = re.compile(r'src="[\w-]+/([\w-]+)\.svg"')
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
INCHES = {"index.md": 4.6}  # beside text; others are as wide as they come
PARTS = re.compile(rf"{BLOCK.pattern}|{SHOWN.pattern}", re.DOTALL)


def pictures(page: Path, width: float | None = None) -> dict[str, str]:
    """Run the code of a page; return its pictures by the names of their files."""
    names: dict[str, object] = {}
    found = {}
    for part in PARTS.finditer(page.read_text(encoding="utf-8")):
        code, name = part.groups()
        if name is None:
            for example in DocTestParser().get_examples(code):
                exec(compile(example.source, page.name, "single"), names)  # noqa: S102
        else:
            for suffix, theme in (("", "light"), ("-dark", "dark")):
                found[f"{name}{suffix}.svg"] = svg(
                    names["display"], theme=theme, width=width
                )
    plt.close("all")
    return found


def main() -> None:
    """Write all pictures, and say how large they are."""
    page = Path(sys.argv[1]) if len(sys.argv) > 1 else PAGE
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else page.with_suffix("")
    folder.mkdir(exist_ok=True)
    width = INCHES.get(page.name)
    for name, text in pictures(page, width).items():
        (folder / name).write_text(text)
        print(f"{len(text.encode()) / 1000:6.1f} KB  {folder / name}")


if __name__ == "__main__":
    main()
