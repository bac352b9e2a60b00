import numpy as np
import pytest
from scipy.special import expit, logit


@pytest.fixture(scope="module")
def sample():
    """Predictions with ties, off by a factor, and weights that are counts."""
    rng = np.random.default_rng(4)
    p = rng.random(500).round(2) * 0.96 + 0.02
    y = rng.random(500) < p**1.5
    return y, p, rng.integers(1, 5, 500)


@pytest.fixture(scope="module")
def extreme():
    """Predictions with ties that are too extreme, and weights."""
    rng = np.random.default_rng(4)
    p = rng.random(800).round(2) * 0.96 + 0.02
    y = rng.random(800) < expit(0.3 + 0.6 * logit(p))
    return y, p, rng.exponential(size=800)
