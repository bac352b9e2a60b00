"""The stacked rule: what it promises of every row, and that its weights are honest."""

import math
from itertools import product

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from scipy.optimize import minimize
from scipy.special import expit, logit, softmax

import abers
from abers.core.stacking import split_among_folds, stacked_weights
from abers.errors import (
    InvalidData,
    InvalidParameter,
    InvalidType,
    InvertedScoresWarning,
)
from strategies import INF, calibration_sets, either_way
from witnesses import (
    beta_by_another_solver,
    boxed,
    matrix_by_another_solver,
    merged_classes as merged,
)

ULPS = 1e-15  # of sums of probabilities

# Two classes: scores that hold both ends and are complemented without rounding.
LOGITS = [-INF, -40.0, -2.0, -0.5, 0.0, 0.5, 2.0, 40.0, INF]
SCORES = {
    "probability": [0.0, 2**-30, 1 / 16, 0.25, 0.5, 0.75, 15 / 16, 1 - 2**-30, 1.0],
    "log-odds": LOGITS,
    "margin": LOGITS,
}
# Three classes: each row of a table is what a model may say.
VECTORS = [*np.eye(3), [0.5, 0.5, 0], [0, 1e-300, 1], [0.2, 0.5, 0.3], [1 / 3] * 3]
MARGINS = [
    *([INF, 0, 0], [-INF, 1, 2], [0, -INF, 5], [-INF] * 3, [INF, INF, 0]),
    *([40.0, -40, 0], [-1, 2, 0.5], [0, 0, 0], [3, -2, 1]),
]
TABLES = {"probability": VECTORS, "log-odds": MARGINS, "margin": MARGINS}


def by_model(size, n_models):
    return np.arange(size) % n_models if n_models > 1 else None


@st.composite
def two_classes(draw):
    """Draw a kind, scores, labels, and which model scored each row."""
    kind = draw(st.sampled_from(list(SCORES)))
    scores, labels = draw(calibration_sets(SCORES[kind], max_size=24))
    folds = by_model(len(labels), draw(st.sampled_from([1, 1, 3])))
    return kind, np.array(scores), np.array(labels), folds


@st.composite
def three_classes(draw):
    kind = draw(st.sampled_from(list(TABLES)))
    rows = np.array(list(draw(st.binary(min_size=1, max_size=24))))
    table = np.array(TABLES[kind], float)
    folds = by_model(rows.size, draw(st.sampled_from([1, 2])))
    return kind, table[rows // 3 % len(table)], rows % 3, folds


def fitted(case, **options):
    kind, scores, labels, folds = case
    return abers.fit_stacked_rule(scores, labels, kind=kind, folds=folds, **options)


def everywhere(stacked, values):
    """All combinations of what the models may say."""
    values = np.array(values, float)
    if stacked.n_models == 1:
        return values
    rows = list(product(values, repeat=stacked.n_models))
    return np.array(rows)


def grid(kind):
    """Scores on, beside and between those of the calibration rows, ascending."""
    inside = np.linspace(0, 1, 7) if kind == "probability" else np.linspace(-50, 50, 7)
    return np.unique([*SCORES[kind], *inside])


def coefficients(stacked):
    return stacked.__getstate__()["coefficients"]


# --- what holds for every row ---


@given(two_classes())
def test_the_probability_never_falls_as_a_model_s_score_rises(case):
    stacked = fitted(case)
    values = grid(case[0]) if stacked.n_models == 1 else SCORES[case[0]]
    p = stacked.probability(everywhere(stacked, values))
    p = p.reshape([len(values)] * stacked.n_models)
    assert all(np.diff(p, axis=k).min() >= -ULPS for k in range(stacked.n_models))


@given(two_classes())
def test_the_loss_of_either_label_is_finite(case):
    """w >= 2 / (n + 2 M) of the rule, whose point is at least 1 / (n + 2)."""
    stacked = fitted(case)
    p = stacked.probability(everywhere(stacked, SCORES[case[0]]))
    n, n_parts = len(case[1]), len(stacked.weights)
    least = 2 / (n + 2 * n_parts) / (n + 2) - ULPS
    assert least <= p.min() <= p.max() <= 1 - least


@given(st.one_of(two_classes(), three_classes()))
def test_the_bounds_contain_the_probability_and_are_probabilities(case):
    stacked = fitted(case)
    values = (SCORES if case[1].ndim == 1 else TABLES)[case[0]]
    rows = everywhere(stacked, values)
    p, bounds = stacked.probability(rows), stacked.bounds(rows)
    assert bounds.shape == (*p.shape, 2)
    lower, upper = np.moveaxis(bounds, -1, 0)
    assert ((lower >= 0) & (lower <= p) & (p <= upper) & (upper <= 1)).all()


@given(three_classes())
def test_the_rows_of_many_classes_sum_to_1_and_no_class_is_impossible(case):
    stacked = fitted(case)
    p = stacked.probability(everywhere(stacked, TABLES[case[0]]))
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=0, atol=4 * ULPS)
    assert p.min() > 0


# --- what makes no difference ---


