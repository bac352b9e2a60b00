"""`abers diagram`, fits of what it writes, and the method that suits the scores."""

import json

import numpy as np
import pandas as pd
import pytest

import abers

N = 600


class Rows:
    rng = np.random.default_rng(5)
    scores = rng.random(N).round(3)
    labels = (rng.random(N) < scores).astype(int)
    weights = rng.choice([0.5, 1.25, 2.0], N)


@pytest.fixture
def call(invoke, tmp_path, monkeypatch):
    """Call a command in a folder with the rows of three days, and of all."""
    table = pd.DataFrame({"score": Rows.scores, "label": Rows.labels})
    table["weight"], table["margin"] = Rows.weights, Rows.scores - 0.5
    for day in range(3):
        table[day::3].to_csv(tmp_path / f"day-{day}.csv", index=False)
    table.to_csv(tmp_path / "all.csv", index=False)
    monkeypatch.chdir(tmp_path)

    def called(line):
        return invoke(*line.split())

    return called


def done(answer):
    assert answer.code == 0, answer.err
    return answer


def refusal(answer):
    """Return the one sentence of a refusal."""
    assert answer.code in (1, 2)
    assert answer.err.startswith("abers: ")
    assert answer.err.count("\n") == 1
    return answer.err


def counted(call):
    for day in range(3):
        done(call(f"diagram day-{day}.csv -o {day}.abers --score score"))


@pytest.mark.parametrize("method", ["", "--method venn-abers"])
def test_diagrams_of_days_fit_what_all_their_rows_fit(call, tmp_path, method):
    """To the byte, with the fingerprint of the rows and the names of columns."""
    counted(call)
    done(call(f"fit 0.abers 1.abers 2.abers -o days.abers {method}"))
    done(call("diagram 2.abers 0.abers 1.abers -o sum.abers"))
    done(call(f"fit sum.abers -o sum-fit.abers {method}"))
    done(call(f"fit all.csv --score score -o rows.abers {method}"))
    expected = (tmp_path / "rows.abers").read_bytes()
    for name in ("days", "sum-fit"):
        assert (tmp_path / f"{name}.abers").read_bytes() == expected


def test_a_diagram_is_that_of_python(call, tmp_path):
    answer = done(call("diagram all.csv -o d.abers --score score --tag v=7 --json"))
    expected = abers.rules.Diagram.from_rows(Rows.scores, Rows.labels)
    diagram = abers.load(tmp_path / "d.abers")
    assert diagram == expected
    assert diagram.metadata["v"] == "7"
    facts = json.loads(answer.out)
    assert (facts["n_rows"], facts["n_positives"]) == (N, Rows.labels.sum())
    assert facts["n_distinct_scores"] == expected.scores.size
    columns = {"s": expected.scores, "n": expected.counts, "k": expected.positives}
    pd.DataFrame(columns).to_csv(tmp_path / "counts.csv", index=False)
    done(call("diagram counts.csv -o c.abers --score s --count n --positives k"))
    assert abers.load(tmp_path / "c.abers") == expected


def test_real_weights_are_kept(call, tmp_path):
    done(call("diagram all.csv -o w.abers --score score --weight weight"))
    done(call("fit w.abers -o w-rule.abers --method venn-abers"))
    done(call("fit all.csv --score score --weight weight --method venn-abers -o r"))
    assert (tmp_path / "w-rule.abers").read_bytes() == (tmp_path / "r").read_bytes()
    rule = abers.fit_rule(Rows.scores, Rows.labels, sample_weight=Rows.weights)
    assert np.array_equal(abers.load("r").bounds([0.2, 0.7]), rule.bounds([0.2, 0.7]))


