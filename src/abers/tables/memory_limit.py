"""The memory limit of this process's container, from its control group."""

from __future__ import annotations

from pathlib import Path

ROOT = Path("/")
GROUPS = "sys/fs/cgroup"
UNLIMITED = 2**60  # version 1 has a huge number instead of no limit


def container_limit(root: Path = ROOT) -> int | None:
    """Return the container's memory limit in bytes; None if there is none.

    In version 2, each folder from the process's own upwards may have a limit. Inside a
    container, the reported path is often that outside, which does not exist.
    """
    version_1 = root / GROUPS / "memory/memory.limit_in_bytes"
    files = [version_1, root / GROUPS / "memory.max"]
    for line in _text(root / "proc/self/cgroup").splitlines():
        number, controllers, path = (*line.split(":", 2), "", "")[:3]
        if number == "0" and not controllers:
            own = root / GROUPS / path.lstrip("/")
            files += [folder / "memory.max" for folder in (own, *own.parents)]
        elif "memory" in controllers.split(","):
            files.append(root / GROUPS / "memory" / path.lstrip("/") / version_1.name)
    limits = [int(text) for file in files if (text := _text(file).strip()).isdigit()]
    return min((limit for limit in limits if limit < UNLIMITED), default=None)


def usual_memory(most: int, root: Path = ROOT) -> int:
    """Return the default memory of a fit: `most`, or half the container's if less.

    The other half is for Python and for the rule itself.
    """
    limit = container_limit(root)
    return most if limit is None else max(1, min(most, limit // 2))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
