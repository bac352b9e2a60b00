"""Inputs: the rule and the rows of a command."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from abers.cli import printer
from abers.cli.options import STDIN, STDOUT, columns_named, folder_of
from abers.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from abers.core.fitted import Stored
    from abers.rules import Calibrator, Rule, RuleSet
    from abers.tables.rows import LoadedRows


MOST_FILES = 5  # named on a page


@contextlib.contextmanager
def on_disk(path: str) -> Iterator[Path]:
    """Return the path of a file, or of a copy of a pipe, since it is read twice."""
    from abers.tables.files import Scratch, Source, is_uri, sources_of

    with Scratch() as scratch:
        is_elsewhere = path == STDIN or is_uri(path)
        source = sources_of([path])[0] if is_elsewhere else Source(path)
        is_file = source.is_local and not source.is_pipe
        yield Path(source.path if is_file else source.on_disk(scratch).path)


def rule_and_sha256(path: str) -> tuple[Rule | RuleSet | Calibrator, str]:
    """Load a rule, a rule set or a calibrator, and the checksum of its file."""
    from abers.storage.container import sha256_of
    from abers.storage.files import load

    with on_disk(path) as file:
        return _checked(load(file), path), sha256_of(file)


def _checked(loaded: Stored, path: str) -> Any:
    """Return an object that predicts probabilities; raise if it does not."""
    from abers.core.calibrator import Calibrator
    from abers.core.fitted import file_kind, noun_of
    from abers.core.rule import Rule
    from abers.core.rule_set import RuleSet

    if file_kind(loaded) == "pooled-rule":
        from abers.tables.calibrators import as_calibrator

        fitted: Any = loaded
        return as_calibrator(fitted)
    if not isinstance(loaded, Rule | RuleSet | Calibrator):
        name = "path" if path == STDIN else repr(path)
        kind = noun_of(loaded)
        advice = f"Use it from Python: abers.load({name})."
        if kind == "diagram":
            advice = "Fit a calibrator to it, with abers fit."
        msg = (
            f"{path!r} must be a rule, a rule set or a calibrator; it is a {kind}. "
            f"{advice}"
        )
        raise InvalidParameter(msg)
    return loaded


def refuse_loss(fitted: Any, loss: str) -> None:
    """Raise if --loss is given for a calibrator that was fitted for one loss."""
    from abers.tables.predictors import is_rule

    if loss != "log" and not is_rule(fitted):
        msg = "--loss must go with a rule; got a calibrator. Leave it out."
        raise InvalidParameter(msg)


def columns_of_scores(
    fitted: Any, score: str | None, scores: str | None
) -> str | list[str] | None:
    """Return the columns named by --score or --scores, or None."""
    from abers.tables.predictors import is_rule

    if scores is None:
        return score
    if score is not None:
        msg = "--scores must stand instead of --score; got both."
        raise InvalidParameter(msg)
    if fitted is None or is_rule(fitted):
        msg = "--scores must go with a calibrator of several columns; use --score."
        raise InvalidParameter(msg)
    return columns_named(scores)


def applied(
    write: Callable[..., Any],
    rule: str,
    files: Sequence[str],
    doing: str,
    *,
    output: str,
    temp: str | None,
    force: bool,
    json: bool,
    score: str | None,
    scores: str | None,
    **settings: Any,
) -> tuple[Any, Rule | RuleSet | Calibrator, str]:
    """Load a rule and apply it to a table, after checking that nothing is in the way.

    Return what `write` counted, the rule, and the checksum of its file.
    """
    from abers.tables.predict import CALIBRATOR_KEY
    from abers.tables.writing import check_output

    if json and output == STDOUT:
        msg = "--json must go with -o FILE; the table goes to standard output."
        raise InvalidParameter(msg)
    refuse_two_pipes(rule, files)
    check_output(output, force=force, inputs=[rule, *files])
    fitted, checksum = rule_and_sha256(rule)
    with printer.progress(doing) as progress:
        done = write(
            fitted,
            files,
            output,
            score=columns_of_scores(fitted, score, scores),
            force=force,
            metadata={CALIBRATOR_KEY: checksum},
            temp=temp or folder_of(output),
            progress=progress,
            **settings,
        )
    return done, fitted, checksum


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
    """Return the sources that a page lists; tags cannot override them."""
    more = {key: tag for key, tag in tags.items() if key not in sources}
    return {**sources, **more}


def refuse_two_pipes(rule: str, files: Iterable[str]) -> None:
    """Raise if both a rule and a table come from standard input."""
    if rule == STDIN and STDIN in files:
        msg = "standard input must be named once; got '-' as rule and as table."
        raise InvalidParameter(msg)


def loaded_rows(
    rule: Rule | RuleSet | Calibrator | None,
    files: Sequence[str],
    *,
    score: str | None,
    scores: str | None = None,
    **options: Any,
) -> LoadedRows:
    """Read the rows to evaluate on, from the columns that the rule remembers."""
    from abers.tables.rows import load_rows

    named = columns_of_scores(rule, score, scores)
    with printer.progress("reading") as progress:
        return load_rows(files, rule, score=named, progress=progress, **options)
