"""Fit: from a table of scores and labels to a rule, within a limit on memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from abers import validation
from abers.choices import ScoreKind
from abers.core.auc import RunningAuc, mann_whitney_of_classes
from abers.core.blocks import fit_rule_from_parts
from abers.core.diagram import Diagram, sorted_classes
from abers.core.fit import (
    rule_of_classes,
    rule_of_diagram,
    warn_of_inverted_rule,
)
from abers.core.own_weight import with_diagram
from abers.core.rule import Rule
from abers.core.rule_set import RuleSet, warn_of_inverted_groups
from abers.errors import InvalidData, InvalidParameter
from abers.losses import row_losses
from abers.tables.collector import collected
from abers.tables.columns import SCORE_TAG, WEIGHT_TAG, check_tags
from abers.tables.files import Scratch
from abers.tables.memory_limit import usual_memory

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from abers.tables.calibrators import CalibratorFit
    from abers.tables.collector import Collected
    from abers.tables.files import Dialect, Progress, StrPath
    from abers.validation import FloatArray

GIGABYTE = 10**9
TAKEN_FOR = {
    "probability": "The scores are taken for probabilities; --kind overrides that.",
    "margin": "The scores are taken for margins; --kind overrides that.",
}


@dataclass(frozen=True, slots=True)
class Losses:
    """Mean losses over rows: natural log loss and plain Brier loss."""

    log_loss: float
    brier_loss: float


@dataclass(frozen=True, slots=True)
class HoldoutResult:
    """A rule's losses on rows that were held out of its fit."""

    n_rows: float  # by weight
    n_positives: float
    rule: Losses
    scores: Losses | None  # of the scores, if they are probabilities


@dataclass(frozen=True, slots=True)
class Fit:
    """A rule, or a rule for each group, and facts about its fit.

    Attributes
    ----------
    rule : Rule or RuleSet
        Equal to the result of `fit_rule` or `fit_rules`, bit for bit.
    n_rows : int
        Rows of the table, before any were left out.
    n_missing : int
        Rows left out because of missing values.
    n_held_out : int
        Rows held out of the fit.
    n_fitted : int
        Rows that the rule was fitted to; those of weight 0 do not count.
    auc : float
        Area under the ROC curve of the calibration rows; below one half, the scores run
        the wrong way.
    on_disk : bool
        Whether the rows did not fit into memory.
    held_out : HoldoutResult or None
        The rule's losses on the held-out rows.
    metadata : dict
        Tags to save with the rule.
    notes : tuple of str
        How labels other than 0 and 1 were interpreted.
    """

    rule: Rule | RuleSet
    n_rows: int
    n_missing: int
    n_held_out: int
    n_fitted: int
    auc: float
    on_disk: bool
    held_out: HoldoutResult | None
    metadata: dict[str, Any]
    notes: tuple[str, ...] = ()

    @property
    def total_weight(self) -> float:
        """Total weight of the calibration rows; their number if all weigh 1."""
        return self._whole.n_rows

    @property
    def n_positives(self) -> float:
        """Total weight of the positive calibration rows."""
        return self._whole.n_positives

    @property
    def _whole(self) -> Rule:
        return self.rule.pooled if isinstance(self.rule, RuleSet) else self.rule

    def save(self, path: StrPath) -> None:
        """Write the rule, with its tags.

        Parameters
        ----------
        path : path-like
            Any name; the usual extension is `.abers`.
        """
        self.rule.save(path, self.metadata)


@dataclass(frozen=True, slots=True)
class Count:
    """A diagram, and facts about the rows that it counts.

    Attributes
    ----------
    diagram : Diagram
        Counts per distinct score.
    n_rows, n_missing : int
        Rows of the tables, and those left out because of missing values; of diagrams
        that were added up, what they count.
    metadata : dict
        Tags to save with it: the columns, and how labels were read.
    notes : tuple of str
        How labels other than 0 and 1 were interpreted.
    """

    diagram: Diagram
    n_rows: int
    n_missing: int
    metadata: dict[str, Any]
    notes: tuple[str, ...] = ()