@given(two_classes(), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_of_two_classes_makes_no_difference(case, rng):
    kind, scores, labels, folds = case
    order = list(range(len(labels)))
    rng.shuffle(order)
    again = kind, scores[order], labels[order], None if folds is None else folds[order]
    assert fitted(again) == fitted(case)
    weights = np.array([rng.choice([0.1, 0.3, 1.7, 1e-17]) for _ in order])
    weights[0] = 0.7
    weighted = fitted(case, sample_weight=weights)
    assert fitted(again, sample_weight=weights[order]) == weighted


@given(three_classes(), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_of_many_classes_makes_hardly_any_difference(case, rng):
    kind, scores, labels, folds = case
    order = list(range(len(labels)))
    rng.shuffle(order)
    again = kind, scores[order], labels[order], None if folds is None else folds[order]
    check_same(fitted(again), fitted(case), TABLES[kind], 1e-6)


def check_same(one, other, values, tolerance):
    rows = everywhere(one, values)
    assert list(one.weights) == list(other.weights)
    for mine, theirs in (
        (list(one.weights.values()), list(other.weights.values())),
        (one.probability(rows), other.probability(rows)),
        (one.bounds(rows), other.bounds(rows)),
    ):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=tolerance)


def complement(kind, scores):
    return 1 - np.asarray(scores) if kind == "probability" else -np.asarray(scores)


@given(two_classes())
def test_exchanging_the_names_of_two_classes_mirrors_the_probability(case):
    kind, scores, labels, folds = case
    one = fitted(case)
    other = fitted((kind, complement(kind, scores), 1 - labels, folds))
    rows = everywhere(one, SCORES[kind])
    mirrored = complement(kind, rows)
    np.testing.assert_allclose(
        other.probability(mirrored), 1 - one.probability(rows), rtol=0, atol=1e-9
    )
    np.testing.assert_allclose(
        other.bounds(mirrored), 1 - one.bounds(rows)[:, ::-1], rtol=0, atol=1e-9
    )
    assert other.weights == pytest.approx(one.weights, abs=1e-9)


@given(two_classes())
def test_scores_that_fall_with_the_probability_are_as_good(case):
    kind, scores, labels, folds = case
    rising = fitted(case)
    falling = fitted((kind, complement(kind, scores), labels, folds), increasing=False)
    assert not falling.increasing
    rows = everywhere(rising, SCORES[kind])
    for method in ("probability", "bounds"):
        np.testing.assert_allclose(
            getattr(falling, method)(complement(kind, rows)),
            getattr(rising, method)(rows),
            rtol=0,
            atol=1e-9,
        )


@given(two_classes(), st.randoms(use_true_random=False))
def test_whole_weights_of_two_classes_are_repeated_rows(case, rng):
    """Among them weights of 0; the same object comes of a diagram."""
    kind, scores, labels, folds = case
    weights = np.array([rng.randint(0, 3) for _ in labels])
    weights[0] = 2
    if folds is not None:  # a fold without rows is not one that is left out
        weights += 1
    weighted = fitted(case, sample_weight=weights)
    rows = np.repeat(np.arange(labels.size), weights)
    repeated = fitted(
        (kind, scores[rows], labels[rows], None if folds is None else folds[rows])
    )
    assert weighted == repeated
    if folds is None:
        diagram = abers.rules.Diagram.from_rows(scores, labels, sample_weight=weights)
        of_counts = abers.rules.fit_stacked_rule_from_diagram(diagram, kind=kind)
        assert weighted == of_counts
        assert hash(weighted) == hash(of_counts)


@given(three_classes(), st.randoms(use_true_random=False))
def test_whole_weights_of_many_classes_are_repeated_rows(case, rng):
    kind, scores, labels, folds = case
    weights = np.array([rng.randint(folds is not None, 3) for _ in labels])
    weights[0] = 2
    rows = np.repeat(np.arange(labels.size), weights)
    repeated = kind, scores[rows], labels[rows], None if folds is None else folds[rows]
    weighted = fitted(case, sample_weight=weights)
    check_same(weighted, fitted(repeated), TABLES[kind], 1e-6)


@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("many", [False, True], ids=["two classes", "three"])
def test_rows_that_weigh_nothing_may_say_anything(kind, many):
    rng = np.random.default_rng(0)
    scores = logits_of(rng, 60, 3 if many else 1)
    if kind == "probability":
        scores = softmax(scores, axis=1) if many else expit(scores)
    labels = rng.integers(0, 3 if many else 2, 60)
    weights = rng.integers(0, 3, 60) * 0.75
    kept = weights > 0
    noisy = scores.copy()
    noisy[~kept] = rng.choice([np.nan, -INF, INF, 1e300], scores[~kept].shape)
    check_same(
        abers.fit_stacked_rule(noisy, labels, kind=kind, sample_weight=weights),
        abers.fit_stacked_rule(
            scores[kept], labels[kept], kind=kind, sample_weight=weights[kept]
        ),
        scores,
        1e-12,
    )


@either_way
@pytest.mark.parametrize("kind", ["log-odds", "margin"])
@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1e-9, 1e9, 1e300, 5e307])
@pytest.mark.parametrize("shape", [(40,), (40, 3)], ids=["two classes", "three"])
def test_scores_may_be_of_any_size(shape, scale, kind):
    rng = np.random.default_rng(0)
    scores = rng.integers(-3, 4, shape) * scale
    labels = rng.integers(0, 2 if len(shape) == 1 else 3, 40)
    ends = [np.full((1, *shape[1:]), end) for end in (-INF, INF)]
    for folds in (None, by_model(40, 2)):
        stacked = abers.fit_stacked_rule(scores, labels, kind=kind, folds=folds)
        new = np.concatenate((scores, *ends))
        new = new if folds is None else np.stack((new, new[::-1]), axis=1)
        p = stacked.probability(new)
        assert 0 < p.min() <= p.max() < 1


