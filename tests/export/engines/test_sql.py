"""Rules in databases answer as the rule does, to the bit."""

import numpy as np
import pytest

import abers
from abers.errors import InvalidParameter
from abers.export import to_sql
from export_cases import (
    answers,
    drawn,
    largest_difference,
    mismatches,
    probes,
    rule_set,
    rules,
    stacked_rules,
)
from export_engines import NAMES

RULES = rules()
STACKED = stacked_rules()
NAN = float("nan")
NO_GROUP = {name: NAMES[name] for name in ("table", "scores", "score")}


@pytest.mark.parametrize("kind", RULES)
def test_every_kind_of_rule(database, kind):
    """At each threshold, beside it, at the edges of doubles, and in between."""
    rule = RULES[kind]
    scores = probes(rule)
    predictions = database.answers(rule, scores.tolist())
    assert mismatches(predictions, answers(rule, scores)) == 0


def test_a_hundred_thousand_scores(database):
    rule = RULES["middling"]
    scores = np.random.default_rng(0).normal(size=100_000)
    predictions = database.answers(rule, scores.tolist())
    assert mismatches(predictions, answers(rule, scores)) == 0


@pytest.mark.parametrize("kind", STACKED)
def test_every_kind_of_stacked_rule(database, kind):
    rule, scores = STACKED[kind]
    if rule.is_rounded and database.dialect == "sqlite":
        with pytest.raises(InvalidParameter, match="must have single precision"):
            database.answers(rule, scores.tolist())
        return
    predictions = database.answers(rule, [*scores.tolist(), NAN, None])
    assert np.isnan(predictions[-2:]).all()
    assert largest_difference(predictions[:-2], answers(rule, scores)) <= 1e-12


def test_what_is_no_probability_has_no_stacked_answer(database):
    rule, _ = STACKED["probability"]
    predictions = database.answers(rule, [-0.1, 1.1, float("inf"), float("-inf")])
    assert np.isnan(predictions).all()


def test_nan_and_null_have_no_answer(database):
    scores = [None, 0.5, NAN, None]
    predictions = database.answers(RULES["rare"], scores)
    assert np.isnan(predictions[[0, 2, 3]]).all()
    assert mismatches(predictions[[1]], answers(RULES["rare"], [0.5])) == 0


@pytest.mark.parametrize("scores", [[], [0.5]], ids=["no row", "one row"])
def test_few_rows(database, scores):
    predictions = database.answers(RULES["rare"], scores)
    assert mismatches(predictions, answers(RULES["rare"], scores)) == 0


GROUPS = ["north", "south", "it's", 'a "b" \\', "North", "south ", "mars", "", None]


@pytest.mark.filterwarnings("ignore::abers.errors.UnknownGroupWarning")
def test_groups_are_answered_as_by_the_rule_set(database):
    """Seen and small, unseen, missing, and those that collations take for others."""
    made = rule_set()
    scores = np.concatenate([probes(made[group], 50) for group in (None, "north")])
    groups = np.resize(np.array(GROUPS, dtype=object), scores.size * len(GROUPS))
    repeated = np.repeat(scores, len(GROUPS))
    expected = np.column_stack(
        (made.bounds(repeated, groups), made.probability(repeated, groups))
    )
    predictions = database.answers(made, repeated.tolist(), groups.tolist())
    assert mismatches(predictions, expected) == 0


def test_a_rule_set_without_a_group_of_its_own(database):
    scores, labels = [1.0, 2.0, 3.0], [0, 1, 0]
    made = abers.fit_rules(scores, labels, ["a", "a", "b"], minimum=30)
    predictions = database.answers(made, scores, ["a", "b", None])
    assert mismatches(predictions, answers(made[None], scores)) == 0


@pytest.mark.filterwarnings("ignore::abers.errors.UnknownGroupWarning")
@pytest.mark.parametrize(
    "names",
    [(1, -2, 3), (0.1, 2.5, -3.75), (True, False, True)],
    ids=["integers", "floats", "booleans"],
)
def test_groups_of_other_types(database, names):
    """The last one has not been seen, or is the first again."""
    scores, labels = drawn(400, 3)
    seen = np.repeat(names[:2], 200).tolist()
    made = abers.fit_rules(scores, labels, seen, minimum=10)
    assert made[names[0]] != made[names[1]]
    groups = [*names, None] * 25
    new = np.linspace(-2, 3, 100)
    probability = made.probability(new, groups)
    expected = np.column_stack((made.bounds(new, groups), probability))
    assert mismatches(database.answers(made, new.tolist(), groups), expected) == 0


def test_one_score_by_an_index(database):
    """Rules, and stacked rules of every kind; NaN and NULL have no answer."""
    if database.dialect != "postgres":
        sql = to_sql(RULES["rare"], database.dialect, **NO_GROUP)
        assert sql.query_of_one is None
        return
    for rule, scores in (
        (RULES["rare"], probes(RULES["rare"])[:300]),
        (STACKED["frozen"][0], STACKED["frozen"][1][:100]),
        (STACKED["margin"][0], STACKED["margin"][1][:100]),
    ):
        database.clear()
        database.set_up(rule)
        text = to_sql(rule, "postgres", **NO_GROUP).query_of_one
        database.execute(f"PREPARE of_one (double precision) AS {text}", [])
        literals = [*map(repr, scores.tolist()), "NaN"]
        rows = [database.rows(f"EXECUTE of_one('{x}')")[0] for x in literals]
        plan = "\n".join(
            row[0] for row in database.rows("EXPLAIN EXECUTE of_one(0.25)")
        )
        assert "Index Scan" in plan
        database.execute("DEALLOCATE of_one", [])
        assert rows[-1] == (None, None, None)
        assert largest_difference(rows[:-1], answers(rule, scores)) <= 1e-12
