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
    loss_of,
    mismatches,
    probes,
    probes_of_steps,
    rule_of,
    rules,
    stacked_rules,
)
from export_engines import path_of

RULES = rules()
STACKED = stacked_rules()
CALIBRATORS = calibrators()
NAN = float("nan")
STRICT = ["-O2", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-lm"]

C = """
#include <stdio.h>
#include "Served.h"
int main(int argc, char **argv) {
  double score;
  LOAD
  while (fread(&score, sizeof score, 1, stdin) == 1) {
    Served_answer a = Served_read(score);
    double row[3] = {a.lower, a.upper, a.probability};
    fwrite(row, sizeof row[0], 3, stdout);
  }
  return argc < 0 || !argv;
}
"""
JAVA = """
import java.io.*;
import java.nio.*;

public class Main {
    public static void main(String[] args) throws IOException {
        ByteBuffer in = ByteBuffer.wrap(System.in.readAllBytes());
        in.order(ByteOrder.LITTLE_ENDIAN);
        ByteBuffer out = ByteBuffer.allocate(3 * in.remaining());
        out.order(ByteOrder.LITTLE_ENDIAN);
        while (in.hasRemaining()) {
            double s = in.getDouble();
            out.putDouble(Served.lower(s)).putDouble(Served.upper(s));
            out.putDouble(Served.probability(s));
        }
        System.out.write(out.array());
        System.out.flush();
    }
}
"""
JAVASCRIPT = """
import { readFileSync, writeSync } from "node:fs";
import * as served from "./Served.mjs";
const bytes = (path) => {
  const read = readFileSync(path);
  return read.buffer.slice(read.byteOffset, read.byteOffset + read.byteLength);
};
if (served.load) served.load(bytes("Served.bin"));
const scores = new Float64Array(bytes("scores"));
const rows = new Float64Array(3 * scores.length);
scores.forEach((score, k) => {
  const { lower, upper, probability } = served.read(score);
  rows.set([lower, upper, probability], 3 * k);
});
const made = new Uint8Array(rows.buffer);
for (let done = 0; done < made.length; ) done += writeSync(1, made, done);
"""


OF_CALIBRATOR = """
#include <stdio.h>
#include "Served.h"
int main(void) {
  double scores[Served_models * Served_columns];
  Served_answer answers[Served_answers];
  LOAD
  while (fread(scores, sizeof scores, 1, stdin) == 1) {
    Served_read(scores, answers);
    fwrite(answers, sizeof answers, 1, stdout);
  }
  return 0;
}
"""


class Program:
    """A rule in some language, and a program that applies it."""

    def __init__(self, folder, options=STRICT):
        self.folder, self.options = folder, options

    is_stacked = False  # whether the function `stacked` answers

    def answers(self, rule, scores):
        for name, text in to_source(rule, self.language, name="Served").items():
            (self.folder / name).write_bytes(text)
        self.build()
        scores = np.asarray(scores, dtype=float)
        (self.folder / "scores").write_bytes(scores.tobytes())
        made = self.run(*self.command(), piped=scores.tobytes())
        return np.frombuffer(made).reshape(-1, 3)

    def build(self):
        pass

    def run(self, program, *arguments, piped=b""):
        return subprocess.run(
            [path_of(program), *arguments],
            cwd=self.folder,
            input=piped,
            check=True,
            stdout=subprocess.PIPE,
        ).stdout


class CProgram(Program):
    language = "c"

    def build(self):
        is_beside = (self.folder / "Served.bin").exists()
        load = 'if (Served_load("Served.bin")) return 1;' if is_beside else ""
        code = C.replace("LOAD", load)
        if self.is_stacked:
            code = code.replace("Served_read", "Served_stacked")
        (self.folder / "main.c").write_text(code)
        self.run("gcc", "-std=c99", "main.c", "-o", "main", *self.options)

    def command(self):
        return (str(self.folder / "main"),)


class CalibratorProgram(CProgram):
    """A calibrator of several models or classes."""

    def answers(self, calibrator, rows):
        made = to_source(calibrator, "c", name="Served", loss=loss_of(calibrator))
        for name, text in made.items():
            (self.folder / name).write_bytes(text)
        is_beside = (self.folder / "Served.bin").exists()
        load = 'if (Served_load("Served.bin")) return 1;' if is_beside else ""
        (self.folder / "main.c").write_text(OF_CALIBRATOR.replace("LOAD", load))
        self.run("gcc", "-std=c99", "main.c", "-o", "main", *self.options)
        read = self.run(*self.command(), piped=np.ascontiguousarray(rows).tobytes())
        return np.frombuffer(read).reshape(len(rows), -1, 3)


class JavaProgram(Program):
    language = "java"

    def build(self):
        code = JAVA
        if self.is_stacked:
            for place, name in enumerate(("lower", "upper", "probability")):
                code = code.replace(f"Served.{name}(s)", f"Served.stacked(s)[{place}]")
        (self.folder / "Main.java").write_text(code)
        self.run("javac", "-Xlint:all", "-Werror", "Main.java", "Served.java")

    def command(self):
        return ("java", "-Xshare:auto", "-cp", ".", "Main")


class JavaScriptProgram(Program):
    language = "javascript"

    def build(self):
        code = JAVASCRIPT
        if self.is_stacked:
            code = code.replace("served.read", "served.stacked")
        (self.folder / "main.mjs").write_text(code)

    def command(self):
        return ("node", "main.mjs")


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
    found = program.answers(rule, np.r_[scores, outside])
    assert largest_difference(found[: scores.size], answers(rule, scores)) <= 1e-12
    assert np.isnan(found[scores.size :]).all()


def test_a_hundred_thousand_scores(program):
    scores = np.random.default_rng(0).normal(size=100_000)
    rule = RULES["middling"]
    assert mismatches(program.answers(rule, scores), answers(rule, scores)) == 0


@pytest.mark.parametrize("scores", [[], [0.5]], ids=["no row", "one row"])
def test_few_rows(program, scores):
    rule = RULES["rare"]
    assert mismatches(program.answers(rule, scores), answers(rule, scores)) == 0


def test_nan_has_no_answer(program):
    found = program.answers(RULES["rare"], [NAN, 0.5, -NAN])
    assert np.isnan(found[[0, 2]]).all()
    assert mismatches(found[1], answers(RULES["rare"], [0.5])) == 0


def test_a_million_steps_are_in_a_file_beside_the_code(program):
    rule = rule_of(1_000_000)
    scores = probes(rule)[::7]
    found = program.answers(rule, scores)
    assert (program.folder / "Served.bin").stat().st_size == 32_000_000
    assert mismatches(found, answers(rule, scores)) == 0


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
    found = program.answers(RULES["denormal"], scores)
    assert mismatches(found[:-1], answers(RULES["denormal"], scores[:-1])) == 0
    assert np.isnan(found[-1]).all()


@pytest.mark.parametrize("option", ["-ffast-math", "-Ofast", "-ffinite-math-only"])
def test_c_refuses_to_forget_nan(option, tmp_path, capfd):
    program = CProgram(tmp_path, [*STRICT, option])
    with pytest.raises(subprocess.CalledProcessError):
        program.answers(RULES["one row"], [0.5])
    assert "must be compiled without" in capfd.readouterr().err


def test_the_header_is_cpp_too(tmp_path):
    made = to_source(RULES["rare"], "c", name="Served")
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
    found = CalibratorProgram(tmp_path).answers(calibrator, np.r_[rows, missing])
    assert np.isnan(found[-1]).all()
    expected = all_answers(calibrator, rows).reshape(found[:-1].shape)
    assert largest_difference(found[:-1], expected) <= 1e-12
    if kind.startswith("pooled"):
        assert mismatches(found[:-1], expected) == 0


def test_many_rows_of_several_models_are_in_a_file_beside_the_code(tmp_path):
    rng = np.random.default_rng(0)
    scores, folds = rng.normal(size=60_000), rng.integers(0, 5, 60_000)
    labels = rng.random(60_000) < 1 / (1 + np.exp(-scores))
    rule = abers.rules.fit_pooled_rule(scores, labels, folds)
    new = np.r_[rng.normal(size=(100_000, 5)), np.tile(EDGES, (5, 1)).T]
    found = CalibratorProgram(tmp_path).answers(rule, new)
    assert (tmp_path / "Served.bin").exists()
    assert mismatches(found, answers(rule, new)) == 0
