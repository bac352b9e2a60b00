"""JSON lines are read in bounded blocks; they mean what they mean to Python."""

import gzip
import json
import math
import subprocess
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

import abers
from abers.tables import fit_table, predict_table
from abers.tables.files import Dialect, ReadOptions, Scratch, Source
from abers.tables.json_lines import BLOCK_LINES, LONGEST_LINE, JsonReader
from abers.tables.monitor import MonitorFile, StreamOptions

MIB = 2**20
RULE = abers.fit_rule([1, 2, 3], [0, 1, 0])
PLAIN = '{"score": 1, "label": 0}\n'
LATE = PLAIN * (BLOCK_LINES + 5)  # beyond the lines that tell the types

# The peak of the process itself: getrusage also counts that of the process before it.
LIMITED = """
import re, resource, sys
from pathlib import Path
from abers.errors import AbersError
from abers.tables import fit_table

def peak():
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1])

small, path, seconds, most = *sys.argv[1:3], *map(int, sys.argv[3:])
fit_table(small)  # loads all that is needed
before = peak()
resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
resource.setrlimit(resource.RLIMIT_FSIZE, (MIB := 2**20, MIB))
try:
    message = f"{fit_table(path).n_rows} rows"
except AbersError as error:
    message = str(error)
assert peak() - before < most, (peak() - before) / MIB
print(message)
"""


