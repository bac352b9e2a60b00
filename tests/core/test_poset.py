"""Rules of partially ordered scores: the definition, the edges, the manners."""

import copy
import pickle
import random
import threading
from itertools import permutations, product

import numpy as np
import pytest
from scipy.sparse import coo_array

import abers
import oracle
from abers import _kernel
from abers.core.poset import MOST_VECTORS
from abers.errors import (
    InvalidData,
    InvalidParameter,
    InvalidType,
    InvertedScoresWarning,
)
from strategies import INF, either_way

pytestmark = either_way


def expected(vectors, labels, rows, weights=None):
    """The definition's bounds, each rounded once."""
    vectors, rows = (
        [[float(s) for s in row] for row in table] for table in (vectors, rows)
    )
    return [
        [float(oracle.partial(vectors, labels, row, y, weights)) for y in (0, 1)]
        for row in rows
    ]


def drawn_case(rng, n_columns):
    """Draw vectors, labels, weights, and rows to ask for: ties, ±inf, equal vectors."""
    keys = rng.choice([[0.0, 1.0], [-INF, -1.0, -0.0, 0.0, 2.0, INF], [*range(9)]])
    size = rng.randint(1, 6)
    vectors = [[rng.choice(keys) for _ in range(n_columns)] for _ in range(size)]
    labels = [rng.randint(0, 1) for _ in range(size)]
    weights = [rng.randint(0, 3) for _ in range(size)]
    rows = [
        [rng.choice([*keys, 0.5, 1.5]) for _ in range(n_columns)],
        rng.choice(vectors),
    ]
    return vectors, labels, weights if any(weights) else None, rows


@pytest.mark.parametrize("n_columns", [1, 2, 3, 4])
def test_bounds_are_the_definition_by_enumeration(n_columns):
    """The remark in Section 2; the kernel's own tests try 20,000 such cases."""
    rng = random.Random(n_columns)  # noqa: S311
    for _ in range(250):
        vectors, labels, weights, rows = drawn_case(rng, n_columns)
        rule = abers.rules.fit_poset_rule(vectors, labels, sample_weight=weights)
        kept = [w != 0 for w in weights or labels] if weights else [True] * len(labels)
        chosen = [
            [value for value, keep in zip(column, kept, strict=True) if keep]
            for column in (vectors, labels, weights or [1] * len(labels))
        ]
        wanted = expected(chosen[0], chosen[1], rows, chosen[2])
        assert rule.bounds(rows).tolist() == wanted, (vectors, labels, weights, rows)


def test_all_orders_of_three_points_and_a_new_one_in_the_plane():
    """Every order in the plane is that of a permutation: x ascends, y as it likes."""
    for heights in permutations(range(4)):
        points = list(enumerate(heights))
        for test, labels in product(range(4), product((0, 1), repeat=3)):
            others = points[:test] + points[test + 1 :]
            bounds = abers.rules.fit_poset_rule(others, labels).bounds([points[test]])
            assert bounds.tolist() == expected(others, labels, [points[test]])


@pytest.mark.parametrize("increasing", [True, False])
@pytest.mark.parametrize("decimals", [None, 1])
def test_one_column_gives_the_bits_of_fit_rule(decimals, increasing):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 1000)
    scores = labels + rng.normal(size=1000)
    scores = scores if decimals is None else scores.round(decimals)
    queries = np.concatenate(
        (scores[:200], rng.normal(size=200), [-INF, -0.0, 0.0, INF])
    )
    wanted = abers.fit_rule(scores, labels, increasing=increasing).bounds(queries)
    for columns in (1, 2, 3):
        rule = abers.rules.fit_poset_rule(
            np.tile(scores[:, None], columns), labels, increasing=increasing
        )
        bounds = rule.bounds(np.tile(queries[:, None], columns))
        assert bounds.tobytes() == wanted.tobytes()
    constant = np.column_stack((scores, np.ones(1000)))
    rule = abers.rules.fit_poset_rule(constant, labels, increasing=increasing)
    bounds = rule.bounds(np.column_stack((queries, np.ones(queries.size))))
    assert bounds.tobytes() == wanted.tobytes()


def sample(n_columns, size=600, seed=0, decimals=None):
    """Draw the scores of models that are about equally good, labels, and new rows."""
    rng = np.random.default_rng(seed)
    risk = rng.normal(size=size + 100)
    scores = risk[:, None] + rng.normal(size=(size + 100, n_columns)) * 0.7
    labels = rng.random(size + 100) < 1 / (1 + np.exp(-2 * risk))
    scores = scores if decimals is None else scores.round(decimals)
    return scores[:size], labels[:size], scores[size:]


