"""Frames: columns by name, frames kept on disk, rows to and from workers."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812 (as every user of Spark calls it)
from pyspark.sql.types import BooleanType, NumericType

from abers.engines.counting import FRAME
from abers.errors import InvalidData, MissingExtra
from abers.tables.files import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import Column, DataFrame

    Batches = Iterable[pa.RecordBatch]

ROWS_OF_A_BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"
BYTES_OF_A_BATCH = "spark.sql.execution.arrow.maxBytesPerBatch"
NO_LIMIT = 2**31 - 1  # of bytes: they are not measured
BYTES_OF_A_NUMBER = 17  # in Arrow, with its share of the bits of nulls; a decimal's
TYPES = {
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
}
NO_ABERS = re.compile(r"ModuleNotFoundError: No module named '(abers|numpy|pyarrow)")


def column(name: str) -> Column:
    """Return a column by its exact name, which may contain dots and backticks."""
    quoted = name.replace("`", "``")
    return F.col(f"`{quoted}`")


def check_unambiguous(df: DataFrame, names: Sequence[str]) -> None:
    """Raise if two columns are the same to Spark, which ignores case."""
    if df.sparkSession.conf.get("spark.sql.caseSensitive", "false") == "true":
        return
    for name in names:
        same = [each for each in df.columns if each.lower() == name.lower()]
        if len(same) > 1:
            msg = (
                f"{FRAME} must have one column {name!r}, whatever the case; it has "
                f"{listed(same)}. Rename one."
            )
            raise InvalidData(msg)


@contextmanager
def persisted(df: DataFrame) -> Iterator[DataFrame]:
    """Keep the contents of a frame on the workers' disks, so that it is computed once.

    If a worker is lost, Spark recomputes its share; the fit checks that the result is
    the same.
    """
    persisted_frame = df.persist(StorageLevel.DISK_ONLY)
    try:
        yield persisted_frame
    finally:
        persisted_frame.unpersist(blocking=True)


@contextmanager
def unmeasured_batches(df: DataFrame) -> Iterator[None]:
    """Stop Spark from measuring batches of numbers, which are small anyway.

    After each row, Spark sums the bytes of the batch for Python, to stay below a limit;
    that is a quarter to a half of a fit. For numbers, the limit on the rows of a batch
    is enough. So the limit on bytes is lifted while they are read, and only if it
    cannot be reached.
    """
    conf = df.sparkSession.conf
    most_rows, limit = int(conf.get(ROWS_OF_A_BATCH)), conf.get(BYTES_OF_A_BATCH)
    most_bytes = most_rows * BYTES_OF_A_NUMBER * len(df.columns)
    if (
        not all(isinstance(f.dataType, NumericType | BooleanType) for f in df.schema)
        or not 0 < most_bytes < _n_bytes(limit) < NO_LIMIT
    ):
        yield
        return
    conf.set(BYTES_OF_A_BATCH, str(NO_LIMIT))
    try:
        yield
    finally:
        conf.set(BYTES_OF_A_BATCH, limit)


def _n_bytes(size: str) -> int:
    """Read a size in bytes, such as 67108864b; 0 if it has other units."""
    number = size.removesuffix("b")
    return int(number) if number.isdecimal() else 0


def collected(df: DataFrame) -> list[tuple[Any, ...]]:
    """Return the rows of a small frame; raise a clear error if workers lack abers."""
    try:
        columns = [each.to_pylist() for each in df.toArrow().columns]
    except PySparkException as error:
        if missing := NO_ABERS.search(str(error)):
            msg = (
                "workers must have abers and what it needs installed; theirs lacks "
                f"{missing[1]}. Install it for the Python that PYSPARK_PYTHON or "
                "spark.pyspark.python names."
            )
            raise MissingExtra(msg) from error
        raise
    return list(zip(*columns, strict=True))


def rows_of(batches: Batches) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of small batches on a worker."""
    for batch in batches:
        yield from zip(*(each.to_pylist() for each in batch.columns), strict=True)


def record_batch(rows: Sequence[Sequence[Any]], schema: str) -> pa.RecordBatch:
    """Return rows in the form that a worker returns to Spark; the schema is Spark's."""
    named = [column.split() for column in schema.split(", ")]
    columns = zip(*rows, strict=True) if rows else [()] * len(named)
    arrays = [
        pa.array(values, TYPES[kind])
        for values, (_, kind) in zip(columns, named, strict=True)
    ]
    return pa.record_batch(arrays, names=[name for name, _ in named])
