"""The source of the site: the pages of the repository, put together for Sphinx.

`python tools/site_pages.py [folder]` writes `build/site-source`. Pages stay where they
are, readable on a code host; here each gets its place on the site, links between
pages are turned to these places, and pictures that exist for light and dark
backgrounds follow the switch of the site. A link to a page that has no place is an
error. Files that would not change are left alone, for Sphinx to see.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path, PurePosixPath

import api_reference

ROOT = Path(__file__).parent.parent
TARGET = ROOT / "build" / "site-source"

# The user guide, in the order of reading; pages of docs/ that are listed nowhere come
# last, so that none is ever missing.
GUIDE = {
    "Understand": ("bounds", "which-class", "faq", "glossary"),
    "Calibrate": (
        *("guide", "evaluation", "gallery", "formula"),
        *("costs", "prior-shift", "changing-data"),
    ),
    "Files and services": (
        *("command-line", "production", "recipes", "serving", "scaling"),
    ),
    "Beyond one score": ("streaming", "many-classes", "partial-orders", "regression"),
    "Background": ("moving", "paper", "paper-notes"),
}
NAMES = {"gallery": "Figures"}  # in menus; else the title of the page
SITE_ONLY = ("index", "start", "how-it-works")
PROJECT = (
    "benchmarks",
    "records",
    "experiments",
    "architecture",
    "contributing",
    "security",
)
MOVED = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "benchmarks/README.md": "benchmarks/index.md",
    "experiments/README.md": "experiments.md",
    "experiments/accuracy/ACCURACY.md": "benchmarks/accuracy.md",
    "docs/decisions": "records/index.md",
    "docs/decisions/README.md": "records/index.md",
}
MADE_HERE = ("api/", "examples/", "user-guide.md", "project.md")
NOT_ON_THE_SITE = ("LICENSE", "CITATION.cff", "pyproject.toml")

# Examples, in the order in which they are shown; those that are not listed come last.
EXAMPLES = (
    *("pipelines", "early_stopping", "network_logits", "language_model"),
    *("imbalanced", "rare_events", "time_series", "many_classes", "groups"),
    *("costs", "comparing_methods", "how_much_data", "weights"),
    *(
        "drift_and_alarm",
        "monitor",
        "streaming",
        "spark_local",
        "paper_toy_tables",
    ),
)

LINK = re.compile(r"(?<=\]\()(?!https?:|mailto:|#)([^)\s#]+)(#[\w-]*)?(?=\))")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)
END = re.compile(r"\n+(```|~~~)$")  # the blank line that ends a doctest
PICTURE = re.compile(
    r'<picture>\s*<source[^>]*srcset="(?P<dark>[^"]+)">\s*'
    r'<img(?=[^>]* src="(?P<light>[^"]+)")(?=[^>]* alt="(?P<alt>[^"]+)")[^>]*>'
    r"\s*</picture>"
)


class ExampleOrder:
    """The order of the examples, as sphinx-gallery asks for it."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, file: str) -> tuple[int, str]:
        """Return the place of an example."""
        name = Path(file).stem
        return (EXAMPLES.index(name) if name in EXAMPLES else len(EXAMPLES), name)


def places() -> dict[str, str]:
    """Return where each Markdown page of the repository stands on the site."""
    found = dict(MOVED)
    for path in sorted((ROOT / "docs").glob("*.md")):
        found[f"docs/{path.name}"] = path.name
    for path in sorted((ROOT / "docs" / "decisions").glob("*.md")):
        found.setdefault(f"docs/decisions/{path.name}", f"records/{path.name}")
    for path in sorted((ROOT / "benchmarks").glob("*.md")):
        found.setdefault(
            f"benchmarks/{path.name}", f"benchmarks/{path.stem.lower()}.md"
        )
    return found


def on_site(text: str, source: str, where: dict[str, str]) -> str:
    """Return a page as the site has it: links and pictures turned."""
    here = PurePosixPath(where[source])

    def turned(link: re.Match[str]) -> str:
        target, anchor = link[1], link[2] or ""
        file = os.path.normpath(f"{PurePosixPath(source).parent}/{target}")
        if file in where:
            return os.path.relpath(where[file], here.parent) + anchor
        if source.startswith("docs/") and target.startswith(MADE_HERE):
            return link[0]  # Sphinx knows whether it is there
        if file in NOT_ON_THE_SITE or (ROOT / file).is_dir():
            msg = f"{source} links to {target}, which is no page; name it as code."
        else:
            msg = f"{source} links to {target}, which is not there."
        raise SystemExit(msg)

    def both(picture: re.Match[str]) -> str:
        return "\n\n".join(
            f"```{{image}} {picture[theme]}\n:class: only-{theme}\n"
            f":alt: {picture['alt']}\n```"
            for theme in ("light", "dark")
        )

    parts = []
    end = 0
    for fence in FENCE.finditer(text):
        prose = text[end : fence.start()]
        is_code = not fence[0].startswith(("```{", "~~~{"))
        block = END.sub(r"\n\1", fence[0]) if is_code else LINK.sub(turned, fence[0])
        parts += [LINK.sub(turned, prose), block]
        end = fence.end()
    parts.append(LINK.sub(turned, text[end:]))
    return PICTURE.sub(both, "".join(parts))


def guide_page(where: dict[str, str]) -> str:
    """Return the entry of the user guide: all of its pages, in their order."""
    there = {Path(place).stem for place in where.values() if "/" not in place}
    listed = {name for names in GUIDE.values() for name in names}
    moved = {Path(place).stem for place in MOVED.values() if "/" not in place}
    left = sorted(there - listed - moved - {*SITE_ONLY, "user-guide"})
    lines = ["# User guide", "", "Every block of code is run as a test.", ""]
    for title, names in {**GUIDE, "More": tuple(left)}.items():
        own = [name for name in names if name in there]
        if own:
            entries = [f"{NAMES[n]} <{n}>" if n in NAMES else n for n in own]
            lines += [f"```{{toctree}}\n:caption: {title}\n:maxdepth: 2\n"]
            lines += [*entries, "```", ""]
    return "\n".join(lines)


