"""Provenance: hashes of the rows and rules behind an evaluation, and versions."""

from __future__ import annotations

import hashlib
import platform
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from abers.storage.fingerprint import TAG, TRAINING_TAG

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abers.core.predictions import Predictions
    from abers.core.rule import Rule
    from abers.validation import FloatArray

FINGERPRINTS = (TAG, TRAINING_TAG)


@dataclass(frozen=True, slots=True)
class Provenance:
    """The origin of the numbers."""

    # SHA-256 of the scores, or of the probabilities if there are none; of the labels;
    # and of any weights. They are hashed as little-endian doubles, bytes (8-byte
    # integers for more than two classes), and doubles.
    data_hash: str
    rule_hash: str | None  # SHA-256 of the arrays and counts of all rules
    rule_rows: float | None  # total weight of their calibration rows
    rule_positives: float | None
    tags: dict[str, Any]  # metadata of the rule or rule set, without fingerprints
    versions: dict[str, str]


def provenance_of(predictions: Predictions, weights: FloatArray | None) -> Provenance:
    """Describe the rows and the rules; both are the same whichever class is shown."""
    column, labels = predictions.scores, predictions.labels
    if predictions.shown is None:
        column, labels = predictions.probabilities, labels.astype("<i8")
    else:
        column = predictions.probabilities[:, 1] if column is None else column
        labels = labels.astype(np.uint8)
    sha = hashlib.sha256(np.ascontiguousarray(column, dtype="<f8").data)
    sha.update(np.ascontiguousarray(labels).data)
    if weights is not None:
        sha.update(np.ascontiguousarray(weights, dtype="<f8").data)
    source = predictions.source
    return Provenance(
        data_hash=sha.hexdigest(),
        rule_hash=_hash_of(source.rules) if source.rules else None,
        rule_rows=source.n_rows,
        rule_positives=_n_positives(predictions),
        tags={
            key: tag for key, tag in source.metadata.items() if key not in FINGERPRINTS
        },
        versions=versions_in_use(),
    )


def versions_in_use() -> dict[str, str]:
    """Return the versions that the numbers were computed with."""
    return {
        "abers": version("abers"),
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def _n_positives(predictions: Predictions) -> float | None:
    """Return the weight of the calibration rows of the class that is shown."""
    rows, positives = predictions.source.n_rows, predictions.source.n_positives
    if rows is None or positives is None or predictions.shown != 0:
        return positives
    return rows - positives


def _hash_of(rules: Sequence[Rule]) -> str:
    sha = hashlib.sha256()
    for rule in rules:
        facts = (rule.n_rows, rule.n_positives, rule.increasing)
        arrays = (rule.thresholds, rule.lower, rule.upper, rule.score_quantiles)
        for array in (*arrays, facts):
            sha.update(np.ascontiguousarray(array, dtype="<f8").data)
    return sha.hexdigest()
