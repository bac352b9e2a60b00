"""The page: all findings as one page of HTML that loads nothing."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING

from abers.errors import need
from abers.paper import figures, showing
from abers.paper.claims.places import PERMUTED, SPLIT
from abers.paper.figures.panels import caption
from abers.paper.plans import TABLES, WIDE
from abers.paper.standins import StandIns
from abers.paper.studies import Studies
from abers.paper.tasks import RECIPES, SIX
from abers.report.figures import PIXELS, Picture, data_uri

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from matplotlib.figure import Figure

    from abers.paper.findings import Findings
    from abers.report.number_tables import Table

TITLE = "Venn-Abers predictors: the paper, run again"
KINDS = {"log_loss": "log", "brier_loss": "brier"}
DRAWN = (  # all figures that a run may have
    *(f"{task}-{name}" for task in RECIPES for name in KINDS.values()),
    "calibration",
    "validity",
    "widths",
    "sigmoid",
    "time",
)
PACKAGES = ("abers", "numpy", "scipy", "scikit-learn", "matplotlib")


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure of the run; `name` is that of its file."""

    name: str
    alt: str
    sentence: str
    draw: Callable[[], Figure]

    def made(self) -> Made:
        """Draw and write it."""
        figure = self.draw()
        width, height = figure.get_size_inches()
        return Made(figures.svg(figure), float(width), float(height))


@dataclass(frozen=True, slots=True)
class Made:
    """An SVG in light colours without background, and its size in inches."""

    svg: str
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Group:
    """A part of the page."""

    title: str
    pictures: list[Picture]
    tables: list[Table]


def drawings(found: Findings) -> dict[str, list[Drawing]]:
    """List the figures of a run, by the part of the page that shows them.

    Parameters
    ----------
    found : Findings
        What to draw.

    Returns
    -------
    dict of list of Drawing
        Only those that there are numbers for.
    """
    listed = {
        "Losses over the ratios": list(_losses(found)),
        "A wide range of ratios": list(_losses(found, wide=True)),
        "Calibration pictures": list(_calibration(found)),
        "Validity on data": list(_validity(found)),
        "The bounds": list(_widths(found)),
        "What a sigmoid cannot learn": list(_machines(found)),
        "Time": list(_time(found)),
    }
    return {title: some for title, some in listed.items() if some}


def _losses(found: Findings, *, wide: bool = False) -> Iterator[Drawing]:
    for task in found.ledger.tasks:
        if task == TABLES or (task == WIDE) != wide:
            continue
        for kind, name in KINDS.items():
            yield Drawing(
                f"{task}-{name}",
                f"{name.capitalize()} losses on {task}, a panel for each algorithm",
                caption(task, kind, RECIPES[task].how),
                partial(figures.losses, found.ledger, task, kind),
            )


def _calibration(found: Findings) -> Iterator[Drawing]:
    if curves := found.studies.curves:
        yield Drawing(
            "calibration",
            "Calibration functions of each method over the score",
            f"What each method makes of a score, fitted to {curves[0].n_rows:,} rows. "
            "The black or white line is isotonic regression of all test rows, nearly "
            "the truth; strokes below are percentiles of the calibration scores.",
            partial(figures.calibration, curves),
        )


def _validity(found: Findings) -> Iterator[Drawing]:
    if checked := found.studies.validity:
        yield Drawing(
            "validity",
            "Mean label minus level over the level, four ways of drawing rows",
            "Mean label minus level, where the level is the bound that the label "
            "selects; whiskers are two standard errors. Only exchangeable draws are "
            "promised to lie on 0. The scales differ.",
            partial(figures.validity, checked),
        )


def _widths(found: Findings) -> Iterator[Drawing]:
    if found.ledger.units((*SIX, PERMUTED), SPLIT):
        yield Drawing(
            "widths",
            "Mean width of the bounds over the number of calibration rows",
            "Mean width of IVAP's bounds; each mark is an algorithm and a ratio.",
            partial(figures.widths, found.ledger),
        )


def _machines(found: Findings) -> Iterator[Drawing]:
    if runs := found.studies.machines:
        yield Drawing(
            "sigmoid",
            "Log loss of calibrated support vector machines over training rows",
            "Margins of a support vector machine gather at -1 and 1 as rows grow in "
            "number; a sigmoid of them keeps losing. A gap is an infinite loss.",
            partial(figures.machines, runs),
        )


def _time(found: Findings) -> Iterator[Drawing]:
    if timings := found.studies.timings:
        yield Drawing(
            "time",
            "Seconds over the number of scores, logarithmic scales",
            "Seconds to calibrate with so many scores of the artificial set, and to "
            "predict as many; the least of three.",
            partial(figures.time, timings),
        )


def page(found: Findings, made: Mapping[str, Made] | None = None) -> str:
    """Show findings as a page.

    Parameters
    ----------
    found : Findings
        What to show.
    made : mapping of Made, default=None
        Figures by name, if they are there already.

    Returns
    -------
    str
        A whole page that loads nothing.
    """
    need("matplotlib", "jinja2", extra="paper", what="a page")
    import jinja2

    report = jinja2.PackageLoader("abers.report")
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [
                jinja2.PackageLoader("abers.paper"),
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
        verdict=_verdict(found),
        claims=found.claims,
        tables=showing.compared(found),
        distances=showing.distances(found),
        methods=showing.methods(found),
        groups=_groups(found, made or {}),
        left_out=[*found.left_out, *found.unanswered],
        grids=showing.grids(found),
        facts=_facts(found),
    )


def _verdict(found: Findings) -> list[str]:
    said = [showing.verdicts(found), showing.distances(found)]
    if found.left_out:
        said.append(f"Not run: {'; '.join(found.left_out)}.")
    return said


def _groups(found: Findings, made: Mapping[str, Made]) -> list[Group]:
    tables = {
        "Validity on data": [showing.validity(found)],
        "The bounds": [showing.bounds(found)],
        "What a sigmoid cannot learn": [showing.machines(found)],
        "Time": [showing.timings(found)],
        "Many classes": showing.many_classes(found),
    }
    drawn = drawings(found)
    titles = dict.fromkeys([*drawn, *tables])
    groups = [
        Group(
            title,
            [_picture(d, made.get(d.name) or d.made()) for d in drawn.get(title, [])],
            [table for table in tables.get(title, []) if table.rows],
        )
        for title in titles
    ]
    return [group for group in groups if group.pictures or group.tables]


def _picture(drawing: Drawing, made: Made) -> Picture:
    return Picture(
        light=data_uri(made.svg),
        dark=data_uri(figures.darkened(made.svg)),
        alt=drawing.alt,
        sentence=drawing.sentence,
        width=round(made.width * PIXELS),
        height=round(made.height * PIXELS),
    )


def _beside(found: Findings) -> list[tuple[str, str]]:
    """Say what the engine of the run has not done."""
    engine = StandIns().name
    if found.studies == Studies() or found.engine == engine:
        return []
    studies = "calibration pictures, validity, sigmoid, time and many classes"
    return [("studies beside the losses", f"{studies} are always by {engine}")]


def _facts(found: Findings) -> list[tuple[str, str]]:
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return [
        ("plan", f"{found.plan}, {len(found.finished)} units of work"),
        ("algorithms of", found.engine),
        *_beside(found),
        ("seconds, one after the other", f"{found.seconds:,.0f}"),
        *found.recipes,
        ("versions", f"{versions}, Python {platform.python_version()}"),
    ]
