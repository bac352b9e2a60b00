"""Data: each set of the paper as a table, from the raw files of UCI.

What the paper leaves open is decided here, and said: which class is the positive one,
which columns are names, which rows of covertype are taken.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import numpy as np

from abers.errors import InvalidFile
from abers.paper import sources
from abers.paper.columns import Column, Table, table_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence

    from abers.paper.sources import Source
    from abers.validation import IntArray

COVERTYPE_ROWS = 30_000  # as many as Caruana and Niculescu-Mizil took
COVERTYPE_SEED = 0

ADULT_COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status",
    "occupation", "relationship", "race", "sex", "capital-gain", "capital-loss",
    "hours-per-week", "native-country",
)  # fmt: skip
ADULT_NUMBERS = {
    "age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week",
}  # fmt: skip
BANK_NUMBERS = {
    "age", "balance", "day", "duration", "campaign", "pdays", "previous",
}  # fmt: skip
GERMAN_NUMBERS = {"a2", "a5", "a8", "a11", "a13", "a16", "a18"}
INSURANCE_NAMES = {"a1", "a5"}  # customer subtype and main type; the rest is ordered
COVERTYPE_NUMBERS = 10  # quantitative columns; the other 44 are 0 or 1

Content = list[bytes]


def adult(content: Content) -> Table:
    """Read adult.data, then adult.test; positive is an income above 50K."""
    rows = [
        line.rstrip(".").split(", ")
        for text in content
        for line in _lines(text)
        if line and not line.startswith("|")
    ]
    labels = _labels([row[-1] for row in rows], ("<=50K", ">50K"))
    nominal = set(ADULT_COLUMNS) - ADULT_NUMBERS
    return table_of(ADULT_COLUMNS, nominal, [row[:-1] for row in rows], labels)


def covertype(content: Content) -> Table:
    """Take 30,000 random rows of covertype, randomly ordered; labels 0 … 6.

    The file begins with 15,120 rows that are balanced by design, so that its first
    rows are no sample of it.
    """
    lines = content[0].splitlines()
    _check_counts(sources.COVERTYPE, np.array([line[-1] for line in lines]) - ord("1"))
    rng = np.random.default_rng(COVERTYPE_SEED)
    chosen = rng.permutation(len(lines))[:COVERTYPE_ROWS]
    values = np.loadtxt([lines[row] for row in chosen], delimiter=",")
    attributes = values[:, :-1].T
    columns = tuple(
        Column(f"a{i + 1}", column)
        if i < COVERTYPE_NUMBERS
        else Column(f"a{i + 1}", column.astype(np.int64), ("0", "1"))
        for i, column in enumerate(attributes)
    )
    return Table(columns, values[:, -1].astype(np.int64) - 1)


def insurance(content: Content) -> Table:
    """Read both files of the insurance company, one after the other."""
    train, rest, targets = content
    rows = [line.split() for line in _lines(train)]
    rows += [
        [*line.split(), label.strip()]
        for line, label in zip(_lines(rest), _lines(targets), strict=True)
    ]
    labels = _labels([row[-1] for row in rows], ("0", "1"))
    return table_of(_numbered(85), INSURANCE_NAMES, [row[:-1] for row in rows], labels)


def bank(content: Content) -> Table:
    """Read bank-full.csv; the level "unknown" is a level, as its description says."""
    header, *rows = csv.reader(_lines(content[0]), delimiter=";")
    names = header[:-1]
    labels = _labels([row[-1] for row in rows], ("no", "yes"))
    nominal = set(names) - BANK_NUMBERS
    return table_of(names, nominal, [row[:-1] for row in rows], labels)


def spambase(content: Content) -> Table:
    """Read spambase.data; positive is spam. The file is sorted by class."""
    rows = [line.split(",") for line in _lines(content[0])]
    labels = _labels([row[-1] for row in rows], ("0", "1"))
    return table_of(_numbered(57), set(), [row[:-1] for row in rows], labels)


def german(content: Content) -> Table:
    """Read german.data; positive is a bad credit."""
    rows = [line.split() for line in _lines(content[0])]
    labels = _labels([row[-1] for row in rows], ("1", "2"))
    names = _numbered(20)
    nominal = set(names) - GERMAN_NUMBERS
    return table_of(names, nominal, [row[:-1] for row in rows], labels)


READERS: dict[str, tuple[Source, Callable[[Content], Table]]] = {
    "adult": (sources.ADULT, adult),
    "covertype": (sources.COVERTYPE, covertype),
    "insurance": (sources.INSURANCE, insurance),
    "bank": (sources.BANK, bank),
    "spambase": (sources.SPAMBASE, spambase),
    "german": (sources.GERMAN, german),
}


def load(name: str, folder: str | os.PathLike[str]) -> Table:
    """Read one of the paper's data sets.

    Parameters
    ----------
    name : {"adult", "covertype", "insurance", "bank", "spambase", "german"}
        The data set.
    folder : path-like
        Holds a folder for each data set, with UCI's files in it, gzipped or not.

    Returns
    -------
    Table
        In file order, but for covertype. Checksums and class counts are verified.
    """
    source, reader = READERS[name]
    table = reader(sources.read(source, folder))
    if source is not sources.COVERTYPE:  # of which the reader has seen all rows
        _check_counts(source, table.labels)
    return table


def verify(names: Iterable[str], folder: str | os.PathLike[str]) -> None:
    """Raise unless a folder has UCI's files of some data sets.

    Parameters
    ----------
    names : iterable of str
        The data sets.
    folder : path-like
        Holds a folder for each data set. All that is missing is named at once; then
        checksums are verified.
    """
    wanted = [READERS[name][0] for name in names]
    sources.check(wanted, folder)
    for source in wanted:
        sources.read(source, folder)


def _lines(text: bytes) -> list[str]:
    return text.decode("ascii").splitlines()


def _numbered(count: int) -> list[str]:
    return [f"a{i + 1}" for i in range(count)]


def _labels(values: Sequence[str], classes: tuple[str, ...]) -> IntArray:
    place = {name: label for label, name in enumerate(classes)}
    return np.array([place[value] for value in values])


def _check_counts(source: Source, labels: IntArray) -> None:
    counts = tuple(np.bincount(labels).tolist())
    if counts != source.class_counts:
        msg = (
            f"{source.title!r} must have {source.class_counts} rows of each class; "
            f"got {counts}."
        )
        raise InvalidFile(msg)