def logits_of(rng, size, n_columns):
    return 2 * rng.normal(size=size if n_columns == 1 else (size, n_columns))


@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("n_models", [1, 3])
@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_a_row_alone_has_the_bits_that_it_has_in_a_batch(kind, n_models, n_classes):
    """However the batch lies in memory."""
    rng = np.random.default_rng(n_classes)
    columns = 1 if n_classes == 2 else n_classes
    scores = logits_of(rng, 300, columns)
    labels = rng.integers(0, n_classes, 300)
    new = np.stack([logits_of(rng, 200, columns) for _ in range(n_models)], axis=1)
    new = new[:, 0] if n_models == 1 else new
    if kind == "probability":
        scores, new = (
            expit(s) if columns == 1 else softmax(s, axis=-1) for s in (scores, new)
        )
    stacked = fitted((kind, scores, labels, by_model(300, n_models)))
    strided = np.repeat(new, 2, axis=0)[::2]
    for method in (stacked.probability, stacked.bounds):
        alone = np.concatenate([method(row[np.newaxis]) for row in new])
        for batch in (new, np.asfortranarray(new), strided):
            np.testing.assert_array_equal(method(batch), alone)
    assert stacked.probability(new[:0]).shape == (0, *alone.shape[1:-1])


# --- few rows, one class, ties, ends ---

CURVES = {"probability": "beta", "log-odds": "beta", "margin": "sigmoid"}


@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("size", [1, 5])
def test_of_one_class_the_rule_alone_knows(kind, label, size):
    scores, labels = SCORES[kind][:size], [label] * size
    stacked = abers.fit_stacked_rule(scores, labels, kind=kind)
    assert stacked.weights["venn_abers"] == 1
    np.testing.assert_array_equal(
        stacked.probability(SCORES[kind]),
        abers.fit_rule(scores, labels).probability(SCORES[kind]),
    )


@pytest.mark.parametrize("kind", TABLES)
def test_of_one_class_of_many_the_rules_alone_know(kind):
    """n equal rows of class 0: (n + 1) / (n + 2) of it and 1 / (n + 2), normalised."""
    row = TABLES[kind][-1]
    stacked = abers.fit_stacked_rule([row] * 5, [0] * 5, kind=kind)
    assert stacked.weights["venn_abers"] == 1
    few = np.array([6, 1, 1])
    assert stacked.probability([row])[0] == pytest.approx(few / 8)


@pytest.mark.parametrize("rest", [[0], [0, 0, 0]])
def test_nothing_can_be_held_out_of_one_row_so_parts_weigh_the_same(rest):
    third = pytest.approx(1 / 3, rel=1e-15)
    stacked = abers.fit_stacked_rule([0.7, *[0.4] * len(rest)], [1, *rest])
    assert list(stacked.weights.values()) == [third] * 3
    three = abers.fit_stacked_rule(VECTORS[: len(rest) + 1], [2, *rest])
    assert list(three.weights.values()) == [third] * 3


def test_ties_are_one_score():
    """Each part is a constant at it: 0.25, the curve's, and (6 + 1) / (10 + 2)."""
    stacked = abers.fit_stacked_rule([0.25] * 10, [1] * 6 + [0] * 4)
    model, beta, rule = stacked.weights.values()
    _, _, curve = beta_by_another_solver(
        logit(np.full(10, 0.25)), np.repeat([1, 0], [6, 4]), np.ones(10)
    )
    pair = abers.fit_rule([1] * 10, [1] * 6 + [0] * 4).probability([1])[0]
    expected = model * 0.25 + beta * curve[0] + rule * pair
    assert stacked.probability([0.25])[0] == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("kind", SCORES)
def test_inverted_scores_are_warned_of_and_the_probability_does_not_fall(kind):
    scores = np.repeat(SCORES[kind], 40)
    labels = np.repeat([1, 1, 1, 1, 0, 1, 0, 0, 0], 40)
    with pytest.warns(InvertedScoresWarning, match="increasing=False"):
        stacked = abers.fit_stacked_rule(scores, labels, kind=kind)
    assert np.diff(stacked.probability(grid(kind))).min() >= 0
    if kind == "margin":  # neither curve nor rule is left with a slope
        assert np.ptp(stacked.probability(SCORES[kind])) < 0.02
    diagram = abers.rules.Diagram.from_rows(scores, labels)
    with pytest.warns(InvertedScoresWarning):
        abers.rules.fit_stacked_rule_from_diagram(diagram, kind=kind)


