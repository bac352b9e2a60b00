"""Java: Spark needs it, and says little if it is missing or too old."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from abers.errors import MissingExtra

OLDEST_JAVA = 17
ADVICE = (
    "Install a Java runtime, on Debian and Ubuntu the package "
    "openjdk-17-jre-headless, and let JAVA_HOME name it if there are several."
)


def check_java() -> None:
    """If Spark's own session cannot start here, raise, and say what to install.

    Spark Connect needs no Java.

    Raises
    ------
    MissingExtra
        If there is no Java, or one before Java 17.
    """
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if java is None or shutil.which(java) is None:
        got = f"JAVA_HOME is {home!r}, which has none" if home else "found none"
        msg = f"Spark needs Java {OLDEST_JAVA} or newer; {got}. {ADVICE}"
        raise MissingExtra(msg)
    run = subprocess.run(  # noqa: S603 (the user's own Java)
        [java, "-version"], capture_output=True, text=True, check=False
    )
    version = re.search(r'version "(?:1\.)?(\d+)', run.stderr + run.stdout)
    if version is None or int(version[1]) < OLDEST_JAVA:
        got = f"is Java {version[1]}" if version else "does not tell its version"
        msg = f"Spark needs Java {OLDEST_JAVA} or newer; {java} {got}. {ADVICE}"
        raise MissingExtra(msg)
