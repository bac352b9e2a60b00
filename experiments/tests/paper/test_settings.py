"""What a run consists of: seeds, sizes and settings that the page promises."""

import numpy as np
import pytest
from sklearn.base import clone

from abers import losses
from abers.core.rule import Rule
from abers.estimators.calibrators import IsotonicCalibrator, PlattCalibrator
from experiments.paper import data, tasks
from experiments.paper.sklearn_engine import PRUNING, SklearnEngine, as_text
from experiments.paper.studies import (
    artificial_data,
    calibration_curves,
    many_classes,
    validity,
)
from experiments.paper.tasks import Preparation, split


@pytest.mark.parametrize("name", ["adult-permuted", "bank", "spambase"])
def test_rows_are_permuted_by_seed_0(data_folder, name):
    in_order = data.load(tasks.RECIPES[name].data, data_folder)
    order = np.random.default_rng(0).permutation(in_order.n_rows)
    permuted = tasks.load(name, data_folder).table
    assert (permuted.labels == in_order.labels[order]).all()
    first, again = in_order.columns[0].values, permuted.columns[0].values
    assert (again == first[order]).all()


def test_rows_of_covertype_are_drawn_by_seed_0(data_folder):
    """Elevation, the first column, tells rows apart well enough."""
    drawn = np.random.default_rng(0).permutation(data.COVERTYPE.n_rows)[:30_000]
    (content,) = data.read_files(data.COVERTYPE, data_folder)
    lines = content.splitlines()
    elevation = np.array([lines[row].split(b",", 1)[0] for row in drawn], dtype=float)
    column = data.load("covertype", data_folder).columns[0].values
    assert (column == elevation).all()


def test_validity_has_as_many_draws_and_sizes_as_are_told():
    assert validity.DRAWS == 100_000
    assert validity.SIZES == (20, 100, 1_000)


def test_constant_of_the_machine_is_ten_over_the_root_of_its_rows(monkeypatch):
    """C_m = m C / 2 of the paper grows as the root of m: to infinity, slower than m."""
    asked = []

    class Noted(artificial_data.SVC):
        def fit(self, X, y):
            asked.append((len(y), self.C, self.gamma))
            return super().fit(X, y)

    monkeypatch.setattr(artificial_data, "SVC", Noted)
    monkeypatch.setattr(artificial_data, "FRESH", 100)
    artificial_data.svm_runs((25, 100))
    assert asked == [(25, 2.0, 200.0), (100, 1.0, 200.0)]


def test_each_time_is_that_of_its_method(monkeypatch):
    class Done:  # stands for seconds: what was done, divided by how many queries
        def __init__(self, made):
            self.made = made

        def __truediv__(self, _):
            return self.made

    def made(work):
        found = work()
        return Done(found) if found is None or isinstance(found, np.ndarray) else found

    monkeypatch.setattr(artificial_data, "_seconds", made)
    monkeypatch.setattr(artificial_data, "QUERIES", 60)
    (done,) = artificial_data.timings((50,))
    assert isinstance(done.fit_ivap, Rule)
    assert isinstance(done.fit_isotonic, IsotonicCalibrator)
    assert isinstance(done.fit_platt, PlattCalibrator)
    assert done.query.shape == (60, 2)
    assert (np.diff(done.sort.made) >= 0).all()
    assert done.fit_sorted == done.fit_ivap  # the same rule, of rows in order
    assert done.fit_rare.n_rows == 50


def test_calibration_picture_has_the_setting_of_smallest_brier_loss(small_task):
    drawn = calibration_curves.draw(small_task, "tree", SklearnEngine())
    rows = split("4:1", small_task.n_train)
    pair = rows.pairs[rows.single]
    known = small_task.table.labels[pair.calibrate]
    brier = {
        one.setting: losses.paper_brier_loss(
            known, one.pairs[0].calibration.probability
        )
        for one in SklearnEngine().score(
            small_task.table, "tree", [pair], small_task.test
        )
    }
    assert set(brier) == {as_text(setting) for setting in PRUNING}
    assert len(set(brier.values())) > 1
    assert brier[drawn.setting] == min(brier.values())


def test_underlying_algorithm_of_many_classes_trains_on_four_fifths():
    task = many_classes.load("digits", "not used")
    found = {
        one.algorithm: one
        for one in many_classes.run(task)
        if one.method == "underlying"
    }
    train = np.arange(task.n_train - task.n_train // 5)
    design = Preparation.of(task.table, train).apply(task.table).design
    labels = task.table.labels
    for name, model in many_classes.models().items():
        fitted = clone(model).fit(design[train], labels[train])
        p = fitted.predict_proba(design[task.test])
        expected = losses.paper_brier_loss(labels[task.test], p)
        assert found[name].brier_loss == pytest.approx(expected, rel=1e-9)
