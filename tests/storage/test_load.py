"""`abers.load` gives what a file holds, whatever its tags say."""

import pytest

import abers
import fitted_things
from abers.errors import InvalidFile
from fitted_things import KINDS

THINGS = {kind: fitted_things.THINGS[name] for kind, name in KINDS.items()}


@pytest.mark.parametrize("thing", THINGS.values(), ids=THINGS)
def test_a_file_is_loaded_as_what_it_is(thing, tmp_path):
    """Tags that name all kinds stand among the first bytes, before the file's own."""
    tags = {f"abers-{kind}": f"abers-{kind}" for kind in THINGS}
    thing.save(tmp_path / "any.abers", tags)
    loaded = abers.load(tmp_path / "any.abers")
    assert type(loaded) is type(thing)
    assert loaded.metadata == {**thing.metadata, **tags}


@pytest.mark.parametrize("data", [b"", b"score,label\n1,0\n", b"abers-diagram"])
def test_any_other_file_is_refused(data, tmp_path):
    (tmp_path / "any.abers").write_bytes(data)
    with pytest.raises(InvalidFile, match="must be a file that abers has saved"):
        abers.load(tmp_path / "any.abers")
