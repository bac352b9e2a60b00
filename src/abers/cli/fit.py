"""`abers fit`: from scores and labels to a rule."""

from __future__ import annotations

import math
import sys
import warnings
from typing import TYPE_CHECKING, Any

import click

from abers.cli import options, printer
from abers.cli.commands import command
from abers.cli.inputs import read_by
from abers.cli.options import STDOUT
from abers.errors import InvalidParameter
from abers.storage.files import encoded, save
from abers.thresholds import FEW_LABELS, LARGEST_ECE

if TYPE_CHECKING:
    from collections.abc import Callable

    from abers.tables.calibrators import CalibratorFit
    from abers.tables.fit import Fit

FOLDS_ARE_NO_GROUPS = (
    "--by fits a rule for each fold, and new rows have no fold. To calibrate with "
    "out-of-fold scores, name the column with --fold."
)
MOST_WITH_ERRORS = 2_000  # rows; with more, the error is small


@command()
@options.files
@options.output("Rule file to write, or -.", required=True)
@options.score
@options.label
@options.pos_label
@options.weight
@options.by
@options.scores
@options.probabilities
@click.option(
    "--fold",
    metavar="COLUMN",
    help="Column of folds, if each row was scored by the model of its fold.",
)
@options.one_of(
    "--method",
    choices=(
        *("stacked", "venn-abers", "pooled"),
        *("beta", "temperature", "platt", "isotonic"),
    ),
    help="Method (default: stacked for probabilities and folds, else venn-abers).",
)
@options.one_of(
    "--kind",
    choices=("probability", "log-odds", "margin"),
    help="What the scores are (default: probabilities, if all look like some).",
)
@click.option(
    "--minimum",
    metavar="N",
    type=options.INTEGER,
    default=30,
    help="Positives and negatives a group needs for its own rule.",
)
@click.option(
    "--keep-diagram",
    is_flag=True,
    help="Keep the weights at each distinct score, for own weights and sums.",
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
    tags: dict[str, str],
    temp: str | None,
    force: bool,
    json: bool,
    **settings: Any,
) -> None:
    """Fit a rule or a calibrator to scores and labels.

    One column of scores gives a Venn-Abers rule. Rows that exceed the memory limit are
    then sorted on disk; the rule is the same. Any number of classes, columns of
    probabilities, out-of-fold scores and the other methods give a calibrator, for
    which all rows are held in memory.
    """
    from abers.storage.container import sha256_of
    from abers.tables.writing import check_output

    if json and output == STDOUT:
        msg = "--json must not go with -o -; both write to standard output."
        raise InvalidParameter(msg)
    check_output(output, force=force, inputs=files)
    fitting, chosen = _chosen(**settings)
    with (
        warnings.catch_warnings(record=True) as raised,
        printer.progress("reading") as progress,
    ):
        warnings.simplefilter("always")
        fitted = fitting(
            files,
            metadata=tags,
            temp=temp or options.folder_of(output),
            progress=progress,
            **chosen,
        )
    is_rule = hasattr(fitted, "rule")
    made = fitted.rule if is_rule else fitted.calibrator
    if output == STDOUT:
        sys.stdout.buffer.writelines(encoded(made, fitted.metadata))
        sys.stdout.buffer.flush()
    else:
        save(made, output, fitted.metadata, force=force)
    texts = printer.sentences_of(raised) + (_warnings(fitted) if is_rule else [])
    if json:
        facts = _facts_of_rule(fitted) if is_rule else _facts_of_calibrator(fitted)
        facts |= {"notes": list(fitted.notes), "warnings": texts}
        written = {"output": output, "sha256": sha256_of(output)}
        printer.print_json(written | facts)
        return
    where = "written to standard output" if output == STDOUT else f"saved as {output}"
    printer.note(f"A {'rule' if is_rule else 'calibrator'} was fitted and {where}.")
    if is_rule:
        printer.facts(_lines_of_rule(fitted, weighted=settings["weight"] is not None))
    else:
        printer.facts(_lines_of_calibrator(fitted))
    for text in fitted.notes:
        printer.note(text)
    for text in texts:
        printer.warn(text)


