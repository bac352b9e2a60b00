"""Files of rules of all kinds, and of diagrams: save, load, verify.

Whatever passes the checksum must still be a rule, or a diagram: arrays that no fit can
have made are refused on reading, and not written in the first place. The bytes are in
`container`.
"""

from __future__ import annotations

import json
import math
import re
import reprlib
import sys
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from abers._kernel import Table
from abers.core.diagram import (
    MOST_CUTS,
    PERCENTS,
    Cells,
    Diagram,
    cell_cuts,
    trusted_diagram,
)
from abers.core.pooled import PooledRule
from abers.core.regression import RegressionRule
from abers.core.rule import Rule
from abers.core.rule_set import POOLED, REST, RuleSet
from abers.errors import InvalidParameter
from abers.storage import container
from abers.storage.container import Contents, Kind
from abers.validation import LARGEST_EXACT_INTEGER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from abers.storage.atomic import StrPath

    Saved = Rule | RuleSet | PooledRule | RegressionRule | Diagram

# Without cells: rules of weights that are no numbers of rows, and of older files.
PLAIN_RULE = Kind(
    "rule",
    arrays=("lower", "score_quantiles", "thresholds", "upper"),
    facts=("increasing", "metadata", "n_observations", "n_positives"),
)
# Whose cells are the percents of the scores: rules of few rows, and of older files.
PERCENT_RULE = PLAIN_RULE._replace(
    arrays=("cell_counts", "cell_positives", "cell_squares", *PLAIN_RULE.arrays),
    version=2,
)
RULE = PERCENT_RULE._replace(arrays=("cell_cuts", *PERCENT_RULE.arrays), version=3)
DIAGRAM = Kind(
    "diagram", arrays=("negatives", "positives", "scores"), facts=("metadata",)
)
# Whose small groups get the rule of all rows: rule sets of older files.
PLAIN_RULE_SET = Kind(
    "rule-set",
    # All diagrams end to end, the size of each, and the names as JSON: bytes, last.
    arrays=(*DIAGRAM.arrays, "sizes", "names"),
    facts=("increasing", "metadata", "minimum"),
)
# The new fact is the fallback. By its name it goes behind the format, which must stand
# first for `load_any`.
RULE_SET = PLAIN_RULE_SET._replace(
    facts=(*PLAIN_RULE_SET.facts, "small_groups"), version=2
)
POOLED_RULE = Kind(
    "pooled-rule",
    # The diagrams of the folds end to end; a fold without rows has size 0.
    arrays=(*DIAGRAM.arrays, "sizes"),
    facts=("increasing", "metadata", "weight"),
)
REGRESSION_RULE = Kind(
    "regression-rule",
    arrays=PLAIN_RULE.arrays,
    facts=("high", "increasing", "low", "metadata", "n_observations", "trim"),
)
CELLS = RULE.arrays[:4]
ROUNDING = 1e-9  # relative, of sums of weights
NOTHING = {  # the arrays of a fold without rows
    "negatives": np.empty(0, dtype=np.int64),
    "positives": np.empty(0, dtype=np.int64),
    "scores": np.empty(0),
}
LARGEST_FLOAT = sys.float_info.max
SURROGATE = re.compile("[\ud800-\udfff]")  # half a character: JSON would join two
# As a Fraction prints itself; "1e999999999", which it reads too, would fill the memory,
# and Python turns only so many digits into a number.
MOST_DIGITS = 1000
FRACTION = re.compile("N(/N)?".replace("N", f"[1-9][0-9]{{0,{MOST_DIGITS - 1}}}"))


def save_rule(rule: Rule, path: StrPath, metadata: Mapping[str, Any] | None) -> None:
    """Write a rule; see `Rule.save`."""
    facts = {
        "increasing": rule.increasing,
        "metadata": {**rule.metadata, **checked_tags(metadata)},
        "n_observations": _plain_count(rule.n_observations),
        "n_positives": _plain_count(rule.n_positives),
    }
    arrays = _arrays(rule, PLAIN_RULE)
    kind = PLAIN_RULE
    if rule.cells is not None:
        kind, arrays = RULE, _arrays_of_cells(rule.cells) | arrays
        if np.array_equal(arrays["cell_cuts"], cell_cuts(arrays["score_quantiles"])):
            kind, _ = PERCENT_RULE, arrays.pop("cell_cuts")
    contents = Contents(facts, arrays)
    _check_before_saving(kind, _flaw_of_rule(contents))
    container.write(path, kind, contents)


