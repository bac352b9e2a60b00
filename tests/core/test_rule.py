"""A rule is a value: immutable, equal to its copies, the same for every thread."""

import copy
import io
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest

import abers
from abers.errors import InvalidParameter, InvertedScoresWarning
from strategies import INF, LARGEST, LEAST, either_way


def random_rule(size=2000, **options):
    rng = np.random.default_rng(2015)
    labels = rng.integers(0, 2, size)
    return abers.fit_rule(labels + rng.normal(size=size), labels, **options)


@pytest.fixture(
    params=[{}, {"increasing": False}, {"sample_weight": np.linspace(0.1, 2, 2000)}],
    ids=["plain", "decreasing", "weighted"],
)
def rule(request):
    with warnings.catch_warnings():  # a decreasing rule of the same scores
        warnings.simplefilter("ignore", InvertedScoresWarning)
        return random_rule(**request.param)


def pickled(rule):
    return pickle.loads(pickle.dumps(rule))


def through_joblib(rule):
    stream = io.BytesIO()
    joblib.dump(rule, stream)
    stream.seek(0)
    return joblib.load(stream)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled, through_joblib])
def test_copy_equals_the_original_in_every_part(rule, copied):
    twin = copied(rule)
    assert twin == rule
    assert hash(twin) == hash(rule)
    for name in ("thresholds", "lower", "upper", "score_quantiles"):
        assert getattr(twin, name).tobytes() == getattr(rule, name).tobytes()
    assert twin.n_rows == rule.n_rows
    assert twin.n_positives == rule.n_positives
    assert twin.increasing is rule.increasing


@pytest.mark.parametrize("copied", [copy.deepcopy, pickled, through_joblib])
def test_copy_predicts_the_same_bits(rule, copied):
    scores = np.linspace(-4, 5, 1001)
    assert copied(rule).bounds(scores).tobytes() == rule.bounds(scores).tobytes()


def test_predicting_leaves_nothing_in_the_pickle(rule):
    """A lookup index is derived, never stored."""
    before = pickle.dumps(rule)
    rule.bounds(np.linspace(-4, 5, 100_000))
    assert pickle.dumps(rule) == before


def test_memory_mapped_rule_predicts_the_same_bits(rule, tmp_path):
    joblib.dump(rule, tmp_path / "rule.joblib")
    mapped = joblib.load(tmp_path / "rule.joblib", mmap_mode="r")
    assert mapped == rule
    scores = np.linspace(-4, 5, 1001)
    assert mapped.bounds(scores).tobytes() == rule.bounds(scores).tobytes()


SMALL = abers.fit_rule([1, 2, 3], [0, 1, 1])


@pytest.mark.parametrize(
    "change",
    [
        {"scores": [1, 2, 4]},
        {"labels": [0, 0, 1]},
        {"sample_weight": [1, 1, 1.5]},
        {"increasing": False},
    ],
    ids=lambda change: next(iter(change)),
)
def test_rules_that_differ_are_not_equal(change):
    other = {"scores": [1, 2, 3], "labels": [0, 1, 1], **change}
    assert abers.fit_rule(**other) != SMALL


def test_rule_equals_nothing_but_rules():
    assert repr(SMALL) != SMALL


def test_tags_make_rules_differ(tmp_path):
    SMALL.save(tmp_path / "tagged", metadata={"model": "svm"})
    tagged = abers.load(tmp_path / "tagged")
    assert tagged != SMALL
    assert tagged.thresholds.tolist() == SMALL.thresholds.tolist()


def test_equal_rules_are_one_key():
    assert len({SMALL, abers.fit_rule([3, 2, 1], [1, 1, 0]), pickled(SMALL)}) == 1


def make_writeable(array):
    array.flags.writeable = True


def assign(array):
    array[:] = 0


WAYS_TO_WRITE = {
    "assignment": assign,
    "in-place arithmetic": lambda array: array.__iadd__(1),
    "sorting": lambda array: array.sort(),
    "filling": lambda array: array.fill(0),
    "flag": make_writeable,
    "setflags": lambda array: array.setflags(write=True),
    "asarray": lambda array: assign(np.asarray(array)),
    "view": lambda array: make_writeable(array.view()),
    "view of another type": lambda array: assign(array.view(np.int64)),
    "slice": lambda array: make_writeable(array[:1]),
    "base": lambda array: make_writeable(np.frombuffer(array.base)),
    "buffer": lambda array: assign(memoryview(array).cast("B")),
    "buffer of the base": lambda array: assign(memoryview(array.base).cast("B")),
    "frombuffer": lambda array: assign(np.frombuffer(array)),
    "ndarray": lambda array: assign(np.ndarray(array.shape, buffer=array)),
    "strides": lambda array: assign(np.lib.stride_tricks.as_strided(array)),
    "out": lambda array: np.negative(array, out=array),
    "dlpack": lambda array: assign(np.from_dlpack(array)),
}


@pytest.mark.parametrize("write", WAYS_TO_WRITE.values(), ids=WAYS_TO_WRITE)
@pytest.mark.parametrize("name", ["thresholds", "lower", "upper", "score_quantiles"])
@pytest.mark.parametrize("copied", [copy.copy, pickled], ids=["fitted", "unpickled"])
def test_arrays_cannot_be_written_to(copied, name, write):
    rule = copied(SMALL)
    with pytest.raises((ValueError, TypeError, BufferError)):
        write(getattr(rule, name))
    assert rule == abers.fit_rule([1, 2, 3], [0, 1, 1])


