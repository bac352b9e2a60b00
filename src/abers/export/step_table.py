"""The steps of a rule: the table behind every export.

The result for a score is the last step whose start is not above it. The probability is
a separate column, not computed from the bounds, so that users of the table do no
arithmetic and cannot get different bits (docs/decisions/0010).
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from abers import validation
from abers.choices import Precision
from abers.core.merging import LOSSES, MINIMAX
from abers.core.rule import Rule
from abers.core.rule_set import RuleSet
from abers.errors import InvalidParameter, need
from abers.export.mixture import served

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from abers.choices import LossName
    from abers.core.group_names import Group
    from abers.core.stacked import StackedRule
    from abers.core.venn_abers_calibrator import VennAbersCalibrator
    from abers.export.reading import Reading
    from abers.validation import FloatArray

DTYPES = get_args(Precision)
JSON = "json"
BATCH_ROWS = 2**16  # rows converted to text at once
LARGEST_INTEGER = 2**63


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """The steps of a rule, or of the rules of all groups.

    Made by `steps`. The result for a score is the last step of its group whose start is
    not above the score; the first step of a group starts at -inf. NaN has no result.

    Attributes
    ----------
    group : ndarray of objects, or None
        The group of each step; None for steps that apply to missing groups and to
        groups not in the table. For a single rule, the attribute itself is None.
    start : ndarray
        The smallest score of each step, ascending within a group.
    lower, upper, probability : ndarray
        The result: both bounds, and the merged probability.
    stacked : dict, or None
        Kind of scores, weights and coefficients of a stacked rule. Its formula is the
        weighted sum of the step's value, the model and the curve (docs/serving.md).

    Examples
    --------
    >>> import abers
    >>> table = abers.export.steps(abers.fit_rule([1, 2], [0, 1]))
    >>> len(table)
    3
    >>> table.start, table.lower, table.upper
    (array([-inf,   1.,   2.]), array([0. , 0. , 0.5]), array([0.5, 1. , 1. ]))
    """

    group: NDArray[np.object_] | None
    start: NDArray[np.floating[Any]]
    lower: FloatArray
    upper: FloatArray
    probability: FloatArray
    stacked: dict[str, Any] | None = None

    def __len__(self) -> int:
        return self.start.size

    def write(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the table to a file, in the format given by its name.

        Parameters
        ----------
        path : path-like
            A name that ends with `.csv`, `.tsv`, `.parquet` or `.arrow` (one row per
            step) or with `.json` (one object of columns); `.gz` or `.zst` may follow.
            `-` writes CSV to standard output. For a single rule, there is no column
            `group`.
        force : bool, default=False
            Whether an existing file may be replaced.
        """
        need("pyarrow", extra="cli", what="a table")
        from abers.tables.files import FORMATS, Dialect
        from abers.tables.writing import check_output, output, table_writer

        name = os.fspath(path)
        form = _form(name)
        if self.stacked is not None and form != JSON:
            msg = (
                "the steps of a stacked rule must be written as JSON, which can hold "
                f"its formula; got {name!r}. Name a file that ends with .json."
            )
            raise InvalidParameter(msg)
        check_output(name, force=force)
        if form == JSON:
            with output(name, force=force) as stream:
                stream.write(self.to_json().encode())
            return
        rows = self.to_arrow(is_text=FORMATS[form].is_text)
        with table_writer(name, form, rows.schema, Dialect(), force=force) as writer:
            for batch in rows.to_batches(BATCH_ROWS):
                writer.write(batch)

    def to_arrow(self, *, is_text: bool = False) -> pa.Table:
        """Return the columns as an Arrow table.

        Parameters
        ----------
        is_text : bool, default=False
            Whether numbers will be written as text: then starts are doubles, since the
            shortest digits of a float32 denote a different double.

        Returns
        -------
        pyarrow.Table
            One row per step.
        """
        need("pyarrow", extra="cli", what="a table")
        import pyarrow as pa

        start = self.start.astype(np.float64) if is_text else self.start
        columns: dict[str, Any] = {
            "start": pa.array(start),
            "lower": pa.array(self.lower),
            "upper": pa.array(self.upper),
            "probability": pa.array(self.probability),
        }
        if self.group is not None:
            columns = {"group": _arrow_groups(self.group), **columns}
        return pa.table(columns)

    def to_json(self) -> str:
        """Return the columns as one JSON object; infinite starts become text.

        Returns
        -------
        str
            JSON has no infinities; Python, Java and JavaScript can all convert
            `"-Infinity"` to a number.
        """
        start = self.start.astype(np.float64).tolist()
        columns: dict[str, Any] = {
            "start": [json_number(score) for score in start],
            "lower": self.lower.tolist(),
            "upper": self.upper.tolist(),
            "probability": self.probability.tolist(),
        }
        if self.group is not None:
            columns = {"group": self.group.tolist(), **columns}
        if self.stacked is not None:
            columns["stacked"] = self.stacked
        return json.dumps(columns, allow_nan=False, ensure_ascii=False) + "\n"


