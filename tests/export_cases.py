"""Rules of every kind, and the scores at which an export could read one wrongly."""

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import abers
from abers._kernel import Table
from abers.core.class_scores import rounded, rounded_log_odds
from abers.export import steps

LARGEST = np.finfo(float).max
EDGES = np.array([-np.inf, np.inf, 0.0, -0.0, 5e-324, -5e-324, LARGEST, -LARGEST])


def drawn(size, seed, *, rate=0.5, decimals=None):
    """Return scores, and labels that a score makes likelier."""
    rng = np.random.default_rng(seed)
    labels = rng.random(size) < rate
    scores = rng.normal(labels, 1.0)
    if decimals is not None:
        scores = (1 / (1 + np.exp(-scores))).round(decimals)
    return scores, labels.astype(int)


def _with_infinities():
    scores, labels = drawn(200, 2)
    return abers.fit_rule(
        np.r_[scores, -np.inf, np.inf, np.inf], np.r_[labels, 0, 1, 0]
    )


def _denormal():
    scores = np.arange(-8, 9) * 5e-324
    return abers.fit_rule(scores, np.arange(17) % 3 > 0)


def _huge():
    scores = np.linspace(-1, 1, 50) * LARGEST
    return abers.fit_rule(scores, np.arange(50) % 7 > 2)


def _weighted():
    scores, labels = drawn(300, 3)
    weights = np.random.default_rng(4).random(300)
    return abers.fit_rule(scores, labels, sample_weight=weights)


def _with_exact_zeros_and_ones():
    """As of a small forest: many a tie, at 0 and 1 too."""
    rng = np.random.default_rng(5)
    scores = rng.integers(0, 11, 500) / 10
    return abers.fit_rule(scores, rng.random(500) < scores * 0.8 + 0.1)


def _decreasing():
    scores, labels = drawn(500, 6, rate=0.3)
    return abers.fit_rule(-scores, labels, increasing=False)


def rules():
    """Return a rule of each kind, by name."""
    return {
        "rare": abers.fit_rule(*drawn(3_000, 0, rate=0.01)),
        "forest-like": abers.fit_rule(*drawn(1_000, 1, decimals=2)),
        "infinite": _with_infinities(),
        "decreasing": _decreasing(),
        "one row": abers.fit_rule([0.5], [1]),
        "denormal": _denormal(),
        "huge": _huge(),
        "weighted": _weighted(),
        "middling": abers.fit_rule(*drawn(5_000, 7)),
        "zeros and ones": _with_exact_zeros_and_ones(),
        "at -inf only": abers.fit_rule([-np.inf], [0]),
    }


def rule_of(size):
    """Return a rule of so many steps; a fit to real rows has far fewer."""
    lower = np.linspace(0, 0.9, size)
    quantiles = np.linspace(0, 1, 101)
    table = Table(np.arange(1, size) / size, lower, lower + 0.1, quantiles)
    return abers.rules.Rule(table, n_rows=size, n_positives=size, increasing=True)


def rule_set():
    """Return rules for groups: two large ones, two too small for their own."""
    scores, labels = drawn(900, 8)
    groups = np.array(["north", "south", "it's", 'a "b" \\'])
    sizes = (500, 360, 20, 20)
    return abers.fit_rules(scores, labels, np.repeat(groups, sizes), minimum=30)


def probes(rule, n_random=500, seed=9):
    """Return every threshold with both neighbours, all edges, and random scores."""
    rng = np.random.default_rng(seed)
    t = rule.thresholds
    with np.errstate(over="ignore", under="ignore"):
        beside = np.concatenate((np.nextafter(t, -np.inf), np.nextafter(t, np.inf)))
    finite = t[np.isfinite(t)]
    with np.errstate(over="ignore", under="ignore"):
        drawn_from = finite if finite.size else [1.0]
        spread = rng.choice(drawn_from, n_random) * rng.uniform(-1.1, 1.1, n_random)
    return np.concatenate((t, beside, EDGES, spread[np.isfinite(spread)]))


def answers(rule, scores):
    """Return lower, upper and probability of each score, as the rule has them."""
    return np.column_stack((rule.bounds(scores), rule.probability(scores)))


def mismatches(computed, expected):
    """Count the numbers whose bits differ; NaN and None are missing, in both."""
    computed = np.asarray(computed, dtype=float).reshape(-1, 3)
    expected = np.asarray(expected, dtype=float).reshape(-1, 3)
    assert computed.shape == expected.shape
    missing = np.isnan(computed) & np.isnan(expected)
    return int((~missing & (computed.view(np.int64) != expected.view(np.int64))).sum())


