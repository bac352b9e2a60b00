"""One small Spark session for each module of tests; it needs Java."""

import os
import sys
from importlib import import_module

import pytest

from engine_rows import SETTINGS

# Workers must be this Python: another may lack abers.
os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"


def pytest_configure(config):
    """Refuse to start, in one sentence, where an engine cannot run."""
    try:
        import_module("abers.engines.spark").check_java()
    except ImportError as error:
        raise pytest.UsageError(str(error)) from None
    # Rules are fitted in both directions.
    inverted = "ignore::abers.errors.InvertedScoresWarning"
    config.addinivalue_line("filterwarnings", inverted)
    # Sockets of the session outlive the tests that used them.
    config.addinivalue_line("filterwarnings", "ignore::ResourceWarning")


@pytest.fixture(scope="module")
def spark():
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()
