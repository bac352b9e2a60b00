"""Change: whether P(label | score) is still what it was at calibration.

Calibration rows and recent rows are counted in cells of the score. If neither the model
nor the world has changed, the two kinds of rows in each cell are one sample, split at
random: given the total numbers of rows and ones, the number of ones among the recent
rows is hypergeometric. This involves no rule, merge or estimate, so tests that compare
the observed table with tables drawn like this have an exact level, however few
calibration rows there were.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from abers.core.cells import Cells
from abers.core.diagram import trusted_diagram
from abers.core.effective_sizes import effective_size_of_sums
from abers.core.fit import rule_of_diagram
from abers.core.isotonic import isotonic_regression
from abers.evaluation.counts import bin_of
from abers.formatting import score_range
from abers.thresholds import ECE_BINS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from abers.choices import LossName
    from abers.validation import FloatArray, IntArray

TESTS = ("mean", "slope")
# Most changes shift all probabilities one way, so the mean gets most of the level.
# benchmarks/CHECK_LEVEL.md shows what that gains and costs.
WEIGHTS = (3 / 4, 1 / 4)
DRAWN_TABLES = 999  # in addition to the observed table
EXCEEDED = 40  # this many more extreme tables are enough for a p-value
LEAST_EXCEEDED = 10  # the same, for one group of many, before correction
ERROR_DRAWS = 100  # tables drawn for the median of calibration errors
BATCH = 1_000  # tables in memory at once
TABLE_SEED = 0
DIGITS = 9  # of a statistic; smaller differences are ties
LEAST_ROWS = 20  # in a cell, if rows have weights
DECILES = 10
LEAST_VARIANCE = 1.0  # of a decile; below it, the ratio is hardly normal
NORMAL_FROM = 1e7  # of a cell; above it, the normal distribution is used


class Samples(NamedTuple):
    """Calibration rows and recent rows, counted in the same cells."""

    calibration: Cells
    recent: Cells
    increasing: bool = True


@dataclass(frozen=True, slots=True)
class ScoreInterval:
    """Scores from `low` to below `high`, and the observed rates there."""

    low: float
    high: float
    n_rows: int  # recent
    rate: float  # among recent rows
    calibration_rate: float  # at calibration, with cells weighted like the recent ones

    def __str__(self) -> str:
        rates = f"observed rate {self.rate:.3g}"
        where = score_range(self.low, self.high)
        return f"{where}: {rates}, at calibration {self.calibration_rate:.3g}"


@dataclass(frozen=True, slots=True)
class ChangeTest:
    """One of the two tests for a change.

    Attributes
    ----------
    name : str
        "mean" or "slope".
    statistic : float
        In standard errors. Mean: above 0 if recent rows have more ones than expected.
        Slope: above 0 if probabilities have become more extreme.
    p_value : float
        Adjusted: how often either test would be this extreme without a change.
    """

    name: str
    statistic: float
    p_value: float


@dataclass(frozen=True, slots=True)
class Change:
    """Whether P(label | score) has changed since the calibration.

    Attributes
    ----------
    p_value : float
        For both tests together; without a change, it is at most alpha with probability
        at most alpha.
    tests : tuple of ChangeTest
        Mean and slope; the smaller of their p-values is `p_value`.
    interval : ScoreInterval or None
        The decile of the calibration scores that differs most, in standard errors. This
        is not a test: some decile always differs most. None if there are too few rows.
    information : float
        Variance of the number of ones among the recent rows. A change of all log-odds
        by d shifts the statistic of the mean by about d * sqrt(information).
    n_tables : int
        Number of tables compared, including the observed one.
    approximate : bool
        Whether weighted rows were counted by their effective number, so that the level
        is not exact.
    """

    p_value: float
    tests: tuple[ChangeTest, ...]
    interval: ScoreInterval | None
    information: float
    n_tables: int
    approximate: bool


def effective_counts(cells: Cells) -> Cells:
    """Turn weights into effective numbers of equal rows.

    Parameters
    ----------
    cells : Cells
        With squares of weights; without them, they already count rows.

    Returns
    -------
    Cells
        (Sum of weights)² / (sum of squared weights) rows, rounded, with the same share
        of ones.

    Examples
    --------
    >>> import numpy as np
    >>> from abers.core.cells import Cells
    >>> from abers.evaluation.change import effective_counts
    >>> weighted = Cells(np.array([]), *(np.array([x]) for x in (4.0, 3.0, 10.0)))
    >>> effective_counts(weighted)[1:3]  # of weights 1 and 3: 16 / 10 rows, 3 / 4 ones
    (array([2]), array([2]))
    """
    cuts, weights, positives, squares = cells
    if squares is None:
        return cells
    rate = np.divide(positives, weights, out=np.zeros(weights.size), where=weights > 0)
    rows = np.rint(effective_size_of_sums(weights, squares)).astype(np.int64)
    ones = np.rint(rows * np.minimum(rate, 1.0)).astype(np.int64)
    return Cells(cuts, rows, ones)


def in_rows(samples: Samples) -> Samples:
    """Return samples that count rows; weighted rows are first put into larger cells.

    Parameters
    ----------
    samples : Samples
        With weights or without.

    Returns
    -------
    Samples
        The same without weights. Otherwise, cells with about 20 or more effective rows
        in both samples: with fewer, rounding would add variance.
    """
    both = samples.calibration, samples.recent
    if all(cells.squares is None for cells in both):
        return samples
    starts = _starts(both)
    cuts = samples.calibration.cuts[starts[1:] - 1]
    merged = (
        Cells(cuts, *(np.add.reduceat(x, starts) for x in cells[1:] if x is not None))
        for cells in both
    )
    calibration, recent = map(effective_counts, merged)
    return Samples(calibration, recent, samples.increasing)


def _starts(samples: Sequence[Cells]) -> IntArray:
    """Join cells until each sample has enough rows; the rest joins the last cell."""
    starts = [0]
    size = samples[0].counts.size
    for stop in range(1, size + 1):
        part = slice(starts[-1], stop)
        if all(_effective_rows(cells, part) >= LEAST_ROWS for cells in samples):
            starts.append(stop)
    return np.array(starts[:-1] or [0], dtype=np.int64)


def _effective_rows(cells: Cells, part: slice) -> float:
    """Return the effective number of rows in neighbouring cells."""
    total = cells.counts[part].sum()
    if cells.squares is None:
        return float(total)
    return float(effective_size_of_sums(total, cells.squares[part].sum()))


def change_of(
    samples: Samples,
    *,
    draws: int = DRAWN_TABLES,
    most_draws: int | None = None,
    seed: int = TABLE_SEED,
) -> Change:
    """Test whether P(label | score) has changed since the calibration.

    Parameters
    ----------
    samples : Samples
        Calibration rows and recent ones, counted in the same cells.
    draws : int, default=999
        Tables to draw under the hypothesis that nothing has changed.
    most_draws : int, default=None
        Draw ten times as many, repeatedly, up to this number, as long as at most forty
        are as extreme as the observed one. None: never.
    seed : int, default=0
        The same data and seed give the same answer.

    Returns
    -------
    Change
        Its p-value has an exact level unless it is marked as approximate.

    Notes
    -----
    With N rows and O ones in a cell, of which m rows and z ones are recent, z - E has
    mean 0 and variance V if nothing has changed; E = m O / N. Two statistics are
    compared with those of the drawn tables. *Mean*: the sum of z - E over its standard
    error (Cochran, Mantel and Haenszel). *Slope*: the same, weighted by the centred
    logit of the isotonic fit to all rows. The smaller of the two p-values, divided by
    the weights 3/4 and 1/4, is again compared with that of the drawn tables (Westfall
    and Young), which takes their dependence into account.

    Scores may drift between cells, because each cell is compared with itself. What is
    assumed constant is P(label | cell): drift within a cell looks like a change. It
    matters where cells are wide, at the ends, and where rows are many. So a rule cuts
    the two outer percents further, by factors of 2**(1/4) down to 20 rows, and all of
    them beyond 10**6 rows (`abers.core.cells.cut_ranks`).

    Drawing more tables only if few were as extreme keeps the level: for each alpha
    there is one number of tables, fixed in advance, whose p-value is at most alpha
    whenever the returned one is.

    References
    ----------
    Westfall, Young: Resampling-based multiple testing, 1993.
    Besag, Clifford: Sequential Monte Carlo p-values, Biometrika 1991.

    Examples
    --------
    Nine ones of ten rows before, one of ten now. As extreme are 1 or 9 of the ten ones
    and beyond, by chance 2 * 101 / 184756 = 0.0011; one cell has no slope.

    >>> import numpy as np
    >>> from abers.core.cells import Cells
    >>> from abers.evaluation.change import Samples, change_of
    >>> before = Cells(np.array([]), np.array([10]), np.array([9]))
    >>> now = Cells(np.array([]), np.array([10]), np.array([1]))
    >>> change = change_of(Samples(before, now), draws=99_999)
    >>> 0.001 < change.p_value < 0.0012
    True
    >>> change.interval.rate, change.interval.calibration_rate
    (0.1, 0.9)
    """
    weighted = samples
    samples = in_rows(samples)
    approximate = samples is not weighted
    tables = Tables.of(samples)
    if not tables.information:
        nothing = tuple(ChangeTest(name, 0.0, 1.0) for name in TESTS)
        return Change(1.0, nothing, None, 0.0, 1, approximate)
    draw = table_sampler(tables, tables.generator(seed))
    observed = samples.recent.positives[tables.cells]
    columns = [tables.statistics(observed[:, np.newaxis])]
    most = draws if most_draws is None else max(draws, most_draws)
    aim, n_tables = draws, 1
    while True:
        while n_tables <= aim:
            drawn = draw(min(BATCH, aim + 1 - n_tables))
            columns.append(tables.statistics(drawn))
            n_tables += drawn.shape[1]
        overall, each = adjusted_p_values(np.concatenate(columns, axis=1))
        if aim >= most or round(overall * n_tables) > EXCEEDED:
            break
        aim = min(most, 10 * (aim + 1) - 1)
    tests = zip(TESTS, columns[0][:, 0].tolist(), each, strict=True)
    return Change(
        p_value=overall,
        tests=tuple(ChangeTest(*test) for test in tests),
        interval=_most_changed_decile(samples, tables, observed),
        information=tables.information,
        n_tables=n_tables,
        approximate=approximate,
    )


def most_draws(alpha: float, n_tests: int) -> int:
    """Return how many tables to draw, so that p-values can be compared with a level.

    Parameters
    ----------
    alpha : float
        The level of all tests together.
    n_tests : int
        How many p-values will be corrected together, by Holm's method.

    Returns
    -------
    int
        Enough that a p-value at the level of one test counts ten tables as extreme, or
        forty if there are few tests: with fewer, it would depend on the draw.

    Examples
    --------
    >>> from abers.evaluation import change
    >>> change.most_draws(0.01, 1), change.most_draws(0.01, 20)
    (3999, 19999)
    """
    return math.ceil(max(EXCEEDED, LEAST_EXCEEDED * n_tests) / alpha) - 1


def adjusted_p_values(statistics: FloatArray) -> tuple[float, tuple[float, ...]]:
    """Compare the first table with all: jointly, and by each statistic.

    Parameters
    ----------
    statistics : ndarray of shape (2, n)
        One column per table; the first was observed. Values far from 0 are extreme.

    Returns
    -------
    tuple
        The share of tables whose smallest weighted p-value is at most that of the
        first, and the same for the p-value of each of its statistics.

    Examples
    --------
    >>> import numpy as np
    >>> from abers.evaluation import change
    >>> change.adjusted_p_values(np.array([[3, 2, 1, 0], [0, 0, 0, 0]]))
    (0.25, (0.25, 1.0))
    """
    n_tables = statistics.shape[1]
    weighted = np.empty(statistics.shape)
    for row, size, weight in zip(weighted, abs(statistics), WEIGHTS, strict=True):
        below = np.searchsorted(np.sort(size), size, side="left")
        # 4 x / 3 and 4 y are equal only as integers, which rounding keeps.
        row[:] = (n_tables - below) / weight
    smallest = weighted.min(axis=0)
    each = tuple(int((smallest <= p).sum()) / n_tables for p in weighted[:, 0])
    return min(each), each


def error_if_unchanged(
    strata: Sequence[Samples],
    *,
    loss: LossName = "log",
    draws: int = ERROR_DRAWS,
    seed: int = TABLE_SEED,
) -> float:
    """Return the calibration error to expect if nothing has changed.

    Parameters
    ----------
    strata : sequence of Samples
        For each rule, calibration rows and recent ones, counted in the same cells.
    loss : {"log", "brier"}, default="log"
        The loss for which bounds are merged.
    draws : int, default=100
        Number of random splits of all rows into calibration rows and recent ones.
    seed : int, default=0
        The same data and seed give the same answer.

    Returns
    -------
    float
        Median of the ECE, in 10 bins of equal width, of rules fitted to the one part
        and evaluated on the other; NaN without recent rows.

    Notes
    -----
    Few calibration rows cause an ECE, and so do few recent rows: only an ECE
    above this value is a sign of change.
    """
    bins, total = np.zeros((draws, ECE_BINS)), 0.0
    for samples in strata:
        tables = Tables.of(in_rows(samples), informative=False)
        m = tables.recent
        if not tables.calibration.any():
            return math.nan
        drawn = table_sampler(tables, tables.generator(seed))(draws)
        for draw, z in enumerate(drawn.T):
            p = _refitted(
                tables.calibration,
                tables.ones - z,
                increasing=samples.increasing,
                loss=loss,
            )
            bins[draw] += _binned(p, z - p * m)
        total += float(m.sum())
    return float(np.median(abs(bins).sum(axis=1)) / total) if total else math.nan


def error_at_fit(
    calibration: Cells,
    *,
    increasing: bool = True,
    loss: LossName = "log",
    draws: int = ERROR_DRAWS,
    seed: int = TABLE_SEED,
) -> float:
    """Return the true calibration error to expect of a rule with this many rows.

    Parameters
    ----------
    calibration : Cells
        The rows that the rule was fitted to.
    increasing : bool, default=True
        Whether a higher score means a higher probability.
    loss : {"log", "brier"}, default="log"
        The loss for which bounds are merged.
    draws : int, default=100
        Number of label sets, drawn from the isotonic fit.
    seed : int, default=0
        The same data and seed give the same answer.

    Returns
    -------
    float
        Median, over rules fitted to the drawn labels, of the ECE of infinitely many
        rows in 10 bins of equal width.
    """
    _, rows, ones, _ = effective_counts(calibration)
    n, y = rows[rows > 0], ones[rows > 0]
    curve = isotonic_regression(y / n, n, increasing=increasing).values
    curve = np.clip(curve, 0.0, 1.0)
    drawn = np.random.default_rng(seed).binomial(n, curve, size=(draws, n.size))
    errors = []
    for labels in drawn:
        p = _refitted(n, labels, increasing=increasing, loss=loss)
        errors.append(abs(_binned(p, (curve - p) * n)).sum() / n.sum())
    low, high = (sorted(errors)[k] for k in ((draws - 1) // 2, draws // 2))
    return float(high - (high - low) / 2)  # np.median would load numpy.ma


def _refitted(
    rows: IntArray, positives: IntArray, *, increasing: bool, loss: LossName
) -> FloatArray:
    """Fit a rule to the cells, and return its probability for each cell."""
    place = np.arange(rows.size, dtype=np.float64)
    some = rows > 0
    # Without checks, since a check of many groups fits a hundred of these for each.
    counts = (rows - positives)[some], positives[some]
    negatives, ones = (np.asarray(each, dtype=np.int64) for each in counts)
    diagram = trusted_diagram(place[some], negatives, ones)
    rule = rule_of_diagram(diagram, increasing=increasing)
    return rule.probability(place, loss)


def _binned(p: FloatArray, gaps: FloatArray) -> FloatArray:
    """Sum gaps in bins of the prediction."""
    sums = np.bincount(bin_of(p), weights=gaps, minlength=ECE_BINS)
    return sums.astype(np.float64)


class Tables(NamedTuple):
    """The common properties of all tables with the observed margins."""

    cells: IntArray  # numbers of the cells
    calibration: IntArray  # rows, n
    recent: IntArray  # rows, m
    ones: IntArray  # of both, O
    expected: FloatArray  # E
    variance: FloatArray  # V
    lever: FloatArray  # of the slope: centred logits

    @classmethod
    def of(cls, samples: Samples, *, informative: bool = True) -> Tables:
        """Take the cells with rows, or only those in which the ones can vary."""
        n, m = samples.calibration.counts, samples.recent.counts
        filled = np.flatnonzero(n + m)
        n, m = n[filled], m[filled]
        ones = (samples.calibration.positives + samples.recent.positives)[filled]
        # As floats: the products of four counts overflow integers.
        size, one = (n + m).astype(np.float64), ones.astype(np.float64)
        expected = m * (one / size)
        variance = expected * ((size - one) / size) * (n / np.maximum(size - 1, 1))
        lever = _levers(size, one, variance, increasing=samples.increasing)
        columns = (filled, n, m, ones, expected, variance, lever)
        if informative:
            columns = tuple(column[variance > 0] for column in columns)
        return cls(*columns)

    @property
    def information(self) -> float:
        """The variance of the number of ones among the recent rows."""
        return float(self.variance.sum())

    def generator(self, seed: int) -> np.random.Generator:
        """Return a random generator for these margins.

        With one seed for all data, every check would have the same Monte Carlo error:
        with 999 tables, a level of .05 has a standard error of .007. Margins are the
        same for all compared tables, so the seed may depend on them, and the level
        stays exact.
        """
        margins = (self.calibration, self.recent, self.ones)
        return np.random.default_rng([seed, *np.concatenate(margins).tolist()])

    def statistics(self, recent_ones: IntArray) -> FloatArray:
        """Return mean and slope, with sign, for each column of recent ones."""
        sums = np.zeros((len(TESTS), recent_ones.shape[1]))
        # Cell by cell: `sum` adds one column in another order than several, and equal
        # tables must have equal statistics.
        for ones, expected, lever in zip(
            recent_ones, self.expected, self.lever, strict=True
        ):
            excess = ones - expected
            sums[0] += excess
            sums[1] += lever * excess
        scatter = [self.information, float(self.variance @ self.lever**2)]
        errors = np.sqrt(scatter)
        errors[errors == 0] = math.inf  # no slope
        return (sums / errors[:, np.newaxis]).round(DIGITS)


def _levers(
    size: FloatArray, ones: FloatArray, variance: FloatArray, *, increasing: bool
) -> FloatArray:
    """Return the centred logits of the isotonic curve, kept finite by half a row."""
    if not variance.any():
        return np.zeros(size.size)
    curve = isotonic_regression(ones / size, size, increasing=increasing).values
    shrunk = (np.clip(curve, 0.0, 1.0) * size + 0.5) / (size + 1)
    x = np.log(shrunk) - np.log1p(-shrunk)
    lever: FloatArray = x - (variance @ x) / variance.sum()
    # If all cells have the same logit, only rounding errors remain.
    return np.where(abs(lever) > 1e-9 * (1 + abs(x)), lever, 0.0)


def table_sampler(
    tables: Tables, generator: np.random.Generator
) -> Callable[[int], IntArray]:
    """Return a function that draws tables: columns of ones among the recent rows.

    By inversion: the distribution of a cell is computed once, for all its draws. For
    very many rows, where that would take long, it is approximated by the normal
    distribution.
    """
    lowest = np.maximum(0, tables.ones - tables.calibration)
    highest = np.minimum(tables.recent, tables.ones)
    spread = np.sqrt(tables.variance)
    reach = 10 * spread + 30  # beyond, less than 1e-15
    first = np.maximum(lowest, np.floor(tables.expected - reach)).astype(np.int64)
    last = np.minimum(highest, np.ceil(tables.expected + reach)).astype(np.int64)
    normal = tables.variance > NORMAL_FROM
    distributions = {
        cell: _cumulated(tables, cell, np.arange(first[cell], last[cell]))
        for cell in np.flatnonzero(~normal & (first < last)).tolist()
    }

    def draw(size: int) -> IntArray:
        table = np.repeat(first[:, np.newaxis], size, axis=1)
        for cell, cumulated in distributions.items():
            table[cell] += np.searchsorted(cumulated, generator.random(size), "right")
        for cell in np.flatnonzero(normal).tolist():
            z = generator.normal(tables.expected[cell], spread[cell], size)
            table[cell] = np.rint(z)  # thousands of spreads from any margin
        return table

    return draw


def _cumulated(tables: Tables, cell: int, ones: IntArray) -> FloatArray:
    """Return the distribution function of the ones among a cell's recent rows.

    From the ratios of neighbouring terms: P(k + 1) / P(k) = (O - k) (m - k) / (k + 1) /
    (n - O + k + 1).
    """
    k = ones.astype(np.float64)
    n, m, one = (
        part[cell] for part in (tables.calibration, tables.recent, tables.ones)
    )
    ratios = np.log((one - k) * (m - k)) - np.log((k + 1) * (n - one + k + 1))
    logs = np.append(0.0, np.cumsum(ratios))
    masses = np.exp(logs - logs.max())
    cumulated: FloatArray = np.cumsum(masses)[:-1] / masses.sum()
    return cumulated


def _most_changed_decile(
    samples: Samples, tables: Tables, recent_ones: IntArray
) -> ScoreInterval | None:
    """Describe the decile whose ones differ most, in standard errors."""
    counts = samples.calibration.counts
    deciles = DECILES * (np.cumsum(counts) - counts) // counts.sum()
    own = deciles[tables.cells]
    variance = np.bincount(own, tables.variance)
    excess = np.bincount(own, recent_ones - tables.expected)
    enough = np.flatnonzero(variance >= LEAST_VARIANCE)
    if not enough.size:
        return None
    sizes = abs(excess[enough]) / np.sqrt(variance[enough])
    first, stop = np.searchsorted(deciles, enough[sizes.argmax()] + np.arange(2))
    return _interval(samples, int(first), int(stop))


def _interval(samples: Samples, first: int, stop: int) -> ScoreInterval:
    """Describe the scores of neighbouring cells."""
    edges = np.concatenate(([-math.inf], samples.calibration.cuts, [math.inf]))
    n, y = (part[first:stop] for part in samples.calibration[1:3])
    m, z = (part[first:stop] for part in samples.recent[1:3])
    both = (n > 0) & (m > 0)
    n, y, m, z = (part[both] for part in (n, y, m, z))
    total = int(m.sum())
    return ScoreInterval(
        low=float(edges[first]),
        high=float(edges[stop]),
        n_rows=total,
        rate=int(z.sum()) / total,
        calibration_rate=float((m * (y / n)).sum() / total),
    )
