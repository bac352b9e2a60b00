"""What may be passed as scores, labels and weights, and what is refused how."""

import array
import datetime as dt
import math
from decimal import Decimal
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import abers
from abers import AbersError, validation
from abers.errors import InvalidData, InvalidType

SCORES = [3, 1, 2, 2, 0, 4]
LABELS = [1, 0, 1, 0, 0, 1]
PLAIN = abers.fit_rule(np.array(SCORES, float), np.array(LABELS))

NAN = math.nan
DAY = dt.datetime(2015, 11, 3)  # noqa: DTZ001


def strided(values):
    """Every third element of an array."""
    return np.repeat(np.array(values, float), 3)[::3]


def unaligned(values):
    """Doubles that start at an odd address."""
    return np.frombuffer(b"?" + np.array(values, float).tobytes(), offset=1)


def read_only(values):
    column = np.array(values, float)
    column.setflags(write=False)
    return column


def pandas_series(values, dtype):
    """A column whose index is not the row number."""
    return pd.Series(values, index=range(len(values), 0, -1), dtype=dtype)


NUMPY_TYPES = ["f8", "f4", "f2", "i1", "i2", "i4", "i8", "u1", "u4", "u8", ">f8", "O"]
PANDAS_TYPES = ["float64", "Float64", "int64", "Int64", "object", "double[pyarrow]"]
POLARS_TYPES = [pl.Float64, pl.Float32, pl.Int64, pl.UInt64, pl.Decimal(9, 2)]
PYARROW_TYPES = [pa.float64(), pa.float32(), pa.int64(), pa.uint64()]

NUMBER_KINDS = {
    **{f"numpy {name}": partial(np.array, dtype=name) for name in NUMPY_TYPES},
    **{f"pandas {name}": partial(pandas_series, dtype=name) for name in PANDAS_TYPES},
    **{f"polars {name}": partial(pl.Series, dtype=name) for name in POLARS_TYPES},
    **{f"pyarrow {name}": partial(pa.array, type=name) for name in PYARROW_TYPES},
    "list": list,
    "tuple": tuple,
    "list of decimals": lambda values: [Decimal(value) for value in values],
    "array.array": lambda values: array.array("d", values),
    "memoryview": lambda values: memoryview(np.array(values, float)),
    "read-only": read_only,
    "strided": strided,
    "negative stride": lambda values: np.array(values[::-1], float)[::-1],
    "unaligned": unaligned,
    "column in C order": lambda values: np.array([[v, v] for v in values])[:, 1],
    "column in Fortran order": lambda values: np.array([values, values]).T[:, 1],
    "masked, but nothing is": np.ma.array,
    "pandas index": pd.Index,
    "pandas array": partial(pd.array, dtype="Float64"),
    "pyarrow chunks": lambda values: pa.chunked_array([values[:2], values[2:]]),
}


@pytest.mark.parametrize("kind", NUMBER_KINDS.values(), ids=NUMBER_KINDS)
def test_scores_of_any_kind_give_the_same_rule_and_bounds(kind):
    rule = abers.fit_rule(kind(SCORES), LABELS)
    assert rule == PLAIN
    np.testing.assert_array_equal(rule.bounds(kind(SCORES)), PLAIN.bounds(SCORES))


def test_range_of_scores_is_a_column():
    rule = abers.fit_rule(range(6), LABELS)
    assert rule == abers.fit_rule([0.0, 1.0, 2.0, 3.0, 4.0, 5.0], LABELS)


BOOL_KINDS = {
    "list": list,
    "numpy": np.array,
    "object": lambda values: np.array(values, object),
    "pandas bool": pd.Series,
    "pandas boolean": lambda values: pd.Series(values, dtype="boolean"),
    "polars": pl.Series,
    "pyarrow": pa.array,
    "pyarrow chunks": lambda values: pa.chunked_array([values[:2], values[2:]]),
}


@pytest.mark.parametrize("kind", BOOL_KINDS.values(), ids=BOOL_KINDS)
def test_false_and_true_are_the_scores_0_and_1(kind):
    flags = [True, False, True, True, False, False]
    rule = abers.fit_rule(kind(flags), LABELS)
    assert rule == abers.fit_rule(np.array(flags, float), LABELS)


