"""The pooled rule: one isotonic regression on the star of all folds."""

import copy
import math
import pickle
import random
from fractions import Fraction

import numpy as np
import pytest

import abers
import oracle
from abers.core.pooled import PooledRule
from abers.errors import InvalidData, InvalidParameter, InvalidType
from strategies import INF, either_way

KEYS = [-INF, -1.0, 0.0, 1.0, 2.0, INF]


def drawn_case(rng):
    """Draw folds of (score, label, weight), rows to ask for, and options.

    At most three folds of at most four distinct scores; every fold has a row, though it
    may weigh nothing.
    """
    n_folds = rng.randint(1, 3)
    keys = KEYS if rng.random() < 0.5 else [1.0, 2.0, 3.0, 4.0]
    heaviest = rng.choice([1, 1, 3])
    lightest = rng.choice([0, 1])
    folds = []
    for _ in range(n_folds):
        allowed = rng.sample(keys, 4)
        rate = rng.random()
        fold = [
            (
                rng.choice(allowed),
                int(rng.random() < rate),
                rng.randint(lightest, heaviest),
            )
            for _ in range(rng.randint(1, 6))
        ]
        folds.append(fold)
    rows = [[rng.choice([*keys, 0.5, 2.5]) for _ in range(n_folds)] for _ in range(3)]
    weight = rng.choice([1, n_folds, Fraction(1, 2), Fraction(3, 2)])
    return folds, rows, weight, rng.random() < 0.5


def fitted(folds, weight, *, increasing):
    """Fit the rule to a case, its rows shuffled together."""
    table = [(*row, k) for k, fold in enumerate(folds) for row in fold]
    random.Random(len(table)).shuffle(table)  # noqa: S311
    scores, labels, weights, numbers = map(list, zip(*table, strict=True))
    sample_weight = None if set(weights) == {1} else weights
    return abers.rules.fit_pooled_rule(
        scores,
        labels,
        numbers,
        weight=weight,
        sample_weight=sample_weight,
        increasing=increasing,
    )


def expected(folds, row, weight, *, increasing):
    """The definition's bounds, each rounded once."""
    sign = 1 if increasing else -1
    chains = [[(sign * s, label, w) for s, label, w in fold if w] for fold in folds]
    turned = [sign * s for s in row]
    p0, p1 = (oracle.pooled(chains, turned, label, weight) for label in (0, 1))
    return [float(p0), float(p1)]


def check_case(rng):
    folds, rows, weight, increasing = drawn_case(rng)
    if not any(w for fold in folds for _, _, w in fold):
        return
    rule = fitted(folds, weight, increasing=increasing)
    wanted = [expected(folds, row, weight, increasing=increasing) for row in rows]
    assert rule.bounds(rows).tolist() == wanted, (folds, rows, weight, increasing)


def test_bounds_are_the_definition_by_enumeration():
    """The paper's star, Section 3: brute force over upper and lower sets."""
    rng = random.Random(2015)  # noqa: S311
    for _ in range(1500):
        check_case(rng)


