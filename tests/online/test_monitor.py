"""A monitor: what it bets, when it alarms, and which labels it waits for."""

import math
import pickle
import threading

import numpy as np
import pytest

import abers
from abers.errors import InvalidData, InvalidParameter
from abers.online.bets import RATES, STAKES, capital_for
from abers.online.monitor import TESTS


def rows(rng, n, *, odds=1.0, slope=1.0, shift=0.0):
    """Draw scores, and labels by a logistic curve."""
    scores = rng.normal(size=n) + shift
    return scores, rng.random(n) < odds / (odds + np.exp(-2 * slope * scores))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def same(one, other):
    """Two monitors know the same."""
    for name in ("n_rows", "n_labels", "n_waiting", "n_dropped", "alarms", "limit"):
        assert getattr(one.state, name) == getattr(other.state, name)
    for test in TESTS:
        name = f"capital_{test}"
        assert getattr(one.state, name) == getattr(other.state, name)
    for p, q in zip(one.state.p_values, other.state.p_values, strict=True):
        np.testing.assert_array_equal(p, q)


def test_capital_is_spread_over_the_bets_and_jumps_between_them(rng):
    """The definition, bet by bet and rate by rate."""
    p = rng.random(40)
    expected = []
    bets = [lambda _: 1.0, *((lambda q, e=e: 1 + e * (q - 0.5)) for e in STAKES)]
    purses = {rate: [1 / (len(RATES) * len(bets))] * len(bets) for rate in RATES}
    for q in p:
        for rate, purse in purses.items():
            moved = rate * sum(purse) / len(bets)
            purses[rate] = [
                ((1 - rate) * w + moved) * bet(q)
                for w, bet in zip(purse, bets, strict=True)
            ]
        expected.append(math.log(sum(map(sum, purses.values()))))
    path = capital_for("labels").play(p)
    np.testing.assert_allclose(path, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("test", TESTS)
def test_every_bet_is_fair(test):
    """The mean of each factor over uniform p-values is 1, and none is negative."""
    capital = capital_for(test)
    p = (np.arange(2**12) + 0.5) / 2**12
    factors = capital.factors(p)
    np.testing.assert_allclose(factors.mean(axis=0), 1, atol=1e-12)
    assert (factors >= 0).all()
    assert capital.weights.sum() == pytest.approx(1, rel=1e-15)


def test_rows_may_come_one_by_one_or_all_at_once(rng):
    calibration, stream = rows(rng, 50), rows(rng, 120, odds=2)
    whole, single = abers.Monitor(*calibration), abers.Monitor(*calibration)
    whole.update(*stream)
    for score, label in zip(*stream, strict=True):
        single.update([score], [label])
    same(whole, single)


def test_labels_may_come_later_in_any_order(rng):
    calibration, (scores, labels) = rows(rng, 50), rows(rng, 90, odds=2)
    at_once, later = abers.Monitor(*calibration), abers.Monitor(*calibration)
    at_once.update(scores, labels)
    later.update(scores)
    assert later.state.n_waiting == 90
    order = rng.permutation(90)
    for part in np.array_split(order, 7):
        later.update_labels(labels[part], rows=part)
    same(at_once, later)


def test_a_label_that_is_missing_holds_back_those_after_it(rng):
    monitor = abers.Monitor(*rows(rng, 50))
    monitor.update([1.0, 2.0, 3.0])
    assert monitor.update_labels([1, 0], rows=[1, 2]).n_labels == 0
    assert monitor.update([4.0], [1]).n_waiting == 4
    state = monitor.update_labels([1])  # the oldest without a label
    assert (state.n_labels, state.n_waiting) == (4, 0)


def test_a_row_that_waits_too_long_is_dropped_from_the_tests_of_labels(rng):
    calibration = rows(rng, 50)
    monitor = abers.Monitor(*calibration, max_wait=2)
    monitor.update([1.0, 2.0])
    monitor.update_labels([1], rows=[1])
    assert monitor.state.n_dropped == 0
    state = monitor.update([3.0], [1])  # the second row after the first
    assert (state.n_dropped, state.n_labels, state.n_waiting) == (1, 2, 0)
    assert monitor.update_labels([1], rows=[0]).n_labels == 2  # too late
    assert monitor.capital_paths()["labels"][0].tolist() == [1, 2]
    without = abers.Monitor(*calibration)
    without.update([2.0, 3.0], [1, 1])
    np.testing.assert_array_equal(state.p_values.labels, without.state.p_values.labels)


@pytest.mark.parametrize(
    ("change", "test"),
    [({"odds": 4}, "labels"), ({"slope": 0.2}, "slope"), ({"shift": 1}, "scores")],
)
def test_each_test_notices_the_change_that_it_is_for(rng, change, test):
    monitor = abers.Monitor(*rows(rng, 2000))
    assert not monitor.update(*rows(rng, 500)).alarm
    state = monitor.update(*rows(rng, 1500, **change))
    assert test in state.alarms
    assert 500 <= state.since_row == min(state.alarms.values())
    path = dict(zip(*monitor.capital_paths()[test], strict=True))
    assert path[state.alarms[test]] >= math.log(state.limit)
    assert max(log for row, log in path.items() if row < state.alarms[test]) < math.log(
        state.limit
    )


def test_an_alarm_stays(rng):
    monitor = abers.Monitor(*rows(rng, 500))
    first = monitor.update(*rows(rng, 300, shift=2))
    later = monitor.update(*rows(rng, 3000))
    assert first.alarm
    assert later.alarm
    assert later.since_row == first.since_row


def test_false_alarms_are_as_rare_as_promised():
    """A sample; benchmarks/MONITOR.md has the thousands."""
    alpha, n_streams = 0.3, 150
    alarms = 0
    for seed in range(n_streams):
        rng = np.random.default_rng(seed)
        monitor = abers.Monitor(*rows(rng, 40), alpha=alpha, random_state=seed)
        alarms += monitor.update(*rows(rng, 600)).alarm
    error = math.sqrt(alpha * (1 - alpha) / n_streams)
    assert alarms / n_streams <= alpha + 3 * error


def test_the_same_seed_gives_the_same_result(rng):
    calibration, stream = rows(rng, 50), rows(rng, 50)
    p_values = [
        abers.Monitor(*calibration, random_state=seed).update(*stream).p_values.labels
        for seed in (3, 3, 4, None)
    ]
    np.testing.assert_array_equal(p_values[0], p_values[1])
    assert not np.array_equal(p_values[0], p_values[2])
    assert not np.array_equal(p_values[0], p_values[3])


def test_a_capital_beyond_a_double_is_infinite_and_goes_on():
    monitor = abers.Monitor(np.zeros(2000), np.zeros(2000))
    state = monitor.update(np.linspace(1, 2, 4000), np.ones(4000))
    assert state.capital_scores == math.inf
    assert state.to_dict()["capital_scores"] == "inf"
    assert math.isfinite(monitor.capital_paths()["scores"][1][-1])


def in_the_middle(rng):
    """A monitor with rows that wait, rows dropped, and tags."""
    monitor = abers.Monitor(*rows(rng, 50), max_wait=30, alpha=0.2, random_state=7)
    monitor.update(*rows(rng, 60, odds=3))
    monitor.update(rows(rng, 20)[0])
    monitor.update_labels([1, 0], rows=[61, 75])
    monitor.update(*rows(rng, 25))
    return monitor


@pytest.mark.parametrize("how", ["file", "pickle"])
def test_a_monitor_that_was_saved_goes_on_as_if_it_had_not_been(rng, tmp_path, how):
    monitor = in_the_middle(rng)
    assert monitor.state.n_waiting
    assert monitor.state.n_dropped
    if how == "file":
        monitor.save(tmp_path / "monitor.abers", {"model": "a"})
        again = abers.load(tmp_path / "monitor.abers")
        assert again.metadata == {"model": "a"}
    else:
        again = pickle.loads(pickle.dumps(monitor))
    same(monitor, again)
    more, labels = rows(rng, 40), [1, 0, 1]
    for one in (monitor, again):
        one.update_labels(labels)
        one.update(*more)
    same(monitor, again)
    for old, new in zip(
        monitor.capital_paths().values(), again.capital_paths().values(), strict=True
    ):
        np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize(
    ("change", "error", "sentence"),
    [
        (lambda m: m.update([1, math.nan]), InvalidData, "first at row 1"),
        (lambda m: m.update([1, math.nan], [1, 1]), InvalidData, "first at row 1"),
        (lambda m: m.update([1], [2]), InvalidData, "labels must be 0 or 1; got 2"),
        (lambda m: m.update([1], [math.nan]), InvalidData, "must be 0 or 1; got NaN"),
        (lambda m: m.update([1, 2], [1]), InvalidData, "1 labels and 2 scores"),
        (lambda m: m.update_labels([1] * 9), InvalidData, "9 for 2 rows. Nothing"),
        (lambda m: m.update_labels([3]), InvalidData, "must be 0 or 1; got 3"),
        (lambda m: m.update_labels([1], rows=[0]), InvalidData, "each once; got 0"),
        (lambda m: m.update_labels([1], rows=[9]), InvalidData, "each once; got 9"),
        (
            lambda m: m.update_labels([1, 0], rows=[3, 3]),
            InvalidData,
            "each once; got 3",
        ),
        (
            lambda m: m.update_labels([1], rows=[-1]),
            InvalidParameter,
            "none negative; got -1",
        ),
        (
            lambda m: m.update_labels([1], rows=[3, 4]),
            InvalidData,
            "1 labels and 2 rows",
        ),
    ],
)
def test_bad_input_is_one_sentence_and_changes_nothing(rng, change, error, sentence):
    monitor = abers.Monitor(*rows(rng, 20))
    monitor.update([1.0, 2.0, 3.0], [0, 1, 1])
    monitor.update([4.0, 5.0])
    before = pickle.loads(pickle.dumps(monitor))
    with pytest.raises(error, match=sentence):
        change(monitor)
    same(monitor, before)
    assert monitor.update_labels([1, 1]).n_labels == 5


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"alpha": 0}, "alpha must be above 0 and below 1; got 0"),
        ({"alpha": 1}, "alpha must be above 0 and below 1; got 1"),
        ({"alpha": "x"}, "alpha must be above 0 and below 1; got 'x'"),
        ({"max_wait": 0}, "max_wait must be at least 1"),
        ({"random_state": -1}, "random_state must be an integer, not negative; got -1"),
        ({"random_state": 2**63}, "random_state must be at most"),
    ],
)
def test_options_are_checked(options, sentence):
    with pytest.raises(InvalidParameter, match=sentence):
        abers.Monitor([1, 2], [0, 1], **options)


