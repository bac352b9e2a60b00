"""The index, the studies' journal, the folder of a run and its files."""

import csv
import json
import math
from dataclasses import fields, replace
from types import SimpleNamespace

import pytest

from abers.errors import InvalidFile, InvalidParameter, OutputExists
from experiments.paper import output_folder, studies
from experiments.paper.data import READERS
from experiments.paper.reproduction import Findings, choose, reproduce
from experiments.paper.reproduction_page import DRAWN, drawings, grids_table, page
from experiments.paper.results import calibration_rows, training_rows
from experiments.paper.run import Plan, Unit, run_plan
from experiments.paper.sklearn_engine import ALGORITHMS, SklearnEngine
from experiments.paper.studies import Scope, Studies, tiny_sets
from experiments.paper.tasks import RECIPES, load
from experiments.paper.weka import Weka
from made_records import finished, index, results

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


def test_index_finds_losses_by_place_method_and_merging():
    found = index(TABLE)
    assert found.tasks == ("german", "adult-5000")  # the order of the recipes
    assert found.loss(TREE, "IVAP", "log_loss") == 0.4873
    assert found.loss(TREE, "IVAP", "brier_loss", "brier") == 0.4248
    assert found.loss(TREE, "CVAP", "log_loss") is None  # not run
    german = Unit("german", "SVM", "all")
    assert found.loss(german, "IVAP", "brier_loss") is None  # no answer
    assert found.units(("german",), ("1:1", "4:1")) == []


