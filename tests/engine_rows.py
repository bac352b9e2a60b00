"""Rows for engines, small and with all that is awkward, and a small Spark."""

import numpy as np

import abers
from abers.rules import fit_pooled_rule, fit_poset_rule

SETTINGS = {
    "spark.master": "local[2,4]",  # a task that fails is tried again
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "3",
    "spark.log.level": "OFF",
}


def made_rows(n=600, *, seed=0, skewed=False):
    """Return scores, labels and groups, with ties, infinities and both zeros."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n).round(2)
    labels = (rng.random(n) < 1 / (1 + np.exp(-scores))).astype(int)
    scores[:6] = [np.inf, -np.inf, 0.0, -0.0, np.inf, -np.inf]
    if skewed:
        scores[: n // 3] = 0.25
    groups = rng.choice(["a", "b", "c", "tiny"], p=[0.5, 0.3, 0.19, 0.01], size=n)
    return scores.tolist(), labels.tolist(), groups.tolist()


def several_scores(n=300, *, seed=0):
    """Return probabilities by three models for three classes, and the labels."""
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.ones(3), size=(n, 3)).round(6)
    labels = np.array([rng.choice(3, p=each / each.sum()) for each in table[:, 0]])
    return table, labels


def predictors(folder):
    """Return predictors as `abers.load` gives them, each with its scores."""
    table, classes = several_scores()
    labels, folds = (classes == 1).astype(int), np.arange(classes.size) % 3
    columns = np.ascontiguousarray(table[:, :, 1])
    of_one, own = table[:, 0], columns[np.arange(classes.size), folds]
    of_folds = table[np.arange(classes.size), folds]
    fits = {
        "pooled": (fit_pooled_rule(own, labels, folds), columns),
        "several scores": (fit_poset_rule(columns, labels), columns),
        "stacked": (abers.fit_stacked_rule(of_one[:, 1], labels), columns[:, :1]),
        "stacked models": (abers.fit_stacked_rule(own, labels, folds=folds), columns),
        "stacked classes": (abers.fit_stacked_rule(of_one, classes), of_one),
        "stacked models of classes": (
            abers.fit_stacked_rule(of_folds, classes, folds=folds),
            table.reshape(classes.size, 9),
        ),
    }
    for name, (fitted, scores) in fits.items():
        fitted.save(folder / "saved.abers")
        fits[name] = abers.load(folder / "saved.abers"), scores
    return fits


PREDICTORS = (
    *("pooled", "several scores", "stacked", "stacked models", "stacked classes"),
    "stacked models of classes",
)


def expected_columns(predictor, scores):
    """Return what must be added to columns of scores, by name."""
    n_classes = getattr(predictor, "n_classes", 2)
    shape = {1: (), 3: (3,), 9: (3, 3)}[scores.shape[1]]
    bounds = predictor.bounds(scores.reshape(-1, *shape))
    p = predictor.probability(scores.reshape(-1, *shape))
    names = ("lower", "upper", "probability")
    if n_classes == 2:
        return dict(zip(names, [*bounds.T, p], strict=True))
    return {
        f"{name}_{c}": column
        for c in range(n_classes)
        for name, column in zip(names, [*bounds[:, c].T, p[:, c]], strict=True)
    }