def fit_table(
    files: StrPath | Sequence[StrPath],
    *,
    score: str | None = None,
    label: str | None = None,
    pos_label: str | None = None,
    weight: str | None = None,
    count: str | None = None,
    positives: str | None = None,
    by: str | None = None,
    minimum: int = 30,
    increasing: bool = True,
    keep_diagram: bool = False,
    holdout: float = 0.0,
    drop_missing: bool = False,
    dialect: Dialect | None = None,
    metadata: Mapping[str, Any] | None = None,
    memory: int | None = None,
    temp: StrPath | None = None,
    progress: Progress | None = None,
) -> Fit:
    r"""Fit a rule to files of scores and labels, of any size.

    Parameters
    ----------
    files : path-like or sequence of path-like
        Tables, such as CSV or Parquet, compressed or not; folders, patterns, URIs of
        object stores; `-` for standard input. All must have the same columns; folders
        named key=value add one.
    score, label : str, default=None
        Columns; by default found by their usual names, if only one matches. A dot
        selects a field of a struct, as in model.score.
    pos_label : str, default=None
        The positive label, if labels are not 0 and 1, no and yes, false and true, or
        negative and positive.
    weight : str, default=None
        Column of weights.
    count, positives : str, default=None
        Columns of a table of counts, instead of label and weight: the number of rows at
        each score, and of positive rows.
    by : str, default=None
        Column of groups: fit a rule to each.
    minimum : int, default=30
        Smallest number of negatives and of positives for a group's own rule.
    increasing : bool, default=True
        Whether a higher score means a higher probability.
    keep_diagram : bool, default=False
        Whether the rule, and its file, keep the weights at each distinct score, all of
        which are then held in memory.
    holdout : float, default=0.0
        Share of rows to evaluate the rule on instead of fitting it. The choice depends
        only on row numbers in the table.
    drop_missing : bool, default=False
        Whether to leave out rows with missing values, which otherwise raise an error.
    dialect : Dialect, default=None
        How CSV and TSV are written: delimiter, decimal mark, encoding.
    metadata : mapping, default=None
        Tags to save with the rule.
    memory : int, default=None
        Bytes for the rows; None is 10**9, or half of the container's memory if that is
        less. Rows that do not fit are kept on disk. The rule itself and Python need
        memory in addition.
    temp : path-like, default=None
        Folder for temporary files; None is the system's.
    progress : callable, default=None
        Called with the number of rows read, and the total or None.

    Returns
    -------
    Fit
        The rule, with facts about its fit.

    Warns
    -----
    InvertedScoresWarning
        If the scores run the other way, significantly (p < 0.001 divided by the number
        of rules). Groups with real weights are not tested.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from abers.tables import fit_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "scores.csv")
    ...     _ = path.write_text("score,label\n1,0\n2,1\n3,0\n")
    ...     fit = fit_table(path)
    >>> fit.rule.bounds([2])
    array([[0.33333333, 0.66666667]])
    >>> fit.auc  # one (0, 1) pair in order, the other not
    0.5
    """
    if memory is None:
        memory = usual_memory(GIGABYTE)
    _check_options(holdout, memory, metadata)
    with Scratch(temp) as scratch:
        read = collected(
            files,
            scratch,
            memory=memory,
            score=score,
            label=label,
            pos_label=pos_label,
            weight=weight,
            count=count,
            positives=positives,
            by=by,
            holdout=holdout,
            drop_missing=drop_missing,
            dialect=dialect,
            progress=progress,
        )
        return _fit_of(
            read,
            metadata,
            minimum=minimum,
            increasing=validation.as_flag(increasing, "increasing"),
            keep_diagram=validation.as_flag(keep_diagram, "keep_diagram"),
        )


