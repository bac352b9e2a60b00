"""What a sigmoid cannot learn; many classes; the artificial set."""

import numpy as np
import pytest

from abers.paper.studies import artificial_data, many_classes


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
    assert all(one.fit_ivap > 0 and one.predict_ivap > 0 for one in found)