def sample(seed=0, size=3000, n_folds=5, decimals=None):
    """Draw scores, labels and folds, and rows to ask for: models that nearly agree."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, size)
    scores = labels + rng.normal(size=size)
    rows = rng.normal(0.5, 1.2, (500, 1)) + rng.normal(0, 0.3, (500, n_folds))
    if decimals is not None:
        scores, rows = scores.round(decimals), rows.round(decimals)
    return scores, labels, rng.permutation(np.arange(size) % n_folds), rows


@pytest.mark.parametrize("increasing", [True, False])
@pytest.mark.parametrize("decimals", [None, 1, 3])
@pytest.mark.parametrize("seed", range(5))
@either_way
def test_one_fold_gives_the_bits_of_fit_rule(seed, decimals, increasing):
    scores, labels, folds, rows = sample(seed, 4000, 1, decimals)
    pooled = abers.rules.fit_pooled_rule(scores, labels, folds, increasing=increasing)
    rule = abers.fit_rule(scores, labels, increasing=increasing)
    queries = np.concatenate((rows[:, 0], scores, [-INF, INF]))
    assert pooled.bounds(queries[:, None]).tobytes() == rule.bounds(queries).tobytes()


@pytest.mark.parametrize("n_folds", [2, 5, 10])
@pytest.mark.parametrize("decimals", [None, 1])
def test_bounds_agree_with_the_search_that_needs_no_newton(n_folds, decimals):
    scores, labels, folds, rows = sample(1, 5000, n_folds, decimals)
    rule = abers.rules.fit_pooled_rule(scores, labels, folds)
    searched = np.empty((len(rows), 2))
    rule._kernel.bounds(rows, searched, 1, newton_steps=0)  # noqa: SLF001
    assert searched.tobytes() == rule.bounds(rows).tobytes()


@pytest.mark.parametrize("weight", [1, 5, Fraction(1, 3)])
@pytest.mark.parametrize("seed", range(3))
def test_bounds_keep_the_distance_that_the_doubt_demands(seed, weight):
    """p1 >= v/(k_- + v), p0 <= 1 - v/(k_+ + v), p1 - p0 >= v/(k + v)."""
    scores, labels, folds, rows = sample(seed, 200)
    rows = np.concatenate((rows, np.full((1, 5), -INF), np.full((1, 5), INF)))
    rule = abers.rules.fit_pooled_rule(scores, labels, folds, weight=weight)
    lower, upper = rule.bounds(rows).T
    ones = int(labels.sum())
    assert upper.min() >= float(weight / (200 - ones + Fraction(weight)))
    assert lower.max() <= float(1 - weight / (ones + Fraction(weight)))
    assert (upper - lower).min() >= float(weight / (200 + Fraction(weight))) - 1e-15


@pytest.mark.parametrize("increasing", [True, False])
@either_way
def test_bounds_are_isotonic_in_the_score_of_each_fold(increasing):
    scores, labels, folds, rows = sample(2, 400, decimals=1)
    rule = abers.rules.fit_pooled_rule(scores, labels, folds, increasing=increasing)
    sign = 1 if increasing else -1
    before = rule.bounds(rows)
    for k in range(5):
        higher = rows.copy()
        higher[:, k] += np.linspace(0, 2, len(rows)).round(1)
        assert (sign * (rule.bounds(higher) - before) >= 0).all()


def test_bounds_forget_the_scale_of_each_fold_and_the_order_of_folds():
    scores, labels, folds, rows = sample(3, decimals=2)
    bounds = abers.rules.fit_pooled_rule(scores, labels, folds).bounds(rows)
    mapped, mapped_rows = scores.copy(), rows.copy()
    mapped[folds == 2] = np.exp(scores[folds == 2])
    mapped_rows[:, 2] = np.exp(rows[:, 2])
    rule = abers.rules.fit_pooled_rule(mapped, labels, folds)
    assert rule.bounds(mapped_rows).tobytes() == bounds.tobytes()
    order = np.array([3, 0, 4, 1, 2])
    rule = abers.rules.fit_pooled_rule(scores, labels, order[folds])
    shuffled = np.empty_like(rows)
    shuffled[:, order] = rows
    assert rule.bounds(shuffled).tobytes() == bounds.tobytes()


def test_exchanging_the_labels_mirrors_the_bounds():
    """1 - p0 and 1 - p1, each rounded once more."""
    scores, labels, folds, rows = sample(4, decimals=2)
    bounds = abers.rules.fit_pooled_rule(scores, labels, folds).bounds(rows)
    other = abers.rules.fit_pooled_rule(scores, 1 - labels, folds, increasing=False)
    assert np.abs(1 - other.bounds(rows)[:, ::-1] - bounds).max() <= 2**-53
    mirrored = abers.rules.fit_pooled_rule(-scores, 1 - labels, folds)
    assert mirrored.bounds(-rows).tobytes() == other.bounds(rows).tobytes()


def test_an_empty_fold_changes_nothing():
    scores, labels, folds, rows = sample(5, 300)
    weights = np.where(folds == 2, 0, 1)
    rule = abers.rules.fit_pooled_rule(scores, labels, folds, sample_weight=weights)
    assert rule.diagrams[2] is None
    kept = folds != 2
    others = np.unique(folds[kept], return_inverse=True)[1]
    without = abers.rules.fit_pooled_rule(scores[kept], labels[kept], others)
    expected = without.bounds(rows[:, [0, 1, 3, 4]])
    assert rule.bounds(rows).tobytes() == expected.tobytes()


@pytest.mark.parametrize("weight", [1, Fraction(2, 7)])
def test_without_any_rows_the_bounds_are_0_and_1(weight):
    rule = PooledRule([None, None], weight=weight)
    assert rule.bounds([[0, 1], [INF, -INF]]).tolist() == [[0, 1], [0, 1]]
    assert (rule.n_rows, rule.n_positives) == (0, 0)


def test_ties_of_all_scores_give_the_rate_with_one_more_case():
    rule = abers.rules.fit_pooled_rule(
        [3] * 7, [1, 0, 1, 1, 0, 1, 0], [0, 0, 0, 1, 1, 1, 1]
    )
    assert rule.bounds([[3, 3]]).tolist() == [[4 / 8, 5 / 8]]


def test_integer_weights_are_repeated_rows():
    scores, labels, folds, rows = sample(6, 500, decimals=1)
    times = np.random.default_rng(6).integers(1, 4, 500)
    rule = abers.rules.fit_pooled_rule(scores, labels, folds, sample_weight=times)
    repeated = abers.rules.fit_pooled_rule(
        *(np.repeat(column, times) for column in (scores, labels, folds))
    )
    assert rule == repeated
    assert rule.bounds(rows).tobytes() == repeated.bounds(rows).tobytes()


def test_a_fraction_of_weight_is_all_rows_times_its_denominator():
    scores, labels, folds, rows = sample(7, 500, decimals=1)
    rule = abers.rules.fit_pooled_rule(scores, labels, folds, weight=Fraction(2, 3))
    heavy = abers.rules.fit_pooled_rule(
        scores, labels, folds, weight=2, sample_weight=np.full(500, 3)
    )
    assert rule.bounds(rows).tobytes() == heavy.bounds(rows).tobytes()


def test_totals_beyond_32_bits_are_exact():
    """Weights times 2^40, the doubt times 2^40: the same rationals."""
    scores, labels, folds, rows = sample(8, 300, decimals=1)
    plain = abers.rules.fit_pooled_rule(scores, labels, folds)
    heavy = abers.rules.fit_pooled_rule(
        scores, labels, folds, weight=2**40, sample_weight=np.full(300, 2.0**40)
    )
    assert heavy.bounds(rows).tobytes() == plain.bounds(rows).tobytes()


def test_totals_that_leave_no_room_for_a_new_case_are_refused():
    scores, labels, folds, _ = sample(9, 300, decimals=1)
    heavy = np.full(300, 2.0**45)
    with pytest.raises(InvalidData, match=r"^sample_weight must add up to at most"):
        abers.rules.fit_pooled_rule(scores, labels, folds, sample_weight=heavy)
    with pytest.raises(InvalidData, match=r"^diagrams must add up to at most"):
        abers.rules.fit_pooled_rule(scores, labels, folds, weight=Fraction(1, 10**15))
    with pytest.raises(InvalidData, match=r"^sample_weight must be whole or"):
        abers.rules.fit_pooled_rule(
            scores, labels, folds, sample_weight=heavy / 2**15 + 0.1
        )


@pytest.mark.parametrize(("low", "high"), [(0, 0), (-3, 3), (-7, 3)])
def test_real_weights_agree_with_the_definition(low, high):
    """To 1e-11 of p0 and p1, over ten orders of magnitude: weights are rounded once."""
    rng = random.Random(low)  # noqa: S311
    for _ in range(300):
        folds, rows, weight, increasing = drawn_case(rng)
        folds = [
            [(s, y, w and 10 ** rng.uniform(low, high)) for s, y, w in fold]
            for fold in folds
        ]
        if not any(w for fold in folds for _, _, w in fold):
            continue
        rule = fitted(folds, weight, increasing=increasing)
        exact = [[(s, y, Fraction(w)) for s, y, w in fold] for fold in folds]
        wanted = [expected(exact, row, weight, increasing=increasing) for row in rows]
        searched = np.empty((len(rows), 2))
        rule._kernel.bounds(np.array(rows), searched, 1, newton_steps=0)  # noqa: SLF001
        for bounds in (rule.bounds(rows), searched):
            np.testing.assert_allclose(bounds, wanted, rtol=0, atol=1e-11)


def test_real_weights_agree_with_integer_ones_where_both_apply():
    scores, labels, folds, rows = sample(10, 3000)
    weights = np.random.default_rng(10).integers(1, 9, 3000)
    rule = abers.rules.fit_pooled_rule(
        scores, labels, folds, sample_weight=weights, weight=8
    )
    real = abers.rules.fit_pooled_rule(
        scores, labels, folds, sample_weight=weights / 80, weight=Fraction(1, 10)
    )
    assert not real.diagrams[0].is_exact
    np.testing.assert_allclose(real.bounds(rows), rule.bounds(rows), atol=1e-11)


def test_real_weights_give_equal_bits_in_any_order_of_rows():
    scores, labels, folds, rows = sample(13, 3000, decimals=2)
    rng = np.random.default_rng(13)
    weights = 10 ** rng.uniform(-7, 3, 3000)
    columns = scores, labels, folds, weights
    rule = abers.rules.fit_pooled_rule(*columns[:3], sample_weight=weights)
    order = rng.permutation(3000)
    *rest, mass = (column[order] for column in columns)
    again = abers.rules.fit_pooled_rule(*rest, sample_weight=mass)
    assert again == rule
    assert again.bounds(rows).tobytes() == rule.bounds(rows).tobytes()


@pytest.mark.parametrize("weighted", [False, True])
def test_threads_give_the_same_bits(weighted):
    scores, labels, folds, _ = sample(11)
    rows = np.random.default_rng(11).normal(0.5, 1.2, (9000, 5))
    weights = np.linspace(0.1, 2, 3000) if weighted else None
    rule = abers.rules.fit_pooled_rule(scores, labels, folds, sample_weight=weights)
    assert rule.bounds(rows, n_threads=4).tobytes() == rule.bounds(rows).tobytes()


def test_rows_do_not_depend_on_the_batch():
    """Large rules are read in the order of one fold's scores."""
    scores, labels, folds, _ = sample(12, 100_000)
    rows = np.random.default_rng(12).normal(0.5, 1.2, (6000, 5))
    rule = abers.rules.fit_pooled_rule(scores, labels, folds)
    alone = np.concatenate([rule.bounds(part) for part in np.split(rows, 60)])
    assert rule.bounds(rows).tobytes() == alone.tobytes()


