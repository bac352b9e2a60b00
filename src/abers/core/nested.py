"""Nested rules: the contents of several rules, stored in one object.

Their arrays are stored end to end. Cells count rows, as integers or as real weights,
which may differ between the rules of one object; so all are stored as floats, with a
flag for integers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from abers.core.fitted import DTYPES, Contents, contents_of, flaw_of, layout_of
from abers.core.pooled import PooledRule
from abers.core.rule import Rule
from abers.validation import LARGEST_EXACT_INTEGER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from abers.core.fitted import Arrays, Facts, Stored

PREFIXES: dict[type[Any], str] = {Rule: "rule_", PooledRule: "pooled_"}  # of arrays
EITHER = "fi"  # letters of arrays that hold integers or floats


def nested_letters(kind: type[Stored]) -> dict[str, str]:
    """Return the letters of the arrays of several objects, stored end to end."""
    return {
        name: letters[0] if letters == EITHER else letters
        for name, letters in layout_of(kind).arrays.items()
    }


# Of rules or of pooled rules; the arrays of the other kind are empty.
ARRAYS: dict[str, str] = {
    "lengths": "i",
    **{
        f"{prefix}{name}": letters
        for kind, prefix in PREFIXES.items()
        for name, letters in nested_letters(kind).items()
    },
}


def joined(kind: type[Stored], parts: Sequence[Contents | None]) -> Arrays:
    """Return the arrays of several objects of one class end to end, and their lengths.

    The lengths are those of all arrays of the first object, in the order of their
    names, followed by 1 if it counts rows as integers, else 0; then the same for the
    next object. None has no arrays.
    """
    types: dict[str, Any] = {
        name: DTYPES[letter] for name, letter in nested_letters(kind).items()
    }
    names = sorted(types)
    present = [part.arrays for part in parts if part is not None]
    arrays: Arrays = {
        name: np.concatenate(
            [
                np.empty(0, types[name]),
                *(part[name].astype(types[name]) for part in present),
            ]
        )
        for name in names
    }
    lengths = [
        [0] * (len(names) + 1)
        if part is None
        else [*(part.arrays[name].size for name in names), _has_integers(kind, part)]
        for part in parts
    ]
    return arrays | {"lengths": np.array(lengths, dtype=np.int64).reshape(-1)}


def parted(
    kind: type[Stored], facts: Sequence[Facts | None], arrays: Arrays
) -> list[Contents | None] | None:
    """Split arrays that are stored end to end into contents; None if invalid."""
    names = sorted(nested_letters(kind))
    lengths = arrays["lengths"]
    if lengths.size != len(facts) * (len(names) + 1) or (lengths < 0).any():
        return None
    *by_name, flags = lengths.reshape(-1, len(names) + 1).T
    pieces: dict[str, list[NDArray[Any]]] = {}
    for name, sizes in zip(names, by_name, strict=True):
        # The sum of huge lengths could overflow and still be right.
        if (sizes > arrays[name].size).any() or sizes.sum() != arrays[name].size:
            return None
        pieces[name] = np.split(arrays[name], np.cumsum(sizes)[:-1])
    parts: list[Contents | None] = []
    for place, of_part in enumerate(facts):
        own = {name: pieces[name][place] for name in names}
        if of_part is None:
            if lengths.reshape(len(facts), -1)[place].any():
                return None
            parts.append(None)
            continue
        if flags[place]:
            own |= _integers(kind, own)
        parts.append(Contents(of_part, own))
        if _has_integers(kind, parts[-1]) != flags[place]:
            return None
    return parts


def _has_integers(kind: type[Stored], part: Contents | None) -> int:
    """Return 1 if arrays that may hold integers do so and exist, else 0."""
    return int(
        part is not None
        and any(
            letters == EITHER
            and part.arrays[name].size > 0
            and part.arrays[name].dtype.kind == "i"
            for name, letters in layout_of(kind).arrays.items()
        )
    )


def _integers(kind: type[Stored], arrays: Arrays) -> Arrays:
    """Convert arrays that may hold integers to integers, if they are whole."""
    either = {
        n: arrays[n]
        for n, letters in layout_of(kind).arrays.items()
        if letters == EITHER
    }
    if any(
        (abs(a) > LARGEST_EXACT_INTEGER).any() or (a != np.rint(a)).any()
        for a in either.values()
    ):
        return {}
    return {name: array.astype(np.int64) for name, array in either.items()}


def rules_as_arrays(
    kind: type[Rule | PooledRule], rules: Sequence[Rule | PooledRule | None]
) -> tuple[list[Facts | None], Arrays]:
    """Return the facts of each rule, or None in place of one, and all their arrays."""
    parts = [None if rule is None else contents_of(rule) for rule in rules]
    prefix = PREFIXES[kind]
    own = joined(kind, parts)
    arrays: Arrays = {
        name: np.empty(0, DTYPES[letters]) for name, letters in ARRAYS.items()
    }
    arrays["lengths"] = own.pop("lengths")
    arrays |= {f"{prefix}{name}": array for name, array in own.items()}
    return [None if part is None else part.facts for part in parts], arrays


def nested_rules(
    kind: type[Rule | PooledRule], facts: Sequence[Facts | None], arrays: Arrays
) -> list[Contents | None] | None:
    """Return the contents of each rule; None if they do not fit together."""
    (other,) = PREFIXES.keys() - {kind}
    if any(arrays[f"{PREFIXES[other]}{name}"].size for name in layout_of(other).arrays):
        return None
    own = {name: arrays[f"{PREFIXES[kind]}{name}"] for name in layout_of(kind).arrays}
    return parted(kind, facts, own | {"lengths": arrays["lengths"]})


def flaw_of_nested(
    kind: type[Stored], parts: Sequence[Contents | None] | None
) -> str | None:
    """Return why parts cannot be the contents of objects of a class, or None."""
    if parts is None:
        return "its rules are not those that it lists"
    for part in parts:
        if part is None:
            continue
        if not isinstance(part.facts, dict):
            return "its rules are not described"
        if flaw := flaw_of(kind, part):
            return f"its rules are not all valid: {flaw}"
    return None
