"""What can go wrong, as exceptions that say it in one sentence."""

from __future__ import annotations


class AbersError(Exception):
    """Base of every exception that abers raises on its own account."""


class InvalidScores(AbersError, ValueError):
    """Scores that cannot be ordered: missing, empty, or not one column."""


class InvalidLabels(AbersError, ValueError):
    """Labels other than 0 and 1."""


class InvalidWeights(AbersError, ValueError):
    """Weights that are negative, not finite, or all zero."""


class InvalidGroups(AbersError, ValueError):
    """Groups that are missing, or not one column of names."""


class InvalidProbabilities(AbersError, ValueError):
    """Bounds or probabilities outside of what they can be."""


class InvalidParameter(AbersError, ValueError):
    """An option that is not among those offered."""


class LengthMismatch(AbersError, ValueError):
    """Columns that should be equally long and are not."""


class InvalidType(AbersError, TypeError):
    """Something that is not a number where a number is needed."""


class InvalidFile(AbersError, OSError):
    """A file that is damaged, foreign, or of an unknown format."""
