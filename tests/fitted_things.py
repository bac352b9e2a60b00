"""One of each kind that is fitted, by name, and the arrays and facts it is made of."""

import json
import math
import warnings
from fractions import Fraction

import numpy as np
from sklearn.naive_bayes import GaussianNB

import abers
from abers.online.file_monitor import FileMonitor
from abers.online.ledger import FileFacts
from strategies import NASTY, TIED

INF = math.inf
ROWS = [1, 2, 3, 4], [0, 1, 0, 1]


def online_set(window=None):
    """Three rows at 2, of which one was removed by hand."""
    online = abers.OnlineVennAbers(window=window, increasing=window is None)
    online.add_many([INF, 2, -0.0, 2, 2, -INF, 1e308], [0, 1, 1, 1, 0, 0, 1])
    return online.remove(2, 1)


def monitor():
    """A monitor with an alarm, rows that wait and rows that were dropped."""
    made = abers.Monitor([1, 2, 3, 4], [0, 1, 0, 1], alpha=0.5, max_wait=3)
    made.update(np.arange(30) / 2, np.ones(30))
    made.update([INF, 2, -0.0])
    made.update_labels([1], rows=[31])
    made.update([7])
    return made


def file_monitor():
    """A monitor of files with an alarm, rows that wait, and an early label."""
    made = begun_file_monitor(groups=["a", "b", "a", "b"], max_wait=20)
    ids = [str(i) for i in range(60)]
    labels = np.ones(60, dtype=int)
    made.add_rows(
        *(FileFacts("1.csv", "2026-01-02", "b"), np.arange(60) / 2, labels, ids),
        ["a"] * 60,
    )
    waits = np.array([-1, 0, -1])
    made.add_rows(
        *(FileFacts("2.csv", "2026-01-03", "c"), np.array([INF, 0.0, -2]), waits),
        *(["x", "y", "ü"], ["b", "a", "c"]),
    )
    made.add_labels(FileFacts("3.csv", "2026-01-04", "d"), ["new"], np.array([1]))
    made.judge(0)
    return made


def protecting_file_monitor():
    """A monitor of files without groups, whose rule is protected for five rows."""
    made = begun_file_monitor()
    made.add_rows(
        *(FileFacts("1.csv", "2026-01-02", "b"), np.array([1.0, 2, INF, 0.0, 2])),
        *(np.array([-1, 0, -1, 1, -1]), list("vwxyü")),
        protect=True,
    )
    made.add_labels(FileFacts("2.csv", "2026-01-03", "c"), ["x"], np.array([1]))
    made.judge(0)
    return made


def begun_file_monitor(groups=None, max_wait=5):
    """A monitor of files that has seen calibration rows alone."""
    scores, labels = map(np.array, ROWS)
    made = FileMonitor.begin(
        *(scores.astype(float), labels, groups),
        alpha=0.5,
        has_ids=True,
        increasing=True,
        max_wait=max_wait,
        score_bits=10,
        seed=0,
    )
    made.note_calibration(FileFacts("0.csv", "2026-01-01", "a"), ["p", "q"])
    return made


def top_rule():
    """Three classes, of which the last is never on top."""
    scores = [[3, 1, 0], [2, 1, 0], [4, 0, 1], [0, 5, 1], [1, 6, 0], [INF, 1, 2]]
    return abers.rules.fit_top_rule(scores, [0, 2, 0, 1, 0, 1])


def protected(base):
    """Protected probabilities of which some labels came, and two rows wait by name."""
    made = abers.Protected(base)
    scores = np.arange(40) / 8
    made.predict(scores)
    made.update(scores[:30], np.ones(30)).drop(scores[30:31])
    made.predict([INF, -0.0, 2], ids=["a", 7, "ü"])
    return made.update([-0.0], [0], ids=[7])


def _pooled(folds, **options):
    return abers.rules.fit_pooled_rule(
        [3, 1, -0.0, INF], [0, 1, 1, 0], folds, **options
    )


