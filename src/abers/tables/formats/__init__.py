"""Writing: the format that an output has, and what writes it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from abers import validation
from abers.errors import InvalidParameter
from abers.tables.formats.csv import DelimitedWriter
from abers.tables.formats.json import JsonWriter
from abers.tables.formats.parquet import ParquetWriter
from abers.tables.sinks import STDOUT
from abers.tables.sources import named_format

if TYPE_CHECKING:
    import pyarrow as pa

    from abers.tables.sinks import Sink
    from abers.tables.table import Table

FORMATS = ("csv", "tsv", "parquet", "json")
FOREIGN = {  # endings of what others write
    *(".xls", ".xlsx", ".xlsm", ".xlsb", ".ods", ".numbers"),
    *(".feather", ".arrow", ".ipc", ".orc", ".avro", ".h5", ".hdf5", ".npy", ".npz"),
    *(".pkl", ".pickle", ".sav", ".dta", ".sas7bdat", ".rds", ".db", ".sqlite"),
    *(".xml", ".html", ".pdf", ".zip", ".bz2", ".xz", ".7z", ".abers"),
}
Writer = DelimitedWriter | JsonWriter | ParquetWriter


def output_format(path: str, given: str | None, table: Table) -> str:
    """Return the format asked for, or told by the name, or else that of the input."""
    if given is not None:
        validation.check_choice(given, FORMATS, "format")
    elif (ending := Path(path).suffix.lower()) in FOREIGN:
        msg = (
            f"{path!r} must have the ending of a format that abers writes, .csv, .tsv, "
            f".parquet or .jsonl, and of a compression .gz or .zst; got {ending!r}."
        )
        raise InvalidParameter(msg)
    form = given or named_format(path)[0] or table.format
    if form == "parquet" and path == STDOUT and sys.stdout.isatty():
        msg = "Parquet must go to a file or a pipe; got a terminal. Name one with -o."
        raise InvalidParameter(msg)
    return form


def writer(sink: Sink, form: str, schema: pa.Schema, table: Table) -> Writer:
    """Return what writes rows of this schema; CSV keeps the delimiter it came with."""
    if form == "parquet":
        return ParquetWriter(sink, schema)
    if form == "json":
        return JsonWriter(sink)
    if form == "tsv":
        return DelimitedWriter(sink, schema, "\t")
    delimiter = table.delimiter if table.format == "csv" else ","
    return DelimitedWriter(sink, schema, delimiter)
