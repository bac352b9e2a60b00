"""The page of a check: its tests, and what is expected without labels."""

import numpy as np
import pytest

import abers
from abers.evaluation.check import check
from abers.report import check_page
from page_parser import Page


@pytest.fixture
def rule():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=2_000)
    return abers.fit_rule(scores, rng.random(2_000) < 1 / (1 + np.exp(-scores)))


def test_a_check_without_labels_shows_what_metrics_are_likely_to_be(rule):
    checked = check(rule, np.random.default_rng(1).normal(size=500))
    text = check_page(checked, title="A & B", facts={"tables": "new.csv"})
    page = Page(text)
    assert page.headings == [
        "A & B",
        "Tests and limits",
        "Performance, before the labels come",
        "Data and versions",
    ]
    for metric in checked.performance.values():
        assert f"{metric.value:.4f}" in text
        assert f"{metric.lower:.4f}" in text
    assert checked.performance.caveat in text
    assert "<script" not in text
    assert "new.csv" in text


def test_what_failed_is_the_warning_of_the_page(rule):
    rng = np.random.default_rng(2)
    scores, groups = rng.normal(1.5, 1, 2_000), np.repeat(["a", "b"], 1_000)
    checked = check(rule, scores, rng.integers(0, 2, 2_000), groups=groups)
    text = check_page(checked)
    assert '<p class="warning" role="alert">Failed: score drift (PSI)' in text
    assert "Performance, before" not in text
    assert "Groups, the smallest p-value first" in text
    assert f"{checked.observed_rate:.4f}" in text