def load_rule(path: StrPath) -> Rule:
    """Read a rule that `Rule.save` has written.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    Rule
        Equal to the one that was saved, to the last bit.

    Raises
    ------
    InvalidFile
        If the file is damaged, is no rule, or comes from a newer format. Nothing in
        the file is executed, whatever it holds.

    Examples
    --------
    >>> import abers, pathlib, tempfile
    >>> rule = abers.fit_rule([1, 2, 3], [0, 1, 0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "rule.abers")
    ...     rule.save(path)
    ...     abers.load_rule(path) == rule
    True
    """
    contents = container.read(path, RULE, PERCENT_RULE, PLAIN_RULE)
    if flaw := _flaw_of_rule(contents):
        raise container.refusal(path, RULE, flaw)
    facts, arrays = contents
    return Rule(
        Table(
            arrays["thresholds"],
            arrays["lower"],
            arrays["upper"],
            arrays["score_quantiles"],
        ),
        **facts,
        cells=_cells(arrays),
    )


def save_diagram(
    diagram: Diagram, path: StrPath, metadata: Mapping[str, Any] | None
) -> None:
    """Write a diagram; see `Diagram.save`."""
    facts = {"metadata": {**diagram.metadata, **checked_tags(metadata)}}
    contents = Contents(facts, _arrays(diagram, DIAGRAM))
    _check_before_saving(DIAGRAM, _flaw_of_diagram(contents))
    container.write(path, DIAGRAM, contents)


def load_diagram(path: StrPath) -> Diagram:
    """Read a diagram; see `Diagram.load`."""
    contents = container.read(path, DIAGRAM)
    if flaw := _flaw_of_diagram(contents):
        raise container.refusal(path, DIAGRAM, flaw)
    arrays = contents.arrays
    return trusted_diagram(
        scores=arrays["scores"],
        negatives=arrays["negatives"],
        positives=arrays["positives"],
        metadata=contents.facts["metadata"],
    )


def save_rule_set(
    rule_set: RuleSet, path: StrPath, metadata: Mapping[str, Any] | None
) -> None:
    """Write a rule set; see `RuleSet.save`."""
    facts = {
        "increasing": rule_set.increasing,
        "metadata": {**rule_set.metadata, **checked_tags(metadata)},
        "minimum": rule_set.minimum,
    }
    kind = PLAIN_RULE_SET
    if rule_set.fallback == REST:
        kind, facts = RULE_SET, facts | {"small_groups": REST}
    _check_parts_before_saving(kind, facts, rule_set.diagrams.values())
    container.write(path, kind, Contents(facts, _arrays_of_rule_set(rule_set)))


def load_rule_set(path: StrPath) -> RuleSet:
    """Read a rule set that `RuleSet.save` has written.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    RuleSet
        Equal to the one that was saved, to the last bit; groups keep their type. In
        files of version 1 small groups do not share a rule: `fallback` is "pooled".

    Raises
    ------
    InvalidFile
        If the file is damaged, is no rule set, or comes from a newer format. Nothing
        in the file is executed, whatever it holds.

    Examples
    --------
    >>> import abers, pathlib, tempfile
    >>> rule_set = abers.fit_rules([1, 2, 3], [0, 1, 0], [7, 7, 8], minimum=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "rules.abers")
    ...     rule_set.save(path)
    ...     abers.load_rule_set(path) == rule_set
    True
    """
    contents = container.read(path, RULE_SET, PLAIN_RULE_SET)
    try:
        return _rule_set(contents)
    except (TypeError, ValueError, RecursionError) as cause:
        reason = "its contents are not those of a rule set"
        raise container.refusal(path, RULE_SET, reason) from cause


