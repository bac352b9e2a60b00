"""Features become one matrix: numbers as they are, text as codes."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import abers
from abers.tables.features import load_features

TEXT = 'age,town,"a, b",code,w,y\n30,Ulm,1,007,1,0\nNA,,2,x,2,1\n 50 ,none,nan,,1,1\n'


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(TEXT)
    return path


def test_text_is_told_from_numbers_by_all_of_a_column(path):
    rows = load_features(path, ["all"], weight="w")
    assert rows.names == ["age", "town", "a, b", "code"]
    assert rows.is_text == [False, True, False, True]
    nan = np.nan
    expected = [[30, 0, 1, 0], [nan, nan, 2, 1], [50, 1, nan, nan]]
    np.testing.assert_array_equal(rows.matrix, expected)
    assert rows.labels.tolist() == [False, True, True]
    assert rows.weights.tolist() == [1, 2, 1]


def test_features_are_named_one_by_one_or_with_commas(path):
    rows = load_features(path, ["town, age", "a, b"])
    assert rows.names == ["town", "age", "a, b"]


def test_types_of_a_typed_file_are_kept(tmp_path):
    """Text that looks like numbers is text; a category is what it stands for."""
    columns = {
        "zip": ["01", "02", "01"],
        "flag": [True, False, None],
        "n": pa.array([1, 2**40, None], pa.int64()),
        "kind": pa.array(["a", None, "b"]).dictionary_encode(),
        "y": [0, 1, 1],
    }
    pq.write_table(pa.table(columns), tmp_path / "t.parquet", row_group_size=2)
    rows = load_features(tmp_path / "t.parquet", ["all"])
    assert rows.is_text == [True, False, False, True]
    nan = np.nan
    expected = [[0, 1, 1, 0], [1, 0, 2**40, nan], [0, nan, nan, 1]]
    np.testing.assert_array_equal(rows.matrix, expected)


def test_rows_without_a_label_are_left_out_only_if_asked(tmp_path):
    path = tmp_path / "gaps.csv"
    path.write_text("x,fate\n1,won\n2,\n,lost\n")
    options = {"label": "fate", "positive": "won"}
    rows = load_features(path, ["x"], **options, drop_missing=True)
    np.testing.assert_array_equal(rows.matrix, [[1], [np.nan]])
    assert (rows.labels.tolist(), rows.n_missing) == ([True, False], 1)
    with pytest.raises(abers.AbersError, match="to train; it is in 1 of 3 rows"):
        load_features(path, ["x"], **options)


@pytest.mark.parametrize(
    ("text", "features", "message"),
    [
        ("x,y\n1,0\n", ["z"], "must have the column 'z'"),
        ("x,y\n1,0\n", ["x,x"], "each named once"),
        ("x,y\n1,0\n", ["x", "y"], "neither labels nor weights"),
        ("y\n1\n", ["all"], "columns of their own"),
        ("x,y\n1,0\n2,1\n-inf,1\n", ["x"], "finite to train on; got -inf in row 3"),
        ("x,y\n", ["x"], "must have rows to train on; it has none"),
        ("x,y\n1,2\n", ["x"], "labels 0 and 1"),
    ],
)
def test_what_cannot_be_learnt_from_is_refused(tmp_path, text, features, message):
    path = tmp_path / "wrong.csv"
    path.write_text(text)
    with pytest.raises(abers.AbersError, match=message):
        load_features(path, features)


def test_rows_that_all_lack_a_label_are_said_to(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n1,\n")
    with pytest.raises(abers.AbersError, match="all its rows lack a value"):
        load_features(tmp_path / "t.csv", ["x"], drop_missing=True)


def test_a_date_is_neither_number_nor_text(tmp_path):
    columns = {"when": [dt.date(2024, 1, 1)], "y": [1]}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    with pytest.raises(abers.AbersError, match=r"it holds date32.*Leave it out"):
        load_features(tmp_path / "t.parquet", ["all"])
