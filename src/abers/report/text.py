"""Text: an evaluation in sentences and tables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from abers.core.inverted import inverted_sentence
from abers.core.prior import PRIOR_TAG
from abers.evaluation.calibration_tests import mean_difference_p
from abers.evaluation.in_sample import IN_SAMPLE
from abers.formatting import (
    MINUS,
    PRIOR_NAMES,
    TAG_NAMES,
    Printout,
    Table,
    change,
    cost,
    count,
    group_name,
    label_name,
    number,
    p_value,
    percent,
    percent_points,
    plus_minus,
    shorten,
)
from abers.report import comparison_text
from abers.report.document import (
    LONGEST_CELL,
    MOST_ROWS,
    Document,
    Section,
    cut,
    dated,
)
from abers.thresholds import FEW_LABELS, SIGNIFICANCE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from abers.evaluation.discrimination import Estimate
    from abers.evaluation.evaluate import Challenger, Evaluation
    from abers.evaluation.groups import PartEvaluation
    from abers.evaluation.metrics import PairedChange

    Writers = dict[str, Callable[[Any], str]]  # by name of the column

MOST_PRINTED = 10  # in a printed summary
MOST_ERRORS = 10
PLACES = 5  # of a printed loss, at least
SHOWN_THRESHOLDS = (5, 10, 20, 30, 50)  # in hundredths, like the curves
DISCRIMINATION = {"AUC": "auc", "Gini": "gini", "KS": "ks"}
SCOPE = "This applies to cases from the same source as these rows."
DRIFTED = {
    "stable": "The scores have been stable since calibration",
    "moderate": "The scores have drifted moderately since calibration",
    "large": "The scores have drifted strongly since calibration: refit",
}
ADJUSTED = (
    "The rule was adjusted to another base rate than that of its calibration rows, so "
    "its bounds have no guarantee."
)


RANKING_NOTE = (
    "The AUC is the share of pairs of a positive and a negative row that are in order; "
    "Gini = 2 AUC \N{MINUS SIGN} 1. KS is the largest distance between the score "
    "distributions of positives and negatives. The intervals of AUC and Gini are the "
    "wider of DeLong's and Newcombe's at each end, that of KS is Kolmogorov's band. "
    "Calibration makes ties, so these can change a little."
)
LOSS_NOTE = (
    "Loss = miscalibration \N{MINUS SIGN} discrimination + uncertainty. Miscalibration "
    "is the most that recalibration on these rows could gain."
)
CLASSES_NOTE = (
    "Log loss is the mean of \N{MINUS SIGN}log of the probability of the class that "
    "was observed, natural logarithm. The Brier loss adds up the squared differences "
    "over all classes, so it lies between 0 and 2, as in scikit-learn. The confidence "
    "is the probability of the most probable class; the top-label ECE compares it with "
    "how often that class is right. The classwise ECE is the mean of the ECE of each "
    "class against the rest; with many classes most probabilities are near 0, and so "
    "is the classwise ECE."
)
CALIBRATION_NOTE = (
    "The ECE has 10 bins of equal width: it depends on them, and is above 0 even for "
    "perfect probabilities. The smooth ECE has no bins. Compare either only between "
    "columns of equal size. Intercept and slope are those of Cox: a positive intercept "
    "means that predictions are too low, a slope below 1 that they are too extreme. "
    "The calibration test sees every error that a monotone map would correct; its "
    "p-value is at least 1/201."
)
BAND_NOTE = (
    "A mean prediction agrees if it lies in the 95 % interval of the observed rate "
    "(Clopper and Pearson). Each interval is for one band: of ten right bands, at "
    "least one disagrees in up to 40 % of reports. The calibration test is for all "
    "rows at once."
)
CHALLENGER_NOTE = (
    "Both predict the same rows. Differences are paired over rows, ± one standard "
    "error; that of the AUC is DeLong's for two correlated curves. Below the "
    "differences each is shown alone. The rest of this page is about the champion."
)
DECISIONS_NOTE = (
    "Acting where the probability is at least a threshold t means that one false "
    "positive costs t / (1 \N{MINUS SIGN} t) times as much as one false negative. With "
    "costs FP and FN the threshold is FP / (FP + FN). Read the figures at the "
    "thresholds that your costs could have; ignore the others."
)
BOUNDS_ARE = (
    "The bounds of a case are the estimated probability of label 1 after adding the "
    "case to the calibration data with label 0 (lower) and with label 1 (upper). The "
    "true label is one of the two. They show how much a single case could move the "
    "answer. They are not a confidence interval, and they shrink to a point as data "
    "grow."
)
MERGED = (
    "Not guaranteed: that the single probability between the bounds is calibrated. "
    "This page shows how close it was on these rows."
)
ELSEWHERE = (
    "Not guaranteed: anything about single cases, about groups that were not "
    "calibrated by themselves, or about cases from another source or time."
)
RANKING_KEPT = (
    "A single rule never reverses the order of two cases, though it can tie them. "
    "Cross predictors and rule sets may order cases differently than the scores do."
)
NO_BOUNDS = (
    "These are probabilities without bounds: nothing is guaranteed about them. This "
    "page shows how they did on these rows, and nothing about cases from another "
    "source or time."
)


# --- the document ---


def document(
    evaluation: Evaluation,
    *,
    title: str | None = None,
    facts: Mapping[str, object] | None = None,
) -> Document:
    """Describe an evaluation; the page and Markdown show it."""
    named = "" if evaluation.name is None else f": {cut(evaluation.name)}"
    return Document(
        f"Calibration report{named}" if title is None else cut(title),
        warnings(evaluation),
        headline(evaluation),
        summary(evaluation),
        [
            *_challenger(evaluation),
            _quality(evaluation),
            Section("Figures", figures="figures"),
            _bands(evaluation),
            *_classes(evaluation),
            *_decisions(evaluation),
            *_groups(evaluation),
            *_guarantees(evaluation),
        ],
        dated(facts, source_facts(evaluation)),
    )


def _quality(evaluation: Evaluation) -> Section:
    """Show losses, calibration and discrimination, and how methods compare."""
    tables, notes = quality_tables(evaluation), [CLASSES_NOTE, CALIBRATION_NOTE]
    if _is_binary(evaluation):
        notes = [RANKING_NOTE, LOSS_NOTE, CALIBRATION_NOTE]
    if (comparison := evaluation.comparison) is not None:
        tables = [*comparison_text.tables(comparison), *tables]
        notes = [comparison.how, *comparison_text.infinite_note(comparison), *notes]
    if (before := evaluation.calibration.before_is) is not None:
        notes.insert(0, f"Before: {before}.")
    return Section(heading(evaluation), tables=tables, notes=notes)


def _challenger(evaluation: Evaluation) -> list[Section]:
    if (challenger := evaluation.challenger) is None:
        return []
    table = challenger_table(evaluation, challenger)
    return [
        Section("Champion and challenger", [], "challenger", [table], [CHALLENGER_NOTE])
    ]


def _bands(evaluation: Evaluation) -> Section:
    over = "score" if evaluation.rule is not None else "probability"
    if not _is_binary(evaluation):
        over = "confidence"
    return Section(
        f"Bands of the {over}", [], "", [band_table(evaluation)], [BAND_NOTE]
    )


def _classes(evaluation: Evaluation) -> list[Section]:
    if not evaluation.by_class:
        return []
    errors = error_table(evaluation)
    tables = [class_table(evaluation), *([] if errors is None else [errors])]
    note = class_note(evaluation)
    return [Section("Classes, largest |z| first", tables=tables, notes=[note])]


def _decisions(evaluation: Evaluation) -> list[Section]:
    if (costs := cost_table(evaluation)) is None:
        return []
    return [Section("Decisions", [DECISIONS_NOTE], "decisions", [costs])]


def _groups(evaluation: Evaluation) -> list[Section]:
    if not evaluation.groups:
        return []
    columns = dict.fromkeys(group.column for group in evaluation.groups)
    return [
        Section(
            "Groups, largest |z| first",
            figures="groups",
            tables=[group_table(evaluation, column=column) for column in columns],
            notes=[group_note(evaluation)],
        )
    ]


def _guarantees(evaluation: Evaluation) -> list[Section]:
    title = "Guarantees and limits"
    if evaluation.guarantee is None:
        return [Section(title, [NO_BOUNDS])]
    points = [str(evaluation.guarantee), MERGED, ELSEWHERE]
    if not _is_binary(evaluation):
        return [Section(title, points=points)]
    bounds = Section("What the bounds are", [BOUNDS_ARE, interval_note(evaluation)])
    return [bounds, Section(title, points=[*points, RANKING_KEPT])]


# --- the subject of the numbers: the class that is shown, or the top label ---


def _is_binary(evaluation: Evaluation) -> bool:
    return evaluation.n_positives is not None


def _mean_name(evaluation: Evaluation) -> str:
    return "mean prediction" if _is_binary(evaluation) else "mean confidence"


def _rate_name(evaluation: Evaluation) -> str:
    return "observed rate" if _is_binary(evaluation) else "accuracy"


def _error_name(evaluation: Evaluation) -> str:
    return "ECE" if _is_binary(evaluation) else "top-label ECE"


# --- printed ---


def printout(evaluation: Evaluation) -> Printout:
    """Return the printed form of an evaluation."""
    name = evaluation.name
    tables = []
    if evaluation.by_class:
        tables.append(class_table(evaluation, brief=True))
    if evaluation.groups:
        tables.append(group_table(evaluation, brief=True))
    return Printout(
        "Evaluation" if name is None else f"Evaluation of {name}",
        main_results(evaluation),
        tables,
        warnings(evaluation, brief=True),
        headline(evaluation),
    )


def main_results(evaluation: Evaluation) -> list[tuple[str, str]]:
    """Return names and values of the main results."""
    calibration, ranking = evaluation.calibration, evaluation.ranking
    before, after = calibration.before, calibration.after

    lines = [
        ("rows", f"{row_counts(evaluation)}{_origin(evaluation)}"),
        ("log loss", _change_text(evaluation.losses.log)),
        ("Brier loss", _change_text(evaluation.losses.brier)),
        (
            _mean_name(evaluation),
            _both(
                math.nan if before is None else before.mean_prediction,
                after.mean_prediction,
            ),
        ),
    ]
    if ranking.accuracy is not None:
        lines.append(("accuracy", _change_text(ranking.accuracy, least=4)))
    else:
        lines.append(("observed rate", f"{calibration.observed_rate:.4f}"))
    lines.append(
        (
            _error_name(evaluation),
            _both(
                math.nan if before is None else before.calibration_error,
                after.calibration_error,
            ),
        )
    )
    if _is_binary(evaluation):
        lines += _discrimination_lines(evaluation)
    else:
        errors = calibration.classwise_error_before, calibration.classwise_error
        lines.append(("classwise ECE", _both(*errors)))
    if (drift := evaluation.drift) is not None:
        lines.append(("score drift", f"{drift.level} (PSI {drift.psi:.3f})"))
    if evaluation.widths is not None:
        lines.append(("mean width of bounds", f"{evaluation.widths.mean:.4f}"))
    if (wide := evaluation.interval_widths) is not None:
        lines.append(("mean width of 90 % intervals", f"{wide.mean:.4f}"))
    return lines


def _both(before: float, after: float) -> str:
    if math.isnan(before):
        return f"{after:.4f}"
    return f"{before:.4f} before, {after:.4f} after calibration"


def _discrimination_lines(evaluation: Evaluation) -> list[tuple[str, str]]:
    ranking = evaluation.ranking
    if math.isnan(ranking.auc):
        return [("AUC", "undefined (one class)")]
    lines = []
    for name, kind in DISCRIMINATION.items():
        after = getattr(ranking.after, kind)
        before = math.nan
        if ranking.before is not None:
            before = getattr(ranking.before, kind).value
        interval = f"(95 % interval {after.lower:.4f} to {after.upper:.4f})"
        lines.append((name, f"{_both(before, after.value)} {interval}"))
    return lines


def row_counts(evaluation: Evaluation) -> str:
    """Count the rows, and positives or classes: "400 (42 positive)"."""
    if evaluation.n_positives is None:
        return f"{evaluation.n_rows:,} of {len(evaluation.classes)} classes"
    name = label_name(evaluation.pos_label)
    meaning = f", that is {name}" if name else ""
    return f"{evaluation.n_rows:,} ({evaluation.n_positives:,} positive{meaning})"


def _origin(evaluation: Evaluation) -> str:
    """Describe, in a printed summary, whether the rows were used for the fit."""
    if evaluation.in_sample:
        return ", in-sample"
    if evaluation.in_sample is False:
        return ", held-out"
    return ", held-out (as stated by the user)" if evaluation.held_out else ""


def _change_text(loss: PairedChange, *, least: int = PLACES) -> str:
    """Describe a change, with at least this many decimal places."""
    after = number(loss.after, least)
    if math.isnan(loss.before):
        return after
    text = f"{number(loss.before, least)} before, {after} after"
    if math.isnan(loss.difference):
        return text
    difference = change(loss.difference, loss.standard_error, least=least)
    return f"{text} (difference {difference})"


# --- the headline ---


def headline(evaluation: Evaluation) -> str:
    """Return one line on whether calibration helped, and what remains to do."""
    if evaluation.in_sample:
        return "These rows were used for the fit: they cannot show how good it is."
    return f"{_helped(evaluation)}; {_left(evaluation)}."


def _helped(evaluation: Evaluation) -> str:
    """Return whether calibration helped, by the log loss."""
    loss = evaluation.losses.log
    if evaluation.losses.before is None:
        return f"Log loss {cost(loss.after)} (nothing before to compare with)"
    losses = f"log loss {cost(loss.before)} → {cost(loss.after)}"
    if math.isnan(loss.difference):
        return "Log loss is infinite before and after"
    if math.isfinite(loss.difference):
        losses += f" ({change(loss.difference, loss.standard_error)})"
    if not loss.is_significant:
        return f"No significant difference: {losses}"
    helped = "helped" if loss.difference < 0 else "did harm"
    return f"Calibration {helped}: {losses}"


def _left(evaluation: Evaluation) -> str:
    """Return whether the probabilities are miscalibrated, overall or in groups."""
    p = evaluation.calibration.after.test.p_value
    # With more than two classes, only the top label is tested.
    what = "" if _is_binary(evaluation) else " of the most probable class"
    left = "" if evaluation.losses.before is None else " left"
    if p < SIGNIFICANCE:
        return f"significant miscalibration{what}{left} (p {_p_relation(p)})"
    if (p_mean := _mean_p(evaluation)) < SIGNIFICANCE:
        return f"the {_mean_name(evaluation)} is wrong (p {_p_relation(p_mean)})"
    text = f"no significant miscalibration{what}{left} (p {_p_relation(p)})"
    large, off = _significant(evaluation.groups)
    if off:
        return f"{text} overall, but in {len(off)} of {count(len(large), 'group')}"
    return f"{text}, but there are few rows" if _few_rows(evaluation) else text


# --- sentences of the page ---


def summary(evaluation: Evaluation) -> list[str]:
    """Return the sentences above all tables."""
    return [
        _means(evaluation),
        _losses(evaluation),
        _scope(evaluation),
        *_worst_group(evaluation),
        *_challenged(evaluation),
    ]


def _means(evaluation: Evaluation) -> str:
    calibration = evaluation.calibration
    before, after = calibration.before, calibration.after
    rows = _rows(evaluation)
    rate = percent(calibration.observed_rate)
    mean = f"{percent(after.mean_prediction)} ({_mean_test(evaluation)})"
    if (accuracy := evaluation.ranking.accuracy) is not None:
        rows += f" of {len(evaluation.classes)} classes"
        if before is None:
            return (
                f"On {rows} the most probable class was right in {rate}; its "
                f"mean probability was {mean}."
            )
        return (
            f"On {rows} the most probable class was right in "
            f"{percent(accuracy.before)} before calibration, where its mean "
            f"probability was {percent(before.mean_prediction)}. After calibration it "
            f"is right in {rate}, and its mean probability is {mean}."
        )
    if name := label_name(evaluation.pos_label):
        rows += f", {evaluation.n_positives:,} of them {name},"
    if before is None:
        return f"On {rows} the mean prediction was {mean} and the observed rate {rate}."
    return (
        f"On {rows} the mean prediction before calibration was "
        f"{percent(before.mean_prediction)} and the observed rate {rate}. After "
        f"calibration the mean prediction is {mean}."
    )


def _rows(evaluation: Evaluation) -> str:
    """Count the rows, and say whether they were used for fitting."""
    n_rows = f"{evaluation.n_rows:,}"
    rows = "row" if evaluation.n_rows == 1 else "rows"
    if evaluation.in_sample:
        return f"{n_rows} in-sample {rows}"
    if evaluation.in_sample is False:
        return f"{n_rows} held-out {rows}"
    if evaluation.held_out:
        return f"{n_rows} {rows} (held out, as stated by the user)"
    return f"{n_rows} {rows} (whether they were used for fitting is unknown)"


def _mean_p(evaluation: Evaluation) -> float:
    """Test the mean prediction against the observed rate."""
    column = evaluation.calibration.after
    return mean_difference_p(
        column.mean_prediction - evaluation.calibration.observed_rate,
        column.standard_error,
        n_rows=evaluation.n_rows,
        n_fitted=evaluation.provenance.rule_rows,
    )


def _mean_test(evaluation: Evaluation) -> str:
    """Show the test of the mean prediction."""
    p = _mean_p(evaluation)
    return f"p {_p_relation(p)}, {_significance(is_significant=p < SIGNIFICANCE)}"


def _p_relation(p: float) -> str:
    """Write a p-value with its sign: "< 0.001", "= 0.031"."""
    shown = p_value(p)
    return f"< {shown[1:]}" if shown.startswith("<") else f"= {shown}"


def _significance(*, is_significant: bool) -> str:
    return "significant" if is_significant else "not significant"


def _losses(evaluation: Evaluation) -> str:
    """Return the losses, before and after if both are known."""
    losses = evaluation.losses
    if losses.before is None:
        return (
            f"Log loss {cost(losses.log.after)}, Brier loss {cost(losses.brier.after)} "
            "(no uncalibrated probabilities were given)."
        )
    return (
        f"{_loss_sentence('Log loss', losses.log)} "
        f"{_loss_sentence('Brier loss', losses.brier)}"
    )


def _loss_sentence(name: str, loss: PairedChange) -> str:
    difference = change(loss.difference, loss.standard_error)
    certainty = _certainty(loss)
    trend = f"({difference}, {certainty})" if certainty else f"({difference})"
    if math.isnan(loss.difference):
        trend = "(both infinite: a label was observed that had probability 0)"
    return f"{name} {cost(loss.before)} before, {cost(loss.after)} after {trend}."


def _certainty(loss: PairedChange) -> str:
    if math.isnan(loss.standard_error) and not math.isinf(loss.difference):
        return ""
    if not loss.is_significant:
        return "not significant"
    return "better" if loss.difference < 0 else "worse"


def _scope(evaluation: Evaluation) -> str:
    if (drift := evaluation.drift) is None:
        return f"{SCOPE} Whether scores have drifted since calibration is unknown."
    return f"{SCOPE} {DRIFTED[drift.level]} (PSI {number(drift.psi, 3)})."


def _worst_group(evaluation: Evaluation) -> list[str]:
    """Name the group whose mean prediction is most significantly wrong, if any is."""
    large, off = _significant(evaluation.groups)
    if not off:
        return []
    worst = off[0]
    text = (
        f"In {len(off)} of {count(len(large), 'group')} the {_mean_name(evaluation)} "
        f"differs significantly from the {_rate_name(evaluation)}, most in "
        f"{cut(worst.label)}: {percent(worst.mean_prediction)} against "
        f"{percent(worst.observed_rate)}."
    )
    return [text]


def _challenged(evaluation: Evaluation) -> list[str]:
    """Return the sentence that compares the challenger with the champion."""
    if (challenger := evaluation.challenger) is None:
        return []
    loss = challenger.log
    losses = f"log loss {cost(loss.before)} → {cost(loss.after)}"
    if math.isnan(loss.difference):
        return ["The challenger and the champion both have an infinite log loss."]
    losses += f" ({change(loss.difference, loss.standard_error)})"
    if not loss.is_significant:
        return [f"The challenger does not differ significantly: {losses}."]
    better = "better" if loss.difference < 0 else "worse"
    return [f"The challenger is {better}: {losses}."]


def _significant(
    parts: Sequence[PartEvaluation],
) -> tuple[list[PartEvaluation], list[PartEvaluation]]:
    """Return the parts with enough rows, and those that are significantly wrong."""
    large = [part for part in parts if not part.small]
    return large, [part for part in large if part.p_value < SIGNIFICANCE]


def warnings(evaluation: Evaluation, *, brief: bool = False) -> list[str]:
    """List reasons to doubt the results; if brief, only those that invalidate them."""
    sentences = [IN_SAMPLE] if evaluation.in_sample else []
    if evaluation.ranking.is_inverted:
        sentences.append(inverted_sentence(evaluation.ranking.auc))
    if PRIOR_TAG in evaluation.provenance.tags:
        sentences.append(ADJUSTED)
    band, rule = evaluation.calibration.band, evaluation.rule
    if band is not None and band.is_empty:
        sentences.append(band.empty_sentence(rising=rule is None or rule.increasing))
    return sentences if brief else sentences + _few_rows(evaluation)


def _few_rows(evaluation: Evaluation) -> list[str]:
    """Warn of classes with too few rows."""
    read = "read the results with their standard errors."
    if evaluation.n_positives is None:
        few = sum(each.n_rows < FEW_LABELS for each in evaluation.by_class)
        have = "has" if few == 1 else "have"
        text = (
            f"{few:,} of {len(evaluation.classes)} classes {have} fewer than "
            f"{FEW_LABELS} rows here: {read}"
        )
        return [text] if few else []
    negatives = evaluation.n_rows - evaluation.n_positives
    few = min(evaluation.n_positives, negatives)
    if few >= FEW_LABELS:
        return []
    kind = "positive" if evaluation.n_positives == few else "negative"
    some = f"only {count(few, kind)}" if few else f"no {kind}s"
    return [f"There {'is' if few == 1 else 'are'} {some} here: {read}"]


def group_note(evaluation: Evaluation) -> str:
    """Count the groups whose mean prediction is significantly wrong."""
    large, off = _significant(evaluation.groups)
    return (
        f"In {len(off)} of {count(len(large), 'group')} with enough rows the "
        f"{_mean_name(evaluation)} differs significantly from the "
        f"{_rate_name(evaluation)} (p < {SIGNIFICANCE}, corrected for the number of "
        "groups by Holm's method)."
    )


def class_note(evaluation: Evaluation) -> str:
    """Count the classes whose mean prediction is significantly wrong."""
    large, off = _significant(evaluation.by_class)
    return (
        f"In {len(off)} of {len(large):,} classes with enough rows the mean prediction "
        f"differs significantly from the observed rate (p < {SIGNIFICANCE}, corrected "
        "for the number of classes by Holm's method). Each class is set against the "
        "rest. Recall is the share of its rows for which it is the most probable "
        "class, precision the share of rows with this most probable class that are of "
        "it."
    )


def heading(evaluation: Evaluation) -> str:
    """Name the section of the tables."""
    if evaluation.comparison is not None:
        return "Methods compared"
    has_before = evaluation.calibration.before is not None
    return "Before and after" if has_before else "Losses and calibration"


def interval_note(evaluation: Evaluation) -> str:
    """Return a note on how well the calibration rows determine the curve."""
    if (wide := evaluation.interval_widths) is None:
        return (
            "The uncertainty of the calibration curve itself is another question, "
            "which the calibration band answers."
        )
    return (
        "How well the calibration curve is known is another question. On these rows "
        "the 90 % confidence interval of the probability, given the score of a case, "
        f"is {percent(wide.mean)} wide on average and {percent(wide.maximum)} at most, "
        "from the calibration rows alone; it assumes that the probability runs with "
        "the score. The calibration band is for all scores at once."
    )


# --- tables of the page ---


def quality_tables(evaluation: Evaluation) -> list[Table]:
    """Show discrimination, losses and calibration, before and after."""
    tables = [_loss_table(evaluation), _calibration_table(evaluation)]
    if _is_binary(evaluation):
        tables.insert(0, _discrimination_table(evaluation))
    return tables


def _before_and_after(before: Any, after: Any) -> list[tuple[str, Any]]:
    """Return the results before and after calibration, if known, with their names."""
    if before is None:
        return [("the probabilities", after)]
    return [("before", before), ("after", after)]


def _discrimination_table(evaluation: Evaluation) -> Table:
    def shown(estimate: Estimate) -> str:
        value, *ends = map(number, (estimate.value, estimate.lower, estimate.upper))
        return value if value == "-" else f"{value} ({' to '.join(ends)})"

    return Table.of(
        _before_and_after(evaluation.ranking.before, evaluation.ranking.after),
        {"": lambda row: row[0]}
        | {
            name: lambda row, kind=kind: shown(getattr(row[1], kind))
            for name, kind in DISCRIMINATION.items()
        },
        caption="Discrimination, with 95 % intervals; Gini = 2 AUC \N{MINUS SIGN} 1",
    )


def _loss_table(evaluation: Evaluation) -> Table:
    losses = evaluation.losses
    when = _before_and_after(losses.before, losses.after)
    rows = []
    for name, kind in (("log loss", "log"), ("Brier loss", "brier")):
        for time, parts in when:
            mean = getattr(losses, kind)
            row = [
                name if losses.before is None else f"{name}, {time}",
                cost(mean.before if time == "before" else mean.after),
                percent(getattr(parts, f"{kind}_skill")),
            ]
            if (part := getattr(parts, kind)) is not None:
                row += [
                    cost(part.miscalibration),
                    cost(part.discrimination),
                    cost(part.uncertainty),
                ]
            rows.append(row)
    head = ["", "mean", "skill"]
    if _is_binary(evaluation):
        head += ["miscalibration", "discrimination", "uncertainty"]
    return Table("Losses; skill is the gain over the base rate", head, rows)


def challenger_table(evaluation: Evaluation, challenger: Challenger) -> Table:
    """Show two predictors side by side."""
    changes = {"log loss": challenger.log, "Brier loss": challenger.brier}
    if challenger.auc is not None:
        changes["AUC"] = challenger.auc
    rows = [
        [
            name,
            cost(it.before),
            cost(it.after),
            change(it.difference, it.standard_error),
        ]
        for name, it in changes.items()
    ]
    columns = [e.calibration for e in (evaluation, challenger.evaluation)]
    alone: Writers = {
        _rate_name(evaluation): lambda c: percent(c.observed_rate),
        _mean_name(evaluation): lambda c: percent(c.after.mean_prediction),
        _error_name(evaluation): lambda c: cost(c.after.calibration_error),
        "slope": lambda c: plus_minus(
            c.after.recalibration.slope, c.after.recalibration.slope_error
        ),
        "calibration test, p": lambda c: p_value(c.after.test.p_value),
    }
    rows += [[name, *map(write, columns), ""] for name, write in alone.items()]
    head = ["", "champion", "challenger", "difference"]
    return Table("Two predictors of the same rows", head, rows)


def band_table(evaluation: Evaluation) -> Table:
    """Show mean predictions and observed rates by bands, the highest first."""
    calibration = evaluation.calibration
    right = "positives" if _is_binary(evaluation) else "right"
    columns: Writers = {
        "band": lambda b: _band_name(b.start, b.end),
        "rows": lambda b: f"{b.n_rows:,}",
        right: lambda b: f"{b.n_positives:,}",
    }
    if calibration.before is not None:
        columns["mean before"] = lambda b: percent(b.mean_prediction_before)
    columns |= {
        _mean_name(evaluation): lambda b: percent(b.mean_prediction),
        _rate_name(evaluation): lambda b: percent(b.observed_rate.value),
        "95 % interval": lambda b: (
            f"{percent(b.observed_rate.lower)} to {percent(b.observed_rate.upper)}"
        ),
        "agrees": lambda b: "yes" if b.agrees else "NO",
    }
    bands = calibration.score_bands[::-1]
    return Table.of(
        bands, columns, caption=f"{count(len(bands), 'band')}, highest first"
    )


def _band_name(start: float, end: float) -> str:
    """Name the range of a band: "below 0.25", "0.25 to 0.5", "from 0.5"."""
    if math.isinf(start) and math.isinf(end):
        return "all"
    first, last = (f"{edge:.4g}".replace("-", MINUS) for edge in (start, end))
    if start == -math.inf:
        return f"below {last}"
    return f"from {first}" if end == math.inf else f"{first} to {last}"


def _calibration_table(evaluation: Evaluation) -> Table:
    calibration = evaluation.calibration
    error, when = _error_name(evaluation), _before_and_after
    columns: Writers = {
        "": lambda row: row[0],
        _mean_name(evaluation): lambda row: percent(row[1].mean_prediction),
        error: lambda row: cost(row[1].calibration_error),
        "smooth ECE": lambda row: cost(row[1].smooth_calibration_error),
        "intercept": lambda row: plus_minus(
            row[1].recalibration.intercept, row[1].recalibration.intercept_error
        ),
        "slope": lambda row: plus_minus(
            row[1].recalibration.slope, row[1].recalibration.slope_error
        ),
        "calibration test, p": lambda row: p_value(row[1].test.p_value),
    }
    if (accuracy := evaluation.ranking.accuracy) is not None:
        columns["accuracy"] = lambda row: percent(
            accuracy.before if row[0] == "before" else accuracy.after
        )
        columns["classwise ECE"] = lambda row: cost(
            calibration.classwise_error_before
            if row[0] == "before"
            else calibration.classwise_error
        )
    rate = f"{_rate_name(evaluation)} {percent(calibration.observed_rate)}"
    of = "" if _is_binary(evaluation) else " of the most probable class (top label)"
    return Table.of(
        when(calibration.before, calibration.after),
        columns,
        caption=f"Calibration{of}; {rate}. The intercept is best at 0, the slope at 1; "
        "± is one standard error",
    )


def cost_table(evaluation: Evaluation) -> Table | None:
    """Show what decisions cost at a few thresholds, before and after."""
    if (decisions := evaluation.decisions) is None:
        return None
    after, before = decisions.cost, decisions.cost_before
    curves = {"these probabilities": after.cost}
    if before is not None:
        curves = {"before": before.cost, "after": after.cost}
    curves |= {"treat all": after.treat_all, "treat none": after.treat_none}
    rows = [
        [f"t = {at / 100:.2f}", *(cost(curve[at].item()) for curve in curves.values())]
        for at in SHOWN_THRESHOLDS
    ]
    return Table(
        "Mean cost per row, where a false positive costs the threshold and a false "
        "negative the rest of 1",
        ("threshold", *curves),
        rows,
    )


def group_table(
    evaluation: Evaluation, *, column: str | None = None, brief: bool = False
) -> Table:
    """Show the groups of one column, or a short table of all; largest |z| first."""
    groups = [g for g in evaluation.groups if brief or g.column == column]
    of = "group" if column is None else shorten(column, LONGEST_CELL)
    columns: Writers = {
        of: lambda g: (
            shorten(g.label if brief else group_name(g.name), LONGEST_CELL) + _few(g)
        ),
        "rows": lambda g: f"{g.n_rows:,}",
    }
    if _is_binary(evaluation):
        columns["positives"] = lambda g: f"{g.n_positives:,}"
    elif not brief and evaluation.calibration.before is not None:
        columns["accuracy before"] = lambda g: percent(g.observed_rate_before)
    columns |= _part_columns(evaluation, brief=brief)
    if any(group.rule is not None for group in groups):
        columns["rule"] = lambda g: str(g.rule)
    return _part_table(groups, columns, "group", "groups", brief=brief)


def class_table(evaluation: Evaluation, *, brief: bool = False) -> Table:
    """Show each of several classes against the rest, the largest |z| first."""
    columns: Writers = {
        "class": lambda c: shorten(str(c.name), LONGEST_CELL) + _few(c),
        "rows": lambda c: f"{c.n_rows:,}",
    }
    columns |= _part_columns(evaluation, brief=brief, of_classes=True)
    columns["AUC"] = lambda c: number(c.auc)
    if not brief:
        columns["Brier skill"] = lambda c: percent(c.brier_skill)
        columns["recall"] = lambda c: percent(c.recall)
        columns["precision"] = lambda c: percent(c.precision)
    return _part_table(evaluation.by_class, columns, "class", "classes", brief=brief)


def _part_columns(
    evaluation: Evaluation, *, brief: bool, of_classes: bool = False
) -> Writers:
    """Return the columns that tables of groups and of classes share."""
    has_before = not brief and evaluation.calibration.before is not None
    mean, rate, error = "mean prediction", "observed rate", "ECE"
    if not of_classes:
        mean, rate = _mean_name(evaluation), _rate_name(evaluation)
        error = _error_name(evaluation)
    columns: Writers = {}
    if has_before:
        columns["mean before"] = lambda part: percent(part.mean_prediction_before)
    columns |= {
        mean: lambda part: percent(part.mean_prediction),
        rate: lambda part: percent(part.observed_rate),
    }
    if not brief:
        columns["difference"] = lambda part: percent_points(part.difference)
    columns |= {
        "z": lambda part: number(part.z, 1, "+"),
        "p": lambda part: p_value(part.p_value),
    }
    if has_before:
        columns["log loss before"] = lambda part: cost(part.log_loss_before)
    columns["log loss"] = lambda part: cost(part.log_loss)
    if not brief:
        columns["Brier loss"] = lambda part: cost(part.brier_loss)
        if has_before:
            columns[f"{error} before"] = lambda p: cost(p.calibration_error_before)
        columns[error] = lambda part: cost(part.calibration_error)
    return columns


def _part_table(
    parts: Sequence[PartEvaluation],
    columns: Writers,
    one: str,
    many: str,
    *,
    brief: bool,
) -> Table:
    if brief:
        return Table.of(parts, columns, most=MOST_PRINTED)
    left = len(parts) - MOST_ROWS
    caption = f"{len(parts):,} {one if len(parts) == 1 else many}"
    caption += f", {left:,} not shown" if left > 0 else ""
    return Table.of(parts[:MOST_ROWS], columns, caption=caption)


def _few(part: PartEvaluation) -> str:
    return " (few rows)" if part.small else ""


def error_table(evaluation: Evaluation) -> Table | None:
    """Show which classes are most often mistaken for which; None without errors."""
    if evaluation.ranking.confusion is None:
        return None
    cells = np.asarray(evaluation.ranking.confusion, dtype=np.float64)
    errors = cells - np.diag(cells.diagonal())
    sums = cells.sum(axis=1)
    order = np.argsort(-errors, axis=None, kind="stable")[:MOST_ERRORS]
    pairs = np.stack(np.unravel_index(order, errors.shape), axis=1).tolist()
    names = [shorten(str(label), LONGEST_CELL) for label in evaluation.classes]
    what = "rows" if evaluation.total_weight is None else "weight"
    table = Table.of(
        [(true, taken) for true, taken in pairs if errors[true, taken] > 0],
        {
            "": lambda pair: f"{names[pair[0]]} → {names[pair[1]]}",
            what: lambda pair: f"{errors[pair]:,.6g}",
            "share of the class": lambda pair: percent(errors[pair] / sums[pair[0]]),
        },
        caption="Most frequent errors: class → most probable class",
    )
    return table if table.rows else None


# --- data and versions ---


def source_facts(evaluation: Evaluation) -> list[tuple[str, str]]:
    """List the sources of the results."""
    source = evaluation.provenance
    lines = [] if evaluation.name is None else [("name", cut(evaluation.name))]
    lines += [
        ("rows", row_counts(evaluation)),
        ("used for fitting", _used_for_fitting(evaluation)),
    ]
    if not _is_binary(evaluation):
        lines.append(("classes", _class_names(evaluation)))
    lines.append((f"SHA-256 of {_hashed_columns(evaluation)}", source.data_hash))
    if evaluation.total_weight is not None:
        weights = (
            f"{evaluation.total_weight:,.6g} in total, effective sample size "
            f"{evaluation.effective_rows:,.0f}"
        )
        lines.append(("weights", weights))
    if source.rule_rows is not None:
        rows = f"{source.rule_rows:,} rows"
        if source.rule_positives is not None:
            rows += f" ({source.rule_positives:,} positive)"
        lines.append(("fitted to", rows))
    if source.rule_hash is not None:
        lines.append(("SHA-256 of the rule's numbers", source.rule_hash))
    lines += [(_tag_name(key), cut(tag)) for key, tag in source.tags.items()]
    if (wide := evaluation.widths) is not None:
        mean, median, most = (
            number(w, 5) for w in (wide.mean, wide.median, wide.maximum)
        )
        of = "" if _is_binary(evaluation) else " (top label)"
        text = f"mean {mean}, median {median}, maximum {most}"
        lines.append((f"width of the bounds{of}", text))
    return lines


def _used_for_fitting(evaluation: Evaluation) -> str:
    """Describe whether the rows were used for the fit, and how that is known."""
    if evaluation.in_sample is not None:
        return "yes" if evaluation.in_sample else "no, by the fingerprint of the fit"
    return "no, as stated by the user" if evaluation.held_out else "unknown"


def _class_names(evaluation: Evaluation) -> str:
    classes = evaluation.classes
    names = ", ".join(shorten(str(c), LONGEST_CELL) for c in classes[:MOST_ERRORS])
    more = len(classes) - MOST_ERRORS
    return names + (f" and {more:,} more" if more > 0 else "")


def _hashed_columns(evaluation: Evaluation) -> str:
    has_scores = _is_binary(evaluation) and evaluation.score_quantiles is not None
    first = "scores" if has_scores else "probabilities"
    if evaluation.total_weight is not None:
        return f"{first}, labels and weights"
    return f"{first} and labels"


def _tag_name(key: str) -> str:
    if key in TAG_NAMES:
        return f"{TAG_NAMES[key]} of the fit"
    return PRIOR_NAMES.get(key, f"tag {cut(key)}")
