"""The commands answer as the library does."""

import contextlib
import gzip
import hashlib
import json
import os
import pty
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import abers
from abers.errors import InvertedScoresWarning
from abers.tables.collector import is_held_out


def assert_same_rule(path, rule):
    """Equal but for the tags."""
    loaded = abers.load(path)
    for name in ("thresholds", "lower", "upper", "score_quantiles"):
        assert np.array_equal(getattr(loaded, name), getattr(rule, name))
    assert (loaded.n_rows, loaded.n_positives) == (
        rule.n_rows,
        rule.n_positives,
    )


def test_a_rule_from_csv_predicts_what_the_library_predicts(run, files, tmp_path):
    folder, scores, labels, _ = files
    rule = abers.fit_rule(scores, labels)
    options = ("--method", "venn-abers", "--tag", "v=7")
    fitted = run(folder, "fit", "scores.csv", "-o", tmp_path / "r.abers", *options)
    assert fitted.code == 0
    assert fitted.out == b""
    assert "2,000" in fitted.err
    assert "AUC" in fitted.err
    assert_same_rule(tmp_path / "r.abers", rule)
    assert abers.load(tmp_path / "r.abers").metadata["v"] == "7"

    predicted = run(folder, "predict", tmp_path / "r.abers", "new.csv")
    assert predicted.code == 0
    assert predicted.err == "warning: 1 row has no score, and so no probability.\n"
    header, first, second, third = predicted.out.decode().splitlines()
    assert header == "id,score,lower,upper,probability"
    assert second == "008,,,,"
    for line, start, score in ((first, "007,0.25", 0.25), (third, "009,0.75", 0.75)):
        assert line.startswith(start + ",")
        bounds = [float(x) for x in line.split(",")[2:]]
        assert bounds == [*rule.bounds([score])[0], *rule.probability([score])]


def test_every_command_reads_the_labels_that_numpy_writes(run, files, tmp_path):
    """By default `numpy.savetxt` writes 1 as 1.000000000000000000e+00."""
    _, scores, labels, _ = files
    columns = np.column_stack((scores, labels))
    header = {"delimiter": ",", "header": "score,label", "comments": ""}
    np.savetxt(tmp_path / "real.csv", columns, **header)
    np.savetxt(tmp_path / "whole.csv", columns, ["%.18e", "%d"], **header)
    assert ",1.000000000000000000e+00\n" in (tmp_path / "real.csv").read_text()
    answers = {}
    for table in ("real.csv", "whole.csv"):
        calls = (
            ("fit", table, "-o", "rule", "--force", "--json"),
            ("evaluate", "rule", table, "--json"),
            ("check", "rule", table, "--json"),
            ("compare", table, "--methods", "ivap,isotonic", "--json"),
            ("monitor", "state", "--start", table, "--force", "--json"),
        )
        answers[table] = [run(tmp_path, *arguments) for arguments in calls]
    for real, whole in zip(*answers.values(), strict=True):
        assert real.err == whole.err
        assert real.out.replace(b"real.csv", b"whole.csv") == whole.out
        assert json.loads(real.out)


def test_json_tells_what_was_fitted(run, files, tmp_path):
    folder, scores, labels, _ = files
    options = ("--json", "--holdout", "0.2", "--memory", "100kB", "--descending")
    answer = run(folder, "fit", "scores.parquet", "-o", tmp_path / "r.abers", *options)
    assert answer.code == 0
    assert answer.err == ""
    facts = json.loads(answer.out)
    assert facts["n_rows"] == 2_000 == facts["total_weight"] + facts["n_held_out"]
    assert facts["on_disk"] is True
    assert facts["auc"] < 0.5
    (warning,) = facts["warnings"]
    assert warning.endswith(
        "Fit without increasing=False (command line: --descending)."
    )
    assert facts["holdout"]["rule"]["log_loss"] > 0
    assert facts["holdout"]["scores"]["brier_loss"] > 0
    held = is_held_out(np.arange(2_000), 0.2)
    with pytest.warns(InvertedScoresWarning, match=re.escape(warning)):
        rule = abers.fit_rule(scores[~held], labels[~held], increasing=False)
    assert_same_rule(tmp_path / "r.abers", rule)


