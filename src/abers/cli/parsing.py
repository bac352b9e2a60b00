"""Parsing: the command line, by the signature of the function that is a command.

Its positional parameters are arguments, the others options; its docstring is the help.
The standard library does the rest: a library for this would take longer to load than a
small table to predict (docs/decisions/0020).
"""

from __future__ import annotations

import inspect
import os
import textwrap
import typing
from getopt import GetoptError, gnu_getopt
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, NamedTuple

from abers.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Command = Callable[..., int | None]

HELP = ("-h", "--help")
HELP_ROW = (", ".join(HELP), "Show this message and exit.")
WIDEST = 78  # characters of a line of help
WIDEST_NAME = 30  # of an option, beside which there is still room for its help
INDENT = GAP = "  "
NUMBERS = {int: "an integer", float: "a number"}


class Argument(NamedTuple):
    """What the help says of an argument; to stand in its annotation."""

    metavar: str
    help: str


class Option:
    """What the help says of an option, and its names; to stand in its annotation."""

    def __init__(
        self,
        *names: str,
        help: str,  # noqa: A002 (it is what everyone calls it)
        metavar: str | None = None,
        variable: str | None = None,
        least: int | None = None,
    ) -> None:
        self.names = names  # by default that of the parameter
        self.help = help
        self.metavar = metavar
        self.variable = variable  # of the environment, which stands in for the option
        self.least = least  # number allowed


class Parameter(NamedTuple):
    """A parameter of a command."""

    name: str
    names: tuple[str, ...]  # of an option, as they are typed; none of an argument
    about: Any  # Argument or Option
    type: type[Any]
    is_list: bool
    default: Any

    @property
    def is_required(self) -> bool:
        """Whether the command cannot do without it."""
        return self.default is inspect.Parameter.empty

    def read(self, text: str) -> Any:
        """Return the value that a text means."""
        name = max(self.names, key=len, default=self.about.metavar)
        try:
            value = self.type(text)
        except ValueError:
            msg = f"{name} must be {NUMBERS[self.type]}; got {text!r}."
            raise InvalidParameter(msg) from None
        least = getattr(self.about, "least", None)
        if least is not None and value < least:
            msg = f"{name} must be at least {least}; got {value}."
            raise InvalidParameter(msg)
        return value


def parameters_of(command: Command) -> list[Parameter]:
    """Return the parameters of a command."""
    hints = typing.get_type_hints(command, include_extras=True)
    found = []
    for name, parameter in inspect.signature(command).parameters.items():
        hint, about = typing.get_args(hints[name])
        if isinstance(hint, UnionType):  # with None, for what may be left out
            hint = next(one for one in typing.get_args(hint) if one is not NoneType)
        is_list = typing.get_origin(hint) is list
        kind = typing.get_args(hint)[0] if is_list else hint
        names: tuple[str, ...] = ()
        if isinstance(about, Option):
            names = about.names or (f"--{name.replace('_', '-')}",)
        default = parameter.default
        found.append(Parameter(name, names, about, kind, is_list, default))
    return found


def parsed(command: Command, words: Sequence[str]) -> dict[str, Any] | None:
    """Return the values of a command's parameters; None if help is asked for."""
    parameters = parameters_of(command)
    options = {name: p for p in parameters for name in p.names}
    try:
        given, rest = gnu_getopt(list(words), _shorts(options), _longs(options))
    except GetoptError as error:
        raise InvalidParameter(_refusal(error, words, options)) from None
    if any(name in HELP for name, _ in given):
        return None
    values: dict[str, Any] = {}
    for name, text in given:
        parameter = options[name]
        value = True if parameter.type is bool else parameter.read(text)
        if parameter.is_list:
            values.setdefault(parameter.name, []).append(value)
        else:
            values[parameter.name] = value
    values |= _arguments([p for p in parameters if not p.names], rest)
    for parameter in parameters:
        if parameter.name not in values:
            values[parameter.name] = _default(parameter)
    return values


def _arguments(parameters: Sequence[Parameter], words: list[str]) -> dict[str, Any]:
    """Return the values of arguments, by their order; a list takes all that is left."""
    values: dict[str, Any] = {}
    for parameter in parameters:
        if not words:
            break
        n_taken = len(words) if parameter.is_list else 1
        taken = [parameter.read(text) for text in words[:n_taken]]
        values[parameter.name] = taken if parameter.is_list else taken[0]
        words = words[n_taken:]
    if words:
        msg = f"Got an unexpected argument: {words[0]!r}."
        raise InvalidParameter(msg)
    return values


