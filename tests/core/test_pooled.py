"""The pooled rule: one isotonic regression on the star of all folds."""

import random
from fractions import Fraction

import abers
import oracle
from strategies import INF

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
    return abers.fit_pooled_rule(
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