def fit_column(
    files: StrPath | Sequence[StrPath],
    *,
    stack: bool = False,
    kind: ScoreKind | None = None,
    metadata: Mapping[str, Any] | None = None,
    memory: int | None = None,
    temp: StrPath | None = None,
    **reading: Any,
) -> Fit | CalibratorFit:
    """Fit a stacked calibrator to a column of probabilities, a rule to other scores.

    Parameters
    ----------
    files : path-like or sequence of path-like
        As for `fit_table`.
    stack : bool, default=False
        Whether to stack other scores than probabilities, too.
    kind : {"probability", "log-odds", "margin"}, default=None
        What the scores are; None: probabilities, if all lie between 0 and 1, else
        margins.
    metadata : mapping, default=None
        Tags to save with what is fitted.
    memory : int, default=None
        As for `fit_table`. What is stacked must fit into it.
    temp : path-like, default=None
        As for `fit_table`.
    **reading
        The columns, the dialect and so on, as for `fit_table`.

    Returns
    -------
    Fit or CalibratorFit
        What was fitted, with facts about its fit.
    """
    if kind is not None:
        validation.check_choice(kind, get_args(ScoreKind), "kind")
    memory = usual_memory(GIGABYTE) if memory is None else memory
    _check_options(0.0, memory, metadata)
    with Scratch(temp) as scratch:
        read = collected(files, scratch, memory=memory, **reading)
        if kind is None:
            kind = "probability" if read.kept.are_probabilities else "margin"
            note = TAKEN_FOR[kind] if stack or kind == "probability" else None
            read.notes += () if note is None else (note,)
        if not stack and kind != "probability":
            return _fit_of(read, metadata)
        return _stacked_of(read, kind, metadata)


def count_table(
    files: StrPath | Sequence[StrPath],
    *,
    metadata: Mapping[str, Any] | None = None,
    memory: int | None = None,
    temp: StrPath | None = None,
    **reading: Any,
) -> Count:
    """Count tables to a diagram, or add diagrams up.

    Parameters
    ----------
    files : path-like or sequence of path-like
        As for `fit_table`.
    metadata : mapping, default=None
        Tags to save with the diagram.
    memory : int, default=None
        As for `fit_table`; the diagram itself needs memory in addition.
    temp : path-like, default=None
        As for `fit_table`.
    **reading
        The columns, the dialect and so on, as for `fit_table`.

    Returns
    -------
    Count
        The diagram, with facts about its rows.
    """
    memory = usual_memory(GIGABYTE) if memory is None else memory
    _check_options(0.0, memory, metadata)
    with Scratch(temp) as scratch:
        read = collected(files, scratch, memory=memory, **reading)
        read.kept.count()
        diagram = Diagram.sum(read.kept.parts())
    weight = {} if read.weight is None else {WEIGHT_TAG: read.weight}
    return Count(
        diagram=diagram,
        n_rows=read.n_rows,
        n_missing=read.n_missing,
        metadata={**(metadata or {}), **read.tags, **weight},
        notes=read.notes,
    )


def _stacked_of(
    read: Collected, kind: ScoreKind, metadata: Mapping[str, Any] | None
) -> CalibratorFit:
    """Stack the collected rows, all of which must fit into memory."""
    from abers.core.stacked_fit import fit_stacked_rule, fit_stacked_rule_from_diagram
    from abers.tables.calibrators import CalibratorFit

    columns = () if read.score is None else (read.score,)
    rows = read.kept.take_weighted_rows() if read.weight is not None else None
    if rows is None:
        read.kept.count()
        if read.kept.is_on_disk:
            msg = (
                "a stacked calibrator must be fitted in memory; the distinct scores of "
                f"{read.n_kept:,} rows need more than --memory. Allow more, or fit a "
                "rule, which has no such limit, with --method venn-abers."
            )
            raise InvalidData(msg)
        diagram = Diagram.sum(read.kept.parts())
        made = fit_stacked_rule_from_diagram(diagram, kind=kind)
    else:
        made = fit_stacked_rule(
            rows.scores, rows.positives > 0, kind=kind, sample_weight=rows.counts
        )
    return CalibratorFit(
        calibrator=made.with_columns(columns),
        method="stacked",
        n_rows=read.n_rows,
        n_missing=read.n_missing,
        n_fitted=read.n_kept,
        n_by_class={
            label: int(n) if n.is_integer() else n
            for label, n in enumerate(read.n_by_label.tolist())
        },
        notes=read.notes,
        metadata={
            **(metadata or {}),
            **{tag: own for tag, own in read.tags.items() if tag != SCORE_TAG},
        },
    )


