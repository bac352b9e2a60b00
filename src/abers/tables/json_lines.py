"""JSON lines: one object per line.

Arrow parses blocks of lines, thirty times faster than Python, with column types taken
from the first lines. A block that Arrow rejects, or would read differently from Python,
is read again by Python, line by line: Python's result is the definition, and its errors
name the line. Only one block is in memory at a time.
"""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from abers.errors import InvalidData

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from abers.tables.files import ReadOptions, Source

RAW = "\0raw"  # name of a column with each object's original text
MIB = 2**20
LONGEST_LINE = 4 * MIB
BLOCK_LINES = 2**14
BLOCK_CELLS = 2**22  # of a block as a table: short lines may have many nulls
FIRST_LINES = 1000  # used to find names and types
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
LONE_SURROGATE = re.compile("[\ud800-\udfff]")  # no encoding has them
EXACT_BOUNDS = {pa.int64(): 2**63, pa.float64(): 2**53}
INTEGER_BOUND = 2**53  # from here on, two integers may be the same double


class Block(NamedTuple):
    """Some whole lines."""

    lines: list[bytes]
    number: int  # of the first line, from 1

    @property
    def text(self) -> bytes:
        """All lines, each ended by a line feed."""
        text = b"".join(self.lines)
        if b"\r" in text:
            text = text.replace(b"\r\n", b"\n")
        return text if text.endswith(b"\n") else text + b"\n"


class Row(NamedTuple):
    """An object, and its line number."""

    line: int
    text: str
    values: _Object


@dataclass(slots=True)
class _Kinds:
    """The Python types of the values of a column so far."""

    kinds: set[type] = field(default_factory=set)
    largest: int = 0  # absolute value of its integers

    def add(self, value: Any) -> None:
        if value is not None:
            self.kinds.add(type(value))
            if type(value) is int:
                self.largest = max(abs(value), self.largest)

    def copy(self) -> _Kinds:
        return replace(self, kinds=set(self.kinds))

    @property
    def common_type(self) -> pa.DataType | None:
        """The Arrow type of all values; None if there is none."""
        common = TYPES.get(frozenset(self.kinds))
        if common is None or self.largest >= EXACT_BOUNDS.get(common, self.largest + 1):
            return None
        return common

    @property
    def type(self) -> pa.DataType:
        """The type to read: JSON text if there is no common type."""
        return self.common_type or pa.string()


