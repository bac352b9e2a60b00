"""The public names: pinned, all there, and nothing beside them."""

import importlib.metadata
import importlib.resources
import subprocess
import sys

import pytest

import abers
from abers.errors import MissingExtra

PUBLIC = [
    "SKOPS_TYPES",
    "AbersError",
    "BetaCalibrator",
    "CVAPClassifier",
    "CVAPRegressor",
    "CalibratedClassifier",
    "CalibrationBand",
    "Check",
    "Comparison",
    "Decisions",
    "Diagram",
    "Evaluation",
    "IVAPCalibrator",
    "IVAPClassifier",
    "IVAPRegressor",
    "IsotonicCalibrator",
    "Monitor",
    "MonitorState",
    "MulticlassEvaluation",
    "OnlineVennAbers",
    "PlattCalibrator",
    "PooledRule",
    "PosetRule",
    "Prequential",
    "PriorEstimate",
    "RegressionRule",
    "Rule",
    "RuleSet",
    "StackedCalibrator",
    "StackedRule",
    "TemperatureCalibrator",
    "__version__",
    "adjust_prior",
    "brier_minimax",
    "calibration_band",
    "check",
    "compare",
    "couple",
    "decide",
    "estimate_prior",
    "evaluate",
    "evaluation",
    "export",
    "fit_pooled_rule",
    "fit_poset_rule",
    "fit_regression_rule",
    "fit_rule",
    "fit_rule_from_diagram",
    "fit_rules",
    "fit_stacked_rule",
    "fit_stacked_rule_from_diagram",
    "load",
    "log_minimax",
    "losses",
    "merge_folds",
    "plots",
    "prequential",
    "reference",
    "reliability",
    "sample_size",
]


def test_public_names_are_these():
    assert abers.__all__ == PUBLIC


def test_dir_shows_the_public_names_and_no_others():
    assert dir(abers) == sorted(PUBLIC)


def test_every_public_name_is_there():
    assert [name for name in PUBLIC if not hasattr(abers, name)] == []


def test_a_name_is_searched_for_once():
    found = abers.sample_size
    assert vars(abers)["sample_size"] is found


def test_star_import_gives_the_public_names():
    names = {}
    exec("from abers import *", names)  # noqa: S102
    assert set(PUBLIC) <= set(names)


def test_an_unknown_name_is_an_attribute_error_like_any_other():
    message = "module 'abers' has no attribute 'fit_rul'"
    with pytest.raises(AttributeError, match=message):
        _ = abers.fit_rul
    assert not hasattr(abers, "flink")


def test_an_engine_that_is_missing_is_named_with_what_brings_it(monkeypatch):
    """A star import would fail if engines were public names like the others."""
    monkeypatch.setattr("abers.errors.find_spec", lambda _: None)
    monkeypatch.delitem(sys.modules, "abers.spark", raising=False)
    with pytest.raises(MissingExtra, match=r'pip install "abers\[spark\]" brings it'):
        _ = abers.spark


@pytest.mark.parametrize("module", ["errors", "losses", "reference"])
def test_a_module_can_be_imported_by_its_full_name(module):
    script = f"import abers.{module}; print(abers.{module}.__name__)"
    command = [sys.executable, "-c", script]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert said == f"abers.{module}\n"


def test_version_is_that_of_the_installed_package():
    assert abers.__version__ == importlib.metadata.version("abers")


@pytest.mark.parametrize("name", ["py.typed", "_kernel.pyi"])
def test_types_are_shipped(name):
    assert importlib.resources.files("abers").joinpath(name).is_file()


def test_every_error_of_ours_is_also_one_that_users_know():
    from abers import errors

    known = ValueError | TypeError | OSError | ImportError

    for name, kind in vars(errors).items():
        if name.endswith("Warning"):
            assert issubclass(kind, UserWarning), name
        elif isinstance(kind, type) and kind is not errors.AbersError:
            assert issubclass(kind, errors.AbersError), name
            assert issubclass(kind, known), name
