"""Everything that can go wrong, as exceptions and warnings with one clear sentence."""

from __future__ import annotations

import inspect
import warnings
from importlib.util import find_spec

__all__ = [
    "AbersError",
    "InvalidData",
    "InvalidFile",
    "InvalidParameter",
    "InvalidType",
    "InvertedScoresWarning",
    "MissingExtra",
    "OutputExists",
    "UnknownGroupWarning",
]


class AbersError(Exception):
    """The base of all exceptions that abers raises."""


class InvalidData(AbersError, ValueError):
    """Rows cannot be used: bad scores, labels, weights, groups, folds or columns."""


class InvalidParameter(AbersError, ValueError):
    """A parameter has a value that is not allowed."""


class InvalidType(AbersError, TypeError):
    """Something is not a number where a number is required."""


class InvalidFile(AbersError, OSError):
    """A file is damaged, was not written by abers, or has an unknown format."""


class OutputExists(AbersError, OSError):
    """A file exists already and would be overwritten."""


class MissingExtra(AbersError, ImportError):
    """An optional feature needs a package that is not installed."""


class InvertedScoresWarning(UserWarning):
    """Scores are inverted: they fall as the rate rises, and the rule is nearly flat."""


class UnknownGroupWarning(UserWarning):
    """A rule set has not seen some groups, and uses the rule of all rows for them."""


def need(*packages: str, what: str, extra: str | None = None) -> None:
    """If a package is missing, raise an error that says what to install.

    Without `extra`, it is a dependency of abers, missing after `pip --no-deps`.
    """
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        names = ["scikit-learn" if name == "sklearn" else name for name in missing]
        way = brings_extra(extra) if extra else f"pip install {' '.join(names)} does it"
        listed = " and ".join(", ".join(names).rsplit(", ", 1))
        msg = f"{what} needs {listed}, not installed here; {way}."
        raise MissingExtra(msg)


def brings_extra(extra: str, command: str = "pip install") -> str:
    """Return how to install an extra: from an index, and from a clone."""
    return f'{command} "abers[{extra}]" brings it; in a clone, {command} ".[{extra}]"'


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Show a warning at the caller's line: the first one outside abers."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and _is_ours(frame.f_globals.get("__name__", "")):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == "abers"
