"""Whether P(label | score) has changed: its level by enumeration, and the textbook."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

import abers
import oracle
from abers.core.cells import Cells, cells_of_rows
from abers.evaluation import change, metrics
from abers.evaluation.calibration_tests import holm
from abers.evaluation.change import Samples, change_of


def counted(rows, positives):
    cuts = np.arange(1, len(rows), dtype=np.float64)
    return Cells(cuts, np.array(rows), np.array(positives))


def cells_in(cuts, scores, labels, sample_weight=None):
    s, y = np.asarray(scores, dtype=np.float64), np.asarray(labels)
    return cells_of_rows(cuts, s, y, sample_weight)


def samples(n, y, m, z, *, increasing=True):
    return Samples(counted(n, y), counted(m, z), increasing)


def world(n, m, seed, *, then=lambda s: s**2, now=lambda s: s**2):
    rng = np.random.default_rng(seed)
    s, new = rng.random(n), rng.random(m)
    y, y_new = rng.random(n) < then(s), rng.random(m) < now(new)
    rule = abers.fit_rule(s, y)
    return Samples(rule.cells, cells_in(rule.cells.cuts, new, y_new))


def hypergeometric(n, m, ones):
    """Return the probabilities of 0, 1, … ones among the m recent rows of a cell."""
    return {
        z: Fraction(math.comb(m, z) * math.comb(n, ones - z), math.comb(n + m, ones))
        for z in range(max(0, ones - n), min(m, ones) + 1)
    }


def all_tables(n, m, ones):
    """Return all tables with these margins, and their probabilities."""
    cells = [hypergeometric(*margins) for margins in zip(n, m, ones, strict=True)]
    return {
        tuple(z for z, _ in table): math.prod(p for _, p in table)
        for table in itertools.product(*(cell.items() for cell in cells))
    }


def textbook(pair, z):
    """Return mean and slope of a table, in words of the definition."""
    n, m = pair.calibration.counts.tolist(), pair.recent.counts.tolist()
    ones = (pair.calibration.positives + pair.recent.positives).tolist()
    rows = [a + b for a, b in zip(n, m, strict=True)]
    some = [b for b, size in enumerate(rows) if size]
    flat = [
        (b, label) for b in some for label in [1] * ones[b] + [0] * (rows[b] - ones[b])
    ]
    sign = 1 if pair.increasing else -1
    fit = dict(
        zip(
            (b for b, _ in flat),
            oracle.isotonic([sign * b for b, _ in flat], [y for _, y in flat]),
            strict=True,
        )
    )
    excess, variance, x = [], [], []
    for b in some:
        v = Fraction(0)
        if rows[b] > 1:
            v = Fraction(ones[b] * (rows[b] - ones[b]) * n[b] * m[b])
            v /= rows[b] ** 2 * (rows[b] - 1)
        if v:
            p = (fit[b] * rows[b] + Fraction(1, 2)) / (rows[b] + 1)
            excess.append(z[b] - Fraction(m[b] * ones[b], rows[b]))
            variance.append(v)
            x.append(math.log(p / (1 - p)))
    total = sum(variance)
    centre = sum(float(v) * a for v, a in zip(variance, x, strict=True)) / float(total)
    scatter = sum(
        float(v) * (a - centre) ** 2 for v, a in zip(variance, x, strict=True)
    )
    tilt = sum(float(d) * (a - centre) for d, a in zip(excess, x, strict=True))
    return (
        float(sum(excess)) / math.sqrt(total),
        tilt / math.sqrt(scatter) if scatter > 1e-18 else 0.0,
    )


def exact_p(pair):
    """Return the p-value that all tables, weighted by their probability, give."""
    ones = pair.calibration.positives + pair.recent.positives
    tables = all_tables(
        pair.calibration.counts.tolist(), pair.recent.counts.tolist(), ones.tolist()
    )
    sizes = {z: [round(abs(t), 9) for t in textbook(pair, z)] for z in tables}

    def least(z):
        tails = (
            sum(p for other, p in tables.items() if sizes[other][i] >= sizes[z][i])
            for i in range(2)
        )
        return min(p / Fraction(w) for p, w in zip(tails, change.WEIGHTS, strict=True))

    by_table = {z: least(z) for z in tables}
    seen = by_table[tuple(pair.recent.positives.tolist())]
    return sum(p for z, p in tables.items() if by_table[z] <= seen)


@pytest.mark.parametrize(
    ("n", "m", "ones", "draws"),
    [
        ((4, 4), (4, 4), (4, 4), 2),
        ((2, 3), (2, 2), (2, 2), 3),
        ((1, 5), (3, 1), (1, 3), 4),
    ],
)
def test_level_is_exact_whatever_tables_are_drawn(n, m, ones, draws):
    """By enumeration of what can be observed and drawn: P(p <= a) <= a."""
    pair = samples(n, [0] * len(n), m, ones)
    tables = all_tables(n, m, ones)
    columns = change.Tables.of(pair).statistics(np.array(list(tables)).T)
    chances = list(tables.values())
    level = dict.fromkeys(range(1, draws + 2), Fraction(0))
    for drawn in itertools.product(range(len(tables)), repeat=draws + 1):
        p, _ = change.adjusted_p_values(columns[:, drawn])
        chance = math.prod(chances[table] for table in drawn)
        level[round(p * (draws + 1))] += chance
    assert sum(level.values()) == 1
    for rank in level:
        below = sum(level[k] for k in range(1, rank + 1))
        assert below <= Fraction(rank, draws + 1)
    assert level[1] > 0


def test_p_values_are_weighed_before_the_least_is_taken():
    """By rank 3 and 1, over 3/4 and 1/4: both 4; the others have 4/3 times 1 to 4."""
    mean, slope = [-2, 1, 3, -4], [9, 0, 0, 0]
    overall, each = change.adjusted_p_values(np.array([mean, slope]))
    assert overall == 3 / 4
    assert each == (3 / 4, 3 / 4)


@pytest.mark.parametrize(
    ("n", "y", "m", "z"),
    [
        ((4, 4), (0, 2), (4, 4), (3, 3)),
        ((6, 5, 3), (0, 2, 2), (3, 4, 5), (2, 1, 5)),
        ((5, 1, 4), (1, 0, 3), (4, 2, 6), (3, 2, 0)),
    ],
)
def test_p_value_is_that_of_all_tables(n, y, m, z):
    pair = samples(n, y, m, z)
    exact = float(exact_p(pair))
    drawn = change_of(pair, draws=39_999).p_value
    assert drawn == pytest.approx(exact, abs=4 * math.sqrt(exact / 40_000))


cells = st.lists(
    st.tuples(*[st.integers(0, 9)] * 2).flatmap(
        lambda rows: st.tuples(
            *map(st.just, rows), st.integers(0, rows[0]), st.integers(0, rows[1])
        )
    ),
    min_size=1,
    max_size=9,
)


@given(cells, st.booleans())
def test_statistics_are_those_of_the_textbook(drawn, increasing):
    n, m, y, z = zip(*drawn, strict=True)
    pair = samples(n, y, m, z, increasing=increasing)
    tests = change_of(pair, draws=19).tests
    if change_of(pair, draws=1).information == 0:
        assert [test.statistic for test in tests] == [0.0, 0.0]
        return
    mean, slope = textbook(pair, z)
    assert tests[0].statistic == pytest.approx(mean, abs=1e-9)
    assert tests[1].statistic == pytest.approx(slope, abs=1e-9)


@given(cells)
def test_cells_without_rows_change_nothing(drawn):
    n, m, y, z = zip(*drawn, strict=True)
    wide = [
        tuple(itertools.chain.from_iterable((value, 0) for value in column))
        for column in (n, y, m, z)
    ]
    measured = change_of(samples(n, y, m, z), draws=49)
    again = change_of(samples(*wide), draws=49)
    assert again.tests == measured.tests
    assert again.p_value == measured.p_value


@pytest.mark.parametrize(
    ("n", "m", "ones"),
    [(20, 50, 21), (3, 400, 9), (10_000, 5_000, 300), (10**8, 10**6, 10**5), (5, 1, 1)],
)
def test_tables_are_drawn_from_the_hypergeometric_distribution(n, m, ones):
    tables = change.Tables.of(samples([n], [0], [m], [ones]))
    drawn = change.table_sampler(tables, np.random.default_rng(1))(20_000)[0]
    law = stats.hypergeom(n + m, ones, m)
    assert tables.expected[0] == pytest.approx(law.mean())
    assert tables.variance[0] == pytest.approx(law.var())
    for z in np.unique(law.ppf([0.01, 0.2, 0.5, 0.8, 0.99])):
        p = law.cdf(z)
        error = math.sqrt(p * (1 - p) / drawn.size)
        assert (drawn <= z).mean() == pytest.approx(p, abs=4 * error + 1e-12)


def test_more_rows_than_can_be_tabulated_are_normal():
    """Two standard errors between two samples of 4e9 rows: p = 0.0455."""
    n = 4 * 10**9
    gap = round(2 * math.sqrt(n / 2 / 4))  # of the ones among the recent rows
    measured = change_of(
        samples([n], [n // 2 - gap], [n], [n // 2 + gap]), draws=99_999
    )
    assert measured.tests[0].statistic == pytest.approx(2, rel=1e-3)
    p = 2 * stats.norm.sf(2)
    assert measured.p_value == pytest.approx(p, abs=4 * math.sqrt(p / 100_000))


def test_few_ones_among_billions_of_rows_stay_few():
    tables = change.Tables.of(
        samples([10**9, 10**9], [10**9 - 5, 4 * 10**8], [10**9] * 2, [10**9 - 4, 3])
    )
    drawn = change.table_sampler(tables, np.random.default_rng(0))(5_000)
    zeros = 10**9 - drawn[0]
    assert zeros.min() >= 0
    assert zeros.max() <= 9
    assert zeros.mean() == pytest.approx(4.5, abs=0.1)
    assert drawn[1].mean() == pytest.approx(2 * 10**8, rel=1e-4)


def test_small_and_large_samples_meet_at_the_normal_distribution(monkeypatch):
    pair = world(200_000, 400_000, 6, now=lambda s: 0.995 * s**2)
    exact = change_of(pair, draws=19_999)
    monkeypatch.setattr(change, "NORMAL_FROM", 0.0)
    normal = change_of(pair, draws=19_999)
    assert 0.02 < exact.p_value < 0.05  # by the mean: some 600 tables are as extreme
    assert normal.p_value == pytest.approx(exact.p_value, rel=0.15)


def test_the_interval_is_the_decile_that_changed_most():
    def bump(s):
        return s**2 + np.where((s >= 0.4) & (s < 0.5), 0.25, 0)

    interval = change_of(world(4_000, 4_000, 0, now=bump)).interval
    assert interval.low == pytest.approx(0.4, abs=0.03)
    assert interval.high == pytest.approx(0.5, abs=0.03)
    assert interval.n_rows == pytest.approx(400, abs=100)
    assert interval.rate == pytest.approx(interval.calibration_rate + 0.25, abs=0.06)


def test_the_interval_is_open_at_the_ends_and_counts_its_rows():
    measured = change_of(samples([40], [30], [60], [15]))
    interval = measured.interval
    assert (interval.low, interval.high) == (-math.inf, math.inf)
    assert interval.n_rows == 60
    assert interval.rate == 0.25
    assert interval.calibration_rate == 0.75
    two = change_of(samples([40, 40], [5, 5], [60, 60], [8, 45])).interval
    assert (two.low, two.high, two.n_rows) == (1.0, math.inf, 60)


def test_each_kind_of_change_is_seen_by_its_test():
    fewer = change_of(world(2_000, 2_000, 1, now=lambda s: 0.8 * s**2))
    assert fewer.p_value == fewer.tests[0].p_value <= 0.01
    assert fewer.tests[0].statistic < -3

    def logistic(slope):
        return lambda s: 1 / (1 + np.exp(-slope * (s - 0.5)))

    flatter = change_of(world(4_000, 4_000, 2, then=logistic(8), now=logistic(4)))
    assert flatter.p_value == flatter.tests[1].p_value <= 0.01
    assert flatter.tests[1].statistic < -4
    assert abs(flatter.tests[0].statistic) < 3


@pytest.mark.parametrize(
    ("n", "y", "m", "z"),
    [
        ([5, 5], [1, 2], [0, 0], [0, 0]),  # no recent rows
        ([0, 0], [0, 0], [5, 5], [1, 2]),
        ([5, 0], [3, 0], [0, 5], [0, 1]),  # nowhere both
        ([5, 5], [0, 0], [5, 5], [0, 0]),  # one class
        ([5, 5], [5, 5], [5, 5], [5, 5]),
        ([5, 5], [0, 5], [5, 5], [0, 5]),  # one class in each cell
    ],
)
def test_rows_that_can_tell_nothing_find_nothing(n, y, m, z):
    measured = change_of(samples(n, y, m, z))
    assert measured.p_value == 1
    assert measured.information == 0
    assert measured.interval is None
    assert {test.p_value for test in measured.tests} == {1.0}


def test_equal_rates_are_no_change():
    measured = change_of(samples([50, 50], [10, 30], [100, 100], [20, 60]))
    assert measured.p_value == 1
    assert [test.statistic for test in measured.tests] == pytest.approx([0, 0])
    assert measured.interval.rate == measured.interval.calibration_rate


def test_few_rows_have_no_interval_yet_a_p_value():
    measured = change_of(samples([3], [0], [3], [3]), draws=9_999)
    assert measured.interval is None
    assert measured.p_value == pytest.approx(2 / 20, abs=0.012)


def test_tied_scores_stay_in_one_cell():
    rng = np.random.default_rng(3)
    s, y = rng.integers(0, 5, 700), rng.integers(0, 2, 700)
    rule = abers.fit_rule(s, y)
    cuts = rule.cells.cuts
    cells = cells_in(cuts, s, y)
    assert cuts.tolist() == [0, 1, 2, 3, 4]
    assert cells.counts.tolist() == [0, *np.bincount(s)]
    assert cells.positives.tolist() == [0, *np.bincount(s, weights=y)]


@given(
    st.lists(st.tuples(st.integers(0, 30), st.booleans()), min_size=1),
    st.lists(st.tuples(st.integers(-3, 33), st.booleans()), min_size=1),
)
def test_a_cell_begins_with_its_cut(fitted, rows):
    scores, labels = zip(*fitted, strict=True)
    cuts = abers.fit_rule(scores, labels).cells.cuts
    assert cuts.size <= 99
    counted = cells_in(cuts, *zip(*rows, strict=True))
    edges = [-math.inf, *cuts, math.inf]
    for cell, (low, high) in enumerate(itertools.pairwise(edges)):
        inside = [label for score, label in rows if low <= score < high]
        assert counted.counts[cell] == len(inside)
        assert counted.positives[cell] == sum(inside)


def test_the_same_data_give_the_same_answer():
    pair = world(500, 500, 4)
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    assert change_of(pair) == change_of(pair)
    assert change_of(pair).p_value != change_of(pair, seed=1).p_value
    assert change.error_if_unchanged([pair]) == change.error_if_unchanged([pair])
    after = np.random.get_state()[1]  # noqa: NPY002
    np.testing.assert_array_equal(before, after)


def test_a_falling_rule_mirrors_a_rising_one():
    pair = world(800, 800, 6, now=lambda s: 0.8 * s**2 + 0.1)
    mirrored = Samples(
        *(Cells(-c.cuts[::-1], c.counts[::-1], c.positives[::-1]) for c in pair[:2]),
        increasing=False,
    )
    here, there = change_of(pair), change_of(mirrored)
    for a, b in zip(here.tests[:2], there.tests[:2], strict=True):
        assert a.statistic == pytest.approx(b.statistic)
    assert here.information == pytest.approx(there.information)


def test_exchanged_labels_mirror_the_mean():
    pair = world(800, 800, 6, now=lambda s: 0.8 * s**2 + 0.1)
    exchanged = Samples(
        *(c._replace(positives=c.counts - c.positives) for c in pair[:2]),
        increasing=False,
    )
    here, there = change_of(pair), change_of(exchanged)
    assert here.tests[0].statistic == pytest.approx(-there.tests[0].statistic)
    assert here.tests[1].statistic == pytest.approx(there.tests[1].statistic)
    assert here.p_value == pytest.approx(there.p_value, abs=0.02)


def test_equal_weights_are_rows_and_others_count_for_fewer():
    rng = np.random.default_rng(8)
    s, y, cuts = rng.random(300), rng.random(300) < 0.4, np.array([0.3, 0.6, 2])
    plain = cells_in(cuts, s, y)
    equal = cells_in(cuts, s, y, sample_weight=np.full(300, 2.5))
    np.testing.assert_array_equal(plain.counts, equal.counts / 2.5)
    as_rows = change.effective_counts(equal)
    np.testing.assert_array_equal(plain.counts, as_rows.counts)
    np.testing.assert_array_equal(plain.positives, as_rows.positives)
    weighted = cells_in(cuts, s, y, sample_weight=rng.exponential(size=300))
    fewer = change.effective_counts(weighted)
    assert (fewer.counts[:3] < plain.counts[:3]).all()
    assert (fewer.positives <= fewer.counts).all()
    assert fewer.counts[3] == plain.counts[3] == 0
    assert change_of(Samples(plain, weighted)).approximate
    assert not change_of(Samples(plain, plain)).approximate


@given(st.integers(1, 300), st.integers(1, 300), st.integers(0, 99))
def test_weighted_cells_are_joined_until_they_have_rows_enough(n, m, seed):
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.random(30))
    both = [
        cells_in(
            cuts,
            rng.random(size),
            rng.random(size) < 0.5,
            sample_weight=rng.exponential(size=size),
        )
        for size in (n, m)
    ]
    coarser = change.in_rows(Samples(*both))
    kept = coarser.calibration.cuts
    assert kept.size + 1 == coarser.calibration.counts.size
    assert np.isin(kept, cuts).all()
    assert coarser.recent.cuts is kept
    for joined in coarser[:2]:
        assert (joined.counts[:-1] >= 20).all()
    places = np.searchsorted(kept, np.append(-1, cuts), side="right")
    for joined, cells in zip(coarser[:2], both, strict=True):
        weights, ones, squares = (np.bincount(places, weights=x) for x in cells[1:])
        np.testing.assert_array_equal(joined.counts, np.rint(weights**2 / squares))
        np.testing.assert_array_equal(
            joined.positives, np.rint(joined.counts * (ones / weights))
        )


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_is_his_step_down(p_values):
    """Reject while the least left is at most alpha over the number left."""
    adjusted = holm(p_values)
    for alpha in (0.01, 0.05, 0.3, *p_values):
        left, rejected = sorted(range(len(p_values)), key=p_values.__getitem__), set()
        while left and p_values[left[0]] * len(left) <= alpha:
            rejected.add(left.pop(0))
        if alpha < 1:
            assert {i for i, p in enumerate(adjusted) if p <= alpha} == rejected


def test_more_tables_are_drawn_while_at_most_forty_are_as_extreme():
    drawn = set()
    for seed in range(25):
        pair = world(500, 500, seed, now=lambda s: 0.85 * s**2)
        few = change_of(pair)
        more = change_of(pair, most_draws=9_999)
        drawn.add(more.n_tables)
        assert more.n_tables == (10_000 if few.p_value <= 0.04 else 1_000)
        assert few.n_tables == 1_000
    assert drawn == {1_000, 10_000}


def test_stopping_early_keeps_the_level(monkeypatch):
    monkeypatch.setattr(change, "EXCEEDED", 2)
    rng = np.random.default_rng(12)
    n, m, ones = np.array([30, 20]), np.array([20, 20]), np.array([20, 25])
    z = rng.hypergeometric(ones, n + m - ones, m, size=(1_500, 2))
    p = np.array(
        [
            change_of(
                samples(n, ones - row, m, row), draws=19, most_draws=199, seed=seed
            ).p_value
            for seed, row in enumerate(z)
        ]
    )
    for alpha in (0.01, 0.05, 0.1, 0.2):
        error = math.sqrt(alpha * (1 - alpha) / p.size)
        assert (p <= alpha).mean() <= alpha + 3 * error
    assert (p <= 0.2).mean() >= 0.1


def test_tables_are_chosen_by_the_margins_and_never_by_the_labels():
    """What chose by the labels would break the level, what never changes its mean."""

    def first(n, y, m, z, seed=0):
        tables = change.Tables.of(samples(n, y, m, z))
        return change.table_sampler(tables, tables.generator(seed))(20).tolist()

    rows, recent = [300, 200], [200, 200]
    drawn = first(rows, [100, 150], recent, [100, 100])
    assert first(rows, [120, 130], recent, [80, 120]) == drawn
    assert first(rows, [100, 151], recent, [100, 100]) != drawn
    assert first(rows, [100, 150], recent, [100, 100], seed=1) != drawn


def test_calibration_error_of_ones_only_is_known():
    """Three ones have bounds 3/4 and 1, merged to 1 / (1 - 3/4 + 1) = 0.8."""
    pair = samples([3], [3], [7], [7])
    assert change.error_if_unchanged([pair]) == pytest.approx(0.2)
    assert change.error_at_fit(pair.calibration) == pytest.approx(0.2)
    brier = change.error_at_fit(pair.calibration, loss="brier")
    assert brier == pytest.approx(1 / 2 - 0.75**2 / 2)  # u + l² / 2 - u² / 2 is said


def test_without_recent_rows_no_error_is_expected():
    assert math.isnan(change.error_if_unchanged([samples([3], [3], [0], [0])]))


def test_expected_error_is_what_unchanged_rows_show():
    came, expected, fit, true = [], [], [], []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        s, new = rng.random(400), rng.random(2_000)
        y, y_new = rng.random(400) < s**2, rng.random(2_000) < new**2
        rule = abers.fit_rule(s, y)
        counts = [rule.cells, cells_in(rule.cells.cuts, new, y_new)]
        p = rule.probability(new)
        came.append(metrics.expected_calibration_error(y_new, p))
        expected.append(change.error_if_unchanged([Samples(*counts)]))
        fit.append(change.error_at_fit(counts[0]))
        grid = np.arange(0.0005, 1, 0.001)
        predicted = rule.probability(grid)
        gaps = np.bincount((predicted * 10).astype(int), weights=predicted - grid**2)
        true.append(abs(gaps).sum() / grid.size)
    assert np.median(expected) == pytest.approx(np.median(came), rel=0.15)
    assert np.median(fit) == pytest.approx(np.median(true), rel=0.2)
