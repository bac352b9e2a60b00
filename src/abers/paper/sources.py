"""Sources: the files of the UCI repository that the paper used, and their checksums."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from abers.errors import InvalidFile

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class RawFile:
    """A file as UCI distributes it, unpacked."""

    name: str
    sha256: str  # of its bytes with the line ends of Unix: copies differ in these


@dataclass(frozen=True, slots=True)
class Source:
    """A data set of the UCI repository."""

    folder: str  # inside the folder of data
    title: str  # what UCI calls it
    number: int  # of its page at UCI
    files: tuple[RawFile, ...]
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
    (
        RawFile(
            "adult.data",
            "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
        ),
        RawFile(
            "adult.test",
            "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
        ),
    ),
    (24_720 + 12_435, 7_841 + 3_846),
)
COVERTYPE = Source(
    "covertype",
    "Covertype",
    31,
    (
        RawFile(
            "covtype.data",
            "0a9371cef7c964b5475d6053cc3e0894a5aa6f65ad1ed3ecb01c45aa96217945",
        ),
    ),
    (211_840, 283_301, 35_754, 2_747, 9_493, 17_367, 20_510),
)
INSURANCE = Source(
    "insurance",
    "Insurance Company Benchmark (COIL 2000)",
    125,
    (
        RawFile(
            "ticdata2000.txt",
            "4e967da7c4d1759b9f2ddbd39aace45af6a6685a7a7ecd6febb161a60dd8fe0a",
        ),
        RawFile(
            "ticeval2000.txt",
            "26bd871a5fef8dc05b9505bc58af2a47479f3782db69fcd42e43b80da48b1f3d",
        ),
        RawFile(
            "tictgts2000.txt",
            "43233f77ce0c182b3ec6b175a6d9c53a0ca8e6d4a5d76e01d8165935d43d7e4b",
        ),
    ),
    (5_474 + 3_762, 348 + 238),
)
BANK = Source(
    "bank",
    "Bank Marketing",
    222,
    (
        RawFile(
            "bank-full.csv",
            "d1513ec63b385506f7cfce9f2c5caa9fe99e7ba4e8c3fa264b3aaf0f849ed32d",
        ),
    ),
    (39_922, 5_289),
)
SPAMBASE = Source(
    "spambase",
    "Spambase",
    94,
    (
        RawFile(
            "spambase.data",
            "ebec58cfca94ea61c77df632314acae15bad410f4769d38b1a66cb41050e3431",
        ),
    ),
    (2_788, 1_813),
)
GERMAN = Source(
    "german",
    "Statlog (German Credit Data)",
    144,
    (
        RawFile(
            "german.data",
            "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871",
        ),
    ),
    (700, 300),
)


def missing(source: Source, folder: str | os.PathLike[str]) -> list[str]:
    """Return the names of files that are not there, gzipped or not."""
    return [file.name for file in source.files if _found(source, file, folder) is None]


def check(wanted: Iterable[Source], folder: str | os.PathLike[str]) -> None:
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
        if (absent := [f"{source.folder}/{n}" for n in missing(source, folder)])
    ]
    if lacking:
        msg = (
            "the data sets must be there as the UCI Machine Learning Repository has "
            f"them, gzipped or not; {str(folder)!r} lacks {', '.join(lacking)}. Put "
            "these files there, or name another folder by --data."
        )
        raise InvalidFile(msg)


def read(source: Source, folder: str | os.PathLike[str]) -> list[bytes]:
    """Return what the files of a data set hold, unpacked and checked.

    Lines end as on Unix, whatever ends they have in the files.
    """
    check([source], folder)
    return [_checked(source, file, folder) for file in source.files]


def _found(
    source: Source, file: RawFile, folder: str | os.PathLike[str]
) -> Path | None:
    plain = Path(folder) / source.folder / file.name
    packed = plain.with_name(plain.name + ".gz")
    return next((path for path in (plain, packed) if path.is_file()), None)


def _checked(source: Source, file: RawFile, folder: str | os.PathLike[str]) -> bytes:
    path = _found(source, file, folder)
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
    if found != file.sha256:
        msg = (
            f"{source.folder}/{file.name} must be UCI's file, byte for byte (SHA-256 "
            f"{file.sha256[:12]}…); got {len(content)} bytes with {found[:12]}…. "
            "Download it again; its first line and its last count, line ends do not."
        )
        raise InvalidFile(msg)
    return content
