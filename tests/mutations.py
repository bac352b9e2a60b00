"""Mutations of contents, and what each kind may hold by its mathematical description.

No code is shared with the library. `broken` names a condition that contents break, and
`mutated` changes contents in one to three places as a careless or malicious writer
might. Run as a script it counts what is accepted: `python tests/mutations.py 50000`.
"""

import bisect
import collections
import itertools
import json
import math
import sys
import tempfile
import warnings
from fractions import Fraction
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np

import abers
import plain_writer
from abers.errors import AbersError, InvalidFile, InvalidParameter
from fitted_things import DRAWN, bits, contents, drawn

INF, NAN = math.inf, math.nan
SOME = 1e-9  # of sums and quotients of doubles
OWN_TAGS = {
    "by",
    "fingerprint",
    "guarantee",
    "label",
    "out-of-fold",
    "score",
    "training-fingerprint",
}

# What each kind may hold.

STEPS = {"lower": "f", "upper": "f", "thresholds": "f", "score_quantiles": "f"}
COUNTS = {"scores": "f", "negatives": "i", "positives": "i"}
PARTS = COUNTS | {"scales": "i", "sizes": "i"}
CELLS = {
    "cell_counts": "fi",
    "cell_positives": "fi",
    "cell_cuts": "f",
    "cell_squares": "f",
}
ARRAYS = {
    "rule": STEPS | CELLS,
    "diagram": COUNTS,
    "pooled-rule": PARTS,
    "poset-rule": COUNTS,
    "regression-rule": STEPS,
    "calibration-set": COUNTS,
    "monitor": COUNTS
    | {"turned": "u", "dropped_rows": "i", "waiting_labels": "i"}
    | dict.fromkeys(("dropped_scores", "waiting_scores", "p_labels", "p_scores"), "f"),
}
ARRAYS["file-monitor"] = {
    **COUNTS,
    **dict.fromkeys(("bet_floats", "file_capitals", "waiting_scores"), "f"),
    **dict.fromkeys(("bet_rows", "delays", "early_labels", "early_rows"), "i"),
    **dict.fromkeys(("file_counts", "n_calibration", "n_scores", "others"), "i"),
    **dict.fromkeys(("recent_ids", "sketches", "n_sketched"), "i"),
    **dict.fromkeys(("waiting_labels", "waiting_groups"), "i"),
    **dict.fromkeys(("early_ids", "waiting_ids"), "u"),
}
ARRAYS["rule-with-diagram"] = {
    **ARRAYS["rule"],
    **{f"diagram_{name}": letters for name, letters in COUNTS.items()},
}
NESTED = {
    "lengths": "i",
    **{f"rule_{name}": letters[0] for name, letters in ARRAYS["rule"].items()},
    **{f"pooled_{name}": letters for name, letters in PARTS.items()},
}
ARRAYS["rule-set"] = {
    **PARTS,
    **{name: letters for name, letters in NESTED.items() if "pooled_" not in name},
    "names": "u",
    "total_rows": "f",
    "total_positives": "f",
}
ARRAYS["stacked-rule"] = {"coefficients": "f", "weights": "f", **NESTED}
ARRAYS["venn-abers-calibrator"] = {**NESTED, "rules": "u"}
ARRAYS["curve-calibrator"] = {
    "lengths": "i",
    **dict.fromkeys(("numbers", "thresholds", "totals", "values"), "f"),
}
ARRAYS["top-rule"] = {
    f"{case}_{name}": letter
    for case in ("right", "wrong")
    for name, letter in (("counts", "i"), ("sizes", "i"), ("thresholds", "f"))
}
ARRAYS["protected"] = {
    "active": "f",
    "ids": "u",
    **dict.fromkeys(("waiting_base", "waiting_issued", "waiting_scores"), "f"),
    **{f"rule_{name}": letters for name, letters in ARRAYS["rule"].items()},
    **{f"set_{name}": letters for name, letters in COUNTS.items()},
}
ARRAYS["file-monitor"] |= {
    f"protected_{name}": letters for name, letters in ARRAYS["protected"].items()
}
INPUT = {"classes", "columns", "is_rounded", "n_models", "reads"}
FACTS = {
    "rule": {"increasing", "n_rows", "n_positives"},
    "rule-with-diagram": {"increasing", "n_rows", "n_positives", "diagram_scale"},
    "diagram": {"scale"},
    "rule-set": {"increasing", "minimum"},
    "pooled-rule": {"increasing", "weight"},
    "poset-rule": {"increasing"},
    "regression-rule": {"increasing", "n_rows", "low", "high", "trim"},
    "stacked-rule": {"increasing", "kind", "rules"} | INPUT,
    "curve-calibrator": {"method"} | INPUT,
    "venn-abers-calibrator": {"is_cross", "loss", "merge", "multiclass"} | INPUT,
    "calibration-set": {"increasing", "window"},
    "protected": {"account", "allowance", "base", "excess"},
    "top-rule": {"n_classes", "n_rows"},
    "file-monitor": {
        *("alarms", "alpha", "files", "groups", "has_ids", "increasing"),
        *("max_wait", "protected", "score_bits", "seed", "stall"),
    },
    "monitor": {"increasing", "level", "max_wait", "n_calibration", "seed"},
}


def broken(kind, facts, arrays):
    """Return a condition that contents break, None if they break none."""
    conditions = _broken_types(kind, facts, arrays)
    if conditions:
        return conditions
    numbers = {name: array.tolist() for name, array in arrays.items()}
    return next(
        (what for what, holds in CHECKS[kind](facts, numbers) if not holds), None
    )


def _broken_types(kind, facts, arrays):
    if arrays.keys() != ARRAYS[kind].keys():
        return "names"
    for name, letters in ARRAYS[kind].items():
        if not _is_column(arrays[name], letters):
            return f"no column of numbers: {name}"
    return _broken_facts(kind, facts)


def _broken_facts(kind, facts):
    if facts.keys() != FACTS[kind] | {"metadata"}:
        return "names"
    if not all(is_tag(*tag) for tag in facts["metadata"].items()):
        return "tags"
    if not all(type(facts.get(n, True)) is bool for n in ("is_rounded", "is_cross")):
        return "flags"
    flags = facts.get("increasing", True)
    types = {type(flag) for flag in (flags if kind == "poset-rule" else [flags])}
    return None if types == {bool} else "flags"


