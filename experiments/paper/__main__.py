"""`python -m experiments.paper`: reproduce the paper's experiments."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
from pathlib import Path
from textwrap import fill
from time import monotonic
from typing import TYPE_CHECKING, Any, NoReturn

from abers.errors import AbersError, InvalidParameter
from experiments.paper.reproduction import reproduce
from experiments.paper.reproduction_page import (
    comparison_tables,
    differences_sentence,
    verdicts_sentence,
)
from experiments.paper.run import PLANS, TABLES, TABLES_RATIO

if TYPE_CHECKING:
    from collections.abc import Sequence

    from experiments.paper.reproduction import Findings

FAILED, WRONG_USE = 1, 2
VERDICT_WIDTH = 9  # of the column of verdicts


class Stopped(BaseException):
    """The run was asked to stop."""


def main() -> None:
    """Run what the command line says, or explain in one sentence why not."""
    options = _options()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    start = monotonic()
    try:
        results = reproduce(**vars(options), progress=_say)
    except Stopped as stop:
        _say(
            f"stopped; finished work is kept in {options.output}; run the same command "
            "to resume."
        )
        sys.exit(128 + stop.args[0])
    except InvalidParameter as error:
        _say(str(error))
        sys.exit(WRONG_USE)
    except AbersError as error:
        _say(str(error))
        sys.exit(FAILED)
    _print(results)
    minutes = (monotonic() - start) / 60
    page = Path(options.output, "paper.html")
    _say(f"Written to {options.output} in {minutes:.1f} minutes; open {page}.")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.paper",
        description="Reproduce the paper's experiments and check its claims: tables, "
        "figures and one page of HTML.",
    )
    folder = os.environ.get("ABERS_DATA") or None
    parser.add_argument(
        "--data",
        default=folder,
        required=folder is None,
        metavar="FOLDER",
        help="the paper's data sets from UCI, one folder each, gzipped or not "
        "(default: ABERS_DATA)",
    )
    parser.add_argument(
        "-o", "--output", default="build/paper", metavar="FOLDER", help="output folder"
    )
    parser.add_argument(
        "--plan",
        default="quick",
        choices=PLANS,
        help="quick (default) takes minutes, full hours",
    )
    for name, what in (("sets", "data sets"), ("algorithms", "underlying algorithms")):
        parser.add_argument(
            f"--{name}",
            default=(),
            type=_names,
            metavar="A,B,C",
            help=f"only these {what}",
        )
    parser.add_argument(
        "--jobs", default=2, type=_count, metavar="N", help="parallel jobs (default: 2)"
    )
    parser.add_argument(
        "--weka",
        metavar="JAR",
        help="use Weka's algorithms from this jar; best with the plan tables or sets",
    )
    parser.add_argument(
        "--force", action="store_true", help="start over instead of resuming"
    )
    return parser.parse_args()


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        msg = f"must be a whole number of at least 1; got {text!r}"
        raise argparse.ArgumentTypeError(msg)
    return int(text)


def _stop(number: int, _: Any) -> NoReturn:
    raise Stopped(number)


def _say(text: str) -> None:
    """Print a message at once: a run may last for hours."""
    print(text, file=sys.stderr, flush=True)


def _print(results: Findings) -> None:
    """Print Tables 1 and 2, and the claims."""
    if results.index.units((TABLES,), (TABLES_RATIO,)):
        for table in comparison_tables(results):
            print(f"\n{table.caption}\n")
            _print_table([table.head, *table.rows])
    width = shutil.get_terminal_size().columns
    print()
    print(fill(differences_sentence(results), width))
    print(fill(verdicts_sentence(results), width))
    print()
    for claim in results.claims:
        text = f"{claim.verdict:<{VERDICT_WIDTH}}{claim.says} {claim.evidence}"
        print(fill(text, width, subsequent_indent=" " * VERDICT_WIDTH))
    for text in results.left_out:
        print(fill(f"Not run: {text}.", width))


def _print_table(rows: Sequence[Sequence[str]]) -> None:
    """Print names to the left and numbers to the right; a name is not repeated."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    before = ""
    for name, *cells in rows:
        shown = "" if name == before else name
        numbers = (cell.rjust(w) for cell, w in zip(cells, widths[1:], strict=True))
        print("  ".join([shown.ljust(widths[0]), *numbers]))
        before = name


if __name__ == "__main__":
    main()