@pytest.mark.parametrize("name", ["thresholds", "lower", "upper", "score_quantiles"])
def test_reshaping_an_array_does_not_reach_the_rule(name):
    rule = pickled(SMALL)
    array = getattr(rule, name)
    array.__setstate__((1, (1,), array.dtype, False, bytes(8)))
    assert array.tolist() == [0]
    assert rule == SMALL


@pytest.mark.parametrize(
    "name", ["thresholds", "lower", "n_rows", "increasing", "metadata", "new"]
)
def test_attributes_cannot_be_assigned(name):
    with pytest.raises(AttributeError):
        setattr(SMALL, name, None)


def test_metadata_is_read_only(tmp_path):
    SMALL.save(tmp_path / "tagged", metadata={"model": "svm"})
    metadata = abers.load(tmp_path / "tagged").metadata
    assert metadata == {"model": "svm"}
    with pytest.raises(TypeError, match="does not support item assignment"):
        metadata["model"] = "tree"


def test_eight_threads_get_the_bits_that_one_gets(rule):
    scores = np.random.default_rng(0).normal(size=(8, 100_000))
    alone = [rule.bounds(batch).tobytes() for batch in scores]
    fresh = pickled(rule)
    with ThreadPoolExecutor(8) as threads:
        together = threads.map(lambda batch: fresh.bounds(batch).tobytes(), scores)
    assert list(together) == alone


def looked_up(rule, scores):
    """The definition of a piece: thresholds[j-1] <= score < thresholds[j]."""
    pieces = np.searchsorted(rule.thresholds, scores, side="right")
    return np.stack((rule.lower[pieces], rule.upper[pieces]), axis=1)


def rare(rng, size):
    scores = rng.beta(0.05, 4.95, size)
    return scores, rng.uniform(size=size) < scores


def spread(rng, size):
    """Scores over the whole range of doubles, infinities included."""
    scores = rng.normal(size=size) * 10.0 ** rng.integers(-320, 308, size)
    scores[:4] = -INF, INF, 0.0, -0.0
    return scores, rng.integers(0, 2, size)


def clustered(rng, size):
    """Most scores adjacent doubles, a few far away."""
    scores = 1 + rng.integers(0, 50, size) * 2.0**-52
    scores[:3] = -LARGEST, LARGEST, LEAST
    return scores, rng.integers(0, 2, size)


@pytest.mark.parametrize("increasing", [True, False])
@pytest.mark.parametrize("size", [1, 2, 30, 20_000])
@pytest.mark.parametrize("draw", [rare, spread, clustered])
@either_way
def test_bounds_are_those_of_the_piece_that_holds_the_score(draw, size, increasing):
    scores, labels = draw(np.random.default_rng(size), max(size, 4))
    rule = abers.fit_rule(scores[:size], labels[:size], increasing=increasing)
    keys = np.concatenate((scores, rule.thresholds, [-LARGEST, LARGEST, LEAST, 0.0]))
    with np.errstate(over="ignore", under="ignore"):
        neighbours = np.nextafter(keys, -INF), np.nextafter(keys, INF)
    tests = np.concatenate((keys, *neighbours, [-INF, INF, -0.0]))
    for batch in (tests, np.sort(tests), np.random.default_rng(1).permutation(tests)):
        np.testing.assert_array_equal(rule.bounds(batch), looked_up(rule, batch))


def test_score_has_the_same_bounds_alone_and_in_a_batch(rule):
    scores = np.linspace(-4, 5, 500)
    alone = np.concatenate([rule.bounds([s]) for s in scores.tolist()])
    assert alone.tobytes() == rule.bounds(scores).tobytes()


def test_bounds_of_no_scores_have_two_columns(rule):
    assert rule.bounds([]).shape == (0, 2)
    assert rule.probability([]).shape == (0,)


@pytest.mark.parametrize(
    ("loss", "merge"),
    [("log", abers.rules.log_minimax), ("brier", abers.rules.brier_minimax)],
)
def test_probability_is_the_merge_of_the_bounds(rule, loss, merge):
    scores = np.linspace(-4, 5, 1001)
    expected = merge(*rule.bounds(scores).T)
    assert rule.probability(scores, loss=loss).tobytes() == expected.tobytes()


def test_probability_is_made_for_log_loss_by_default(rule):
    scores = np.linspace(-4, 5, 1001)
    np.testing.assert_array_equal(
        rule.probability(scores), rule.probability(scores, loss="log")
    )


@pytest.mark.parametrize("loss", ["hinge", None, 1])
def test_unknown_loss_is_refused(loss):
    with pytest.raises(InvalidParameter, match="loss must be 'log' or 'brier'; got"):
        SMALL.probability([1], loss=loss)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "3 rows, 2 positive, 4 pieces"),
        ({"increasing": False}, "3 rows, 2 positive, 3 pieces, decreasing"),
        ({"sample_weight": [1, 1, 0.5]}, "2.5 rows, 1.5 positive, 4 pieces"),
    ],
)
def test_repr_tells_what_the_rule_was_made_from(options, text):
    assert repr(abers.fit_rule([1, 2, 3], [0, 1, 1], **options)) == f"Rule({text})"
