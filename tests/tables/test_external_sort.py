"""Runs on disk come back as ascending parts of their sum."""

import operator
from functools import reduce
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st

import abers
from abers.tables.external_sort import Runs

observations = st.lists(
    st.tuples(st.integers(0, 40).map(float), st.booleans()), min_size=1, max_size=60
)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A fresh folder for each example."""
    return iter(lambda: tmp_path_factory.mktemp("runs"), None)


@given(st.lists(observations, min_size=1, max_size=5), st.integers(1, 30))
def test_parts_ascend_without_overlap_and_add_up(folders, data, part_rows):
    diagrams = [
        abers.rules.Diagram.from_rows([s for s, _ in d], [y for _, y in d])
        for d in data
    ]
    runs = Runs(next(folders), part_rows)
    for diagram in diagrams:
        runs.add(diagram)
    for _ in range(2):  # they can be read as often as one likes
        parts = list(runs.parts())
        for before, after in pairwise(parts):
            assert before.scores[-1] < after.scores[0]
        whole = reduce(operator.add, diagrams)
        assert reduce(operator.add, parts) == whole == abers.rules.Diagram.sum(diagrams)
        assert all(part.is_exact for part in parts)


def test_parts_are_about_as_large_as_asked_for(tmp_path):
    rng = np.random.default_rng(0)
    runs = Runs(tmp_path, 10_000)
    for _ in range(7):
        runs.add(abers.rules.Diagram.from_rows(rng.random(30_000), np.zeros(30_000)))
    sizes = [part.scores.size for part in runs.parts()]
    assert sum(sizes) == 210_000
    assert max(sizes) <= 10_000
    assert len(sizes) < 25


def test_counts_of_any_size_and_real_weights_come_back(tmp_path):
    for i, counts in enumerate(([1, 255], [1, 70_000], [1, 2**50], [0.1, 0.2])):
        folder = tmp_path / str(i)
        folder.mkdir()
        runs = Runs(folder, 100)
        diagram = abers.rules.Diagram.from_counts([1, 2], counts, [0, counts[1]])
        runs.add(diagram)
        runs.add(diagram)
        assert reduce(operator.add, runs.parts()) == diagram + diagram
