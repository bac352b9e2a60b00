"""The golden numbers are those of the plan; `test_command` holds a run to them."""

import importlib.util
from pathlib import Path

from abers.paper.run import MINIATURE

SPEC = importlib.util.spec_from_file_location(
    "golden_numbers", Path(__file__).with_name("golden.py")
)
golden = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(golden)


def test_golden_numbers_cover_the_plan():
    lines = golden.read()
    units = {(line["data"], line["algorithm"], line["ratio"]) for line in lines}
    assert units == {(u.data, u.algorithm, u.ratio) for u in MINIATURE.units}
    assert any(line["log_loss"] == "inf" for line in lines)
