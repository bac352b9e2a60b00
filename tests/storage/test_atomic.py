"""Files and what lies under them: folders, links, full disks, kills, memory."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import abers
from abers.errors import InvalidFile


def rule_with(pieces, n_positives=0):
    """Return a rule of any size: one bound or the other grows at each score."""
    scores = np.arange(pieces - n_positives)
    return abers.fit_rule(scores, scores >= pieces // 2)


def run(script, *arguments):
    """Run a script in a process of its own, and return what it prints."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_a_file_is_on_disk_before_it_takes_the_place_of_another(tmp_path, monkeypatch):
    """Flushed, renamed, and then the folder: a power cut leaves one of the two."""
    happened = []
    fsync, replace = os.fsync, Path.replace

    def recorded_fsync(handle):
        happened.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        fsync(handle)

    def recorded_replace(self, target):
        happened.append("rename")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", recorded_fsync)
    monkeypatch.setattr(Path, "replace", recorded_replace)
    abers.fit_rule([1], [0]).save(tmp_path / "rule.abers")
    assert happened == ["file", "rename", "folder"]


def test_a_missing_file_raises_what_open_raises(tmp_path):
    path = tmp_path / "none.abers"
    for load in (abers.load, abers.load):
        with pytest.raises(FileNotFoundError, match=r"No such file .*none\.abers'$"):
            load(path)


def test_a_folder_is_no_file_to_read_or_to_write(tmp_path):
    with pytest.raises(IsADirectoryError):
        abers.load(tmp_path)
    with pytest.raises(InvalidFile, match="must be a file; it is a folder or a device"):
        abers.fit_rule([1], [0]).save(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_named_by_the_path_that_was_given(tmp_path):
    path = tmp_path / "modles" / "rule.abers"
    with pytest.raises(FileNotFoundError, match=r"No such file .*modles/rule\.abers'$"):
        abers.fit_rule([1], [0]).save(path)


def test_a_path_may_be_text_and_its_name_as_long_as_names_can_be(tmp_path):
    path = str(tmp_path / ("x" * 255))
    rule = abers.fit_rule([1], [0])
    rule.save(path)
    assert abers.load(path) == rule


@pytest.mark.parametrize("umask", [0o022, 0o027, 0o077])
def test_file_mode_follows_the_umask(umask, tmp_path):
    path = tmp_path / "rule.abers"
    before = os.umask(umask)
    try:
        abers.fit_rule([1], [0]).save(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask


def test_saving_leaves_one_file_and_replaces_what_was_there(tmp_path):
    path = tmp_path / "rule.abers"
    path.write_bytes(b"old")
    rule = abers.fit_rule([1], [0])
    rule.save(path)
    assert abers.load(path) == rule
    assert list(tmp_path.iterdir()) == [path]


def test_saving_writes_through_a_link(tmp_path):
    link, path = tmp_path / "current.abers", tmp_path / "monday.abers"
    link.symlink_to(path)
    rule = abers.fit_rule([1], [0])
    for _ in range(2):  # to a file that is not there, and to one that is
        rule.save(link)
        assert link.is_symlink()
        assert abers.load(path) == rule


def test_saving_does_not_replace_a_device(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InvalidFile, match="it is a folder or a device"):
        abers.fit_rule([1], [0]).save(pipe)
    assert pipe.is_fifo()


SAVE_WITH_LITTLE_SPACE = """
import resource, sys
import abers

source, target = sys.argv[1:]
rule = abers.load(source)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    rule.save(target)
except OSError as error:
    print(error)
"""


def test_a_failing_write_leaves_the_old_file_and_no_other(tmp_path):
    source, folder = tmp_path / "source.abers", tmp_path / "folder"
    rule_with(1000).save(source)
    folder.mkdir()
    target = folder / "rule.abers"
    abers.fit_rule([1], [0]).save(target)
    before = target.read_bytes()

    message = run(SAVE_WITH_LITTLE_SPACE, source, target)

    assert message.endswith(f"File too large: {str(target)!r}\n")
    assert target.read_bytes() == before
    assert list(folder.iterdir()) == [target]


KILL_WHILE_SAVING = """
import os, random, signal, sys, time
import abers

target, *sources = sys.argv[1:]
rules = [abers.load(source) for source in sources]
start = time.perf_counter()
for rule in rules[::-1]:
    rule.save(target)
took = time.perf_counter() - start  # on a busy machine much longer than on a quiet one
random.seed(0)
for _ in range(200):
    child = os.fork()
    if not child:
        for _ in range(1000):
            for rule in rules:
                rule.save(target)
        os._exit(1)
    time.sleep(random.uniform(0, 3 * took))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    print(rules.index(abers.load(target)))
"""


def test_a_process_killed_while_saving_leaves_the_old_file_or_the_new(tmp_path):
    """200 kills within three rounds; the processes are forks that have imported us."""
    sources = [tmp_path / "0.abers", tmp_path / "1.abers"]
    for n_positives, source in enumerate(sources):
        rule_with(20_000, n_positives).save(source)

    states = run(KILL_WHILE_SAVING, tmp_path / "target.abers", *sources).split()

    assert len(states) == 200
    assert set(states) == {"0", "1"}


MEASURE_LOADING = """
import sys
import abers, abers.core.rule, abers.storage.files

def peak():  # of this process alone; ru_maxrss begins with that of its parent
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if "VmHWM" in line)

before = peak()
rule = abers.load(sys.argv[1])
print(peak() - before)
"""


def test_loading_takes_less_memory_than_twice_the_file(tmp_path):
    path = tmp_path / "large.abers"
    rule_with(200_000_000 // 24).save(path)
    size = path.stat().st_size
    assert size > 199_000_000

    growth = int(run(MEASURE_LOADING, path))

    assert 0.9 * size < growth <= 2 * size