@pytest.mark.parametrize("decimals", [None, 0])
@pytest.mark.parametrize("n_columns", [2, 3, 5])
def test_slices_agree_with_splitting_all_points_and_the_sweep_with_the_flow(
    n_columns, decimals
):
    """The simple ways stay as witnesses of the fast ones."""
    scores, labels, rows = sample(n_columns, decimals=decimals)
    rule = abers.rules.fit_poset_rule(scores, labels)
    bounds = rule.bounds(rows)
    simple = np.empty_like(bounds)
    rule._kernel.bounds(rows, simple, 1, from_all=True)  # noqa: SLF001
    assert simple.tobytes() == bounds.tobytes()
    turned = np.array(rule.scores)
    flow = _kernel.Poset(turned, rule.negatives, rule.positives, by_flow=True)
    flow.bounds(rows, simple, 1)
    assert simple.tobytes() == bounds.tobytes()


@pytest.mark.parametrize("n_columns", [2, 3])
def test_threads_and_batches_give_the_same_bits(n_columns):
    scores, labels, rows = sample(n_columns)
    rule = abers.rules.fit_poset_rule(scores, labels)
    many = np.concatenate([rows] * 6)
    bounds = rule.bounds(many)
    assert rule.bounds(many, n_threads=3).tobytes() == bounds.tobytes()
    assert bounds.tobytes() == np.concatenate([rule.bounds(rows)] * 6).tobytes()
    assert rule.bounds(rows[:0]).shape == (0, 2)


def test_a_case_that_compares_with_none_has_the_bounds_0_and_1():
    rule = abers.rules.fit_poset_rule([[1, 3], [2, 2]], [0, 1])
    assert rule.bounds([[0, 9], [3, 1]]).tolist() == [[0, 1], [0, 1]]


def test_bounds_are_isotonic_and_apart():
    """p0 < p1, and no higher score lowers either."""
    scores, labels, rows = sample(3, decimals=1)
    rule = abers.rules.fit_poset_rule(scores, labels)
    before = rule.bounds(rows)
    assert (before[:, 1] - before[:, 0] >= 1 / 601 - 1e-15).all()
    for column in range(3):
        higher = rows.copy()
        higher[:, column] += np.linspace(0, 2, len(rows)).round(1)
        assert (rule.bounds(higher) >= before).all()


def test_bounds_know_the_order_of_each_column_only():
    scores, labels, rows = sample(2)
    bounds = abers.rules.fit_poset_rule(scores, labels).bounds(rows)
    mapped = abers.rules.fit_poset_rule(np.exp(scores), labels)
    assert mapped.bounds(np.exp(rows)).tobytes() == bounds.tobytes()
    swapped = abers.rules.fit_poset_rule(scores[:, ::-1], labels)
    assert swapped.bounds(rows[:, ::-1]).tobytes() == bounds.tobytes()


def test_exchanging_the_labels_mirrors_the_bounds():
    """1 - p0 and 1 - p1, each rounded once more."""
    scores, labels, rows = sample(3, decimals=1)
    bounds = abers.rules.fit_poset_rule(scores, labels).bounds(rows)
    other = abers.rules.fit_poset_rule(scores, ~labels, increasing=False).bounds(rows)
    assert np.abs(1 - other[:, ::-1] - bounds).max() <= 2**-53


def test_a_falling_column_is_a_negated_one():
    scores, labels, rows = sample(2, decimals=1)
    signs = np.array([1.0, -1.0])
    rule = abers.rules.fit_poset_rule(scores * signs, labels, increasing=[True, False])
    plain = abers.rules.fit_poset_rule(scores, labels)
    assert rule.bounds(rows * signs).tobytes() == plain.bounds(rows).tobytes()
    assert rule.increasing == (True, False)


def test_weights_are_repeated_rows_and_zeros_leave_rows_out():
    scores, labels, rows = sample(2, size=200)
    weights = np.arange(200) % 4
    weighted = abers.rules.fit_poset_rule(scores, labels, sample_weight=weights)
    repeated = abers.rules.fit_poset_rule(
        np.repeat(scores, weights, axis=0), np.repeat(labels, weights)
    )
    assert weighted == repeated
    assert weighted.bounds(rows).tobytes() == repeated.bounds(rows).tobytes()
    unseen = np.where((weights == 0)[:, None], np.nan, scores)
    assert abers.rules.fit_poset_rule(unseen, labels, sample_weight=weights) == weighted


