"""What can go wrong, as exceptions and warnings that say it in one sentence."""

from __future__ import annotations

import inspect
import warnings
from importlib.util import find_spec

__all__ = [
    "AbersError",
    "ChangedInput",
    "InvalidFile",
    "InvalidFolds",
    "InvalidGroups",
    "InvalidLabels",
    "InvalidMessage",
    "InvalidParameter",
    "InvalidProbabilities",
    "InvalidScores",
    "InvalidTable",
    "InvalidTargets",
    "InvalidType",
    "InvalidWeights",
    "InvertedScoresWarning",
    "LengthMismatch",
    "MissingExtra",
    "NotKept",
    "OutputExists",
    "UnknownGroupWarning",
]


class AbersError(Exception):
    """Base of every exception that abers raises on its own account."""


class InvalidScores(AbersError, ValueError):
    """Scores that cannot be ordered: missing, empty, or not one column."""


class InvalidLabels(AbersError, ValueError):
    """Labels other than 0 and 1."""


class InvalidTargets(AbersError, ValueError):
    """Targets of a regression that are missing, infinite, or beyond their ends."""


class InvalidWeights(AbersError, ValueError):
    """Weights that are negative, not finite, or all zero."""


class InvalidGroups(AbersError, ValueError):
    """Groups that are missing, or not one column of names."""


class InvalidFolds(AbersError, ValueError):
    """Folds that are not numbered 0 … K - 1, without gaps."""


class InvalidProbabilities(AbersError, ValueError):
    """Bounds or probabilities outside of what they can be."""


class InvalidParameter(AbersError, ValueError):
    """An option that is not among those offered."""


class LengthMismatch(AbersError, ValueError):
    """Columns that should be equally long and are not."""


class NotKept(AbersError, ValueError):
    """A row that should leave a set it is not in."""


class InvalidType(AbersError, TypeError):
    """Something that is not a number where a number is needed."""


class InvalidFile(AbersError, OSError):
    """A file that is damaged, foreign, or of an unknown format."""


class InvalidMessage(AbersError, ValueError):
    """Bytes between driver and workers that are damaged, or of another abers."""


class ChangedInput(AbersError, ValueError):
    """Rows that are no longer what they were when they were first read."""


class InvalidTable(AbersError, ValueError):
    """A table whose columns are missing, doubtful, or of the wrong kind."""


class OutputExists(AbersError, OSError):
    """A file that would be overwritten."""


class MissingExtra(AbersError, ImportError):
    """A package that an optional part needs and that is not installed."""


class InvertedScoresWarning(UserWarning):
    """Scores that run against the labels, so that the rule is nearly flat."""


class UnknownGroupWarning(UserWarning):
    """Groups that a rule set has not seen, so that the rule of all rows is used."""


def need(*packages: str, extra: str, what: str) -> None:
    """Raise one sentence that says what to install, if a package is missing."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        msg = (
            f"{what} needs {' and '.join(missing)}, not installed here; "
            f'pip install "abers[{extra}]" brings it.'
        )
        raise MissingExtra(msg)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the first line outside of abers: the one that called it."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and _is_ours(frame.f_globals.get("__name__", "")):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == "abers"
