"""Prequential evaluation equals a loop of refits, to the last bit."""

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, log_loss

import abers
from abers.errors import InvalidData, InvalidParameter
from strategies import either_way

pytestmark = either_way  # windows of few rows may be inverted


def stream(n, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n).round(1)  # with ties
    return scores, (rng.random(n) < 1 / (1 + np.exp(-scores))).astype(int)


@pytest.mark.parametrize("increasing", [True, False])
@pytest.mark.parametrize("window", [None, 1, 60])
def test_bounds_are_those_of_a_refit_before_each_row(window, increasing):
    scores, labels = stream(500)
    sequence = abers.online.prequential(
        scores, labels, window=window, increasing=increasing
    )
    np.testing.assert_array_equal(sequence.bounds[0], [0, 1])
    for i in range(1, 500):
        kept = slice(0 if window is None else max(0, i - window), i)
        rule = abers.fit_rule(scores[kept], labels[kept], increasing=increasing)
        np.testing.assert_array_equal(sequence.bounds[i], rule.bounds(scores[[i]])[0])
        assert sequence.probability[i] == rule.probability(scores[[i]])[0]


def test_losses_are_those_of_scikit_learn():
    scores, labels = stream(300)
    sequence = abers.online.prequential(scores, labels)
    p = sequence.probability
    assert sequence.mean_log_loss == pytest.approx(log_loss(labels, p), rel=1e-12)
    assert sequence.mean_brier_loss == pytest.approx(brier_score_loss(labels, p))
    np.testing.assert_allclose(sequence.brier_losses, (labels - p) ** 2)


def test_a_short_window_follows_a_change():
    """What a window is for: after a change the old rows mislead."""
    scores, labels = stream(4000)
    labels[2000:] = 1 - labels[2000:]
    every, recent = (
        abers.online.prequential(scores, labels, window=w).log_losses[3000:].mean()
        for w in (None, 500)
    )
    assert recent < every - 0.02


@pytest.mark.parametrize(
    ("scores", "labels", "options", "error", "sentence"),
    [
        ([], [], {}, InvalidData, "must not be empty"),
        ([1, np.nan], [0, 1], {}, InvalidData, "first at row 1"),
        ([1, 2], [0, 3], {}, InvalidData, "labels must be 0 or 1; got 3 at row 1"),
        ([1], [1], {"window": 0}, InvalidParameter, "window must be at least 1"),
        (
            [1],
            [1],
            {"loss": "hinge"},
            InvalidParameter,
            "'log' or 'brier'; got 'hinge'",
        ),
    ],
)
def test_bad_input_is_one_sentence(scores, labels, options, error, sentence):
    with pytest.raises(error, match=sentence):
        abers.online.prequential(scores, labels, **options)
