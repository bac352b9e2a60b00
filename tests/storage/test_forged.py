"""Forged contents are refused in one sentence, whatever door they come by."""

import io
import pickle
import re

import joblib
import pytest

import abers
import plain_writer
from abers.engines.messages import from_bytes
from abers.errors import InvalidData, InvalidFile, InvalidParameter
from fitted_things import bits
from forgeries import FORGERIES, TABLES, forged

EVERY = pytest.mark.parametrize("forgery", FORGERIES.values(), ids=FORGERIES)


class WithState:
    """Pickles as another thing would, with any state."""

    def __init__(self, thing, state):
        self.reduced = object.__new__, (type(thing),), state

    def __reduce__(self):
        return self.reduced


def by_pickle(thing, state):
    return pickle.loads(pickle.dumps(WithState(thing, state)))


def by_joblib(thing, state):
    file = io.BytesIO()
    joblib.dump(WithState(thing, state), file)
    file.seek(0)
    return joblib.load(file)


def check_sentence(caught, start, says):
    sentence = str(caught.value)
    assert re.match(start, sentence), sentence
    assert re.search(says, sentence), sentence
    assert sentence.endswith(".")
    assert ".." not in sentence.replace("...", "")
    assert "\n" not in sentence


@pytest.mark.parametrize("door", [by_pickle, by_joblib])
@EVERY
def test_no_pickle_holds_what_no_fit_has_made(forgery, door):
    with pytest.raises(InvalidParameter) as caught:
        door(forgery.thing, forgery.state)
    owner = type(forgery.thing).__name__
    check_sentence(caught, f"a {owner} must be as abers makes it; it", forgery.says)


@EVERY
def test_no_file_holds_what_no_fit_has_made(forgery, tmp_path):
    path = tmp_path / "forged.abers"
    path.write_bytes(forgery.file)
    with pytest.raises(InvalidFile) as caught:
        abers.load(path)
    start = f"'{re.escape(str(path))}' must be a [a-z-]+ that abers has saved; it"
    check_sentence(caught, start, forgery.says)


SENT = {
    name: forgery
    for name, forgery in FORGERIES.items()
    if isinstance(forgery.thing, abers.rules.Rule | abers.rules.Diagram)
    and forgery.message
}


@pytest.mark.parametrize("forgery", SENT.values(), ids=SENT)
def test_no_message_holds_what_no_fit_has_made(forgery):
    kind = type(forgery.thing)
    with pytest.raises(InvalidData) as caught:
        from_bytes(forgery.message, kind)
    start = f"bytes must be those of a {kind.__name__} as abers writes it; they hold "
    check_sentence(caught, start, forgery.says)


def test_most_forgeries_can_be_sent():
    """All but those of tags, of types of facts, and of sizes beyond a double."""
    could = [
        name
        for name, forgery in FORGERIES.items()
        if isinstance(forgery.thing, abers.rules.Rule | abers.rules.Diagram)
    ]
    assert len(SENT) > 0.7 * len(could)


@pytest.mark.parametrize(("thing", "_"), TABLES.values(), ids=TABLES)
def test_honest_contents_pass_all_doors(thing, _, tmp_path):
    honest = forged(thing, {}, "")
    path = tmp_path / "honest.abers"
    path.write_bytes(honest.file)
    passed = [by_pickle(thing, honest.state), by_joblib(thing, honest.state)]
    passed.append(abers.load(path))
    if isinstance(thing, abers.rules.Rule | abers.rules.Diagram):
        passed.append(from_bytes(honest.message, type(thing)))
    for one in passed:
        assert bits(one) == bits(thing)


@pytest.mark.parametrize("weight", ["3", "2/7", "1/10"])
def test_honest_weights_of_another_writer_are_read(weight, tmp_path):
    path = tmp_path / "pooled.abers"
    path.write_bytes(forged(TABLES["pooled rule"][0], {"weight": weight}, "").file)
    assert str(abers.load(path).weight) == weight


@pytest.mark.parametrize("changes", [{}, {"n_rows": 3.5}])
def test_an_honest_file_of_another_writer_is_read(changes, tmp_path):
    path = tmp_path / "rule.abers"
    rule = abers.fit_rule([1, 2, 3], [0, 1, 0]).with_cells(None)
    record, arrays = plain_writer.parts(rule)
    path.write_bytes(plain_writer.written(record | changes, arrays))
    assert abers.load(path).bounds([2]).tolist() == rule.bounds([2]).tolist()