def test_there_must_be_calibration_rows():
    with pytest.raises(InvalidData, match="must not be empty"):
        abers.Monitor([], [])


def test_what_was_seen_of_a_state_stays_as_it_is(rng):
    monitor = abers.Monitor(*rows(rng, 20))
    early = monitor.update(*rows(rng, 10)).p_values
    copies = [column.copy() for column in early]
    monitor.update(*rows(rng, 1000))
    for column, copy in zip(early, copies, strict=True):
        np.testing.assert_array_equal(column, copy)
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 0


def test_threads_take_turns(rng):
    """Whatever their order, no row is lost or counted twice."""
    monitor = abers.Monitor(*rows(rng, 100), max_wait=1000)
    seen = []

    def work(seed):
        random = np.random.default_rng(seed)
        for _ in range(50):
            monitor.update(*rows(random, 3))
            monitor.update([0.5])
            state = monitor.state
            seen.append(state.n_rows - state.n_labels - state.n_waiting)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    monitor.update_labels(np.zeros(monitor.waiting.rows.size))
    assert (monitor.state.n_rows, monitor.state.n_labels) == (800, 800)
    assert set(seen) == {0}
    same(pickle.loads(pickle.dumps(monitor)), monitor)


@pytest.mark.parametrize("labelled", [True, False], ids=["update", "update_labels"])
@pytest.mark.parametrize(
    "read",
    [
        lambda monitor: monitor.state.n_labels,
        lambda monitor: pickle.loads(pickle.dumps(monitor)).state.n_labels,
        lambda monitor: monitor.capital_paths()["labels"][0].size,
    ],
    ids=["state", "pickle", "paths"],
)
def test_what_another_thread_reads_waits_for_the_end_of_a_batch(rng, read, labelled):
    """In the middle, scores have been ranked and labels have not."""
    monitor = abers.Monitor(*rows(rng, 20))
    scores, labels = rows(rng, 8)
    states = []
    reader = threading.Thread(target=lambda: states.append(read(monitor)))
    if not labelled:
        monitor.update(scores)
    use_labels = monitor._use_labels  # noqa: SLF001 (to be in time)

    def slowly():
        reader.start()
        reader.join(timeout=0.2)
        use_labels()

    monitor._use_labels = slowly  # noqa: SLF001
    if labelled:
        monitor.update(scores, labels)
    else:
        monitor.update_labels(labels)
    reader.join()
    assert states == [8]


