"""Rule sets: a rule for each group, one for the small groups, and one for all rows."""

from __future__ import annotations

from itertools import repeat
from reprlib import repr as shortened
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

import numpy as np

from abers import validation
from abers.core import guarantees, merging
from abers.core.auc import mann_whitney_of_diagram, summed
from abers.core.diagram import (
    ARRAYS_END_TO_END,
    Diagram,
    cut_apart,
    diagram_of_rows,
    end_to_end,
    flaw_of_parts,
)
from abers.core.effective_sizes import effective_sizes
from abers.core.fit import is_nearly_flat, mann_whitney_if_flat, rule_of_diagram
from abers.core.fitted import (
    SUM_TOLERANCE,
    Contents,
    Fitted,
    Layout,
    are_tags,
    checked_tags,
    contents_of,
    from_json_bytes,
    is_flag,
    is_tag,
    is_whole,
    json_bytes,
    layout_of,
    plain_total,
    restored,
)
from abers.core.group_names import (
    as_groups,
    refuse_missing_groups,
    rows_by_group,
)
from abers.core.inverted import inverted, inverted_sentence
from abers.core.nested import flaw_of_nested, joined, nested_letters, parted
from abers.core.own_weight import with_diagram
from abers.core.rule import Rule
from abers.core.step_rule import bounds_by_place
from abers.core.units import magnitudes, scale_for, total_text
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
    from collections.abc import Iterator, Mapping

    from numpy.typing import ArrayLike, NDArray

    from abers.choices import LossName
    from abers.core.auc import MannWhitney
    from abers.core.fitted import Arrays, Facts
    from abers.core.group_names import Group
    from abers.core.guarantees import Guarantee
    from abers.validation import FloatArray, IntArray


OWN, REST, POOLED = "own", "rest", "pooled"  # which rule applies
MOST_ROWS = validation.LARGEST_EXACT_INTEGER
SHARED = 2  # rules at most: one for all rows, one for the rest
UNSEEN = -1  # the index of the rule for all rows, which is the last one
OF_RULES = {f"rule_{name}": letter for name, letter in nested_letters(Rule).items()}
NO_DIAGRAMS = (
    "rule sets must keep their diagrams to be added or fitted again; fit them with "
    "fit_rules(…, keep_diagram=True), or with abers fit --keep-diagram."
)


