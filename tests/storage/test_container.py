"""Damaged and foreign files: never another rule, never a crash, one sentence."""

import pickle
import re
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

import abers
import plain_writer
from abers.errors import InvalidFile
from strategies import either_way


@pytest.fixture
def path(tmp_path):
    return tmp_path / "any.abers"


def small_file(rng):
    """Return the bytes of something small that was saved."""
    size = int(rng.integers(1, 30))
    columns = rng.integers(-9, 10, size), rng.integers(0, 2, size)
    weights = rng.choice([0.5, 1, 2], size) if rng.integers(2) else None
    made = SMALL[rng.integers(len(SMALL))](rng, columns, weights)
    return plain_writer.written(*plain_writer.parts(made))


def small_regression(rng, columns, _):
    return abers.rules.fit_regression_rule(*columns, low=-1, high=rng.uniform(1, 2))


def small_pooled_rule(rng, columns, weights):
    folds = rng.permutation(np.arange(columns[0].size) % rng.integers(1, 4))
    return abers.rules.fit_pooled_rule(*columns, folds, sample_weight=weights)


def small_rule_set(rng, columns, weights):
    groups = rng.choice(np.array(["shop", "web", "1"]), columns[0].size)
    return abers.fit_rules(*columns, groups, minimum=1, sample_weight=weights)


def small_poset_rule(_, columns, __):
    return abers.rules.fit_poset_rule(columns[0][:, None], columns[1])


def small_diagram(_, columns, weights):
    return abers.rules.Diagram.from_rows(*columns, sample_weight=weights)


def small_rule(rng, columns, weights):
    diagram = small_diagram(rng, columns, weights)
    return abers.rules.fit_rule_from_diagram(diagram, increasing=bool(rng.integers(2)))


def small_set(rng, columns, _):
    window = None if rng.integers(2) else 9
    return abers.OnlineVennAbers.from_rows(*columns, window=window)


def small_monitor(_, columns, __):
    monitor = abers.Monitor(*columns)
    monitor.update(*columns)
    return monitor


def small_protected(rng, columns, weights):
    protected = abers.Protected(small_rule(rng, columns, weights))
    protected.predict(columns[0])
    return protected.update(columns[0][:1], columns[1][:1])


SMALL = [
    *(small_regression, small_pooled_rule, small_rule_set, small_poset_rule),
    *(small_diagram, small_rule, small_rule, small_set, small_monitor),
    small_protected,
]


def write_afresh(path, data):
    """Write a new file: some file systems flush the disk when one is overwritten."""
    path.unlink(missing_ok=True)
    path.write_bytes(data)


def split(data):
    """Return the text of the header, and the bytes of the arrays."""
    stop = 8 + int.from_bytes(data[:8], "little")
    return data[8:stop].decode().rstrip(), data[stop:]


def cut_short(rng, data):
    return data[: rng.integers(len(data))]


def bytes_flipped(rng, data):
    damaged = np.frombuffer(data, np.uint8).copy()
    places = rng.choice(damaged.size, rng.integers(1, 9), replace=False)
    damaged[places] ^= rng.integers(1, 256, places.size, dtype=np.uint8)
    return damaged.tobytes()


def sector_zeroed(rng, data):
    start = rng.integers(len(data))
    sector = data[start : start + 512]
    return data[:start] + bytes(len(sector)) + data[start + 512 :]


def header_edited(rng, data):
    text, arrays = split(data)
    start = rng.integers(len(text))
    stop = start + rng.integers(4)
    typed = "".join(rng.choice([*'0123456789.-e{}[]":,\\ flNtru'], rng.integers(6)))
    return plain_writer.with_length(text[:start] + typed + text[stop:]) + arrays


def length_forged(rng, data):
    length = int.from_bytes(data[:8], "little")
    near, far = length + int(rng.integers(-9, 10)), 1 << int(rng.integers(64))
    return (near if rng.integers(2) else far).to_bytes(8, "little") + data[8:]


def bytes_appended(rng, data):
    return data + rng.bytes(rng.integers(1, 100))