def test_groups_from_a_pattern_equal_fit_rules(run, files, tmp_path):
    _, scores, labels, regions = files
    for i, part in enumerate((slice(900), slice(900, None))):
        columns = {"s": scores[part], "y": labels[part], "r": regions[part]}
        pd.DataFrame(columns).to_csv(tmp_path / f"part-{i}.csv.gz", index=False)
    options = ("--score", "s", "--by", "r", "--minimum", "10")
    assert run(tmp_path, "fit", "part-*.csv.gz", "-o", "r.abers", *options).code == 0
    expected = abers.fit_rules(scores, labels, regions, minimum=10)
    loaded = abers.load(tmp_path / "r.abers")
    assert loaded.rules == expected.rules
    assert loaded.counts == expected.counts
    assert not loaded.keeps_diagram
    run(
        tmp_path, "fit", "part-*.csv.gz", "-o", "kept.abers", *options, "--keep-diagram"
    )
    kept = abers.load(tmp_path / "kept.abers")
    count = abers.rules.Diagram.from_rows
    by_hand = {
        name: count(scores[regions == name], labels[regions == name])
        for name in ("north", "south")
    }
    assert kept.diagrams == by_hand
    assert kept.rules["north"].without_diagram() == loaded.rules["north"]

    new = "s,r\n0.5,north\n0.5,south\n0.5,mars\n"
    answer = run(tmp_path, "predict", "r.abers", "-", piped=new.encode())
    predicted = [line.split(",")[2:4] for line in answer.out.decode().splitlines()[1:]]
    bounds = expected.bounds([0.5] * 3, ["north", "south", None])  # mars is not seen
    assert np.array_equal(np.array(predicted, dtype=float), bounds)
    assert "1 row has a group without a rule of its own" in answer.err

    shown = run(tmp_path, "inspect", "r.abers")
    assert b"group north" in shown.out
    facts = json.loads(run(tmp_path, "inspect", "r.abers", "--json", "--steps").out)
    assert [entry["group"] for entry in facts["groups"]] == ["north", "south"]
    assert {step["group"] for step in facts["steps"]} == {None, "north", "south"}
    assert facts["shared_rule"] is None


@pytest.fixture
def small_groups(files, tmp_path):
    """A folder with rows of two large and two small groups; the rows, too."""
    _, scores, labels, regions = files
    groups = regions.astype("U9")
    groups[:30], groups[30:60] = "fax", "phone"
    columns = {"score": scores, "label": labels, "by": groups}
    pd.DataFrame(columns).to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path, scores, labels, groups


FIT_SMALL = ("fit", "rows.csv", "-o", "r.abers", "--by", "by", "--minimum", "15")


def test_fit_tells_how_many_groups_share_a_rule(run, small_groups):
    folder, *columns = small_groups
    fitted = run(folder, *FIT_SMALL).err.splitlines()
    assert fitted[-3:] == [
        "  groups                 4",
        "  groups with a rule     2",
        "  groups that share one  2",
    ]
    facts = json.loads(run(folder, *FIT_SMALL, "--force", "--json").out)
    assert facts["n_groups_that_share_one"] == 2
    rule_set = abers.load(folder / "r.abers")
    assert rule_set.rest == abers.fit_rules(*columns, minimum=15).rest
    assert rule_set.rest == abers.fit_rule(columns[0][:60], columns[1][:60])


def test_predict_tells_which_rules_were_used(run, small_groups):
    folder, *columns = small_groups
    expected = abers.fit_rules(*columns, minimum=15)
    expected.save(folder / "r.abers")
    (folder / "new.csv").write_text("score,by\n0.5,fax\n0.5,phone\n0.5,mars\n")
    command = ("predict", "r.abers", "new.csv", "--by", "by")
    answer = run(folder, *command)
    cells = [line.split(",")[2:4] for line in answer.out.decode().splitlines()[1:]]
    bounds = expected.bounds([0.5] * 3, ["fax", "phone", None])  # mars is not seen
    assert np.array_equal(np.array(cells, dtype=float), bounds)
    rest, pooled = answer.err.splitlines()
    without = "without a rule of its own; the rule"
    assert rest.startswith(f"warning: 2 rows have a group {without} that small groups")
    assert pooled.startswith(f"warning: 1 row has a group {without} of all rows was")
    document = json.loads(run(folder, *command, "-o", "o.csv", "--json").out)
    assert (document["n_rows"], document["n_rest"], document["n_pooled"]) == (3, 2, 1)