def test_inverted_scores_of_a_class_are_warned_of_by_its_number():
    rng = np.random.default_rng(0)
    p = softmax(logits_of(rng, 600, 3), axis=1)
    labels = (p.cumsum(axis=1) < rng.random((600, 1))).sum(axis=1)
    swapped = p[:, [0, 2, 1]]
    with pytest.warns(InvertedScoresWarning, match=r"class 2 .*order of the labels"):
        abers.fit_stacked_rule(swapped, labels)


def test_a_class_without_rows_keeps_a_small_probability():
    rng = np.random.default_rng(0)
    p = softmax(logits_of(rng, 200, 4), axis=1)
    labels = rng.integers(0, 3, 200)
    for folds in (None, by_model(200, 2)):
        stacked = abers.fit_stacked_rule(p, labels, folds=folds)
        new = p if folds is None else np.stack((p, p), axis=1)
        column = stacked.probability(new)[:, 3]
        assert column.min() > 0
        assert column.mean() < 0.05 < p[:, 3].mean()


def test_a_class_that_one_model_has_not_scored_is_no_obstacle():
    rng = np.random.default_rng(0)
    p = softmax(logits_of(rng, 300, 3), axis=1)
    labels = np.r_[rng.integers(0, 2, 150), rng.integers(0, 3, 150)]
    stacked = abers.fit_stacked_rule(p, labels, folds=np.repeat([0, 1], 150))
    q = stacked.probability(np.stack((p, p), axis=1))
    np.testing.assert_allclose(q.sum(axis=1), 1, rtol=0, atol=4 * ULPS)


@either_way
@pytest.mark.parametrize("many", [False, True], ids=["two classes", "three"])
def test_real_weights_count_as_that_many_rows(many):
    """Halves of doubled rows: the same masses, dealt to other folds."""
    rng = np.random.default_rng(1)
    logits = logits_of(rng, 2_000, 3)
    labels = (softmax(logits, axis=1).cumsum(axis=1) < rng.random((2_000, 1))).sum(1)
    p = softmax(1.5 * logits, axis=1)
    if not many:
        p, labels = p[:, 1], (labels == 1).astype(int)
    plain = abers.fit_stacked_rule(p, labels)
    halves = abers.fit_stacked_rule(
        np.concatenate((p, p)), np.tile(labels, 2), sample_weight=np.full(4_000, 0.5)
    )
    assert halves.n_rows == 2_000
    np.testing.assert_allclose(coefficients(halves), coefficients(plain), atol=1e-6)
    apart = abs(halves.probability(p) - plain.probability(p))
    assert apart.mean() < 0.01


# --- the parts ---


def sample(n_classes, seed=3, size=400):
    """Rows of a model that is too sure, and with some 0s and 1s."""
    rng = np.random.default_rng(seed)
    logits = logits_of(rng, size, n_classes) / 2
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    p = softmax(3 * logits + 0.3 * rng.normal(size=logits.shape), axis=1).round(2)
    p /= p.sum(axis=1, keepdims=True)
    return (p, labels) if n_classes > 2 else (p[:, 1], labels)


def test_the_rule_of_two_classes_is_that_of_fit_rule():
    p, y = sample(2)
    w = np.arange(400) % 3
    assert abers.fit_stacked_rule(p, y).rule == abers.fit_rule(p, y)
    weighted = abers.fit_stacked_rule(p, y, sample_weight=w)
    assert weighted.rule == abers.fit_rule(p, y, sample_weight=w)
    assert weighted.rule.guarantee.proven is False
    assert abers.fit_stacked_rule(p, y).rule.guarantee.proven


@pytest.mark.parametrize(
    ("n_classes", "n_models", "reason"),
    [
        (2, 2, "the scores of 2 models are pooled in one"),
        (3, 1, "each of its 3 classes has a rule of its own"),
        (3, 2, "the scores of 2 models are pooled in one"),
    ],
)
def test_no_rule_with_a_guarantee_is_said_in_a_sentence(n_classes, n_models, reason):
    stacked = fitted(("probability", *sample(n_classes), by_model(400, n_models)))
    sentence = f"this StackedRule has no rule with a guarantee: {reason}."
    with pytest.raises(AttributeError) as caught:
        _ = stacked.rule
    assert str(caught.value) == sentence
    assert not stacked.guarantee.proven


def test_the_beta_curve_is_that_of_another_solver():
    p, y = sample(2)
    w = np.random.default_rng(0).integers(1, 4, 400).astype(float)
    a, b, c, clip = coefficients(abers.fit_stacked_rule(p, y, sample_weight=w))
    with np.errstate(divide="ignore"):
        loss, expected, _ = beta_by_another_solver(logit(p), y, w)
    assert clip == 0.1 / w.sum()
    assert loss(np.array([a, b, c]))[0] == pytest.approx(expected, rel=1e-12)


def test_the_sigmoid_of_margins_is_platt_s():
    p, y = sample(2)
    s = 3 * p
    slope, intercept, *_ = coefficients(abers.fit_stacked_rule(s, y, kind="margin"))
    platt = abers.PlattCalibrator().fit(s, y)
    assert (slope, intercept) == pytest.approx((-platt.A_, -platt.B_), rel=1e-12)


