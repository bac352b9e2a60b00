"""What driver and workers send each other arrives as it was, or is refused."""

import pickle
import struct
import zlib

import kinds
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import abers
from abers.core import blocks
from abers.core.blocks import Content, content_of
from abers.core.diagram import trusted_diagram
from abers.core.messages import CHECKSUM, HEAD, from_bytes, to_bytes
from abers.errors import InvalidMessage

EMPTY = trusted_diagram(np.empty(0), np.empty(0, np.int64), np.empty(0, np.int64))
LOW = abers.Diagram([-np.inf, 0, 2], negatives=[1, 70_000, 0], positives=[0, 1, 2**40])
HIGH = abers.Diagram([2, np.inf], negatives=[0, 3], positives=[1, 0])
SUMMARIES = [blocks.summarise(part) for part in (LOW, EMPTY, HIGH)]
PIECES = [
    blocks.piece(part, blocks.context(SUMMARIES, i))
    for i, part in enumerate((LOW, EMPTY, HIGH))
]
WEIGHTED = abers.Diagram([1, 2], negatives=[0.5, 0], positives=[0, 1.25])
VALUES = {
    "diagram": LOW,
    "empty diagram": EMPTY,
    "weighted diagram": WEIGHTED,
    "summary": SUMMARIES[0],
    "summary of an empty part": SUMMARIES[1],
    "falling summary": blocks.summarise(LOW, increasing=False),
    "piece": PIECES[0],
    "piece of an empty part": PIECES[1],
    "sample": blocks.sample(LOW),
    "content": content_of(LOW),
    "rows": blocks.WeightedRows(*np.array([[2, 1, 2], [0.5, 7, 2], [0, 1.5, 2]])),
    "summary of real weights": blocks.summarise(WEIGHTED, scale=2),
    "rule": abers.fit_rule_from_diagram(LOW),
    "falling rule": abers.fit_rule_from_diagram(HIGH, increasing=False),
    "rule of real weights": abers.fit_rule_from_diagram(WEIGHTED),
    "rule with squares": abers.fit_rule([1, 2], [0, 1], sample_weight=[0.5, 2]),
}


def fields(value):
    """Return all that a value holds, as bytes and plain objects."""
    if isinstance(value, abers.Rule | abers.Diagram):
        found = value.__getstate__()
    else:
        found = {name: getattr(value, name) for name in value.__slots__}
    return {
        name: (each.dtype, each.shape, each.tobytes())
        if isinstance(each, np.ndarray)
        else (type(each), repr(each))
        for name, each in found.items()
    }


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("form", [bytes, bytearray, memoryview])
def test_what_is_sent_arrives_to_the_last_bit(name, form):
    value = VALUES[name]
    assert fields(from_bytes(form(to_bytes(value)), type(value))) == fields(value)


@pytest.mark.parametrize("name", VALUES)
def test_equal_values_have_equal_bytes(name):
    value = VALUES[name]
    assert to_bytes(from_bytes(to_bytes(value), type(value))) == to_bytes(value)


def test_a_message_may_lie_anywhere_in_memory():
    """A buffer of Arrow need not start at a multiple of eight."""
    message = to_bytes(LOW)
    shifted = memoryview(b"xyz" + message)[3:]
    assert from_bytes(shifted, abers.Diagram) == LOW


def test_a_score_takes_ten_bytes():
    scores, labels = kinds.normal(np.random.default_rng(0), 10_000)
    part = abers.Diagram.from_observations(scores, labels)
    assert len(to_bytes(part)) == 10 * 10_000 + 45


@pytest.mark.parametrize("name", VALUES)
def test_a_message_with_any_byte_changed_is_refused(name):
    value = VALUES[name]
    message = to_bytes(value)
    for place in range(len(message)):
        damaged = bytearray(message)
        damaged[place] ^= 1 + place % 255
        with pytest.raises(InvalidMessage, match=r"^bytes must be those of a \w+ as"):
            from_bytes(damaged, type(value))


