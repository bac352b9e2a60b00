"""Text: what the numbers say, in sentences that do not flatter."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from abers.evaluation.calibration_tests import in_standard_errors
from abers.formatting import label_name
from abers.report.number_tables import change, cost, count, number, percent, shortened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from abers.comparison import Comparison
    from abers.evaluation.evaluate import Evaluation, LossChange
    from abers.evaluation.groups import GroupEvaluation

SURPRISING = 3  # standard errors
FRESH = {
    "own rows": "{} of the fit",
    "fresh": "{} not used for fitting",
    "unknown": "{} (whether they were used for fitting cannot be told)",
}


def verdict(found: Evaluation) -> list[str]:
    """Say the three things that matter, before all numbers."""
    return [_said(found), _losses(found), _for_whom(found)]


def _said(found: Evaluation) -> str:
    rows = FRESH[found.freshness].format(count(found.n_rows, "row"))
    if name := label_name(found.positive):
        rows += f", {found.n_positives:,} of them {name}"
    happened = percent(found.base_rate)
    said = f"{percent(found.after.said)} ({_off(found)})"
    if found.before is None:
        return (
            f"On {rows}, the probabilities said {said} on average, and {happened} "
            "happened."
        )
    return (
        f"On {rows}, the scores said {percent(found.before.said)} on average, and "
        f"{happened} happened. After calibration they say {said}."
    )


def _off(found: Evaluation) -> str:
    """Say how far what is said is from what happened, in standard errors.

    The rows of the calibration scatter as these do, so that the variance has both.
    """
    gap, error = found.after.said - found.base_rate, found.after.standard_error
    if fitted := found.provenance.rule_observations:
        error *= math.sqrt(1 + found.n_rows / fitted)
    if gap == 0:
        return "just that"
    off = in_standard_errors(gap, error)
    judged = "within chance" if off <= 2 else "off by more than chance"
    return f"{number(off, 1)} standard errors from it, {judged}"


def _losses(found: Evaluation) -> str:
    if found.before is None:
        return (
            f"Log loss {cost(found.log_loss.after)}, Brier loss "
            f"{cost(found.brier_loss.after)} (nothing is known from before "
            "calibration)."
        )
    return (
        f"{_told('Log loss', found.log_loss)} {_told('Brier loss', found.brier_loss)}"
    )


def _told(name: str, loss: LossChange) -> str:
    difference = change(loss.difference, loss.standard_error)
    trend = f"({difference}{', ' + _certainty(loss) if _certainty(loss) else ''})"
    if math.isnan(loss.difference):
        trend = "(both infinite: a label came that had probability 0)"
    return f"{name} {cost(loss.before)} before, {cost(loss.after)} after {trend}."


def _certainty(loss: LossChange) -> str:
    if math.isinf(loss.difference):
        return "better" if loss.difference < 0 else "worse"
    if math.isnan(loss.standard_error):
        return ""
    if abs(loss.difference) <= 2 * loss.standard_error:
        return "within chance"
    return "better" if loss.difference < 0 else "worse"


def _for_whom(found: Evaluation) -> str:
    where = "This holds for cases from the same source as these rows."
    if found.drift is None:
        return f"{where} Whether scores have drifted since the calibration is unknown."
    words = {
        "none": "The scores have not drifted since the calibration",
        "some": "The scores have drifted somewhat since the calibration",
        "much": "The scores have drifted much since the calibration: fit again",
    }
    told = words[str(found.drift_verdict)]
    return f"{where} {told} (stability index {number(found.drift, 3)})."


def heading(found: Evaluation) -> str:
    """Name the section of the tables."""
    if found.comparison is not None:
        return "Methods compared"
    return "Losses and tests" if found.before is None else "Before and after"


def warnings(found: Evaluation) -> list[str]:
    """List what makes the numbers doubtful."""
    said = found.warnings()
    few = min(found.n_positives, found.n_rows - found.n_positives)
    if few < 50:  # noqa: PLR2004
        of = "positive" if found.n_positives == few else "negative"
        some = f"only {count(few, of)}" if few else f"no {of}s"
        verb = "is" if few == 1 else "are"
        said.append(
            f"There {verb} {some} here: read the numbers with their standard errors."
        )
    return said


def comparison_verdict(found: Comparison) -> list[str]:
    """Say which method is best, by how much, and how sure that is."""
    best, *others = found.methods
    told = f"{best.name} has the smallest log loss, {cost(best.log_loss)}"
    if others:
        told += f"; {others[-1].name} the largest, {cost(others[-1].log_loss)}"
    return [f"{told}.{_as_good(found)}", _lead(found), found.how]


def _as_good(found: Comparison) -> str:
    """Name the methods that chance may have kept from being the best."""
    names = [
        method.name
        for method in found.ranked("log")
        if method.from_best is not None
        and method.from_best.mean <= 2 * method.from_best.standard_error
    ]
    if not names:
        return ""
    return f" Within two standard errors of it: {', '.join(names)}."


def _lead(found: Comparison) -> str:
    best = found.methods[0]
    if best.name == found.reference:
        return f"No method is better than {found.reference}, which it is held against."
    difference = best.log_difference
    told = change(difference.mean, difference.standard_error)
    sure = abs(difference.mean) > 2 * difference.standard_error
    judged = "more than chance explains" if sure else "within chance"
    if math.isinf(difference.mean):
        judged = "the reference has an infinite loss"
    elif math.isnan(difference.standard_error):
        judged = "one row tells nothing of chance"
    return f"Against {found.reference} that is {told} ({judged})."


def infinite_note(found: Comparison) -> list[str]:
    """Explain infinite losses, if there are any."""
    names = [m.name for m in found.methods if math.isinf(m.log_loss)]
    if not names:
        return []
    text = (
        f"An infinite log loss ({', '.join(names)}) means that a label came to which "
        "the method had given probability 0."
    )
    return [text]


def group_note(groups: Sequence[GroupEvaluation]) -> str:
    """Say how many groups are off by more than chance explains."""
    judged = [group for group in groups if not group.small]
    off = sum(group.surprise > SURPRISING for group in judged)
    return (
        f"In {off} of {count(len(judged), 'group')} with enough rows, what was said "
        f"and what happened differ by more than {SURPRISING} standard errors. Among "
        "many groups a few do by chance."
    )


def facts(found: Evaluation) -> list[tuple[str, str]]:
    """List where the numbers come from."""
    source = found.provenance
    said = [] if found.name is None else [("name", shortened(found.name))]
    said += [
        ("rows judged", found.rows_told()),
        ("hash of the rows", source.data_hash),
        ("AUC of the score", number(found.auc)),
    ]
    if found.total_weight is not None and found.effective_rows is not None:
        told = (
            f"{found.total_weight:,.6g} in all, worth {found.effective_rows:,.0f} rows"
        )
        said.append(("weights", told))
    if source.rule_hash is not None:
        observations = f"{source.rule_observations:,} observations, of them"
        fitted = f"{observations} {source.rule_positives:,} positive"
        said += [("rule fitted to", fitted), ("hash of the rule", source.rule_hash)]
    if found.widths is not None:
        wide = found.widths
        shown = [number(w, 5) for w in (wide.mean, wide.median, wide.maximum)]
        told = "mean {}, median {}, largest {}".format(*shown)
        said.append(("width of the bounds", told))
    if found.overlap is not None:
        told = f"{percent(found.overlap)} of the calibration scores that rules keep"
        said.append(("found again among the scores", told))
    return [*said, ("versions", listed(source.versions))]


def listed(versions: Mapping[str, str]) -> str:
    """Name packages with their versions."""
    return ", ".join(f"{name} {version}" for name, version in versions.items())
