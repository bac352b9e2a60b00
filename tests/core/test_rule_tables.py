"""Tables predict what the rule set predicts, and hold no calibration rows."""

import pickle
from unittest import mock

import numpy as np
import pytest

import abers
import emulated_engine
from abers.core.messages import to_bytes
from abers.core.rule_tables import RuleTables, own_rule, tables_of
from abers.errors import InvalidGroups, InvalidMessage, InvalidScores

RNG = np.random.default_rng(0)
SIZE = 2_000
SCORES = RNG.random(SIZE)
LABELS = (RNG.random(SIZE) < SCORES).astype(int)
SHOPS = np.array(["shop", "web", "phone", "post"])
NAMES = {
    "text": SHOPS[(RNG.random(SIZE) ** 20 * 4).astype(int)],
    "numbers": (RNG.random(SIZE) ** 20 * 5).astype(int),
    "booleans": RNG.random(SIZE) < 0.01,
}
UNSEEN = {"text": "fax", "numbers": 99, "booleans": True}


@pytest.fixture(params=NAMES)
def rule_set(request):
    found = abers.fit_rules(SCORES, LABELS, NAMES[request.param], minimum=30)
    return found, NAMES[request.param].tolist(), UNSEEN[request.param]


def test_tables_give_the_bounds_of_the_rule_set(rule_set):
    rules, groups, unseen = rule_set
    tables = tables_of(rules)
    groups = [None, unseen, *groups[2:]]
    assert tables.bounds(SCORES, groups).tolist() == (
        rules.bounds(SCORES, groups).tolist()
    )
    for loss in ("log", "brier"):
        assert tables.probability(SCORES, groups, loss=loss).tolist() == (
            rules.probability(SCORES, groups, loss=loss).tolist()
        )


def test_tables_give_the_rules_of_the_rule_set(rule_set):
    rules, _, unseen = rule_set
    tables = tables_of(rules)
    assert tables.own
    assert tables.small
    for group in (*rules, unseen, None):
        assert tables[group] == rules[group]


@pytest.mark.parametrize("increasing", [True, False])
@pytest.mark.parametrize("minimum", [0, 1, 30, 10**6])
def test_groups_fitted_on_workers_have_the_rules_of_the_rule_set(minimum, increasing):
    """Rows of a group meet from two maps; the rule of all is joined from parts."""
    groups = NAMES["text"]
    halves = [np.arange(SIZE) % 2 == half for half in (0, 1)]
    own, small = {}, set()
    for name in SHOPS.tolist():
        maps = [
            abers.Diagram.from_observations(SCORES[here], LABELS[here])
            for here in ((groups == name) & half for half in halves)
        ]
        group = emulated_engine.sent(abers.Diagram.sum(map(emulated_engine.sent, maps)))
        message = own_rule(group, minimum=minimum, increasing=increasing)
        if message is None:
            small.add(name)
        else:
            own[name] = message
    whole = [abers.Diagram.from_observations(SCORES[h], LABELS[h]) for h in halves]
    pooled = to_bytes(emulated_engine.fit(whole, 3, increasing=increasing))
    found = RuleTables(own, frozenset(small), rest=pooled, pooled=pooled)
    rules = abers.fit_rules(
        SCORES, LABELS, groups, minimum=minimum, increasing=increasing
    )
    assert found.own == tables_of(rules).own
    assert found["fax"] == rules["fax"]


def test_a_small_group_gets_the_rule_of_the_rest_and_an_unseen_one_that_of_all():
    own = abers.fit_rule([1, 2], [0, 1])
    rest = abers.fit_rule([1, 2], [1, 1])
    pooled = abers.fit_rule([1, 2, 3], [0, 1, 1])
    tables = RuleTables(
        {"large": to_bytes(own)}, frozenset({"small"}), to_bytes(rest), to_bytes(pooled)
    )
    found = tables.bounds([2] * 4, ["large", "small", "unseen", None])
    expected = [rule.bounds([2])[0].tolist() for rule in (own, rest, pooled, pooled)]
    assert found.tolist() == expected


def test_unpickled_tables_are_equal_and_fit_nothing(rule_set):
    rules, groups, _ = rule_set
    tables = tables_of(rules)
    with mock.patch("abers.core.fit._kernel.fit_diagram") as fitted:
        restored = pickle.loads(pickle.dumps(tables))
        found = restored.bounds(SCORES, groups)
    fitted.assert_not_called()
    assert restored == tables
    assert found.tolist() == rules.bounds(SCORES, groups).tolist()


def test_a_pickle_of_tables_is_much_smaller_than_that_of_the_rule_set():
    scores, labels = RNG.random(50_000), RNG.integers(0, 2, 50_000)
    rules = abers.fit_rules(scores, labels, ["shop"] * 50_000)
    assert len(pickle.dumps(tables_of(rules))) < len(pickle.dumps(rules)) / 50


def test_a_rule_is_unpacked_when_it_is_asked_for():
    """Of ten thousand groups a worker may see ten."""
    whole = to_bytes(abers.fit_rule([1, 2], [0, 1]))
    tables = RuleTables({"good": whole, "bad": whole[:-1]}, frozenset(), whole, whole)
    assert tables["good"] == abers.fit_rule([1, 2], [0, 1])
    with pytest.raises(InvalidMessage):
        tables.bounds([1], ["bad"])


@pytest.mark.parametrize(
    ("own", "small"),
    [([], []), (["a"], ["a"]), ([None], []), (["a"], [float("nan")])],
)
def test_groups_without_names_of_their_own_are_refused(own, small):
    message = to_bytes(abers.fit_rule([1, 2], [0, 1]))
    with pytest.raises((InvalidGroups, abers.AbersError), match="must"):
        RuleTables(dict.fromkeys(own, message), frozenset(small), message, message)


def test_missing_scores_are_refused_with_their_row():
    tables = tables_of(abers.fit_rules([1, 2], [0, 1], ["a", "a"]))
    with pytest.raises(InvalidScores, match="first at row 1"):
        tables.bounds([1, np.nan], ["a", "a"])