@pytest.mark.parametrize("n_classes", [3, 5])
def test_the_matrix_is_that_of_another_solver(n_classes):
    p, y = sample(n_classes)
    w = np.random.default_rng(0).integers(1, 4, 400).astype(float)
    parameters = coefficients(abers.fit_stacked_rule(p, y, sample_weight=w))
    ends = math.log(0.1 / w.sum()), 0.0
    with np.errstate(divide="ignore"):
        logits = np.log(p)
    loss, expected, _ = matrix_by_another_solver(logits, y, w, ends)
    assert tuple(parameters[-2:]) == ends
    matrix, intercepts = np.split(parameters[:-2], [n_classes**2])
    change = matrix - np.eye(n_classes).ravel()
    assert loss(np.r_[change, intercepts])[0] == pytest.approx(expected, rel=1e-9)


def test_beyond_100_classes_only_the_diagonal_of_the_matrix_is_fitted():
    rng = np.random.default_rng(0)
    p = softmax(logits_of(rng, 400, 101), axis=1)
    parameters = coefficients(abers.fit_stacked_rule(p, np.arange(400) % 101))
    matrix = parameters[: 101**2].reshape(101, 101)
    assert np.count_nonzero(matrix) == 101
    assert (np.diag(matrix) != 1).all()


@pytest.mark.parametrize("kind", SCORES)
def test_k_models_of_two_classes_are_mixed_by_hand(kind):
    """The mean of p, the curve at the mean of its logits, and the pooled point."""
    p, y = sample(2, size=300)
    rng = np.random.default_rng(0)
    s = p if kind == "probability" else logits_of(rng, 300, 1)
    folds = by_model(300, 3)
    stacked = fitted((kind, s, y, folds))
    new = rng.choice(s, (50, 3))
    pooled = abers.rules.fit_pooled_rule(s, y, folds)
    parts = [curve_logits(kind, coefficients(stacked), new)]
    parts = [expit(parts[0].mean(axis=1))]
    if kind != "margin":
        own = new if kind == "probability" else expit(new)
        parts.insert(0, own.mean(axis=1))
    weights = list(stacked.weights.values())
    bounds = pooled.bounds(new)
    point = pooled.probability(new)
    for last, theirs in (
        (point, stacked.probability(new)),
        (bounds[:, 0], stacked.bounds(new)[:, 0]),
        (bounds[:, 1], stacked.bounds(new)[:, 1]),
    ):
        expected = sum(w * q for w, q in zip(weights, [*parts, last], strict=True))
        np.testing.assert_allclose(theirs, expected, rtol=0, atol=1e-13)


def curve_logits(kind, coefficients, scores):
    """The formula of the beta curve, or of the sigmoid."""
    if kind == "margin":
        slope, intercept, *_ = coefficients
        return slope * scores + intercept
    a, b, c, clip = coefficients
    p = (scores if kind == "probability" else expit(scores)).clip(clip, 1 - clip)
    return a * np.log(p) - b * np.log(1 - p) + c


def in_steps(log_odds):
    return np.round(log_odds * 2**16) / 2**16


@pytest.mark.parametrize("n_models", [1, 2])
def test_many_classes_are_mixed_by_hand(n_models):
    """The box and the point of rules of each class against the rest.

    These are of log-odds rounded to 2^-16, so that equal votes stay a tie.
    """
    p, y = sample(3, size=300)
    folds = by_model(300, n_models)
    stacked = fitted(("probability", p, y, folds))
    new = np.random.default_rng(0).choice(p, (50, n_models))
    with np.errstate(divide="ignore"):
        against, rows = (in_steps(logit(q)) for q in (p, new))
        clipped = np.log(new).clip(*coefficients(stacked)[-2:])
    bounds = np.empty((50, 3, 2))
    for c in range(3):
        if n_models == 1:
            rule = abers.fit_rule(against[:, c], y == c)
            bounds[:, c] = rule.bounds(rows[:, 0, c])
        else:
            rule = abers.rules.fit_pooled_rule(against[:, c], y == c, folds, weight=0.5)
            bounds[:, c] = rule.bounds(rows[..., c])
    matrix, intercepts = np.split(coefficients(stacked)[:-2], [9])
    centred = clipped - clipped.mean(axis=-1, keepdims=True)
    logits = centred @ matrix.reshape(3, 3).T + intercepts
    fixed = [new.mean(axis=1), softmax(logits.mean(axis=1), axis=1)]
    point = merged(bounds[np.newaxis], "log")
    box = boxed(bounds, point)
    weights = list(stacked.weights.values())
    for last, theirs in (
        (point, stacked.probability(new if n_models > 1 else new[:, 0])),
        (box[..., 0], stacked.bounds(new if n_models > 1 else new[:, 0])[..., 0]),
        (box[..., 1], stacked.bounds(new if n_models > 1 else new[:, 0])[..., 1]),
    ):
        expected = sum(w * q for w, q in zip(weights, [*fixed, last], strict=True))
        np.testing.assert_allclose(theirs, expected, rtol=0, atol=1e-9)


# --- the weights ---


