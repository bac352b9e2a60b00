"""Fixed data give what they gave: `make goldens` records a change that is meant."""

import json
import math

import pytest

import goldens


@pytest.mark.parametrize("name", ["bits.json", "files.json"])
def test_bits_and_files_are_those_recorded(name):
    assert json.loads(goldens.MADE[name]()) == recorded(name)


def test_commands_answer_as_recorded():
    assert same(json.loads(goldens.MADE["commands.json"]()), recorded("commands.json"))


def test_the_public_surface_is_the_one_recorded():
    expected = (goldens.GOLDEN / "surface.txt").read_text("utf-8")
    assert goldens.MADE["surface.txt"]() == expected


def test_pages_without_their_pictures_are_those_recorded():
    pages = goldens.made_pages()
    assert set(pages) == set(goldens.PAGES)
    for name, page in pages.items():
        assert page == (goldens.GOLDEN / name).read_text("utf-8"), name


def recorded(name):
    return json.loads((goldens.GOLDEN / name).read_text("utf-8"))


def same(mine, theirs):
    """Compare JSON; numbers may differ by the last bits of a system's logarithm."""
    if isinstance(mine, dict):
        assert mine.keys() == theirs.keys()
        return all(same(mine[key], theirs[key]) for key in mine)
    if isinstance(mine, list):
        assert len(mine) == len(theirs)
        return all(map(same, mine, theirs))
    if isinstance(mine, float) and isinstance(theirs, float):
        assert math.isclose(mine, theirs, rel_tol=1e-8, abs_tol=1e-12)
        return True
    assert mine == theirs
    return True
