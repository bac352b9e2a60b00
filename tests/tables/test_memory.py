"""A fit works in the memory that it is given, however many rows there are."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

MEGABYTE = 10**6
MEMORY = 20 * MEGABYTE
N_ROWS = 5 * MEGABYTE  # which take about 120 MB at once
# Besides: a batch of the file and its pages, and what the allocator has not given back.
READING = 40 * MEGABYTE

# The peak of the process itself: getrusage also counts that of the process before it.
FIT = """
import re, sys
from pathlib import Path
from abers.tables import fit_table

def peak():
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1])

few, many, memory = *sys.argv[1:3], int(sys.argv[3])
fit_table(few, memory=memory)  # loads all that is needed
before = peak()
fit_table(many, memory=memory)
print(peak() - before)
"""


def written(path, n):
    rng = np.random.default_rng(3)
    scores = rng.random(n)
    pq.write_table(pa.table({"score": scores, "label": rng.random(n) < scores}), path)
    return str(path)


def bytes_to_fit(few, many, memory):
    command = [sys.executable, "-c", FIT, few, many, str(memory)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(done.stdout)


def test_a_fit_on_disk_keeps_to_its_memory_and_one_in_memory_would_not(tmp_path):
    few, many = written(tmp_path / "few", 1000), written(tmp_path / "many", N_ROWS)
    assert bytes_to_fit(few, many, MEMORY) < 2 * MEMORY + READING
    assert bytes_to_fit(few, many, 1000 * MEGABYTE) > 2 * MEMORY + READING
