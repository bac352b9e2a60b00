"""The file format once more, from its description: no code shared with the library.

8 bytes of length, a JSON header, the arrays by name, but bytes last. The digest is the
SHA-256 of the whole file with 64 zeros in its own place. A diagram has weights as whole
numbers of a unit, 2**-scale, the largest that all have in common. A rule has the rows,
positives and squared weights of its cells and where these are cut; all four are empty
if it has no cells, the squares also if rows are counted. A rule that keeps its diagram
has the arrays and facts of both. The rule of a regression has no cells; it says where
targets end, null for an end that is trimmed, and by how many. A rule set has the names
of its groups as JSON in bytes, and either their diagrams end to end, their scales and
sizes, or its rules end to end: those of large groups, of all rows and of the rest, with
the lengths of a stacked rule; then it has the rows and the positives of each group and
of the last two, too. A pooled rule is the diagrams of its folds, their scales and
sizes, 0 for a fold without rows, and its weight as the text of a reduced fraction. The
rule of a partial order has its vectors of scores end to end. A stacked rule has the
facts of its rules in a list, and their arrays end to end, those of rules or of pooled
rules, with the lengths of all arrays of the first in the order of their names and 1 if
its cells are integers, then of the next; the numbers of its curve, and the weights of
its parts. It says which classes there are and what it reads, as other calibrators do.
One of Venn-Abers rules has their facts as JSON in bytes; one of a curve has its numbers
or its steps. Calibration sets, monitors and protected probabilities are what their
states hold.
"""

import hashlib
import json

import numpy as np

import fitted_things

UNSIGNED = "0" * 64
STEPS = ("lower", "score_quantiles", "thresholds", "upper")
COUNTS = ("negatives", "positives", "scores")
CELLS = ("cell_counts", "cell_cuts", "cell_positives", "cell_squares")
RULE_ARRAYS, POOLED_ARRAYS = (*CELLS, *STEPS), (*COUNTS, "scales", "sizes")
WHOLE = ("negatives", "positives", "scales", "sizes")


def parts(thing):
    """Return the record of whatever can be saved, and copies of its arrays."""
    kind = fitted_things.kind_of(thing)
    facts, arrays = PARTS[kind](thing)
    record = {"format": f"abers-{kind}", "version": 1, **facts}
    record["metadata"] = dict(thing.metadata)
    return record, arrays


def _parts_of_rule(rule):
    facts = {
        "increasing": rule.increasing,
        "n_rows": _plain(rule.n_rows),
        "n_positives": _plain(rule.n_positives),
    }
    return facts, _cells(rule.cells) | _columns(rule, STEPS)


def _parts_of_rule_with_diagram(rule):
    facts, arrays = _parts_of_rule(rule)
    units = {f"diagram_{name}": array for name, array in _units(rule.diagram).items()}
    return facts | {"diagram_scale": rule.diagram.scale}, arrays | units


def _parts_of_diagram(diagram):
    return {"scale": diagram.scale}, _units(diagram)


def _units(diagram):
    """Return masses as whole numbers of the unit."""
    unit = 2.0**-diagram.scale
    masses = {
        name: (getattr(diagram, name) / unit).astype(np.int64) for name in COUNTS[:2]
    }
    return masses | {"scores": diagram.scores + 0}


def _parts_of_poset_rule(rule):
    columns = _columns(rule, COUNTS)
    columns["scores"] = columns["scores"].reshape(-1)
    return {"increasing": list(rule.increasing)}, columns


def _columns(thing, names):
    return {name: getattr(thing, name) + 0 for name in names}


def _cells(cells):
    if cells is None:
        none = np.empty(0, int)
        return {
            "cell_counts": none,
            "cell_cuts": np.empty(0),
            "cell_positives": none,
            "cell_squares": np.empty(0),
        }
    squares = np.empty(0) if cells.squares is None else cells.squares
    return {
        "cell_counts": cells.counts.copy(),
        "cell_cuts": cells.cuts.copy(),
        "cell_positives": cells.positives.copy(),
        "cell_squares": squares.copy(),
    }


