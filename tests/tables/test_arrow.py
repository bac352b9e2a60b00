"""Arrow's arrays and functions are the same, however they are reached."""

import importlib
import sys

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import abers.tables
from abers.tables import arrow

COLUMNS = [
    (["a", None, "é", ""], pa.string()),
    ([1, None, -5, 2**62], pa.int64()),
    ([1.5, None, 3, float("inf")], pa.float64()),
    ([True, None, False], pa.bool_()),
    ([None, None], pa.null()),
    ([None], pa.string()),
    ([], pa.string()),
    ([], pa.float64()),
]


@pytest.mark.parametrize(("values", "kind"), COLUMNS, ids=str)
def test_a_column_is_what_pyarrow_makes_of_a_list(values, kind):
    found = arrow.column(values, kind)
    found.validate(full=True)
    assert found.equals(pa.array(values, kind))


@pytest.mark.parametrize("start", [0, 1, 7, 9])
@pytest.mark.parametrize("kind", [pa.float64(), pa.int32()])
def test_missing_numbers_are_filled_wherever_an_array_starts(kind, start):
    numbers = [0, None, 2, 3, None, 5, 6, None, 8, None, 10]
    found = arrow.filled(pa.array(numbers, kind)[start:], -1)
    assert found.dtype == kind.to_pandas_dtype()
    assert found.tolist() == [-1 if x is None else x for x in numbers[start:]]


def test_functions_are_those_of_pyarrow_compute():
    texts = pa.array([" a.b ", None, "NA", "x,y"])
    assert arrow.trimmed(texts).equals(pc.utf8_trim_whitespace(texts))
    assert arrow.lower(texts).equals(pc.utf8_lower(texts))
    assert arrow.replaced(texts, ".", "_").equals(pc.replace_substring(texts, ".", "_"))
    assert arrow.matches(texts, "[.,]").equals(pc.match_substring_regex(texts, "[.,]"))
    known = arrow.texts("NA", "x,y")
    assert arrow.is_among(texts, known).equals(pc.is_in(texts, value_set=known))
    assert arrow.encoded(texts).equals(texts.dictionary_encode())
    chosen = pa.array([True, False, True, False])
    assert arrow.without(texts, chosen).equals(pc.if_else(chosen, None, texts))
    assert arrow.cast(pa.array(["1e3"]), pa.float64()).to_pylist() == [1000.0]
    with pytest.raises(pa.ArrowInvalid):
        arrow.cast(pa.array(["one"]), pa.float64())


def test_what_is_not_public_can_be_done_without(monkeypatch):
    """`pyarrow.compute` has the names that are used of the module below it."""
    monkeypatch.setattr(abers.tables, "arrow", arrow)  # to be put back
    monkeypatch.delattr(pa, "_compute")
    monkeypatch.setitem(sys.modules, "pyarrow._compute", None)
    monkeypatch.delitem(sys.modules, "abers.tables.arrow")
    other = importlib.import_module("abers.tables.arrow")
    assert other.compute is pc
    texts = pa.array([" 1", "NA"])
    numerals = other.without(other.trimmed(texts), other.is_among(texts, texts[1:]))
    filled = other.filled(other.cast(numerals, pa.float64()), np.nan)
    assert np.array_equal(filled, [1.0, np.nan], equal_nan=True)