@pytest.mark.parametrize("kind", BOOL_KINDS.values(), ids=BOOL_KINDS)
def test_false_and_true_are_the_labels_0_and_1(kind):
    assert abers.fit_rule(SCORES, kind([bool(label) for label in LABELS])) == PLAIN


@pytest.mark.parametrize("kind", NUMBER_KINDS.values(), ids=NUMBER_KINDS)
def test_labels_of_any_kind_give_the_same_rule(kind):
    assert abers.fit_rule(SCORES, kind(LABELS)) == PLAIN


@pytest.mark.parametrize("categories", [[0, 1], [1, 0], [False, True]], ids=str)
@pytest.mark.parametrize("ordered", [False, True])
def test_labels_may_be_categories(categories, ordered):
    dtype = pd.CategoricalDtype(categories, ordered=ordered)
    labels = pd.Series(LABELS).astype(type(categories[0])).astype(dtype)
    assert abers.fit_rule(SCORES, labels) == PLAIN


@pytest.mark.parametrize(
    "kind", [list, np.array, pd.Series, pl.Series], ids=["list", "numpy", "pd", "pl"]
)
def test_the_advice_about_labels_of_text_can_be_followed(kind):
    labels = kind(["b" if label else "a" for label in LABELS])
    with pytest.raises(InvalidType) as refused:
        abers.fit_rule(SCORES, labels)
    assert str(refused.value) == (
        "labels must be 0 or 1, or bool; got 'b' at row 0. "
        "If 'b' is the positive class, pass np.asarray(labels) == 'b'."
    )
    assert abers.fit_rule(SCORES, np.asarray(labels) == "b") == PLAIN


@pytest.mark.parametrize(
    "values",
    [
        [[score] for score in SCORES],
        np.array(SCORES)[:, np.newaxis],
        pd.DataFrame({"score": SCORES}),
        pl.DataFrame({"score": SCORES}),
    ],
    ids=["list", "numpy", "pandas", "polars"],
)
def test_the_advice_about_one_column_can_be_followed(values):
    with pytest.raises(InvalidData, match=r"np.asarray\(values\)\[:, 0\]\.$"):
        abers.fit_rule(values, LABELS)
    assert abers.fit_rule(np.asarray(values)[:, 0], LABELS) == PLAIN


@pytest.mark.parametrize("kind", NUMBER_KINDS.values(), ids=NUMBER_KINDS)
def test_weights_of_any_kind_give_the_same_rule(kind):
    weights = [1, 2, 3, 0, 1, 5]
    rule = abers.fit_rule(SCORES, LABELS, sample_weight=kind(weights))
    assert rule == abers.fit_rule(
        np.repeat(SCORES, weights), np.repeat(LABELS, weights)
    )


def test_nothing_passed_is_modified():
    scores, labels = np.array([2.0, -0.0, 1.0]), np.array([1.0, 0.0, 1.0])
    weights = np.array([0.5, 2.0, 0.0])
    before = [column.tobytes() for column in (scores, labels, weights)]
    abers.fit_rule(scores, labels, sample_weight=weights)
    abers.fit_rule(scores, labels, increasing=False).bounds(scores)
    abers.rules.Diagram.from_counts(scores, weights, labels * weights)
    assert [column.tobytes() for column in (scores, labels, weights)] == before


def fit(scores=(1, 2, 3), labels=(0, 1, 0), sample_weight=None):
    return abers.fit_rule(scores, labels, sample_weight=sample_weight)


MISSING_SCORES = {
    "NaN": [1, NAN, 3],
    "None": [1, None, 3],
    "masked": np.ma.array([1, 2, 3], mask=[0, 1, 0]),
    "pandas NaN": pd.Series([1, NAN, 3]),
    "pandas Float64": pd.Series([1, None, 3], dtype="Float64"),
    "pandas Int64": pd.Series([1, None, 3], dtype="Int64"),
    "pandas boolean": pd.Series([True, None, False], dtype="boolean"),
    "pandas object": pd.Series([1, pd.NA, 3], dtype="object"),
    "pandas array": pd.array([1, None, 3], dtype="Float64"),
    "polars float": pl.Series([1.0, None, 3.0]),
    "polars NaN": pl.Series([1.0, NAN, 3.0]),
    "polars integer": pl.Series([1, None, 3]),
    "polars boolean": pl.Series([True, None, False]),
    "pyarrow float": pa.array([1.0, None, 3.0]),
    "pyarrow integer": pa.array([1, None, 3]),
    "pyarrow boolean": pa.array([True, None, False]),
    "pyarrow chunks": pa.chunked_array([[1, None], [3]]),
}


