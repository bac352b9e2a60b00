"""Columns: which one is meant, and the numbers, labels and groups that it holds.

A value is missing if it is null, empty or NaN; among numbers given as text, NA, N/A,
null and None say so, too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from abers.errors import InvalidLabels, InvalidScores, InvalidTable, InvalidWeights
from abers.tables.table import listed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from abers.tables.table import Batch, Table
    from abers.validation import FloatArray

    Mask = NDArray[np.bool_]

# Names by which a column is found if nobody names it, and only one has such a name.
USUAL = {
    "score": (
        *("score", "scores", "y_score", "prediction", "predictions", "pred", "y_pred"),
        *("p", "probability", "prob", "proba", "y_prob", "logit", "margin"),
    ),
    "label": ("label", "labels", "y", "y_true", "target", "outcome", "class"),
}
MISSING = ("", "na", "n/a", "nan", "null", "none")  # numbers that are none
ABSENT, FOREIGN = -1, -2  # codes of a missing label or group, and of a wrong label
REAL = (pa.types.is_floating, pa.types.is_decimal, pa.types.is_null)
USUAL_LABELS = {"0": 0, "1": 1}
SAME_LABELS = {"false": "0", "true": "1"}
N_LABELS = 2
TWO_FIRST = "Make a column of two labels first, for example one label against the rest."
LARGEST_INTEGER = 2**53  # up to which no two integers are the same double
INTEGER = r"^\s*[+-]?[0-9]+\s*$"


def column(
    table: Table, given: str | None, role: str, *, fitted: str | None = None
) -> str:
    """Return the column that plays a role: the one given, or the only usual one.

    `fitted` is the column that played the role when the rule was fitted.
    """
    if given is not None:
        if given not in table.columns:
            msg = (
                f"{table.name} must have the column {given!r}; "
                f"its columns are {listed(table.columns)}."
            )
            raise InvalidTable(msg)
        return given
    if fitted in table.columns:
        return str(fitted)
    usual = [name for name in table.columns if name.casefold() in USUAL[role]]
    if len(usual) != 1:
        both = "both" if len(usual) == 2 else "all"
        what = "none looks like one"
        if usual:
            what = f"{listed(usual)} {both} look like one"
        advice = f"Name it with --{role}."
        if all(map(_is_numeral, table.columns)):
            advice = "The first line must name the columns."
        msg = (
            f"{table.name} must have one column of {role}s; {what} among its columns "
            f"{listed(table.columns)}. {advice}"
        )
        raise InvalidTable(msg)
    return usual[0]


def _is_numeral(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def numbers(batch: Batch, column: str) -> FloatArray:
    """Return a column of doubles, NaN where one is missing."""
    values = plain(batch[column])
    kind = values.type
    if pa.types.is_string(kind):
        values = _parsed(values, batch, column)
    elif pa.types.is_integer(kind):
        values = _widened(values, batch, column)
    elif pa.types.is_boolean(kind):
        values = values.cast(pa.uint8()).cast(pa.float64())
    elif any(is_kind(kind) for is_kind in REAL):
        values = values.cast(pa.float64())
    else:
        msg = f"column {column!r} must hold numbers; in {batch.file} it holds {kind}."
        raise InvalidTable(msg)
    return filled(values, np.nan)


def filled(values: pa.Array, missing: float) -> NDArray[Any]:
    """Return numbers, with one for those that are missing.

    Neither `to_numpy` nor, if nothing is missing, `fill_null` is called: both would
    load pandas where it is installed.
    """
    if values.null_count:
        values = pc.fill_null(values, missing)
    return np.from_dlpack(values)


def masses(batch: Batch, column: str) -> FloatArray:
    """Return a column of weights or counts, NaN where one is missing."""
    values = numbers(batch, column)
    bad = (values < 0) | np.isinf(values)
    if bad.any():
        row = int(bad.argmax())
        msg = (
            f"column {column!r} must be finite and not negative; "
            f"got {values[row].item()!r} in {batch.place(row)}."
        )
        raise InvalidWeights(msg)
    return values


class Labels:
    """A column of labels, as 0 and 1.

    Without a positive value they must be 0 and 1, or true and false; with one, it and
    at most one other.
    """

    def __init__(self, column: str, positive: str | None = None) -> None:
        self.column = column
        self._positive = positive
        self._codes: dict[str, int] = {}  # of each value seen, in order

    def codes(self, batch: Batch) -> NDArray[np.int8]:
        """Return 1 for the positive value, 0 for the other, -1 where it is missing."""
        encoded = plain(batch[self.column]).dictionary_encode()
        values = encoded.dictionary.to_pylist()
        table = np.array([*map(self._code, values), ABSENT], dtype=np.int8)
        # A null has no index; it gets the last one.
        codes: NDArray[np.int8] = table[filled(encoded.indices, len(values))]
        if FOREIGN in table:
            self._refuse(batch, int((codes == FOREIGN).argmax()))
        return codes

    def check_seen(self) -> None:
        """Refuse a positive value that never came."""
        if self._positive is not None and 1 not in self._codes.values():
            msg = (
                f"column {self.column!r} must hold {self._positive!r}, which is to be "
                f"the positive label; the values found are {listed([*self._codes])}. "
                "Name another with --positive."
            )
            raise InvalidLabels(msg)

    def _code(self, value: Any) -> int:
        text = _text(value)
        if not text:
            return ABSENT
        if text not in self._codes:
            self._codes[text] = self._decided(text)
        return self._codes[text]

    def _decided(self, text: str) -> int:
        label = _label(text)
        if self._positive is None:
            return USUAL_LABELS.get(label, FOREIGN)
        if label == _label(self._positive):
            return 1
        others = {_label(text) for text, code in self._codes.items() if code == 0}
        return 0 if others <= {label} else FOREIGN

    def _refuse(self, batch: Batch, row: int) -> None:
        got = f"got {_text(batch[self.column][row].as_py())!r} in {batch.place(row)}"
        values = f"the values found are {listed([*self._codes])}"
        too_many = len(set(map(_label, self._codes))) > N_LABELS
        if self._positive is not None:
            must = f"two labels, {self._positive!r} and one other"
        elif too_many:
            must = "two labels"
        else:
            must = "labels 0 and 1, or true and false"
        advice = TWO_FIRST if too_many else "Name the positive one with --positive."
        msg = f"column {self.column!r} must hold {must}; {got}, and {values}. {advice}"
        raise InvalidLabels(msg)


class Groups:
    """A column of groups, as codes that count up as groups appear."""

    def __init__(self, column: str) -> None:
        self.column = column
        self._codes: dict[Any, int] = {}

    @property
    def names(self) -> list[Any]:
        """The groups seen; their codes are their places."""
        return list(self._codes)

    def codes(self, batch: Batch) -> NDArray[np.int64]:
        """Return the code of each row's group, -1 where it is missing."""
        encoded = plain(batch[self.column]).dictionary_encode()
        values = encoded.dictionary.to_pylist()
        table = np.array([*map(self._code, values), ABSENT], dtype=np.int64)
        codes: NDArray[np.int64] = table[filled(encoded.indices, len(values))]
        return codes

    def _code(self, value: Any) -> int:
        if value in (None, "") or value != value:  # noqa: PLR0124 (NaN)
            return ABSENT
        if not isinstance(value, str | int | float):
            msg = (
                f"column {self.column!r} must hold groups that are text, numbers or "
                f"booleans; got {value!r}."
            )
            raise InvalidTable(msg)
        return self._codes.setdefault(value, len(self._codes))