def _fit_of(
    read: Collected,
    metadata: Mapping[str, Any] | None,
    *,
    minimum: int = 30,
    increasing: bool = True,
    keep_diagram: bool = False,
) -> Fit:
    """Fit a rule, or rules for groups, to the collected rows."""
    rule, auc, scale = _fitted(
        read, minimum=minimum, increasing=increasing, keep_diagram=keep_diagram
    )
    if isinstance(rule, Rule):
        warn_of_inverted_rule(rule, auc, read.effective_sizes if scale else None)
    return Fit(
        rule=rule,
        n_rows=read.n_rows,
        n_missing=read.n_missing,
        n_held_out=read.n_held_out,
        n_fitted=read.n_kept,
        auc=auc if increasing else 1 - auc,
        on_disk=read.kept.is_on_disk,
        held_out=_evaluated(rule, read) if read.n_held_out else None,
        metadata=dict(metadata or {}) | read.tags,
        notes=read.notes,
    )


def _fitted(
    read: Collected, *, minimum: int, increasing: bool, keep_diagram: bool
) -> tuple[Rule | RuleSet, float, int]:
    """Fit to the collected rows, by group if groups have names, and warn about groups.

    Also returns the AUC, and the scale of the weights: 0 if they are whole.
    """
    auc, collector, names = RunningAuc(), read.kept, read.groups
    # The variance of weights within a cell is not collected.
    has_cells = read.weight is None
    if names is not None:
        scale = collector.count()
        diagrams = {names[code]: d for code, d in collector.by_group().items()}
        rule_set = RuleSet(
            diagrams, minimum=minimum, increasing=increasing, keep_diagram=keep_diagram
        )
        warn_of_inverted_groups(rule_set, diagrams, {})
        Diagram.sum(auc.watch(collector.parts()))
        return rule_set, auc.value, scale
    if not keep_diagram and (rows := collector.take_rows()) is not None:
        # All rows are in memory, and need not be counted first.
        classes = sorted_classes(rows.scores, rows.positives)
        rule = rule_of_classes(classes, increasing=increasing)
        return rule, mann_whitney_of_classes(classes).auc, 0
    scale = collector.count()
    if keep_diagram or not collector.is_on_disk:
        diagram = Diagram.sum(auc.watch(collector.parts()))
        rule = rule_of_diagram(diagram, increasing=increasing)
        rule = rule if has_cells else rule.with_cells(None)
        return with_diagram(rule, diagram) if keep_diagram else rule, auc.value, scale
    passes: Iterator[Any] = iter([auc.watch, iter])  # the first pass counts pairs
    rule = fit_rule_from_parts(
        lambda: next(passes)(collector.parts()), scale=scale, increasing=increasing
    )
    return rule if has_cells else rule.with_cells(None), auc.value, scale


def _check_options(
    holdout: float, memory: int, metadata: Mapping[str, Any] | None
) -> None:
    if not 0 <= holdout < 1:
        msg = f"holdout must be a share from 0 to below 1; got {holdout!r}."
        raise InvalidParameter(msg)
    if memory <= 0:
        msg = f"memory must be a positive number of bytes; got {memory!r}."
        raise InvalidParameter(msg)
    check_tags(metadata)


def _evaluated(rule: Rule | RuleSet, read: Collected) -> HoldoutResult:
    """Evaluate a rule, or the rule of each group, on the held-out rows."""
    held, names = read.held, read.groups
    held.count()
    pairs: Iterable[tuple[Rule, Diagram]]
    if isinstance(rule, RuleSet):
        pairs = ((rule[(names or [])[c]], own) for c, own in held.by_group().items())
    else:
        pairs = ((rule, part) for part in held.parts())
    weight, positives, are_probabilities = 0.0, 0.0, True
    of_rule, of_scores = np.zeros(2), np.zeros(2)
    for own_rule, part in pairs:
        weight += float(part.n_rows)
        positives += float(part.n_positives)
        of_rule += _losses(part, own_rule.probability(part.scores))
        are_probabilities &= bool(part.scores[0] >= 0 and part.scores[-1] <= 1)
        if are_probabilities:
            of_scores += _losses(part, part.scores)
    return HoldoutResult(
        n_rows=weight,
        n_positives=positives,
        rule=Losses(*(of_rule / weight).tolist()),
        scores=Losses(*(of_scores / weight).tolist()) if are_probabilities else None,
    )


def _losses(part: Diagram, p: FloatArray) -> FloatArray:
    """Sum the losses of a probability over rows."""
    each = (
        row_losses(p, part.negatives, part.positives, loss) for loss in ("log", "brier")
    )
    return np.array([losses.sum() for losses in each])
