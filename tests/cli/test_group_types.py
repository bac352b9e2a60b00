"""Groups are the same, whether a file has them as text or as numbers."""

import json

import numpy as np
import pandas as pd
import pytest

RNG = np.random.default_rng(0)
SCORES = RNG.random(240).round(3)
FRAME = pd.DataFrame({"score": SCORES, "label": (RNG.random(240) < SCORES).astype(int)})
ROWS = np.arange(240)
GROUPS = {
    "integers": ROWS % 3,
    "floats": ROWS % 3 + 0.5,
    "booleans": ROWS % 3 == 0,
}


@pytest.fixture(params=GROUPS)
def folder(request, tmp_path):
    """Return a folder with the same rows in Parquet and as text."""
    frame = FRAME.assign(segment=GROUPS[request.param])
    frame.to_parquet(tmp_path / "rows.parquet")
    if frame.segment.dtype == bool:
        frame = frame.assign(segment=frame.segment.map({True: "true", False: "false"}))
    frame.to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path


@pytest.mark.parametrize(
    ("fitted", "read"), [("parquet", "csv"), ("csv", "parquet")], ids=["text", "typed"]
)
def test_a_rule_set_reads_the_groups_of_other_files(folder, run, fitted, read):
    fit = ("fit", f"rows.{fitted}", "--by", "segment", "-o", "rule.abers")
    assert run(folder, *fit, "--minimum", "20").code == 0
    for name, made in (("same", f"rows.{fitted}"), ("other", f"rows.{read}")):
        answer = run(folder, "predict", "rule.abers", made, "-o", f"{name}.csv")
        assert answer.code == 0, answer.err
        assert "without a rule of its own" not in answer.err
    same, other = (pd.read_csv(folder / f"{name}.csv") for name in ("same", "other"))
    columns = ["lower", "upper", "probability"]
    pd.testing.assert_frame_equal(same[columns], other[columns])
    n_groups = pd.read_parquet(folder / "rows.parquet").segment.nunique()
    for command in ("evaluate", "check"):
        answer = run(folder, command, "rule.abers", f"rows.{read}", "--json")
        assert answer.err == ""
        assert len(json.loads(answer.out)["groups"]) == n_groups


def test_text_that_is_no_number_is_refused_by_its_name(tmp_path, run):
    FRAME.assign(segment=ROWS % 3).to_parquet(tmp_path / "rows.parquet")
    FRAME.assign(segment="north").to_csv(tmp_path / "rows.csv", index=False)
    fit = ("fit", "rows.parquet", "--by", "segment", "-o", "rule.abers")
    assert run(tmp_path, *fit).code == 0
    answer = run(tmp_path, "predict", "rule.abers", "rows.csv", "-o", "out.csv")
    assert answer.code == 1
    assert "column 'segment' must hold groups that are numbers" in answer.err
    assert "got 'north'" in answer.err
