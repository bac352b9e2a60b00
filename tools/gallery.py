"""Make the pictures of a page, by the code that it shows.

`python tools/gallery.py [page [folder]]` runs the blocks of the page in their order;
without a page those of docs/gallery.md. Its pictures stand in a folder of its name.
Where the page shows a picture, the display made last is written, in both themes. It may
be a plain figure of matplotlib, too: that is drawn once, in the colours of our light
theme, and its colours are changed for the dark one.
"""

from __future__ import annotations

import re
import sys
from doctest import DocTestParser
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from abers.plots import _style, svg
from abers.plots.svg import recoloured

PAGE = Path(__file__).parent.parent / "docs" / "gallery.md"
SHOWN = re.compile(r'src="[\w-]+/([\w-]+)\.svg"')
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
PARTS = re.compile(rf"{BLOCK.pattern}|{SHOWN.pattern}", re.DOTALL)

_LIGHT = _style.THEMES["light"]
# What a page that draws for itself need not say; our displays say it to each artist.
PLAIN = {
    "font.size": _style.SMALL,
    "figure.figsize": (_style.WIDTH, 3.0),
    "figure.facecolor": _LIGHT.paper,
    "axes.facecolor": _LIGHT.paper,
    "axes.edgecolor": _LIGHT.soft,
    "axes.labelcolor": _LIGHT.ink,
    "axes.labelsize": _style.NORMAL,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.prop_cycle": mpl.cycler(color=[_LIGHT.strong, _LIGHT.accent, _LIGHT.soft]),
    "grid.color": _LIGHT.grid,
    "legend.edgecolor": "none",
    "legend.facecolor": _LIGHT.paper,
    "legend.fontsize": _style.SMALL,
    "text.color": _LIGHT.ink,
    "xtick.color": _LIGHT.soft,
    "xtick.labelcolor": _LIGHT.ink,
    "ytick.color": _LIGHT.soft,
    "ytick.labelcolor": _LIGHT.ink,
}


def pictures(page: Path) -> dict[str, str]:
    """Run the code of a page; return its pictures by the names of their files."""
    names: dict[str, object] = {}
    found = {}
    with mpl.rc_context(PLAIN):
        for part in PARTS.finditer(page.read_text(encoding="utf-8")):
            code, name = part.groups()
            if name is not None:
                light, dark = in_both_themes(names["display"])
                found |= {f"{name}.svg": light, f"{name}-dark.svg": dark}
                continue
            for example in DocTestParser().get_examples(code):
                exec(compile(example.source, page.name, "single"), names)  # noqa: S102
    plt.close("all")
    return found


def in_both_themes(display: Any) -> tuple[str, str]:
    """Draw a display, or a plain figure, for light pages and for dark ones."""
    if isinstance(display, Figure):
        light = svg(display)
        return light, recoloured(light, "dark")
    drawn = []
    for theme in ("light", "dark"):
        figure = _style.own_figure(_style.THEMES[theme], display.size)
        display.plot(ax=figure.subplots(), theme=theme)
        drawn.append(svg(figure))
    return drawn[0], drawn[1]


def main() -> None:
    """Write all pictures, and say how large they are."""
    page = Path(sys.argv[1]) if len(sys.argv) > 1 else PAGE
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else page.with_suffix("")
    folder.mkdir(exist_ok=True)
    for name, text in pictures(page).items():
        (folder / name).write_text(text)
        print(f"{len(text.encode()) / 1000:6.1f} KB  {folder / name}")


if __name__ == "__main__":
    main()
