"""Figures are drawn without a screen, and closed after each test."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt


@pytest.fixture(autouse=True)
def _no_figure_stays_open():
    mpl.use("Agg")
    yield
    plt.close("all")


@pytest.fixture(scope="package")
def sample():
    """Scores, labels, and probabilities that are too sure of themselves."""
    rng = np.random.default_rng(3)
    scores = rng.normal(size=2_000)
    labels = rng.random(2_000) < 1 / (1 + np.exp(-scores))
    return scores, labels, 1 / (1 + np.exp(-2 * scores))
