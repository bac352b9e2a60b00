"""`abers predict`: from scores to probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from abers.cli import options, printer
from abers.cli.commands import command
from abers.cli.inputs import applied
from abers.cli.options import STDOUT

if TYPE_CHECKING:
    from abers.tables import PredictionCounts


@command()
@options.application
@options.loss
def predict(
    rule: str,
    files: tuple[str, ...],
    *,
    output: str,
    prior: float | None,
    json: bool,
    **settings: Any,
) -> None:
    """Add lower, upper and probability to each row of a table.

    Lower and upper are the estimated probability after adding the row to the
    calibration data with label 0 and with label 1. One of the two is calibrated as long
    as new rows resemble the calibration rows and the rule was fitted without weights
    and groups. They are not a confidence interval. With
    --prior all odds are adjusted to another share of positives, which assumes that
    nothing else has changed; then nothing is guaranteed.
    """
    from abers.tables.predict import predict_table

    given = {"output": output, "prior": prior, "json": json, **settings}
    done, fitted, checksum = applied(predict_table, rule, files, "predicting", **given)
    if json:
        counts = {"n_rows": done.n_rows, "n_missing": done.n_missing}
        counts |= {"n_rest": done.n_rest, "n_pooled": done.n_pooled}
        printer.print_json({"output": output, "sha256": checksum, **counts})
        return
    if output != STDOUT:
        written = printer.count(done.n_rows, "row was", "rows were")
        printer.note(f"{written} written to {output}.")
    report_rows(done, fitted, prior, what="probability")


def report_rows(
    done: PredictionCounts, rule: Any, prior: float | None, *, what: str
) -> None:
    """Report rows without a result, or without their own group's rule."""
    if prior is not None:
        from abers.tables.predictors import rates_of

        old, new = rates_of(rule, prior)
        printer.note(
            f"Bounds were adjusted from a base rate of {old:.4g} to {new:.4g}; they "
            "have no guarantee."
        )
    if done.n_missing:
        lacking = printer.count(done.n_missing, "row has", "rows have")
        printer.warn(f"{lacking} no score, and so no {what}.")
    for n_rows, used in (
        (done.n_rest, "the rule that small groups share"),
        (done.n_pooled, "the rule of all rows"),
    ):
        if n_rows:
            without = printer.count(n_rows, "row has a group", "rows have a group")
            printer.warn(
                f"{without} without a rule of its own; {used} was used for them."
            )