def words_swapped(rng, data):
    _, arrays = split(data)
    words = np.frombuffer(arrays, np.uint64, len(arrays) // 8).copy()
    places = rng.choice(words.size, 2, replace=False)
    words[places] = words[places[::-1]]
    return data[: -len(arrays)] + words.tobytes() + arrays[words.nbytes :]


def signed_again_with_a_number_that_is_none(rng, data):
    text, arrays = split(data)
    words = np.frombuffer(arrays, np.float64, len(arrays) // 8).copy()
    words[rng.integers(words.size)] = rng.choice([np.nan, -0.0])
    unsigned = re.sub("[0-9a-f]{64}", plain_writer.UNSIGNED, text)
    return plain_writer.signed(unsigned, words.tobytes() + arrays[words.nbytes :])


@pytest.mark.parametrize(
    "damage",
    [
        cut_short,
        bytes_flipped,
        sector_zeroed,
        header_edited,
        length_forged,
        bytes_appended,
        words_swapped,
        signed_again_with_a_number_that_is_none,
    ],
)
@either_way
def test_no_damaged_file_is_read(damage, path):
    """8 kinds of damage at random, 1,250 files each: 10,000."""
    rng = np.random.default_rng(20150715)
    for _ in range(1250):
        data = small_file(rng)
        damaged = data
        while damaged == data:
            damaged = damage(rng, data)
        write_afresh(path, damaged)
        with pytest.raises(InvalidFile):
            abers.load(path)


def test_no_file_is_read_with_any_single_bit_flipped(path):
    rule = abers.fit_rule([1, 2, 3], [0, 1, 0])
    rule.save(path)
    data = bytearray(path.read_bytes())
    for bit in range(0, 8 * len(data), 3):  # a third of them: all places, all bits
        data[bit // 8] ^= 1 << bit % 8
        write_afresh(path, data)
        with pytest.raises(InvalidFile):
            abers.load(path)
        data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)
    assert abers.load(path) == rule


# Of the header of fit_rule([inf], [0]), which has one piece and no threshold: what to
# replace by what. The digest is made to fit.
LAST_ARRAY = '"data_offsets":[816,824],"dtype":"F64","shape":[1]}'
FORGERIES = [
    ('"lower":', ' "lower":'),
    ('"lower":', '"lower":{},"lower":'),
    ('"lower":', '"zebra":{},"lower":'),
    ('"upper":', '"zebra":'),
    ('"upper":' + "{" + LAST_ARRAY, '"upper":[]'),
    (LAST_ARRAY, '"data_offsets":[816,824],"dtype":"F64","shape":[true]}'),
    (LAST_ARRAY, '"data_offsets":[816,824.0],"dtype":"F64","shape":[1.0]}'),
    (LAST_ARRAY, '"data_offsets":[816,808],"dtype":"F64","shape":[-1]}'),
    (LAST_ARRAY, '"data_offsets":[816,824],"dtype":"F64","shape":[1,1]}'),
    (LAST_ARRAY, '"data_offsets":[816,816],"dtype":"F64","shape":[]}'),
    (LAST_ARRAY, '"data_offsets":[816,824],"dtype":"F64","shape":"1"}'),
    (LAST_ARRAY, '"data_offsets":[816,824],"dtype":"F64","shape":1}'),
    (LAST_ARRAY, '"data_offsets":[816,824],"dtype":"F64","shape":[NaN]}'),
    (LAST_ARRAY, '"data_offsets":[816,824],"dtype":"F64","shape":[1e999]}'),
    (LAST_ARRAY, '"data_offsets":[0,8],"dtype":"F64","shape":[1]}'),
    (LAST_ARRAY, '"data_offsets":[816,820],"dtype":"F32","shape":[1]}'),
    (LAST_ARRAY, '"data_offsets":[816,824],"dtype":["F64"],"shape":[1]}'),
    (
        LAST_ARRAY,
        f'"data_offsets":[816,{816 + 8**41}],"dtype":"F64","shape":[{8**40}]}}',
    ),
    (LAST_ARRAY, f'"data_offsets":[816,824],"dtype":"F64","shape":[{"9" * 4300}]}}'),
    (LAST_ARRAY, f'"data_offsets":[816,824],"dtype":"F64","shape":[{"9" * 9999}]}}'),
    (r"\"version\":1", r"\"version\":1.0"),
    (r"\"version\":1", r"\"version\":true"),
    (r"\"version\":1", r"\"version\":0"),
    (r"\"version\":1", r"\"version\":2,\"version\":1"),
    (r"\"version\":1", r"\"version\":1,\"zebra\":1"),
    (r"\"version\":1", r"\"version\":1 "),
    (r",\"version\":1", ""),
    (r"\"sha256\":", r"\"SHA256\":"),
    (r"\"increasing\":true", r"\"increasing\":false,\"increasing\":true"),
    (r"\"n_rows\":1", r"\"n_rows\":NaN"),
    (r"\"n_rows\":1", r"\"n_rows\":1e999"),
    (r"\"n_rows\":1", r"\"n_rows\":1e0"),
    (r"\"n_rows\":1", r"\"n_rows\":" + "9" * 9999),
    (r"\"n_rows\":1", r"\"n_positives\":1"),
    (r"\"metadata\":{}", r"\"metadata\":{\"é\":1}"),
    (r"\"metadata\":{}", r"\"metadata\":{\"a\":1,\"a\":1}"),
    (r"\"metadata\":{}", r"\"metadata\":{\"b\":1,\"a\":1}"),
    (r"\"metadata\":{}", r"\"metadata\":" + "[" * 900 + "]" * 900),
    (r"\"metadata\":{}", r"\"metadata\":" + "[" * 10**5 + "]" * 10**5),
    ('"__metadata__":{', '"__metadata__":{"abers":1},"zebra":{'),
    ('"__metadata__":{', '"__metadata__":{"aaa":"","abers":"'),
    ('"abers":"{', '"abers":"x{'),
    ('"abers":"{', '"abers":"[]","zebra":"{'),
    ('"abers":"{', '"abers":"1","zebra":"{'),
]


@pytest.mark.parametrize(("old", "new"), FORGERIES, ids=range(len(FORGERIES)))
def test_no_header_is_read_but_the_one_that_would_be_written(old, new, path):
    record, arrays = plain_writer.parts(abers.fit_rule([np.inf], [0]).with_cells(None))
    text = plain_writer.header(record, arrays)
    assert old in text
    forged = plain_writer.signed(
        text.replace(old, new, 1), plain_writer.payload(arrays)
    )
    path.write_bytes(forged)
    with pytest.raises(InvalidFile):
        abers.load(path)


def test_no_size_is_negative_even_if_the_sum_is_right(path):
    record, arrays = plain_writer.parts(abers.fit_rule([np.inf], [0]).with_cells(None))
    negative = '"data_offsets":[816,808],"dtype":"F64","shape":[-1]}'
    text = plain_writer.header(record, arrays).replace(LAST_ARRAY, negative)
    path.write_bytes(plain_writer.signed(text, plain_writer.payload(arrays)[:808]))
    with pytest.raises(InvalidFile, match="its header makes no sense"):
        abers.load(path)


def test_a_header_longer_than_any_that_is_written_is_not_parsed(path):
    endless = '{"__metadata__":{"abers":"' + "{}," * 2**20
    path.write_bytes(plain_writer.with_length(endless))
    with pytest.raises(InvalidFile, match="its header is cut short, or far too long"):
        abers.load(path)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00",
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x01\x00",
        b"PAR1\x15\x04\x15\x10\x15\x14L\x15\x02\x15\x00\x12",
        b"\xff" * 100,
        bytes(100),
        b"score,label\n0.5,1\n",
        pickle.dumps({"lower": [0.0], "upper": [1.0]}),
        safetensors.numpy.save({"weight": np.zeros(3)}),
        safetensors.numpy.save({"weight": np.zeros(3)}, metadata={"format": "pt"}),
    ],
    ids=[
        "empty",
        "byte",
        "png",
        "parquet",
        "ones",
        "zeros",
        "csv",
        "pickle",
        "tensors",
        "tagged-tensors",
    ],
)
def test_a_foreign_file_is_refused_in_one_sentence(data, path):
    path.write_bytes(data)
    with pytest.raises(InvalidFile) as caught:
        abers.load(path)
    assert str(caught.value) == (
        f"{str(path)!r} must be a file that abers has saved; it is another file. "
        "Check the path."
    )


