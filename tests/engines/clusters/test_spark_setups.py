"""Spark Connect, workers without abers, no Java: each in a process of its own."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from abers.engines.spark import check_java
from abers.errors import MissingExtra
from engine_rows import SETTINGS

FITTED = """
import json, sys, warnings
warnings.simplefilter("ignore")
import abers
from pyspark.sql import SparkSession
builder = SparkSession.builder
remote, settings = json.loads(sys.argv[1])
for name, value in settings.items():
    builder = builder.config(name, value)
spark = (builder.remote("local[2]") if remote else builder).getOrCreate()
"""
ON_CONNECT = """
from pyspark.sql.connect.dataframe import DataFrame
df = spark.range(200, numPartitions=3).selectExpr("sin(id) AS s", "id % 3 = 0 AS y")
assert isinstance(df, DataFrame)
scores, labels = zip(*df.collect())
local = abers.fit_rule(scores, labels)
assert abers.engines.spark.fit_rule(df, score="s", label="y") == local
assert abers.engines.spark.fit_rule(df, score="s", label="y", n_parts=3) == local
fit = abers.engines.spark.fit_table(df, score="s", label="y")
rows = abers.engines.spark.add_bounds(df, fit.rule, score="s").collect()
assert [row.lower for row in rows] == local.bounds(scores)[:, 0].tolist()
folder = sys.argv[2]
def noted(batches):
    import uuid
    from pathlib import Path
    Path(folder, uuid.uuid4().hex).touch()
    yield from batches
abers.engines.spark.fit_rule(df.mapInArrow(noted, df.schema), score="s", label="y")
try:
    maybe = df.selectExpr("s", "'maybe' AS y")
    abers.engines.spark.fit_rule(maybe, score="s", label="y")
except abers.errors.InvalidData as error:
    assert "got 'maybe' in 200 of 200 rows" in str(error)
    print("as expected")
"""
WITHOUT_ABERS = """
df = spark.range(3).selectExpr("id AS s", "id % 2 AS y")
try:
    abers.engines.spark.fit_rule(df, score="s", label="y")
except abers.errors.MissingExtra as error:
    print(error)
"""


def run(script, settings, *arguments, remote=False, **environment):
    import json

    command = [sys.executable, "-c", FITTED + script, json.dumps([remote, settings])]
    done = subprocess.run(
        [*command, *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_behind_connect_all_is_the_same(tmp_path):
    """No SparkContext and no RDD is there; the input runs once there, too."""
    settings = {name: SETTINGS[name] for name in SETTINGS if name != "spark.master"}
    out = run(ON_CONNECT, settings, str(tmp_path), remote=True)
    assert "as expected" in out
    assert len(list(tmp_path.iterdir())) == 3


def test_workers_without_abers_are_named(tmp_path):
    """Their Python has what Spark needs, and not abers."""
    venv.create(tmp_path / "other", with_pip=False)
    other = tmp_path / "other" / "bin" / "python"
    folder = next(Path(tmp_path / "other").glob("lib/python*/site-packages"))
    import numpy as np
    import pandas as pd
    import pyarrow as pa

    for module in (np, pa, pd):
        source = Path(module.__file__).parent
        for path in source.parent.glob(f"{module.__name__}*"):
            (folder / path.name).symlink_to(path)
    for name in ("dateutil", "six.py", "pytz", "tzdata"):
        if (source.parent / name).exists():
            (folder / name).symlink_to(source.parent / name)
    out = run(WITHOUT_ABERS, SETTINGS, PYSPARK_PYTHON=str(other))
    assert out.startswith("workers must have abers and what it needs installed")
    assert "lacks abers" in out


def fake_java(folder, version):
    java = folder / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)


def test_java_that_is_missing_or_too_old_is_said_in_one_line(tmp_path, monkeypatch):
    check_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(MissingExtra, match=r"which has none\. Install a Java runtime"):
        check_java()
    fake_java(tmp_path, "1.8.0_392")
    with pytest.raises(MissingExtra, match=r"is Java 8\. Install a Java runtime"):
        check_java()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingExtra, match="Spark needs Java 17 or newer; found none"):
        check_java()