def save_pooled_rule(
    rule: PooledRule, path: StrPath, metadata: Mapping[str, Any] | None
) -> None:
    """Write a pooled rule; see `PooledRule.save`."""
    if max(rule.weight.as_integer_ratio()) >= 10**MOST_DIGITS:
        msg = (
            f"a weight to save must have at most {MOST_DIGITS} digits above and below "
            "the line. Round it with limit_denominator."
        )
        raise InvalidParameter(msg)
    facts = {
        "increasing": rule.increasing,
        "metadata": checked_tags({**rule.metadata, **checked_tags(metadata)}),
        "weight": str(rule.weight),
    }
    _check_parts_before_saving(POOLED_RULE, facts, rule.diagrams)
    _check_before_saving(POOLED_RULE, _flaw_of_folds(rule, facts))
    container.write(path, POOLED_RULE, Contents(facts, _end_to_end(rule.diagrams)))


def load_pooled_rule(path: StrPath) -> PooledRule:
    """Read a pooled rule that `PooledRule.save` has written.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    PooledRule
        Equal to the one that was saved, to the last bit. The file holds the diagrams
        of the folds; what prediction needs besides is built from them again.

    Raises
    ------
    InvalidFile
        If the file is damaged, is no pooled rule, or comes from a newer format.
        Nothing in the file is executed, whatever it holds.

    Examples
    --------
    >>> import abers, pathlib, tempfile
    >>> rule = abers.fit_pooled_rule([1, 3, 4], [1, 0, 0], folds=[0, 0, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pooled.abers")
    ...     rule.save(path)
    ...     abers.load_pooled_rule(path) == rule
    True
    """
    contents = container.read(path, POOLED_RULE)
    try:
        return _pooled_rule(contents)
    except (TypeError, ValueError, OverflowError) as cause:
        reason = "its contents are not those of a pooled rule"
        raise container.refusal(path, POOLED_RULE, reason) from cause


def save_regression_rule(
    rule: RegressionRule, path: StrPath, metadata: Mapping[str, Any] | None
) -> None:
    """Write a rule of a regression; see `RegressionRule.save`."""
    facts = {
        "high": rule.high,
        "increasing": rule.increasing,
        "low": rule.low,
        "metadata": {**rule.metadata, **checked_tags(metadata)},
        "n_observations": _plain_count(rule.n_observations),
        "trim": rule.trim,
    }
    contents = Contents(facts, _arrays(rule, REGRESSION_RULE))
    _check_before_saving(REGRESSION_RULE, _flaw_of_regression_rule(contents))
    container.write(path, REGRESSION_RULE, contents)


def load_regression_rule(path: StrPath) -> RegressionRule:
    """Read a rule that `RegressionRule.save` has written.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    RegressionRule
        Equal to the one that was saved, to the last bit.

    Raises
    ------
    InvalidFile
        If the file is damaged, is no rule of a regression, or comes from a newer
        format. Nothing in the file is executed, whatever it holds.

    Examples
    --------
    >>> import abers, pathlib, tempfile
    >>> rule = abers.fit_regression_rule([1, 2, 3], [1, 5, 4], low=1, high=5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "ratings.abers")
    ...     rule.save(path)
    ...     abers.load_regression_rule(path) == rule
    True
    """
    contents = container.read(path, REGRESSION_RULE)
    if flaw := _flaw_of_regression_rule(contents):
        raise container.refusal(path, REGRESSION_RULE, flaw)
    facts, arrays = contents
    table = Table(
        arrays["thresholds"],
        arrays["lower"],
        arrays["upper"],
        arrays["score_quantiles"],
    )
    return RegressionRule(table, **facts)


