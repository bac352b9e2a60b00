"""The sentences of the page, and that they do not flatter."""

import math
import re

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import abers
from abers import formatting
from abers.comparison import compare
from abers.errors import AbersError, InvertedScoresWarning
from abers.evaluation.calibration_tests import two_sided_p
from abers.evaluation.evaluate import evaluate
from abers.evaluation.in_sample import IN_SAMPLE
from abers.formatting import shorten
from abers.report import comparison_text, text
from abers.storage.fingerprint import TAG, fingerprint_of


def draw(size, seed):
    rng = np.random.default_rng(seed)
    margin = rng.normal(size=size)
    labels = (rng.uniform(size=size) < expit(margin - 1)).astype(int)
    return expit(2 * margin - 0.5), labels


@pytest.fixture(scope="module")
def rule():
    """With the fingerprint of its rows."""
    scores, labels = draw(3000, 0)
    tag = {TAG: fingerprint_of(scores, labels).to_text()}
    return abers.fit_rule(scores, labels).with_metadata(tag)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.5, "50.0 %"),
        (0.0123, "1.23 %"),
        (0.000123, "0.0123 %"),
        (0.0, "0.0 %"),
        (1.0, "100.0 %"),
        (math.nan, "-"),
    ],
)
def test_probabilities_are_shown_with_three_digits(value, shown):
    assert formatting.percent(value) == shown


@pytest.mark.parametrize(
    ("mean", "error", "shown"),
    [
        (-0.125, 0.01, "\N{MINUS SIGN}0.1250 ± 0.0100"),
        (-0.0000012, 0.000004, "\N{MINUS SIGN}0.0000012 ± 0.0000040"),
        (0.5, 0.0, "+0.5000 ± 0.0000"),
        (0.00025, math.nan, "+0.00025"),
        (math.inf, math.nan, "+∞"),
        (-math.inf, math.nan, "\N{MINUS SIGN}∞"),
        (math.nan, math.nan, "-"),
    ],
)
def test_differences_are_shown_with_their_error_and_infinities_as_such(
    mean, error, shown
):
    assert formatting.change(mean, error) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.25, "0.2500"), (0.01, "0.0100"), (0.0030124, "0.00301"), (0, "0.0000")],
)
def test_losses_of_rare_events_keep_three_digits(value, shown):
    assert formatting.cost(value) == shown


def test_first_three_lines_give_means_losses_and_scope(rule):
    evaluation = evaluate(rule, *draw(3000, 1))
    stated, losses, scope = text.summary(evaluation)
    means = (
        evaluation.calibration.before.mean_prediction,
        evaluation.calibration.observed_rate,
        evaluation.calibration.after.mean_prediction,
    )
    assert re.findall(r"[\d.]+ %", stated) == [formatting.percent(p) for p in means]
    assert "3,000 held-out rows" in stated
    for loss in (evaluation.losses.log, evaluation.losses.brier):
        assert f"{loss.before:.4f} before, {loss.after:.4f} after" in losses
        assert formatting.change(loss.difference, loss.standard_error) in losses
    assert losses.count("better") == 2
    assert "have been stable" in scope
    assert text.warnings(evaluation) == []


def test_rows_of_the_fit_are_called_in_sample(rule):
    evaluation = evaluate(rule, *draw(3000, 0))
    assert "On 3,000 in-sample rows" in text.summary(evaluation)[0]
    assert "held-out" not in text.summary(evaluation)[0]
    assert "Evaluate on held-out rows" in text.warnings(evaluation)[0]


def test_rows_of_unknown_origin_are_not_called_held_out():
    scores, labels = draw(500, 7)
    evaluation = evaluate(None, scores, labels)
    assert "used for fitting is unknown" in text.summary(evaluation)[0]
    assert "held-out" not in text.summary(evaluation)[0]


def test_the_mean_prediction_is_tested_against_the_observed_rate():
    labels = np.repeat([0, 1], 200)
    right = evaluate(None, np.full(400, 0.5), labels)
    assert "(p = 1.000, not significant)" in text.summary(right)[0]
    off = evaluate(None, np.full(400, 0.6), labels)  # 0.1 / sqrt(0.24 / 400) = 4.08
    assert "(p < 0.001, significant)" in text.summary(off)[0]


def test_a_rule_is_not_blamed_for_the_scatter_of_its_own_rows():
    """As many rows fitted as judged make the standard error larger by sqrt(2)."""
    labels = np.repeat([0, 1], 200)
    rule = abers.fit_rule(np.full(400, 0.5), labels)  # says about 1/2 of everything
    evaluation = evaluate(rule, np.full(400, 0.5), np.repeat([0, 1], [228, 172]))
    gap = (
        evaluation.calibration.after.mean_prediction
        - evaluation.calibration.observed_rate
    )
    alone = gap / evaluation.calibration.after.standard_error
    assert two_sided_p(alone) < 0.01
    p = two_sided_p(alone / np.sqrt(2))
    assert f"p = {p:.3f}, not significant" in text.summary(evaluation)[0]


