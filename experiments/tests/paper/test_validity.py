"""Proposition 1 on drawn data, and that breaking it is noticed."""

import numpy as np
import pytest

import abers
from experiments.paper import tasks
from experiments.paper.sklearn_engine import SklearnEngine
from experiments.paper.studies import validity


@pytest.fixture(scope="module")
def pool():
    """Scores that order labels but are no probabilities."""
    rng = np.random.default_rng(1)
    scores = rng.random(3_000).round(2)
    return validity.Pool(scores, (rng.random(3_000) < scores**2).astype(int))


@pytest.mark.parametrize("k", [5, 40])
def test_selected_bound_is_calibrated_over_calibration_sets(pool, k):
    found = validity.check(pool, k, draws=20_000)
    assert found.p_value > 0.01
    assert sum(group.count for group in found.groups) == 20_000
    assert 3 < len(found.groups) <= validity.MOST_GROUPS


@pytest.mark.parametrize("how", list(validity.DRAWINGS)[1:])
def test_what_breaks_exchangeability_is_noticed(pool, how):
    found = validity.check(pool, 10, how=how, draws=20_000)
    assert found.p_value < 1e-4


@pytest.mark.parametrize("how", validity.DRAWINGS)
def test_no_row_tests_and_calibrates_at_once(pool, how):
    rng = np.random.default_rng(0)
    for rows, test in validity.DRAWINGS[how](pool, 30, 200, rng):
        assert rows.size == np.unique(rows).size == 30
        assert test not in rows


def test_a_stratified_set_has_the_share_of_the_pool(pool):
    rng = np.random.default_rng(0)
    expected = round(30 * pool.labels.mean())
    for rows, _ in validity.stratified(pool, 30, 50, rng):
        assert pool.labels[rows].sum() == expected


def test_levels_are_the_bounds_that_the_labels_select(pool):
    """The same draws, by the definition."""
    found = validity.check(pool, 8, draws=300, seed=5)
    levels, labels = [], []
    rng = np.random.default_rng(5)
    for rows, test in validity.exchangeable(pool, 8, 300, rng):
        rule = abers.fit_rule(pool.scores[rows], pool.labels[rows])
        labels.append(pool.labels[test])
        levels.append(rule.bounds([pool.scores[test]])[0, labels[-1]])
    total = sum(group.count * group.level for group in found.groups)
    assert total == pytest.approx(sum(levels))
    ones = sum(group.count * group.mean_label for group in found.groups)
    assert ones == pytest.approx(sum(labels))


def test_z_of_a_group_by_hand():
    """100 cases at level 1/2, 60 of them ones: 10 too many, deviation 5."""
    levels = np.full(100, 0.5)
    labels = np.repeat([1.0, 0.0], [60, 40])
    (group,) = validity._groups(levels, labels)  # noqa: SLF001
    assert (group.level, group.mean_label, group.count) == (0.5, 0.6, 100)
    assert group.z == pytest.approx(2.0)


def test_one_label_against_certainty_is_proof():
    (group,) = validity._groups(np.zeros(50), np.eye(50)[0])  # noqa: SLF001
    assert group.z == np.inf


def test_every_size_and_way_is_checked_by_several_processes_alike(pool):
    alone, together = (
        validity.check_all(pool, sizes=(5, 9), draws=200, jobs=jobs) for jobs in (1, 2)
    )
    assert alone == together
    assert [(v.how, v.k) for v in alone] == [
        (how, k) for how in validity.DRAWINGS for k in (5, 9)
    ]


def test_bounds_are_valid_for_a_model_on_real_rows(data_folder):
    task = tasks.load("adult-5000", data_folder)
    unseen = validity.unseen(task, "naive Bayes", SklearnEngine())
    assert unseen.labels.size == 43_842
    assert validity.check(unseen, 20, draws=10_000).p_value > 0.01
    fixed = validity.check(unseen, 20, how="one fixed calibration set", draws=10_000)
    assert fixed.p_value < 1e-6
