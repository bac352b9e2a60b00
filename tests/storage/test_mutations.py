"""Changed contents are refused, or what comes of them breaks no condition."""

import collections

import numpy as np
import pytest

import fitted_things
import forgeries
import mutations
from fitted_things import THINGS, contents, kind_of

N_MUTATIONS = 2_850


def test_mutations_are_refused_or_hold_what_their_kind_may_hold(tmp_path):
    """Through states and files, which must agree; any other exception is a failure."""
    counted = collections.Counter(
        mutations.trial(seed, tmp_path / "any.abers") for seed in range(N_MUTATIONS)
    )
    for kind in fitted_things.KINDS:
        refused, accepted = counted[kind, "refused"], counted[kind, "accepted"]
        assert refused + accepted == N_MUTATIONS / len(fitted_things.KINDS)
        assert refused > 2 * accepted > 0


@pytest.mark.parametrize("thing", THINGS.values(), ids=THINGS)
def test_the_second_checker_finds_nothing_wrong_with_what_fits_make(thing):
    assert mutations.broken(kind_of(thing), *contents(thing)) is None


def test_the_second_checker_finds_what_is_wrong_with_forgeries():
    """All but a few that can be told only by how a type is written."""
    missed = []
    for name, forgery in forgeries.FORGERIES.items():
        kind = kind_of(forgery.thing)
        try:
            conditions = mutations.broken(kind, forgery.facts, forgery.arrays)
        except (ArithmeticError, AttributeError, LookupError, RecursionError):
            conditions = "no contents at all"
        except (TypeError, ValueError):
            conditions = "no contents at all"
        if conditions is None:
            missed.append(name)
    assert missed == []


def test_mutations_change_something():
    honest = contents(THINGS["rule"])
    rng = np.random.default_rng(0)
    shown = {str(mutations.mutated(rng, *honest)) for _ in range(100)}
    assert len(shown) > 80
