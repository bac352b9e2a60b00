"""What all tests share: the same examples on every run, and signals that are heeded."""

import os
import signal

# Before scipy is loaded: else scikit-learn leaves out its check of array-API input.
os.environ["SCIPY_ARRAY_API"] = "1"

import pytest
from hypothesis import is_hypothesis_test, settings

from strategies import either_way

settings.register_profile("fixed", derandomize=True, deadline=None, database=None)
settings.register_profile(
    "explore", max_examples=1_000, deadline=None, database=None, print_blob=True
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


@pytest.fixture(scope="session", autouse=True)
def _signals_are_heeded():
    """A shell lets jobs in the background ignore interrupts, `nohup` the terminal."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    hang_up = getattr(signal, "SIGHUP", None)  # Windows has none
    if hang_up is not None and signal.getsignal(hang_up) is signal.SIG_IGN:
        signal.signal(hang_up, signal.SIG_DFL)


def pytest_collection_modifyitems(items):
    """Examples that are drawn at random may be inverted."""
    for item in items:
        if is_hypothesis_test(getattr(item, "obj", None)):
            item.add_marker(either_way)