def _flaw_of_regression_rule(contents: Contents) -> str | None:
    """Say why no fit can have made this, if so."""
    facts, arrays = contents
    lower, quantiles, thresholds, upper = (
        arrays[name] for name in REGRESSION_RULE.arrays
    )
    if not (
        all(array.dtype == np.float64 for array in arrays.values())
        and lower.size == upper.size == thresholds.size + 1
    ):
        return "its arrays do not have the types and lengths of a regression-rule"
    if not _are_facts_of_a_regression_rule(**facts):
        return "its ends, counts and tags are not those of a regression-rule"
    if not is_ascending(thresholds) or (thresholds == -math.inf).any():
        return "its thresholds are not ascending scores"
    least = -LARGEST_FLOAT if facts["low"] is None else facts["low"]
    most = LARGEST_FLOAT if facts["high"] is None else facts["high"]
    if not _is_pair_of_bounds(
        lower, upper, least, most, increasing=facts["increasing"]
    ):
        return "its bounds are not monotone values that change at each threshold"
    if not _are_quantiles(quantiles):
        return f"its score quantiles are not {PERCENTS.size} ascending scores"
    return None


def _are_facts_of_a_regression_rule(
    *,
    high: Any,
    increasing: object,
    low: Any,
    metadata: object,
    n_observations: Any,
    trim: Any,
) -> bool:
    ends = [end for end in (low, high) if end is not None]
    return bool(
        all(type(end) is float and _is_end(end) for end in ends)
        and (len(ends) < 2 or ends[0] < ends[1])
        and isinstance(increasing, bool)
        and are_tags(metadata)
        and _is_count(n_observations)
        and n_observations > 0
        and type(trim) is int
        and (trim == 0 if len(ends) == 2 else 1 <= trim <= n_observations)
    )


def _is_end(end: float) -> bool:
    return math.isfinite(end) and not (end == 0 and math.copysign(1, end) < 0)


def _pooled_rule(contents: Contents) -> PooledRule:
    """Make a pooled rule; refuse all that would be written otherwise."""
    facts = contents.facts
    if not (
        FRACTION.fullmatch(facts["weight"])
        and isinstance(facts["increasing"], bool)
        and are_tags(facts["metadata"])
    ):
        msg = f"facts must be those of a pooled rule; got {reprlib.repr(facts)}."
        raise ValueError(msg)
    weight = Fraction(facts["weight"])
    rule = PooledRule(_cut_apart(contents), **(facts | {"weight": weight}))
    if flaw := _flaw_of_folds(rule, facts):
        raise ValueError(flaw)
    _check_as_written(contents, _end_to_end(rule.diagrams))
    return rule


def _flaw_of_folds(rule: PooledRule, facts: dict[str, Any]) -> str | None:
    """Say why no fit can have made these folds, if so."""
    if facts["weight"] != str(rule.weight):
        return "its weight is not a reduced fraction"
    if rule.n_observations == math.inf:
        return "its weights are not those of a calibration set"
    return None


def _rule_set(contents: Contents) -> RuleSet:
    """Make a rule set; refuse all that would be written otherwise."""
    names = json.loads(contents.arrays["names"].tobytes())
    seen = (diagram for diagram in _cut_apart(contents) if diagram is not None)
    facts = dict(contents.facts)
    fallback = facts.pop("small_groups", POOLED)
    if len(facts) < len(contents.facts) and fallback != REST:
        msg = f"small_groups must be {REST!r}; got {reprlib.repr(fallback)}."
        raise ValueError(msg)
    by_group = dict(zip(names, seen, strict=True))
    rule_set = RuleSet(by_group, fallback=fallback, **facts)
    _check_as_written(contents, _arrays_of_rule_set(rule_set))
    return rule_set


def _arrays_of_rule_set(rule_set: RuleSet) -> dict[str, NDArray[Any]]:
    if odd := [name for name in rule_set if not _is_tag("", name)]:
        shown = reprlib.repr(odd[0])
        msg = f"groups to save must be text or finite numbers; got {shown}."
        raise InvalidParameter(msg)
    text = json.dumps(list(rule_set), separators=(",", ":"), allow_nan=False)
    text += " " * (-len(text) % container.LENGTH_BYTES)  # whole words
    names = np.frombuffer(text.encode("ascii"), dtype=np.uint8)
    return _end_to_end(rule_set.diagrams.values()) | {"names": names}


def _end_to_end(diagrams: Iterable[Diagram | None]) -> dict[str, NDArray[Any]]:
    """Return the arrays of all diagrams, one after the other, and their sizes."""
    parts = [NOTHING if d is None else _arrays(d, DIAGRAM) for d in diagrams]
    return {
        **{n: np.concatenate([part[n] for part in parts]) for n in DIAGRAM.arrays},
        "sizes": np.array([part["scores"].size for part in parts], dtype=np.int64),
    }


