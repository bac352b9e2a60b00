"""The ledger, the studies' journal, the folder of a run and its files."""

import csv
import json
import math

import pytest

from abers.errors import InvalidFile, InvalidParameter, OutputExists
from abers.paper import outputs, studies
from abers.paper.findings import Findings
from abers.paper.ledger import calibration_rows, training_rows
from abers.paper.records import Unit
from abers.paper.reproduction import choose
from abers.paper.standins import StandIns
from abers.paper.studies import Scope, Studies
from abers.paper.tasks import RECIPES, load
from abers.paper.weka import Weka
from made_records import finished, ledger, results

TABLE = {
    ("adult-5000", "tree", "4:1"): {
        "isotonic": (math.inf, 0.4256),
        "IVAP": (0.4873, 0.4247),
        ("IVAP", "brier"): (0.4874, 0.4248),
    },
    ("german", "SVM", "all"): {"IVAP": (0.7, math.nan)},
}
TREE = Unit("adult-5000", "tree", "4:1")
SMALL = Scope(machines=(50,), timings=(100, 1_000))


def test_ledger_finds_losses_by_place_method_and_merging():
    found = ledger(TABLE)
    assert found.tasks == ("german", "adult-5000")  # the order of the recipes
    assert found.loss(TREE, "IVAP", "log_loss") == 0.4873
    assert found.loss(TREE, "IVAP", "brier_loss", "brier") == 0.4248
    assert found.loss(TREE, "CVAP", "log_loss") is None  # not run
    german = Unit("german", "SVM", "all")
    assert found.loss(german, "IVAP", "brier_loss") is None  # no answer
    assert found.units(("german",), ("1:1", "4:1")) == []


def test_difference_of_two_infinite_losses_is_none():
    found = ledger(
        {("german", "tree", "4:1"): dict.fromkeys(("IVAP", "Platt"), (math.inf, 1))}
    )
    (pair,) = found.pairs([Unit("german", "tree", "4:1")], "log_loss", "IVAP", "Platt")
    assert pair.difference == 0


@pytest.mark.parametrize("task", RECIPES)
def test_training_rows_are_known_without_the_data(task, data_folder):
    assert training_rows(task) == load(task, data_folder).n_train


def test_calibration_rows_follow_from_the_ratio():
    assert calibration_rows(Unit("german", "tree", "4:1")) == 133  # of 666
    assert calibration_rows(Unit("german", "tree", "1:1")) == 333
    assert calibration_rows(Unit("german", "tree", "all")) == 666


def test_studies_that_are_done_are_not_done_again(tmp_path):
    journal = tmp_path / "studies.jsonl"
    begun = []
    first = studies.run(
        SMALL, "not used", journal=journal, progress=lambda *said: begun.append(said)
    )
    assert begun == [("machines", 0, 2), ("timings", 1, 2)]
    again = studies.run(
        SMALL, "not used", journal=journal, progress=lambda *said: begun.append(said)
    )
    assert again == first  # times and all
    assert len(begun) == 2


def test_a_study_of_other_settings_is_done(tmp_path):
    journal = tmp_path / "studies.jsonl"
    studies.run(SMALL, "not used", journal=journal)
    other = Scope(machines=(50, 60))
    found = studies.run(other, "not used", journal=journal)
    assert [run.n_train for run in found.machines] == [50, 60]
    assert found.timings == ()


def test_a_study_cut_short_is_done_again(tmp_path):
    journal = tmp_path / "studies.jsonl"
    first = studies.run(SMALL, "not used", journal=journal)
    journal.write_text(journal.read_text()[:-20])
    again = studies.run(SMALL, "not used", journal=journal)
    assert again.machines == first.machines
    assert [json.loads(line)["study"] for line in journal.read_text().splitlines()]
    journal.write_text('{"else": 1}\n')
    with pytest.raises(InvalidFile, match="Remove the file to start anew"):
        studies.run(SMALL, "not used", journal=journal)


def test_every_study_survives_its_journal(tmp_path, data_folder):
    scope = studies.SCOPES["miniature"]
    first = studies.run(scope, data_folder, journal=tmp_path / "journal")
    assert first.curves
    assert first.validity
    assert first.classes
    assert studies.run(scope, data_folder, journal=tmp_path / "journal") == first


def test_scope_leaves_out_what_the_sets_cannot_give():
    german = studies.WHOLE.within(["german"])
    assert german.classes == ("digits",)
    assert german.pictured == ()
    assert german.drawn_from == ""
    assert german.machines == studies.WHOLE.machines  # needs no data
    assert studies.WHOLE.within(["adult", "covertype"]) == studies.WHOLE


def test_plans_are_cut_to_sets_and_algorithms():
    plan = choose("quick", ["german"], ["tree", "SVM"], StandIns())
    assert {(u.data, u.algorithm) for u in plan.units} == {
        ("german", "tree"),
        ("german", "SVM"),
    }
    weka = choose("quick", [], [], Weka("weka.jar"))
    assert "boosting" not in {unit.algorithm for unit in weka.units}
    for wrong in (
        ("quick", ["titanic"], []),
        ("quick", [], ["forest"]),
        ("slow", [], []),
        ("tables", ["german"], []),
    ):
        with pytest.raises(InvalidParameter, match=r"must (be among|have something)"):
            choose(*wrong, StandIns())


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(OutputExists, match="holds something else"):
        outputs.prepare(tmp_path)
    assert outputs.prepare(tmp_path, force=True) == tmp_path
    assert (tmp_path / "thesis.tex").read_text() == "years of work"
    with pytest.raises(OutputExists, match="is a file"):
        outputs.prepare(tmp_path / "thesis.tex")


def test_an_earlier_run_is_continued_or_forgotten(tmp_path):
    folder = outputs.prepare(tmp_path / "new")
    (folder / outputs.JOURNAL).write_text("kept\n")
    outputs.prepare(folder)
    assert (folder / outputs.JOURNAL).exists()
    outputs.prepare(folder, force=True)
    assert not (folder / outputs.JOURNAL).exists()


def test_tables_are_written_with_paper_ours_and_distance(tmp_path):
    found = Findings("tables", "scikit-learn", finished(results(TABLE)), Studies())
    outputs.write(found, tmp_path)
    with (tmp_path / "table-1.csv").open(encoding="utf-8") as file:
        rows = {row["algorithm"]: row for row in csv.DictReader(file)}
    tree = rows["tree"]
    assert tree["weka"] == "J48"
    assert float(tree["IVAP paper"]) == 0.5117
    assert float(tree["IVAP ours"]) == 0.4873
    assert float(tree["IVAP distance"]) == pytest.approx(-0.0244)
    assert float(tree["isotonic distance"]) == 0  # both infinite
    assert rows["SVM"]["IVAP ours"] == ""  # not run
    with (tmp_path / "results.csv").open(encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == len(found.results)
    assert (tmp_path / "paper.html").stat().st_size < 3_000_000


def test_findings_say_what_was_left_out():
    found = Findings("tables", "scikit-learn", finished(results(TABLE)))
    told = " ".join(found.left_out)
    assert "tasks: adult, covertype, insurance, bank, spambase" in told
    assert "bagging, logistic, naive Bayes, neural network" in told
    assert found.seconds == 2
