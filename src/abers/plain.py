"""Plain: results as what JSON knows."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


def plain(value: Any, *, longest: int | None = None) -> Any:
    """Turn dataclasses, arrays and numbers that JSON lacks into what it knows.

    Parameters
    ----------
    value : object
        Dataclasses, mappings, sequences and arrays, within each other.
    longest : int, default=None
        How many entries of an array to keep, at least two, both ends among them. Of
        columns of one length the same entries are kept.

    Returns
    -------
    dict, list, str, float, int, bool or None
        Infinities become "inf" and "-inf", what is not a number None.

    Examples
    --------
    >>> from abers.plain import plain
    >>> plain({"loss": float("inf"), "parts": (0.5, float("nan"))})
    {'loss': 'inf', 'parts': [0.5, None]}
    >>> import numpy as np
    >>> plain(np.arange(5), longest=3)
    [0, 2, 4]
    """
    if is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, dict):
        return {str(key): plain(it, longest=longest) for key, it in value.items()}
    if isinstance(value, np.ndarray):
        if longest is not None and len(value) > longest:
            places = np.linspace(0, len(value) - 1, longest)
            value = value[places.round().astype(np.int64)]
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(it, longest=longest) for it in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value
