"""Dialects: how a program or a country writes numbers and text between delimiters."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from abers import validation
from abers.errors import InvalidParameter

DECIMALS = (".", ",")
NO_DELIMITERS = '"\r\n\0'
UTF_8 = "utf-8"


@dataclass(frozen=True, slots=True)
class Dialect:
    r"""How CSV and TSV are written; for other formats it is refused.

    Parameters
    ----------
    delimiter : str, default=None
        The character between values; found in the first line if None.
    decimal : {".", ","}, default="."
        What stands before the decimals of a number.
    encoding : str, default="utf-8"
        What bytes mean, by a name that Python knows.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from abers.tables import Dialect, fit_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "scores.csv")
    ...     _ = path.write_text("score;label\n0,1;0\n0,2;1\n0,3;0\n")
    ...     fit = fit_table(path, dialect=Dialect(decimal=","))
    >>> fit.rule.bounds([0.2])
    array([[0.33333333, 0.66666667]])
    """

    delimiter: str | None = None
    decimal: str = "."
    encoding: str = UTF_8

    def __post_init__(self) -> None:
        """Refuse what no file can be written in."""
        mark = self.delimiter
        if mark is not None and (
            len(mark) != 1 or mark in NO_DELIMITERS or not mark.isascii()
        ):
            msg = (
                "delimiter must be one ASCII character, neither a quote nor a line "
                f"break; got {mark!r:.40}."
            )
            raise InvalidParameter(msg)
        validation.check_choice(self.decimal, DECIMALS, "decimal")
        try:
            "".encode(self.encoding)
        except (LookupError, ValueError):
            msg = (
                "encoding must be the name of an encoding of text, such as utf-8, "
                f"latin-1, cp1252 or utf-16; got {self.encoding!r:.40}."
            )
            raise InvalidParameter(msg) from None

    @property
    def options(self) -> list[str]:
        """The options that say more than the default, as the command line has them."""
        given = {
            "--delimiter": self.delimiter is not None,
            "--decimal": self.decimal != ".",
            "--encoding": not self.is_utf_8,
        }
        return [option for option, is_given in given.items() if is_given]

    @property
    def is_utf_8(self) -> bool:
        """Whether bytes mean what they mean by default."""
        return codecs.lookup(self.encoding).name == UTF_8