@pytest.mark.parametrize("memory", ["1GB", "2KB"])
def test_a_rule_keeps_its_diagram_on_request(run, files, tmp_path, memory):
    """Of rows that are sorted on disk, too; its cells are those of a plain fit."""
    folder, scores, labels, _ = files
    options = ("--keep-diagram", "--memory", memory, "-o", str(tmp_path / "r.abers"))
    run(folder, "fit", "scores.parquet", *options)
    rule = abers.load(tmp_path / "r.abers")
    expected = abers.fit_rule(scores, labels, keep_diagram=True)
    assert_same_rule(tmp_path / "r.abers", expected)
    assert rule.diagram == expected.diagram
    own = rule.bounds([0.5], weight=3)
    assert own.tolist() == expected.bounds([0.5], weight=3).tolist()
    facts = json.loads(run(tmp_path, "inspect", "r.abers", "--json").out)
    assert facts["keeps_its_diagram"] is True


def test_inspect_tells_which_rule_each_group_has(run, tmp_path):
    scores, labels = [1, 2, 3, 4, 1, 2, 3, 4], [0, 1, 0, 1, 1, 1, 0, 0]
    groups = ["web"] * 4 + ["fax"] * 2 + ["phone"] * 2
    fitted = abers.fit_rules(scores, labels, groups, minimum=2)
    fitted.save(tmp_path / "new.abers")
    shown = run(tmp_path, "inspect", "new.abers").out.decode().splitlines()
    assert [line for line in shown if "group" in line and "proven" not in line] == [
        "  small groups  2, together 2 negative, 2 positive",
        "  group fax     0 negative, 2 positive, rule that small groups share",
        "  group phone   2 negative, 0 positive, rule that small groups share",
        "  group web     2 negative, 2 positive, rule of its own",
    ]
    facts = json.loads(run(tmp_path, "inspect", "new.abers", "--json").out)
    assert facts["shared_rule"] == {
        "n_groups": 2,
        "n_negatives": 2,
        "n_positives": 2,
    }
    assert facts["minimum"] == 2
    assert [entry["rule"] for entry in facts["groups"]] == ["rest", "rest", "own"]


def test_steps_of_a_rule_set_tell_whose_they_are(run, tmp_path):
    columns = [1, 2, 3, 4], [0, 1, 0, 1], ["web", "web", "fax", "phone"]
    fitted = abers.fit_rules(*columns, minimum=1)
    fitted.save(tmp_path / "r.abers")
    steps = run(tmp_path, "inspect", "r.abers", "--steps").out.decode().splitlines()
    assert steps[0] == "group,start,lower,upper,probability"
    cells = [line.split(",") for line in steps[1:]]
    for group, rule in (
        ("", fitted.pooled),
        ("fax", fitted.rest),
        ("phone", fitted.rest),
        ("web", fitted["web"]),
    ):
        own = [step[2:4] for step in cells if step[0] == group]
        assert np.array(own, float).tolist() == [
            list(pair) for pair in zip(rule.lower, rule.upper, strict=True)
        ]


def test_counts_weights_and_named_labels_are_options(run, tmp_path):
    (tmp_path / "counts.tsv").write_text("margin\tn\tk\n1\t60\t5\n2\t70\t61\n")
    (tmp_path / "words.csv").write_text("p,fate,w\n1,lost,3\n2,won,2\n1,won,1\n")
    answer = run(
        tmp_path,
        *("fit", "counts.tsv", "-o", "c.abers", "--count", "n", "--positives", "k"),
    )
    assert answer.code == 0
    diagram = abers.rules.Diagram.from_counts([1, 2], [60, 70], [5, 61])
    assert_same_rule(tmp_path / "c.abers", abers.rules.fit_rule_from_diagram(diagram))

    options = ("--label", "fate", "--pos-label", "won", "--weight", "w")
    answer = run(tmp_path, "fit", "words.csv", "-o", "w.abers", *options)
    assert "only 3 positive rows" in answer.err
    assert "only 3 negative rows" in answer.err
    assert "  rows      3 (total weight 6)\n" in answer.err
    rule = abers.fit_rule([1, 2, 1], [0, 1, 1], sample_weight=[3, 2, 1])
    assert_same_rule(tmp_path / "w.abers", rule)


