"""A calibration set that changes is worth a rule fitted anew, to the last bit."""

import pickle
import threading

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

import abers
from abers import _kernel
from abers.errors import InvalidData, InvalidParameter
from abers.online import online_set as online_module
from strategies import either_way

inf = float("inf")
SCORES = st.one_of(
    st.integers(-3, 3).map(float),
    st.sampled_from([-inf, inf, 0.0, -0.0, 5e-324, 1e308, 1 / 3]),
    st.floats(allow_nan=False),
)
ASKED = np.array([-inf, -2.5, -1, 0, 5e-324, 0.5, 1, 3, 1e300, inf])


def refitted(kept, increasing):
    """The bounds of `ASKED` by a rule that is fitted to what is kept."""
    if not kept:
        return np.tile([0.0, 1.0], (ASKED.size, 1))
    scores, labels = zip(*kept, strict=True)
    return abers.fit_rule(scores, labels, increasing=increasing).bounds(ASKED)


class Changes(RuleBasedStateMachine):
    """Rows come and go; a list knows which are left."""

    window = None
    increasing = True

    def __init__(self):
        super().__init__()
        self.online = abers.OnlineVennAbers(
            window=self.window, increasing=self.increasing
        )
        self.kept = []

    def keep(self, observations):
        self.kept += observations
        if self.window is not None:
            self.kept = self.kept[-self.window :]

    @rule(score=SCORES, label=st.booleans())
    def add(self, score, label):
        self.online.add(score, label)
        self.keep([(score, label)])

    @rule(
        rows=st.lists(
            st.tuples(SCORES, st.booleans(), st.integers(0, 3)), min_size=1, max_size=9
        )
    )
    def add_many(self, rows):
        scores, labels, weights = zip(*rows, strict=True)
        self.online.add_many(scores, labels, sample_weight=weights)
        self.keep([(s, y) for s, y, w in rows for _ in range(w)])

    @rule(data=st.data())
    def remove_some(self, data):
        if not self.kept:
            return
        leaving = data.draw(st.lists(st.sampled_from(self.kept), max_size=4))
        rest = list(self.kept)
        try:
            for observation in leaving:
                rest.remove(observation)  # the oldest that is equal
        except ValueError:
            with pytest.raises(InvalidData):
                self.online.remove_many(*zip(*leaving, strict=True))
        else:
            for score, label in leaving:
                self.online.remove(score, label)
            self.kept = rest

    @rule()
    def remove_all(self):
        if self.kept:
            self.online.remove_many(*zip(*self.kept, strict=True))
        self.kept = []

    @rule(score=SCORES)
    def remove_what_is_not_there(self, score):
        present = sum(s == score and not y for s, y in self.kept)
        with pytest.raises(InvalidData, match="Nothing was changed"):
            self.online.remove_many([score] * (present + 1), [0] * (present + 1))

    @rule()
    def pickle(self):
        self.online = pickle.loads(pickle.dumps(self.online))

    @invariant()
    def bounds_are_those_of_a_refit(self):
        bounds = self.online.bounds(ASKED)
        np.testing.assert_array_equal(bounds, refitted(self.kept, self.increasing))
        assert len(self.online) == len(self.kept)
        assert self.online.n_positives == sum(y for _, y in self.kept)

    @invariant()
    def the_rule_is_that_of_a_refit(self):
        if not self.kept:
            with pytest.raises(InvalidData, match="empty"):
                self.online.rule()
            return
        scores, labels = zip(*self.kept, strict=True)
        expected = abers.fit_rule(scores, labels, increasing=self.increasing)
        assert self.online.rule() == expected
        assert self.online.rule() is self.online.rule()


class ChangesOfFallingProbability(Changes):
    increasing = False


class ChangesInAWindow(Changes):
    window = 7


class ChangesInAWindowOfFallingProbability(Changes):
    window, increasing = 5, False


class ChangesInLeavesOfOneKey(Changes):
    """With the smallest leaves, and without Newton's steps."""

    def __init__(self):
        super().__init__()
        self.online._kept = _kernel.Online(  # noqa: SLF001
            window=0, increasing=True, leaf_size=1, newton_steps=0
        )

    @rule()
    def pickle(self):
        """Would bring back leaves of the usual size."""


