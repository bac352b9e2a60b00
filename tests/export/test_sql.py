"""SQL as text: what is quoted, what is written, what is refused; SQLite runs it."""

import re
import sqlite3

import numpy as np
import pytest

import abers
from abers.errors import InvalidParameter, InvalidType
from abers.export import to_sql
from abers.export.engines import ENGINES
from export_cases import answers, mismatches, probes, rule_set, rules

RULES = rules()
NAMES = {"table": "steps", "scores": "scores", "score": "score"}
DIALECTS = list(ENGINES)
WRITTEN = [dialect for dialect in DIALECTS if dialect != "sqlite"]


def answered(sql, records):
    """Run the SQL in SQLite, on rows of scores and groups."""
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE scores (score, region TEXT COLLATE NOCASE)")
        database.executemany("INSERT INTO scores VALUES (?, ?)", records)
        for statement, rows in zip(sql.setup, sql.parameters, strict=True):
            database.executemany(statement, rows or [()])
        return [row[2:] for row in database.execute(sql.query)]


@pytest.mark.parametrize("kind", RULES)
def test_sqlite_answers_as_the_rule(kind):
    scores = probes(RULES[kind])
    predictions = answered(
        to_sql(RULES[kind], "sqlite", **NAMES), [(s, None) for s in scores]
    )
    assert mismatches(predictions, answers(RULES[kind], scores)) == 0


@pytest.mark.parametrize("score", [None, float("nan"), "0.5", "abc", b"\x00"])
def test_what_is_no_number_has_no_answer_in_sqlite(score):
    sql = to_sql(RULES["rare"], "sqlite", **NAMES)
    assert answered(sql, [(score, None)]) == [(None, None, None)]


@pytest.mark.filterwarnings("ignore::abers.errors.UnknownGroupWarning")
def test_groups_in_sqlite_are_told_apart_by_every_letter():
    made = rule_set()
    groups = ["north", "North", "south", "it's", "mars", None]
    predictions = answered(
        to_sql(made, "sqlite", group="region", **NAMES), [(0.1, g) for g in groups]
    )
    expected = np.column_stack(
        (made.bounds([0.1] * 6, groups), made.probability([0.1] * 6, groups))
    )
    assert mismatches(predictions, expected) == 0


@pytest.mark.parametrize("loss", ["log", "brier"])
def test_the_probability_is_that_of_the_loss(loss):
    rule = RULES["rare"]
    predictions = answered(to_sql(rule, "sqlite", loss=loss, **NAMES), [(0.5, None)])
    assert predictions[0][2] == rule.probability([0.5], loss)[0]


QUOTED = {
    "duckdb": '"a""b`c\\d"',
    "postgres": '"a""b`c\\d"',
    "sqlite": '"a""b`c\\d"',
    "spark": '`a"b``c\\d`',
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_names_are_quoted(dialect):
    name = 'a"b`c\\d'
    sql = to_sql(RULES["one row"], dialect, table=name, scores=("x", name), score=name)
    quoted = QUOTED[dialect]
    assert sql.setup[0].startswith(f"CREATE TABLE {quoted} (")
    x = quoted[0] + "x" + quoted[0]
    assert f"{x}.{quoted}" in sql.query
    assert f"s.{quoted}" in sql.query


TEXTS = {
    "duckdb": """'it''s a\\b'""",
    "postgres": """'it''s a\\b'""",
    "spark": """'it\\'s a\\\\b'""",
}


def of_groups(*names):
    scores = np.tile([1.0, 2.0], len(names))
    labels = np.array([[0, 1], [1, 0]])[np.arange(len(names)) % 2].ravel()
    groups = [name for name in names for _ in range(2)]
    return abers.fit_rules(scores, labels, groups, minimum=1)


@pytest.mark.parametrize("dialect", WRITTEN)
def test_names_of_groups_are_escaped(dialect):
    made = of_groups("it's a\\b", "z")
    sql = to_sql(made, dialect, group="g", **NAMES)
    assert TEXTS[dialect] in "".join(sql.setup)


@pytest.mark.parametrize("dialect", WRITTEN)
@pytest.mark.parametrize(
    ("names", "literal"), [((1, 2), "2"), ((False, True), "TRUE"), ((0.5, 1.5), "1.5")]
)
def test_groups_of_every_type_are_written(dialect, names, literal):
    sql = to_sql(of_groups(*names), dialect, group="g", **NAMES)
    (insert,) = (t for t in sql.setup if t.startswith("INSERT") and "_groups" in t)
    assert literal in insert


@pytest.mark.parametrize("dialect", WRITTEN)
def test_every_number_is_written_to_the_last_bit(dialect):
    """What the text says, read by Python, is the table of steps."""
    rule = RULES["zeros and ones"]
    sql = to_sql(rule, dialect, **NAMES)
    text = "\n".join(sql.setup)
    rows = [row.split(", ") for row in re.findall(r"^\((.*?)\),?$", text, re.MULTILINE)]
    if lists := re.findall(r"unnest\(string_split\('(.*?)', ' '\)", text):
        rows = list(zip(*(column.split() for column in lists), strict=True))
    numbers = [[number(cell) for cell in row[2:]] for row in rows]
    table = abers.export.steps(rule)
    expected = (table.start, table.lower, table.upper, table.probability)
    assert np.array_equal(numbers, np.column_stack(expected))


def number(text):
    return float(re.sub(r"^(?:double)?\(?'?|['D)].*$", "", text))


def test_many_steps_are_inserted_by_several_statements():
    sql = to_sql(RULES["middling"], "duckdb", **NAMES)
    size = abers.export.steps(RULES["middling"]).start.size
    assert sum(text.startswith("INSERT") for text in sql.setup) == -(-size // 1_000)


@pytest.mark.parametrize("dialect", WRITTEN)
def test_a_script_is_the_setup_and_the_query(dialect):
    sql = to_sql(RULES["one row"], dialect, **NAMES)
    assert sql.script == ";\n".join((*sql.setup, sql.query)) + ";\n"
    assert not any(sql.parameters)


def test_sqlite_has_no_script():
    with pytest.raises(InvalidParameter, match="must be bound"):
        _ = to_sql(RULES["one row"], "sqlite", **NAMES).script


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"dialect": "oracle"}, InvalidParameter, "dialect must be"),
        ({"loss": "hinge"}, InvalidParameter, "loss must be"),
        ({"table": ""}, InvalidParameter, "table must be a name of at least"),
        ({"scores": ()}, InvalidParameter, "scores must be a name of at least"),
        ({"score": "a\0b"}, InvalidParameter, "score must be a name of at least"),
        ({"scores": ("a", 1)}, InvalidType, "scores must be a name, or a tuple"),
        ({"group": "g"}, InvalidParameter, "group must go with a rule set"),
        ({"rule": rule_set()}, InvalidParameter, "group must name the column"),
        ({"rule": "rule"}, InvalidType, "rule must be a Rule, a RuleSet"),
    ],
)
def test_wrong_use_is_refused(options, error, message):
    given = {"rule": RULES["one row"], "dialect": "duckdb", **NAMES, **options}
    with pytest.raises(error, match=message):
        to_sql(**given)
