"""Planned rows are those that simulated rows take."""

import pytest
import sample_size as study

import abers
from abers.errors import InvalidParameter


@pytest.mark.parametrize(
    ("kind", "base_rate", "auc"),
    [("ece", 0.1, 0.75), ("ece", 0.5, 0.95), ("band_width", 0.5, 0.95)],
)
def test_planned_rows_are_within_a_fifth_of_a_simulation(kind, base_rate, auc):
    """The other cells are in benchmarks/SAMPLE_SIZE.md."""
    _, planned, simulated = study.rows_of(kind, base_rate, auc)
    assert planned == pytest.approx(simulated, rel=0.2)


def test_an_easy_aim_takes_few_rows_and_equal_questions_have_equal_answers():
    assert abers.evaluation.sample_size(ece=0.9, base_rate=0.5) == 2
    twice = [abers.evaluation.sample_size(ece=0.05, base_rate=0.2) for _ in range(2)]
    assert twice[0] == twice[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "exactly one of ece and band_width; got none"),
        ({"ece": 0.1, "band_width": 0.1}, "got both"),
        ({"ece": 0}, "ece must be between 0 and 1, both excluded; got 0"),
        ({"band_width": "x"}, "band_width must be between 0 and 1"),
        ({"ece": 0.1, "base_rate": 1.0}, "base_rate must be between 0 and 1"),
        ({"ece": 0.1, "auc": 0.5}, "auc must be between 0.5 and 1"),
        ({"ece": 0.1, "confidence": 1}, "confidence must be between 0 and 1"),
        ({"band_width": 1e-5}, "no number of rows reaches it"),
    ],
)
def test_aims_that_make_no_sense_are_refused(options, message):
    with pytest.raises(InvalidParameter, match=message):
        abers.evaluation.sample_size(**{"base_rate": 0.5, **options})
