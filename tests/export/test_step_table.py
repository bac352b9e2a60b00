"""The steps of a rule answer as the rule does, to the bit, in memory and in files."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import abers
from abers.errors import InvalidParameter, InvalidType, OutputExists
from abers.export import steps
from export_cases import EDGES, answers, mismatches, probes, rule_set, rules

RULES = rules()
ALL_RULES = pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))
GROUPS = rule_set()
SERVING = Path(__file__).parents[2] / "docs" / "serving.md"


def read(table, scores, group=None):
    """Return what the steps answer, by their definition."""
    mine = np.full(len(table), fill_value=True)
    if table.group is not None:
        has_rule = group in set(table.group.tolist())
        mine = np.array([g == (group if has_rule else None) for g in table.group])
    columns = [
        column[mine]
        for column in (table.start, table.lower, table.upper, table.probability)
    ]
    start, *values = columns
    places = [np.flatnonzero(start <= score)[-1] for score in scores]
    return np.column_stack([value[places] for value in values])


@ALL_RULES
@pytest.mark.parametrize("loss", ["log", "brier"])
def test_steps_answer_as_the_rule(rule, loss):
    scores = probes(rule)
    expected = np.column_stack((rule.bounds(scores), rule.probability(scores, loss)))
    assert mismatches(read(steps(rule, loss=loss), scores), expected) == 0


@ALL_RULES
def test_starts_ascend_from_minus_infinity(rule):
    for dtype in ("float64", "float32"):
        start = steps(rule, dtype=dtype).start
        assert start.dtype == dtype
        assert start[0] == -np.inf
        assert (start[1:] > start[:-1]).all()


@ALL_RULES
def test_steps_for_float32_answer_as_the_rule_for_the_same_double(rule):
    table = steps(rule, dtype="float32")
    with np.errstate(over="ignore", under="ignore"):
        near = np.concatenate((table.start, probes(rule).astype(np.float32)))
        beside = [np.nextafter(near, np.float32(side)) for side in (-np.inf, np.inf)]
    scores = np.concatenate((near, *beside))
    expected = answers(rule, scores.astype(np.float64))
    assert mismatches(read(table, scores), expected) == 0


def test_a_rule_with_a_threshold_at_minus_infinity_has_no_empty_step():
    """Mirrored, the least number becomes the first threshold above -inf."""
    rule = abers.fit_rule([-np.inf, 1.0], [1, 0])
    scores = np.concatenate((probes(rule), EDGES))
    assert mismatches(read(steps(rule), scores), answers(rule, scores)) == 0


@pytest.mark.parametrize("group", ["north", "south", "it's", 'a "b" \\', "mars", None])
def test_every_group_has_the_steps_that_answer_for_it(group):
    rule = GROUPS[group]
    scores = probes(rule)
    assert mismatches(read(steps(GROUPS), scores, group), answers(rule, scores)) == 0


def test_groups_without_a_rule_of_their_own_need_no_steps():
    assert set(steps(GROUPS).group.tolist()) == {None, "north", "south"}


@pytest.mark.parametrize(
    "wrong", [abers.rules.Diagram.from_counts([1], [1], [0]), None, "r"]
)
def test_what_has_no_steps_is_refused(wrong):
    with pytest.raises(InvalidType, match="rule must be a Rule, a RuleSet"):
        steps(wrong)


@pytest.mark.parametrize("option", [{"loss": "hinge"}, {"dtype": "float16"}])
def test_unknown_options_are_refused(option):
    with pytest.raises(InvalidParameter, match=next(iter(option))):
        steps(RULES["one row"], **option)


def columns_of(table):
    return [
        np.asarray(table[name]) for name in ("start", "lower", "upper", "probability")
    ]


def read_json(path):
    columns = json.loads(path.read_text(), parse_constant=pytest.fail)
    return {
        name: np.array([float(x) for x in column]) for name, column in columns.items()
    }


READERS = {
    "pandas": ("t.csv", pd.read_csv),
    "gzip": ("t.csv.gz", pd.read_csv),
    "polars": ("t.csv", lambda path: pl.read_csv(path, infer_schema_length=None)),
    "tabs": ("t.tsv", lambda path: pd.read_csv(path, sep="\t")),
    "parquet": ("t.parquet", lambda path: pq.read_table(path).to_pandas()),
    "arrow": ("t.arrow", lambda path: pa.ipc.open_file(path).read_all().to_pandas()),
    "json": ("t.json", read_json),
}


@ALL_RULES
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_files_have_the_bits_of_the_steps(rule, reader, dtype, tmp_path):
    name, reads = READERS[reader]
    table = steps(rule, dtype=dtype)
    table.write(tmp_path / name)
    columns = columns_of(reads(tmp_path / name))
    for mine, theirs in zip(
        (table.start, table.lower, table.upper, table.probability), columns, strict=True
    ):
        assert np.array_equal(mine.astype(float), theirs.astype(float))


def test_binary_files_keep_the_type_of_the_scores(tmp_path):
    steps(RULES["rare"], dtype="float32").write(tmp_path / "t.parquet")
    schema = pq.read_schema(tmp_path / "t.parquet")
    assert schema.field("start").type == pa.float32()
    assert schema.field("lower").type == pa.float64()


def test_groups_are_the_first_column_and_none_without_groups(tmp_path):
    steps(GROUPS).write(tmp_path / "groups.csv")
    steps(RULES["rare"]).write(tmp_path / "rule.csv")
    assert (tmp_path / "groups.csv").read_text().startswith("group,start,lower,")
    assert (tmp_path / "rule.csv").read_text().startswith("start,lower,")


@pytest.mark.parametrize(
    ("names", "kind"),
    [([1, 2], pa.int64()), ([0.5, 1.5], pa.float64()), ([False, True], pa.bool_())],
)
def test_groups_keep_their_type(names, kind):
    scores, labels = [1, 2, 3, 4] * 2, [0, 1, 0, 1] * 2
    rule_set = abers.fit_rules(scores, labels, np.repeat(names, 4), minimum=1)
    bounds = rule_set.bounds([1, 1], names)
    assert steps(rule_set).to_arrow().schema.field("group").type in (kind, pa.string())
    assert np.array_equal(bounds[0], read(steps(rule_set), [1.0], names[0])[0, :2])


def test_groups_beyond_64_bits_are_refused_in_a_table():
    rule_set = abers.fit_rules(
        [1, 2, 1, 2], [0, 1, 1, 0], [1, 1, 2**64, 2**64], minimum=1
    )
    with pytest.raises(InvalidParameter, match="64 bits"):
        steps(rule_set).to_arrow()


def test_an_existing_file_is_replaced_only_by_force(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("mine")
    with pytest.raises(OutputExists):
        steps(RULES["rare"]).write(path)
    assert path.read_text() == "mine"
    steps(RULES["rare"]).write(path, force=True)
    assert path.read_text().startswith("start,")


@pytest.mark.parametrize("name", ["t", "t.xlsx", "t.jsonl", "t.abers"])
def test_an_ending_that_no_steps_have_is_refused(name, tmp_path):
    with pytest.raises(InvalidParameter, match="must end with"):
        steps(RULES["rare"]).write(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def reader():
    """Return the reader that docs/serving.md shows."""
    blocks = re.findall(
        r"^```python\n(.*?)^```$", SERVING.read_text(), re.MULTILINE | re.DOTALL
    )
    (code,) = (block for block in blocks if "def read(" in block)
    names = {}
    exec(code, names)  # noqa: S102 (of our own page)
    return names["read"]


@ALL_RULES
def test_the_reader_of_the_page_answers_as_the_rule(rule):
    scores = probes(rule)
    predictions = reader()(json.loads(steps(rule).to_json()), np.r_[scores, np.nan])
    assert mismatches(predictions[:-1], answers(rule, scores)) == 0
    assert np.isnan(predictions[-1]).all()


@pytest.mark.filterwarnings("ignore::abers.errors.UnknownGroupWarning")
def test_the_reader_of_the_page_knows_groups():
    names = ["north", "it's", "south", "mars", None] * 20
    scores = np.linspace(-2, 3, 100)
    predictions = reader()(json.loads(steps(GROUPS).to_json()), scores, names)
    probability = GROUPS.probability(scores, names)
    expected = np.column_stack((GROUPS.bounds(scores, names), probability))
    assert mismatches(predictions, expected) == 0


class Sharing(abers.rules.RuleSet):
    """A rule set whose small groups share a rule that is not that of all groups."""

    def __getitem__(self, group):
        if group in self and group not in self.rules:
            return RULES["forest-like"]
        return super().__getitem__(group)


def test_groups_that_share_a_rule_have_its_steps():
    shared = object.__new__(Sharing)
    shared.__setstate__(GROUPS.__getstate__())
    for group in ("north", "it's", 'a "b" \\', "mars", None):
        scores = probes(shared[group])
        predictions = read(steps(shared), scores, group)
        assert mismatches(predictions, answers(shared[group], scores)) == 0


def test_groups_that_share_a_rule_share_its_rows_in_sql():
    shared = object.__new__(Sharing)
    shared.__setstate__(GROUPS.__getstate__())
    names = {"table": "t", "scores": "s", "score": "s", "group": "g"}
    sql = abers.export.to_sql(shared, "sqlite", **names)
    _, rows, _, groups = sql.parameters
    rule_of = dict(groups)
    assert rule_of["it's"] == rule_of['a "b" \\'] != rule_of["north"]
    own = [row[2:] for row in rows if row[0] == rule_of["it's"]]
    table = steps(RULES["forest-like"])
    expected = (table.start, table.lower, table.upper, table.probability)
    assert np.array_equal(own, np.column_stack(expected))