@pytest.mark.parametrize("scores", MISSING_SCORES.values(), ids=MISSING_SCORES)
def test_missing_score_is_counted_and_located(scores):
    with pytest.raises(InvalidData) as refused:
        fit(scores)
    assert str(refused.value) == (
        "scores must not be NaN; got NaN in 1 of 3 rows, first at row 1. "
        "Drop or impute these rows before calibrating."
    )


@pytest.mark.parametrize("scores", MISSING_SCORES.values(), ids=MISSING_SCORES)
def test_missing_score_has_no_bounds(scores):
    with pytest.raises(InvalidData) as refused:
        PLAIN.bounds(scores)
    assert str(refused.value) == (
        "scores must not be NaN; got NaN in 1 of 3 rows, first at row 1. "
        "Drop or impute these rows before predicting."
    )


MISSING_LABELS = {
    "NaN": [0, NAN, 1],
    "None": [0, None, 1],
    "masked": np.ma.array([0, 1, 1], mask=[0, 1, 0]),
    "pandas boolean": pd.Series([False, None, True], dtype="boolean"),
    "pandas Int64": pd.Series([0, None, 1], dtype="Int64"),
    "polars boolean": pl.Series([False, None, True]),
    "polars integer": pl.Series([0, None, 1]),
    "pyarrow boolean": pa.array([False, None, True]),
    "pyarrow chunks": pa.chunked_array([[False, None], [True]]),
}


@pytest.mark.parametrize("labels", MISSING_LABELS.values(), ids=MISSING_LABELS)
def test_missing_label_is_counted_and_located(labels):
    with pytest.raises(InvalidData) as refused:
        fit(labels=labels)
    assert str(refused.value) == (
        "labels must be 0 or 1; got NaN at row 1 (1 of 3 rows are neither). "
        "Drop the rows without a label."
    )


def test_labels_of_minus_one_and_one_are_told_the_remedy():
    with pytest.raises(InvalidData) as refused:
        fit(labels=[1, -1, -1])
    assert str(refused.value) == (
        "labels must be 0 or 1; got -1 at row 1 (2 of 3 rows are neither). "
        "For labels -1 and 1 pass labels > 0."
    )


def test_labels_of_three_classes_are_refused():
    with pytest.raises(InvalidData) as refused:
        fit(labels=[0, 1, 2])
    assert str(refused.value) == (
        "labels must be 0 or 1; got 2 at row 2 (1 of 3 rows are neither). "
        "Pass 1 for the positive class and 0 for the rest."
    )


