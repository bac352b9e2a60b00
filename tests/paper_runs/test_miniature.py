"""Two sets, two algorithms, every method: the numbers stay what they were."""

import importlib.util
from pathlib import Path

import pytest

from abers.paper import plans

SPEC = importlib.util.spec_from_file_location(
    "golden_numbers", Path(__file__).with_name("golden.py")
)
golden = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(golden)


def test_numbers_are_the_golden_ones(data_folder):
    """Written by golden.py; optimisers of other machines stop a little elsewhere."""
    expected = golden.read()
    found = golden.results(data_folder)
    assert len(found) == len(expected)
    for result, line in zip(found, expected, strict=True):
        names = {name: getattr(result, name) for name in golden.NAMES}
        assert names == {name: line[name] for name in golden.NAMES}
        for loss in golden.LOSSES:
            assert getattr(result, loss) == pytest.approx(
                float(line[loss]), abs=5e-4, nan_ok=True
            ), names


def test_golden_numbers_cover_the_plan():
    lines = golden.read()
    units = {(line["data"], line["algorithm"], line["ratio"]) for line in lines}
    assert units == {(u.data, u.algorithm, u.ratio) for u in plans.MINIATURE.units}
    assert any(line["log_loss"] == "inf" for line in lines)
