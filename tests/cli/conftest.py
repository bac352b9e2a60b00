"""The installed command, run as a process, and files to run it on."""

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import abers
from abers.cli import commands


class Answer(NamedTuple):
    code: int
    out: bytes
    err: str  # what went to standard error


class Files(NamedTuple):
    folder: Path
    scores: np.ndarray
    labels: np.ndarray
    regions: np.ndarray


@pytest.fixture(scope="session")
def command():
    """The command that is installed beside this Python."""
    return str(Path(sys.executable).with_name("abers"))


@pytest.fixture(scope="session")
def invoke():
    """Call the command within this process, where a process is not what is tested."""

    def call(*arguments):
        done = CliRunner().invoke(commands.abers, [*map(str, arguments)])
        return Answer(done.exit_code, done.stdout_bytes, done.stderr)

    return call


@pytest.fixture(scope="session")
def run(command):
    """Run the command in a folder, with what is piped into it."""

    def run_in(folder, *arguments, piped=None, **options):
        options.setdefault("stdout", subprocess.PIPE)
        done = subprocess.run(
            [command, *map(str, arguments)],
            check=False,
            cwd=folder,
            input=piped,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL if piped is None else None,
            **options,
        )
        return Answer(done.returncode, done.stdout or b"", done.stderr.decode())

    return run_in


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with scores and labels, new scores, and a rule."""
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(2)
    scores = rng.random(2_000)
    labels = (rng.random(2_000) < scores**2).astype(int)
    regions = rng.choice(["north", "south"], 2_000)
    table = pa.table({"score": scores, "label": labels, "region": regions})
    pq.write_table(table, folder / "scores.parquet")
    table.to_pandas().to_csv(folder / "scores.csv", index=False)
    (folder / "new.csv").write_text("id,score\n007,0.25\n008,\n009,0.75\n")
    abers.fit_rule(scores, labels).save(folder / "rule.abers")
    return Files(folder, scores, labels, regions)