def plain(values: pa.Array) -> pa.Array:
    """Undo what only says how values are stored."""
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_large_string(values.type) or pa.types.is_string_view(values.type):
        values = values.cast(pa.string())
    return values


def _parsed(texts: pa.Array, batch: Batch, column: str) -> pa.Array:
    """Read numbers; whatever is neither a number nor missing is an error."""
    try:
        values = texts.cast(pa.float64())
    except pa.ArrowInvalid:  # missing, or between spaces, or wrong
        values = _parsed_or_missing(texts, batch, column)
    large = np.abs(filled(values, np.nan)) >= LARGEST_INTEGER
    if large.any():  # the text of all others need not be looked at again
        some = texts.filter(pa.array(large))
        integers = some.filter(pc.match_substring_regex(some, INTEGER))
        if any(abs(Decimal(text)) > LARGEST_INTEGER for text in integers.to_pylist()):
            raise _collision(batch, column)
    return values


def _parsed_or_missing(texts: pa.Array, batch: Batch, column: str) -> pa.Array:
    trimmed = pc.utf8_trim_whitespace(texts)
    missing = pc.is_in(pc.utf8_lower(trimmed), pa.array(MISSING))
    trimmed = pc.if_else(missing, None, trimmed)
    try:
        return trimmed.cast(pa.float64())
    except pa.ArrowInvalid as cause:
        row = next(i for i, text in enumerate(trimmed) if not _is_number(text))
        msg = (
            f"column {column!r} must hold numbers; "
            f"got {texts[row].as_py()!r} in {batch.place(row)}."
        )
        raise InvalidTable(msg) from cause


def _is_number(text: pa.StringScalar) -> bool:
    try:
        text.cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def _widened(integers: pa.Array, batch: Batch, column: str) -> pa.Array:
    try:
        return integers.cast(pa.float64())
    except pa.ArrowInvalid as cause:
        raise _collision(batch, column) from cause


def _collision(batch: Batch, column: str) -> InvalidTable:
    return InvalidTable(
        f"column {column!r} must not hold integers beyond 2**53, because larger ones "
        f"collide as doubles; {batch.file} has such. Rescale them."
    )


def _label(text: str) -> str:
    """Return one text for all that are equal: 1 and 1.0 and true, 2 and 2.0."""
    text = text.strip()
    whole = re.fullmatch(r"(-?[0-9]+)\.0*", text)
    return whole[1] if whole else SAME_LABELS.get(text.lower(), text)


def _text(value: Any) -> str:
    """Return a label as a user would write it; nothing if it is missing."""
    if value is None or value != value:  # noqa: PLR0124 (NaN)
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


@dataclass(slots=True)
class Gap:
    """How often a value was missing, and where first."""

    count: int
    first: str


class Gaps:
    """What is missing, by column, in the order in which it was noticed."""

    def __init__(self) -> None:
        self._columns: dict[str, Gap] = {}

    def note(self, batch: Batch, name: str, missing: Mask, lacking: Mask) -> None:
        """Take note of missing values, and mark the rows that lack them."""
        if missing.any():
            first = batch.place(int(missing.argmax()))
            gap = self._columns.setdefault(name, Gap(0, first))
            gap.count += int(missing.sum())
            lacking |= missing

    def refuse(self, n_rows: int, purpose: str) -> None:
        """Raise if anything is missing: what, how often, where, and what to do."""
        for name, gap in self._columns.items():
            msg = (
                f"column {name!r} must not be empty, null or NaN to {purpose}; it is "
                f"in {gap.count} of {n_rows} rows, first in {gap.first}. "
                "Fill it in, or leave such rows out with --drop-missing."
            )
            raise InvalidScores(msg)
