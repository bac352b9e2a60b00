"""Tuning on the calibrating folds: whether calibration suffers from it.

The authors' note at the end of Section 3: "we need to explore empirically whether the
calibration of CVAPs suffers when we do so (which it might well do)". Three ways to
choose a setting are compared on the same rows: by the rows that calibrate (as the paper
does), by cross-validation within the proper training rows, and not at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from abers import losses
from abers.core.fit import fit_rule
from abers.evaluation.calibration_tests import calibration_test_of
from abers.evaluation.counts import diagram_of
from abers.evaluation.reliability import decomposition_of
from experiments.paper.protocol import Fold, predict_crossed, predict_once
from experiments.paper.studies.validity import judged
from experiments.paper.tasks import RowPair, split

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abers.validation import FloatArray, IntArray
    from experiments.paper.protocol import MethodPrediction
    from experiments.paper.sklearn_engine import Candidate, Engine
    from experiments.paper.studies.validity import Validity
    from experiments.paper.tasks import Task

RATIO = "4:1"
INNER = "2:1"  # three folds of the proper training rows
ARMS = ("calibrating folds", "inner cross-validation", "fixed")
ON_CALIBRATION = "setting chosen on the calibration rows"


@dataclass(frozen=True, slots=True)
class TuningStudy:
    """A method with settings chosen in one way; miscalibration and losses on test."""

    data: str
    algorithm: str
    arm: str
    method: str  # IVAP or CVAP
    settings: str  # chosen, of each fold
    miscalibration: float  # part of the Brier loss, times 4
    p_value: float  # of a test that there is none
    log_loss: float
    brier_loss: float


def study(task: Task, algorithm: str, engine: Engine) -> list[TuningStudy]:
    """Choose settings in three ways, calibrate, and look at the calibration."""
    labels, rows = task.table.labels, split(RATIO, task.n_train)
    candidates = engine.score(task.table, algorithm, rows.pairs, task.test)
    inner = [_inner(task, pair, algorithm, engine) for pair in rows.pairs]
    outer = np.array(
        [
            [
                losses.paper_brier_loss(
                    labels[pair.calibrate], scores.calibration.probability
                )
                for pair, scores in zip(rows.pairs, one.pairs, strict=True)
            ]
            for one in candidates
        ]
    )
    middle = len(candidates) // 2
    chosen = {
        # As in the paper: one setting for all folds, and the last fold's for IVAP.
        "calibrating folds": (
            [int(outer[:, rows.single].argmin())],
            [int(outer.sum(axis=1).argmin())] * len(rows.pairs),
        ),
        "inner cross-validation": ([inner[rows.single]], inner),
        "fixed": ([middle], [middle] * len(rows.pairs)),
    }
    every = range(len(rows.pairs))
    found = []
    for arm, (once, crossed) in chosen.items():
        (single,) = _folds(candidates, rows.pairs, [rows.single], once, labels)
        folds = _folds(candidates, rows.pairs, every, crossed, labels)
        for method, places, made in (
            ("IVAP", once, predict_once(single)),
            ("CVAP", crossed, predict_crossed(folds)),
        ):
            settings = dict.fromkeys(candidates[place].setting for place in places)
            names = (task.name, algorithm, arm, method, ", ".join(settings))
            found.append(_measured(names, labels[task.test], _merged(made, method)))
    return found


def _merged(made: Sequence[MethodPrediction], method: str) -> FloatArray:
    """Return the probabilities of IVAP or CVAP, merged for log loss."""
    (p,) = (o.probabilities for o in made if (o.method, o.merging) == (method, "log"))
    if p is None:
        msg = f"{method} always predicts."
        raise AssertionError(msg)
    return p


def _inner(task: Task, pair: RowPair, algorithm: str, engine: Engine) -> int:
    """Return the place of the setting that is best within some training rows."""
    labels = task.table.labels
    parts = split(INNER, pair.train.size).pairs
    inside = [RowPair(pair.train[p.train], pair.train[p.calibrate]) for p in parts]
    candidates = engine.score(task.table, algorithm, inside, task.test[:1])
    sums = [
        sum(
            losses.paper_brier_loss(labels[p.calibrate], s.calibration.probability)
            for p, s in zip(inside, one.pairs, strict=True)
        )
        for one in candidates
    ]
    return int(np.argmin(sums))


def _folds(
    candidates: Sequence[Candidate],
    pairs: Sequence[RowPair],
    places: Sequence[int],
    chosen: Sequence[int],
    labels: IntArray,
) -> list[Fold]:
    found = []
    for place, setting in zip(places, chosen, strict=True):
        scores, rows = candidates[setting].pairs[place], pairs[place].calibrate
        found.append(Fold(scores.calibration, labels[rows], scores.test))
    return found


def _measured(
    names: tuple[str, str, str, str, str], y: IntArray, p: FloatArray
) -> TuningStudy:
    diagram = diagram_of(y, p)
    return TuningStudy(
        *names,
        4 * decomposition_of(diagram, loss="brier").miscalibration,
        calibration_test_of(diagram).p_value,
        losses.paper_log_loss(y, p),
        losses.paper_brier_loss(y, p),
    )


def validity(
    task: Task, algorithm: str, engine: Engine, *, k: int, draws: int
) -> Validity:
    """Check Proposition 1 where each calibration set also chooses the setting."""
    pairs = split("all", task.n_train).pairs
    candidates = engine.score(task.table, algorithm, pairs, task.test)
    scores = np.stack([one.pairs[0].test.probability for one in candidates])
    labels = task.table.labels[task.test]
    rng = np.random.default_rng(0)
    levels, seen = np.empty(draws), np.empty(draws)
    for i in range(draws):
        rows = rng.choice(labels.size, k + 1, replace=False)
        known, test = rows[:-1], rows[-1]
        errors = ((scores[:, known] - labels[known]) ** 2).sum(axis=1)
        chosen = scores[errors.argmin()]
        bounds = fit_rule(chosen[known], labels[known]).bounds(chosen[[test]])
        seen[i], levels[i] = labels[test], bounds[0, labels[test]]
    return judged(ON_CALIBRATION, k, levels, seen)