def stacked_rules():
    """Return a stacked rule of each kind, with the scores to read."""
    scores, labels = drawn(3_000, 10, rate=0.3)
    p = 1 / (1 + np.exp(-scores))
    rng = np.random.default_rng(11)
    outside = np.r_[EDGES, 1e308, -1e308, 800, -800, 40, -40, rng.normal(size=200) * 3]
    inside = np.r_[0, 1, 5e-324, 1 - 2**-53, p[:200], rng.random(200)]
    infinite = np.r_[-scores, np.inf, -np.inf], np.r_[labels, 0, 1]
    tied = np.r_[p.round(1), 0, 1, 0, 1], np.r_[labels, 0, 1, 1, 0]

    def fitted(data, kind, *, increasing=True):
        return abers.fit_stacked_rule(*data, kind=kind, increasing=increasing)

    return {
        "probability": (fitted((p, labels), "probability"), inside),
        "ties": (fitted(tied, "probability"), np.r_[np.arange(11) / 10, inside]),
        "falling": (fitted((1 - p, labels), "probability", increasing=False), inside),
        "log-odds": (fitted((scores.round(1), labels), "log-odds"), outside),
        "falling log-odds": (
            fitted((-scores, labels), "log-odds", increasing=False),
            outside,
        ),
        "margin": (fitted((scores, labels), "margin"), outside),
        "infinite": (fitted(infinite, "margin", increasing=False), outside),
        "flat margin": (fitted((scores * 1e6, labels), "margin"), outside),
        **of_classifiers(),
    }


