"""The engines that rules are exported to: databases, started here, and compilers.

An engine that is missing fails the tests with a sentence that names its package: a test
of exports that skips what is not installed would test nothing.
"""

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from abers.export import to_source, to_sql
from abers.export.engines import ENGINES
from export_cases import loss_of

PACKAGES = {
    "initdb": "postgresql",
    "postgres": "postgresql",
    "java": "default-jdk-headless",
    "javac": "default-jdk-headless",
    "node": "nodejs",
    "gcc": "gcc",
}
PATIENCE = 60  # seconds that a server may take to start
NAMES = {
    "table": "the steps",
    "scores": 'new "scores"',
    "score": "s`c'ore",
    "group": "by",
}


def path_of(program):
    """Return the path of a program, or fail with the package that has it."""
    path = shutil.which(program)
    if path is None:
        msg = f"{program} must be installed: the package {PACKAGES[program]}."
        raise RuntimeError(msg)
    return path


@contextlib.contextmanager
def folder_of_its_own():
    """Give a folder, and options to run a process in it that is not root's."""
    folder = Path(tempfile.mkdtemp(prefix="abers-"))
    identity = {}
    if os.geteuid() == 0:
        identity = {"user": "nobody", "group": "nogroup", "extra_groups": []}
        shutil.chown(folder, "nobody", "nogroup")
    try:
        yield folder, {"cwd": folder, **identity}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def served(command, options, address):
    """Start a server and yield a connection to it; stop both in the end."""
    import psycopg

    log = options["cwd"] / "log"
    with log.open("wb") as file:
        server = subprocess.Popen(command, stdout=file, stderr=file, **options)
    try:
        end = time.monotonic() + PATIENCE
        while True:
            try:
                connection = psycopg.connect(address, autocommit=True)
                break
            except psycopg.OperationalError:
                if server.poll() is not None or time.monotonic() > end:
                    msg = f"{command[0]} must start; it wrote: {log.read_text()}"
                    raise RuntimeError(msg) from None
                time.sleep(0.1)
        with contextlib.closing(connection):
            yield connection
    finally:
        server.terminate()
        server.wait()


@contextlib.contextmanager
def postgres():
    """Start PostgreSQL on a socket in a folder of its own."""
    with folder_of_its_own() as (folder, options):
        subprocess.run(
            [path_of("initdb"), "-D", folder / "data", "-U", "abers", "--no-sync"],
            check=True,
            capture_output=True,
            env={"LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"]},
            **options,
        )
        settings = ("listen_addresses=", f"unix_socket_directories={folder}")
        command = [path_of("postgres"), "-D", str(folder / "data"), "-F"]
        for setting in settings:
            command += ["-c", setting]
        address = f"host={folder} user=abers dbname=postgres"
        with served(command, options, address) as connection:
            yield connection


class Database:
    """A database: a table of scores is filled, a rule applied, the answers read."""

    dialect = ""
    names = NAMES
    mark = '"'
    double, text = "DOUBLE", "VARCHAR"

    def quoted(self, name):
        return self.mark + name.replace(self.mark, self.mark * 2) + self.mark

    def answers(self, rule, scores, groups=None):
        """Return lower, upper and probability in the order of the rows."""
        self.clear()
        self.fill(scores, groups)
        query = self.set_up(rule, is_grouped=groups is not None)
        rows = self.rows(f"SELECT id, lower, upper, probability FROM ({query}) AS q")
        ordered = sorted(rows)
        assert [row[0] for row in ordered] == list(range(len(scores)))
        assert not any(x != x for row in ordered for x in row)  # noqa: PLR0124 (NaN)
        return np.array([row[1:] for row in ordered], dtype=float).reshape(-1, 3)

    def set_up(self, rule, *, is_grouped=False):
        """Create the steps of a rule, and return the query that applies it."""
        names = dict(self.names)
        if not is_grouped:
            del names["group"]
        sql = to_sql(rule, self.dialect, **names)
        for statement, rows in zip(sql.setup, sql.parameters, strict=True):
            self.execute(statement, rows)
        return sql.query

    def clear(self):
        for name in ("the steps", "the steps_groups", 'new "scores"'):
            self.execute(f"DROP TABLE IF EXISTS {self.quoted(name)}", [])

    def create(self, groups):
        return (
            f"CREATE TABLE {self.quoted(NAMES['scores'])} (id INTEGER, "
            f"{self.quoted(NAMES['score'])} {self.double}, "
            f"{self.quoted(NAMES['group'])} {self.group_type(groups)})"
        )

    def group_type(self, groups):
        """Return the type of a column for these groups."""
        kind = next((type(group) for group in groups or [] if group is not None), str)
        return self.text if kind is str else ENGINES[self.dialect].group_types[kind]

    def records(self, scores, groups):
        groups = [None] * len(scores) if groups is None else groups
        return list(zip(range(len(scores)), scores, groups, strict=True))

    def arrow(self, scores, groups):
        groups = [None] * len(scores) if groups is None else groups
        columns = {
            "id": pa.array(range(len(scores)), pa.int32()),
            NAMES["score"]: pa.array(scores, pa.float64()),
            NAMES["group"]: pa.array(groups, None if any(groups) else pa.string()),
        }
        return pa.table(columns)