def _is_column(array, letters):
    wanted = [{"f": "float64", "i": "int64", "u": "uint8"}[each] for each in letters]
    return (
        isinstance(array, np.ndarray)
        and array.ndim == 1
        and str(array.dtype) in wanted
        and not any(
            math.isnan(number) or (number == 0 and math.copysign(1, number) < 0)
            for number in array.tolist()
        )
    )


def is_tag(name, value):
    if type(name) is not str or not is_text(name):
        return False
    if name.startswith("abers:"):
        kind = name.removeprefix("abers:")
        if kind == "prior":
            return type(value) is float and 0 < value < 1
        return kind == "pos-label" or (kind in OWN_TAGS and type(value) is str)
    if value is None or type(value) is bool:
        return True
    if type(value) is str:
        return is_text(value)
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


def is_text(value):
    return not any("\ud800" <= letter <= "\udfff" for letter in value)


def ascend(numbers):
    return all(a < b for a, b in pairwise(numbers))


def never_fall(numbers):
    return all(a <= b for a, b in pairwise(numbers))


def is_count(value, least=0):
    return type(value) is int and least <= value < 2**53


def is_total(value):
    """Whole numbers up to 2**53 are integers, all others floats."""
    if type(value) is int:
        return 0 < value <= 2**53
    whole = type(value) is float and value.is_integer() and value <= 2**53
    return type(value) is float and 0 < value < INF and not whole


def of_steps(facts, a):
    """Two monotone step functions of a score, which change at each threshold."""
    total, cuts, scores = facts["n_rows"], a["thresholds"], a["score_quantiles"]
    way = 1 if facts["increasing"] else -1
    lower, upper = a["lower"][::way], a["upper"][::way]
    yield "total", is_total(total)
    yield "101 quantiles", len(scores) == 101 and never_fall(scores)
    yield "thresholds in order", ascend(cuts)
    yield (
        "thresholds at scores",
        all(scores[0] <= cut <= math.nextafter(scores[-1], INF) for cut in cuts),
    )
    yield "no threshold at -inf", -INF not in cuts
    yield "a piece more than thresholds", len(lower) == len(upper) == len(cuts) + 1
    yield "lower below upper", all(p <= q for p, q in zip(lower, upper, strict=True))
    yield "monotone", never_fall(lower) and never_fall(upper)
    pieces = list(zip(lower, upper, strict=True))
    yield "steps", all(p != q for p, q in pairwise(pieces))


def of_rule(facts, a):
    yield from of_steps(facts, a)
    total, ones = facts["n_rows"], facts["n_positives"]
    yield "positives", ones == 0 or is_total(ones)
    yield "positives as an integer", type(ones) is int or ones > 0
    yield "not more positives than rows", ones <= total
    yield "probabilities", min(a["lower"]) >= 0 and max(a["upper"]) <= 1
    if "abers:prior" not in facts["metadata"]:
        rows, hits = Fraction(total), Fraction(ones)
        some = SOME * float(rows) + SOME
        most = (hits + Fraction(some)) / (hits + Fraction(some) + 1)
        least = 1 / (rows - hits + Fraction(some) + 1)
        yield "lower bounds by all ones", max(a["lower"]) <= most + Fraction(SOME)
        yield "upper bounds by all zeros", min(a["upper"]) >= least - Fraction(SOME)
        width = min(q - p for p, q in zip(a["lower"], a["upper"], strict=True))
        yield "width of a new case", width >= float(1 / (rows + 1)) - SOME
    yield from of_cells(facts, a)


def of_cells(facts, a):
    counts, ones, cuts = a["cell_counts"], a["cell_positives"], a["cell_cuts"]
    squares, scores = a["cell_squares"], a["score_quantiles"]
    if not counts:
        yield "no cells at all", not ones and not cuts and not squares
        return
    yield "cells", len(counts) == len(ones) == len(cuts) + 1
    yield "cells of one type", {*map(type, counts)} == {*map(type, ones)}
    yield (
        "positives in cells",
        all(0 <= p <= n for p, n in zip(ones, counts, strict=True)),
    )
    whole = type(counts[0]) is int
    yield "squares of real weights", bool(squares) or whole
    yield "cuts in order", ascend(cuts)
    yield "cuts at percentiles", set(scores[1:-1]) <= set(cuts)
    yield "cuts within", all(scores[0] <= cut <= scores[-1] for cut in cuts)
    total = facts["n_rows"]
    for numbers, name in ((counts, "n_rows"), (ones, "n_positives")):
        yield f"sum of {name}", abs(math.fsum(numbers) - facts[name]) <= 1e-8 * total
    if squares:
        yield "a square a cell", len(squares) == len(counts)
        yield (
            "squares of weights",
            all(
                (n == q == 0)
                or (0 < q < INF and n / 2**27 <= math.sqrt(q) <= n * (1 + 1e-8))
                for n, q in zip(counts, squares, strict=True)
            ),
        )
    if whole:
        yield "as many thresholds as rows", len(a["thresholds"]) <= 2 * total
        below = [sum(counts[:i]) for i in range(len(counts) + 1)]
        for percent, score in enumerate(scores):
            rank = max(1, math.ceil(Fraction(percent * sum(counts), 100)))
            cell = sum(cut <= score for cut in cuts)
            yield "ranks of percentiles", below[cell] < rank <= below[cell + 1]


def of_regression(facts, a):
    yield from of_steps(facts, a)
    low, high, trim = facts["low"], facts["high"], facts["trim"]
    for end in (low, high):
        yield "ends", end is None or (type(end) is float and math.isfinite(end))
        yield "one kind of zero", str(end) != "-0.0"
    n_open = (low is None) + (high is None)
    yield "trim", is_count(trim, 1) if n_open else (type(trim), trim) == (int, 0)
    least = max(n_open * trim, trim + 1) if n_open else 0
    yield "more rows than are trimmed", facts["n_rows"] >= least
    yield "ends in order", n_open or low < high
    least, most = min(a["lower"]), max(a["upper"])
    yield "finite", math.isfinite(least) and math.isfinite(most)
    yield "above low", low is None or least >= low
    yield "below high", high is None or most <= high
    least, most = (least if low is None else low), (most if high is None else high)
    yield "a finite distance", math.isfinite(most - least)
    width = min(q - p for p, q in zip(a["lower"], a["upper"], strict=True))
    wanted = (most - least) / (facts["n_rows"] + 1)
    some = SOME * (most - least) + 16 * math.ulp(max(abs(least), abs(most)))
    yield "width of a new target", width >= wanted - some


