"""A sample of the study of false alarms: benchmarks/check_level.py."""

import check_level
import pytest

RUNS = 150
LEVEL = check_level.numbered(check_level.level_cells(), 0)
POWER = check_level.numbered(check_level.power_cells(), 1_000)


def cell(cells, world, n, m, kind="mean"):
    wanted = (world, n, m, kind)
    return next(c for c in cells if (c.world.name, c.n, c.m, c.kind) == wanted)


@pytest.mark.parametrize(
    ("world", "n", "m"),
    [
        ("smooth", 500, 5_000),
        ("rare", 2_000, 5_000),
        ("sharp", 300, 5_000),
        ("20 scores", 500, 500),
        ("weighted", 500, 500),
        ("scores drifted", 500, 5_000),
        ("classifier", 500, 500),
    ],
)
def test_unchanged_rows_are_rarely_called_changed(world, n, m):
    alarms = check_level.shares(cell(LEVEL, world, n, m), RUNS)
    for share, alpha in zip(alarms, check_level.ALPHAS, strict=True):
        assert share <= check_level.allowed(alpha, RUNS)


@pytest.mark.parametrize(
    ("world", "n", "m", "kind", "loss"),
    [
        ("smooth", 2_000, 500, "mean", 0.05),
        ("rare", 500, 5_000, "mean", 0.05),
        ("20 scores", 2_000, 500, "mean", 0.05),
        ("steps", 2_000, 5_000, "mean", 0.05),
        ("sharp", 2_000, 5_000, "slope", 0.05),
        ("weighted", 2_000, 5_000, "slope", 0.2),  # which log-odds change is not known
    ],
)
def test_changes_are_found_as_often_as_by_a_test_made_for_them(world, n, m, kind, loss):
    """On the same rows, so that a few runs are enough to compare them."""
    changed = cell(POWER, world, n, m, kind)
    alarms = check_level.shares(changed, RUNS)
    made = check_level.shares_of_made_test(changed, RUNS)
    for share, bar, alpha in zip(alarms, made, check_level.ALPHAS, strict=True):
        assert bar - loss <= share
        assert abs(bar - check_level.formula(changed, alpha)) < 0.12  # 3 s.e.


def test_no_two_cells_share_their_random_numbers():
    places = [c.place for c in (*LEVEL, *POWER)]
    assert len(places) == len(set(places)) == len(LEVEL) + len(POWER)
    first, again = (check_level.drawn(LEVEL[0], 0).scores for _ in range(2))
    assert first.tolist() == again.tolist()
    assert first.tolist() != check_level.drawn(LEVEL[0], 1).scores.tolist()


def test_many_rows_whose_scores_have_moved_far_keep_the_level():
    """In plain percents, drift within the last one fails nearly every check."""
    far = check_level.numbered(check_level.moved_cells(), 2_000)[2]
    assert (far.n, far.m, far.what) == (10**6, 2 * 10**5, "nothing")
    at_01, _, in_percents, *_ = map(float, check_level.shares_in_cells(far, 4))
    assert at_01 <= 1 / 4
    assert in_percents >= 3 / 4
