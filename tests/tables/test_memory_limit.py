"""The memory of a fit follows the limit of the container."""

import pytest

from abers.tables.memory_limit import container_limit, usual_memory

GIGABYTE = 10**9
V1 = "sys/fs/cgroup/memory"
V2 = "sys/fs/cgroup"


@pytest.mark.parametrize(
    ("files", "limit", "memory"),
    [
        ({}, None, GIGABYTE),
        ({f"{V2}/memory.max": "max"}, None, GIGABYTE),
        ({f"{V2}/memory.max": "536870912"}, 2**29, 2**28),
        ({f"{V2}/memory.max": "8589934592"}, 2**33, GIGABYTE),
        (
            {
                "proc/self/cgroup": "0::/pods/job",
                f"{V2}/pods/job/memory.max": "max",
                f"{V2}/pods/memory.max": "1000",
            },
            1000,
            500,
        ),
        ({f"{V1}/memory.limit_in_bytes": "2000"}, 2000, 1000),
        ({f"{V1}/memory.limit_in_bytes": str(2**63 - 4096)}, None, GIGABYTE),
        (
            {
                "proc/self/cgroup": "5:cpu,memory:/job\n0::/",
                f"{V1}/job/memory.limit_in_bytes": "3000",
            },
            3000,
            1500,
        ),
    ],
)
def test_half_of_the_container_is_for_the_rows(tmp_path, files, limit, memory):
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    assert container_limit(tmp_path) == limit
    assert usual_memory(GIGABYTE, tmp_path) == memory