@pytest.mark.parametrize("name", VALUES)
def test_a_message_cut_anywhere_is_refused(name):
    value = VALUES[name]
    message = to_bytes(value)
    for size in range(len(message)):
        with pytest.raises(InvalidMessage):
            from_bytes(message[:size], type(value))
    with pytest.raises(InvalidMessage, match="damaged or cut short"):
        from_bytes(message + b"\0", type(value))


@given(st.binary(max_size=200))
def test_bytes_of_anything_else_are_refused(noise):
    with pytest.raises(InvalidMessage):
        from_bytes(noise, abers.Diagram)


def test_a_message_of_another_kind_is_refused():
    with pytest.raises(InvalidMessage, match="they are those of a Summary"):
        from_bytes(to_bytes(SUMMARIES[0]), blocks.Piece)


def test_a_message_of_another_version_is_refused():
    message = bytearray(to_bytes(LOW))
    message[6] = 2
    with pytest.raises(InvalidMessage, match="version 2 where version 1 belongs"):
        from_bytes(message, abers.Diagram)


def forged(code, *columns, trailing=b""):
    """Write a message with a right checksum, whatever it holds."""
    types = {"f8": 0, "i8": 1, "u8": 2, "u4": 3, "u2": 4, "u1": 5}
    head = struct.pack("<5sBBB", b"abers", code, 1, len(columns))
    for each in columns:
        head += bytes([types[each.dtype.str[1:]]]) + struct.pack("<Q", each.size)[:7]
    body = head + b"".join(each.tobytes() for each in columns) + trailing
    return body + CHECKSUM.pack(zlib.crc32(body))


def f8(*values):
    return np.array(values, np.float64)


def i8(*values):
    return np.array(values, np.int64)


def u1(*values):
    return np.array(values, np.uint8)