def steps(
    rule: Rule | RuleSet | StackedRule | VennAbersCalibrator,
    *,
    loss: LossName = "log",
    dtype: Precision = "float64",
) -> Steps:
    """Return the steps of a rule: everything a program needs to apply it.

    Parameters
    ----------
    rule : Rule, RuleSet, StackedRule or VennAbersCalibrator
        What to export. A calibrator must have one model and two classes, such as the
        `calibrator_` of a `CalibratedClassifier` with `ensemble=False` or of an
        `IVAPClassifier`. Starts are inputs of the kind that it `reads`.
    loss : {"log", "brier"}, default="log"
        The loss for which the bounds are merged into one probability.
    dtype : {"float64", "float32"}, default="float64"
        The type of the scores to look up. For float32, each start is rounded up to a
        float32, so the result equals the rule's for the same score as a double.

    Returns
    -------
    Steps
        Columns group, start, lower, upper and probability.

    Examples
    --------
    >>> import abers
    >>> rule = abers.fit_rule([1, 2], [0, 1])
    >>> abers.export.steps(rule).probability  # 1/2 / (1 + 1/2), 1/2, 1 / (1/2 + 1)
    array([0.33333333, 0.5       , 0.66666667])
    >>> web = abers.fit_rules([1, 2], [0, 1], ["web", "web"], minimum=1)
    >>> abers.export.steps(web).group  # the rule of all is the rule of "web"
    array([None, None, None], dtype=object)
    """
    validation.check_choice(loss, LOSSES, "loss")
    validation.check_choice(dtype, DTYPES, "dtype")
    own, mixture, reading = served(rule, loss)
    parts = [
        (groups, pieces_of(each, loss, dtype, reading))
        for groups, each in rules_with_groups(own)
    ]
    columns = [
        np.concatenate([pieces[k] for groups, pieces in parts for _ in groups])
        for k in range(4)
    ]
    names = None
    if isinstance(own, RuleSet):
        sizes = [pieces[0].size for groups, pieces in parts for _ in groups]
        listed = np.empty(sum(map(len, (groups for groups, _ in parts))), np.object_)
        listed[:] = [group for groups, _ in parts for group in groups]
        names = np.repeat(listed, sizes)
    start, lower, upper, probability = columns
    stacked = None if mixture is None else mixture.facts()
    return Steps(names, start, lower, upper, probability, stacked)


def rules_with_groups(rule: Rule | RuleSet) -> list[tuple[list[Group | None], Rule]]:
    """Return the distinct rules, and the groups that each applies to.

    The first applies to missing and unseen groups (None), and to all groups that are
    not named because they share it.
    """
    if isinstance(rule, Rule):
        return [([None], rule)]
    owners: list[tuple[list[Group | None], Rule]] = [([None], rule[None])]
    places = {rule[None]: 0}
    for group in rule:
        own = rule[group]
        place = places.setdefault(own, len(owners))
        if place == len(owners):
            owners.append(([], own))
        if place:
            owners[place][0].append(group)
    return [(groups, own) for groups, own in owners if groups]


def pieces_of(
    rule: Rule,
    loss: LossName,
    dtype: Precision = "float64",
    reading: Reading | None = None,
) -> tuple[NDArray[Any], ...]:
    """Return starts, both bounds and the probability of the steps of one rule.

    With a reading, starts are inputs, before they become scores.
    """
    thresholds = rule.thresholds
    if reading is not None:
        thresholds = reading.starts(thresholds)
    start = np.concatenate(([-np.inf], thresholds)) + 0.0  # one kind of zero
    rounded = start if dtype == "float64" else _rounded_up(start)
    # Of several steps with one start, all but the last are empty.
    kept = np.append(rounded[1:] != rounded[:-1], [True])
    lower, upper = rule.lower[kept], rule.upper[kept]
    return rounded[kept], lower, upper, MINIMAX[loss](lower, upper)


def _rounded_up(start: FloatArray) -> NDArray[np.float32]:
    """Return the smallest float32 that is not below each number."""
    with np.errstate(over="ignore", under="ignore"):
        nearest = start.astype(np.float32)
        above = np.nextafter(nearest, np.float32(np.inf))
    return np.where(nearest < start, above, nearest) + np.float32(0)


def _form(name: str) -> str:
    """Return the format given by the name of a file."""
    from abers.tables.files import named_format
    from abers.tables.writing import STDOUT

    form, compression = named_format(name)
    ending = Path(Path(name).stem if compression else name).suffix.lower()
    if name != STDOUT and (form is None or (form == JSON and ending != ".json")):
        msg = (
            "a file of steps must end with .csv, .tsv, .json, .parquet or .arrow; "
            f"got {name!r}."
        )
        raise InvalidParameter(msg)
    return form or "csv"


def _arrow_groups(groups: NDArray[np.object_]) -> pa.Array:
    """Return groups as a column of their own type."""
    import pyarrow as pa

    names = groups.tolist()
    largest = max((abs(name) for name in names if type(name) is int), default=0)
    if largest >= LARGEST_INTEGER:
        msg = f"groups must fit into 64 bits to be written; got {largest}."
        raise InvalidParameter(msg)
    # If all groups of a rule set share the first rule, none of them is named.
    return pa.array(names, pa.string() if set(names) == {None} else None)


def json_number(value: float) -> float | str:
    """Return a number, or, if JSON lacks it, the name that most languages can parse."""
    if np.isfinite(value):
        return value
    if np.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"