def _groups(groups, **options):
    return abers.fit_rules([3, 1, -0.0, 1], [0, 1, 1, 0], groups, **options)


def _regression(**options):
    return abers.rules.fit_regression_rule(
        [3, 1, -0.0, INF], [0.1, 4, 2, -7], **options
    )


# Rows of a model that is sure of some of them; as logits, and of three classes.
STATED = [0, 0.25, 0.25, 0.5, 0.75, 1, 1, 0.125], [0, 0, 1, 0, 1, 1, 0, 1]
LOGITS = [-INF, -2, -2, 0, 0.5, INF, 9, -1], STATED[1]
VECTORS = [
    *([1, 0, 0], [0, 1, 0], [0.25, 0.25, 0.5], [0.5, 0.5, 0]),
    *([0.25, 0.5, 0.25], [0, 0, 1], [0.5, 0.25, 0.25], [0, 1, 0]),
]
CLASSES = [0, 1, 2, 0, 1, 2, 1, 1]
TWO_MODELS = [0, 1, 0, 1, 0, 1, 0, 1]


def _of_scores(kind, *rows, **options):
    return getattr(abers, f"{kind}Calibrator")(**options).fit(*rows).calibrator_


def _of_folds(labels, **options):
    """Venn-Abers rules of classes by models, as a cross predictor has them."""
    model = abers.CVAPClassifier(GaussianNB(), cv=2, random_state=0, **options)
    return model.fit(np.array(VECTORS * 2)[:, :2] + FEATURES, labels * 2).calibrator_


FEATURES = np.arange(32).reshape(16, 2) % 5
with warnings.catch_warnings():
    warnings.simplefilter("ignore", UserWarning)
    CALIBRATORS = {
        "sigmoid": _of_scores("Platt", *ROWS),
        "sigmoids of three classes": _of_scores("Platt", VECTORS, CLASSES),
        "isotonic steps": _of_scores("Isotonic", *LOGITS).with_columns(["s"]),
        "isotonic steps of three classes": _of_scores(
            "Isotonic", VECTORS, list("abcabcbb"), [0.5, 1, 2, 1, 1, 0, 3, 1]
        ),
        "temperature": _of_scores("Temperature", *STATED),
        "temperature of three classes": _of_scores("Temperature", VECTORS, CLASSES),
        "beta curve": _of_scores("Beta", *STATED),
        "beta curves of three classes": _of_scores("Beta", VECTORS, CLASSES),
        "Venn-Abers rules": _of_scores("IVAP", *ROWS).with_classes(["no", "yes"]),
        "Venn-Abers rules of three classes": _of_scores("IVAP", VECTORS, CLASSES),
        "Venn-Abers rules of pairs": _of_scores(
            "IVAP", VECTORS, CLASSES, [0.5, 1, 2, 1, 1, 0, 3, 1], multiclass="ovo"
        ),
        "Venn-Abers rules of a missing class": _of_scores(
            "IVAP", VECTORS, [0, 1, 0, 0, 1, 0, 1, 1], multiclass="ovo"
        ),
        "Venn-Abers rules of two folds": _of_folds([0, 1, 0, 0, 1, 1, 1, 0]),
        "Venn-Abers rules of all folds": _of_folds(
            [0, 1, 0, 0, 1, 1, 1, 0], merge="pooled", loss="brier"
        ),
        "Venn-Abers rules of all folds of three classes": _of_folds(
            CLASSES, merge="pooled", multiclass="ovr"
        ),
    }