def test_drift_has_three_levels(rule):
    scores, labels = draw(3000, 2)
    sentences = []
    for moved in (scores, scores**1.5, scores**4):
        evaluation = evaluate(rule, moved, labels)
        sentences.append(text.summary(evaluation)[2])
    words = ("stable", "moderately", "strongly")
    assert all(word in text for word, text in zip(words, sentences, strict=True))


def test_a_few_rows_say_nothing_about_drift(rule):
    evaluation = evaluate(rule, [0.5, 0.6], [0, 1])
    assert evaluation.drift is None
    assert "unknown" in text.summary(evaluation)[2]


def test_a_significant_loss_is_called_worse():
    p, labels = np.full(400, 0.25), np.repeat([0, 0, 0, 1], 100)
    worse = evaluate(None, np.full(400, 0.4), labels, before=p)
    assert text.summary(worse)[1].count("worse") == 2
    same = evaluate(None, p + 1e-6, labels, before=p)
    assert text.summary(same)[1].count("not significant") == 2


def test_one_line_on_top_tells_whether_it_helped_and_what_is_left(rule):
    """Rows with a rate of 1/4 at each of two predictions, 100 of each label or more."""
    labels = np.tile([0, 0, 0, 1], 100)
    right, wrong = np.full(400, 0.25), np.full(400, 0.4)
    cases = {
        (0.25, 0.4): ("Calibration helped: log loss ", "; no significant miscalib"),
        (0.4, 0.25): ("Calibration did harm: log loss ", "; significant miscalib"),
        (0.25, 0.25): ("No significant difference: log loss ", " left (p = 1.000)."),
        (0.25, None): ("Log loss 0.5623 (nothing before ", "miscalibration (p = 1.0"),
        (0.4, None): ("Log loss 0.6122 (nothing before ", "; significant miscalib"),
    }
    for (after, before), (start, end) in cases.items():
        earlier = None if before is None else np.full(400, before)
        evaluation = evaluate(None, np.full(400, after), labels, before=earlier)
        line = text.headline(evaluation)
        assert line.startswith(start)
        assert end in line
        assert str(evaluation).splitlines()[1] == line
    loss = evaluate(None, right, labels, before=wrong).losses.log
    shown = formatting.change(loss.difference, loss.standard_error)
    line = text.headline(evaluate(None, right, labels, before=wrong))
    assert f"log loss 0.6122 → 0.5623 ({shown})" in line
    groups = np.where(labels, "ill", "well")  # each has its own rate, 0 or 1
    line = text.headline(evaluate(None, right, labels, groups=groups))
    assert line.endswith("overall, but in 2 of 2 groups.")
    line = text.headline(evaluate(None, right[:8], labels[:8]))
    assert line.endswith("but there are few rows.")
    infinite = evaluate(None, [0.0, 0.5], [1, 0], before=[0.0, 0.5])
    assert text.headline(infinite).startswith("Log loss is infinite before and after")
    line = text.headline(evaluate(rule, *draw(3000, 0)))
    assert line == "These rows were used for the fit: they cannot show how good it is."


def test_infinite_losses_are_shown_and_explained():
    evaluation = evaluate(None, [0.0, 1.0, 0.5], [1, 1, 0], before=[0.5, 0.5, 0.5])
    assert "∞ after (+∞, worse)" in text.summary(evaluation)[1]
    both = evaluate(None, [0.0, 0.5], [1, 0], before=[0.0, 0.5])
    assert "both infinite" in text.summary(both)[1]


def test_few_positives_and_inverted_scores_are_warned_of(rule):
    scores, labels = draw(3000, 3)
    evaluation = evaluate(rule, scores, 1 - labels)
    warning, empty = text.warnings(evaluation)
    assert "The calibration band is empty" in empty
    assert f"is inverted (AUC {evaluation.ranking.auc:.3f})" in warning
    assert "with fewer positives. Fit with increasing=False" in warning
    few = evaluate(rule, scores[:40], np.r_[1, np.zeros(39)])
    assert any(
        "is only 1 positive here: read" in warning for warning in text.warnings(few)
    )
    none = evaluate(rule, scores[:40], np.zeros(40))
    assert any("no positives here" in warning for warning in text.warnings(none))


def test_a_rule_that_falls_is_told_that_scores_rise():
    scores, labels = draw(2000, 3)
    with pytest.warns(InvertedScoresWarning):
        falling = abers.fit_rule(scores, labels, increasing=False)
    evaluation = evaluate(falling, *draw(1000, 4))
    assert evaluation.ranking.auc > 0.5
    warning, empty = evaluation.printout().warnings
    assert "The calibration band is empty" in empty
    assert "with more positives" in warning
    assert "Fit without increasing=False (command line: --descending)" in warning
    assert warning in text.warnings(evaluation)


