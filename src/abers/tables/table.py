"""Reading: files of one table, in batches of rows that know where they stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from abers.errors import InvalidTable
from abers.tables import sources
from abers.tables.formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa

    from abers.tables.formats import Reader
    from abers.tables.sources import Scratch, Source, StrPath

    Progress = Callable[[int, int | None], None]  # rows done, and of how many if known


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows of a table, and where they stand."""

    columns: pa.RecordBatch
    file: str  # as messages name it
    first_row: int  # from 1, in its file
    row_number: int  # from 0, in all files

    def __len__(self) -> int:
        return int(self.columns.num_rows)

    def __getitem__(self, column: str) -> pa.Array:
        return self.columns.column(column)

    def place(self, i: int) -> str:
        """Say where row i of the batch stands; rows count from 1, the header apart."""
        return f"row {self.first_row + i} of {self.file}"


class InputTable:
    """One table, in one file or in several that have the same columns."""

    def __init__(self, files: StrPath | Sequence[StrPath], scratch: Scratch) -> None:
        found = sources.found(sources.names_of(files))
        self.format = sources.format_of(found[0])
        self._files = [(s.name, self._reader(s, scratch)) for s in found]
        self.name, self.reader = self._files[0]
        self.schema: pa.Schema = self.reader.schema
        self.columns: list[str] = self.schema.names
        sizes = [reader.n_rows for _, reader in self._files]
        known = [size for size in sizes if size is not None]
        self.n_rows = sum(known) if len(known) == len(sizes) else None
        for name, reader in self._files[1:]:
            if reader.schema.names != self.columns:
                msg = (
                    f"{name} must have the columns of {self.name}, in their order; got "
                    f"{listed(reader.schema.names)} instead of {listed(self.columns)}."
                )
                raise InvalidTable(msg)

    def batches(
        self,
        columns: Sequence[str] | None = None,
        *,
        progress: Progress | None = None,
    ) -> Iterator[Batch]:
        """Read the rows, file by file; all columns unless some are named."""
        done = 0
        for name, reader in self._files:
            first = 1
            for rows in reader.batches(columns):
                yield Batch(rows, name, first, done)
                first += rows.num_rows
                done += rows.num_rows
                if progress:
                    progress(done, self.n_rows)

    def check_types(self) -> None:
        """Refuse files whose columns have different types."""
        for name, reader in self._files:
            for mine, theirs in zip(self.schema, reader.schema, strict=True):
                if mine.type != theirs.type:
                    msg = (
                        f"{name} must have the types of {self.name}; its column "
                        f"{mine.name!r} is {theirs.type}, there {mine.type}."
                    )
                    raise InvalidTable(msg)

    def _reader(self, source: Source, scratch: Scratch) -> Reader:
        form = sources.format_of(source)
        if form != self.format:
            msg = (
                f"{source.name} must have the format of the files before it, "
                f"{self.format}; it is {form}."
            )
            raise InvalidTable(msg)
        reader = FORMATS[form].reader(source, scratch)
        names: list[str] = reader.schema.names
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            msg = f"{source.name} must name each column once; got {twice!r} again."
            raise InvalidTable(msg)
        return reader


def listed(names: Sequence[str], most: int = 20) -> str:
    """List names for a message."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + more
