"""Exports: nanoseconds a row by each route, beside abers and beside doing nothing.

Doing nothing is what a route costs without the rule: the engine adds up the scores. A
route applies a rule and adds up the probabilities. Sizes of files come last. Run it by
`make bench-exports`, which starts the engines.
"""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from onnxruntime import InferenceSession, SessionOptions
from timing import best_times, once

import abers
from abers.export import steps, to_json, to_onnx, to_source, to_sql
from export_cases import EDGES, all_answers, calibrators, rule_of, rules, stacked_rules
from export_engines import (
    OPENERS,
    CalibratorProgram,
    CProgram,
    JavaProgram,
    JavaScriptProgram,
    opened,
    path_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from onnx import ModelProto

    from abers.rules import Rule

N_ROWS = 1_000_000
N_STEPS = 5_000
LARGE = 1_000_000  # steps
N_DIFFICULT = 100_000
SUFFIXES = ("csv", "csv.gz", "json", "parquet", "arrow")

C = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "Rule.h"
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}
int main(void) {
  const size_t n = ROWS;
  double *s = malloc(n * sizeof *s), best[2] = {1e9, 1e9}, sum = 0;
  if (fread(s, sizeof *s, n, stdin) != n) return 1;
  for (int round = 0; round < 7; ++round)
    for (int job = 0; job < 2; ++job) {
      const double start = now();
      for (size_t i = 0; i < n; ++i) sum += job ? Rule_read(s[i]).probability : s[i];
      const double took = now() - start;
      if (took < best[job]) best[job] = took;
    }
  printf("%g %g %g\\n", 1e9 * best[0] / n, 1e9 * best[1] / n, sum);
  return 0;
}
"""
JAVA = """
import java.nio.*;

public class Main {
    public static void main(String[] args) throws Exception {
        double[] s = new double[ROWS];
        ByteBuffer.wrap(System.in.readAllBytes()).order(ByteOrder.LITTLE_ENDIAN)
            .asDoubleBuffer().get(s);
        double[] best = {1e18, 1e18};
        double sum = 0;
        for (int round = 0; round < 7; round++)
            for (int job = 0; job < 2; job++) {
                long start = System.nanoTime();
                for (double x : s) sum += job == 1 ? Rule.probability(x) : x;
                best[job] = Math.min(best[job], System.nanoTime() - start);
            }
        System.out.println(best[0] / s.length + " " + best[1] / s.length + " " + sum);
    }
}
"""
JAVASCRIPT = """
import { readFileSync } from "node:fs";
import { read } from "./Rule.mjs";
const bytes = readFileSync("scores");
const s = new Float64Array(ROWS);
s.forEach((_, k) => (s[k] = bytes.readDoubleLE(8 * k)));
const best = [Infinity, Infinity];
let sum = 0;
for (let round = 0; round < 7; round++)
  for (let job = 0; job < 2; job++) {
    const start = performance.now();
    for (let k = 0; k < s.length; k++) sum += job ? read(s[k]).probability : s[k];
    best[job] = Math.min(best[job], performance.now() - start);
  }