def best_weights(likelihoods, masses):
    """Maximise the held-out likelihood with its prior, over the simplex."""

    def loss(free):
        w = softmax(free)
        gain = masses @ np.log(w @ likelihoods) + 2 * np.log(w).sum()
        by_w = likelihoods @ (masses / (w @ likelihoods)) + 2 / w
        return -gain, -w * (by_w - w @ by_w)

    best = minimize(loss, np.zeros(len(likelihoods)), jac=True, options={"gtol": 1e-9})
    return softmax(best.x), -best.fun


@pytest.mark.parametrize("seed", range(20))
def test_the_weights_maximise_the_likelihood_of_held_out_labels(seed):
    rng = np.random.default_rng(seed)
    size, n_parts = int(rng.integers(1, 500)), int(rng.integers(2, 4))
    likelihoods = rng.random((n_parts, size)) ** rng.choice([0.2, 1, 6])
    likelihoods[0, rng.random(size) < 0.2] = 0  # a model that is sure, and wrong
    masses = rng.integers(1, 5, size) * rng.choice([1.0, 0.1])
    weights = stacked_weights(likelihoods, masses)
    _, expected = best_weights(likelihoods, masses)
    assert weights.sum() == pytest.approx(1, abs=1e-15)
    assert weights.min() >= 2 / (masses.sum() + 2 * n_parts) * (1 - 1e-9)
    value = masses @ np.log(weights @ likelihoods) + 2 * np.log(weights).sum()
    assert value == pytest.approx(expected, abs=1e-9 * max(1, abs(expected)))


def test_the_weights_are_those_of_parts_fitted_without_each_fold():
    """All again, row by row and by other solvers."""
    p, y = sample(2, size=150)
    order = np.argsort(p, kind="stable")
    p, y = p[order], y[order]
    folds = np.empty(150, int)
    for label, rows in ((0, np.flatnonzero(y == 0)[::-1]), (1, np.flatnonzero(y))):
        assert (y[rows] == label).all()
        folds[rows] = split_among_folds(np.ones(rows.size), 3, counted=True).argmax(
            axis=0
        )
    likelihoods = np.empty((3, 150))
    for fold in range(3):
        out = folds == fold
        rest = np.where(out, 0.0, 1.0)
        with np.errstate(divide="ignore"):
            _, _, curve = beta_by_another_solver(logit(p), y, rest, clip=0.1 / 150)
        rule = abers.fit_rule(p[~out], y[~out])
        likelihoods[:, out] = p[out], curve[out], rule.probability(p[out])
    likelihoods = np.where(y, likelihoods, 1 - likelihoods)
    expected, _ = best_weights(likelihoods, np.ones(150))
    weights = abers.fit_stacked_rule(p, y).weights
    assert list(weights.values()) == pytest.approx(expected.tolist(), abs=1e-6)


def test_the_weights_of_many_classes_are_those_of_parts_without_each_fold():
    p, y = sample(3, size=150)
    order = np.lexsort(p.T)
    p, y = p[order], y[order]
    folds = np.empty(150, int)
    first = 0
    for c in range(3):
        rows = np.flatnonzero(y == c)
        others = [p[rows, j] for j in range(3) if j != c]
        rows = rows[np.lexsort((*others, p[rows, c]))]
        of_class = split_among_folds(np.ones(rows.size), 3, counted=True).argmax(axis=0)
        folds[rows] = (first + of_class) % 3
        first += rows.size
    assert np.bincount(folds).tolist() == [50, 50, 50]
    with np.errstate(divide="ignore"):
        logits = np.log(p)
        against = in_steps(logit(p))
    likelihoods = np.empty((3, 150))
    for fold in range(3):
        out = folds == fold
        rest = np.where(out, 0.0, 1.0)
        ends = math.log(0.1 / 150), 0.0
        _, _, curve = matrix_by_another_solver(logits, y, rest, ends)
        bounds = np.stack(
            [
                abers.fit_rule(against[~out, c], y[~out] == c).bounds(against[out, c])
                for c in range(3)
            ],
            axis=1,
        )
        tables = p[out], curve[out], merged(bounds[np.newaxis], "log")
        likelihoods[:, out] = [q[np.arange(out.sum()), y[out]] for q in tables]
    expected, _ = best_weights(likelihoods, np.ones(150))
    weights = abers.fit_stacked_rule(p, y).weights
    assert list(weights.values()) == pytest.approx(expected.tolist(), abs=1e-6)


def truth_of_the_beta_curve(logits):
    return expit(logits)


def truth_of_steps(logits):
    """Three levels, which no curve of three parameters follows."""
    return np.array([0.1, 0.45, 0.55, 0.9])[np.digitize(logits, [-1, 0, 1])]


@pytest.mark.parametrize(
    ("truth", "best"),
    [(truth_of_the_beta_curve, "beta"), (truth_of_steps, "venn_abers")],
)
@pytest.mark.parametrize("seed", range(3))
def test_held_out_rows_name_the_part_that_is_right(truth, best, seed):
    """Folds are shuffled along the ranks.

    Dealt in turn (0, 1, 2, 0, …) each fold would repeat the noise of the others, and
    Venn-Abers would have most of the weight also where the curve is exactly right.
    """
    rng = np.random.default_rng(seed)
    logits = 1.5 * rng.normal(size=10_000)
    labels = rng.random(10_000) < truth(logits)
    stacked = abers.fit_stacked_rule(2 * logits + 0.5, labels, kind="log-odds")
    assert stacked.weights[best] > 0.5