def _parts_of_rule_set(rule_set):
    record = {
        "increasing": rule_set.increasing,
        "minimum": rule_set.minimum,
    }
    rules, totals, diagrams = [], [], []
    if rule_set.keeps_diagram:
        diagrams = [rule_set.diagrams[name] for name in rule_set]
    else:
        rules = [*rule_set.rules.values(), rule_set.pooled]
        rules += [] if rule_set.rest is None else [rule_set.rest]
        totals = [(zeros + ones, ones) for zeros, ones in rule_set.counts.values()]
        totals += [
            (rule.n_rows, rule.n_positives) for rule in rules[len(rule_set.rules) :]
        ]
    _, of_rules = _nested(rules, is_pooled=False)
    arrays = {n: a for n, a in of_rules.items() if not n.startswith("pooled_")}
    arrays |= _end_to_end(diagrams)
    arrays["total_rows"] = np.array([rows for rows, _ in totals], dtype=float)
    arrays["total_positives"] = np.array([ones for _, ones in totals], dtype=float)
    arrays["names"] = names_as_bytes(json.dumps(list(rule_set), separators=(",", ":")))
    return record, arrays


def _parts_of_pooled_rule(rule):
    numerator, denominator = rule.weight.as_integer_ratio()
    record = {
        "increasing": rule.increasing,
        "weight": f"{numerator}" + (f"/{denominator}" if denominator > 1 else ""),
    }
    return record, _end_to_end(rule.diagrams)


def _parts_of_regression_rule(rule):
    record = {
        "increasing": rule.increasing,
        "n_rows": _plain(rule.n_rows),
        "low": rule.low,
        "high": rule.high,
        "trim": rule.trim,
    }
    return record, _columns(rule, STEPS)


def _parts_of_stacked_rule(stacked):
    facts, arrays = _nested(stacked._rules, is_pooled=stacked.n_models > 1)  # noqa: SLF001
    numbers = [np.ravel(part) for part in stacked._curve]  # noqa: SLF001
    arrays["coefficients"] = np.concatenate(numbers) + 0.0
    arrays["weights"] = np.array(list(stacked.weights.values()))
    own = {"increasing": stacked.increasing, "kind": stacked.kind, "rules": facts}
    return _input(stacked) | own, arrays


def _input(calibrator):
    """Return what a calibrator reads."""
    return {
        "classes": list(calibrator.classes),
        "columns": list(calibrator.columns),
        "is_rounded": calibrator._is_rounded,  # noqa: SLF001
        "n_models": calibrator.n_models,
        "reads": calibrator.reads,
    }


def _nested(rules, *, is_pooled):
    """Return the facts of rules, null for none, and all their arrays end to end."""
    parts_of = _parts_of_pooled_rule if is_pooled else _parts_of_rule
    prefix, names = ("pooled_", POOLED_ARRAYS) if is_pooled else ("rule_", RULE_ARRAYS)
    arrays = {
        f"{kind}_{name}": np.empty(0, int if name in WHOLE else float)
        for kind, those in (("rule", RULE_ARRAYS), ("pooled", POOLED_ARRAYS))
        for name in those
    }
    facts, lengths = [], []
    for rule in rules:
        if rule is None:
            facts.append(None)
            lengths += [0] * (len(names) + 1)
            continue
        of_rule, own = parts_of(rule)
        facts.append(of_rule | {"metadata": dict(rule.metadata)})
        counts = own.get("cell_counts", np.empty(0))
        is_whole = counts.size > 0 and counts.dtype.kind == "i"
        lengths += [*(own[name].size for name in sorted(names)), int(is_whole)]
        for name in names:
            arrays[prefix + name] = np.append(arrays[prefix + name], own[name])
    return facts, arrays | {"lengths": np.array(lengths, dtype=int)}


def _parts_of_venn_abers_calibrator(calibrator):
    is_pooled = calibrator._merge == "pooled"  # noqa: SLF001
    rules = calibrator._predictor.rules  # noqa: SLF001
    if not is_pooled:
        rules = [rule for fold in rules for rule in fold]
    facts, arrays = _nested(rules, is_pooled=is_pooled)
    arrays["rules"] = names_as_bytes(_compact(facts))
    own = {
        "is_cross": calibrator._is_cross,  # noqa: SLF001
        "loss": calibrator._loss,  # noqa: SLF001
        "merge": calibrator._merge,  # noqa: SLF001
        "multiclass": calibrator._multiclass,  # noqa: SLF001
    }
    return _input(calibrator) | own, arrays


