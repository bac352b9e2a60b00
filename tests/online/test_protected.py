"""Protected probabilities: at most one bit lost, much won when the world changes."""

import math
import threading

import numpy as np
import pytest

import abers
from abers.errors import InvalidData, InvalidParameter, InvalidType
from fitted_things import bits
from protected_streams import play

RATES = (1e-2, 1e-3, 1e-4)
MAPS = [(a, b) for a in (0, 0.5, -0.5, 1, -1) for b in (1, 0.5, 2)]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def rule(rng):
    scores = rng.normal(size=500)
    return abers.fit_rule(scores, rng.random(500) < 1 / (1 + np.exp(-scores)))


class Definition:
    """The mixture and its account, row by row in plain Python.

    One unit of capital stays on the base; what is free follows the maps. `waiting` are
    rows, each with the least that it leaves of the capital.
    """

    def __init__(self):
        self.excess, self.waiting = 0.0, []
        self.active = [[1 / 3] + [0.0] * 14 for _ in RATES]

    def predict(self, p):
        for r, rate in enumerate(RATES):
            mean = math.fsum(self.active[r]) / 15
            self.active[r] = [(1 - rate) * w + rate * mean for w in self.active[r]]
        q = math.fsum(
            w * q
            for row in self.active
            for w, q in zip(row, self.mapped(p), strict=True)
        )
        least = math.prod(min(o / p, (1 - o) / (1 - p)) for p, o in self.waiting)
        capital = 2 ** (1 - 1e-6 - self.excess) * least
        o = (p + (capital - 1) * q) / capital
        self.waiting.append((p, o))
        return o

    def update(self, y):
        p, o = self.waiting.pop(0)
        self.excess += math.log2(p / o if y else (1 - p) / (1 - o))
        for row in self.active:
            for k, q in enumerate(self.mapped(p)):
                row[k] *= q if y else 1 - q
        total = math.fsum(map(math.fsum, self.active))
        self.active = [[w / total for w in row] for row in self.active]

    def mapped(self, p):
        x = math.log(p / (1 - p))
        return [1 / (1 + math.exp(-a - b * x)) for a, b in MAPS]


class Mixture:
    """Where no label is late: half of the capital on the base, half on the maps."""

    def __init__(self):
        self.passive, self.active = 0.5, [[1 / 6] + [0.0] * 14 for _ in RATES]

    def predict(self, p):
        for r, rate in enumerate(RATES):
            mean = math.fsum(self.active[r]) / 15
            self.active[r] = [(1 - rate) * w + rate * mean for w in self.active[r]]
        mapped = Definition.mapped(self, p)
        pairs = [
            (w, q) for row in self.active for w, q in zip(row, mapped, strict=True)
        ]
        placed = self.passive + math.fsum(w for w, _ in pairs)
        return (self.passive * p + math.fsum(w * q for w, q in pairs)) / placed

    def update(self, p, y):
        base = p if y else 1 - p
        for row in self.active:
            for k, q in enumerate(Definition.mapped(self, p)):
                row[k] *= (q if y else 1 - q) / base


@pytest.mark.parametrize("delay", [0, 1, 7])
def test_numbers_are_those_of_the_definition(rng, rule, delay):
    protected, definition = abers.Protected(rule), Definition()
    scores = rng.normal(size=400)
    labels = rng.random(400) < 1 / (1 + 3 * np.exp(-scores))
    for t in range(400 + delay):
        if t < 400:
            row = scores[t : t + 1]
            expected = definition.predict(float(rule.probability(row)[0]))
            assert protected.predict(row) == pytest.approx(expected, rel=1e-12)
        if t >= delay:
            protected.update(scores[t - delay : t - delay + 1], labels[t - delay :][:1])
            definition.update(labels[t - delay])
        assert protected.excess == pytest.approx(definition.excess, abs=1e-11)
    assert protected.account == 0
    assert protected.n_waiting == 0


def test_without_delay_half_of_the_capital_is_on_the_base(rng, rule):
    """But for a millionth of a bit that is set aside."""
    protected, mixture = abers.Protected(rule), Mixture()
    scores, labels = rows(rng, 300, odds=3)
    for score, label in zip(scores, labels, strict=True):
        (base,) = rule.probability([score])
        (issued,) = protected.predict([score])
        assert issued == pytest.approx(mixture.predict(base), rel=1e-5)
        protected.update([score], [label])
        mixture.update(base, label)


# At most one bit.


