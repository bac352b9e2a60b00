"""Multicalibration against least squares with the test row added, and by swapping."""

import pickle
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import abers
from abers.errors import (
    InvalidGroups,
    InvalidLabels,
    InvalidProbabilities,
    InvalidType,
    LengthMismatch,
)


def refitted(f, y, G, p, g):
    """The definition: the residuals' regression, at the test row, for both labels."""
    bounds = []
    for label in (0, 1):
        rows = np.vstack((G, g))
        residuals = np.append(np.asarray(y, float) - f, label - p)
        beta = np.linalg.lstsq(rows, residuals, rcond=1e-12)[0]
        bounds.append(p + g @ beta)
    return bounds


def drawn(rng, size, kind):
    f, y = rng.random(size), rng.integers(0, 2, size)
    G = rng.integers(0, 2, (size, 4)).astype(float)
    if kind == "numbers":
        G = rng.normal(size=(size, 3))
    elif kind == "dependent":  # ones, and groups that exclude each other
        names = rng.integers(0, 3, size)
        G = np.column_stack((np.ones(size), names[:, None] == np.arange(3)))
    elif kind == "units":
        G = G * [1e-3, 1, 1e3, 10]
    elif kind == "nobody":
        G[:, 2] = 0
    return f, y, G


KINDS = ["groups", "numbers", "dependent", "units", "nobody"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1, 2, 5, 30, 400])
def test_bounds_are_least_squares_with_the_test_row_added(kind, size):
    rng = np.random.default_rng(size)
    for _ in range(20):
        f, y, G = drawn(rng, size, kind)
        p, _, new = drawn(rng, 10, "groups" if kind == "nobody" else kind)
        fitted = abers.fit_multicalibrated(f, y, G)
        expected = [refitted(f, y, G, *row) for row in zip(p, new, strict=True)]
        np.testing.assert_allclose(fitted.bounds(p, new), expected, atol=1e-9)


def exact_fit(rows, labels, place):
    """Least squares at one of the rows, in Fractions, by Gauss' elimination."""
    G = [[Fraction(x) for x in g] for _, g in rows]
    r = [y - Fraction(f) for (f, _), y in zip(rows, labels, strict=True)]
    m = len(G[0])
    table = [
        [sum(g[i] * g[j] for g in G) for j in range(m)]
        + [sum(g[i] * e for g, e in zip(G, r, strict=True))]
        for i in range(m)
    ]
    beta, pivots = [Fraction(0)] * m, []
    for column in range(m):
        for row in range(len(pivots), m):
            if table[row][column] != 0:
                top = len(pivots)
                table[top], table[row] = table[row], table[top]
                table[top] = [x / table[top][column] for x in table[top]]
                for other in range(m):
                    if other != top:
                        factor = table[other][column]
                        pairs = zip(table[other], table[top], strict=True)
                        table[other] = [x - factor * z for x, z in pairs]
                pivots.append(column)
                break
    for row, column in enumerate(pivots):
        beta[column] = table[row][-1]
    products = zip(G[place], beta, strict=True)
    return Fraction(rows[place][0]) + sum(x * b for x, b in products)


@pytest.mark.parametrize("seed", range(12))
def test_the_guarantee_by_swapping_every_row_to_the_end(seed):
    """E[g_j (Y - p_Y)] = 0: the sum over who is the new case, for all labels.

    The definition does so exactly, in Fractions; the library is it, but for rounding.
    """
    rng = np.random.default_rng(seed)
    size, m = 5, 3
    rows = [
        (int(rng.integers(0, 9)) / 8, rng.integers(0, 3, m).tolist())
        for _ in range(size)
    ]
    f, G = np.array([f for f, _ in rows]), np.array([g for _, g in rows], dtype=float)
    for labels in product((0, 1), repeat=size):
        sums, found = [Fraction(0)] * m, np.zeros(m)
        for new in range(size):
            rest = [row for row in range(size) if row != new]
            fitted = abers.fit_multicalibrated(f[rest], np.array(labels)[rest], G[rest])
            bound = fitted.bounds(f[[new]], G[[new]])[0, labels[new]]
            exact = exact_fit(rows, labels, new)
            assert bound == pytest.approx(float(exact), abs=1e-9)
            found += G[new] * (labels[new] - bound)
            for j in range(m):
                sums[j] += rows[new][1][j] * (labels[new] - exact)
        assert sums == [0] * m
        np.testing.assert_allclose(found, 0, atol=1e-8)


