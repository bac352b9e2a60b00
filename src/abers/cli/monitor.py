"""`abers monitor`: whether a stream has changed since calibration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from abers.cli import options, printer
from abers.cli.commands import FORMATS, command
from abers.cli.exits import CHECK_FAILED, FINE, STALLED
from abers.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abers.online.monitor import Monitor, MonitorState
    from abers.tables.monitor import MonitorFile, Stall

TITLES = {
    "scores": "scores",
    "labels": "labels: rate of positives",
    "slope": "labels: slope",
}
ALPHA = 0.01
MAX_WAIT = 10_000
STATE_SEED = 0


@command()
@click.argument(
    "state", type=options.FILE, help="File that keeps what was seen so far."
)
@click.argument(
    "files",
    metavar="[FILE]...",
    type=options.FILE,
    nargs=-1,
    help=f"New rows: {FORMATS}, .gz or .zst; patterns.",
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
    help="With --start: rows that a label may be late, before its row is dropped "
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
@options.score
@options.label
@options.pos_label
@options.drop_missing
@options.dialect
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
    force: bool,
    json: bool,
    **columns: Any,
) -> int:
    """Follow a stream of scores and labels; exit with 3 if it has changed.

    Three tests ask whether new rows are like the calibration rows. As long as they
    are, the probability that there is ever an alarm is at most --alpha, however often
    the command runs. Each file is read once. After an alarm, recalibrate and begin a
    new state with --start.

    A label may be empty. It holds back those after it, until --max-wait rows have come
    or `Monitor.update_labels` in Python has passed it. If fewer than half of the labels
    could be used for that reason, or most rows were dropped, the monitor is stalled:
    the exit code is 4, and the answer names the row.
    """
    from abers.tables.monitor import MonitorFile, StreamOptions

    _check_use(start, alpha=alpha, max_wait=max_wait, seed=seed)
    with printer.progress("reading") as progress:
        stream = StreamOptions(progress=progress, **columns)
        if not start:
            monitored = MonitorFile.load(state)
        else:
            from abers.tables.writing import check_output

            check_output(state, force=force, inputs=[*start, *files])
            monitored = MonitorFile.start(
                state,
                start,
                stream,
                alpha=ALPHA if alpha is None else alpha,
                max_wait=MAX_WAIT if max_wait is None else max_wait,
                increasing=not descending,
                random_state=STATE_SEED if seed is None else seed,
            )
        if files:
            monitored.follow(files, stream)
    if files or start:
        monitored.save(force=force)
    tests = monitored.monitor.state
    if json:
        printer.print_json(_facts(monitored, tests))
    else:
        _print(monitored, tests)
    if tests.alarm:
        return CHECK_FAILED
    return STALLED if monitored.stall else FINE


def _check_use(start: Sequence[str], **settings: Any) -> None:
    """Refuse settings that belong to a start."""
    given = [name for name, value in settings.items() if value is not None]
    if given and not start:
        name = given[0].replace("_", "-")
        msg = f"--{name} must go with --start; a state keeps what it began with."
        raise InvalidParameter(msg)


def _facts(monitored: MonitorFile, tests: MonitorState) -> dict[str, Any]:
    """Return what there is to know, ready for JSON."""
    return {
        "state": monitored.path,
        "n_new": monitored.n_new,
        "n_missing": monitored.n_missing,
        "n_files": len(monitored.monitor.digests),
        **tests.to_dict(),
        "stalled": monitored.stall is not None,
        "stall": monitored.stall
        and {
            "reason": monitored.stall.reason,
            "row": monitored.stall.row,
            "n_rows": monitored.stall.n_rows,
            "sentence": _sentence(monitored.monitor, monitored.stall),
        },
    }


def _print(monitored: MonitorFile, tests: MonitorState) -> None:
    lines = [
        ("calibration rows", f"{tests.n_calibration:,}"),
        ("rows", f"{tests.n_rows:,} ({monitored.n_new:,} new)"),
        ("labels", _labels(tests)),
    ]
    if monitored.n_missing:
        lines.append(("left out", printer.dropped(monitored.n_missing)))
    printer.facts(lines, to_stdout=True)
    body, colours = [], []
    for test, title in TITLES.items():
        row = tests.alarms.get(test)
        result = "no alarm" if row is None else f"alarm since row {row:,}"
        colours.append("green" if row is None else "bold red")
        capital = getattr(tests, f"capital_{test}")
        body.append([title, f"{capital:,.3g}", f"{tests.limit:,.4g}", result])
    printer.table(["test", "capital", "alarm at", "result"], body, colours)
    if tests.alarm:
        text = (
            "Alarm: new rows are not like the calibration rows. Recalibrate, and begin "
            "a new state with --start."
        )
        printer.sentence(text, "bold red")
    else:
        printer.sentence("No alarm.", "" if monitored.stall else "green")
    if monitored.stall:
        sentence = _sentence(monitored.monitor, monitored.stall)
        printer.sentence(f"Stalled: {sentence}", "bold red")


def _sentence(monitor: Monitor, stall: Stall) -> str:
    """Say which row stalls a monitor, how many rows that costs, and what to do."""
    wait = monitor.max_wait
    if stall.reason == "dropped":
        return (
            f"{printer.count(stall.n_rows, 'row was', 'rows were')} dropped, from row "
            f"{stall.row:,} of the stream on, because {wait:,} rows came before their "
            f"labels did; this run brought {stall.n_others:,}. Begin a new state with "
            "a larger --max-wait."
        )
    score = monitor.waiting.scores[0].item()
    until = "it is waited for without a limit"
    if wait is not None:
        until = f"it is dropped once {wait:,} rows have come after it"
    held_back = printer.count(stall.n_rows, "labelled row", "labelled rows")
    return (
        f"row {stall.row:,} of the stream (from 0), with score {score!r}, has no label "
        f"and holds back {held_back}; this run could use {stall.n_others:,}. Pass its "
        f"label with Monitor.update_labels in Python; otherwise {until}."
    )


def _labels(tests: MonitorState) -> str:
    shown = f"{tests.n_labels:,} used"
    if tests.n_waiting:
        shown += f", {tests.n_waiting:,} not used yet"
    if tests.n_dropped:
        shown += f", {tests.n_dropped:,} dropped"
    return shown
