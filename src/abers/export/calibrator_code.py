"""C code for calibrators of several models or classes: tables and a search in them."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from abers.core.predictions import TWO
from abers.export.code_text import C_WORDS, c_array, c_number, doubles, filled
from abers.validation import FUZZ, THREE_DIGITS

if TYPE_CHECKING:
    from abers.export.description import Description, Table
    from abers.export.mixture import Mixture
    from abers.validation import FloatArray

MOST_INLINE = 2**18  # numbers embedded in the code
# How the bounds of one class are merged; with two classes, into its probability.
CLIPPED = (
    "fmin(fmax(answer.upper / ((1 - answer.lower) + answer.upper), answer.lower), "
    "answer.upper)"
)
OF_BRIER = (
    "answer.upper + (answer.lower - answer.upper) * (answer.lower + answer.upper) / 2"
)
OF_MEANS = "isinf(zeros) && isinf(ones) ? 0.5 : 1 / (1 + exp(zeros - ones))"


def c_of(described: Description, name: str) -> dict[str, bytes]:
    """Return the header of a calibrator, and its numbers if there are many."""
    tables = [_columns(t) for of_class in described.tables for t in of_class]
    numbers = np.concatenate([column for table in tables for column in table])
    firsts = accumulate((sum(map(len, table)) for table in tables), initial=0)
    made = {}
    if numbers.size > MOST_INLINE:
        made[f"{name}.bin"] = doubles(numbers)
        data = filled("load_tables.h", numbers=filled("numbers.h"), count=numbers.size)
    else:
        data = "\n" + c_array(f"{name}_data", numbers)
    has_two = described.n_classes == TWO
    code = filled(
        "calibrator.h",
        data=data + ("" if has_two else _matrix(described.mixture, name)),
        rule=_rule(described),
        read=_two(described) if has_two else _many(described),
        is_loaded=f"{name}_data" if numbers.size > MOST_INLINE else "1",
        classes=described.n_classes,
        models=described.n_models,
        answers=1 if has_two else described.n_classes,
        numbers={"probability": "probabilities", "score": "scores"}.get(
            described.reads, f"{described.reads}s".replace("oddss", "odds")
        ),
        sizes=", ".join(str(len(table[0])) for table in tables),
        firsts=", ".join(map(str, list(firsts)[:-1])),
        name=name,
        NAME=name.upper(),
    )
    return {f"{name}.h": code.encode()} | made


def _columns(table: Table) -> list[FloatArray]:
    """Return the columns of a table; a fold's table also links its minorants."""
    if "zeros" not in table:
        return [table["start"], table["lower"], table["upper"]]
    zeros, ones = (np.append(0.0, np.cumsum(table[n])) for n in ("zeros", "ones"))
    links = _links(list(map(int, zeros)), list(map(int, ones)))
    return [table["start"], table["after"], zeros, ones, *links]


def _links(zeros: list[int], ones: list[int]) -> tuple[FloatArray, FloatArray]:
    """Return each point's left and right neighbour on the minorant."""

    def is_convex(a: int, b: int, c: int) -> bool:
        rise = (ones[b] - ones[a]) * (zeros[c] - zeros[b])
        return rise < (ones[c] - ones[b]) * (zeros[b] - zeros[a])

    last = len(zeros) - 1
    left, right = [0] * (last + 1), [last] * (last + 1)
    for i in range(1, last + 1):
        k = i - 1
        while k > 0 and not is_convex(left[k], k, i):
            k = left[k]
        left[i] = k
    for i in reversed(range(last)):
        k = i + 1
        while k < last and not is_convex(i, k, right[k]):
            k = right[k]
        right[i] = k
    return np.array(left, dtype=np.float64), np.array(right, dtype=np.float64)


def _rule(described: Description) -> str:
    """Return the function for the bounds of one class."""
    is_log, has_two = described.loss == "log", described.n_classes == TWO
    merged = CLIPPED if is_log else OF_BRIER
    if described.merge == "pooled":
        merged = merged if has_two else "answer.upper"
        units = {"row": described.row, "new_case": described.new_case}
        return filled("pooled.h", merged=merged, **units)
    if has_two and described.n_models > 1:
        merged = OF_MEANS
    elif not has_two:
        merged = "exp(ones)" if described.n_models > 1 else "upper"
    return filled("minimax.h", merged=merged, is_log=int(is_log))


def _ends(described: Description) -> dict[str, str]:
    ends = (0.0, 1.0) if described.reads == "probability" else (-np.inf, np.inf)
    return dict(zip(("least", "greatest"), map(c_number, ends), strict=True))


def _two(described: Description) -> str:
    """Return the function for two classes."""
    mixture, mixed = described.mixture, ""
    if mixture is not None:
        score = mixture.as_fitted(C_WORDS, "score")
        mixed = filled(
            "two_stacked.h",
            stated=mixture.stated(C_WORDS, score),
            logit=mixture.logit(C_WORDS, score),
            **_weights(mixture),
        )
    return filled("two.h", mixed=mixed, **_ends(described))


def _many(described: Description) -> str:
    """Return the function for more than two classes."""
    mixture = described.mixture
    of_logs = described.reads != "margin"
    logit = "log(given[c])" if described.reads == "probability" else "given[c]"
    rest = "@name@_against_rest(logits, c)" if of_logs else "logits[c]"
    rounding = "@name@_coarse" if of_logs else "@name@_single"
    parts = {"declared": "", "model": "", "mixed": ""}
    if mixture is None:
        rest = f"{rounding}({rest})" if described.is_rounded else rest
    else:
        logit = f"{rounding}({logit})" if described.is_rounded else logit
        rest = f"rint({rest} * 65536) / 65536" if of_logs else rest
        low, high = (c_number(mixture.coefficients[end]) for end in ("low", "high"))
        model = filled("many_model.h", low=low, high=high, is_log=int(of_logs))
        zeros = "double stated[@name@_classes] = {0}, mean[@name@_classes] = {0};"
        mixed = filled("many_mixed.h", **_weights(mixture))
        parts = {"declared": f"  {zeros}\n", "model": model, "mixed": mixed}
    return filled(
        "many.h",
        **parts,
        logit=logit,
        rest=rest,
        is_probability=int(described.reads == "probability"),
        tolerance=c_number(described.n_classes * THREE_DIGITS + FUZZ),
        **_ends(described),
    )


def _matrix(mixture: Mixture | None, name: str) -> str:
    """Return the coefficients of the curve for many classes."""
    if mixture is None:
        return ""
    intercepts = np.array(mixture.coefficients["intercepts"])
    rows = ",\n".join(
        "  {" + ", ".join(map(c_number, row)) + "}"
        for row in mixture.coefficients["matrix"]
    )
    size = intercepts.size
    matrix = f"static const double {name}_matrix[{size}][{size}] = {{\n{rows}}};\n"
    return c_array(f"{name}_intercepts", intercepts) + matrix


def _weights(mixture: Mixture) -> dict[str, str]:
    return {
        "of_model": c_number(mixture.of_model),
        "of_curve": c_number(mixture.of_curve),
        "of_rule": c_number(mixture.of_rule),
    }