def test_width_is_the_leverage():
    rng = np.random.default_rng(0)
    f, y, G = drawn(rng, 50, "numbers")
    p, _, new = drawn(rng, 5, "numbers")
    bounds = abers.fit_multicalibrated(f, y, G).bounds(p, new)
    for row, (lower, upper) in zip(new, bounds, strict=True):
        full = np.vstack((G, row))
        hat = full @ np.linalg.pinv(full)
        assert upper - lower == pytest.approx(hat[-1, -1])


def test_groups_that_exclude_each_other_have_shifted_means():
    """The fit in one group: its mean residual, with the new case among its rows."""
    f, y = np.array([0.1, 0.3, 0.2, 0.9]), [1, 0, 0, 1]
    G = np.array([[1, 0], [1, 0], [1, 0], [0, 1]])
    fitted = abers.fit_multicalibrated(f, y, G)
    residual = (1 - 0.1) - 0.3 - 0.2
    lower = 0.5 + (residual + 0 - 0.5) / 4
    upper = 0.5 + (residual + 1 - 0.5) / 4
    np.testing.assert_allclose(fitted.bounds([0.5], [[1, 0]]), [[lower, upper]])


def test_rows_of_no_group_keep_their_probability():
    rng = np.random.default_rng(1)
    fitted = abers.fit_multicalibrated(*drawn(rng, 30, "groups"))
    assert fitted.bounds([0.3], [[0, 0, 0, 0]]).tolist() == [[0.3, 0.3]]
    assert fitted.probability([0.3], [[0, 0, 0, 0]]).tolist() == [0.3]


def test_groups_that_nobody_was_in_tell_nothing():
    fitted = abers.fit_multicalibrated([0.2, 0.4], [0, 1], [[1, 0], [1, 0]])
    assert fitted.bounds([0.3], [[1, 1]]).tolist() == [[0.0, 1.0]]
    assert fitted.probability([0.3], [[1, 1]]).tolist() == [0.5]
    assert fitted.dependent == (1,)


def test_dependent_columns_are_named_and_change_nothing():
    rng = np.random.default_rng(2)
    f, y, G = drawn(rng, 60, "dependent")
    fitted = abers.fit_multicalibrated(f, y, G)
    assert fitted.dependent == (3,)
    assert repr(fitted) == "Multicalibrated(60 observations, 4 groups, 1 dependent)"
    without = abers.fit_multicalibrated(f, y, G[:, :3])
    assert without.dependent == ()
    np.testing.assert_allclose(
        fitted.bounds(f, G), without.bounds(f, G[:, :3]), atol=1e-12
    )


@pytest.mark.parametrize("loss", ["log", "brier"])
def test_bounds_are_cut_only_where_they_are_merged(loss):
    """All nine are 0, so 0.1 becomes less than 0; merged it is 0 and the leverage."""
    f = np.array([0.5] * 8 + [0.1])
    fitted = abers.fit_multicalibrated(f, np.zeros(9), np.ones((9, 1)))
    lower, upper = fitted.bounds([0.1], [[1]])[0]
    assert lower < 0
    assert upper - lower == pytest.approx(1 / 10)
    merged = getattr(abers, f"{loss}_minimax")(0.0, 1 / 10)
    assert fitted.probability([0.1], [[1]], loss) == pytest.approx(merged)
    within = fitted.bounds([0.9], [[1]])[0]
    merged = getattr(abers, f"{loss}_minimax")(*within)
    assert fitted.probability([0.9], [[1]], loss) == pytest.approx(merged)


def test_no_probability_of_a_member_is_0_or_1():
    rng = np.random.default_rng(5)
    f, y, G = rng.random(200), np.arange(200) % 2, np.ones((200, 1))
    fitted = abers.fit_multicalibrated(np.where(y, f / 9, 1 - f / 9), y, G)
    p = fitted.probability([0.0, 1.0, 0.001], np.ones((3, 1)))
    assert ((p > 0) & (p < 1)).all()


