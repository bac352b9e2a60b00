"""What users read speaks the words of the field, not older ones of our own."""

import ast
import io
import re
import tokenize
from pathlib import Path

import matplotlib.pyplot as plt
import matplotlib.text
import numpy as np
import pytest
from click.testing import CliRunner

import abers
from abers import plots
from abers.cli import commands
from abers.report import comparison_page, evaluation_page

ROOT = Path(__file__).parent.parent
RETIRED = (
    *("said", "says", "happened", "told", "judge", "judged", "judges", "verdict"),
    *("own rows", "fresh", "freshness", "surprise", "runs backwards", "backwards"),
    *("in errors", "by chance", "within chance", "more than chance", "off by"),
    *("cannot be told", "does not hold", "the rule holds", "as far as can be told"),
    *("Pictures", "What is promised", "not promised", "of them"),
    *("some drift", "much drift", "found again", "what it is called", "runs_backwards"),
)
PATTERN = "|".join(map(re.escape, RETIRED))
WORDS = re.compile(rf"(?<![\w-])(?:{PATTERN})(?!\w)", re.IGNORECASE)
# What reads as translated, and how to say it instead.
TRANSLATED = {
    r"\b(?:one|row|column|line|cell|bytes|seconds|rule|times) an? "
    r"(?:row|class|column|fold|line|group|score|file|rule|model|day|step)\b": "per",
    r"\b(?:is|are) no (?:rule|function|group|export|name|failure|prior|member|"
    r"integers?|comfort|trouble|window)\b": "is not a; are not",
    r"\b(?:is|are|was|were) warned of\b|\bwarns? of it\b": "raises a warning",
    r"\bmanners\b": "API, conventions",
    r"\brooms\b|\b(?:a|each|one) room\b": "package, folder",
    r"\blest\b": "to avoid, so that … not",
    r"\bwere it (?:only|not)\b": "even if",
    r"\bNor (?:has|have|is|are|does|do|can)\b": "It does not …, either",
    r"\bwhose rule (?:answers|a group has)\b": "the group whose rule applies",
    r"\b(?:of yours|a rule of its own)\b": "your own; its own rule",
    r"\bso many rows\b|\bdoubts? the new case\b": "n rows; adds the new case",
    r"^(?:Tell|Say) (?:whether|why|which|where|how|what)\b": "Return whether",
    r"\b(?:is|are|was|were) told\b": "gets, learns",
    r"\blikewise\b": "the same holds for",
    r"\b(?:whoever|somebody)\b": "say who, or use the passive",
    r"\b(?:[Hh]eld|holds?) against\b": "compared with",
    r"\bin the (?:manner|place) of\b": "as in, like; instead of",
    r"\banew\b": "again",
    r"\btoo sure\b|\bsure of itself\b": "overconfident",
    r"\bat (?:its|their) word\b": "as it is",
    r"\b(?:is|are) to be (?:a|the)\b": "must be",
    r"\b(?:Of|of) (?:two|more|many) classes (?:the|one|each|all)\b": "with two classes",
    r"\bto the last bit\b": "bit for bit",
    r"\bwithout a word\b": "silently",
    r"\[[\w./-]+\.md\]\(": "link text is the title of the page",
}
PROSE = (
    "*.md",
    "docs/*.md",
    "docs/decisions/*.md",
    "benchmarks/*.md",
    "experiments/*.md",
)
MODULES = (
    *("src/**/*.py", "examples/*.py", "benchmarks/*.py", "tools/*.py"),
    "experiments/**/*.py",
)
BLOCK = re.compile(r"^( *)```.*?^\1```$|`[^`]*`", re.MULTILINE | re.DOTALL)
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def draw(size, seed):
    rng = np.random.default_rng(seed)
    scores = rng.random(size)
    return scores, (rng.random(size) < scores**2).astype(int)


