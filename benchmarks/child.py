"""Measurements that need a fresh process: `memory KIND`, `import NAME`."""

from __future__ import annotations

import importlib
import sys
from time import perf_counter


def memory_of_a_fit(kind: str) -> float:
    """Peak growth of resident memory while fitting, in sizes of the scores."""
    import resource

    import kinds
    import numpy as np

    import abers

    scores, labels = getattr(kinds, kind)(np.random.default_rng(1), 10**7)
    labels = labels.astype(bool)
    abers.fit_rule(scores[:20000], labels[:20000])
    before = _resident()
    abers.fit_rule(scores, labels)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return (peak - before) / scores.nbytes


def _resident() -> int:
    """Reset the peak, so that what came before does not count, and read memory."""
    with open("/proc/self/clear_refs", "w") as file:  # noqa: PTH123
        file.write("5")
    with open("/proc/self/status") as file:  # noqa: PTH123
        fields = dict(line.split(":", 1) for line in file)
    return int(fields["VmRSS"].split()[0]) * 1024


def time_of_import(name: str) -> float:
    """Seconds that `import name` takes in a fresh interpreter."""
    start = perf_counter()
    importlib.import_module(name)
    return perf_counter() - start


if __name__ == "__main__":
    what, argument = sys.argv[1:]
    print({"memory": memory_of_a_fit, "import": time_of_import}[what](argument))
