"""`abers paper`: reproduce the paper's experiments."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from abers.cli import printing
from abers.cli.parsing import Option
from abers.cli.signals import keeping
from abers.errors import InvalidParameter, need

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from abers.paper.reproduction import Findings

DEFAULT_PLAN = "quick"


def paper(
    *,
    data: Annotated[
        str,
        Option(
            metavar="FOLDER",
            variable="ABERS_DATA",
            help="The paper's data sets from UCI, one folder each, gzipped or not.",
        ),
    ],
    output: Annotated[
        str,
        Option("--output", "-o", metavar="FOLDER", help="Output folder."),
    ] = "paper-results",
    quick: Annotated[
        bool,
        Option("--quick", help="Some ratios only; takes minutes (default)."),
    ] = False,
    full: Annotated[
        bool, Option("--full", help="Everything in the paper; takes hours.")
    ] = False,
    tables_only: Annotated[
        bool, Option("--tables-only", help="Only Tables 1 and 2.")
    ] = False,
    plan: Annotated[
        str | None,
        Option(metavar="NAME", help="Plan: quick, full, tables, sets or miniature."),
    ] = None,
    sets: Annotated[
        list[str] | None,
        Option(metavar="A,B,C", help="Only these data sets."),
    ] = None,
    algorithms: Annotated[
        list[str] | None,
        Option(metavar="A,B,C", help="Only these underlying algorithms."),
    ] = None,
    jobs: Annotated[
        int, Option(metavar="N", least=1, help="Number of parallel jobs.")
    ] = 2,
    weka: Annotated[
        str | None,
        Option(
            metavar="JAR",
            help="Use Weka's algorithms from this jar; "
            "best with --plan tables or sets.",
        ),
    ] = None,
    force: Annotated[bool, Option("--force", help="Start over.")] = False,
    resume: Annotated[
        bool, Option("--resume", help="Resume an earlier run (default).")
    ] = False,
) -> None:
    """Reproduce the paper's experiments and check its claims.

    Writes tables, figures and one page of HTML, and prints Tables 1 and 2 (paper, ours,
    difference) and each claim with its result.
    """
    need("matplotlib", "jinja2", extra="paper", what="abers paper")
    if force and resume:
        msg = "--force must stand instead of --resume."
        raise InvalidParameter(msg)
    chosen = _plan(plan, {"quick": quick, "full": full, "tables": tables_only})
    from abers.paper.reproduction import reproduce

    start = monotonic()
    kept = f"finished work is kept in {output}; run the same command to resume"
    with keeping(kept), _progress() as progress:
        found = reproduce(
            data,
            output,
            plan=chosen,
            sets=_names(sets),
            algorithms=_names(algorithms),
            jobs=jobs,
            weka=weka,
            force=force,
            progress=progress,
        )
    _print(found)
    page = Path(output, "paper.html")
    minutes = (monotonic() - start) / 60
    printing.note(f"Written to {output} in {minutes:.1f} minutes; open {page}.")


def _plan(name: str | None, flags: dict[str, bool]) -> str:
    asked = [plan for plan, wanted in flags.items() if wanted]
    asked += [name] if name is not None else []
    if len(set(asked)) > 1:
        msg = f"there must be one plan; got {' and '.join(asked)}."
        raise InvalidParameter(msg)
    return asked[0] if asked else DEFAULT_PLAN


def _names(given: list[str] | None) -> list[str]:
    """Split lists at commas."""
    return [name.strip() for text in given or () for name in text.split(",") if name]


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None] | None]:
    """Show on a terminal what is done; nothing elsewhere."""
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield None
        return
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("reading data", total=None)

        def done(what: str, count: int, total: int) -> None:
            bar.update(task, description=what, completed=count, total=total)

        yield done


def _print(found: Findings) -> None:
    """Print Tables 1 and 2, and the claims."""
    from abers.paper.reproduction_page import (
        comparison_tables,
        differences_sentence,
        verdicts_sentence,
    )

    if found.index.units(("adult-5000",), ("4:1",)):
        for table in comparison_tables(found):
            sys.stdout.write("\n")
            printing.sentence(table.caption)
            names = [row[0] for row in table.rows]
            body = [
                ("" if i and names[i - 1] == row[0] else row[0], *row[1:])
                for i, row in enumerate(table.rows)
            ]
            printing.table(table.head, body)
    sys.stdout.write("\n")
    printing.sentence(differences_sentence(found))
    printing.sentence(verdicts_sentence(found))
    sys.stdout.write("\n")
    printing.facts(
        [(claim.verdict, f"{claim.says} {claim.evidence}") for claim in found.claims],
        to_stdout=True,
    )
    for text in found.left_out:
        printing.sentence(f"Not run: {text}.")
