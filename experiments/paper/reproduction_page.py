"""The page: findings as tables and figures, in one file of HTML."""

from __future__ import annotations

import math
import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from itertools import groupby
from statistics import median
from typing import TYPE_CHECKING, Any

from abers import plots
from abers.errors import need
from abers.formatting import Table, change, number, p_value
from abers.report.figures import PIXELS, PageFigure, data_uri
from abers.report.text import BOUNDS_ARE
from experiments.paper import paper_figures as figures
from experiments.paper.cases import REFUTED
from experiments.paper.claims import FURTHER, NOTE, PAPER, SPLIT
from experiments.paper.data import READERS, SHA256
from experiments.paper.protocol import METHODS, ONE_MODEL, POOLED, RELATIVES
from experiments.paper.results import LOSSES, TABLE_METHODS, cell_differences
from experiments.paper.run import TABLES, TABLES_RATIO, WIDE
from experiments.paper.sklearn_engine import ALGORITHMS, SklearnEngine
from experiments.paper.studies import Studies
from experiments.paper.tally import NOT_RUN, VERDICTS
from experiments.paper.tasks import (
    ALL,
    COMPLETE,
    HALVES,
    IN_FILE_ORDER,
    RATIOS,
    RECIPES,
    SIX,
    THIRDS,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from matplotlib.figure import Figure

    from experiments.paper.claims import Claim
    from experiments.paper.reproduction import Findings
    from experiments.paper.results import Cell
    from experiments.paper.run import Unit
    from experiments.paper.studies.artificial_data import Timing
    from experiments.paper.studies.tiny_sets import TinySet
    from experiments.paper.studies.validity import Validity


# Findings as tables of text, for the page and the terminal.

TITLES = {
    "log_loss": "Table 1: log loss (bits)",
    "brier_loss": "Table 2: Brier loss (times 4)",
}
WHAT = ("paper", "ours", "difference")
EVERY_METHOD = (
    *METHODS,
    "IVAP",
    "CVAP",
    *RELATIVES,
    *(f"cross {name}" for name in METHODS),
)
IN_FIGURES = ("underlying", "Platt", "isotonic", "IVAP", "CVAP")
PAIRED = (("CVAP", "IVAP"), ("IVAP", "Platt"), ("IVAP", "isotonic"), (POOLED, "CVAP"))


def label(found: Findings, algorithm: str) -> str:
    """Name an algorithm as the paper does, with the stand-in if there is one."""
    one = ALGORITHMS[algorithm]
    return one.label if found.engine.startswith("scikit-learn") else one.weka


def comparison_tables(found: Findings) -> list[Table]:
    """Show Tables 1 and 2, three lines for each algorithm: paper, ours, difference."""
    shown = []
    for loss, rows in _by_loss(found.cells):
        lines = []
        for name, row in rows:
            columns = list(zip(*(_texts(cell) for cell in row), strict=True))
            known = any(cell.ours is not None for cell in row)
            shown_lines = zip(WHAT[: 2 + known], columns, strict=False)
            names = label(found, name)
            lines += [(names, what, *texts) for what, texts in shown_lines]
        shown.append(
            Table(TITLES[loss], ("algorithm", "", *TABLE_METHODS), tuple(lines))
        )
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
    if cell.difference is None:
        return number(cell.paper), ours, ""
    both = cell.ours == cell.paper and math.isinf(cell.paper)
    difference = "same" if both else number(cell.difference, 4, "+")
    return number(cell.paper), ours, difference


def differences_sentence(found: Findings) -> str:
    """Summarise the absolute differences from the paper."""
    far = cell_differences(found.cells)
    if not far.n_cells:
        return "Tables 1 and 2 were not run."
    return (
        f"Tables 1 and 2 with {found.engine}: the absolute difference from the paper, "
        f"over the {far.n_cells} cells that are finite in both, has median "
        f"{far.median:.4f} and maximum {far.largest:.4f}."
    )


def verdicts_sentence(found: Findings) -> str:
    """Count the verdicts, of the paper's claims, of its authors' notes and of ours."""
    counted = {
        PAPER: "claims of the paper",
        NOTE: "remarks in its authors' unprinted notes",
        FURTHER: "further questions",
    }
    told = []
    for source, what in counted.items():
        verdicts = [one.verdict for one in found.claims if one.source == source]
        told.append(f"Of {len(verdicts)} {what}, {_counts(verdicts)}.")
    return " ".join(told)


def _counts(verdicts: Sequence[str]) -> str:
    verbs = {"holds": ("holds", "hold"), "fails": ("fails", "fail")}
    told = []
    for verdict in VERDICTS:
        n = verdicts.count(verdict)
        one, many = verbs.get(verdict, (f"is {verdict}", f"are {verdict}"))
        if verdict == NOT_RUN:
            one, many = "was not run", "were not run"
        if n:
            told.append(f"{n} {one if n == 1 else many}")
    return ", ".join(told)


def table(
    caption: str, rows: Iterable[Any], *columns: tuple[str, Callable[[Any], str]]
) -> Table:
    """Make a table of columns: what stands above them, and the text of a row."""
    lines = tuple(tuple(text(row) for _, text in columns) for row in rows)
    return Table(caption, tuple(head for head, _ in columns), lines)


def loss_tables(
    caption: Callable[[str], str],
    first: tuple[str, Callable[[Any], str]],
    rows: Sequence[Any],
    columns: Mapping[str, Any],
    cell: Callable[[Any, Any, str], str],
) -> list[Table]:
    """Make a table for each loss; a cell is that of a row, a column and the loss."""

    def text(column: Any, kind: str) -> Callable[[Any], str]:
        return lambda row: cell(row, column, kind)

    return [
        table(
            caption(kind),
            rows,
            first,
            *((head, text(column, kind)) for head, column in columns.items()),
        )
        for kind in LOSSES
    ]


def _number(value: float | None, digits: int = 4) -> str:
    return "-" if value is None else number(value, digits)


def _titled(kind: str) -> str:
    return LOSSES[kind][0].upper() + LOSSES[kind][1:]


def paired_tables(found: Findings) -> list[Table]:
    """Show differences between methods on the rows of Tables 1 and 2, with errors."""

    def difference(unit: Unit, methods: tuple[str, str], kind: str) -> str:
        for pair in found.index.pairs([unit], kind, *methods):
            error = math.nan if pair.error is None else pair.error
            return change(pair.difference, error)
        return "-"

    units = found.index.units((TABLES,), (TABLES_RATIO,))
    tables = loss_tables(
        lambda kind: (
            f"Differences of the {LOSSES[kind]} on the same test rows, ± standard error"
        ),
        ("algorithm", lambda unit: label(found, unit.algorithm)),
        units,
        {f"{a} \N{MINUS SIGN} {b}": (a, b) for a, b in PAIRED},
        difference,
    )
    return tables if units else []


def method_tables(found: Findings) -> list[Table]:
    """Show every method on the data of Tables 1 and 2, the extra ones too."""
    units = found.index.units((TABLES,), (TABLES_RATIO,))
    tables = loss_tables(
        lambda kind: f"All methods on the data of Tables 1 and 2, {LOSSES[kind]}",
        ("method", str),
        EVERY_METHOD,
        {label(found, unit.algorithm): unit for unit in units},
        lambda method, unit, kind: _number(found.index.loss(unit, method, kind)),
    )
    return tables if units else []


def other_splits_tables(found: Findings) -> list[Table]:
    """Show equal parts, adult without gaps, covertype and bank in file order."""
    return loss_tables(
        lambda kind: f"{_titled(kind)}; thirds at 1:1, the others at 4:1",
        ("task, algorithm", lambda u: f"{u.data}, {label(found, u.algorithm)}"),
        found.index.units(OTHER_TASKS, RATIOS),
        {method: method for method in (*IN_FIGURES, POOLED)},
        lambda unit, method, kind: _number(found.index.loss(unit, method, kind)),
    )


def many_classes_tables(found: Findings) -> list[Table]:
    """Show sets of many classes."""
    losses = {
        (one.data, one.algorithm, one.method, one.multiclass): one
        for one in found.studies.classes
    }
    scales = {"log_loss": "to base C", "brier_loss": "times C/(C-1)"}
    return loss_tables(
        lambda kind: f"{_titled(kind)} {scales[kind]} (uniform predictions cost 1)",
        ("set, algorithm", ", ".join),
        list(dict.fromkeys(place[:2] for place in losses)),
        {" ".join(place[2:]).strip(): place[2:] for place in losses},
        lambda place, way, kind: number(getattr(losses[*place, *way], kind)),
    )


def bounds_table(found: Findings) -> Table:
    """Show widths of bounds and deficiencies, medians over algorithms."""
    index = found.index

    def middle(method: str, field: str) -> Callable[[Any], str]:
        def text(place: tuple[str, str]) -> str:
            units = index.units((place[0],), (place[1],))
            values = [getattr(index.result(u, method), field, None) for u in units]
            known = [value for value in values if value is not None]
            return number(median(known)) if known else "-"

        return text

    return table(
        "Medians over algorithms",
        [(task, r) for task in index.tasks for r in index.ratios(task) if r != ALL],
        ("task and ratio", ", ".join),
        *(
            column
            for method in ("IVAP", "CVAP")
            for column in (
                (f"{method}: mean width", middle(method, "width_mean")),
                ("median width", middle(method, "width_median")),
                ("deficiency, bits", middle(method, "deficiency")),
            )
        ),
    )


def calibration_tables(found: Findings) -> list[Table]:
    """Show how miscalibrated methods are, medians over algorithms at 4:1."""
    index = found.index

    def middle(method: str) -> Callable[[str], str]:
        def text(task: str) -> str:
            units = index.units((task,), (TABLES_RATIO,))
            results = [r for unit in units if (r := index.result(unit, method))]
            parts = [r.miscalibration for r in results if r.miscalibration is not None]
            tests = [r.miscalibration_p for r in results if r.miscalibration_p]
            refuted = f"{sum(p < REFUTED for p in tests)}/{len(tests)}"
            return f"{number(median(parts))} ({refuted})" if parts else "-"

        return text

    whole = table(
        "Median miscalibration, Brier loss times 4, at 4:1; in brackets for how many "
        f"algorithms a test refutes calibration (p < {REFUTED})",
        index.tasks,
        ("task", str),
        *((name, middle(name)) for name in (*IN_FIGURES, POOLED, ONE_MODEL)),
    )
    rows = tuple(row for row in whole.rows if set(row[1:]) != {"-"})
    return [whole._replace(rows=rows)]


def _field(name: str, digits: int = 4) -> Callable[[Any], str]:
    """Return what writes a field of a record."""
    return lambda one: number(getattr(one, name), digits)


def _time(name: str, scale: float = 1e3, digits: int = 3) -> Callable[[Any], str]:
    """Return what writes a field of seconds in smaller units."""

    def text(one: Timing) -> str:
        seconds = getattr(one, name)
        return "-" if seconds is None else f"{scale * seconds:,.{digits}f}"

    return text


def svm_table(found: Findings) -> Table:
    """Show calibrated support vector machines."""
    return table(
        "Log loss in bits (the true probability is uniform)",
        found.studies.machines,
        ("training rows", lambda run: f"{run.n_train:,}"),
        ("margins near ±1", lambda run: f"{run.near_one:.1%}"),
        ("Bayes", _field("bayes")),
        ("Platt", _field("platt")),
        ("isotonic", _field("isotonic")),
        ("IVAP", _field("ivap")),
    )


def timings_table(found: Findings) -> Table:
    """Show processor time on the artificial set, in milliseconds and nanoseconds."""
    return table(
        "Milliseconds of processor time (least of a few)",
        found.studies.timings,
        ("scores", lambda one: f"{one.k:,}"),
        ("np.sort", _time("sort")),
        ("IVAP, fit", _time("fit_ivap")),
        ("sorted scores, fit", _time("fit_sorted")),
        ("1,000 distinct scores, fit", _time("fit_tied")),
        ("1 positive in 1,000, fit", _time("fit_rare")),
        ("isotonic, fit", _time("fit_isotonic")),
        ("Platt, fit", _time("fit_platt")),
        ("IVAP, one query, ns", _time("query", 1e9, 1)),
        ("two regressions, ns", _time("naive_query", 1e9, 0)),
    )


def tuning_table(found: Findings) -> Table:
    """Show what choosing settings on the calibrating folds does."""
    return table(
        "Three ways to choose settings, on the same rows",
        found.studies.tuned,
        (
            "set, algorithm, method, settings chosen by",
            lambda one: f"{one.data}, {one.algorithm}, {one.method}, {one.arm}",
        ),
        ("settings", lambda one: one.settings or "-"),
        ("miscalibration", _field("miscalibration")),
        ("log loss", _field("log_loss")),
        ("Brier loss", _field("brier_loss")),
        ("p of calibration", lambda one: p_value(one.p_value)),
    )


def width_table(found: Findings) -> Table:
    """Show what the width of the bounds says."""
    return table(
        "Width of IVAP's bounds, and the squared distance (times 4) of the merged "
        "probability from isotonic regression of all test rows",
        found.studies.widths,
        ("set, algorithm", lambda one: f"{one.data}, {one.algorithm}"),
        ("width, narrowest tenth", lambda one: number(one.widths[0])),
        ("widest", lambda one: number(one.widths[-1])),
        ("distance of p, narrowest tenth", lambda one: number(one.distance[0])),
        ("widest", lambda one: number(one.distance[-1])),
        (
            "rank correlation",
            lambda one: f"{one.correlation:.2f} ({one.low:.2f} to {one.high:.2f})",
        ),
        (
            "given p (1 - p)",
            lambda one: (
                f"{one.beyond:.2f} ({one.beyond_low:.2f} to {one.beyond_high:.2f})"
            ),
        ),
        (
            "Brier loss without the widest half",
            lambda one: number(one.by_width[-1]),
        ),
        ("without the half nearest 1/2", lambda one: number(one.by_middle[-1])),
    )


def tiny_table(found: Findings) -> Table:
    """Show Brier losses on tiny sets."""

    def name(one: TinySet) -> str:
        return f"{one.data} ({one.n_rows} rows), {label(found, one.algorithm)}"

    return table(
        "Brier losses, times 4; CVAP has five folds",
        found.studies.tiny,
        ("set, algorithm", name),
        ("isotonic", _field("isotonic")),
        ("IVAP", _field("ivap")),
        (
            "IVAP \N{MINUS SIGN} isotonic",
            lambda one: change(one.ivap - one.isotonic, one.error),
        ),
        ("CVAP", _field("cvap")),
    )


def validity_table(found: Findings) -> Table:
    """Show whether observed rates agree with levels."""

    def largest(one: Validity) -> str:
        return number(max(abs(g.mean_label - g.level) for g in one.groups))

    return table(
        "Labels compared with the bound that the label selects",
        found.studies.validity,
        ("sampling", lambda one: one.how),
        ("calibration rows", lambda one: f"{one.k:,}"),
        ("draws", lambda one: f"{one.n_draws:,}"),
        ("groups", lambda one: str(len(one.groups))),
        ("chi-square", _field("chi_square", 1)),
        ("p-value", lambda one: p_value(one.p_value)),
        ("largest difference", largest),
    )


def grids_table(found: Findings) -> Table:
    """Show the algorithms, their counterparts and what was tuned."""
    settings = {unit.unit.algorithm: unit.grid for unit in found.finished}
    ours = found.engine.startswith("scikit-learn")  # its version follows
    return table(
        "Underlying algorithms and their grids",
        [one for one in ALGORITHMS.values() if one.name in settings],
        ("algorithm", lambda one: one.name),
        ("in the paper", lambda one: one.weka or "none"),
        ("here", lambda one: one.how if ours else found.engine),
        (
            "grid",
            lambda one: ", ".join(filter(None, settings[one.name])) or "not tuned",
        ),
    )


# Findings as figures, and all of them as one page of HTML that loads nothing.

TITLE = (
    "Large-scale probabilistic predictors with and without guarantees of validity: a "
    "reproduction"
)
KINDS = {"log_loss": "log", "brier_loss": "brier"}
PICTURED = (*SIX, WIDE)  # tasks with figures
OTHER_TASKS = (*THIRDS, *HALVES, COMPLETE, *IN_FILE_ORDER)
# Figures of the long version: log loss, then Brier loss.
NUMBERS = {
    task: {"log_loss": 2 * place + 1, "brier_loss": 2 * place + 2}
    for place, task in enumerate((*SIX, WIDE))
}
DRAWN = (  # all figures that a run may have
    *(f"{task}-{name}" for task in PICTURED for name in KINDS.values()),
    "calibration",
    "entropies",
    "validity",
    "widths",
    "sigmoid",
    "time",
)
PACKAGES = ("abers", "numpy", "scipy", "scikit-learn", "matplotlib")


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure of the run; `name` is that of its file."""

    section: str
    name: str
    alt: str
    sentence: str
    draw: Callable[[], Figure]

    def made(self) -> Made:
        """Draw and write it."""
        figure = self.draw()
        width, height = figure.get_size_inches()
        return Made(plots.svg(figure, transparent=True), float(width), float(height))


@dataclass(frozen=True, slots=True)
class Made:
    """An SVG in light colours without background, and its size in inches."""

    svg: str
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page."""

    title: str
    pictures: list[PageFigure]
    tables: list[Table]


def drawings(found: Findings) -> list[Drawing]:
    """List the figures that there are numbers for, section by section."""
    listed = [*_losses(found), *_losses(found, wide=True)]
    if curves := found.studies.curves:
        listed.append(
            Drawing(
                "Calibration curves",
                "calibration",
                "Calibration functions of each method over the score",
                "Planned in the authors' notes. Each method's calibration function, "
                f"fitted to {curves[0].n_rows:,} rows; IVAP merged for log loss. CVAP "
                "is no function of one score: its dots are means of fiftieths of the "
                "test rows over the mean score of its five models. The black or white "
                "line is isotonic regression on all test rows, close to the true "
                "curve; ticks at the bottom are percentiles of the calibration "
                "scores.",
                partial(figures.calibration, curves),
            )
        )
    if checked := found.studies.validity:
        listed.append(
            Drawing(
                "Empirical validity",
                "validity",
                "Observed rate minus level over the level, for four ways of sampling",
                "Observed rate minus level, where the level is the bound that the "
                "label selects; error bars are two standard errors. Only under "
                "exchangeable sampling is it guaranteed to be 0. The vertical scales "
                "differ.",
                partial(figures.validity, checked),
            )
        )
    if found.index.units(SIX, SPLIT):
        listed.append(
            Drawing(
                "Width of the bounds",
                "widths",
                "Mean width of the bounds over the number of calibration rows",
                "Mean width of IVAP's bounds, one point for each algorithm and ratio.",
                partial(figures.widths, found.index),
            )
        )
    if runs := found.studies.machines:
        listed.append(
            Drawing(
                "Limits of a sigmoid",
                "sigmoid",
                "Log loss of calibrated support vector machines over training rows",
                "As the training set grows, the margins of a support vector machine "
                "concentrate at -1 and 1, and a sigmoid of them keeps its excess loss. "
                "A gap is an infinite loss.",
                partial(figures.machines, runs),
            )
        )
    if timings := found.studies.timings:
        listed.append(
            Drawing(
                "Run time",
                "time",
                "Seconds over the number of scores, logarithmic scales",
                "Processor time to calibrate on that many artificial scores, and to "
                "answer one query; least of a few runs.",
                partial(figures.time, timings),
            )
        )
    if found.studies.machines:
        listed.append(
            Drawing(
                "Entropies",
                "entropies",
                "Gini index, its square root and Shannon entropy over the probability",
                "A figure of the authors' notes: what the best constant prediction "
                "costs, scaled to 1 at 1/2. The square root of the Brier loss, unlike "
                "the other two, is not proper.",
                figures.entropies,
            )
        )
    return listed


def _losses(found: Findings, *, wide: bool = False) -> Iterator[Drawing]:
    for task in found.index.tasks:
        if task not in PICTURED or (task == WIDE) != wide:
            continue
        for kind, name in KINDS.items():
            ours = found.engine.startswith("scikit-learn")
            numbered = NUMBERS.get(task, {}).get(kind)
            which = f"Figure {numbered} of the paper. " if numbered else ""
            yield Drawing(
                "A wide range of split ratios" if wide else "Losses by split ratio",
                f"{task}-{name}",
                f"{name.capitalize()} losses on {task}, a panel for each algorithm",
                which + figures.caption(task, kind, RECIPES[task].how),
                partial(figures.losses, found.index, task, kind, stand_ins=ours),
            )


def page(found: Findings, made: Mapping[str, Made] | None = None) -> str:
    """Show findings as a page."""
    need("matplotlib", "jinja2", extra="report", what="a page")
    import jinja2

    report = jinja2.PackageLoader("abers.report")
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [
                jinja2.PackageLoader("experiments.paper"),
                jinja2.PrefixLoader({"report": report}),
                report,
            ]
        ),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("paper.html").render(
        version=version("abers"),
        title=TITLE,
        warnings=[],
        summary=_verdict(found),
        claims=_grouped(found),
        tables=comparison_tables(found),
        differences=differences_sentence(found),
        paired=paired_tables(found),
        methods=method_tables(found),
        groups=_sections(found, made or {}),
        left_out=[*found.left_out, *found.unanswered],
        bounds_are=BOUNDS_ARE,
        grids=grids_table(found),
        facts=_facts(found),
    )


