"""The file format once more, from its description: no code shared with the library.

8 bytes of length, a JSON header, the arrays. The digest is the SHA-256 of the whole
file with 64 zeros in its own place. Counts are integers where they can be.
"""

import hashlib
import json

UNSIGNED = "0" * 64
ARRAYS = {
    "rule": ("lower", "score_quantiles", "thresholds", "upper"),
    "diagram": ("negatives", "positives", "scores"),
}


def parts(thing):
    """Return the record of a rule or diagram, and copies of its arrays."""
    kind = type(thing).__name__.lower()
    record = {"format": f"abers-{kind}", "version": 1, "metadata": {}}
    if kind == "rule":
        record["increasing"] = thing.increasing
        record["metadata"] = dict(thing.metadata)
        record["n_observations"] = _plain(thing.n_observations)
        record["n_positives"] = _plain(thing.n_positives)
    return record, {name: getattr(thing, name).copy() for name in ARRAYS[kind]}


def header(record, arrays):
    """Return the header with zeros for the digest."""
    described = {"__metadata__": {"abers": _compact({**record, "sha256": UNSIGNED})}}
    offset = 0
    for name, array in arrays.items():
        described[name] = {
            "dtype": {"float64": "F64", "int64": "I64"}[str(array.dtype)],
            "shape": [array.size],
            "data_offsets": [offset, offset + array.nbytes],
        }
        offset += array.nbytes
    return _compact(described)


def payload(arrays):
    return b"".join(array.tobytes() for array in arrays.values())


def with_length(text):
    """Return the bytes of a header, whatever it says, behind their number."""
    padded = text.encode() + b" " * (-len(text.encode()) % 8)
    return len(padded).to_bytes(8, "little") + padded


def signed(text, data):
    """Return a file with the digest that belongs to it, whatever it says."""
    unsigned = with_length(text) + data
    digest = hashlib.sha256(unsigned).hexdigest()
    return unsigned.replace(UNSIGNED.encode(), digest.encode(), 1)


def written(record, arrays):
    return signed(header(record, arrays), payload(arrays))


def _compact(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _plain(count):
    return int(count) if count <= 2**53 and float(count).is_integer() else count
