"""In sample: whether the rows evaluated are those the rule was fitted to.

Three answers, as for every test here: in-sample, held-out, unknown. Rows are called
held-out only where rows of the fit would have been noticed.
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
    from collections.abc import Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from abers.core.rule import Rule
    from abers.evaluation.counts import Counts
    from abers.evaluation.metrics import LossChange
    from abers.evaluation.predictor import Answers
    from abers.validation import FloatArray

LEAST_KNOWN = 20  # scores that a rule must keep, to tell rows by them
MOST_CHANCE = 0.25  # of a held-out score to be among those evaluated
IN_SAMPLE = 0.5  # share of the scores kept, or of the rows, that makes rows in-sample
FEW_MATCHES = 3  # that may be chance, and times more than chance predicts
MISSED = 0.01  # chance to call rows held-out though half are of the fit
ESTIMATED = 0.05  # error of an estimated share of rows that are distinct
SURE = 0.001  # chance to recognise so many rows, if they are held out


class Overlap(NamedTuple):
    """How many of the scores that rules keep are among the scores evaluated."""

    found: int
    known: int
    expected: float  # matches among held-out rows
    ties: float  # scores that more than one of the rows evaluated have

    @property
    def share(self) -> float | None:
        """The share that is found; None if it tells nothing."""
        if self.known < LEAST_KNOWN or self.expected > MOST_CHANCE * self.known:
            return None
        return self.found / self.known

    def is_chance(self, n_rows: int) -> bool:
        """Tell if held-out rows would match as often, or nearly.

        If scores coincide by chance, those evaluated coincide with each other, too:
        as rarely as half as many rows would, since each pair counts once. A few rows
        without a tie do not prove that there are none.
        """
        if self.found < FEW_MATCHES + FEW_MATCHES * self.expected:
            return True
        among = (n_rows / 2) / (n_rows / 2 + self.known)
        met = self.found + math.ceil(self.ties)
        return bool(bdtr(math.ceil(self.ties), met, among) > MISSED)


def in_sample_of(
    answers: Answers, counts: Counts, tags: Mapping[str, Any], change: LossChange
) -> dict[str, Any]:
    """Tell whether the rows are those of the fit; None if that is unknown."""
    if not answers.rules or not _columns(answers):
        return {"overlap": None, "in_sample": None}
    rules, rows = _asked(answers), _rows(answers, counts)
    overlap = _overlap(rules, rows)
    in_sample = were_fitted(tags, answers)
    if in_sample is None:
        counted = rows if counts.scores is None else [counts.scores]  # with weights
        whole = any(map(are_all_rows, rules, counted)) or were_folds(answers, change)
        in_sample = whole or are_in_sample(overlap, answers)
    return {"overlap": overlap.share, "in_sample": in_sample}


def were_fitted(tags: Mapping[str, Any], answers: Answers) -> bool | None:
    """Tell by the fingerprint of the fit whether it has seen most of these rows.

    None if that is unknown: there is no fingerprint, scores repeat so often that
    held-out rows look like those of the fit, or too few rows can be compared.
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
    # twice as often as all of them on average, and a held-out one would.
    repeats = 1 - fitted.n_distinct / max(1, fitted.n_rows)
    if fitted.n_distinct > KEPT:  # an estimate
        repeats = max(0.0, repeats) + ESTIMATED
    chance = min(1.0, 2 * repeats)
    if seen >= IN_SAMPLE * comparable:
        return True if bdtrc(seen - 1, comparable, chance) < SURE else None
    return False if bdtr(seen, comparable, IN_SAMPLE) < MISSED else None


def are_in_sample(overlap: Overlap, answers: Answers) -> bool | None:
    """Tell by the scores that rules keep if the rows look like those of the fit.

    They do if many of these are found; or if those found stand for many of the rows
    evaluated, and chance does not explain them (a part of the rows of the fit). Rows
    are held-out if more would have been found, were half of them rows of the fit.
    """
    if overlap.share is None:
        return None
    n_rows = answers.labels.size
    calibrated = sum(rule.n_observations for rule in _asked(answers))
    fitted = calibrated / (answers.calibrated or 1.0)
    if overlap.share >= IN_SAMPLE or (
        not overlap.is_chance(n_rows) and overlap.share * fitted >= IN_SAMPLE * n_rows
    ):
        return True
    # Weights that are no counts do not say how many rows the fit had.
    if answers.calibrated is None or not isinstance(calibrated, int):
        return None
    seen = min(1.0, IN_SAMPLE * n_rows / fitted)
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

    Where scores are tied, percentiles are found in held-out rows, too. So there must
    also be as many rows and positives as in all folds together; and, since another
    half of the data may have just as many, the uncalibrated predictions must be
    significantly better than the calibrated ones, as they are on training rows.
    """
    ones, rules = int(answers.labels.sum()), answers.rules
    return bool(
        answers.fold_scores
        and sum(rule.n_observations for rule in rules) == answers.labels.size
        and sum(rule.n_positives for rule in rules) == ones
        and change.is_significant
        and change.difference > 0
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
    """Look for the scores that a rule keeps among the scores evaluated, one by row.

    The chance of a held-out score to be found is one minus the share of the rows whose
    score nobody else has (Good and Turing).
    """
    kept = scores_kept(rule)
    found = _among(kept, rows.scores).any(axis=1)
    alone = np.count_nonzero(rows.counts == 1) / float(rows.counts.sum())
    ties = int(np.count_nonzero(rows.counts > 1))
    return Overlap(int(found.sum()), len(kept), (1 - alone) * len(kept), ties)


def _overlap(rules: Sequence[Rule], rows: Sequence[Diagram]) -> Overlap:
    """Add up what is found of all rules that were asked, each by its own scores."""
    found = [overlap_of(*both) for both in zip(rules, rows, strict=True)]
    every = Overlap(*map(sum, zip(*found, strict=True)))
    # The rows evaluated are the same for each fold, and so are most of their ties.
    return every._replace(ties=every.ties / len(found))


def _columns(answers: Answers) -> tuple[FloatArray, ...]:
    """Return what each rule was given; nothing if there is no rule."""
    if answers.scores is None:
        return answers.fold_scores
    return answers.fold_scores or (answers.scores,)


def _rows(answers: Answers, counts: Counts) -> list[Diagram]:
    """Count the rows by the scores that each rule was given; each row is one."""
    if counts.scores is not None and counts.after.scatter is None:
        return [counts.scores]
    columns = map(validation.as_scores, _columns(answers))
    return [Diagram.from_observations(s, answers.labels) for s in columns]


def _asked(answers: Answers) -> tuple[Rule, ...]:
    """Return the rules that share no row: those of the folds, or the pooled one."""
    return answers.rules if answers.fold_scores else answers.rules[:1]


def _among(values: FloatArray, ascending: FloatArray) -> NDArray[np.bool_]:
    place = np.searchsorted(ascending, values)
    found: NDArray[np.bool_] = ascending[np.minimum(place, ascending.size - 1)] == (
        values
    )
    return found
