"""JSON lines: one object per line.

Arrow parses blocks of lines, thirty times faster than Python, but it must be given the
type of each column, which is learnt from the first lines. What it refuses or would read
otherwise, Python reads again, line by line: that is what a file means, and what names
the line that is wrong. No more than a block of text is in memory at a time.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from abers.errors import InvalidTable
from abers.tables import arrow
from abers.tables.formats.csv import BLOCK as LONGEST_LINE
from abers.tables.formats.csv import MIB

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from abers.tables.formats import Reader
    from abers.tables.formats.csv import Dialect
    from abers.tables.predict import Sink
    from abers.tables.sources import Scratch, Source

RAW = "\0raw"  # name of the column that holds objects as they were written
READ_BYTES = MIB  # at once; a block has no more, unless a line has
BLOCK_LINES = 2**14
BLOCK_CELLS = 2**22  # a short line may lack a value in each of many columns
FIRST_LINES = 1000  # which tell names and types
TYPES: dict[frozenset[type], pa.DataType] = {
    frozenset(): pa.null(),
    frozenset([bool]): pa.bool_(),
    frozenset([int]): pa.int64(),
    frozenset([float]): pa.float64(),
    frozenset([int, float]): pa.float64(),
    frozenset([str]): pa.string(),
}
WORDS = {
    pa.bool_(): "true and false",
    pa.int64(): "numbers",
    pa.float64(): "numbers",
    pa.string(): "text",
}
LONE = re.compile("[\ud800-\udfff]")  # half of a pair, which is no text in any encoding
LARGEST = {pa.int64(): 2**63, pa.float64(): 2**53}
NO_INTEGER = "[.en]"  # in the text of a number
INTEGER_BOUND = 2**53  # from which on two integers may be the same double


class Block(NamedTuple):
    """Some whole lines."""

    text: bytes
    ends: NDArray[np.intp]  # where lines end; the last byte is such a place
    line: int  # number of the first, from 1


class Row(NamedTuple):
    """An object, and where it came from."""

    line: int
    text: str
    values: dict[str, Any]


@dataclass(slots=True)
class _Kinds:
    """What the values of a column have been."""

    kinds: set[type] = field(default_factory=set)
    largest: int = 0  # of its integers

    def add(self, value: Any) -> None:
        if value is not None:
            self.kinds.add(type(value))
            if type(value) is int:
                self.largest = max(abs(value), self.largest)

    def copy(self) -> _Kinds:
        return replace(self, kinds=set(self.kinds))

    @property
    def own_type(self) -> pa.DataType | None:
        """The type of all values; None if they have none in common."""
        common = TYPES.get(frozenset(self.kinds))
        if common is None or self.largest >= LARGEST.get(common, self.largest + 1):
            return None
        return common

    @property
    def type(self) -> pa.DataType:
        """The type to read them as; what has none of its own remains JSON."""
        return self.own_type or pa.string()


class _Repeating(dict[str, Any]):
    """An object that has a name twice."""

    repeated: list[str]


class JsonReader:
    """A file of objects, one per line.

    The columns are those of the first lines, unless they are to be those of the
    `whole` file, which is then read twice. Columns that are read by name must hold
    values of one kind; if all are read, for which all lines must be known, those that
    do not are text in JSON.
    """

    n_rows = None

    def __init__(
        self,
        source: Source,
        scratch: Scratch,
        _dialect: Dialect,
        *,
        whole: bool = False,
    ) -> None:
        self._source = source.kept(scratch) if whole else source
        self._is_whole = whole
        self._columns: dict[str, _Kinds] = {}
        for block in self._blocks() if whole else self._first_block():
            self._learn(block)
        if not self._columns:
            msg = f"{source.name} must hold an object in each line; it holds none."
            raise InvalidTable(msg)
        self.schema = pa.schema([(n, c.type) for n, c in self._columns.items()])

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Read the rows; the column `RAW` is each object as it was written."""
        names = self.schema.names if columns is None else list(columns)
        known = {name: self._columns[name].copy() for name in names if name != RAW}
        first = 1
        for block in self._blocks(len(names)):
            arrays = _parsed(block, known, "ignore")
            if arrays is None:
                rows = [self._kept(row, known) for row in self._rows(block)]
                if not rows:
                    continue
                arrays = {
                    name: self._array(name, kinds, rows, first, as_json=columns is None)
                    for name, kinds in known.items()
                }
                arrays[RAW] = arrow.texts(*(row.text for row in rows))
            elif RAW in names:
                arrays[RAW] = _lines(block)
            batch = pa.record_batch([arrays[name] for name in names], names)
            yield batch
            first += batch.num_rows

    def _blocks(self, n_columns: int = 1) -> Iterator[Block]:
        """Read lines, as many at once as fit in memory whatever they hold."""
        n_lines = max(1, min(BLOCK_LINES, BLOCK_CELLS // max(1, n_columns)))
        line = 1
        rest = b""
        with self._source.open() as stream:
            while data := stream.read(READ_BYTES):
                text = rest + data
                end = text.rfind(b"\n") + 1
                # Later lines are within what has just been read.
                self._check_length(text.find(b"\n") if end else len(text), line)
                rest = text[end:]
                for block in _cut(text[:end], line, n_lines):
                    yield block
                    line += block.ends.size
        yield from _cut(rest + b"\n", line, n_lines)

    def _first_block(self) -> Iterator[Block]:
        head = self._source.head(LONGEST_LINE + 1)
        end = len(head) if len(head) <= LONGEST_LINE else head.rfind(b"\n") + 1
        self._check_length(0 if end else len(head), 1)
        yield next(_cut(head[:end] + b"\n", 1, FIRST_LINES))

    def _check_length(self, n_bytes: int, line: int) -> None:
        if n_bytes > LONGEST_LINE:
            msg = (
                f"{self._source.name} must have lines of at most "
                f"{LONGEST_LINE // MIB} MiB; line {line} is longer."
            )
            raise InvalidTable(msg)

    def _learn(self, block: Block) -> None:
        """Learn names and types of columns."""
        known = self._columns
        arrays = None
        if 0 < len(known) * BLOCK_LINES <= BLOCK_CELLS:
            arrays = _parsed(block, known, "error")
        if arrays is not None:
            for name, values in arrays.items():
                if pa.types.is_integer(values.type):
                    numbers = arrow.filled(values, 0)
                    extremes = int(numbers.max()), -int(numbers.min())
                    known[name].largest = max(known[name].largest, *extremes)
            return
        for row in self._rows(block):
            if self._is_whole:
                self._check_once(row, row.values)
            if not row.values.keys() <= known.keys():
                self._check_names(row.values.keys() - known.keys(), row.line)
            for key, value in row.values.items():
                known.setdefault(key, _Kinds()).add(value)

    def _rows(self, block: Block) -> Iterator[Row]:
        """Read objects by Python."""
        if not block.text.strip():
            return
        for number, line in enumerate(block.text.split(b"\n"), start=block.line):
            if not line.strip():
                continue
            try:
                text = line.decode().strip()
                values = json.loads(text, object_pairs_hook=_object)
            except (ValueError, RecursionError) as cause:
                raise self._refusal(number, str(cause)) from cause
            if not isinstance(values, dict):
                raise self._refusal(number, f"got {text:.40}")
            yield Row(number, text, values)

    def _kept(self, row: Row, columns: Mapping[str, _Kinds]) -> Row:
        """Return a row with what is asked for; the rest may be large."""
        self._check_once(row, columns)
        values = row.values
        return row._replace(values={n: values[n] for n in columns if n in values})

    def _check_once(self, row: Row, columns: Container[str]) -> None:
        """Refuse an object that has one of these names twice."""
        for name in row.values.repeated if isinstance(row.values, _Repeating) else ():
            if name in columns:
                raise self._refusal(row.line, f"it has {name!r:.40} twice")

    def _array(
        self, name: str, column: _Kinds, rows: list[Row], first: int, *, as_json: bool
    ) -> pa.Array:
        """Return values of some rows, the first of which has this number."""
        values = [row.values.get(name) for row in rows]
        if inf in values or -inf in values:
            self._check_infinities(name, values, rows, first)
        if not as_json:
            self._check_kinds(name, column, values, first)
        elif column.own_type is None:
            values = [None if v is None else json.dumps(v) for v in values]
        try:
            return arrow.column(values, column.type)
        except UnicodeEncodeError as cause:
            row = next(i for i, v in enumerate(values) if v and LONE.search(v))
            msg = (
                f"column {name!r} must hold text; got half of a surrogate pair, "
                f"{values[row]!r:.40}, in row {first + row} of {self._source.name}."
            )
            raise InvalidTable(msg) from cause

    def _check_kinds(
        self, name: str, column: _Kinds, values: list[Any], first: int
    ) -> None:
        """Refuse a value that is of another kind than those before it."""
        if column.own_type is None:  # the first lines told so, but not where
            column.kinds, column.largest = set(), 0
        for row, value in enumerate(values, start=first):
            before = column.type
            column.add(value)
            if column.own_type is not None:
                continue
            place = f"row {row} of {self._source.name}"
            if column.kinds <= {int, float}:
                msg = (
                    f"column {name!r} must not hold integers beyond 2**53, because "
                    f"larger ones collide as doubles; {place}, or one before it, has "
                    "such. Rescale them."
                )
            else:
                must = WORDS.get(before, "numbers, text or booleans")
                got = f"{json.dumps(value)!r:.40}"
                msg = f"column {name!r} must hold {must}; got {got} in {place}."
            raise InvalidTable(msg)

    def _check_infinities(
        self, name: str, values: list[Any], rows: list[Row], first: int
    ) -> None:
        """Refuse numbers that are infinite only because they are too large."""
        for i, row in enumerate(rows):
            if values[i] in (inf, -inf) and "Infinity" not in row.text:
                msg = (
                    f"column {name!r} must hold numbers below 1.8e308, the largest "
                    f"double; row {first + i} of {self._source.name} has a larger one."
                )
                raise InvalidTable(msg)

    def _check_names(self, names: set[str], line: int) -> None:
        """Refuse names of columns that are no text."""
        if wrong := sorted(filter(LONE.search, names)):
            msg = (
                f"{self._source.name} must name columns by text; got half of a "
                f"surrogate pair, {wrong[0]!r:.40}, in line {line}."
            )
            raise InvalidTable(msg)

    def _refusal(self, number: int, reason: str) -> InvalidTable:
        must = f"{self._source.name} must hold a JSON object in each line"
        return InvalidTable(f"{must}; line {number} does not: {reason}.")


class JsonWriter:
    """Write rows as objects, one per line."""

    def __init__(
        self,
        file: Sink,
        _schema: pa.Schema,
        _origin: Reader | None,
        _dialect: Dialect,
    ) -> None:
        self._file = file

    def write(self, batch: pa.RecordBatch) -> None:
        """Write some rows; an object that came as it was is kept, and added to."""
        if RAW not in batch.schema.names:
            lines = map(_dumped, batch.to_pylist())
            self._file.write("".join(f"{line}\n" for line in lines).encode())
        elif batch.num_rows:
            added = batch.drop_columns([RAW])
            self._file.write(_with_values(batch.column(RAW), added))

    def close(self) -> None:
        """Nothing is held back."""


def _parsed(
    block: Block, columns: Mapping[str, _Kinds], unexpected: str
) -> dict[str, pa.Array] | None:
    """Read columns by Arrow; None if it cannot, or if Python would read otherwise."""
    import pyarrow.json as pa_json

    text, ends, _ = block
    if any(column.own_type is None for column in columns.values()):
        return None
    # To Arrow, line breaks are spaces. If each stands between two objects and there are
    # as many objects as lines, each line is one. A first null would crash it.
    letters = np.frombuffer(text, np.uint8)
    starts = np.append(0, ends[:-1] + 1)
    if (letters[starts] != ord("{")).any() or (letters[ends - 1] != ord("}")).any():
        return None
    schema = pa.schema([(name, column.type) for name, column in columns.items()])
    try:
        if not text.isascii():
            text.decode()  # which Arrow does not check
        table = pa_json.read_json(
            pa.BufferReader(text),
            pa_json.ReadOptions(use_threads=False, block_size=len(text) + 1),
            pa_json.ParseOptions(schema, unexpected_field_behavior=unexpected),
        )
    except (UnicodeDecodeError, pa.ArrowException):
        return None
    if table.num_rows != ends.size:
        return None
    arrays = {name: table.column(name).combine_chunks() for name in columns}
    return None if any(map(_may_collide, arrays.values())) else arrays


def _may_collide(values: pa.Array) -> bool:
    """Tell whether doubles may have been integers that no double is, or infinite."""
    if not pa.types.is_floating(values.type):
        return False
    return bool((np.abs(arrow.filled(values, 0)) >= INTEGER_BOUND).any())


def _cut(text: bytes, line: int, n_lines: int) -> Iterator[Block]:
    """Divide lines into blocks of so many, from a line of this number on."""
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n")
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n"))
    for first in range(0, ends.size, n_lines):
        own = ends[first : first + n_lines]
        start = ends[first - 1] + 1 if first else 0
        yield Block(text[start : own[-1] + 1], own - start, line + first)


def _lines(block: Block) -> pa.Array:
    """Return lines as texts."""
    offsets = np.append(0, block.ends - np.arange(block.ends.size)).astype(np.int32)
    text = pa.py_buffer(block.text.replace(b"\n", b""))
    buffers = [None, pa.py_buffer(offsets), text]
    return pa.Array.from_buffers(pa.string(), block.ends.size, buffers)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) == len(pairs):
        return values
    repeating = _Repeating(values)
    counts = Counter(name for name, _ in pairs)
    repeating.repeated = [name for name, count in counts.items() if count > 1]
    return repeating


def _with_values(objects: pa.Array, added: pa.RecordBatch) -> bytes:
    """Add to objects, whose text is kept; one per line."""
    _check_not_there(objects, added.schema.names)
    starts = arrow.without_last(objects)
    nothing, comma, end = arrow.texts("", ", ", "}\n")
    is_empty = arrow.is_among(starts, arrow.texts("{"))
    cells = [starts, arrow.where(is_empty, nothing, comma)]
    for place, name in enumerate(added.schema.names):
        before = f"{', ' if place else ''}{_dumped(name)}: "
        cells += [arrow.texts(before)[0], _values(added.column(place))]
    return arrow.text_of(arrow.joined_texts(*cells, end, nothing))


def _check_not_there(objects: pa.Array, names: Sequence[str]) -> None:
    """Refuse objects that have a name which is to be added."""
    marks = [*map(_dumped, names), "\\u"]  # a letter can be written as its number
    text = arrow.text_of(objects)
    if not any(mark.encode() in text for mark in marks):
        return
    for line in objects.to_pylist():
        if not any(mark in line for mark in marks):
            continue
        if taken := json.loads(line).keys() & set(names):
            msg = (
                "objects must not have what is to be added; "
                f"{min(taken)!r} is in {line!r:.60}. Choose other names with --prefix."
            )
            raise InvalidTable(msg)


def _values(column: pa.Array) -> pa.Array:
    """Return values as JSON has them, floats as Python writes them."""
    null = arrow.texts("null")[0]
    if pa.types.is_floating(column.type):
        numbers = arrow.filled(column, 0)
        if np.isfinite(numbers).all():
            cells = arrow.cast(column, pa.string())
            whole = arrow.joined_texts(cells, *arrow.texts(".0", ""))
            cells = arrow.where(arrow.matches(cells, NO_INTEGER), cells, whole)
            return arrow.present(cells, null)
    return arrow.texts(*(_dumped(value) for value in column.to_pylist()))


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
