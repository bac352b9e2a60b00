"""`abers inspect`: what a rule knows, and where it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from abers.cli import options, printer
from abers.cli.commands import command
from abers.cli.inputs import on_disk, read_by
from abers.cli.options import STDOUT
from abers.errors import InvalidParameter
from abers.formatting import PRIOR_NAMES, TAG_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from abers.core.calibrator import Calibrator
    from abers.core.fitted import Stored
    from abers.export import Steps
    from abers.rules import PooledRule, RegressionRule, RuleSet

PERCENTS = (0, 1, 25, 50, 75, 99, 100)  # of the scores, to show
MOST_PARTS = 20  # groups or folds to show
RULES = {  # the kinds of rules of a group
    "own": "rule of its own",
    "rest": "rule that small groups share",
    "pooled": "rule of all rows",
}


@command()
@options.rule
@click.option("--steps", is_flag=True, help="Print the steps instead, as CSV.")
@options.json
def inspect(rule: str, *, steps: bool, json: bool) -> None:
    """Show what a rule was fitted to, its tags and its checksum."""
    from abers.storage.container import sha256_of
    from abers.storage.files import load

    with on_disk(rule) as path:
        fitted = load(path)
        checksum = sha256_of(path)
    table = _steps(rule, fitted) if steps else None
    facts = _facts(fitted) | {"sha256": checksum}
    if json:
        rows = {} if table is None else {"steps": table.to_arrow().to_pylist()}
        printer.print_json(facts | rows)
    elif table is not None:
        table.write(STDOUT)
    else:
        printer.facts(_lines(facts), to_stdout=True)


def _steps(name: str, fitted: Stored) -> Steps:
    """Return the steps of a rule; raise if it has none."""
    from abers.core.fitted import noun_of
    from abers.export import steps
    from abers.rules import Rule, RuleSet

    if not isinstance(fitted, Rule | RuleSet):
        kind = noun_of(fitted)
        msg = f"--steps must go with a rule or a rule set; {name!r} is a {kind}."
        raise InvalidParameter(msg)
    return steps(fitted)


def _facts(fitted: Stored) -> dict[str, Any]:
    """Return the facts for JSON."""
    from abers.core.calibrator import Calibrator
    from abers.core.fitted import contents_of, noun_of
    from abers.online.file_monitor import FileMonitor
    from abers.rules import Diagram, PooledRule, RegressionRule, Rule, RuleSet
    from abers.storage.fingerprint import TAG

    facts: dict[str, Any]
    if isinstance(fitted, FileMonitor):
        return {"kind": "monitor of files", "tags": fitted.metadata} | fitted.to_dict()
    by_kind: dict[type[Any], Any] = {
        PooledRule: _facts_of_pooled_rule,
        RegressionRule: _facts_of_regression_rule,
        Calibrator: _facts_of_calibrator,
    }
    for kind, facts_of in by_kind.items():
        if isinstance(fitted, kind):
            facts = facts_of(fitted)
            return facts
    if not isinstance(fitted, Diagram | Rule | RuleSet):
        facts = dict(contents_of(fitted).facts)
        return {
            "kind": noun_of(fitted),
            "tags": facts.pop("metadata"),
            **facts,
        }
    whole = fitted.pooled if isinstance(fitted, RuleSet) else fitted
    facts = {
        "kind": {Diagram: "diagram", RuleSet: "rule set"}.get(type(fitted), "rule"),
        "n_rows": whole.n_rows,
        "n_positives": whole.n_positives,
        "tags": {key: tag for key, tag in fitted.metadata.items() if key != TAG},
        "score_quantiles": whole.score_quantiles.tolist(),
    }
    if isinstance(fitted, Diagram):
        return facts | {"n_distinct_scores": fitted.scores.size}
    rule = fitted.pooled if isinstance(fitted, RuleSet) else fitted
    facts |= {"increasing": rule.increasing, "n_steps": rule.lower.size}
    facts["guarantee"] = str(fitted.guarantee)
    if fitted.keeps_diagram:
        facts["keeps_its_diagram"] = True
    facts["recognises_its_rows"] = TAG in fitted.metadata
    if isinstance(fitted, RuleSet):
        facts |= _facts_of_groups(fitted)
    return facts


def _facts_of_calibrator(fitted: Calibrator) -> dict[str, Any]:
    """Return the facts of a calibrator, without the numbers of its map."""
    from abers.core.fitted import contents_of, noun_of
    from abers.storage.fingerprint import TAG

    others = {"is_rounded", "kind", "metadata", "rules"}
    stored = contents_of(fitted).facts
    facts = {
        "kind": noun_of(fitted),
        "n_rows": fitted.n_rows,
        "tags": {key: tag for key, tag in fitted.metadata.items() if key != TAG},
        **{name: fact for name, fact in stored.items() if name not in others},
        "n_columns": fitted.n_columns,
        "guarantee": str(fitted.guarantee),
    }
    weights = getattr(fitted, "weights", None)
    return facts if weights is None else facts | {"weights": weights}


def _facts_of_groups(fitted: RuleSet) -> dict[str, Any]:
    """Return the facts of each group, and of those that share a rule."""
    shared = None
    if rest := fitted.rest:
        shared = {
            "n_groups": len(fitted) - len(fitted.rules),
            "n_negatives": rest.n_rows - rest.n_positives,
            "n_positives": rest.n_positives,
        }
    kinds = fitted.kind_of(list(fitted))
    return {
        "minimum": fitted.minimum,
        "shared_rule": shared,
        "groups": [
            {
                "group": group,
                "n_negatives": negatives,
                "n_positives": positives,
                "rule": kind,
            }
            for (group, (negatives, positives)), kind in zip(
                fitted.counts.items(), kinds, strict=True
            )
        ],
    }


def _facts_of_pooled_rule(fitted: PooledRule) -> dict[str, Any]:
    """Return the facts of each fold, which has its own scores."""
    from abers.storage.fingerprint import TAG

    return {
        "kind": "pooled rule",
        "n_rows": fitted.n_rows,
        "n_positives": fitted.n_positives,
        "tags": {key: tag for key, tag in fitted.metadata.items() if key != TAG},
        "increasing": fitted.increasing,
        "weight": str(fitted.weight),
        "recognises_its_rows": TAG in fitted.metadata,
        "folds": [
            {
                "n_rows": diagram.n_rows,
                "n_positives": diagram.n_positives,
                "n_distinct_scores": diagram.scores.size,
                "least_score": diagram.scores[0].item(),
                "largest_score": diagram.scores[-1].item(),
            }
            if diagram is not None
            else {"n_rows": 0, "n_positives": 0, "n_distinct_scores": 0}
            for diagram in fitted.diagrams
        ],
    }


def _facts_of_regression_rule(fitted: RegressionRule) -> dict[str, Any]:
    """Return the facts about the targets, instead of positives."""
    return {
        "kind": "regression rule",
        "n_rows": fitted.n_rows,
        "low": fitted.low,
        "high": fitted.high,
        "trim": fitted.trim,
        "trimmed_share": fitted.trimmed_share,
        "tags": dict(fitted.metadata),
        "score_quantiles": fitted.score_quantiles.tolist(),
        "increasing": fitted.increasing,
        "n_steps": fitted.lower.size,
    }


def _short(score: float) -> str:
    """Write a score with few digits, or with more if few would change the number."""
    for digits in (6, 9, 12):
        text = f"{score:.{digits}g}"
        if float(text).is_integer() == score.is_integer():
            return text
    return repr(score)


def _lines(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "kind", facts["kind"]
    if "n_columns" in facts:
        yield from _lines_of_calibrator(facts)
        return
    if "n_rows" not in facts or "ledger" in facts:  # a monitor, say: its plain facts
        yield from _lines_as_they_are(facts)
        yield from _lines_of_tags(facts)
        return
    yield "rows", printer.number(facts["n_rows"])
    yield from _lines_of_labels(facts)
    if quantiles := facts.get("score_quantiles"):
        shown = (f"{_short(quantiles[percent])} ({percent} %)" for percent in PERCENTS)
        yield "scores", ", ".join(shown)
    if facts["kind"] == "diagram":
        yield "distinct", printer.number(facts["n_distinct_scores"])
    else:
        yield "direction", f"a higher score means {_direction(facts)}"
    if "n_steps" in facts:
        yield "steps", printer.number(facts["n_steps"])
    if shared := facts.get("shared_rule"):
        yield "small groups", f"{shared['n_groups']:,}, together {_counts(shared)}"
    yield from _lines_of_groups(facts.get("groups", []))
    if "folds" in facts:
        yield "weight", f"{facts['weight']} for a new row"
        yield from _lines_of_folds(facts["folds"])
    if "guarantee" in facts:
        yield "guarantee", facts["guarantee"]
    yield from _lines_of_tags(facts)
    yield "sha256", facts["sha256"]


def _lines_of_calibrator(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Describe the inputs and outputs of a calibrator."""
    from abers.core.stacked import shown_weights

    for name in ("method", "multiclass", "merge"):
        if name in facts:
            yield name, facts[name]
    yield "rows", printer.number(facts["n_rows"])
    yield "classes", ", ".join(map(str, facts["classes"]))
    names, n_columns, n_models = (
        facts[name] for name in ("columns", "n_columns", "n_models")
    )
    yield "reads", f"{facts['reads']}: {read_by(names, n_columns, n_models)}"
    if "weights" in facts:
        yield "weights", shown_weights(facts["weights"])
    if "increasing" in facts:
        more = "more" if facts["increasing"] else "less"
        yield "direction", f"a higher score means {more} likely"
    yield "guarantee", facts["guarantee"]
    yield from _lines_of_tags(facts)
    yield "sha256", facts["sha256"]


