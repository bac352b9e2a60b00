"""Set the address of the project, once it has one: python tools/set_address.py URL.

Writes `[project.urls]`, the repository of CITATION.cff, and absolute links into the
README, because a package index shows it without the files beside it. Files are linked
below URL/blob/main, pictures below URL/raw/main.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

LINK = re.compile(r"(!?)\[([^]]*)\]\((?![a-z]+:|#)([^)]+)\)")


def set_address(root: Path, address: str) -> None:
    """Change the three files; a second time they stay as they are."""
    readme = root / "README.md"
    text = LINK.sub(
        lambda m: f"{m[1]}[{m[2]}]({address}/{'raw' if m[1] else 'blob'}/main/{m[3]})",
        readme.read_text("utf-8"),
    )
    readme.write_text(text, "utf-8")
    project = root / "pyproject.toml"
    urls = (
        f'[project.urls]\nSource = "{address}"\nIssues = "{address}/issues"\n'
        f'Changelog = "{address}/blob/main/CHANGELOG.md"\n\n'
    )
    text = project.read_text("utf-8")
    if "[project.urls]" not in text:
        text = text.replace("[project.scripts]\n", f"{urls}[project.scripts]\n", 1)
        project.write_text(text, "utf-8")
    citation = root / "CITATION.cff"
    text = citation.read_text("utf-8")
    if "repository-code:" not in text:
        line = f'repository-code: "{address}"\n'
        text = text.replace("license: MIT\n", f"license: MIT\n{line}", 1)
        citation.write_text(text, "utf-8")


def main() -> None:
    """Check the address, and set it."""
    if len(sys.argv) != 2 or not sys.argv[1].startswith("https://"):
        sys.exit("Say the address: python tools/set_address.py https://host/name/abers")
    set_address(Path(__file__).parents[1], sys.argv[1].rstrip("/"))


if __name__ == "__main__":
    main()