def _cut_apart(contents: Contents) -> list[Diagram | None]:
    """Return the diagrams that stand end to end in a file, None where one is empty."""
    facts, arrays = contents
    stops = np.cumsum(arrays["sizes"])[:-1]
    pieces = (np.split(arrays[name], stops) for name in DIAGRAM.arrays)
    return [_part(facts, *piece) for piece in zip(*pieces, strict=True)]


def _part(
    facts: dict[str, Any],
    negatives: NDArray[Any],
    positives: NDArray[Any],
    scores: NDArray[Any],
) -> Diagram | None:
    if negatives.size == positives.size == scores.size == 0:
        return None
    # Beside a part with real weights, whole ones are in the file as floats.
    dtype: type[Any] = np.int64 if _are_whole(negatives, positives) else np.float64
    counts = negatives.astype(dtype), positives.astype(dtype)
    diagram = trusted_diagram(scores, *counts)
    as_read = {name: getattr(diagram, name) for name in DIAGRAM.arrays}
    if flaw := _flaw_of_diagram(Contents(facts, as_read)):
        raise ValueError(flaw)
    return diagram


def _check_as_written(contents: Contents, written: dict[str, NDArray[Any]]) -> None:
    """Refuse arrays that mean the same as those that would be written, but differ."""
    for name, array in written.items():
        found = contents.arrays[name]
        if found.dtype != array.dtype or found.tobytes() != array.tobytes():
            msg = f"{name} must be as they would be written."
            raise ValueError(msg)


def _arrays(
    owner: Rule | RegressionRule | Diagram, kind: Kind
) -> dict[str, NDArray[Any]]:
    """Take arrays as they are stored: -0.0 equals 0.0, so 0.0 stands for both."""
    return {name: np.asarray(getattr(owner, name)) + 0 for name in kind.arrays}


def _arrays_of_cells(cells: Cells) -> dict[str, NDArray[Any]]:
    """Return the arrays of cells; squares are empty where rows are counted."""
    squares = np.empty(0) if cells.squares is None else cells.squares
    columns = zip(CELLS, (*cells[:3], squares), strict=True)
    return {name: np.asarray(column) + 0 for name, column in columns}


def _cells(arrays: dict[str, NDArray[Any]]) -> Cells | None:
    """Return the cells of a file, if it has some."""
    if "cell_counts" not in arrays:
        return None
    cuts = arrays.get("cell_cuts")
    if cuts is None:
        cuts = cell_cuts(arrays["score_quantiles"])
    counts, positives, squares = (arrays[name] for name in CELLS[1:])
    return Cells(cuts, counts, positives, squares if squares.size else None)


def _flaw_of_cells(contents: Contents) -> str | None:
    """Say why these cannot be the cells of a rule, if so."""
    facts, arrays = contents
    found = _cells(arrays)
    if found is None:
        return None
    cuts, counts, positives, squares = found
    size = cuts.size + 1
    whole = counts.dtype == positives.dtype == np.int64
    if not (
        ("cell_cuts" not in arrays or _are_cuts(cuts, arrays["score_quantiles"]))
        and counts.size == positives.size == size
        and (squares is None or (squares.size == size and squares.dtype == np.float64))
        and (whole or counts.dtype == positives.dtype == np.float64)
        and (whole or squares is not None)
        and (positives >= 0).all()
        and (positives <= counts).all()
        and not any(map(has_negative_zero, (counts, positives)))
        and (squares is None or _are_squares(squares, counts))
    ):
        return "its cells are not those of its score quantiles"
    sums = ((counts, "n_observations"), (positives, "n_positives"))
    for column, name in sums:
        total = column.sum(dtype=np.float64)
        if abs(total - facts[name]) > ROUNDING * facts["n_observations"]:
            return "its cells do not add up to its rows"
    return None