REFUSALS = {
    "string score": ({"scores": [1, "b", 3]}, InvalidType, "got 'b' at row 1"),
    "numeric string": ({"scores": ["1", "2", "3"]}, InvalidType, "got '1' at row 0"),
    "array of strings": (
        {"scores": np.array(["a", "b", "c"])},
        InvalidType,
        "got <U1, for example 'a'",
    ),
    "pandas strings": (
        {"scores": pd.Series(["a", "b", "c"])},
        InvalidType,
        "got a column of String",
    ),
    "polars strings": (
        {"scores": pl.Series(["a", "b", "c"])},
        InvalidType,
        "got a column of String",
    ),
    "pyarrow strings": (
        {"scores": pa.array(["a", "b", "c"])},
        InvalidType,
        "got 'a' at row 0",
    ),
    "bytes": ({"scores": [b"1", b"2", b"3"]}, InvalidType, "got b'1' at row 0"),
    "masked strings": (
        {"scores": np.ma.array(["a", "b", "c"], mask=[0, 0, 1])},
        InvalidType,
        "got 'a' at row 0",
    ),
    "complex score": ({"scores": [1, 2j, 3]}, InvalidType, "got complex128"),
    "complex object": (
        {"scores": np.array([1, np.complex64(2j), 3], object)},
        InvalidType,
        r"got np.complex64\(2j\) at row 1",
    ),
    "datetime": ({"scores": [DAY] * 3}, InvalidType, r"got datetime.datetime\(2015"),
    "datetime64": ({"scores": np.array([DAY] * 3, "M8[s]")}, InvalidType, "datetime64"),
    "timedelta64": ({"scores": np.arange(3).astype("m8[s]")}, InvalidType, "timedelta"),
    "pandas dates": ({"scores": pd.Series([DAY] * 3)}, InvalidType, "Datetime"),
    "polars dates": ({"scores": pl.Series([DAY] * 3)}, InvalidType, "Datetime"),
    "pandas categories": (
        {"scores": pd.Series([1, 2, 3], dtype="category")},
        InvalidType,
        "got a column of Categorical",
    ),
    "nested scores": (
        {"scores": np.array([[1], None, 3], object)},
        InvalidType,
        r"got \[1\] at row 0",
    ),
    "ragged rows": ({"scores": [[1], [2, 3], [4]]}, InvalidType, "different lengths"),
    "no scores at all": ({"scores": None}, InvalidType, "got None"),
    "text for a column": ({"scores": "123"}, InvalidType, "got '123'"),
    "set": ({"scores": {1, 2, 3}}, InvalidType, "got {1, 2, 3}"),
    "scalar": ({"scores": 1.0}, InvalidData, r"got shape \(\). Put .* into a list"),
    "matrix": (
        {"scores": [[1, 2, 3]]},
        InvalidData,
        r"got shape \(1, 3\). Pass one .* np.asarray\(values\)\[:, 1\]",
    ),
    "matrix of one column": (
        {"scores": [[1], [2], [3]]},
        InvalidData,
        r"got shape \(3, 1\). Pass one .* np.asarray\(values\)\[:, 0\]",
    ),
    "pandas frame": (
        {"scores": pd.DataFrame({"a": [1, 2, 3]})},
        InvalidData,
        r"got shape \(3, 1\)",
    ),
    "polars frame": (
        {"scores": pl.DataFrame({"a": [1, 2, 3]})},
        InvalidData,
        r"got shape \(3, 1\)",
    ),
    "pyarrow table": (
        {"scores": pa.table({"a": [1, 2, 3]})},
        InvalidData,
        r"got shape \(3, 1\)",
    ),
    "empty": ({"scores": [], "labels": []}, InvalidData, "got no rows to calibrate"),
    "integer beyond 2**53": (
        {"scores": [1, 2**53 + 1, 3]},
        InvalidData,
        "not exceed 2.*got 9007199254740993",
    ),
    "least 64-bit integer": (
        {"scores": [-(2**63), 0, 1]},
        InvalidData,
        "got 9223372036854775808",
    ),
    "largest unsigned integer": (
        {"scores": np.array([0, 1, 2**64 - 1], np.uint64)},
        InvalidData,
        "got 18446744073709551615",
    ),
    "masked integer beyond 2**53": (
        {"scores": np.ma.array([2**53 + 1, 2, 3], mask=[0, 0, 1])},
        InvalidType,
        "fit into 64-bit floats; got 9007199254740993 at row 0",
    ),
    "integer beyond 64 bits": (
        {"scores": [0, 2**70 + 1, 1]},
        InvalidType,
        "fit into 64-bit floats; got 1180591620717411303425 at row 1",
    ),
    "integer beyond doubles": (
        {"scores": [0, 10**400, 1]},
        InvalidType,
        "fit into 64-bit floats; got 10.*00 at row 1",
    ),
    "label one half": ({"labels": [0, 0.5, 1]}, InvalidData, "got 0.5 at row 1"),
    "label as text": ({"labels": ["0", "1", "0"]}, InvalidType, "got '0' at row 0"),
    "label matrix": ({"labels": [[0, 1, 0]]}, InvalidData, r"got shape \(1, 3\)"),
    "labels as an array of text": (
        {"labels": np.array(["no", "yes", "no"])},
        InvalidType,
        r"0 or 1, or bool; got 'no' at row 0. If 'yes' is .* pass .* == 'yes'",
    ),
    "labels as pandas text": (
        {"labels": pd.Series(["a", None, "b"])},
        InvalidType,
        "got 'a' at row 0. If 'b' is",
    ),
    "labels as polars text": (
        {"labels": pl.Series(["a", "b", "a"])},
        InvalidType,
        "got 'a' at row 0. If 'b' is",
    ),
    "labels as categories of text": (
        {"labels": pd.Series(["a", "b", "a"], dtype="category")},
        InvalidType,
        "got 'a' at row 0. If 'b' is",
    ),
    "text among labels": ({"labels": [0, "b", 1]}, InvalidType, "got 'b' at row 1"),
    "bytes among labels": ({"labels": ["a", b"b", 1]}, InvalidType, "got 'a' at row 0"),
    "text for labels": ({"labels": "010"}, InvalidType, "one column .* got '010'"),
    "one label": ({"labels": 1}, InvalidData, r"got shape \(\). Pass one label for"),
    "label frame": (
        {"labels": pd.DataFrame({"a": [0, 1, 1]})},
        InvalidData,
        r"got shape \(3, 1\)",
    ),
    "too few labels": ({"labels": [0, 1]}, InvalidData, "got 2 labels and 3 scores"),
    "no labels": ({"labels": []}, InvalidData, "got 0 labels and 3 scores"),
    "negative weight": (
        {"sample_weight": [1, -2, 1]},
        InvalidData,
        "got -2.0 at row 1",
    ),
    "NaN weight": ({"sample_weight": [1, 1, NAN]}, InvalidData, "got nan at row 2"),
    "no weight": ({"sample_weight": [1, None, 1]}, InvalidData, "got nan at row 1"),
    "infinite weight": (
        {"sample_weight": [math.inf, 1, 1]},
        InvalidData,
        r"got inf at row 0 \(1 of 3 rows are bad\)",
    ),
    "zero weights": ({"sample_weight": [0, 0, 0]}, InvalidData, "not all be zero"),
    "weights too large": ({"sample_weight": [1e308] * 3}, InvalidData, "got inf"),
    "too few weights": (
        {"sample_weight": [1, 1]},
        InvalidData,
        "got 2 sample_weight and 3 scores",
    ),
    "weight matrix": (
        {"sample_weight": [[1, 1, 1]]},
        InvalidData,
        r"got shape \(1, 3\)",
    ),
    "one weight": (
        {"sample_weight": 2.0},
        InvalidData,
        r"got shape \(\). Pass one weight for each row",
    ),
    "weight as text": ({"sample_weight": ["1"] * 3}, InvalidType, "got '1' at row 0"),
    "weight beyond 2**53": (
        {"sample_weight": [2**60, 1, 1]},
        InvalidData,
        "got 1152921504606846976",
    ),
}


