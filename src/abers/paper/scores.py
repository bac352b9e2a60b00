"""Scores: what an underlying algorithm says of objects, on two scales."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logit

if TYPE_CHECKING:
    from abers.validation import FloatArray

# Trees say 0 and 1, whose log-odds are infinite, and naive Bayes comes close; a sigmoid
# of log-odds needs numbers, and a few enormous ones would decide its fit alone.
LARGEST_LOG_ODDS = float(logit(1 - 1e-6))


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """One score an object, as a probability and on the scale that models add on."""

    probability: FloatArray  # what the paper calibrates
    margin: FloatArray  # log-odds within ±13.8, or the margin of an SVM


def of_probability(probability: FloatArray) -> Scores:
    """Complete probabilities by their log-odds, held within ±13.8.

    Examples
    --------
    >>> import numpy as np
    >>> from abers.paper.scores import of_probability
    >>> of_probability(np.array([0.5, 1.0])).margin.round(1)
    array([ 0. , 13.8])
    """
    return Scores(probability, _held(logit(probability)))


def of_log_odds(log_odds: FloatArray) -> Scores:
    """Complete log-odds by their probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from abers.paper.scores import of_log_odds
    >>> of_log_odds(np.array([0.0])).probability
    array([0.5])
    """
    return Scores(expit(log_odds), _held(log_odds))


def _held(log_odds: FloatArray) -> FloatArray:
    return np.clip(log_odds, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)


@dataclass(frozen=True, slots=True, eq=False)
class PairScores:
    """The scores by an algorithm trained on one set of rows."""

    calibration: Scores
    test: Scores


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A setting of an algorithm, and its scores for each pair of training rows."""

    setting: str  # "C=0.1"; empty if there is nothing to set
    pairs: tuple[PairScores, ...]
