"""Arrow: its arrays and functions, without what is slow to load.

`pyarrow.compute` makes a wrapper for each of some three hundred functions when it is
imported, in a quarter of the time that numpy and pyarrow take together; a small table
needs five of them. `pa.array`, `pa.scalar` and `to_numpy` load pandas where it is
installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

try:
    from pyarrow import _compute as compute
except ImportError:  # it is not public; this has the same names
    from pyarrow import compute

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from abers.validation import FloatArray


def texts(*written: str) -> pa.Array:
    """Return texts as Arrow's."""
    encoded = [text.encode() for text in written]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(written), buffers)


def column(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Return text, numbers or truth values as Arrow's; None is null."""
    if pa.types.is_null(kind):
        return pa.nulls(len(values))
    present = _bits([value is not None for value in values])
    if pa.types.is_string(kind):
        _, *buffers = texts(*(value or "" for value in values)).buffers()
    elif pa.types.is_boolean(kind):
        buffers = [_bits([bool(value) for value in values])]
    else:
        numbers = [0 if value is None else value for value in values]
        buffers = [pa.py_buffer(np.array(numbers, kind.to_pandas_dtype()))]
    return pa.Array.from_buffers(kind, len(values), [present, *buffers])


def _bits(flags: list[bool] | NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(np.asarray(flags, np.bool_), bitorder="little"))


def text_of(cells: pa.Array) -> bytes:
    """Return all cells, end to end; looking through these is fastest."""
    _, offsets, text = cells.buffers()
    ends = np.frombuffer(offsets, np.int32)[cells.offset :][[0, len(cells)]]
    return bytes(memoryview(text)[slice(*ends)]) if text else b""


def doubles(values: FloatArray, missing: NDArray[np.bool_]) -> pa.Array:
    """Return doubles, null where they are missing."""
    present = None
    if missing.any():
        present = _bits(~missing)
    data = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.float64(), values.size, [present, data])


def chosen_texts(
    written: tuple[str, ...], places: NDArray[Any], missing: NDArray[np.bool_]
) -> pa.Array:
    """Return the text at each place of a short list, null where it is missing."""
    present = _bits(~missing) if missing.any() else None
    data = pa.py_buffer(places.astype(np.int8))
    codes = pa.Array.from_buffers(pa.int8(), places.size, [present, data])
    return pa.DictionaryArray.from_arrays(codes, texts(*written)).dictionary_decode()


def filled(values: pa.Array, missing: float) -> NDArray[Any]:
    """Return numbers, with one for those that are missing."""
    if not values.null_count:
        return np.from_dlpack(values)
    bitmap, data = values.buffers()
    bare = [None, data]
    kind, size, start = values.type, len(values), values.offset
    known = np.from_dlpack(pa.Array.from_buffers(kind, size, bare, offset=start))
    bits = np.unpackbits(np.frombuffer(bitmap, np.uint8), bitorder="little")
    return np.where(bits[start : start + size], known, np.array(missing, known.dtype))


def plain(values: pa.Array) -> pa.Array:
    """Undo what only says how values are stored."""
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_large_string(values.type) or pa.types.is_string_view(values.type):
        values = cast(values, pa.string())
    return values


def cast(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return the same values as another type; an error if one is not the same."""
    return _called("cast", values, options=compute.CastOptions.safe(kind))


def encoded(values: pa.Array) -> pa.DictionaryArray:
    """Return distinct values, and for each value its place among them."""
    return _called("dictionary_encode", values)


def trimmed(cells: pa.Array) -> pa.Array:
    """Return texts without spaces around them."""
    return _called("utf8_trim_whitespace", cells)


def lower(cells: pa.Array) -> pa.Array:
    """Return texts in small letters."""
    return _called("utf8_lower", cells)


def is_among(cells: pa.Array, known: pa.Array) -> pa.Array:
    """Tell which texts are among those known."""
    return _called("is_in", cells, options=compute.SetLookupOptions(known))


def matches(cells: pa.Array, pattern: str) -> pa.Array:
    """Tell which texts match a regular expression somewhere."""
    options = compute.MatchSubstringOptions(pattern)
    return _called("match_substring_regex", cells, options=options)


def replaced(cells: pa.Array, old: str, new: str) -> pa.Array:
    """Return texts with one part instead of another."""
    options = compute.ReplaceSubstringOptions(old, new)
    return _called("replace_substring", cells, options=options)


def without_last(cells: pa.Array) -> pa.Array:
    """Return texts without their last character and the spaces before it."""
    shorter = _called(
        "utf8_slice_codeunits", cells, options=compute.SliceOptions(0, -1)
    )
    return _called("utf8_rtrim_whitespace", shorter)


def joined_texts(*columns_and_separator: Any) -> pa.Array:
    """Return the texts of each row in one, with the last argument between them."""
    return _called("binary_join_element_wise", *columns_and_separator)


def where(chosen: pa.Array, values: pa.Array, others: pa.Array) -> pa.Array:
    """Return values where they are chosen, others elsewhere."""
    return _called("if_else", chosen, values, others)


def without(values: pa.Array, chosen: pa.Array) -> pa.Array:
    """Return values, null where they are chosen."""
    (null,) = pa.nulls(1, values.type)
    return _called("if_else", chosen, null, values)


def present(values: pa.Array, instead: pa.Scalar) -> pa.Array:
    """Return values, and another one where one is missing."""
    return _called("coalesce", values, instead)


def _called(name: str, *arguments: Any, options: Any = None) -> Any:
    return compute.call_function(name, list(arguments), options)
