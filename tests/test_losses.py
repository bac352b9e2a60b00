"""The paper's losses, eq. (9): knowing nothing costs 1, for any number of classes."""

import math

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss as brier_loss, log_loss

from abers import evaluation, losses
from abers.errors import InvalidData, InvalidType
from abers.losses import paper_brier_loss, paper_log_loss, paper_root_brier_loss

LOSSES = [paper_log_loss, paper_brier_loss]


@pytest.mark.parametrize(
    ("y", "p", "loss"),
    [
        ([1], [0.5], 1),
        ([0], [0.5], 1),
        ([1], [0.25], 2),
        ([0], [0.75], 2),
        ([1, 0], [0.125, 0.875], 3),
        ([1, 0, 0, 1], [0.5, 0.5, 0.75, 0.25], 1.5),
        ([1, 0], [1.0, 0.0], 0),
    ],
)
def test_log_loss_of_two_classes_is_in_bits(y, p, loss):
    assert paper_log_loss(y, p) == loss


@pytest.mark.parametrize(
    ("y", "p", "loss"),
    [
        ([1], [0.5], 1),
        ([1], [0.0], 4),
        ([0], [0.25], 0.25),
        ([1, 0], [0.5, 1.0], 2.5),
        ([1, 0], [1.0, 0.0], 0),
    ],
)
def test_brier_loss_of_two_classes_is_four_squared_errors(y, p, loss):
    assert paper_brier_loss(y, p) == loss


@pytest.mark.parametrize("classes", [2, 3, 4, 10])
@pytest.mark.parametrize("loss", LOSSES)
def test_knowing_nothing_costs_one(loss, classes):
    y = np.arange(classes)
    assert loss(y, np.full((classes, classes), 1 / classes)) == pytest.approx(1)


def test_log_loss_of_four_classes_has_base_four():
    """-log4(1/4) = 1 and -log4(1/16) = 2."""
    p = [[0.25, 0.25, 0.25, 0.25], [0.0625, 0.3125, 0.3125, 0.3125]]
    assert paper_log_loss([3, 0], p) == 1.5


def test_brier_loss_of_three_classes_has_the_factor_three_halves():
    """(1-.5)² + .25² + .25² = .375 for label 0, (1-.25)² + .5² + .25² = .875 for 1."""
    p = [[0.5, 0.25, 0.25], [0.5, 0.25, 0.25]]
    assert paper_brier_loss([0, 1], p) == 1.5 * (0.375 + 0.875) / 2


@pytest.mark.parametrize("loss", LOSSES)
def test_two_columns_are_the_probability_of_label_1(loss):
    y, p = [1, 0, 1, 0], np.array([0.9, 0.3, 0.2, 0.6])
    assert loss(y, np.stack((1 - p, p), axis=1)) == loss(y, p)


@pytest.mark.parametrize(("y", "p"), [([1], [0.0]), ([0], [1.0]), ([1, 0], [0.0, 0.5])])
def test_infinite_loss_stays_infinite(y, p):
    assert paper_log_loss(y, p) == math.inf


def test_infinite_loss_of_many_classes_stays_infinite():
    assert paper_log_loss([0], [[0.0, 0.5, 0.5]]) == math.inf


@pytest.mark.parametrize("loss", LOSSES)
def test_perfect_prediction_costs_a_positive_zero(loss):
    assert math.copysign(1, loss([1, 0], [1, 0])) == 1


@pytest.mark.parametrize("y", [[True, False], [1.0, 0.0], np.array([1, 0], np.uint8)])
@pytest.mark.parametrize("loss", LOSSES)
def test_labels_may_be_bools_floats_or_integers(loss, y):
    assert loss(y, [0.75, 0.5]) == loss([1, 0], [0.75, 0.5])


@pytest.mark.parametrize("loss", LOSSES)
def test_loss_is_a_python_float(loss):
    assert type(loss([1, 0], np.float32([0.5, 0.25]))) is float


@pytest.mark.parametrize(
    ("y", "p", "error", "text"),
    [
        ([1, 0], [0.5, 1.5], InvalidData, "0 and 1; got 1.5 at row 1"),
        ([1, 0], [0.5, -0.1], InvalidData, "got -0.1 at row 1"),
        ([1], [math.nan], InvalidData, "got nan at row 0"),
        ([1], [None], InvalidData, "got nan at row 0"),
        ([1], [[0.2, 1.8]], InvalidData, r"got \[0.2, 1.8\] at row 0"),
        ([1], [[0.5]], InvalidData, r"\(n,\) or \(n, C\); got \(1, 1\)"),
        ([1], [[[0.5]]], InvalidData, r"got \(1, 1, 1\)"),
        ([1], 0.5, InvalidData, r"got \(\)"),
        ([1], ["0.5"], InvalidType, "p must be real numbers; got '0.5' at row 0"),
        ([0, 2], [0.5, 0.5], InvalidData, "y must be among 0 … 1; got 2 at row 1"),
        ([0, -1], [0.5, 0.5], InvalidData, "got -1 at row 1"),
        ([0.5], [0.5], InvalidData, "got 0.5 at row 0"),
        ([3], [[0.2, 0.3, 0.5]], InvalidData, "y must be among 0 … 2; got 3"),
        ([None], [0.5], InvalidData, "got nan at row 0"),
        (["spam"], [0.5], InvalidType, "y must be real numbers; got 'spam' at row 0"),
        ([1, 0], [0.5], InvalidData, "got 2 y and 1 p"),
        ([], [], InvalidData, "y must not be empty; got no rows to score"),
    ],
)
@pytest.mark.parametrize("loss", LOSSES)
def test_impossible_labels_and_probabilities_are_refused(loss, y, p, error, text):
    with pytest.raises(error, match=text):
        loss(y, p)


def test_names_of_the_papers_losses_are_not_those_of_scikit_learn():
    """.431 and .299 of the same rows were both called a mean log loss, or nearly."""
    y, p = [1, 0, 1], [0.9, 0.3, 0.6]
    assert paper_log_loss(y, p) == pytest.approx(log_loss(y, p) / math.log(2))
    assert paper_brier_loss(y, p) == pytest.approx(4 * brier_loss(y, p))
    assert evaluation.log_loss(y, p) == pytest.approx(log_loss(y, p))
    assert evaluation.brier_loss(y, p) == pytest.approx(brier_loss(y, p))
    assert all("paper" in name for name in losses.__all__)


def test_root_of_the_brier_loss_is_of_the_mean():
    """The paper's RMBL: (4 · 0.25 + 4 · 1) / 2 = 2.5, and its root."""
    y, p = [1, 0], [0.5, 1.0]
    assert paper_root_brier_loss(y, p) == pytest.approx(2.5**0.5)
    assert paper_root_brier_loss([1, 0], [0.5, 0.5]) == 1


def test_a_root_for_each_row_would_not_be_proper():
    """If 1 comes with probability 0.7, |y - p| is least for p = 1, not for p = 0.7."""

    def expected(p, power):
        return 0.7 * (1 - p) ** power + 0.3 * p**power

    assert expected(1.0, 1) < expected(0.7, 1)
    assert expected(0.7, 2) < expected(1.0, 2)
