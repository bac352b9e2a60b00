"""Delimited text: CSV and its kin, read as text and written as it was.

No type is guessed: a column of numbers that happens to begin with integers is still a
column of whatever follows. All columns are read as text; those that must be numbers are
made numbers where they are used, as their `Dialect` writes them.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from abers import validation
from abers.errors import InvalidParameter, InvalidTable
from abers.tables import arrow

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from abers.tables.formats import Reader
    from abers.tables.predict import Sink
    from abers.tables.sources import Scratch, Source

DELIMITERS = ",\t;|"
MIB = 2**20
LONGEST_HEADER = MIB  # bytes; what a source keeps of its beginning
BLOCK = 4 * MIB  # bytes read at once; no row may be longer
ESCAPED = re.compile("[\udc80-\udcff]")  # bytes that are no text
REAL = (pa.types.is_floating, pa.types.is_decimal)
BOM = "\ufeff"
BOMS_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
DECIMALS = (".", ",")
NO_DELIMITERS = '"\r\n\0'
UTF_8 = "utf-8"


@dataclass(frozen=True, slots=True)
class Dialect:
    r"""How CSV and TSV are written; for other formats it is refused.

    Parameters
    ----------
    delimiter : str, default=None
        The character between values; found in the first line if None.
    decimal : {".", ","}, default="."
        What stands before the decimals of a number.
    encoding : str, default="utf-8"
        What bytes mean, by a name that Python knows.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from abers.tables import Dialect, fit_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "scores.csv")
    ...     _ = path.write_text("score;label\n0,1;0\n0,2;1\n0,3;0\n")
    ...     fit = fit_table(path, dialect=Dialect(decimal=","))
    >>> fit.rule.bounds([0.2])
    array([[0.33333333, 0.66666667]])
    """

    delimiter: str | None = None
    decimal: str = "."
    encoding: str = UTF_8

    def __post_init__(self) -> None:
        """Refuse what no file can be written in."""
        mark = self.delimiter
        if mark is not None and (
            len(mark) != 1 or mark in NO_DELIMITERS or not mark.isascii()
        ):
            msg = (
                "delimiter must be one ASCII character, neither a quote nor a line "
                f"break; got {mark!r:.40}."
            )
            raise InvalidParameter(msg)
        validation.check_choice(self.decimal, DECIMALS, "decimal")
        try:
            "".encode(self.encoding)
        except (LookupError, ValueError):
            msg = (
                "encoding must be the name of an encoding of text, such as utf-8, "
                f"latin-1, cp1252 or utf-16; got {self.encoding!r:.40}."
            )
            raise InvalidParameter(msg) from None

    @property
    def options(self) -> list[str]:
        """The options that say more than the default, as the command line has them."""
        given = {
            "--delimiter": self.delimiter is not None,
            "--decimal": self.decimal != ".",
            "--encoding": not self.is_utf_8,
        }
        return [option for option, is_given in given.items() if is_given]

    @property
    def is_utf_8(self) -> bool:
        """Whether bytes mean what they mean by default."""
        return codecs.lookup(self.encoding).name == UTF_8


class DelimitedReader:
    """A table of text, whose first line names the columns."""

    n_rows = None

    def __init__(
        self,
        source: Source,
        _scratch: Scratch,
        dialect: Dialect,
        *,
        delimiter: str | None = None,
    ) -> None:
        self._source = source
        self._dialect = dialect
        head = source.head(LONGEST_HEADER)
        text = self._decoded(head).lstrip("\r\n")
        self.delimiter = dialect.delimiter or delimiter or _delimiter(text)
        names = self._first_row(text, is_whole=len(head) < LONGEST_HEADER)
        if not names:
            msg = f"{source.name} must begin with names of columns; it is empty."
            raise InvalidTable(msg)
        self.schema = pa.schema([(name, pa.string()) for name in names])

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Read the rows, all columns as text.

        Whether bytes are UTF-8 is not looked at: a column that nobody uses may be
        anything.
        """
        import pyarrow.csv as pa_csv

        names = self.schema.names
        encoding = "utf8" if self._dialect.is_utf_8 else self._dialect.encoding
        n_rows = 0
        try:
            with self._source.open() as stream:
                for batch in pa_csv.open_csv(
                    pa.PythonFile(stream, mode="r"),
                    # One thread: only then does an error name its row.
                    read_options=pa_csv.ReadOptions(
                        block_size=BLOCK, use_threads=False, encoding=encoding
                    ),
                    parse_options=pa_csv.ParseOptions(
                        delimiter=self.delimiter,
                        newlines_in_values=True,
                        # In a single column, an empty line is a missing value.
                        ignore_empty_lines=len(names) > 1,
                    ),
                    convert_options=pa_csv.ConvertOptions(
                        column_types=self.schema,
                        strings_can_be_null=False,
                        include_columns=columns or names,
                        check_utf8=False,
                    ),
                ):
                    yield batch
                    n_rows += batch.num_rows
        except pa.ArrowInvalid as cause:
            msg = _explained(self._source.name, str(cause), n_rows)
            raise InvalidTable(msg) from cause
        except UnicodeError as cause:
            raise self._not_in_encoding() from cause

    def _decoded(self, head: bytes) -> str:
        """Return the beginning of a file; bytes that are no text are escaped."""
        # Incremental, because it may end within a letter.
        decoder = codecs.getincrementaldecoder(self._dialect.encoding)
        try:
            # The parser passes over a mark that the encoding leaves there, too.
            return decoder("surrogateescape").decode(head).removeprefix(BOM)
        except UnicodeError as cause:
            raise self._not_in_encoding() from cause

    def _first_row(self, text: str, *, is_whole: bool) -> list[str]:
        lines = io.StringIO(text, newline="")
        name = self._source.name
        try:
            names = next(csv.reader(lines, delimiter=self.delimiter), [])
        except csv.Error as cause:
            longest = csv.field_size_limit()
            msg = (
                f"{name} must be delimited text; a name in its first line is longer "
                f"than {longest:,} characters, or a quote is not closed there."
            )
            raise InvalidTable(msg) from cause
        header = text[: lines.tell()]
        if not is_whole and not header.endswith(("\r", "\n")):
            msg = (
                f"{name} must name its columns in a first line of at most "
                f"{LONGEST_HEADER // MIB} MiB; it is longer, or a quote is not closed "
                "there."
            )
            raise InvalidTable(msg)
        if ESCAPED.search(header):
            what = "its first line is not"
            raise self._not_in_encoding(what)
        return names

    def _not_in_encoding(self, what: str = "it is not") -> InvalidTable:
        must = f"{self._source.name} must be text in {self._dialect.encoding.upper()}"
        other = "utf-16" if self._source.head(2) in BOMS_16 else "latin-1"
        return InvalidTable(
            f"{must}; {what}. Name its encoding with --encoding, for example {other}."
        )