def limited_fit(tmp_path, path, *, seconds, most):
    """Fit within CPU time and memory; return the number of rows, or what is wrong."""
    small = tmp_path / "small.jsonl"
    small.write_text(PLAIN)
    arguments = [str(small), str(path), str(seconds), str(most)]
    command = [sys.executable, "-c", LIMITED, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def written(tmp_path, text, name="t.jsonl"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("start", ["", PLAIN * 2000, '{"score": 1, "x": '])
def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path, start):
    """512 MiB of brackets in half a megabyte."""
    brackets = gzip.compress(b"[" * MIB) * 512
    path = written(tmp_path, gzip.compress(start.encode()) + brackets, "t.jsonl.gz")
    message = limited_fit(tmp_path, path, seconds=5, most=100 * MIB)
    line = start.count("\n") + 1
    assert (
        message == f"'{path}' must have lines of at most 4 MiB; line {line} is longer."
    )


@pytest.mark.parametrize("n_rows", [0, 2000])
@pytest.mark.parametrize("start", ["", '{"label": ', '{"x": ', '{"x": {"y": '])
def test_deep_brackets_do_not_crash(tmp_path, n_rows, start):
    path = written(tmp_path, PLAIN * n_rows + start + "[" * 800_000)
    message = limited_fit(tmp_path, path, seconds=5, most=100 * MIB)
    assert (
        f"must hold a JSON object in each line; line {n_rows + 1} does not" in message
    )


def test_long_lines_and_packed_ones_take_neither_memory_nor_disk(tmp_path):
    """200 MB of text; no file of more than a mebibyte may be written."""
    long = json.dumps({"score": 1, "label": 0, "text": "x" * 100_000}) + "\n"
    path = written(tmp_path, gzip.compress((long * 10).encode()) * 200, "t.jsonl.gz")
    assert limited_fit(tmp_path, path, seconds=30, most=100 * MIB) == "2000 rows"


def test_the_longest_line_is_the_longest_row_of_a_csv(tmp_path):
    start = '{"score": 1, "label": 0, "text": "'
    text = "x" * (LONGEST_LINE - len(start) - 2)
    path = written(tmp_path, f'{start}{text}"}}\n' * 2)
    assert fit_table(path).n_rows == 2
    path.write_text(f'{PLAIN}{start}{text}x"}}\n{PLAIN}')
    with pytest.raises(abers.AbersError, match="at most 4 MiB; line 2 is longer"):
        fit_table(path)


WRONG = {
    "a list as a label": (
        '{"score": 1, "label": [0]}\n',
        r"column 'label' must hold numbers, text or booleans; got '\[0\]' in row 1 of",
    ),
    "an object as a label": (
        '{"score": 1, "label": {"a": 0}}\n',
        "column 'label' must hold numbers, text or booleans; got '{\"a\": 0}' in row 1",
    ),
    "a list as a group": (
        '{"score": 1, "label": 0, "g": [1]}\n',
        r"column 'g' must hold numbers, text or booleans; got '\[1\]' in row 1 of",
    ),
    "groups of two kinds": (
        '{"score": 1, "label": 0, "g": 1}\n\n{"score": 1, "label": 0, "g": "a"}\n',
        "column 'g' must hold numbers; got '\"a\"' in row 2 of",
    ),
    "labels of two kinds": (
        '{"score": 1, "label": true}\n{"score": 1, "label": 0}\n',
        "column 'label' must hold true and false; got '0' in row 2 of",
    ),
    "another kind in a later block": (
        LATE + '{"score": "1", "label": 0}\n',
        f"column 'score' must hold numbers; got '\"1\"' in row {BLOCK_LINES + 6} of",
    ),
    "a list in a later block": (
        LATE + '{"score": 1, "label": [1]}\n',
        rf"column 'label' must hold numbers; got '\[1\]' in row {BLOCK_LINES + 6} of",
    ),
    "a name twice": (
        PLAIN + '\n{"score": 1, "label": 0, "score": 2}\n',
        "line 3 does not: it has 'score' twice",
    ),
    "a name twice in a later block": (
        LATE + '{"score": 1, "label": 0, "label": 1}\n',
        f"line {BLOCK_LINES + 6} does not: it has 'label' twice",
    ),
    "half of a surrogate pair in a later block": (
        '{"score": 1, "label": "0"}\n' * BLOCK_LINES
        + '{"score": 1, "label": "\\ud83d"}\n',
        f"got half of a surrogate pair, .*, in row {BLOCK_LINES + 1} of",
    ),
    "a colliding integer in a later block": (
        LATE + '{"score": 0.5, "label": 0}\n{"score": 9007199254740993, "label": 0}\n',
        r"'score' must not hold integers beyond 2\*\*53.* row 16391 of",
    ),
    "a colliding integer after fractions": (
        '{"score": 0.5, "label": 0}\n' * 2000
        + '{"score": 9007199254740993, "label": 0}\n',
        r"'score' must not hold integers beyond 2\*\*53.* row 2001 of",
    ),
    "a number beyond doubles in a later block": (
        LATE + '{"score": 1e400, "label": 0}\n',
        f"below 1.8e308, the largest double; row {BLOCK_LINES + 6} of",
    ),
    "two objects in a line": (
        LATE + PLAIN[:-1] + PLAIN,
        f"line {BLOCK_LINES + 6} does not: Extra data",
    ),
    "two objects in a line and one in two lines": (
        LATE + PLAIN[:-1] + PLAIN + '{"score": 1,\n"label": 0}\n',
        f"line {BLOCK_LINES + 6} does not: Extra data",
    ),
    "null and objects in a line": (
        LATE + PLAIN[:-1] + "null" + PLAIN,
        f"line {BLOCK_LINES + 6} does not: Extra data",
    ),
    "a null first": ("null\n" + PLAIN, "line 1 does not: got null"),
    "a null later": (LATE + "null\n", f"line {BLOCK_LINES + 6} does not: got null"),
    "no UTF-8 in a column that is not used": (
        LATE.encode() + b'{"score": 1, "label": 0, "x": "\xff"}\n',
        f"line {BLOCK_LINES + 6} does not: 'utf-8' codec can't decode",
    ),
}


@pytest.mark.parametrize(("text", "sentence"), WRONG.values(), ids=WRONG)
def test_wrong_lines_are_refused_by_their_number(tmp_path, text, sentence):
    by = "g" if b'"g"' in (text.encode() if isinstance(text, str) else text) else None
    with pytest.raises(abers.AbersError, match=sentence) as caught:
        fit_table(written(tmp_path, text), by=by)
    assert "\n" not in str(caught.value)


RIGHT = {
    "names twice that are not used": '{"x": 1, "score": 1, "label": 0, "x": 2}\n',
    "spaces": '  {"score": 1, "label": 0}\t\n',
    "empty lines": f"\n{PLAIN}\n \n",
    "Windows": PLAIN.replace("\n", "\r\n"),
    "no end": PLAIN[:-1],
    "other columns": '{"score": 1, "label": 0, "x": [{"y": null}], "z": 1e999}\n',
    "escaped names": '{"\\u0073core": 1, "label": 0}\n',
    "a fraction": '{"score": 1.0, "label": 0.0}\n',
}


@pytest.mark.parametrize("text", RIGHT.values(), ids=RIGHT)
def test_a_late_line_means_what_it_means_alone(tmp_path, text):
    assert fit_table(written(tmp_path, text)).n_rows == 1
    fit = fit_table(written(tmp_path, LATE + text))
    assert fit.n_rows == BLOCK_LINES + 6
    assert fit.rule == abers.fit_rule(np.ones(fit.n_rows), np.zeros(fit.n_rows))


def test_a_column_may_begin_with_nulls(tmp_path):
    lines = '{"score": null, "label": null, "g": null}\n' * (BLOCK_LINES + 5)
    lines += '{"score": 1.5, "label": true, "g": "a"}\n' * 5
    fit = fit_table(written(tmp_path, lines), by="g", minimum=0, drop_missing=True)
    assert (fit.n_rows - fit.n_missing, list(fit.rule)) == (5, ["a"])


VALUES = {
    "number": st.integers(-3, 3) | st.floats(),
    "whole": st.integers(-(2**63) + 1, 2**63 - 1),
    "text": st.text(st.characters(codec="utf-8"), max_size=3),
    "truth": st.booleans(),
}
ROWS = st.fixed_dictionaries(
    {},
    optional={name: st.none() | values for name, values in VALUES.items()}
    | {"other": st.recursive(st.integers() | st.text(max_size=2), st.lists)},
)


@given(st.lists(ROWS, min_size=1, max_size=9), st.booleans())
def test_values_are_those_that_python_reads(tmp_path_factory, rows, is_ascii):
    first = dict.fromkeys(VALUES) | {"number": 0.5}
    rows = [first, *rows]
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    lines = [json.dumps(row, ensure_ascii=is_ascii) + "\n" for row in rows]
    path.write_text("".join(lines), encoding="utf-8")
    reader = JsonReader(Source(path), ReadOptions(Scratch(), Dialect()))
    read = [row for batch in reader.batches(list(VALUES)) for row in batch.to_pylist()]
    for row, values in zip(rows, read, strict=True):
        for name, value in values.items():
            expected = row.get(name)
            both_nan = value != value and expected != expected  # noqa: PLR0124
            assert both_nan or value == expected


def test_what_is_converted_has_the_columns_of_all_lines(tmp_path):
    lines = '{"id": 9007199254740993, "score": 1, "n": 1, "x": 1}\n' * (BLOCK_LINES + 5)
    lines += '{"id": 7, "score": 0.5, "n": 2.5, "x": [1], "new": "é"}\n'
    out = tmp_path / "out.parquet"
    predict_table(RULE, written(tmp_path, lines), out)
    first, *_, last = pq.read_table(out).to_pylist()
    start = {"id": 9007199254740993, "score": 1.0, "n": 1.0, "x": "1", "new": None}
    assert list(first.items())[:5] == list(start.items())
    end = {"id": 7, "score": 0.5, "n": 2.5, "x": "[1]", "new": "é"}
    assert list(last.items())[:5] == list(end.items())


def test_a_name_that_is_to_be_added_is_refused_in_a_late_line_too(tmp_path):
    for late in ('{"score": 1, "upper": 0}\n', '{"score": 1, "\\u0075pper": 0}\n'):
        path = written(tmp_path, LATE + late)
        with pytest.raises(abers.AbersError, match=r"'upper' is in .* with --prefix"):
            predict_table(RULE, path, tmp_path / "out.jsonl")
        assert not (tmp_path / "out.jsonl").exists()
    predict_table(RULE, path, tmp_path / "out.jsonl", prefix="its_")
    written(tmp_path, LATE + '{"score": 1, "x": "upper", "y": "\\u0075pper"}\n')
    predict_table(RULE, path, tmp_path / "out.jsonl", force=True)


def test_numbers_are_written_as_python_writes_them(tmp_path):
    rule = abers.fit_rule([1, 2, 2, 3], [0, 0, 1, 1])
    path = written(tmp_path, "".join(f'{{"score": {i / 4}}}\n' for i in range(20)))
    predict_table(rule, path, tmp_path / "out.jsonl")
    for line in (tmp_path / "out.jsonl").read_text().splitlines():
        row = json.loads(line)
        assert line == json.dumps(row)
        assert math.isclose(row["lower"], rule.bounds([row["score"]])[0, 0])


def test_a_monitor_sees_labels_that_come_late(tmp_path):
    start = tmp_path / "calibration.jsonl"
    start.write_text('{"score": 1, "label": 0}\n{"score": 2, "label": 1}\n')
    settings = {"alpha": 0.01, "max_wait": 9, "increasing": True, "seed": 0}
    state = MonitorFile.start(
        "state.abers", [str(start)], StreamOptions(), score_bits=10, **settings
    )
    text = '{"score": 1}\n' * 2000 + '{"score": 1, "label": "perhaps"}\n'
    path = written(tmp_path, text)
    state.follow([str(path)], StreamOptions())
    (refusal,) = state.run.refused
    assert "got 'perhaps' in row 2001 of" in refusal.sentence
