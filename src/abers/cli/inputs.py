"""Inputs: the rule and the rows that a command is given."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from abers.cli import printer
from abers.cli.options import STDIN, STDOUT
from abers.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from abers.core.fitted import Stored
    from abers.rules import Rule, RuleSet, StackedRule
    from abers.tables.rows import LoadedRows


MOST_FILES = 5  # that a page names
# Kinds of files that read a column per class or per model.
CALIBRATORS = {
    *("curve-calibrator", "pooled-rule", "stacked-rule", "venn-abers-calibrator")
}


@contextlib.contextmanager
def on_disk(path: str) -> Iterator[Path]:
    """Give the path of a file, or of a copy of what is not one; it is read twice."""
    from abers.tables.files import Scratch, Source, is_uri, sources_of

    with Scratch() as scratch:
        is_elsewhere = path == STDIN or is_uri(path)
        source = sources_of([path])[0] if is_elsewhere else Source(path)
        is_file = source.is_local and not source.is_pipe
        yield Path(source.path if is_file else source.on_disk(scratch).path)


def loaded_rule(path: str) -> Rule | RuleSet | StackedRule:
    """Load a rule, a rule for each group, or a stacked rule."""
    from abers.core.stacked import StackedRule
    from abers.storage.files import load

    with on_disk(path) as file:
        loaded = load(file)
        if isinstance(loaded, StackedRule):
            return loaded
        rule: Rule | RuleSet = _checked(loaded, path, any_columns=False)
        return rule


def rule_and_sha256(
    path: str, *, any_columns: bool = False
) -> tuple[Rule | RuleSet, str]:
    """Load a rule, or a rule for each group, with the checksum of its file."""
    from abers.storage.container import sha256_of
    from abers.storage.files import load

    with on_disk(path) as file:
        checked = _checked(load(file), path, any_columns=any_columns)
        return checked, sha256_of(file)


def _checked(loaded: Stored, path: str, *, any_columns: bool) -> Any:
    """Return what turns scores into probabilities; raise if it does not."""
    from abers.core.fitted import file_kind, noun_of
    from abers.core.rule import Rule
    from abers.core.rule_set import RuleSet

    if any_columns and file_kind(loaded) in CALIBRATORS:
        calibrator: Any = loaded
        return calibrator
    if not isinstance(loaded, Rule | RuleSet):
        name = "path" if path == STDIN else repr(path)
        kind = noun_of(loaded)
        if file_kind(loaded) in CALIBRATORS:
            msg = (
                f"{path!r} must be a rule or a rule set; it is a {kind}, which "
                "predict, evaluate and inspect take."
            )
            raise InvalidParameter(msg)
        msg = (
            f"{path!r} must be a rule or a rule set; it is a {kind}. Use it "
            f"from Python: abers.load({name})."
        )
        raise InvalidParameter(msg)
    return loaded


def rule_to_apply(
    path: str,
    files: Sequence[str],
    output: str,
    *,
    force: bool,
    json: bool,
    any_columns: bool = False,
) -> tuple[Rule | RuleSet, str]:
    """Load the rule for a table that is to be written, once all of that can be done.

    Also returns the checksum of its file.
    """
    from abers.tables.writing import check_output

    if json and output == STDOUT:
        msg = "--json must go with -o FILE; the table goes to standard output."
        raise InvalidParameter(msg)
    refuse_two_pipes(path, files)
    check_output(output, force=force, inputs=[path, *files])
    return rule_and_sha256(path, any_columns=any_columns)


def read_by(columns: Sequence[str], n_columns: int, n_models: int) -> str:
    """Name the columns that a calibrator reads, or count them."""
    if columns:
        return ", ".join(columns)
    of_models = "one model" if n_models == 1 else f"{n_models} models"
    counted = printer.count(n_columns, "column", "columns")
    return f"{counted}: the scores of {of_models}"


def named_files(files: Sequence[str]) -> str:
    """Name the tables as they were given; of many, the first ones."""
    names = ["standard input" if name == STDIN else name for name in files]
    more = len(names) - MOST_FILES
    return ", ".join(names[:MOST_FILES]) + (f" and {more:,} more" if more > 0 else "")


def page_facts(sources: Mapping[str, str], tags: Mapping[str, str]) -> dict[str, str]:
    """Return what a page lists of its sources; no tag stands in for one of them."""
    more = {key: tag for key, tag in tags.items() if key not in sources}
    return {**sources, **more}


def refuse_two_pipes(rule: str, files: Iterable[str]) -> None:
    """Refuse to read both a rule and a table from standard input."""
    if rule == STDIN and STDIN in files:
        msg = "standard input must be named once; got '-' as rule and as table."
        raise InvalidParameter(msg)


def loaded_rows(
    rule: Rule | RuleSet | None, files: Sequence[str], *, by: str | None, **options: Any
) -> LoadedRows:
    """Read the rows to evaluate, by the column names that the rule remembers."""
    from abers.rules import RuleSet
    from abers.tables.columns import group_column
    from abers.tables.rows import FittedColumns, load_rows

    tags = {} if rule is None else rule.metadata
    if isinstance(rule, RuleSet):
        by = group_column(rule, by)
        options["group_type"] = type(next(iter(rule)))
    fitted = FittedColumns.of(tags)
    with printer.progress("reading") as progress:
        return load_rows(files, by=by, fitted=fitted, progress=progress, **options)
