"""Provenance: which rows and rules the numbers come from, and what computed them."""

from __future__ import annotations

import hashlib
import platform
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from abers.storage.fingerprint import TAG, TRAINING_TAG

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from abers.core.rule import Rule
    from abers.evaluation.class_answers import ClassAnswers
    from abers.evaluation.predictor import Answers
    from abers.validation import FloatArray

FINGERPRINTS = (TAG, TRAINING_TAG)


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where the numbers come from."""

    # SHA-256 of the scores, the labels, and the weights if there are any: little-endian
    # doubles, bytes, and doubles again.
    data_hash: str
    rule_hash: str | None  # SHA-256 of the arrays and counts of all rules
    rule_observations: float | None  # total weight that the rules were fitted to
    rule_positives: float | None
    tags: dict[str, Any]  # metadata of the rule or rule set, without fingerprints
    versions: dict[str, str]


def provenance_of(
    answers: Answers,
    fitted: int,
    weights: FloatArray | None,
    metadata: Mapping[str, Any],
) -> Provenance:
    """Describe the rows, and the rules; the first `fitted` of them share no row."""
    given = answers.as_fitted or answers  # the same rows, whichever class is positive
    column = given.probabilities if given.scores is None else given.scores
    sha = hashlib.sha256(np.ascontiguousarray(column, dtype="<f8").data)
    sha.update(np.ascontiguousarray(given.labels).view(np.uint8).data)
    if weights is not None:
        sha.update(np.ascontiguousarray(weights, dtype="<f8").data)
    own = answers.rules[:fitted]
    return Provenance(
        data_hash=sha.hexdigest(),
        rule_hash=_hash_of(given.rules) if given.rules else None,
        rule_observations=sum(r.n_observations for r in own) if own else None,
        rule_positives=sum(rule.n_positives for rule in own) if own else None,
        tags={key: tag for key, tag in metadata.items() if key not in FINGERPRINTS},
        versions=versions_in_use(),
    )


def provenance_of_classes(
    answers: ClassAnswers, weights: FloatArray | None
) -> Provenance:
    """Describe rows of many classes, and the rules of all problems.

    A row calibrates a rule of each class, or of each pair that its class is in.
    """
    sha = hashlib.sha256(np.ascontiguousarray(answers.probabilities, "<f8").data)
    sha.update(np.ascontiguousarray(answers.labels, dtype="<i8").data)
    if weights is not None:
        sha.update(np.ascontiguousarray(weights, dtype="<f8").data)
    rules = answers.rules
    counted = sum(rule.n_observations for rule in rules) / answers.rules_a_row
    return Provenance(
        data_hash=sha.hexdigest(),
        rule_hash=_hash_of(rules) if rules else None,
        rule_observations=(int(counted) if counted == int(counted) else counted)
        if rules
        else None,
        rule_positives=None,
        tags={},
        versions=versions_in_use(),
    )


def versions_in_use() -> dict[str, str]:
    """Return what the numbers were computed with."""
    return {
        "abers": version("abers"),
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def _hash_of(rules: Sequence[Rule]) -> str:
    sha = hashlib.sha256()
    for rule in rules:
        facts = (rule.n_observations, rule.n_positives, rule.increasing)
        arrays = (rule.thresholds, rule.lower, rule.upper, rule.score_quantiles)
        for array in (*arrays, facts):
            sha.update(np.ascontiguousarray(array, dtype="<f8").data)
    return sha.hexdigest()
