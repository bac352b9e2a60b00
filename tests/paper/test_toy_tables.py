"""The paper's two toy tables: F0 and F1 for all labels of three and four scores."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import abers
from abers import reference

# labels | F0 | F1, for calibration scores 1, 2, 3 and 1, 2, 3, 4.
TABLES = """
0 0 0   | 0 0 0           | 1/4 1/3 1/2
0 0 1   | 0 0 1/2         | 1/3 1/2 1
0 1 0   | 0 1/3 1/3       | 1/2 2/3 2/3
0 1 1   | 0 1/2 2/3       | 1/2 1 1
1 0 0   | 1/4 1/4 1/4     | 1/2 1/2 1/2
1 0 1   | 1/3 1/3 1/2     | 2/3 2/3 1
1 1 0   | 1/2 1/2 1/2     | 3/4 3/4 3/4
1 1 1   | 1/2 2/3 3/4     | 1 1 1
0 0 0 0 | 0 0 0 0         | 1/5 1/4 1/3 1/2
0 0 0 1 | 0 0 0 1/2       | 1/4 1/3 1/2 1
0 0 1 0 | 0 0 1/3 1/3     | 1/3 1/2 2/3 2/3
0 0 1 1 | 0 0 1/2 2/3     | 1/3 1/2 1 1
0 1 0 0 | 0 1/4 1/4 1/4   | 2/5 1/2 1/2 1/2
0 1 0 1 | 0 1/3 1/3 1/2   | 1/2 2/3 2/3 1
0 1 1 0 | 0 1/2 1/2 1/2   | 1/2 3/4 3/4 3/4
0 1 1 1 | 0 1/2 2/3 3/4   | 1/2 1 1 1
1 0 0 0 | 1/5 1/5 1/5 1/5 | 2/5 2/5 2/5 1/2
1 0 0 1 | 1/4 1/4 1/4 1/2 | 1/2 1/2 1/2 1
1 0 1 0 | 1/3 1/3 2/5 2/5 | 3/5 3/5 2/3 2/3
1 0 1 1 | 1/3 1/3 1/2 2/3 | 2/3 2/3 1 1
1 1 0 0 | 2/5 2/5 2/5 2/5 | 3/5 3/5 3/5 3/5
1 1 0 1 | 1/2 1/2 1/2 3/5 | 3/4 3/4 3/4 1
1 1 1 0 | 1/2 3/5 3/5 3/5 | 4/5 4/5 4/5 4/5
1 1 1 1 | 1/2 2/3 3/4 4/5 | 1 1 1 1
"""
ROWS = [
    tuple(tuple(map(Fraction, column.split())) for column in line.split("|"))
    for line in TABLES.strip().splitlines()
]


def test_both_tables_are_here_in_full():
    """The FULL part, Tables of toy examples: 8 rows and 16."""
    expected = [*product((0, 1), repeat=3), *product((0, 1), repeat=4)]
    assert [labels for labels, _, _ in ROWS] == expected


@pytest.mark.parametrize(("labels", "lower", "upper"), ROWS)
def test_algorithms_1_to_4_give_the_toy_tables(labels, lower, upper):
    """The FULL part, Tables of toy examples."""
    scores = range(1, len(labels) + 1)
    diagram = reference.Diagram.from_observations(scores, labels)
    assert reference.lower(diagram) == lower
    assert reference.upper(diagram) == upper


@pytest.mark.parametrize(("labels", "lower", "upper"), ROWS)
def test_fit_rule_gives_the_toy_tables(labels, lower, upper):
    """The FULL part, Tables of toy examples, each fraction rounded to a float once."""
    scores = np.arange(1.0, len(labels) + 1)
    bounds = abers.fit_rule(scores, np.array(labels, dtype=np.int64)).bounds(scores)
    assert bounds[:, 0].tolist() == [float(p) for p in lower]
    assert bounds[:, 1].tolist() == [float(p) for p in upper]