THINGS = {
    "rule": abers.fit_rule(*ROWS),
    "decreasing rule": abers.fit_rule(
        ROWS[0], [1, 0, 1, 0], increasing=False
    ).with_metadata({"model": "v7"}),
    "rule of integer weights": abers.fit_rule(*ROWS, sample_weight=[3, 1, 2, 1]),
    "weighted rule": abers.fit_rule(*ROWS, sample_weight=[0.1, 1e9, 7, 1]),
    "rule with its diagram": abers.fit_rule(*ROWS, keep_diagram=True),
    "weighted rule with its diagram": abers.fit_rule(
        [3, 1, -0.0, INF, 1],
        [0, 1, 1, 0, 0],
        sample_weight=[0.1, 3, 7, 1e-9, 0.5],
        increasing=False,
        keep_diagram=True,
    ).with_metadata({"model": "v7"}),
    "rule of infinite scores": abers.fit_rule([-INF, 0, INF], [0, 0, 1]),
    "rule of tiny and huge scores": abers.fit_rule([-5e-324, 0, 1e308], [0, 1, 1]),
    "rule without thresholds": abers.fit_rule([INF], [0]),
    "rule of one row": abers.fit_rule([0.1], [1]),
    "rule of many rows": abers.fit_rule(
        np.arange(1, 2501), np.arange(2500) * 769 % 2500 < 500
    ),
    "rule without cells": abers.fit_rule(*ROWS).with_cells(None),
    "mirrored rule": abers.fit_rule([1, 2, 3], [0, 1, 0]).mirrored(),
    "rule with a prior": abers.fit_rule(*ROWS).with_prior(0.2),
    "diagram": abers.rules.Diagram.from_counts([3, 1, 2], [5, 1, 2**40], [0, 1, 7]),
    "weighted diagram": abers.rules.Diagram([1, 2], [0.5, 1e9], [0, 0.1], {"day": 1}),
    "diagram of whole positives": abers.rules.Diagram([1, 2], [0.5, 1], [1, 1]),
    "diagram of infinite scores": abers.rules.Diagram(
        [-INF, 0.5, INF], [1, 0, 1], [0, 1, 0]
    ),
    "rule set": _groups(["b", "a", "a", "b"], minimum=1),
    "rule set of any text": _groups(["", "Größe 😀", '"],[\\', "\x00"], minimum=0),
    "rule set of integers": _groups(
        [-1, 2**70, -1, 10**300], minimum=0, increasing=False
    ),
    "rule set with its diagrams": _groups(
        ["b", "a", "a", "b"], minimum=1, keep_diagram=True
    ),
    "weighted rule set with its diagrams": _groups(
        [7, 8, 7, 7], sample_weight=[0.1, 2, 1e-9, 1], keep_diagram=True
    ),
    "rule set of floats": _groups([0.1, 2.0, -0.0, 0.1], minimum=1),
    "rule set of booleans": _groups([True, True, False, True], minimum=1),
    "rule set of one small group": _groups([7] * 4),
    "weighted rule set": _groups([7, 8, 7, 7], sample_weight=[0.1, 2, 1e-9, 1]),
    "rule set of which one group has whole weights": _groups(
        [7, 8, 7, 7], sample_weight=[2, 0.5, 1, 3]
    ),
    "rule set whose small groups share a rule": _groups(["b", "a", "a", "b"]),
    "pooled rule": _pooled([0, 1, 1, 0]),
    "decreasing pooled rule": _pooled([0] * 4, increasing=False),
    "pooled rule of a fold for each row": _pooled([3, 0, 2, 1], weight=4),
    "pooled rule of weight 1/3": _pooled([0, 1, 1, 0], weight=1 / 3),
    "pooled rule of any weight": _pooled(
        [0, 1, 1, 0], weight=Fraction(10**9 + 1, 3 * 10**9)
    ),
    "weighted pooled rule": _pooled([0, 1, 1, 0], sample_weight=[0.1, 2, 1e-9, 1]),
    "pooled rule of which one fold has whole weights": _pooled(
        [0, 1, 1, 0], sample_weight=[2, 0.5, 0.25, 1]
    ),
    "pooled rule with an empty fold": _pooled([0, 1, 2, 0], sample_weight=[2, 0, 3, 1]),
    "pooled rule of nothing": abers.rules.PooledRule([None, None]),
    "poset rule": abers.rules.fit_poset_rule(
        [[1, INF], [2, -0.0], [1, 3], [1, INF]], [0, 1, 1, 0], increasing=[True, False]
    ),
    "poset rule of one score": abers.rules.fit_poset_rule([[1], [2], [2]], [0, 1, 0]),
    "stacked rule": abers.fit_stacked_rule(*STATED),
    "stacked rule of two models": abers.fit_stacked_rule(*STATED, folds=TWO_MODELS),
    "stacked rule of log-odds": abers.fit_stacked_rule(*LOGITS, kind="log-odds"),
    "decreasing stacked rule of margins": abers.fit_stacked_rule(
        [-s for s in LOGITS[0]], LOGITS[1], kind="margin", increasing=False
    ),
    "weighted stacked rule": abers.fit_stacked_rule(
        *STATED, sample_weight=[0.1, 2, 1, 0.5, 0, 3, 1, 1]
    ),
    "stacked rule of one row": abers.fit_stacked_rule([0.25], [1]),
    "stacked rule of three classes": abers.fit_stacked_rule(VECTORS, CLASSES),
    "stacked rule of three classes and two models": abers.fit_stacked_rule(
        VECTORS, CLASSES, folds=TWO_MODELS
    ),
    "stacked rule of margins of three classes": abers.fit_stacked_rule(
        np.array(VECTORS) * 9 - 3, CLASSES, kind="margin", folds=TWO_MODELS
    ),
    **CALIBRATORS,
    "trimmed regression": _regression(),
    "regression rule": _regression(low=-7, high=1e300),
    "regression with one end": _regression(low=-7.5, trim=3),
    "decreasing regression": _regression(high=4, increasing=False),
    "weighted regression": _regression(low=-8, sample_weight=[0.1, 3, 1e-9, 1]),
    "regression without width": _regression(sample_weight=[0, 2, 0, 0]),
    "calibration set": online_set(),
    "empty calibration set": abers.OnlineVennAbers(),
    "calibration set with a window": online_set(window=5),
    "monitor": monitor(),
    "file monitor": file_monitor(),
    "file monitor of nothing yet": begun_file_monitor(),
    "file monitor that protects": protecting_file_monitor(),
    "protected rule": protected(abers.fit_rule(*ROWS)),
    "protected rule of nothing yet": abers.Protected(abers.fit_rule([INF], [0])),
    "protected set": protected(online_set()),
    "protected set with a window": protected(online_set(window=5)),
    "top rule": top_rule(),
    "top rule of one row": abers.rules.fit_top_rule([[1, INF]], [0]),
    "monitor of nothing yet": abers.Monitor([1, 1, 2], [0, 1, 1], max_wait=None),
}
KINDS = {  # the name of each kind in files, and one of it
    "rule": "rule",
    "rule-with-diagram": "weighted rule with its diagram",
    "diagram": "diagram",
    "rule-set": "rule set",
    "pooled-rule": "pooled rule",
    "poset-rule": "poset rule",
    "regression-rule": "regression rule",
    "stacked-rule": "stacked rule",
    "curve-calibrator": "isotonic steps",
    "venn-abers-calibrator": "Venn-Abers rules",
    "calibration-set": "calibration set",
    "monitor": "monitor",
    "file-monitor": "file monitor",
    "protected": "protected rule",
    "top-rule": "top rule",
}


