"""In sample: whether the evaluated rows were used for the fit.

The fingerprint of the fit decides. There are three answers: in-sample, held-out, and
unknown. Rows are called held-out only if rows of the fit would have been noticed;
without a fingerprint the answer is unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from abers.errors import InvalidParameter, need
from abers.storage.fingerprint import (
    KEPT,
    TAG,
    TRAINING_TAG,
    Fingerprint,
    fingerprint_of,
    matches,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from abers.core.predictions import Predictions
    from abers.validation import FloatArray

IN_SAMPLE = (
    "These look like rows that the predictor was fitted to, so the results are too "
    "good. Evaluate on held-out rows."
)
MOST = 0.5  # share from which rows are in-sample
MISSED = 0.01  # probability of "held-out" although half the rows were fitted
ESTIMATED = 0.05  # relative error of an estimated share of distinct rows
SURE = 0.001  # probability of as many matches with held-out rows


def in_sample(predictions: Predictions) -> bool | None:
    """Return whether most of these rows were used for the fit; None if unknown."""
    scores = predictions.scores
    if scores is None and len(predictions.by_fold) == 1:  # a mixture of two classes
        of_models = predictions.by_fold[0].scores
        scores = of_models[0] if len(of_models) == 1 else None
    if scores is None:
        return None
    pos_label, negative = predictions.source.separated
    ones = predictions.labels == pos_label
    if negative is not None:  # the rule knows rows of two classes only
        rows = ones | (predictions.labels == negative)
        scores, ones = scores[rows], ones[rows]
    source = predictions.source
    fingerprint = source.metadata.get(TAG)
    if fingerprint is None and source.rule is not None:  # the rows of one model
        fingerprint = source.rule.metadata.get(TRAINING_TAG)
    return were_fitted(fingerprint, scores, ones)


def were_fitted(
    fingerprint: str | None, scores: FloatArray, ones: NDArray[np.bool_]
) -> bool | None:
    """Return whether a fit has seen most of these rows, by its fingerprint.

    None if that is unknown: there is no fingerprint, scores repeat so often that
    held-out rows look like those of the fit, or too few rows can be compared.
    """
    if fingerprint is None or not scores.size:
        return None
    try:
        fitted = Fingerprint.from_text(fingerprint)
    except InvalidParameter:  # of a later version
        return None
    if scores.size == fitted.n_rows and fingerprint_of(scores, ones) == fitted:
        return True
    need("scipy", what="abers.evaluation")
    from scipy.special import bdtr, bdtrc

    comparable, seen = matches(fitted, scores, ones)
    # This is how often a row of the fit repeats an earlier one; the last rows did so up
    # to twice as often as the average, and so might held-out rows.
    repeats = 1 - fitted.n_distinct / max(1, fitted.n_rows)
    if fitted.n_distinct > KEPT:  # an estimate
        repeats = max(0.0, repeats) + ESTIMATED
    chance = min(1.0, 2 * repeats)
    if seen >= MOST * comparable:
        return True if bdtrc(seen - 1, comparable, chance) < SURE else None
    return False if bdtr(seen, comparable, MOST) < MISSED else None