def test_no_stream_costs_more_than_a_bit():
    """Ten thousand by `python tests/protected_streams.py 10000`."""
    losses = [play(seed) for seed in range(90)]
    assert min(losses) < -20
    assert max(losses) > 0.4


def test_a_flood_of_rows_without_labels_is_issued_the_base_in_the_end(rule):
    protected = abers.Protected(rule)
    scores = np.linspace(-3, 3, 20_000)
    first = protected.predict(scores)
    assert protected.account <= 1
    np.testing.assert_allclose(
        first[-1000:], rule.probability(scores[-1000:]), rtol=1e-9
    )
    protected.update(scores, first < rule.probability(scores))  # the worst labels
    assert protected.excess <= 1 + 1e-9


def test_certain_probabilities_stay_as_they_are(rule):
    """With a prior next to 0 the base is so sure that doubles have no room."""
    sure = rule.with_prior(5e-324)
    protected = abers.Protected(sure)
    for _ in range(300):
        protected.predict([9.0])
        protected.update([9.0], [1])
        assert protected.excess <= 1 + 1e-9
        assert math.isfinite(protected.excess)


# What is won.


@pytest.mark.parametrize("delay", [0, 10])
@pytest.mark.parametrize("online", [False, True])
def test_other_odds_are_followed(rng, rule, delay, online):
    base = abers.OnlineVennAbers.from_rows(*rows(rng, 500)) if online else rule
    protected = abers.Protected(base)
    before, after = rows(rng, 500), rows(rng, 1_000, odds=6)
    run(protected, *before, delay)
    assert -5 < protected.excess < 1
    start = protected.excess
    run(protected, *after, delay)
    assert protected.excess - start < (-40 if online else -100)


def rows(rng, n, odds=1.0):
    scores = rng.normal(size=n)
    return scores, rng.random(n) < odds / (odds + np.exp(-scores))


def run(protected, scores, labels, delay):
    for t in range(scores.size + delay):
        if t < scores.size:
            protected.predict(scores[t : t + 1])
        if t >= delay:
            protected.update(scores[t - delay :][:1], labels[t - delay :][:1])


def test_a_change_after_a_long_calm_is_followed():
    """When all but what was set aside is lost, the allowance has a floor."""
    protected = abers.Protected(abers.fit_rule([1, 1], [0, 1]))
    state = protected.__getstate__()
    calm = 1 - 1e-6
    protected.__setstate__(state | {"excess": calm, "allowance": 0.0})
    run(protected, np.ones(400), np.ones(400), 1)
    assert protected.excess - calm < -100


def test_rare_positives_and_late_labels_do_not_ruin_it(rng):
    """Odds are three times as high; most labels still speak against that."""
    scores = rng.normal(size=5_000) - 4
    rule = abers.fit_rule(scores, rng.random(5_000) < 1 / (1 + np.exp(-scores)))
    scores = rng.normal(size=8_000) - 4
    labels = rng.random(8_000) < 3 / (3 + np.exp(-scores))
    now, late = abers.Protected(rule), abers.Protected(rule)
    run(now, scores, labels, 0)
    run(late, scores, labels, 10)
    assert now.excess < -100
    assert late.excess < 0.85 * now.excess


# Batches, ids, and what is refused.


def test_rows_together_get_the_bits_that_they_get_one_by_one(rng, rule):
    scores, labels = rows(rng, 200, odds=5)
    together, alone = abers.Protected(rule), abers.Protected(rule)
    for part in np.split(np.arange(200), 8):
        issued = together.predict(scores[part])
        together.update(scores[part], labels[part])
        assert [alone.predict(scores[[t]])[0] for t in part] == issued.tolist()
        for t in part:
            alone.update(scores[[t]], labels[[t]])
        assert bits(alone) == bits(together)


def test_ids_find_rows_in_any_order_and_their_labels_count_as_they_come(rng, rule):
    scores, labels = rows(rng, 50)
    by_id, in_order = abers.Protected(rule), abers.Protected(rule)
    by_id.predict(scores[::-1], ids=np.arange(50)[::-1])
    in_order.predict(scores[::-1])
    order = rng.permutation(50)
    by_id.update(scores[order], labels[order], ids=order)
    assert by_id.n_waiting == 0
    in_order.update(scores[::-1], labels[::-1])
    assert by_id.excess == pytest.approx(in_order.excess, abs=1e-12)


