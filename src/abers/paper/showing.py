"""Showing: findings as tables of text, for the page and the terminal."""

from __future__ import annotations

import math
from itertools import groupby
from statistics import median
from typing import TYPE_CHECKING

from abers.paper.algorithms import ALGORITHMS
from abers.paper.claims import VERDICTS
from abers.paper.ledger import LOSSES
from abers.paper.plans import TABLES, TABLES_RATIO
from abers.paper.records import Unit
from abers.paper.splits import ALL
from abers.paper.tables import METHODS, summary
from abers.report.number_tables import Table, number, p_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from abers.paper.findings import Findings
    from abers.paper.tables import Cell

TITLES = {
    "log_loss": "Table 1: log loss (bits)",
    "brier_loss": "Table 2: Brier loss (times 4)",
}
WHAT = ("paper", "ours", "distance")
EVERY = (
    "underlying",
    "Platt",
    "Platt regularised",
    "Platt log-odds",
    "isotonic",
    "isotonic dummies",
    "IVAP",
    "CVAP",
    "cross underlying",
    "cross Platt",
    "cross Platt regularised",
    "cross Platt log-odds",
    "cross isotonic",
    "cross isotonic dummies",
)


def compared(found: Findings) -> list[Table]:
    """Show Tables 1 and 2, three lines for each algorithm: paper, ours, distance."""
    shown = []
    for loss, rows in _by_loss(found.cells):
        lines = []
        for name, row in rows:
            columns = list(zip(*(_texts(cell) for cell in row), strict=True))
            known = any(cell.ours is not None for cell in row)
            shown_lines = zip(WHAT[: 2 + known], columns, strict=False)
            lines += [(name, what, *texts) for what, texts in shown_lines]
        shown.append(Table(TITLES[loss], ("algorithm", "", *METHODS), tuple(lines)))
    return shown


def _by_loss(
    cells: Sequence[Cell],
) -> Iterator[tuple[str, list[tuple[str, list[Cell]]]]]:
    for loss, some in groupby(cells, key=lambda cell: cell.loss):
        yield (
            loss,
            [
                (name, list(row))
                for name, row in groupby(some, key=lambda cell: cell.algorithm)
            ],
        )


def _texts(cell: Cell) -> tuple[str, str, str]:
    ours = "not run" if cell.ours is None else number(cell.ours)
    if cell.distance is None:
        return number(cell.paper), ours, ""
    both = cell.ours == cell.paper and math.isinf(cell.paper)
    distance = "same" if both else number(cell.distance, 4, "+")
    return number(cell.paper), ours, distance


def distances(found: Findings) -> str:
    """Say how far the cells are from the paper's."""
    far = summary(found.cells)
    if not far.n_cells:
        return "Tables 1 and 2 were not run."
    return (
        f"Tables 1 and 2 by {found.engine}: {far.n_cells} cells are finite in both; "
        f"ours are {far.median:.4f} from the paper's in the middle, {far.largest:.4f} "
        "at most."
    )


def verdicts(found: Findings) -> str:
    """Count the verdicts in one sentence."""
    verbs = {"holds": ("holds", "hold"), "fails": ("fails", "fail")}
    told = []
    for verdict in VERDICTS:
        n = sum(claim.verdict == verdict for claim in found.claims)
        one, many = verbs.get(verdict, (f"is {verdict}", f"are {verdict}"))
        if n:
            told.append(f"{n} {one if n == 1 else many}".replace("are not", "were not"))
    return f"Of {len(found.claims)} claims, {', '.join(told)}."


def methods(found: Findings) -> list[Table]:
    """Show every method on the rows of Tables 1 and 2, the extra ones too."""
    units = found.ledger.units((TABLES,), (TABLES_RATIO,))
    head = ("method", *(unit.algorithm for unit in units))
    shown = []
    for kind, name in LOSSES.items():
        rows = tuple(
            (
                method,
                *(_number(found.ledger.loss(unit, method, kind)) for unit in units),
            )
            for method in EVERY
        )
        caption = f"All methods on the rows of the tables, {name}"
        shown.append(Table(caption, head, rows))
    return shown if units else []


def _number(value: float | None, digits: int = 4) -> str:
    return "-" if value is None else number(value, digits)


