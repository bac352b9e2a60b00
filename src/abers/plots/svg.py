"""SVG: a picture as text that is the same on every machine."""

from __future__ import annotations

import copy
import io
import re
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from abers.errors import InvalidType
from abers.plots import _style

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from abers.choices import ThemeName
    from abers.plots._base import Picture

_SETTINGS: Any = {
    "svg.hashsalt": "abers",  # names of clip paths depend on it, not on chance
    "svg.fonttype": "none",  # text stays text
    "svg.id": None,
    "text.usetex": False,
    "path.snap": True,
    "axes.unicode_minus": True,
    "savefig.bbox": None,
    "savefig.dpi": 72,
}
# Matplotlib writes twice as much as a browser needs. In text, which may come from
# users, < and > are escaped: a pattern without either that ends a tag is inside that
# tag.
_IN_TAG = r"(?=[^<>]*>)"
_NEEDLESS = re.compile(
    r"^ +|(?<=<g) id=\"[^\"<>]*\"|"
    rf" transform=\"rotate\(-0 [^\"<>]*\"{_IN_TAG}",
    re.MULTILINE,
)
_COLOUR = re.compile(rf"#[0-9a-f]{{6}}(?![0-9a-f]){_IN_TAG}")
_FAMILY = re.compile(rf"(?<=font-family: )[^;\"<>]*{_IN_TAG}")
_PATH = re.compile(rf"(?<= d=\")[^\"<>]*{_IN_TAG}")
_SPACE = re.compile(r"\s*([MLCQz])\s*")
_DECIMALS = re.compile(r"(\.\d\d)\d+")


def svg(
    picture: Picture | Figure,
    *,
    theme: ThemeName | None = None,
    transparent: bool = False,
) -> str:
    """Render a display or a figure as SVG; the same picture gives the same text.

    Parameters
    ----------
    picture : display or matplotlib Figure
        What to render. It is not changed.
    theme : {"light", "dark"}, default=None
        Redraw a display in these colours, on a figure outside pyplot; it need not have
        been drawn before. None renders the existing figure.
    transparent : bool, default=False
        Leave out the background.

    Returns
    -------
    str
        An svg element without date, scripts or external resources. Text stays text, in
        the viewer's sans-serif font.

    Examples
    --------
    >>> import abers
    >>> from abers.plots import RuleDisplay, svg
    >>> display = RuleDisplay(abers.fit_rule([1, 2, 3], [0, 1, 0]))
    >>> text = svg(display, theme="dark")
    >>> text[:4], "with the case as a 1" in text, text == svg(display, theme="dark")
    ('<svg', True, True)
    """
    figure = _figure(picture, theme)
    target = io.StringIO()
    with _style.drawing(**_SETTINGS):
        figure.savefig(
            target,
            format="svg",
            transparent=transparent,
            metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")),
        )
    return _shortened(target.getvalue())


def recoloured(
    picture: str, theme: str, others: Mapping[str, str] | None = None
) -> str:
    """Turn a picture of the light theme into one of another theme.

    Themes differ in colours only, and drawing takes much longer. `others` maps colours
    outside all themes to their replacements.
    """
    old, new = (_style.THEMES[name] for name in ("light", theme))
    colours = {getattr(old, f.name): getattr(new, f.name) for f in fields(_style.Theme)}
    colours.update(others or {})
    return _COLOUR.sub(lambda match: colours.get(match[0], match[0]), picture)


def _shortened(text: str) -> str:
    """Drop what is invisible, and name no font that others may lack."""
    text = _NEEDLESS.sub("", text[text.index("<svg") :])
    text = _FAMILY.sub("sans-serif", text)
    return _PATH.sub(_shorter_path, text)


def _shorter_path(match: re.Match[str]) -> str:
    return _DECIMALS.sub(r"\1", _SPACE.sub(r"\1", match[0]))


def _figure(picture: Any, theme: ThemeName | None) -> Figure:
    """Return the figure to render: the existing one, or a new one."""
    from matplotlib.figure import Figure

    if isinstance(picture, Figure):
        return picture
    if not hasattr(picture, "plot") or not hasattr(picture, "size"):
        msg = (
            "picture must be a display of abers.plots or a matplotlib Figure; "
            f"got a {type(picture).__name__}."
        )
        raise InvalidType(msg)
    if theme is None and hasattr(picture, "figure_"):
        figure: Figure = picture.figure_
        return figure
    theme = theme or "light"
    figure = _style.own_figure(_style.look_of(theme), picture.size)
    with _style.drawing(theme):
        axes = figure.subplots()
    copy.copy(picture).plot(ax=axes, theme=theme)
    return figure
