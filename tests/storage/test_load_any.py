"""Rule files: each is loaded as what it is, whatever its tags say."""

import pytest

import abers
from abers.errors import InvalidFile
from abers.storage.rules import load_any

THINGS = {
    "rule": abers.fit_rule([1, 2], [0, 1]),
    "rule-set": abers.fit_rules([1, 2], [0, 1], ["a", "b"]),
    "pooled-rule": abers.fit_pooled_rule([1, 2], [0, 1], [0, 1]),
    "regression-rule": abers.fit_regression_rule([1, 2], [3, 4]),
    "diagram": abers.Diagram.from_observations([1, 2], [0, 1]),
}


@pytest.mark.parametrize("said", [f"abers-{kind}" for kind in THINGS])
@pytest.mark.parametrize("thing", THINGS.values(), ids=THINGS)
def test_a_file_is_loaded_as_what_it_is(thing, said, tmp_path):
    """The tag stands among the first bytes, where the file says what it is."""
    thing.save(tmp_path / "any.abers", {"a": said, said: 1})
    found = load_any(tmp_path / "any.abers")
    assert type(found) is type(thing)
    assert found.metadata == {"a": said, said: 1}


@pytest.mark.parametrize("data", [b"", b"score,label\n1,0\n", b"abers-diagram"])
def test_any_other_file_is_no_rule(data, tmp_path):
    (tmp_path / "any.abers").write_bytes(data)
    with pytest.raises(InvalidFile, match="must be a rule that abers has saved"):
        load_any(tmp_path / "any.abers")
