"""Fingerprints recognise rows, in whatever order and batches they come."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

import abers
from abers.errors import InvalidParameter
from abers.storage.fingerprint import (
    KEPT,
    Fingerprint,
    fingerprint_of,
    fingerprint_of_counts,
    matches,
)

RNG = np.random.default_rng(0)
SCORES = RNG.random(20_000)
LABELS = RNG.random(20_000) < SCORES
FITTED = fingerprint_of(SCORES, LABELS)

rows = st.lists(st.tuples(st.integers(-3, 3).map(float), st.booleans()), max_size=30)


@given(rows, st.integers(0, 30), st.randoms(use_true_random=False))
def test_order_and_batches_make_no_difference(data, cut, random):
    whole = fingerprint_of([s for s, _ in data], [y for _, y in data])
    random.shuffle(data)
    parts = [
        fingerprint_of([s for s, _ in part], [y for _, y in part])
        for part in (data[:cut], data[cut:])
    ]
    assert parts[0] + parts[1] == whole


@given(rows)
def test_counts_have_the_fingerprint_of_what_they_count(data):
    scores = sorted({s for s, _ in data})
    counts = [sum(s == score for s, _ in data) for score in scores]
    positives = [sum(s == score and y for s, y in data) for score in scores]
    counted = fingerprint_of_counts(scores, counts, positives)
    assert counted == fingerprint_of([s for s, _ in data], [y for _, y in data])


def test_a_large_fingerprint_is_that_of_its_parts_and_survives_as_text():
    made = Fingerprint()
    for start in range(0, SCORES.size, 777):
        part = slice(start, start + 777)
        made = made.with_rows(SCORES[part], LABELS[part])
    assert made == FITTED
    assert len(made.smallest) == KEPT
    assert Fingerprint.from_text(made.to_text()) == made


def test_one_changed_row_changes_the_total():
    labels = LABELS.copy()
    labels[7] = ~labels[7]
    assert fingerprint_of(SCORES, labels).total != FITTED.total
    assert fingerprint_of(SCORES + 0.0, LABELS).total == FITTED.total
    assert fingerprint_of([-0.0], [1]) == fingerprint_of([0.0], [1])


def share_seen(fitted, scores, labels):
    """Estimate which share of the rows a fit has seen; NaN if nobody can tell."""
    comparable, seen = matches(fitted, scores, labels)
    return seen / comparable if comparable else math.nan


def test_rows_of_the_fit_are_recognised_and_others_are_not():
    assert share_seen(FITTED, SCORES[:5_000], LABELS[:5_000]) == 1
    assert share_seen(FITTED, SCORES[:5_000], ~LABELS[:5_000]) == 0
    assert share_seen(FITTED, RNG.random(20_000), LABELS) == 0


def test_a_mixture_of_old_and_new_rows_is_recognised_by_its_share():
    scores = np.concatenate((SCORES, RNG.random(20_000)))
    share = share_seen(FITTED, scores, np.concatenate((LABELS, LABELS)))
    assert 0.42 < share < 0.58  # about a thousand rows can be compared


def test_batches_of_matches_add_up():
    halves = [
        matches(FITTED, SCORES[part], LABELS[part])
        for part in (slice(9_000), slice(9_000, None))
    ]
    whole = matches(FITTED, SCORES, LABELS)
    assert tuple(np.add(*halves)) == whole == (KEPT, KEPT)


def test_scores_that_repeat_tell_nothing():
    """New rows with such scores look like old ones, whatever they are."""
    scores = np.round(SCORES, 2)
    fitted = fingerprint_of(scores, LABELS)
    assert math.isnan(share_seen(fitted, scores, LABELS))
    assert fitted == fingerprint_of(scores[::-1], LABELS[::-1])


def test_the_number_of_distinct_rows_is_estimated():
    assert FITTED.n_distinct == pytest.approx(20_000, rel=0.15)
    assert fingerprint_of([1, 1, 2], [0, 0, 0]).n_distinct == 2


@pytest.mark.parametrize(
    "text", ["", "v1", "v1 3 xyz AAAA", "v1 3 ff !", "v2 3 ff AAAA"]
)
def test_other_text_is_no_fingerprint(text):
    with pytest.raises(abers.AbersError, match="a fingerprint must"):
        Fingerprint.from_text(text)


@pytest.mark.parametrize(
    ("n_rows", "kept"),
    [(512, [0] * 512), (1, [1, 2]), (513, range(513)), (2, [2, 1]), (-1, [])],
)
def test_a_fingerprint_that_no_rows_can_have_is_refused(n_rows, kept):
    forged = Fingerprint(n_rows, 0, tuple(kept)).to_text()
    with pytest.raises(InvalidParameter, match="text that abers has made"):
        Fingerprint.from_text(forged)
