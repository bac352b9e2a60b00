"""The public names: pinned, all there, and nothing beside them."""

import ast
import importlib.metadata
import importlib.resources
import os
import subprocess
import sys

import pytest

import abers
from abers.errors import MissingExtra

PUBLIC = [
    "AbersError",
    "BetaCalibrator",
    "CVAPClassifier",
    "CVAPRegressor",
    "CalibratedClassifier",
    "IVAPCalibrator",
    "IVAPClassifier",
    "IVAPRegressor",
    "IsotonicCalibrator",
    "Monitor",
    "OnlineVennAbers",
    "PlattCalibrator",
    "Protected",
    "StackedCalibrator",
    "TemperatureCalibrator",
    "__version__",
    "check",
    "compare",
    "decide",
    "evaluate",
    "fit_rule",
    "fit_rules",
    "fit_stacked_rule",
    "load",
    "predict_bounds",
]
PUBLIC_MODULES = [
    "comparison",
    "errors",
    "evaluation",
    "export",
    "losses",
    "online",
    "plots",
    "reference",
    "rules",
]
RULES = [
    "Calibrator",
    "CurveCalibrator",
    "Decisions",
    "Diagram",
    "PooledRule",
    "PosetRule",
    "PriorEstimate",
    "RegressionRule",
    "Rule",
    "RuleSet",
    "SKOPS_TYPES",
    "ShiftWeights",
    "StackedRule",
    "TopRule",
    "VennAbersCalibrator",
    "adjust_prior",
    "brier_minimax",
    "couple",
    "estimate_prior",
    "fit_pooled_rule",
    "fit_poset_rule",
    "fit_regression_rule",
    "fit_rule_from_diagram",
    "fit_stacked_rule_from_diagram",
    "fit_top_rule",
    "log_minimax",
    "merge_folds",
    "shift_weights",
]
LAZY = {"abers": sorted(PUBLIC + PUBLIC_MODULES), "abers.rules": sorted(RULES)}
STUBS = {
    "abers": "__init__.pyi",
    "abers.evaluation": "evaluation/__init__.pyi",
    "abers.rules": "rules.pyi",
}
EXTRAS = ["engines", "formula"]  # modules that need what may not be installed


@pytest.fixture(params=LAZY)
def lazy(request):
    """A module whose names are loaded when they are used, and the names."""
    return importlib.import_module(request.param), LAZY[request.param]


def test_public_names_are_these(lazy):
    module, names = lazy
    assert sorted(module.__all__) == names


def test_dir_shows_the_public_names_and_no_others(lazy):
    module, names = lazy
    assert dir(module) == names


def test_every_public_name_is_there(lazy):
    module, names = lazy
    assert [name for name in names if not hasattr(module, name)] == []


def test_a_name_one_level_down_is_not_a_second_time_at_the_top():
    lower = {*RULES, *abers.evaluation.__all__, *abers.comparison.__all__}
    assert lower.intersection(PUBLIC) == {"compare"}


@pytest.mark.parametrize("module", STUBS)
def test_type_checkers_are_told_the_names_of_the_table(module):
    """The stub re-exports each name from the module that the table says."""
    path = importlib.resources.files("abers").joinpath(STUBS[module])
    imported = {
        alias.asname: node.module
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name == alias.asname
    }
    table = importlib.import_module(module)._NAMES  # noqa: SLF001
    expected = {name: f"abers.{home}" for home, some in table.items() for name in some}
    if module == "abers":
        expected |= dict.fromkeys([*PUBLIC_MODULES, *EXTRAS], "abers")
    if module == "abers.evaluation":
        expected["reliability"] = module
    assert imported == expected


def test_a_misspelt_name_fails_under_mypy(tmp_path):
    pytest.importorskip("mypy")
    script = tmp_path / "script.py"
    script.write_text("import abers\nabers.fit_rul\nabers.rules.Rul\nabers.fit_rule\n")
    package = importlib.resources.files("abers")
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=skip"]
    command += [f"--cache-dir={os.devnull}", f"--config-file={os.devnull}"]
    stubs = [str(package.joinpath(stub)) for stub in STUBS.values()]
    run = subprocess.run(
        [*command, *stubs, str(script)], check=False, capture_output=True, text=True
    )
    assert 'Module has no attribute "fit_rul"' in run.stdout
    assert 'Module has no attribute "Rul"' in run.stdout
    assert "Found 2 errors" in run.stdout


def test_a_name_is_searched_for_once():
    value = abers.evaluate
    assert vars(abers)["evaluate"] is value


def test_star_import_gives_the_public_names():
    names = {}
    exec("from abers import *", names)  # noqa: S102
    assert {*PUBLIC, *PUBLIC_MODULES} <= set(names)


def test_an_unknown_name_is_an_attribute_error_like_any_other():
    message = "module 'abers' has no attribute 'fit_rul'"
    with pytest.raises(AttributeError, match=message):
        _ = abers.fit_rul
    assert not hasattr(abers, "flink")


def test_an_engine_that_is_missing_is_named_with_what_brings_it(monkeypatch):
    """A star import would fail if engines were public names like the others."""
    monkeypatch.setattr("abers.errors.find_spec", lambda _: None)
    monkeypatch.delitem(sys.modules, "abers.engines.spark", raising=False)
    with pytest.raises(MissingExtra, match=r'pip install "abers\[spark\]" brings it'):
        _ = abers.engines.spark


@pytest.mark.parametrize("module", ["errors", "losses", "reference"])
def test_a_module_can_be_imported_by_its_full_name(module):
    script = f"import abers.{module}; print(abers.{module}.__name__)"
    command = [sys.executable, "-c", script]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert output == f"abers.{module}\n"


def test_version_is_that_of_the_installed_package():
    assert abers.__version__ == importlib.metadata.version("abers")


@pytest.mark.parametrize("name", ["py.typed", "_kernel.pyi", *STUBS.values()])
def test_types_are_shipped(name):
    assert importlib.resources.files("abers").joinpath(name).is_file()


def test_every_error_of_ours_is_also_one_that_users_know():
    from abers import errors

    builtin = ValueError | TypeError | OSError | ImportError

    for name, kind in vars(errors).items():
        if name.endswith("Warning"):
            assert issubclass(kind, UserWarning), name
        elif isinstance(kind, type) and kind is not errors.AbersError:
            assert issubclass(kind, errors.AbersError), name
            assert issubclass(kind, builtin), name
