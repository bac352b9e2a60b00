"""Figures of the examples: drawn once, shown on light and on dark pages.

Sphinx-gallery calls `scraper` after each block of an example. Displays of abers have
the colours of a theme and no others, so that the dark picture is the light one with its
colours exchanged; `use_theme` gives these colours to what matplotlib draws by itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib import pyplot as plt

from abers.plots import _style, svg
from abers.plots.svg import recoloured

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def use_theme(_configuration: dict[str, Any], _file: str) -> None:
    """Let an example begin with the colours of the light theme."""
    plt.close("all")
    look = _style.THEMES["light"]
    mpl.rcdefaults()
    mpl.rcParams.update(
        {
            "font.size": _style.SMALL,
            "text.color": look.ink,
            "axes.labelcolor": look.ink,
            "axes.titlecolor": look.ink,
            "axes.edgecolor": look.soft,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "xtick.color": look.soft,
            "xtick.labelcolor": look.ink,
            "ytick.color": look.soft,
            "ytick.labelcolor": look.ink,
            "legend.frameon": False,
        }
    )


def scraper(_block: Any, names: dict[str, Any], configuration: dict[str, Any]) -> str:
    """Save all figures that are open, for both themes; return what shows them."""
    shown = []
    for number in plt.get_fignums():
        figure = plt.figure(number)
        path = Path(next(names["image_path_iterator"])).with_suffix(".svg")
        picture = svg(figure)
        files = {
            "light": (path, picture),
            "dark": (path.with_stem(f"{path.stem}-dark"), recoloured(picture, "dark")),
        }
        for theme, (file, text) in files.items():
            file.write_text(text)
            place = file.relative_to(configuration["src_dir"]).as_posix()
            shown += [
                f".. image:: /{place}",
                f"   :class: only-{theme}",
                f"   :alt: {described(figure)}",
                "",
            ]
    plt.close("all")
    return "\n".join(shown)


def described(figure: Figure) -> str:
    """Return what a figure shows, by the labels of its axes."""
    labels = [(ax.get_ylabel(), ax.get_xlabel()) for ax in figure.axes]
    named = [f"{y} by {x}" for y, x in labels if x and y]
    return named[0] if named else "A figure, described above it."