def test_everything_can_be_piped(run, files):
    """Parquet, compressed text and rules come in through pipes, and go out."""
    folder, scores, labels, _ = files
    parquet = (folder / "scores.parquet").read_bytes()
    rule = run(folder, "fit", "-", "-o", "-", piped=parquet).out
    facts = json.loads(run(folder, "inspect", "-", "--json", piped=rule).out)
    assert facts["n_rows"] == 2_000
    assert facts["sha256"] == hashlib.sha256(rule).hexdigest()

    packed = gzip.compress((folder / "scores.csv").read_bytes())
    options = ("--format", "parquet")
    predicted = run(folder, "predict", "rule.abers", "-", *options, piped=packed)
    (folder / "piped.parquet").write_bytes(predicted.out)
    table = pq.read_table(folder / "piped.parquet")
    expected = abers.fit_rule(scores, labels).probability(scores)
    assert np.array_equal(table["probability"], expected)


def test_a_reader_that_has_enough_is_no_trouble(command, files):
    script = f"{command} predict rule.abers scores.csv | head -n 1"
    done = subprocess.run(
        ["/bin/sh", "-c", script], cwd=files.folder, capture_output=True, check=True
    )
    assert done.stdout == b"score,label,region,lower,upper,probability\n"
    assert done.stderr == b""


def test_inspect_shows_what_a_rule_knows(run, files):
    folder, scores, labels, _ = files
    rule = abers.fit_rule(scores, labels)
    shown = run(folder, "inspect", "rule.abers")
    assert shown.code == 0
    assert b"2,000" in shown.out
    digest = hashlib.sha256((folder / "rule.abers").read_bytes()).hexdigest()
    assert digest.encode() in shown.out
    steps = run(folder, "inspect", "rule.abers", "--steps").out.decode().splitlines()
    assert steps[0] == "start,lower,upper,probability"
    table = np.array([line.split(",") for line in steps[1:]], dtype=float)
    assert np.array_equal(table[1:, 0], rule.thresholds)
    assert np.array_equal(table[:, 1:3], np.column_stack((rule.lower, rule.upper)))
    starts = np.r_[rule.thresholds[0] - 1, rule.thresholds]
    assert np.array_equal(table[:, 3], rule.probability(starts))
    abers.rules.Diagram.from_rows(scores, labels).save(folder / "d.abers")
    assert b"diagram" in run(folder, "inspect", "d.abers").out


def test_inspect_shows_a_pooled_rule_fold_by_fold(run, files, tmp_path):
    _, scores, labels, _ = files
    folds = np.arange(scores.size) % 3
    rule = abers.rules.fit_pooled_rule(scores, labels, folds, weight=1 / 2)
    rule.save(tmp_path / "p.abers", {"model": "v7"})
    facts = json.loads(run(tmp_path, "inspect", "p.abers", "--json").out)
    assert facts["kind"] == "pooled rule"
    assert (facts["n_rows"], facts["n_positives"]) == (2_000, labels.sum())
    assert (facts["weight"], facts["increasing"]) == ("1/2", True)
    assert facts["tags"] == {"model": "v7"}
    assert facts["folds"] == [
        {
            "n_rows": (folds == k).sum(),
            "n_positives": labels[folds == k].sum(),
            "n_distinct_scores": np.unique(scores[folds == k]).size,
            "least_score": scores[folds == k].min(),
            "largest_score": scores[folds == k].max(),
        }
        for k in range(3)
    ]
    piped = (tmp_path / "p.abers").read_bytes()
    shown = run(tmp_path, "inspect", "-", piped=piped).out.decode().splitlines()
    assert shown[:2] == ["  kind       pooled rule", "  rows       2,000"]
    assert shown[3:6] == [
        "  direction  a higher score means more likely",
        "  weight     1/2 for a new row",
        "  folds      3",
    ]
    assert shown[6].startswith("  fold 0     667 rows, ")
    assert "positive, 667 distinct scores from 0." in shown[6]
    assert shown[-2:] == [
        "  tag model  v7",
        f"  sha256     {hashlib.sha256(piped).hexdigest()}",
    ]


