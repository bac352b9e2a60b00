"""The golden numbers are those of the plan; `test_command` holds a run to them."""

import golden_numbers
from experiments.paper.run import MINIATURE


def test_golden_numbers_cover_the_plan():
    lines = golden_numbers.read()
    units = {(line["data"], line["algorithm"], line["ratio"]) for line in lines}
    assert units == {(u.data, u.algorithm, u.ratio) for u in MINIATURE.units}
    assert any(line["log_loss"] == "inf" for line in lines)
