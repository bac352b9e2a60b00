"""Calibrators of several columns: fitted, applied and judged by the shell alone."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

import abers
from abers.errors import AbersError
from abers.export import to_json, to_source
from abers.formatting import as_json

CLASSES = list("abcde")
COLUMNS = [f"p_{name}" for name in CLASSES]
FIT = ("--label", "kind", "--probabilities", "p_*")


@pytest.fixture
def call(invoke, monkeypatch):
    """Call a command within this process, in a folder."""

    def called(folder, *arguments):
        monkeypatch.chdir(folder)
        return invoke(*arguments)

    return called


@pytest.fixture(scope="module")
def five(tmp_path_factory):
    """A folder with probabilities of five classes, as text, and as numbers."""
    folder = tmp_path_factory.mktemp("five")
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.ones(5), 500)
    places = np.array([rng.choice(5, p=row) for row in p])
    table = pd.DataFrame(p, columns=COLUMNS)
    table["kind"], table["fold"] = np.array(CLASSES)[places], np.arange(500) % 3
    table.to_csv(folder / "rows.csv", index=False)
    models = {f"m{k}_{c}": table[f"p_{c}"] for k in range(3) for c in CLASSES}
    pd.DataFrame(models).to_csv(folder / "models.csv", index=False)
    return folder, p, places


def added_labels(places):
    return [CLASSES[place] for place in places]


def assert_contains(answer, expected):
    """The JSON of a command has all that Python gives."""
    assert answer.code == 0, answer.err
    wanted = json.loads(json.dumps(as_json(expected.to_dict())))
    document = json.loads(answer.out)
    assert {name: document[name] for name in wanted} == wanted


def assert_same_losses(answer, expected):
    assert json.loads(answer.out)["losses"] == as_json(expected.to_dict()["losses"])


def assert_exported(folder, calibrator, name, *, run):
    """JSON and C are those of `abers.export`; what it refuses, the shell refuses."""
    for ending, expected in (
        ("json", to_json(calibrator)),
        ("h", to_source(calibrator, "c", name="out")["out.h"].decode()),
    ):
        answer = run(folder, "export", name, f"out.{ending}", "--force")
        assert answer.code == 0, answer.err
        assert (folder / f"out.{ending}").read_text() == expected
    with pytest.raises(AbersError) as refused:
        to_source(calibrator, "java", name="Out")
    answer = run(folder, "export", name, "Out.java")
    assert answer.err == f"abers: {refused.value}\n"
    assert not (folder / "Out.java").exists()


def added(table, what):
    return table[[f"{what}_{name}" for name in CLASSES]].to_numpy()


def assert_predicts(folder, expected, scores, *words, run):
    answer = run(folder, "predict", *words, "-o", "out.parquet", "--force")
    assert answer.code == 0, answer.err
    table = pd.read_parquet(folder / "out.parquet")
    assert np.array_equal(added(table, "probability"), expected.probability(scores))
    bounds = np.stack((added(table, "lower"), added(table, "upper")), axis=-1)
    assert np.array_equal(bounds, expected.bounds(scores))
    best = expected.probability(scores).argmax(axis=1)
    assert table["prediction"].tolist() == [CLASSES[place] for place in best]


def test_five_classes_by_the_shell_are_those_of_python_to_the_bit(run, five):
    folder, p, places = five
    answer = run(folder, "fit", "rows.csv", *FIT, "-o", "five.abers", "--force")
    assert answer.code == 0, answer.err
    expected = abers.fit_stacked_rule(p, places)
    assert_predicts(folder, expected, p, "five.abers", "rows.csv", run=run)
    loaded, labels = abers.load(folder / "five.abers"), added_labels(places)
    evaluated = run(folder, "evaluate", "five.abers", "rows.csv", "--json")
    assert_contains(evaluated, abers.evaluate(loaded, p, labels))
    checked = run(folder, "check", "five.abers", "rows.csv", "--json")
    assert_contains(checked, abers.check(loaded, p, labels))
    assert_exported(folder, loaded, "five.abers", run=run)
    facts = json.loads(run(folder, "inspect", "five.abers", "--json").out)
    assert (facts["classes"], facts["columns"]) == (CLASSES, COLUMNS)
    assert (facts["kind"], facts["reads"]) == ("stacked rule", "probability")
    assert (facts["n_rows"], facts["n_columns"], facts["n_models"]) == (500, 5, 1)
    assert facts["weights"] == expected.weights


def test_out_of_fold_scores_give_a_calibrator_of_all_models(run, five):
    folder, p, places = five
    words = ("fit", "rows.csv", *FIT, "--fold", "fold", "-o", "folds.abers")
    assert run(folder, *words, "--force").code == 0
    expected = abers.fit_stacked_rule(p, places, folds=np.arange(500) % 3)
    scores = np.stack([p] * 3, axis=1)
    named = ("--scores", "m0_*,m1_*,m2_*")
    words = ("folds.abers", "models.csv", *named)
    assert_predicts(folder, expected, scores, *words, run=run)
    loaded, labels = abers.load(folder / "folds.abers"), added_labels(places)
    models = pd.read_csv(folder / "models.csv").assign(kind=labels)
    models.to_csv(folder / "labelled.csv", index=False)
    arguments = ("folds.abers", "labelled.csv", *named, "--json")
    assert_contains(
        run(folder, "evaluate", *arguments), abers.evaluate(loaded, scores, labels)
    )
    assert_contains(
        run(folder, "check", *arguments), abers.check(loaded, scores, labels)
    )
    assert_exported(folder, loaded, "folds.abers", run=run)
    refused = run(folder, "predict", "folds.abers", "rows.csv", "--scores", "p_*")
    assert (refused.code, refused.out) == (1, b"")
    assert "reads 15 columns of scores; got 5" in refused.err


@pytest.mark.parametrize(
    ("method", "estimator"),
    [
        ("beta", abers.BetaCalibrator),
        ("isotonic", abers.IsotonicCalibrator),
        ("platt", abers.PlattCalibrator),
        ("temperature", abers.TemperatureCalibrator),
        ("venn-abers", abers.IVAPCalibrator),
    ],
)
def test_every_method_gives_what_its_estimator_gives(call, five, method, estimator):
    folder, p, places = five
    words = ("fit", "rows.csv", *FIT, "--method", method, "-o", "m.abers", "--force")
    assert call(folder, *words).code == 0
    words = ("predict", "m.abers", "rows.csv", "-o", "m.parquet", "--force")
    assert call(folder, *words).code == 0
    table = pd.read_parquet(folder / "m.parquet")
    expected = estimator(scores="probability").fit(p, places).predict_proba(p)
    np.testing.assert_allclose(added(table, "probability"), expected, rtol=1e-15)


def test_out_of_fold_scores_of_two_classes(call, tmp_path):
    rng = np.random.default_rng(0)
    s = rng.random(300)
    labels, folds = (rng.random(300) < s).astype(int), np.arange(300) % 2
    table = pd.DataFrame({"s": s, "label": labels, "fold": folds})
    table.to_csv(tmp_path / "rows.csv", index=False)
    words = ("fit", "rows.csv", "--score", "s", "--fold", "fold", "--method", "pooled")
    assert call(tmp_path, *words, "-o", "pooled.abers").code == 0
    expected = abers.rules.fit_pooled_rule(s, labels, folds)
    assert abers.load(tmp_path / "pooled.abers").bounds([[0.3, 0.4]]).tolist() == (
        expected.bounds([[0.3, 0.4]]).tolist()
    )
    (tmp_path / "new.csv").write_text("a,b\n0.3,0.4\n")
    words = ("predict", "pooled.abers", "new.csv", "--scores", "a,b")
    header, row = call(tmp_path, *words).out.decode().splitlines()
    assert header == "a,b,lower,upper,probability"
    lower, upper = map(float, row.split(",")[2:4])
    assert [lower, upper] == expected.bounds([[0.3, 0.4]])[0].tolist()


def test_a_method_reads_the_usual_column_of_scores(call, tmp_path):
    """As a rule does, so that the best method of `abers compare` can be fitted."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"score": rng.random(100), "label": np.arange(100) % 2})
    table.to_csv(tmp_path / "rows.csv", index=False)
    words = ("fit", "rows.csv", "--method", "platt")
    assert call(tmp_path, *words, "-o", "usual.abers").code == 0
    assert call(tmp_path, *words, "--score", "score", "-o", "named.abers").code == 0
    usual, named = (abers.load(tmp_path / f"{x}.abers") for x in ("usual", "named"))
    assert usual == named
    assert usual.columns == ("score",)


