"""States: what pickles and other serializers keep, and what fits can make."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import abers
from abers.core.fitted import Contents, contents_of, flaw_of
from abers.errors import InvalidParameter
from fitted_things import DRAWN, THINGS, bits, drawn

PLAIN = str | int | float | bool | None | np.ndarray
ALL = pytest.mark.parametrize("made", THINGS.values(), ids=THINGS)


def restored(made, state):
    twin = object.__new__(type(made))
    twin.__setstate__(state)
    return twin


def is_plain(value):
    if isinstance(value, dict):
        return all(map(is_plain, (*value, *value.values())))
    if isinstance(value, list):
        return all(map(is_plain, value))
    return isinstance(value, PLAIN)


@ALL
def test_state_is_a_dict_of_arrays_numbers_and_text(made):
    state = made.__getstate__()
    assert type(state) is dict
    assert all(map(is_plain, state.values()))


@ALL
def test_pickle_of_every_protocol_equals_the_original(made):
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        twin = pickle.loads(pickle.dumps(made, protocol))
        assert bits(twin) == bits(made), protocol
        assert twin.metadata == made.metadata, protocol


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_copy_of_a_diagram_is_read_only_too(copied):
    twin = copied(THINGS["weighted diagram"])
    assert twin == THINGS["weighted diagram"]
    assert twin.metadata == {"day": 1}
    with pytest.raises(ValueError, match="read-only"):
        twin.scores[0] = 9.0


def test_pickle_keeps_cells_and_their_squares():
    rule = THINGS["weighted rule"]
    twin = pickle.loads(pickle.dumps(rule))
    for mine, theirs in zip(rule.cells, twin.cells, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert pickle.loads(pickle.dumps(THINGS["rule without cells"])).cells is None


@ALL
def test_a_state_with_a_part_too_few_or_too_many_is_refused(made):
    state = made.__getstate__()
    owner = type(made).__name__
    says = f"^a {owner} must be as abers makes it; it holds .* instead of "
    for name in state:
        part = {key: value for key, value in state.items() if key != name}
        with pytest.raises(InvalidParameter, match=says):
            restored(made, part)
    with pytest.raises(InvalidParameter, match=says):
        restored(made, state | {"more": 1})
    for other in (None, [], [*state.items()]):
        with pytest.raises(InvalidParameter, match=f"^the state of a {owner} must be"):
            restored(made, other)


@ALL
def test_arrays_of_another_byte_order_are_taken(made):
    """As a pickle of another machine has them."""
    state = {
        name: value.astype(value.dtype.newbyteorder(">"))
        if isinstance(value, np.ndarray)
        else value
        for name, value in made.__getstate__().items()
    }
    assert bits(restored(made, state)) == bits(made)


def passes(thing):
    return flaw_of(type(thing), contents_of(thing)) is None


@ALL
def test_what_fits_make_passes_its_own_check(made):
    assert passes(made)


@settings(max_examples=300)
@given(st.sampled_from(list(DRAWN)), st.integers(0, 2**32))
def test_whatever_a_fit_makes_passes_its_own_check_and_comes_back(kind, seed):
    """Extreme weights, ties, one row, infinite scores, priors, mirrors and so on."""
    made = drawn(kind, np.random.default_rng(seed))
    assert passes(made)
    assert bits(pickle.loads(pickle.dumps(made))) == bits(made)


LIGHT = {"sample_weight": [1, 2**53 - 2]}
EXTREME = {
    "a light row of 0 beside a heavy 1": abers.fit_rule([1, 2], [0, 1], **LIGHT),
    "a row of less than one unit": abers.fit_rule(
        [1, 2, 3], [0, 1, 0], sample_weight=[1e9, 1e-9, 0.1]
    ),
    "rows of about one unit in a cell": abers.fit_rule(
        np.arange(200), np.arange(200) % 2, sample_weight=[*[7e-7] * 199, 3e9]
    ),
    "weights that add up to few rows": abers.fit_rule(
        np.arange(9), np.arange(9) % 2, sample_weight=[0.125] * 8 + [1]
    ).with_cells(None),
    "steps that a mirror makes equal": abers.fit_rule(
        [1, 2, 3], [0, 1, 0], sample_weight=[1e-15] * 3
    ).mirrored(),
    "bounds between neighbouring doubles": abers.rules.fit_regression_rule(
        np.arange(99), np.full(99, 1e16 + 2), low=1e16, high=1e16 + 4
    ),
}


@pytest.mark.parametrize("made", EXTREME.values(), ids=EXTREME)
def test_extreme_fits_can_be_saved(made, tmp_path):
    made.save(tmp_path / "any.abers")
    assert bits(abers.load(tmp_path / "any.abers")) == bits(made)


def test_a_check_does_not_change_what_it_checks():
    made = THINGS["rule"]
    before = bits(made)
    facts, arrays = contents_of(made)
    assert flaw_of(abers.rules.Rule, Contents(facts | {"increasing": 1}, arrays))
    assert passes(made)
    assert bits(made) == before