def kind_of(thing):
    """Return what a file calls a thing, from the name of its class."""
    return {
        "Rule": "rule",
        "RuleWithDiagram": "rule-with-diagram",
        "Diagram": "diagram",
        "RuleSet": "rule-set",
        "PooledRule": "pooled-rule",
        "PosetRule": "poset-rule",
        "RegressionRule": "regression-rule",
        "StackedRule": "stacked-rule",
        "CurveCalibrator": "curve-calibrator",
        "VennAbersCalibrator": "venn-abers-calibrator",
        "OnlineVennAbers": "calibration-set",
        "Monitor": "monitor",
        "FileMonitor": "file-monitor",
        "Protected": "protected",
        "TopRule": "top-rule",
    }[type(thing).__name__]


def contents(thing):
    """Return copies of the facts and of the arrays in the state of a thing."""
    state = thing.__getstate__()
    arrays = {
        name: value.copy()
        for name, value in state.items()
        if isinstance(value, np.ndarray)
    }
    return {name: state[name] for name in state if name not in arrays}, arrays


def bits(thing):
    """Return all that a thing is made of, to the last bit, as plain objects."""
    facts, arrays = contents(thing)
    return json.dumps(facts, sort_keys=True), {
        name: (array.dtype, array.tobytes()) for name, array in arrays.items()
    }