FEW = settings(max_examples=60, stateful_step_count=30, deadline=None)
pytestmark = either_way  # labels that fall are refitted, too
TestChanges = Changes.TestCase
TestFalling = ChangesOfFallingProbability.TestCase
TestWindow = ChangesInAWindow.TestCase
TestFallingWindow = ChangesInAWindowOfFallingProbability.TestCase
TestSmallLeaves = ChangesInLeavesOfOneKey.TestCase
for case in (TestChanges, TestFalling, TestWindow, TestFallingWindow, TestSmallLeaves):
    case.settings = FEW


@pytest.mark.parametrize("leaf_size", [1, 2, 5, 128])
@pytest.mark.parametrize("newton_steps", [0, 24])
def test_leaf_sizes_and_searches_give_the_same_bits(leaf_size, newton_steps):
    random = np.random.default_rng(leaf_size)
    kept = _kernel.Online(
        window=0, increasing=True, leaf_size=leaf_size, newton_steps=newton_steps
    )
    scores = random.integers(0, 300, 900) / 7
    labels = random.random(900) < scores / 60
    for score, label in zip(scores, labels, strict=True):
        kept.add(score, int(not label), int(label))
    for i in range(450):
        assert kept.remove(scores[i], int(not labels[i]), int(labels[i]))
    queries = random.integers(-5, 700, 500) / 14
    out = np.empty((500, 2))
    kept.bounds(queries, out)
    expected = abers.fit_rule(scores[450:], labels[450:]).bounds(queries)
    np.testing.assert_array_equal(out, expected)


def test_ten_thousand_rows_grow_in_any_order():
    random = np.random.default_rng(0)
    scores = random.normal(size=10_000)
    labels = random.random(10_000) < 1 / (1 + np.exp(-scores))
    queries = random.normal(size=300)
    expected = abers.fit_rule(scores, labels).bounds(queries)
    for order in (np.arange(10_000), np.argsort(scores), np.argsort(-scores)):
        online = abers.OnlineVennAbers.from_rows(scores[order], labels[order])
        np.testing.assert_array_equal(online.bounds(queries), expected)
    diagram = abers.rules.Diagram.from_rows(scores, labels)
    online = abers.OnlineVennAbers.from_diagram(diagram)
    np.testing.assert_array_equal(online.bounds(queries), expected)
    assert online.diagram() == diagram


def test_what_is_removed_by_hand_is_forgotten_in_time():
    """A window that is never full does not grow without end."""
    online = abers.OnlineVennAbers(window=10_000)
    for i in range(20_000):
        online.add(i % 7, i % 2)
        online.remove(i % 7, i % 2)
    assert len(pickle.dumps(online)) < 1000


def test_threads_take_turns():
    online = abers.OnlineVennAbers()

    def work(seed):
        random = np.random.default_rng(seed)
        for score in random.normal(size=500):
            online.add(float(score), seed % 2)
            online.bounds([score])

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(online) == 2000
    assert online.n_positives == 1000


class Meanwhile:
    """Another thread that gets its chance, and has to wait for it."""

    def __init__(self, work):
        self.thread = threading.Thread(target=work)

    def happens(self):
        if not self.thread.ident:
            self.thread.start()
            self.thread.join(timeout=0.2)


def test_a_rule_that_was_made_while_another_thread_adds_is_not_kept(monkeypatch):
    online = abers.OnlineVennAbers().add_many([1, 2, 3], [0, 1, 0])
    meanwhile = Meanwhile(lambda: online.add(4, 1))
    made = online_module.rule_of_diagram

    def made_slowly(diagram, **options):
        meanwhile.happens()
        return made(diagram, **options)

    monkeypatch.setattr(online_module, "rule_of_diagram", made_slowly)
    assert online.rule() == abers.fit_rule([1, 2, 3], [0, 1, 0])
    meanwhile.thread.join()
    assert online.rule() == abers.fit_rule([1, 2, 3, 4], [0, 1, 0, 1])


