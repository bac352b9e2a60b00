"""Columns that judge a rule are read whole, and rows that lack something counted."""

import re

import numpy as np
import pytest

import abers
from abers.errors import InvalidData
from abers.tables.columns import LABEL_TAG, POS_LABEL_TAG, SCORE_TAG
from abers.tables.rows import load_rows, sampled


def fitted_to(*columns):
    """Return a rule that remembers its columns of scores and labels, and pos_label."""
    tags = dict(zip((SCORE_TAG, LABEL_TAG, POS_LABEL_TAG), columns, strict=False))
    return abers.fit_rule([1, 2], [0, 1]).with_metadata(tags)


TEXT = """p,score,y,w,before,region
0.5,1,no,2,0.25,north
0.75,-inf,yes,0.5,0,
1,3,yes,0,1,south
0,-0.0,no,1,0.5,north
"""


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(TEXT)
    return path


def test_columns_are_those_of_the_table(path):
    columns = {"weight": "w", "before": "before", "by": "region"}
    rows = load_rows(path, score="score", pos_label="yes", **columns)
    assert rows.scores.tolist() == [1, -np.inf, 3, 0]
    assert not np.signbit(rows.scores[3])
    assert rows.labels.tolist() == [False, True, True, False]
    assert rows.weights.tolist() == [2, 0.5, 0, 1]
    assert rows.before.tolist() == [0.25, 0, 1, 0.5]
    assert rows.groups == ["north", None, "south", "north"]  # none is a group, too
    assert (rows.n_rows, rows.n_missing) == (4, 0)


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet", "t.csv.gz"])
def test_every_format_gives_the_same(name, tables, data):
    rows = load_rows([tables[name], tables[name]], weight="weight", by="region")
    assert rows.scores.tolist() == [*data.scores.tolist()] * 2
    assert rows.labels.tolist() == [*(data.labels == 1).tolist()] * 2
    assert rows.groups == [*data.regions.tolist()] * 2
    assert rows.weights.tolist() == [*data.weights.tolist()] * 2


def test_the_column_of_the_fit_is_taken_if_none_is_named(path):
    rows = load_rows(path, fitted_to("w", "y", "yes"))
    assert rows.scores.tolist() == [2, 0.5, 0, 1]
    assert rows.labels.tolist() == [False, True, True, False]
    assert load_rows(path, probability="p", pos_label="yes").scores[1] == 0.75


def test_what_is_named_wins_over_what_was_fitted(path):
    rule = fitted_to("w", "y", "yes")
    rows = load_rows(path, rule, score="p", pos_label="no")
    assert rows.scores.tolist() == [0.5, 0.75, 1, 0]
    assert rows.labels.tolist() == [True, False, False, True]


def test_the_positive_label_of_the_fit_belongs_to_its_column(tmp_path):
    """Another column has labels of its own."""
    path = tmp_path / "rows.csv"
    path.write_text("score,y\n1,0\n2,1\n")
    rows = load_rows(path, fitted_to("score", "fate", "won"), label="y")
    assert rows.labels.tolist() == [False, True]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (
            fitted_to("margin", "y"),
            (
                "must have the column 'margin' of the calibration rows; 'y_pred' looks "
                "like scores among its columns 'id', 'y_pred', 'y'. If another holds "
                "the scores, name it with --score."
            ),
        ),
        (
            fitted_to("y_pred", "fate"),
            (
                "must have the column 'fate' of the calibration rows; 'y' looks like "
                "labels among its columns 'id', 'y_pred', 'y'. If another holds the "
                "labels, name it with --label."
            ),
        ),
    ],
)
@pytest.mark.parametrize("needs_label", [True, False])
def test_no_other_column_stands_in_for_that_of_the_fit(
    tmp_path, rule, message, needs_label
):
    """What looks like scores may be classes, and what looks like labels, too."""
    path = tmp_path / "rows.csv"
    path.write_text("id,y_pred,y\n1,0,0\n2,1,1\n")
    with pytest.raises(InvalidData, match=re.escape(message)):
        load_rows(path, rule, needs_label=needs_label)
    rows = load_rows(path, rule, score="y_pred", label="y")
    assert rows.scores.tolist() == [0, 1]


def test_rows_that_lack_a_value_are_left_out_only_if_asked(tmp_path):
    path = tmp_path / "gaps.csv"
    path.write_text("score,label,w\n1,0,1\n,1,1\n3,,1\n4,1,NA\n5,1,1\n")
    rows = load_rows(path, weight="w", drop_missing=True)
    assert (rows.scores.tolist(), rows.n_rows, rows.n_missing) == ([1, 5], 5, 3)
    with pytest.raises(abers.AbersError, match="'score' must not be"):
        load_rows(path, weight="w")


def test_labels_may_be_absent_where_they_are_not_needed(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("score,id\n1,7\n2,8\n")
    assert load_rows(path, needs_label=False).labels is None
    with pytest.raises(abers.AbersError, match="one column of labels; none looks"):
        load_rows(path)
    with pytest.raises(abers.AbersError, match="must have the column 'fate'"):
        load_rows(path, label="fate", needs_label=False)
    path.write_text("score,label,target\n1,1,1\n")
    with pytest.raises(abers.AbersError, match="'label', 'target' both look like one"):
        load_rows(path, needs_label=False)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("score,label\n", {}, "must have rows to judge; it has none"),
        ("score,label\n,1\n", {"drop_missing": True}, "all its rows lack a value"),
        ("p,label\n0.5,1\n-0.1,0\n", {"probability": "p"}, "got -0.1 in row 2 of"),
        ("score,q,label\n1,2,1\n", {"before": "q"}, "'q' must hold probabilities"),
        ("score,w,label\n1,-2,1\n", {"weight": "w"}, "'w' must be finite and not neg"),
        ("score,label\n1,won\n", {}, "Name the positive one with --pos-label"),
        ("score,label\n1,won\n", {"pos_label": "win"}, "must hold 'win'"),
    ],
)
def test_what_cannot_be_judged_is_refused(tmp_path, text, options, message):
    path = tmp_path / "wrong.csv"
    path.write_text(text)
    with pytest.raises(abers.AbersError, match=message):
        load_rows(path, **options)


def test_a_sample_is_the_same_in_each_run_and_in_order():
    rows = sampled(1_000, 100)
    assert np.array_equal(rows, sampled(1_000, 100))
    assert (np.diff(rows) > 0).all()
    assert rows.size == 100
    assert sampled(5, 100).tolist() == [0, 1, 2, 3, 4]
