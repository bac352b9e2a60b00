"""The output folder: findings as files, in a folder of their own."""

from __future__ import annotations

import csv
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING

from abers.errors import OutputExists
from experiments.paper.claims import Claim
from experiments.paper.paper_figures import darkened, on_paper
from experiments.paper.reproduction_page import DRAWN, drawings, page
from experiments.paper.results import TABLE_METHODS
from experiments.paper.run import Result

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from typing import Any

    from experiments.paper.reproduction import Findings
    from experiments.paper.reproduction_page import Made

JOURNAL = "units.jsonl"  # finished units of work: a run goes on from here
STUDIES = "studies.jsonl"
PAGE = "paper.html"
FIGURES = "figures"
TABLES = {"log_loss": "table-1.csv", "brier_loss": "table-2.csv"}
ERRORS = "standard-errors.csv"
ALWAYS = (
    "results.csv",
    "claims.csv",
    ERRORS,
    *TABLES.values(),
    PAGE,
)  # every run writes them
STUDIED = (
    "sigmoid.csv",
    "time.csv",
    "many-classes.csv",
    "tiny-sets.csv",
    "tuning.csv",
    "width.csv",
    "validity.csv",
)


def prepare(folder: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Make the folder of a run, or find an earlier run in it.

    An earlier run is known by its journals, or by all that every run writes; a folder
    of something else is refused. `force` takes any folder and removes the journals.
    """
    path = Path(folder)
    if path.exists() and not path.is_dir():
        msg = f"the output must be a folder; {str(folder)!r} is a file."
        raise OutputExists(msg)
    journals = [path / JOURNAL, path / STUDIES]
    filled = path.is_dir() and any(path.iterdir())
    ours = _is_written(path) or any(journal.exists() for journal in journals)
    if filled and not ours and not force:
        msg = (
            f"the output must be a new or empty folder, or that of an earlier run; "
            f"{str(folder)!r} holds something else. Choose another with -o, or pass "
            "--force."
        )
        raise OutputExists(msg)
    path.mkdir(parents=True, exist_ok=True)
    if force:
        for journal in journals:
            journal.unlink(missing_ok=True)
    return path


def _is_written(path: Path) -> bool:
    """Return whether a folder has every file that a run writes, and so is ours."""
    return all((path / name).exists() for name in ALWAYS)


def write(found: Findings, folder: str | os.PathLike[str]) -> list[Path]:
    """Write tables, figures and the page; return the files.

    Files of an earlier run are replaced, and removed if this run has none of that
    name. Other files are left alone.
    """
    path = Path(folder)
    again = _is_written(path)
    written = [
        write_records(path / "results.csv", Result, found.results),
        write_records(path / "claims.csv", Claim, found.claims),
        _errors(found, path),
    ]
    made = {drawing.name: drawing.made() for drawing in drawings(found)}
    written += _tables(found, path) + _studies(found, path) + _figures(made, path)
    (path / PAGE).write_text(page(found, made), encoding="utf-8")
    if again:
        _remove_others(path, written)
    return [*written, path / PAGE]


def _errors(found: Findings, path: Path) -> Path:
    """Write the paired standard errors, a row for each unit and pair of methods."""
    head = ["data", "algorithm", "ratio", "first", "second", "log_loss", "brier_loss"]
    lines = [
        [*asdict(done.unit).values(), *asdict(one).values()]
        for done in found.finished
        for one in done.errors
    ]
    return _csv(path / ERRORS, head, lines)


def _remove_others(path: Path, written: list[Path]) -> None:
    """Remove what another plan has written here; of our names only."""
    known = [path / name for name in STUDIED]
    known += [file for name in DRAWN for file in _pictures(path, name)]
    for file in known:
        if file not in written and file.is_file():
            file.unlink()


def _pictures(path: Path, name: str) -> tuple[Path, Path]:
    folder = path / FIGURES
    return folder / f"{name}.svg", folder / f"{name}-dark.svg"


def _tables(found: Findings, path: Path) -> list[Path]:
    """Write Tables 1 and 2: paper, ours and difference of each method in a row."""
    written = []
    for loss, name in TABLES.items():
        cells = [cell for cell in found.cells if cell.loss == loss]
        head = ["algorithm", "weka"]
        for method in TABLE_METHODS:
            head += [f"{method} {what}" for what in ("paper", "ours", "difference")]
        rows: dict[tuple[str, str], list[Any]] = {}
        for cell in cells:
            row = rows.setdefault((cell.algorithm, cell.weka), [])
            row += [cell.paper, cell.ours, cell.difference]
        lines = [[*names, *row] for names, row in rows.items()]
        written.append(_csv(path / name, head, lines))
    return written


def _studies(found: Findings, path: Path) -> list[Path]:
    studies = found.studies
    flat: dict[str, Sequence[Any]] = {
        "sigmoid.csv": studies.machines,
        "time.csv": studies.timings,
        "many-classes.csv": studies.classes,
        "tiny-sets.csv": studies.tiny,
        "tuning.csv": studies.tuned,
        "width.csv": studies.widths,
    }
    written = [
        write_records(path / name, type(entries[0]), entries)
        for name, entries in flat.items()
        if entries
    ]
    if checked := (*studies.validity, *studies.tuned_validity):
        head = ["how", "k", "draws", "p_value", "level", "mean_label", "count", "z"]
        lines = [
            [one.how, one.k, one.n_draws, one.p_value, *asdict(group).values()]
            for one in checked
            for group in one.groups
        ]
        written.append(_csv(path / "validity.csv", head, lines))
    return written


def _figures(made: Mapping[str, Made], path: Path) -> list[Path]:
    (path / FIGURES).mkdir(exist_ok=True)
    written = []
    for name, one in made.items():
        light, dark = _pictures(path, name)
        light.write_text(on_paper(one.svg, "light"), encoding="utf-8")
        text = on_paper(darkened(one.svg), "dark")
        dark.write_text(text, encoding="utf-8")
        written += [light, dark]
    return written


def write_records(path: Path, kind: type[Any], records: Sequence[Any]) -> Path:
    """Write dataclasses as a table, one row each, all digits."""
    head = [field.name for field in fields(kind)]
    return _csv(path, head, [list(asdict(record).values()) for record in records])


def _csv(path: Path, head: list[str], lines: list[list[Any]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(lines)
    return path
