"""The paper's two toy tables: F0 and F1 for all labels of three and four scores."""

from itertools import product

import numpy as np
import pytest

import abers
from abers import reference
from toy_tables import ROWS


def test_both_tables_are_here_in_full():
    """The FULL part, Tables of toy examples: 8 rows and 16."""
    expected = [*product((0, 1), repeat=3), *product((0, 1), repeat=4)]
    assert [labels for labels, _, _ in ROWS] == expected


@pytest.mark.parametrize(("labels", "lower", "upper"), ROWS)
def test_algorithms_1_to_4_give_the_toy_tables(labels, lower, upper):
    """The FULL part, Tables of toy examples."""
    scores = range(1, len(labels) + 1)
    diagram = reference.Diagram.from_rows(scores, labels)
    assert reference.lower(diagram) == lower
    assert reference.upper(diagram) == upper


@pytest.mark.parametrize(("labels", "lower", "upper"), ROWS)
def test_fit_rule_gives_the_toy_tables(labels, lower, upper):
    """The FULL part, Tables of toy examples, each fraction rounded to a float once."""
    scores = np.arange(1.0, len(labels) + 1)
    bounds = abers.fit_rule(scores, np.array(labels, dtype=np.int64)).bounds(scores)
    assert bounds[:, 0].tolist() == [float(p) for p in lower]
    assert bounds[:, 1].tolist() == [float(p) for p in upper]
