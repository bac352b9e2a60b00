"""Text of source code: templates, and numbers in hexadecimal or as bytes."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from abers.export.mixture import Words

if TYPE_CHECKING:
    from abers.validation import FloatArray


def filled(template: str, **values: object) -> str:
    """Fill in a template, in which @name@ stands for a value."""
    text = (files("abers.export") / "templates" / template).read_text("utf-8")
    for key, value in values.items():
        text = text.replace(f"@{key}@", str(value))
    return text


def doubles(columns: FloatArray) -> bytes:
    """Return the columns one after the other, as little-endian doubles."""
    return columns.astype("<f8").tobytes()


def c_array(name: str, values: FloatArray) -> str:
    """Write an array of doubles in C."""
    numbers = (c_number(value) for value in values.tolist())
    rows = "".join(f"  {number},\n" for number in numbers)
    return f"static const double {name}[{values.size}] = {{\n{rows}}};\n"


def c_number(value: float) -> str:
    """Write a number by its bits; infinities and NaN by name."""
    if np.isnan(value):
        return "NAN"
    if np.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return value.hex()


C_WORDS = Words(c_number, "exp", "log", "fmin", "fmax", "(double)(float)({})")
