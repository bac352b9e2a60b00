"""`abers export`: a rule or a calibrator for programs without Python."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from abers.cli import options, printer
from abers.cli.commands import command
from abers.cli.inputs import rule_and_sha256
from abers.cli.options import STDOUT
from abers.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from abers.choices import Language, LossName, Precision, SqlDialect

LANGUAGES: dict[str, Language] = {
    ".h": "c",
    ".java": "java",
    ".mjs": "javascript",
}
SQL = ".sql"
ONNX = ".onnx"
JSON = ".json"


@command()
@options.rule
@click.argument(
    "output",
    metavar="OUT",
    type=options.FILE,
    help="File to write: .csv, .tsv, .json, .parquet, .arrow, .onnx, .sql, .h, .java "
    "or .mjs.",
)
@click.option(
    "--to", metavar="DIALECT", help="Dialect of SQL: duckdb, postgres or spark."
)
@options.loss
@options.one_of(
    "--dtype",
    choices=("float64", "float32"),
    default="float64",
    help="Type of the scores that steps are for.",
)
@click.option(
    "--table", metavar="TABLE", default="steps", help="Table of steps that SQL creates."
)
@click.option(
    "--scores",
    metavar="TABLE",
    default="scores",
    help="Table of scores that SQL reads.",
)
@click.option("--score", metavar="COLUMN", help="Its scores (default: as in the fit).")
@options.by
@options.force
def export(
    rule: str,
    output: str,
    *,
    to: SqlDialect | None,
    loss: LossName,
    dtype: Precision,
    force: bool,
    **names: str | None,
) -> None:
    """Write a rule as a table of steps, as an ONNX graph, as SQL, or as source code.

    The bounds and the probability are the same as in abers, bit for bit; for a stacked
    rule, they agree within 1e-12. The code is named after the file.
    """
    from abers.export import steps, to_json, to_onnx
    from abers.tables.writing import check_output

    check_output(output, force=force, inputs=[rule])
    # abers.export knows what can be exported in which form, and reports it.
    fitted: Any = rule_and_sha256(rule)[0]
    ending = Path(output).suffix.lower()
    if (to is not None) != (ending == SQL):
        msg = (
            f"--to must name the dialect of a file that ends with {SQL}, and of no "
            f"other; got {to!r} and {output!r}."
        )
        raise InvalidParameter(msg)
    if dtype != "float64" and (to is not None or ending in LANGUAGES):
        msg = f"--dtype must go with a table of steps, or ONNX; got {output!r}."
        raise InvalidParameter(msg)
    written = [output]
    if to is not None:
        _write({output: _sql(fitted, to, names, loss)}, force=force)
    elif ending in LANGUAGES:
        made = _source(fitted, Path(output), loss)
        written = list(made)
        _write(made, force=force)
    elif ending == ONNX:
        graph = to_onnx(fitted, loss=loss, dtype=dtype).SerializeToString()
        _write({output: graph}, force=force)
    elif ending == JSON and dtype == "float64":
        _write({output: to_json(fitted, loss=loss).encode()}, force=force)
    else:
        steps(fitted, loss=loss, dtype=dtype).write(output, force=force)
    if output != STDOUT:
        printer.note(f"The rule was written to {' and '.join(written)}.")


def _sql(
    rule: Any,
    dialect: SqlDialect,
    names: Mapping[str, str | None],
    loss: LossName,
) -> bytes:
    """Return the script of a dialect; columns are those of the fit, unless named."""
    from abers.export import to_sql
    from abers.rules import RuleSet
    from abers.tables.columns import SCORE_TAG
    from abers.tables.predictors import group_column

    by = names["by"]
    if isinstance(rule, RuleSet):
        by = group_column(rule, by)
    sql = to_sql(
        rule,
        dialect,
        table=tuple(str(names["table"]).split(".")),
        scores=tuple(str(names["scores"]).split(".")),
        score=names["score"] or str(rule.metadata.get(SCORE_TAG, "score")),
        group=by,
        loss=loss,
    )
    return sql.script.encode()


def _source(rule: Any, output: Path, loss: LossName) -> dict[str, bytes]:
    """Return the source files, in the folder of the file that was named."""
    from abers.export import to_source
    from abers.rules import RuleSet

    if isinstance(rule, RuleSet):
        msg = (
            "source code must be that of one rule; got a rule for each group. Export "
            "a table of steps or SQL, or single rules from Python."
        )
        raise InvalidParameter(msg)
    language = LANGUAGES[output.suffix.lower()]
    made = to_source(rule, language, name=output.stem, loss=loss)
    return {str(output.with_name(name)): text for name, text in made.items()}


def _write(made: Mapping[str, bytes], *, force: bool) -> None:
    """Write files; none if one of them exists."""
    from abers.storage.atomic import replacing
    from abers.tables.writing import check_output

    for name in made:
        check_output(name, force=force)
    for name, text in made.items():
        with replacing(name, force=force) as file:
            file.write(text)