def _parts_of_curve_calibrator(calibrator):
    steps = calibrator._steps  # noqa: SLF001
    none = np.empty(0)
    arrays = {
        "lengths": np.array([len(of_class) for of_class, _ in steps], dtype=int),
        "numbers": calibrator._numbers.ravel() + 0.0,  # noqa: SLF001
        "thresholds": np.concatenate([none, *(t for t, _ in steps)]) + 0.0,
        "totals": calibrator._totals + 0.0,  # noqa: SLF001
        "values": np.concatenate([none, *(v for _, v in steps)]) + 0.0,
    }
    return _input(calibrator) | {"method": calibrator.method}, arrays


def _end_to_end(diagrams):
    present = [diagram for diagram in diagrams if diagram is not None]
    types = {"negatives": int, "positives": int, "scores": float}
    arrays = {name: np.empty(0, types[name]) for name in COUNTS}
    for diagram in present:
        units = _units(diagram)
        arrays = {name: np.append(arrays[name], units[name]) for name in COUNTS}
    sizes = [0 if diagram is None else diagram.scores.size for diagram in diagrams]
    scales = [0 if diagram is None else diagram.scale for diagram in diagrams]
    return {**arrays, "scales": np.array(scales, int), "sizes": np.array(sizes, int)}


PARTS = {
    "rule": _parts_of_rule,
    "rule-with-diagram": _parts_of_rule_with_diagram,
    "diagram": _parts_of_diagram,
    "rule-set": _parts_of_rule_set,
    "pooled-rule": _parts_of_pooled_rule,
    "poset-rule": _parts_of_poset_rule,
    "regression-rule": _parts_of_regression_rule,
    "curve-calibrator": _parts_of_curve_calibrator,
    "stacked-rule": _parts_of_stacked_rule,
    "venn-abers-calibrator": _parts_of_venn_abers_calibrator,
    "calibration-set": fitted_things.contents,
    "monitor": fitted_things.contents,
    "file-monitor": fitted_things.contents,
    "protected": fitted_things.contents,
    "top-rule": fitted_things.contents,
}


def names_as_bytes(text):
    """Return a text as an array of bytes, filled up to a multiple of 8."""
    return np.frombuffer(text.encode() + b" " * (-len(text.encode()) % 8), np.uint8)


def header(record, arrays):
    """Return the header with zeros for the digest."""
    described = {"__metadata__": {"abers": _compact({**record, "sha256": UNSIGNED})}}
    offset = 0
    for name, array in arrays.items():
        described[name] = {
            "dtype": {"float64": "F64", "int64": "I64", "uint8": "U8"}[
                str(array.dtype)
            ],
            "shape": [array.size],
            "data_offsets": [offset, offset + array.nbytes],
        }
        offset += array.nbytes
    return _compact(described)


def payload(arrays):
    return b"".join(array.tobytes() for array in arrays.values())


def with_length(text):
    """Return the bytes of a header, whatever it says, behind their number."""
    padded = text.encode() + b" " * (-len(text.encode()) % 8)
    return len(padded).to_bytes(8, "little") + padded


def signed(text, data):
    """Return a file with the digest that belongs to it, whatever it says."""
    unsigned = with_length(text) + data
    digest = hashlib.sha256(unsigned).hexdigest()
    return unsigned.replace(UNSIGNED.encode(), digest.encode(), 1)


def written(record, arrays):
    """Return a file of these arrays, in their order: by name, but bytes last."""
    last = {name: array.dtype == np.uint8 for name, array in arrays.items()}
    in_order = {n: arrays[n] for n in sorted(arrays, key=lambda n: (last[n], n))}
    return signed(header(record, in_order), payload(in_order))


def _compact(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _plain(count):
    return int(count) if count <= 2**53 and float(count).is_integer() else count
