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

EVERY = pytest.mark.parametrize("kind", TABLES)


def of_kind(kind):
    """Return the forgeries of one kind of contents, by name."""
    return {
        name: forgery
        for name, forgery in FORGERIES.items()
        if name.startswith(f"{kind}: ")
    }


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


def by_file(path):
    def load(contents):
        path.write_bytes(contents)
        return abers.load(path)

    return load


def refusals(door, error, forged):
    """Return the sentence by which a door refuses each of these, by name."""
    sentences = {}
    for name, contents in forged.items():
        try:
            door(*contents)
        except error as refused:
            sentences[name] = str(refused)
    return sentences


def is_one_sentence(text, start, says):
    return (
        re.match(start, text)
        and re.search(says, text)
        and text.endswith(".")
        and ".." not in text.replace("...", "")
        and "\n" not in text
    )


def unlike(sentences, forgeries, start):
    """Return which forgeries were accepted, or refused by another sentence."""
    return {
        name: sentences.get(name, "accepted")
        for name, forgery in forgeries.items()
        if not is_one_sentence(sentences.get(name, ""), start, forgery.says)
    }


@pytest.mark.parametrize("door", [by_pickle, by_joblib])
@EVERY
def test_no_pickle_holds_what_no_fit_has_made(kind, door):
    forgeries = of_kind(kind)
    forged = {name: (it.thing, it.state) for name, it in forgeries.items()}
    sentences = refusals(door, InvalidParameter, forged)
    start = f"a {type(TABLES[kind][0]).__name__} must be as abers makes it; it"
    assert unlike(sentences, forgeries, start) == {}


@EVERY
def test_no_file_holds_what_no_fit_has_made(kind, tmp_path):
    forgeries, path = of_kind(kind), tmp_path / "forged.abers"
    forged = {name: (it.file,) for name, it in forgeries.items()}
    sentences = refusals(by_file(path), InvalidFile, forged)
    start = f"'{re.escape(str(path))}' must be a [a-z-]+ that abers has saved; it"
    assert unlike(sentences, forgeries, start) == {}


SENT = {
    name: forgery
    for name, forgery in FORGERIES.items()
    if isinstance(forgery.thing, abers.rules.Rule | abers.rules.Diagram)
    and forgery.message
}


@pytest.mark.parametrize("kind", [abers.rules.Rule, abers.rules.Diagram])
def test_no_message_holds_what_no_fit_has_made(kind):
    forgeries = {name: it for name, it in SENT.items() if type(it.thing) is kind}
    forged = {name: (it.message, kind) for name, it in forgeries.items()}
    sentences = refusals(from_bytes, InvalidData, forged)
    start = f"bytes must be those of a {kind.__name__} as abers writes it; they hold "
    assert unlike(sentences, forgeries, start) == {}


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
