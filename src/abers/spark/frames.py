"""Frames: columns by name, frames kept on disk for a while, answers of workers."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812 (as every user of Spark calls it)
from pyspark.sql.types import BooleanType, NumericType

from abers.errors import InvalidTable, MissingExtra
from abers.tables.files import listed
from abers.tables.frame_rows import FRAME

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import Column, DataFrame

ROWS_OF_A_BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"
BYTES_OF_A_BATCH = "spark.sql.execution.arrow.maxBytesPerBatch"
NO_LIMIT = 2**31 - 1  # of these bytes: they are not looked at
BYTES_OF_A_NUMBER = 17  # in Arrow, with its share of the bits of nulls; a decimal's
NO_ABERS = re.compile(r"ModuleNotFoundError: No module named '(abers|numpy|pyarrow)")


def column(name: str) -> Column:
    """Return a column by its exact name, which may hold dots and backticks."""
    quoted = name.replace("`", "``")
    return F.col(f"`{quoted}`")


def check_unambiguous(df: DataFrame, names: Sequence[str]) -> None:
    """Refuse names that Spark, blind to case, would find twice."""
    if df.sparkSession.conf.get("spark.sql.caseSensitive", "false") == "true":
        return
    for name in names:
        same = [each for each in df.columns if each.lower() == name.lower()]
        if len(same) > 1:
            msg = (
                f"{FRAME} must have one column {name!r}, whatever the case; it has "
                f"{listed(same)}. Rename one."
            )
            raise InvalidTable(msg)


@contextmanager
def persisted(df: DataFrame) -> Iterator[DataFrame]:
    """Keep what a frame holds on the disks of workers, so that it is made once.

    A worker that is lost takes its share with it; Spark then makes that again, and the
    contents that passes compare tell whether it came out the same.
    """
    kept = df.persist(StorageLevel.DISK_ONLY)
    try:
        yield kept
    finally:
        kept.unpersist(blocking=True)


@contextmanager
def unmeasured_batches(df: DataFrame) -> Iterator[None]:
    """Let Spark not measure batches of numbers, which are small anyway.

    After each row it adds up the bytes of the batch for Python, to keep below a limit;
    that is a third of a fit. The limit on the rows of a batch is enough for numbers, so
    that the other one is lifted while they are read, and only if it cannot be reached.
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
    """Return a size as Spark tells it, such as 67108864b; 0 if it has other units."""
    number = size.removesuffix("b")
    return int(number) if number.isdecimal() else 0


def collected(df: DataFrame) -> list[tuple[Any, ...]]:
    """Return the rows of a small frame, or say which workers lack abers."""
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
