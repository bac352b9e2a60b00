"""What an exact fit and a prediction cost on Spark, beside Spark's own work.

CPU-seconds of this process and all that it has started, as medians of three warm runs
on one core; trust ratios of one run only. Linux only: it reads /proc.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

from abers.engines.spark import (
    add_bounds,
    check_java,
    exchange,
    fit_rule,
    fit_rules,
    fitting,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

ROWS = 10_000_000
RUNS = 3
SETTINGS = {
    "spark.master": "local[1]",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "4g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "8",
    "spark.log.level": "ERROR",
}
SCORES = {  # by kind, in Spark's SQL
    "all distinct": "randn(1)",
    "8,400 scores": "floor(rand(1) * 8400) / 8400",
    "90 % one score": "if(rand(3) < 0.9, 0.25, randn(1))",
}
PARENT, TIMES = 1, slice(11, 15)  # fields of /proc/pid/stat, after the name


def cpu_seconds() -> float:
    """Return what this process and all that descend from it have used so far."""
    facts = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        ticks = sum(map(int, fields[TIMES]))
        facts[int(path.parent.name)] = int(fields[PARENT]), ticks
    ours = {os.getpid()}
    while new := {pid for pid, (parent, _) in facts.items() if parent in ours} - ours:
        ours |= new
    return sum(facts[pid][1] for pid in ours) / os.sysconf("SC_CLK_TCK")


def median(work: Callable[[], object], runs: int = RUNS) -> float:
    """Return CPU-seconds of warm runs."""
    work()
    spent = []
    for _ in range(runs):
        before = cpu_seconds()
        work()
        spent.append(cpu_seconds() - before)
    return statistics.median(spent)


def bytes_to_driver(df: DataFrame, n_parts: int) -> list[int]:
    """Return the bytes of tallies, samples, summaries and the pieces of the rule."""
    sizes: list[int] = []
    collected = fitting.collected

    def weighed(frame: DataFrame) -> list[tuple[Any, ...]]:
        rows = collected(frame)
        cells = (cell for row in rows for cell in row)
        sizes.append(sum(len(cell) for cell in cells if isinstance(cell, bytes | str)))
        return rows

    fitting.collected = exchange.collected = weighed
    try:
        fit_rule(df, score="score", label="label", n_parts=n_parts)
    finally:
        fitting.collected = exchange.collected = collected
    return sizes


def fit_costs(df: DataFrame) -> dict[str, float]:
    """Return what Spark's own aggregation and sort cost, and a fit."""
    counted = df.groupBy("score").agg({"label": "sum", "*": "count"})
    ordered = df.orderBy("score")
    return {
        "groupBy(score)": median(counted.write.format("noop").mode("overwrite").save),
        "orderBy(score)": median(ordered.write.format("noop").mode("overwrite").save),
        "fit_rule": median(lambda: fit_rule(df, score="score", label="label")),
    }


def main(n_rows: int = ROWS) -> None:
    """Measure, and print a table."""
    check_java()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    with tempfile.TemporaryDirectory() as folder:
        frames = {}
        for number, (kind, score) in enumerate(SCORES.items()):
            drawn = spark.range(n_rows, numPartitions=8).selectExpr(f"{score} AS score")
            label = "CAST(rand(2) < 1 / (1 + exp(-score)) AS INT) AS label"
            drawn.selectExpr("score", label).write.parquet(f"{folder}/{number}")
            frames[kind] = spark.read.parquet(f"{folder}/{number}")
        print(f"{n_rows:,} rows, one core, CPU-seconds\n")
        print("| | groupBy(score) | orderBy(score) | fit_rule |")
        print("|---|---|---|---|")
        for kind, df in frames.items():
            spent = " | ".join(f"{each:.1f}" for each in fit_costs(df).values())
            print(f"| {kind} | {spent} |")
        print_bounds(frames["all distinct"], folder, n_rows)
        *others, pieces = bytes_to_driver(frames["all distinct"], 64)
    spark.stop()
    print(
        f"\nTo the driver at 64 parts: {sum(others) / 1000:.0f} kB, and "
        f"{pieces / 1000:.0f} kB of the rule."
    )


def print_bounds(df: DataFrame, folder: str, n_rows: int) -> None:
    """Print what adding bounds costs beside reading and writing the same rows."""
    out, copy = f"{folder}/out", f"{folder}/copy"

    def write(frame: DataFrame) -> Callable[[], None]:
        return lambda: frame.write.mode("overwrite").parquet(out)

    rule = fit_rule(df, score="score", label="label")
    three = ["*", "score + 1 AS lower", "score + 2 AS upper", "score + 3 AS p"]
    written = median(write(df.selectExpr(*three)))
    predicted = median(write(add_bounds(df, rule, score="score")))
    df.sparkSession.read.parquet(out).write.parquet(copy)
    copied = median(write(df.sparkSession.read.parquet(copy)))
    shops = df.selectExpr("*", "pmod(hash(score), 3) AS shop")
    small = shops.limit(n_rows // 100)
    rules = fit_rules(small, score="score", label="label", by="shop")
    grouped = median(write(add_bounds(shops, rules, score="score", by="shop")))
    rows = [
        ("read, write three columns that Spark computes", written),
        ("read, write the very rows that add_bounds gave", copied),
        ("read, write the three of add_bounds", predicted),
        ("the same for three groups", grouped),
    ]
    print("\n| | CPU s | ratio |\n|---|---|---|")
    for name, spent in rows:
        print(f"| {name} | {spent:.1f} | {spent / written:.2f} |")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
