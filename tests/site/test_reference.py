"""The reference has every public name, and every docstring is complete."""

import dataclasses
import importlib
import inspect
from typing import NamedTuple

import api_reference
import pytest
from numpydoc.validate import validate

import abers

# Of numpydoc's checks, those that are not asked for.
LEFT_OUT = {
    "ES01": "a summary that says all needs no second paragraph",
    "SA01": "the sections of the reference and the guide say what belongs together",
}
OF_SCIKIT_LEARN = ("get_metadata_routing",)  # which says what they return
WITHOUT_EXAMPLE = {
    "abers.tables.decide_table": "it writes files: docs/command-line.md has it",
    "abers.tables.predict_table": "it writes files: docs/command-line.md has it",
    "abers.engines.spark.check_java": "what it finds depends on the machine",
}


class Described(NamedTuple):
    """A function, a class, or a member of one, by its name in the reference."""

    thing: object
    owner: type | None


def described():
    """Return all that the reference describes, members of classes too."""
    things = {}
    for names in api_reference.contents().values():
        for full in names:
            thing = api_reference.resolved(full)
            if inspect.isfunction(thing):
                things[full] = Described(thing, None)
            elif inspect.isclass(thing):
                things[full] = Described(thing, None)
                for name in api_reference.members(full):
                    member = getattr(thing, name)
                    things[f"{full}.{name}"] = Described(
                        getattr(member, "fget", member), thing
                    )
    return things


DESCRIBED = described()


def is_result(thing):
    """Tell whether a class is made for users: they read it and do not make it."""
    return inspect.isclass(thing) and "Parameters\n" not in thing.__doc__


def fields_not_described(result):
    """Return the fields of a result that its docstring does not have."""
    if not dataclasses.is_dataclass(result):
        return []
    text = inspect.cleandoc(result.__doc__).partition("Attributes\n")[2]
    lines = [line for line in text.splitlines() if " : " in line]
    there = {name for line in lines for name in line.partition(" : ")[0].split(", ")}
    fields = [field.name for field in dataclasses.fields(result)]
    return [name for name in fields if name not in there and name[0] != "_"]


def errors_of(thing):
    """Return what numpydoc finds, by code, at the address where a thing is defined.

    Some functions have the name of their module: their public address is not theirs.
    """
    return dict(validate(f"{thing.__module__}.{thing.__qualname__}")["errors"])


def wrong(full):
    """Return what numpydoc finds, but for what is left out."""
    thing, owner = DESCRIBED[full]
    codes = errors_of(thing)
    if thing.__name__ in OF_SCIKIT_LEARN:
        codes.pop("RT01", None)
    is_error = inspect.isclass(thing) and issubclass(thing, BaseException)
    if owner or is_error or is_result(thing) or full in WITHOUT_EXAMPLE:
        codes.pop("EX01", None)  # the class has one, or what returns it
    if is_result(thing):
        codes.pop("PR01", None)
    return {code: text for code, text in codes.items() if code not in LEFT_OUT}


def test_every_public_name_is_described():
    pages = "".join(api_reference.pages().values())
    listed = [full for names in api_reference.contents().values() for full in names]
    for name in abers.__all__:
        thing = getattr(abers, name)
        if inspect.ismodule(thing):
            assert thing.__name__ in pages, name
        else:
            assert f"abers.{name}" in listed, name


@pytest.mark.parametrize(
    "module",
    [
        "engines.dask",
        "engines.spark",
        "evaluation",
        "export",
        "losses",
        "plots",
        "tables",
    ],
)
def test_every_name_that_a_public_module_offers_is_described(module):
    listed = [full for names in api_reference.contents().values() for full in names]
    room = importlib.import_module(f"abers.{module}")
    offered = [n for n in room.__all__ if not inspect.ismodule(getattr(room, n))]
    assert [n for n in offered if f"abers.{module}.{n}" not in listed] == []


def test_a_constant_is_described_where_it_is_listed():
    for names in api_reference.contents().values():
        for full in names:
            thing = api_reference.resolved(full)
            if not (inspect.isclass(thing) or inspect.isfunction(thing)):
                assert full.rpartition(".")[2] in api_reference.CONSTANTS


def test_code_in_pages_leads_to_names_without_their_module():
    links = api_reference.links()
    assert links["fit_rule"] == "abers.fit_rule"  # not that of Dask or Spark
    assert links["Rule.bounds"] == "abers.rules.Rule.bounds"
    assert links["ReliabilityDisplay"] == "abers.plots.ReliabilityDisplay"
    assert "loss" not in links


@pytest.mark.parametrize("full", DESCRIBED)
def test_docstring_is_complete(full):
    assert wrong(full) == {}


def test_fields_of_results_are_described():
    results = {full: it.thing for full, it in DESCRIBED.items() if is_result(it.thing)}
    missing = {full: fields_not_described(thing) for full, thing in results.items()}
    assert {full: names for full, names in missing.items() if names} == {}
    assert "abers.evaluation.Evaluation" in results


def test_what_is_left_out_would_be_found():
    codes = {code for it in DESCRIBED.values() for code in errors_of(it.thing)}
    assert set(LEFT_OUT) <= codes