@pytest.mark.parametrize(
    ("labels", "positive"),
    [
        (("no", "yes"), "yes"),
        (("False", "True"), None),
        (("Negative", "Positive"), "Positive"),
    ],
)
def test_usual_pairs_of_labels_are_understood(call, tmp_path, labels, positive):
    rows = "".join(f"{s},{labels[y]}\n" for s, y in [(1, 0), (2, 1), (3, 0)])
    (tmp_path / "rows.csv").write_text(f"score,label\n{rows}")
    answer = call(tmp_path, "fit", "rows.csv", "-o", "r.abers")
    assert answer.code == 0, answer.err
    rule = abers.load(tmp_path / "r.abers")
    assert rule == abers.fit_rule([1, 2, 3], [0, 1, 0]).with_metadata(rule.metadata)
    assert rule.metadata.get("abers:pos-label") == positive
    if positive:
        assert f"{positive!r} is the positive label" in answer.err


def test_one_class_stands_against_the_rest(call, five):
    folder, p, places = five
    words = ("fit", "rows.csv", "--label", "kind", "--pos-label", "c", "--score", "p_c")
    words = (*words, "--method", "venn-abers", "-o", "c.abers", "--force")
    answer = call(folder, *words)
    assert answer.code == 0, answer.err
    assert "'c' is the positive label, against the others" in answer.err
    rule = abers.load(folder / "c.abers")
    assert np.array_equal(
        rule.bounds(p[:, 2]), abers.fit_rule(p[:, 2], places == 2).bounds(p[:, 2])
    )


