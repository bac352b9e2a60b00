"""The base of everything that is fitted: named arrays and facts, checked in one place.

What is fitted is arrays of numbers, and facts that JSON can hold, under fixed names.
A pickle, a message and a file hold these `Contents` and nothing else, and whoever
restores an object from them asks its class first whether a fit can have made them.

A class names its arrays and facts with what each may be (its `Layout`), says in `_flaw`
how they must fit together, and becomes what they describe in `_restore`.
"""

from __future__ import annotations

import json
import math
import re
import reprlib
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np

from abers.errors import InvalidParameter
from abers.validation import LARGEST_EXACT_INTEGER

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    Arrays = dict[str, NDArray[Any]]
    Facts = dict[str, Any]
    Tags = Mapping[str, str | float | bool | None]

S = TypeVar("S", bound="Stored")

LARGEST_FLOAT = sys.float_info.max
SURROGATE = re.compile("[\ud800-\udfff]")  # half a character: JSON would join two
WORD = 8  # bytes, to a multiple of which texts are filled up
RESERVED = "abers:"  # tags of our own begin so
DTYPES: dict[str, np.dtype[Any]] = {  # what an array may hold, by its letter
    "f": np.dtype(np.float64),
    "i": np.dtype(np.int64),
    "u": np.dtype(np.uint8),
}
NOUNS = {"f": "float64", "i": "int64", "fi": "float64 or int64", "u": "bytes"}


class Contents(NamedTuple):
    """What an object is made of: facts that JSON can hold, arrays of one dimension."""

    facts: Facts
    arrays: Arrays


class Layout(NamedTuple):
    """What a class is called in files, and the names and types of its contents."""

    kind: str
    arrays: Mapping[str, str]  # of each, the letters of `DTYPES` it may have
    facts: Mapping[str, Callable[[Any], bool]]  # of each, what it must be


class Stored:
    """An object with a state, a file and a message, which hold its contents."""

    __slots__ = ()
    _layout: ClassVar[Layout]

    def _contents(self) -> Contents:
        """Return the arrays and facts that describe this object."""
        raise NotImplementedError

    @classmethod
    def _flaw(cls, facts: Facts, arrays: Arrays) -> str | None:
        """Say why no fit can have made these arrays and facts together, if so."""
        raise NotImplementedError

    def _restore(self, facts: Facts, arrays: Arrays) -> None:
        """Become what checked contents describe."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str], metadata: Tags | None = None) -> None:
        """Write to a file; an existing one is replaced at once or not at all.

        Parameters
        ----------
        path : path-like
            Any name; `.abers` is usual. `abers.load` reads it.
        metadata : mapping, default=None
            Tags of your own (model, date, …), added to those that are there.
        """
        from abers.storage import files

        files.save(self, path, metadata)

    def __getstate__(self) -> dict[str, Any]:
        """Return arrays, numbers and text alone, as every serializer can write them."""
        facts, arrays = self._contents()
        return {**arrays, **facts}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore from a state dict; raise if invalid."""
        kind = type(self)
        if not isinstance(state, dict):
            msg = f"the state of a {kind.__name__} must be a dict; got {shown(state)}."
            raise InvalidParameter(msg)
        names = kind._layout.arrays
        arrays = {name: value for name, value in state.items() if name in names}
        facts = {name: value for name, value in state.items() if name not in arrays}
        self._restore(*_without_flaw(kind, Contents(facts, arrays)))


class Fitted(Stored):
    """An object that never changes: equal contents make equal objects."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return are_equal(self._contents(), contents_of(other))

    def __hash__(self) -> int:
        facts, arrays = self._contents()
        # The ends tell most objects apart; all bytes of long arrays would take long.
        ends = [(a.size, a[:8].tobytes(), a[-8:].tobytes()) for a in arrays.values()]
        return hash((type(self), as_json(facts), *ends))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


def layout_of(kind: type[Stored]) -> Layout:
    """Return the names of the arrays and facts of a class."""
    return kind._layout


def file_kind(thing: Stored) -> str:
    """Return what files call this kind of object."""
    return thing._layout.kind


def noun_of(thing: Stored) -> str:
    """Return the kind of an object as a sentence has it."""
    return file_kind(thing).replace("-", " ")


def contents_of(thing: Stored) -> Contents:
    """Return what an object is made of."""
    return thing._contents()


def made_of(kind: type[S], contents: Contents) -> S:
    """Make an object of contents; raise if no fit can have made them."""
    return restored(kind, _without_flaw(kind, contents))


def restored(kind: type[S], contents: Contents) -> S:
    """Make an object of contents that were checked."""
    made = kind.__new__(kind)
    made._restore(*contents)
    return made


def flaw_of(kind: type[Stored], contents: Contents) -> str | None:
    """Say why no fit can have made these contents, if so."""
    facts, arrays = contents
    layout = kind._layout
    if facts.keys() != layout.facts.keys() or arrays.keys() != layout.arrays.keys():
        names = sorted(map(str, [*facts, *arrays]))
        wanted = ", ".join(sorted([*layout.facts, *layout.arrays]))
        return f"it holds {shown(names)} instead of {wanted}"
    for name, letters in layout.arrays.items():
        if flaw := _flaw_of_array(arrays[name], letters):
            return f"its {name} {flaw}"
    for name, holds in layout.facts.items():
        if not holds(facts[name]):
            return f"its {name} must not be {shown(facts[name])}"
    return kind._flaw(facts, arrays)


def _without_flaw(kind: type[Stored], contents: Contents) -> Contents:
    """Return contents with arrays as this machine holds them; raise if invalid."""
    facts, arrays = contents
    native = Contents(facts, {name: _native(arrays[name]) for name in arrays})
    if flaw := flaw_of(kind, native):
        msg = f"a {kind.__name__} must be as abers makes it; {flaw}."
        raise InvalidParameter(msg)
    return native


def are_equal(mine: Contents, theirs: Contents) -> bool:
    """Tell whether contents are the same; 1, 1.0 and True differ, as in a file."""
    return as_json(mine.facts) == as_json(theirs.facts) and all(
        np.array_equal(array, theirs.arrays[name])
        for name, array in mine.arrays.items()
    )


def as_json(value: object) -> str:
    """Return the one text that stands for a value in our files."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def json_bytes(value: object) -> NDArray[np.uint8]:
    """Return the one text of a value as bytes, in whole words."""
    text = as_json(value)
    return np.frombuffer((text + " " * (-len(text) % WORD)).encode("ascii"), np.uint8)


