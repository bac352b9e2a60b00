"""Print the lowest versions that pyproject.toml allows, as requirements for pip.

`name>=version` becomes `name==version`, for the dependencies, then for the extras that
are named, in this order: what is named twice keeps the version that came first, because
tests may ask for more than the library does. Extras of abers itself are followed.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
REQUIREMENT = re.compile(r"([\w.-]+)(?:\[([\w,]+)\])?(?:>=([\d.]+))?")


def floors(project: dict, extras: list[str]) -> dict[str, str]:
    """Return the lowest version of each library that is named."""
    optional = project["optional-dependencies"]
    waiting = [*project["dependencies"]]
    for extra in extras:
        waiting += optional[extra]
    lowest: dict[str, str] = {}
    for requirement in waiting:  # it grows while it is read
        name, inner, version = REQUIREMENT.match(requirement).groups()
        if name == "abers":
            waiting += [r for extra in inner.split(",") for r in optional[extra]]
        elif version:
            lowest.setdefault(name, version)
    return lowest


def main() -> None:
    """Print the requirements for the extras that are named."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for name, version in sorted(floors(project, sys.argv[1:]).items()):
        print(f"{name}=={version}")


if __name__ == "__main__":
    main()