def trained_rows(seed=12, n_classes=2):
    """Return features that tell classes apart, badly, and labels."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, 1_500)
    return rng.normal(labels[:, np.newaxis] * [0.9, -0.7], 1.0), labels


def of_classifiers():
    """Return calibrators of classifiers, with numbers to read: they round these."""
    X, y = trained_rows()
    new = np.random.default_rng(13).normal(size=(200, 2))
    logistic = LogisticRegression().fit(X[:500], y[:500])
    forest = RandomForestClassifier(20, random_state=0)
    made = {
        "frozen": abers.CalibratedClassifier(FrozenEstimator(logistic)),
        "forest": abers.CalibratedClassifier(forest, ensemble=False),
        "rounded margins": abers.CalibratedClassifier(LinearSVC(), ensemble=False),
    }
    cases = {}
    for name, model in made.items():
        model.fit(X[500:], y[500:])
        (inner,) = model.estimators_
        given = (
            inner.decision_function(new)
            if name == "rounded margins"
            else inner.predict_proba(new)[:, 1]
        )
        cases[name] = model.calibrator_, given
    frozen, given = cases["frozen"]
    in_logs = frozen.read_as("log-odds", is_rounded=True)
    cases["rounded log-odds"] = in_logs, np.log(given) - np.log1p(-given)
    edges = np.array([0.0, 1.0, 0.5, 5e-324, 1e-310, 1 - 2**-53])
    # Where a step begins, the last bit of a logarithm tells which way it is rounded.
    return {
        name: (
            calibrator,
            np.r_[given, edges]
            if calibrator.reads == "probability"
            else np.r_[given, edges, probes_of_steps(calibrator)],
        )
        for name, (calibrator, given) in cases.items()
    }


def pair_calibrators():
    """Return Venn-Abers calibrators of two classes and one model, with numbers."""
    X, y = trained_rows()
    model = abers.IVAPClassifier(LogisticRegression(), random_state=0).fit(X, y)
    p = np.random.default_rng(14).random(400).round(2)
    of_table = abers.IVAPCalibrator(scores="probability", loss="brier")
    of_table.fit(p, np.arange(400) % 7 < 7 * p)
    made = {"margins": model.calibrator_, "probabilities": of_table.calibrator_}
    return {name: (each, probes_of_steps(each)) for name, each in made.items()}


def probes_of_steps(calibrator):
    """Return where steps of a calibrator start, beside these, and the edges."""
    loss = getattr(calibrator, "loss", "log")
    start = steps(calibrator, loss=loss).start[1:]
    with np.errstate(over="ignore", under="ignore"):
        beside = np.r_[np.nextafter(start, -np.inf), np.nextafter(start, np.inf)]
    numbers = np.r_[start, beside, EDGES]
    if calibrator.reads == "probability":
        inside = numbers[(numbers >= 0) & (numbers <= 1)]
        return np.r_[inside, 1.0, 1 - 2**-53, 1e-310]
    return numbers


def as_read(calibrator, given):
    """Return what a calibrator of two classes makes of the numbers that it is given."""
    if calibrator.reads == calibrator.kind and not calibrator.is_rounded:
        return given
    if calibrator.kind == "margin":
        return rounded(given)
    if calibrator.reads == "log-odds":
        return rounded_log_odds(given)
    with np.errstate(divide="ignore"):
        return rounded_log_odds(np.log(given) - np.log(1 - given))


def answers_of_steps(calibrator, given):
    """Return both bounds and their merge, of the rule among the parts of a stack."""
    return answers(calibrator.rule, as_read(calibrator, given))


def largest_difference(computed, expected):
    """Return the largest difference of numbers; what is missing, is so in both."""
    computed, expected = (np.asarray(x, dtype=float) for x in (computed, expected))
    assert np.array_equal(np.isnan(computed), np.isnan(expected))
    return np.nanmax(abs(computed - expected))


def calibrators():
    """Return calibrators of several models or classes, with rows to read."""
    two, three = trained_rows(), trained_rows(n_classes=3)
    rng = np.random.default_rng(15)
    logistic = LogisticRegression()

    def calibrated(rows, estimator, **options):
        return abers.CalibratedClassifier(estimator, **options).fit(*rows).calibrator_

    def crossed(rows, **options):
        model = abers.CVAPClassifier(logistic, cv=3, random_state=0, **options)
        return model.fit(*rows).calibrator_

    p, folds = rng.random(600), rng.integers(0, 3, 600)
    y, w = rng.random(600) < p, rng.random(600)
    odds = np.r_[np.log(p) - np.log1p(-p), np.inf, -np.inf, np.inf]
    pooled = abers.rules.fit_pooled_rule(
        odds, np.r_[y, 1, 0, 0], np.r_[folds, 0, 1, 1], sample_weight=np.r_[w, 1, 1, 1]
    )
    shares = rng.dirichlet(np.ones(3), 600)
    of_share = (rng.random((600, 1)) > shares.cumsum(axis=1)).sum(axis=1)
    ovr = abers.IVAPClassifier(logistic, multiclass="ovr", random_state=0)
    made = {
        "models": calibrated(two, logistic, cv=3),
        "forests": calibrated(two, RandomForestClassifier(10, random_state=0), cv=2),
        "margins of models": calibrated(two, LinearSVC(), cv=3),
        "plain probabilities": abers.fit_stacked_rule(p, y, folds=folds),
        "minimax": crossed(two, merge="minimax"),
        "minimax, brier": crossed(two, merge="minimax", loss="brier"),
        "pooled": crossed(two, merge="pooled"),
        "pooled, weighted": pooled,
        "classes": calibrated(three, logistic, ensemble=False),
        "plain classes": abers.fit_stacked_rule(shares, of_share),
        "margins of classes": calibrated(three, LinearSVC(), ensemble=False),
        "logits of classes": abers.fit_stacked_rule(
            np.log(shares) + rng.normal(size=(600, 1)), of_share, kind="log-odds"
        ),
        "classes and models": calibrated(three, logistic, cv=3),
        "ovr": ovr.fit(*three).calibrator_,
        "ovr, minimax": crossed(three, merge="minimax", multiclass="ovr"),
        "ovr, pooled": crossed(three, merge="pooled", multiclass="ovr"),
    }
    return {name: (each, _rows_for(each, rng)) for name, each in made.items()}


def _rows_for(calibrator, rng, size=200):
    """Return rows that a calibrator reads: ties, and what is sure, too."""
    if isinstance(calibrator, abers.rules.PooledRule):
        inner = rng.choice(calibrator.diagrams[0].scores, (size, calibrator.n_folds))
        return np.r_[inner, rng.normal(size=inner.shape), np.full((1, 3), np.inf)]
    shape = size, calibrator.n_models, calibrator.n_classes
    if calibrator.n_classes > 2:
        rows = rng.dirichlet(np.ones(shape[2]), shape[:2])
        rows[:20] = rows[:20].round(1)
        rows[20:23] = np.eye(shape[2])[[0, 1, 2], np.newaxis]
        rows[:23, :, 0] = np.maximum(1 - rows[:23, :, 1:].sum(axis=2), 0)
        if calibrator.reads != "probability":
            rows = rng.normal(size=shape) * 2
        return rows.reshape(size, -1)
    if calibrator.reads == "probability":
        rows = rng.random(shape[:2])
        edges = [0.0, 1.0, 0.5, 5e-324]
        rows[:50] = rows[:50].round(1)
    else:
        rows, edges = rng.normal(size=shape[:2]), EDGES
    return np.r_[rows, np.tile(np.reshape(edges, (-1, 1)), shape[1])]


def loss_of(calibrator):
    """Return the loss for which a calibrator merges bounds."""
    return getattr(calibrator, "loss", "log")


def all_answers(calibrator, rows):
    """Return lower, upper and probability: (n, 3), or (n, C, 3) of many classes."""
    p = calibrator.probability(rows)
    return np.concatenate((calibrator.bounds(rows), p[..., np.newaxis]), axis=-1)
