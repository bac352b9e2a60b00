"""Files of calibration sets and monitors: the same again, or one sentence."""

import math
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import abers
from abers.errors import InvalidFile, InvalidParameter
from abers.storage import container, streams
from abers.storage.container import Contents

GOLDEN = Path(__file__).parents[1] / "golden"
INF, NAN = math.inf, math.nan
TAGS = {"auc": 0.875, "live": True, "model": "Größe 😀", "note": None}


def online_set(window=None):
    """Three observations at 2, of which one was removed by hand."""
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


def golden_online(path):
    """How tests/golden/calibration-set-v1.abers was made."""
    online_set().save(path, TAGS)


def golden_window(path):
    """How tests/golden/calibration-window-v1.abers was made."""
    online_set(window=5).save(path)


def golden_monitor(path):
    """How tests/golden/monitor-v1.abers was made."""
    monitor().save(path, TAGS)


WRITERS = {
    "calibration-set-v1": golden_online,
    "calibration-window-v1": golden_window,
    "monitor-v1": golden_monitor,
}


@pytest.mark.parametrize("name", WRITERS)
def test_files_of_this_version_are_written_as_ever(name, tmp_path):
    """Equal contents, equal bytes; the evidence of a monitor may differ in the last."""
    path = tmp_path / "new.abers"
    WRITERS[name](path)
    golden = GOLDEN / f"{name}.abers"
    if name != "monitor-v1":
        assert path.read_bytes() == golden.read_bytes()
        return
    new, old = streams.load_monitor(path), streams.load_monitor(golden)
    assert new.facts == old.facts
    for array, expected in old.arrays.items():
        np.testing.assert_allclose(
            new.arrays[array], expected, rtol=1e-12 if array == "evidence" else 0
        )


def test_files_of_version_1_are_read_for_ever():
    online = abers.load(GOLDEN / "calibration-set-v1.abers")
    assert online.metadata == TAGS
    assert online.diagram() == online_set().diagram()
    recent = abers.load(GOLDEN / "calibration-window-v1.abers")
    assert (recent.window, recent.increasing, len(recent)) == (5, False, 4)
    found = abers.load(GOLDEN / "monitor-v1.abers").state
    assert found.alarms == monitor().state.alarms
    assert (found.n_rows, found.n_labels, found.n_dropped, found.n_waiting) == (
        *(34, 31, 1, 2),
    )


@pytest.mark.parametrize("window", [None, 4, 5, 100])
def test_a_set_that_was_saved_goes_on_as_if_it_had_not_been(tmp_path, window):
    path = tmp_path / "online.abers"
    online = online_set(window)
    online.save(path)
    again = abers.load(path)
    asked = [-INF, 0, 1, 2, 3, INF]
    for score, label in [(2, 1), (2, 1), (5, 0), (1, 0), (0.5, 1)]:
        np.testing.assert_array_equal(again.bounds(asked), online.bounds(asked))
        again.add(score, label)
        online.add(score, label)
    assert again.diagram() == online.diagram()
    again.save(path, {"a": 1})
    assert abers.load(path).metadata == {"a": 1}


def test_an_empty_set_can_be_saved(tmp_path):
    abers.OnlineVennAbers().save(tmp_path / "empty.abers")
    again = abers.load(tmp_path / "empty.abers")
    np.testing.assert_array_equal(again.bounds([1]), [[0, 1]])


def test_arrivals_that_differ_only_in_how_they_came_give_equal_bytes(tmp_path):
    one, other = (abers.OnlineVennAbers(window=9) for _ in range(2))
    one.add_many([1, 2], [0, 1], sample_weight=[2, 3])
    other.add_many([1, 1, 2, 2, 2], [0, 0, 1, 1, 1])
    one.save(tmp_path / "one")
    other.save(tmp_path / "other")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


@pytest.mark.parametrize(
    ("sentence", "change"),
    [
        ("scores are not ascending", {"scores": [2.0, 1, 3, 4, 5]}),
        ("arrays are not those", {"scores": [NAN, 1, 3, 4, 5]}),
        ("arrays are not those", {"scores": [-0.0, 1, 3, 4, 5]}),
        ("arrays are not those", {"negatives": [0, 0, 0, 0, 0]}),
        ("arrays are not those", {"negatives": [-1, 1, 1, 1, 1]}),
        ("arrays are not those", {"negatives": [1.0, 1, 1, 1, 1]}),
        ("arrays are not those", {"negatives": [1]}),
        ("facts and tags", {"increasing": 1}),
        ("facts and tags", {"window": 0}),
        ("facts and tags", {"window": True}),
        ("facts and tags", {"metadata": {"a": []}}),
        ("arrivals are not those of its window", {"window": 1}),
    ],
)
def test_a_forged_set_is_refused(tmp_path, sentence, change):
    path = tmp_path / "forged.abers"
    facts, arrays = streams.load_online(GOLDEN / "calibration-set-v1.abers")
    forge(path, streams.CALIBRATION_SET, facts, arrays, change)
    with pytest.raises(InvalidFile, match=sentence):
        abers.load(path)