def test_the_label_that_counts_as_one_is_named():
    scores, labels = draw(400, 5)
    names = np.where(labels == 1, "spam", "ham")
    X = scores[:, None]
    model = abers.IVAPClassifier(LogisticRegression(), random_state=0).fit(X, names)
    evaluation = evaluate(model, X, names)
    positives = (labels == 1).sum()
    assert (evaluation.pos_label, evaluation.to_dict()["pos_label"]) == ("spam", "spam")
    assert f"({positives} positive, that is 'spam')" in str(evaluation)
    assert (
        f"{positives} of them 'spam', the mean prediction before"
        in text.summary(evaluation)[0]
    )
    rows = dict(text.source_facts(evaluation))["rows"]
    assert f"{positives} positive, that is 'spam'" in rows
    plain = evaluate(None, scores, labels)
    assert plain.pos_label == 1
    assert "positive)\n" in str(plain)


def test_one_column_has_no_before_and_after():
    scores, labels = draw(400, 5)
    evaluation = evaluate(None, scores, labels, name="churn")
    assert text.heading(evaluation) == "Losses and calibration"
    ranking, losses, calibration = text.quality_tables(evaluation)
    assert [row[0] for row in ranking.rows] == ["the probabilities"]
    assert [row[0] for row in losses.rows] == ["log loss", "Brier loss"]
    assert [row[0] for row in calibration.rows] == ["the probabilities"]
    assert dict(text.source_facts(evaluation))["name"] == "churn"
    both = evaluate(None, scores, labels, before=scores)
    assert text.heading(both) == "Before and after"


def test_tables_have_a_row_for_each_method_and_an_equal_number_of_cells(rule):
    comparison = compare(*draw(500, 4))
    tables = comparison_text.tables(comparison)
    for table, loss in zip(tables, ("log", "brier"), strict=True):
        names = [method.name for method in comparison.ranked(loss)]
        assert [row[0] for row in table.rows] == names
        assert [row[3] for row in table.rows].index("best") == 0
    evaluation = evaluate(rule, *draw(500, 5), groups=np.arange(500) % 70)
    groups = text.group_table(evaluation)
    assert len(groups.rows) == text.MOST_ROWS
    assert "20 not shown" in groups.caption
    for shown in (*tables, groups, *text.quality_tables(evaluation)):
        assert {len(row) for row in shown.rows} == {len(shown.head)}


def test_the_worst_group_is_named_before_all_tables():
    labels = np.tile([0, 1], 600)
    groups = np.repeat(["east", "west", "few"], [400, 796, 4])
    p = np.where(groups == "east", 0.6, 0.5)
    evaluation = evaluate(None, p, labels, groups=groups)
    *_, worst = text.summary(evaluation)
    assert worst == (
        "In 1 of 2 groups the mean prediction differs significantly from the observed "
        "rate, most in east: 60.0 % against 50.0 %."
    )
    right = evaluate(None, np.full(1200, 0.5), labels, groups=groups)
    assert len(text.summary(right)) == 3


def test_long_names_lose_their_middle():
    assert shorten("a" * 200, 121) == "a" * 60 + "…" + "a" * 60
    assert shorten("short", 121) == "short"


def test_the_best_method_is_named_with_how_sure_that_is():
    comparison = compare(*draw(2000, 6))
    best, lead, how = comparison_text.summary(comparison)
    assert comparison.methods[0].name in best
    assert "(significant)" in lead
    assert how == comparison.how


def test_methods_that_are_not_significantly_worse_are_named():
    comparison = compare(*draw(2000, 6))
    best, *_ = comparison_text.summary(comparison)
    near = [
        method.name
        for method in comparison.methods[1:]
        if method.log_difference_from_best.mean
        <= 2.5758 * method.log_difference_from_best.standard_error
    ]
    assert near
    assert "uncalibrated" not in near
    assert best.endswith(f"Not significantly worse: {', '.join(near)}.")
    alone = compare(*draw(2000, 6), methods=["uncalibrated", "beta"])
    assert "Not significantly" not in comparison_text.summary(alone)[0]


def test_held_out_rows_are_shown_as_stated_by_the_user():
    """`fit_rule` keeps no fingerprint, so only the user can know."""
    rule, rows = abers.fit_rule(*draw(1000, 5)), draw(500, 6)
    unknown, stated = evaluate(rule, *rows), evaluate(rule, *rows, held_out=True)
    assert (unknown.held_out, stated.held_out) == (False, True)
    assert unknown.in_sample is stated.in_sample is None
    assert "is unknown" in text.summary(unknown)[0]
    assert "500 rows (held out, as stated by the user)" in text.summary(stated)[0]
    assert "held-out (as stated by the user)" in str(stated)
    assert "no, as stated by the user" in dict(text.source_facts(stated)).values()
    assert stated.to_dict()["held_out"] is True
    with pytest.raises(AbersError, match="held_out must be True or False"):
        evaluate(rule, *rows, held_out="yes")


def test_the_fingerprint_stands_above_what_the_user_states():
    X, y = draw(600, 7)
    model = abers.CVAPClassifier(GaussianNB(), ensemble=False, random_state=0)
    model.fit(X[:, None], y)
    evaluation = evaluate(model, X[:, None], y, held_out=True)
    assert evaluation.in_sample
    assert "in-sample" in text.summary(evaluation)[0]
    assert IN_SAMPLE in evaluation.printout().warnings
    assert "stated by the user" not in str(evaluation)
