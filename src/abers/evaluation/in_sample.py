"""In sample: whether the rows evaluated are those the rule was fitted to.

A fingerprint of the fit decides. Three answers, as for every test here: in-sample,
held-out, unknown. Rows are called held-out only where rows of the fit would have been
noticed; without a fingerprint nobody can tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import bdtr, bdtrc

from abers.errors import InvalidParameter
from abers.storage.fingerprint import KEPT, TAG, Fingerprint, fingerprint_of, matches

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from abers.evaluation.predictor import Answers

IN_SAMPLE = 0.5  # share of the rows that makes rows in-sample
MISSED = 0.01  # chance to call rows held-out though half are of the fit
ESTIMATED = 0.05  # error of an estimated share of rows that are distinct
SURE = 0.001  # chance to recognise so many rows, if they are held out


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