def bounds(found: Findings) -> Table:
    """Show widths of bounds and deficiencies, medians over algorithms."""
    rows = []
    for task in found.ledger.tasks:
        for ratio in found.ledger.ratios(task):
            if ratio == ALL:
                continue
            row = [f"{task}, {ratio}"]
            for method in ("IVAP", "CVAP"):
                results = [
                    result
                    for algorithm in found.ledger.algorithms(task)
                    if (
                        result := found.ledger.result(
                            Unit(task, algorithm, ratio), method
                        )
                    )
                ]
                for field in ("width_mean", "width_median", "deficiency"):
                    values = [getattr(result, field) for result in results]
                    known = [value for value in values if value is not None]
                    row.append(_number(median(known)) if known else "-")
            rows.append(tuple(row))
    head = ["task and ratio"]
    for method in ("IVAP", "CVAP"):
        head += [f"{method}: mean width", "median width", "deficiency, bits"]
    return Table("Medians over algorithms", tuple(head), tuple(rows))


def machines(found: Findings) -> Table:
    """Show calibrated support vector machines."""
    rows = tuple(
        (
            f"{run.n_train:,}",
            f"{run.near_one:.1%}",
            *(number(x) for x in (run.bayes, run.platt, run.isotonic, run.ivap)),
        )
        for run in found.studies.machines
    )
    head = ("training rows", "margins near ±1", "Bayes", "Platt", "isotonic", "IVAP")
    return Table("Log loss in bits, true probability uniform", head, rows)


def timings(found: Findings) -> Table:
    """Show seconds on the artificial set, in milliseconds."""
    fields = ("sort", "fit_ivap", "predict_ivap", "fit_isotonic", "fit_platt")
    rows = tuple(
        (f"{one.k:,}", *(f"{1e3 * getattr(one, field):,.3f}" for field in fields))
        for one in found.studies.timings
    )
    head = ("scores", "np.sort", "IVAP, fit", "IVAP, predict", "isotonic, fit")
    return Table("Milliseconds, the least of three", (*head, "Platt, fit"), rows)


def many_classes(found: Findings) -> list[Table]:
    """Show sets of many classes."""
    places = dict.fromkeys((one.data, one.algorithm) for one in found.studies.classes)
    ways = dict.fromkeys((one.method, one.multiclass) for one in found.studies.classes)
    losses = {
        (one.data, one.algorithm, one.method, one.multiclass): one
        for one in found.studies.classes
    }
    head = ("set, algorithm", *(" ".join(way).strip() for way in ways))
    scales = {"log_loss": "to base C", "brier_loss": "times C/(C-1)"}
    shown = []
    for kind, name in LOSSES.items():
        rows = tuple(
            (
                ", ".join(place),
                *(number(getattr(losses[*place, *way], kind)) for way in ways),
            )
            for place in places
        )
        caption = f"{name[0].upper()}{name[1:]} {scales[kind]}: guessing costs 1"
        shown.append(Table(caption, head, rows))
    return shown


def validity(found: Findings) -> Table:
    """Show whether labels agree with levels."""
    rows = tuple(
        (
            one.how,
            f"{one.k:,}",
            f"{one.n_draws:,}",
            str(len(one.groups)),
            number(one.chi_square, 1),
            p_value(one.p_value),
            number(max(abs(g.mean_label - g.level) for g in one.groups)),
        )
        for one in found.studies.validity
    )
    head = ("how rows were drawn", "calibration rows", "draws", "groups", "chi-square")
    caption = "Labels against the bound that the label selects"
    return Table(caption, (*head, "p-value", "largest difference"), rows)


def grids(found: Findings) -> Table:
    """Show the algorithms, their counterparts and what was tuned."""
    settings = {unit.unit.algorithm: unit.grid for unit in found.finished}
    ours = found.engine.startswith("scikit-learn")  # its version follows
    rows = tuple(
        (
            algorithm.name,
            algorithm.weka or "none",
            algorithm.how if ours else found.engine,
            ", ".join(filter(None, settings[algorithm.name])) or "nothing",
        )
        for algorithm in ALGORITHMS.values()
        if algorithm.name in settings
    )
    head = ("algorithm", "in the paper", "here", "tried")
    return Table("Underlying algorithms and their grids", head, rows)
