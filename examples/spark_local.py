"""
Spark: the same rule where the rows are
=======================================

Rows in a warehouse need not travel. Each worker counts its own rows, a few bytes for
each distinct score; the sum of these counts gives the rule of all rows, equal to that
of a fit in memory, bit for bit. Here Spark runs in local mode; on a cluster only the
session differs. It needs Java 17 and ``pip install "abers[spark]"``.

The data are made by a formula.
"""

import numpy as np
from pyspark.sql import SparkSession

import abers
import abers.engines.spark
from abers.plots import RuleDisplay

spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "2")
    .config("spark.ui.showConsoleProgress", "false")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")
scored = spark.range(20_000).selectExpr(
    "id", "sin(id) AS score", "sin(id) + cos(7 * id) > 0.5 AS label", "id % 3 AS shop"
)
scored.show(3)

# %%
# A fit runs at once, and reads the rows once. `fit_table` also reports what it has
# read.

fit = abers.engines.spark.fit_table(scored, score="score", label="label")
print(f"{fit.n_rows} rows, {fit.rule.n_positives} positive, AUC {fit.auc:.4f}")

# %%
# It is the rule of the same rows in memory:

rows = scored.select("score", "label").toArrow()
in_memory = abers.fit_rule(rows["score"], rows["label"])
print(fit.rule == in_memory)

# %%
# The rule has all that its picture needs; no row leaves Spark for it.

display = RuleDisplay.from_rule(fit.rule)

# %%
# `add_bounds` is lazy: three more columns, computed on request and where the rows are;
# streams work, too.

abers.engines.spark.add_bounds(scored, fit.rule, score="score").show(3)

# %%
# A rule for each shop:

rules = abers.engines.spark.fit_rules(scored, score="score", label="label", by="shop")
print(rules)
print(np.round(rules.bounds([0.5, 0.5], [0, 2]), 4))

spark.stop()