class _Object(dict[str, Any]):
    """An object, and the names that it repeats."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.repeated: list[str] = []
        if len(self) < len(pairs):
            counts = Counter(name for name, _ in pairs)
            self.repeated = [name for name, count in counts.items() if count > 1]


class JsonReader:
    """A file of objects, one per line.

    The columns come from the first lines, or, with `ReadOptions.whole`, from all lines,
    which are then read twice. A column read by name must hold values of one kind. If
    all columns are read, those of mixed kinds become JSON text.
    """

    n_rows = None

    def __init__(self, source: Source, options: ReadOptions) -> None:
        self.source = source
        self._is_whole = options.whole
        self._columns: dict[str, _Kinds] = {}
        for block in self._blocks(BLOCK_LINES if options.whole else FIRST_LINES):
            self._learn(block)
            if not options.whole:
                break
        if not self._columns:
            msg = f"{source.name} must hold an object in each line; it holds none."
            raise InvalidData(msg)
        self.schema = pa.schema([(n, c.type) for n, c in self._columns.items()])

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Read the rows; the column `RAW` is each object's original text."""
        names = self.schema.names if columns is None else list(columns)
        learnt = self._columns
        kinds = {n: learnt.get(n, _Kinds()).copy() for n in names if n != RAW}
        is_flat = kinds.keys() <= learnt.keys()
        n_lines = BLOCK_CELLS // max(1, len(names))
        first = 1
        for block in self._blocks(max(1, min(BLOCK_LINES, n_lines))):
            arrays = None
            if is_flat:
                arrays = _arrow_columns(block, kinds, unexpected="ignore")
            if arrays is None:
                rows = [self._with_columns(row, kinds) for row in self._rows(block)]
                if not rows:
                    continue
                arrays = {
                    name: self._array(name, own, rows, first, as_json=columns is None)
                    for name, own in kinds.items()
                }
                arrays[RAW] = pa.array([row.text for row in rows], pa.string())
            elif RAW in names:
                arrays[RAW] = _lines(block)
            batch = pa.record_batch([arrays[name] for name in names], names)
            yield batch
            first += batch.num_rows

    def _blocks(self, n_lines: int) -> Iterator[Block]:
        """Read blocks of at most this many lines; fewer if they are long."""
        lines: list[bytes] = []
        number, n_bytes = 1, 0
        opened = io.BufferedReader(self.source.open(), MIB)
        with self.source.decompressing(), opened as stream:
            while line := stream.readline(LONGEST_LINE + 1):
                if len(line) > LONGEST_LINE and not line.endswith(b"\n"):
                    msg = (
                        f"{self.source.name} must have lines of at most "
                        f"{LONGEST_LINE // MIB} MiB; line {number + len(lines)} is "
                        "longer."
                    )
                    raise InvalidData(msg)
                lines.append(line)
                n_bytes += len(line)
                if len(lines) == n_lines or n_bytes >= LONGEST_LINE:
                    yield Block(lines, number)
                    number += len(lines)
                    lines, n_bytes = [], 0
        if lines:
            yield Block(lines, number)

    def _learn(self, block: Block) -> None:
        """Add the names and types of a block's columns."""
        columns = self._columns
        arrays = None
        if 0 < len(columns) * BLOCK_LINES <= BLOCK_CELLS:
            arrays = _arrow_columns(block, columns, unexpected="error")
        if arrays is not None:
            for name, values in arrays.items():
                if pa.types.is_integer(values.type):
                    largest = max(columns[name].largest, _magnitude(values))
                    columns[name].largest = largest
            return
        for row in self._rows(block):
            if self._is_whole:
                self._check_once(row, row.values)
            if not row.values.keys() <= columns.keys():
                self._check_names(row.values.keys() - columns.keys(), row.line)
            for key, value in row.values.items():
                columns.setdefault(key, _Kinds()).add(value)

    def _rows(self, block: Block) -> Iterator[Row]:
        """Read the objects of a block with Python."""
        for number, line in enumerate(block.lines, start=block.number):
            if not line.strip():
                continue
            try:
                text = line.decode().strip()
                values = json.loads(text, object_pairs_hook=_Object)
            except (ValueError, RecursionError) as cause:
                raise self._refusal(number, str(cause)) from cause
            if not isinstance(values, _Object):
                raise self._refusal(number, f"got {text:.40}")
            yield Row(number, text, values)

    def has(self, name: str) -> bool:
        """Return whether objects in the first lines have a field, such as a.b."""
        block = next(self._blocks(FIRST_LINES))
        return any(self._value(row, name) is not None for row in self._rows(block))

    def _with_columns(self, row: Row, columns: Iterable[str]) -> Row:
        """Return a row with only these values, since others may be large."""
        pairs = [(name, self._value(row, name)) for name in columns]
        return row._replace(values=_Object(pairs))

    def _value(self, row: Row, name: str) -> Any:
        """Return a value of an object; a.b is b in the object a."""
        value: Any = row.values
        for part in [name] if name in value else name.split("."):
            if not isinstance(value, _Object):
                return None
            self._check_once(row._replace(values=value), [part])
            value = value.get(part)
        return value

    def _check_once(self, row: Row, columns: Container[str]) -> None:
        """Raise if an object repeats one of these names."""
        for name in row.values.repeated:
            if name in columns:
                raise self._refusal(row.line, f"it has {name!r:.40} twice")

    def _array(
        self, name: str, column: _Kinds, rows: list[Row], first: int, *, as_json: bool
    ) -> pa.Array:
        """Return a column of some rows; `first` is the number of the first row."""
        values = [row.values.get(name) for row in rows]
        if inf in values or -inf in values:
            self._check_infinities(name, values, rows, first)
        if not as_json:
            self._check_kinds(name, column, values, first)
        elif column.common_type is None:
            values = [None if v is None else json.dumps(v) for v in values]
        try:
            return pa.array(values, column.type)
        except UnicodeEncodeError as cause:
            row = next(
                i for i, v in enumerate(values) if v and LONE_SURROGATE.search(v)
            )
            msg = (
                f"column {name!r} must hold text; got half of a surrogate pair, "
                f"{values[row]!r:.40}, in row {first + row} of {self.source.name}."
            )
            raise InvalidData(msg) from cause

    def _check_kinds(
        self, name: str, column: _Kinds, values: list[Any], first: int
    ) -> None:
        """Raise if a value has a different kind from earlier ones."""
        if column.common_type is None:  # find out where in the file
            column.kinds, column.largest = set(), 0
        for row, value in enumerate(values, start=first):
            before = column.type
            column.add(value)
            if column.common_type is not None:
                continue
            place = f"row {row} of {self.source.name}"
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
            raise InvalidData(msg)

    def _check_infinities(
        self, name: str, values: list[Any], rows: list[Row], first: int
    ) -> None:
        """Raise if a number is too large for a double."""
        for i, row in enumerate(rows):
            if values[i] in (inf, -inf) and "Infinity" not in row.text:
                msg = (
                    f"column {name!r} must hold numbers below 1.8e308, the largest "
                    f"double; row {first + i} of {self.source.name} has a larger one."
                )
                raise InvalidData(msg)

    def _check_names(self, names: set[str], line: int) -> None:
        """Raise if a column name has a lone surrogate."""
        if wrong := sorted(filter(LONE_SURROGATE.search, names)):
            msg = (
                f"{self.source.name} must name columns by text; got half of a "
                f"surrogate pair, {wrong[0]!r:.40}, in line {line}."
            )
            raise InvalidData(msg)

    def _refusal(self, number: int, reason: str) -> InvalidData:
        must = f"{self.source.name} must hold a JSON object in each line"
        return InvalidData(f"{must}; line {number} does not: {reason}.")