def test_rows_with_and_without_ids_wait_apart(rule):
    protected = abers.Protected(rule)
    protected.predict([1])
    protected.predict([2], ids=["x"])
    protected.predict([3])
    protected.update([1, 3], [0, 1])
    assert protected.n_waiting == 1
    protected.update([2], [1], ids=["x"])
    assert protected.n_waiting == 0


def test_an_online_set_learns_what_update_receives(rule):
    online = abers.OnlineVennAbers(window=2)
    protected = abers.Protected(online)
    assert protected.base is online
    protected.predict([1, 2, 3])
    assert len(online) == 0
    protected.update([1, 2], [0, 1])
    protected.drop([3])
    assert online.diagram() == abers.rules.Diagram.from_rows([1, 2], [0, 1])
    fixed = abers.Protected(rule)
    fixed.predict([1])
    fixed.update([1], [1])
    assert fixed.base == rule


def test_dropped_rows_leave_the_account(rule):
    protected = abers.Protected(rule)
    protected.predict([0.5, 1.5])
    full = protected.account
    protected.drop([0.5])
    assert 0 < protected.account < full
    protected.drop([1.5])
    assert (protected.account, protected.excess, protected.n_waiting) == (0, 0, 0)


REFUSED = {
    "more labels than rows": (
        [[1, 2, 3], [0, 1, 0]],
        {},
        InvalidData,
        "got 3 where 2 wait",
    ),
    "another score": (
        [[1.5], [0]],
        {},
        InvalidData,
        "got 1.5 at row 0, predicted was 1.0",
    ),
    "another order": ([[2, 1], [0, 1]], {}, InvalidData, "scores must be those"),
    "an id that does not wait": (
        [[7], [0]],
        {"ids": ["y"]},
        InvalidData,
        "'y' does not",
    ),
    "another score of an id": (
        [[8], [0]],
        {"ids": ["x"]},
        InvalidData,
        "predicted was 7",
    ),
    "an id twice": ([[7, 7], [0, 1]], {"ids": ["x"] * 2}, InvalidParameter, "twice"),
    "ids too few": ([[7, 7], [0, 1]], {"ids": ["x"]}, InvalidData, "ids and scores"),
    "a real id": ([[7], [0]], {"ids": [1.5]}, InvalidParameter, "got 1.5 at row 0"),
    "a label of 2": ([[1], [2]], {}, InvalidData, "labels must be 0 or 1"),
    "a missing label": ([[1], [math.nan]], {}, InvalidData, "labels must be 0 or 1"),
    "a missing score": ([[math.nan], [1]], {}, InvalidData, "must not be NaN"),
    "a label too few": ([[1, 2], [1]], {}, InvalidData, "equally long"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_was_not_predicted_is_refused_and_nothing_changes(rule, case):
    given, options, error, says = case
    protected = abers.Protected(rule)
    protected.predict([1, 2])
    protected.predict([7], ids=["x"])
    before = bits(protected)
    with pytest.raises(error, match=says):
        protected.update(*given, **options)
    assert bits(protected) == before


def test_an_id_that_waits_cannot_come_again(rule):
    protected = abers.Protected(rule)
    protected.predict([7], ids=[1])
    with pytest.raises(InvalidParameter, match="ids must be new; 1 waits"):
        protected.predict([8], ids=np.array([1]))
    protected.update([7], [1], ids=[1]).predict([8], ids=[1])


def test_the_base_is_a_rule_or_a_set():
    with pytest.raises(InvalidType, match="a Rule or an OnlineVennAbers; got a str"):
        abers.Protected("rule")


def test_nothing_is_nothing(rule):
    protected = abers.Protected(rule)
    assert protected.predict([]).shape == (0,)
    assert protected.predict([], ids=[]).shape == (0,)
    before = bits(protected)
    assert bits(protected.update([], []).drop([])) == before


def test_the_guarantee_is_of_the_loss_and_of_nothing_else(rule):
    text = str(abers.Protected(rule).guarantee)
    assert text.startswith(
        "Proven: the total log loss is at most that of the base plus"
    )
    assert "calibrated is not proven" in text
    assert not hasattr(abers.Protected(rule), "bounds")


def test_threads_may_share_it(rule):
    protected = abers.Protected(rule)

    def work(name):
        for row in range(200):
            protected.predict([0.5], ids=[f"{name}-{row}"])
            protected.update([0.5], [1], ids=[f"{name}-{row}"])

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (protected.n_waiting, protected.account) == (0, 0)
    assert protected.excess < 0
