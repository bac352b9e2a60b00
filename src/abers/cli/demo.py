"""`abers demo`: the commands, in turn, on the scores of a real classifier."""

from __future__ import annotations

import csv
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from abers.cli import options, printer
from abers.cli.commands import command
from abers.cli.exits import CHECK_FAILED, FAILED, FINE, keeping
from abers.errors import OutputExists, need

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

    from abers.validation import FloatArray, IntArray

FOLDER = "demo-abers"
TABLES = ("calibration", "recent", "new", "pale")
PAGE = "demo-report.html"
SHOWN = (0.5, 0.75, 0.9, 0.95, 1)  # rows to show, by the rank of their score
EIGHT = 8
# Of 1,797 images: the first 397 train, the last 200 are new.
CUTS = {"calibration": 397, "recent": 1197, "new": 1597}
PALE = 0.5  # share of ink left when the scanner fades


class Step(NamedTuple):
    """A command, its purpose, the file it writes, and its exit code."""

    why: str
    command: str
    makes: str | None = None
    code: int = FINE


FIT = Step(
    "Learn from the images whose digit is known: fit a rule.",
    "abers fit calibration.csv -o rule.abers --method venn-abers",
    makes="rule.abers",
)
PREDICT = Step(
    "Apply it to new images: each row gets lower, upper and probability.",
    "abers predict rule.abers new.csv -o out.csv",
    makes="out.csv",
)
REST = (
    Step(
        "Later the digits of some more images are known. Is the rule still calibrated?",
        "abers check rule.abers recent.csv --max-ece 0.05",
    ),
    Step(
        "The scanner fades. The check fails, and the exit code is 3.",
        "abers check rule.abers pale.csv",
        code=CHECK_FAILED,
    ),
    Step(
        "How good is it? Evaluate it on held-out rows, and write a page.",
        f"abers evaluate rule.abers recent.csv --by ink --html {PAGE}",
        makes=PAGE,
    ),
    Step(
        "Would another method do better? Compare them by cross-validation. The "
        "sigmoid (Platt) suits these scores and comes first, but 82 eights are too "
        "few to tell the first four methods apart.",
        "abers compare calibration.csv",
    ),
)


@command()
@click.option(
    "--folder",
    metavar="FOLDER",
    type=options.FOLDER,
    default=FOLDER,
    help="Folder to write to.",
)
@click.option("--files", is_flag=True, help="Write the tables only; run no commands.")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
def demo(folder: str, *, files: bool, force: bool) -> None:
    """Write small tables of real scores, and run the commands on them.

    A naive Bayes classifier was asked which handwritten digits are eights. It orders
    them well, but its probabilities are far off. Each command is printed before it
    runs, so that you can repeat it.
    """
    target = Path(folder)
    if not files:
        need("matplotlib", "jinja2", extra="report", what="the page of abers demo")
    written = [f"{name}.csv" for name in TABLES]
    made = [step.makes for step in (FIT, PREDICT, *REST) if step.makes]
    if not force:
        _refuse_existing(target, written if files else [*written, *made])
    tables = _write_tables(target)
    if files:
        printer.sentence(f"Written into {str(target)!r}: {' '.join(written)}")
        return
    with keeping(f"what is done so far is in {target}"):
        _run_all(target, tables, force=force)


@dataclass(frozen=True, slots=True, eq=False)
class ScoredImages:
    """Images with the scores of a classifier."""

    images: IntArray  # their numbers in the data
    ink: NDArray[np.str_]  # "thick": more ink than the median of the trained; or "thin"
    scores: FloatArray  # naive Bayes' probability of an eight
    labels: IntArray  # 1 for an eight


def scored_digits(seed: int = EIGHT) -> dict[str, ScoredImages]:
    """Score handwritten digits with naive Bayes, by whether they are eights.

    Returns "calibration", "recent" and "new" images, and the recent ones as "pale"
    images, after the scanner has faded. None was used for training, and the seed
    determines the split. The data are those of `sklearn.datasets.load_digits`, 1,797
    images of 8 x 8 pixels. Naive Bayes treats pixels as independent, counts the same
    evidence many times, and is far too confident; it still ranks images well.

    >>> recent = scored_digits()["recent"]
    >>> f"predicted {recent.scores.mean():.2f}, observed {recent.labels.mean():.2f}"
    'predicted 0.18, observed 0.10'
    """
    import numpy as np
    from scipy.special import expit
    from sklearn.datasets import load_digits
    from sklearn.naive_bayes import GaussianNB

    pixels, digits = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(digits.size)
    train, *parts = np.split(order, list(CUTS.values()))
    darkness = pixels.mean(axis=1)
    ink = np.where(darkness > np.median(darkness[train]), "thick", "thin")
    labels = (digits == EIGHT).astype(np.int64)
    model = GaussianNB(var_smoothing=0.1).fit(pixels[train], labels[train])

    def scored(rows: IntArray, shade: float = 1.0) -> ScoredImages:
        of_others, of_eights = model.predict_log_proba(pixels[rows] * shade).T
        # Rounded, so that every machine writes the same tables.
        scores = expit((of_eights - of_others).round(4))
        return ScoredImages(rows, ink[rows], scores, labels[rows])

    tables: dict[str, Any] = dict(zip(CUTS, map(scored, parts), strict=True))
    return tables | {"pale": scored(parts[1], PALE)}


