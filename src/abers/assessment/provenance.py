"""Provenance: which rows, which rule, which versions; and if the rows are fresh."""

from __future__ import annotations

import hashlib
import platform
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import bdtrc

from abers.errors import InvalidParameter
from abers.fingerprint import KEPT, TAG, Fingerprint, fingerprint_of, matches

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from abers.assessment.answers import Answers
    from abers.assessment.quality import LossChange
    from abers.core.diagram import Diagram
    from abers.core.rule import Rule
    from abers.validation import FloatArray

LEAST_QUANTILES = 20  # that must differ, to tell rows by them
MOST_CHANCE = 0.25  # of a fresh score to be among those judged
ERRORS = 3  # standard errors that chance does not explain
OWN_ROWS = 0.5  # share of the quantiles, or of the rows, that makes rows not fresh
FEW = 3  # quantiles that may be found by chance, and times more than chance has it
ENOUGH = 20  # rows to compare by their fingerprint, to call them fresh
ESTIMATED = 0.05  # error of an estimated share of rows that are distinct
SURE = 0.001  # chance of so many rows to be recognised, if they are fresh


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where the numbers come from."""

    # SHA-256 of the scores, the labels, and the weights if there are any: little-endian
    # doubles, bytes, and doubles again.
    data_hash: str
    rule_hash: str | None  # SHA-256 of the arrays and counts of all rules
    rule_observations: float | None  # total weight that the rules were fitted to
    rule_positives: float | None
    versions: dict[str, str]


def provenance_of(
    answers: Answers, fitted: int, weights: FloatArray | None
) -> Provenance:
    """Describe the rows, and the rules; the first `fitted` of them share no row."""
    column = answers.probabilities if answers.scores is None else answers.scores
    sha = hashlib.sha256(np.ascontiguousarray(column, dtype="<f8").data)
    sha.update(np.ascontiguousarray(answers.labels).view(np.uint8).data)
    if weights is not None:
        sha.update(np.ascontiguousarray(weights, dtype="<f8").data)
    rules, own = answers.rules, answers.rules[:fitted]
    return Provenance(
        data_hash=sha.hexdigest(),
        rule_hash=_hash_of(rules) if rules else None,
        rule_observations=sum(r.n_observations for r in own) if own else None,
        rule_positives=sum(rule.n_positives for rule in own) if own else None,
        versions=versions_in_use(),
    )


def versions_in_use() -> dict[str, str]:
    """Return what the numbers were computed with."""
    return {
        "abers": version("abers"),
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


class Overlap(NamedTuple):
    """How many of a rule's score quantiles are among the scores judged."""

    found: int
    known: int  # distinct quantiles
    chance: float  # of a fresh score to be among those judged

    @property
    def share(self) -> float | None:
        """The share that is found; None if it tells nothing."""
        if self.known < LEAST_QUANTILES or self.chance > MOST_CHANCE:
            return None
        return self.found / self.known


def overlap_of(rule: Rule, rows: Diagram) -> Overlap:
    """Look for a rule's score quantiles among the scores judged, one by row.

    The chance of a fresh score to be found is one minus the share of the rows whose
    score nobody else has (Good and Turing).
    """
    known = np.unique(rule.score_quantiles)
    place = np.searchsorted(rows.scores, known)
    found = rows.scores[np.minimum(place, rows.scores.size - 1)] == known
    counts = rows.counts
    alone = np.count_nonzero(counts == 1) / float(counts.sum())
    return Overlap(int(found.sum()), known.size, 1 - alone)


def were_fitted(tags: Mapping[str, Any], answers: Answers) -> bool | None:
    """Tell by the fingerprint of the fit whether it has seen most of these rows.

    None if that cannot be told: there is no fingerprint, scores repeat so often that
    fresh rows look like those of the fit, or too few rows can be compared.
    """
    try:
        fitted = Fingerprint.from_text(tags[TAG])
    except (KeyError, InvalidParameter):  # none, or one of a later version
        return None
    scores, labels = np.asarray(answers.scores, dtype=np.float64), answers.labels
    if scores.size == fitted.n_rows and fingerprint_of(scores, labels) == fitted:
        return True
    comparable, seen = matches(fitted, scores, labels)
    # So often a row of the fit repeats one before it; the last of them did so up to
    # twice as often as all of them on average, and a fresh one would.
    repeats = 1 - fitted.n_distinct / max(1, fitted.n_rows)
    if fitted.n_distinct > KEPT:  # an estimate
        repeats = max(0.0, repeats) + ESTIMATED
    chance = min(1.0, 2 * repeats)
    if seen >= OWN_ROWS * comparable:
        return True if bdtrc(seen - 1, comparable, chance) < SURE else None
    return False if comparable >= ENOUGH else None


def are_own_rows(rule: Rule, scores: Diagram, n_rows: int, overlap: Overlap) -> bool:
    """Tell by quantiles if the rows judged look like those that a rule was fitted to.

    So they do if many quantiles are found; if those found stand for many of the rows
    judged, and chance does not explain them (a part of the rows of the fit); or if
    all counts and quantiles are the same (scores that are tied too often for that).
    """
    if overlap.share is not None:
        by_chance = overlap.chance * overlap.known
        stands_for = overlap.share * rule.n_observations
        if overlap.share >= OWN_ROWS or (
            overlap.found >= FEW + FEW * by_chance and stands_for >= OWN_ROWS * n_rows
        ):
            return True
    return bool(
        rule.n_observations == scores.n_observations
        and rule.n_positives == scores.n_positives
        and np.array_equal(rule.score_quantiles, scores.score_quantiles)
    )


def were_folds(answers: Answers, change: LossChange) -> bool:
    """Tell if the rows look like all those that the folds of our classifier had.

    Where scores are tied, percentiles are found in fresh rows, too. So there must also
    be as many rows and ones as in all folds together; and, since another half of the
    data may have just as many, what the inner classifiers said on their own must be
    better than after calibration, beyond chance, as it is for rows they have learnt.
    """
    ones, rules = int(answers.labels.sum()), answers.rules
    return bool(
        answers.percentiles_found
        and sum(rule.n_observations for rule in rules) == answers.labels.size
        and sum(rule.n_positives for rule in rules) == ones
        and change.difference > ERRORS * change.standard_error
    )


def _hash_of(rules: Sequence[Rule]) -> str:
    sha = hashlib.sha256()
    for rule in rules:
        facts = (rule.n_observations, rule.n_positives, rule.increasing)
        arrays = (rule.thresholds, rule.lower, rule.upper, rule.score_quantiles)
        for array in (*arrays, facts):
            sha.update(np.ascontiguousarray(array, dtype="<f8").data)
    return sha.hexdigest()
