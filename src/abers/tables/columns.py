"""Columns: finding them, and reading their numbers, labels and groups.

A value is missing if it is null, empty or NaN; among numbers given as text, NA, N/A,
null and None mean the same.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from abers.core.fitted import RESERVED
from abers.errors import AbersError, InvalidData, InvalidParameter
from abers.tables.files import FORMATS, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from abers.tables.files import Batch, Dialect, InputTable
    from abers.validation import FloatArray

# A column is found by one of these names if none is given and only one matches.
USUAL = {
    "score": (
        *("score", "scores", "y_score", "prediction", "predictions", "pred", "y_pred"),
        *("p", "probability", "prob", "proba", "y_prob", "logit", "margin"),
    ),
    "label": ("label", "labels", "y", "y_true", "target", "outcome", "class"),
}
# Tags in which a rule stores the columns of its fit.
SCORE_TAG, GROUP_TAG = RESERVED + "score", RESERVED + "by"
LABEL_TAG, POS_LABEL_TAG = RESERVED + "label", RESERVED + "pos-label"
NEG_LABELS_TAG = RESERVED + "neg-labels"
WEIGHT_TAG = RESERVED + "weight"
ID_TAG = RESERVED + "id"
MISSING = "^(na|n/a|nan|null|none)?$"  # in place of a number
BOOLEANS = {"true": True, "false": False}
INTEGER_TEXT = re.compile(r"[+-]?[0-9]+")
ABSENT, FOREIGN = -1, -2  # codes of a missing label or group, and of a wrong label
REAL = (pa.types.is_floating, pa.types.is_decimal, pa.types.is_null)
SAME_LABELS = {"false": "0", "true": "1"}
# Pairs of labels that need no --pos-label, positive label last.
USUAL_PAIRS = (("0", "1"), ("no", "yes"), ("negative", "positive"))
USUAL_WORDS = {word for pair in USUAL_PAIRS for word in pair}
MOST_NEGATIVES = 19  # labels against a positive one that a rule remembers
N_LABELS = 2
TWO_FIRST = "Make a column of two labels first, for example one label against the rest."
LARGEST_INTEGER = 2**53  # up to here, integers are distinct as doubles
COMMA_NUMERAL = r"[+-]?[0-9]*,[0-9]+([eE][+-]?[0-9]+)?"
POINT_NUMERAL = COMMA_NUMERAL.replace(",", r"\.")
INFINITE = r"(?i)^\s*[+-]?inf(inity)?\s*$"
INTEGER = r"^\s*[+-]?[0-9]+\s*$"
NUMERAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,9})?")
LONGEST_LABEL = 300  # digits of a whole number; longer ones are not normalised


def column(
    table: InputTable, given: str | None, role: str, *, fitted: str | None = None
) -> str:
    """Return the column for a role: the one given, the one of the fit, or a usual one.

    `fitted` is the column that had the role in the fit. No other is used in its place:
    it might hold anything, such as classes instead of scores.
    """
    if given is not None:
        if not table.has(given):
            msg = (
                f"{table.name} must have the column {given!r}; "
                f"its columns are {listed(table.columns)}."
            )
            raise InvalidData(msg)
        return given
    usual = [name for name in table.columns if name.casefold() in USUAL[role]]
    if fitted is not None and table.has(fitted):
        return fitted
    if fitted is None and len(usual) == 1:
        return usual[0]
    all_of_them = {1: "looks", 2: "both look"}.get(len(usual), "all look")
    what = f"{listed(usual)} {all_of_them}" if usual else "none looks"
    must, like = f"one column of {role}s", "one"
    advice = f"Name it with --{role}."
    if fitted is not None:
        must, like = f"the column {fitted!r} of the calibration rows", f"{role}s"
        advice = f"If another holds the {role}s, name it with --{role}."
    if all(map(_is_numeral, table.columns)):
        advice = "The first line must name the columns."
    elif _looks_undivided(table):
        advice = "If that is several, name what is between them with --delimiter."
    msg = (
        f"{table.name} must have {must}; {what} like {like} among its columns "
        f"{listed(table.columns)}. {advice}"
    )
    raise InvalidData(msg)


def _looks_undivided(table: InputTable) -> bool:
    """Return whether the delimiter of a text file may not have been found."""
    is_typed = FORMATS[table.format].is_typed
    return (
        not is_typed
        and len(table.columns) == 1
        and re.search(r"\W", table.columns[0]) is not None
    )


def _is_numeral(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def check_tags(metadata: Mapping[str, Any] | None) -> None:
    """Raise for tags that look like our own."""
    if reserved := [tag for tag in metadata or () if str(tag).startswith(RESERVED)]:
        msg = f"tags must not begin with {RESERVED!r}; got {reserved[0]!r}."
        raise InvalidParameter(msg)


class Allowed(NamedTuple):
    """The nonnegative numbers that a column may hold."""

    largest: float
    words: str  # for a message: what the column must do
    error: type[AbersError]


WEIGHTS = Allowed(np.finfo(np.float64).max, "be finite and not negative", InvalidData)
PROBABILITIES = Allowed(1.0, "hold probabilities, from 0 to 1", InvalidData)


class Numbers:
    """A column of doubles, NaN where one is missing."""

    def __init__(self, column: str, allowed: Allowed | None = None) -> None:
        self.column = column
        self._allowed = allowed

    def values(self, batch: Batch) -> FloatArray:
        """Return the numbers of a batch, without -0.0."""
        values = filled(self._doubles(batch), np.nan) + 0.0
        if self._allowed:
            bad = (values < 0) | (values > self._allowed.largest)
            if bad.any():
                row = int(bad.argmax())
                msg = (
                    f"column {self.column!r} must {self._allowed.words}; "
                    f"got {values[row].item()!r} in {batch.place(row)}."
                )
                raise self._allowed.error(msg)
        return values

    def _doubles(self, batch: Batch) -> pa.Array:
        values = _plain(batch[self.column])
        kind = values.type
        if pa.types.is_string(kind):
            return _parsed(values, batch, self.column)
        if pa.types.is_integer(kind):
            return _widened(values, batch, self.column)
        if pa.types.is_boolean(kind):
            return pc.cast(pc.cast(values, pa.uint8()), pa.float64())
        if any(is_kind(kind) for is_kind in REAL):
            return pc.cast(values, pa.float64())
        msg = (
            f"column {self.column!r} must hold numbers; "
            f"in {batch.file} it holds {kind}."
        )
        raise InvalidData(msg)


class Labels:
    """A column of labels, as 0 and 1.

    Without a positive value, they must be 0 and 1, or a pair such as no and yes, true
    and false, or negative and positive. With one, it is compared with all others, or
    with the negative ones of the fit.
    """

    def __init__(
        self,
        column: str,
        pos_label: str | None = None,
        neg_labels: Sequence[str] | None = None,
    ) -> None:
        self.column = column
        self.pos_label = pos_label
        self.neg_labels = neg_labels
        self._codes: dict[str, int] = {}  # of each value seen, in order
        self._pair: tuple[str, str] | None = None  # that they belong to
        self._decimal = "."

    def values(self, batch: Batch) -> NDArray[np.int8]:
        """Return 1 for the positive value, 0 for the other, -1 where it is missing."""
        self._decimal = batch.dialect.decimal if batch.dialect else "."
        codes = _coded(batch, self.column, self._code, np.int8)
        if FOREIGN in self._codes.values():
            self._refuse(batch, int((codes == FOREIGN).argmax()))
        return codes

    @property
    def positive(self) -> str | None:
        """The positive label, if it is not 1 or true."""
        if self.pos_label is not None or self._pair in (None, USUAL_PAIRS[0]):
            return self.pos_label
        return next((text for text, code in self._codes.items() if code == 1), None)

    @property
    def tags(self) -> dict[str, str]:
        """What a rule remembers of labels that are not 0 and 1."""
        if (label := self.positive) is None:
            return {}
        others = sorted(self._negatives)
        # Of very many labels, an engine has seen only some.
        is_kept = 0 < len(others) <= MOST_NEGATIVES
        kept = {NEG_LABELS_TAG: json.dumps(others, ensure_ascii=False)}
        return {POS_LABEL_TAG: label} | (kept if is_kept else {})

    @property
    def understood(self) -> str | None:
        """How labels other than 0 and 1 were interpreted, as a sentence.

        None if they are those of the fit.
        """
        if (label := self.positive) is None or self.neg_labels is not None:
            return None
        others = self._negatives
        rest = " the others" if len(others) > 1 else ""
        return (
            f"Column {self.column!r}: {label!r} is the positive label, against"
            f"{rest} {listed(others, most=5) or 'none'}."
        )

    def check_seen(self) -> None:
        """Raise if the positive value never occurred, unless all others are known."""
        must_come = self.pos_label is not None and self.neg_labels is None
        if must_come and 1 not in self._codes.values():
            msg = (
                f"column {self.column!r} must hold {self.pos_label!r}, which is to be "
                f"the positive label; the values found are {listed([*self._codes])}. "
                "Name another with --pos-label."
            )
            raise InvalidData(msg)

    def _code(self, value: Any) -> int:
        text = label_text(value)
        if not text:
            return ABSENT
        if text not in self._codes:
            self._codes[text] = self._decided(text)
        return self._codes[text]

    def _decided(self, text: str) -> int:
        label = self._label(text)
        if self.pos_label is not None:
            if label == self._label(self.pos_label):
                return 1
            others = self.neg_labels
            is_other = others is None or label in map(self._label, others)
            return 0 if is_other else FOREIGN
        for pair in USUAL_PAIRS:
            if label in pair and self._pair in (None, pair):
                self._pair = pair
                return pair.index(label)
        return FOREIGN

    def _label(self, text: str) -> str:
        """Return the same text for equal labels: 1, 1.0 and true; No and no."""
        text = text.strip()
        word = text.casefold()
        numeral = text
        if self._decimal != ".":
            numeral = text.replace(".", "_").replace(self._decimal, ".")
        usual = SAME_LABELS.get(word, word if word in USUAL_WORDS else text)
        return _whole_number(numeral) or usual

    @property
    def _negatives(self) -> list[str]:
        return [text for text, code in self._codes.items() if code == 0]

    def _refuse(self, batch: Batch, row: int) -> None:
        got = (
            f"got {label_text(batch[self.column][row].as_py())!r} in {batch.place(row)}"
        )
        values = f"the values found are {listed([*self._codes])}"
        if self.neg_labels is not None:
            fitted = listed([str(self.pos_label), *self.neg_labels])
            msg = (
                f"column {self.column!r} must hold the labels of the fit, {fitted}; "
                f"{got}. Correct it, or let all others be negative with --pos-label "
                f"{self.pos_label!r}."
            )
            raise InvalidData(msg)
        too_many = len(set(map(self._label, self._codes))) > N_LABELS
        if too_many:
            must = "two labels"
        else:
            must = "labels 0 and 1, or yes and no, true and false"
        advice = TWO_FIRST if too_many else "Name the positive one with --pos-label."
        msg = f"column {self.column!r} must hold {must}; {got}, and {values}. {advice}"
        raise InvalidData(msg)


class ClassLabels:
    """A column of labels of any number of classes, as codes.

    Without classes, codes are numbered as labels appear. With classes, they are indices
    into these, and other labels are refused.
    """

    def __init__(self, column: str, classes: Sequence[Any] | None = None) -> None:
        self.column = column
        self._is_fixed = classes is not None
        self._codes = {label_text(c): i for i, c in enumerate(classes or ())}

    def values(self, batch: Batch) -> NDArray[np.int64]:
        """Return the code of each row's label, -1 where it is missing."""
        codes = _coded(batch, self.column, self._code, np.int64)
        if (codes == FOREIGN).any():
            row = int((codes == FOREIGN).argmax())
            msg = (
                f"column {self.column!r} must hold the classes of the fit, "
                f"{listed([*self._codes])}; got "
                f"{label_text(batch[self.column][row].as_py())!r} in "
                f"{batch.place(row)}. Leave such rows out, or fit again."
            )
            raise InvalidData(msg)
        return codes

    def sorted_classes(
        self, codes: NDArray[np.int64]
    ) -> tuple[tuple[Any, ...], NDArray[np.int64]]:
        """Return the labels, ascending, and the index of each row's label.

        Labels that are all whole numbers become integers, as in a frame.
        """
        texts = list(self._codes)
        are_whole = all(INTEGER_TEXT.fullmatch(text) for text in texts)
        labels = [int(text) for text in texts] if are_whole else texts
        order = sorted(range(len(labels)), key=labels.__getitem__)
        places = np.argsort(order)
        return tuple(labels[i] for i in order), places[codes]

    def _code(self, value: Any) -> int:
        text = label_text(value)
        if not text:
            return ABSENT
        text = _whole_number(text) or text
        if self._is_fixed:
            return self._codes.get(text, FOREIGN)
        return self._codes.setdefault(text, len(self._codes))


