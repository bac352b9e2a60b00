"""Messages: diagrams, summaries, pieces and the like as bytes between machines.

A message is a header, columns of numbers end to end, and a CRC-32 of all before it; a
score with its counts takes ten bytes, as long as no count exceeds 255. All numbers are
little-endian::

    5 bytes   "abers"
    1 byte    kind of message
    1 byte    version of that kind
    1 byte    number of columns c
    8c bytes  of each column: its type (1 byte), its length (7 bytes)
    ...       the columns
    4 bytes   CRC-32

The checksum notices bytes that were lost or damaged on the way; what passes it must
still be a diagram, a summary and so on. Nothing is executed. A message is for the
workers of one fit, all with the same abers: to keep something, save it as a file.

>>> from abers import Diagram
>>> part = Diagram([1, 2], negatives=[1, 0], positives=[0, 300])
>>> message = to_bytes(part)
>>> from_bytes(message, Diagram) == part
True
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from abers.core.blocks import Content, Piece, ScoreSample, Summary, WeightedRows
from abers.core.diagram import Diagram, trusted_diagram
from abers.core.fitted import Contents, contents_of, made_of, plain_total
from abers.core.rule import Rule
from abers.core.units import is_scale
from abers.errors import InvalidMessage

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Columns = list[NDArray[Any]]

MAGIC = b"abers"
HEAD = struct.Struct("<5sBBB")
LENGTH_BYTES = 7
CHECKSUM = struct.Struct("<I")
DTYPES = [np.dtype(name) for name in ("<f8", "<i8", "<u8", "<u4", "<u2", "u1")]
Buffer = bytes | bytearray | memoryview
Message = (
    Diagram | Summary | Piece | ScoreSample | Content | WeightedRows | Rule
)  # without its tags
T = TypeVar("T", bound=Message)


class _Kind(NamedTuple):
    """How one class becomes columns, and columns that class."""

    code: int
    name: str
    columns: Callable[[Any], Columns]
    made: Callable[..., Any]  # raises ValueError, or TypeError for other columns
    version: int = 1


def to_bytes(value: Message) -> bytes:
    """Return a message that holds a value."""
    kind = KINDS[type(value)]
    columns = [
        np.ascontiguousarray(each, each.dtype.newbyteorder("<"))
        for each in kind.columns(value)
    ]
    described = (
        bytes([DTYPES.index(each.dtype)]) + each.size.to_bytes(LENGTH_BYTES, "little")
        for each in columns
    )
    head = HEAD.pack(MAGIC, kind.code, kind.version, len(columns))
    body = b"".join([head, *described, *(each.tobytes() for each in columns)])
    return body + CHECKSUM.pack(zlib.crc32(body))


def from_bytes(message: Buffer, wanted: type[T]) -> T:
    """Return the value of a message; refuse one that is damaged, or of another kind."""
    kind = KINDS[wanted]
    data = memoryview(message).cast("B")
    _check_head(data, kind)
    if len(data) < HEAD.size + CHECKSUM.size or (
        zlib.crc32(data[: -CHECKSUM.size]) != CHECKSUM.unpack(data[-CHECKSUM.size :])[0]
    ):
        raise _refusal(kind, "they were damaged or cut short on the way")
    try:
        made: T = kind.made(*_columns(data))
    except (TypeError, ValueError, LookupError) as cause:
        raise _refusal(
            kind, f"they hold something else: {cause}".rstrip(".")
        ) from cause
    return made


def holds(message: Buffer, wanted: type[Message]) -> bool:
    """Tell whether a message says that it holds a value of this class."""
    return bytes(message[: HEAD.size])[len(MAGIC)] == KINDS[wanted].code


def _refusal(kind: _Kind, reason: str) -> InvalidMessage:
    msg = f"bytes must be those of a {kind.name} as abers writes it; {reason}."
    return InvalidMessage(msg)


def _check_head(data: memoryview, kind: _Kind) -> None:
    """Refuse what is no message of this kind and version."""
    try:
        magic, code, version, _ = HEAD.unpack_from(data)
    except struct.error:
        raise _refusal(kind, f"got {len(data)} bytes only") from None
    if magic != MAGIC:
        raise _refusal(kind, "they do not start like a message")
    if code != kind.code:
        names = {other.code: other.name for other in KINDS.values()}
        got = names.get(code, "something unknown")
        raise _refusal(kind, f"they are those of a {got}")
    if version != kind.version:
        reason = (
            f"they have version {version} where version {kind.version} belongs, so "
            "that workers have different versions of abers"
        )
        raise _refusal(kind, reason)


def _columns(data: memoryview) -> Columns:
    """Return the columns of a message, without a copy where that can be avoided."""
    *_, n_columns = HEAD.unpack_from(data)
    start = HEAD.size + (1 + LENGTH_BYTES) * n_columns
    columns = []
    for at in range(HEAD.size, start, 1 + LENGTH_BYTES):
        dtype = DTYPES[data[at]]
        size = int.from_bytes(data[at + 1 : at + 1 + LENGTH_BYTES], "little")
        column = np.frombuffer(data[: -CHECKSUM.size], dtype, size, start)
        native = column.astype(dtype.newbyteorder("="), copy=False)
        columns.append(np.require(native, requirements="A"))
        start += column.nbytes
    if start != len(data) - CHECKSUM.size:
        msg = "columns must fill the message."
        raise ValueError(msg)
    return columns


def _require(holds: object, what: str) -> None:
    if not holds:
        raise ValueError(what)


def _narrowed(counts: NDArray[Any]) -> NDArray[Any]:
    """Return counts in the least width; weights as they are."""
    if counts.dtype.kind == "f":
        return counts
    return counts.astype(np.min_scalar_type(int(counts.max(initial=0))))


def _widened(counts: NDArray[Any]) -> NDArray[Any]:
    return counts if counts.dtype.kind == "f" else counts.astype(np.int64)


def _columns_of_diagram(diagram: Diagram) -> Columns:
    negatives, positives, scale = diagram.units
    return [
        diagram.scores,
        _narrowed(negatives),
        _narrowed(positives),
        np.array([scale], np.uint8),
    ]


def _diagram(
    scores: NDArray[Any],
    zeros: NDArray[Any],
    ones: NDArray[Any],
    scale: NDArray[Any],
) -> Diagram:
    negatives, positives = _widened(zeros), _widened(ones)
    if scores.size == negatives.size == positives.size == 0:  # of a part without rows
        return trusted_diagram(scores, negatives, positives)
    arrays = {"scores": scores, "negatives": negatives, "positives": positives}
    return made_of(Diagram, Contents({"metadata": {}, "scale": _scale(scale)}, arrays))


def _scale(column: NDArray[Any]) -> int:
    _require(column.dtype == np.uint8 and column.size == 1, "no scale")
    return int(column[0])


def _columns_of_rows(rows: WeightedRows) -> Columns:
    return [rows.scores, rows.counts, rows.positives]


def _rows(
    scores: NDArray[Any], counts: NDArray[Any], positives: NDArray[Any]
) -> WeightedRows:
    columns = scores, counts, positives
    _require(
        all(each.dtype == np.float64 for each in columns)
        and scores.size == counts.size == positives.size > 0,
        "columns of different types or lengths",
    )
    _require(
        not np.isnan(scores).any()
        and (positives >= 0).all()
        and (positives <= counts).all()
        and (counts > 0).all()
        and (counts < np.inf).all(),
        "weights that are none",
    )
    return WeightedRows(*columns)


def _columns_of_content(content: Content) -> Columns:
    counts = [content.n_negatives, content.n_positives]
    return [np.array(counts, np.int64), np.array([content.total], np.uint64)]


def _content(counts: NDArray[Any], total: NDArray[Any]) -> Content:
    n_negatives, n_positives = _ints(counts)
    _require(min(n_negatives, n_positives) >= 0, "counts that are none")
    _require(total.dtype == np.uint64 and total.size == 1, "no sum of hashes")
    return Content(n_negatives, n_positives, int(total[0]))


def _ints(column: NDArray[Any]) -> list[int]:
    _require(column.dtype == np.int64, "no integers")
    numbers: list[int] = column.tolist()
    return numbers


def _columns_of_summary(summary: Summary) -> Columns:
    return [
        np.array([summary.first_score, summary.last_score]),
        summary.corners.reshape(-1),
        *_columns_of_content(summary.content),
        np.array([summary.increasing, summary.scale], np.uint8),
    ]


def _summary(
    ends: NDArray[Any],
    corners: NDArray[Any],
    counts: NDArray[Any],
    total: NDArray[Any],
    how: NDArray[Any],
) -> Summary:
    _require(ends.dtype == np.float64, "no scores")
    first, last = ends.tolist()
    content = _content(counts, total)
    rows = content.n_negatives + content.n_positives
    _require(first <= last if rows else np.isnan(ends).all(), "ends of no part")
    points = _pairs(corners, np.int64)
    steps = np.diff(points, axis=0, prepend=np.zeros((1, 2), np.int64))
    whole = [content.n_negatives, content.n_positives]
    increasing, scale = how[:1].tolist(), _scale(how[1:])
    _require(increasing in ([0], [1]) and is_scale(scale), "no direction or scale")
    _require(
        (steps >= 0).all()
        and (points[-1:] <= (whole if increasing[0] else whole[::-1])).all(),
        "corners that do not ascend to the end of the part",
    )
    return Summary(bool(increasing[0]), scale, first, last, points, content)


def _columns_of_piece(piece: Piece) -> Columns:
    return [
        np.array([piece.part], np.int64),
        piece.thresholds,
        piece.bounds.reshape(-1),
        piece.ordered,
        piece.below.reshape(-1),
    ]


def _piece(
    part: NDArray[Any],
    thresholds: NDArray[Any],
    bounds: NDArray[Any],
    ordered: NDArray[Any],
    below: NDArray[Any],
) -> Piece:
    (number,) = _ints(part)
    pairs, ranked = _pairs(bounds, np.float64), _pairs(below, np.int64)
    _require(
        thresholds.dtype == ordered.dtype == np.float64
        and len(pairs) in ([thresholds.size + 1] if thresholds.size else [0, 1])
        and len(ranked) == ordered.size,
        "columns of different types or lengths",
    )
    _require(
        not np.isnan(thresholds[:1]).any()
        and (thresholds[1:] > thresholds[:-1]).all()
        and not np.isnan(ordered[:1]).any()
        and (ordered[1:] >= ordered[:-1]).all(),
        "scores that do not ascend",
    )
    _require(
        (pairs >= 0).all() and (pairs <= 1).all(), "bounds that are no probabilities"
    )
    _require(number >= 0 and (ranked >= 0).all(), "counts that are none")
    return Piece(number, thresholds, pairs, ordered, ranked)


def _pairs(column: NDArray[Any], dtype: type[Any]) -> NDArray[Any]:
    _require(column.dtype == dtype and column.size % 2 == 0, "no pairs")
    return column.reshape(-1, 2)


def _columns_of_sample(sample: ScoreSample) -> Columns:
    return [sample.scores, np.array([sample.size], np.int64)]


def _sample(scores: NDArray[Any], size: NDArray[Any]) -> ScoreSample:
    (n_scores,) = _ints(size)
    _require(
        scores.dtype == np.float64
        and scores.size <= n_scores
        and (scores.size > 0) == (n_scores > 0)
        and not np.isnan(scores).any(),
        "no scores",
    )
    return ScoreSample(scores, n_scores)


RULE_COUNTS = ("cell_counts", "cell_positives")
RULE_NUMBERS = ("n_observations", "n_positives")


def _columns_of_rule(rule: Rule) -> Columns:
    facts, arrays = contents_of(rule)
    return [
        *(_narrowed(arrays[n]) if n in RULE_COUNTS else arrays[n] for n in Rule.ARRAYS),
        np.array([facts[name] for name in RULE_NUMBERS], np.float64),
        np.array([facts["increasing"]], np.uint8),
    ]


def _rule(*columns: NDArray[Any]) -> Rule:
    *named, numbers, increasing = columns
    _require(increasing.tolist() in ([0], [1]), "no direction")
    arrays = dict(zip(Rule.ARRAYS, named, strict=True))
    arrays |= {name: _widened(arrays[name]) for name in RULE_COUNTS}
    totals = map(plain_total, numbers.tolist())
    facts: dict[str, Any] = dict(zip(RULE_NUMBERS, totals, strict=True))
    facts |= {"increasing": bool(increasing[0]), "metadata": {}}
    return made_of(Rule, Contents(facts, arrays))


KINDS: dict[type, _Kind] = {
    Diagram: _Kind(1, "Diagram", _columns_of_diagram, _diagram),
    Summary: _Kind(2, "Summary", _columns_of_summary, _summary),
    Piece: _Kind(3, "Piece", _columns_of_piece, _piece),
    ScoreSample: _Kind(4, "ScoreSample", _columns_of_sample, _sample),
    Content: _Kind(5, "Content", _columns_of_content, _content),
    Rule: _Kind(6, "Rule", _columns_of_rule, _rule),
    WeightedRows: _Kind(7, "WeightedRows", _columns_of_rows, _rows),
}
