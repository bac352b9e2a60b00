"""`abers decide`: from scores and costs to actions."""

from __future__ import annotations

from typing import Any

import click

from abers.cli import options, printer
from abers.cli.commands import command
from abers.cli.inputs import applied
from abers.cli.options import STDOUT
from abers.cli.predict import report_rows


@command()
@click.option(
    "--cost-fp",
    metavar="COST",
    type=options.REAL,
    help="Cost of a false positive: acting on a 0.",
)
@click.option(
    "--cost-fn",
    metavar="COST",
    type=options.REAL,
    help="Cost of a false negative: not acting on a 1.",
)
@click.option(
    "--costs",
    metavar="FILE",
    type=options.FILE,
    help="Instead: a table with a row for each action and a column for each class.",
)
@click.option(
    "--refer",
    metavar="PRICE",
    type=options.REAL,
    help="Price of referring a case (default: never).",
)
@options.one_of(
    "--criterion",
    choices=("cost", "regret"),
    default="cost",
    help="What to make least in the worst case.",
)
@options.application
def decide(
    rule: str,
    files: tuple[str, ...],
    *,
    output: str,
    prior: float | None,
    json: bool,
    **settings: Any,
) -> None:
    """Add an action to each row of a table: act, refuse or refer.

    To act is to treat the case as a 1. The action is the one whose expected cost is
    least in the worst case within the bounds: act if the probability is at least FP /
    (FP + FN). A case is referred if that is cheaper than either. For any number of
    classes and actions, pass a table of --costs: the column `action` names the actions,
    the others are named as the classes are. The columns that `abers predict` adds come
    before the action, its worst cost comes after it.
    """
    from abers.tables.decide import decide_table

    given = {"output": output, "prior": prior, "json": json, **settings}
    done, fitted, checksum = applied(decide_table, rule, files, "deciding", **given)
    rows = done.predicted
    if json:
        facts: dict[str, Any] = {"n_rows": rows.n_rows}
        facts |= {"n_missing": rows.n_missing}
        facts |= {"n_by_action": done.n_by_action}
        facts |= {"n_undetermined": done.n_undetermined}
        facts |= {"n_rest": rows.n_rest, "n_pooled": rows.n_pooled}
        printer.print_json({"output": output, "sha256": checksum, **facts})
        return
    if output != STDOUT:
        written = printer.count(rows.n_rows, "row was", "rows were")
        printer.note(f"{written} written to {output}.")
    n_scored = rows.n_rows - rows.n_missing
    shares = [(name, _share(n, n_scored)) for name, n in done.n_by_action.items()]
    shares.append(("undetermined", _share(done.n_undetermined, n_scored)))
    printer.facts(shares)
    report_rows(rows, fitted, prior, what="action")


def _share(count: int, rows: int) -> str:
    return f"{count:,} ({100 * count / rows:.1f} %)" if rows else f"{count:,}"
