"""A format is an entry for what reads and recognises it, and one for what writes it."""

from functools import partial
from typing import get_args

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import abers
from abers.choices import FORMAT_NAMES, TableFormat
from abers.tables import fit_table, predict_table
from abers.tables.files import FORMATS, CsvReader, Format
from abers.tables.writing import WRITERS, CsvWriter

HASHED = Format(
    partial(CsvReader, delimiter="#"), (".hsv",), magic=b"score#", is_typed=False
)


@pytest.fixture
def hashed(monkeypatch, tmp_path):
    """A file in a format that was unknown before."""
    monkeypatch.setitem(FORMATS, "hsv", HASHED)
    monkeypatch.setitem(WRITERS, "hsv", partial(CsvWriter, delimiter="#"))
    path = tmp_path / "t.hsv"
    path.write_text("score#label\n1#0\n2#1\n3#0\n")
    return path


def test_the_formats_that_are_read_written_and_offered_are_the_same():
    """A new one is named in `choices`, read in `files` and written in `writing`."""
    assert get_args(TableFormat) == (*FORMATS,) == (*WRITERS,) == (*FORMAT_NAMES,)


def test_no_two_formats_share_an_ending():
    endings = [ending for form in FORMATS.values() for ending in form.endings]
    assert len(set(endings)) == len(endings)


@pytest.mark.parametrize("name", ["t.hsv", "named.csv", "no-suffix"])
def test_one_entry_makes_a_format_readable(hashed, name):
    """Known by its name, or by its first bytes whatever its name."""
    rule = fit_table(hashed.rename(hashed.with_name(name))).rule
    assert rule == abers.fit_rule([1, 2, 3], [0, 1, 0])


def test_one_entry_makes_a_format_writable(hashed, tmp_path):
    rule = abers.fit_rule([1, 2, 3], [0, 1, 0])
    there, back = tmp_path / "there.csv", tmp_path / "back.hsv"
    predict_table(rule, hashed, there)
    predict_table(rule, there, back, score="score", prefix="its_")
    first, row, *_ = back.read_text().splitlines()
    assert first.startswith("score#label#lower#upper#probability#its_lower#")
    assert row.startswith("1#0#0#0.5#")


def test_an_ending_that_nobody_writes_is_refused_with_those_of_the_formats(
    hashed, tmp_path
):
    rule = abers.fit_rule([1, 2, 3], [0, 1, 0])
    with pytest.raises(abers.errors.InvalidParameter, match=r"\.csv, .* or \.hsv, and"):
        predict_table(rule, hashed, tmp_path / "out.xlsx")


@pytest.mark.parametrize(
    ("name", "text"), [("t.arrow", b"score\n1\n"), ("t", b"ARROW1\0\0 cut short")]
)
def test_what_is_no_arrow_file_is_refused(name, text, tmp_path):
    (tmp_path / name).write_bytes(text)
    with pytest.raises(abers.errors.InvalidData, match="must be an Arrow file"):
        fit_table(tmp_path / name)


def test_no_format_may_name_a_column_twice(hashed, tmp_path):
    hashed.write_text("score#score\n1#0\n")
    twice = pa.table([[1.0], [0.0]], names=["score", "score"])
    pq.write_table(twice, tmp_path / "t.parquet")
    for path in (hashed, tmp_path / "t.parquet"):
        with pytest.raises(abers.errors.InvalidData, match="'score' again"):
            fit_table(path)
