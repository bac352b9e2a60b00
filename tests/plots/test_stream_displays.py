"""Streams: what their displays show."""

import math

import numpy as np
import pytest

import abers
from abers.errors import InvalidParameter
from abers.plots import MonitorDisplay, PrequentialDisplay
from abers.plots.streams import outlined


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=1200)
    return scores, (rng.random(1200) < 1 / (1 + np.exp(-scores))).astype(int)


def test_a_line_is_the_capital_of_its_test_in_powers_of_ten(rows):
    monitor = abers.Monitor(*rows)
    state = monitor.update(rows[0][:200] + 1, rows[1][:200])
    display = monitor.plot()
    for test, line in display.lines_.items():
        last = line.get_ydata()[-1]
        capital = getattr(state, f"capital_{test}")
        assert last == pytest.approx(math.log10(capital))
    assert display.limit_.get_ydata()[0] == pytest.approx(math.log10(300))
    assert display.alarms_.get_xdata() == [state.since_row]
    assert display.ax_.get_xlabel() == "row of the stream"


def test_without_labels_the_scores_are_drawn_alone(rows):
    monitor = abers.Monitor(*rows)
    monitor.update(rows[0][:50])
    lines = MonitorDisplay.from_monitor(monitor).lines_
    assert [line.get_xdata().size for line in lines.values()] == [50, 0, 0]


def test_a_monitor_without_rows_cannot_be_drawn(rows):
    with pytest.raises(InvalidParameter, match="must have seen rows"):
        abers.Monitor(*rows).plot()


def test_losses_are_means_of_the_last_rows(rows):
    found = abers.prequential(*rows)
    display = PrequentialDisplay.from_result(found, span=800)
    np.testing.assert_allclose(
        display.line_.get_ydata()[[0, -1]],
        [found.log_losses[:800].mean(), found.log_losses[-800:].mean()],
    )
    assert display.reference_.get_ydata()[-1] == pytest.approx(found.mean_log_loss)
    assert display.line_.get_xdata()[0] == 799
    assert display.band_ is None


def test_rates_are_drawn_beside_predictions_and_their_bounds(rows):
    found = abers.prequential(*rows)
    display = PrequentialDisplay.from_result(found, quantity="rate", span=1000)
    assert display.line_.get_ydata()[-1] == pytest.approx(
        found.probability[-1000:].mean()
    )
    assert display.reference_.get_ydata()[-1] == pytest.approx(rows[1][-1000:].mean())
    assert display.band_ is not None


def test_a_span_is_never_longer_than_the_stream():
    display = PrequentialDisplay.from_result(abers.prequential([1, 2], [0, 1]))
    assert display.line_.get_xdata().tolist() == [1]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"span": 0}, "span must be at least 1; got 0"),
        ({"quantity": "auc"}, "quantity must be 'log' or 'brier' or 'rate'"),
    ],
)
def test_options_are_checked(options, sentence):
    found = abers.prequential([1, 2], [0, 1])
    with pytest.raises(InvalidParameter, match=sentence):
        PrequentialDisplay.from_result(found, **options)


def test_what_is_left_of_a_long_curve_has_its_extremes():
    y = np.random.default_rng(0).normal(size=10**5)
    x, kept = outlined(np.arange(10**5), y)
    assert x.size <= 502
    assert {y.min(), y.max(), y[0], y[-1]} <= set(kept.tolist())
    np.testing.assert_array_equal(kept, y[x])
