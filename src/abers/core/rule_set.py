"""Rule sets: a rule for each group, one for the small groups, and one for all."""

from __future__ import annotations

import json
from functools import partial
from reprlib import repr as shortened
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

import numpy as np

from abers import validation
from abers.core import guarantees, merging
from abers.core.diagram import (
    ARRAYS_END_TO_END,
    Diagram,
    cut_apart,
    diagram_of_rows,
    end_to_end,
    flaw_of_parts,
    weighted_rows,
)
from abers.core.fit import is_nearly_flat, mann_whitney_if_flat, rule_of_diagram
from abers.core.fitted import (
    Contents,
    Fitted,
    Layout,
    are_tags,
    checked_tags,
    is_flag,
    is_tag,
    is_whole,
)
from abers.core.inverted import (
    effective_sizes,
    inverted,
    inverted_sentence,
    mann_whitney_of_diagram,
    summed,
)
from abers.core.units import magnitudes, scale_for
from abers.errors import (
    AbersError,
    InvalidData,
    InvalidParameter,
    InvalidType,
    InvertedScoresWarning,
    UnknownGroupWarning,
    warn,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from abers.choices import LossName
    from abers.core.fitted import Arrays, Facts
    from abers.core.guarantees import Guarantee
    from abers.core.inverted import MannWhitney
    from abers.core.rule import Rule
    from abers.validation import FloatArray, IntArray


K = TypeVar("K")
Group = str | int | float  # and bool, which is an int
TYPES = (str, bool, int, float)
OWN, REST, POOLED = "own", "rest", "pooled"  # rules that may answer
WORD = 8  # bytes, to a multiple of which names are filled up


def as_groups(values: object, *, fitted: type | None = None) -> list[Group | None]:
    """Return the group of each row as a plain Python object, None where missing.

    All have one type, or one that compares with the type that was fitted: integers
    become floats in many a column with a missing value.
    """
    groups = _as_list(values)
    if not set(map(type, groups)) <= {str, bool, int}:
        groups = [_as_group(value, row) for row, value in enumerate(groups)]
    types = dict.fromkeys(map(type, groups))  # in order of appearance
    types.pop(type(None), None)
    wanted = fitted or next(iter(types), str)
    wrong = types.keys() - ({int, float} if fitted in {int, float} else {wanted})
    if wrong:
        row = next(row for row, group in enumerate(groups) if type(group) in wrong)
        why = "as those of the rule set" if fitted else "as the first one is"
        msg = (
            f"groups must be {wanted.__name__}, {why}; got {groups[row]!r} "
            f"at row {row}. Convert the column to one type."
        )
        raise InvalidType(msg)
    return groups


def rows_by_group(groups: Sequence[K]) -> dict[K, IntArray]:
    """Return the rows of each group, ascending."""
    codes = {group: code for code, group in enumerate(dict.fromkeys(groups))}
    code_of_row = np.fromiter(map(codes.__getitem__, groups), np.int64, len(groups))
    order = np.argsort(code_of_row, kind="stable")
    stops = np.cumsum(np.bincount(code_of_row))[:-1]
    return dict(zip(codes, np.split(order, stops), strict=False))  # [] has one part


def refuse_missing_groups(rows: IntArray, size: int) -> None:
    """Raise if there are rows without a group."""
    if rows.size:
        msg = (
            f"groups must not be missing; got none in {rows.size} of {size} rows, "
            f"first at row {rows[0]}. Drop these rows, or give them a group of their "
            "own."
        )
        raise InvalidData(msg)


def _as_list(values: object) -> list[Any]:
    """Turn a column of any library into a list."""
    if isinstance(values, list | tuple):
        return list(values)
    if not isinstance(values, np.ndarray):
        validation.need_narwhals("groups")
        import narwhals as nw

        values = validation.through_protocol(values, "groups")
        series = nw.from_native(values, series_only=True, pass_through=True)
        if isinstance(series, nw.Series):
            return series.to_list()
        values = np.asarray(values)
    if values.ndim != 1:
        msg = (
            "groups must be one column of names; "
            f"got {shortened(values.tolist())} of shape {values.shape}."
        )
        raise InvalidData(msg)
    if values.dtype.kind in "mM":  # nanoseconds would become integers
        msg = f"groups must be text, numbers or booleans; got {values.dtype}."
        raise InvalidType(msg)
    return cast("list[Any]", values.tolist())


def _as_group(value: Any, row: int) -> Group | None:
    """Turn an object into a name: numpy's scalars become Python's."""
    name = value.item() if isinstance(value, np.generic) else value
    if name is None or type(name).__name__ in {"NAType", "NaTType"}:  # pandas
        return None
    if type(name) not in TYPES:
        msg = (
            "groups must be text, numbers or booleans; "
            f"got {shortened(value)} at row {row}."
        )
        raise InvalidType(msg)
    if type(name) is float:
        return None if np.isnan(name) else name + 0.0  # one kind of zero
    return cast("Group", name)


class RuleSet(Fitted):
    """One rule for each group that is large enough, one for the others, one for all.

    Made by `fit_rules` or `abers.load`, or from a diagram for each group. A rule
    set never changes. It speaks of the groups that were seen, in ascending order:
    `for group in rule_set`, `len(rule_set)`, `group in rule_set`; `rule_set[group]` is
    the rule that answers for a group, seen or not; `kind_of` says which one it is:

    - "own": the rule of the group's own rows, if they have the `minimum`;
    - "rest": the rule of the rows of all smaller groups together, if those have it;
    - "pooled": the rule of all rows, for smaller groups if they are too few even
      together, and for groups that are unseen or missing.

    The **bounds** of a group's own rule are valid within the group: one of the two is
    calibrated as long as new cases of the group resemble its calibration cases and all
    of these have weight 1. The
    rule of the rest is valid for the cases of all small groups together, and the pooled
    rule for all cases, not within the groups that they answer for. A `minimum` above 0
    chooses between the three by the labels, so that only with 0 the guarantee is exact;
    well above the minimum the choice is as good as certain.

    The sum of two sets is the set of all their rows, with the rules of the rest
    and of all. In that way groups are added, too. The sum has no tags.

    Parameters
    ----------
    diagrams : mapping of group to Diagram
        The calibration set of each group; groups are all str, int, float or bool.
    minimum : int, default=30
        Least number of negatives and of positives for a rule of its own.
    increasing : bool, default=True
        Whether a higher score means a higher probability of label 1.
    metadata : mapping, default=None
        The user's own tags.

    Examples
    --------
    >>> import abers
    >>> march = abers.fit_rules([1, 2], [0, 1], ["shop", "shop"], minimum=1)
    >>> april = abers.fit_rules([1, 2, 3], [0, 1, 0], ["web"] * 3, minimum=1)
    >>> both = march + april
    >>> both
    RuleSet(2 groups, 2 with a rule of their own, 5 rows, 2 positive)
    >>> both["web"].bounds([2])
    array([[0.33333333, 0.66666667]])
    """

    __slots__ = (
        *("_diagrams", "_known", "_metadata", "_minimum"),
        *("_pooled", "_rest", "_rules"),
    )
    _layout: ClassVar = Layout(
        "rule-set",
        arrays={**ARRAYS_END_TO_END, "names": "u"},  # as JSON
        facts={"increasing": is_flag, "metadata": are_tags, "minimum": is_whole},
    )

    def __init__(
        self,
        diagrams: Mapping[Group, Diagram],
        *,
        minimum: int = 30,
        increasing: bool = True,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        names = [name for name in as_groups(list(diagrams)) if name is not None]
        if not names or len(names) < len(diagrams):
            msg = f"diagrams must have names, at least one; got {list(diagrams)!r}."
            raise InvalidData(msg)
        if odd := [name for name in names if not is_tag("", name)]:
            msg = f"groups must be text or finite numbers; got {shortened(odd[0])}."
            raise InvalidData(msg)
        self._diagrams = {name: diagrams[name] for name in sorted(names)}
        for name, diagram in self._diagrams.items():
            validation.check_type(diagram, Diagram, f"diagram of {name!r}")
        self._minimum = validation.as_number_of_rows(minimum, "minimum")
        self._metadata = MappingProxyType(checked_tags(metadata))
        fit = partial(rule_of_diagram, increasing=increasing)
        self._pooled = fit(Diagram.sum(self._diagrams.values()))
        self._rules = {
            name: fit(diagram)
            for name, diagram in self._diagrams.items()
            if self._is_large(diagram)
        }
        small = [d for name, d in self._diagrams.items() if name not in self._rules]
        self._rest = None
        if small and self._is_large(left := Diagram.sum(small)):
            self._rest = fit(left)
        # Which rule answers for a group, and whose it is if it is the group's own.
        shared = (POOLED if self._rest is None else REST, None)
        self._known: dict[Group | None, tuple[str, Group | None]] = {
            name: (OWN, name) if name in self._rules else shared for name in self
        }

    @property
    def rules(self) -> Mapping[Group, Rule]:
        """The rule of each group that is large enough; read-only."""
        return MappingProxyType(self._rules)

    @property
    def rest(self) -> Rule | None:
        """The rule that the small groups share; None if they have none."""
        return self._rest

    @property
    def pooled(self) -> Rule:
        """The rule of all rows, whatever their group."""
        return self._pooled

    @property
    def diagrams(self) -> Mapping[Group, Diagram]:
        """The calibration set of each group seen; read-only."""
        return MappingProxyType(self._diagrams)

    @property
    def counts(self) -> dict[Group, tuple[float, float]]:
        """Weight of the negatives and of the positives of each group seen."""
        return {name: _counts(diagram) for name, diagram in self._diagrams.items()}

    @property
    def minimum(self) -> int:
        """Least number of negatives and of positives for a rule of its own."""
        return self._minimum

    @property
    def increasing(self) -> bool:
        """Whether a higher score means a higher probability."""
        return self._pooled.increasing

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The user's own tags, as given to `save`; read-only."""
        return self._metadata

    @property
    def guarantee(self) -> Guarantee:
        """Whether it is proven that one of the bounds is calibrated, or why not."""
        if self._minimum:
            return guarantees.CHOSEN_BY_LABELS
        proven = all(rule.guarantee.proven for rule in self._rules.values())
        return guarantees.GROUPS if proven else guarantees.WEIGHTED

    def bounds(self, scores: ArrayLike, groups: ArrayLike) -> FloatArray:
        """Return the lower and upper probability of each score within its group.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Real numbers, ±inf allowed, NaN refused.
        groups : array-like of shape (n,)
            The group of each row, or None; `kind_of` tells which rule answers.

        Returns
        -------
        ndarray of shape (n, 2)
            Columns lower and upper. Not a confidence interval; see `Rule`.

        Warns
        -----
        UnknownGroupWarning
            If a group was not seen when the set was fitted; a missing one is not named.
        """
        bounds = self._bounds(scores, groups)
        self._warn_of_unknown(groups)
        return bounds

    def _bounds(self, scores: ArrayLike, groups: ArrayLike) -> FloatArray:
        """Return the bounds, whether groups are known or not."""
        s = validation.as_scores(scores)
        if np.isnan(s).any():
            self._pooled.bounds(s)  # says where
        keys = self._keys_of(groups)
        validation.check_length(len(keys), s.size, "groups", "scores")
        out = np.empty((s.size, 2))
        for key, rows in rows_by_group(keys).items():
            out[rows] = self._rule(*key).bounds(s[rows])
        return out

    def probability(
        self, scores: ArrayLike, groups: ArrayLike, loss: LossName = "log"
    ) -> FloatArray:
        """Return one probability for each score: the bounds merged by minimax.

        Parameters
        ----------
        scores, groups : array-like of shape (n,)
            As for `bounds`.
        loss : {"log", "brier"}, default="log"
            The loss whose worst excess over the better bound is made smallest.

        Returns
        -------
        ndarray of shape (n,)
            Between the bounds. No guarantee of calibration is proven for it.

        Warns
        -----
        UnknownGroupWarning
            As for `bounds`.
        """
        validation.check_choice(loss, merging.LOSSES, "loss")
        lower, upper = self._bounds(scores, groups).T
        self._warn_of_unknown(groups)
        return merging.MINIMAX[loss](lower, upper)

    def rule_of(self, groups: ArrayLike) -> NDArray[np.object_]:
        """Return whose rule answers for each row.

        Parameters
        ----------
        groups : array-like of shape (n,)
            As for `bounds`.

        Returns
        -------
        ndarray of objects of shape (n,)
            The group if it has a rule of its own, else None; `kind_of` says more.
        """
        return np.array([owner for _, owner in self._keys_of(groups)], dtype=np.object_)

    def kind_of(self, groups: ArrayLike) -> NDArray[np.object_]:
        """Return which rule answers for each row.

        Parameters
        ----------
        groups : array-like of shape (n,)
            As for `bounds`.

        Returns
        -------
        ndarray of objects of shape (n,)
            "own", "rest" for the rule that small groups share, or "pooled".

        Examples
        --------
        >>> import abers
        >>> groups = ["web", "web", "fax", "phone"]  # of the last two, one row each
        >>> rule_set = abers.fit_rules([1, 2, 3, 4], [0, 1, 0, 1], groups, minimum=1)
        >>> rule_set.kind_of(["web", "fax", "phone", "letter"])
        array(['own', 'rest', 'rest', 'pooled'], dtype=object)
        >>> rule_set.rest == abers.fit_rule([3, 4], [0, 1])
        True
        """
        return np.array([kind for kind, _ in self._keys_of(groups)], dtype=np.object_)

    @property
    def _type(self) -> type:
        return type(next(iter(self)))

    def _is_large(self, diagram: Diagram) -> bool:
        return min(_counts(diagram)) >= self._minimum

    def _keys_of(self, groups: object) -> list[tuple[str, Group | None]]:
        # Looking up 1.0, of a column that has become floats, gives the group 1.
        names = as_groups(groups, fitted=self._type)
        return [self._known.get(name, (POOLED, None)) for name in names]

    def _warn_of_unknown(self, groups: object) -> None:
        """Warn once, at the line that called a method, of groups that were not seen."""
        names = as_groups(groups, fitted=self._type)
        unknown = dict.fromkeys(names).keys() - self._known.keys() - {None}
        if not unknown:
            return
        rows = [row for row, name in enumerate(names) if name in unknown]
        warn(
            f"{len(rows)} of {len(names)} rows have a group that the rule set has not "
            f"seen, the first is {names[rows[0]]!r} at row {rows[0]}; the rule of all "
            "rows was used for them.",
            UnknownGroupWarning,
        )

    def _rule(self, kind: str, owner: Group | None) -> Rule:
        if owner is not None:
            return self._rules[owner]
        return self._rest if kind == REST and self._rest is not None else self._pooled

    def __add__(self, other: RuleSet) -> RuleSet:
        """Count the rows of both sets, group by group."""
        if not isinstance(other, RuleSet):
            return NotImplemented
        mine, theirs = self._form(), other._form()
        if mine != theirs:
            msg = (
                "rule sets to add must agree in their type of group, minimum and "
                f"increasing; got {mine} and {theirs}."
            )
            raise InvalidParameter(msg)
        sums = dict(self._diagrams)
        for name, diagram in other._diagrams.items():
            sums[name] = sums[name] + diagram if name in sums else diagram
        return RuleSet(sums, minimum=self.minimum, increasing=self.increasing)

    def __getitem__(self, group: Group | None) -> Rule:
        (key,) = self._keys_of([group])
        return self._rule(*key)

    def __iter__(self) -> Iterator[Group]:
        return iter(self._diagrams)

    def __len__(self) -> int:
        return len(self._diagrams)

    def __contains__(self, group: object) -> bool:
        try:
            (name,) = as_groups([group], fitted=self._type)
        except InvalidType:
            return False
        return name in self._diagrams

    def _form(self) -> tuple[str, int, bool]:
        """Return what rule sets to add must agree in."""
        return self._type.__name__, self.minimum, self.increasing

    def _contents(self) -> Contents:
        facts = {
            "increasing": self.increasing,
            "metadata": dict(self._metadata),
            "minimum": self._minimum,
        }
        names = _as_bytes(list(self._diagrams))
        return Contents(facts, end_to_end(self._diagrams.values()) | {"names": names})

    def _restore(self, facts: Facts, arrays: Arrays) -> None:
        names = json.loads(arrays["names"].tobytes())
        diagrams = dict(zip(names, cut_apart(arrays), strict=True))
        RuleSet.__init__(self, diagrams, **facts)

    @classmethod
    def _flaw(cls, facts: Facts, arrays: Arrays) -> str | None:  # noqa: ARG003
        if flaw := flaw_of_parts(arrays):
            return flaw
        try:
            names = json.loads(arrays["names"].tobytes())
            in_order = as_groups(sorted(set(names)))
            written = _as_bytes(in_order)
        except (AbersError, TypeError, ValueError, RecursionError):
            return "its groups are not names of one type"
        if names != in_order:
            return "its groups are not distinct and in order"
        if None in names or not all(is_tag("", name) for name in names):
            return "its groups are not names of one type"
        if not np.array_equal(written, arrays["names"]):
            return "its groups are not written as abers does"
        each = len(names) == arrays["sizes"].size and (arrays["sizes"] > 0).all()
        return None if each else "its groups do not have a diagram each"

    def __repr__(self) -> str:
        direction = "" if self.increasing else ", decreasing"
        n_small = len(self) - len(self._rules)
        shared = "" if self._rest is None else f"{n_small} sharing one, "
        return (
            f"RuleSet({len(self)} groups, {len(self._rules)} with a rule of their own, "
            f"{shared}{self.pooled.n_rows} rows, "
            f"{self.pooled.n_positives} positive{direction})"
        )


def _as_bytes(names: list[Any]) -> NDArray[np.uint8]:
    """Return names as JSON in bytes, in whole words."""
    text = json.dumps(names, separators=(",", ":"))
    return np.frombuffer((text + " " * (-len(text) % WORD)).encode("ascii"), np.uint8)


def _counts(diagram: Diagram) -> tuple[float, float]:
    """Return the weight of the negatives and of the positives."""
    return diagram.n_rows - diagram.n_positives, diagram.n_positives


def fit_rules(
    scores: ArrayLike,
    labels: ArrayLike,
    groups: ArrayLike,
    *,
    minimum: int = 30,
    sample_weight: ArrayLike | None = None,
    increasing: bool = True,
) -> RuleSet:
    """Fit a rule to each group, valid within the group (Mondrian prediction).

    Parameters
    ----------
    scores : array-like of shape (n,)
        Any real numbers that order the rows, ±inf allowed. A column of a pandas,
        polars or pyarrow table will do, here and below.
    labels : array-like of shape (n,)
        0 or 1, or bool.
    groups : array-like of shape (n,)
        The group of each row: text, integers, floats or booleans, all of one type; or
        categories. None may be missing.
    minimum : int, default=30
        Least number of negatives and of positives that a group needs for a rule of its
        own. Smaller groups share the rule of all their rows together, if these have the
        minimum; else, as groups never seen, they get the rule of all rows. No upper
        bound of a rule is below 1 / (1 + negatives), no lower bound above
        positives / (1 + positives): with fewer than 30 of each, not even a perfect
        score brings the bounds below 0.03 and above 0.97.
    sample_weight : array-like of shape (n,), default=None
        A row of weight w counts as w rows, for `minimum` too. Weights
        that are not all whole are rounded once, those of all groups to multiples of one
        power of two: a group's rule may differ in the last bits from that of `fit_rule`
        on its rows alone.
    increasing : bool, default=True
        Whether a higher score means a higher probability of label 1.

    Returns
    -------
    RuleSet
        A rule for each large group, one that small groups share, and one of all rows;
        see there for what is valid.

    Warns
    -----
    InvertedScoresWarning
        If the scores of a group run the other way, or those of all rows, compared with
        rows of their own group: significantly, at p < 0.001 divided by the number of
        rules.

    Examples
    --------
    >>> import abers
    >>> scores, labels = [1, 2, 1, 2, 3], [0, 1, 0, 1, 0]
    >>> groups = ["shop", "shop", "web", "web", "web"]
    >>> rule_set = abers.fit_rules(scores, labels, groups, minimum=1)
    >>> rule_set.bounds([2, 2, 2], ["shop", "web", None])  # pooled: 2/4, 3/4
    array([[0.5       , 1.        ],
           [0.33333333, 0.66666667],
           [0.5       , 0.75      ]])
    >>> rule_set.kind_of(["shop", "web", "phone"])  # "phone" was not seen
    array(['own', 'own', 'pooled'], dtype=object)
    >>> shared = abers.fit_rules(scores, labels, groups, minimum=2)
    >>> shared.kind_of(["shop", "web", "phone"])  # no group has two of each label
    array(['rest', 'rest', 'pooled'], dtype=object)
    """
    s = validation.as_calibration_scores(scores)
    y = validation.as_labels(labels)
    w = None if sample_weight is None else validation.as_weights(sample_weight, s.size)
    if w is None:
        Diagram.from_rows(s, y)  # refuses rows by their number
    else:
        weighted_rows(s, y, w)  # likewise
    names = as_groups(groups)
    validation.check_length(len(names), s.size, "groups", "scores")
    rows_of = rows_by_group(names)
    scale = 0
    if w is not None:  # rows of weight 0 are left out, and with them their groups
        rows_of = {name: rows[w[rows] > 0] for name, rows in rows_of.items()}
        scale = scale_for(magnitudes(w))
    refuse_missing_groups(rows_of.pop(None, np.empty(0, np.int64)), s.size)
    diagrams = {
        name: Diagram.from_rows(s[rows], y[rows])
        if w is None
        else diagram_of_rows(s[rows], y[rows] == 1, w[rows], scale)
        for name, rows in rows_of.items()
        if name is not None and rows.size
    }
    diagrams = {name: each for name, each in diagrams.items() if each.scores.size}
    rule_set = RuleSet(diagrams, minimum=minimum, increasing=increasing)
    sizes = {
        name: effective_sizes(y[rows_of[name]], w[rows_of[name]])
        for name, diagram in diagrams.items()
        if w is not None and not diagram.is_exact
    }
    warn_of_inverted_groups(rule_set, sizes)
    return rule_set


def warn_of_inverted_groups(
    rule_set: RuleSet, sizes: Mapping[Group, tuple[float, float]]
) -> None:
    """Warn of groups whose scores are inverted, once for all of them.

    `sizes` are the effective numbers of zeros and ones where weights are not whole.
    """
    diagrams, increasing = rule_set.diagrams, rule_set.increasing
    # None is the pooled rule: its rows are compared within groups only, because groups
    # of different rates may invert the order of all rows together.
    tests: dict[Group | None, MannWhitney | None] = {
        name: mann_whitney_if_flat(rule, diagrams[name], sizes.get(name))
        for name, rule in rule_set.rules.items()
    }
    tests[None] = (
        summed(
            mann_whitney_of_diagram(diagram, sizes.get(name))
            for name, diagram in diagrams.items()
        )
        if is_nearly_flat(rule_set.pooled)
        else None
    )
    against = inverted(tests, increasing=increasing)
    if not against:
        return
    if None in against:
        warn(inverted_sentence(against[None].auc), InvertedScoresWarning)
        return
    name, test = next(iter(against.items()))
    others = f" and {len(against) - 1} more" if len(against) > 1 else ""
    fewer = "fewer" if increasing else "more"
    warn(
        f"The score is inverted in group {name!r} (AUC {test.auc:.3f}){others}, of "
        f"{len(rule_set.rules)} groups with a rule: higher scores go with {fewer} "
        "positives there. Negate the score in such groups.",
        InvertedScoresWarning,
    )