@pytest.mark.parametrize(("given", "error", "text"), REFUSALS.values(), ids=REFUSALS)
def test_refusal_says_what_must_hold_what_came_and_where(given, error, text):
    """One sentence, then perhaps what to do."""
    with pytest.raises(error, match=text) as refused:
        fit(**given)
    name = next(iter(given))
    assert str(refused.value).startswith(name)
    assert " must " in str(refused.value).split("; got ")[0]
    assert str(refused.value).endswith(".")


@pytest.mark.skipif(np.finfo(np.longdouble).bits == 64, reason="nothing is longer")
@pytest.mark.parametrize("name", ["scores", "sample_weight"])
def test_long_doubles_are_refused_rather_than_rounded(name):
    with pytest.raises(InvalidType, match=f"{name} must fit into 64-bit floats"):
        fit(**{name: np.array([1, 2, 3], np.longdouble)})


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"scores": [NAN, 2, 3]}, ValueError),
        ({"labels": [0, 1, 2]}, ValueError),
        ({"labels": [0, 1]}, ValueError),
        ({"sample_weight": [0, 0, 0]}, ValueError),
        ({"scores": ["a", "b", "c"]}, TypeError),
    ],
)
def test_refusals_are_ours_and_pythons_kind_of_error(given, kind):
    with pytest.raises(AbersError) as refused:
        fit(**given)
    assert isinstance(refused.value, kind)


