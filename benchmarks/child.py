"""Measurements that need a fresh process: `memory KIND`, `import NAME`."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from time import perf_counter

_STATUS = Path("/proc/self/status")


def memory_of_a_fit(kind: str) -> float:
    """Peak growth of resident memory while fitting, in sizes of the scores."""
    import kinds
    import numpy as np

    import abers

    scores, labels = getattr(kinds, kind)(np.random.default_rng(1), 10**7)
    labels = labels.astype(bool)
    abers.fit_rule(scores[:20000], labels[:20000])
    before = _memory("VmRSS")
    _forget_peak()
    abers.fit_rule(scores, labels)
    return (_memory("VmHWM") - before) / scores.nbytes


def _forget_peak() -> None:
    """Let the peak start from now; ru_maxrss would start from the parent's."""
    Path("/proc/self/clear_refs").write_text("5")


def _memory(field: str) -> int:
    fields = dict(line.split(":", 1) for line in _STATUS.read_text().splitlines())
    return int(fields[field].split()[0]) * 1024


def time_of_import(name: str) -> float:
    """Seconds that `import name` takes in a fresh interpreter."""
    start = perf_counter()
    importlib.import_module(name)
    return perf_counter() - start


if __name__ == "__main__":
    what, argument = sys.argv[1:]
    print({"memory": memory_of_a_fit, "import": time_of_import}[what](argument))
