"""The base of everything that is fitted: named arrays and facts, checked in one place.

What is fitted consists of arrays of numbers, and of facts that JSON can hold, under
fixed names. A pickle, a message and a file hold these `Contents` and nothing else.
Before an object is restored from them, its class checks that a fit could have made
them.

A class declares its arrays and facts, and what each may be, in its `Layout`. `_flaw`
checks that they fit together, and `_restore` sets the object's state from them.
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
F = TypeVar("F", bound="Fitted")

LARGEST_FLOAT = sys.float_info.max
SURROGATE = re.compile("[\ud800-\udfff]")  # half a character: JSON would join two
WORD = 8  # bytes; texts are padded to a multiple of it
RESERVED = "abers:"  # prefix of our own tags
SUM_TOLERANCE = 1e-9  # relative, of sums of rounded numbers
DTYPES: dict[str, np.dtype[Any]] = {  # the types an array may have, by letter
    "f": np.dtype(np.float64),
    "i": np.dtype(np.int64),
    "u": np.dtype(np.uint8),
}
NOUNS = {"f": "float64", "i": "int64", "fi": "float64 or int64", "u": "bytes"}


class Contents(NamedTuple):
    """The contents of an object: facts for JSON, and one-dimensional arrays."""

    facts: Facts
    arrays: Arrays


class Layout(NamedTuple):
    """The name of a class in files, and the names and types of its contents."""

    kind: str
    arrays: Mapping[str, str]  # name -> allowed letters of `DTYPES`
    facts: Mapping[str, Callable[[Any], bool]]  # name -> check


class Stored:
    """An object whose state, file and message hold its contents."""

    __slots__ = ()
    _layout: ClassVar[Layout]

    def _contents(self) -> Contents:
        """Return the arrays and facts that describe this object."""
        raise NotImplementedError

    @classmethod
    def _flaw(cls, facts: Facts, arrays: Arrays) -> str | None:
        """Return why no fit can have made these arrays and facts together, or None."""
        raise NotImplementedError

    def _restore(self, facts: Facts, arrays: Arrays) -> None:
        """Set the state from checked contents."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str], metadata: Tags | None = None) -> None:
        """Write to a file; an existing file is replaced atomically.

        Parameters
        ----------
        path : path-like
            Any name; the usual extension is `.abers`. Read it with `abers.load`.
        metadata : mapping, default=None
            Your own tags (model, date, …), added to the existing ones.
        """
        from abers.storage import files

        files.save(self, path, metadata)

    def __getstate__(self) -> dict[str, Any]:
        """Return arrays, numbers and text only, which every serializer can write."""
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
    """An immutable object: equal contents make equal objects."""

    __slots__ = ("_metadata",)
    _metadata: Mapping[str, Any]

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Your own tags, as given to `save`; read-only."""
        return self._metadata

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return are_equal(self._contents(), contents_of(other))

    def __hash__(self) -> int:
        facts, arrays = self._contents()
        # The ends differ in most objects that differ; hashing all bytes of long arrays
        # is slow.
        ends = [(a.size, a[:8].tobytes(), a[-8:].tobytes()) for a in arrays.values()]
        return hash((type(self), as_json(facts), *ends))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


def twin(kind: type[F], fitted: Fitted, **changed: Any) -> F:
    """Return an object of a class that shares all attributes but those changed."""
    made = object.__new__(kind)
    for ancestor in kind.__mro__:
        for name in getattr(ancestor, "__slots__", ()):
            value = changed[name] if name in changed else getattr(fitted, name)
            setattr(made, name, value)
    return made


def layout_of(kind: type[Stored]) -> Layout:
    """Return the names of the arrays and facts of a class."""
    return kind._layout


def file_kind(thing: Stored) -> str:
    """Return the name of this kind of object in files."""
    return thing._layout.kind


def noun_of(thing: Stored) -> str:
    """Return the name of this kind of object in messages."""
    return file_kind(thing).replace("-", " ")


def contents_of(thing: Stored) -> Contents:
    """Return the contents of an object."""
    return thing._contents()


def restored(kind: type[S], contents: Contents) -> S:
    """Make an object from contents that were already checked."""
    made = kind.__new__(kind)
    made._restore(*contents)
    return made


def flaw_of(kind: type[Stored], contents: Contents) -> str | None:
    """Return why no fit can have made these contents, or None."""
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
    """Return contents with arrays in native form; raise if invalid."""
    facts, arrays = contents
    native = Contents(facts, {name: _native(arrays[name]) for name in arrays})
    if flaw := flaw_of(kind, native):
        msg = f"a {kind.__name__} must be as abers makes it; {flaw}."
        raise InvalidParameter(msg)
    return native


def are_equal(mine: Contents, theirs: Contents) -> bool:
    """Return whether contents are the same; 1, 1.0 and True differ, as in a file."""
    return as_json(mine.facts) == as_json(theirs.facts) and all(
        np.array_equal(array, theirs.arrays[name])
        for name, array in mine.arrays.items()
    )


def as_json(value: object) -> str:
    """Return the canonical JSON text of a value in our files."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def json_bytes(value: object) -> NDArray[np.uint8]:
    """Return the canonical JSON of a value as bytes, padded to whole words."""
    text = as_json(value)
    return np.frombuffer((text + " " * (-len(text) % WORD)).encode("ascii"), np.uint8)