def _grouped(found: Findings) -> list[tuple[str, list[Claim]]]:
    titles = {
        PAPER: "Claims of the paper",
        NOTE: "Remarks in the authors' notes",
        FURTHER: "Further questions, of the authors and ours",
    }
    return [
        (title, [claim for claim in found.claims if claim.source == source])
        for source, title in titles.items()
    ]


def _verdict(found: Findings) -> list[str]:
    said = [verdicts_sentence(found), differences_sentence(found)]
    if found.left_out:
        said.append(f"Not run: {'; '.join(found.left_out)}.")
    return said


def _sections(found: Findings, made: Mapping[str, Made]) -> list[Section]:
    tables = {
        "Calibration": calibration_tables(found),
        "Empirical validity": [validity_table(found)],
        "Width and reliability": [width_table(found)],
        "Tuning on the calibrating folds": [tuning_table(found)],
        "Tiny data sets": [tiny_table(found)],
        "Other splits": other_splits_tables(found),
        "Width of the bounds": [bounds_table(found)],
        "Limits of a sigmoid": [svm_table(found)],
        "Run time": [timings_table(found)],
        "More than two classes": many_classes_tables(found),
    }
    drawn = drawings(found)
    titles = dict.fromkeys([*(one.section for one in drawn), *tables])
    groups = [
        Section(
            title,
            [_picture(one, made) for one in drawn if one.section == title],
            [table for table in tables.get(title, []) if table.rows],
        )
        for title in titles
    ]
    return [group for group in groups if group.pictures or group.tables]


