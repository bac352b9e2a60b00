"""Classifiers that count or keep what is done to them, and the rule they should get."""

import math
import struct
from fractions import Fraction

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB

import abers
from abers.core.merging import MERGES

X, Y = make_classification(
    240, 5, n_informative=3, n_redundant=0, flip_y=0.2, random_state=0
)


def single(scores):
    """Round to single precision, one number at a time by another way than ours."""
    return np.array([struct.unpack("f", struct.pack("f", s))[0] for s in scores])


def single_log_odds(scores):
    """Round to multiples of 2^-22 by integers, then to single precision."""
    steps = [s if math.isinf(s) else round(Fraction(s) * 2**22) for s in scores]
    return single([math.ldexp(s, -22) for s in steps])


def multiples(scores, calibration):
    """Round to multiples of 2^-22 of a power of 2: that below the quartiles' range."""
    low, high = np.percentile(calibration, [25, 75])
    step = Fraction(2) ** (math.floor(math.log2(high - low)) - 22)
    return np.array([float(round(Fraction(s) / step) * step) for s in scores])


def log_odds(probabilities):
    """Score the second of two classes by its probability and the other's."""
    with np.errstate(divide="ignore"):
        logs = np.log(probabilities)
    return single_log_odds(logs[:, 1] - logs[:, 0])


def scores_of(model, rows):
    """What a fitted classifier says of two classes, as ours hear it."""
    if hasattr(model, "decision_function"):
        return single(model.decision_function(rows))
    with np.errstate(divide="ignore"):
        if hasattr(model, "predict_log_proba"):
            logs = model.predict_log_proba(rows)
            return single_log_odds(logs[:, 1] - logs[:, 0])
    return log_odds(model.predict_proba(rows))


def merged_classes(bounds, loss):
    """Probabilities (n, C) of bounds (K, n, C, 2) of classes against the rest."""
    merge = MERGES[loss]
    return merge.of_class_terms(merge.class_term(np.asarray(bounds)))


def boxed(bounds, inside):
    """Range of each class, (n, C, 2), one at a time, widened to hold `inside`."""
    lower, upper = np.moveaxis(np.asarray(bounds), -1, 0)
    ends = np.empty_like(bounds)
    for c in range(lower.shape[1]):
        others = [np.delete(end, c, axis=1).sum(axis=1) for end in (upper, lower)]
        ends[:, c, 0] = lower[:, c] / (lower[:, c] + others[0])
        ends[:, c, 1] = upper[:, c] / (upper[:, c] + others[1])
    ends[..., 0] = np.minimum(ends[..., 0], inside)
    ends[..., 1] = np.maximum(ends[..., 1], inside)
    return ends


def rule_of(model, rows, labels, weights=None):
    """The IVAP of a fitted classifier, from nothing but `fit_rule`."""
    return abers.fit_rule(scores_of(model, rows), labels, sample_weight=weights)


def beta_by_another_solver(log_odds, labels, weights, clip=None):
    """Minimise the log loss and its ridge around (1, 1, 0) with a, b >= 0."""
    clip = clip or 0.1 / weights.sum()
    ends = math.log(clip), math.log1p(-clip)
    logs = log_expit(log_odds).clip(*ends), -log_expit(-log_odds).clip(*ends)
    design = np.stack((*logs, np.ones(len(labels))))

    def loss(parameters):
        z = parameters @ design
        away = parameters - [1, 1, 0]
        value = weights @ (np.logaddexp(0, z) - labels * z) + 0.05 * away @ away
        return value, design @ (weights * (expit(z) - labels)) + 0.1 * away

    best = minimize(
        loss,
        [1.0, 1.0, 0.0],
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None), (0, None), (None, None)],
        options={"maxiter": 10_000, "ftol": 1e-15, "gtol": 1e-10},
    )
    return loss, best.fun, expit(best.x @ design)


def matrix_by_another_solver(logits, labels, weights, ends):
    """Minimise the log loss and its ridge around the unit matrix; read it at all rows.

    The ridge is 0.1 on the diagonal and on the intercepts, 0.1 C (C - 1) elsewhere.
    """
    n_classes = logits.shape[1]
    clipped = logits.clip(*ends)
    features = clipped - clipped.mean(axis=1, keepdims=True)
    unit, own = np.eye(n_classes), np.eye(n_classes)[labels]
    ridge = np.where(unit > 0, 0.1, 0.1 * n_classes * (n_classes - 1))

    def loss(parameters):
        change, intercepts = np.split(parameters, [n_classes**2])
        change = change.reshape(n_classes, n_classes)
        z = features @ (unit + change).T + intercepts
        value = (ridge * change**2).sum() / 2 + 0.05 * intercepts @ intercepts
        value -= weights @ (log_softmax(z, axis=1) * own).sum(axis=1)
        excess = weights[:, None] * (softmax(z, axis=1) - own)
        by_change = ridge * change + excess.T @ features
        by_intercept = 0.1 * intercepts + excess.sum(axis=0)
        return value, np.concatenate((by_change.ravel(), by_intercept))

    best = minimize(
        loss,
        np.zeros(n_classes**2 + n_classes),
        jac=True,
        method="BFGS",
        options={"gtol": 1e-7, "maxiter": 10_000},
    )
    change, intercepts = np.split(best.x, [n_classes**2])
    matrix = unit + change.reshape(n_classes, n_classes)
    return loss, best.fun, softmax(features @ matrix.T + intercepts, axis=1)


class Counting(GaussianNB):
    """Keep the number of rows of each training, of all copies together."""

    trained: list = []  # noqa: RUF012 (shared on purpose)

    def fit(self, X, y, sample_weight=None):
        self.trained.append(len(X))
        return super().fit(X, y, sample_weight)


class Recording(ClassifierMixin, BaseEstimator):
    """Keep what `fit` was given; score by the first column."""

    def fit(self, X, y, *, sample_weight=None, eval_set=None, offset=None, tag=None):
        self.classes_ = np.unique(y)
        self.seen_ = {
            "X": X,
            "sample_weight": sample_weight,
            "eval_set": eval_set,
            "offset": offset,
            "tag": tag,
        }
        return self

    def decision_function(self, X):
        return np.asarray(X)[:, 0]
