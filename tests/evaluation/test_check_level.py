"""A sample of the study of false alarms: benchmarks/check_level.py."""

import check_level
import pytest

RUNS = 150
LEVEL = check_level.numbered(check_level.level_cells(), 0)
POWER = check_level.numbered(check_level.power_cells(), 1_000)


def cell(cells, world, n, m):
    return next(c for c in cells if (c.world.name, c.n, c.m) == (world, n, m))


@pytest.mark.parametrize(
    ("world", "n", "m"),
    [
        ("smooth", 500, 5_000),
        ("rare", 2_000, 5_000),
        ("sharp", 300, 5_000),
        ("20 scores", 500, 500),
        ("weighted", 500, 500),
        ("scores drifted", 500, 5_000),
    ],
)
def test_unchanged_rows_are_rarely_called_changed(world, n, m):
    found = check_level.shares(cell(LEVEL, world, n, m), RUNS)
    for share, alpha in zip(found, check_level.ALPHAS, strict=True):
        assert share <= check_level.allowed(alpha, RUNS)


@pytest.mark.parametrize(
    ("world", "n", "m"), [("smooth", 2_000, 500), ("20 scores", 2_000, 500)]
)
def test_changed_rows_are_found_as_often_as_the_mean_allows(world, n, m):
    changed = cell(POWER, world, n, m)
    found = check_level.shares(changed, RUNS)
    for share, alpha in zip(found, check_level.ALPHAS, strict=True):
        mean, best = check_level.formula(changed, alpha)
        assert mean - 0.1 <= share <= best + 0.05


def test_no_two_cells_share_their_random_numbers():
    places = [c.place for c in (*LEVEL, *POWER)]
    assert len(places) == len(set(places)) == len(LEVEL) + len(POWER)
    first, again = (check_level.rows(LEVEL[0], 0)[0].scores for _ in range(2))
    assert first.tolist() == again.tolist()
    assert first.tolist() != check_level.rows(LEVEL[0], 1)[0].scores.tolist()
