"""Real Weka: what is handed over, what comes back, and what is said without it."""

import os
import stat
from zipfile import ZipFile

import numpy as np
import pytest

from abers.errors import AbersError
from experiments.paper import tasks
from experiments.paper.data import Attribute, DataTable, nominal_column
from experiments.paper.results import LOG_LOSS, table_cells
from experiments.paper.run import TABLES, TABLES_RATIO, Unit, run_unit
from experiments.paper.tasks import split
from experiments.paper.weka import COMMANDS, Weka, to_arff, to_ranges

# What Weka 3.9.7 gave when the recipe was worked out: Platt, isotonic, IVAP, CVAP.
MEASURED = {
    "tree": ((0.5266, 0.5247, 0.5055), (0.4500, 0.4464, 0.4462, 0.4367)),
    "bagging": ((0.4950, 0.4737, 0.4649), (0.4255, 0.4165, 0.4145, 0.4065)),
    "logistic": ((0.5058, 0.4915, 0.4817), (0.4389, 0.4338, 0.4339, 0.4255)),
    "naive Bayes": ((0.5878, 0.4844, 0.4815), (0.5041, 0.4370, 0.4363, 0.4323)),
}


def jar_of(folder, version="3-9-7"):
    """A jar that says its version, and has nothing else of Weka."""
    jar = folder / f"weka-{version}.jar"
    with ZipFile(jar, "w") as archive:
        archive.writestr("weka/core/version.txt", f"{version}\n")
    return str(jar)


def test_gaps_and_odd_names_survive_the_format():
    job = nominal_column("it's", ["a'b", "?", "c\\d"])
    age = Attribute("age", np.array([0.1, np.nan, 3.0]))
    lines = to_arff(DataTable((job, age), np.array([0, 1, 0]))).splitlines()
    assert lines[1:] == [
        r"@attribute 'it\'s' {'a\'b','c\\d'}",
        "@attribute 'age' numeric",
        "@attribute class {0,1}",
        "@data",
        r"'a\'b',0.1,0",
        "?,?,1",
        r"'c\\d',3.0,0",
    ]


@pytest.mark.parametrize("ratio", ["4:1", "1:2", "all"])
def test_ranges_name_the_rows_of_a_split(ratio):
    for pair in split(ratio, 23).pairs:
        for rows in (pair.train, pair.calibrate):
            ends = [map(int, part.split(":")) for part in to_ranges(rows).split(",")]
            named = np.concatenate([np.arange(*pair_of_ends) for pair_of_ends in ends])
            np.testing.assert_array_equal(named, rows)


def test_a_missing_jar_is_one_sentence(small_task):
    with pytest.raises(AbersError, match=r"jar of Weka must be a file; 'no\.jar'"):
        Weka("no.jar").score(small_task.table, "tree", (), small_task.test)


def test_missing_java_is_one_sentence_that_names_the_package(small_task, tmp_path):
    weka = Weka(jar_of(tmp_path), java="no-such-java")
    with pytest.raises(AbersError, match="default-jdk-headless"):
        weka.score(small_task.table, "tree", (), small_task.test)
    with pytest.raises(AbersError, match="default-jdk-headless"):
        weka.check()  # before a run forgets an earlier one


def test_a_jar_tells_the_version_that_units_are_kept_under(tmp_path):
    assert Weka(jar_of(tmp_path)).name == "Weka 3.9.7"
    assert Weka(jar_of(tmp_path, "3-8-6")).name == "Weka 3.8.6"


def test_a_jar_of_something_else_is_one_sentence(tmp_path):
    (tmp_path / "torn.jar").write_bytes(b"PK")
    with ZipFile(tmp_path / "other.jar", "w") as archive:
        archive.writestr("readme.txt", "not Weka")
    for name in ("torn.jar", "other.jar"):
        with pytest.raises(
            AbersError, match=r"say its version in weka/core/version\.txt"
        ):
            Weka(str(tmp_path / name)).check()


def test_a_java_without_a_compiler_is_told_from_one_that_fails(small_task, tmp_path):
    jar = jar_of(tmp_path)
    for says, expected in (
        ("Module jdk.compiler not found", "this one has no compiler"),
        ("cannot find weka.core.Instances", "must end without an error; Java said"),
    ):
        java = tmp_path / "java"
        java.write_text(f"#!/bin/sh\necho '{says}' >&2\nexit 1\n")
        java.chmod(java.stat().st_mode | stat.S_IXUSR)
        with pytest.raises(AbersError, match=expected):
            Weka(jar, java=str(java)).score(
                small_task.table, "tree", (), small_task.test
            )


def test_weka_has_the_six_algorithms_of_the_paper():
    assert set(COMMANDS) == set(LOG_LOSS)
    assert Weka("").settings("tree")[0] == "C=0.05"


if JAR := os.environ.get("ABERS_WEKA"):  # nobody is asked to have it

    @pytest.mark.parametrize("algorithm", MEASURED)
    def test_weka_s_losses_are_those_measured_before(data_folder, algorithm):
        task = tasks.load(TABLES, data_folder)
        unit = Unit(TABLES, algorithm, TABLES_RATIO)
        weka = Weka(JAR)
        results = run_unit(task, unit, weka).results
        found = table_cells(results)
        cells = [cell for cell in found if cell.algorithm == algorithm]
        log = [c.ours for c in cells[:4] if c.method != "isotonic"]
        assert log == pytest.approx(MEASURED[algorithm][0], abs=0.002)
        brier = [c.ours for c in cells[4:]]
        assert brier == pytest.approx(MEASURED[algorithm][1], abs=0.002)
