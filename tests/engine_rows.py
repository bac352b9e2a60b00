"""Rows for engines, small and with all that is awkward, and a small Spark."""

import numpy as np

SETTINGS = {
    "spark.master": "local[2,4]",  # a task that fails is tried again
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "3",
    "spark.log.level": "OFF",
}


def made_rows(n=600, *, seed=0, skewed=False):
    """Return scores, labels and groups, with ties, infinities and both zeros."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n).round(2)
    labels = (rng.random(n) < 1 / (1 + np.exp(-scores))).astype(int)
    scores[:6] = [np.inf, -np.inf, 0.0, -0.0, np.inf, -np.inf]
    if skewed:
        scores[: n // 3] = 0.25
    groups = rng.choice(["a", "b", "c", "tiny"], p=[0.5, 0.3, 0.19, 0.01], size=n)
    return scores.tolist(), labels.tolist(), groups.tolist()
