"""History: what a monitor of files has seen, in sentences and tables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from abers.formatting import Table, count, shorten
from abers.online.alarms import ADVICE
from abers.online.bets import TESTS
from abers.online.monitor import UNKNOWN, power_of_e
from abers.plots.monitor import WHAT
from abers.report.document import (
    LONGEST_CELL,
    MOST_ROWS,
    Document,
    Section,
    cut,
    dated,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from abers.online.alarms import Alarm
    from abers.online.file_monitor import FileMonitor
    from abers.online.ledger import LedgerLine
    from abers.validation import FloatArray

MOST_ALARMS = 5  # in red
MOST_FILES = 400  # in the table
STALLING = "No alarm, but the tests of labels stall: they would miss a change."


def document(
    monitor: FileMonitor,
    *,
    title: str | None = None,
    facts: Mapping[str, object] | None = None,
) -> Document:
    """Describe the history of a monitor of files."""
    return Document(
        "Monitor" if title is None else cut(title),
        warnings(monitor),
        "",
        summary(monitor),
        [
            Section(
                "Capital of the tests", figures="capital", tables=[test_table(monitor)]
            ),
            Section("Files", tables=[ledger_table(monitor)]),
        ],
        dated(facts, start_facts(monitor)),
    )


def capitals(monitor: FileMonitor) -> dict[str, FloatArray]:
    """Return each test's log-capital after each file, highest over groups."""
    logs = np.array([line.log_capitals.max(axis=0) for line in monitor.ledger])
    return {test: logs[:, place] for place, test in enumerate(TESTS)}


def alarm_place(monitor: FileMonitor, alarm: Alarm) -> int:
    """Return the position in the ledger after which an alarm was raised.

    The file with its row may have come without labels. The capital after the file with
    the label shows the alarm, unless it fell again within that file.
    """
    first = monitor.place_of(alarm.row)
    at = (monitor.groups.index(alarm.group), TESTS.index(alarm.test))
    logs = np.array([line.log_capitals[at] for line in monitor.ledger[first:]])
    reached = logs >= math.log(monitor.limit)
    return first + int(reached.argmax())


def warnings(monitor: FileMonitor) -> list[str]:
    """Return what happened and since when, if anything has."""
    lines = [f"Alarm: {alarm.sentence}" for alarm in monitor.alarms[:MOST_ALARMS]]
    if (more := len(monitor.alarms) - len(lines)) > 0:
        lines.append(f"{count(more, 'more alarm')}: see the tests below.")
    if monitor.stall is not None:
        lines.append(f"Stalled: {monitor.stall.sentence}")
    return lines


def summary(monitor: FileMonitor) -> list[str]:
    """Return what to do, and how much data was seen."""
    totals = monitor.to_dict()
    files = [line.file.date for line in monitor.ledger if line.kind != "calibration"]
    seen = (
        f"{count(totals['n_rows'], 'row')} and {count(totals['n_labels'], 'label')} "
        f"were tested, from {count(len(files), 'file')}"
    )
    if files:
        seen += f"; the last was written on {files[-1]}"
    protected = totals["protected"]
    ends = [protected["sentence"]] if protected and protected["n_rows"] else []
    if monitor.alarms:
        return [f"What to do: {ADVICE[0].lower()}{ADVICE[1:]}", f"{seen}.", *ends]
    largest = power_of_e(max(logs.max() for logs in _last(monitor)))
    stands = f"The largest capital is {_capital(largest)}; {_limit(monitor)}."
    return [STALLING if monitor.stall else "No alarm.", f"{seen}.", stands, *ends]