def _run_all(folder: Path, tables: dict[str, ScoredImages], *, force: bool) -> None:
    recent = tables["recent"]
    printer.sentence(
        "Naive Bayes was asked of handwritten digits: is it an eight? Of the images in "
        f"recent.csv it predicts {recent.scores.mean():.0%} eights on average; "
        f"{recent.labels.mean():.0%} are eights."
    )
    printer.sentence("")
    for line in _way_to(folder):
        _type(line)
    for step in (FIT, PREDICT):
        _run(step, folder, force=force)
    _show(folder / "out.csv")
    for step in REST:
        _run(step, folder, force=force)
    printer.sentence("")
    printer.sentence(
        f"Open {folder / PAGE} in a browser. `abers --help` lists the commands."
    )


def _refuse_existing(folder: Path, names: Iterable[str]) -> None:
    """Raise if anything would be replaced."""
    for path in (folder / name for name in names):
        if path.exists():
            msg = (
                f"{str(path)!r} exists; overwrite it with --force, or choose another "
                "folder with --folder."
            )
            raise OutputExists(msg)


def _write_tables(folder: Path) -> dict[str, ScoredImages]:
    """Write the tables; new images have no labels."""
    tables = scored_digits()
    folder.mkdir(parents=True, exist_ok=True)
    for name in TABLES:
        table = tables[name]
        scores = [f"{score:.9g}" for score in table.scores]
        columns = {"image": table.images, "ink": table.ink, "score": scores}
        if name != "new":
            columns["label"] = table.labels
        rows = zip(*columns.values(), strict=True)
        with (folder / f"{name}.csv").open("w", newline="") as file:
            lines = csv.writer(file, lineterminator="\n")
            lines.writerows([tuple(columns), *rows])
    return tables


def _way_to(folder: Path) -> Iterable[str]:
    """Yield what to type to repeat the commands below."""
    program = Path(sys.executable).with_name("abers")
    if shutil.which("abers") != str(program):
        yield f"alias abers={shlex.quote(str(program))}"
    yield f"cd {shlex.quote(str(folder))}"


def _run(step: Step, folder: Path, *, force: bool) -> None:
    """Print the purpose and the command, run it, and stop the demo if it fails."""
    printer.sentence("")
    printer.sentence(step.why)
    command = step.command
    if force and step.makes and (folder / step.makes).exists():
        command += " --force"
    _type(command)
    program, *arguments = shlex.split(command)
    done = subprocess.run(  # noqa: S603 (our own command, from the table above)
        [sys.executable, "-P", "-m", f"{program}.cli", *arguments],
        cwd=folder,
        stderr=subprocess.STDOUT,  # in one stream, messages appear in the right place
        check=False,
    )
    if step.code:
        _type("echo $?")
        printer.sentence(str(done.returncode))
    if done.returncode != step.code:
        sys.exit(done.returncode or FAILED)


def _show(path: Path) -> None:
    """Print a few rows of a table, rounded."""
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    rows.sort(key=lambda row: float(row[2]))
    chosen = [rows[round(rank * (len(rows) - 1))] for rank in SHOWN]
    rounded = [
        [*row[:2], *(f"{float(cell):.4f}" for cell in row[2:])] for row in chosen
    ]
    printer.sentence(f"Some rows of {path.name}, rounded:")
    for image, ink, *cells in (header, *rounded):
        printer.line(
            f"  {image:>5}  {ink:<5}" + "".join(f"{cell:>13}" for cell in cells)
        )


def _type(line: str) -> None:
    """Print a line as typed in a shell, unbroken, for copying."""
    printer.line(f"$ {line}", "bold")
    sys.stdout.flush()  # before a command writes