class Groups:
    """A column of groups, as codes numbered in order of appearance.

    `fitted` is the type of the groups of a rule set, if there is one: a group may be
    text in one file and a number in another.
    """

    def __init__(self, column: str, fitted: type | None = None) -> None:
        self.column = column
        self._fitted = fitted
        self._codes: dict[Any, int] = {}

    @property
    def names(self) -> list[Any]:
        """The groups seen so far, in the order of their codes."""
        return list(self._codes)

    def values(self, batch: Batch) -> NDArray[np.int64]:
        """Return the code of each row's group, -1 where it is missing."""
        return _coded(batch, self.column, self._code, np.int64)

    def names_of(self, codes: NDArray[np.int64]) -> list[Any]:
        """Return the group of each code; -1, for no group, gives None."""
        names = np.array([*self._codes, None], dtype=np.object_)
        return list(names[codes])

    def _code(self, value: Any) -> int:
        if value in (None, "") or _is_nan(value):
            return ABSENT
        if not isinstance(value, str | int | float):
            msg = (
                f"column {self.column!r} must hold groups that are text, numbers or "
                f"booleans; got {value!r}."
            )
            raise InvalidData(msg)
        group = self._as_fitted(value)
        if _is_nan(group):
            return ABSENT
        return self._codes.setdefault(group, len(self._codes))

    def _as_fitted(self, value: str | float) -> str | float:
        """Convert a group to the type of the fit."""
        if self._fitted is None or isinstance(value, str) == (self._fitted is str):
            return value
        if isinstance(value, str):
            return self._read(value)
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, float) and not value.is_integer():
            return repr(value)
        return str(int(value))  # floats occur in columns with missing values

    def _read(self, text: str) -> float:
        """Return the number or the boolean that a string represents."""
        if self._fitted is bool and text.lower() in BOOLEANS:
            return BOOLEANS[text.lower()]
        try:
            if self._fitted is not bool:
                return int(text) if INTEGER_TEXT.fullmatch(text) else float(text)
        except ValueError:
            pass  # not a boolean
        msg = (
            f"column {self.column!r} must hold groups that are "
            f"{'true or false' if self._fitted is bool else 'numbers'}, as those of "
            f"the rule; got {text!r}."
        )
        raise InvalidData(msg)