def _are_cuts(cuts: NDArray[Any], quantiles: NDArray[Any]) -> bool:
    """Tell whether cells may begin here: at all percentiles, and elsewhere, too."""
    percents = cell_cuts(quantiles)
    return bool(
        cuts.dtype == np.float64
        and percents.size < cuts.size <= MOST_CUTS
        and is_ascending(cuts)
        and np.isin(percents, cuts).all()
        and quantiles[0] <= cuts[0]
        and cuts[-1] <= quantiles[-1]
    )


def _are_squares(squares: NDArray[Any], counts: NDArray[Any]) -> bool:
    """Tell whether these may be sums of squares of positive weights with such sums."""
    return bool(
        ((squares > 0) == (counts > 0)).all()
        and np.isfinite(squares).all()
        and (squares <= counts * counts.astype(np.float64) * (1 + ROUNDING)).all()
        and not has_negative_zero(squares)
    )


def _flaw_of_rule(contents: Contents) -> str | None:
    """Say why no fit can have made this, if so."""
    facts, arrays = contents
    lower, quantiles, thresholds, upper = (arrays[name] for name in PLAIN_RULE.arrays)
    if not (
        all(
            array.dtype == np.float64 for array in (lower, quantiles, thresholds, upper)
        )
        and lower.size == upper.size == thresholds.size + 1
    ):
        return "its arrays do not have the types and lengths of a rule"
    if not _are_facts_of_a_rule(**facts):
        return "its counts and tags are not those of a rule"
    if not is_ascending(thresholds) or (thresholds == -math.inf).any():
        return "its thresholds are not ascending scores"
    if not _is_pair_of_bounds(lower, upper, increasing=facts["increasing"]):
        return "its bounds are not monotone probabilities that change at each threshold"
    if not _are_quantiles(quantiles):
        return f"its score quantiles are not {PERCENTS.size} ascending scores"
    return _flaw_of_cells(contents)


def _flaw_of_diagram(contents: Contents) -> str | None:
    """Say why no calibration set can have made this, if so."""
    facts, arrays = contents
    negatives, positives, scores = (arrays[name] for name in DIAGRAM.arrays)
    if not (
        scores.dtype == np.float64
        and negatives.dtype == positives.dtype
        and negatives.dtype in (np.float64, np.int64)
        and scores.size == negatives.size == positives.size > 0
    ):
        return "its arrays do not have the types and lengths of a diagram"
    if not is_ascending(scores):
        return "its scores are not ascending"
    if not are_weights(negatives, positives):
        return "its weights are not those of a calibration set"
    if not are_tags(facts["metadata"]):
        return "its tags are not text, numbers, booleans or null"
    return None


def _check_before_saving(kind: Kind, flaw: str | None) -> None:
    """Refuse to write what nobody could load again."""
    if flaw:
        msg = f"a {kind.name} to save must be as abers makes it; {flaw}."
        raise InvalidParameter(msg)


def _check_parts_before_saving(
    kind: Kind, facts: dict[str, Any], diagrams: Iterable[Diagram | None]
) -> None:
    for diagram in diagrams:
        if diagram is not None:
            part = Contents(facts, _arrays(diagram, DIAGRAM))
            _check_before_saving(kind, _flaw_of_diagram(part))


def is_ascending(values: NDArray[Any]) -> bool:
    """Tell whether these are distinct scores in order, with one kind of zero."""
    return bool(
        not np.isnan(values[:1]).any()
        and (values[1:] > values[:-1]).all()
        and not has_negative_zero(values)
    )


def has_negative_zero(values: NDArray[Any]) -> bool:
    """Tell whether a zero is -0.0, which equals 0.0 and has other bytes."""
    return bool((np.signbit(values) & (values == 0)).any())


def _is_pair_of_bounds(
    lower: NDArray[Any],
    upper: NDArray[Any],
    least: float = 0.0,
    most: float = 1.0,
    *,
    increasing: bool,
) -> bool:
    rising = slice(None, None, 1 if increasing else -1)
    low, up = lower[rising], upper[rising]
    return bool(
        (low >= least).all()
        and (low <= up).all()
        and (up <= most).all()
        and (low[1:] >= low[:-1]).all()
        and (up[1:] >= up[:-1]).all()
        and ((low[1:] > low[:-1]) | (up[1:] > up[:-1])).all()
        and not has_negative_zero(low)
        and not has_negative_zero(up)
    )


