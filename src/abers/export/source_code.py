"""Source code: a rule as a C header, a Java class or a JavaScript module.

The numbers are exact in each: hexadecimal in C, the bytes of doubles elsewhere. Rules
with very many steps keep them in a separate file, since compilers have limits.
"""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING

import numpy as np

from abers import validation
from abers.core.merging import LOSSES
from abers.core.rule import Rule
from abers.errors import InvalidParameter, InvalidType
from abers.export.calibrator_code import c_of
from abers.export.code_text import C_WORDS, c_array, doubles, filled
from abers.export.description import described, needs_more
from abers.export.mixture import Mixture, Words, served
from abers.export.step_table import pieces_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from abers.choices import Language, LossName
    from abers.core.pooled import PooledRule
    from abers.core.stacked import StackedRule
    from abers.core.venn_abers_calibrator import VennAbersCalibrator
    from abers.validation import FloatArray

    Maker = Callable[[str, FloatArray, str], dict[str, bytes]]

MOST_INLINE = 2**16  # steps embedded in the code
PIECE = 60_000  # characters of a constant in Java, which may have 65,535
COLUMNS = ("start", "lower", "upper", "probability")
IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
# Java classes to import.
JAVA_CLASSES = {
    *("Base64", "ByteBuffer", "ByteOrder", "Double", "IOException"),
    *("IllegalStateException", "InputStream", "String"),
}


def to_source(
    rule: Rule | StackedRule | VennAbersCalibrator | PooledRule,
    language: Language,
    *,
    name: str,
    loss: LossName = "log",
) -> dict[str, bytes]:
    """Return a rule as source code that gives the same bits without arithmetic.

    The code of a stacked rule has an additional function, `stacked`, for its bounds and
    probability within 1e-12. The others apply its Venn-Abers part.

    Parameters
    ----------
    rule : Rule, StackedRule, VennAbersCalibrator or PooledRule
        What to export. A calibrator must have two classes and one model, except in C;
        the header explains how to call it. For a rule set, export the rule of each
        group: `rule_set[group]`.
    language : {"c", "java", "javascript"}
        A C99 header, also valid C++17; a Java 9 class; an ECMAScript 2015 module.
    name : str
        The name of the file and the class, and the prefix of the functions.
    loss : {"log", "brier"}, default="log"
        The loss for which the bounds are merged into one probability.

    Returns
    -------
    dict of str to bytes
        The files, by name. With more than 65,536 steps, there is an additional file of
        doubles.

    Examples
    --------
    >>> import abers
    >>> rule = abers.fit_rule([1, 2], [0, 1])
    >>> made = abers.export.to_source(rule, "c", name="fraud")
    >>> list(made)
    ['fraud.h']
    >>> [line for line in made["fraud.h"].decode().splitlines() if "[3]" in line][0]
    'static const double fraud_start[3] = {'
    """
    validation.check_choice(language, tuple(LANGUAGES), "language")
    validation.check_choice(loss, LOSSES, "loss")
    if language == "c" and needs_more(rule):
        _check_name(name, language)
        return c_of(described(rule, loss), name)
    own, mixture, reading = served(rule, loss)
    if not isinstance(own, Rule):
        msg = (
            f"rule must be a Rule to become source code; got a {type(own).__name__}. "
            "Of a rule set, export the rule of each group: rule_set[group]."
        )
        raise InvalidType(msg)
    _check_name(name, language)
    columns = np.array(pieces_of(own, loss, reading=reading))
    stacked = "" if mixture is None else _stacked(mixture, language, name)
    return LANGUAGES[language](name, columns, stacked)


def _stacked(mixture: Mixture, language: Language, name: str) -> str:
    """Return the function that applies the formula of a stacked rule."""
    words = WORDS[language]
    return filled(
        STACKED[language],
        name=name,
        fixed=mixture.fixed(words, "score"),
        weight=words.number(mixture.of_rule),
        least=words.number(0.0 if mixture.reads == "probability" else -np.inf),
        greatest=words.number(1.0 if mixture.reads == "probability" else np.inf),
    )


def _check_name(name: object, language: Language) -> None:
    """Raise if this cannot be the name of a class or the prefix of a function."""
    if not isinstance(name, str) or not IDENTIFIER.fullmatch(name):
        msg = (
            "name must be a letter, followed by letters, digits and underscores; "
            f"got {name!r}."
        )
        raise InvalidParameter(msg)
    if language == "java" and (name[0].islower() or name in JAVA_CLASSES):
        msg = (
            "name must begin with a capital letter, as classes of Java do, and not be "
            f"that of another class; got {name!r}."
        )
        raise InvalidParameter(msg)


def _c(name: str, columns: FloatArray, stacked: str) -> dict[str, bytes]:
    size = columns.shape[1]
    made = {}
    if size > MOST_INLINE:
        made[f"{name}.bin"] = doubles(columns)
        data = filled("load.h", numbers=filled("numbers.h"), name=name, size=size)
    else:
        arrays = zip(COLUMNS, columns, strict=True)
        texts = [c_array(f"{name}_{key}", values) for key, values in arrays]
        data = f"\nenum {{ {name}_size = {size} }};\n" + "".join(texts)
    values = {"data": data, "stacked": stacked, "name": name, "NAME": name.upper()}
    code = filled("rule.h", **values, size=size)
    return {f"{name}.h": code.encode()} | made


def _java(name: str, columns: FloatArray, stacked: str) -> dict[str, bytes]:
    size, made = columns.shape[1], {}
    if size > MOST_INLINE:
        made[f"{name}.bin"] = doubles(columns)
        data = filled("load.java", name=name)
    else:
        text = base64.b64encode(doubles(columns)).decode()
        pieces = (text[first : first + PIECE] for first in range(0, len(text), PIECE))
        rows = ",\n".join(f'            "{piece}"' for piece in pieces)
        data = filled("inline.java", rows=rows)
    code = filled("Rule.java", data=stacked + data, name=name, size=size)
    return {f"{name}.java": code.encode()} | made


def _javascript(name: str, columns: FloatArray, stacked: str) -> dict[str, bytes]:
    size, made = columns.shape[1], {}
    export, data = "", ""
    if size > MOST_INLINE:
        made[f"{name}.bin"] = doubles(columns)
        export = f"/** Take the bytes of {name}.bin, an ArrayBuffer. */\nexport "
    else:
        text = base64.b64encode(doubles(columns)).decode()
        decode = "(sign) => sign.charCodeAt(0)"
        data = f'\nload(Uint8Array.from(atob("{text}"), {decode}).buffer);'
    data = stacked + data
    code = filled("rule.mjs", data=data, export=export, name=name, size=size)
    return {f"{name}.mjs": code.encode()} | made


def _java_number(value: float) -> str:
    """Write the shortest digits of a double, or the name of an infinity."""
    if np.isinf(value):
        return f"Double.{'POSITIVE' if value > 0 else 'NEGATIVE'}_INFINITY"
    return repr(value)


def _javascript_number(value: float) -> str:
    return repr(value).replace("inf", "Infinity")


LANGUAGES: dict[str, Maker] = {
    "c": _c,
    "java": _java,
    "javascript": _javascript,
}
MATH = ("Math.exp", "Math.log", "Math.min", "Math.max")
WORDS = {
    "c": C_WORDS,
    "java": Words(_java_number, *MATH, "(double) (float) ({})"),
    "javascript": Words(_javascript_number, *MATH, "Math.fround({})"),
}
STACKED = {"c": "stacked.h", "java": "Stacked.java", "javascript": "stacked.mjs"}
