"""Who imports whom: the picture of the architecture, and what `import abers` does."""

import ast
import json
import re
import subprocess
import sys
from collections import Counter
from graphlib import TopologicalSorter
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import abers

SOURCE = Path(abers.__file__).parent
ARCHITECTURE = Path(__file__).parents[1] / "ARCHITECTURE.md"

# A room imports from the rooms before it, and from its own. ARCHITECTURE.md draws it.
ROOMS = (
    {"_kernel", "_lazy", "choices"},
    {"errors", "formatting", "losses", "thresholds", "validation"},
    {"core"},
    {"storage"},
    {"estimators"},
    {"comparison"},
    {"evaluation"},
    {"online"},
    {"plots"},
    {"report", "tables"},
    {"engines", "export", "formula"},
    {"abers", "rules"},  # the public names
    {"cli"},
)
ALONE = "reference"  # imports nothing of ours; only the public names know it
LEVELS = {room: level for level, rooms in enumerate(ROOMS) for room in rooms}

# What knows how to save or show itself, although files and pages stand above it.
EXCEPTIONS = {
    ("evaluation.evaluate", "Evaluation.to_html", "report"),
    ("evaluation.evaluate", "Evaluation.to_markdown", "report.text"),
    ("evaluation.evaluate", "Evaluation.printout", "report.text"),
    ("evaluation.targets", "RegressionEvaluation.to_html", "report"),
    (
        "evaluation.targets",
        "RegressionEvaluation.to_markdown",
        "report.targets_text",
    ),
    ("evaluation.targets", "RegressionEvaluation.printout", "report.targets_text"),
    ("comparison.result", "Comparison.to_html", "report"),
    ("online.monitor", "Monitor.plot", "plots"),
    ("core.fitted", "Stored.save", "storage.files"),
}


class Import(NamedTuple):
    importer: str  # a module of ours, without "abers."; "abers" for the package itself
    function: str  # where the import stands; empty for the top of the module
    imported: str  # the same for what is ours, the full name for what is not
    ours: bool


def module_name(path):
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__") or "abers"


MODULES = {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}


class Imports(ast.NodeVisitor):
    """Collect what a module imports at run time, wherever the import stands."""

    def __init__(self, importer, source):
        self.importer, self.scope, self.imports = importer, [], []
        self.visit(ast.parse(source))

    def visit_scope(self, node):
        self.scope.append(node.name)
        self.generic_visit(node)
        self.scope.pop()

    visit_ClassDef = visit_FunctionDef = visit_AsyncFunctionDef = visit_scope  # noqa: N815

    def visit_If(self, node):
        if ast.unparse(node.test) not in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            self.generic_visit(node)
            return
        for statement in node.orelse:
            self.visit(statement)

    def visit_Import(self, node):
        for alias in node.names:
            self.add(alias.name)

    def visit_ImportFrom(self, node):
        if node.level:
            msg = (
                f"{self.importer} must name what it imports in full, line {node.lineno}"
            )
            raise AssertionError(msg)
        for alias in node.names:
            name = f"{node.module}.{alias.name}"
            is_module = name.removeprefix("abers.") in {*MODULES, "_kernel"}
            self.add(name if is_module else node.module)

    def add(self, name):
        ours = name.split(".")[0] == "abers"
        imported = name.removeprefix("abers.") if ours else name
        where = ".".join(self.scope)
        self.imports.append(Import(self.importer, where, imported, ours))


IMPORTS = [
    statement
    for name, path in MODULES.items()
    for statement in Imports(name, path.read_text()).imports
]
OURS = [statement for statement in IMPORTS if statement.ours]


def room(module):
    return module.split(".")[0]


def found_in(source, importer="losses"):
    return [statement[1:3] for statement in Imports(importer, source).imports]


def test_imports_are_found_wherever_they_stand():
    source = """
import numpy.linalg
from abers import validation, fit_rule
from abers.core.rule import Rule
if TYPE_CHECKING:
    import sklearn
else:
    import scipy
class Face:
    def draw(self):
        import abers.storage.files
"""
    assert found_in(source) == [
        ("", "numpy.linalg"),
        ("", "validation"),
        ("", "abers"),
        ("", "core.rule"),
        ("", "scipy"),
        ("Face.draw", "storage.files"),
    ]


def test_every_module_has_its_place_in_the_picture():
    """A new package belongs in ROOMS here, and in both lists of ARCHITECTURE.md."""
    assert {room(module) for module in MODULES} == {*LEVELS, ALONE} - {"_kernel"}
    text = ARCHITECTURE.read_text("utf-8")
    levels = text.split("```")[-2].split("<")
    assert [set(re.findall(r"[a-z_]+", level)) for level in levels] == [*ROOMS]
    cells = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    described = {name for cell in cells for name in re.findall(r"`(\w+)/?`", cell)}
    shown = {*LEVELS, ALONE, "kernel", "experiments"}
    assert described == shown - {"_kernel", "_lazy", "abers"}


def test_a_room_imports_only_from_those_before_it_and_its_own():
    wrong = {
        statement[:3]
        for statement in OURS
        if ALONE not in (statement.importer, statement.imported)
        and LEVELS.get(room(statement.imported), -1)
        > LEVELS.get(room(statement.importer), -1)
    }
    assert wrong == EXCEPTIONS


def test_the_specification_imports_nothing_of_ours_and_nobody_imports_it():
    assert [statement for statement in OURS if statement.importer == ALONE] == []
    assert [statement for statement in OURS if statement.imported == ALONE] == []