@pytest.mark.parametrize(
    ("text", "words", "sentence"),
    [
        (
            "p_a,p_b,p_c,y\n.5,.5,.5,a\n.2,.3,.5,b\n.1,.1,.8,c\n",
            (),
            "must add up to 1 in each row",
        ),
        ("p_a,p_b,p_c,y\n.5,.2,.3,a\n.2,.3,.5,b\n", (), "a column of scores for each"),
        ("p_a,p_b,y\n", (), "must have rows to fit"),
        ("", (), "it is empty"),
        ("q_a,y\n1,a\n", (), "must have the column 'p_*'"),
        ("p_a,p_b,p_c,y\nx,.2,.3,a\n", (), "must hold numbers; got 'x' in row 1"),
        ("p_a;p_b;p_c;y\n0,5;0,2;0,3;a\n", (), "say --decimal ','"),
        ("p_a,p_b,p_c,y\n,.2,.3,a\n", (), "must not be empty, null or NaN to fit"),
        ("p_a,p_b,p_c,y\n.5,.2,.3,a\n", ("--by", "y"), "--by must go with a rule"),
        ("p_a,p_b,p_c,y\n.5,.2,.3,a\n", ("--method", "pooled"), "go with --fold"),
        ("p_a,p_b,p_c,y\n.5,.2,.3,a\n", ("--score", "p_a"), "got 2 of them"),
        ("p_a,p_b,y\n.5,.5,a\n", ("--tag", "abers:x=1"), "must not begin with"),
    ],
)
def test_what_cannot_be_fitted_is_a_sentence(call, tmp_path, text, words, sentence):
    (tmp_path / "rows.csv").write_text(text)
    fit = ("fit", "rows.csv", "--label", "y", "--probabilities", "p_*", "-o", "r.abers")
    answer = call(tmp_path, *fit, *words)
    assert answer.code in (1, 2)
    assert answer.err.startswith("abers: ")
    assert answer.err.count("\n") == 1
    assert sentence in answer.err
    assert not (tmp_path / "r.abers").exists()


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ((), {"kind": "stacked rule", "reads": f"probability: {', '.join(COLUMNS)}"}),
        (
            ("--fold", "fold"),
            {"reads": "probability: 15 columns: the scores of 3 models"},
        ),
        (
            ("--method", "temperature"),
            {"kind": "curve calibrator", "method": "temperature"},
        ),
        (("--method", "venn-abers"), {"multiclass": "ovr", "merge": "minimax"}),
    ],
)
def test_inspect_tells_what_a_calibrator_reads_and_gives(call, five, options, shown):
    folder, *_ = five
    call(folder, "fit", "rows.csv", *FIT, *options, "-o", "i.abers", "--force")
    answer = call(folder, "inspect", "i.abers").out.decode()
    lines = dict(line.split(None, 1) for line in answer.splitlines() if line[2] != " ")
    for name, text in (shown | {"rows": "500", "classes": "a, b, c, d, e"}).items():
        assert lines[name] == text
    assert lines["guarantee"].startswith("Not proven: ")


