"""ARFF: a table as Weka reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from abers.paper.columns import Column, Table
    from abers.validation import IntArray


def to_arff(table: Table) -> str:
    """Write a table in Weka's format, the label last.

    Examples
    --------
    >>> import numpy as np
    >>> from abers.paper.columns import Table, nominal_column, numeric_column
    >>> from abers.paper.weka.arff import to_arff
    >>> columns = numeric_column("age", ["39"]), nominal_column("job", ["a b"])
    >>> print(to_arff(Table(columns, np.array([1]))))
    @relation data
    @attribute 'age' numeric
    @attribute 'job' {'a b'}
    @attribute class {0,1}
    @data
    39.0,'a b',1
    """
    columns = table.columns
    kinds = [
        f"{{{','.join(map(_quoted, c.levels))}}}" if c.is_nominal else "numeric"
        for c in columns
    ]
    header = [
        f"@attribute {_quoted(c.name)} {kind}"
        for c, kind in zip(columns, kinds, strict=True)
    ]
    classes = ",".join(str(label) for label in range(max(2, table.labels.max() + 1)))
    texts = [*(_texts(c) for c in columns), map(str, table.labels.tolist())]
    rows = [",".join(row) for row in zip(*texts, strict=True)]
    lines = ["@relation data", *header, f"@attribute class {{{classes}}}", "@data"]
    return "\n".join(lines + rows)


def to_ranges(rows: IntArray) -> str:
    """Write rows as ranges, the end of each not included.

    Examples
    --------
    >>> import numpy as np
    >>> from abers.paper.weka.arff import to_ranges
    >>> to_ranges(np.array([0, 1, 2, 7, 8]))
    '0:3,7:9'
    """
    cuts = np.flatnonzero(np.diff(rows) != 1) + 1
    runs = np.split(rows, cuts)
    return ",".join(f"{run[0]}:{run[-1] + 1}" for run in runs)


def _texts(column: Column) -> list[str]:
    if column.is_nominal:
        names = [*map(_quoted, column.levels), "?"]  # -1, the last, is missing
        return [names[value] for value in column.values.astype(np.int64)]
    return ["?" if value != value else repr(value) for value in column.values.tolist()]  # noqa: PLR0124


def _quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
