"""What driver and workers send each other arrives as it was, or is refused."""

import pickle

import kinds
import numpy as np
import pytest
from hypothesis import given, strategies as st

import abers
from abers.core import blocks
from abers.core.diagram import trusted_diagram
from abers.engines.messages import checksum, from_bytes, holds, to_bytes
from abers.errors import InvalidData
from forgeries import message

EMPTY = trusted_diagram(np.empty(0), np.empty(0, np.int64), np.empty(0, np.int64))
LOW = abers.rules.Diagram(
    [-np.inf, 0, 2], negatives=[1, 70_000, 0], positives=[0, 1, 2**40]
)
HIGH = abers.rules.Diagram([2, np.inf], negatives=[0, 3], positives=[1, 0])
SUMMARIES = [blocks.summarise(part) for part in (LOW, EMPTY, HIGH)]
PIECES = [
    blocks.piece(part, blocks.context(SUMMARIES, i))
    for i, part in enumerate((LOW, EMPTY, HIGH))
]
WEIGHTED = abers.rules.Diagram([1, 2], negatives=[0.5, 0], positives=[0, 1.25])
VALUES = {
    "diagram": LOW,
    "weighted diagram": WEIGHTED,
    "summary": SUMMARIES[0],
    "summary of an empty part": SUMMARIES[1],
    "falling summary": blocks.summarise(LOW, increasing=False),
    "piece": PIECES[0],
    "piece of an empty part": PIECES[1],
    "rows": blocks.WeightedRows(*np.array([[2, 1, 2], [0.5, 7, 2], [0, 1.5, 2]])),
    "summary of real weights": blocks.summarise(WEIGHTED, scale=2),
    "rule": abers.rules.fit_rule_from_diagram(LOW),
    "falling rule": abers.rules.fit_rule_from_diagram(HIGH, increasing=False),
    "rule of real weights": abers.rules.fit_rule_from_diagram(WEIGHTED),
    "rule with squares": abers.fit_rule([1, 2], [0, 1], sample_weight=[0.5, 2]),
}


def fields(value):
    """Return all that a value holds, as bytes and plain objects."""
    if isinstance(value, abers.rules.Rule | abers.rules.Diagram):
        values = value.__getstate__()
    else:
        values = {name: getattr(value, name) for name in value.__slots__}
    return {
        name: (each.dtype, each.shape, each.tobytes())
        if isinstance(each, np.ndarray)
        else (type(each), repr(each))
        for name, each in values.items()
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
    assert from_bytes(shifted, abers.rules.Diagram) == LOW


def test_a_score_takes_ten_bytes():
    scores, labels = kinds.normal(np.random.default_rng(0), 10_000)
    part = abers.rules.Diagram.from_rows(scores, labels)
    assert len(to_bytes(part)) < 10 * 10_000 + 200


@pytest.mark.parametrize("name", VALUES)
def test_a_message_with_any_byte_changed_is_refused(name):
    value = VALUES[name]
    message = to_bytes(value)
    for place in range(len(message)):
        damaged = bytearray(message)
        damaged[place] ^= 1 + place % 255
        with pytest.raises(InvalidData, match=r"^bytes must be those of a \w+ as"):
            from_bytes(damaged, type(value))


@pytest.mark.parametrize("name", VALUES)
def test_a_message_cut_anywhere_is_refused(name):
    value = VALUES[name]
    message = to_bytes(value)
    for size in range(len(message)):
        with pytest.raises(InvalidData):
            from_bytes(message[:size], type(value))
    with pytest.raises(InvalidData, match="damaged or cut short"):
        from_bytes(message + b"\0", type(value))


@given(st.binary(max_size=200))
def test_bytes_of_anything_else_are_refused(noise):
    with pytest.raises(InvalidData):
        from_bytes(noise, abers.rules.Diagram)


def test_a_message_of_another_kind_is_refused():
    with pytest.raises(InvalidData, match="they are those of a Summary"):
        from_bytes(to_bytes(SUMMARIES[0]), blocks.Piece)


def test_a_checksum_and_a_class_are_read_without_the_rest():
    whole = to_bytes(LOW)
    assert checksum(whole) == checksum(whole[:4]) != checksum(to_bytes(HIGH))
    assert holds(whole, abers.rules.Diagram)
    assert not holds(whole, blocks.WeightedRows)


def f8(*values):
    return np.array(values, np.float64)


def u1(*values):
    return np.array(values, np.uint8)


DIAGRAM = {"negatives": u1(1, 1), "positives": u1(1, 1), "scores": f8(1, 2)}
NOT_A_DIAGRAM = {
    "falling scores": {"scores": f8(2, 1)},
    "tied scores": {"scores": f8(1, 1)},
    "NaN": {"scores": f8(1, np.nan)},
    "a score without rows": {"negatives": u1(1, 0), "positives": u1(1, 0)},
    "negative counts": {"negatives": np.array([-1, 2])},
    "weights that are not units": {"negatives": f8(0.5, 1)},
    "too many rows": {"negatives": np.full(2, 2**52, np.uint64)},
    "counts beyond 63 bits": {"negatives": np.full(2, 2**63, np.uint64)},
    "columns of two lengths": {"positives": u1(1)},
    "scores that are integers": {"scores": np.array([1, 2])},
    "no rows": {"scores": f8(), "negatives": u1(), "positives": u1()},
    "a column too many": {"more": u1(1, 1)},
}


@pytest.mark.parametrize("changes", NOT_A_DIAGRAM.values(), ids=NOT_A_DIAGRAM)
def test_what_no_worker_can_have_sent_is_refused_whatever_its_checksum(changes):
    forged = message("Diagram", {"scale": 0}, DIAGRAM | changes)
    with pytest.raises(InvalidData, match="they hold something else"):
        from_bytes(forged, abers.rules.Diagram)


@pytest.mark.parametrize("scale", [53, -1, 1.0, None])
def test_a_scale_that_no_diagram_has_is_refused(scale):
    with pytest.raises(InvalidData, match="its scale must not be"):
        from_bytes(message("Diagram", {"scale": scale}, DIAGRAM), abers.rules.Diagram)


@pytest.mark.parametrize("kind", [blocks.Summary, blocks.Piece, blocks.WeightedRows])
def test_a_message_with_other_columns_is_refused(kind):
    with pytest.raises(InvalidData, match="they hold something else"):
        from_bytes(message(kind.__name__, {}, DIAGRAM | {"more": u1(1)}), kind)


def test_arrays_that_do_not_fill_the_message_are_refused():
    whole = message("Diagram", {"scale": 0}, DIAGRAM)
    assert whole == to_bytes(abers.rules.Diagram([1, 2], [1, 1], [1, 1]))
    longer = message("Diagram", {"scale": 0}, DIAGRAM, trailing=b"1234")
    with pytest.raises(InvalidData, match="must fill the message"):
        from_bytes(longer, abers.rules.Diagram)


def test_an_array_longer_than_the_message_is_refused():
    forged = message("Diagram", {"scale": 0}, DIAGRAM, shape=[2**60])
    with pytest.raises(InvalidData, match="they hold something else"):
        from_bytes(forged, abers.rules.Diagram)


def test_messages_are_not_pickles():
    """Nothing that arrives is executed."""
    with pytest.raises(InvalidData, match="damaged or cut short"):
        from_bytes(pickle.dumps(LOW), abers.rules.Diagram)
