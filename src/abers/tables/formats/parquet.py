"""Parquet: columns keep their types, and rows their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from abers.errors import InvalidTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow.parquet as pq

    from abers.tables.formats import Reader
    from abers.tables.formats.csv import Dialect
    from abers.tables.predict import Sink
    from abers.tables.sources import Scratch, Source

MOST_ROWS = 2**17  # in a batch
BATCH_BYTES = 2**25
BUFFER = 2**20  # bytes of a column read at once; a row group may be larger than memory


class ParquetReader:
    """A Parquet file."""

    def __init__(self, source: Source, scratch: Scratch, _dialect: Dialect) -> None:
        self._source = source.on_disk(scratch)  # read from its end
        with self._opened() as file:
            self.schema = file.schema_arrow
            self.n_rows = file.metadata.num_rows
            groups = map(file.metadata.row_group, range(file.num_row_groups))
            n_bytes = sum(group.total_byte_size for group in groups)
        row_bytes = 1 + n_bytes // max(1, self.n_rows)
        self._batch_rows = max(1, min(MOST_ROWS, BATCH_BYTES // row_bytes))

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Read the rows, in order."""
        try:
            with self._opened() as file:
                yield from file.iter_batches(
                    self._batch_rows,
                    columns=None if columns is None else list(columns),
                    use_threads=False,
                )
        except (pa.ArrowException, OSError) as cause:
            raise self._refusal(cause) from cause

    def _opened(self) -> pq.ParquetFile:
        import pyarrow.parquet as pq  # slow to load; other formats do without

        path = self._source.path
        try:
            return pq.ParquetFile(path, buffer_size=BUFFER, pre_buffer=False)
        except (pa.ArrowException, OSError) as cause:
            raise self._refusal(cause) from cause

    def _refusal(self, cause: Exception) -> InvalidTable:
        said = str(cause).partition("\n")[0].rstrip(".")
        return InvalidTable(f"{self._source.name} must be a Parquet file; {said}.")


class ParquetWriter:
    """Write rows as a Parquet file, a row group for each batch."""

    def __init__(
        self,
        file: Sink,
        schema: pa.Schema,
        _origin: Reader | None,
        _dialect: Dialect,
    ) -> None:
        import pyarrow.parquet as pq

        # Numbers hardly repeat: a dictionary of them costs time and saves nothing.
        repeating = [f.name for f in schema if not pa.types.is_primitive(f.type)]
        self._writer = pq.ParquetWriter(file, schema, use_dictionary=repeating)

    def write(self, batch: pa.RecordBatch) -> None:
        """Write some rows."""
        if batch.num_rows:
            self._writer.write_table(pa.Table.from_batches([batch]))

    def close(self) -> None:
        """Write what tells where the rows are."""
        self._writer.close()
