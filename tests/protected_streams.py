"""Streams against which protected probabilities may lose no more than one bit.

Run as a script it plays many, a hundredth of them long and greedy, and prints the
largest losses: `python tests/protected_streams.py 10000`.
"""

import math
import sys

import numpy as np

import abers


class Stream:
    """A stream in which base probabilities are chosen freely, by scores 1 … 999."""

    rule = abers.rules.fit_rule_from_diagram(
        abers.rules.Diagram.from_counts(
            np.arange(1, 1000), np.full(999, 10**6), np.arange(1, 1000) * 1000
        )
    )

    def __init__(self):
        self.protected = abers.Protected(self.rule)
        self.loss, self.n_rows = 0.0, 0
        self.waiting = {}

    def predict(self, score):
        (issued,) = self.protected.predict([score], ids=[self.n_rows])
        (base,) = self.rule.probability([score])
        self.waiting[self.n_rows] = (score, base, issued)
        self.n_rows += 1

    def worst_label(self, row):
        _, base, issued = self.waiting[row]
        return int(issued < base)

    def update(self, row, label):
        score, base, issued = self.waiting.pop(row)
        self.protected.update([score], [label], ids=[row])
        self.loss += math.log2(base / issued if label else (1 - base) / (1 - issued))
        assert self.loss <= 1 + 1e-9
        assert abs(self.protected.excess - self.loss) <= 1e-9
        assert self.protected.excess + self.protected.account <= 1 + 1e-9


def play(seed, n_rows=120):
    """Delays of 0, at random, or by labels; labels at random, drifting, or greedy."""
    rng = np.random.default_rng(seed)
    stream = Stream()
    delays, labels = seed % 3, seed // 3 % 3
    longest = int(rng.choice([1, 5, 20, 1000]))
    odds = math.exp(rng.normal())
    due = {}
    for t in range(n_rows):
        score = int(rng.choice([rng.integers(1, 1000), 1, 500, 999]))
        stream.predict(score)
        p = score / 1000
        q = [p, odds * p / (1 - p + odds * p), 0.5][labels]
        label = stream.worst_label(t) if labels == 2 else int(rng.random() < q)
        delay = [0, int(rng.integers(longest)), longest * label][delays]
        due.setdefault(t + delay, []).append((t, label))
        for row, outcome in due.pop(t, []):
            stream.update(row, outcome)
    for row, outcome in [row for rows in due.values() for row in rows]:
        if labels < 2 and rng.random() < 0.1:  # some labels never come
            stream.protected.drop([stream.waiting.pop(row)[0]], ids=[row])
        else:
            stream.update(row, outcome)
    assert stream.protected.account == 0
    return stream.loss


def main(n_streams):
    losses = np.array([play(seed) for seed in range(n_streams)])
    # Delays by labels, and labels that cost most: 8 modulo 9.
    long = np.array([play(9 * seed + 8, 4_000) for seed in range(n_streams // 100)])
    for name, delays in (("0", 0), ("at random", 1), ("by labels", 2)):
        worst = losses[delays::3].max()
        print(f"delays {name}: {losses[delays::3].size} streams, at most {worst:.12f}")  # noqa: T201
    print(f"greedy, 4,000 rows: {long.size} streams, at most {long.max():.12f}")  # noqa: T201


if __name__ == "__main__":
    main(int(sys.argv[1]))