class DelimitedWriter:
    """Write rows as lines of text, quoted where they must be.

    Rows that were read as such text keep the delimiter they came with; their other
    columns stay as they are, and new numbers look like theirs.
    """

    def __init__(
        self,
        file: Sink,
        schema: pa.Schema,
        origin: Reader | None,
        dialect: Dialect,
        *,
        delimiter: str | None = None,
    ) -> None:
        theirs: str | None = getattr(origin, "delimiter", None)
        self._file = file
        self._dialect = dialect
        self._encoder = None
        if not dialect.is_utf_8:
            self._encoder = codecs.getincrementalencoder(dialect.encoding)()
        self._delimiter = theirs or delimiter or dialect.delimiter or ","
        self._pattern = f'["\r\n{re.escape(self._delimiter)}]'  # what needs quotes
        marks = ('"', "\r", "\n", self._delimiter)
        self._marks = [mark.encode() for mark in marks]
        self._nothing, self._quote, _, self._end, self._between = arrow.texts(
            "", *marks
        )
        for field in schema:
            if pa.types.is_nested(field.type):
                msg = (
                    f"column {field.name!r} must be numbers or text to be written as "
                    f"text; it is {field.type}. Write Parquet or JSON lines."
                )
                raise InvalidTable(msg)
        names = [arrow.texts(name) for name in schema.names]
        self.write(pa.record_batch(names, schema.names))

    def write(self, batch: pa.RecordBatch) -> None:
        """Write some rows."""
        if not batch.num_rows:
            return
        cells = [self._cells(column) for column in batch.columns]
        lines = arrow.joined_texts(*cells, self._between)
        ended = arrow.joined_texts(lines, self._nothing, self._end)
        self._file.write(self._encoded(arrow.text_of(ended)))

    def close(self) -> None:
        """Nothing is held back."""

    def _encoded(self, text: bytes) -> bytes:
        """Return text, which is UTF-8, in the encoding to write."""
        if self._encoder is None:
            return text
        try:
            return self._encoder.encode(text.decode())
        except UnicodeEncodeError as cause:
            msg = (
                f"text must have an encoding in {self._dialect.encoding.upper()} to be "
                f"written so; {cause.object[cause.start]!r} has none. Name another "
                "with --encoding, or write Parquet or JSON lines."
            )
            raise InvalidTable(msg) from cause

    def _cells(self, column: pa.Array) -> pa.Array:
        """Return text as it stands between delimiters; nothing if it is missing."""
        try:
            cells = arrow.present(arrow.cast(column, pa.string()), self._nothing)
        except pa.ArrowException as cause:
            msg = (
                f"columns must be numbers or text to be written as text; a value of "
                f"type {column.type} is not. Write Parquet or JSON lines."
            )
            raise InvalidTable(msg) from cause
        if self._dialect.decimal != "." and any(is_a(column.type) for is_a in REAL):
            cells = arrow.replaced(cells, ".", self._dialect.decimal)
        if not any(mark in arrow.text_of(cells) for mark in self._marks):
            return cells
        special = arrow.matches(cells, self._pattern)
        doubled = arrow.replaced(cells, '"', '""')
        quote = self._quote
        quoted = arrow.joined_texts(quote, doubled, quote, self._nothing)
        return arrow.where(special, quoted, cells)


def _delimiter(text: str) -> str:
    """Return the delimiter that a header has most of, outside of quotes."""
    header = re.sub('"[^"]*"', "", text).partition("\n")[0]
    return max(DELIMITERS, key=header.count)


def _explained(name: str, said: str, n_rows: int) -> str:
    """Turn what the parser says, after so many rows, into a sentence."""
    if found := re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", said):
        row, expected, got = map(int, found.groups())
        return (
            f"{name} must have {expected} values in each row, as its first line "
            f"has; got {got} in row {row - 1}."
        )
    if "straddling" in said:
        return (
            f"{name} must have rows of at most {BLOCK // MIB} MiB; one after row "
            f"{n_rows} is longer, or a quote is not closed there."
        )
    return f"{name} must be delimited text; {said}."
