"""Thinned curves are short and look the same."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from abers.plots._curves import stairs, thinned

finite = st.floats(-1e300, 1e300)
columns = st.integers(101, 400).flatmap(
    lambda size: st.tuples(
        arrays(float, size, elements=finite),
        arrays(float, size, elements=st.floats(0, 1)),
    )
)


def distances(points, corners):
    """Measure how far points lie from a line through corners."""
    start, way = corners[:-1], np.diff(corners, axis=0)
    offset = points[:, np.newaxis] - start
    along = (offset * way).sum(axis=2) / (way**2).sum(axis=1)
    nearest = np.clip(along, 0, 1)[..., np.newaxis] * way
    return np.sqrt(((offset - nearest) ** 2).sum(axis=2)).min(axis=1)


def rising(columns):
    x, y = columns
    return np.sort(x), np.sort(y)


@given(columns)
@example((np.full(101, 5e-324) * (np.arange(101) > 0), np.ones(101)))  # has no half
def test_ends_and_extremes_are_kept(columns):
    x, y = rising(columns)
    thin_x, thin_y = thinned(x, y, pixels=20)
    assert (thin_x[0], thin_x[-1]) == (x[0], x[-1])
    assert (thin_y.min(), thin_y.max()) == (y.min(), y.max())


@given(columns)
def test_kept_points_are_points_of_the_curve_in_their_order(columns):
    x, y = rising(columns)
    thin_x, thin_y = thinned(x, y, pixels=20)
    assert set(zip(thin_x, thin_y, strict=True)) <= set(zip(x, y, strict=True))
    assert (np.diff(thin_x) >= 0).all()
    assert (np.diff(thin_y) >= 0).all()


@pytest.mark.parametrize("size", [10, 10_000, 1_000_000])
def test_no_more_points_are_kept_than_can_be_seen(size):
    x, y = stairs(np.arange(size + 1.0), np.arange(size) / size)
    thin_x, _ = thinned(x, y)
    assert thin_x.size <= 1_004


@pytest.mark.parametrize(
    "curve",
    [lambda x: x**3, lambda x: np.floor(x * 7) / 7, lambda x: np.floor(x * 900) / 900],
    ids=["smooth", "a few steps", "many steps"],
)
def test_no_point_of_the_curve_is_a_pixel_away(curve):
    x = np.linspace(0, 1, 4_000)
    y = curve(x)
    points, kept = np.column_stack((x, y)), np.column_stack(thinned(x, y, pixels=500))
    assert distances(points, kept).max() < 1.3 / 500


def test_a_falling_curve_is_thinned_as_its_mirror_image():
    x = np.linspace(0, 1, 3_000)
    up_x, up_y = thinned(x, x**2)
    down_x, down_y = thinned(x, 1 - x**2)
    assert down_x.size == pytest.approx(up_x.size, abs=2)
    np.testing.assert_allclose(
        np.interp(x, down_x, 1 - down_y), np.interp(x, up_x, up_y), atol=2e-3
    )


def test_of_many_points_on_a_line_the_ends_are_kept():
    x = np.arange(500.0)
    assert thinned(x, x / 500)[0].tolist() == [0, 499]


def test_few_points_are_all_kept():
    x = np.arange(100.0)
    assert thinned(x, x / 100)[0] is x


def test_one_point_stays_one_point():
    x, y = thinned(np.array([0.3]), np.array([1.0]))
    assert (x.tolist(), y.tolist()) == ([0.3], [1.0])
