"""The API reference: which public name stands in which section, as pages for Sphinx.

Sections list what belongs together. Public names that no section lists come into the
last one, so that none is ever missing.
"""

from __future__ import annotations

import importlib
import inspect
from dataclasses import dataclass
from functools import cache
from typing import Any

import abers

ALL = ("*",)


@dataclass(frozen=True, eq=False)
class Section:
    """A page of the reference: names by the module that offers them."""

    file: str
    title: str
    text: str
    names: dict[str, tuple[str, ...]]


SECTIONS = (
    Section(
        "rules",
        "Rules and diagrams",
        "From scores and labels to bounds. A *rule* is the calibration map, and all "
        "that prediction needs; a *diagram* counts a calibration set, and diagrams "
        "add up.",
        {
            "abers": ("fit_rule", "fit_rules", "fit_stacked_rule", "load"),
            "abers.rules": (
                *("Rule", "RuleSet", "StackedRule"),
                *("fit_pooled_rule", "PooledRule"),
                *("Diagram", "fit_rule_from_diagram", "fit_stacked_rule_from_diagram"),
                *("adjust_prior", "estimate_prior", "PriorEstimate"),
            ),
        },
    ),
    Section(
        "estimators",
        "Classifiers and calibrators",
        "Venn-Abers prediction with the manners of scikit-learn: classifiers wrap a "
        "model, calibrators take its scores.",
        {
            "abers": (
                *("CalibratedClassifier", "CVAPClassifier", "IVAPClassifier"),
                *("StackedCalibrator", "IVAPCalibrator"),
                *("PlattCalibrator", "IsotonicCalibrator"),
                *("TemperatureCalibrator", "BetaCalibrator"),
            ),
            "abers.rules": ("SKOPS_TYPES",),
        },
    ),
    Section(
        "evaluation",
        "Evaluation",
        "How good probabilities are on held-out rows, which method is best, and "
        "whether a rule still holds.",
        {
            "abers": ("evaluate", "compare", "check"),
            "abers.comparison": ALL,
            "abers.evaluation": ALL,
            "abers.evaluation.reliability": ALL,
        },
    ),
    Section(
        "decisions",
        "Decisions",
        "To act, to refuse or to refer, and what that costs.",
        {"abers": ("decide",), "abers.rules": ("Decisions",)},
    ),
    Section(
        "online",
        "Streams",
        "Calibration sets that change all the time.",
        {
            "abers": ("OnlineVennAbers", "Monitor", "Protected"),
            "abers.online": ALL,
        },
    ),
    Section(
        "partial-orders",
        "Partially ordered scores",
        "Several scores at once, none of which decides alone.",
        {"abers.rules": ("fit_poset_rule", "PosetRule")},
    ),
    Section(
        "regression",
        "Regression",
        "Bounds for the mean of a bounded target.",
        {
            "abers": ("IVAPRegressor", "CVAPRegressor"),
            "abers.rules": ("fit_regression_rule", "RegressionRule"),
        },
    ),
    Section(
        "plots",
        "Figures",
        "Displays in the manner of scikit-learn: `from_…` computes and draws, and "
        '`ax_` and `figure_` hold the picture. `pip install "abers[plot]"` brings '
        "matplotlib.",
        {"abers.plots": ALL},
    ),
    Section(
        "merging",
        "Merging and losses",
        "From bounds to one probability, from pairs of classes to classes, and what "
        "a prediction costs on the paper's scales.",
        {
            "abers.rules": ("log_minimax", "brier_minimax", "merge_folds", "couple"),
            "abers.losses": ALL,
        },
    ),
    Section(
        "tables",
        "Files",
        "What the command `abers` does with files, from Python.",
        {"abers.tables": ALL},
    ),
    Section(
        "engines",
        "Spark and Dask",
        "The same rule, to the last bit, where the rows are. "
        '`pip install "abers[spark]"` and `"abers[dask]"` bring what they need.',
        {"abers.engines.spark": ALL, "abers.engines.dask": ALL},
    ),
    Section(
        "export",
        "Export",
        "A rule for programs that do not run Python, to the last bit.",
        {"abers.export": ALL},
    ),
    Section(
        "formula",
        "Formulas",
        "The interface that the paper's appendix plans for R, on data frames. "
        '`pip install "abers[formula]"` brings what it needs.',
        {"abers.formula": ALL},
    ),
    Section(
        "errors",
        "Errors",
        "Each says in one sentence what must hold, what came, and what to do. All "
        "derive from `AbersError`, and from the exception of Python that users know.",
        {"abers": ("AbersError",), "abers.errors": ALL},
    ),
)
FURTHER = Section("further", "Further names", "What else is public.", {})

