"""Tuning, measuring, keeping: a unit of work from rows to records."""

import math
from dataclasses import replace

import numpy as np
import pytest

from abers import losses
from abers.errors import InvalidFile
from experiments.paper import reproduction, studies
from experiments.paper.output_folder import write_records
from experiments.paper.protocol import predict_all_methods
from experiments.paper.run import (
    PLANS,
    TESTED,
    Finished,
    Plan,
    Result,
    Unit,
    from_line,
    read_journal,
    run_plan,
    run_unit,
    to_line,
)
from experiments.paper.sklearn_engine import ALGORITHMS, SklearnEngine
from experiments.paper.tasks import SIX, WIDE_RATIOS, split


def chosen_by_hand(task, algorithm, ratio, pairs_counted):
    """The setting of smallest Brier loss of the raw scores on calibration rows."""
    rows = split(ratio, task.n_train)
    candidates = SklearnEngine().score(task.table, algorithm, rows.pairs, task.test)
    squares = []
    for candidate in candidates:
        errors = [
            task.table.labels[rows.pairs[i].calibrate]
            - candidate.pairs[i].calibration.probability
            for i in pairs_counted
        ]
        squares.append((np.concatenate(errors) ** 2).sum())
    return candidates[int(np.argmin(squares))].setting


@pytest.mark.parametrize("ratio", ["3:1", "1:3"])
def test_setting_has_the_smallest_brier_loss_on_the_calibration_rows(small_task, ratio):
    outcome = predict_all_methods(small_task, "tree", ratio, SklearnEngine())
    chosen = dict(
        zip([p.method for p in outcome.predictions], outcome.settings, strict=True)
    )
    last = split(ratio, small_task.n_train).single
    assert chosen["IVAP"] == chosen_by_hand(small_task, "tree", ratio, [last])
    assert chosen["CVAP"] == chosen_by_hand(small_task, "tree", ratio, range(4))


def test_all_column_is_tuned_on_the_training_rows_and_has_no_cvap(small_task):
    outcome = predict_all_methods(small_task, "tree", "all", SklearnEngine())
    assert set(outcome.settings) == {"ccp_alpha=0.0002"}  # the largest tree fits best
    assert not [p for p in outcome.predictions if "C" in p.method[0].upper()]


def test_records_are_the_paper_s_losses_of_the_predictions(small_task):
    unit = Unit("small", "tree", "4:1")
    outcome = predict_all_methods(small_task, "tree", "4:1", SklearnEngine())
    finished = run_unit(small_task, unit, SklearnEngine())
    assert finished.grid == ALGORITHMS["tree"].settings
    for result, prediction in zip(finished.results, outcome.predictions, strict=True):
        p = prediction.probabilities
        assert result.method == prediction.method
        assert result.log_loss == losses.paper_log_loss(outcome.labels, p)
        assert result.brier_loss == losses.paper_brier_loss(outcome.labels, p)
        assert (result.n_infinite > 0) == (result.log_loss == math.inf)
        assert (result.width_mean is None) == (prediction.bounds is None)
    assert any(result.log_loss == math.inf for result in finished.results)


def example(**changes):
    fields = {
        "engine": "scikit-learn",
        "data": "german",
        "algorithm": "tree",
        "ratio": "4:1",
        "method": "isotonic",
        "merging": "",
        "log_loss": math.inf,
        "brier_loss": 0.1 + 0.2,
        "n_infinite": 3,
        "setting": "ccp_alpha=0.01",
        "width_mean": None,
        "width_median": None,
        "width_largest": None,
        "deficiency": None,
        "seconds": 0.5,
        "reason": "",
    }
    return Result(**(fields | changes))


def test_a_line_of_the_journal_is_plain_json_and_comes_back_whole():
    finished = Finished(
        "scikit-learn",
        Unit("german", "tree", "4:1"),
        ("ccp_alpha=0",),
        1.5,
        (example(), example(method="IVAP", merging="log", width_mean=0.1)),
    )
    line = to_line(finished)
    assert "Infinity" not in line
    assert "\n" not in line
    assert from_line(line) == finished
    lost = from_line(to_line(Finished("", finished.unit, (), 0.0, (example(
        log_loss=math.nan, brier_loss=math.nan, reason="separable"),))))  # fmt: skip
    assert math.isnan(lost.results[0].log_loss)


def test_csv_has_a_row_for_each_result_with_all_digits(tmp_path):
    path = tmp_path / "results.csv"
    records = [example(), example(method="IVAP", merging="log")]
    write_records(path, Result, records)
    header, first, _second = path.read_text().splitlines()
    row = dict(zip(header.split(","), first.split(","), strict=True))
    assert row["log_loss"] == "inf"
    assert row["brier_loss"] == repr(0.1 + 0.2)
    assert row["width_mean"] == ""


LITTLE = Plan(
    "little",
    tuple(Unit("german", "naive Bayes", ratio) for ratio in ("1:1", "4:1", "all")),
)


