"""Databases, one of each kind for all tests."""

import pytest

from export_engines import OPENERS, opened


@pytest.fixture(scope="session", params=OPENERS)
def database(request):
    with opened(request.param) as engine:
        yield engine