def _default(parameter: Parameter) -> Any:
    """Return what stands in for a parameter that is not given."""
    variable = getattr(parameter.about, "variable", None)
    if variable and os.environ.get(variable):
        return parameter.read(os.environ[variable])
    if not parameter.is_required:
        return parameter.default
    if not parameter.names:
        msg = f"Missing argument {parameter.about.metavar!r}."
        raise InvalidParameter(msg)
    instead = f", or {variable} in the environment" if variable else ""
    msg = f"Missing option {max(parameter.names, key=len)!r}{instead}."
    raise InvalidParameter(msg)


def _shorts(options: dict[str, Parameter]) -> str:
    """Return the letters that `getopt` takes; a colon follows those with a value."""
    letters = [name for name in options if not name.startswith("--")]
    return HELP[0][1:] + "".join(
        name[1:] + ("" if options[name].type is bool else ":") for name in letters
    )


def _longs(options: dict[str, Parameter]) -> list[str]:
    """Return the names that `getopt` takes; an equals sign follows as above."""
    return [HELP[1][2:]] + [
        name[2:] + ("" if options[name].type is bool else "=")
        for name in options
        if name.startswith("--")
    ]


def _refusal(
    error: GetoptError, words: Sequence[str], options: dict[str, Parameter]
) -> str:
    """Say what is wrong with an option, and which one may have been meant."""
    is_long = len(error.opt) > 1 or f"--{error.opt}" in words
    name = f"--{error.opt}" if is_long else f"-{error.opt}"
    if name not in options and name not in HELP:
        return f"No such option: {name}.{meant(name, options)}"
    has_value = name in options and options[name].type is not bool
    return f"Option {name!r} {'needs a' if has_value else 'takes no'} value."


def meant(word: str, known: Iterable[str]) -> str:
    """Return a question after the words that are like the one that came."""
    from difflib import get_close_matches

    near = get_close_matches(word, known)
    return f" Did you mean {' or '.join(near)}?" if near else ""


def help_of(command: Command, program: str) -> str:
    """Return the help of a command."""
    parameters = parameters_of(command)
    arguments = [p for p in parameters if not p.names]
    usage = [_usage(p) for p in arguments]
    rows = [
        (p.about.metavar, p.about.help + "  [required]" * p.is_required)
        for p in arguments
    ]
    named = [_option_row(p) for p in parameters if p.names]
    return help_page(
        " ".join([program, "[OPTIONS]", *usage]),
        inspect.getdoc(command) or "",
        {"Arguments": rows, "Options": [*named, HELP_ROW]},
    )


def _usage(argument: Parameter) -> str:
    """Return an argument as it may be typed."""
    name: str = argument.about.metavar + ("..." if argument.is_list else "")
    return name if argument.is_required else f"[{name}]"


def help_page(usage: str, about: str, tables: dict[str, list[tuple[str, str]]]) -> str:
    """Return a page of help: how to type it, what it does, names and what they mean."""
    import shutil

    width = min(WIDEST, shutil.get_terminal_size().columns - 2)
    paragraphs = [
        textwrap.fill(text, width, initial_indent=INDENT, subsequent_indent=INDENT)
        for text in about.split("\n\n")
    ]
    parts = [f"Usage: {usage}", *paragraphs]
    for title, rows in tables.items():
        if rows:
            parts.append(f"{title}:\n" + "\n".join(_two_columns(rows, width)))
    return "\n\n".join(parts) + "\n"


def _two_columns(rows: list[tuple[str, str]], width: int) -> Iterable[str]:
    """Yield lines of names and what they mean; a long name has a line of its own."""
    room = max(len(name) for name, _ in rows if len(name) <= WIDEST_NAME)
    left = " " * len(INDENT + " " * room + GAP)
    for name, text in rows:
        lines = textwrap.wrap(text, max(20, width - len(left))) or [""]
        if len(name) > room:
            yield INDENT + name
        else:
            lines[0] = f"{name:{room}}{GAP}{lines[0]}"
            yield INDENT + lines.pop(0)
        yield from (left + line for line in lines)


def _option_row(parameter: Parameter) -> tuple[str, str]:
    """Return the names of an option, and its help with what it is by default."""
    about = parameter.about
    names = ", ".join(sorted(parameter.names, key=lambda name: name.startswith("--")))
    notes = [f"env var: {about.variable}"] if about.variable else []
    if parameter.is_required:
        notes.append("required")
    elif not (parameter.default is False or parameter.default in (None, "")):
        notes.append(f"default: {parameter.default}")
    if about.least is not None:
        notes.append(f"at least {about.least}")
    note = f"  [{'; '.join(notes)}]" if notes else ""
    return (f"{names} {about.metavar}" if about.metavar else names), about.help + note
