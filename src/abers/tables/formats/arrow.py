"""Arrow files (Feather 2): columns as they are in memory, with their types."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from abers.errors import InvalidTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from abers.tables.formats import Reader
    from abers.tables.formats.csv import Dialect
    from abers.tables.predict import Sink
    from abers.tables.sources import Scratch, Source

MOST_ROWS = 2**17  # in a batch


class ArrowReader:
    """An Arrow file, read where it lies."""

    def __init__(self, source: Source, scratch: Scratch, _dialect: Dialect) -> None:
        self._source = source.on_disk(scratch)  # read from its end
        try:
            with self._mapped() as file:
                self.schema = pa.ipc.open_file(file).schema
        except (pa.ArrowException, OSError) as cause:
            raise self._refusal(cause) from cause
        self.n_rows = sum(batch.num_rows for batch in self._stored())

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Read the rows, in order."""
        for stored in self._stored():
            batch = stored if columns is None else stored.select(list(columns))
            for first in range(0, batch.num_rows, MOST_ROWS):
                yield batch.slice(first, MOST_ROWS)

    def _stored(self) -> Iterator[pa.RecordBatch]:
        """Read the batches as they were written."""
        try:
            with self._mapped() as file:
                reader = pa.ipc.open_file(file)
                for place in range(reader.num_record_batches):
                    yield reader.get_batch(place)
        except (pa.ArrowException, OSError) as cause:
            raise self._refusal(cause) from cause

    def _mapped(self) -> pa.MemoryMappedFile:
        return pa.memory_map(str(self._source.path))

    def _refusal(self, cause: Exception) -> InvalidTable:
        said = str(cause).partition("\n")[0].rstrip(".")
        return InvalidTable(f"{self._source.name} must be an Arrow file; {said}.")


class ArrowWriter:
    """Write rows as an Arrow file, batch by batch."""

    def __init__(
        self,
        file: Sink,
        schema: pa.Schema,
        _origin: Reader | None,
        _dialect: Dialect,
    ) -> None:
        self._writer = pa.ipc.new_file(pa.PythonFile(file, mode="w"), schema)

    def write(self, batch: pa.RecordBatch) -> None:
        """Write some rows."""
        if batch.num_rows:
            self._writer.write_batch(batch)

    def close(self) -> None:
        """Write what tells where the batches are."""
        self._writer.close()