def from_json_bytes(written: NDArray[np.uint8]) -> Any:
    """Return the value that `json_bytes` has written; None if it cannot have."""
    try:
        value = json.loads(written.tobytes())
        is_same = np.array_equal(json_bytes(value), written)
    except (TypeError, ValueError, RecursionError):
        return None
    return value if is_same else None


def shown(value: object) -> str:
    """Return a value for a sentence, cut short if it is long."""
    return reprlib.repr(value)


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array that is read-only from now on."""
    array.flags.writeable = False
    return array


def stored(values: Any) -> NDArray[Any]:
    """Return an array as it is stored: -0.0 equals 0.0, so 0.0 stands for both."""
    array: NDArray[Any] = np.asarray(values) + 0
    return array


def _native(array: object) -> Any:
    """Return an array in the byte order of this machine, aligned and contiguous."""
    if not isinstance(array, np.ndarray):
        return array
    return np.require(array, array.dtype.newbyteorder("="), ["C", "A"])


def _flaw_of_array(array: object, letters: str) -> str | None:
    if not isinstance(array, np.ndarray) or array.ndim != 1:
        return f"must be an array of one dimension, not {shown(array)}"
    if array.dtype not in [DTYPES[letter] for letter in letters]:
        return f"must be {NOUNS[letters]}, not {array.dtype}"
    if array.dtype.kind != "f":
        return None
    if np.isnan(array).any():
        return "must not be NaN"
    if has_negative_zero(array):
        return "must not have a zero with a sign"
    return None


# What facts may be.


def is_flag(value: object) -> bool:
    """Tell whether this is True or False, and no number."""
    return isinstance(value, bool)


def is_whole(value: object) -> bool:
    """Tell whether this is a count below 2**53; True is an int, too."""
    return type(value) is int and 0 <= value < LARGEST_EXACT_INTEGER


def is_total(value: Any) -> bool:
    """Tell whether this is a sum of weights above 0, held as an int if it can be."""
    return (
        type(value) in (int, float)
        and 0 <= value <= LARGEST_FLOAT
        and type(value) is type(plain_total(value))
    )


def plain_total(total: float) -> float:
    """Return an integer as an int: 3 equals 3.0, so their bytes must be equal."""
    exact = total <= LARGEST_EXACT_INTEGER and total == int(total)
    return int(total) if exact else float(total)


def is_number_or_none(value: object) -> bool:
    """Tell whether this is a finite float without a signed zero, or None."""
    return value is None or (
        type(value) is float
        and math.isfinite(value)
        and not has_negative_zero(np.array([value]))
    )


def are_tags(tags: object) -> bool:
    """Tell whether these are tags as `checked_tags` returns them."""
    return isinstance(tags, dict) and all(
        is_tag(key, value) for key, value in tags.items()
    )


def is_tag(key: object, value: object) -> bool:
    """Tell whether a file can keep this tag; one of our own must be as we make it."""
    number = isinstance(value, int | float) and abs(value) <= LARGEST_FLOAT
    if not _is_text(key) or not (value is None or number or _is_text(value)):
        return False
    return not str(key).startswith(RESERVED) or (
        key in OWN_TAGS and OWN_TAGS[str(key)](value)
    )


def _is_text(value: object) -> bool:
    return isinstance(value, str) and not SURROGATE.search(value)


def _is_any(value: object) -> bool:  # noqa: ARG001 (`is_tag` has checked it)
    return True


def is_rate(value: object) -> bool:
    """Tell whether this is a share above 0 and below 1."""
    return isinstance(value, float) and 0 < value < 1


OWN_TAGS: dict[str, Callable[[Any], bool]] = {
    "abers:by": _is_text,
    "abers:fingerprint": _is_text,
    "abers:id": _is_text,
    "abers:label": _is_text,
    "abers:out-of-fold": _is_text,
    "abers:pos-label": _is_any,
    "abers:prior": is_rate,
    "abers:score": _is_text,
    "abers:training-fingerprint": _is_text,
}


def checked_tags(tags: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the tags that a user gives; raise if a file cannot keep them."""
    must = "metadata must map text to text, finite numbers, booleans or None"
    if not isinstance(tags, Mapping | None):
        msg = f"{must}; got {shown(tags)}."
        raise InvalidParameter(msg)
    checked = dict(tags or {})
    for key, value in checked.items():
        if not is_tag(key, value):
            msg = f"{must}; got {shown(key)}: {shown(value)}."
            raise InvalidParameter(msg)
    return checked


# What arrays may be.


def is_ascending(values: NDArray[Any]) -> bool:
    """Tell whether numbers are distinct and in order."""
    return bool((values[1:] > values[:-1]).all())


def has_negative_zero(values: NDArray[Any]) -> bool:
    """Tell whether a zero is -0.0, which equals 0.0 and has other bytes."""
    return bool((np.signbit(values) & (values == 0)).any())
