"""Parameters: what those of metrics and displays mean, said once."""

from __future__ import annotations

import inspect
import re
import textwrap
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Method = TypeVar("Method", bound=Callable[..., Any])
    Table = Mapping[str, tuple[str, str]]

ROWS = "array-like of shape (n,)"

# Name, type and meaning; the default is the signature's.
SHARED: Table = {
    "sample_weight": (ROWS, "Weights of the rows."),
    "groups": (
        ROWS,
        "The group of each row: text, integers, floats or booleans, all of one type.",
    ),
    "name": ("str", "What the curve is called."),
    "confidence": ("float", "Of the band; None draws none."),
    "rule": ("Rule", "The rule."),
    "names": ("tuple of two str", "What the two are called."),
    "loss": ('{"log", "brier"}', "The loss that the bounds of a rule are merged for."),
    "ax": ("matplotlib Axes", "Axes to draw on; None makes a new figure by pyplot."),
    "theme": ('{"light", "dark"}', "The background that the colours are for."),
}
# Labels and probabilities of one class: 0 and 1; or any two, one of which is named.
PREDICTIONS: Table = {
    "y": (ROWS, "Labels 0 or 1."),
    "p": (ROWS, "Probabilities of label 1."),
}
POSITIVE: Table = {
    "y": (ROWS, "Labels 0 or 1, or any two with `positive`."),
    "p": (ROWS, "Probabilities of label 1, or of `positive`."),
    "positive": ("object", "The label that counts as 1; None: labels are 0 and 1."),
}
POS_LABEL: Table = {
    "y": (ROWS, "Labels 0 or 1, or any two with `pos_label`."),
    "p": (ROWS, "Probabilities of label 1, or of `pos_label`."),
    "pos_label": (
        "object",
        "The label that the probabilities are of; None: labels are 0 and 1.",
    ),
}
# Of several classes.
CLASSES: Table = {
    "y": (ROWS, "Labels."),
    "p": ("array-like of shape (n, C)", "Probabilities of each class."),
    "classes": (
        "array-like of shape (C,)",
        "The labels of the columns; None: those in `y`, ascending.",
    ),
}
MODEL: Table = {
    "model": ("classifier", "Fitted, with `predict_proba` and `classes_`."),
    "X": ("array-like", "Features, or scores, of rows that were not used for fitting."),
    "y": (ROWS, "Their labels, members of `model.classes_`."),
    "pos_label": (
        "object",
        "The class whose probabilities are drawn; None is `model.classes_[1]` of two.",
    ),
    "name": ("str", "What the curve is called; None takes the name of the class."),
}
PANELS: Table = {
    "confidence": ("float", "Of the bands; None draws none."),
    "ax": (
        "matplotlib Axes",
        (
            "Axes of a grid, to be replaced by the panels; None makes a new figure by "
            "pyplot."
        ),
    ),
}

PAGE: Table = {
    "path": ("path-like", "The page to write."),
    "title": ("str", "Its heading."),
    "facts": (
        "mapping",
        (
            "What to list with the hashes and versions at its end, such as names of "
            "files and the version of the data."
        ),
    ),
}

WIDTH = 76  # of a line that help shows
HEAD = "Parameters\n----------\n"
DISPLAY = "Returns\n-------\ndisplay\n    With the artists as attributes."
_SECTION = re.compile(r"\n\n(?=\w+\n---+\n)")


def documented(*sources: Table | str | None) -> Callable[[Method], Method]:
    """Describe the parameters that a docstring leaves out.

    What they mean is in tables, or in another docstring, say that of the class. A later
    source comes before an earlier one, and the docstring itself before all. What does
    not say what it returns, though it returns something, returns a display.

    >>> @documented(PREDICTIONS)
    ... def halved(p):
    ...     'Halve.'
    >>> halved.__doc__.splitlines()[4:6]
    ['p : array-like of shape (n,)', '    Probabilities of label 1.']
    """

    def describe(method: Method) -> Method:
        if method.__doc__ is None:  # python -OO
            return method
        signature = inspect.signature(method)
        declared = signature.parameters
        known: dict[str, str] = {}
        for source in (SHARED, *sources, method.__doc__):
            if isinstance(source, str):
                known |= _described(source)
            elif source is not None:
                for name in declared.keys() & source.keys():
                    known[name] = _entry(declared[name], *source[name])
        listed = [known[name] for name in declared if name not in {"cls", "self"}]
        parameters = "\n".join(dict.fromkeys(listed))  # "before, after" are one entry
        text, *sections = _SECTION.split(inspect.cleandoc(method.__doc__))
        sections = [section for section in sections if not section.startswith(HEAD)]
        said = any(section.startswith("Returns\n") for section in sections)
        if not said and signature.return_annotation not in {None, "None"}:
            sections.insert(0, DISPLAY)
        # It ends in a line of its own, as any docstring does.
        method.__doc__ = "\n\n".join((text, HEAD + parameters, *sections)) + "\n"
        return method

    return describe


def _described(docstring: str) -> dict[str, str]:
    """Return the parameters of a docstring, by each name that an entry is for."""
    found: dict[str, str] = {}
    for section in _SECTION.split(inspect.cleandoc(docstring)):
        if section.startswith(HEAD):
            for entry in re.split(r"\n(?=\S)", section.removeprefix(HEAD)):
                names, _, _ = entry.partition(" : ")
                found |= dict.fromkeys(names.split(", "), entry)
    return found


def _entry(parameter: inspect.Parameter, kind: str, meaning: str) -> str:
    if parameter.default is not parameter.empty:
        kind += f", default={parameter.default!r}".replace("'", '"')
    text = textwrap.indent(textwrap.fill(meaning, WIDTH), "    ")
    return f"{parameter.name} : {kind}\n{text}"