# --- folds ---


def test_folds_depend_on_counts_alone():
    """Counted rows go where the same rows go one by one; folds are equally large."""
    counts = np.random.default_rng(0).integers(0, 5, 100)
    one_by_one = split_among_folds(np.ones(counts.sum()), 3, counted=True)
    cells = np.repeat(np.arange(100), counts)
    together = [np.bincount(cells, fold, minlength=100) for fold in one_by_one]
    by_fold = split_among_folds(counts, 3, counted=True)
    np.testing.assert_array_equal(by_fold, together)
    np.testing.assert_array_equal(by_fold.sum(axis=0), counts)
    assert np.ptp(by_fold.sum(axis=1)) <= 1


def test_more_rows_than_are_shuffled_are_split_up_to_chance():
    counts = np.array([2**22, 0, 5, 10**12])
    by_fold = split_among_folds(counts, 3, counted=True)
    np.testing.assert_array_equal(by_fold.sum(axis=0), counts)
    assert by_fold.min() >= 0
    np.testing.assert_allclose(by_fold[:, [0, 3]] / counts[[0, 3]], 1 / 3, atol=1e-3)


def test_a_cell_of_real_weight_is_dealt_as_a_whole():
    masses = np.array([0.5, 0.0, 1.5, 2.0, 0.25])
    by_fold = split_among_folds(masses, 3, counted=False)
    np.testing.assert_array_equal(by_fold.sum(axis=0), masses)
    assert (np.count_nonzero(by_fold, axis=0) == (masses > 0)).all()


# --- what it says of itself ---


def test_its_repr_shows_the_weights():
    p, y = sample(2)
    stacked = abers.fit_stacked_rule(p, y)
    model, beta, rule = stacked.weights.values()
    assert repr(stacked) == (
        f"StackedRule(2 classes, 400 rows: {model:.2f} model, "
        f"{beta:.2f} beta, {rule:.2f} Venn-Abers)"
    )
    pooled = fitted(("margin", *sample(3), by_model(400, 2)))
    assert repr(pooled).startswith("StackedRule(3 classes, 2 models, 400 rows")
    assert list(pooled.weights) == ["matrix", "venn_abers"]


def test_log_odds_are_the_probabilities_they_mean():
    p, y = sample(2)
    p = p.clip(0.01, 0.99)
    by_p = abers.fit_stacked_rule(p, y)
    by_logits = abers.fit_stacked_rule(logit(p), y, kind="log-odds")
    np.testing.assert_allclose(
        by_logits.probability(logit(p)), by_p.probability(p), rtol=1e-9
    )
    p, y = sample(3)
    logits = np.log(p.clip(0.01)) + np.arange(400)[:, np.newaxis]
    p = softmax(logits, axis=1)
    by_p, by_logits = (
        abers.fit_stacked_rule(np.concatenate((s, s, s)), [*y, *y, *y], kind=kind)
        for s, kind in ((p, "probability"), (logits, "log-odds"))
    )
    assert coefficients(by_logits) == pytest.approx(coefficients(by_p), abs=1e-6)


# --- errors ---