# Constants have no docstring that Sphinx could read.
CONSTANTS = {
    "METHODS": "The methods that `abers.compare` knows, by name.",
    "SKOPS_TYPES": "Names of the types that `skops.io.load` must trust to load what "
    "abers fits: rules, rule sets, pooled rules, diagrams and estimators.",
    "__version__": "The version of abers that is installed, as text.",
}
WORDS = ("Fit", "auc", "steps", "svg")  # that may mean something else in a sentence
SPECIFICATION = "abers.reference"  # to be read beside the paper: one page of its own


def public_modules() -> list[str]:
    """Return the modules that are offered, engines among them."""
    modules = [
        f"abers.{name}"
        for name in abers.__all__
        if inspect.ismodule(getattr(abers, name))
    ]
    listed = [
        module
        for section in SECTIONS
        for module, names in section.names.items()
        if names == ALL
    ]
    found = dict.fromkeys(["abers", *modules, *listed])
    return [module for module in found if module != SPECIFICATION]


def public_names(module: str) -> list[str]:
    """Return what a module offers: its `__all__`, else the classes defined in it."""
    home = importlib.import_module(module)
    offered = getattr(home, "__all__", None)
    if offered is None:
        offered = [
            name
            for name, thing in vars(home).items()
            if _is_documented(thing) and thing.__module__ == module and name[0] != "_"
        ]
    return [name for name in offered if not inspect.ismodule(getattr(home, name))]


def _is_documented(thing: object) -> bool:
    return inspect.isclass(thing) or inspect.isfunction(thing)


@cache
def contents() -> dict[Section, tuple[str, ...]]:
    """Return the full names of each section, each object once."""
    found: dict[Section, tuple[str, ...]] = {}
    seen: set[int] = set()

    def take(module: str, names: list[str]) -> list[str]:
        taken = []
        for name in names:
            thing = getattr(importlib.import_module(module), name)
            if id(thing) not in seen:
                seen.add(id(thing))
                taken.append(f"{module}.{name}")
        return taken

    for section in SECTIONS:
        full = []
        for module, wanted in section.names.items():
            there = public_names(module)
            names = there if wanted == ALL else [n for n in wanted if _has(module, n)]
            full += take(module, names)
        if full:
            found[section] = tuple(full)
    left = [name for m in public_modules() for name in take(m, public_names(m))]
    if left:
        found[FURTHER] = tuple(left)
    return found


def _has(module: str, name: str) -> bool:
    return hasattr(importlib.import_module(module), name)


def resolved(full: str) -> Any:
    """Return the object behind a full name."""
    module, _, name = full.rpartition(".")
    return getattr(importlib.import_module(module), name)


def members(full: str) -> dict[str, str]:
    """Return the public methods and properties that abers gives a class, by kind."""
    owner = resolved(full)
    found = {}
    for name, thing in inspect.getmembers_static(owner):
        inner = thing.fget if isinstance(thing, property) else thing
        inner = getattr(inner, "__func__", inner)
        if (
            name[0] != "_"
            and inspect.isfunction(inner)
            and inner.__module__.startswith("abers")
        ):
            found[name] = "property" if isinstance(thing, property) else "method"
    return found