def test_fit_by_folds_is_warned_of(call, five):
    folder, *_ = five
    words = ("--label", "kind", "--pos-label", "c", "--score", "p_c", "--by", "fold")
    answer = call(folder, "fit", "rows.csv", *words, "-o", "by.abers", "--force")
    assert answer.code == 0
    assert "name the column with --fold" in answer.err


def fitted(run, folder, *words):
    """Fit a calibrator to the five classes, and return it."""
    answer = run(folder, "fit", "rows.csv", *FIT, *words, "-o", "f.abers", "--force")
    assert answer.code == 0, answer.err
    return abers.load(folder / "f.abers")


def test_a_check_of_limits_says_why_there_are_no_tests(call, five):
    folder, p, places = five
    calibrator = fitted(call, folder)
    answer = call(folder, "check", "f.abers", "rows.csv")
    expected = abers.check(calibrator, p, added_labels(places))
    assert answer.code == (0 if expected.passed else 3)
    shown = " ".join(answer.out.decode().split())
    assert expected.untested == (
        "There are limits but no tests: tests are for two classes, and this model has "
        "more."
    )
    assert expected.untested in shown
    assert "tests passed" not in shown
    assert shown.endswith("Nothing failed; 1 was inconclusive.")
    assert f"mean confidence {expected.mean_prediction:.4f}" in shown
    without = call(folder, "check", "f.abers", "models.csv", "--scores", "m0_*")
    assert without.out.decode().endswith("only the scores were tested.\n")
    refused = call(folder, "check", "f.abers", "rows.csv", "--by", "fold")
    assert "groups must be None, since they would be tested." in refused.err


@pytest.mark.parametrize("method", ["stacked", "venn-abers"])
def test_a_check_of_two_classes_and_one_model_has_tests(call, five, method):
    folder, p, places = five
    words = ("--pos-label", "c", "--probabilities", "p_c", "--method", method)
    words = ("rows.csv", "--label", "kind", *words, "-o", "two.abers", "--force")
    assert call(folder, "fit", *words).code == 0
    calibrator, ones = abers.load(folder / "two.abers"), places == 2
    answer = call(folder, "check", "two.abers", "rows.csv", "--by", "fold", "--json")
    groups = [str(fold) for fold in np.arange(500) % 3]
    expected = abers.check(calibrator, p[:, 2], ones, groups=groups)
    assert_contains(answer, expected)
    assert [finding.name for finding in expected.findings][2:4] == ["mean", "slope"]
    answer = call(folder, "evaluate", "two.abers", "rows.csv", "--json")
    assert json.loads(answer.out)["pos_label"] == "c"
    assert_same_losses(answer, abers.evaluate(calibrator, p[:, 2], ones))
    assert json.loads(answer.out)["in_sample"]


def test_one_of_many_classes_is_judged_against_the_rest(call, five):
    folder, p, places = five
    calibrator, labels = fitted(call, folder), added_labels(places)
    words = ("f.abers", "rows.csv", "--pos-label", "c", "--json")
    for command in ("evaluate", "check"):
        expected = getattr(abers, command)(calibrator, p, labels, pos_label="c")
        assert_contains(call(folder, command, *words), expected)
    refused = call(folder, "check", "f.abers", "rows.csv", "--pos-label", "x")
    assert "must be one of the classes 'a', 'b', 'c', 'd', 'e'; got 'x'." in refused.err


def test_one_class_against_the_rest_is_understood_by_all_commands(call, five):
    folder, p, places = five
    words = ("--score", "p_c", "--label", "kind", "--pos-label", "c")
    assert call(folder, "fit", "rows.csv", *words, "-o", "c.abers", "--force").code == 0
    rule, ones = abers.load(folder / "c.abers"), places == 2
    answer = call(folder, "check", "c.abers", "rows.csv", "--json")
    assert json.loads(answer.out)["n_positives"] == ones.sum()
    answer = call(folder, "evaluate", "c.abers", "rows.csv", "--json")
    assert_same_losses(answer, abers.evaluate(rule, p[:, 2], ones))
    words = ("compare", "rows.csv", *words, "--methods", "IVAP", "--json")
    comparison = abers.compare(p[:, 2], ones.astype(int), methods=["IVAP"])
    assert_contains(call(folder, *words), comparison)
    words = ("evaluate", "rows.csv", "--probability", "p_c", "--label", "kind")
    answer = call(folder, *words, "--pos-label", "c", "--json")
    assert_same_losses(answer, abers.evaluate(None, p[:, 2], ones))