def project_page() -> str:
    """Return the entry of all that is about the project itself."""
    return "\n".join(
        [
            *("# Project", ""),
            "How fast and how accurate it is, why things are as they are, how to help.",
            *("", "```{toctree}", ":maxdepth: 1", ""),
            *(f"{name}/index" for name in PROJECT[:2]),
            *PROJECT[2:],
            *("```", ""),
        ]
    )


def records_page() -> str:
    """Return the list of decision records."""
    return (
        "# Decision records\n\nWhy things are as they are: the question, the choice "
        "and its price, half a page each.\n\n"
        "```{toctree}\n:glob:\n:maxdepth: 1\n\n0*\n```\n"
    )


def table_of(page: str, title: str) -> list[list[str]]:
    """Return the cells of the first table after a heading, its head first."""
    text = (ROOT / page).read_text().partition(f"\n{title}\n")[2]
    rows = []
    for line in text.splitlines():
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
        elif rows:
            break
    if not rows:
        msg = f"{page} has no table after {title!r}."
        raise SystemExit(msg)
    return [row for row in rows if set("".join(row)) - set("-: ")]


def speed_table() -> str:
    """Return the landing page's table of speed, from the measured one."""
    head, *rows = table_of("benchmarks/README.md", "### normal")
    sizes = {"1e+04": "10,000", "1e+05": "100,000", "1e+06": "1,000,000"}
    columns = [head.index(size) for size in sizes]
    shown = {
        "abers": "**abers**, exact",
        "sklearn IsotonicRegression": "scikit-learn isotonic, no bounds",
        "venn-abers": "venn-abers",
        "MAPIE": "MAPIE",
        "np.sort": "np.sort, for scale",
    }
    found = {row[0]: [row[place] for place in columns] for row in rows}
    lines = [f"| rows | {' | '.join(sizes.values())} |", "|---|" + "--:|" * len(sizes)]
    for name, title in shown.items():
        cells = [cell.split(" (")[0] for cell in found[name]]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def accuracy_table() -> str:
    """Return the landing page's table of accuracy by classifier, from the study's."""
    shown = {
        "CalibratedClassifier": "**abers**, `CalibratedClassifier`",
        "CVAP, pooled": '**abers**, `CVAPClassifier(merge="pooled")`',
        "sigmoid (scikit-learn)": "scikit-learn sigmoid",
        "isotonic (scikit-learn)": "scikit-learn isotonic",
        "temperature (scikit-learn)": "scikit-learn temperature",
    }
    study = "experiments/accuracy/ACCURACY.md"
    head, *rows = table_of(
        study, "### K models, two classes: log loss of all methods by model and size"
    )
    places = [place for place, name in enumerate(head) if name.endswith("(70)")]
    many_head, *many_rows = table_of(study, "## K models, many classes")
    many = {
        row[0].strip("*"): row[many_head.index("mean excess")].split(" ±")[0]
        for row in many_rows
    }
    excess = {row[0].strip("*"): row for row in rows}
    names = [head[place].removesuffix(" (70)") for place in places]
    lines = [
        f"| | {' | '.join(names)} | all, 3 to 20 classes |",
        "|---|" + "--:|" * (len(places) + 1),
    ]
    for name, title in shown.items():
        cells = [excess[name][place].split(" / ")[1] for place in places]
        lines.append(f"| {title} | {' | '.join((*cells, many[name]))} |")
    return "\n".join(lines)


def source_files() -> dict[str, str]:
    """Return the text of every page of the site that is not an example."""
    where = places()
    made = dict(api_reference.pages())
    made["user-guide.md"] = guide_page(where)
    made["project.md"] = project_page()
    made["records/index.md"] = records_page()
    for source, place in where.items():
        path = ROOT / source
        if path.suffix == ".md" and path.is_file() and source != "README.md":
            made[place] = on_site(path.read_text(), source, where)
            if place.startswith("records/"):  # searches are for those who use abers
                made[place] = f"---\nnosearch: true\n---\n\n{made[place]}"
    made["benchmarks/index.md"] += (
        "\n```{toctree}\n:glob:\n:hidden:\n\n*\n```\n"  # the other tables
    )
    made["index.md"] = (
        made["index.md"]
        .replace("<!-- speed -->", speed_table())
        .replace("<!-- accuracy -->", accuracy_table())
    )
    return made


def main() -> None:
    """Write what has changed, copy pictures, and remove what is no longer there."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    folder.mkdir(parents=True, exist_ok=True)
    made = source_files()
    for place, text in made.items():
        file = folder / place
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() or file.read_text() != text:
            file.write_text(text)
    for pictures in (path for path in (ROOT / "docs").iterdir() if path.is_dir()):
        if any(pictures.glob("*.svg")) and pictures.name != "_static":
            shutil.copytree(pictures, folder / pictures.name, dirs_exist_ok=True)
    there = {path.stem for path in (ROOT / "examples").glob("*.py")}
    for file in (folder / "examples").glob("*.rst"):
        if file.stem not in there | {"index", "sg_execution_times"}:
            file.unlink()
    for file in folder.rglob("*"):
        place = file.relative_to(folder).as_posix()
        is_page = file.suffix in {".md", ".rst"} and not place.startswith("examples/")
        if is_page and place not in made:
            file.unlink()


if __name__ == "__main__":
    main()
