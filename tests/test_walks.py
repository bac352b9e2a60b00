"""How many files the data pass on the way from scores to an answer."""

import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

import abers
from abers.cli.app import run
from abers.cli.signals import FINE

SOURCE = Path(abers.__file__).parent


def files_of(call):
    """Return our files that have a function which the call runs."""
    seen = set()

    def profile(frame, event, _):
        if event == "call":
            seen.add(frame.f_code.co_filename)

    call()  # loads what is loaded once
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    paths = (Path(name) for name in seen)
    return sorted(
        str(path.relative_to(SOURCE)) for path in paths if path.is_relative_to(SOURCE)
    )


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    s = rng.normal(size=1_000)
    return s, rng.random(1_000) < 1 / (1 + np.exp(-s))


@pytest.fixture(scope="module")
def model(rows):
    s, y = rows
    return abers.CVAPClassifier(GaussianNB(), random_state=0).fit(s[:, None], y)


def test_a_fit_and_a_lookup_pass_few_files(rows):
    rule = abers.fit_rule(*rows)
    assert files_of(lambda: abers.fit_rule(*rows)) == [
        "core/diagram.py",
        "core/fit.py",
        "core/inverted.py",
        "core/rule.py",
        "validation.py",
    ]
    assert files_of(lambda: rule.bounds(rows[0])) == ["core/rule.py", "validation.py"]


def test_a_classifier_passes_its_own_room_and_the_core(rows, model):
    s, y = rows
    fitted = files_of(lambda: model.fit(s[:, None], y))
    asked = files_of(lambda: model.predict_proba(s[:, None]))
    assert {name.split("/")[0] for name in (*fitted, *asked)} == {
        "core",
        "estimators",
        "validation.py",
    }
    assert len(fitted) <= 14
    assert len(asked) <= 8


@pytest.fixture
def command(monkeypatch):
    """Return what runs a command in this process, and undo what it does to signals."""
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    handler = signal.getsignal(signal.SIGTERM)

    def files_of_command(*arguments):
        def call():
            assert run([*map(str, arguments)]) == FINE

        return files_of(call)

    yield files_of_command
    signal.signal(signal.SIGTERM, handler)


def test_a_table_becomes_a_rule_and_probabilities_on_a_short_way(
    rows, tmp_path, command
):
    """Of few rows the calibration error is estimated, too, by three files more."""
    table, rule, out = (tmp_path / name for name in ("t.csv", "r.abers", "o.csv"))
    header = {"delimiter": ",", "header": "score,label", "comments": ""}
    np.savetxt(table, np.column_stack(rows), **header)
    fitted = command("fit", table, "-o", rule, "--force")
    assert len(fitted) <= 24
    estimated = ["evaluation/change.py", "evaluation/metrics.py", "core/merging.py"]
    assert set(estimated) < set(fitted)
    many = tmp_path / "many.csv"
    np.savetxt(many, np.tile(np.column_stack(rows), (3, 1)), **header)
    assert sorted([*command("fit", many, "-o", rule, "--force"), *estimated]) == fitted
    asked = command("predict", rule, table, "--score", "score", "-o", out, "--force")
    assert len(asked) <= 19


def test_an_evaluation_and_its_page_do_not_wander(rows, tmp_path):
    """Limits to what there is: who needs another file has a reason, and raises them."""
    rule = abers.fit_rule(*rows)
    found = abers.evaluate(rule, *rows)
    assert len(files_of(lambda: abers.evaluate(rule, *rows))) <= 16
    assert len(files_of(lambda: found.to_html(tmp_path / "page.html"))) <= 22