def test_inspect_shows_where_targets_end(run, tmp_path):
    rule = abers.rules.fit_regression_rule(
        [1, 2, 3], [1, 5, 900], low=0, increasing=False
    )
    rule.save(tmp_path / "r.abers", {"model": "v7"})
    facts = json.loads(run(tmp_path, "inspect", "r.abers", "--json").out)
    assert facts["kind"] == "regression rule"
    assert (facts["n_rows"], facts["n_steps"]) == (3, rule.lower.size)
    assert (facts["low"], facts["high"], facts["trim"]) == (0, None, 1)
    assert facts["trimmed_share"] == 1 / 4
    shown = run(tmp_path, "inspect", "r.abers").out.decode().splitlines()
    assert shown[:4] == [
        "  kind       regression rule",
        "  rows       3",
        "  low        0",
        "  high       trimmed by 1",
    ]
    assert shown[5] == "  direction  a higher score means a lower target"
    steps = run(tmp_path, "inspect", "r.abers", "--steps")
    assert "'r.abers' is a regression rule." in steps.err
    predicted = run(tmp_path, "predict", "r.abers", "r.abers")
    assert predicted.err == (
        "abers: 'r.abers' must be a rule, a rule set or a calibrator; it is a "
        "regression rule. Use it from Python: abers.load('r.abers').\n"
    )


def test_inspect_shows_folds_without_rows_and_not_too_many(run, tmp_path):
    diagram = abers.rules.Diagram.from_rows([2], [1])
    few = abers.rules.PooledRule([diagram, None], weight=1, increasing=False)
    few.save(tmp_path / "few.abers")
    shown = run(tmp_path, "inspect", "few.abers").out.decode()
    assert "less likely" in shown
    assert "  fold 0     1 row, 1 positive, 1 distinct score\n" in shown
    assert "  fold 1     0 rows, 0 positive, 0 distinct scores\n" in shown
    many = abers.rules.PooledRule([diagram] * 30, weight=1, increasing=True)
    many.save(tmp_path / "many.abers")
    shown = run(tmp_path, "inspect", "many.abers").out.decode()
    assert "fold 19" in shown
    assert "fold 20" not in shown
    assert "  more folds  10; --json lists them\n" in shown
    none = abers.rules.PooledRule([None], weight=1, increasing=True)
    none.save(tmp_path / "none.abers")
    shown = run(tmp_path, "inspect", "none.abers").out.decode()
    assert "  positive   0 (0 %)\n" in shown


def test_progress_is_shown_on_a_terminal_only(command, files, tmp_path):
    terminal, other_end = pty.openpty()
    done = subprocess.run(
        [command, "fit", "scores.csv", "-o", tmp_path / "r.abers"],
        cwd=files.folder,
        stderr=other_end,
        stdout=subprocess.PIPE,
        check=True,
    )
    os.close(other_end)
    shown = b""
    with contextlib.suppress(OSError):  # that is how the other end hangs up
        while part := os.read(terminal, 100_000):
            shown += part
    assert b"reading" in shown
    assert b"2,000" in shown
    assert done.stdout == b""


@pytest.mark.parametrize("closed", ["2>&-", ">&-"], ids=["messages", "answers"])
def test_what_is_printed_needs_no_reader(command, files, tmp_path, closed):
    out = tmp_path / "out.csv"
    script = f"{command} predict rule.abers new.csv -o {out} {closed}"
    done = subprocess.run(["/bin/sh", "-c", script], cwd=files.folder, check=False)
    assert done.returncode == 0
    assert (tmp_path / "out.csv").read_text().startswith("id,score,lower,upper")


def test_version_and_help(run, tmp_path):
    assert run(tmp_path, "--version").out.decode() == f"abers {abers.__version__}\n"
    shown = run(tmp_path, "--help").out.decode()
    assert run(tmp_path) == (2, b"", shown)
    for name in ("Usage: abers", "fit", "predict", "inspect"):
        assert name in shown


def test_without_its_packages_the_command_says_what_to_install():
    script = "import sys; sys.modules['rich'] = None; import abers.cli as c; c.main()"
    done = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr == (
        "abers: the command abers needs rich, not installed here; "
        'pip install "abers[cli]" brings it; in a clone, pip install ".[cli]".\n'
    )


def test_inspect_shows_the_facts_of_whatever_was_saved(run, tmp_path):
    abers.Monitor([1, 2], [0, 1]).save(tmp_path / "m.abers", {"model": "v7"})
    shown = run(tmp_path, "inspect", "m.abers").out.decode()
    assert [line.split()[0] for line in shown.splitlines()[:2]] == [
        "kind",
        "increasing",
    ]
    assert "v7" in shown
    document = json.loads(run(tmp_path, "inspect", "m.abers", "--json").out)
    assert (document["kind"], document["n_calibration"]) == ("monitor", 2)
