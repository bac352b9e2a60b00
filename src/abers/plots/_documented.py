"""Documented: what the displays' parameters mean, said once."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Method = TypeVar("Method", bound=Callable[..., Any])

# Name, type and meaning; the default is the signature's.
PARAMETERS = {
    "model": ("classifier", "Fitted, with `predict_proba` and `classes_`."),
    "X": ("array-like", "Features, or scores, of rows that were not used for fitting."),
    "y": (
        "array-like of shape (n,)",
        "Their labels, members of `model.classes_`.",
    ),
    "pos_label": (
        "object",
        "The class whose probabilities are drawn; None is `model.classes_[1]` of two.",
    ),
    "p": ("array-like of shape (n,)", "Probabilities of label 1."),
    "classes": (
        "array-like of shape (C,)",
        "The labels of the columns; None: those in `y`, ascending.",
    ),
    "groups": (
        "array-like of shape (n,)",
        "The group of each row: text, integers, floats or booleans, all of one type.",
    ),
    "rule": ("Rule", "The rule."),
    "sample_weight": ("array-like of shape (n,)", "Weights of the rows."),
    "names": ("tuple of two str", "What the two are called."),
    "loss": ('{"log", "brier"}', "The loss that the bounds of a rule are merged for."),
    "ax": (
        "matplotlib Axes",
        "Axes to draw on; None makes a new figure by pyplot.",
    ),
    "theme": ('{"light", "dark"}', "The background that the colours are for."),
}
RETURNS = """

Returns
-------
display
    With the artists as attributes.
"""


def documented(method: Method) -> Method:
    """Describe the parameters that a docstring leaves out, and what is returned."""
    if method.__doc__ is None:  # python -OO
        return method
    text, _, own = inspect.cleandoc(method.__doc__).partition(
        "\n\nParameters\n----------\n"
    )
    entries = {entry.split(" : ")[0]: entry for entry in re.split(r"\n(?=\S)", own)}
    described = {
        one: entry for name, entry in entries.items() for one in name.split(", ")
    }
    listed = [
        described.get(name) or _entry(name, parameter)
        for name, parameter in inspect.signature(method).parameters.items()
        if name not in {"cls", "self"}
    ]
    parameters = "\n".join(dict.fromkeys(listed))  # "before, after" are one entry
    method.__doc__ = f"{text}\n\nParameters\n----------\n{parameters}{RETURNS}"
    return method


def _entry(name: str, parameter: inspect.Parameter) -> str:
    kind, meaning = PARAMETERS[name]
    if parameter.default is not parameter.empty:
        kind += f", default={parameter.default!r}".replace("'", '"')
    return f"{name} : {kind}\n    {meaning}"
