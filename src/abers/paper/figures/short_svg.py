"""Short SVG: figures as short SVG, in the colours of both themes."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING

from abers import plots
from abers.paper.figures.palette import PENS
from abers.plots import _style as style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Marks of one line have one style: it is said once, around them.
_MARKS = re.compile(
    r"<g(?P<clip> clip-path=\"[^\"<>]*\")?>"
    r"(?P<marks>(?:<use [^<>]* style=\"(?P<style>[^\"<>]*)\"/>)+)</g>"
)
_STYLE = re.compile(r" style=\"[^\"<>]*\"(?=/>)")
_IN_STYLE = re.compile(r"(?<= style=\")[^\"<>]*")
_PLACE = re.compile(r"(?<= [xy]=\")(-?\d+\.\d\d)\d+")
_NAME = re.compile(r"(?:(?<= id=\")|(?<=href=\"#)|(?<=url\(#))[mp][0-9a-f]{10}\b")
_TAG = re.compile(r"<g[^<>]*>|</g>")
_COLOUR = re.compile(r"(?<=[: ])#[0-9a-f]{6}\b")
_INVISIBLE = re.compile(r"<path [^<>]* style=\"fill:none\"/>")
_SAID = re.compile(r" style=\"([^\"<>]*)\"")


def svg(figure: Figure) -> str:
    """Render a figure drawn in light colours, without a background.

    Parameters
    ----------
    figure : matplotlib Figure
        What to render; the same figure gives the same text.

    Returns
    -------
    str
        An svg element, about half as long as that of `abers.plots.svg`: these figures
        have hundreds of marks.
    """
    text = plots.svg(figure, transparent=True)
    text = re.sub(r"\s*\n\s*(?=<|$)", "", text).replace("\n", " ").replace(' "', '"')
    text = _IN_STYLE.sub(lambda found: re.sub(r"([:;]) ", r"\1", found[0]), text)
    text = _PLACE.sub(r"\1", _MARKS.sub(_hoisted, text))
    names: dict[str, str] = {}
    text = _NAME.sub(lambda found: names.setdefault(found[0], f"a{len(names)}"), text)
    return _with_classes(_without_needless_groups(_INVISIBLE.sub("", text)))


def _hoisted(found: re.Match[str]) -> str:
    styles = set(re.findall(r" style=\"([^\"]*)\"", found["marks"]))
    if len(styles) > 1:
        return found[0]
    marks = _STYLE.sub("", found["marks"])
    return f'<g{found["clip"] or ""} style="{found["style"]}">{marks}</g>'


def _without_needless_groups(text: str) -> str:
    """Leave out groups that say nothing; what is in them stays."""
    says: list[bool] = []

    def kept(found: re.Match[str]) -> str:
        tag = found[0]
        if tag == "</g>":
            return tag if says.pop() else ""
        if tag.endswith("/>"):
            return ""
        says.append(tag != "<g>")
        return tag if says[-1] else ""

    return _TAG.sub(kept, text)


def _with_classes(text: str) -> str:
    """Say a style once that several things have."""
    counts = Counter(_SAID.findall(text))
    names = {said: f"c{i}" for i, (said, n) in enumerate(counts.items()) if n > 1}
    text = _SAID.sub(
        lambda found: f' class="{names[found[1]]}"' if found[1] in names else found[0],
        text,
    )
    rules = "".join(f".{name}{{{said}}}" for said, name in names.items())
    return text.replace("</style>", f"{rules}</style>", 1)


def darkened(text: str) -> str:
    """Give an SVG of ours the colours of the dark theme.

    Parameters
    ----------
    text : str
        Made by `svg`.

    Returns
    -------
    str
        What `svg` would have made of the figure drawn in dark colours.
    """
    light, dark = (asdict(style.THEMES[name]) for name in ("light", "dark"))
    colours = {light[name]: dark[name] for name in light}
    colours |= {pen.light: pen.dark for pen in PENS.values()}
    return _COLOUR.sub(lambda found: colours.get(found[0], found[0]), text)


def on_paper(text: str, theme: str) -> str:
    """Add the background of a theme, for a picture that is shown by itself."""
    start = text.index(">") + 1
    paper = style.THEMES[theme].paper
    rectangle = f'<rect width="100%" height="100%" fill="{paper}"/>'
    return text[:start] + rectangle + text[start:]
