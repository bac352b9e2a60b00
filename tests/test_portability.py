"""What is not C++17 is in one file, and nothing that Windows lacks is imported."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
KERNEL = sorted((ROOT / "kernel").rglob("*.?pp"))
# Words of GCC, Clang and MSVC, and headers of systems and processors.
NOT_STANDARD = re.compile(
    r"__int128|__builtin_|__attribute__|__extension__|__declspec|__forceinline|__asm"
    r"|__GNUC__|__clang__|_MSC_VER|_WIN32|__linux__|__APPLE__|\[\[gnu::|\btypeof\b"
    r"|_mm_|aligned_alloc|_aligned_malloc|posix_memalign|madvise"
    r"|#include <(sys/|unistd|immintrin|x86intrin|intrin|arm_neon|bits/)"
)
# Modules of the standard library that Windows has not.
POSIX_ALONE = {"curses", "fcntl", "grp", "posix", "pty", "pwd", "resource", "termios"}


@pytest.mark.parametrize("file", KERNEL, ids=lambda file: file.name)
def test_only_one_header_names_compilers_and_systems(file):
    """kernel/portable.hpp: each of its words has a plain version."""
    names = NOT_STANDARD.findall(file.read_text("utf-8"))
    assert bool(NOT_STANDARD.search(file.read_text("utf-8"))) == (
        file.name == "portable.hpp"
    ), names


def test_the_build_forbids_fused_multiplications():
    """ARM has them, and results would differ from those of other processors."""
    assert "-ffp-contract=off" in (ROOT / "CMakeLists.txt").read_text("utf-8")


def unguarded(node):
    """Yield nodes, but for what a test of the system or an ImportError guards."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "sys.platform" in ast.unparse(child.test):
            continue
        if isinstance(child, ast.Try) and any(
            "ImportError" in ast.unparse(handler) for handler in child.handlers
        ):
            continue
        yield child
        yield from unguarded(child)


def imported(file):
    for node in unguarded(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def test_no_module_is_imported_that_windows_lacks():
    files = (ROOT / "src" / "abers").rglob("*.py")
    imports = {(f.name, name) for f in files for name in imported(f)}
    assert not [pair for pair in imports if pair[1] in POSIX_ALONE]


def has_generated_slots(node):
    return any(
        isinstance(keyword.value, ast.Constant) and keyword.value.value is True
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Call)
        for keyword in decorator.keywords
        if keyword.arg == "slots"
    )


def test_no_dataclass_with_slots_has_state_methods_of_its_own():
    """Python before 3.11.4 ignores them (CPython gh-104035): pickles go unchecked."""
    ignored = [
        (file.name, node.name)
        for file in (ROOT / "src" / "abers").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.ClassDef) and has_generated_slots(node)
        for method in node.body
        if isinstance(method, ast.FunctionDef)
        and method.name in {"__getstate__", "__setstate__"}
    ]
    assert not ignored