def from_json_bytes(written: NDArray[np.uint8]) -> Any:
    """Return the value that `json_bytes` wrote; None if it cannot have written this."""
    try:
        value = json.loads(written.tobytes())
        is_same = np.array_equal(json_bytes(value), written)
    except (TypeError, ValueError, RecursionError):
        return None
    return value if is_same else None


def shown(value: object) -> str:
    """Return a value for a message, cut short if it is long."""
    return reprlib.repr(value)


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Make an array read-only and return it."""
    array.flags.writeable = False
    return array


def stored(values: Any) -> NDArray[Any]:
    """Return an array as it is stored: with 0.0 in place of -0.0, which is equal."""
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


# Checks of facts.


def is_flag(value: object) -> bool:
    """Return whether this is True or False, not a number."""
    return isinstance(value, bool)


def is_whole(value: object) -> bool:
    """Return whether this is a count below 2**53, not a bool."""
    return type(value) is int and 0 <= value < LARGEST_EXACT_INTEGER


def is_total(value: Any) -> bool:
    """Return whether this is a sum of weights above 0, an int if it can be one."""
    return (
        type(value) in (int, float)
        and 0 <= value <= LARGEST_FLOAT
        and type(value) is type(plain_total(value))
    )


def plain_total(total: float) -> float:
    """Return a whole number as an int: 3 equals 3.0, so their bytes must be equal."""
    exact = total <= LARGEST_EXACT_INTEGER and total == int(total)
    return int(total) if exact else float(total)


def is_number_or_none(value: object) -> bool:
    """Return whether this is None or a finite float other than -0.0."""
    return value is None or (
        type(value) is float
        and math.isfinite(value)
        and not has_negative_zero(np.array([value]))
    )


def are_tags(tags: object) -> bool:
    """Return whether these are tags as `checked_tags` returns them."""
    return isinstance(tags, dict) and all(
        is_tag(key, value) for key, value in tags.items()
    )


def is_tag(key: object, value: object) -> bool:
    """Return whether a file can keep this tag; our own tags have their own checks."""
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


def is_list_of_text(value: object) -> bool:
    """Return whether this is a list of strings, written as JSON."""
    try:
        read = json.loads(str(value))
    except ValueError:
        return False
    return isinstance(read, list) and all(map(_is_text, read))


def is_rate(value: object) -> bool:
    """Return whether this is a share above 0 and below 1."""
    return isinstance(value, float) and 0 < value < 1


OWN_TAGS: dict[str, Callable[[Any], bool]] = {
    "abers:by": _is_text,
    "abers:fingerprint": _is_text,
    "abers:id": _is_text,
    "abers:label": _is_text,
    "abers:neg-labels": is_list_of_text,
    "abers:out-of-fold": _is_text,
    "abers:pos-label": _is_any,
    "abers:prior": is_rate,
    "abers:score": _is_text,
    "abers:training-fingerprint": _is_text,
    "abers:weight": _is_text,
}


def checked_tags(tags: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the user's tags; raise if a file cannot keep them."""
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


# Checks of arrays.


def is_ascending(values: NDArray[Any]) -> bool:
    """Return whether numbers are distinct and ascending."""
    return bool((values[1:] > values[:-1]).all())


def has_negative_zero(values: NDArray[Any]) -> bool:
    """Return whether any zero is -0.0, which equals 0.0 but has other bytes."""
    return bool((np.signbit(values) & (values == 0)).any())