def _arrow_columns(
    block: Block, columns: Mapping[str, _Kinds], *, unexpected: str
) -> dict[str, pa.Array] | None:
    """Read columns with Arrow; None if it fails, or might differ from Python."""
    import pyarrow.json as pa_json

    if any(column.common_type is None for column in columns.values()):
        return None
    # To Arrow, line breaks are spaces. If there is one between any two objects, and as
    # many objects as lines, each line is one object. A leading null would crash it.
    text = block.text
    n_lines = len(block.lines)
    between = text.count(b"}\n{")
    if (text[:1], text[-2:], between) != (b"{", b"}\n", n_lines - 1):
        return None
    schema = pa.schema([(name, column.type) for name, column in columns.items()])
    try:
        if not text.isascii():
            text.decode()  # Arrow does not check it
        table = pa_json.read_json(
            pa.BufferReader(text),
            pa_json.ReadOptions(use_threads=False, block_size=len(text) + 1),
            pa_json.ParseOptions(schema, unexpected_field_behavior=unexpected),
        )
    except (UnicodeDecodeError, pa.ArrowException):
        return None
    if table.num_rows != n_lines:
        return None
    arrays = {name: table.column(name).combine_chunks() for name in columns}
    # Large doubles may come from integers that no double equals.
    is_inexact = any(
        pa.types.is_floating(values.type) and _magnitude(values) >= INTEGER_BOUND
        for values in arrays.values()
    )
    return None if is_inexact else arrays


def _magnitude(values: pa.Array) -> Any:
    """Return the largest absolute value."""
    return max(abs(end or 0) for end in pc.min_max(values).as_py().values())


def _lines(block: Block) -> pa.Array:
    """Return the lines of a block as text, read as CSV with one column."""
    import pyarrow.csv as pa_csv

    text = block.text
    table = pa_csv.read_csv(
        pa.BufferReader(text),
        pa_csv.ReadOptions(
            use_threads=False, block_size=len(text) + 1, column_names=[RAW]
        ),
        # A control character, which cannot occur in JSON text.
        pa_csv.ParseOptions(delimiter="\x01", quote_char=False),
        pa_csv.ConvertOptions(column_types={RAW: pa.string()}),
    )
    return table.column(RAW).combine_chunks()