ONE_TWO, ONES, NO_SCALE = f8(1, 2), u1(1, 1), u1(0)
UP = u1(1, 0)  # increasing, at scale 0
HASH = np.zeros(1, np.uint64)
NO_DIAGRAM = {
    "falling scores": (f8(2, 1), ONES, ONES, NO_SCALE),
    "tied scores": (f8(1, 1), ONES, ONES, NO_SCALE),
    "NaN first": (f8(np.nan), u1(1), u1(1), NO_SCALE),
    "NaN": (f8(1, np.nan), ONES, ONES, NO_SCALE),
    "a score without rows": (ONE_TWO, u1(1, 0), u1(1, 0), NO_SCALE),
    "negative counts": (ONE_TWO, i8(-1, 2), i8(2, 2), NO_SCALE),
    "weights that are infinite": (ONE_TWO, f8(np.inf, 1), f8(1, 1), NO_SCALE),
    "weights that are NaN": (ONE_TWO, f8(np.nan, 1), f8(1, 1), NO_SCALE),
    "too many rows": (f8(1, 2, 3), *[np.full(3, 2**52, np.uint64)] * 2, NO_SCALE),
    "counts beyond 63 bits": (f8(1), np.full(1, 2**63, np.uint64), u1(1), NO_SCALE),
    "columns of two lengths": (ONE_TWO, ONES, u1(1), NO_SCALE),
    "scores that are integers": (i8(1, 2), ONES, ONES, NO_SCALE),
    "a scale of 53": (ONE_TWO, ONES, ONES, u1(53)),
    "two scales": (ONE_TWO, ONES, ONES, u1(0, 0)),
    "units that are all even": (ONE_TWO, u1(2, 2), u1(2, 2), u1(1)),
    "a column too few": (ONE_TWO, ONES, ONES),
    "a column too many": (ONE_TWO, ONES, ONES, NO_SCALE, ONES),
}
NO_SUMMARY = {
    "ends that fall": (f8(2, 1), i8(), i8(1, 1), HASH, UP),
    "ends of nothing": (f8(1, 1), i8(), i8(0, 0), HASH, UP),
    "no ends": (f8(np.nan, np.nan), i8(), i8(1, 0), HASH, UP),
    "half a corner": (f8(1, 2), i8(1), i8(1, 1), HASH, UP),
    "corners beyond the end": (f8(1, 2), i8(2, 0), i8(1, 1), HASH, UP),
    "corners that fall": (f8(1, 2), i8(1, 1, 0, 1), i8(2, 2), HASH, UP),
    "a direction that is none": (f8(1, 2), i8(), i8(1, 1), HASH, u1(2, 0)),
    "a scale of 53": (f8(1, 2), i8(), i8(1, 1), HASH, u1(1, 53)),
    "no scale": (f8(1, 2), i8(), i8(1, 1), HASH, u1(1)),
    "no hash": (f8(1, 2), i8(), i8(1, 1), HASH[:0], UP),
    "one count": (f8(1, 2), i8(), i8(1), HASH, UP),
}
NO_PIECE = {
    "thresholds that fall": (i8(0), f8(2, 1), f8(*[0.5] * 6), f8(), i8()),
    "too few bounds": (i8(0), f8(1), f8(0, 1), f8(), i8()),
    "bounds above 1": (i8(0), f8(1), f8(0, 1, 1, 2), f8(), i8()),
    "bounds that are NaN": (i8(0), f8(1), f8(0, 1, 1, np.nan), f8(), i8()),
    "quantiles that fall": (i8(0), f8(), f8(), f8(2, 1), i8(0, 0, 0, 0)),
    "uncounted quantiles": (i8(0), f8(), f8(), f8(1), i8()),
    "a negative number": (i8(-1), f8(), f8(), f8(), i8()),
    "two numbers": (i8(0, 1), f8(), f8(), f8(), i8()),
}
NO_ROWS = {
    "a score that is NaN": (f8(np.nan), f8(1), f8(0)),
    "more positives than rows": (f8(1), f8(0.5), f8(0.75)),
    "a weight of 0": (f8(1), f8(0), f8(0)),
    "an infinite weight": (f8(1), f8(np.inf), f8(0)),
    "columns of two lengths": (f8(1, 2), f8(1), f8(0)),
    "integer weights": (f8(1), i8(1), i8(0)),
}
NO_SAMPLE = {
    "more than there are": (f8(1, 2), i8(1)),
    "none of some": (f8(), i8(1)),
    "NaN": (f8(np.nan), i8(1)),
}
FORGED = {
    f"{kind.__name__}, {name}": (kind, code, columns)
    for kind, code, cases in (
        (abers.Diagram, 1, NO_DIAGRAM),
        (blocks.Summary, 2, NO_SUMMARY),
        (blocks.Piece, 3, NO_PIECE),
        (blocks.ScoreSample, 4, NO_SAMPLE),
        (Content, 5, {"negative counts": (i8(-1, 0), HASH)}),
        (abers.Rule, 6, {"nothing": ()}),
        (blocks.WeightedRows, 7, NO_ROWS),
    )
    for name, columns in cases.items()
}


@pytest.mark.parametrize("case", FORGED)
def test_what_nobody_can_have_sent_is_refused_whatever_its_checksum(case):
    kind, code, columns = FORGED[case]
    with pytest.raises(InvalidMessage, match="they hold something else"):
        from_bytes(forged(code, *columns), kind)


def test_columns_that_do_not_fill_the_message_are_refused():
    whole = forged(1, ONE_TWO, ONES, ONES, NO_SCALE)
    assert whole == to_bytes(abers.Diagram([1, 2], [1, 1], [1, 1]))
    whole_with_more = forged(1, ONE_TWO, ONES, ONES, NO_SCALE, trailing=b"1234")
    with pytest.raises(InvalidMessage, match="must fill the message"):
        from_bytes(whole_with_more, abers.Diagram)


def test_a_column_longer_than_memory_is_refused():
    head = HEAD.pack(b"abers", 1, 1, 1) + b"\0" + b"\xff" * 7
    with pytest.raises(InvalidMessage, match="they hold something else"):
        from_bytes(head + CHECKSUM.pack(zlib.crc32(head)), abers.Diagram)


def test_messages_are_no_pickles():
    """Nothing that arrives is executed."""
    with pytest.raises(InvalidMessage, match="do not start like a message"):
        from_bytes(pickle.dumps(LOW), abers.Diagram)
