"""The page holds the numbers, in the right places, and nothing that could run."""

import html
import re
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

import abers
from abers import formatting
from abers.core import guarantees
from abers.report import comparison_page, evaluation_page, figures, text
from abers.storage import fingerprint
from page_parser import Page

LIMIT = 600_000  # characters


def draw(size, seed):
    rng = np.random.default_rng(seed)
    margin = rng.normal(size=size)
    labels = (rng.uniform(size=size) < expit(margin - 1)).astype(int)
    return expit(2 * margin - 0.5), labels


@pytest.fixture(scope="module")
def evaluation():
    rule = abers.fit_rule(*draw(2000, 0))
    scores, labels = draw(2000, 1)
    return abers.evaluate(rule, scores, labels, groups=np.arange(2000) % 3)


@pytest.fixture(scope="module")
def page_text(evaluation):
    return evaluation_page(evaluation)


def difference(estimate, itself):
    if estimate is None:
        return itself
    return formatting.change(estimate.mean, estimate.standard_error)


def test_page_is_well_formed_small_and_loads_nothing(evaluation):
    text = evaluation_page(evaluation, title="A & B")
    page = Page(text)
    assert len(text) < LIMIT
    assert page.headings[0] == "A & B"
    addresses = [v for _, name, v in page.attributes if name in {"src", "srcset"}]
    assert all(address.startswith("data:image/svg+xml,") for address in addresses)
    assert not any(name in {"href", "onload"} for _, name, _ in page.attributes)
    assert "<script" not in text
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert ("meta", "content", policy) in page.attributes


def test_one_line_and_the_picture_come_before_all_else(evaluation, page_text):
    line = html.escape(text.headline(evaluation))
    parts = (f'<p class="headline">{line}</p>', "<figure>", '<ol class="summary">')
    places = [page_text.index(part) for part in (*parts, "<table>")]
    assert places == sorted(places)
    picture = 'alt="Reliability before and after'
    assert page_text.index(picture) < page_text.index("<table>")
    assert page_text.count(picture) == 1


def test_tables_put_each_number_in_its_place(evaluation, page_text):
    table = Page(page_text).rows
    rows = {row[0]: row[1:] for row in table if row}
    for kind, name in (("log", "log loss"), ("brier", "Brier loss")):
        for when in ("before", "after"):
            parts = getattr(evaluation.losses, when)
            part = getattr(parts, kind)
            assert rows[f"{name}, {when}"] == [
                formatting.cost(part.loss),
                formatting.percent(getattr(parts, f"{kind}_skill")),
                formatting.cost(part.miscalibration),
                formatting.cost(part.discrimination),
                formatting.cost(part.uncertainty),
            ]
    place = table.index(["AUC", "Gini", "KS"])
    for row, when in zip(table[place + 1 :], ("before", "after"), strict=False):
        parts = getattr(evaluation.ranking, when)
        each = (getattr(parts, kind) for kind in ("auc", "gini", "ks"))
        assert row == [
            when,
            *(f"{e.value:.4f} ({e.lower:.4f} to {e.upper:.4f})" for e in each),
        ]
    comparison = abers.compare(*draw(500, 2))
    rows = Page(comparison_page(comparison)).rows
    for loss in ("log", "brier"):
        table = comparison.table(loss)
        place = rows.index(list(table.head))
        assert rows[place + 1 : place + 1 + len(table.rows)] == table.rows


def test_section_on_decisions_has_costs_and_both_curves(evaluation, page_text):
    page = Page(page_text)
    assert "Decisions" in page.headings
    rows = {row[0]: row[1:] for row in page.rows if row}
    assert rows["threshold"] == ["before", "after", "treat all", "treat none"]
    curves = evaluation.decisions.cost_before, evaluation.decisions.cost
    values = (*(curve.cost for curve in curves), curves[1].treat_all)
    values = [*values, curves[1].treat_none]
    for t in (0.05, 0.1, 0.2, 0.3, 0.5):
        expected = [formatting.cost(column[round(100 * t)]) for column in values]
        assert rows[f"t = {t:.2f}"] == expected
    drawn = [value for _, name, value in page.attributes if name == "alt"]
    for what in ("Net benefit", "Mean cost"):
        assert f"{what} by threshold before and after calibration" in drawn


def test_probabilities_without_a_rule_have_decisions_too():
    scores, labels = draw(300, 4)
    page = Page(evaluation_page(abers.evaluate(None, scores, labels)))
    rows = {row[0]: row[1:] for row in page.rows if row}
    assert rows["threshold"] == ["these probabilities", "treat all", "treat none"]


def test_a_rule_with_another_prior_has_no_guarantee_on_its_page():
    rule = abers.fit_rule(*draw(500, 0)).with_prior(0.1)
    text = evaluation_page(abers.evaluate(rule, *draw(300, 1)))
    assert str(guarantees.ADJUSTED) in text
    assert str(guarantees.PAIR) not in text
    assert "bounds have no guarantee" in text
    assert "adjusted to base rate" in text


