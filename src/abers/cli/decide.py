"""`abers decide`: from scores and costs to actions."""

from __future__ import annotations

from typing import Annotated

from abers.cli import printing
from abers.cli.inputs import rule_to_apply
from abers.cli.options import (
    STDOUT,
    By,
    Decimal,
    Delimiter,
    Encoding,
    Files,
    Force,
    Format,
    Json,
    Missing,
    Prefix,
    Prior,
    RuleFile,
    Score,
    Temp,
    as_dialect,
    folder_of,
)
from abers.cli.parsing import Option
from abers.cli.predict import report_rows


def decide(
    rule: RuleFile,
    files: Files,
    *,
    cost_fp: Annotated[
        float, Option(metavar="COST", help="Cost of a false positive: acting on a 0.")
    ],
    cost_fn: Annotated[
        float,
        Option(metavar="COST", help="Cost of a false negative: not acting on a 1."),
    ],
    refer: Annotated[
        float | None,
        Option(metavar="PRICE", help="Price of referring a case (default: never)."),
    ] = None,
    criterion: Annotated[
        str, Option(metavar="cost|regret", help="What to make least in the worst case.")
    ] = "cost",
    output: Annotated[
        str, Option("--output", "-o", metavar="FILE", help="Table to write.")
    ] = STDOUT,
    score: Score = None,
    by: By = None,
    prefix: Prefix = "",
    prior: Prior = None,
    missing: Missing = "null",
    format: Format = None,  # noqa: A002 (it is what users call it)
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    encoding: Encoding = "utf-8",
    temp: Temp = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Add an action to each row of a table: act, refuse or refer.

    To act is to treat the case as a 1. The action is the one whose expected cost is
    least in the worst case within the bounds: act if the probability is at least FP /
    (FP + FN). A case is referred if that is cheaper than either. The columns that
    `abers predict` adds come before it, its worst cost comes after it.
    """
    from abers.tables.decide import decide_table

    fitted = rule_to_apply(rule, files, output, force=force, json=json)
    with printing.progress("deciding") as progress:
        done = decide_table(
            fitted,
            files,
            output,
            cost_fp=cost_fp,
            cost_fn=cost_fn,
            refer=refer,
            criterion=criterion,
            score=score,
            by=by,
            prefix=prefix,
            prior=prior,
            missing=missing,
            format=format,
            dialect=as_dialect(delimiter, decimal, encoding),
            force=force,
            temp=temp or folder_of(output),
            progress=progress,
        )
    counts = {"act": done.n_act, "refuse": done.n_refuse, "refer": done.n_refer}
    rows = done.predicted
    if json:
        found = {"rows": rows.n_rows, "missing": rows.n_missing, **counts}
        found |= {"undetermined": done.n_undetermined}
        found |= {"rest": rows.n_rest, "pooled": rows.n_pooled}
        printing.print_json({"output": output, **found})
        return
    if output != STDOUT:
        written = printing.count(rows.n_rows, "row was", "rows were")
        printing.note(f"{written} written to {output}.")
    known = rows.n_rows - rows.n_missing
    shares = {name: _share(count, known) for name, count in counts.items()}
    shares["undetermined"] = _share(done.n_undetermined, known)
    printing.facts(shares.items())
    report_rows(rows, fitted, prior, what="action")


def _share(count: int, rows: int) -> str:
    return f"{count:,} ({100 * count / rows:.1f} %)" if rows else f"{count:,}"
