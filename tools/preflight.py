"""Say in one sentence what is missing before anything is built."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path


def missing() -> str | None:
    """Name the first thing that a build needs and this machine lacks."""
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < (3, 11):
        return (
            f"abers needs Python 3.11 or newer and this is {version}; "
            "say make PYTHON=/path/to/python."
        )
    if find_spec("venv") is None or find_spec("ensurepip") is None:
        return (
            f"Python {version} lacks the venv module; "
            "install it (on Debian and Ubuntu: apt install python3-venv)."
        )
    if not (Path(sysconfig.get_path("include")) / "Python.h").exists():
        return (
            f"Python {version} lacks its C headers; "
            "install them (on Debian and Ubuntu: apt install python3-dev)."
        )
    if not any(
        shutil.which(name) for name in (os.environ.get("CXX", "c++"), "g++", "clang++")
    ):
        return (
            "No C++ compiler was found; "
            "install one (on Debian and Ubuntu: apt install g++) or set CXX."
        )
    return None


if __name__ == "__main__":
    if sentence := missing():
        sys.exit(sentence)