def test_table(monitor: FileMonitor) -> Table:
    """Return a table of the current capital of each test, highest group first."""
    raised = {(alarm.group, alarm.test): alarm for alarm in monitor.alarms}
    order = np.argsort([-logs.max() for logs in _last(monitor)], kind="stable")
    shown = order[: MOST_ROWS // len(TESTS)]
    rows = []
    for place in shown.tolist():
        group = monitor.groups[place]
        for test, log in zip(TESTS, _last(monitor)[place], strict=True):
            alarm = raised.get((group, test))
            name = "" if group is None else f"{_cell(group)}: "
            result = "no alarm"
            if alarm is not None:
                result = f"alarm in {_cell(alarm.file)}"
            capital = _capital(power_of_e(float(log)))
            limit = f"{monitor.limit:,.4g}"
            rows.append([name + WHAT[test], capital, limit, result])
    caption = "The tests now"
    if (left_out := len(order) - len(shown)) > 0:
        caption += f"; {count(left_out, 'group')} with less capital left out"
    return Table(caption, ["test", "capital", "alarm at", "result"], rows)


def ledger_table(monitor: FileMonitor) -> Table:
    """Return a table with a line per file, latest first."""
    logs, notes = capitals(monitor), _notes(monitor)
    lines = list(enumerate(monitor.ledger))[::-1]
    columns: dict[str, Any] = {
        "file": lambda i: f"{i[0] + 1}. {_cell(i[1].file.name)}",
        "date": lambda i: i[1].file.date,
        "brought": lambda i: i[1].kind,
        "rows": lambda i: _count(i[1], "n_rows"),
        "labels used": lambda i: _count(i[1], "n_used"),
    }
    if any(line.counts.n_dropped for line in monitor.ledger):
        columns["rows dropped"] = lambda i: _count(i[1], "n_dropped")
    if any(line.counts.n_protected for line in monitor.ledger):
        columns["rows protected"] = lambda i: _count(i[1], "n_protected")
    for test in TESTS:
        columns[f"capital: {test}"] = lambda i, test=test: _capital(
            power_of_e(float(logs[test][i[0]]))
        )
    if notes:
        columns["note"] = lambda i: "; ".join(notes.get(i[0], []))
    caption = "Files and the capitals after each, the last first"
    if len(monitor.groups) > 1:
        caption += f", the highest of {len(monitor.groups):,} groups"
    return Table.of(lines, columns, caption=caption, most=MOST_FILES)


def start_facts(monitor: FileMonitor) -> list[tuple[str, str]]:
    """List the initial settings of the monitor, and what it waits for."""
    waiting = monitor.waiting.labels
    dropped = sum(line.counts.n_dropped for line in monitor.ledger)
    return [
        ("calibration rows", f"{sum(monitor.n_calibration):,}"),
        ("probability of ever a false alarm", f"at most {monitor.alpha:g}"),
        ("alarm", _limit(monitor)),
        ("rows without a label yet", f"{int((waiting == UNKNOWN).sum()):,}"),
        ("labels not used yet", f"{int((waiting != UNKNOWN).sum()):,}"),
        ("labels of rows that have not come", f"{len(monitor.early):,}"),
        ("rows dropped", f"{dropped:,} (after a wait of {monitor.max_wait:,} rows)"),
        ("scores rounded to", f"{monitor.score_bits} significant bits"),
    ]


def _notes(monitor: FileMonitor) -> dict[int, list[str]]:
    """Return notes on the file where a change began and where it was found."""
    notes: dict[int, list[str]] = {}
    for alarm in monitor.alarms:
        where = alarm.test if alarm.group is None else f"{alarm.test}, {alarm.group}"
        began = notes.setdefault(monitor.place_of(alarm.since_row), [])
        began.append(f"began: {_cell(where)} (an estimate)")
        raised = notes.setdefault(alarm_place(monitor, alarm), [])
        raised.append(f"alarm: {_cell(where)}")
    return notes


def _last(monitor: FileMonitor) -> FloatArray:
    return monitor.ledger[-1].log_capitals


def _limit(monitor: FileMonitor) -> str:
    groups = len(monitor.groups)
    share = f"{len(TESTS)} tests" + (f" of {groups:,} groups" if groups > 1 else "")
    return (
        f"an alarm is raised at {monitor.limit:,.4g} ({share}, alpha {monitor.alpha:g})"
    )


def _capital(capital: float) -> str:
    return f"{capital:,.3g}"


def _count(line: LedgerLine, what: str) -> str:
    """Return a count of a file; calibration rows are not of the stream."""
    return "-" if line.kind == "calibration" else f"{getattr(line.counts, what):,}"


def _cell(text: str) -> str:
    return shorten(text, LONGEST_CELL)