def test_scores_to_predict_may_be_none_at_all():
    assert PLAIN.bounds([]).shape == (0, 2)


def test_largest_exact_integers_stay_apart():
    rule = abers.fit_rule([2**53, 2**53 - 1], [1, 0])
    assert rule.bounds([2**53 - 1, 2**53]).tolist() == [[0, 0.5], [0.5, 1]]


TWO_LABELS = [
    (["bad", "good", "bad"], "bad"),
    ([2, 1, 2], 2),
    ([0, 1, 0], 0),
    ([-1.0, 1.0, -1.0], -1),
    ([True, False, True], True),
    ([b"n", b"y", b"n"], b"n"),
    (["good", "good"], "good"),
]


@pytest.mark.parametrize(("labels", "pos_label"), TWO_LABELS)
@pytest.mark.parametrize(
    "kind", [list, np.array, pd.Series, lambda v: np.array(v, dtype=object)]
)
def test_any_two_labels_are_0_and_1_once_the_positive_one_is_given(
    kind, labels, pos_label
):
    encoded, positive = validation.binary_labels(kind(labels), pos_label)
    assert encoded.tolist() == [label == pos_label for label in labels]
    assert encoded.dtype == bool
    assert positive == pos_label


@pytest.mark.parametrize("kind", [pd.Categorical, pl.Series, pa.array, np.array])
def test_text_of_any_library_has_a_positive_label(kind):
    encoded, positive = validation.binary_labels(kind(["n", "y"]), np.str_("y"))
    assert (encoded.tolist(), positive, type(positive)) == ([False, True], "y", str)


def test_without_a_positive_label_they_are_as_they_were():
    for labels in ([0, 1], np.array([True, False]), [0.0, 1.0]):
        encoded, positive = validation.binary_labels(labels, None)
        assert encoded.dtype == validation.as_labels(labels).dtype
        assert positive is None


def test_a_positive_label_may_not_have_occurred():
    """Of rare events a few rows may show none."""
    encoded, _ = validation.binary_labels(["good", "good"], "bad")
    assert not encoded.any()


def test_rows_that_do_not_count_may_have_any_label():
    counted = np.array([True, True, False, False])
    labels = ["bad", "good", None, "odd"]
    encoded, _ = validation.binary_labels(labels, "bad", counted=counted)
    assert encoded.tolist() == [True, False, False, False]


@pytest.mark.parametrize(
    ("labels", "pos_label", "message"),
    [
        (
            ["a", "b", "c", "c"],
            "b",
            (
                "y must have two values; got 'c' at row 2, besides 'b' and 'a'. "
                "To set one against all others, pass np.asarray(y) == 'b'."
            ),
        ),
        (
            ["a", "b"],
            "c",
            "pos_label must be among y: 'a', 'b'; got 'c'.",
        ),
        ([0, 0], "bad", "pos_label must be among y: 0; got 'bad'."),
        (
            list(range(9)),
            -1,
            "pos_label must be among y: 0, 1, 2, 3, 4 and 4 more; got -1.",
        ),
        (
            ["a", None, "b", None],
            "a",
            (
                "y must not be missing; got none in 2 of 4 rows, first at row 1. "
                "Drop the rows without a label."
            ),
        ),
        (
            [1.0, NAN, 2.0],
            1,
            (
                "y must not be missing; got none in 1 of 3 rows, first at row 1. "
                "Drop the rows without a label."
            ),
        ),
        (
            [["a"], ["b"]],
            "a",
            (
                "y must be one-dimensional; got shape (2, 1). "
                "Pass one column, for example np.asarray(values)[:, 0]."
            ),
        ),
        (
            ["bad", "good"],
            None,
            (
                "y must be 0 or 1, or bool; got 'bad' at row 0. If 'good' is the "
                "positive class, pass pos_label='good'."
            ),
        ),
    ],
)
def test_labels_without_two_sides_are_refused(labels, pos_label, message):
    with pytest.raises(AbersError) as refused:
        validation.binary_labels(labels, pos_label, "y")
    assert str(refused.value) == message


class ByArrowArray:
    """A column that only Arrow's protocol can read."""

    def __init__(self, values):
        self.column = pa.array(values)

    def __arrow_c_array__(self, requested_schema=None):
        return self.column.__arrow_c_array__(requested_schema)


