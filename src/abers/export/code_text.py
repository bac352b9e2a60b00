"""Text of source code: templates, and numbers in hexadecimal or as bytes."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from abers.export.mixture import Words

if TYPE_CHECKING:
    from abers.validation import FloatArray


def filled(template: str, **values: object) -> str:
    """Fill a template, in which @name@ stands for a value."""
    text = (files("abers.export") / "templates" / template).read_text("utf-8")
    for key, value in values.items():
        text = text.replace(f"@{key}@", str(value))
    return text


def doubles(columns: FloatArray) -> bytes:
    """Return the columns one after the other, the least byte of a double first."""
    return columns.astype("<f8").tobytes()


def c_array(name: str, values: FloatArray) -> str:
    """Write an array of doubles."""
    numbers = (c_number(value) for value in values.tolist())
    rows = "".join(f"  {number},\n" for number in numbers)
    return f"static const double {name}[{values.size}] = {{\n{rows}}};\n"


def c_number(value: float) -> str:
    """Write a number by its bits; an infinity has none to write, nor has NaN."""
    if np.isnan(value):
        return "NAN"
    if np.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return value.hex()


C_WORDS = Words(c_number, "exp", "log", "fmin", "fmax", "(double)(float)({})")