def test_as_many_folds_as_rows_are_legal():
    labels = [0, 1] * 200
    rule = abers.rules.fit_pooled_rule(np.zeros(400), labels, np.arange(400))
    assert rule.bounds(np.zeros((1, 400))).tolist() == [[200 / 401, 201 / 401]]


def test_probability_merges_the_bounds():
    scores, labels, folds, rows = sample(13)
    rule = abers.rules.fit_pooled_rule(scores, labels, folds)
    lower, upper = rule.bounds(rows).T
    log = abers.rules.log_minimax(lower, upper)
    brier = abers.rules.brier_minimax(lower, upper)
    assert rule.probability(rows).tobytes() == log.tobytes()
    assert rule.probability(rows, "brier", n_threads=2).tobytes() == brier.tobytes()
    with pytest.raises(InvalidParameter, match="loss must be 'log' or 'brier'"):
        rule.probability(rows, "hinge")


OPTIONS = [
    {},
    {"increasing": False, "weight": Fraction(2, 3)},
    {"sample_weight": np.linspace(0.1, 2, 300)},
    {"sample_weight": np.arange(300) % 5 != 2},
]


@pytest.fixture(params=OPTIONS, ids=["plain", "decreasing", "weighted", "empty"])
def rule(request):
    scores, labels, folds, _ = sample(14, 300)
    falls = not request.param.get("increasing", True)
    scores = -scores if falls else scores
    return abers.rules.fit_pooled_rule(scores, labels, np.sort(folds), **request.param)