@cache
def links() -> dict[str, str]:
    """Return what pages call public names, and the names to link to.

    Without its module, a name is that of `abers` itself or of one module alone.
    """
    full_names = [full for names in contents().values() for full in names]
    found: dict[str, str] = {}
    for full in full_names:
        found[full] = full
        module, _, name = full.rpartition(".")
        short = [other for other in full_names if other.rpartition(".")[2] == name]
        lead = module == "abers" or (len(short) == 1 and name not in WORDS)
        for shown in (name, full.removeprefix("abers.")) if lead else ():
            found[shown] = full
        if inspect.isclass(resolved(full)):
            for member in members(full):
                for owner in (full, name) if lead else (full,):
                    found[f"{owner}.{member}"] = f"{full}.{member}"
    return found


def section_page(section: Section, names: tuple[str, ...]) -> str:
    """Return the page of a section: a table of its names, by module."""
    lines = [section.title, "=" * len(section.title), "", section.text, ""]
    for module in dict.fromkeys(full.rpartition(".")[0] for full in names):
        own = [full for full in names if full.rpartition(".")[0] == module]
        lines += [f".. rubric:: {module}", "", f".. currentmodule:: {module}", ""]
        rows = [full for full in own if _is_documented(resolved(full))]
        if rows:
            lines += [".. autosummary::", ""]
            lines += [f"   {full.rpartition('.')[2]}" for full in rows] + [""]
        for full in own:
            if full not in rows:
                name = full.rpartition(".")[2]
                lines += [
                    f".. py:data:: {name}",
                    "",
                    f"   {CONSTANTS.get(name, '')}",
                    "",
                ]
    pages = [full for full in names if _is_documented(resolved(full))]
    lines += [".. toctree::", "   :hidden:", ""]
    lines += [f"   {full} <{full}>" for full in pages]
    return "\n".join(lines) + "\n"


def object_page(full: str) -> str:
    """Return the page of one function or class."""
    module, _, name = full.rpartition(".")
    lines = [full, "=" * len(full), "", f".. currentmodule:: {module}", ""]
    if inspect.isfunction(resolved(full)):
        lines += [f".. autofunction:: {name}", ""]
    else:
        kind = "exception" if issubclass(resolved(full), BaseException) else "class"
        lines += [f".. auto{kind}:: {name}", ""]
        found = members(full)
        for kind, title in (("property", "Properties"), ("method", "Methods")):
            own = [member for member, its in found.items() if its == kind]
            if own:
                lines += [f".. rubric:: {title}", "", ".. autosummary::", ""]
                lines += [f"   {name}.{member}" for member in own] + [""]
                for member in own:
                    lines += [f".. auto{kind}:: {name}.{member}", ""]
    lines += [f".. minigallery:: {full}", "   :add-heading: Used in", ""]
    return "\n".join(lines)


def overview(section: Section, names: tuple[str, ...]) -> str:
    """Return a section as a paragraph of the first page; Sphinx makes the links."""
    shown = ", ".join(f"`{full}`" for full in names)
    return f":doc:`{section.title} <{section.file}>`\n   {section.text}\n\n   {shown}\n"


def pages() -> dict[str, str]:
    """Return all pages of the reference, by the paths of their files."""
    made = {}
    for section, names in contents().items():
        made[f"api/{section.file}.rst"] = section_page(section, names)
        for full in names:
            if _is_documented(resolved(full)):
                made[f"api/{full}.rst"] = object_page(full)
    made["api/specification.rst"] = "\n".join(
        [
            *("The specification", "=================", ""),
            *(f".. automodule:: {SPECIFICATION}", "   :members:", ""),
        ]
    )
    title = "API reference"
    made["api/index.rst"] = "\n".join(
        [
            *(title, "=" * len(title), ""),
            "Every public name. What `import abers` offers is loaded when it is used.",
            "",
            *(overview(section, names) for section, names in contents().items()),
            ":doc:`The specification <specification>`",
            "   The paper's algorithms on exact fractions, to be read beside it.",
            *("", ".. toctree::", "   :hidden:", ""),
            *(f"   {section.file}" for section in contents()),
            *("   specification", ""),
        ]
    )
    return made
