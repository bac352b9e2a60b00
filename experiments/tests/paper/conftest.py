"""The folder of data sets, and a small table that needs none."""

import os

import numpy as np
import pytest

from experiments.paper.data import DataTable, nominal_column, numeric_column
from experiments.paper.tasks import Task

ASK = (
    "ABERS_DATA must name a folder with the data sets of the paper, from the UCI "
    "Machine Learning Repository (archive.ics.uci.edu), one folder each: adult, bank, "
    "covertype, german, insurance, spambase."
)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport():
    """Count a skipped test as failed where the data are said to be there."""
    report = (yield).get_result()
    if (
        report.skipped
        and os.environ.get("ABERS_DATA")
        and not hasattr(report, "wasxfail")
    ):
        report.outcome = "failed"


@pytest.fixture(scope="session")
def data_folder():
    folder = os.environ.get("ABERS_DATA")
    if not folder:
        pytest.skip(ASK)
    return folder


@pytest.fixture(scope="session")
def small_task():
    """300 rows of mixed columns with gaps; label 1 is likelier for a high number."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=300)
    jobs = rng.choice(["a", "b", "c", "?"], 300, p=[0.4, 0.3, 0.2, 0.1])
    labels = (rng.random(300) < 1 / (1 + np.exp(-2 * x - (jobs == "b")))).astype(int)
    ages = [f"{value:.3f}" if value < 2 else "?" for value in x]
    columns = (
        numeric_column("age", ages),
        nominal_column("job", jobs.tolist()),
        numeric_column("noise", rng.normal(size=300).astype(str).tolist()),
    )
    return Task("small", DataTable(columns, labels), 200)
