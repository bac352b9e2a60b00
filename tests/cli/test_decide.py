"""`abers decide` writes the actions of `abers.decide`; `--prior` adjusts the bounds."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import abers

COSTS = ("--cost-fp", "1", "--cost-fn", "4")
WORDS = {0: "refuse", 1: "act", -1: "refer"}


def decided(bounds, **options):
    decisions = abers.decide(bounds, [[0, 4], [1, 0]], **options)
    return [WORDS[action] for action in decisions.action.tolist()], decisions


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize("criterion", ["cost", "regret"])
def test_actions_are_those_of_the_library(run, files, tmp_path, ending, criterion):
    out = tmp_path / f"out.{ending}"
    more = ("--refer", "0.3", "--criterion", criterion, "-o", out, "--json")
    answer = run(files.folder, "decide", "rule.abers", "scores.parquet", *COSTS, *more)
    assert answer.code == 0, answer.err
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet}.get(ending)
    table = read(out) if read else pd.read_json(out, lines=True, precise_float=True)
    added = ["lower", "upper", "probability", "action", "worst_cost"]
    assert list(table.columns) == ["score", "label", "region", *added]
    bounds = abers.load(files.folder / "rule.abers").bounds(files.scores)
    actions, decisions = decided(bounds, criterion=criterion, refer=0.3)
    assert table.action.tolist() == actions
    np.testing.assert_allclose(table.worst_cost, decisions.worst_cost, rtol=1e-15)
    counts = json.loads(answer.out)
    assert counts["n_rows"] == 2_000
    assert counts["n_by_action"] == {w: actions.count(w) for w in WORDS.values()}
    assert counts["n_undetermined"] == decisions.undetermined.sum()


def test_counts_are_printed_and_rows_without_a_score_have_no_action(run, files):
    answer = run(files.folder, "decide", "rule.abers", "new.csv", *COSTS)
    header, first, second, third = answer.out.decode().splitlines()
    assert header == "id,score,lower,upper,probability,action,worst_cost"
    assert first.split(",")[5] == "refuse"
    assert second == "008,,,,,,"
    assert third.split(",")[5] == "act"
    assert answer.err == (
        "  refuse        1 (50.0 %)\n"
        "  act           1 (50.0 %)\n"
        "  refer         0 (0.0 %)\n"
        "  undetermined  0 (0.0 %)\n"
        "warning: 1 row has no score, and so no action.\n"
    )


def test_groups_decide_by_their_own_rules(run, files, tmp_path):
    folder, scores, labels, regions = files
    rules = abers.fit_rules(scores, labels, regions, minimum=10)
    rules.save(tmp_path / "rules.abers", {"abers:by": "region"})
    answer = run(
        folder, "decide", tmp_path / "rules.abers", "scores.csv", *COSTS, "-o",
        tmp_path / "out.csv",
    )  # fmt: skip
    assert answer.code == 0, answer.err
    actions = pd.read_csv(tmp_path / "out.csv").action.tolist()
    assert actions == decided(rules.bounds(scores, regions))[0]


def test_prior_is_that_of_the_rule_with_a_prior(run, files, tmp_path):
    rule = abers.load(files.folder / "rule.abers")
    moved = rule.with_prior(0.05)
    for command in (("predict",), ("decide", *COSTS)):
        out = tmp_path / f"{command[0]}.parquet"
        answer = run(
            files.folder, *command, "rule.abers", "scores.parquet", "--prior", "0.05",
            "-o", out,
        )  # fmt: skip
        assert answer.code == 0, answer.err
        base = rule.n_positives / rule.n_rows
        assert (
            f"Bounds were adjusted from a base rate of {base:.4g} to 0.05; they have "
            "no guarantee." in " ".join(answer.err.split())
        )
        table = pd.read_parquet(out)
        bounds = moved.bounds(files.scores)
        assert np.array_equal(table[["lower", "upper"]], bounds)
        assert np.array_equal(table.probability, moved.probability(files.scores))
    assert table.action.tolist() == decided(bounds)[0]


def test_prior_of_a_rule_set_is_one_factor_for_all_groups(run, files, tmp_path):
    folder, scores, labels, regions = files
    rules = abers.fit_rules(scores, labels, regions, minimum=10)
    rules.save(tmp_path / "rules.abers", {"abers:by": "region"})
    out = tmp_path / "out.parquet"
    answer = run(
        folder, "predict", tmp_path / "rules.abers", "scores.parquet", "--prior",
        "0.7", "-o", out,
    )  # fmt: skip
    assert answer.code == 0, answer.err
    expected = abers.rules.adjust_prior(
        rules.bounds(scores, regions), labels.mean(), 0.7
    )
    assert np.array_equal(pd.read_parquet(out)[["lower", "upper"]], expected)


def test_inspect_shows_that_the_guarantee_is_gone(run, files, tmp_path):
    rule = abers.load(files.folder / "rule.abers").with_prior(0.05)
    rule.save(tmp_path / "moved.abers")
    shown = run(tmp_path, "inspect", "moved.abers").out.decode()
    assert "adjusted to base rate" in shown
    assert "0.05" in shown
    assert "Not proven: the bounds were adjusted" in " ".join(shown.split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--cost-fp", "1"), "by --cost-fp and --cost-fn; got --cost-fp."),
        (("--cost-fp", "0", "--cost-fn", "1"), "cost_fp must be a positive number"),
        (("--cost-fp", "1", "--cost-fn", "nan"), "positive number; got nan"),
        ((*COSTS, "--refer", "inf"), "refer must be a finite number; got inf"),
        ((*COSTS, "--criterion", "mean"), "'cost' or 'regret'; got 'mean'"),
        ((*COSTS, "--prior", "1"), "above 0 and below 1; got 1.0"),
        ((*COSTS, "--json"), "--json must go with -o FILE"),
    ],
)
def test_wrong_options_are_refused_and_nothing_is_written(
    run, files, tmp_path, options, message
):
    out = () if "--json" in options else ("-o", tmp_path / "out.csv")
    answer = run(files.folder, "decide", "rule.abers", "new.csv", *options, *out)
    assert answer.code == 2
    assert message in answer.err
    assert answer.out == b""
    assert list(tmp_path.iterdir()) == []


def test_columns_that_are_there_already_are_not_overwritten(run, files, tmp_path):
    (tmp_path / "new.csv").write_text("score,action\n0.5,none\n")
    rule = files.folder / "rule.abers"
    answer = run(tmp_path, "decide", rule, "new.csv", *COSTS)
    assert answer.code == 1
    assert "it has 'action' already. Choose other names with --prefix" in answer.err
    answer = run(tmp_path, "decide", rule, "new.csv", *COSTS, "--prefix", "abers_")
    assert answer.out.decode().startswith("score,action,abers_lower,abers_upper,")


DECIDE = """
import sys
from abers.cli import main
sys.argv[1:] = "decide rule.abers new.csv --cost-fp 1 --cost-fn 2 --prior 0.2".split()
try:
    main()
finally:
    sys.stderr.write(" ".join(sys.modules))
"""


def test_a_small_table_is_decided_without_what_is_slow_to_load(files):
    command = [sys.executable, "-P", "-c", DECIDE]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=files.folder
    )
    assert "action" in done.stdout
    slow = {"abers.evaluation", "abers.estimators", "scipy", "sklearn", "pandas"}
    assert slow.isdisjoint(done.stderr.split())