def pickled(rule):
    return pickle.loads(pickle.dumps(rule))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
def test_a_copy_equals_the_original(rule, copied):
    twin = copied(rule)
    assert twin == rule
    assert hash(twin) == hash(rule)
    rows = sample(14)[3]
    assert twin.bounds(rows).tobytes() == rule.bounds(rows).tobytes()
    assert not twin.diagrams[0].scores.flags.writeable


def test_copies_in_memory_are_the_rule_itself(rule):
    assert copy.copy(rule) is rule
    assert copy.deepcopy(rule) is rule


def test_a_pickle_holds_diagrams_and_nothing_derived(rule):
    before = pickle.dumps(rule)
    rule.bounds(sample(14)[3])
    assert pickle.dumps(rule) == before
    diagrams = pickle.dumps(rule.diagrams)
    assert len(before) < len(diagrams) + 500


def test_rules_differ_in_every_part():
    diagrams = [abers.rules.Diagram.from_rows([1, 2], [0, 1]), None]
    make = abers.rules.PooledRule
    rule = make(diagrams, weight=1, increasing=True)
    assert rule == make(tuple(diagrams), weight=1.0, increasing=True, metadata={})
    others = [
        make(diagrams[:1], weight=1, increasing=True),
        make(diagrams[::-1], weight=1, increasing=True),
        make(diagrams, weight=2, increasing=True),
        make(diagrams, weight=1, increasing=False),
        make(diagrams, weight=1, increasing=True, metadata={"model": "a"}),
    ]
    assert all(rule != other for other in others)
    tagged = [
        make(diagrams, weight=1, increasing=True, metadata={"x": tag})
        for tag in (1, 1.0, True)
    ]
    assert tagged[0] != tagged[1] != tagged[2]
    assert rule != "rule"