def _are_quantiles(values: NDArray[Any]) -> bool:
    return bool(
        values.size == PERCENTS.size
        and (values[1:] >= values[:-1]).all()
        and not has_negative_zero(values)
    )


def _are_facts_of_a_rule(
    *, increasing: object, metadata: object, n_observations: Any, n_positives: Any
) -> bool:
    return bool(
        isinstance(increasing, bool)
        and are_tags(metadata)
        and _is_count(n_observations)
        and _is_count(n_positives)
        and n_positives <= n_observations
        and n_observations > 0
    )


def are_weights(negatives: NDArray[Any], positives: NDArray[Any]) -> bool:
    """Tell whether these are weights, held as integers if they can be."""
    return bool(
        (negatives >= 0).all()
        and (positives >= 0).all()
        and ((negatives > 0) | (positives > 0)).all()
        and not has_negative_zero(negatives)
        and not has_negative_zero(positives)
        and _total(negatives, positives) < math.inf
        and _are_whole(negatives, positives) == (negatives.dtype == np.int64)
    )


def _are_whole(negatives: NDArray[Any], positives: NDArray[Any]) -> bool:
    return bool(
        _total(negatives, positives) < LARGEST_EXACT_INTEGER
        and (negatives == np.floor(negatives)).all()
        and (positives == np.floor(positives)).all()
    )


def _total(negatives: NDArray[Any], positives: NDArray[Any]) -> float:
    with np.errstate(over="ignore"):
        total = negatives.sum(dtype=np.float64) + positives.sum(dtype=np.float64)
    return float(total)


def _plain_count(count: float) -> float:
    """Return an integer as an int: 3 equals 3.0, so their bytes must be equal."""
    exact = count <= LARGEST_EXACT_INTEGER and count == int(count)
    return int(count) if exact else float(count)


def _is_count(value: Any) -> bool:
    return (
        type(value) in (int, float)  # true is an int, too
        and 0 <= value <= LARGEST_FLOAT
        and type(value) is type(_plain_count(value))
    )


def checked_tags(tags: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return tags that a user gives; refuse what a file cannot keep."""
    must = "metadata must map text to text, finite numbers, booleans or None"
    if not isinstance(tags, Mapping | None):
        msg = f"{must}; got {reprlib.repr(tags)}."
        raise InvalidParameter(msg)
    checked = dict(tags or {})
    for key, value in checked.items():
        if not _is_tag(key, value):
            msg = f"{must}; got {reprlib.repr(key)}: {reprlib.repr(value)}."
            raise InvalidParameter(msg)
    return checked


def are_tags(tags: object) -> bool:
    """Tell whether a file's tags are such as `checked_tags` lets pass."""
    return isinstance(tags, dict) and all(
        _is_tag(key, value) for key, value in tags.items()
    )


def _is_tag(key: object, value: object) -> bool:
    number = isinstance(value, int | float) and abs(value) <= LARGEST_FLOAT
    return _is_text(key) and (value is None or number or _is_text(value))


def _is_text(value: object) -> bool:
    return isinstance(value, str) and not SURROGATE.search(value)


LOADERS: dict[str, Callable[[StrPath], Saved]] = {
    "rule": load_rule,
    "rule-set": load_rule_set,
    "pooled-rule": load_pooled_rule,
    "regression-rule": load_regression_rule,
    "diagram": load_diagram,
}
BEGINNING = 200  # bytes, in which a file says what it is


def load_any(path: StrPath) -> Saved:
    """Read a rule of any kind, or a diagram, whichever the file holds."""
    with Path(path).open("rb") as file:
        beginning = file.read(BEGINNING)
    for kind, load in LOADERS.items():
        # Only in this place: a tag, too, may say "abers-diagram".
        start = container.MAGIC + rf"{{\"format\":\"abers-{kind}\"".encode()
        if beginning.startswith(start, container.LENGTH_BYTES):
            return load(path)
    return load_rule(path)  # which says what is wrong with it
