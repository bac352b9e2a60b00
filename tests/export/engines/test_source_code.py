"""Rules as source code answer as the rule does, to the bit, compiled and run."""

import subprocess

import numpy as np
import pytest

import abers
from abers.export import to_source
from export_cases import (
    EDGES,
    all_answers,
    answers,
    answers_of_steps,
    calibrators,
    largest_difference,
    mismatches,
    probes,
    probes_of_steps,
    rule_of,
    rules,
    stacked_rules,
)
from export_engines import (
    STRICT,
    CalibratorProgram,
    CProgram,
    JavaProgram,
    JavaScriptProgram,
    path_of,
)

RULES = rules()
STACKED = stacked_rules()
CALIBRATORS = calibrators()
NAN = float("nan")


@pytest.fixture(
    params=[CProgram, JavaProgram, JavaScriptProgram], ids=lambda p: p.language
)
def program(request, tmp_path):
    return request.param(tmp_path)


@pytest.mark.parametrize("kind", RULES)
def test_every_kind_of_rule(program, kind):
    """At each threshold, beside it, at the edges of doubles, and in between."""
    scores = probes(RULES[kind])
    assert (
        mismatches(program.answers(RULES[kind], scores), answers(RULES[kind], scores))
        == 0
    )


@pytest.mark.parametrize("kind", STACKED)
def test_every_kind_of_stacked_rule(program, kind):
    rule, scores = STACKED[kind]
    beside = probes_of_steps(rule)
    exact = program.answers(rule, beside)
    assert mismatches(exact, answers_of_steps(rule, beside)) == 0
    program.is_stacked = True
    outside = [NAN, -0.1, 1.1] if rule.reads == "probability" else [NAN]
    predictions = program.answers(rule, np.r_[scores, outside])
    assert (
        largest_difference(predictions[: scores.size], answers(rule, scores)) <= 1e-12
    )
    assert np.isnan(predictions[scores.size :]).all()


def test_a_hundred_thousand_scores(program):
    scores = np.random.default_rng(0).normal(size=100_000)
    rule = RULES["middling"]
    assert mismatches(program.answers(rule, scores), answers(rule, scores)) == 0


@pytest.mark.parametrize("scores", [[], [0.5]], ids=["no row", "one row"])
def test_few_rows(program, scores):
    rule = RULES["rare"]
    assert mismatches(program.answers(rule, scores), answers(rule, scores)) == 0


def test_nan_has_no_answer(program):
    predictions = program.answers(RULES["rare"], [NAN, 0.5, -NAN])
    assert np.isnan(predictions[[0, 2]]).all()
    assert mismatches(predictions[1], answers(RULES["rare"], [0.5])) == 0


def test_a_million_steps_are_in_a_file_beside_the_code(program):
    rule = rule_of(1_000_000)
    scores = probes(rule)[::7]
    predictions = program.answers(rule, scores)
    assert (program.folder / "Served.bin").stat().st_size == 32_000_000
    assert mismatches(predictions, answers(rule, scores)) == 0


def test_many_steps_are_within_the_code(program):
    """Where array literals of Java would be too large."""
    rule = rule_of(60_000)
    scores = probes(rule)
    assert mismatches(program.answers(rule, scores), answers(rule, scores)) == 0
    assert not (program.folder / "Served.bin").exists()


@pytest.mark.parametrize("option", ["-O3", "-ffp-contract=fast", "-funroll-loops"])
def test_optimised_c_has_the_same_bits(option, tmp_path):
    program = CProgram(tmp_path, [*STRICT, "-march=native", option])
    scores = np.r_[probes(RULES["denormal"]), NAN]
    predictions = program.answers(RULES["denormal"], scores)
    assert mismatches(predictions[:-1], answers(RULES["denormal"], scores[:-1])) == 0
    assert np.isnan(predictions[-1]).all()


@pytest.mark.parametrize("option", ["-ffast-math", "-Ofast", "-ffinite-math-only"])
def test_c_refuses_to_forget_nan(option, tmp_path, capfd):
    program = CProgram(tmp_path, [*STRICT, option])
    with pytest.raises(subprocess.CalledProcessError):
        program.answers(RULES["one row"], [0.5])
    assert "must be compiled without" in capfd.readouterr().err


@pytest.mark.parametrize(
    "fitted",
    [RULES["rare"], *(CALIBRATORS[k][0] for k in ("models", "minimax", "classes"))],
    ids=["rule", "models", "minimax", "classes"],
)
def test_the_header_is_cpp_too(fitted, tmp_path):
    made = to_source(fitted, "c", name="Served")
    (tmp_path / "Served.h").write_bytes(made["Served.h"])
    (tmp_path / "main.cpp").write_text(
        '#include "Served.h"\nint main() { return 0; }\n'
    )
    command = [path_of("gcc"), "-std=c++17", *STRICT[:4], "-fsyntax-only", "main.cpp"]
    subprocess.run(command, cwd=tmp_path, check=True)


@pytest.mark.parametrize("score", ['"0.5"', "null", "undefined", "1n"])
def test_javascript_refuses_what_is_no_number(score, tmp_path):
    """It would compare text and null as numbers."""
    made = to_source(RULES["rare"], "javascript", name="rule")
    (tmp_path / "rule.mjs").write_bytes(made["rule.mjs"])
    code = f'import {{ read }} from "./rule.mjs"; read({score});'
    (tmp_path / "main.mjs").write_text(code)
    command = [path_of("node"), "main.mjs"]
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True)
    assert b"a score must be a number" in done.stderr


@pytest.mark.parametrize("kind", CALIBRATORS)
def test_calibrators_of_several_models_or_classes(kind, tmp_path):
    calibrator, rows = CALIBRATORS[kind]
    missing = np.full((1, rows.shape[1]), NAN)
    predictions = CalibratorProgram(tmp_path).answers(calibrator, np.r_[rows, missing])
    assert np.isnan(predictions[-1]).all()
    expected = all_answers(calibrator, rows).reshape(predictions[:-1].shape)
    assert largest_difference(predictions[:-1], expected) <= 1e-12
    if kind.startswith("pooled"):
        assert mismatches(predictions[:-1], expected) == 0


def test_many_rows_of_several_models_are_in_a_file_beside_the_code(tmp_path):
    rng = np.random.default_rng(0)
    scores, folds = rng.normal(size=60_000), rng.integers(0, 5, 60_000)
    labels = rng.random(60_000) < 1 / (1 + np.exp(-scores))
    rule = abers.rules.fit_pooled_rule(scores, labels, folds)
    new = np.r_[rng.normal(size=(100_000, 5)), np.tile(EDGES, (5, 1)).T]
    predictions = CalibratorProgram(tmp_path).answers(rule, new)
    assert (tmp_path / "Served.bin").exists()
    assert mismatches(predictions, answers(rule, new)) == 0