def test_what_was_saved_of_a_monitor_stays_as_it_is(rng):
    """Its arrays are written while others go on."""
    monitor = abers.Monitor(*rows(rng, 20), max_wait=5)
    monitor.update(*rows(rng, 10))
    monitor.update([1.0, 2.0])
    early = monitor.__getstate__()
    copies = pickle.loads(pickle.dumps(early))
    monitor.update_labels([1, 0])
    monitor.update(*rows(rng, 1000))
    for name, column in early.items():
        np.testing.assert_array_equal(column, copies[name], err_msg=name)


def test_a_label_that_comes_with_its_row_is_never_too_late(rng):
    """Rows without a label are dropped after `max_wait` rows, the others are used."""
    calibration, (scores, labels) = rows(rng, 50), rows(rng, 40)
    labelled = np.arange(40) != 7
    monitor = abers.Monitor(*calibration, max_wait=5)
    state = monitor.update(scores, np.where(labelled, labels, np.nan), known=labelled)
    assert (state.n_labels, state.n_dropped, state.n_waiting) == (39, 1, 0)
    without = abers.Monitor(*calibration)
    without.update(scores[labelled], labels[labelled])
    np.testing.assert_array_equal(state.p_values.labels, without.state.p_values.labels)


@pytest.mark.parametrize(
    ("labels", "known", "message"),
    [
        (None, [True, False], "known must go with labels"),
        ([1, 0], [1, 0], "known must be of bool; got an array of int64"),
        ([1, 0], [True], "known and scores must be equally long"),
        ([1, 2], [True, True], "labels must be 0 or 1"),
    ],
)
def test_known_must_say_which_labels_are(rng, labels, known, message):
    monitor = abers.Monitor(*rows(rng, 50))
    with pytest.raises(abers.AbersError, match=message):
        monitor.update([1.0, 2.0], labels, known=known)
    assert monitor.state.n_rows == 0


def test_the_longest_wait_is_read_again_and_a_longer_one_is_refused(tmp_path):
    longest = 2**53 - 1
    monitor = abers.Monitor([1, 2], [0, 1], max_wait=longest)
    monitor.save(tmp_path / "monitor.abers")
    assert abers.load(tmp_path / "monitor.abers").max_wait == longest
    with pytest.raises(abers.AbersError, match=r"max_wait must be .* below 2\*\*53"):
        abers.Monitor([1, 2], [0, 1], max_wait=2**53)