console.log((1e6 * best[0]) / s.length, (1e6 * best[1]) / s.length, sum);
"""
PROGRAMS = {
    "c": ("main.c", C, ("gcc", "-O2", "main.c", "-o", "main", "-lm"), ("./main",)),
    "java": ("Main.java", JAVA, ("javac", "Main.java", "Rule.java"), ("java", "Main")),
    "javascript": ("main.mjs", JAVASCRIPT, (), ("node", "main.mjs")),
}


def main() -> None:
    """Measure and print tables."""
    rule = rule_of(N_STEPS)
    scores = np.random.default_rng(0).random(N_ROWS)
    print(f"{N_STEPS:,} steps; nanoseconds a row, the least of several runs.\n")
    print("| route | rows | nothing | the rule | abers |\n|---|---|---|---|---|")
    ours = ns_of_abers(rule, scores)
    print(f"| abers | {N_ROWS:,} | | | {ours:.0f} |")
    for language in PROGRAMS:
        nothing, applied = ns_of_program(language, rule, scores)
        show(language, N_ROWS, nothing, applied, ns_of_abers(rule, scores))
    nothing, applied = ns_of_graph(rule, scores)
    show("ONNX", N_ROWS, nothing, applied, ns_of_abers(rule, scores))
    for dialect in OPENERS:
        nothing, applied = ns_of_database(dialect, rule, scores)
        show(dialect, N_ROWS, nothing, applied, ns_of_abers(rule, scores))
    show_sizes()
    show_differences()


def show(route: str, n_rows: int, nothing: float, applied: float, ours: float) -> None:
    """Print a line of the table of times."""
    print(f"| {route} | {n_rows:,} | {nothing:.0f} | {applied:.0f} | {ours:.0f} |")
    sys.stdout.flush()


def ns_of_abers(rule: Rule, scores: np.ndarray) -> float:
    """Return the nanoseconds that abers takes for a probability."""
    (best,) = best_times([lambda: rule.probability(scores).sum()])
    return 1e9 * best / scores.size


def ns_of_program(language: str, rule: Rule, scores: np.ndarray) -> tuple[float, float]:
    """Compile a rule; return the nanoseconds a row of nothing and of the rule."""
    name, text, build, run = PROGRAMS[language]
    with tempfile.TemporaryDirectory() as folder:
        for file, code in to_source(rule, language, name="Rule").items():
            Path(folder, file).write_bytes(code)
        Path(folder, name).write_text(text.replace("ROWS", str(scores.size)))
        Path(folder, "scores").write_bytes(scores.tobytes())
        if build:
            command = [path_of(build[0]), *build[1:]]
            subprocess.run(command, cwd=folder, check=True)
        program = str(Path(folder, "main")) if run == ("./main",) else path_of(run[0])
        done = subprocess.run(
            [program, *run[1:]],
            cwd=folder,
            check=True,
            input=scores.tobytes(),
            stdout=subprocess.PIPE,
        )
    nothing, applied, _ = map(float, done.stdout.split())
    return nothing, applied


def opened_graph(model: ModelProto) -> InferenceSession:
    """Return a session that runs a graph by one thread."""
    options = SessionOptions()
    options.intra_op_num_threads = 1
    return InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def ns_of_graph(rule: Rule, scores: np.ndarray) -> tuple[float, float]:
    """Run a graph; return the nanoseconds a row of nothing and of the rule."""
    session = opened_graph(to_onnx(rule))

    def applied() -> float:
        return float(session.run(["probability"], {"score": scores})[0].sum())

    times = best_times([scores.sum, applied])
    return 1e9 * times[0] / scores.size, 1e9 * times[1] / scores.size


def ns_of_database(dialect: str, rule: Rule, scores: np.ndarray) -> tuple[float, float]:
    """Fill a database; return the nanoseconds a row of nothing and of the rule."""
    with opened(dialect) as engine:
        engine.clear()
        engine.fill(scores.tolist(), None)
        query = engine.set_up(rule)
        table, score = (engine.quoted(engine.names[key]) for key in ("scores", "score"))
        nothing = f"SELECT sum({score}) FROM {table}"
        applied = f"SELECT sum(probability) FROM ({query}) AS q"
        times = [
            min(once(lambda text=text: engine.rows(text)) for _ in range(3))
            for text in (nothing, applied)
        ]
    return 1e9 * times[0] / scores.size, 1e9 * times[1] / scores.size


def show_sizes() -> None:
    """Print how large the files are."""
    print(f"\nBytes of files of {N_STEPS:,} and {LARGE:,} steps.\n")
    print("| file | small | large |\n|---|---|---|")
    rules = [rule_of(N_STEPS), rule_of(LARGE)]
    with tempfile.TemporaryDirectory() as folder:
        for suffix in SUFFIXES:
            sizes = []
            for rule in rules:
                path = Path(folder, f"steps.{suffix}")
                steps(rule).write(path, force=True)
                sizes.append(path.stat().st_size)
            show_size(f".{suffix}", sizes)
    show_size(".onnx", [to_onnx(rule).ByteSize() for rule in rules])
    for language in PROGRAMS:
        made = [to_source(rule, language, name="Rule") for rule in rules]
        show_size(language, [sum(map(len, files.values())) for files in made])
    names = {"table": "steps", "scores": "scores", "score": "score"}
    scripts = [to_sql(rule, "postgres", **names).script.encode() for rule in rules]
    show_size("SQL, postgres", [len(text) for text in scripts])
    show_size("the same, gzip", [len(gzip.compress(text)) for text in scripts])


def show_size(name: str, sizes: list[int]) -> None:
    """Print a line of the table of sizes."""
    small, large = (f"{size / 2**20:.2f} MiB" for size in sizes)
    print(f"| {name} | {small} | {large} |")


def difficult(size: int, seed: int = 1) -> np.ndarray:
    """Return scores: random ones, ties, the ends of doubles, infinities and NaN."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=size) * 2
    scores[: size // 4] = scores[: size // 4].round(1)
    scores[-1_000:] = np.resize(EDGES, 1_000)
    scores[-2_000:-1_000] = np.nan
    return scores


def show_differences() -> None:
    """Print how far each target is from abers, and what it takes, start included."""
    print(f"\n{N_DIFFICULT:,} rows with ties, extremes, infinities and NaN:")
    print("the largest difference from abers, CPU microseconds per row (of a server,")
    print("those of its client), and bytes.\n")
    print("| what | target | difference | CPU | bytes |\n|---|---|---|---|---|")
    scores = difficult(N_DIFFICULT)
    stacked = stacked_rules()
    with np.errstate(over="ignore"):
        p = 1 / (1 + np.exp(-scores))
    cases = {
        "rule": (rules()["infinite"], scores),
        "stacked, of margins": (stacked["infinite"][0], scores),
        "CalibratedClassifier, frozen": (stacked["frozen"][0], p),
    }
    for what, (fitted, given) in cases.items():
        show_targets(what, fitted, given)
    columns = np.stack([difficult(N_DIFFICULT, seed) for seed in range(3)], axis=1)
    several = calibrators()
    for what in ("models", "pooled", "minimax", "margins of models"):
        fitted = several[what][0]
        given = columns
        if fitted.reads == "probability":
            with np.errstate(over="ignore"):
                given = 1 / (1 + np.exp(-columns))
        show_program(f"{what}, K = 3", fitted, given)
    shares = np.random.default_rng(2).dirichlet(np.ones(3), N_DIFFICULT)
    shares[:1_000] = np.nan
    shares[1_000:4_000] = np.repeat(np.eye(3), 1_000, axis=0)
    show_program("CalibratedClassifier, C = 3", several["classes"][0], shares)
    show_graph("CalibratedClassifier, C = 3", several["classes"][0], shares)


def show_targets(what: str, fitted: Rule, given: np.ndarray) -> None:
    """Print a line for each target of one number per row."""
    show_graph(what, fitted, given)
    for kind in (CProgram, JavaProgram, JavaScriptProgram):
        with tempfile.TemporaryDirectory() as folder:
            program = kind(Path(folder))
            program.is_stacked = isinstance(fitted, abers.rules.StackedRule)
            measured = timed(lambda run=program: run.answers(fitted, given))
        made = to_source(fitted, program.language, name="Served")
        size = sum(map(len, made.values()))
        show_difference(what, program.language, fitted, given, (*measured, size))
    rows = [None if np.isnan(x) else x for x in given.tolist()]
    rows[-1_500:-1_000] = [float("nan")] * 500
    for dialect in OPENERS:
        if dialect == "sqlite" and getattr(fitted, "is_rounded", False):
            continue
        with opened(dialect) as engine:
            measured = timed(lambda run=engine: run.answers(fitted, rows))
        names = {"table": "steps", "scores": "scores", "score": "score"}
        sql = to_sql(fitted, dialect, **names)
        size = len("".join((*sql.setup, sql.query))) + 48 * sum(
            map(len, sql.parameters)
        )
        show_difference(what, dialect, fitted, given, (*measured, size))


def show_graph(what: str, fitted: Rule, given: np.ndarray) -> None:
    """Print the line of ONNX Runtime."""
    model = to_onnx(fitted)
    session = opened_graph(model)
    names = ["lower", "upper", "probability"]
    measured = timed(lambda: np.stack(session.run(names, {"score": given}), axis=-1))
    show_difference(what, "ONNX", fitted, given, (*measured, model.ByteSize()))


def show_program(what: str, fitted: Rule, given: np.ndarray) -> None:
    """Print the line of C, of a calibrator of several models or classes."""
    with tempfile.TemporaryDirectory() as folder:
        program = CalibratorProgram(Path(folder))
        measured = timed(lambda: program.answers(fitted, given))
    size = sum(map(len, to_source(fitted, "c", name="Served").values()))
    show_difference(what, "c", fitted, given, (*measured, size))
    print(f"| {what} | JSON | | | {len(to_json(fitted)):,} |")


def timed(job: Callable[[], np.ndarray]) -> tuple[np.ndarray, float]:
    """Return what a job returns, and its CPU seconds, of programs it runs, too."""
    before = sum(os.times()[:4])
    found = job()
    return found, sum(os.times()[:4]) - before


def show_difference(
    what: str,
    target: str,
    fitted: Rule,
    given: np.ndarray,
    measured: tuple[np.ndarray, float, int],
) -> None:
    """Compare with abers; missing rows must be missing, and no others."""
    found, cpu, size = measured
    seen = ~np.isnan(given.reshape(len(given), -1)).any(axis=1)
    expected = all_answers(fitted, given[seen])
    found = np.reshape(found, (len(given), *expected.shape[1:]))
    if not np.isnan(found[~seen]).all() or np.isnan(found[seen]).any():
        msg = f"{target} must have no answer where, and only where, a score is missing."
        raise AssertionError(msg)
    largest = abs(found[seen] - expected).max()
    per_row = 1e6 * cpu / len(given)
    print(f"| {what} | {target} | {largest:.1e} | {per_row:.2f} | {size:,} |")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
