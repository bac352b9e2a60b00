"""`abers.load` gives what a file holds, whatever its tags say."""

import pytest

import abers
import fitted_things
from abers.errors import InvalidFile
from fitted_things import KINDS

THINGS = {kind: fitted_things.THINGS[name] for kind, name in KINDS.items()}


@pytest.mark.parametrize("kind", [f"abers-{kind}" for kind in THINGS])
@pytest.mark.parametrize("thing", THINGS.values(), ids=THINGS)
def test_a_file_is_loaded_as_what_it_is(thing, kind, tmp_path):
    """The tag stands among the first bytes, where the file says what it is."""
    thing.save(tmp_path / "any.abers", {"a": kind, kind: 1})
    loaded = abers.load(tmp_path / "any.abers")
    assert type(loaded) is type(thing)
    assert loaded.metadata == {**thing.metadata, "a": kind, kind: 1}


@pytest.mark.parametrize("data", [b"", b"score,label\n1,0\n", b"abers-diagram"])
def test_any_other_file_is_refused(data, tmp_path):
    (tmp_path / "any.abers").write_bytes(data)
    with pytest.raises(InvalidFile, match="must be a file that abers has saved"):
        abers.load(tmp_path / "any.abers")