def test_a_rule_says_what_it_is():
    diagrams = [abers.rules.Diagram.from_rows([1, 2, 2], [0, 1, 1]), None]
    rule = PooledRule(diagrams, weight=0.5, increasing=False)
    assert repr(rule) == (
        "PooledRule(2 folds, 3 rows, 2 positive, weight 1/2, decreasing)"
    )
    assert rule.weight == Fraction(1, 2)
    assert rule.n_folds == 2
    assert rule.diagrams == tuple(diagrams)
    assert (rule.n_rows, rule.n_positives) == (3, 2)
    assert rule.increasing is False


@pytest.mark.parametrize(
    "change",
    [
        lambda rule: setattr(rule, "weight", 2),
        lambda rule: setattr(rule, "anything", 2),
        lambda rule: rule.metadata.update(a=1),
        lambda rule: rule.diagrams[0].scores.fill(0),
    ],
)
def test_a_rule_cannot_be_changed(change):
    rule = abers.rules.fit_pooled_rule([1, 2], [0, 1], [0, 1])
    with pytest.raises((AttributeError, ValueError)):
        change(rule)


@pytest.mark.parametrize(
    ("weight", "meant"),
    [
        (2, 2),
        (np.int64(3), 3),
        (4.0, 4),
        (0.5, Fraction(1, 2)),
        (1 / 3, Fraction(1, 3)),
        (np.float64(1 / 49), Fraction(1, 49)),
        (Fraction(2, 3), Fraction(2, 3)),
    ],
)
def test_weight_is_read_without_guessing(weight, meant):
    rule = abers.rules.fit_pooled_rule([1, 2], [0, 1], [0, 0], weight=weight)
    assert rule.weight == meant


@pytest.mark.parametrize("weight", [0, -1, 0.3, 2 / 3, math.nan, INF, Fraction(-1, 2)])
def test_a_weight_that_is_no_fraction_is_refused(weight):
    message = r"weight must be a positive integer.*got .*Pass fractions\.Fraction"
    with pytest.raises(InvalidParameter, match=message):
        abers.rules.fit_pooled_rule([1, 2], [0, 1], [0, 0], weight=weight)


def test_the_advice_on_weights_names_a_fraction_nearby():
    with pytest.raises(InvalidParameter, match=r"got 0\.3, .*Fraction\(3, 10\)"):
        abers.rules.fit_pooled_rule([1, 2], [0, 1], [0, 0], weight=0.3)


@pytest.mark.parametrize("weight", [True, "1", None, np.True_, 1j])
def test_a_weight_that_is_no_number_is_refused(weight):
    with pytest.raises(InvalidType, match="weight must be a positive number"):
        abers.rules.fit_pooled_rule([1, 2], [0, 1], [0, 0], weight=weight)


@pytest.mark.parametrize("weight", [10**400, Fraction(1, 10**400), 5e-324])
def test_a_weight_beyond_all_doubles_is_refused(weight):
    with pytest.raises(InvalidParameter, match="weight must"):
        abers.rules.fit_pooled_rule([1, 2], [0, 1], [0, 0], weight=weight)