def fitted_rule(**options):
    return abers.fit_rule(*draw(500, 0), **options)


def fitted_model(kind, *, weights=None, **options):
    scores, labels = draw(500, 0)
    model = kind(LogisticRegression(), random_state=0, **options)
    return model.fit(scores[:, np.newaxis], labels, sample_weight=weights)


@pytest.mark.parametrize(
    "make",
    [fitted_rule, lambda: fitted_model(abers.IVAPClassifier)],
    ids=["rule", "IVAP"],
)
@pytest.mark.parametrize("pos_label", [0, 1])
def test_one_rule_of_two_classes_has_its_guarantee_on_the_page(make, pos_label):
    predictor, (scores, labels) = make(), draw(300, 1)
    X = scores if isinstance(predictor, abers.rules.Rule) else scores[:, np.newaxis]
    text = evaluation_page(abers.evaluate(predictor, X, labels, pos_label=pos_label))
    assert str(guarantees.PAIR) in text
    assert "Not proven" not in text


WEIGHTS = np.random.default_rng(5).uniform(0.5, 1.5, 500)
UNPROVEN = {
    "CVAP": (lambda: fitted_model(abers.CVAPClassifier), guarantees.CROSS),
    "pooled CVAP": (
        lambda: fitted_model(abers.CVAPClassifier, merge="pooled"),
        guarantees.CROSS,
    ),
    "CVAP with one model": (
        lambda: fitted_model(abers.CVAPClassifier, ensemble=False),
        guarantees.CROSS,
    ),
    "weighted IVAP": (
        lambda: fitted_model(abers.IVAPClassifier, weights=WEIGHTS),
        guarantees.WEIGHTED,
    ),
    "weighted rule": (
        lambda: fitted_rule(sample_weight=WEIGHTS),
        guarantees.WEIGHTED,
    ),
    "rule of doubled rows": (
        lambda: fitted_rule(sample_weight=np.full(500, 2)),
        guarantees.WEIGHTED,
    ),
    "rule set": (
        lambda: abers.fit_rules(*draw(500, 0), np.arange(500) % 2),
        guarantees.CHOSEN_BY_LABELS,
    ),
}


@pytest.mark.parametrize("name", UNPROVEN)
def test_what_is_not_proven_is_not_guaranteed_on_the_page(name):
    make, reason = UNPROVEN[name]
    predictor, (scores, labels) = make(), draw(300, 1)
    ours = isinstance(predictor, abers.rules.Rule | abers.rules.RuleSet)
    groups = np.arange(300) % 2 if isinstance(predictor, abers.rules.RuleSet) else None
    X = scores if ours else scores[:, np.newaxis]
    page = evaluation_page(abers.evaluate(predictor, X, labels, groups=groups))
    text = html.unescape(page)
    assert "Proven:" not in text
    assert str(reason) in text


@pytest.mark.parametrize("increasing", [True, False])
def test_the_page_says_what_an_empty_band_means(increasing):
    scores = np.arange(400)
    labels = (scores >= 100) & (scores < 300)
    rule = abers.fit_rule(scores, labels, increasing=increasing)
    text = evaluation_page(abers.evaluate(rule, scores, labels))
    runs = "rises" if increasing else "falls"
    assert f"the true curve is not one that {runs} with the score" in text
    assert "The calibration band is empty" in text
    assert "the true curve lies in the band" not in text


def test_displays_are_given_what_their_sentences_say(evaluation, monkeypatch):
    drawn = {}
    monkeypatch.setattr(
        figures,
        "_figure",
        lambda display, alt, sentence: drawn.setdefault(alt, (display, sentence)),
    )
    figures.of_evaluation(evaluation)
    displays = [display for display, _ in drawn.values()]
    reliability, rule = displays
    assert reliability.before is evaluation.calibration.before.curve
    assert reliability.curve is evaluation.calibration.after.curve
    assert reliability.band is evaluation.calibration.consistency
    assert rule.rule is evaluation.rule
    assert rule.band is evaluation.calibration.band