def test_two_threads_cannot_remove_the_same_rows():
    online = abers.OnlineVennAbers().add_many([1, 2, 3], [0, 1, 0])
    refused = []

    def remove():
        try:
            online.remove_many([1, 2], [0, 1])
        except InvalidData as error:
            refused.append(error)

    meanwhile = Meanwhile(remove)

    class Slow:
        def __init__(self, kept):
            self.kept = kept

        def __getattr__(self, name):
            return getattr(self.kept, name)

        def lacking(self, *rows):
            missing = self.kept.lacking(*rows)
            meanwhile.happens()
            return missing

    online._kept = Slow(online._kept)  # noqa: SLF001 (to be in time)
    online.remove_many([1, 2], [0, 1])
    meanwhile.thread.join()
    assert len(refused) == 1
    assert (len(online), online.n_positives) == (1, 0)


def test_in_the_manner_of_river():
    online = abers.OnlineVennAbers()
    online.learn_one(0.4, y=True)
    assert online.predict_proba_one(0.4) == {False: 1 - 2 / 3, True: 2 / 3}


@pytest.mark.parametrize(
    ("change", "error", "sentence"),
    [
        (lambda o: o.add(float("nan"), 1), InvalidData, "scores must not be NaN"),
        (lambda o: o.add(1.0, 2), InvalidData, "labels must be 0 or 1; got 2"),
        (lambda o: o.add(1.0, None), InvalidData, "labels must be 0 or 1; got NaN"),
        (lambda o: o.add_many([1, 2], [1]), ValueError, "equally long; got 1 labels"),
        (
            lambda o: o.add_many([1], [1], sample_weight=[0.5]),
            InvalidData,
            "must be integers here; got 0.5 at row 0",
        ),
        (
            lambda o: o.add_many([1], [1], sample_weight=[2.0**53]),
            InvalidData,
            "rows can be kept",
        ),
        (lambda o: o.remove(3, 1), InvalidData, "of score 3.0"),
        (lambda o: o.bounds([1, float("nan")]), InvalidData, "first at row 1"),
    ],
)
def test_bad_input_is_one_sentence_and_changes_nothing(change, error, sentence):
    online = abers.OnlineVennAbers.from_rows([1, 2, 3], [0, 1, 0])
    before = online.bounds(ASKED)
    with pytest.raises(error, match=sentence):
        change(online)
    np.testing.assert_array_equal(online.bounds(ASKED), before)


@pytest.mark.parametrize("window", [0, -1, 2.5, True])
def test_a_window_is_a_positive_number(window):
    with pytest.raises(InvalidParameter, match="window must be"):
        abers.OnlineVennAbers(window=window)


def test_a_diagram_of_real_weights_is_refused():
    diagram = abers.rules.Diagram.from_rows([1, 2], [0, 1], sample_weight=[0.5, 1])
    with pytest.raises(InvalidData, match="not integers"):
        abers.OnlineVennAbers.from_diagram(diagram)


@pytest.mark.parametrize("weights", [[1e300, 1.0], [1e19, 3.0], [1e308, 1e308]])
def test_weights_beyond_what_can_be_counted_are_refused(weights):
    """In 64 bits they would wrap round, and count as few or none."""
    online = abers.OnlineVennAbers()
    with pytest.raises(InvalidData, match=r"must add up to less than 2\*\*53"):
        online.add_many([1, 1], [0, 1], sample_weight=weights)
    many = np.full(3000, 2.0**52)
    with pytest.raises(InvalidData, match=r"must add up to less than 2\*\*53"):
        online.add_many(many, np.ones(3000), sample_weight=many)
    assert len(online) == 0


@pytest.mark.parametrize("window", [2**53, 2**64, 2**70])
def test_a_window_is_no_longer_than_a_file_can_say(window):
    with pytest.raises(InvalidParameter, match=r"below 2\*\*53"):
        abers.OnlineVennAbers(window=window)


def test_the_longest_window_and_the_most_rows_are_read_again(tmp_path):
    online = abers.OnlineVennAbers(window=2**53 - 1)
    online.add_many([1], [1], sample_weight=[2**53 - 1])
    online.save(tmp_path / "online.abers")
    assert len(abers.load(tmp_path / "online.abers")) == 2**53 - 1


@pytest.mark.parametrize("label", [pd.NA, np.array([0, 1])])
@pytest.mark.parametrize("change", ["add", "remove"])
def test_a_label_that_cannot_be_compared_is_refused_in_a_sentence(change, label):
    online = abers.OnlineVennAbers.from_rows([1.0], [1])
    with pytest.raises(InvalidData, match="labels must be"):
        getattr(online, change)(1.0, label)
