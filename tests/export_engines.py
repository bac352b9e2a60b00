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
import pyarrow.parquet as pq

from abers.export import to_sql
from abers.export.engines import ENGINES

PACKAGES = {
    "initdb": "postgresql",
    "postgres": "postgresql",
    "mariadbd": "mariadb-server",
    "mariadb-install-db": "mariadb-server",
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
def served(command, options, connect):
    """Start a server and yield a connection to it; stop both in the end."""
    log = options["cwd"] / "log"
    with log.open("wb") as file:
        server = subprocess.Popen(command, stdout=file, stderr=file, **options)
    try:
        end = time.monotonic() + PATIENCE
        while True:
            try:
                connection = connect()
                break
            except Exception:  # noqa: BLE001 (each driver has its own until then)
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
    import psycopg

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

        def connect():
            where = f"host={folder} user=abers dbname=postgres"
            return psycopg.connect(where, autocommit=True)

        with served(command, options, connect) as connection:
            yield connection


@contextlib.contextmanager
def mariadb():
    """Start MariaDB on a socket in a folder of its own."""
    import pymysql

    install, server = path_of("mariadb-install-db"), path_of("mariadbd")
    base = str(Path(install).parents[1])
    with folder_of_its_own() as (folder, options):
        subprocess.run(
            [
                *(install, "--no-defaults", f"--basedir={base}"),
                *(f"--datadir={folder / 'data'}", "--skip-test-db"),
                "--auth-root-authentication-method=normal",
            ],
            check=True,
            capture_output=True,
            **options,
        )
        command = [
            *(server, "--no-defaults", f"--basedir={base}"),
            *(f"--datadir={folder / 'data'}", f"--socket={folder / 'socket'}"),
            *("--skip-networking", "--innodb-flush-log-at-trx-commit=0"),
            *("--character-set-server=utf8mb4", f"--pid-file={folder / 'pid'}"),
        ]

        def connect():
            socket = folder / "socket"
            return pymysql.connect(
                unix_socket=str(socket.resolve(strict=True)),
                user="root",
                autocommit=True,
                charset="utf8mb4",
            )

        with served(command, options, connect) as connection:
            with connection.cursor() as cursor:
                cursor.execute("CREATE DATABASE abers")
                cursor.execute("USE abers")
            yield connection


class Database:
    """A database: a table of scores is filled, a rule applied, the answers read."""

    dialect = ""
    names = NAMES
    mark = '"'
    double, text = "DOUBLE", "VARCHAR"
    holds = staticmethod(lambda scores: np.full(len(scores), fill_value=True))

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


class MariaDB(Database):
    dialect = "mysql"
    mark = "`"
    text = "VARCHAR(50)"  # of a collation that ignores case

    def __init__(self, connection):
        self.connection = connection

    @staticmethod
    def holds(scores):
        return np.array([s is None or np.isfinite(s) for s in scores], dtype=bool)

    def execute(self, statement, _):
        with self.connection.cursor() as cursor:
            cursor.execute(statement)

    def fill(self, scores, groups):
        self.execute(self.create(groups), [])
        insert = f"INSERT INTO {self.quoted(NAMES['scores'])} VALUES (%s, %s, %s)"
        plain = [
            (i, None if s is None else float(s), g)
            for i, s, g in self.records(scores, groups)
        ]
        with self.connection.cursor() as cursor:
            cursor.executemany(insert, plain)

    def rows(self, query):
        with self.connection.cursor() as cursor:
            cursor.execute(query)
            return list(cursor.fetchall())


class ClickHouse(Database):
    dialect = "clickhouse"
    mark = "`"
    text = "String"

    def __init__(self, session, folder):
        self.session, self.folder = session, folder

    def quoted(self, name):
        return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"

    def execute(self, statement, _):
        self.session.query(statement)

    def fill(self, scores, groups):
        path = self.folder / "scores.parquet"
        pq.write_table(self.arrow(scores, groups), path)
        self.execute(
            f"CREATE TABLE {self.quoted(NAMES['scores'])} (id Int32, "
            f"{self.quoted(NAMES['score'])} Nullable(Float64), "
            f"{self.quoted(NAMES['group'])} Nullable({self.group_type(groups)})) "
            "ENGINE = MergeTree ORDER BY id",
            [],
        )
        self.execute(
            f"INSERT INTO {self.quoted(NAMES['scores'])} "
            f"SELECT * FROM file('{path}', 'Parquet')",
            [],
        )

    def rows(self, query):
        made = self.session.query(query, "Arrow").bytes()
        if not made:
            return []
        columns = pa.ipc.open_file(made).read_all().columns
        return list(zip(*(column.to_pylist() for column in columns), strict=True))


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


def _clickhouse(stack):
    from chdb.session import Session

    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    session = stack.enter_context(Session(str(folder / "data")))
    session.query("CREATE DATABASE abers")
    session.query("USE abers")
    return ClickHouse(session, folder)


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
    "clickhouse": _clickhouse,
    "mysql": lambda stack: MariaDB(stack.enter_context(mariadb())),
    "spark": _spark,
}