class ByArrowStream:
    """The same in chunks."""

    def __init__(self, values):
        self.column = pa.chunked_array([values[:2], values[2:]])

    def __arrow_c_stream__(self, requested_schema=None):
        return self.column.__arrow_c_stream__(requested_schema)


class ByDLPack:
    """Memory of another library."""

    def __init__(self, values):
        self.array = np.array(values)

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("kind", [ByArrowArray, ByArrowStream, ByDLPack])
def test_columns_are_read_through_the_protocols_of_other_libraries(kind):
    assert abers.fit_rule(kind(SCORES), kind(LABELS)) == PLAIN
    weights = kind([1.0] * len(SCORES))
    assert abers.fit_rule(SCORES, LABELS, sample_weight=weights) == PLAIN
    assert PLAIN.bounds(kind([1.0, 2.0])).tolist() == PLAIN.bounds([1, 2]).tolist()


@pytest.mark.parametrize("kind", [ByArrowArray, ByArrowStream])
def test_what_arrow_brings_is_checked_as_any_column(kind):
    with pytest.raises(InvalidData, match="got NaN in 1 of 3 rows, first at row 1"):
        abers.fit_rule(kind([1.0, None, 3.0]), [0, 1, 0])
    with pytest.raises(InvalidType, match="scores must be real numbers; got a column"):
        abers.fit_rule(kind(["1", "2", "3"]), [0, 1, 0])
    with pytest.raises(InvalidType, match="If 'b' is the positive class, pass"):
        abers.fit_rule([1, 2, 3], kind(["a", "b", "a"]))
    groups = kind(["x", "y", "y"])
    assert list(abers.fit_rules([1, 2, 3], [0, 1, 0], groups)) == ["x", "y"]


class OnADevice:
    """A tensor in memory that the processor cannot read."""

    def __dlpack__(self, **_options):
        msg = "the data are on device 2"
        raise BufferError(msg)

    def __dlpack_device__(self):
        return 2, 0


class BadArray:
    """An object that numpy asks in vain."""

    def __init__(self, error):
        self.error = error

    def __array__(self, dtype=None, copy=None):
        raise self.error


class BadRepr:
    """An object that cannot even be shown."""

    def __repr__(self):
        msg = "no words"
        raise RuntimeError(msg)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (OnADevice(), "the OnADevice given says: the data are on device 2"),
        (BadArray(KeyError("boom")), "the BadArray given says: 'boom'"),
        (BadArray(ValueError("not now")), "the BadArray given says: not now"),
    ],
    ids=["device", "KeyError", "ValueError"],
)
def test_what_cannot_be_read_is_refused_with_its_reason(values, reason):
    for scores, labels, name in (
        (values, LABELS, "scores"),
        (SCORES, values, "labels"),
    ):
        with pytest.raises(InvalidType) as raised:
            abers.fit_rule(scores, labels)
        assert str(raised.value) == (
            f"{name} must be numbers that numpy can read; {reason}. Pass a copy of it "
            "in the memory of the CPU, as an array of numpy."
        )


def test_a_sentence_survives_an_object_that_cannot_be_shown():
    with pytest.raises(InvalidType, match="real numbers; got a BadRepr at row 1"):
        abers.fit_rule([1, BadRepr(), 3], [0, 1, 0])
    with pytest.raises(InvalidType, match="increasing must be True or False; got a "):
        abers.fit_rule(SCORES, LABELS, increasing=BadRepr())
    with pytest.raises(AbersError, match="loss must be 'log' or 'brier'; got a BadRep"):
        PLAIN.probability([1], loss=BadRepr())


def test_text_of_numpys_own_type_is_refused_as_any_text():
    text = np.array(["0.5", "1", "2"], dtype=np.dtypes.StringDType())
    with pytest.raises(InvalidType, match=r"real numbers; got '0\.5' at row 0"):
        abers.fit_rule(text, [0, 1, 0])
    with pytest.raises(InvalidType, match="If '2' is the positive class, pass"):
        abers.fit_rule([1, 2, 3], text)
    assert list(abers.fit_rules([1, 2, 3], [0, 1, 0], text)) == ["0.5", "1", "2"]
