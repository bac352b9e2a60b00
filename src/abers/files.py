"""Rule and diagram files: save, load, verify.

A file is a safetensors container: 8 bytes of length, a JSON header, the arrays. All
that is not an array stands in one metadata key, `abers`, as canonical JSON with the
SHA-256 of itself and of the arrays, so equal rules give equal bytes. The header is
written and compared byte for byte here, not by a library, so that neither the bytes
nor what is accepted depends on a version of one (docs/decisions/0006).

Reading trusts nothing: sizes are checked before memory is taken, the header must be
the very one that would be written, the digest must match, and then the arrays must be
those of a rule. Nothing is executed.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

import numpy as np

from abers._kernel import Table
from abers.core.diagram import PERCENTS, Diagram
from abers.core.rule import Rule
from abers.errors import InvalidFile, InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

FORMAT_VERSION = 1
LARGEST_HEADER = 2**24  # bytes; the rest of a header is a few hundred
_DTYPES = {"F64": np.dtype("<f8"), "I64": np.dtype("<i8")}
_LAYOUT = {
    "rule": ("lower", "score_quantiles", "thresholds", "upper"),
    "diagram": ("negatives", "positives", "scores"),
}

Path_ = str | os.PathLike[str]
Tags = "Mapping[str, str | float | bool | None]"


def save_rule(rule: Rule, path: Path_, metadata: Mapping[str, Any] | None) -> None:
    """Write a rule; see `Rule.save`."""
    arrays = {name: getattr(rule, name) for name in _LAYOUT["rule"]}
    facts = {
        "increasing": rule.increasing,
        "n_observations": rule.n_observations,
        "n_positives": rule.n_positives,
        "metadata": _checked_tags({**rule.metadata, **(metadata or {})}),
    }
    _write(path, "rule", arrays, facts)


def load_rule(path: Path_) -> Rule:
    """Read a rule that `Rule.save` has written.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    Rule
        Equal to the one that was saved, to the last bit.

    Raises
    ------
    InvalidFile
        If the file is damaged, is no rule, or comes from a newer format. Nothing in
        the file is executed, whatever it holds.

    Examples
    --------
    >>> import abers, pathlib, tempfile
    >>> rule = abers.fit_rule([1, 2, 3], [0, 1, 0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "rule.abers")
    ...     rule.save(path)
    ...     abers.load_rule(path) == rule
    True
    """
    arrays, facts = _read(path, "rule")
    _check_rule(path, arrays, facts)
    return Rule(
        Table(arrays["thresholds"], arrays["lower"], arrays["upper"]),
        n_observations=facts["n_observations"],
        n_positives=facts["n_positives"],
        score_quantiles=arrays["score_quantiles"],
        increasing=facts["increasing"],
        metadata=facts["metadata"],
    )


def save_diagram(
    diagram: Diagram, path: Path_, metadata: Mapping[str, Any] | None
) -> None:
    """Write a diagram; see `Diagram.save`."""
    arrays = {name: getattr(diagram, name) for name in _LAYOUT["diagram"]}
    _write(path, "diagram", arrays, {"metadata": _checked_tags(metadata or {})})


def load_diagram(path: Path_) -> Diagram:
    """Read a diagram; see `Diagram.load`."""
    arrays, _ = _read(path, "diagram")
    scores, masses = arrays["scores"], (arrays["negatives"], arrays["positives"])
    if not (
        scores.size == masses[0].size == masses[1].size > 0
        and masses[0].dtype == masses[1].dtype
        and _ascending(scores)
        and _one_zero(scores)
        and all(bool((mass >= 0).all() and np.isfinite(mass).all()) for mass in masses)
        and (masses[0] + masses[1] > 0).all()
    ):
        _refuse(path, "its arrays are not those of a diagram")
    return Diagram(scores, *masses)


def _check_rule(
    path: Path_, arrays: dict[str, NDArray[Any]], facts: dict[str, Any]
) -> None:
    """Refuse arrays that no fit can have made."""
    lower, upper = arrays["lower"], arrays["upper"]
    thresholds, quantiles = arrays["thresholds"], arrays["score_quantiles"]
    total, ones = facts.get("n_observations"), facts.get("n_positives")
    if {array.dtype.kind for array in arrays.values()} != {"f"}:
        _refuse(path, "its arrays are not floats")
    if not (lower.size == upper.size == thresholds.size + 1):
        _refuse(path, "its arrays differ in length")
    if not (
        _ascending(thresholds)
        and _one_zero(thresholds)
        and (thresholds > -math.inf).all()
    ):
        _refuse(path, "its thresholds are not ascending")
    falls = facts.get("increasing") is False
    if not (
        (lower >= 0).all()
        and (lower <= upper).all()
        and (upper <= 1).all()
        and all(_monotone(bound, falls=falls) for bound in (lower, upper))
        and ((lower[1:] != lower[:-1]) | (upper[1:] != upper[:-1])).all()
    ):
        _refuse(path, "its bounds are not monotone probabilities")
    if quantiles.size != PERCENTS.size or not (quantiles[1:] >= quantiles[:-1]).all():
        _refuse(path, "its score quantiles are not 101 ascending scores")
    if not (
        isinstance(facts.get("increasing"), bool)
        and _is_count(total)
        and _is_count(ones)
        and 0 <= ones <= total > 0
        and isinstance(facts.get("metadata"), dict)
    ):
        _refuse(path, "its counts are not those of a calibration set")


def _is_count(value: object) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and math.isfinite(value)
    )


def _ascending(values: NDArray[Any]) -> bool:
    return not np.isnan(values[:1]).any() and bool((values[1:] > values[:-1]).all())


def _one_zero(values: NDArray[Any]) -> bool:
    return not np.signbit(values[values == 0]).any()


def _monotone(values: NDArray[Any], *, falls: bool) -> bool:
    rises = values[1:] >= values[:-1] if not falls else values[1:] <= values[:-1]
    return bool(rises.all())


def _checked_tags(tags: Mapping[str, Any]) -> dict[str, Any]:
    for key, value in tags.items():
        good = isinstance(value, str | bool | int | float | None)
        if isinstance(value, float):
            good = math.isfinite(value)
        if not isinstance(key, str) or not good:
            msg = (
                "metadata must map text to text, finite numbers, booleans or None; "
                f"got {key!r}: {value!r}."
            )
            raise InvalidParameter(msg)
    return dict(tags)


def _canonical(facts: Mapping[str, Any]) -> str:
    return json.dumps(
        facts, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )


def _header(
    kind: str, facts: Mapping[str, Any], shapes: Mapping[str, tuple[str, int]], sha: str
) -> bytes:
    """Return the only bytes that may stand before these arrays."""
    record = {"format": f"abers-{kind}", "version": FORMAT_VERSION, **facts}
    tensors: dict[str, Any] = {
        "__metadata__": {"abers": _canonical({**record, "sha256": sha})}
    }
    offset = 0
    for name in _LAYOUT[kind]:
        dtype, size = shapes[name]
        end = offset + size * _DTYPES[dtype].itemsize
        tensors[name] = {"dtype": dtype, "shape": [size], "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(tensors, separators=(",", ":"), ensure_ascii=True).encode()
    text += b" " * (-len(text) % 8)  # the arrays start at a multiple of 8
    return len(text).to_bytes(8, "little") + text


def _digest(
    kind: str, facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> str:
    sha = hashlib.sha256(f"abers-{kind} {FORMAT_VERSION}\n".encode())
    sha.update(_canonical(facts).encode())
    for name in _LAYOUT[kind]:
        sha.update(f"\n{name} {arrays[name].size}\n".encode())
        sha.update(memoryview(arrays[name]).cast("B") if arrays[name].size else b"")
    return sha.hexdigest()


def _write(
    path: Path_, kind: str, arrays: Mapping[str, NDArray[Any]], facts: dict[str, Any]
) -> None:
    """Write beside the target, flush to disk, rename: old file or new, never half."""
    stored = {
        name: np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        for name, array in arrays.items()
    }
    shapes = {
        name: ("I64" if array.dtype.kind == "i" else "F64", array.size)
        for name, array in stored.items()
    }
    header = _header(kind, facts, shapes, _digest(kind, facts, stored))
    if len(header) > LARGEST_HEADER:
        msg = f"metadata must stay below {LARGEST_HEADER} bytes; got {len(header)}."
        raise InvalidParameter(msg)
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(header)
            for name in _LAYOUT[kind]:
                file.write(stored[name].data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Make the new name survive a power cut, where folders can be opened."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _read(path: Path_, kind: str) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    with Path(path).open("rb") as file:
        return _parsed(path, kind, file, os.fstat(file.fileno()).st_size)


def _parsed(
    path: Path_, kind: str, file: BinaryIO, size: int
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    start = file.read(8)
    length = int.from_bytes(start, "little")
    if len(start) < 8 or length > min(size - 8, LARGEST_HEADER):  # noqa: PLR2004
        _refuse(path, "it is too short or no abers file")
    header = start + file.read(length)
    record, shapes = _described(path, kind, header)
    sha = record.pop("sha256", None)
    facts = {k: v for k, v in record.items() if k not in ("format", "version")}
    if header != _header(kind, facts, shapes, str(sha)):
        _refuse(path, "its header was altered")
    payload = sum(count * _DTYPES[dtype].itemsize for dtype, count in shapes.values())
    if size != len(header) + payload:
        _refuse(path, f"it has {size} bytes where {len(header) + payload} belong")
    arrays = {}
    for name in _LAYOUT[kind]:
        dtype, count = shapes[name]
        array = np.empty(count, dtype=_DTYPES[dtype])
        if count and file.readinto(array.data.cast("B")) != array.nbytes:  # type: ignore[attr-defined]
            _refuse(path, "it ends too early")
        arrays[name] = array
    if _digest(kind, facts, arrays) != sha:
        _refuse(path, "its contents do not match its checksum")
    return {name: array.astype(array.dtype.newbyteorder("="), copy=False)
            for name, array in arrays.items()}, facts


def _described(
    path: Path_, kind: str, header: bytes
) -> tuple[dict[str, Any], dict[str, tuple[str, int]]]:
    """Read what a header says of the arrays; the caller checks that it is canonical."""
    try:
        tensors = json.loads(header[8:])
        record = json.loads(tensors["__metadata__"]["abers"])
        found, version = record["format"], record["version"]
    except (ValueError, KeyError, TypeError, RecursionError):
        _refuse(path, "it is no abers file")
    if found != f"abers-{kind}":
        _refuse(path, f"it holds {found!r}, not a {kind}")
    if version != FORMAT_VERSION:
        _refuse(
            path,
            f"it has format version {version!r} and this abers reads {FORMAT_VERSION}; "
            "a newer abers may read it",
        )
    try:
        shapes = {
            name: (str(tensors[name]["dtype"]), int(tensors[name]["shape"][0]))
            for name in _LAYOUT[kind]
        }
    except (ValueError, KeyError, TypeError, IndexError):
        _refuse(path, "its header lacks an array")
    if any(dtype not in _DTYPES or count < 0 for dtype, count in shapes.values()):
        _refuse(path, "its header names an unknown type of array")
    return record, shapes


def _refuse(path: Path_, reason: str) -> NoReturn:
    msg = f"{os.fspath(path)!r} cannot be used: {reason}."
    raise InvalidFile(msg)