def _is_nan(value: Any) -> bool:
    return bool(value != value)  # noqa: PLR0124


def rows_by_code(codes: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield each code with its rows, ascending."""
    order = np.argsort(codes, kind="stable")
    distinct, first = np.unique(codes[order], return_index=True)
    # Without rows, there is no code, but still one part.
    return zip(distinct.tolist(), np.split(order, first[1:]), strict=False)


def dictionary_encoded(batch: Batch, column: str) -> pa.DictionaryArray:
    """Return the distinct values of a column, and the index of each row's value."""
    values = _plain(batch[column])
    if pa.types.is_nested(values.type):
        msg = (
            f"column {column!r} must hold text, numbers or booleans; in {batch.file} "
            f"it holds {values.type}. Make a column of single values first."
        )
        raise InvalidData(msg)
    return pc.dictionary_encode(values)


def _coded(
    batch: Batch, column: str, code: Callable[[Any], int], dtype: type[Any]
) -> NDArray[Any]:
    """Return the code of each value, computed once per distinct value."""
    encoded = dictionary_encoded(batch, column)
    distinct = encoded.dictionary.to_pylist()
    # A null has no index, and gets the last one.
    codes = np.array([*map(code, distinct), ABSENT], dtype=dtype)
    of_rows: NDArray[Any] = codes[filled(encoded.indices, len(distinct))]
    return of_rows


def _parsed(written: pa.Array, batch: Batch, column: str) -> pa.Array:
    """Parse numbers; raise if a value is neither a number nor missing."""
    texts = _with_points(written, batch.dialect)
    try:
        values = pc.cast(texts, pa.float64())
    except pa.ArrowInvalid:  # missing, padded with spaces, or wrong
        trimmed = _trimmed_numerals(texts)
        try:
            values = pc.cast(trimmed, pa.float64())
        except pa.ArrowInvalid as cause:
            row = next(i for i, text in enumerate(trimmed) if not _is_number(text))
            raise _no_number(written[row].as_py(), row, batch, column) from cause
    large = np.abs(filled(values, np.nan)) >= LARGEST_INTEGER
    if large.any():  # the text of the others need not be checked again
        some = texts.filter(pa.array(large))
        integers = some.filter(pc.match_substring_regex(some, INTEGER)).to_pylist()
        # abs() would round, and fails beyond a million digits.
        if any(Decimal(text).copy_abs() > LARGEST_INTEGER for text in integers):
            raise _collision(batch, column)
        _check_infinities(written, filled(values, np.nan), batch, column)
    return values


def _with_points(texts: pa.Array, dialect: Dialect | None) -> pa.Array:
    """Return numerals with a decimal point in place of the dialect's decimal mark."""
    if dialect is None or dialect.decimal == ".":
        return texts
    without = pc.replace_substring(texts, ".", "_")  # no numeral of this dialect
    return pc.replace_substring(without, dialect.decimal, ".")


def _trimmed_numerals(texts: pa.Array) -> pa.Array:
    """Return text without surrounding spaces, null where a number is missing."""
    trimmed = pc.utf8_trim_whitespace(texts)
    missing = pc.match_substring_regex(trimmed, MISSING, ignore_case=True)
    return pc.if_else(missing, pa.nulls(1, trimmed.type)[0], trimmed)


def _no_number(text: str, row: int, batch: Batch, column: str) -> InvalidData:
    """Return the error for text in place of a number, with a hint at the dialect."""
    advice = ""
    if batch.dialect is not None and batch.dialect.decimal == ".":
        if re.fullmatch(COMMA_NUMERAL, text.strip()):
            advice = " If its comma stands before decimals, say --decimal ','."
    elif batch.dialect is not None and re.fullmatch(POINT_NUMERAL, text.strip()):
        advice = " If its point stands before decimals, leave out --decimal."
    return InvalidData(
        f"column {column!r} must hold numbers; got {text!r} in {batch.place(row)}."
        f"{advice}"
    )


def _check_infinities(
    texts: pa.Array, values: FloatArray, batch: Batch, column: str
) -> None:
    """Raise for numbers that are infinite only because they overflow."""
    rows = np.flatnonzero(np.isinf(values))
    meant = pc.match_substring_regex(texts.take(pa.array(rows)), INFINITE).to_pylist()
    if False in meant:
        row = int(rows[meant.index(False)])
        msg = (
            f"column {column!r} must hold numbers below 1.8e308, the largest double; "
            f"got {texts[row].as_py()!r:.40} in {batch.place(row)}. Rescale them."
        )
        raise InvalidData(msg)


def _is_number(text: pa.StringScalar) -> bool:
    try:
        text.cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def _widened(integers: pa.Array, batch: Batch, column: str) -> pa.Array:
    try:
        return pc.cast(integers, pa.float64())
    except pa.ArrowInvalid as cause:
        raise _collision(batch, column) from cause


def _collision(batch: Batch, column: str) -> InvalidData:
    return InvalidData(
        f"column {column!r} must not hold integers beyond 2**53, because larger ones "
        f"collide as doubles; {batch.file} has such. Rescale them."
    )


def _whole_number(text: str) -> str | None:
    """Return the digits of a whole number, however it is written, else None.

    >>> _whole_number("1.000e+00"), _whole_number("-0"), _whole_number("0.5")
    ('1', '0', None)
    """
    if not NUMERAL.fullmatch(text):
        return None
    number = Decimal(text)
    if not number:
        return "0"
    is_whole = number.adjusted() < LONGEST_LABEL and number == int(number)
    return str(int(number)) if is_whole else None


def label_text(value: Any) -> str:
    """Return a label as a user would write it; empty if missing."""
    if value is None or value != value:  # noqa: PLR0124 (NaN)
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


# `pa.array`, `pa.scalar` and `to_numpy` import pandas if it is installed, which takes
# longer than a small table; the functions below do not.


def text_scalar(text: str) -> pa.StringScalar:
    """Return a string as an Arrow scalar."""
    true = pc.cast(pc.is_null(pa.nulls(1)), pa.string())
    return pc.replace_substring(true, "true", text)[0]


def doubles(values: FloatArray, missing: NDArray[np.bool_]) -> pa.Array:
    """Return doubles as an Arrow array, null where missing."""
    data = pa.py_buffer(np.where(missing, np.nan, values))
    numbers = pa.Array.from_buffers(pa.float64(), values.size, [None, data])
    if not missing.any():
        return numbers
    return pc.if_else(pc.is_nan(numbers), pa.nulls(1, pa.float64())[0], numbers)


def chosen_texts(
    texts: Sequence[str], places: NDArray[Any], missing: NDArray[np.bool_]
) -> pa.Array:
    """Return the text at each index, null where missing."""
    written = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, written)], dtype=np.int32)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(written))]
    all_texts = pa.Array.from_buffers(pa.string(), len(written), buffers)
    return all_texts.take(pc.cast(doubles(places.astype(float), missing), pa.int64()))


def filled(values: pa.Array, missing: float) -> NDArray[Any]:
    """Return numbers, with a default for missing ones."""
    if values.null_count:
        other = pc.cast(text_scalar(repr(missing)), values.type)
        values = pc.coalesce(values, other)
    return np.from_dlpack(values)


def _plain(values: pa.Array) -> pa.Array:
    """Decode dictionaries and other encodings of values."""
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_large_string(values.type) or pa.types.is_string_view(values.type):
        values = pc.cast(values, pa.string())
    return values
