"""Methods: every way from scores to probabilities that is compared, by its name.

The one table of them. A method is fitted to calibration scores and labels, and then
reads new scores; `calibrated` does both for several methods at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from abers import validation
from abers.core.fit import fitted_rule
from abers.core.log_odds import (
    KINDS,
    are_probabilities,
    finite_ends,
    log_odds,
    within,
)
from abers.core.merging import merge_rules
from abers.errors import InvalidParameter, InvalidProbabilities, InvalidScores
from abers.estimators.calibrators import (
    BetaCalibrator,
    IsotonicCalibrator,
    IVAPCalibrator,
    PlattCalibrator,
    TemperatureCalibrator,
    as_columns,
)
from abers.estimators.cross_fit import cross_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import ArrayLike

    from abers.validation import FloatArray, IntArray

    Reader = Callable[[FloatArray], FloatArray]  # columns of new scores in, p out

UNDERLYING = "underlying"
PLATT_ON_PROBABILITY = "Platt (probability)"
PLATT_ON_LOG_ODDS = "Platt (log-odds)"
PLATT_ON_MARGIN = "Platt (margin)"
TEMPERATURE = "temperature"
BETA = "beta"
ISOTONIC = "isotonic"
ISOTONIC_WITH_DUMMIES = "isotonic with dummies"
IVAP = "IVAP"
CVAP = "CVAP"
CVAP_POOLED = "CVAP pooled"

LOGIT_CURVES = (TEMPERATURE, BETA)  # of log-odds, or of margins that stand for them
STEPS = (ISOTONIC, ISOTONIC_WITH_DUMMIES, IVAP)  # they see the order of scores only
METHODS = (
    UNDERLYING,
    PLATT_ON_PROBABILITY,
    PLATT_ON_LOG_ODDS,
    PLATT_ON_MARGIN,
    *LOGIT_CURVES,
    *STEPS,
    CVAP,
    CVAP_POOLED,
)
MERGES = {CVAP: "minimax", CVAP_POOLED: "pooled"}  # of K models, by `CVAPClassifier`
OF_KIND = {
    "probability": tuple(
        name for name in METHODS if name not in {PLATT_ON_MARGIN, CVAP_POOLED}
    ),
    "margin": (PLATT_ON_MARGIN, *LOGIT_CURVES, *STEPS, CVAP),
}

# Of more than two classes; "CVAP" and "CVAP pooled" need an estimator there.
OF_CLASSES = {
    "probability": (UNDERLYING, PLATT_ON_LOG_ODDS, *LOGIT_CURVES, *STEPS),
    "margin": (PLATT_ON_MARGIN, *LOGIT_CURVES, *STEPS),
}

INNER_FOLDS = 5


def calibrated(
    scores: ArrayLike,
    labels: ArrayLike,
    new_scores: ArrayLike,
    *,
    kind: str,
    methods: Iterable[str] | None = None,
    sample_weight: ArrayLike | None = None,
    random_state: Any = 0,
    regularised: bool = True,
) -> dict[str, FloatArray]:
    """Fit every method to calibration scores, and apply it to new ones.

    Parameters
    ----------
    scores : array-like of shape (n,), (n, 1) or (n, 2)
        Calibration scores. Of probabilities there may be two columns, for the labels
        0 and 1: log-odds of both are more exact near 1 than those of one.
    labels : array-like of shape (n,)
        0 or 1, or bool.
    new_scores : array-like of shape (m,), (m, 1) or (m, 2)
        Scores to calibrate.
    kind : {"probability", "margin"}
        What the scores are, which decides the methods that are offered.
    methods : iterable of str, default=None
        Names of methods; all that are offered if None.
    sample_weight : array-like of shape (n,), default=None
        An observation of weight w counts as w observations.
    random_state : int, RandomState instance or None, default=0
        Draws the sub-samples of "CVAP".
    regularised : bool, default=True
        Fit sigmoids to Platt's targets; to plain labels, as the paper does, if False.

    Returns
    -------
    dict of str to ndarray of shape (m,)
        For each method the probabilities of label 1, in the order of the names.

    Notes
    -----
    With scores that are given there is no model to train again, so that "CVAP" is a
    merge of rules of sub-samples: the rows are split into five stratified parts (fewer
    if a class has fewer rows), each has a rule, and the five are merged by minimax.

    Platt's sigmoid, temperature scaling and beta calibration take finite scores only.
    Where a score or a log-odds is infinite, as for probabilities of exactly 0 and 1,
    the smallest or largest finite one that was seen in calibration stands for it; if
    fewer than two were seen, one unit less or more (for a temperature the one furthest
    from 0, on the right side of it). The latter two methods take a margin s for the
    probability 1 / (1 + exp(-s)).

    Examples
    --------
    >>> from abers.comparison.methods import calibrated
    >>> scores, labels = [0.1, 0.4, 0.8], [0, 1, 0]
    >>> found = calibrated(
    ...     scores, labels, [0.4], kind="probability", methods=["underlying", "IVAP"]
    ... )
    >>> found["underlying"], found["IVAP"]  # bounds 1/3 and 2/3
    (array([0.4]), array([0.5]))
    """
    validation.check_choice(kind, KINDS, "kind")
    names = chosen(methods, OF_KIND[kind])
    new = as_score_columns(new_scores, kind, "new_scores")
    sample = _sample(scores, labels, sample_weight, kind)
    sample = replace(sample, random_state=random_state, regularised=regularised)
    return {name: _FITTERS[name](sample)(new) for name in names}


def calibrated_classes(
    columns: FloatArray,
    labels: IntArray,
    new_columns: FloatArray,
    *,
    kind: str,
    methods: Iterable[str],
    sample_weight: FloatArray | None = None,
) -> dict[str, FloatArray]:
    """Fit every method to scores of C classes, and apply it to new ones: (m, C) each.

    Labels are places in the classes, of which there may be more than have rows here.
    """
    found = {}
    for name in methods:
        if name == UNDERLYING:
            found[name] = new_columns
            continue
        model = _OF_CLASSES[name](kind).fit(columns, labels, sample_weight)
        found[name] = model.predict_proba(new_columns)
    return found


def chosen(methods: Iterable[str] | None, offered: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the methods that were asked for, each once."""
    if methods is None:
        return offered
    names = (methods,) if isinstance(methods, str) else tuple(methods)
    must = f"methods must be among {', '.join(map(repr, offered))}"
    for name in names:
        if name not in offered:
            why = " here" if name in METHODS else ""
            msg = f"{must}{why}; got {name!r}."
            raise InvalidParameter(msg)
    if not names:
        msg = f"{must}; got none."
        raise InvalidParameter(msg)
    return tuple(dict.fromkeys(names))


