"""Freshness: whether the rows judged are those of the fit, if that can be told.

Three answers, as for every test here: they are, they are not, nobody can tell. Rows
are called fresh only where the rows of the fit would have been noticed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import bdtr, bdtrc

from abers import validation
from abers.core.diagram import Diagram
from abers.errors import InvalidParameter
from abers.storage.fingerprint import KEPT, TAG, Fingerprint, fingerprint_of, matches

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import NDArray

    from abers.core.rule import Rule
    from abers.evaluation.counts import Material
    from abers.evaluation.evaluate import LossChange
    from abers.evaluation.predictor import Answers
    from abers.validation import FloatArray

LEAST_KNOWN = 20  # scores that a rule must keep, to tell rows by them
MOST_CHANCE = 0.25  # of a fresh score to be among those judged
ERRORS = 3  # standard errors that chance does not explain
OWN_ROWS = 0.5  # share of the scores kept, or of the rows, that makes rows not fresh
FEW = 3  # scores that may be found by chance, and times more than chance has it
MISSED = 0.01  # chance to call rows fresh though half are of the fit, or the reverse
ESTIMATED = 0.05  # error of an estimated share of rows that are distinct
SURE = 0.001  # chance of so many rows to be recognised, if they are fresh
TOLD = {True: "own rows", False: "fresh", None: "unknown"}


class Overlap(NamedTuple):
    """How many of the scores that rules keep are among the scores judged."""

    found: int
    known: int
    by_chance: float  # so many would be found among fresh rows
    ties: float  # scores that more than one of the rows judged have

    @property
    def share(self) -> float | None:
        """The share that is found; None if it tells nothing."""
        if self.known < LEAST_KNOWN or self.by_chance > MOST_CHANCE * self.known:
            return None
        return self.found / self.known

    def is_chance(self, n_rows: int) -> bool:
        """Tell if fresh rows would be found as often, or nearly.

        If scores meet by chance, those judged meet each other, too: as seldom as there
        are half as many rows, since each pair counts once. A few rows without a tie do
        not prove that there are none.
        """
        if self.found < FEW + FEW * self.by_chance:
            return True
        among = (n_rows / 2) / (n_rows / 2 + self.known)
        met = self.found + math.ceil(self.ties)
        return bool(bdtr(math.ceil(self.ties), met, among) > MISSED)


def freshness_of(
    answers: Answers, material: Material, tags: Mapping[str, Any], change: LossChange
) -> dict[str, Any]:
    """Tell whether the rows are those of the fit, if that can be told at all."""
    scores = material.scores
    if scores is None or not answers.rules:
        return {"overlap": None, "judges_own_rows": False, "freshness": TOLD[None]}
    overlap = _overlap(answers, material)
    own = were_fitted(tags, answers)
    if own is None:
        whole = are_all_rows(answers.rules[0], scores) or were_folds(answers, change)
        own = whole or are_own_rows(overlap, answers)
    return {
        "overlap": overlap.share,
        "judges_own_rows": bool(own),
        "freshness": TOLD[own],
    }


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
    return False if bdtr(seen, comparable, OWN_ROWS) < MISSED else None


def are_own_rows(overlap: Overlap, answers: Answers) -> bool | None:
    """Tell by the scores that rules keep if the rows look like those of the fit.

    So they do if many of these are found; or if those found stand for many of the rows
    judged, and chance does not explain them (a part of the rows of the fit). Rows are
    fresh if more would have been found, were half of them rows of the fit.
    """
    if overlap.share is None:
        return None
    n_rows = answers.labels.size
    calibrated = sum(rule.n_observations for rule in _asked(answers))
    fitted = calibrated / (answers.calibrated or 1.0)
    if overlap.share >= OWN_ROWS or (
        not overlap.is_chance(n_rows) and overlap.share * fitted >= OWN_ROWS * n_rows
    ):
        return True
    # Weights that are no counts do not say how many rows the fit had.
    if answers.calibrated is None or not isinstance(calibrated, int):
        return None
    seen = min(1.0, OWN_ROWS * n_rows / fitted)
    return False if bdtr(overlap.found, overlap.known, seen) < MISSED else None


def are_all_rows(rule: Rule, scores: Diagram) -> bool:
    """Tell if all counts and percentiles are those of the fit: ties do not matter."""
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
        answers.fold_scores
        and sum(rule.n_observations for rule in rules) == answers.labels.size
        and sum(rule.n_positives for rule in rules) == ones
        and change.difference > ERRORS * change.standard_error
        and all(
            np.isin(rule.score_quantiles, column).all()
            for rule, column in zip(rules, answers.fold_scores, strict=True)
        )
    )


def scores_kept(rule: Rule) -> FloatArray:
    """Return calibration scores that a rule still holds: each is one of two numbers.

    The percentiles are scores that occurred. The rule steps at scores that occurred,
    or just above them; then the score is the number before the threshold.
    """
    quantiles, steps = np.unique(rule.score_quantiles), rule.thresholds
    with np.errstate(over="ignore"):  # -inf comes before the least number
        before = np.nextafter(steps, -np.inf)
    twice = np.isin(before, np.append(steps, quantiles)) | np.isin(steps, quantiles)
    pairs = np.stack((before, steps), axis=1)[~twice]
    return np.concatenate((np.stack((quantiles, quantiles), axis=1), pairs))


def overlap_of(rule: Rule, rows: Diagram) -> Overlap:
    """Look for the scores that a rule keeps among the scores judged, one by row.

    The chance of a fresh score to be found is one minus the share of the rows whose
    score nobody else has (Good and Turing).
    """
    kept = scores_kept(rule)
    found = _among(kept, rows.scores).any(axis=1)
    alone = np.count_nonzero(rows.counts == 1) / float(rows.counts.sum())
    ties = int(np.count_nonzero(rows.counts > 1))
    return Overlap(int(found.sum()), len(kept), (1 - alone) * len(kept), ties)


def _overlap(answers: Answers, material: Material) -> Overlap:
    """Add up what is found of all rules that were asked, each by its own scores."""
    columns = answers.fold_scores or (answers.scores,)
    unweighted = material.after.scatter is None
    found = []
    for rule, column in zip(_asked(answers), columns, strict=True):
        rows = material.scores if unweighted and column is answers.scores else None
        if rows is None:
            s = validation.as_scores(column)
            rows = Diagram.from_observations(s, answers.labels)
        found.append(overlap_of(rule, rows))
    every = Overlap(*map(sum, zip(*found, strict=True)))
    # The rows judged are the same for each fold, and so are most of their ties.
    return every._replace(ties=every.ties / len(found))


def _asked(answers: Answers) -> tuple[Rule, ...]:
    """Return the rules that share no row: those of the folds, or the pooled one."""
    return answers.rules if answers.fold_scores else answers.rules[:1]


def _among(values: FloatArray, ascending: FloatArray) -> NDArray[np.bool_]:
    place = np.searchsorted(ascending, values)
    found: NDArray[np.bool_] = ascending[np.minimum(place, ascending.size - 1)] == (
        values
    )
    return found