def test_methods_are_compared_on_a_column_per_class(call, five):
    folder, p, places = five
    words = ("compare", "rows.csv", *FIT, "--methods", "uncalibrated,temperature")
    answer = call(folder, *words, "--json")
    methods = ["uncalibrated", "temperature"]
    assert_contains(answer, abers.compare(p, added_labels(places), methods=methods))
    shown = call(folder, *words, "--pos-label", "c")
    assert "--pos-label must go with one column of scores; got 5" in shown.err


COSTS = "action,e,d,c,b,a\ntreat,0,0,1,5,9\nwait,4,2,1,1,0\ntest,2,2,1,2,2\n"


@pytest.mark.parametrize("method", ["stacked", "temperature"])
def test_actions_by_a_table_of_costs_are_those_of_python(call, five, method):
    """Temperature has no bounds: its probabilities are both."""
    folder, p, _ = five
    calibrator = fitted(call, folder, "--method", method)
    (folder / "costs.csv").write_text(COSTS)
    words = ("decide", "f.abers", "rows.csv", "--costs", "costs.csv", "--refer", "1.4")
    answer = call(folder, *words, "-o", "do.parquet", "--force", "--json")
    assert answer.code == 0, answer.err
    bounds = (
        calibrator.bounds(p)
        if method == "stacked"
        else np.stack([calibrator.probability(p)] * 2, axis=-1)
    )
    costs = [[9, 5, 1, 0, 0], [0, 1, 1, 2, 4], [2, 2, 1, 2, 2]]
    expected = abers.decide(bounds, costs, refer=1.4)
    table = pd.read_parquet(folder / "do.parquet")
    names = ["treat", "wait", "test", "refer"]
    assert table["action"].tolist() == [names[action] for action in expected.action]
    assert np.array_equal(table["worst_cost"], expected.worst_cost)
    document = json.loads(answer.out)
    counts = {name: (table["action"] == name).sum() for name in names}
    assert document["n_by_action"] == counts
    assert document["n_undetermined"] == expected.undetermined.sum()


def test_two_classes_and_several_models_decide_by_costs_of_errors(call, tmp_path):
    rng = np.random.default_rng(1)
    s = rng.random(300)
    table = pd.DataFrame({"s": s, "fold": np.arange(300) % 2})
    table["fate"] = np.where(rng.random(300) < s, "lost", "kept")
    table.to_csv(tmp_path / "rows.csv", index=False)
    words = ("fit", "rows.csv", "--score", "s", "--label", "fate", "--pos-label")
    words = (*words, "lost", "--fold", "fold", "-o", "r.abers")
    assert call(tmp_path, *words).code == 0
    (tmp_path / "new.csv").write_text("a,b\n.1,.2\n.9,.8\n,.5\n.4,.5\n")
    (tmp_path / "costs.csv").write_text("action,lost,kept\nrefuse,4,0\nact,0,1\n")
    bounds = abers.load(tmp_path / "r.abers").bounds(
        [[0.1, 0.2], [0.9, 0.8], [0.4, 0.5]]
    )
    action = abers.decide(bounds, cost_fp=1, cost_fn=4).action
    words = ("decide", "r.abers", "new.csv", "--scores", "a,b")
    by_errors = call(tmp_path, *words, "--cost-fp", "1", "--cost-fn", "4")
    by_table = call(tmp_path, *words, "--costs", "costs.csv")
    assert by_errors.out == by_table.out
    lines = [line.split(",") for line in by_errors.out.decode().splitlines()]
    assert lines[0][-2:] == ["action", "worst_cost"]
    assert lines.pop(3) == ["", ".5", "", "", "", "", ""]
    assert [line[-2] for line in lines[1:]] == [("refuse", "act")[a] for a in action]


