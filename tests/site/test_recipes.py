"""The recipes of docs/recipes.md, run as they are written there."""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import joblib
import numpy as np
import pytest

import abers

PAGE = Path(__file__).parents[2] / "docs" / "recipes.md"
BLOCK = re.compile(r"^```\w+\n(# (\w+\.\w+).*?)^```$", re.MULTILINE | re.DOTALL)
FILES = {name: text for text, name in BLOCK.findall(PAGE.read_text())}
PATH = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
LAST = "2026-01-30"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with the files of the page, and a calibrator in use."""
    folder = tmp_path_factory.mktemp("made")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    subprocess.run([sys.executable, "train.py"], cwd=folder, check=True)
    assert nightly(folder, "2026-01-29") == (0, "")
    return folder


@pytest.fixture
def folder(made, tmp_path):
    """A copy for each test."""
    return shutil.copytree(made, tmp_path / "copy", symlinks=True)


def nightly(folder, day):
    """Run the job; return its exit code and what it prints."""
    done = subprocess.run(
        ["bash", "nightly.sh", day],  # noqa: S607 (whichever bash there is)
        cwd=folder,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"PATH": PATH},
    )
    return done.returncode, done.stdout


def in_use(folder):
    return str((folder / "rules" / "current.abers").readlink())


def put_in_use(rules, name):
    """Move the link."""
    (rules / "next").symlink_to(name)
    (rules / "next").replace(rules / "current.abers")


def flip(folder, day):
    """Exchange the labels of a day."""
    path = folder / "days" / f"{day}.csv"
    head, *lines = path.read_text().splitlines()
    cells = [line.split(",") for line in lines]
    rows = [f"{p},{1 - float(y):g}" for p, y in cells]
    path.write_text("\n".join([head, *rows]) + "\n")


def test_every_file_of_the_page_is_read():
    assert set(FILES) == {
        *("train.py", "nightly.sh", "scoring.py", "service.py"),
        *("bounds_model.py", "log_model.py"),
    }


def test_the_job_moves_the_link_only_if_the_check_holds(folder):
    made = folder / "rules" / "2026-01-29.abers"
    assert in_use(folder) == made.name
    assert abers.load(made).n_rows == 28 * 300
    flip(folder, LAST)
    code, text = nightly(folder, LAST)
    assert code == 3
    assert "the check failed; the old calibrator stays in use" in text
    assert "Failed:" in text
    assert in_use(folder) == made.name
    flip(folder, LAST)
    assert nightly(folder, LAST) == (0, "")
    assert in_use(folder) == f"{LAST}.abers"


def test_the_job_says_what_did_not_run(folder):
    assert nightly(folder, "2026-02-01")[0] == 1
    (folder / "days" / f"{LAST}.csv").write_text("p\n0.5\nx\n")
    code, text = nightly(folder, LAST)
    assert code == 1
    assert "the check did not run; the old calibrator stays in use" in text
    (folder / "days" / "2026-01-20.csv").write_text("p,label\n2,1\n")
    code, text = nightly(folder, LAST)
    assert code == 1
    assert "the fit failed" in text
    assert in_use(folder) == "2026-01-29.abers"


@pytest.fixture
def service(folder):
    """The address of the service, started in the folder."""
    process = subprocess.Popen(
        [sys.executable, "service.py", "0"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def ask(address, content=None):
    """Send a request; return the code and the answer."""
    data = None if content is None else content.encode()
    try:
        with urllib.request.urlopen(address, data, timeout=60) as answer:  # noqa: S310
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def expected(folder, X):
    """Return lower, upper and probability, by the calibrator in use."""
    calibrator = abers.load(folder / "rules" / "current.abers")
    p = joblib.load(folder / "model.joblib").predict_proba(X)[:, 1]
    return np.column_stack((calibrator.bounds(p), calibrator.probability(p)))


def numbers(answer):
    return np.array([list(line.values()) for line in answer["answers"]], dtype=float)


ROWS = np.random.default_rng(0).normal(size=(5, 20))
ASKED = json.dumps({"rows": ROWS.tolist()})


def test_the_service_answers_and_reads_a_new_calibrator(folder, service):
    code, answer = ask(service, ASKED)
    assert code == 200
    assert answer["calibrator"] == "2026-01-29"
    before = numbers(answer)
    assert (before == expected(folder, ROWS)).all()
    assert nightly(folder, LAST) == (0, "")
    _, answer = ask(service, ASKED)
    assert answer["calibrator"] == LAST
    assert (numbers(answer) == expected(folder, ROWS)).all()
    assert (numbers(answer) != before).any()


def test_a_row_without_a_feature_has_no_answer_and_the_others_have(folder, service):
    rows = ROWS.tolist()
    rows[2][3] = None
    code, answer = ask(service, json.dumps({"rows": rows}))
    assert code == 200
    assert answer["answers"][2] == dict.fromkeys(("lower", "upper", "probability"))
    others = [0, 1, 3, 4]
    assert (numbers(answer)[others] == expected(folder, ROWS)[others]).all()


@pytest.mark.parametrize(
    "content", ["no JSON", "{}", '{"rows": 1}', '{"rows": [[1, 2]]}', '{"rows": ["a"]}']
)
def test_bad_input_is_a_sentence_and_the_service_goes_on(service, content):
    code, answer = ask(service, content)
    assert code == 400
    assert answer["error"]
    assert ask(service, ASKED)[0] == 200


def test_a_damaged_calibrator_leaves_the_old_one_in_use(folder, service):
    link = folder / "rules" / "current.abers"
    good = numbers(ask(service, ASKED)[1])
    link.unlink()
    assert "No such file" in ask(service)[1]["trouble"]
    link.write_bytes(b"damaged")
    assert "must be a file" in ask(service)[1]["trouble"]
    assert (numbers(ask(service, ASKED)[1]) == good).all()
    link.unlink()
    link.symlink_to("2026-01-29.abers")
    assert ask(service)[1]["trouble"] is None


def test_each_answer_is_of_one_calibrator_while_the_link_moves(folder, service):
    """Requests from threads, while the two calibrators take turns."""
    assert nightly(folder, LAST) == (0, "")
    rules = folder / "rules"
    names = ["2026-01-29.abers", f"{LAST}.abers"]
    of = {}
    for name in names:
        put_in_use(rules, name)
        of[abers.load(rules / name).metadata["until"]] = expected(folder, ROWS)
    answered = []
    threads = [
        threading.Thread(
            target=lambda: answered.extend(ask(service, ASKED) for _ in range(20))
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    turn = 0
    while any(thread.is_alive() for thread in threads):
        put_in_use(rules, names[turn % 2])
        turn += 1
        time.sleep(0.005)
    assert turn > 2
    assert len(answered) == 80
    for code, answer in answered:
        assert code == 200
        assert (numbers(answer) == of[answer["calibrator"]]).all()


@pytest.mark.filterwarnings("ignore")  # of MLflow's own parts
def test_mlflow_answers_bounds(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.syspath_prepend(str(folder))
    runpy.run_path("log_model.py")
    import mlflow

    served = mlflow.pyfunc.load_model("served")
    rows = ROWS.copy()
    rows[1, 4] = np.nan
    predictions = served.predict(rows)
    assert list(predictions.columns) == ["lower", "upper", "probability"]
    others = [0, 2, 3, 4]
    assert (predictions.to_numpy()[others] == expected(folder, ROWS)[others]).all()
    assert predictions.iloc[1].isna().all()