# Anything that fits can make, drawn at random.


def drawn(kind, rng):
    """Return a thing of a kind, of few rows that are as nasty as they can be."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", abers.errors.InvertedScoresWarning)
        return DRAWN[kind](rng)


def _rows(rng):
    size = int(rng.choice([1, 2, 3, 5, 12, 60]))
    scores = rng.choice([TIED, NASTY, rng.normal(size=9)][rng.integers(3)], size)
    labels = rng.random(size) < rng.choice([0, 0.2, 0.5, 0.9, 1])
    return scores, labels.astype(int)


def _weights(rng, size):
    """Return weights that can be rounded beside a new case of weight 1, or None."""
    draw = rng.integers(7)
    if draw == 0:
        return None
    wide = 10.0 ** rng.uniform(*[(-15, -9), (-18, 6), (-300, 6)][draw % 3], size)
    wide[rng.integers(size)] = 0.3
    return [
        rng.integers(1, 9, size),
        rng.choice([0.5, 0.25, 3.0], size),
        rng.exponential(size=size) + 1e-9,
        wide,
        np.full(size, rng.choice([1e-12, 1e-9, 0.1, 1e6 / 3, 2.0**20])),
        np.where(
            np.append(True, rng.random(size - 1) < 0.5),
            1.25,
            rng.choice([1e6, 1e-17, 1e-300, 1e5 / 3]),
        ),
    ][draw - 1]


def _drawn_rule(rng):
    scores, labels = _rows(rng)
    rule = abers.fit_rule(
        scores,
        labels,
        sample_weight=_weights(rng, scores.size),
        increasing=bool(rng.integers(2)),
    )
    change = rng.integers(6)
    if change == 0:
        return rule.mirrored()
    if change == 1 and 0 < rule.n_positives < rule.n_rows:
        return rule.with_prior(rng.choice([1e-300, 1e-9, 0.3, 1 - 1e-12]))
    if change == 2:
        return rule.with_cells(None)
    return rule.with_metadata({"abers:label": "y", "n": 1}) if change == 3 else rule


def _drawn_rule_with_diagram(rng):
    scores, labels = _rows(rng)
    return abers.fit_rule(
        scores,
        labels,
        sample_weight=_weights(rng, scores.size),
        increasing=bool(rng.integers(2)),
        keep_diagram=True,
    )


def _drawn_diagram(rng):
    scores, labels = _rows(rng)
    weights = _weights(rng, scores.size)
    return abers.rules.Diagram.from_rows(scores, labels, sample_weight=weights)


def _drawn_rule_set(rng):
    scores, labels = _rows(rng)
    names = [["b", "a", "ä"], [1, 2, 2**60], [0.5, -0.0, 1e300], [True, False]]
    groups = rng.choice(np.array(names[rng.integers(4)]), scores.size)
    return abers.fit_rules(
        scores,
        labels,
        groups,
        minimum=int(rng.choice([0, 1, 30])),
        sample_weight=_weights(rng, scores.size),
        increasing=bool(rng.integers(2)),
        keep_diagram=bool(rng.integers(2)),
    )


def _drawn_pooled_rule(rng):
    scores, labels = _rows(rng)
    weights = _weights(rng, scores.size)
    folds = rng.permutation(np.arange(scores.size) % rng.integers(1, 4))
    if weights is not None and folds.max() > 0:
        weights = weights * (folds != rng.integers(0, folds.max() + 2))
        weights = weights if weights.max() > 1e-9 else None
    if weights is not None and weights.sum() > 2**26:  # beside a new case of 7/10
        weights = weights / 2**10
    return abers.rules.fit_pooled_rule(
        scores,
        labels,
        folds,
        weight=[1, Fraction(1, 3), 10, Fraction(7, 10)][rng.integers(4)],
        sample_weight=weights,
        increasing=bool(rng.integers(2)),
    )


def _drawn_poset_rule(rng):
    scores, labels = _rows(rng)
    n_scores = int(rng.integers(1, 4))
    return abers.rules.fit_poset_rule(
        rng.choice(scores, (scores.size, n_scores)),
        labels,
        increasing=[bool(flag) for flag in rng.integers(0, 2, n_scores)],
        sample_weight=rng.integers(0, 9, scores.size) + 1,
    )


def _drawn_regression(rng):
    scores, _ = _rows(rng)
    middle, scale = rng.choice([0, 1, -1e16, 1e300]), rng.choice([1, 1e-300, 1e10, 4])
    targets = middle + scale * rng.choice(
        [rng.normal(size=scores.size), rng.integers(-1, 2, scores.size) * 1.0]
    )
    low, high = targets.min() - scale * rng.integers(2), targets.max() + scale
    trim, weights = int(rng.choice([1, 1, 2, 5])), _weights(rng, scores.size)
    total = scores.size if weights is None else weights.sum()
    low = low if rng.integers(2) or total < 2 * trim + 1 else None
    high = high if rng.integers(2) or total < 2 * trim + 1 else None
    if low is not None and high is not None and not low < high:
        high = math.nextafter(low, INF)
    return abers.rules.fit_regression_rule(
        scores,
        targets,
        low=low,
        high=high,
        trim=trim,
        sample_weight=weights,
        increasing=bool(rng.integers(2)),
    )


def _drawn_stacked_rule(rng):
    scores, labels = _rows(rng)
    kind = str(rng.choice(["probability", "log-odds", "margin"]))
    n_classes = int(rng.choice([2, 2, 3, 4]))
    if n_classes > 2:
        scores = rng.choice(scores, (scores.size, n_classes))
        labels = rng.permutation(np.arange(labels.size) % n_classes)
    if kind == "probability":
        scores = abs(np.clip(scores, -1, 1))
        if n_classes > 2:
            scores = (scores + (scores.sum(axis=1) == 0)[:, np.newaxis]).T
            scores = (scores / scores.sum(axis=0)).T
    folds = np.arange(labels.size) % rng.integers(1, 4)
    weights = _weights(rng, labels.size)
    if weights is not None and weights.sum() > 2**26:  # beside a new case of 1/3
        weights = weights / 2**10
    return abers.fit_stacked_rule(
        scores,
        labels,
        kind=kind,
        folds=folds,
        sample_weight=weights,
        increasing=bool(n_classes > 2 or rng.integers(2)),
    )


def _drawn_columns(rng):
    """Scores of two to four classes, labels and weights."""
    scores, labels = _rows(rng)
    n_classes = int(rng.choice([2, 3, 4]))
    if n_classes > 2:
        scores = rng.choice(scores, (scores.size, n_classes))
        labels = rng.permutation(np.arange(labels.size) % n_classes)
    weights = rng.integers(1, 9, labels.size) if rng.integers(2) else None
    return scores, labels, weights


def _drawn_curve_calibrator(rng):
    scores, *rest = _drawn_columns(rng)
    kind = str(rng.choice(["Platt", "Isotonic", "Temperature", "Beta"]))
    if kind != "Isotonic":
        scores = np.nan_to_num(scores).clip(-1e6, 1e6)
    return _of_scores(kind, scores, *rest, scores="margin")


def _drawn_venn_abers_calibrator(rng):
    scores, *rest = _drawn_columns(rng)
    multiclass, loss = rng.choice(["ovo", "ovr"]), rng.choice(["log", "brier"])
    options = {"multiclass": str(multiclass), "loss": str(loss)}
    return _of_scores("IVAP", scores, *rest, scores="margin", **options)


def _drawn_set(rng):
    scores, labels = _rows(rng)
    return abers.OnlineVennAbers.from_rows(
        scores,
        labels,
        sample_weight=rng.integers(1, 4, scores.size),
        window=[None, None, 1, 7, 500][rng.integers(5)],
        increasing=bool(rng.integers(2)),
    )


def _drawn_monitor(rng):
    made = abers.Monitor(
        *_rows(rng),
        alpha=float(rng.choice([1e-300, 0.01, 0.9])),
        random_state=int(rng.integers(2**62)),
        max_wait=[None, 1, 3, 50][rng.integers(4)],
        increasing=bool(rng.integers(2)),
    )
    for _ in range(rng.integers(4)):
        scores, labels = _rows(rng)
        made.update(scores, labels, known=rng.random(scores.size) < 0.8)
        rows = made.waiting.rows[rng.random(made.waiting.rows.size) < 0.5]
        made.update_labels(rng.integers(0, 2, rows.size), rows=rows)
    return made


def _drawn_file_monitor(rng):
    scores, labels = _rows(rng)
    made = FileMonitor.begin(
        *(np.asarray(scores, dtype=float) + 0.0, np.asarray(labels, dtype=int)),
        alpha=0.5,
        has_ids=bool(rng.integers(2)),
        increasing=True,
        max_wait=3,
        score_bits=int(rng.integers(1, 54)),
        seed=1,
    )
    made.note_calibration(FileFacts("0", "2026-01-01", "a"), [])
    for turn in range(rng.integers(4)):
        scores, _ = _rows(rng)
        n = len(scores)
        ids = [f"{turn}-{row}" for row in range(n)] if made.has_ids else []
        made.add_rows(
            FileFacts(f"{turn}", "2026-01-02", f"{turn}"),
            np.asarray(scores, dtype=float) + 0.0,
            rng.integers(-1, 2, n),
            ids,
            protect=bool(rng.integers(2)),
        )
        made.judge(turn)
    return made


def _drawn_protected(rng):
    made = abers.Protected(drawn(str(rng.choice(["rule", "calibration-set"])), rng))
    for turn in range(rng.integers(4)):
        scores, labels = _rows(rng)
        ids = [f"{turn}-{row}" for row in range(scores.size)] if turn % 2 else None
        made.predict(scores, ids)
        n = int(rng.integers(scores.size + 1)) if turn < 2 else 0
        made.update(scores[:n], labels[:n], ids and ids[:n])
    return made


def _drawn_top_rule(rng):
    size, n_classes = int(rng.integers(1, 30)), int(rng.integers(2, 5))
    scores = rng.choice([TIED, NASTY][rng.integers(2)], (size, n_classes))
    labels = rng.integers(0, n_classes, size)
    return abers.rules.fit_top_rule(scores, labels)


DRAWN = {
    "rule": _drawn_rule,
    "rule-with-diagram": _drawn_rule_with_diagram,
    "diagram": _drawn_diagram,
    "rule-set": _drawn_rule_set,
    "pooled-rule": _drawn_pooled_rule,
    "poset-rule": _drawn_poset_rule,
    "regression-rule": _drawn_regression,
    "stacked-rule": _drawn_stacked_rule,
    "curve-calibrator": _drawn_curve_calibrator,
    "venn-abers-calibrator": _drawn_venn_abers_calibrator,
    "calibration-set": _drawn_set,
    "monitor": _drawn_monitor,
    "file-monitor": _drawn_file_monitor,
    "protected": _drawn_protected,
    "top-rule": _drawn_top_rule,
}