@pytest.mark.parametrize(
    ("costs", "words", "sentence"),
    [
        (COSTS.replace(",a\n", ",f\n", 1), (), "one for each class, 'a', 'b', 'c'"),
        (COSTS.replace("action", "name"), (), "must have the column 'action'"),
        (COSTS.replace("wait", "treat"), (), "one row for each action; got 'treat'"),
        (COSTS.replace("9", "inf"), (), "costs must be finite numbers; got inf"),
        (COSTS.replace("9", "much"), (), "must hold numbers; got 'much' in row 1"),
        (COSTS.replace("wait", "refer"), ("--refer", "1"), "must not be 'refer'"),
        (COSTS, ("--cost-fp", "1"), "got --cost-fp and --costs."),
        (None, (), "got none of them."),
        (None, ("--cost-fp", "1"), "got --cost-fp."),
        (None, ("--cost-fp", "1", "--cost-fn", "2"), "must go with two classes; got"),
    ],
)
def test_costs_that_say_nothing_clear_are_refused(call, five, costs, words, sentence):
    folder, *_ = five
    fitted(call, folder, "--method", "temperature")
    if costs is not None:
        (folder / "wrong.csv").write_text(costs)
        words = ("--costs", "wrong.csv", *words)
    answer = call(folder, "decide", "f.abers", "rows.csv", *words, "-o", "no.csv")
    assert answer.code in (1, 2)
    assert sentence in answer.err
    assert answer.err.count("\n") == 1
    assert not (folder / "no.csv").exists()


@pytest.mark.parametrize(
    ("scale", "words", "method"),
    [
        (1, ("--probabilities", "p_*"), "stacked"),
        (1, ("--scores", "p_*"), "stacked"),
        (9, ("--scores", "p_*"), "venn-abers"),
        (1, ("--scores", "p_*", "--kind", "margin"), "venn-abers"),
        (1, ("--score", "p_c", "--pos-label", "c", "--kind", "probability"), "stacked"),
        (1, ("--score", "p_c", "--pos-label", "c", "--kind", "margin"), None),
        (1, ("--score", "p_c", "--pos-label", "c"), "stacked"),
        (9, ("--score", "p_c", "--pos-label", "c"), None),
        (9, ("--score", "p_c", "--pos-label", "c", "--fold", "fold"), "stacked"),
    ],
)
def test_the_method_follows_what_the_scores_are(call, five, scale, words, method):
    """None: a rule. Without --kind, the answer says what scores are taken for."""
    folder, *_ = five
    table = pd.read_csv(folder / "rows.csv")
    table[COLUMNS] *= scale
    table.to_csv(folder / "scaled.csv", index=False)
    words = ("fit", "scaled.csv", "--label", "kind", *words, "-o", "s.abers", "--force")
    answer = call(folder, *words, "--json")
    assert answer.code == 0, answer.err
    facts = json.loads(answer.out)
    assert facts.get("method") == method
    if "--scores" in words and "--kind" not in words:
        what = "probabilities" if scale == 1 else "margins"
        assert f"The scores are taken for {what}; --kind overrides that." in str(facts)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_calibrator_of_a_notebook_predicts_in_a_shell(run, tmp_path, n_classes):
    """The shell reads the probabilities of the K models, and gives the same bits."""
    X, y = make_classification(
        400, n_informative=4, n_classes=n_classes, random_state=0
    )
    names = np.array(["cat", "dog", "eel"])
    model = abers.CalibratedClassifier(LogisticRegression(), cv=3, random_state=0)
    model.fit(X[:300], names[y[:300]])
    model.calibrator_.save(tmp_path / "model.abers")
    tables = [each.predict_proba(X[300:]) for each in model.estimators_]
    columns = [f"m{k}_{name}" for k in range(3) for name in model.classes_]
    table = pd.DataFrame(np.hstack(tables), columns=columns)
    table["kind"] = names[y[300:]]
    table.to_csv(tmp_path / "new.csv", index=False)
    words = ("model.abers", "new.csv", "--scores", "m0_*,m1_*,m2_*")
    answer = run(tmp_path, "predict", *words, "-o", "out.parquet")
    assert answer.code == 0, answer.err
    out = pd.read_parquet(tmp_path / "out.parquet")
    p, bounds = model.predict_proba(X[300:]), model.predict_bounds(X[300:])
    if n_classes == 2:
        predictions = out[["lower", "upper", "probability"]].to_numpy()
        assert np.array_equal(predictions, np.column_stack((bounds, p[:, 1])))
    for place, name in enumerate(model.classes_ if n_classes > 2 else ()):
        own = out[[f"{what}_{name}" for what in ("lower", "upper", "probability")]]
        wanted = np.column_stack((bounds[:, place], p[:, place]))
        assert np.array_equal(own.to_numpy(), wanted)
    answer = run(tmp_path, "check", *words, "--label", "kind", "--json")
    assert_contains(answer, abers.check(model, X[300:], table["kind"]))