def of_counts(negatives, positives, scale=0):
    """Units, which with those of a new case do not exceed 2**53."""
    pairs = list(zip(negatives, positives, strict=True))
    yield "no weight is negative", all(min(pair) >= 0 for pair in pairs)
    yield "weight at each score", all(max(pair) > 0 for pair in pairs)
    yield "an exact total", sum(map(sum, pairs)) + 2**scale <= 2**53


def of_diagram(facts, a):
    yield "lengths", len(a["scores"]) == len(a["negatives"]) == len(a["positives"]) > 0
    yield "scores in order", ascend(a["scores"])
    scale = facts["scale"]
    yield "scale", is_count(scale, 0) and scale <= 52
    yield from of_counts(a["negatives"], a["positives"], scale)
    odd = any(number % 2 for number in a["negatives"] + a["positives"])
    yield "the largest common unit", scale == 0 or odd


def of_rule_with_diagram(facts, a):
    yield from of_rule(facts, a)
    yield "no prior", "abers:prior" not in facts["metadata"]
    counts = {name: a[f"diagram_{name}"] for name in COUNTS}
    scale = facts["diagram_scale"]
    yield from of_diagram({"scale": scale}, counts)
    rows, ones = sum(counts["negatives"] + counts["positives"]), counts["positives"]
    yield "rows of the diagram", facts["n_rows"] == Fraction(rows, 2**scale)
    yield "its ones", facts["n_positives"] == Fraction(sum(ones), 2**scale)
    yield "its percentiles", a["score_quantiles"] == _percentiles(counts)
    probes = [math.nextafter(s, end) for s in counts["scores"] for end in (-INF, INF)]
    yield (
        "thresholds at its scores or right above",
        {*a["thresholds"]} <= {*counts["scores"], *probes},
    )
    yield (
        "bounds of its scores",
        all(
            (a["lower"][piece], a["upper"][piece]) == refitted(counts, s, facts)
            for s in [*counts["scores"], *probes]
            for piece in [bisect.bisect_right(a["thresholds"], s)]
        ),
    )


