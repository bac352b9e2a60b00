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
@options.counts
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
@options.memory
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

    A column of probabilities gives a stacked calibrator, the most accurate. Margins,
    --method venn-abers, --by, --holdout, --descending and --keep-diagram give a
    Venn-Abers rule: if rows exceed the memory limit, they are sorted on disk, and the
    rule is the same. Several columns, out-of-fold scores and other methods give a
    calibrator, for which all rows are held in memory. FILE may be diagrams, as abers
    diagram writes them.
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
    texts = printer.sentences_of(raised)
    texts += _warnings(fitted) if is_rule else _warnings_of_calibrator(fitted)
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
    rule_only = _settings_of_rules(settings, descending=descending)
    several = scores or probabilities or fold
    if not several and (method == "venn-abers" or (rule_only and not (method or kind))):
        from abers.tables.fit import fit_table

        if settings["by"] is not None and "fold" in settings["by"].casefold():
            printer.warn(FOLDS_ARE_NO_GROUPS)
        return fit_table, settings | {"increasing": not descending}
    if rule_only:
        msg = (
            f"{rule_only[0]} must go with a rule of one column; got a calibrator. "
            "Leave it out, or fit by --score and --method venn-abers."
        )
        raise InvalidParameter(msg)
    if not several and method in {None, "stacked"}:
        from abers.tables.fit import fit_column

        for name in ("by", "holdout", "keep_diagram", "minimum"):
            del settings[name]
        return fit_column, settings | {"kind": kind, "stack": method == "stacked"}
    from abers.tables.calibrators import fit_calibrator

    if settings["count"] is not None or settings["positives"] is not None:
        msg = (
            "--count must go with a rule, or with --score and --method stacked; got "
            "another calibrator. Leave it out."
        )
        raise InvalidParameter(msg)
    score, columns = settings["score"], None
    if scores or probabilities or score:
        columns, kind = options.columns_and_kind(
            scores=scores, probabilities=probabilities, score=score, kind=kind
        )
    kept = ("label", "pos_label", "weight", "drop_missing", "dialect")
    chosen = {name: settings[name] for name in kept}
    chosen |= {"columns": columns, "kind": kind, "method": method, "fold": fold}
    return fit_calibrator, chosen


def _settings_of_rules(settings: dict[str, Any], *, descending: bool) -> list[str]:
    """Return the options that apply only to the rule of a single column."""
    given = {
        "--by": settings["by"] is not None,
        "--descending": descending,
        "--holdout": settings["holdout"] > 0,
        "--keep-diagram": settings["keep_diagram"],
    }
    return [name for name, is_given in given.items() if is_given]


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
    by_class = fitted.n_by_class
    if list(by_class) == [0, 1]:
        by_class = dict(zip(("negative", "positive"), by_class.values(), strict=True))
    counts = ", ".join(f"{printer.number(n)} {name}" for name, n in by_class.items())
    lines = [("method", fitted.method), ("rows", f"{fitted.n_fitted:,} ({counts})")]
    if fitted.n_missing:
        lines.append(("dropped", printer.dropped(fitted.n_missing)))
    if weights := getattr(made, "weights", None):
        lines.append(("weights", shown_weights(weights)))
    lines.append(("reads", read_by(made.columns, made.n_columns, made.n_models)))
    return lines


def _warnings_of_calibrator(fitted: CalibratorFit) -> list[str]:
    """Return warnings about few rows of one of two classes."""
    if fitted.calibrator.pos_label is None:
        return []
    negatives, positives = fitted.n_by_class.values()
    return _few(negatives, positives, "its probabilities are uncertain")


def _few(negatives: float, positives: float, what: str) -> list[str]:
    texts = []
    for name, n in (("positive", positives), ("negative", negatives)):
        if n < FEW_LABELS:
            there, rows = ("there is", "row") if n == 1 else ("there are", "rows")
            texts.append(
                f"{there} only {printer.number(n)} {name} {rows}; below {FEW_LABELS} "
                f"{what}."
            )
    return texts


def _warnings(fitted: Fit) -> list[str]:
    """Return warnings about few rows."""
    negatives = fitted.total_weight - fitted.n_positives
    texts = _few(negatives, fitted.n_positives, "the bounds are wide")
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