@pytest.mark.parametrize(
    ("folds", "error", "message"),
    [
        ([0, 1], InvalidData, "got 2 folds and 3 scores"),
        ([1, 2, 3], InvalidData, r"got 3 numbers from 1 to 3\. Renumber .*np\.unique"),
        ([0, 2, 2], InvalidData, "without gaps; got 2 numbers from 0 to 2"),
        ([-1, 0, 1], InvalidData, "got 3 numbers from -1 to 1"),
        ([0, 10**12, 1], InvalidData, "without gaps"),
        ([0, 0.5, 1], InvalidData, "folds must be integers; got 0.5 at row 1"),
        ([0, np.nan, 1], InvalidData, "folds must be integers; got nan at row 1"),
        (["a", "b", "b"], InvalidType, "folds must be real numbers"),
        ([[0, 1, 1]], InvalidData, "folds must be one-dimensional"),
        (0, InvalidData, "Pass one fold for each row"),
    ],
)
def test_bad_folds_are_refused(folds, error, message):
    with pytest.raises(error, match=message):
        abers.rules.fit_pooled_rule([1, 2, 3], [0, 1, 0], folds)


def test_bad_rows_are_named_by_their_place_among_all_rows():
    folds = [0, 0, 1, 1]
    with pytest.raises(InvalidData, match="NaN in 1 of 4 rows, first at row 2"):
        abers.rules.fit_pooled_rule([1, 2, np.nan, 4], [0, 1, 0, 1], folds)
    with pytest.raises(InvalidData, match="got 2 at row 3"):
        abers.rules.fit_pooled_rule([1, 2, 3, 4], [0, 1, 0, 2], folds)
    with pytest.raises(InvalidData, match=r"got -1\.0 at row 1"):
        abers.rules.fit_pooled_rule(
            [1, 2, 3, 4], [0, 1, 0, 1], folds, sample_weight=[1, -1, 1, 1]
        )
    with pytest.raises(InvalidData, match="must not all be zero"):
        abers.rules.fit_pooled_rule([1, 2], [0, 1], [0, 1], sample_weight=[0, 0])
    with pytest.raises(InvalidData, match="got 3 labels and 4 scores"):
        abers.rules.fit_pooled_rule([1, 2, 3, 4], [0, 1, 0], folds)


def test_rows_of_weight_0_may_be_anything_in_scores_and_labels():
    rule = abers.rules.fit_pooled_rule(
        [1, np.nan, 2, 3], [0, 5, 1, 1], [0, 0, 0, 1], sample_weight=[1, 0, 1, 0]
    )
    assert rule.n_rows == 2
    assert rule.diagrams[1] is None


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([1, 2], r"two-dimensional, with K = 2 columns.*got shape \(2,\)"),
        ([[1, 2, 3]], "scores must have K = 2 columns, one a fold; got 3"),
        (np.zeros((3, 2, 1)), r"got shape \(3, 2, 1\)"),
        ([[1, 2], [np.nan, 3], [4, np.nan]], "NaN in 2 of 3 rows, first at row 1"),
    ],
)
def test_bad_rows_to_predict_are_refused(rows, message):
    rule = abers.rules.fit_pooled_rule([1, 2], [0, 1], [0, 1])
    with pytest.raises(InvalidData, match=message):
        rule.bounds(rows)


def test_rows_to_predict_may_come_in_any_numeric_form():
    rule = abers.rules.fit_pooled_rule([1, 2, 3], [0, 1, 1], [0, 1, 1])
    rows = np.array([[1, 2], [3, 2], [0, 9]])
    bounds = rule.bounds(rows)
    fortran = np.asfortranarray(rows.astype(float))
    for form in (rows.tolist(), rows.astype(np.float32), fortran, rows[::-1][::-1]):
        assert rule.bounds(form).tobytes() == bounds.tobytes()
    assert rule.bounds(np.empty((0, 2))).shape == (0, 2)


def test_bad_options_are_refused():
    rule = abers.rules.fit_pooled_rule([1, 2], [0, 1], [0, 1])
    with pytest.raises(InvalidParameter, match="n_threads must be a positive integer"):
        rule.bounds([[1, 2]], n_threads=0)
    with pytest.raises(InvalidType, match="increasing must be True or False"):
        abers.rules.fit_pooled_rule([1, 2], [0, 1], [0, 1], increasing=1)
    with pytest.raises(InvalidType, match="diagram of fold 1 must be a Diagram"):
        PooledRule([None, rule])
    with pytest.raises(InvalidData, match="must not be empty"):
        PooledRule([])
