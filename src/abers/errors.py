"""What can go wrong, as exceptions and warnings that say it in one sentence."""

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
    """Base of every exception that abers raises on its own account."""


class InvalidData(AbersError, ValueError):
    """Rows that cannot be used: scores, labels, weights, groups, folds or columns."""


class InvalidParameter(AbersError, ValueError):
    """An option that is not among those offered."""


class InvalidType(AbersError, TypeError):
    """Something that is not a number where a number is needed."""


class InvalidFile(AbersError, OSError):
    """A file that is damaged, foreign, or of an unknown format."""


class OutputExists(AbersError, OSError):
    """A file that would be overwritten."""


class MissingExtra(AbersError, ImportError):
    """A package that an optional part needs and that is not installed."""


class InvertedScoresWarning(UserWarning):
    """Scores that run against the labels, so that the rule is nearly flat."""


class UnknownGroupWarning(UserWarning):
    """Groups that a rule set has not seen, so that the rule of all rows is used."""


def need(*packages: str, what: str, extra: str | None = None) -> None:
    """Raise one sentence that says what to install, if a package is missing.

    Without `extra` it is one that abers depends on, missing after `pip --no-deps`.
    """
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        names = ["scikit-learn" if name == "sklearn" else name for name in missing]
        way = brings_extra(extra) if extra else f"pip install {' '.join(names)} does it"
        listed = " and ".join(", ".join(names).rsplit(", ", 1))
        msg = f"{what} needs {listed}, not installed here; {way}."
        raise MissingExtra(msg)


def brings_extra(extra: str, command: str = "pip install") -> str:
    """Say how to install an extra: from an index, and from a clone of the sources."""
    return f'{command} "abers[{extra}]" brings it; in a clone, {command} ".[{extra}]"'


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the first line outside of abers: the one that called it."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and _is_ours(frame.f_globals.get("__name__", "")):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == "abers"