class DuckDB(Database):
    dialect = "duckdb"

    def __init__(self, connection):
        self.connection = connection

    def execute(self, statement, _):
        self.connection.execute(statement)

    def fill(self, scores, groups):
        table = self.arrow(scores, groups)
        self.connection.execute(self.create(groups))
        self.connection.register("given", table)
        self.connection.execute(
            f"INSERT INTO {self.quoted(NAMES['scores'])} SELECT * FROM given"
        )
        self.connection.unregister("given")

    def rows(self, query):
        return self.connection.execute(query).fetchall()


class Postgres(DuckDB):
    dialect = "postgres"
    double, text = "double precision", 'text COLLATE "und-x-icu"'

    def fill(self, scores, groups):
        self.connection.execute(self.create(groups))
        copy = f"COPY {self.quoted(NAMES['scores'])} FROM STDIN"
        with self.connection.cursor() as cursor, cursor.copy(copy) as file:
            for record in self.records(scores, groups):
                file.write_row(record)


class SQLite(DuckDB):
    dialect = "sqlite"
    double, text = "REAL", "TEXT COLLATE NOCASE"

    def execute(self, statement, rows):
        self.connection.executemany(statement, rows or [()])

    def fill(self, scores, groups):
        self.execute(self.create(groups), [])
        insert = f"INSERT INTO {self.quoted(NAMES['scores'])} VALUES (?, ?, ?)"
        self.connection.executemany(insert, self.records(scores, groups))


class Spark(Database):
    dialect = "spark"
    names = NAMES | {"table": "steps", "scores": "scores"}  # letters and digits only
    mark = "`"
    text = "STRING"

    def __init__(self, session):
        self.session = session

    def execute(self, statement, _):
        self.session.sql(statement)

    def clear(self):
        for name in ("steps", "steps_groups"):
            self.execute(f"DROP TABLE IF EXISTS {self.quoted(name)}", [])

    def fill(self, scores, groups):
        rows = [
            (i, None if s is None else float(s), g)
            for i, s, g in self.records(scores, groups)
        ]
        kind = self.group_type(groups)
        kinds = f"id INT, {self.quoted(NAMES['score'])} DOUBLE, by {kind}"
        frame = self.session.createDataFrame(rows, kinds).cache()
        frame.count()
        frame.createOrReplaceTempView("scores")

    def rows(self, query):
        return [tuple(row) for row in self.session.sql(query).collect()]


@contextlib.contextmanager
def opened(dialect):
    """Open a database of a dialect, with a server if it needs one."""
    with contextlib.ExitStack() as stack:
        yield OPENERS[dialect](stack)


def _duckdb(stack):
    import duckdb

    return DuckDB(stack.enter_context(duckdb.connect()))


def _sqlite(stack):
    import sqlite3

    return SQLite(stack.enter_context(contextlib.closing(sqlite3.connect(":memory:"))))


def _spark(stack):
    from pyspark.sql import SparkSession

    path_of("java")
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    session = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.warehouse.dir", f"{folder}/warehouse")
        .getOrCreate()
    )
    stack.callback(session.stop)
    return Spark(session)


OPENERS = {
    "duckdb": _duckdb,
    "postgres": lambda stack: Postgres(stack.enter_context(postgres())),
    "sqlite": _sqlite,
    "spark": _spark,
}


# Programs

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
