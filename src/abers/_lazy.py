"""Names of a module that are loaded on first use (PEP 562)."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


def lazy_names(
    module: str, names: Mapping[str, Iterable[str]], submodules: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for a module whose names come from others.

    `names` maps defining modules, without "abers.", to their names.
    """
    homes = {name: f"abers.{home}" for home, some in names.items() for name in some}
    inner = frozenset(submodules)

    def load(name: str) -> Any:
        if name in inner:
            value: Any = import_module(f"{module}.{name}")
        elif name in homes:
            value = getattr(import_module(homes[name]), name)
        else:
            msg = f"module {module!r} has no attribute {name!r}"
            raise AttributeError(msg)
        setattr(sys.modules[module], name, value)  # next time, Python finds it
        return value

    def listed() -> list[str]:
        return sorted(sys.modules[module].__all__)

    return load, listed