def test_group_errors_vanish_where_the_model_ignores_the_groups():
    rng = np.random.default_rng(3)
    G = rng.integers(0, 2, (20_000, 3))
    truth = 0.2 + G @ [0.1, 0.2, 0.3]
    y = rng.random(20_000) < truth
    f = np.full(20_000, 0.5)
    half = slice(10_000), slice(10_000, None)
    fitted = abers.fit_multicalibrated(f[half[0]], y[half[0]], G[half[0]])
    p = fitted.probability(f[half[1]], G[half[1]])
    for member in G[half[1]].T.astype(bool):
        before = abs((y[half[1]] - f[half[1]])[member].mean())
        after = abs((y[half[1]] - p)[member].mean())
        assert after < 0.02
        assert after < before


def test_it_pickles():
    rng = np.random.default_rng(4)
    f, y, G = drawn(rng, 30, "groups")
    fitted = abers.fit_multicalibrated(f, y, G)
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.bounds(f, G), fitted.bounds(f, G))


def test_frames_and_truth_values_are_groups():
    import pandas as pd

    frame = pd.DataFrame({"old": [True, False, True], "young": [False, True, True]})
    f, y = [0.2, 0.5, 0.4], [0, 1, 1]
    fitted = abers.fit_multicalibrated(f, y, frame)
    plain = abers.fit_multicalibrated(f, y, frame.to_numpy(float))
    assert np.array_equal(fitted.bounds(f, frame), plain.bounds(f, frame))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([0.5], [0], [1]), InvalidGroups, r"one column or more.*got shape \(1,\)"),
        (([0.5], [0], [[]]), InvalidGroups, r"got shape \(1, 0\)"),
        (([0.5], [0], [[np.nan]]), InvalidGroups, "got nan in column 0 of row 0"),
        (([0.5], [0], [[1], [1]]), LengthMismatch, "2 groups and 1 probabilities"),
        (([0.5], [0, 1], [[1]]), LengthMismatch, "2 labels and 1 probabilities"),
        (([0.5], [2], [[1]]), InvalidLabels, "labels must be 0 or 1; got 2"),
        (([1.5], [0], [[1]]), InvalidProbabilities, "got 1.5 at row 0"),
        (([], [], np.empty((0, 1))), InvalidProbabilities, "must not be empty"),
        (
            ([0.5], [0], [["a"]]),
            InvalidType,
            r"'a' at row 0. For a column of names",
        ),
        (([0.5], [0], None), InvalidType, r"an array of numbers; got None\.$"),
        (([0.5], [0], [[10**400]]), InvalidType, r"64-bit floats.* at row 0\.$"),
        (
            ([0.5], [0], [[1e200]]),
            InvalidGroups,
            r"at most 1e\+100.*got 1e\+200",
        ),
        (([0.5], [0], [[1e-200]]), InvalidGroups, r"at least 1e-100.*at most 1e-200"),
    ],
)
def test_what_cannot_be_fitted_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        abers.fit_multicalibrated(*arguments)


def test_other_columns_than_those_of_the_fit_are_refused():
    fitted = abers.fit_multicalibrated([0.5, 0.5], [0, 1], [[1, 0], [0, 1]])
    with pytest.raises(InvalidGroups, match=r"2 columns.*got shape \(1, 3\)"):
        fitted.bounds([0.5], [[1, 0, 0]])


def test_the_scale_of_a_column_does_not_matter_as_far_as_it_may_go():
    f, y = np.array([0.2, 0.5, 0.4, 0.7]), [0, 1, 1, 0]
    groups = np.array([[1.0, 0.3], [1.0, 2.0], [1.0, 1.0], [1.0, 0.7]])
    plain = abers.fit_multicalibrated(f, y, groups).bounds(f, groups)
    for scale in (1e99, 1e-99):
        scaled = groups * [1, scale]
        found = abers.fit_multicalibrated(f, y, scaled).bounds(f, scaled)
        np.testing.assert_allclose(found, plain, rtol=1e-12)


def test_no_new_cases_have_no_bounds():
    fitted = abers.fit_multicalibrated([0.5, 0.5], [0, 1], [[1, 0], [0, 1]])
    assert fitted.bounds([], np.empty((0, 2))).shape == (0, 2)
    assert fitted.probability([], np.empty((0, 2))).shape == (0,)