def as_score_columns(scores: object, kind: str, name: str = "scores") -> FloatArray:
    """Return scores as (n, 1), or two columns of probabilities as (n, 2)."""
    columns = as_columns(scores)
    most = 2 if kind == "probability" else 1
    if columns.shape[1] > most:
        msg = f"{name} must be one column of {kind} scores; got {columns.shape[1]}."
        raise InvalidScores(msg)
    if kind == "probability":
        good = ((columns >= 0) & (columns <= 1)).all(axis=1)
        must = "between 0 and 1"
        if columns.shape[1] == 2:
            good = are_probabilities(columns)
            must += " and add up to 1"
        if not good.all():
            row = int(good.argmin())
            got = ", ".join(map(repr, columns[row].tolist()))
            msg = (
                f"{name} of kind 'probability' must be {must}; got {got} at row {row}."
            )
            raise InvalidProbabilities(msg)
    return columns


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Calibration rows, all of which count."""

    columns: FloatArray  # scores: (n, 1), or (n, 2) for both labels
    kind: str
    labels: IntArray
    weights: FloatArray | None
    random_state: Any = 0
    regularised: bool = True  # sigmoids are fitted to Platt's targets


def _sample(scores: object, labels: object, weights: object, kind: str) -> Sample:
    columns = as_score_columns(scores, kind)
    y = validation.as_labels(labels)
    validation.check_length(y.size, len(columns), "labels", "scores")
    validation.as_calibration_scores(columns[:, 0])  # at least one
    bad = (y != 0) & (y != 1)
    if bad.any():
        validation.refuse_bad_labels(y, int(bad.sum()), int(bad.argmax()))
    y = y.astype(np.int64)
    if weights is None:
        return Sample(columns, kind, y, None)
    w = validation.as_weights(weights, y.size)
    validation.check_total(w, "sample_weight")
    kept = w > 0
    return Sample(columns[kept], kind, y[kept], w[kept])


def _underlying(_: Sample) -> Reader:
    return _score


def _platt(scale: Callable[[FloatArray], FloatArray]) -> Callable[[Sample], Reader]:
    """Return Platt's method for scores on some scale."""

    def fitted(sample: Sample) -> Reader:
        scores = scale(sample.columns)
        ends = finite_ends(scores)
        model = PlattCalibrator(regularised=sample.regularised)
        model.fit(within(scores, ends), sample.labels, sample.weights)
        return lambda new: model.predict_proba(within(scale(new), ends))[:, 1]

    return fitted