def keys_of(value):
    """Return all keys of dictionaries within each other."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from keys_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys_of(inner)


@pytest.fixture(scope="module")
def results():
    rule = abers.fit_rule(*draw(600, 0))
    scores, labels = draw(400, 1)
    groups = np.where(scores > 0.5, "high", "low")
    comparison = abers.compare(scores, labels)
    evaluation = abers.evaluate(
        rule, scores, labels, groups=groups, comparison=comparison
    )
    return rule, evaluation, comparison, abers.check(rule, scores, labels)


@pytest.fixture(scope="module")
def many():
    """An evaluation of three classes, and its rows."""
    rng = np.random.default_rng(2)
    p, before = rng.dirichlet([1, 1, 1], (2, 300))
    y = (rng.random(300)[:, None] > p.cumsum(axis=1)).sum(axis=1)
    groups = np.where(y == 1, "high", "low")
    return abers.evaluate(None, p, y, before=before, groups=groups), y, p


def translated(text):
    """Return the translated phrases in the prose of a page, and what to write."""
    prose = " ".join(BLOCK.sub("code", text).split())
    return [
        f"{match.group()!r}: write {better!r}"
        for pattern, better in TRANSLATED.items()
        for match in re.finditer(pattern, prose)
    ]


def prose_of(file):
    """Yield the docstrings and comments of a module."""
    source = file.read_text()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield ast.get_docstring(node) or ""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string.lstrip("#: ")


def refuse_retired(text):
    assert WORDS.findall(text) == []


@pytest.mark.parametrize("command", [(), *((name,) for name in commands.COMMANDS)])
def test_help_texts(command):
    shown = CliRunner().invoke(commands.abers, [*command, "--help"])
    assert shown.exit_code == 0
    refuse_retired(shown.stdout)


@pytest.mark.parametrize("page", ["README.md", *sorted((ROOT / "docs").glob("*.md"))])
def test_outputs_of_commands(page):
    """The pages show what commands print; other tests hold them to it."""
    for block in CONSOLE.findall((ROOT / page).read_text()):
        lines = [line for line in block.splitlines() if not line.startswith(("$", ">"))]
        refuse_retired("\n".join(lines))


def test_pages_and_texts(results):
    _, evaluation, comparison, check = results
    refuse_retired(re.sub(r"data:image[^\"]*", "", evaluation_page(evaluation)))
    refuse_retired(re.sub(r"data:image[^\"]*", "", comparison_page(comparison)))
    for result in (evaluation, comparison, check):
        refuse_retired(f"{result}\n{result!r}")
    refuse_retired(evaluation._repr_html_() + comparison._repr_html_())


def test_more_than_two_classes(many):
    evaluation, y, p = many
    refuse_retired(re.sub(r"data:image[^\"]*", "", evaluation_page(evaluation)))
    refuse_retired(f"{evaluation}\n{evaluation!r}\n{evaluation._repr_html_()}")
    for display in (
        plots.ReliabilityDisplay.from_predictions(y, p),
        plots.ClassesDisplay.from_predictions(y, p),
        plots.ClassesDisplay.confusion(y, p),
    ):
        for text in display.figure_.findobj(matplotlib.text.Text):
            refuse_retired(text.get_text())


def test_keys_of_json(results, many):
    for result in (*results[1:], many[0]):
        for key in keys_of(result.to_dict()):
            refuse_retired(key.replace("_", " "))
            refuse_retired(key)


def test_plots(results):
    rule, evaluation, comparison, _ = results
    scores, labels = draw(400, 1)
    p = rule.probability(scores)
    groups = np.where(scores > 0.5, "high", "low")
    watched = abers.Monitor(scores, labels)
    watched.update(scores, labels)
    for display in (
        plots.ReliabilityDisplay.from_predictions(labels, p),
        plots.ReliabilityDisplay.from_predictions(labels, p, before=scores),
        plots.RuleDisplay.from_rule(rule),
        plots.RuleDisplay.from_predictions(labels, scores, rule=rule),
        plots.RuleDisplay.from_rule(abers.rules.fit_regression_rule(scores, p)),
        plots.LossesDisplay.from_comparison(comparison),
        plots.ReliabilityDisplay.by_group(labels, p, groups),
        plots.DecisionCurveDisplay.from_predictions(labels, p),
        plots.MonitorDisplay.from_monitor(watched),
        plots.DecisionCurveDisplay.from_predictions(labels, p, kind="cost"),
    ):
        for text in display.figure_.findobj(matplotlib.text.Text):
            refuse_retired(text.get_text())
    assert evaluation.groups
    plt.close("all")


def test_a_retired_word_is_found():
    assert WORDS.findall("It Said so, off by one: in-sample rows by chance") == [
        *("Said", "off by", "by chance")
    ]


@pytest.mark.parametrize("page", [p for glob in PROSE for p in sorted(ROOT.glob(glob))])
def test_pages_read_as_written_in_english(page):
    assert translated(page.read_text()) == []


def test_docstrings_and_comments_read_as_written_in_english():
    assert [
        f"{file.relative_to(ROOT)}: {phrase}"
        for glob in MODULES
        for file in sorted(ROOT.glob(glob))
        for text in prose_of(file)
        for phrase in translated(text)
    ] == []


BAD = (
    """It takes 24 bytes a row.|Columns, one a fold.|This is no rule.|Two rooms.
Small folds are warned of.|It has scikit-learn's manners.|Scaled, lest it overflow.
It counts, were it only to three digits.|Nor has it a limit.|Draws on axes of yours.
Return whose rule answers.|Fit to so many rows.|Equal to the last bit.
It fails without a word.|See [guide.md](guide.md).|Tell whether it is one.
It is told the rows.|The same likewise.|Ask whoever made it.|Held against the diagonal.
Displays in the manner of theirs.|Fitted anew.|Naive Bayes is too sure.
It takes the score at its word.|They are to be a tie.|Of two classes the second counts.
""".strip()
    .replace("\n", "|")
    .split("|")
)


@pytest.mark.parametrize("sentence", BAD)
def test_a_translated_sentence_is_found(sentence):
    assert len(translated(sentence)) == 1
    assert translated("```python\n" + sentence + "\n```") == []