def without_time(finished):
    return [
        (r.method, r.merging, r.log_loss, r.brier_loss, r.width_mean)
        for f in finished
        for r in f.results
    ]


def test_a_run_that_was_stopped_goes_on_where_it_was(data_folder, tmp_path):
    journal = tmp_path / "journal.jsonl"
    whole = run_plan(LITTLE, data_folder, journal=journal)
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text(lines[0] + lines[1][:100])  # the second was cut short
    done = []
    again = run_plan(
        LITTLE, data_folder, journal=journal, progress=lambda *said: done.append(said)
    )
    assert [f.unit.ratio for f, _, _ in done] == ["4:1", "all"]
    assert [said[1:] for said in done] == [(2, 3), (3, 3)]
    assert without_time(again) == without_time(whole)
    assert again[0] == whole[0]  # not done again
    assert len(journal.read_text().splitlines()) == 3


def test_units_of_another_grid_are_done_again(data_folder, tmp_path):
    journal = tmp_path / "journal.jsonl"
    first = run_plan(LITTLE, data_folder, journal=journal)
    old = [Finished(f.engine, f.unit, ("C=7",), f.seconds, ()) for f in first]
    journal.write_text("".join(to_line(f) + "\n" for f in old))
    assert without_time(run_plan(LITTLE, data_folder, journal=journal)) == without_time(
        first
    )


def test_two_processes_give_the_same_numbers_in_the_order_of_the_plan(data_folder):
    alone = run_plan(LITTLE, data_folder)
    together = run_plan(LITTLE, data_folder, jobs=2)
    assert [f.unit for f in together] == list(LITTLE.units)
    assert without_time(together) == without_time(alone)


def test_a_journal_of_something_else_is_refused(tmp_path):
    journal = tmp_path / "journal.jsonl"
    journal.write_text('{"unit": 3}\n')
    with pytest.raises(InvalidFile, match=r"journal.jsonl must have .* start over"):
        read_journal(journal)


def test_plans_name_tasks_algorithms_and_each_unit_once():
    for plan in PLANS.values():
        assert len(set(plan.units)) == len(plan.units)
        assert {u.algorithm for u in plan.units} <= set(ALGORITHMS)
    quick, full = PLANS["quick"], PLANS["full"]
    assert {"adult", "bank", "covertype", "german", "insurance", "spambase"} <= set(
        quick.tasks
    )
    wide = {u.ratio for u in full.units if u.data == "adult-permuted"}
    assert wide == set(WIDE_RATIOS)
    assert {u.ratio for u in full.units if u.data == "adult"} == {
        "1:1", "2:1", "3:1", "4:1", "all",
    }  # fmt: skip
    assert set(quick.only(("tree",)).units) < set(quick.units)


def test_every_plan_has_the_paper_s_six_algorithms():
    for plan in ("tables", "sets", "quick", "full"):
        chosen = reproduction.choose(plan, (), (), SklearnEngine())
        assert {unit.algorithm for unit in chosen.units} == set(ALGORITHMS)


def test_the_plan_of_the_data_sets_is_the_part_of_quick_without_other_studies():
    sets = PLANS["sets"]
    assert set(sets.units) < set(PLANS["quick"].units)
    assert set(sets.tasks) == {*SIX}
    assert studies.SCOPES["sets"] == studies.Scope()


def test_paired_errors_are_those_of_the_differences_row_by_row(small_task):
    outcome = predict_all_methods(small_task, "logistic", "4:1", SklearnEngine())
    finished = run_unit(small_task, Unit("small", "logistic", "4:1"), SklearnEngine())
    p = {
        one.method: one.probabilities
        for one in outcome.predictions
        if one.merging != "brier"
    }
    y = outcome.labels
    assert {one.first for one in finished.errors} > {"IVAP", "CVAP", "CVAP one model"}
    for one in finished.errors:
        squares = 4 * ((y - p[one.first]) ** 2 - (y - p[one.second]) ** 2)
        assert one.brier_loss == pytest.approx(squares.std(ddof=1) / math.sqrt(y.size))
    by_names = {(one.first, one.second): one for one in finished.errors}
    assert by_names["IVAP", "isotonic"].log_loss is None  # one loss is infinite


def test_results_say_how_miscalibrated_a_method_is(small_task):
    finished = run_unit(small_task, Unit("small", "logistic", "4:1"), SklearnEngine())
    for one in finished.results:
        known = one.merging != "brier"
        assert (one.miscalibration is not None) == known
        assert not known or 0 <= one.miscalibration <= one.brier_loss
        assert one.training > 0
    tested = {one.method for one in finished.results if one.miscalibration_p}
    assert tested == set(TESTED)


def test_units_with_fewer_measures_are_done_again(data_folder, tmp_path):
    journal = tmp_path / "journal.jsonl"
    first = run_plan(LITTLE, data_folder, journal=journal)
    old = [replace(one, measures=1) for one in first]
    journal.write_text("".join(to_line(one) + "\n" for one in old))
    again = run_plan(LITTLE, data_folder, journal=journal)
    assert [one.measures for one in again] == [first[0].measures] * 3