def _percentiles(counts):
    masses = map(int.__add__, counts["negatives"], counts["positives"])
    cumulated = list(accumulate(masses))
    ranks = [max(1, -(-percent * cumulated[-1] // 100)) for percent in range(101)]
    return [counts["scores"][bisect.bisect_left(cumulated, rank)] for rank in ranks]


def refitted(counts, s, facts):
    """Return the bounds of a score by two isotonic regressions with the new case."""
    zero_first = slice(None, None, 1 if facts["increasing"] else -1)
    case = 2 ** facts["diagram_scale"]
    bounds = []
    for label in (0, 1):
        masses = {
            score: (zeros, ones)
            for score, zeros, ones in zip(
                counts["scores"], counts["negatives"], counts["positives"], strict=True
            )
        }
        zeros, ones = masses.get(s, (0, 0))
        masses[s] = zeros + case * (1 - label), ones + case * label
        levels = []  # zeros, ones, whether the new case is there
        for score in sorted(masses)[zero_first]:
            levels.append((*masses[score], score == s))
            while len(levels) > 1 and not _rises(*levels[-2:]):
                levels[-2:] = [tuple(map(int.__add__, *levels[-2:]))]
        zeros, ones, _ = next(level for level in levels if level[2])
        bounds.append(float(Fraction(ones, zeros + ones)))
    return tuple(bounds)


def _rises(level, after):
    return level[1] * (after[0] + after[1]) < after[1] * (level[0] + level[1])


def of_parts(_, a, new_case=Fraction(1)):
    yield "lengths", len(a["scores"]) == len(a["negatives"]) == len(a["positives"])
    yield "sizes", a["sizes"] and min(a["sizes"]) >= 0
    yield "sizes add up", sum(a["sizes"]) == len(a["scores"])
    yield "a scale each", len(a["scales"]) == len(a["sizes"])
    start, total = 0, 0
    for size, scale in zip(a["sizes"], a["scales"], strict=True):
        part = {name: a[name][start : start + size] for name in COUNTS}
        start += size
        if size:
            yield from of_diagram({"scale": scale}, part)
            total += Fraction(sum(part["negatives"] + part["positives"]), 2**scale)
        else:
            yield "a part without rows has no scale", scale == 0
    finest = max(a["scales"])
    beside = (total + new_case) * new_case.denominator
    # Whole totals are exact; others may be rounded to units of 2**-20 and finer.
    yield "a total beside a new case", beside * 2 ** min(finest, 20) <= 2**53


def of_rule_set(facts, a):
    totals = {"lengths", "total_rows", "total_positives"}
    of_rules = [n for n in a if n.startswith("rule_") or n in totals]
    yield "one of both", not any(a[n] for n in (of_rules if a["sizes"] else PARTS))
    if a["sizes"]:
        yield from of_parts(facts, a)
    text = bytes(a["names"]).decode("ascii")
    names = json.loads(text)
    yield "groups", type(names) is list and len(names) > 0
    yield "a group has rows", 0 not in a["sizes"]
    yield "a diagram each", not a["sizes"] or len(names) == len(a["sizes"])
    yield "one type", len({type(name) for name in names}) == 1
    yield "types", type(names[0]) in (str, bool, int, float)
    yield "groups in order", ascend(names)
    yield "groups are tags", all(is_tag("x", name) for name in names)
    one_zero = [n + 0.0 if type(n) is float else n for n in names]
    packed = json.dumps(one_zero, separators=(",", ":"))
    yield "packed", text == packed + " " * (-len(packed) % 8)
    yield "minimum", is_count(facts["minimum"])
    if not a["sizes"]:
        yield from of_rules_of_groups(facts, a, len(names))


def of_rules_of_groups(facts, a, n_groups):
    """Rules of the groups that are large, of all rows, and of the rest if it is."""
    rows, ones, least = a["total_rows"], a["total_positives"], facts["minimum"]
    yield "totals", len(rows) == len(ones) and len(rows) - n_groups in (1, 2)
    pairs = list(zip(rows, ones, strict=True))
    yield "totals of rows", all(0 <= y <= n and 0 < n <= 2**53 for n, y in pairs)
    large = [min(n - y, y) >= least for n, y in pairs]
    small = [p for p, own in zip(pairs[:n_groups], large, strict=False) if not own]
    some = SOME * rows[n_groups]
    sums = [math.fsum(column) for column in zip(*pairs[:n_groups], strict=True)]
    yield "rows of all groups", math.dist(sums, pairs[n_groups]) <= 2 * some
    left = [math.fsum(column) for column in zip(*small, strict=True)] or [0, 0]
    if len(rows) == n_groups + 1:
        too_many = small and min(left[0] - left[1], left[1]) > least + some
        yield "too few for a rest", not too_many
    else:
        yield "a rest of small groups", small and large[-1]
        yield (
            "rows of the rest",
            all(abs(x - y) <= some for x, y in zip(left, pairs[-1], strict=True)),
        )
    plain = [tuple(int(x) if x == int(x) else x for x in pair) for pair in pairs]
    rules = [
        {
            "increasing": facts["increasing"],
            "metadata": {},
            "n_positives": y,
            "n_rows": n,
        }
        for place, (n, y) in enumerate(plain)
        if place >= n_groups or large[place]
    ]
    yield from of_nested("rule", rules, a, [])


def of_pooled_rule(facts, a):
    weight = facts["weight"]
    yield "digits", type(weight) is str and set(weight) <= set("0123456789/")
    yield "a reduced weight", len(weight) < 2100 and str(Fraction(weight)) == weight
    p, q = Fraction(weight).as_integer_ratio()
    yield "weight of a case", p > 0 and p + q <= 2**53
    yield from of_parts(facts, a, Fraction(weight))


def of_poset_rule(facts, a):
    width, rows = len(facts["increasing"]), len(a["negatives"])
    yield (
        "lengths",
        rows == len(a["positives"]) > 0 and len(a["scores"]) == width * rows,
    )
    yield from of_counts(a["negatives"], a["positives"])
    yield "total", sum(a["negatives"] + a["positives"]) < 2**32 - 1
    signs = [1 if rises else -1 for rises in facts["increasing"]]
    points = [
        tuple(s * x for s, x in zip(signs, a["scores"][i : i + width], strict=True))
        for i in range(0, len(a["scores"]), width)
    ]
    yield "vectors in order", ascend(points)


def of_input(facts, kind, n_classes):
    """What columns hold, of which classes."""
    classes, columns, reads = facts["classes"], facts["columns"], facts["reads"]
    yield "labels", type(classes) is list and len(classes) == n_classes
    yield "distinct labels", len(set(classes)) == n_classes
    yield "labels of one type", len({type(label) for label in classes}) == 1
    yield "labels for files", all(c is not None and is_tag("", c) for c in classes)
    given = "score", "margin", "log-odds", "probability"
    yield "what is read", type(reads) is str and reads in given
    yield "a kind it has", reads == kind or (kind, reads) == ("log-odds", "probability")
    yield "scores of two classes", reads != "score" or n_classes == 2
    yield "names", type(columns) is list and all(type(c) is str for c in columns)
    yield "names for files", all(is_tag(name, None) for name in columns)
    yield "distinct names", len(set(columns)) == len(columns)
    models = facts["n_models"]
    widths = {0, models * n_classes} | ({models} if n_classes == 2 else set())
    yield "a name per column", len(columns) in widths


def of_nested(nested, rules, a, parts):
    """Rules end to end, null for none; what is said of each is added to `parts`."""
    prefix = {"rule": "rule_", "pooled-rule": "pooled_"}[nested]
    columns = {name: a[prefix + name] for name in ARRAYS[nested]}
    others = [a[name] for name in a if name.startswith(("rule_", "pooled_"))]
    yield (
        "rules of one kind",
        sum(map(len, others)) == sum(map(len, columns.values())),
    )
    yield "lengths", len(a["lengths"]) == len(rules) * (len(columns) + 1)
    yield "no negative length", min(a["lengths"]) >= 0
    lengths = iter(a["lengths"])
    for rule in rules:
        part = {}
        for name in sorted(columns):
            size = next(lengths)
            part[name], columns[name] = columns[name][:size], columns[name][size:]
            yield "as long as its length", len(part[name]) == size
        flag = next(lengths)
        yield "a flag", flag in (0, 1)
        counts = part.get("cell_counts", []) + part.get("cell_positives", [])
        yield "integers to be flagged", counts or not flag
        if flag:
            yield "whole", all(n == int(n) and n <= 2**53 for n in counts)
            for name in ("cell_counts", "cell_positives"):
                part[name] = [int(number) for number in part[name]]
        parts.append(part)
        if rule is None:
            yield "nothing of no rule", not flag and not any(part.values())
            continue
        yield "a rule", type(rule) is dict and _broken_facts(nested, rule) is None
        yield from CHECKS[nested](rule, part)
    yield "nothing left over", not any(columns.values())


def of_stacked_rule(facts, a):
    """One rule, or one per class, of the same rows; a curve; weights of the parts."""
    kind, n_models, rules = facts["kind"], facts["n_models"], facts["rules"]
    yield "kind", kind in ("probability", "log-odds", "margin")
    yield "models", is_count(n_models, 1)
    yield "classes", type(rules) is list and len(rules) in {1, *range(3, 10**6)}
    yield "classes rise", len(rules) == 1 or facts["increasing"]
    yield from of_input(facts, kind, max(2, len(rules)))
    nested = "rule" if n_models == 1 else "pooled-rule"
    parts = []
    yield from of_nested(nested, rules, a, parts)
    totals, ones = [], []
    for rule, part in zip(rules, parts, strict=True):
        yield "a rule as fitted", rule["metadata"] == {}
        yield "one direction", rule["increasing"] == facts["increasing"]
        if n_models == 1:
            totals.append(rule["n_rows"])
            ones.append(rule["n_positives"])
        else:
            scales = np.repeat(part["scales"], part["sizes"]).tolist()
            zero, one = (
                sum(Fraction(n, 2**s) for n, s in zip(part[name], scales, strict=True))
                for name in ("negatives", "positives")
            )
            totals.append(zero + one)
            ones.append(one)
            yield "a fold per model", len(part["sizes"]) == n_models
            share = Fraction(1, max(1, len(rules) - 1))
            yield "weight of a case", Fraction(rule["weight"]) == share
    yield "rules of the same rows", len(set(totals)) == 1
    yield (
        "rows of one class each",
        len(rules) == 1 or math.isclose(sum(ones), totals[0], rel_tol=SOME),
    )
    yield from of_mixture(kind, len(rules), a)


def of_venn_abers_calibrator(facts, a):
    """A rule per class or pair of classes, of each fold or pooled."""
    n_models, classes = facts["n_models"], len(facts["classes"])
    yield "models", is_count(n_models, 1)
    yield from of_input(facts, facts["reads"], classes)
    yield "loss", facts["loss"] in ("log", "brier")
    yield "merge", facts["merge"] in ("minimax", "pooled")
    yield "problems", facts["multiclass"] in ("ovo", "ovr")
    yield "two classes are a pair", classes > 2 or facts["multiclass"] == "ovo"
    yield "folds are crossed", facts["is_cross"] or n_models == 1
    text = bytes(a["rules"]).decode("ascii")
    rules = json.loads(text)
    packed = json.dumps(rules, sort_keys=True, separators=(",", ":"))
    yield "packed", text == packed + " " * (-len(packed) % 8)
    yield "rules", type(rules) is list and len(rules) > 0
    pooled = facts["merge"] == "pooled"
    ovo = facts["multiclass"] == "ovo"
    problems = classes * (classes - 1) // 2 if ovo else classes
    yield "a rule each", len(rules) == problems * (1 if pooled else n_models)
    parts = []
    yield from of_nested("pooled-rule" if pooled else "rule", rules, a, parts)
    yield "rising", all(rule is None or rule["increasing"] for rule in rules)
    if pooled:
        yield "pooled rules", None not in rules
        yield "a fold per model", all(len(p["sizes"]) == n_models for p in parts)
        whole = Fraction(rules[0]["weight"]) * (1 if ovo else problems - 1)
        yield "one weight", len({rule["weight"] for rule in rules}) == 1
        yield "a whole row", whole.denominator == 1
        return
    pairs = list(itertools.combinations(range(classes), 2))
    for start in range(0, len(rules), problems):
        sizes = [[] for _ in range(classes)]
        totals = []
        for place, rule in enumerate(rules[start : start + problems]):
            rows, ones = (rule["n_rows"], rule["n_positives"]) if rule else (0, 0)
            if ovo:
                negative, positive = pairs[place]
                sizes[positive].append(ones)
                sizes[negative].append(rows - ones)
            else:
                sizes[place].append(ones)
                totals.append(rows)
        near = {"rel_tol": 1e-7}
        for of_class in sizes:
            yield (
                "one size",
                all(math.isclose(n, of_class[0], **near) for n in of_class),
            )
        every = sum(of_class[0] for of_class in sizes)
        yield "one sum", all(math.isclose(total, every, **near) for total in totals)


def of_curve_calibrator(facts, a):
    """The numbers of curves, or steps; the weight of each class."""
    method, reads, n_classes = facts["method"], facts["reads"], len(facts["classes"])
    yield "a method", method in ("platt", "isotonic", "temperature", "beta")
    yield "one model", is_count(facts["n_models"], 1) and facts["n_models"] == 1
    yield from of_input(facts, reads, n_classes)
    is_steps = method == "isotonic"
    ties = is_steps and n_classes > 2 and reads == "probability"
    yield "rounded", facts["is_rounded"] == ties
    yield "a weight each", len(a["totals"]) == n_classes
    yield "weights", min(a["totals"]) >= 0 and 0 < sum(a["totals"]) < INF
    takes_score = n_classes == 2 and method in ("platt", "isotonic")
    yield "its scores", (reads == "score") == takes_score
    n_curves = 1 if n_classes == 2 or method == "temperature" else n_classes
    numbers, lengths = a["numbers"], a["lengths"]
    if is_steps:
        yield "no numbers", not numbers
        yield "lengths", len(lengths) == n_curves and min(lengths) > 0
        yield "sums", sum(lengths) == len(a["thresholds"]) == len(a["values"])
        start = 0
        for length in lengths:
            cut = slice(start, start + length)
            start += length
            yield "steps", ascend(a["thresholds"][cut])
            yield "rising", never_fall(a["values"][cut])
        yield "probabilities", min(a["values"]) >= 0 and max(a["values"]) <= 1
        return
    yield "no steps", not lengths and not a["thresholds"] and not a["values"]
    yield "finite", all(math.isfinite(number) for number in numbers)
    width = {"platt": 2 if n_classes == 2 else 4, "temperature": 3, "beta": 4}[method]
    yield "numbers", len(numbers) == width * n_curves
    for start in range(0, len(numbers), width):
        curve = numbers[start : start + width]
        if method == "beta":
            yield "a curve that rises", min(curve[:2]) >= 0 and 0 < curve[3] <= 0.1
        elif method == "temperature":
            yield "a temperature", curve[0] >= 0 and curve[1] < curve[2]
        else:
            yield "ends", n_classes == 2 or curve[2] < curve[3]


def of_mixture(kind, n_rules, a):
    weights, numbers = a["weights"], a["coefficients"]
    yield "a weight per part", len(weights) == (2 if kind == "margin" else 3)
    yield "shares", min(weights) >= 0 and abs(math.fsum(weights) - 1) <= SOME
    yield "a share for the rule", weights[-1] > 0
    yield "finite coefficients", all(math.isfinite(number) for number in numbers)
    if n_rules > 1:
        yield "a matrix", len(numbers) == n_rules**2 + n_rules + 2
    else:
        yield "a curve", len(numbers) == 4
    if n_rules == 1 and kind != "margin":
        a, b, _, clip = numbers
        yield "a curve that rises", min(a, b) >= 0 and 0 < clip <= 0.1
        return
    yield "a line that rises", n_rules > 1 or numbers[0] >= 0
    yield "ends", numbers[-2] <= numbers[-1]


def of_set(facts, a):
    scores, zeros, ones = a["scores"], a["negatives"], a["positives"]
    yield "lengths", len(scores) == len(zeros) == len(ones)
    yield from of_counts(zeros, ones)
    window = facts["window"]
    if window is None:
        yield "scores in order", ascend(scores)
        return
    yield "window", is_count(window, 1) and sum(zeros) + sum(ones) <= window
    arrivals = [(s, n > 0, p > 0) for s, n, p in zip(scores, zeros, ones, strict=True)]
    yield "arrivals of one label", all(n != p for _, n, p in arrivals)
    yield (
        "arrivals in a row are one",
        all(p != q for p, q in pairwise(arrivals)),
    )


def of_monitor(facts, a):
    yield "level", type(facts["level"]) is float and 0 < facts["level"] < 1
    yield "seed", type(facts["seed"]) is int and 0 <= facts["seed"] < 2**63
    yield "calibration rows", is_count(facts["n_calibration"], 1)
    wait = facts["max_wait"]
    yield "max_wait", wait is None or is_count(wait, 1)
    yield from of_diagram({"scale": 0}, {name: a[name] for name in COUNTS})
    rows, labels = len(a["p_scores"]), len(a["p_labels"])
    total = sum(a["negatives"] + a["positives"])
    yield "labels add up", total == facts["n_calibration"] + labels
    waiting, dropped = a["waiting_labels"], a["dropped_rows"]
    yield "rows add up", rows == labels + len(waiting) + len(dropped)
    yield "dropped rows", ascend(dropped) and len(dropped) == len(a["dropped_scores"])
    yield (
        "dropped after max_wait",
        all(wait is not None and 0 <= row < rows - wait for row in dropped),
    )
    yield "waiting rows", len(waiting) == len(a["waiting_scores"])
    yield "waiting labels", set(waiting) <= {-1, 0, 1} and waiting[:1] in ([], [-1])
    yield "no longer than max_wait", wait is None or len(waiting) <= wait
    yield "p-values", all(0 < p <= 1 for p in a["p_scores"] + a["p_labels"])
    yield "turned", len(a["turned"]) == labels and set(a["turned"]) <= {0, 1}


def of_file_monitor(facts, a):
    """Counts of groups, a line per file, and rows that add up."""
    yield "alpha", type(facts["alpha"]) is float and 0 < facts["alpha"] < 1
    yield "max_wait", is_count(facts["max_wait"], 1)
    yield "bits", is_count(facts["score_bits"], 1) and facts["score_bits"] <= 53
    yield "seed", type(facts["seed"]) is int and 0 <= facts["seed"] < 2**63
    sizes, before = a["n_scores"], a["n_calibration"]
    yield "groups", len(facts["groups"]) == len(sizes) == len(before)
    names = facts["groups"]
    yield "groups in order", names == [None] or names == sorted(set(names))
    yield "finite bets", all(map(math.isfinite, a["bet_floats"]))
    yield "the weights of some bets", min(a["bet_floats"][:39]) >= 0
    yield "delays", len(a["delays"]) == 54
    tests = ("scores", "labels", "slope")
    yield "alarms", all(alarm.get("test") in tests for alarm in facts["alarms"])
    yield "stall", facts["stall"] is None or "reason" in facts["stall"]
    yield "counts", sum(sizes) == len(a["scores"]) == len(a["others"])
    first = 0
    for size in sizes:
        yield "scores in order", size > 0 and ascend(a["scores"][first : first + size])
        first += size
    counts = [a["file_counts"][i::5] for i in range(5)]
    n_rows, _, used, dropped, _ = map(sum, counts)
    labels = sum(a["negatives"]) + sum(a["positives"])
    waiting = a["waiting_labels"]
    yield "no count below 0", min(map(min, counts)) >= 0
    yield "labels", labels == sum(before) + used
    yield "rows", labels + sum(a["others"]) == sum(before) + n_rows
    yield "waiting", n_rows == used + dropped + len(waiting)
    yield "not for long", len(waiting) <= facts["max_wait"]
    yield "waiting labels", set(waiting) <= {-1, 0, 1}
    yield "known groups", set(a["waiting_groups"]) <= set(range(len(sizes)))
    files = facts["files"]
    yield "a line per file", len(files) == len(counts[0]) == len(a["n_sketched"])
    yield "sketches", sum(a["n_sketched"]) == len(a["sketches"])
    text = bytes(a["waiting_ids"])
    yield "ids in brackets", text[:1] in (b"", b"[")
    ids = json.loads(text or b"[]")
    yield (
        "packed ids",
        bytes(a["waiting_ids"]) == (json.dumps(ids).encode() if ids else b""),
    )
    yield "ids", len(set(ids)) == len(ids) == len(waiting) * facts["has_ids"]
    early = json.loads(bytes(a["early_ids"]) or b"[]")
    yield "early", len(set(early)) == len(early) == len(a["early_labels"])
    yield from _of_protection(facts, a, ids)


def _of_protection(facts, a, ids):
    """The rule of its rows, protected for some of those that wait; groups have none."""
    protected = {name: a[f"protected_{name}"] for name in ARRAYS["protected"]}
    own = facts["protected"]
    yield "one rule or groups", (own is None) == (facts["groups"] != [None])
    if own is None:
        yield "nothing of it", not any(protected.values())
        return
    yield "what it protects", _broken_facts("protected", own) is None
    yield from of_protected(own, protected)
    yield "a rule", own["base"].get("increasing") is facts["increasing"]
    yield "no set", "window" not in own["base"]
    issued = json.loads(bytes(protected["ids"]) or b"[]")
    unlabelled = {
        one: score
        for one, score, label in zip(
            ids, a["waiting_scores"], a["waiting_labels"], strict=False
        )
        if label == -1
    }
    scores = protected["waiting_scores"]
    yield "all by id", len(issued) == len(scores)
    pairs = zip(issued, scores, strict=True)
    yield "known", all(one in unlabelled and unlabelled[one] == s for one, s in pairs)


def of_top_rule(facts, a):
    """Level sets of each top class, in which its rate does not fall with the score."""
    n_classes, n_rows = facts["n_classes"], facts["n_rows"]
    yield "classes", is_count(n_classes, 2)
    yield "rows", is_count(n_rows, 1) and n_rows < 2**26
    rates = {}
    for case, of_case in (("wrong", 0), ("right", 1)):
        sizes, thresholds = a[f"{case}_sizes"], a[f"{case}_thresholds"]
        numbers = a[f"{case}_counts"]
        yield "sizes", len(sizes) == n_classes and min(sizes) >= 0
        yield "thresholds", sum(sizes) == len(thresholds)
        yield "counts", len(numbers) == (sum(sizes) + n_classes) * n_classes
        yield "no count below 0", min(numbers) >= 0
        pieces = [numbers[i : i + n_classes] for i in range(0, len(numbers), n_classes)]
        yield "as many as rows", max(map(sum, pieces)) <= n_rows
        first = 0
        for c, size in enumerate(sizes):
            own = pieces[first + c : first + c + size + 1]
            yield "pieces differ", all(p != q for p, q in itertools.pairwise(own))
            cuts = thresholds[first : first + size]
            yield "thresholds in order", ascend(cuts)
            rate = [(piece[c] + of_case) / (sum(piece) + 1) for piece in own]
            yield "rates that do not fall", never_fall(rate)
            rates[case, c] = cuts, rate
            first += size
    for c in range(n_classes):
        (cuts, lower), (others, upper) = rates["wrong", c], rates["right", c]
        yield "ends", lower[0] == 0 and upper[-1] == 1
        for s in {*cuts, *others, -INF}:
            for at in (s, math.nextafter(s, INF)):
                low = lower[sum(cut <= at for cut in cuts)]
                yield "pairs", low < upper[sum(cut < at for cut in others)]


def of_protected(facts, a):
    """A rule or a set, weights of 3 x 15 maps, and rows whose worst cases add up."""
    base, kinds = facts["base"], {"rule": "rule", "set": "calibration-set"}
    prefix = "set" if "window" in base else "rule"
    yield "a base", _broken_facts(kinds[prefix], base) is None
    parts = {
        kind: {name: a[f"{kind}_{name}"] for name in ARRAYS[kinds[kind]]}
        for kind in kinds
    }
    yield from CHECKS[kinds[prefix]](base, parts.pop(prefix))
    (other,) = parts.values()
    yield "one base", not any(other.values())
    numbers = [facts[name] for name in ("account", "allowance", "excess")]
    yield "numbers", all(type(n) is float and math.isfinite(n) for n in numbers)
    yield "one kind of zero", "-0.0" not in map(str, numbers)
    account, allowance, excess = numbers
    yield "weights", len(a["active"]) == 45 and min(a["active"]) >= 0
    yield "shares", abs(math.fsum(a["active"]) - 1) <= SOME
    text = bytes(a["ids"]).decode("ascii")
    ids = json.loads(text) if text else []
    packed = json.dumps(ids, separators=(",", ":")) if ids else ""
    yield "packed", text == packed + " " * (-len(packed) % 8)
    yield "ids", type(ids) is list and {type(each) for each in ids} <= {int, str}
    yield "distinct ids", len(set(ids)) == len(ids)
    yield (
        "ids are text or 64 bits",
        all(
            is_text(each) if type(each) is str else -(2**63) <= each < 2**63
            for each in ids
        ),
    )
    rows = list(zip(a["waiting_base"], a["waiting_issued"], strict=True))
    yield "rows", len(a["waiting_scores"]) == len(rows) >= len(ids)
    some = SOME * (1 + abs(excess))
    worst = 0
    for p, o in rows:
        yield "probabilities", 0 <= p <= 1 and 0 <= o <= 1
        yield "certain and nothing else", p == o or (0 < p < 1 and 0 < o < 1)
        if p != o:
            worst += math.log2(p / o if o < p else (1 - p) / (1 - o))
    yield "account", account >= 0 and abs(account - worst) <= some
    yield "one bit", allowance >= 0 and account + excess + allowance <= 1 + some


CHECKS = {
    "rule": of_rule,
    "rule-with-diagram": of_rule_with_diagram,
    "diagram": of_diagram,
    "rule-set": of_rule_set,
    "pooled-rule": of_pooled_rule,
    "poset-rule": of_poset_rule,
    "regression-rule": of_regression,
    "stacked-rule": of_stacked_rule,
    "curve-calibrator": of_curve_calibrator,
    "venn-abers-calibrator": of_venn_abers_calibrator,
    "calibration-set": of_set,
    "monitor": of_monitor,
    "file-monitor": of_file_monitor,
    "protected": of_protected,
    "top-rule": of_top_rule,
}

# Mutations.

FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, NAN, INF, -INF, 5e-324, 1e300, -1e308, 1e-300]
INTS = [0, 1, -1, 2, 3, 2**31, 2**32, 2**53 - 1, 2**53, 2**62, 2**63 - 1, -(2**63)]
VALUES = [
    *(None, True, False, 0, 1, -1, 2, 3, 4, 99, 2**53, 2**70, 10**400, -0.0, 0.0, 0.5),
    *(1.0, 1.5, 3.0, 1e300, INF, NAN, "", "1", "x", "1/2", "2/4", "0", [], {}, [True]),
    *([False, True], [1], {"a": 1}, {"a": [1]}, {"abers:x": 1}, {"abers:prior": 0.5}),
    *({"abers:prior": 2.0}, {"a": "\ud83d"}, {"a": 10**400}, {"": None}),
]


def mutated(rng, facts, arrays):
    """Return changed copies of contents."""
    facts, arrays = dict(facts), dict(arrays)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        draw = rng.integers(10)
        if draw < 2:
            _change_fact(rng, facts)
        elif draw < 4:
            _change_together(rng, arrays)
        elif draw < 5:
            _rename(rng, facts, arrays)
        else:
            name = str(rng.choice(sorted(arrays)))
            arrays[name] = _changed(rng, arrays[name], arrays)
    return facts, arrays


def _change_fact(rng, facts):
    name = str(rng.choice(sorted(facts)))
    value = facts[name]
    if type(value) in (int, float) and abs(value) < 2**99 and rng.integers(2):
        facts[name] = [
            *(value + 1, value - 1, value * 2, float(value), value + 0.5, -value),
        ][rng.integers(6)]
    elif type(value) is bool and rng.integers(2):
        facts[name] = not value
    elif type(value) is list and value and type(value[0]) is dict and rng.integers(4):
        facts[name] = [dict(nested) for nested in value]
        _change_fact(rng, facts[name][rng.integers(len(value))])
    else:
        facts[name] = VALUES[rng.integers(len(VALUES))]


def _change_together(rng, arrays):
    """Insert, delete or move the same places of all arrays of one length."""
    sizes = sorted({a.size for a in arrays.values() if isinstance(a, np.ndarray)})
    size = sizes[rng.integers(len(sizes))]
    same = [
        n for n, a in arrays.items() if isinstance(a, np.ndarray) and a.size == size
    ]
    if not size:
        return
    place, draw = rng.integers(size), rng.integers(4)
    other = rng.integers(size)
    for name in same:
        array = arrays[name].reshape(-1)
        if draw == 0:
            arrays[name] = np.delete(array, place)
        elif draw == 1:
            arrays[name] = np.insert(array, place, array[other])
        elif draw == 2:
            arrays[name] = array[::-1].copy()
        else:
            arrays[name] = array.copy()
            arrays[name][[place, other]] = array[[other, place]]


def _rename(rng, facts, arrays):
    part = [facts, arrays][rng.integers(2)]
    name = str(rng.choice(sorted(part)))
    if rng.integers(2):
        del part[name]
    else:
        part["more"] = part[name]
    if not arrays:
        arrays["more"] = np.empty(0)
    if not facts:
        facts["more"] = None


def _changed(rng, array, arrays):
    if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype.kind == "U":
        return array
    draw = rng.integers(16)
    if array.size and draw < 8:
        return _with_a_number(rng, array)
    place = rng.integers(array.size + 1)
    return [
        array[:place].copy,
        array[place:].copy,
        lambda: np.append(array, array[-1:] if array.size else 0).astype(array.dtype),
        array[::-1].copy,
        lambda: np.roll(array, 1),
        lambda: array.astype(
            rng.choice(["f8", "i8", "u1", "f4", "i4", "O", "U8", "?"])
        ),
        lambda: array.reshape(1, -1),
        lambda: arrays[str(rng.choice(sorted(arrays)))],
    ][draw - 8]()


def _with_a_number(rng, array):
    made = array.copy()
    place, other = rng.integers(array.size, size=2)
    if array.dtype.kind not in "fiu":
        return made
    draw = rng.integers(6)
    if draw == 0:
        special = FLOATS if array.dtype.kind == "f" else INTS
        value = special[rng.integers(len(special))]
        made[place] = np.array(value).astype(array.dtype)  # wraps where it is narrow
    elif draw == 1:
        made[place] = array[other]
    elif draw == 2:
        made[[place, other]] = array[[other, place]]
    elif draw == 3 and array.dtype.kind == "f":
        made[place] = np.nextafter(array[place], rng.choice([-INF, INF]))
    elif draw == 4 and array.dtype.kind == "f":
        made[place] *= rng.choice([0.5, 2, 1 + 1e-12, 1 - 1e-6, -1])
    else:
        made[place] += rng.choice([-1, 1]) if array.dtype.kind != "u" else 1
    return made


# Both doors.


def outcome(kind, facts, arrays, honest, path):
    """Return "refused" or "accepted"; raise if a door errs, or the two disagree."""
    thing = object.__new__(type(honest))
    try:
        thing.__setstate__({**arrays, **facts})
    except InvalidParameter as refusal:
        by_state = str(refusal)
    else:
        by_state = None
        _check_accepted(kind, thing, facts, arrays)
    if not _can_be_written(facts, arrays):
        return "refused" if by_state else "accepted"
    record = {"format": f"abers-{kind}", "version": 1}
    path.unlink(missing_ok=True)
    path.write_bytes(plain_writer.written(record | facts, arrays))
    try:
        loaded = abers.load(path)
    except InvalidFile as refusal:
        by_file = str(refusal)
    else:
        by_file = None
        assert bits(loaded) == bits(thing), "two doors, two things"
    assert (by_state is None) == (by_file is None), (by_state, by_file)
    return "refused" if by_state else "accepted"


def _can_be_written(facts, arrays):
    return (
        all(
            isinstance(array, np.ndarray)
            and array.ndim == 1
            and str(array.dtype) in ("float64", "int64", "uint8")
            for array in arrays.values()
        )
        and not facts.keys() & arrays.keys()
    )


def _check_accepted(kind, thing, facts, arrays):
    """What is accepted breaks no condition, and holds what was in the state."""
    held = contents(thing)
    assert broken(kind, *held) is None, broken(kind, *held)
    assert broken(kind, facts, arrays) is None, broken(kind, facts, arrays)
    assert repr(sorted(held[0].items())) == repr(sorted(facts.items()))
    for name, array in arrays.items():
        assert held[1][name].tobytes() == array.tobytes(), name


def _shown(facts, arrays):
    columns = {name: repr(np.asarray(array).tolist()) for name, array in arrays.items()}
    types = {name: getattr(array, "dtype", None) for name, array in arrays.items()}
    return repr(facts), columns, types


def trial(seed, path):
    """Mutate a thing drawn at random; return its kind and what became of it."""
    rng = np.random.default_rng(seed)
    kind = list(DRAWN)[seed % len(DRAWN)]
    honest = drawn(kind, rng)
    original = contents(honest)
    assert broken(kind, *original) is None, broken(kind, *original)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of NaN as an integer
        facts, arrays = mutated(rng, *original)
        while _shown(facts, arrays) == _shown(*original):
            facts, arrays = mutated(rng, *original)
    return kind, outcome(kind, facts, arrays, honest, path)


def main(n_trials):
    counted = collections.Counter()
    warnings.simplefilter("error")
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(n_trials):
            try:
                counted[trial(seed, Path(folder, "any.abers"))] += 1
            except (Exception, AbersError) as error:  # noqa: BLE001
                kind = list(DRAWN)[seed % len(DRAWN)]
                counted[kind, "FAILED"] += 1
                print(seed, kind, type(error).__name__, str(error)[:200])  # noqa: T201
    for kind in DRAWN:
        print(kind, {how: n for (of, how), n in sorted(counted.items()) if of == kind})  # noqa: T201


if __name__ == "__main__":
    main(int(sys.argv[1]))
