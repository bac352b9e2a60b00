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

from abers.export import to_sql
from abers.export.engines import ENGINES

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