def _logit_curve(
    calibrator: type[BetaCalibrator | TemperatureCalibrator],
) -> Callable[[Sample], Reader]:
    """Return a method that knows what to do with either kind of scores."""

    def fitted(sample: Sample) -> Reader:
        model = calibrator(scores=sample.kind)
        model.fit(sample.columns, sample.labels, sample.weights)
        return lambda new: model.predict_proba(new)[:, 1]

    return fitted


def _isotonic(*, dummies: bool) -> Callable[[Sample], Reader]:
    def fitted(sample: Sample) -> Reader:
        model = IsotonicCalibrator(dummies=dummies)
        model.fit(_score(sample.columns), sample.labels, sample.weights)
        return lambda new: model.predict_proba(_score(new))[:, 1]

    return fitted


def _ivap(sample: Sample) -> Reader:
    rule, _ = fitted_rule(_score(sample.columns), sample.labels, sample.weights)
    return lambda new: rule.probability(_score(new))


def _cvap(sample: Sample) -> Reader:
    """Merge rules of sub-samples: see the notes of `calibrated`."""
    scores, y, w = _score(sample.columns), sample.labels, sample.weights
    folds = min(INNER_FOLDS, int(y.sum()), int((1 - y).sum()))
    if folds < 2:
        return _ivap(sample)
    rules = [
        fitted_rule(scores[rows], y[rows], None if w is None else w[rows])[0]
        for _, rows in cross_pairs(folds, scores, y, sample.random_state, {})
    ]
    return lambda new: merge_rules(rules, [_score(new)] * len(rules))


def _score(columns: FloatArray) -> FloatArray:
    """Return the one column that scores label 1."""
    return np.ascontiguousarray(columns[:, -1])


def _log_odds(columns: FloatArray) -> FloatArray:
    return log_odds(columns, "probability")


_FITTERS: Mapping[str, Callable[[Sample], Reader]] = {
    UNDERLYING: _underlying,
    PLATT_ON_PROBABILITY: _platt(_score),
    PLATT_ON_LOG_ODDS: _platt(_log_odds),
    PLATT_ON_MARGIN: _platt(_score),
    TEMPERATURE: _logit_curve(TemperatureCalibrator),
    BETA: _logit_curve(BetaCalibrator),
    ISOTONIC: _isotonic(dummies=False),
    ISOTONIC_WITH_DUMMIES: _isotonic(dummies=True),
    IVAP: _ivap,
    CVAP: _cvap,
}
_OF_CLASSES: Mapping[str, Callable[[str], Any]] = {
    PLATT_ON_LOG_ODDS: lambda kind: PlattCalibrator(scores=kind),
    PLATT_ON_MARGIN: lambda kind: PlattCalibrator(scores=kind),
    TEMPERATURE: lambda kind: TemperatureCalibrator(scores=kind),
    BETA: lambda kind: BetaCalibrator(scores=kind),
    ISOTONIC: lambda kind: IsotonicCalibrator(scores=kind),
    ISOTONIC_WITH_DUMMIES: lambda kind: IsotonicCalibrator(dummies=True, scores=kind),
    IVAP: lambda kind: IVAPCalibrator(scores=kind),
}
