"""`abers predict`: from scores to probabilities."""

from __future__ import annotations

from typing import Annotated

import typer

from abers.cli import printing
from abers.cli.inputs import loaded_rule, refuse_two_pipes
from abers.cli.options import (
    STDOUT,
    By,
    Decimal,
    Delimiter,
    Encoding,
    Files,
    Force,
    Json,
    Loss,
    RuleFile,
    Score,
    Temp,
    as_dialect,
    folder_of,
)
from abers.errors import InvalidParameter


def predict(
    rule: RuleFile,
    files: Files,
    *,
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="FILE", help="Table to write."),
    ] = STDOUT,
    score: Score = None,
    by: By = None,
    prefix: Annotated[
        str, typer.Option(metavar="TEXT", help="Prefix of the new columns.")
    ] = "",
    loss: Loss = "log",
    missing: Annotated[
        str, typer.Option(metavar="null|error", help="Result for rows without a score.")
    ] = "null",
    format: Annotated[  # noqa: A002 (it is what users call it)
        str | None,
        typer.Option(
            metavar="csv|tsv|parquet|arrow|json",
            help="Output format (default: by the file name).",
        ),
    ] = None,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    encoding: Encoding = "utf-8",
    temp: Temp = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Add lower, upper and probability to each row of a table.

    Lower is the probability if the new case were a 0, upper if it were a 1; one of the
    two is calibrated as long as new cases resemble the calibration cases. They are not
    a confidence interval.
    """
    from abers.tables import predict_table
    from abers.tables.sources import check_output

    if json and output == STDOUT:
        msg = "--json must go with -o FILE; the table goes to standard output."
        raise InvalidParameter(msg)
    refuse_two_pipes(rule, files)
    check_output(output, force=force, inputs=[rule, *files])
    fitted = loaded_rule(rule)
    with printing.progress("predicting") as progress:
        done = predict_table(
            fitted,
            files,
            output,
            score=score,
            by=by,
            prefix=prefix,
            loss=loss,
            missing=missing,
            format=format,
            dialect=as_dialect(delimiter, decimal, encoding),
            force=force,
            temp=temp or folder_of(output),
            progress=progress,
        )
    if json:
        counts = {"rows": done.n_rows, "missing": done.n_missing}
        printing.print_json({"output": output, **counts, "pooled": done.n_pooled})
        return
    if output != STDOUT:
        written = printing.count(done.n_rows, "row was", "rows were")
        printing.note(f"{written} written to {output}.")
    if done.n_missing:
        lacking = printing.count(done.n_missing, "row has", "rows have")
        printing.warn(f"{lacking} no score, and so no probability.")
    if done.n_pooled:
        pooled = printing.count(done.n_pooled, "row has a group", "rows have a group")
        printing.warn(
            f"{pooled} without a rule of its own; the pooled rule was used for them."
        )