def test_difference_of_two_infinite_losses_is_none():
    found = index(
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
    lines = []
    first = studies.run(SMALL, "not used", journal=journal, progress=lines.append)
    names = [line.rpartition(": ")[0] for line in lines]
    assert names == ["study 1 of 2: machines", "study 2 of 2: timings"]
    again = studies.run(SMALL, "not used", journal=journal, progress=lines.append)
    assert again == first  # times and all
    assert len(lines) == 2


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


@pytest.mark.parametrize(
    "changed",
    [
        lambda _: {"else": 1},
        lambda line: line | {"study": '["telepathy", []]'},
        lambda line: line | {"study": "machines"},
        lambda line: line | {"study": "[]"},
        lambda line: line | {"found": [{"rows": 50}]},  # fields of another version
        lambda line: line | {"found": [50]},
    ],
)
def test_a_journal_of_something_else_is_refused(tmp_path, changed):
    journal = tmp_path / "studies.jsonl"
    studies.run(Scope(machines=(50,)), "not used", journal=journal)
    line = json.loads(journal.read_text())
    journal.write_text(json.dumps(changed(line)) + "\n")
    with pytest.raises(InvalidFile, match=r"studies.jsonl must have .* start over"):
        studies.run(SMALL, "not used", journal=journal)


def test_units_of_another_version_are_done_again(tmp_path, data_folder):
    plan = Plan("little", (Unit("german", "naive Bayes", "4:1"),))
    ran = []
    for name in ("scikit-learn 0.1", "scikit-learn 0.2", "scikit-learn 0.2"):
        (unit,) = run_plan(
            plan,
            data_folder,
            journal=tmp_path / "units.jsonl",
            engine=SklearnEngine(name),
            progress=lambda *said: ran.append(said[0].engine),
        )
        assert unit.engine == name
        assert {result.engine for result in unit.results} == {name}
    assert ran == ["scikit-learn 0.1", "scikit-learn 0.2"]


def test_studies_of_another_version_are_done_again(tmp_path, monkeypatch):
    journal = tmp_path / "studies.jsonl"
    scope = Scope(machines=(50,))
    studies.run(scope, "not used", journal=journal)
    for name in ("scikit-learn 0.1", "scikit-learn 0.1"):
        monkeypatch.setattr(
            studies, "SklearnEngine", lambda name=name: SklearnEngine(name)
        )
        studies.run(scope, "not used", journal=journal)
    assert len(journal.read_text().splitlines()) == 2


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
    assert {task for task, _ in german.widths + german.tuned} == {"german"}
    assert german.tiny == (*tiny_sets.OF_SKLEARN, "german")
    assert german.drawn_from == ""
    assert german.machines == studies.WHOLE.machines  # needs no data
    assert studies.WHOLE.within(READERS) == studies.WHOLE


def test_scope_knows_the_sets_that_it_needs():
    needed = {"adult", "covertype", "german", "bank", "spambase"}
    assert set(studies.WHOLE.sets) == needed
    assert studies.WHOLE.within(["insurance"]).sets == []
    assert studies.SCOPES["miniature"].sets == ["spambase", "german"]


def test_plans_are_cut_to_sets_and_algorithms():
    plan = choose("quick", ["german"], ["tree", "SVM"], SklearnEngine())
    assert {u.algorithm for u in plan.units} == {"tree", "SVM"}
    assert {u.data for u in plan.units} == {"german", "german-thirds", "german-halves"}
    weka = choose("quick", [], [], Weka("weka.jar"))
    assert "boosting" not in {unit.algorithm for unit in weka.units}
    for wrong in (
        ("quick", ["titanic"], []),
        ("quick", [], ["forest"]),
        ("slow", [], []),
        ("tables", ["german"], []),
    ):
        with pytest.raises(InvalidParameter, match=r"must (be among|have something)"):
            choose(*wrong, SklearnEngine())


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(OutputExists, match="holds something else"):
        output_folder.prepare(tmp_path)
    assert output_folder.prepare(tmp_path, force=True) == tmp_path
    assert (tmp_path / "thesis.tex").read_text() == "years of work"
    with pytest.raises(OutputExists, match="is a file"):
        output_folder.prepare(tmp_path / "thesis.tex")


def test_an_earlier_run_is_continued_or_forgotten(tmp_path):
    folder = output_folder.prepare(tmp_path / "new")
    (folder / output_folder.JOURNAL).write_text("kept\n")
    output_folder.prepare(folder)
    assert (folder / output_folder.JOURNAL).exists()
    output_folder.prepare(folder, force=True)
    assert not (folder / output_folder.JOURNAL).exists()


def test_nothing_is_forgotten_if_weka_is_not_there(tmp_path, data_folder):
    (tmp_path / output_folder.JOURNAL).write_text("kept\n")
    with pytest.raises(InvalidFile, match="jar of Weka must be a file"):
        reproduce(data_folder, tmp_path, plan="miniature", weka="no.jar", force=True)
    assert (tmp_path / output_folder.JOURNAL).read_text() == "kept\n"


def test_a_finished_run_is_known_without_its_journals(tmp_path):
    """After a damaged one is removed, as the message asks, a run goes on."""
    output_folder.write(
        Findings("tables", "scikit-learn", finished(results(TABLE))), tmp_path
    )
    assert output_folder.prepare(tmp_path) == tmp_path
    (tmp_path / "claims.csv").unlink()  # now it could be anybody's page
    with pytest.raises(OutputExists, match="holds something else"):
        output_folder.prepare(tmp_path)


def names_in(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_what_another_plan_has_written_is_removed_and_nothing_else(tmp_path):
    machines = studies.run(Scope(machines=(50,)), "not used")
    small = Findings("miniature", "scikit-learn", finished(results(TABLE)), machines)
    none = Findings("tables", "scikit-learn", finished(results(TABLE)[:1]))
    output_folder.write(none, output_folder.prepare(tmp_path / "clean"))
    mine = {"notes.txt", "time.txt", "figures/mine.svg"}
    folder = output_folder.prepare(tmp_path / "new")
    output_folder.write(small, folder)
    for name in mine:
        (folder / name).touch()
    assert {"sigmoid.csv", "figures/german-log.svg"} <= names_in(folder)
    output_folder.write(none, folder)
    assert names_in(folder) == names_in(tmp_path / "clean") | mine


def test_a_forced_folder_keeps_what_was_there_before(tmp_path):
    (tmp_path / "time.csv").write_text("mine, whatever its name")
    output_folder.write(
        Findings("tables", "scikit-learn", finished(results(TABLE))), tmp_path
    )
    assert (tmp_path / "time.csv").read_text() == "mine, whatever its name"


def test_every_figure_has_a_name_that_is_known():
    places = {(task, "tree", "4:1"): {"IVAP": (0.5, 0.5)} for task in RECIPES}
    every = Studies(*[(SimpleNamespace(n_rows=1),)] * len(fields(Studies)))
    found = Findings("full", "scikit-learn", finished(results(places)), every)
    drawn = [one.name for one in drawings(found)]
    assert set(drawn) == set(DRAWN)  # Tables 1 and 2 are no figures


def test_tables_are_written_with_paper_ours_and_difference(tmp_path):
    found = Findings("tables", "scikit-learn", finished(results(TABLE)), Studies())
    output_folder.write(found, tmp_path)
    with (tmp_path / "table-1.csv").open(encoding="utf-8") as file:
        rows = {row["algorithm"]: row for row in csv.DictReader(file)}
    tree = rows["tree"]
    assert tree["weka"] == "J48"
    assert float(tree["IVAP paper"]) == 0.5117
    assert float(tree["IVAP ours"]) == 0.4873
    assert float(tree["IVAP difference"]) == pytest.approx(-0.0244)
    assert float(tree["isotonic difference"]) == 0  # both infinite
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


def test_methods_without_an_answer_are_listed_on_the_page_with_their_reason():
    table = {
        ("german", name, "all"): {"Platt": (math.nan,) * 2} for name in ("tree", "SVM")
    }
    refused = [replace(one, reason="labels <separable>") for one in results(table)]
    found = Findings("quick", "scikit-learn", finished([*refused, *refused]))
    told = "no prediction by Platt (german, tree, all; german, SVM, all): labels "
    assert found.unanswered == [f"{told}<separable>"]
    assert f"<li>{told}&lt;separable&gt;</li>" in page(found)
    assert Findings("quick", "", finished(results(TABLE))).unanswered == []


def test_algorithms_are_described_whatever_the_version_of_scikit_learn():
    found = Findings("tables", "scikit-learn 1.9.1", finished(results(TABLE)))
    here = {row[0]: row[2] for row in grids_table(found).rows}
    assert here["tree"] == ALGORITHMS["tree"].how
    weka = grids_table(replace(found, engine="Weka 3.9.7"))
    assert {row[2] for row in weka.rows} == {"Weka 3.9.7"}


def test_page_says_that_studies_are_not_by_weka():
    machines = studies.run(Scope(machines=(50,)), "not used")
    ours = SklearnEngine().name
    found = Findings("quick", "Weka 3.9.7", finished(results(TABLE)), machines)
    assert f"always use {ours}" in page(found)
    assert "always use" not in page(replace(found, engine=ours))
    assert "always use" not in page(replace(found, studies=Studies()))
