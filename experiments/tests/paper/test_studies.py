"""What a sigmoid cannot learn; many classes; the artificial set."""

import numpy as np
import pytest

from abers import losses
from experiments.paper.protocol import predict_all_methods
from experiments.paper.sklearn_engine import OF_PAPER, SklearnEngine
from experiments.paper.studies import (
    artificial_data,
    many_classes,
    tiny_sets,
    tuning,
    width_of_bounds,
)

ENGINE = SklearnEngine()


def test_limits_of_a_uniform_probability_are_those_of_the_paper():
    """Section 5.1: 0.7213 and 0.8113; exactly 1 / (2 ln 2), and the entropy of 3/4."""
    limit = artificial_data.sigmoid_limit()
    assert limit.bayes == pytest.approx(1 / (2 * np.log(2)), rel=1e-10)
    assert limit.sigmoid == pytest.approx(2 - 0.75 * np.log2(3), rel=1e-10)
    assert limit.excess == pytest.approx(0.09, abs=1e-4)


def test_a_probability_of_two_values_leaves_a_sigmoid_nothing_to_lose():
    """Nearly all mass at 0.3 and at 0.7: two things to say are enough."""

    def two_peaks(eta):
        peaks = (0.3, 0.7)
        return sum(np.exp(-(((eta - m) / 0.01) ** 2) / 2) for m in peaks) / (
            0.02 * np.sqrt(2 * np.pi)
        )

    assert artificial_data.sigmoid_limit(two_peaks).excess < 0.001


def test_margins_gather_at_one_and_the_sigmoid_stays_behind():
    """Proposition 2, and the paper's conclusion from it."""
    (run,) = artificial_data.svm_runs((1_600,))
    assert run.near_one > 0.85
    assert run.bayes == pytest.approx(artificial_data.sigmoid_limit().bayes, abs=0.01)
    assert run.platt - run.bayes > 0.07
    assert run.ivap - run.bayes < 0.05


def test_rows_of_digits_cost_less_than_knowing_nothing():
    found = many_classes.run(many_classes.load("digits", "not used"))
    assert {(m.method, m.multiclass) for m in found} == {
        ("underlying", ""),
        ("IVAP", "ovo"),
        ("IVAP", "ovr"),
        ("CVAP", "ovo"),
        ("CVAP", "ovr"),
    }
    for one in found:
        assert one.n_classes == 10
        assert one.accuracy > 0.7
        assert 0 < one.brier_loss < 1
        if one.method != "underlying":
            assert 0 < one.log_loss < 1  # base 10: guessing costs 1


def test_covertype_has_all_seven_classes(data_folder):
    task = many_classes.load("covertype", data_folder)
    assert np.unique(task.table.labels).tolist() == list(range(7))
    assert (task.n_train, task.test.size) == (5_000, 25_000)


def test_artificial_scores_are_labels_plus_noise():
    """The paper's appendix: y = 1 with probability 1/2, x = y + N(0, 1)."""
    scores, labels = artificial_data.artificial(np.random.default_rng(0), 100_000)
    assert labels.mean() == pytest.approx(0.5, abs=0.01)
    assert (scores - labels).mean() == pytest.approx(0, abs=0.02)
    assert (scores - labels).std() == pytest.approx(1, abs=0.02)


def test_every_size_is_timed():
    found = artificial_data.timings((100, 1_000))
    assert [one.k for one in found] == [100, 1_000]
    assert all(one.fit_ivap > 0 and one.query > 0 for one in found)
    assert all(one.fit_sorted > 0 and one.naive_query > one.query for one in found)


def test_tiny_sets_are_nine_of_a_few_hundred_rows(data_folder):
    assert len(tiny_sets.NAMES) == 9
    for name in tiny_sets.NAMES:
        table = tiny_sets.load(name, data_folder)
        assert 100 <= table.n_rows < 1_000
        assert set(table.labels.tolist()) == {0, 1}


def test_a_tiny_set_compares_the_simplified_predictor_with_isotonic_regression():
    found = {one.algorithm: one for one in tiny_sets.run("wine, class 1", "", ENGINE)}
    assert tuple(found) == OF_PAPER
    for one in found.values():
        assert 0 <= one.ivap < 1
        assert one.error >= 0
    assert found["tree"].ivap != found["tree"].isotonic


def test_width_is_ranked_with_the_distance_from_the_truth():
    rng = np.random.default_rng(0)
    width = rng.random(2_000)
    near = rng.uniform(0.3, 0.7, 2_000)
    p = near + width * rng.choice([-1, 1], 2_000) / 4  # the wider, the further off
    labels = (rng.random(2_000) < near).astype(np.int64)
    one = width_of_bounds.studied(("made", "up"), width, p, (labels, near))
    assert one.correlation == pytest.approx(1)
    assert np.all(np.diff(one.distance) > 0)
    assert one.excess_brier[-1] > one.excess_brier[0]
    other = width_of_bounds.studied(
        ("made", "up"), rng.random(2_000), p, (labels, near)
    )
    assert other.low < 0 < other.high


def test_tuning_compares_three_ways_on_the_same_rows(small_task):
    found = tuning.study(small_task, "tree", ENGINE)
    assert {(one.arm, one.method) for one in found} == {
        (arm, method) for arm in tuning.ARMS for method in ("IVAP", "CVAP")
    }
    by_protocol = predict_all_methods(small_task, "tree", "4:1", ENGINE)
    for one in found:
        if one.arm == "calibrating folds":  # as the protocol does
            (p,) = (
                made.probabilities
                for made in by_protocol.predictions
                if (made.method, made.merging) == (one.method, "log")
            )
            assert one.brier_loss == losses.paper_brier_loss(by_protocol.labels, p)


def test_a_chosen_setting_is_checked_by_redrawn_calibration_sets(small_task):
    found = tuning.validity(small_task, "tree", ENGINE, k=10, draws=200)
    assert (found.how, found.k, found.n_draws) == (tuning.ON_CALIBRATION, 10, 200)
    assert sum(group.count for group in found.groups) == 200