def test_what_is_installed_does_not_know_the_experiments():
    assert [one for one in IMPORTS if one.imported.startswith("experiments")] == []


def test_no_two_modules_import_each_other_however_indirectly():
    graph = {module: set() for module in MODULES}
    for statement in OURS:
        if statement[:3] not in EXCEPTIONS:
            graph[statement.importer].add(statement.imported)
    order = list(TopologicalSorter(graph).static_order())  # raises if there is a cycle
    assert set(order) >= set(MODULES)


def test_only_estimators_comparison_and_the_demo_import_scikit_learn():
    rooms = {
        room(statement.importer)
        for statement in IMPORTS
        if statement.imported.split(".")[0] == "sklearn"
        and statement.importer != "cli.demo"
    }
    assert rooms <= {"estimators", "comparison"}


STATE_AROUND_AN_IMPORT = """
import json, random, sys, warnings
import numpy as np

def state():
    return {
        "warnings": repr(warnings.filters),
        "floating point": repr((np.geterr(), np.geterrcall())),
        "printing": repr(np.get_printoptions()),
        "random": repr(random.getstate()),
        "numpy.random": repr(np.random.get_state(legacy=False)),
    }

before = state()
import abers
abers.fit_rule([1, 2], [0, 1])  # names are loaded when they are used
after = state()
print(json.dumps([before, after, sorted(sys.modules)]))
"""


@pytest.fixture(scope="module")
def around_the_import():
    command = [sys.executable, "-c", STATE_AROUND_AN_IMPORT]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def test_importing_changes_nothing_global(around_the_import):
    before, after, _ = around_the_import
    assert after == before


HEAVY = {
    "dask",
    "distributed",
    "duckdb",
    "matplotlib",
    "narwhals",
    "pandas",
    "polars",
    "pyarrow",
    "pyspark",
    "safetensors",
    "scipy",
    "sklearn",
}


def test_importing_loads_no_heavy_library(around_the_import):
    _, _, loaded = around_the_import
    assert "abers.core.rule" in loaded
    assert HEAVY.intersection(loaded) == set()


def test_tables_load_pyarrow_and_nothing_else_that_is_heavy():
    """A command that reads one small file must not wait for what it does not use."""
    script = "import sys; from abers.tables import *; print(*sys.modules)"
    command = [sys.executable, "-c", script]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    assert HEAVY.intersection(run.stdout.split()) == {"pyarrow"}


WITHOUT_PACKAGES = """
import runpy, sys
del sys.argv[0]
for name in sys.argv.pop().split():
    sys.modules[name] = None  # Python then takes it for one that is not installed
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def test_an_image_with_numpy_alone_scores_and_says_what_it_lacks(tmp_path):
    """`make test-wheel` runs the same program where nothing else is installed."""
    program = str(Path(__file__).with_name("numpy_alone.py"))
    others = {*packages_distributions()} - {"abers", "numpy"} | HEAVY
    fit = [sys.executable, program, "fit", tmp_path]
    score = [sys.executable, "-c", WITHOUT_PACKAGES, program, "score", tmp_path]
    subprocess.run(fit, check=True, timeout=100)
    run = subprocess.run(
        [*score, " ".join(others)], check=False, capture_output=True, text=True
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == "10 files, 22 sentences\n"


SLOW_TO_LOAD = HEAVY - {"pyarrow"} | {
    *("pydantic", "rich", "typer"),
    *("numpy.ma", "pyarrow.dataset", "pyarrow.parquet"),
    *("argparse", "asyncio", "email", "lzma", "random", "subprocess", "tempfile"),
    *("abers.comparison", "abers.estimators", "abers.evaluation", "abers.tables.fit"),
}
PREDICT = """
import sys
from abers.cli import main
sys.argv[1:] = ["predict", "rule.abers", "new"]
try:
    main()
finally:
    sys.stderr.write(" ".join(sys.modules))
"""


@pytest.mark.parametrize(
    "table",
    [
        *(f'id,score\n"a,b",{cell}\n' for cell in ("0.25", "", " 1e-3 ", '"1"')),
        '{"id": "a", "new": true, "score": 2}\n{"id": null, "score": 0.5}\n',
    ],
)
def test_a_small_table_is_predicted_without_what_is_slow_to_load(tmp_path, table):
    """The start takes most of the time that a command needs for a small table."""
    scores = np.arange(1000)  # enough for cells at every percent
    abers.fit_rule(scores, scores % 3 == 0).save(tmp_path / "rule.abers")
    (tmp_path / "new").write_text(table)
    command = [sys.executable, "-P", "-c", PREDICT]
    run = subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=tmp_path
    )
    assert "probability" in run.stdout
    loaded = run.stderr.split()
    assert "abers.tables.predict" in loaded
    assert SLOW_TO_LOAD.intersection(loaded) == set()


# A command, a display and a job on tables are named after what they run or show.
NAMED_AFTER = ("cli", "plots", "tables")


def test_no_two_modules_of_one_name():
    names = Counter(
        module.rpartition(".")[2]
        for module, path in MODULES.items()
        if path.stem != "__init__" and room(module) not in NAMED_AFTER
    )
    assert [name for name, count in names.items() if count > 1] == []


def test_no_two_classes_of_one_name():
    """But for the specification, which is written a second time on purpose.

    And for the stages of a Spark pipeline, called as the calibrators that they are.
    """
    names = Counter(
        node.name
        for module, path in MODULES.items()
        if module not in {ALONE, "engines.spark.pipeline"}
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, count in names.items() if count > 1] == []