def test_diagrams_remember_how_labels_were_read(call, tmp_path):
    for name, labels in (("a", "lost kept"), ("b", "lost moved"), ("c", "kept lost")):
        rows = "".join(f"0.{i},{label}\n" for i, label in enumerate(labels.split()))
        (tmp_path / f"{name}.csv").write_text(f"score,fate\n{rows}")
    for name, positive in (("a", "lost"), ("b", "lost"), ("c", "kept")):
        words = f"--label fate --pos-label {positive}"
        done(call(f"diagram {name}.csv -o {name}.abers {words}"))
    done(call("fit a.abers b.abers -o rule.abers"))
    tags = abers.load(tmp_path / "rule.abers").metadata
    assert tags["abers:pos-label"] == "lost"
    assert json.loads(tags["abers:neg-labels"]) == ["kept", "moved"]
    sentence = refusal(call("fit a.abers c.abers -o x.abers"))
    assert "the pos label of 'c.abers' is 'kept', that of 'a.abers' 'lost'" in sentence
    assert not (tmp_path / "x.abers").exists()


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("fit 0.abers day-1.csv -o x", "'day-1.csv' must be a diagram, as '0.abers'"),
        ("fit 0.abers -o x --label y", "--label must go with tables; got diagrams"),
        ("fit 0.abers -o x --by y", "--by must go with tables; got diagrams"),
        ("fit 0.abers -o x --holdout .2", "--holdout must go with tables; got"),
        ("fit 0.abers -o x --decimal ,", "--decimal must go with tables; got"),
        ("fit 0.abers -o x --method beta", "must be a table; it is a rule or a"),
        ("diagram rule.abers -o x", "must be a table or a diagram; it is a stacked"),
        ("diagram day-0.csv -o - --json --score score", "--json must not go with -o -"),
        ("diagram 0.abers -o 0.abers --force", "must not be what is read"),
        ("diagram 0.abers 0.abers -o x", "must be named once; got '0.abers' again"),
        ("predict 0.abers day-0.csv", "it is a diagram. Fit a calibrator to it, with"),
        ("predict rule.abers day-0.csv --prior .2", "fit a rule, in a shell with --me"),
    ],
)
def test_what_diagrams_cannot_do_is_a_sentence(call, tmp_path, line, sentence):
    counted(call)
    done(call("fit 0.abers -o rule.abers"))
    assert sentence in refusal(call(line))
    assert not (tmp_path / "x").exists()


def test_probabilities_are_stacked_and_margins_get_a_rule(call, tmp_path):
    scores, labels = Rows.scores, Rows.labels
    answer = done(call("fit all.csv --score score -o p.abers"))
    assert "taken for probabilities; --kind overrides that." in answer.err
    stacked = abers.load(tmp_path / "p.abers")
    expected = abers.fit_stacked_rule(scores, labels)
    assert stacked.columns == ("score",)
    assert np.array_equal(stacked.probability(scores), expected.probability(scores))
    assert np.array_equal(stacked.bounds(scores), expected.bounds(scores))
    answer = done(call("fit all.csv --score margin -o m.abers"))
    assert "taken for" not in answer.err
    rule = abers.fit_rule(scores - 0.5, labels)
    loaded = abers.load(tmp_path / "m.abers")
    assert loaded == rule.with_metadata(loaded.metadata)
    done(call("fit all.csv --score margin --method stacked -o n.abers"))
    loaded = abers.load(tmp_path / "n.abers")
    expected = abers.fit_stacked_rule(scores - 0.5, labels, kind="margin")
    assert np.array_equal(loaded.bounds(scores), expected.bounds(scores))


@pytest.mark.parametrize(
    "words",
    ["--method venn-abers", "--kind margin", "--holdout 0", "--keep-diagram"],
)
def test_a_rule_is_fitted_where_it_is_asked_for(call, tmp_path, words):
    done(call(f"fit all.csv --score score -o r.abers {words}"))
    is_rule = isinstance(abers.load(tmp_path / "r.abers"), abers.rules.Rule)
    assert is_rule == (words != "--holdout 0")


def test_stacks_of_real_weights_are_those_of_python(call, tmp_path):
    done(call("fit all.csv --score score --weight weight -o w.abers"))
    s, y, w = Rows.scores, Rows.labels, Rows.weights
    expected = abers.fit_stacked_rule(s, y, sample_weight=w)
    loaded = abers.load(tmp_path / "w.abers")
    assert np.array_equal(loaded.probability(s), expected.probability(s))


def test_a_stack_that_does_not_fit_into_memory_is_refused(call, tmp_path):
    scores = np.random.default_rng(0).random(40_000)
    rows = pd.DataFrame({"score": scores, "label": scores > 0.5}).astype(float)
    rows.to_csv(tmp_path / "large.csv", index=False)
    sentence = refusal(call("fit large.csv -o x.abers --memory 100kB"))
    assert "the distinct scores of 40,000 rows need more than --memory" in sentence
    assert "--method venn-abers" in sentence
    assert not (tmp_path / "x.abers").exists()
    done(call("fit large.csv -o x.abers --memory 100kB --method venn-abers"))


def test_an_unknown_kind_is_refused(call):
    assert "kind must be 'probability'" in refusal(call("fit all.csv --kind x -o x"))
