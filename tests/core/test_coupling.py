"""Coupling pairs of classes: the PKPD formula, paper-notes A16 and B."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import abers
from abers.core.coupling import pkpd
from abers.errors import InvalidData, InvalidType


def pairs_of(probabilities):
    """mu[i, j] = P(i | i or j): the pairs that agree with class probabilities."""
    p = np.asarray(probabilities)
    return p[..., :, None] / (p[..., :, None] + p[..., None, :])


def random_pairs(classes, size=50):
    """Pairs that agree with no class probabilities."""
    mu = np.random.default_rng(classes).uniform(0.01, 0.99, (size, classes, classes))
    upper = np.triu(mu, 1)
    return upper + np.tril(1 - upper.swapaxes(1, 2), -1)


@pytest.mark.parametrize("classes", [2, 3, 5, 10])
def test_pairs_that_agree_give_back_their_probabilities(classes):
    p = np.random.default_rng(classes).dirichlet(np.ones(classes), size=100)
    np.testing.assert_allclose(abers.rules.couple(pairs_of(p)), p, rtol=1e-12)


def test_hand_computed_coupling():
    """1/mu sums to 1/.6 + 1/.7, 1/.4 + 1/.8, 1/.3 + 1/.2; less C - 2 = 1 each."""
    mu = [[0, 0.6, 0.7], [0.4, 0, 0.8], [0.3, 0.2, 0]]
    raw = np.array([1 / (5 / 3 + 10 / 7 - 1), 1 / (2.5 + 1.25 - 1), 1 / (10 / 3 + 4)])
    np.testing.assert_allclose(abers.rules.couple([mu]), [raw / raw.sum()], rtol=1e-15)


@given(st.lists(st.floats(0, 1), min_size=1))
def test_two_classes_keep_their_probability(values):
    p = np.array(values)
    mu = np.zeros((p.size, 2, 2))
    mu[:, 0, 1], mu[:, 1, 0] = p, 1 - p
    expected = np.stack((p, 1 - p), axis=1)
    np.testing.assert_allclose(abers.rules.couple(mu), expected, atol=1e-15)


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_probabilities_sum_to_one(classes):
    coupled = abers.rules.couple(random_pairs(classes))
    assert coupled.shape == (50, classes)
    np.testing.assert_allclose(coupled.sum(axis=1), 1, rtol=1e-15)


def test_classes_that_all_lose_a_pair_for_sure_are_equally_likely():
    """0 beats 1, 1 beats 2, 2 beats 0, each with certainty."""
    mu = [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    assert abers.rules.couple([mu]).tolist() == [[1 / 3, 1 / 3, 1 / 3]]


def test_class_that_wins_every_pair_for_sure_is_certain():
    mu = [[0, 1, 1], [0, 0, 0.5], [0, 0.5, 0]]
    assert abers.rules.couple([mu]).tolist() == [[1, 0, 0]]


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_unnormalised_value_grows_with_each_pair(a, b, c, d):
    """Paper-notes A16: p_i is monotone in each mu_ij; so bounds go through it."""
    below, above = (
        pkpd(np.array([[[0, mu, c], [1 - mu, 0, d], [1 - c, 1 - d, 0]]]))
        for mu in sorted((a, b))
    )
    assert below[0, 0] <= above[0, 0]
    assert below[0, 1] >= above[0, 1]


@pytest.mark.parametrize("diagonal", [0, 0.5, 1, 17, np.nan])
def test_diagonal_is_ignored(diagonal):
    mu = random_pairs(4)
    expected = abers.rules.couple(mu)
    mu[:, np.arange(4), np.arange(4)] = diagonal
    assert abers.rules.couple(mu).tobytes() == expected.tobytes()


def test_rounding_errors_of_the_pairs_are_forgiven():
    mu = random_pairs(3)
    mu[:, 0, 1] += 1e-12
    np.testing.assert_allclose(
        abers.rules.couple(mu), abers.rules.couple(random_pairs(3)), 1e-9
    )


def test_order_of_classes_does_not_matter():
    mu, order = random_pairs(4), [2, 0, 3, 1]
    np.testing.assert_allclose(
        abers.rules.couple(mu[:, order][:, :, order]),
        abers.rules.couple(mu)[:, order],
        rtol=1e-14,
    )


def test_no_rows_couple_to_no_rows():
    assert abers.rules.couple(np.empty((0, 3, 3))).shape == (0, 3)


def test_pairs_are_not_modified():
    mu = random_pairs(3)
    before = mu.tobytes()
    abers.rules.couple(mu)
    assert mu.tobytes() == before


@pytest.mark.parametrize(
    ("pairwise", "error", "text"),
    [
        ([[0, 0.5], [0.5, 0]], InvalidData, r"\(n, C, C\).*got \(2, 2\)"),
        (np.zeros((1, 2, 3)), InvalidData, r"got \(1, 2, 3\)"),
        (np.zeros((1, 1, 1)), InvalidData, "at least two classes"),
        (
            [[[0, 0.5], [0.5, 0]], [[0, 0.3], [0.6, 0]]],
            InvalidData,
            "must be 1; got 0.3 and 0.6 for classes 0 and 1 at row 1",
        ),
        ([[[0, 1.5], [-0.5, 0]]], InvalidData, "got 1.5 and -0.5"),
        ([[[0, np.nan], [0.5, 0]]], InvalidData, "got nan and 0.5"),
        ([[["a", "b"], ["c", "d"]]], InvalidType, "pairwise must be real numbers"),
    ],
)
def test_impossible_pairs_are_refused(pairwise, error, text):
    with pytest.raises(error, match=text):
        abers.rules.couple(pairwise)
