"""Decisions against a grid of probabilities, the two theorems, Bayes, and by hand."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

import abers
from abers.errors import InvalidData, InvalidParameter, InvalidType

CRITERIA = ("cost", "regret")


def drawn_bounds(rng, *shape):
    return np.sort(rng.random((*shape, 2)), axis=-1)


def worst_on_grid(costs, grid, criterion):
    """The worst of each action over probabilities (m, C), straight from the words."""
    expected = grid @ costs.T  # (m, actions)
    if criterion == "regret":
        expected = expected - expected.min(axis=1, keepdims=True)
    return expected.max(axis=0)


def test_costs_by_hand():
    """t = 1/5; worst costs of not acting are 4 p1, of acting 1 - p0."""
    bounds = [[0.0, 0.2], [0.0, 0.25], [0.0, 0.3], [0.25, 0.5], [0.15, 0.21]]
    decisions = abers.decide(bounds, [[0, 4], [1, 0]])
    # 0.8 < 1; 1 = 1, a tie, which acts; 1.2 > 1; 2 > 0.75; 0.84 < 0.85
    assert decisions.action.tolist() == [0, 1, 1, 1, 0]
    np.testing.assert_allclose(decisions.worst_cost, [0.8, 1.0, 1.0, 0.75, 0.84])
    assert decisions.undetermined.tolist() == [True, True, True, False, True]
    assert decisions.n_empty == 0
    assert decisions.action.dtype == np.int64


@pytest.mark.parametrize("criterion", CRITERIA)
def test_costs_of_errors_are_a_table_whose_sides_cannot_be_exchanged(criterion):
    bounds = drawn_bounds(np.random.default_rng(0), 50)
    decisions = abers.decide(
        bounds, cost_fp=1, cost_fn=4, criterion=criterion, refer=0.6
    )
    table = abers.decide(bounds, [[0, 4], [1, 0]], criterion=criterion, refer=0.6)
    assert decisions.action.tolist() == table.action.tolist()
    assert decisions.worst_cost.tolist() == table.worst_cost.tolist()
    transposed = abers.decide(bounds, [[0, 1], [4, 0]], criterion=criterion, refer=0.6)
    assert decisions.action.tolist() != transposed.action.tolist()


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((), {}, "as one table, or as cost_fp and cost_fn; got neither"),
        ((), {"cost_fp": 1}, "or as cost_fp and cost_fn; got cost_fp"),
        (([[0, 1], [1, 0]],), {"cost_fn": 1}, "got costs and cost_fn"),
        ((), {"cost_fp": 0, "cost_fn": 1}, "cost_fp must be a positive number; got 0"),
        ((), {"cost_fp": 1, "cost_fn": "4"}, "cost_fn must be a positive num.* '4'"),
    ],
)
def test_costs_of_errors_are_given_both_and_alone(arguments, options, message):
    with pytest.raises(InvalidParameter, match=message):
        abers.decide([[0.1, 0.3]], *arguments, **options)


def test_costs_of_errors_are_for_two_classes():
    with pytest.raises(InvalidParameter, match="for two classes; got bounds of 3"):
        abers.decide([[[0.1, 0.3], [0.2, 0.6], [0.3, 0.5]]], cost_fp=1, cost_fn=4)


def test_regrets_by_hand():
    """In units of 5: acting (0.2 - p0)+, not acting (p1 - 0.2)+."""
    bounds = [[0.0, 0.2], [0.0, 0.4], [0.0, 0.39], [0.25, 0.5], [0.15, 0.21]]
    decisions = abers.decide(bounds, [[0, 4], [1, 0]], criterion="regret")
    assert decisions.action.tolist() == [0, 1, 0, 1, 0]
    np.testing.assert_allclose(
        decisions.worst_cost, [0.0, 1.0, 0.95, 0.0, 0.05], atol=1e-15
    )


def test_referring_by_hand():
    """Worst costs without it are 0.4, 0.9 and 0.5; a price that is equal is no gain."""
    bounds = [[0.0, 0.1], [0.1, 0.3], [0.5, 0.6]]
    actions = {
        price: abers.decide(bounds, [[0, 4], [1, 0]], refer=price).action.tolist()
        for price in (1, 0.9, 0.899, 0.5, 0.4, 0.3)
    }
    assert actions == {
        1: [0, 1, 1],
        0.9: [0, 1, 1],
        0.899: [0, -1, 1],
        0.5: [0, -1, 1],
        0.4: [0, -1, -1],
        0.3: [-1, -1, -1],
    }
    decisions = abers.decide(bounds, [[0, 4], [1, 0]], refer=0.45)
    np.testing.assert_allclose(decisions.worst_cost, [0.4, 0.45, 0.45])
    without = abers.decide(bounds, [[0, 4], [1, 0]])
    assert decisions.undetermined.tolist() == without.undetermined.tolist()


def test_regret_of_referring_by_hand():
    """p in [0, 1/2], costs p and 1 - p, price 1/5; the best costs min(p, 1/5).

    Regrets at worst: not acting 1/2 - 1/5, at p = 1/2; acting 1 - 0, at p = 0;
    referring 1/5 - 0, at p = 0.
    """
    decisions = abers.decide(
        [[0, 0.5]], [[0, 1], [1, 0]], criterion="regret", refer=0.2
    )
    assert decisions.action.tolist() == [-1]
    np.testing.assert_allclose(decisions.worst_cost, [0.2])


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("refer", [None, 0.1, 0.4])
def test_no_action_is_better_on_a_grid_of_probabilities(criterion, refer):
    rng = np.random.default_rng(0)
    for _ in range(500):
        n_actions = rng.integers(2, 5)
        costs = rng.normal(size=(n_actions, 2))
        ((low, high),) = bounds = drawn_bounds(rng, 1)
        p = np.linspace(low, high, 101)
        table = costs if refer is None else np.vstack((costs, [refer, refer]))
        worst = worst_on_grid(table, np.column_stack((1 - p, p)), criterion)
        decisions = abers.decide(bounds, costs, criterion=criterion, refer=refer)
        chosen = decisions.action[0] if decisions.action[0] >= 0 else n_actions
        assert worst[chosen] == pytest.approx(worst.min(), abs=1e-12)
        assert decisions.worst_cost[0] == pytest.approx(worst.min(), abs=1e-12)


def test_undetermined_is_that_actions_change_on_a_grid():
    rng = np.random.default_rng(1)
    seen = 0
    for _ in range(500):
        costs = rng.normal(size=(rng.integers(2, 5), 2))
        ((low, high),) = bounds = drawn_bounds(rng, 1)
        p = np.linspace(low, high, 2001)
        best = (np.column_stack((1 - p, p)) @ costs.T).argmin(axis=1)
        decisions = abers.decide(bounds, costs)
        assert decisions.undetermined[0] == (len(set(best)) > 1)
        seen += decisions.undetermined[0]
    assert 100 < seen < 400


TENTHS = [Fraction(k, 10) for k in range(11)]
PRICES = [(fp, fn) for fp, fn in product((1, 2, 3, 4, 7), repeat=2)]


@pytest.mark.parametrize(("fp", "fn"), PRICES)
def test_minimax_cost_is_the_log_minimax_probability(fp, fn):
    """The first theorem, in Fractions, and that ties act at t."""
    pairs = [(p0, p1) for p0, p1 in product(TENTHS, repeat=2) if p0 <= p1]
    t = Fraction(fp, fp + fn)
    decisions = abers.decide(np.array(pairs, dtype=float), [[0, fn], [fp, 0]])
    assert decisions.action.tolist() == [
        int(p1 / (1 - p0 + p1) >= t) if (p0, p1) != (1, 0) else 1 for p0, p1 in pairs
    ]
    assert decisions.undetermined.tolist() == [p0 < t <= p1 for p0, p1 in pairs]


@pytest.mark.parametrize(("fp", "fn"), PRICES)
@pytest.mark.parametrize("right", [(0, 0), (-2, 0), (0, -1), (-1, -3)])
def test_minimax_regret_is_the_midpoint(fp, fn, right):
    """The second theorem, in Fractions, also where right actions have a price."""
    pairs = [(p0, p1) for p0, p1 in product(TENTHS, repeat=2) if p0 <= p1]
    t = Fraction(fp - right[0], fp - right[0] + fn - right[1])
    costs = [[right[0], fn], [fp, right[1]]]
    decisions = abers.decide(np.array(pairs, dtype=float), costs, criterion="regret")
    assert decisions.action.tolist() == [int((p0 + p1) / 2 >= t) for p0, p1 in pairs]


@pytest.mark.parametrize("criterion", CRITERIA)
def test_both_theorems_on_bounds_of_a_rule(criterion):
    rng = np.random.default_rng(2)
    scores = rng.normal(size=300)
    rule = abers.fit_rule(scores, rng.random(300) < 1 / (1 + np.exp(-scores)))
    bounds = rule.bounds(rng.normal(size=2_000))
    merged = {"cost": abers.rules.log_minimax(*bounds.T), "regret": bounds.mean(axis=1)}
    for t in (0.05, 0.1, 0.35, 0.5, 0.8):
        decisions = abers.decide(bounds, [[0, 1 - t], [t, 0]], criterion=criterion)
        p = merged[criterion]
        clear = abs(p - t) > 1e-12
        assert (decisions.action == (p >= t))[clear].all()


@pytest.mark.parametrize("criterion", CRITERIA)
def test_equal_bounds_are_bayes(criterion):
    rng = np.random.default_rng(3)
    costs = rng.normal(size=(4, 2))
    p = rng.random(500)
    decisions = abers.decide(np.column_stack((p, p)), costs, criterion=criterion)
    expected = np.column_stack((1 - p, p)) @ costs.T
    assert decisions.action.tolist() == expected.argmin(axis=1).tolist()
    assert not decisions.undetermined.any()
    q = rng.dirichlet(np.ones(5), 500)
    costs = rng.normal(size=(3, 5))
    decisions = abers.decide(np.stack((q, q), axis=-1), costs, criterion=criterion)
    assert decisions.action.tolist() == (q @ costs.T).argmin(axis=1).tolist()
    assert not decisions.undetermined.any()
    assert decisions.n_empty == 0


def test_a_probability_at_the_threshold_acts_for_all_whole_costs():
    """Where 1 - p and p are rounded differently, too: 0.7 · 3 is below 0.3 · 7."""
    for fp, fn in product(range(1, 30), repeat=2):
        t = fp / (fp + fn)
        decisions = abers.decide([[t, t]], [[0, fn], [fp, 0]])
        assert decisions.action.tolist() == [1]
        assert decisions.undetermined.tolist() == [False]


def test_a_coin_would_be_better_where_the_bounds_leave_it_open():
    """What the docstring states of randomised actions: cost t FN, and the regret."""
    rng = np.random.default_rng(4)
    bounds = drawn_bounds(rng, 1_000)
    fp, fn = 2.0, 3.0
    t = fp / (fp + fn)
    p0, p1 = bounds.T
    within = (p0 < t) & (t < p1)
    for criterion, coin, heads in (
        ("cost", np.full(1_000, t * fn), 1 - t),
        ("regret", (t - p0) * (p1 - t) / (p1 - p0) * (fp + fn), (p1 - t) / (p1 - p0)),
    ):
        decisions = abers.decide(bounds, [[0, fn], [fp, 0]], criterion=criterion)
        assert (coin < decisions.worst_cost)[within].all()
        for p in (p0, p1):  # what the coin costs at both ends
            act, leave = (1 - p) * fp, p * fn
            best = np.minimum(act, leave) if criterion == "regret" else 0
            mixed = heads * act + (1 - heads) * leave - best
            np.testing.assert_allclose(mixed[within], coin[within])
    assert within.sum() > 300


def linear_programme(costs, lower, upper):
    """The worst expectation by a solver; None if there are no such probabilities."""
    solved = linprog(
        -costs,
        A_eq=np.ones((1, lower.size)),
        b_eq=[1.0],
        bounds=np.column_stack((lower, upper)),
    )
    return None if solved.status == 2 else -solved.fun


@pytest.mark.parametrize("criterion", CRITERIA)
def test_classes_are_filled_up_as_a_linear_programme_does(criterion):
    rng = np.random.default_rng(5)
    n_empty = 0
    for _ in range(120):
        n_classes, n_actions = rng.integers(3, 6), rng.integers(2, 4)
        width = rng.uniform(0, 0.8)
        p = rng.dirichlet(np.ones(n_classes))
        lower = np.clip(p - width * rng.random(n_classes), 0, 1)
        upper = np.clip(p + width * rng.random(n_classes) - 0.1, lower, 1)
        costs = rng.normal(size=(n_actions, n_classes))
        decisions = abers.decide(
            np.stack((lower, upper), axis=-1)[np.newaxis], costs, criterion=criterion
        )
        if linear_programme(costs[0], lower, upper) is None:
            assert decisions.n_empty == 1
            n_empty += 1
            continue
        others = [np.zeros(n_classes)] if criterion == "cost" else costs
        worst = [
            max(linear_programme(own - other, lower, upper) for other in others)
            for own in costs
        ]
        assert decisions.n_empty == 0
        assert decisions.worst_cost[0] == pytest.approx(min(worst), abs=1e-9)
        assert worst[decisions.action[0]] == pytest.approx(min(worst), abs=1e-9)
        best = [
            all(linear_programme(a - b, lower, upper) <= 1e-12 for b in costs)
            for a in costs
        ]
        assert decisions.undetermined[0] == (not any(best))
    assert n_empty > 10


def test_two_classes_as_two_columns_are_the_same():
    rng = np.random.default_rng(6)
    bounds = drawn_bounds(rng, 400)
    columns = np.stack((1 - bounds[:, ::-1], bounds), axis=1)
    costs = rng.normal(size=(3, 2))
    for criterion in CRITERIA:
        one = abers.decide(bounds, costs, criterion=criterion, refer=0.2)
        two = abers.decide(columns, costs, criterion=criterion, refer=0.2)
        assert one.action.tolist() == two.action.tolist()
        assert one.undetermined.tolist() == two.undetermined.tolist()
        np.testing.assert_allclose(one.worst_cost, two.worst_cost, atol=1e-12)


def test_bounds_without_probabilities_are_counted_and_normalised():
    """Lower bounds of more than 1 together, upper bounds of less, and all of 0."""
    bounds = [
        [[0.5, 0.6], [0.4, 0.4], [0.2, 0.2]],
        [[0.0, 0.1], [0.0, 0.2], [0.0, 0.2]],
        [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]],
        [[0.1, 0.5], [0.1, 0.5], [0.1, 0.5]],
    ]
    costs = 1 - np.eye(3)
    decisions = abers.decide(bounds, costs)
    assert decisions.n_empty == 3
    assert not decisions.undetermined[:3].any()
    assert decisions.undetermined[3]
    # 0.6 / 1.2 is the most probable; 0.2 / 0.5 twice, and 1/3 thrice: the last of them
    assert decisions.action.tolist() == [0, 2, 2, 2]
    np.testing.assert_allclose(decisions.worst_cost, [0.5, 0.6, 2 / 3, 0.9])


def test_bounds_of_classes_that_a_classifier_gives_are_decided():
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression

    X, y = load_digits(return_X_y=True)
    model = abers.IVAPClassifier(
        LogisticRegression(max_iter=200), multiclass="ovr", random_state=0
    ).fit(X[:900] / 16, y[:900])
    bounds = model.predict_bounds(X[900:] / 16)
    decisions = abers.decide(bounds, 1 - np.eye(10), refer=0.4)
    assert decisions.n_empty == 0
    right = decisions.action == y[900:]
    acted = decisions.action >= 0
    assert right[acted].mean() > 0.97
    assert 0 < (~acted).mean() < 0.4


def test_decisions_are_shown_as_counts():
    decisions = abers.decide([[0.0, 0.1], [0.1, 0.3], [0.5, 0.6]], cost_fp=1, cost_fn=4)
    assert repr(decisions) == "Decisions(3 rows; action 0: 1, action 1: 2)"
    nobody = abers.decide(np.empty((0, 2)), cost_fp=1, cost_fn=4)
    assert repr(nobody) == "Decisions(0 rows)"


def test_no_rows_have_no_decisions():
    decisions = abers.decide(np.empty((0, 2)), [[0, 1], [1, 0]], refer=0.1)
    assert (
        decisions.action.shape
        == decisions.worst_cost.shape
        == decisions.undetermined.shape
    )
    assert decisions.action.shape == (0,)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([[0.5, 0.2]], [[0, 1], [1, 0]]), InvalidData, "lower <= upper"),
        (([0.2, 0.5], [[0, 1], [1, 0]]), InvalidData, r"got \(2,\). Pass"),
        (
            ([[0.4, 0.6], [0.7, 0.3]], [[0, 1], [1, 0]]),
            InvalidData,
            r"got \(0.7, 0.3\) at row 1, and rows that all add up to 1, as those",
        ),
        ((None, [[0, 1], [1, 0]]), InvalidType, "bounds must be an array.*got None"),
        (([[0.2, 0.5]], "costs"), InvalidType, "costs must be an array.*got a str"),
        (([[0.2, 0.5]], [[0, 1], [1]]), InvalidType, "costs must have rows of one len"),
        (([[0.2, 0.5]], [[0, 1]]), InvalidParameter, "at least two rows"),
        (([[0.2, 0.5]], [[0, 1, 2], [1, 0, 2]]), InvalidParameter, "2 columns"),
        (([[0.2, 0.5]], [0, 1]), InvalidParameter, r"got shape \(2,\)"),
        (
            ([[0.2, 0.5]], [[0, float("nan")], [1, 0]]),
            InvalidParameter,
            "finite numbers; got nan for action 0 and class 1",
        ),
    ],
)
def test_what_cannot_be_decided_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        abers.decide(*arguments)


@pytest.mark.parametrize("price", [float("inf"), float("nan"), "1", True])
def test_a_price_that_is_no_number_is_refused(price):
    with pytest.raises(InvalidParameter, match="refer must be a finite number; got"):
        abers.decide([[0.2, 0.5]], [[0, 1], [1, 0]], refer=price)


def test_an_unknown_criterion_is_refused():
    with pytest.raises(InvalidParameter, match="'cost' or 'regret'; got 'bayes'"):
        abers.decide([[0.2, 0.5]], [[0, 1], [1, 0]], criterion="bayes")
