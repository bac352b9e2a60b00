"""`abers inspect`: what a rule knows, and where it comes from."""

from __future__ import annotations

import csv
import hashlib
import math
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from abers.cli import printing
from abers.cli.options import Json, RuleFile  # noqa: TC001 (typer reads them)
from abers.cli.rule_argument import on_disk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from abers import Diagram, Rule, RuleSet

PERCENTS = (0, 1, 25, 50, 75, 99, 100)  # of the scores, to show
MOST_GROUPS = 20  # to show
OUR_TAGS = {
    "abers:score": "score column",
    "abers:label": "label column",
    "abers:positive": "positive label",
    "abers:by": "group column",
}


def inspect(
    rule: RuleFile,
    *,
    steps: Annotated[
        bool,
        typer.Option("--steps", help="Print the steps instead, as CSV."),
    ] = False,
    json: Json = False,
) -> None:
    """Show what a rule was fitted to, its tags and its checksum."""
    from abers.tables import load_any

    with on_disk(rule) as path:
        found = load_any(path)
        with path.open("rb") as file:
            checksum = hashlib.file_digest(file, "sha256").hexdigest()
    facts = _facts(found) | {"sha256": checksum}
    if json:
        columns = ("group", "from", "lower", "upper")
        listed = [dict(zip(columns, step, strict=True)) for step in _steps(found)]
        printing.as_json(facts | ({"steps": listed} if steps else {}))
    elif steps:
        lines = csv.writer(sys.stdout, lineterminator="\n")
        is_grouped = "groups" in facts
        lines.writerow(["group", "from", "lower", "upper"][not is_grouped :])
        lines.writerows(step[not is_grouped :] for step in _steps(found))
    else:
        printing.facts(_lines(facts), to_stdout=True)


def _facts(found: Rule | RuleSet | Diagram) -> dict[str, Any]:
    """Return what there is to know, ready for JSON."""
    from abers import Diagram, RuleSet
    from abers.fingerprint import TAG

    whole = found.pooled if isinstance(found, RuleSet) else found
    facts: dict[str, Any] = {
        "kind": {Diagram: "diagram", RuleSet: "rule set"}.get(type(found), "rule"),
        "observations": whole.n_observations,
        "positives": whole.n_positives,
        "tags": {key: tag for key, tag in found.metadata.items() if key != TAG},
        "score_quantiles": whole.score_quantiles.tolist(),
    }
    if isinstance(whole, Diagram):
        return facts | {"distinct_scores": whole.scores.size}
    facts |= {"increasing": whole.increasing, "steps_in_total": whole.lower.size}
    facts["recognises_its_rows"] = TAG in found.metadata
    if isinstance(found, RuleSet):
        facts["minimum"] = found.minimum
        facts["groups"] = [
            {
                "group": group,
                "negatives": negatives,
                "positives": positives,
                "own_rule": group in found.rules,
            }
            for group, (negatives, positives) in found.counts.items()
        ]
    return facts


def _steps(
    found: Rule | RuleSet | Diagram,
) -> Iterator[tuple[Any, float, float, float]]:
    """Yield group, first score, lower and upper bound of each step."""
    from abers import Diagram, RuleSet

    if isinstance(found, Diagram):
        return
    rules: list[tuple[Any, Rule]]
    if isinstance(found, RuleSet):
        rules = [(None, found.pooled), *found.rules.items()]
    else:
        rules = [(None, found)]
    for group, rule in rules:
        starts = [-math.inf, *rule.thresholds.tolist()]
        for step in zip(starts, rule.lower.tolist(), rule.upper.tolist(), strict=True):
            yield group, *step


def _short(score: float) -> str:
    """Write a score with few digits; more if it would look like another number."""
    for digits in (6, 9, 12):
        text = f"{score:.{digits}g}"
        if float(text).is_integer() == score.is_integer():
            return text
    return repr(score)


def _lines(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "kind", facts["kind"]
    share = 100 * facts["positives"] / facts["observations"]
    yield "rows", printing.number(facts["observations"])
    yield "positive", f"{printing.number(facts['positives'])} ({share:.3g} %)"
    quantiles = facts["score_quantiles"]
    shown = (f"{_short(quantiles[percent])} ({percent} %)" for percent in PERCENTS)
    yield "scores", ", ".join(shown)
    if facts["kind"] == "diagram":
        yield "distinct", printing.number(facts["distinct_scores"])
    else:
        more = "more" if facts["increasing"] else "less"
        yield "direction", f"a higher score means {more} likely"
        yield "steps", printing.number(facts["steps_in_total"])
    for entry in facts.get("groups", [])[:MOST_GROUPS]:
        own = "" if entry["own_rule"] else ", too few for a rule of their own"
        negatives, positives = map(
            printing.number, (entry["negatives"], entry["positives"])
        )
        counts = f"{negatives} negative, {positives} positive{own}"
        yield f"group {entry['group']}", counts
    if (n := len(facts.get("groups", []))) > MOST_GROUPS:
        yield "groups", f"{n} in all; --json lists them"
    for key, tag in facts["tags"].items():
        yield OUR_TAGS.get(key, f"tag {key}"), str(tag)
    yield "sha256", facts["sha256"]
