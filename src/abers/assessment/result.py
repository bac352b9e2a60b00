"""Result: what an evaluation has found, and how it is shown."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from abers.drift import drift_verdict
from abers.formatting import as_json, label_as_json, label_name, places
from abers.storage.atomic import replace_text

if TYPE_CHECKING:
    import os

    from abers.assessment.grouped import GroupEvaluation
    from abers.assessment.provenance import Provenance
    from abers.assessment.quality import LossChange, Quality
    from abers.bands import CalibrationBand
    from abers.core.rule import Rule
    from abers.evaluation import BoundWidths
    from abers.validation import FloatArray

HALF = 0.5
MOST_POINTS = 500  # of a curve in a dictionary
NOT_FRESH = (
    "These look like the rows that the rule was fitted to: the numbers flatter. Judge "
    "by rows that it has not seen."
)
PLACES = 5  # of a loss or a difference, at least
BACKWARDS = (
    "The score runs backwards (AUC {:.3f}): higher scores go with fewer ones. Fit with "
    "increasing=False (command line: --descending), or turn the score round."
)
BACKWARDS_FALLING = (
    "The score runs backwards for a rule that falls (AUC {:.3f}): higher scores go "
    "with more ones. Fit without increasing=False (command line: --descending)."
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Evaluation:
    """All that is known about how good a predictor is; printed, a short summary.

    Attributes
    ----------
    name : str or None
        What the user calls it.
    n_rows, n_positives : int
        Rows that have weight, and those of them labelled 1.
    total_weight, effective_rows : float or None
        The sum of the weights, and the number of rows of equal weight that would
        scatter as much. None without weights.
    base_rate : float
        What happened: the mean label.
    before, after : Quality
        What was said before calibration, None if unknown, and after it.
    log_loss, brier_loss : LossChange
        Losses before and after; the difference is paired over rows.
    auc : float
        Of the score if there is one, else of the probabilities judged; NaN with one
        class.
    runs_backwards : bool
        Whether it puts pairs in the wrong order, beyond three standard errors.
    band : CalibrationBand
        Where the calibration curve itself is, at 95 % confidence: over the score if
        there is one rule (over the negated score if the rule falls), else over the
        probabilities after.
    widths : BoundWidths or None
        How far apart the bounds are.
    drift : float or None
        Population stability index of the scores, against those of the calibration;
        None if these are unknown, or rows too few to tell drift from chance.
    drift_by_chance : float or None
        What the index exceeds once in a hundred times if there is no drift.
    overlap : float or None
        Share of the calibration scores that rules keep (percentiles, and the places of
        steps) that is found among the scores judged; None if it tells nothing, say
        because scores are tied.
    judges_own_rows : bool
        Whether the rows look like those that the rule was fitted to.
    freshness : str
        "own rows" if they do; "fresh" if they do not, and would if half of them were;
        "unknown" if nobody can tell: there is no rule, its scores are tied, or the rows
        are too few beside those of the fit.
    groups : tuple of GroupEvaluation
        The worst first; small ones after all others.
    comparison : Comparison or None
        As it was given.
    provenance : Provenance
        Hashes, versions, and what the rules were fitted to.
    rule : Rule or None
        The rule that answered, if it is one.
    score_quantiles : ndarray of shape (101,) or None
        Percentiles of the scores judged.
    positive : object
        The label of a classifier's that counts as 1; None if labels were 0 and 1.
    """

    name: str | None
    n_rows: int
    n_positives: int
    total_weight: float | None
    effective_rows: float | None
    base_rate: float
    before: Quality | None
    after: Quality
    log_loss: LossChange
    brier_loss: LossChange
    auc: float
    runs_backwards: bool
    band: CalibrationBand
    widths: BoundWidths | None
    drift: float | None
    drift_by_chance: float | None
    overlap: float | None
    judges_own_rows: bool
    freshness: str
    groups: tuple[GroupEvaluation, ...]
    comparison: Any
    provenance: Provenance
    rule: Rule | None
    score_quantiles: FloatArray | None
    positive: Any = None

    @property
    def drift_verdict(self) -> str | None:
        """The drift in a word: "none", "some" or "much"; None if it is unknown."""
        if self.drift is None:
            return None
        return drift_verdict(self.drift, by_chance=self.drift_by_chance or 0.0)

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as plain types that JSON knows.

        Returns
        -------
        dict
            Infinity is "inf", what is not a number is None, and no curve has more than
            500 points. The rule is left out; its hash is there.
        """
        found = {
            field.name: as_json(getattr(self, field.name), longest=MOST_POINTS)
            for field in fields(self)
            if field.name not in {"rule", "comparison", "positive"}
        }
        compared = None if self.comparison is None else self.comparison.to_dict()
        return {
            **found,
            "positive": label_as_json(self.positive),
            "drift_verdict": self.drift_verdict,
            "comparison": compared,
        }

    def to_html(
        self, path: str | os.PathLike[str], *, title: str | None = None
    ) -> None:
        """Write one self-contained page; an existing one is replaced at once or not.

        Parameters
        ----------
        path : path-like
            The page to write.
        title : str, default=None
            Its heading.
        """
        from abers.report import evaluation_page

        page: str = evaluation_page(self, title=title)
        replace_text(path, page)

    def __repr__(self) -> str:
        called = "" if self.name is None else f"{self.name!r}, "
        return (
            f"Evaluation({called}{self.n_rows} rows, {self.n_positives} positive, "
            f"log loss {self.log_loss.after:.4g})"
        )

    def __str__(self) -> str:
        title = "Evaluation" if self.name is None else f"Evaluation of {self.name}"
        lines = [f"{what}: {text}" for what, text in self.summary()]
        return "\n".join([title, *lines, *self.warnings()])

    def _repr_html_(self) -> str:
        title = "Evaluation" if self.name is None else f"Evaluation of {self.name}"
        rows = [
            f"<tr><th>{html.escape(what)}</th><td>{html.escape(text)}</td></tr>"
            for what, text in self.summary()
        ]
        warnings = [
            f'<p style="color:#c00"><strong>{html.escape(text)}</strong></p>'
            for text in self.warnings()
        ]
        table = "<table>\n" + "\n".join(rows) + "\n</table>"
        return "\n".join([f"<p>{html.escape(title)}</p>", *warnings, table])

    def summary(self) -> list[tuple[str, str]]:
        """Return a few lines that say the most.

        Returns
        -------
        list of tuple of str
            What it is, and what is known of it.
        """
        said = f"{self.after.said:.4f}"
        if self.before is not None:
            said = f"{self.before.said:.4f} before, {said} after calibration"
        lines = [
            ("rows", self.rows_told()),
            ("said on average", said),
            ("happened", f"{self.base_rate:.4f}"),
            ("log loss", _told(self.log_loss)),
            ("Brier loss", _told(self.brier_loss)),
            ("AUC of the score", f"{self.auc:.4f}"),
        ]
        if self.drift is not None:
            text = f"{self.drift_verdict} (index {self.drift:.3f})"
            lines.append(("score drift", text))
        if self.widths is not None:
            lines.append(("width of the bounds", f"{self.widths.mean:.4f} on average"))
        return lines

    def warnings(self) -> list[str]:
        """Return what makes the numbers doubtful.

        Returns
        -------
        list of str
            Sentences; mostly none.
        """
        said = [NOT_FRESH] if self.judges_own_rows else []
        if self.runs_backwards:
            # What rises is backwards below one half, what falls above it.
            text = BACKWARDS if self.auc < HALF else BACKWARDS_FALLING
            said.append(text.format(self.auc))
        return said

    def rows_told(self) -> str:
        """Say how many rows there are, how many are positive, and what that means.

        Returns
        -------
        str
            A part of a sentence.
        """
        name = label_name(self.positive)
        told = f"{self.n_rows:,}, of them {self.n_positives:,} positive"
        return f"{told} ({name})" if name else told


def _told(change: LossChange) -> str:
    if math.isnan(change.before):
        return f"{change.after:.5f}"
    text = f"{change.before:.5f} before, {change.after:.5f} after"
    if math.isnan(change.difference):
        return text
    error = change.standard_error
    shown = places(error, 2, least=PLACES)
    beside = "" if math.isnan(error) else f" ± {error:.{shown}f}"
    return f"{text} (difference {change.difference:+.{shown}f}{beside})"
