"""`abers predict`: from scores to probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

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
    Loss,
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

if TYPE_CHECKING:
    from abers import Rule, RuleSet
    from abers.tables import PredictionCounts


def predict(
    rule: RuleFile,
    files: Files,
    *,
    output: Annotated[
        str,
        Option("--output", "-o", metavar="FILE", help="Table to write."),
    ] = STDOUT,
    score: Score = None,
    by: By = None,
    prefix: Prefix = "",
    loss: Loss = "log",
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
    """Add lower, upper and probability to each row of a table.

    Lower is the probability if the new case were a 0, upper if it were a 1; one of the
    two is calibrated as long as new cases resemble the calibration cases and the rule
    was fitted without weights and groups. They are not a confidence interval. With
    --prior all odds are adjusted to another share of positives, which assumes that
    nothing else has changed; then nothing is guaranteed.
    """
    from abers.tables.predict import predict_table

    fitted = rule_to_apply(rule, files, output, force=force, json=json)
    with printing.progress("predicting") as progress:
        done = predict_table(
            fitted,
            files,
            output,
            score=score,
            by=by,
            prefix=prefix,
            loss=loss,
            prior=prior,
            missing=missing,
            format=format,
            dialect=as_dialect(delimiter, decimal, encoding),
            force=force,
            temp=temp or folder_of(output),
            progress=progress,
        )
    if json:
        counts = {"rows": done.n_rows, "missing": done.n_missing}
        counts |= {"rest": done.n_rest, "pooled": done.n_pooled}
        printing.print_json({"output": output, **counts})
        return
    if output != STDOUT:
        written = printing.count(done.n_rows, "row was", "rows were")
        printing.note(f"{written} written to {output}.")
    report_rows(done, fitted, prior, what="probability")


def report_rows(
    done: PredictionCounts, rule: Rule | RuleSet, prior: float | None, *, what: str
) -> None:
    """Tell which rows have no answer, or not that of a rule of their own."""
    if prior is not None:
        from abers.tables.predict import rates_of

        old, new = rates_of(rule, prior)
        printing.note(
            f"Bounds were adjusted from a base rate of {old:.4g} to {new:.4g}; they "
            "have no guarantee."
        )
    if done.n_missing:
        lacking = printing.count(done.n_missing, "row has", "rows have")
        printing.warn(f"{lacking} no score, and so no {what}.")
    for n_rows, used in (
        (done.n_rest, "the rule that small groups share"),
        (done.n_pooled, "the rule of all rows"),
    ):
        if n_rows:
            without = printing.count(n_rows, "row has a group", "rows have a group")
            printing.warn(
                f"{without} without a rule of its own; {used} was used for them."
            )