def _lines_as_they_are(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """List the facts of any other object: for a monitor, its files and findings."""
    for name, fact in facts.items():
        if name == "ledger":
            yield from _lines_of_files(fact)
        elif name not in {"kind", "tags", "alarms", "groups", "stall"}:
            yield name.removeprefix("n_").replace("_", " "), str(fact)
    for alarm in facts.get("alarms", []):
        yield "alarm", alarm["sentence"]
    if stall := facts.get("stall"):
        yield "stall", stall["sentence"]


def _lines_of_files(ledger: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """List the last files of a monitor."""
    for line in ledger[-MOST_PARTS:]:
        brought = f"{line['n_rows']:,} rows, {line['n_used']:,} labels used"
        if line["kind"] == "calibration":
            brought = "calibration"
        yield "file", f"{line['file']} ({line['date']}): {brought}"
    if len(ledger) > MOST_PARTS:
        yield "files before", f"{len(ledger) - MOST_PARTS:,}; --json lists them"


def _lines_of_tags(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for key, tag in facts["tags"].items():
        yield (TAG_NAMES | PRIOR_NAMES).get(key, f"tag {key}"), str(tag)


def _lines_of_labels(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Count positive rows; for a regression, show the ends of targets."""
    if "n_positives" in facts:
        share = 100 * facts["n_positives"] / (facts["n_rows"] or 1)
        yield "positive", f"{printer.number(facts['n_positives'])} ({share:.3g} %)"
        return
    for name in ("low", "high"):
        end = facts[name]
        yield name, f"trimmed by {facts['trim']}" if end is None else _short(end)


def _direction(facts: dict[str, Any]) -> str:
    if "n_positives" in facts:
        return "more likely" if facts["increasing"] else "less likely"
    return "a higher target" if facts["increasing"] else "a lower target"


def _lines_of_groups(groups: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for entry in groups[:MOST_PARTS]:
        yield f"group {entry['group']}", f"{_counts(entry)}, {RULES[entry['rule']]}"
    if len(groups) > MOST_PARTS:
        yield "groups", f"{len(groups)} in all; --json lists them"


def _counts(entry: dict[str, Any]) -> str:
    negatives, positives = map(
        printer.number, (entry["n_negatives"], entry["n_positives"])
    )
    return f"{negatives} negative, {positives} positive"


def _lines_of_folds(folds: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    yield "folds", printer.number(len(folds))
    for k, entry in enumerate(folds[:MOST_PARTS]):
        rows, distinct = entry["n_rows"], entry["n_distinct_scores"]
        text = (
            f"{printer.number(rows)} {'row' if rows == 1 else 'rows'}, "
            f"{printer.number(entry['n_positives'])} positive, "
            f"{printer.count(distinct, 'distinct score', 'distinct scores')}"
        )
        if distinct:
            least, largest = entry["least_score"], entry["largest_score"]
            text += (
                f" from {_short(least)} to {_short(largest)}" if distinct > 1 else ""
            )
        yield f"fold {k}", text
    if len(folds) > MOST_PARTS:
        yield "more folds", f"{len(folds) - MOST_PARTS}; --json lists them"
