"""Outputs: names in JSON, checksums, and what becomes of files that are replaced."""

import hashlib
import json
import os
import time

import pyarrow.parquet as pq
import pytest

from abers.tables.files import SCRATCH, Scratch

COSTS = ("--cost-fp=1", "--cost-fn=2")
ANSWERS = [
    ("fit", "scores.csv", "-o", "new.abers", "--force"),
    ("predict", "rule.abers", "new.csv", "-o", "out.csv", "--force"),
    ("decide", "rule.abers", "new.csv", "-oout.csv", "--force", *COSTS),
    ("evaluate", "rule.abers", "scores.csv"),
    ("compare", "scores.csv", "--methods", "ivap"),
    ("check", "rule.abers", "scores.csv"),
    ("inspect", "rule.abers"),
    ("monitor", "state.abers", "--start", "scores.csv", "--force"),
]


@pytest.mark.parametrize("words", ANSWERS, ids=lambda words: words[0])
def test_json_has_a_version_and_counts_rows_under_one_name(run, files, words):
    answer = json.loads(run(files.folder, *words, "--json").out)
    assert answer["schema_version"] == 1
    assert answer["n_rows"] in (2_000, 3, 0)
    assert {"rows", "missing", "positives"}.isdisjoint(answer)


def test_outputs_name_the_calibrator_by_its_checksum(run, files):
    rule = (files.folder / "rule.abers").read_bytes()
    expected = hashlib.sha256(rule).hexdigest()
    args = ("rule.abers", "new.csv", "-o", "hash.parquet", "--json", "--force")
    for command, costs in (("predict", ()), ("decide", COSTS)):
        answer = run(files.folder, command, *args, *costs).out
        assert json.loads(answer)["sha256"] == expected
        kept = pq.read_schema(files.folder / "hash.parquet").metadata
        assert kept[b"abers:calibrator-sha256"] == expected.encode()
    for command in ("check", "evaluate"):
        words = (command, "rule.abers", "scores.csv", "--json")
        assert json.loads(run(files.folder, *words).out)["sha256"] == expected


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
def test_a_file_that_is_replaced_keeps_its_mode_and_owner(run, files):
    table, rule = files.folder / "kept.csv", files.folder / "kept.abers"
    for path in (table, rule):
        path.touch()
        path.chmod(0o640)
        if os.geteuid() == 0:
            os.chown(path, 12, 34)
    run(files.folder, "predict", "rule.abers", "new.csv", "-o", table, "--force")
    run(files.folder, "fit", "scores.csv", "-o", rule, "--force")
    for path in (table, rule):
        status = path.stat()
        assert status.st_size > 0
        assert status.st_mode & 0o777 == 0o640
        if os.geteuid() == 0:
            assert (status.st_uid, status.st_gid) == (12, 34)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such locks")
def test_scratch_folders_of_killed_processes_are_removed(tmp_path):
    abandoned, recent = tmp_path / f"{SCRATCH}old", tmp_path / f"{SCRATCH}new"
    with Scratch(tmp_path) as used:
        in_use = used.new_path().parent
        for folder in (abandoned, recent):
            folder.mkdir()
            (folder / "1").write_text("rows")
        for folder in (abandoned, in_use):
            os.utime(folder, (time.time() - 3_600,) * 2)
        with Scratch(tmp_path) as another:
            another.new_path()
            assert not abandoned.exists()
            assert recent.exists()
            assert in_use.exists()
    assert not in_use.exists()
