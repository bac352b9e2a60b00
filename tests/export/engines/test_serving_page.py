"""The examples of docs/serving.md, run as they are written there."""

import os
import re
import runpy
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest

import abers
from export_cases import answers, mismatches
from export_engines import path_of, postgres

PAGE = Path(__file__).parents[3] / "docs" / "serving.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = BLOCK.findall(PAGE.read_text())
COMMANDS = [text for kind, text in BLOCKS if kind == "sh"]
FILES = {
    named[1]: text
    for _, text in BLOCKS
    if (named := re.match(r"(?://|#) (\w+\.\w+)\n", text))
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the files of the page, in which the model has been trained."""
    made = tmp_path_factory.mktemp("page")
    for name, text in FILES.items():
        (made / name).write_text(text)
    subprocess.run([sys.executable, "train.py"], cwd=made, check=True)
    return made


def run(folder, program, **environment):
    """Run the commands that use a program; return what they print."""
    (script,) = (text for text in COMMANDS if program in text)
    tools = Path(sys.executable).parent
    path = f"{tools}:{Path(path_of('initdb')).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-ec", script],  # noqa: S607 (whichever bash there is)
        cwd=folder,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PATH": path} | environment,
    )
    return done.stdout


def check(folder, rows):
    """Compare rows of id, lower, upper and probability with the rule's own."""
    scores = np.loadtxt(folder / "new.csv", delimiter=",")[:, 1]
    numbers = np.array(rows, dtype=float)
    assert np.array_equal(numbers[:, 0], np.arange(scores.size))
    rule = abers.load(folder / "rule.abers")
    assert mismatches(numbers[:, 1:], answers(rule, scores)) == 0


def test_postgresql(folder):
    with postgres() as connection:
        where = {"PGHOST": connection.info.host, "PGUSER": "abers"}
        run(folder, "psql", PGDATABASE="postgres", **where)
    head, *lines = (folder / "scored.csv").read_text().splitlines()
    assert head == "id,score,lower,upper,probability"
    rows = sorted([float(cell) for cell in line.split(",")] for line in lines)
    check(folder, [row[:1] + row[2:] for row in rows])


@pytest.mark.parametrize("program", ["node", "gcc"])
def test_programs(folder, program):
    lines = run(folder, program).splitlines()
    written = [line for line in lines if line[:1].isdigit()]
    check(folder, [line.split(",") for line in written])


def test_a_classifier_by_onnx(folder, monkeypatch):
    """Both files; the command before them installs what is here."""
    monkeypatch.chdir(folder)
    made = runpy.run_path("graph.py")
    runpy.run_path("ask.py")
    model, X = made["model"], made["X"][3_000:]
    expected = np.column_stack((model.predict_bounds(X), model.predict_proba(X)[:, 1]))
    assert abs(np.loadtxt("answers.csv") - expected).max() <= 1e-12


def test_a_service_in_java(folder):
    run(folder, "javac")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    service = subprocess.Popen([path_of("java"), "Service", port], cwd=folder)
    try:
        replies = [reply_of(port, score) for score in (0.25, -1.5, "NaN")]
    finally:
        service.terminate()
        service.wait()
    expected = abers.load(folder / "rule.abers").probability([0.25, -1.5])
    assert replies[:2] == expected.tolist()
    assert np.isnan(replies[2])


def reply_of(port, score):
    """Ask the service, which may not have started yet."""
    address = f"http://127.0.0.1:{port}/probability?score={score}"
    for _ in range(100):
        try:
            with urllib.request.urlopen(address) as answer:
                return float(answer.read())
        except OSError:
            time.sleep(0.2)
    pytest.fail("the service of docs/serving.md must answer within 20 seconds.")
