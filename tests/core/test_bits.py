"""Results are the same bits on every machine and with every compiler.

The hashes were made once, and hold in every version (docs/versioning.md).
A build that gives another one is wrong: a compiler that fuses multiplications with
additions, say, or a plain version that does not equal the fast one (`make
test-portable`). The merged probability of several folds is left out, because it takes a
logarithm of the system's library.
"""

import hashlib

import numpy as np
import pytest

import abers

SIZE = 60_000
FEW = 2_000
FOLDS = 5


class Numbers:
    """Random numbers by arithmetic that is exact, hence the same everywhere."""

    def __init__(self, seed):
        self.raw = np.random.PCG64(seed).random_raw

    def uniform(self, size):
        return (self.raw(size) >> np.uint64(11)) * 2.0**-53

    def below(self, limit, size):
        return (self.raw(size) % np.uint64(limit)).astype(np.int64)


def of_kind(kind, numbers):
    scores = numbers.uniform(SIZE) + numbers.uniform(SIZE) - 1
    if kind == "tied":
        return np.floor(scores * 256) / 256
    if kind == "skewed":
        return scores * scores * scores * scores * scores
    return scores


def weights_of(kind, numbers):
    if kind == "unit":
        return None
    if kind == "integer":
        return numbers.below(9, SIZE)
    if kind == "beyond 32 bits":  # in all: products of totals need 128 bits
        return numbers.below(1 << 36, SIZE)
    return numbers.uniform(SIZE) + 0.125


def hashed(arrays):
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    return digest.hexdigest()[:16]


def answers(scores, weights):
    """Yield what a rule, a set that changes and folds say about one made problem."""
    numbers = Numbers(2015)
    score = of_kind(scores, numbers)
    given = weights_of(weights, numbers)
    labels = numbers.uniform(SIZE) < 0.3 + score * 0.3
    queries = np.concatenate([score[:FEW], of_kind(scores, numbers)])
    for increasing in (True, False):
        s, new = (score, queries) if increasing else (-score, -queries)
        rule = abers.fit_rule(s, labels, sample_weight=given, increasing=increasing)
        yield from (rule.thresholds, rule.lower, rule.upper, rule.bounds(new))
        yield from (rule.probability(new, loss=loss) for loss in ("log", "brier"))
    rows = queries[: FOLDS * FEW].reshape(-1, FOLDS)
    folds = numbers.below(FOLDS, SIZE)
    yield abers.rules.fit_pooled_rule(score, labels, folds, sample_weight=given).bounds(
        rows
    )
    if weights != "real":
        few = slice(FEW)
        counted = None if given is None else given[few]
        online = abers.OnlineVennAbers()
        online.add_many(score[few], labels[few], sample_weight=counted)
        yield online.bounds(queries[FEW : FEW + 500])


MADE = {
    ("distinct", "unit"): "e0f54f84bf16f2f7",
    ("distinct", "integer"): "7f115f2e6f1d05fd",
    ("distinct", "beyond 32 bits"): "34b220edf946cb36",
    ("distinct", "real"): "58cf8f2a94640688",
    ("tied", "unit"): "c2265db14d26c327",
    ("tied", "integer"): "5953b335159355f0",
    ("tied", "beyond 32 bits"): "0917d200190cd579",
    ("tied", "real"): "19a9a842203e6947",
    ("skewed", "unit"): "d5b74504e8b4dc73",
    ("skewed", "integer"): "6b204b2527e338be",
    ("skewed", "beyond 32 bits"): "3877cf7d05e6f6e3",
    ("skewed", "real"): "a7c560b59ef73770",
}


@pytest.mark.parametrize(("scores", "weights"), MADE)
def test_bits_are_those_that_were_made_once(scores, weights):
    assert hashed(answers(scores, weights)) == MADE[scores, weights]
