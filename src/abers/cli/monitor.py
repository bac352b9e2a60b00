"""`abers monitor`: whether a stream has changed since calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from abers.cli import options, printer
from abers.cli.commands import FORMATS, command
from abers.cli.exits import CHECK_FAILED, FAILED, FINE, STALLED
from abers.cli.inputs import page_facts
from abers.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from abers.tables.monitor import MonitorFile, RunFacts

TITLES = {
    "scores": "scores",
    "labels": "labels: rate of positives",
    "slope": "labels: slope",
}
ALPHA = 0.01
MAX_WAIT = 10_000
STATE_SEED = 0
SCORE_BITS = 10
MOST_GROUPS = 10  # to print


@dataclass(frozen=True, slots=True)
class PageOptions:
    """The page to write, if any."""

    file: str | None
    title: str | None
    tags: dict[str, str]
    force: bool


@command()
@click.argument(
    "state", type=options.FILE, help="File that keeps what was seen so far."
)
@click.argument(
    "files",
    metavar="[FILE]...",
    type=options.FILE,
    nargs=-1,
    help=f"Rows or labels: {FORMATS}, .gz or .zst; patterns.",
)
@click.option(
    "--start",
    metavar="CALIBRATION",
    type=options.FILE,
    multiple=True,
    help="Begin a state with these calibration rows; may be repeated.",
)
@click.option(
    "--alpha",
    metavar="P",
    type=options.REAL,
    help=f"With --start: probability of ever a false alarm (default: {ALPHA}).",
)
@click.option(
    "--max-wait",
    metavar="N",
    type=options.Number(int, least=1),
    help="Rows that a label may be late, before its row is dropped; kept by the state "
    f"(default: {MAX_WAIT}).",
)
@click.option(
    "--descending",
    is_flag=True,
    help="With --start: a higher score means less likely.",
)
@click.option(
    "--seed",
    metavar="N",
    type=options.Number(int, least=0),
    help=f"With --start: seed of random numbers (default: {STATE_SEED}).",
)
@click.option(
    "--score-bits",
    metavar="N",
    type=options.Number(int, least=1),
    help="With --start: significant bits to which scores are rounded "
    f"(default: {SCORE_BITS}, three digits).",
)
@click.option(
    "--id",
    metavar="COLUMN",
    help="Column of row ids, by which labels come later (default: that of --start).",
)
@click.option(
    "--protect",
    metavar="FILE",
    type=options.FILE,
    help="Write protected probabilities of the new rows to this file.",
)
@options.by
@options.score
@options.label
@options.pos_label
@options.drop_missing
@options.dialect
@options.page
@options.force
@options.json
def monitor(
    state: str,
    files: tuple[str, ...],
    *,
    start: tuple[str, ...],
    alpha: float | None,
    max_wait: int | None,
    descending: bool,
    seed: int | None,
    score_bits: int | None,
    protect: str | None,
    html: str | None,
    title: str | None,
    tags: dict[str, str],
    force: bool,
    json: bool,
    **columns: Any,
) -> int:
    """Follow a stream of scores and labels; exit with 3 if it has changed.

    Three tests ask whether new rows are like the calibration rows. As long as they are,
    the probability that there is ever an alarm is at most --alpha, however often the
    command runs. After an alarm, find out what has changed; if the change is permanent,
    recalibrate and begin a new state with --start.

    A file with scores brings rows, in the order in which they came. A file with ids
    and labels alone brings labels of such rows, in any order. A file that was read
    before is skipped. One with rows that came before, or that cannot be read, is
    refused as a whole: the others are taken, and the exit code is 1.

    A missing label holds back those after it, until --max-wait rows have come; then its
    row is dropped. If the tests of labels stall for that reason, the exit code is 4.
    With --by, each group is tested against its own calibration rows, at a share of
    --alpha.

    With --protect each new row gets a probability by the rule of the calibration rows,
    which follows a change as labels come. Whatever the data, the total log loss of
    these numbers is at most the rule's plus 1 bit.

    The page of --html shows the alarm, what to do, and all files so far.
    """
    from abers.storage.atomic import locking
    from abers.tables.monitor import MonitorFile, StreamOptions, check_state
    from abers.tables.writing import check_output

    _check_use(start, alpha=alpha, seed=seed, score_bits=score_bits, by=columns["by"])
    options.check_page(html, force=force, inputs=[state, *start, *files])
    if protect is not None:
        _check_protect(protect, files)
        check_output(protect, force=force, inputs=[state, *start, *files])
    page = PageOptions(html, title, tags, force)
    if not (start or files or max_wait):
        return _answer(MonitorFile.load(state), page, json=json)
    if start:
        check_output(state, force=force, inputs=[*start, *files])
    else:
        check_state(state)
    # Another command waits here, and then continues with the state written by this one.
    with locking(state), printer.progress("reading") as progress:
        stream = StreamOptions(progress=progress, protect=protect, **columns)
        if start:
            monitored = MonitorFile.start(
                state,
                start,
                stream,
                alpha=_checked_alpha(ALPHA if alpha is None else alpha),
                max_wait=MAX_WAIT if max_wait is None else max_wait,
                increasing=not descending,
                seed=STATE_SEED if seed is None else seed,
                score_bits=SCORE_BITS if score_bits is None else score_bits,
            )
        else:
            monitored = MonitorFile.load(state)
            if max_wait is not None:
                monitored.wait(max_wait)
        monitored.follow(files, stream)
        if protect is not None:
            monitored.write_protected(protect, stream, force=force)
        if monitored.is_changed:
            monitored.save(force=force)
    return _answer(monitored, page, json=json)


def _answer(monitored: MonitorFile, page: PageOptions, *, json: bool) -> int:
    """Print the findings, and return the exit code."""
    run, alarms = monitored.run, monitored.monitor.alarms
    for refusal in run.refused:
        printer.complain(refusal.sentence)
    if run.refused and not (alarms or monitored.is_changed or run.skipped):
        return FAILED
    if page.file:
        _write_page(page.file, monitored, page)
    if json:
        printer.print_json(_facts(monitored) | {"page": page.file})
    else:
        _print(monitored)
        if page.file:
            printer.note(f"A page was written to {page.file}.")
    if alarms:
        return CHECK_FAILED
    if run.refused:
        return FAILED
    return STALLED if monitored.monitor.stall else FINE


def _write_page(file: str, monitored: MonitorFile, page: PageOptions) -> None:
    """Write the findings so far as a page."""
    from abers.report import monitor_page
    from abers.storage.atomic import replace_text

    with printer.working("drawing"):
        facts = page_facts({"state": monitored.path}, page.tags)
        text = monitor_page(monitored.monitor, title=page.title, facts=facts)
        replace_text(file, text, force=page.force)


def _check_use(start: Sequence[str], **settings: Any) -> None:
    """Raise for settings that are allowed only with --start."""
    given = [name for name, value in settings.items() if value is not None]
    if given and not start:
        name = given[0].replace("_", "-")
        msg = f"--{name} must go with --start; a state keeps what it began with."
        raise InvalidParameter(msg)


def _check_protect(protect: str, files: Sequence[str]) -> None:
    """Raise if protected probabilities have no rows, or the same file as the answer."""
    if protect in {options.STDOUT, "/dev/stdout"}:
        msg = f"--protect must name a file; got {protect!r}, where the answer goes."
        raise InvalidParameter(msg)
    if not files:
        msg = "--protect must go with files of rows; got none."
        raise InvalidParameter(msg)


def _checked_alpha(alpha: float) -> float:
    if not 0 < alpha < 1:
        msg = f"alpha must be above 0 and below 1; got {alpha!r}."
        raise InvalidParameter(msg)
    return alpha


def _facts(monitored: MonitorFile) -> dict[str, Any]:
    """Return the facts for JSON."""
    run = monitored.run
    return {
        "state": monitored.path,
        "files_read": run.read,
        "files_skipped": run.skipped,
        "files_refused": [refusal._asdict() for refusal in run.refused],
        "n_new_rows": run.n_rows,
        "n_new_labels": run.n_labels,
        "n_missing": run.n_missing,
        "n_other_groups": run.n_other_groups,
        "n_late_labels": run.n_late_labels,
        "protected_file": run.written,
        **monitored.monitor.to_dict(),
    }


def _print(monitored: MonitorFile) -> None:
    from abers.online.alarms import ADVICE

    facts, run = monitored.monitor.to_dict(), monitored.run
    printer.facts(_lines(facts, run), to_stdout=True)
    shown = facts["groups"]
    if len(shown) > MOST_GROUPS:
        shown = sorted(shown, key=lambda group: -max(_capitals(group)))[:MOST_GROUPS]
    raised = {(alarm["group"], alarm["test"]): alarm for alarm in facts["alarms"]}
    body, colours = [], []
    for group in shown:
        name = group["group"]
        for test, title in TITLES.items():
            alarm = raised.get((name, test))
            result = "no alarm" if alarm is None else f"alarm in {alarm['file']}"
            colours.append("green" if alarm is None else "bold red")
            capital = f"{group[f'capital_{test}']:,.3g}"
            heads = [title] if name is None else [f"{name}: {title}"]
            body.append([*heads, capital, f"{facts['limit']:,.4g}", result])
    printer.table(["test", "capital", "alarm at", "result"], body, colours)
    if len(shown) < len(facts["groups"]):
        printer.sentence(
            f"The {MOST_GROUPS} groups with the most capital of "
            f"{len(facts['groups']):,}; --json lists all."
        )
    for alarm in facts["alarms"]:
        printer.sentence(f"Alarm: {alarm['sentence']}", "bold red")
    if facts["alarms"]:
        printer.sentence(ADVICE)
    else:
        printer.sentence("No alarm.", "" if facts["stall"] else "green")
    if facts["stall"]:
        printer.sentence(f"Stalled: {facts['stall']['sentence']}", "bold red")
    if run.written:
        n_rows = sum(part.probabilities.size for part in run.issued)
        written = printer.count(n_rows, "row was", "rows were")
        printer.note(f"Protected probabilities of {written} written to {run.written}.")
    if facts["protected"] and facts["protected"]["n_rows"]:
        printer.sentence(facts["protected"]["sentence"])


def _capitals(group: dict[str, Any]) -> list[float]:
    return [group[f"capital_{test}"] for test in TITLES]


def _lines(facts: dict[str, Any], run: RunFacts) -> Iterator[tuple[str, str]]:
    """Count rows and labels, and report what happened to the rest."""
    yield "calibration rows", f"{facts['n_calibration']:,}"
    yield "rows", f"{facts['n_rows']:,} ({run.n_rows:,} new)"
    labels = f"{facts['n_labels']:,} used"
    if facts["n_waiting"]:
        labels += f", {facts['n_waiting']:,} not used yet"
    if facts["n_dropped"]:
        labels += f", {facts['n_dropped']:,} dropped"
    yield "labels", f"{labels} ({run.n_labels:,} new)"
    if facts["n_early_labels"]:
        yield "early labels", f"{facts['n_early_labels']:,} of rows that have not come"
    if run.n_late_labels:
        yield (
            "late labels",
            f"{run.n_late_labels:,} of rows that were tested or dropped before",
        )
    if run.skipped:
        yield "skipped", f"{_named(run.skipped)}, read before"
    if run.n_missing:
        yield "left out", printer.dropped(run.n_missing)
    if run.n_other_groups:
        yield (
            "other groups",
            f"{run.n_other_groups:,} rows left out, of groups without calibration rows",
        )


def _named(files: list[str]) -> str:
    """Name a file, or count several."""
    return files[0] if len(files) == 1 else f"{len(files):,} files"