def forge(path, kind, facts, arrays, change):
    """Write a file whose checksum is right."""
    facts = facts | {name: change[name] for name in change if name in facts}
    arrays = arrays | {n: np.asarray(change[n]) for n in change if n in arrays}
    container.write(path, kind, Contents(facts, arrays))


BYTES = np.zeros(1, dtype=np.uint8)
FORGED_MONITORS = [
    ("facts and tags", {"level": 0.0}),
    ("facts and tags", {"level": 1}),
    ("facts and tags", {"log_scale": -1.0}),
    ("facts and tags", {"max_wait": 0}),
    ("facts and tags", {"n_calibration": 0}),
    ("facts and tags", {"seed": -1}),
    ("facts and tags", {"seed": 2**63}),
    ("types of a monitor", {"p_labels": [1]}),
    ("types of a monitor", {"turned": [1.0]}),
    ("do not add up", {"n_calibration": 5}),
    ("do not add up", {"p_scores": [0.5]}),
    ("do not add up", {"scores": [1.0]}),
    ("do not add up", {"p_labels": np.full(30, 0.5)}),
    ("rows that wait", {"max_wait": None}),
    ("rows that wait", {"dropped_rows": [32]}),
    ("rows that wait", {"dropped_rows": [-1]}),
    ("rows that wait", {"dropped_scores": [NAN]}),
    ("rows that wait", {"dropped_scores": [1.0, 2]}),
    ("rows that wait", {"waiting_labels": [1, -1]}),
    ("rows that wait", {"waiting_labels": [-1, 2]}),
    ("rows that wait", {"waiting_scores": [1.0, NAN]}),
    ("p-values and its evidence", {"p_labels": np.full(31, 1.5)}),
    ("p-values and its evidence", {"p_scores": np.full(34, NAN)}),
    ("p-values and its evidence", {"turned": np.full(31, 2, dtype=np.uint8)}),
    ("p-values and its evidence", {"turned": BYTES}),
    ("p-values and its evidence", {"digests": BYTES}),
    ("p-values and its evidence", {"evidence": np.zeros(27)}),
    ("p-values and its evidence", {"evidence": np.full(27, NAN)}),
    ("p-values and its evidence", {"evidence": np.ones(26)}),
]


@pytest.mark.parametrize(("sentence", "change"), FORGED_MONITORS)
def test_a_forged_monitor_is_refused(tmp_path, sentence, change):
    path = tmp_path / "forged.abers"
    facts, arrays = streams.load_monitor(GOLDEN / "monitor-v1.abers")
    forge(path, streams.MONITOR, facts, arrays, change)
    with pytest.raises(InvalidFile, match=sentence):
        abers.load(path)


def test_a_count_takes_no_memory_that_its_file_does_not_have(tmp_path):
    """A few bytes may say that a score was seen 2**40 times."""
    path = tmp_path / "forged.abers"
    facts, arrays = streams.load_monitor(GOLDEN / "monitor-v1.abers")
    many = arrays["negatives"].copy()
    many[0] += 2**40
    change = {"negatives": many, "n_calibration": facts["n_calibration"] + 2**40}
    forge(path, streams.MONITOR, facts, arrays, change)
    tracemalloc.start()
    found = abers.load(path)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert taken < 10**6
    assert found.state.n_calibration == 4 + 2**40
    state = found.update([arrays["scores"][0], 100.0])
    assert 0 < state.p_values.scores[-2] < 1  # one of very many that are equal
    assert state.p_values.scores[-1] > 1 - 1e-9  # above all of them


@pytest.mark.parametrize("name", WRITERS)
def test_every_changed_byte_is_noticed(tmp_path, name):
    rng = np.random.default_rng(0)
    data = np.frombuffer((GOLDEN / f"{name}.abers").read_bytes(), np.uint8)
    load = abers.load if "monitor" in name else abers.load
    for place in rng.integers(0, data.size, 100):
        damaged = data.copy()
        damaged[place] ^= 1 << rng.integers(8)
        path = tmp_path / f"{place}.abers"
        path.write_bytes(damaged.tobytes())
        with pytest.raises(InvalidFile):
            load(path)


def test_another_file_is_named(tmp_path):
    path = tmp_path / "rule.abers"
    abers.fit_rule([1, 2, 3], [0, 1, 0]).save(path)
    with pytest.raises(InvalidFile, match=r"must be a monitor .* 'abers-rule'"):
        abers.load(path)
    with pytest.raises(InvalidFile, match="must be a calibration-set"):
        abers.load(path)
    monitor().save(path)
    with pytest.raises(InvalidFile, match="its format is 'abers-monitor'"):
        abers.load(path)


def test_a_pickled_state_is_checked():
    state = monitor().__getstate__()
    state["facts"]["seed"] = "x"
    with pytest.raises(InvalidParameter, match="must be as it was made"):
        abers.Monitor.__new__(abers.Monitor).__setstate__(state)


def test_tags_are_checked(tmp_path):
    with pytest.raises(InvalidParameter, match="metadata must map text"):
        monitor().save(tmp_path / "m.abers", {"a": []})
    assert not list(tmp_path.iterdir())