def test_weights_near_the_limit_stay_exact():
    """2^31 rows on either side of one point: products of 62 bits."""
    half = 2**31 - 2
    rule = abers.rules.fit_poset_rule(
        [[1, 1], [2, 2], [3, 1]], [1, 0, 1], sample_weight=[half, half, 1]
    )
    assert rule.bounds([[2, 2]]).tolist() == [
        [half / (2 * half + 1), (half + 1) / (2 * half + 1)]
    ]


@pytest.mark.parametrize("labels", [[0, 0, 0], [1, 1, 1]])
def test_one_class_only_is_legal(labels):
    vectors = [[1, 1], [1, 2], [2, 1]]
    rule = abers.rules.fit_poset_rule(vectors, labels)
    rows = [[0, 0], [2, 2], [1, 1]]
    assert rule.bounds(rows).tolist() == expected(vectors, labels, rows)


def test_any_table_of_numbers_will_do():
    scores, labels, rows = sample(2, size=50, decimals=1)
    wanted = abers.rules.fit_poset_rule(scores, labels).bounds(rows)
    read_only = scores.copy()
    read_only.flags.writeable = False
    for given in (
        *(scores.tolist(), np.asfortranarray(scores), scores[::-1][::-1], read_only),
        np.repeat(scores, 2, axis=1)[:, ::2],
    ):
        assert (
            abers.rules.fit_poset_rule(given, labels).bounds(rows).tolist()
            == wanted.tolist()
        )
    integers = (scores * 10).astype(np.float32)
    rule = abers.rules.fit_poset_rule(integers, labels)
    assert rule.n_rows == 50


def test_the_input_is_left_alone():
    scores, labels, rows = sample(2, size=50)
    kept = scores.copy(), labels.copy(), rows.copy()
    abers.rules.fit_poset_rule(scores, labels, increasing=[False, True]).bounds(rows)
    for given, before in zip((scores, labels, rows), kept, strict=True):
        assert (given == before).all()


def test_probability_merges_the_bounds():
    scores, labels, rows = sample(2)
    rule = abers.rules.fit_poset_rule(scores, labels)
    lower, upper = rule.bounds(rows).T
    assert (rule.probability(rows) == abers.rules.log_minimax(lower, upper)).all()
    brier = rule.probability(rows, "brier", n_threads=2)
    assert (brier == abers.rules.brier_minimax(lower, upper)).all()


def test_a_rule_tells_what_it_is():
    rule = abers.rules.fit_poset_rule([[2, 1], [1, 1], [2, 1]], [1, 0, 0])
    assert repr(rule) == "PosetRule(2 scores, 3 rows, 1 positive)"
    assert rule.scores.tolist() == [[1, 1], [2, 1]]
    assert (rule.negatives.tolist(), rule.positives.tolist()) == ([1, 1], [0, 1])
    falling = abers.rules.fit_poset_rule([[1.0]], [1], increasing=False)
    assert repr(falling) == "PosetRule(1 score, 1 rows, 1 positive, decreasing)"
    mixed = abers.rules.fit_poset_rule(
        [[1, 2, 3]], [1], increasing=[True, False, False]
    )
    assert repr(mixed).endswith("1 positive, decreasing in columns 1, 2)")


def test_a_rule_never_changes():
    rule = abers.rules.fit_poset_rule(*sample(2)[:2])
    for array in (rule.scores, rule.negatives, rule.positives):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7
    with pytest.raises(AttributeError):
        rule.increasing = (True, True)
    assert copy.copy(rule) is rule
    assert copy.deepcopy(rule) is rule


def test_equal_rules_compare_equal_whatever_the_order_of_rows():
    scores, labels, _ = sample(3, decimals=0)
    rule = abers.rules.fit_poset_rule(scores, labels)
    other = abers.rules.fit_poset_rule(scores[::-1], labels[::-1])
    assert rule == other
    assert hash(rule) == hash(other)
    assert rule != abers.rules.fit_poset_rule(scores, ~labels)
    assert rule != abers.rules.fit_poset_rule(scores, labels, increasing=False)
    assert rule != "rule"


@pytest.mark.parametrize("increasing", [True, [False, True]])
def test_a_rule_comes_back_from_a_pickle(increasing):
    scores, labels, rows = sample(2, decimals=1)
    rule = abers.rules.fit_poset_rule(scores, labels, increasing=increasing)
    back = pickle.loads(pickle.dumps(rule))
    assert back == rule
    assert back.bounds(rows).tobytes() == rule.bounds(rows).tobytes()
    with pytest.raises(ValueError, match="read-only"):
        back.negatives[0] = 7