P2, P3 = [0.2, 0.4, 0.6, 0.8], [[0.2, 0.3, 0.5]] * 4
NAN_ROW = [[0.2, 0.3, 0.5], [0.2, np.nan, 0.8], [0.2, 0.3, 0.5], [0.2, 0.3, 0.5]]
BAD_FITS = {
    "no rows": ([], [], {}, InvalidData, "not be empty"),
    "a table of two columns": (
        *([[0.2, 0.8]] * 4, [0, 1, 0, 1], {}, InvalidData),
        r"one column for each of C > 2 classes; got \(4, 2\)\. Scores of two classes",
    ),
    "three axes": ([[P3[0]]], [0], {}, InvalidData, r"got \(1, 1, 3\)"),
    "a table without rows": (
        *(np.empty((0, 3)), [], {}, InvalidData, r"got \(0, 3\)"),
    ),
    "another kind": (P2, [0, 1, 0, 1], {"kind": "p"}, InvalidParameter, "'log-odds'"),
    "NaN": (
        *([0.2, np.nan, 0.6, 0.8], [0, 1, 0, 1], {}, InvalidData),
        "NaN in 1 of 4 rows, first at row 1",
    ),
    "NaN in a table": (
        *(NAN_ROW, [0, 1, 2, 0], {}, InvalidData),
        "NaN in 1 of 4 rows, first at row 1",
    ),
    "a probability above 1": (
        *([0.9, 1.5, 0.2, 0.1], [0, 1, 0, 1], {}, InvalidData),
        r"between 0 and 1.*got 1\.5 at row 1\. Fit with kind='margin'",
    ),
    "a negative probability of a class": (
        *([*P3[:3], [-0.5, 1.0, 0.5]], [0, 1, 2, 0], {}, InvalidData),
        r"between 0 and 1; got -0\.5 in column 0 of row 3",
    ),
    "rows that do not sum to 1": (
        *([*P3[:3], [0.5, 0.5, 0.5]], [0, 1, 2, 0], {}, InvalidData),
        r"add up to 1 in each row; got 1\.5 in row 3",
    ),
    "labels of two classes": (P2, [0, 1, 2, 0], {}, InvalidData, "0 or 1"),
    "a label beyond the columns": (
        *(P3, [0, 1, 3, 0], {}, InvalidData),
        r"the columns of the classes, 0 … 2; got 3\.0 at row 2 \(1 of 4 rows\)",
    ),
    "half a label": (P3, [0, 1, 0.5, 0], {}, InvalidData, r"got 0\.5 at row 2"),
    "a negative label": (P3, [0, -1, 0, 0], {}, InvalidData, r"got -1\.0 at row 1"),
    "a missing label": (P3, [0, np.nan, 0, 0], {}, InvalidData, "got nan at row 1"),
    "labels in a table": (P3, [[0], [1], [2], [0]], {}, InvalidData, "one column"),
    "a label too few": (P3, [0, 1, 2], {}, InvalidData, "labels"),
    "a label too many": (P2, [0, 1, 0, 1, 0], {}, InvalidData, "labels"),
    "classes that fall": (
        *(P3, [0, 1, 2, 0], {"increasing": False}, InvalidParameter),
        "increasing must be True with one column per class; got False",
    ),
    "a number for a flag": (
        *(P2, [0, 1, 0, 1], {"increasing": 1}, InvalidType, "increasing must be"),
    ),
    "folds of some rows": (
        *(P2, [0, 1, 0, 1], {"folds": [0, 1]}, InvalidData, "folds"),
    ),
    "negative folds": (
        *(P3, [0, 1, 2, 0], {"folds": [0, -1, 0, 1]}, InvalidData, "folds must be"),
    ),
    "negative weights": (
        *(P3, [0, 1, 2, 0], {"sample_weight": [1, -1, 1, 1]}, InvalidData),
        "sample_weight must be finite and not negative",
    ),
    "no weight": (
        *(P3, [0, 1, 2, 0], {"sample_weight": [0] * 4}, InvalidData),
        "sample_weight must",
    ),
}


@pytest.mark.parametrize(
    ("scores", "labels", "options", "error", "says"), BAD_FITS.values(), ids=BAD_FITS
)
def test_a_fit_refuses_what_it_cannot_mean(scores, labels, options, error, says):
    with pytest.raises(error, match=says) as caught:
        abers.fit_stacked_rule(scores, labels, **options)
    assert str(caught.value).endswith(".")


TWO = abers.fit_stacked_rule(P2, [0, 1, 0, 1])
TWO_MODELS = abers.fit_stacked_rule(P2, [0, 1, 0, 1], folds=[0, 0, 1, 1])
THREE = abers.fit_stacked_rule(P3, [0, 1, 2, 0])
THREE_MODELS = abers.fit_stacked_rule(P3, [0, 1, 2, 0], folds=[0, 0, 1, 1])
BAD_ROWS = {
    "a number": (TWO, 0.5, InvalidData, r"one column, .*got shape \(\)"),
    "three columns of two": (TWO, [[0.5] * 3], InvalidData, r"got shape \(1, 3\)"),
    "one model of two": (
        *(TWO_MODELS, [0.5], InvalidData),
        r"2 columns, one per model, or 4, .*; got shape \(1,\)",
    ),
    "three models of two": (
        TWO_MODELS,
        [[0.5] * 3],
        InvalidData,
        r"got shape \(1, 3\)",
    ),
    "two columns of three": (
        THREE,
        [[0.5, 0.5]],
        InvalidData,
        "3 columns, one per class;",
    ),
    "classes of one model of two": (
        *(THREE_MODELS, P3, InvalidData),
        r"6 columns, one per class of each of 2 models; got shape \(4, 3\)",
    ),
    "NaN": (TWO, [0.5, np.nan], InvalidData, "first at row 1"),
    "NaN of a class": (THREE, NAN_ROW, InvalidData, "first at row 1"),
    "a probability of 2": (*(TWO, [0.5, 2], InvalidData, r"got 2\.0 at row 1"),),
    "a probability of 2 of a model": (
        *(TWO_MODELS, [[0.5, 0.5], [0.5, 2]], InvalidData),
        r"got 2\.0 at row 1",
    ),
    "a row that does not sum to 1": (
        *(THREE, [P3[0], [0.1, 0.2, 0.3]], InvalidData),
        r"add up to 1 in each row; got 0\.6 in row 1",
    ),
}


@pytest.mark.parametrize(
    ("stacked", "scores", "error", "says"), BAD_ROWS.values(), ids=BAD_ROWS
)
@pytest.mark.parametrize("method", ["probability", "bounds"])
def test_new_scores_must_be_like_those_of_the_fit(stacked, scores, error, says, method):
    with pytest.raises(error, match=says) as caught:
        getattr(stacked, method)(scores)
    assert str(caught.value).endswith(".")
