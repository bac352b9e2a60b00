"""Shown: how numbers and labels stand in texts and tables."""

from __future__ import annotations

import math
from reprlib import repr as shortened
from typing import Any

MOST_PLACES = 9  # what comes after is noise


def places(value: float, digits: int, *, least: int) -> int:
    """Return how many decimal places show so many digits of a number.

    Parameters
    ----------
    value : float
        The number; a standard error decides for the difference beside it.
    digits : int
        Significant ones.
    least : int
        Places to show at least, and for what has no digits: 0, infinity or NaN.

    Returns
    -------
    int
        From `least` to 9.

    Examples
    --------
    >>> from abers.shown import places
    >>> places(0.0123, 2, least=2), places(0.0123, 2, least=5)
    (3, 5)
    """
    if value == 0 or not math.isfinite(value):
        return least
    # What is meant to be 0.01 may be a little less.
    needed = digits - 1 - math.floor(math.log10(abs(value)) + 1e-9)
    return min(max(least, needed), MOST_PLACES)


def label_name(label: Any) -> str:
    """Return a label as a reader knows it; nothing if it is 1, or none was given.

    Parameters
    ----------
    label : object
        The one that counts as 1.

    Returns
    -------
    str
        Its repr, without the middle if that is long.

    Examples
    --------
    >>> from abers.shown import label_name
    >>> label_name("spam"), label_name(1), label_name(None)
    ("'spam'", '', '')
    """
    return "" if label is None or label == 1 else shortened(label)


def plain_label(label: Any) -> Any:
    """Return a label as what JSON knows: itself if it can be, else its text.

    Parameters
    ----------
    label : object
        Of a class.

    Returns
    -------
    str, int, float, bool or None
        To stand in a dictionary.
    """
    known = label is None or isinstance(label, str | int | float)
    return label if known else str(label)
