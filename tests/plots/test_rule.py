"""What is drawn of rules, bands and losses is what was computed."""

from types import SimpleNamespace

import numpy as np
import pytest

import abers
from abers.errors import InvalidParameter
from abers.evaluation.bands import calibration_band
from abers.plots import LossesDisplay, RuleDisplay
from abers.plots.losses import Loss

INF, NAN = float("inf"), float("nan")


def value_at(line, score):
    """Read a step function off a line: the last corner at or left of the score."""
    x, y = line.get_data()
    finite = ~np.isnan(x)
    return y[finite][np.searchsorted(x[finite], score, side="right") - 1]


def labels_of(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def comparison(losses, reference):
    """Make what `from_comparison` reads of a comparison."""
    methods = [
        SimpleNamespace(
            name=name,
            log_loss=loss,
            brier_loss=loss / 2,
            log_difference=SimpleNamespace(standard_error=error),
            brier_difference=SimpleNamespace(standard_error=error / 2),
        )
        for name, loss, error in losses
    ]
    return SimpleNamespace(methods=methods, reference=reference)


@pytest.mark.parametrize("increasing", [True, False])
@pytest.mark.parametrize("loss", ["log", "brier"])
def test_lines_are_the_bounds_and_the_probability(increasing, loss):
    scores = np.arange(30.0)
    labels = np.arange(30) % 4 == 0
    rule = abers.fit_rule(scores, labels, increasing=increasing)
    display = RuleDisplay.from_rule(rule, loss=loss)
    between = scores[:-1] + 0.5  # where a step cannot be missed
    lower, upper = rule.bounds(between).T
    np.testing.assert_array_equal([value_at(display.lower_, s) for s in between], lower)
    np.testing.assert_array_equal([value_at(display.upper_, s) for s in between], upper)
    merged = [value_at(display.line_, s) for s in between]
    np.testing.assert_array_equal(merged, rule.probability(between, loss))


def test_rule_is_drawn_beyond_the_scores():
    """Above all scores the upper bound is 1, below them the lower bound is 0."""
    display = RuleDisplay.from_rule(abers.fit_rule([1, 2, 3], [0, 1, 0]))
    assert value_at(display.upper_, 3.05) == 1
    assert value_at(display.lower_, 0.95) == 0


def test_bounds_are_called_what_they_are():
    display = RuleDisplay.from_rule(abers.fit_rule([1, 2, 3], [0, 1, 0]))
    assert "upper: with the case as a 1" in labels_of(display)
    assert "lower: with the case as a 0" in labels_of(display)


def test_infinite_scores_lie_beyond_the_edges():
    rule = abers.fit_rule([-INF, 1, 2, INF], [0, 0, 1, 1])
    display = RuleDisplay.from_rule(rule)
    assert display.ax_.get_xlim() == pytest.approx((0.97, 2.03))
    assert display.ax_.get_xlabel() == "score (outliers lie beyond the edges)"
    assert value_at(display.upper_, 1.5) == rule.bounds([1.5])[0, 1]


@pytest.mark.parametrize(
    ("scores", "labels"),
    [
        ([5], [1]),
        ([0, 0, 0], [0, 1, 1]),
        ([INF], [0]),
        ([-INF, INF], [0, 1]),
        ([-1e308, 1e308], [0, 1]),
        ([0, 5e-324], [0, 1]),
        ([1, np.nextafter(1, 2)], [0, 1]),
        ([1, 2, 3], [1, 1, 1]),
    ],
)
def test_strange_scores_are_drawn(scores, labels):
    for increasing in (True, False):
        rule = abers.fit_rule(scores, labels, increasing=increasing)
        for display in (
            RuleDisplay.from_rule(rule),
            RuleDisplay.from_predictions(labels, scores, rule=rule),
        ):
            display.figure_.draw_without_rendering()
            low, high = display.ax_.get_xlim()
            assert np.isfinite(high - low)


def test_an_outlier_does_not_hide_the_rest(sample):
    scores, labels, _ = sample
    rule = abers.fit_rule(np.append(scores, 1e9), np.append(labels, True))
    display = RuleDisplay.from_rule(rule)
    assert display.ax_.get_xlim()[1] < 20
    assert "outliers" in display.ax_.get_xlabel()


@pytest.mark.parametrize("sign", [1, -1])
def test_rare_events_are_enlarged_and_common_ones_are_not(sign, sample):
    scores, labels, _ = sample
    rng = np.random.default_rng(0)
    rare = rng.random(100_000) / 20
    rows = (sign * rare, rng.random(100_000) < rare)
    rule = abers.fit_rule(*rows, increasing=sign > 0)
    for display in (
        RuleDisplay.from_rule(rule),
        RuleDisplay.from_predictions(*rows[::-1], rule=rule),
    ):
        assert 0.045 < display.ax_.get_ylim()[1] < 0.1
    common = RuleDisplay.from_rule(abers.fit_rule(scores, labels))
    assert common.ax_.get_ylim()[1] > 1


def bars_of(display, *ranges):
    """Return the highest bar in each range of scores; the highest of all has 1."""
    values, edges, floor = display.ax_.patches[0].get_data()
    height, middle = (values - floor) / (values - floor).max(), edges[:-1] / 2
    middle = middle + edges[1:] / 2
    return [height[(middle >= low) & (middle <= high)].max() for low, high in ranges]


@pytest.mark.parametrize("power", [1, 2])
def test_bars_below_show_scores_that_crowd_at_both_ends(power):
    scores = np.random.default_rng(0).beta(0.4 * power, 0.4 * power, 5_000)
    labels = np.arange(5_000) % 3 == 0
    for display in (
        RuleDisplay.from_rule(abers.fit_rule(scores, labels)),
        RuleDisplay.from_predictions(labels, scores),
    ):
        left, middle, right = bars_of(display, (0, 0.02), (0.4, 0.6), (0.98, 1))
        assert min(left, right) > 1.3 * middle


def test_bars_below_are_shares_of_the_scores():
    """Four in five scores are 0, one in five is 10."""
    rule = abers.fit_rule([0] * 80 + [10] * 20, [0, 1] * 50)
    display = RuleDisplay.from_rule(rule)
    few, none, many = bars_of(display, (9.8, 10), (1, 9), (0, 0.2))
    assert many == 1
    assert few == pytest.approx(1 / 4, abs=0.02)
    assert none < 0.01


def test_only_rules_are_drawn_as_rules():
    with pytest.raises(abers.AbersError, match=r"rule must be a Rule, .* got a int"):
        RuleDisplay.from_rule(3)


def band_at(display, score):
    """Read both ends of the band off its outline, where it crosses a score."""
    (path,) = display.fill_.get_paths()
    x, y = path.vertices.T
    left, right = np.minimum(x[:-1], x[1:]), np.maximum(x[:-1], x[1:])
    crossed = np.flatnonzero((left <= score) & (score < right))
    at = [
        np.interp(
            score,
            *np.sort_complex(x[k : k + 2] + 1j * y[k : k + 2])
            .view(float)
            .reshape(-1, 2)
            .T,
        )
        for k in crossed
    ]
    return min(at), max(at)


@pytest.mark.parametrize("sign", [1, -1])
def test_fill_is_the_honest_band(sign):
    rng = np.random.default_rng(0)
    scores = np.arange(40.0)
    labels = rng.random(40) < scores / 40
    rule = abers.fit_rule(sign * scores, labels, increasing=sign > 0)
    display = RuleDisplay.from_predictions(labels, sign * scores, rule=rule)
    band = calibration_band(scores, labels)
    for row in range(39):
        # Between two scores: the lower end of the one, the upper end of the other.
        expected = band.lower[row], band.upper[row + 1]
        assert band_at(display, sign * (row + 0.5)) == pytest.approx(expected, abs=2e-3)


def test_line_over_the_band_is_the_probability_of_the_rule(sample):
    scores, labels, _ = sample
    rule = abers.fit_rule(scores[:50], labels[:50])
    display = RuleDisplay.from_predictions(labels, scores, rule=rule, loss="brier")
    at = rule.score_quantiles[10:90:10] + 1e-9
    drawn = [value_at(display.line_, score) for score in at]
    np.testing.assert_allclose(drawn, rule.probability(at, "brier"), atol=2e-3)


def test_probabilities_are_held_against_their_own_band(sample):
    _, labels, p = sample
    display = RuleDisplay(band=calibration_band(p, labels)).plot()
    x, y = display.line_.get_data()
    np.testing.assert_array_equal(x, y)
    assert display.ax_.get_xlabel() == "predicted probability"


LOSSES = [("isotonic", INF, NAN), ("IVAP", 0.5, 0.01), ("underlying", 0.6, 0.0)]


def test_losses_stand_at_their_places_best_first():
    display = LossesDisplay.from_comparison(comparison(LOSSES, "underlying"))
    assert display.points_.get_xdata().tolist() == [0.5, 0.6]
    assert list(display.points_.get_ydata()) == [0, 1]
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert names == ["IVAP", "underlying", "isotonic"]
    assert display.ax_.yaxis_inverted()


def test_infinite_loss_is_an_arrow_at_the_edge_and_named():
    display = LossesDisplay.from_comparison(comparison(LOSSES, "underlying"))
    assert list(display.arrows_.get_ydata()) == [2]
    assert display.arrows_.get_xdata() == [display.ax_.get_xlim()[1]]
    assert [text.get_text() for text in display.ax_.texts] == [
        "0.50000",
        "0.60000",
        "∞",
    ]


def test_whisker_is_two_standard_errors_to_each_side():
    display = LossesDisplay.from_comparison(
        comparison(LOSSES, "underlying"), loss="brier"
    )
    (whiskers,) = display.ax_.collections
    (segment,) = whiskers.get_segments()
    np.testing.assert_allclose(segment, [[0.24, 0], [0.26, 0]])
    assert labels_of(display)[1] == "from underlying"


def test_with_an_infinite_reference_there_is_nothing_to_compare():
    rows = [("isotonic", INF, 0.0), ("IVAP", 0.5, NAN)]
    display = LossesDisplay.from_comparison(comparison(rows, "isotonic"))
    assert len(display.ax_.collections) == 0
    note = display.ax_.get_title(loc="left")
    text = "no differences: the loss of isotonic is not finite"
    assert note.replace("\n", " ") == text


def test_if_all_losses_are_infinite_there_is_no_scale():
    display = LossesDisplay([Loss("a", INF, NAN)], reference="a").plot()
    assert list(display.ax_.get_xticks()) == []


def test_no_loss_at_all_is_refused():
    with pytest.raises(abers.AbersError, match="no method to draw"):
        LossesDisplay([], reference="a").plot()


def test_losses_of_a_real_comparison_are_drawn(sample):
    from abers.comparison import compare

    scores, labels, _ = sample
    compared = compare(scores, labels, methods=["IVAP", "isotonic"])
    display = LossesDisplay.from_comparison(compared, loss="brier")
    expected = sorted(method.brier_loss for method in compared.methods)
    assert display.points_.get_xdata().tolist() == expected


@pytest.mark.parametrize("increasing", [True, False])
def test_an_empty_band_says_that_no_curve_fits(increasing):
    """The true curve goes up and down again: neither direction fits."""
    scores = np.arange(400)
    labels = (scores >= 100) & (scores < 300)
    rule = abers.fit_rule(scores, labels, increasing=increasing)
    display = RuleDisplay.from_predictions(labels, scores, rule=rule)
    runs = "rising" if increasing else "falling"
    text = display.ax_.get_legend().get_texts()[-1].get_text()
    assert text == f"empty: no {runs} curve fits, 95% confidence"


@pytest.mark.parametrize("increasing", [True, False])
def test_a_pooled_rule_is_drawn_for_one_score_in_all_folds(increasing):
    scores, folds = np.arange(30.0), np.arange(30) % 3
    labels = np.arange(30) % 4 == 0
    rule = abers.rules.fit_pooled_rule(scores, labels, folds, increasing=increasing)
    display = RuleDisplay.from_rule(rule)
    for at in (scores, scores[:-1] + 0.5):
        bounds = rule.bounds(np.repeat(at[:, np.newaxis], 3, axis=1))
        for line, expected in zip(
            (display.lower_, display.upper_), bounds.T, strict=True
        ):
            np.testing.assert_array_equal([value_at(line, s) for s in at], expected)


def test_intervals_are_drawn_where_the_rule_keeps_its_diagram():
    rule = abers.fit_rule([1, 2, 3, 4], [0, 0, 1, 1], keep_diagram=True)
    display = RuleDisplay.from_rule(rule, confidence=0.7)
    assert "interval of each score, 70% confidence" in labels_of(display)
    drawn = display.fill_.get_paths()[0].vertices
    for score in (1, 2.5, 4):
        lower, upper = rule.interval([score], 0.7)[0]
        near = drawn[abs(drawn[:, 0] - score) < 0.6]
        assert near[:, 1].min() <= lower
        assert near[:, 1].max() >= upper
    assert drawn[:, 1].max() == 1


@pytest.mark.parametrize(
    "rule",
    [
        abers.fit_rule([1], [1]),
        abers.rules.fit_pooled_rule([1, 2], [0, 1], folds=[0, 1]),
        abers.fit_rule([1], [1], sample_weight=[2], keep_diagram=True),
    ],
)
def test_a_rule_without_intervals_says_so(rule):
    with pytest.raises(InvalidParameter, match="interval"):
        RuleDisplay.from_rule(rule, confidence=0.9)
