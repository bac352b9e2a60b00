"""Build the sources and the wheels of this machine, audit them, and test them.

`build` makes dist/: the archive of the sources, and of that archive one wheel for each
kind of Python that is here. `test` installs them into an empty environment of each
Python that can use it, outside of the source tree, and runs the demo and quick tests.
Pythons are looked for on the path and among those of pyenv; PYTHONS names others.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
FIRST, STABLE = (3, 11), (3, 12)  # the first Python; the first with our stable ABI
ASK = (
    "import sys, sysconfig; print(*sys.version_info[:3], "
    "sysconfig.get_config_var('Py_GIL_DISABLED') or 0, sys.prefix)"
)
# Tests that need few libraries, as in [tool.cibuildwheel] of pyproject.toml.
QUICK = (
    *(f"core/test_{name}.py" for name in ("bits", "fit", "rule", "pooled", "poset")),
    *("core/test_weights.py", "online", "test_public_api.py"),
)
NEEDED = ("hypothesis>=6.135", "joblib>=1.4", "pytest>=8", "safetensors>=0.5")


class Python(NamedTuple):
    """An interpreter: its version, whether it has no GIL, and where it is."""

    version: tuple[int, ...]
    free_threaded: bool
    path: str

    @property
    def tag(self) -> str:
        """The wheel it needs: of its own version, or of the stable ABI."""
        own = f"cp{self.version[0]}{self.version[1]}"
        if self.free_threaded:
            return f"{own}-{own}t"
        return "cp312-abi3" if self.version >= STABLE else f"{own}-{own}"

    def __str__(self) -> str:
        """Name it as people do."""
        return f"Python {'.'.join(map(str, self.version))}" + "t" * self.free_threaded


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=["build", "test"])
    task = parser.parse_args().task
    found = pythons()
    print("Found:", ", ".join(map(str, found)))
    (build if task == "build" else test)(found)


def pythons() -> list[Python]:
    """Find one interpreter of each version, the lowest first."""
    names = [f"python3.{minor}{t}" for minor in range(11, 20) for t in ("", "t")]
    paths = [*os.environ.get("PYTHONS", "").split(), sys.executable]
    paths += [path for name in names if (path := shutil.which(name))]
    paths += map(str, sorted(Path.home().glob(".pyenv/versions/*/bin/python3")))
    found: dict[tuple[tuple[int, ...], bool], Python] = {}
    for path in paths:
        answer = subprocess.run(  # noqa: S603
            [path, "-c", ASK], check=False, capture_output=True, text=True
        )
        if answer.returncode:  # a shim of a version that is not in use
            continue
        *version, free, _ = answer.stdout.split(maxsplit=4)
        numbers = tuple(map(int, version))
        if numbers >= FIRST:
            key = numbers[:2], free == "1"
            found.setdefault(key, Python(numbers, free == "1", path))
    return [found[key] for key in sorted(found)]


def build(found: list[Python]) -> None:
    """Make dist/, from nothing."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--sdist", "--outdir", DIST, ROOT)
    (sources,) = DIST.glob("*.tar.gz")
    builders: dict[str, Python] = {}
    for python in found:
        builders.setdefault(python.tag, python)
    with tempfile.TemporaryDirectory() as folder:
        for tag, python in builders.items():
            start = time.monotonic()
            make_wheel(sources, python, Path(folder, tag))
            print(f"{tag}: built by {python} in {time.monotonic() - start:.0f} s")
    stable = list(DIST.glob("*-abi3-*.whl"))
    if stable:
        run(sys.executable, "-m", "abi3audit", "--strict", "--summary", *stable)
    for file in sorted(DIST.iterdir()):
        print(f"{file.name}: {file.stat().st_size / 1024:.0f} KB")


def make_wheel(sources: Path, python: Python, folder: Path) -> None:
    """Build a wheel from the archive alone, and let auditwheel give it its platform."""
    environment = empty_environment(python, folder / "env")
    pip = (environment, "-m", "pip", "wheel", "--quiet", "--no-deps")
    run(*pip, "--wheel-dir", folder, sources, cwd=folder)
    (wheel,) = folder.glob("*.whl")
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", DIST, wheel,
        env=os.environ | {"PATH": tools})  # fmt: skip


def test(found: list[Python]) -> None:
    """Install and use what is in dist/, in each Python."""
    for python in found:
        wheels = list(DIST.glob(f"*-{python.tag}-*.whl"))
        if not wheels:
            sys.exit(f"dist/ has no wheel for {python}; run make wheel first.")
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            use(python, wheels[0], Path(folder))
        print(f"{python}: {wheels[0].name} works ({time.monotonic() - start:.0f} s)")


def use(python: Python, wheel: Path, folder: Path) -> None:
    """Run the demo and the quick tests, where no source can be imported by mistake."""
    environment = empty_environment(python, folder / "env")
    # A lack of wheels is no reason to compile the libraries of others.
    run(environment, "-m", "pip", "install", "--quiet", "--only-binary", ":all:",
        f"{wheel}[cli,report]", *NEEDED)  # fmt: skip
    shutil.copytree(ROOT / "tests", folder / "tests")
    shutil.copy(ROOT / "pyproject.toml", folder)
    where = "import abers, pathlib; print(pathlib.Path(abers.__file__).parent)"
    run(environment, "-c", where, cwd=folder)
    run(environment.with_name("abers"), "demo", "--folder", "demo", cwd=folder)
    quick = [folder / "tests" / name for name in QUICK]
    run(environment, "-m", "pytest", "--quiet", "--override-ini",
        "addopts=--import-mode=importlib", *quick, cwd=folder)  # fmt: skip
    score_with_numpy_alone(python, wheel, folder)


def score_with_numpy_alone(python: Python, wheel: Path, folder: Path) -> None:
    """Save rules in the environment of `use`, and load them in an image for scoring."""
    image = empty_environment(python, folder / "image")
    run(image, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", "numpy")
    run(image, "-m", "pip", "install", "--quiet", "--no-deps", wheel)
    program, saved = folder / "tests" / "numpy_alone.py", folder / "saved"
    saved.mkdir()
    run(folder / "env" / "bin" / "python", program, "fit", saved, cwd=folder)
    run(image, program, "score", saved, cwd=folder)


def empty_environment(python: Python, folder: Path) -> Path:
    """Make a virtual environment and return its interpreter."""
    run(python.path, "-m", "venv", folder)
    return folder / "bin" / "python"


def run(*command: str | Path, **options: object) -> None:
    """Run a command, and stop if it fails."""
    subprocess.run(list(map(str, command)), check=True, **options)  # type: ignore[call-overload]  # noqa: S603


if __name__ == "__main__":
    main()