def test_a_file_of_a_kind_that_is_not_known_says_so(path):
    record, arrays = plain_writer.parts(abers.fit_rule([1], [0]))
    path.write_bytes(plain_writer.written(record | {"format": "abers-tree"}, arrays))
    sentence = (
        r"must be a file that abers has saved; this abers knows no 'tree'\. Upgrade"
    )
    with pytest.raises(InvalidFile, match=sentence):
        abers.load(path)


@pytest.mark.parametrize("kind", ["diagram", "pooled-rule", "monitor"])
def test_a_rule_is_not_read_as_another_kind(kind, path):
    record, arrays = plain_writer.parts(abers.fit_rule([1], [0]))
    path.write_bytes(plain_writer.written(record | {"format": f"abers-{kind}"}, arrays))
    sentence = f"must be a {kind} that abers has saved; it holds .* instead of "
    with pytest.raises(InvalidFile, match=sentence):
        abers.load(path)


def test_no_pooled_rule_is_read_with_any_single_bit_flipped(path):
    rule = abers.rules.fit_pooled_rule([1, 2, 3], [0, 1, 0], [0, 1, 1])
    rule.save(path)
    data = bytearray(path.read_bytes())
    for bit in range(0, 8 * len(data), 3):
        data[bit // 8] ^= 1 << bit % 8
        write_afresh(path, data)
        with pytest.raises(InvalidFile):
            abers.load(path)
        data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)
    assert abers.load(path) == rule


def test_a_newer_format_says_so_whatever_it_holds(path):
    record, _ = plain_writer.parts(abers.fit_rule([1], [0]))
    newer = {**record, "version": 2, "colour": "blue"}
    path.write_bytes(plain_writer.written(newer, {"steps": np.zeros(5)}))
    sentence = (
        r"has format version 2, and this abers reads version 1\. Upgrade abers\.$"
    )
    with pytest.raises(InvalidFile, match=sentence):
        abers.load(path)


class Bomb:
    def __init__(self, crater):
        self.crater = crater

    def __reduce__(self):
        return Path.touch, (self.crater,)


def test_nothing_in_a_file_is_executed(path, tmp_path):
    crater = tmp_path / "crater"
    bomb = pickle.dumps(Bomb(crater))
    path.write_bytes(bomb)
    with pytest.raises(InvalidFile):
        abers.load(path)
    assert not crater.exists()
    pickle.loads(bomb)
    assert crater.exists()  # it was a bomb