class RuleSet(Fitted):
    """One rule for each group that is large enough, one for the others, one for all.

    Made by `fit_rules` or `abers.load`, or from a diagram for each group. A rule set is
    immutable. Its length, iteration and membership tests are about the groups seen in
    the fit, in ascending order; `rule_set[group]` is the rule that applies to a group,
    seen or not; `kind_of` says which kind it is:

    - "own": the rule of the group's own rows, if they have the `minimum`;
    - "rest": the rule of the rows of all smaller groups, if together they have it;
    - "pooled": the rule of all rows, for the smaller groups if they are too small even
      together, and for groups that are unseen or missing.

    The **bounds** of a group's own rule are valid within the group: one of the two is
    calibrated as long as new cases of the group resemble its calibration cases and all
    of these have weight 1. The rule of the rest is valid for the cases of all small
    groups together, and the pooled rule for all cases, but not within a single group.
    With a `minimum` above 0, labels decide which of the three applies, so the guarantee
    is exact only with 0; for groups well above the minimum the choice is all but
    certain.

    A set, and its file, hold its rules. With `keep_diagram`, they also hold the
    calibration set of each group: such sets can be added, and their rules accept a
    weight for each new case. The sum of two sets is the rule set of all their rows, new
    groups included. The sum has no tags.

    Parameters
    ----------
    diagrams : mapping of group to Diagram
        The calibration set of each group; groups are all str, int, float or bool.
    minimum : int, default=30
        Smallest number of negatives and of positives for a group's own rule.
    increasing : bool, default=True
        Whether a higher score means a higher probability of label 1.
    keep_diagram : bool, default=False
        Whether the set, and its file, keep the diagrams.
    metadata : mapping, default=None
        Your own tags.

    Examples
    --------
    >>> import abers
    >>> options = {"minimum": 1, "keep_diagram": True}
    >>> march = abers.fit_rules([1, 2], [0, 1], ["shop", "shop"], **options)
    >>> april = abers.fit_rules([1, 2, 3], [0, 1, 0], ["web"] * 3, **options)
    >>> both = march + april
    >>> both
    RuleSet(2 groups, 2 with a rule of their own, 5 rows, 2 positive)
    >>> both["web"].bounds([2])
    array([[0.33333333, 0.66666667]])
    """

    __slots__ = (
        *("_answers", "_diagrams", "_minimum", "_places"),
        *("_pooled", "_rest", "_rules", "_totals"),
    )
    # Either diagrams, from which the rules follow, or rules; the others are empty.
    _layout: ClassVar = Layout(
        "rule-set",
        arrays={
            **ARRAYS_END_TO_END,
            **OF_RULES,
            "lengths": "i",  # of the arrays of each group's rule, pooled, rest
            "names": "u",  # as JSON
            "total_positives": "f",  # of all groups, then pooled, then rest
            "total_rows": "f",
        },
        facts={"increasing": is_flag, "metadata": are_tags, "minimum": is_whole},
    )

    def __init__(
        self,
        diagrams: Mapping[Group, Diagram],
        *,
        minimum: int = 30,
        increasing: bool = True,
        keep_diagram: bool = False,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        ordered = _in_order(diagrams)
        minimum = validation.as_number_of_rows(minimum, "minimum")
        keep = validation.as_flag(keep_diagram, "keep_diagram")
        tags = checked_tags(metadata)

        def fit(diagram: Diagram) -> Rule:
            rule = rule_of_diagram(diagram, increasing=increasing)
            return with_diagram(rule, diagram) if keep else rule

        pooled = fit(Diagram.sum(ordered.values()))
        large = {n: own for n, own in ordered.items() if _least(own) >= minimum}
        small = [own for name, own in ordered.items() if name not in large]
        left = Diagram.sum(small) if small else None
        self._set(
            {
                name: (plain_total(own.n_rows), plain_total(own.n_positives))
                for name, own in ordered.items()
            },
            rules={name: fit(own) for name, own in large.items()},
            rest=None if left is None or _least(left) < minimum else fit(left),
            pooled=pooled,
            minimum=minimum,
            metadata=tags,
            diagrams=ordered if keep else None,
        )

    def _set(
        self,
        totals: Mapping[Group, tuple[float, float]],
        *,
        rules: dict[Group, Rule],
        rest: Rule | None,
        pooled: Rule,
        minimum: int,
        metadata: Mapping[str, Any],
        diagrams: dict[Group, Diagram] | None = None,
    ) -> None:
        """Set all attributes, and which rule applies to each group."""
        self._totals = dict(totals)  # rows and positives of each group
        self._rules, self._rest, self._pooled = rules, rest, pooled
        self._minimum = minimum
        self._metadata = MappingProxyType(dict(metadata))
        self._diagrams = diagrams
        # Kind, owner and rule for each place; the rule of all rows is the last.
        self._answers: list[tuple[str, Group | None, Rule]] = [
            *((OWN, name, rule) for name, rule in rules.items()),
            *([] if rest is None else [(REST, None, rest)]),
            (POOLED, None, pooled),
        ]
        self._places: dict[Group | None, int] = dict.fromkeys(self, len(rules))
        self._places |= {name: place for place, name in enumerate(rules)}
        self._places[None] = len(self._answers) - 1

    @property
    def rules(self) -> Mapping[Group, Rule]:
        """The rule of each group that is large enough; read-only."""
        return MappingProxyType(self._rules)

    @property
    def rest(self) -> Rule | None:
        """The rule shared by the small groups; None if there is none."""
        return self._rest

    @property
    def pooled(self) -> Rule:
        """The rule of all rows, whatever their group."""
        return self._pooled

    @property
    def diagrams(self) -> Mapping[Group, Diagram]:
        """The calibration set of each group seen, if kept; read-only."""
        if self._diagrams is None:
            raise InvalidParameter(NO_DIAGRAMS)
        return MappingProxyType(self._diagrams)

    @property
    def keeps_diagram(self) -> bool:
        """Whether it was fitted with `keep_diagram=True`."""
        return self._diagrams is not None

    @property
    def counts(self) -> dict[Group, tuple[float, float]]:
        """Weight of the negatives and of the positives of each group seen."""
        return {name: (plain_total(n - y), y) for name, (n, y) in self._totals.items()}

    @property
    def minimum(self) -> int:
        """Smallest number of negatives and of positives for a group's own rule."""
        return self._minimum

    @property
    def increasing(self) -> bool:
        """Whether a higher score means a higher probability."""
        return self._pooled.increasing

    @property
    def guarantee(self) -> Guarantee:
        """Whether one of the bounds is proven to be calibrated; if not, why."""
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
            The group of each row, or None; `kind_of` says which rule applies.

        Returns
        -------
        ndarray of shape (n, 2)
            Columns lower and upper. Not a confidence interval; see `Rule`.

        Warns
        -----
        UnknownGroupWarning
            If a group was not seen in the fit; missing groups do not count.
        """
        places = self._places_of(groups)
        bounds = self._bounds_at(places, scores)
        self._warn_of_unknown(groups, places)
        return bounds

    def _bounds_at(self, places: IntArray, scores: ArrayLike) -> FloatArray:
        """Return the bounds of each score by the rule at its place."""
        s = validation.as_scores(scores)
        validation.check_scores(s, purpose="predicting")
        validation.check_length(places.size, s.size, "groups", "scores")
        return bounds_by_place([rule for _, _, rule in self._answers], places, s)

    def _places_of(self, groups: object) -> IntArray:
        """Return the place of the rule that applies to each row."""
        # A lookup of 1.0, from a column that became floats, finds the group 1.
        names = as_groups(groups, fitted=self._type)
        places = map(self._places.get, names, repeat(UNSEEN))
        return np.fromiter(places, np.int64, len(names))

    def probability(
        self, scores: ArrayLike, groups: ArrayLike, loss: LossName = "log"
    ) -> FloatArray:
        """Return one probability for each score: the bounds merged by minimax.

        Parameters
        ----------
        scores, groups : array-like of shape (n,)
            As for `bounds`.
        loss : {"log", "brier"}, default="log"
            The loss for which the merge is minimax.

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
        places = self._places_of(groups)
        lower, upper = self._bounds_at(places, scores).T
        self._warn_of_unknown(groups, places)
        return merging.MINIMAX[loss](lower, upper)

    def rule_of(self, groups: ArrayLike) -> NDArray[np.object_]:
        """Return the group whose rule applies to each row.

        Parameters
        ----------
        groups : array-like of shape (n,)
            As for `bounds`.

        Returns
        -------
        ndarray of objects of shape (n,)
            The group if it has its own rule, else None; `kind_of` has the details.
        """
        owners = np.empty(len(self._answers), np.object_)
        owners[:] = [owner for _, owner, _ in self._answers]
        return owners[self._places_of(groups)]

    def kind_of(self, groups: ArrayLike) -> NDArray[np.object_]:
        """Return which kind of rule applies to each row.

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
        >>> groups = ["web", "web", "fax", "phone"]  # the last two have one row each
        >>> rule_set = abers.fit_rules([1, 2, 3, 4], [0, 1, 0, 1], groups, minimum=1)
        >>> rule_set.kind_of(["web", "fax", "phone", "letter"])
        array(['own', 'rest', 'rest', 'pooled'], dtype=object)
        >>> rule_set.rest == abers.fit_rule([3, 4], [0, 1])
        True
        """
        kinds = np.array([kind for kind, _, _ in self._answers], dtype=np.object_)
        return kinds[self._places_of(groups)]

    def without_diagram(self) -> RuleSet:
        """Return the set with the same rules and without diagrams.

        Returns
        -------
        RuleSet
            This set itself if it keeps no diagrams.
        """
        if self._diagrams is None:
            return self
        plain = object.__new__(RuleSet)
        plain._set(
            self._totals,
            rules={name: rule.without_diagram() for name, rule in self._rules.items()},
            rest=None if self._rest is None else self._rest.without_diagram(),
            pooled=self._pooled.without_diagram(),
            minimum=self._minimum,
            metadata=self._metadata,
        )
        return plain

    @property
    def _type(self) -> type:
        return type(next(iter(self)))

    def _warn_of_unknown(self, groups: object, places: IntArray) -> None:
        """Warn once, at the caller's line, about groups not seen in the fit."""
        rows = np.flatnonzero(places == UNSEEN)
        if not rows.size:
            return
        name = as_groups(groups, fitted=self._type)[rows[0]]
        warn(
            f"{rows.size} of {places.size} rows have a group that the rule set has not "
            f"seen, the first is {name!r} at row {rows[0]}; the rule of all "
            "rows was used for them.",
            UnknownGroupWarning,
        )

    def __add__(self, other: RuleSet) -> RuleSet:
        """Combine the rows of both sets, group by group."""
        if not isinstance(other, RuleSet):
            return NotImplemented
        mine, theirs = self._form(), other._form()
        if mine != theirs:
            msg = (
                "rule sets to add must agree in their type of group, minimum and "
                f"increasing; got {mine} and {theirs}."
            )
            raise InvalidParameter(msg)
        sums = dict(self.diagrams)
        for name, diagram in other.diagrams.items():
            sums[name] = sums[name] + diagram if name in sums else diagram
        return RuleSet(
            sums,
            minimum=self.minimum,
            increasing=self.increasing,
            keep_diagram=True,
        )

    def __getitem__(self, group: Group | None) -> Rule:
        place = int(self._places_of([group])[0])
        return self._answers[place][2]

    def __iter__(self) -> Iterator[Group]:
        return iter(self._totals)

    def __len__(self) -> int:
        return len(self._totals)

    def __contains__(self, group: object) -> bool:
        try:
            (name,) = as_groups([group], fitted=self._type)
        except InvalidType:
            return False
        return name in self._totals

    def _form(self) -> tuple[str, int, bool]:
        """Return the properties that rule sets to be added must share."""
        return self._type.__name__, self.minimum, self.increasing

    def _contents(self) -> Contents:
        facts = {
            "increasing": self.increasing,
            "metadata": dict(self._metadata),
            "minimum": self._minimum,
        }
        names, diagrams = json_bytes(list(self)), self._diagrams
        rules, totals = [], np.empty((0, 2))
        if diagrams is None:
            shared = [self._pooled, *([] if self._rest is None else [self._rest])]
            rules = [contents_of(rule) for rule in (*self._rules.values(), *shared)]
            of_groups = list(self._totals.values())
            of_shared = [(rule.n_rows, rule.n_positives) for rule in shared]
            totals = np.array(of_groups + of_shared, dtype=np.float64)
        of_rules = joined(Rule, rules)
        arrays = end_to_end((diagrams or {}).values())
        arrays |= {f"rule_{name}": of_rules[name] for name in layout_of(Rule).arrays}
        arrays |= {"lengths": of_rules["lengths"], "names": names}
        arrays |= {"total_rows": totals[:, 0], "total_positives": totals[:, 1]}
        return Contents(facts, arrays)

    def _restore(self, facts: Facts, arrays: Arrays) -> None:
        names = from_json_bytes(arrays["names"])
        if arrays["sizes"].size:
            diagrams = dict(zip(names, cut_apart(arrays), strict=True))
            RuleSet.__init__(self, diagrams, keep_diagram=True, **facts)
            return
        totals = _StoredTotals.of(facts, arrays, len(names))
        rules = [restored(Rule, part) for part in totals.rules(facts, arrays) or ()]
        large = [name for name, own in zip(names, totals.is_large, strict=True) if own]
        pooled, *rest = rules[len(large) :]
        self._set(
            dict(zip(names, totals.pairs, strict=False)),
            rules=dict(zip(large, rules, strict=False)),
            rest=rest[0] if rest else None,
            pooled=pooled,
            minimum=facts["minimum"],
            metadata=facts["metadata"],
        )

    @classmethod
    def _flaw(cls, facts: Facts, arrays: Arrays) -> str | None:
        has_diagrams = arrays["sizes"].size > 0
        others = set(OF_RULES) | {"lengths", "total_positives", "total_rows"}
        if not has_diagrams:
            others = set(ARRAYS_END_TO_END)
        if any(arrays[name].size for name in others):
            return "it has both diagrams and rules"
        if flaw := flaw_of_parts(arrays) if has_diagrams else None:
            return flaw
        if flaw := _flaw_of_names(arrays["names"]):
            return flaw
        n_groups = len(from_json_bytes(arrays["names"]))
        if has_diagrams:
            each = n_groups == arrays["sizes"].size and (arrays["sizes"] > 0).all()
            return None if each else "its groups do not have a diagram each"
        return _flaw_of_rules(facts, arrays, n_groups)

    def __repr__(self) -> str:
        direction = "" if self.increasing else ", decreasing"
        n_small = len(self) - len(self._rules)
        shared = "" if self._rest is None else f"{n_small} sharing one, "
        return (
            f"RuleSet({len(self)} groups, {len(self._rules)} with a rule of their own, "
            f"{shared}{total_text(self.pooled.n_rows)} rows, "
            f"{total_text(self.pooled.n_positives)} positive{direction})"
        )


def _flaw_of_names(written: NDArray[np.uint8]) -> str | None:
    """Return why these cannot be the names of groups, or None."""
    names = from_json_bytes(written)
    try:
        in_order = as_groups(sorted(set(names)))
    except (AbersError, TypeError):
        return "its groups are not names of one type"
    if not np.array_equal(json_bytes(in_order), written):
        return "its groups are not distinct and in order"
    if not names or None in names or not all(is_tag("", name) for name in names):
        return "its groups are not names of one type"
    return None


def _least(diagram: Diagram) -> float:
    """Return the smaller of the weights of negatives and positives."""
    return min(diagram.n_rows - diagram.n_positives, diagram.n_positives)


def _in_order(diagrams: Mapping[Group, Diagram]) -> dict[Group, Diagram]:
    """Check the diagrams of groups, and return them in ascending order of names."""
    names = [name for name in as_groups(list(diagrams)) if name is not None]
    if not names or len(names) < len(diagrams):
        msg = f"diagrams must have names, at least one; got {list(diagrams)!r}."
        raise InvalidData(msg)
    if odd := [name for name in names if not is_tag("", name)]:
        msg = f"groups must be text or finite numbers; got {shortened(odd[0])}."
        raise InvalidData(msg)
    ordered = {name: diagrams[name] for name in sorted(names)}
    for name, diagram in ordered.items():
        validation.check_type(diagram, Diagram, f"diagram of {name!r}")
    return ordered


class _StoredTotals(NamedTuple):
    """Rows and positives of the groups of a stored set, of all rows and the rest."""

    pairs: list[tuple[float, float]]
    is_large: NDArray[np.bool_]  # whether a group has its own rule

    @staticmethod
    def of(facts: Facts, arrays: Arrays, n_groups: int) -> _StoredTotals:
        """Read the totals from checked arrays."""
        rows, ones = arrays["total_rows"], arrays["total_positives"]
        is_large = np.minimum(rows - ones, ones)[:n_groups] >= facts["minimum"]
        pairs = [
            (plain_total(n), plain_total(y))
            for n, y in zip(rows.tolist(), ones.tolist(), strict=True)
        ]
        return _StoredTotals(pairs, is_large)

    def rules(self, facts: Facts, arrays: Arrays) -> list[Contents] | None:
        """Return the contents of the rules; None if they do not fit together."""
        has_rule = [*self.is_large.tolist(), *[True] * SHARED]
        of_rules: list[Facts] = [
            {
                "increasing": facts["increasing"],
                "metadata": {},
                "n_positives": ones,
                "n_rows": rows,
            }
            for (rows, ones), has in zip(self.pairs, has_rule, strict=False)
            if has
        ]
        own = {name: arrays[f"rule_{name}"] for name in layout_of(Rule).arrays}
        parts = parted(Rule, of_rules, own | {"lengths": arrays["lengths"]})
        return cast("list[Contents] | None", parts)


def _flaw_of_rules(facts: Facts, arrays: Arrays, n_groups: int) -> str | None:
    """Return why these cannot be the rules of this many groups, or None."""
    rows, ones = arrays["total_rows"], arrays["total_positives"]
    n_shared = rows.size - n_groups
    if not (rows.size == ones.size and n_shared in (1, SHARED)):
        return "its groups do not have totals each"
    if not ((rows > 0) & (rows <= MOST_ROWS) & (ones >= 0) & (ones <= rows)).all():
        return "its totals are not those of rows"
    totals = _StoredTotals.of(facts, arrays, n_groups)
    counts = np.column_stack((rows - ones, ones))
    small = counts[:n_groups][~totals.is_large]
    # Sums of real weights are rounded, after conversion to one unit.
    is_whole = (counts == np.rint(counts)).all()
    error = 0 if is_whole else SUM_TOLERANCE * rows[n_groups]
    has_rest = bool(small.size) and small.sum(axis=0).min() - error >= facts["minimum"]
    sums = [counts[:n_groups].sum(axis=0), small.sum(axis=0)][:n_shared]
    if (
        (has_rest and n_shared == 1)
        or (n_shared == SHARED and not small.size)
        or (n_shared == SHARED and counts[-1].min() < facts["minimum"])
        or (abs(np.array(sums) - counts[n_groups:]) > error).any()
    ):
        return "its totals are not those of its groups"
    return flaw_of_nested(Rule, totals.rules(facts, arrays))


def places_of(rule_set: RuleSet, groups: object) -> IntArray:
    """Return the place of the rule for each group; -1 if the group is unseen."""
    return rule_set._places_of(groups)  # noqa: SLF001


def bounds_at(rule_set: RuleSet, places: IntArray, scores: ArrayLike) -> FloatArray:
    """Return the bounds of each score by the rule at its place, without warnings."""
    return rule_set._bounds_at(places, scores)  # noqa: SLF001


def fit_rules(
    scores: ArrayLike,
    labels: ArrayLike,
    groups: ArrayLike,
    *,
    minimum: int = 30,
    sample_weight: ArrayLike | None = None,
    increasing: bool = True,
    keep_diagram: bool = False,
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
        Smallest number of negatives and of positives that a group needs for its own
        rule. Smaller groups share one rule of all their rows, if these have the
        minimum; otherwise they get the rule of all rows, as unseen groups do. A rule's
        upper bound is never below 1 / (1 + negatives), and its lower bound never above
        positives / (1 + positives): with fewer than 30 of each, even a perfect score
        cannot bring the bounds below 0.03 or above 0.97.
    sample_weight : array-like of shape (n,), default=None
        A row of weight w counts as w rows, also for `minimum`. Weights that are not all
        whole are rounded once, to multiples of one power of two for all groups: a
        group's rule may differ in the last bits from that of `fit_rule` on its rows
        alone.
    increasing : bool, default=True
        Whether a higher score means a higher probability of label 1.
    keep_diagram : bool, default=False
        Whether the set, and its file, keep the weights at each distinct score of each
        group. Such sets can be added, and their rules accept a weight for each new
        case.

    Returns
    -------
    RuleSet
        A rule for each large group, one for the small groups, and one for all rows.
        `RuleSet` says where each is valid.

    Warns
    -----
    InvertedScoresWarning
        If the scores of a group run the other way, or those of all rows, compared
        within groups. Significant means p < 0.001 divided by the number of rules.

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
    validation.check_length(y.size, s.size, "labels", "scores")
    if w is not None:
        validation.check_total(w, "sample_weight")
    validation.check_scores_and_labels(s, y, None if w is None else w > 0)
    names = as_groups(groups)
    validation.check_length(len(names), s.size, "groups", "scores")
    rows_of = rows_by_group(names)
    scale = 0
    if w is not None:  # drop rows of weight 0, and with them groups
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
    rule_set = RuleSet(
        diagrams, minimum=minimum, increasing=increasing, keep_diagram=keep_diagram
    )
    sizes = {
        name: effective_sizes(y[rows_of[name]], w[rows_of[name]])
        for name, diagram in diagrams.items()
        if w is not None and not diagram.is_exact
    }
    warn_of_inverted_groups(rule_set, diagrams, sizes)
    return rule_set


def warn_of_inverted_groups(
    rule_set: RuleSet,
    diagrams: Mapping[Group, Diagram],
    sizes: Mapping[Group, tuple[float, float]],
) -> None:
    """Warn once about all groups with inverted scores.

    `sizes` are the effective numbers of zeros and ones, if weights are not whole.
    """
    increasing = rule_set.increasing
    # None is the pooled rule: its rows are compared within groups only, since groups
    # with different rates can invert the order of all rows together.
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
