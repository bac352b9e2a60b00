"""What is drawn of a monitor is what it has seen."""

import math

import numpy as np
import pytest
from matplotlib import pyplot as plt

import abers
from abers.errors import InvalidParameter
from abers.plots import MonitorDisplay
from abers.plots.monitor import LedgerDisplay


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


def test_the_history_of_files_has_their_dates_and_where_the_change_began():
    logs = np.log([1.0, 10, 1000, 900])
    display = LedgerDisplay(
        {"scores": (np.arange(1, 5), logs)},
        limit=300,
        dates=["2026-01-01", "2026-01-02", "2026-01-03", "2026-01-05"],
        alarms={"scores": 3},
        began=2,
    ).plot()
    plt.close(display.figure_)
    line = display.lines_["scores"]
    assert line.get_ydata() == pytest.approx(np.log10([1, 10, 1000, 900]))
    assert line.get_drawstyle() == "steps-post"
    assert display.alarms_.get_xdata() == [3]
    assert display.began_.get_xdata() == [2, 2]
    write = display.ax_.xaxis.get_major_formatter()
    assert [write(n) for n in (0, 4, 5)] == ["", "4\n2026-01-05", ""]
