"""Calibrators of several columns: fitted, applied and judged by the shell alone."""

import json

import numpy as np
import pandas as pd
import pytest

import abers

CLASSES = list("abcde")
COLUMNS = [f"p_{name}" for name in CLASSES]
FIT = ("--label", "kind", "--probabilities", "p_*")


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
    judged = run(folder, "evaluate", "five.abers", "rows.csv", "--json")
    labels = [CLASSES[place] for place in places]
    evaluation = abers.evaluate(None, expected.probability(p), labels, classes=CLASSES)
    wanted = json.loads(json.dumps(evaluation.to_dict()))
    answer = json.loads(judged.out)
    assert {name: answer[name] for name in wanted} == wanted
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
def test_every_method_gives_what_its_estimator_gives(run, five, method, estimator):
    folder, p, places = five
    words = ("fit", "rows.csv", *FIT, "--method", method, "-o", "m.abers", "--force")
    assert run(folder, *words).code == 0
    words = ("predict", "m.abers", "rows.csv", "-o", "m.parquet", "--force")
    assert run(folder, *words).code == 0
    table = pd.read_parquet(folder / "m.parquet")
    expected = estimator(scores="probability").fit(p, places).predict_proba(p)
    np.testing.assert_allclose(added(table, "probability"), expected, rtol=1e-15)


def test_out_of_fold_scores_of_two_classes(run, tmp_path):
    rng = np.random.default_rng(0)
    s = rng.random(300)
    labels, folds = (rng.random(300) < s).astype(int), np.arange(300) % 2
    table = pd.DataFrame({"s": s, "label": labels, "fold": folds})
    table.to_csv(tmp_path / "rows.csv", index=False)
    words = ("fit", "rows.csv", "--score", "s", "--fold", "fold", "--method", "pooled")
    assert run(tmp_path, *words, "-o", "pooled.abers").code == 0
    expected = abers.rules.fit_pooled_rule(s, labels, folds)
    assert abers.load(tmp_path / "pooled.abers").bounds([[0.3, 0.4]]).tolist() == (
        expected.bounds([[0.3, 0.4]]).tolist()
    )
    (tmp_path / "new.csv").write_text("a,b\n0.3,0.4\n")
    words = ("predict", "pooled.abers", "new.csv", "--scores", "a,b")
    header, row = run(tmp_path, *words).out.decode().splitlines()
    assert header == "a,b,lower,upper,probability"
    lower, upper = map(float, row.split(",")[2:4])
    assert [lower, upper] == expected.bounds([[0.3, 0.4]])[0].tolist()


@pytest.mark.parametrize(
    ("labels", "positive"),
    [
        (("no", "yes"), "yes"),
        (("False", "True"), None),
        (("Negative", "Positive"), "Positive"),
    ],
)
def test_usual_pairs_of_labels_are_understood(run, tmp_path, labels, positive):
    rows = "".join(f"{s},{labels[y]}\n" for s, y in [(1, 0), (2, 1), (3, 0)])
    (tmp_path / "rows.csv").write_text(f"score,label\n{rows}")
    answer = run(tmp_path, "fit", "rows.csv", "-o", "r.abers")
    assert answer.code == 0, answer.err
    rule = abers.load(tmp_path / "r.abers")
    assert rule == abers.fit_rule([1, 2, 3], [0, 1, 0]).with_metadata(rule.metadata)
    assert rule.metadata.get("abers:pos-label") == positive
    if positive:
        assert f"{positive!r} is the positive label" in answer.err


def test_one_class_stands_against_the_rest(run, five):
    folder, p, places = five
    words = ("fit", "rows.csv", "--label", "kind", "--pos-label", "c")
    answer = run(folder, *words, "--score", "p_c", "-o", "c.abers", "--force")
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
    ],
)
def test_what_cannot_be_fitted_is_a_sentence(run, tmp_path, text, words, sentence):
    (tmp_path / "rows.csv").write_text(text)
    fit = ("fit", "rows.csv", "--label", "y", "--probabilities", "p_*", "-o", "r.abers")
    answer = run(tmp_path, *fit, *words)
    assert answer.code in (1, 2)
    assert answer.err.startswith("abers: ")
    assert answer.err.count("\n") == 1
    assert sentence in answer.err
    assert not (tmp_path / "r.abers").exists()


def test_wrong_tables_for_a_calibrator_are_sentences(run, five):
    folder, *_ = five
    run(folder, "fit", "rows.csv", *FIT, "-o", "wrong.abers", "--force")
    text = (folder / "rows.csv").read_text()
    renamed, unseen = folder / "renamed.csv", folder / "unseen.csv"
    renamed.write_text(text.replace("p_c", "q_c", 1))
    unseen.write_text(",".join([*COLUMNS, "kind"]) + "\n.2,.2,.2,.2,.2,f\n")
    for words, sentence in (
        (("predict", "wrong.abers", renamed), "must have the column 'p_c'"),
        (("evaluate", "wrong.abers", unseen), "the classes of the fit, 'a', 'b', 'c'"),
        (("check", "wrong.abers", "rows.csv"), "predict, evaluate and inspect take"),
    ):
        answer = run(folder, *words)
        assert (answer.code in (1, 2), answer.out) == (True, b"")
        assert sentence in answer.err


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
def test_inspect_tells_what_a_calibrator_reads_and_gives(run, five, options, shown):
    folder, *_ = five
    run(folder, "fit", "rows.csv", *FIT, *options, "-o", "i.abers", "--force")
    answer = run(folder, "inspect", "i.abers").out.decode()
    lines = dict(line.split(None, 1) for line in answer.splitlines() if line[2] != " ")
    for name, text in (shown | {"rows": "500", "classes": "a, b, c, d, e"}).items():
        assert lines[name] == text
    assert lines["guarantee"].startswith("Not proven: ")


def test_fit_by_folds_is_warned_of(run, five):
    folder, *_ = five
    words = ("--label", "kind", "--pos-label", "c", "--score", "p_c", "--by", "fold")
    answer = run(folder, "fit", "rows.csv", *words, "-o", "by.abers", "--force")
    assert answer.code == 0
    assert "name the column with --fold" in answer.err
