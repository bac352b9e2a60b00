"""`abers monitor`: whether a stream has changed since calibration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from abers.cli import printing
from abers.cli.options import (
    FORMATS,
    Decimal,
    Delimiter,
    DropMissing,
    Encoding,
    Force,
    Json,
    Label,
    Positive,
    Score,
    as_dialect,
)
from abers.cli.parsing import Argument, Option
from abers.cli.signals import CHECK_FAILED, FINE, STALLED
from abers.errors import InvalidParameter

if TYPE_CHECKING:
    from abers.online.monitor import Monitor, MonitorState
    from abers.tables.monitor import MonitorFile, Stall

TITLES = {
    "scores": "scores",
    "labels": "labels: rate of positives",
    "slope": "labels: slope",
}
ALPHA = 0.01
MAX_WAIT = 10_000
SEED = 0


def monitor(
    state: Annotated[
        str, Argument(metavar="STATE", help="File that keeps what was seen so far.")
    ],
    files: Annotated[
        list[str],
        Argument(metavar="FILE", help=f"New rows: {FORMATS}, .gz or .zst; patterns."),
    ] = [],  # noqa: B006 (never changed)
    *,
    start: Annotated[
        list[str] | None,
        Option(
            metavar="CALIBRATION",
            help="Begin a state with these calibration rows; may be repeated.",
        ),
    ] = None,
    alpha: Annotated[
        float | None,
        Option(
            metavar="P",
            help=f"With --start: probability of ever a false alarm (default: {ALPHA}).",
        ),
    ] = None,
    max_wait: Annotated[
        int | None,
        Option(
            metavar="N",
            help="With --start: rows that a label may be late, before its row is "
            f"dropped (default: {MAX_WAIT}).",
            least=1,
        ),
    ] = None,
    descending: Annotated[
        bool,
        Option("--descending", help="With --start: a higher score means less likely."),
    ] = False,
    seed: Annotated[
        int | None,
        Option(
            metavar="N",
            help=f"With --start: seed of random numbers (default: {SEED}).",
            least=0,
        ),
    ] = None,
    score: Score = None,
    label: Label = None,
    positive: Positive = None,
    drop_missing: DropMissing = False,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    encoding: Encoding = "utf-8",
    force: Force = False,
    json: Json = False,
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
    with printing.progress("reading") as progress:
        options = StreamOptions(
            score=score,
            label=label,
            positive=positive,
            drop_missing=drop_missing,
            dialect=as_dialect(delimiter, decimal, encoding),
            progress=progress,
        )
        if start is None:
            kept = MonitorFile.load(state)
        else:
            from abers.tables.writing import check_output

            check_output(state, force=force, inputs=[*start, *files])
            kept = MonitorFile.start(
                state,
                start,
                options,
                alpha=ALPHA if alpha is None else alpha,
                max_wait=MAX_WAIT if max_wait is None else max_wait,
                increasing=not descending,
                random_state=SEED if seed is None else seed,
            )
        if files:
            kept.follow(files, options)
    if files or start:
        kept.save(force=force)
    found = kept.monitor.state
    if json:
        printing.print_json(_facts(kept, found))
    else:
        _print(kept, found)
    if found.alarm:
        return CHECK_FAILED
    return STALLED if kept.stall else FINE


def _check_use(start: list[str] | None, **settings: Any) -> None:
    """Refuse settings that belong to a start."""
    given = [name for name, value in settings.items() if value is not None]
    if start is None and given:
        name = given[0].replace("_", "-")
        msg = f"--{name} must go with --start; a state keeps what it began with."
        raise InvalidParameter(msg)


def _facts(kept: MonitorFile, found: MonitorState) -> dict[str, Any]:
    """Return what there is to know, ready for JSON."""
    return {
        "state": kept.path,
        "new_rows": kept.n_new,
        "missing": kept.n_missing,
        "files": len(kept.monitor.digests),
        **found.to_dict(),
        "stalled": kept.stall is not None,
        "stall": kept.stall
        and {
            "reason": kept.stall.reason,
            "row": kept.stall.row,
            "rows": kept.stall.n_rows,
            "sentence": _sentence(kept.monitor, kept.stall),
        },
    }


def _print(kept: MonitorFile, found: MonitorState) -> None:
    lines = [
        ("calibration rows", f"{found.n_calibration:,}"),
        ("rows", f"{found.n_rows:,} ({kept.n_new:,} new)"),
        ("labels", _labels(found)),
    ]
    if kept.n_missing:
        lines.append(("left out", printing.dropped(kept.n_missing)))
    printing.facts(lines, to_stdout=True)
    body, colours = [], []
    for test, title in TITLES.items():
        row = found.alarms.get(test)
        result = "no alarm" if row is None else f"alarm since row {row:,}"
        colours.append("green" if row is None else "bold red")
        capital = getattr(found, f"capital_{test}")
        body.append([title, f"{capital:,.3g}", f"{found.limit:,.4g}", result])
    printing.table(["test", "capital", "alarm at", "result"], body, colours)
    if found.alarm:
        text = (
            "Alarm: new rows are not like the calibration rows. Recalibrate, and begin "
            "a new state with --start."
        )
        printing.sentence(text, "bold red")
    else:
        printing.sentence("No alarm.", "" if kept.stall else "green")
    if kept.stall:
        sentence = _sentence(kept.monitor, kept.stall)
        printing.sentence(f"Stalled: {sentence}", "bold red")


def _sentence(monitor: Monitor, stall: Stall) -> str:
    """Say which row stalls a monitor, how many rows that costs, and what to do."""
    wait = monitor.max_wait
    if stall.reason == "dropped":
        return (
            f"{printing.count(stall.n_rows, 'row was', 'rows were')} dropped, from row "
            f"{stall.row:,} of the stream on, because {wait:,} rows came before their "
            f"labels did; this run brought {stall.n_others:,}. Begin a new state with "
            "a larger --max-wait."
        )
    score = monitor.waiting.scores[0].item()
    until = "it is waited for without a limit"
    if wait is not None:
        until = f"it is dropped once {wait:,} rows have come after it"
    held_back = printing.count(stall.n_rows, "labelled row", "labelled rows")
    return (
        f"row {stall.row:,} of the stream (from 0), with score {score!r}, has no label "
        f"and holds back {held_back}; this run could use {stall.n_others:,}. Pass its "
        f"label with Monitor.update_labels in Python; otherwise {until}."
    )


def _labels(found: MonitorState) -> str:
    shown = f"{found.n_labels:,} used"
    if found.n_waiting:
        shown += f", {found.n_waiting:,} not used yet"
    if found.n_dropped:
        shown += f", {found.n_dropped:,} dropped"
    return shown
