"""Data: each set of the paper as a table, from the raw files of UCI.

What the paper leaves open is decided here, and said: which class is the positive one,
which columns are names, which rows of covertype are taken.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from abers.errors import InvalidData, InvalidFile

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from abers.validation import FloatArray, IntArray


# Columns: a data set as the underlying algorithms take it, numbers and names.

MISSING = "?"


@dataclass(frozen=True, slots=True, eq=False)
class Attribute:
    """One attribute: numbers (NaN is missing), or the position of each level."""

    name: str
    values: FloatArray | IntArray
    levels: tuple[str, ...] = ()  # of a nominal column; -1 among values is missing

    @property
    def is_nominal(self) -> bool:
        """Whether the values are names."""
        return bool(self.levels)


@dataclass(frozen=True, slots=True, eq=False)
class DataTable:
    """Attributes and labels 0 … C - 1 of a data set, in the order of its file."""

    columns: tuple[Attribute, ...]
    labels: IntArray

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.labels.size

    def take(self, rows: NDArray[np.int64]) -> DataTable:
        """Return the rows asked for, in the order asked for."""
        columns = (Attribute(c.name, c.values[rows], c.levels) for c in self.columns)
        return DataTable(tuple(columns), self.labels[rows])


def numeric_column(name: str, values: Sequence[str] | FloatArray) -> Attribute:
    """Read numbers.

    Examples
    --------
    >>> from experiments.paper.data import numeric_column
    >>> numeric_column("age", ["39", "?"]).values
    array([39., nan])
    """
    numbers = [np.nan if value == MISSING else float(value) for value in values]
    return Attribute(name, np.array(numbers))


def nominal_column(name: str, values: Sequence[str]) -> Attribute:
    """Read names; levels are those that occur, in alphabetical order.

    Examples
    --------
    >>> from experiments.paper.data import nominal_column
    >>> column = nominal_column("sex", ["Male", "Female", "?"])
    >>> column.levels, column.values
    (('Female', 'Male'), array([ 1,  0, -1]))
    """
    levels = tuple(sorted(set(values) - {MISSING}))
    place = {level: position for position, level in enumerate(levels)} | {MISSING: -1}
    return Attribute(name, np.array([place[value] for value in values]), levels)


def table_of(
    names: Sequence[str],
    nominal: set[str],
    rows: Sequence[Sequence[str]],
    labels: IntArray,
) -> DataTable:
    """Make a table of rows of text; `nominal` names the columns of names."""
    widths = {len(row) for row in rows}
    if widths != {len(names)}:
        msg = f"every row must have {len(names)} attributes; got {sorted(widths)}."
        raise InvalidData(msg)
    columns = tuple(
        (nominal_column if name in nominal else numeric_column)(name, values)
        for name, values in zip(names, zip(*rows, strict=True), strict=True)
    )
    return DataTable(columns, labels)


# Sources: the files of the UCI repository that the paper used, and their checksums.

# As sha256sum prints them, of unpacked files with the line ends of Unix: copies differ
# in these.
_CHECKSUMS = """
5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d  adult.data
a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05  adult.test
0a9371cef7c964b5475d6053cc3e0894a5aa6f65ad1ed3ecb01c45aa96217945  covtype.data
4e967da7c4d1759b9f2ddbd39aace45af6a6685a7a7ecd6febb161a60dd8fe0a  ticdata2000.txt
26bd871a5fef8dc05b9505bc58af2a47479f3782db69fcd42e43b80da48b1f3d  ticeval2000.txt
43233f77ce0c182b3ec6b175a6d9c53a0ca8e6d4a5d76e01d8165935d43d7e4b  tictgts2000.txt
d1513ec63b385506f7cfce9f2c5caa9fe99e7ba4e8c3fa264b3aaf0f849ed32d  bank-full.csv
ebec58cfca94ea61c77df632314acae15bad410f4769d38b1a66cb41050e3431  spambase.data
b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871  german.data
"""
SHA256 = {
    name: digest for digest, name in map(str.split, _CHECKSUMS.strip().splitlines())
}


@dataclass(frozen=True, slots=True)
class Source:
    """A data set of the UCI repository."""

    folder: str  # inside the folder of data
    title: str  # what UCI calls it
    number: int  # of its page at UCI
    files: tuple[str, ...]
    class_counts: tuple[int, ...]  # rows of label 0, 1, …

    @property
    def n_rows(self) -> int:
        """Number of rows of all files together."""
        return sum(self.class_counts)

    @property
    def address(self) -> str:
        """Where to get it."""
        return f"archive.ics.uci.edu/dataset/{self.number}"


ADULT = Source(
    "adult",
    "Adult",
    2,
    ("adult.data", "adult.test"),
    (24_720 + 12_435, 7_841 + 3_846),
)
COVERTYPE = Source(
    "covertype",
    "Covertype",
    31,
    ("covtype.data",),
    (211_840, 283_301, 35_754, 2_747, 9_493, 17_367, 20_510),
)
INSURANCE = Source(
    "insurance",
    "Insurance Company Benchmark (COIL 2000)",
    125,
    ("ticdata2000.txt", "ticeval2000.txt", "tictgts2000.txt"),
    (5_474 + 3_762, 348 + 238),
)
BANK = Source("bank", "Bank Marketing", 222, ("bank-full.csv",), (39_922, 5_289))
SPAMBASE = Source("spambase", "Spambase", 94, ("spambase.data",), (2_788, 1_813))
GERMAN = Source(
    "german", "Statlog (German Credit Data)", 144, ("german.data",), (700, 300)
)


def missing_files(source: Source, folder: str | os.PathLike[str]) -> list[str]:
    """Return the names of files that are not there, gzipped or not."""
    return [name for name in source.files if _found(source, name, folder) is None]


def check_files(wanted: Iterable[Source], folder: str | os.PathLike[str]) -> None:
    """Raise unless a folder has all files of some data sets, gzipped or not."""
    if not Path(folder).is_dir():
        msg = (
            "the data sets must be in a folder, each in a folder of its own; "
            f"{str(folder)!r} is no folder. Name the right one by --data."
        )
        raise InvalidFile(msg)
    lacking = [
        f"{source.title!r} ({' and '.join(absent)} from {source.address})"
        for source in wanted
        if (absent := [f"{source.folder}/{n}" for n in missing_files(source, folder)])
    ]
    if lacking:
        msg = (
            "the data sets must be there as the UCI Machine Learning Repository has "
            f"them, gzipped or not; {str(folder)!r} lacks {', '.join(lacking)}. Put "
            "these files there, or name another folder by --data."
        )
        raise InvalidFile(msg)


def read_files(source: Source, folder: str | os.PathLike[str]) -> list[bytes]:
    """Return what the files of a data set hold, unpacked and checked.

    Lines end as on Unix, whatever ends they have in the files.
    """
    check_files([source], folder)
    return [_checked(source, name, folder) for name in source.files]


def _found(source: Source, name: str, folder: str | os.PathLike[str]) -> Path | None:
    plain = Path(folder) / source.folder / name
    packed = plain.with_name(plain.name + ".gz")
    return next((path for path in (plain, packed) if path.is_file()), None)


def _checked(source: Source, name: str, folder: str | os.PathLike[str]) -> bytes:
    path = _found(source, name, folder)
    assert path is not None  # noqa: S101 (`check` has looked)
    content = path.read_bytes()
    if path.suffix == ".gz":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as damage:
            msg = (
                f"{source.folder}/{path.name} must be a gzip file without damage; "
                f"{damage}. Download it again."
            )
            raise InvalidFile(msg) from damage
    content = content.replace(b"\r\n", b"\n")
    found = hashlib.sha256(content).hexdigest()
    if found != SHA256[name]:
        msg = (
            f"{source.folder}/{name} must be UCI's file, byte for byte (SHA-256 "
            f"{SHA256[name][:12]}…); got {len(content)} bytes with {found[:12]}…. "
            "Download it again; its first line and its last count, line ends do not."
        )
        raise InvalidFile(msg)
    return content


# The sets: what each reader makes of the files.

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


def adult(content: Content) -> DataTable:
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


def covertype(content: Content, *, in_file_order: bool = False) -> DataTable:
    """Take 30,000 random rows of covertype, randomly ordered; labels 0 … 6.

    The file begins with 15,120 rows that are balanced by design, so that its first
    rows, which are taken if asked for, are no sample of it.
    """
    lines = content[0].splitlines()
    _check_counts(COVERTYPE, np.array([line[-1] for line in lines]) - ord("1"))
    order = np.arange(len(lines))
    if not in_file_order:
        order = np.random.default_rng(COVERTYPE_SEED).permutation(order)
    chosen = order[:COVERTYPE_ROWS]
    values = np.loadtxt([lines[row] for row in chosen], delimiter=",")
    attributes = values[:, :-1].T
    columns = tuple(
        Attribute(f"a{i + 1}", column)
        if i < COVERTYPE_NUMBERS
        else Attribute(f"a{i + 1}", column.astype(np.int64), ("0", "1"))
        for i, column in enumerate(attributes)
    )
    return DataTable(columns, values[:, -1].astype(np.int64) - 1)


def insurance(content: Content) -> DataTable:
    """Read both files of the insurance company, one after the other."""
    train, rest, targets = content
    rows = [line.split() for line in _lines(train)]
    rows += [
        [*line.split(), label.strip()]
        for line, label in zip(_lines(rest), _lines(targets), strict=True)
    ]
    labels = _labels([row[-1] for row in rows], ("0", "1"))
    return table_of(_numbered(85), INSURANCE_NAMES, [row[:-1] for row in rows], labels)


def bank(content: Content) -> DataTable:
    """Read bank-full.csv; the level "unknown" is a level, as its description says."""
    header, *rows = csv.reader(_lines(content[0]), delimiter=";")
    names = header[:-1]
    labels = _labels([row[-1] for row in rows], ("no", "yes"))
    nominal = set(names) - BANK_NUMBERS
    return table_of(names, nominal, [row[:-1] for row in rows], labels)


def spambase(content: Content) -> DataTable:
    """Read spambase.data; positive is spam. The file is sorted by class."""
    rows = [line.split(",") for line in _lines(content[0])]
    labels = _labels([row[-1] for row in rows], ("0", "1"))
    return table_of(_numbered(57), set(), [row[:-1] for row in rows], labels)


def german(content: Content) -> DataTable:
    """Read german.data; positive is a bad credit."""
    rows = [line.split() for line in _lines(content[0])]
    labels = _labels([row[-1] for row in rows], ("1", "2"))
    names = _numbered(20)
    nominal = set(names) - GERMAN_NUMBERS
    return table_of(names, nominal, [row[:-1] for row in rows], labels)


READERS: dict[str, tuple[Source, Callable[[Content], DataTable]]] = {
    "adult": (ADULT, adult),
    "covertype": (COVERTYPE, covertype),
    "insurance": (INSURANCE, insurance),
    "bank": (BANK, bank),
    "spambase": (SPAMBASE, spambase),
    "german": (GERMAN, german),
}


def load(
    name: str, folder: str | os.PathLike[str], *, in_file_order: bool = False
) -> DataTable:
    """Read one of the paper's data sets, in file order, verified.

    Of covertype 30,000 random rows are read, or the first if in file order.
    """
    source, reader = READERS[name]
    content = read_files(source, folder)
    if source is COVERTYPE:  # of which the reader has seen all rows
        return covertype(content, in_file_order=in_file_order)
    table = reader(content)
    _check_counts(source, table.labels)
    return table


def verify(names: Iterable[str], folder: str | os.PathLike[str]) -> None:
    """Raise unless a folder has UCI's files of some data sets, by their checksums."""
    wanted = [READERS[name][0] for name in names]
    check_files(wanted, folder)
    for source in wanted:
        read_files(source, folder)


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