def test_pages_are_dated_and_equal_but_for_the_date(evaluation, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    pages = (evaluation, comparison := abers.compare(*draw(300, 4)))
    made = (evaluation_page, comparison_page)
    first = [make(page) for make, page in zip(made, pages, strict=True)]
    assert first == [make(page) for make, page in zip(made, pages, strict=True)]
    assert all("<dt>date</dt><dd>1970-01-01 00:00 UTC</dd>" in page for page in first)
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    dated = re.search(r"<dt>date</dt><dd>(.*?) UTC</dd>", comparison_page(comparison))
    age = datetime.now(UTC) - datetime.fromisoformat(f"{dated[1]}+00:00")
    assert timedelta(0) <= age < timedelta(minutes=10)


@pytest.mark.parametrize("epoch", ["yesterday", "9" * 30])
def test_a_date_that_is_none_is_refused(evaluation, monkeypatch, epoch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    with pytest.raises(abers.AbersError, match="SOURCE_DATE_EPOCH must be seconds"):
        evaluation_page(evaluation)


def test_page_lists_what_is_given_and_the_tags_of_the_rule():
    tags = {"model": "7.2 <b>", "abers:pos-label": "bad", fingerprint.TAG: "x"}
    rule = abers.fit_rule(*draw(500, 0)).with_metadata(tags)
    evaluation = abers.evaluate(rule, *draw(500, 1))
    assert evaluation.provenance.tags == {"model": "7.2 <b>", "abers:pos-label": "bad"}
    page = evaluation_page(evaluation, facts={"data version": 2026})
    for name, value in (
        ("tag model", "7.2 &lt;b&gt;"),
        ("positive label of the fit", "bad"),
        ("data version", "2026"),
        ("SHA-256 of scores and labels", evaluation.provenance.data_hash),
        ("SHA-256 of the rule&#39;s numbers", evaluation.provenance.rule_hash),
    ):
        assert f"<dt>{name}</dt><dd>{value}</dd>" in page
    assert "fingerprint" not in page
    compared = comparison_page(abers.compare(*draw(300, 4)), facts={"tables": "a.csv"})
    assert "<dt>tables</dt><dd>a.csv</dd>" in compared


def test_groups_are_drawn_in_the_order_of_their_table(monkeypatch):
    scores, labels = draw(2000, 1)
    evaluation = abers.evaluate(None, scores, labels, groups=np.arange(2000) % 14)
    drawn = []
    monkeypatch.setattr(figures, "_figure", lambda display, *_: drawn.append(display))
    figures.of_groups(evaluation)
    (display,) = drawn
    assert [panel.name for panel in display.panels] == [
        group.name for group in evaluation.groups[:12]
    ]
    assert display.left_out == 2
    alone = abers.evaluate(None, scores, labels)
    assert figures.of_groups(alone) == []


@pytest.mark.parametrize("loss", ["log", "brier"])
def test_rule_is_drawn_for_the_loss_it_is_merged_for(monkeypatch, loss):
    drawn = []
    monkeypatch.setattr(figures, "_figure", lambda display, *_: drawn.append(display))
    rule = abers.fit_rule(*draw(500, 0))
    figures.of_evaluation(abers.evaluate(rule, *draw(500, 1), loss=loss))
    scores, labels = draw(500, 2)
    model = abers.IVAPClassifier(LogisticRegression(), loss=loss)
    model.fit(scores[:, None], labels)
    figures.of_evaluation(abers.evaluate(model, scores[:, None], labels))
    assert [shown.loss for shown in drawn if hasattr(shown, "rule")] == [loss] * 2


def test_cells_of_a_table_know_their_column(evaluation, page_text):
    page = Page(page_text)
    labels = [value for _, name, value in page.attributes if name == "data-label"]
    head = text.group_table(evaluation).head[1:]
    assert labels[-len(head) :] == list(head)


def test_a_model_without_bounds_is_promised_nothing():
    scores, labels = draw(500, 3)
    model = LogisticRegression().fit(scores[:, None], labels)
    text = evaluation_page(abers.evaluate(model, scores[:, None], labels))
    assert "For each case there are two bounds" not in text
    assert "nothing is guaranteed" in text
    assert "held-out" not in text


def test_a_title_does_not_hide_the_name(page_text):
    named = abers.evaluate(None, *draw(500, 3), name="churn & co")
    page = evaluation_page(named, title="T")
    assert Page(page).headings[:2] == ["T", "Losses and calibration"]
    assert "<dt>name</dt><dd>churn &amp; co</dd>" in page
    assert "after calibration" not in page
    assert "<dt>name</dt>" not in page_text


def test_half_a_character_in_a_title_does_not_stop_the_page(evaluation, tmp_path):
    for page in (evaluation, abers.compare(*draw(300, 4))):
        page.to_html(tmp_path / "page.html", title="half \ud800")
        assert "half" in (tmp_path / "page.html").read_text()


def test_markdown_has_the_sentences_and_tables_of_the_page(evaluation, page_text):
    """Figures alone are left out, and what a name holds is text in both."""
    page = Page(page_text)
    card = evaluation.to_markdown(facts={"data version": "[a](b) <i> 1|2"})
    lines = card.splitlines()
    headings = [line.lstrip("# ") for line in lines if line.startswith("#")]
    plain = [heading.replace("\\|", "|") for heading in headings]
    assert plain == [heading for heading in page.headings if heading != "Figures"]
    rows = [line for line in lines if line.startswith("| ") and "---" not in line]
    cells = [row.replace("\\", "").strip("| ").split(" | ") for row in rows]
    assert cells == [[cell for cell in row if cell] for row in page.rows if row]
    assert r"- data version: \[a\](b) \<i\> 1\|2" in lines
    assert f"**{text.headline(evaluation)}**".replace("<", r"\<") in lines
