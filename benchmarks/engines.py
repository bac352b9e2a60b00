"""What an exact fit and a prediction cost on Spark, beside Spark's own work.

CPU-seconds of this process and all that it has started, as medians of three warm runs;
ratios of one run are what to trust. Linux only: it reads /proc.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

from abers.spark import add_bounds, check_java, fit_rule, fit_rules, fitting

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

ROWS = 10_000_000
RUNS = 3
SETTINGS = {
    "spark.master": "local[2]",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "4g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "8",
    "spark.log.level": "ERROR",
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
    """Return the bytes of heads, of reports and of the pieces of the rule."""
    sizes: list[int] = []
    collected = fitting.collected

    def weighed(frame: DataFrame) -> list[tuple[Any, ...]]:
        found = collected(frame)
        cells = (cell for row in found for cell in row if isinstance(cell, bytes))
        sizes.append(sum(map(len, cells)))
        return found

    fitting.collected = weighed
    try:
        fit_rule(df, score="score", label="label", n_parts=n_parts)
    finally:
        fitting.collected = collected
    return sizes


def main(n_rows: int = ROWS) -> None:
    """Measure, and print a table."""
    check_java()
    warnings.filterwarnings("ignore", "PySpark does not yet", FutureWarning)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    with tempfile.TemporaryDirectory() as folder:
        path, out, copy = (f"{folder}/{name}" for name in ("rows", "out", "copy"))
        drawn = spark.range(n_rows, numPartitions=8).selectExpr("randn(1) AS score")
        label = "CAST(rand(2) < 1 / (1 + exp(-score)) AS INT) AS label"
        drawn.selectExpr("score", label).write.parquet(path)
        df = spark.read.parquet(path)

        def write(frame: DataFrame) -> Callable[[], None]:
            return lambda: frame.write.mode("overwrite").parquet(out)

        counted = df.groupBy("score").agg({"label": "sum", "*": "count"})
        sink = counted.write.format("noop").mode("overwrite")
        grouped = median(sink.save)
        fitted = median(lambda: fit_rule(df, score="score", label="label", n_parts=8))
        rule = fit_rule(df, score="score", label="label", n_parts=8)
        three = ["*", "score + 1 AS lower", "score + 2 AS upper", "score + 3 AS p"]
        written = median(write(df.selectExpr(*three)))
        predicted = median(write(add_bounds(df, rule, score="score")))
        spark.read.parquet(out).write.parquet(copy)
        copied = median(write(spark.read.parquet(copy)))
        shops = df.selectExpr("*", "pmod(hash(score), 3) AS shop")
        small = shops.limit(n_rows // 100)
        rules = fit_rules(small, score="score", label="label", by="shop")
        asked = median(write(add_bounds(shops, rules, score="score", by="shop")))
        heads, reports, pieces = bytes_to_driver(df, 64)
    spark.stop()
    print(f"{n_rows:,} rows, all scores distinct, local[2]\n")
    print("| | CPU s | ratio |")
    print("|---|---|---|")
    print(f"| groupBy(score) alone | {grouped:.1f} | 1 |")
    print(f"| fit_rule, 8 parts | {fitted:.1f} | {fitted / grouped:.2f} |")
    rows = [
        ("read, write three columns that Spark computes", written),
        ("read, write the very rows that add_bounds gave", copied),
        ("read, write the three of add_bounds", predicted),
        ("the same for groups, by Python", asked),
    ]
    for name, spent in rows:
        print(f"| {name} | {spent:.1f} | {spent / written:.2f} |")
    print(
        f"\nTo the driver at 64 parts: {(heads + reports) / 1000:.0f} kB, and "
        f"{pieces / 1000:.0f} kB of the rule."
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
