"""`abers fit`: from scores and labels to a rule."""

from __future__ import annotations

import math
import sys
import warnings
from typing import TYPE_CHECKING, Any

import click

from abers.cli import options, printer
from abers.cli.commands import command
from abers.cli.options import STDOUT
from abers.errors import InvalidParameter
from abers.storage.files import encoded, save
from abers.thresholds import FEW_LABELS, LARGEST_ECE

if TYPE_CHECKING:
    from abers.tables.fit import Fit

MOST_WITH_ERRORS = 2_000  # rows; more have a small error, which need not be estimated


@command()
@options.files
@options.output("Rule file to write, or -.", required=True)
@options.score
@options.label
@options.pos_label
@options.weight
@options.by
@click.option(
    "--minimum",
    metavar="N",
    type=options.INTEGER,
    default=30,
    help="Positives and negatives a group needs for its own rule.",
)
@click.option("--descending", is_flag=True, help="A higher score means less likely.")
@click.option(
    "--count",
    metavar="COLUMN",
    help="Column of rows at each score, for counted data.",
)
@click.option(
    "--positives",
    metavar="COLUMN",
    help="Column of positives at each score, for counted data.",
)
@click.option(
    "--holdout",
    metavar="SHARE",
    type=options.REAL,
    default=0.0,
    help="Share of the rows to hold out for evaluation.",
)
@options.drop_missing
@options.dialect
@options.tags("Tag to store in the rule")
@click.option(
    "--memory",
    metavar="SIZE",
    callback=lambda _context, _option, size: size and options.as_bytes(size),
    help="Memory limit (default: 1GB, or half of the container's if that is less).",
)
@options.temp
@options.force
@options.json
def fit(
    files: tuple[str, ...],
    *,
    output: str,
    weight: str | None,
    descending: bool,
    tags: dict[str, str],
    temp: str | None,
    force: bool,
    json: bool,
    **settings: Any,
) -> None:
    """Fit a rule to scores and labels.

    Rows that exceed the memory limit are sorted on disk; the rule is the same.
    """
    from abers.tables.fit import fit_table
    from abers.tables.writing import check_output

    if json and output == STDOUT:
        msg = "--json must not go with -o -; both write to standard output."
        raise InvalidParameter(msg)
    check_output(output, force=force, inputs=files)
    with (
        warnings.catch_warnings(record=True) as raised,
        printer.progress("reading") as progress,
    ):
        warnings.simplefilter("always")
        fitted = fit_table(
            files,
            weight=weight,
            increasing=not descending,
            metadata=tags,
            temp=temp or options.folder_of(output),
            progress=progress,
            **settings,
        )
    _save(fitted, output, force=force)
    texts = printer.sentences_of(raised) + _warnings(fitted)
    if json:
        printer.print_json(_facts(fitted, output) | {"warnings": texts})
        return
    where = "written to standard output" if output == STDOUT else f"saved as {output}"
    printer.note(f"A rule was fitted and {where}.")
    printer.facts(_lines(fitted, weighted=weight is not None))
    for text in texts:
        printer.warn(text)


def _save(fitted: Fit, output: str, *, force: bool) -> None:
    if output == STDOUT:
        sys.stdout.buffer.writelines(encoded(fitted.rule, fitted.metadata))
        sys.stdout.buffer.flush()
    else:
        save(fitted.rule, output, fitted.metadata, force=force)


def _warnings(fitted: Fit) -> list[str]:
    texts = []
    negatives = fitted.total_weight - fitted.n_positives
    for name, n in (("positive", fitted.n_positives), ("negative", negatives)):
        if n < FEW_LABELS:
            there, rows = ("there is", "row") if n == 1 else ("there are", "rows")
            texts.append(
                f"{there} only {printer.number(n)} {name} {rows}; below {FEW_LABELS} "
                "the bounds are wide."
            )
    error = _expected_error(fitted)
    if error is not None and error > LARGEST_ECE:
        texts.append(
            f"with {printer.number(fitted.total_weight)} rows expect a calibration "
            f"error (ECE) of about {error:.2g}."
        )
    return texts


def _expected_error(fitted: Fit) -> float | None:
    """Return the calibration error of such a rule, if it may be large."""
    from abers.rules import Rule

    rule = fitted.rule
    if (
        not isinstance(rule, Rule)
        or rule.cells is None
        or rule.n_rows > MOST_WITH_ERRORS
    ):
        return None
    from abers.evaluation.change import error_at_fit

    return error_at_fit(rule.cells, increasing=rule.increasing)


def _size(fitted: Fit) -> dict[str, int]:
    """Return how large the rule is."""
    from abers.rules import RuleSet

    rule = fitted.rule
    if isinstance(rule, RuleSet):
        n_small = len(rule) - len(rule.rules)
        return {
            "n_groups": len(rule),
            "n_groups_with_a_rule": len(rule.rules),
            "n_groups_that_share_one": 0 if rule.rest is None else n_small,
        }
    return {"n_steps": rule.lower.size}


def _facts(fitted: Fit, output: str) -> dict[str, Any]:
    """Return what there is to know, ready for JSON."""
    from abers.storage.container import sha256_of

    facts: dict[str, Any] = {
        "output": output,
        "sha256": sha256_of(output),
        "n_rows": fitted.n_rows,
        "total_weight": fitted.total_weight,
        "n_positives": fitted.n_positives,
        "n_missing": fitted.n_missing,
        "n_held_out": fitted.n_held_out,
        "auc": fitted.auc,
        "on_disk": fitted.on_disk,
        **_size(fitted),
    }
    if held := fitted.held_out:
        facts["holdout"] = {
            name: {"log_loss": losses.log_loss, "brier_loss": losses.brier_loss}
            for name, losses in (("rule", held.rule), ("scores", held.scores))
            if losses
        }
    return facts


def _lines(fitted: Fit, *, weighted: bool) -> list[tuple[str, str]]:
    """Return what there is to know, for people."""
    rows = printer.number(fitted.total_weight)
    if weighted:
        rows = f"{fitted.n_fitted:,} (total weight {rows})"
    share = 100 * fitted.n_positives / fitted.total_weight
    one_class = math.isnan(fitted.auc)
    lines = [
        ("rows", rows),
        ("positive", f"{printer.number(fitted.n_positives)} ({share:.3g} %)"),
        ("AUC", "undefined (one class)" if one_class else f"{fitted.auc:.4f}"),
    ]
    lines += [
        (name.removeprefix("n_").replace("_", " "), f"{n:,}")
        for name, n in _size(fitted).items()
    ]
    if fitted.n_missing:
        lines.append(("dropped", printer.dropped(fitted.n_missing)))
    if fitted.on_disk:
        lines.append(("memory", "exceeded; the rows were sorted on disk"))
    if held := fitted.held_out:
        lines += [
            ("held out", printer.count(fitted.n_held_out, "row", "rows")),
            ("log loss", _compared(held, "log_loss")),
            ("Brier loss", _compared(held, "brier_loss")),
        ]
    return lines


def _compared(held: Any, loss: str) -> str:
    """Write a loss on the rows held out, and that of the scores if there is one."""
    text = f"{getattr(held.rule, loss):.4f} on held-out rows"
    if held.scores is None:
        return text
    return f"{text}, {getattr(held.scores, loss):.4f} for the uncalibrated scores"