@pytest.mark.parametrize(
    ("scores", "labels", "options", "error", "message"),
    [
        ([1, 2], [0, 1], {}, InvalidData, r"scores.reshape\(-1, 1\)"),
        (np.empty((0, 2)), [], {}, InvalidData, "got no rows to calibrate with"),
        (np.empty((2, 0)), [0, 1], {}, InvalidData, "at least one column"),
        ([[1, np.nan]], [0], {}, InvalidData, "NaN in 1 of 1 rows, first at row 0"),
        ([[1, "2"]], [0], {}, InvalidType, "must be real numbers"),
        ([[1, 2], [1]], [0, 1], {}, InvalidType, "scores must have rows of one length"),
        (
            None,
            [0],
            {},
            InvalidType,
            r"must be an array of numbers; got None\.$",
        ),
        (coo_array([[1, 2]]), [0], {}, InvalidType, "got a coo_array. Pass its toarr"),
        (iter([[1, 2]]), [0], {}, InvalidType, r"got a list_iterator\.$"),
        ([[1, 2]], [2], {}, InvalidData, "labels must be 0 or 1; got 2 at row 0"),
        ([[1, 2]], [0, 1], {}, InvalidData, "equally long"),
        ([[1, 2]], [0], {"sample_weight": [0.5]}, InvalidData, "whole numbers"),
        ([[1, 2]], [0], {"sample_weight": [0]}, InvalidData, "not all be zero"),
        ([[1, 2]], [0], {"sample_weight": [1e300]}, InvalidData, "Scale them down"),
        ([[1, 2]], [0], {"increasing": "yes"}, InvalidType, "increasing must be True"),
        ([[1, 2]], [0], {"increasing": [True] * 3}, InvalidParameter, "got 3"),
    ],
)
def test_what_cannot_be_fitted_is_refused(scores, labels, options, error, message):
    with pytest.raises(error, match=message):
        abers.rules.fit_poset_rule(scores, labels, **options)


def test_what_cannot_be_predicted_is_refused():
    rule = abers.rules.fit_poset_rule([[1, 2]], [0])
    with pytest.raises(InvalidData, match="must have 2 columns, as when the rule"):
        rule.bounds([[1, 2, 3]])
    with pytest.raises(InvalidData, match="NaN in 1 of 2 rows, first at row 1"):
        rule.bounds([[1, 2], [np.nan, 1]])
    with pytest.raises(InvalidParameter, match="n_threads"):
        rule.bounds([[1, 2]], n_threads=0)
    with pytest.raises(InvalidParameter, match="loss must be"):
        rule.probability([[1, 2]], "hinge")


def test_three_columns_reach_so_far_and_two_further():
    size = MOST_VECTORS + 1
    scores = np.tile(np.arange(size, dtype=float)[:, None], 3)
    labels = np.arange(size) % 2
    with pytest.raises(InvalidData, match="at most 10000 different rows"):
        abers.rules.fit_poset_rule(scores, labels)
    assert abers.rules.fit_poset_rule(scores[:, :2], labels).n_rows == size
    assert abers.rules.fit_poset_rule(scores // 2, labels).n_rows == size


def test_inverted_columns_are_warned_of_once():
    scores, labels, _ = sample(3)
    scores[:, 1:] *= -1
    message = (
        r"Column [12] of the scores is inverted \(AUC 0\.\d+\), as are 1 more: higher "
        r"scores go with fewer positives. Fit with increasing=\[True, False, False\]"
    )
    with pytest.warns(InvertedScoresWarning, match=message) as caught:
        abers.rules.fit_poset_rule(scores, labels)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with pytest.warns(InvertedScoresWarning, match=r"Column 0 .* more positives"):
        abers.rules.fit_poset_rule(scores, labels, increasing=False)


@pytest.mark.filterwarnings("error::abers.errors.InvertedScoresWarning")
def test_columns_that_run_as_said_are_not_warned_of():
    scores, labels, _ = sample(2)
    abers.rules.fit_poset_rule(scores, labels)
    abers.rules.fit_poset_rule(-scores, labels, increasing=False)


def test_threads_may_share_a_rule():
    scores, labels, rows = sample(2)
    rule = abers.rules.fit_poset_rule(scores, labels)
    wanted, bounds = rule.bounds(rows).tobytes(), []
    callers = [
        threading.Thread(target=lambda: bounds.append(rule.bounds(rows).tobytes()))
        for _ in range(4)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert bounds == [wanted] * 4