def _picture(drawing: Drawing, drawn: Mapping[str, Made]) -> PageFigure:
    made = drawn.get(drawing.name) or drawing.made()
    return PageFigure(
        light=data_uri(made.svg),
        dark=data_uri(figures.darkened(made.svg)),
        alt=drawing.alt,
        sentence=drawing.sentence,
        width=round(made.width * PIXELS),
        height=round(made.height * PIXELS),
    )


def _other_engine(found: Findings) -> list[tuple[str, str]]:
    """Return the studies that the engine of the run did not do."""
    engine = SklearnEngine().name
    if found.studies == Studies() or found.engine == engine:
        return []
    studies = "the studies besides tables and figures of losses"
    return [("other studies", f"{studies} always use {engine}")]


def _facts(found: Findings) -> list[tuple[str, str]]:
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    sets = dict.fromkeys(RECIPES[task].data for task in found.index.tasks)
    return [
        ("date", datetime.now(UTC).date().isoformat()),
        ("code", found.commit),
        ("plan", f"{found.plan}, {len(found.finished)} units of work"),
        ("engine", found.engine),
        *_other_engine(found),
        ("seconds, all units together", f"{found.seconds:,.0f}"),
        *found.recipes,
        *(
            (f"SHA-256 of {name}", SHA256[name])
            for data in sets
            for name in READERS[data][0].files
        ),
        ("versions", f"{versions}, Python {platform.python_version()}"),
    ]