def _chosen(
    *,
    scores: str | None,
    probabilities: str | None,
    fold: str | None,
    method: str | None,
    kind: str | None,
    descending: bool,
    **settings: Any,
) -> tuple[Callable[..., Any], dict[str, Any]]:
    """Return the function that fits what is asked for, and its options."""
    if scores or probabilities or fold or kind or method not in {None, "venn-abers"}:
        columns, kind = options.columns_and_kind(
            scores=scores,
            probabilities=probabilities,
            score=settings["score"],
            kind=kind,
        )
        # A single column of margins gives a rule, which need not hold all rows in
        # memory.
        may_be_rule = (method or kind) in {"venn-abers", "margin", "log-odds"}
        if fold or not may_be_rule or columns != [settings["score"]]:
            from abers.tables.calibrators import fit_calibrator

            _refuse_settings_of_rules(settings, descending=descending)
            kept = ("label", "pos_label", "weight", "drop_missing", "dialect")
            chosen = {name: settings[name] for name in kept}
            chosen |= {"columns": columns, "kind": kind, "method": method, "fold": fold}
            return fit_calibrator, chosen
    from abers.tables.fit import fit_table

    if settings["by"] is not None and "fold" in settings["by"].casefold():
        printer.warn(FOLDS_ARE_NO_GROUPS)
    return fit_table, settings | {"increasing": not descending}


def _refuse_settings_of_rules(settings: dict[str, Any], *, descending: bool) -> None:
    """Raise for options that apply only to the rule of a single column."""
    given = {
        "--by": settings["by"] is not None,
        "--count": settings["count"] is not None,
        "--descending": descending,
        "--holdout": settings["holdout"] > 0,
        "--keep-diagram": settings["keep_diagram"],
    }
    if wrong := [name for name, is_given in given.items() if is_given]:
        msg = (
            f"{wrong[0]} must go with a rule of one column; got a calibrator. Leave "
            "it out, or fit by --score and --method venn-abers."
        )
        raise InvalidParameter(msg)


def _facts_of_calibrator(fitted: CalibratorFit) -> dict[str, Any]:
    """Return the facts about a calibrator for JSON."""
    from abers.core.fitted import noun_of

    made = fitted.calibrator
    return {
        "kind": noun_of(made),
        "method": fitted.method,
        "n_rows": fitted.n_rows,
        "n_missing": fitted.n_missing,
        "n_fitted": fitted.n_fitted,
        "n_by_class": {str(name): n for name, n in fitted.n_by_class.items()},
        "columns": list(made.columns),
    }


def _lines_of_calibrator(fitted: CalibratorFit) -> list[tuple[str, str]]:
    """Return the facts about a calibrator for people."""
    from abers.core.stacked import shown_weights

    made = fitted.calibrator
    counts = ", ".join(f"{n:,} {name}" for name, n in fitted.n_by_class.items())
    lines = [("method", fitted.method), ("rows", f"{fitted.n_fitted:,} ({counts})")]
    if fitted.n_missing:
        lines.append(("dropped", printer.dropped(fitted.n_missing)))
    if weights := getattr(made, "weights", None):
        lines.append(("weights", shown_weights(weights)))
    lines.append(("reads", read_by(made.columns, made.n_columns, made.n_models)))
    return lines


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
    """Return the expected calibration error of the rule, if it may be large."""
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
    """Return the size of the rule."""
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


def _facts_of_rule(fitted: Fit) -> dict[str, Any]:
    """Return the facts about a rule for JSON."""
    facts: dict[str, Any] = {
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


def _lines_of_rule(fitted: Fit, *, weighted: bool) -> list[tuple[str, str]]:
    """Return the facts about a rule for people."""
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
    """Write a loss on the held-out rows, and that of the scores if there is one."""
    text = f"{getattr(held.rule, loss):.4f} on held-out rows"
    if held.scores is None:
        return text
    return f"{text}, {getattr(held.scores, loss):.4f} for the uncalibrated scores"
