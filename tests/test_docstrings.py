"""Docstrings say what the signatures say."""

import ast
import importlib
import inspect
import pkgutil
import re
from pathlib import Path
from typing import get_args

import pytest

import abers
from abers import choices


def full_name(thing):
    return f"{thing.__module__}.{thing.__qualname__}"


def members(owner):
    """Return what is public and defined here: functions, classes, their methods."""
    home = owner.__module__ if inspect.isclass(owner) else owner.__name__
    public = {}
    for name in vars(owner):
        thing = getattr(owner, name)
        if isinstance(thing, property):
            thing = thing.fget
        if name.startswith("_") or not (
            inspect.isfunction(thing)
            or inspect.ismethod(thing)
            or inspect.isclass(thing)
        ):
            continue
        if thing.__module__ == home:
            public[full_name(thing)] = thing
            if inspect.isclass(thing):
                public |= members(thing)
    return public


ENGINES = ("abers.engines.spark",)  # not installed here; tests/engines looks at them
MODULES = [
    importlib.import_module(module.name)
    for module in pkgutil.walk_packages(abers.__path__, "abers.")
    if "._" not in module.name and not module.name.startswith(ENGINES)
]
DOCUMENTED = {
    name: thing for module in MODULES for name, thing in members(module).items()
}


def public_names(module):
    """Return what a module offers: its `__all__`, or all that is defined in it."""
    defined = [
        name
        for name, thing in vars(module).items()
        if getattr(thing, "__module__", None) == module.__name__
    ]
    return [
        name for name in getattr(module, "__all__", defined) if not name.startswith("_")
    ]


def methods(owner):
    """Return the public methods of a class, those of its bases in abers among them."""
    named = inspect.getmembers(
        owner, lambda it: inspect.isfunction(it) or inspect.ismethod(it)
    )
    return [
        method
        for name, method in named
        if not name.startswith("_") and method.__module__.startswith("abers.")
    ]


def offered():
    """Return what users call: the functions and methods behind the public names.

    The specification is to be read beside the paper; it is not offered.
    """
    callables, waiting = {}, [abers]
    while waiting:
        module = waiting.pop()
        for name in public_names(module):
            thing = getattr(module, name)
            if inspect.ismodule(thing) and name != "reference":
                waiting.append(thing)
            elif inspect.isfunction(thing):
                callables[full_name(thing)] = thing
            elif inspect.isclass(thing):
                callables |= {full_name(method): method for method in methods(thing)}
    return dict(sorted(callables.items()))


def sections(thing):
    """Return the numpydoc sections of a docstring, by title."""
    text = inspect.cleandoc(thing.__doc__)
    parts = re.split(r"^(\w[\w ]*)\n-+$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def described_parameters(thing):
    """Return what a docstring says: each name with its default as text, or None."""
    defaults = {}
    for line in sections(thing).get("Parameters", "").splitlines():
        if line and not line[0].isspace():
            names, _, kind = line.partition(" : ")
            default = re.search(r"default=(.+)$", kind)
            for name in names.split(", "):
                defaults[name.lstrip("*")] = default and default[1]
    return defaults


def declared_parameters(thing):
    """Return what a signature says: each name with its default, or `empty`."""
    return {
        name: parameter.default
        for name, parameter in inspect.signature(thing).parameters.items()
        if name != "self"
    }


def contradictions(thing):
    """Return where docstring and signature disagree on parameters and defaults."""
    described, declared = described_parameters(thing), declared_parameters(thing)
    wrong = set(described) ^ set(declared)
    for name in set(described) & set(declared):
        text, default = described[name], declared[name]
        if text is None:
            agree = default is inspect.Parameter.empty
        else:
            agree = ast.literal_eval(text) == default
        if not agree:
            wrong.add(name)
    return sorted(wrong)


def test_headings_of_sections_are_underlined_on_the_next_line():
    package = Path(abers.__file__).parent
    joined = [
        f"{path.relative_to(package)}: {heading}"
        for path in package.rglob("*.py")
        for heading in re.findall(r"\w+ -{4,}.*", path.read_text("utf-8"))
    ]
    assert joined == []


def test_no_module_announces_a_drawing_that_is_not_there():
    """A docstring that ends in a double colon has lost what follows it."""
    package = Path(abers.__file__).parent
    texts = {
        path.relative_to(package).as_posix(): ast.get_docstring(
            ast.parse(path.read_text("utf-8"))
        )
        for path in package.rglob("*.py")
    }
    assert [name for name, text in texts.items() if (text or "").endswith("::")] == []


def begins_with_a_summary(docstring):
    summary, *rest = (docstring or "").split("\n")
    return re.fullmatch(r"\S.*\.", summary) and not (rest and rest[0].strip())


def test_docstrings_begin_with_a_summary_line():
    assert [
        name
        for name, thing in DOCUMENTED.items()
        if not begins_with_a_summary(thing.__doc__)
    ] == []


def test_docstrings_describe_the_parameters_and_their_defaults():
    """Of all that is offered, and of whatever else has a section of parameters."""
    described = {
        name: thing
        for name, thing in DOCUMENTED.items()
        if "Parameters" in sections(thing)
    }
    wrong = {
        name: names
        for name, thing in (described | offered()).items()
        if (names := contradictions(thing))
    }
    assert wrong == {}


def choices_of(text):
    """Return the choices that a line or an annotation offers, as a set."""
    listed = re.search(r"\{(\".+?)\}", text)
    names = set(re.findall(r"\w+", text)) & set(vars(choices))
    if listed:
        return set(ast.literal_eval(f"({listed[1]},)"))
    return {choice for name in names for choice in get_args(vars(choices)[name])}


def undeclared(thing):
    """Return the choices of a docstring that differ from those of the annotations."""
    described = {
        line.partition(" : ")[0]: choices_of(line)
        for line in sections(thing).get("Parameters", "").splitlines()
        if line and not line[0].isspace()
    }
    declared = {
        parameter.name: choices_of(str(parameter.annotation))
        for parameter in inspect.signature(thing).parameters.values()
        if described.get(parameter.name)
    }
    return {
        name: some
        for name, some in described.items()
        if some and declared.get(name) != some
    }


def test_type_checkers_know_the_choices_of_the_docstrings():
    some = [t for t in DOCUMENTED.values() if '{"' in sections(t).get("Parameters", "")]
    assert len(some) > 40
    assert {full_name(t): undeclared(t) for t in some if undeclared(t)} == {}


def right(a, b=0.5, *, c="log", d=None):
    """Add.

    Parameters
    ----------
    a : int
        A number, say default=3.
    b : float, default=0.5
        Another.
    c : {"log", "brier"}, default="log"
        A choice.
    d : int, default=None
        The last.

    Returns
    -------
    int : the sum
    """


def wrong(a, b=25.0, *, c="log", d=None):
    """Add.

    Parameters
    ----------
    a, b : float, default=0.25
        Numbers.
    c : str
        A choice.
    e : int
        Nobody knows.
    """


def test_contradictions_are_found():
    assert contradictions(right) == []
    assert contradictions(wrong) == ["a", "b", "c", "d", "e"]
    assert undeclared(right) == {"c": {"log", "brier"}}  # it has no annotation


@pytest.mark.parametrize(
    "docstring", [None, "", "No full stop", " Add.", "Add.\nMore."]
)
def test_missing_summaries_are_found(docstring):
    assert begins_with_a_summary("Add.\n\nMore.")
    assert not begins_with_a_summary(docstring)
