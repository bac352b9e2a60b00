"""JSON lines: one object per line.

Arrow parses blocks of lines, thirty times faster than Python, but it must be given the
type of each column, which is learnt from the first lines. What it refuses or would read
otherwise, Python reads again, line by line: that is what a file means, and what names
the line that is wrong. No more than a block of text is in memory at a time.
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

from abers.errors import InvalidTable

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

    from abers.tables.files import Dialect, Scratch, Source

RAW = "\0raw"  # name of the column that holds objects as they were written
MIB = 2**20
LONGEST_LINE = 4 * MIB
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
INTEGER_BOUND = 2**53  # from which on two integers may be the same double


class Block(NamedTuple):
    """Some whole lines."""

    lines: list[bytes]
    number: int  # of the first, from 1

    @property
    def text(self) -> bytes:
        """All lines, each with an end."""
        text = b"".join(self.lines)
        if b"\r" in text:
            text = text.replace(b"\r\n", b"\n")
        return text if text.endswith(b"\n") else text + b"\n"


class Row(NamedTuple):
    """An object, and where it came from."""

    line: int
    text: str
    values: _Object


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


class _Object(dict[str, Any]):
    """An object, and the names that it has twice."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.repeated: list[str] = []
        if len(self) < len(pairs):
            counts = Counter(name for name, _ in pairs)
            self.repeated = [name for name, count in counts.items() if count > 1]


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
        _scratch: Scratch,
        _dialect: Dialect,
        *,
        whole: bool = False,
    ) -> None:
        self._source = source
        self._is_whole = whole
        self._columns: dict[str, _Kinds] = {}
        for block in self._blocks(BLOCK_LINES if whole else FIRST_LINES):
            self._learn(block)
            if not whole:
                break
        if not self._columns:
            msg = f"{source.name} must hold an object in each line; it holds none."
            raise InvalidTable(msg)
        self.schema = pa.schema([(n, c.type) for n, c in self._columns.items()])

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Read the rows; the column `RAW` is each object as it was written."""
        names = self.schema.names if columns is None else list(columns)
        known = {name: self._columns[name].copy() for name in names if name != RAW}
        most = BLOCK_CELLS // max(1, len(names))
        first = 1
        for block in self._blocks(max(1, min(BLOCK_LINES, most))):
            arrays = _parsed(block, known, "ignore")
            if arrays is None:
                rows = [self._kept(row, known) for row in self._rows(block)]
                if not rows:
                    continue
                arrays = {
                    name: self._array(name, kinds, rows, first, as_json=columns is None)
                    for name, kinds in known.items()
                }
                arrays[RAW] = pa.array([row.text for row in rows], pa.string())
            elif RAW in names:
                arrays[RAW] = _lines(block)
            batch = pa.record_batch([arrays[name] for name in names], names)
            yield batch
            first += batch.num_rows

    def _blocks(self, most: int) -> Iterator[Block]:
        """Read lines, no more at once than are wanted and fit in memory."""
        lines: list[bytes] = []
        number, n_bytes = 1, 0
        opened = io.BufferedReader(self._source.open(), MIB)
        with self._source.unpacking(), opened as stream:
            while line := stream.readline(LONGEST_LINE + 1):
                if len(line) > LONGEST_LINE and not line.endswith(b"\n"):
                    msg = (
                        f"{self._source.name} must have lines of at most "
                        f"{LONGEST_LINE // MIB} MiB; line {number + len(lines)} is "
                        "longer."
                    )
                    raise InvalidTable(msg)
                lines.append(line)
                n_bytes += len(line)
                if len(lines) == most or n_bytes >= LONGEST_LINE:
                    yield Block(lines, number)
                    number += len(lines)
                    lines, n_bytes = [], 0
        if lines:
            yield Block(lines, number)

    def _learn(self, block: Block) -> None:
        """Learn names and types of columns."""
        known = self._columns
        arrays = None
        if 0 < len(known) * BLOCK_LINES <= BLOCK_CELLS:
            arrays = _parsed(block, known, "error")
        if arrays is not None:
            for name, values in arrays.items():
                if pa.types.is_integer(values.type):
                    largest = max(known[name].largest, _magnitude(values))
                    known[name].largest = largest
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

    def _kept(self, row: Row, columns: Mapping[str, _Kinds]) -> Row:
        """Return a row with what is asked for; the rest may be large."""
        self._check_once(row, columns)
        kept = [(name, row.values[name]) for name in columns if name in row.values]
        return row._replace(values=_Object(kept))

    def _check_once(self, row: Row, columns: Container[str]) -> None:
        """Refuse an object that has one of these names twice."""
        for name in row.values.repeated:
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
            return pa.array(values, column.type)
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


def _parsed(
    block: Block, columns: Mapping[str, _Kinds], unexpected: str
) -> dict[str, pa.Array] | None:
    """Read columns by Arrow; None if it cannot, or if Python would read otherwise."""
    import pyarrow.json as pa_json

    if any(column.own_type is None for column in columns.values()):
        return None
    # To Arrow, line breaks are spaces. If each stands between two objects and there are
    # as many objects as lines, each line is one. A first null would crash it.
    text = block.text
    n_lines = len(block.lines)
    between = text.count(b"}\n{")
    if (text[:1], text[-2:], between) != (b"{", b"}\n", n_lines - 1):
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
    if table.num_rows != n_lines:
        return None
    arrays = {name: table.column(name).combine_chunks() for name in columns}
    return None if any(map(_may_collide, arrays.values())) else arrays


def _may_collide(values: pa.Array) -> bool:
    """Tell whether doubles may have been integers that no double is, or infinite."""
    if not pa.types.is_floating(values.type):
        return False
    return bool(_magnitude(values) >= INTEGER_BOUND)


def _magnitude(values: pa.Array) -> Any:
    """Return the largest absolute value."""
    return max(abs(end or 0) for end in pc.min_max(values).as_py().values())


def _lines(block: Block) -> pa.Array:
    """Return lines as texts, read as CSV of one column."""
    import pyarrow.csv as pa_csv

    text = block.text
    table = pa_csv.read_csv(
        pa.BufferReader(text),
        pa_csv.ReadOptions(
            use_threads=False, block_size=len(text) + 1, column_names=[RAW]
        ),
        # No JSON has a control character.
        pa_csv.ParseOptions(delimiter="\x01", quote_char=False),
        pa_csv.ConvertOptions(column_types={RAW: pa.string()}),
    )
    return table.column(RAW).combine_chunks()
