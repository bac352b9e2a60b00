"""Comparisons: losses on the same rows, paired differences, and how they are shown."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from abers.comparison import Difference, compare
from abers.errors import InvalidParameter
from abers.report import comparison_page

RNG = np.random.default_rng(5)
X = RNG.normal(size=(240, 3))
MARGINS = X[:, 0] + 0.5 * RNG.normal(size=240)
Y = (X[:, 0] + RNG.logistic(scale=0.6, size=240) > 0).astype(int)
P = expit(3 * MARGINS)
WEIGHTS = RNG.exponential(size=240)


def by_name(comparison):
    return {method.name: method for method in comparison.methods}


# --- losses and differences ---


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("estimator", [None, LogisticRegression()], ids=str)
def test_losses_are_those_of_scikit_learn(estimator, weights):
    """Natural logarithm, plain Brier."""
    comparison = compare(
        P if estimator is None else X, Y, estimator=estimator, sample_weight=weights
    )
    rows = comparison.rows
    w = None if weights is None else weights[rows]
    for method in comparison.methods:
        p = comparison.probabilities[method.name]
        brier = brier_score_loss(Y[rows], p, sample_weight=w)
        assert method.brier_loss == pytest.approx(brier, rel=1e-12)
        if method.name != "isotonic":
            expected = log_loss(Y[rows], p, sample_weight=w)
            assert method.log_loss == pytest.approx(expected, rel=1e-12)


def test_paired_differences_have_the_standard_error_of_a_mean():
    comparison = compare(
        P, Y, methods=["IVAP", "Platt (probability)"], reference="IVAP"
    )
    ivap, platt = (
        comparison.probabilities[name] for name in ("IVAP", "Platt (probability)")
    )
    each = (Y - platt) ** 2 - (Y - ivap) ** 2
    difference = by_name(comparison)["Platt (probability)"].brier_difference
    assert difference.mean == pytest.approx(each.mean(), rel=1e-9)
    error = each.std(ddof=1) / np.sqrt(240)
    assert difference.standard_error == pytest.approx(error, rel=1e-12)
    own = by_name(comparison)["IVAP"].log_difference
    assert (own.mean, own.standard_error) == (0, 0)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_differences_from_the_best_are_those_with_it_as_the_reference(weights):
    """For each loss by itself."""
    compared = compare(P, Y, sample_weight=weights)
    for loss in ("log", "brier"):
        best = min(compared.methods, key=lambda method: getattr(method, f"{loss}_loss"))
        assert (
            compared.ranked(loss)[0].name
            == compared.to_dict()["best"][loss]
            == best.name
        )
        assert loss == "brier" or compared.best == best.name
        other = compare(P, Y, sample_weight=weights, reference=best.name)
        for name, method in by_name(compared).items():
            from_best = getattr(method, f"{loss}_difference_from_best")
            expected = getattr(by_name(other)[name], f"{loss}_difference")
            np.testing.assert_array_equal(
                [from_best.mean, from_best.standard_error],
                [expected.mean, expected.standard_error],
            )
            assert from_best.mean >= 0


def test_methods_are_ranked_by_either_loss():
    compared = compare(P, Y)
    for loss in ("log", "brier"):
        ranked = compared.ranked(loss)
        losses = [method.loss for method in ranked]
        assert losses == sorted(losses)
        assert [m.name for m in ranked if m.from_best is None] == [ranked[0].name]
        assert [m.name for m in ranked if m.from_reference is None] == ["uncalibrated"]
    with pytest.raises(InvalidParameter, match="loss must be 'log' or 'brier'"):
        compared.ranked("hinge")


def test_weights_scale_away_and_rows_of_weight_zero_do_not_count():
    weights = np.where(np.arange(240) < 20, 0, WEIGHTS)
    first, scaled = (
        compare(P, Y, methods=["uncalibrated", "Platt (log-odds)"], sample_weight=w)
        for w in (weights, weights * 7)
    )
    p, q = first.probabilities["Platt (log-odds)"][20:], P[20:]
    each, w = (Y[20:] - p) ** 2 - (Y[20:] - q) ** 2, weights[20:]
    mean = w @ each / w.sum()
    error = np.sqrt(220 / 219 * (w**2 @ (each - mean) ** 2)) / w.sum()
    difference = by_name(first)["Platt (log-odds)"].brier_difference
    assert difference.mean == pytest.approx(mean, rel=1e-9)
    assert difference.standard_error == pytest.approx(error, rel=1e-9)
    a, b = (by_name(c)["uncalibrated"].brier_loss for c in (first, scaled))
    assert a == pytest.approx(b, rel=1e-12)
    assert first.n_positives == Y.sum()


def test_infinite_losses_are_shown_and_not_clipped():
    scores = np.r_[0, 0, 0.2, 0.4, 0.6, 0.8, 1, 1]
    labels = np.r_[0, 1, 0, 1, 0, 1, 0, 1]
    names = ["uncalibrated", "isotonic", "isotonic with dummies"]
    pairs = [(range(4, 8), range(4)), (range(4), range(4, 8))]
    methods = by_name(compare(scores, labels, cv=pairs, methods=names))
    assert methods["uncalibrated"].log_loss == methods["isotonic"].log_loss == np.inf
    assert np.isnan(methods["isotonic"].log_difference.mean)
    assert methods["uncalibrated"].log_difference.mean == 0
    assert methods["isotonic with dummies"].log_difference.mean == -np.inf
    assert np.isnan(methods["isotonic with dummies"].log_difference.standard_error)
    assert np.isfinite(methods["isotonic"].brier_difference.standard_error)
    from_finite = compare(scores, labels, cv=pairs, methods=names, reference=names[2])
    assert by_name(from_finite)["isotonic"].log_difference.mean == np.inf
    assert "+∞" in str(from_finite)


def test_one_judged_row_has_no_standard_error():
    comparison = compare(MARGINS, Y, test=[7], methods=["IVAP", "Platt (margin)"])
    difference = by_name(comparison)["IVAP"].brier_difference
    assert np.isfinite(difference.mean)
    assert np.isnan(difference.standard_error)


def test_the_scale_that_platt_is_fed_decides():
    """A sigmoid of the probability cannot undo a factor of the log-odds."""
    rng = np.random.default_rng(0)
    margins = 3 * rng.normal(size=4_000)
    labels = rng.random(4_000) < expit(margins)
    compared = by_name(
        compare(expit(2 * margins), labels, reference="Platt (probability)")
    )
    difference = compared["Platt (log-odds)"].log_difference
    assert difference.mean < -5 * difference.standard_error
    assert compared["IVAP"].log_difference.mean < -5 * difference.standard_error


# --- what comes out ---


@pytest.fixture(scope="module")
def comparison():
    return compare(X, Y, estimator=DecisionTreeClassifier(random_state=0))


def test_methods_come_with_the_best_log_loss_first(comparison):
    losses = [(method.log_loss, method.brier_loss) for method in comparison.methods]
    assert losses == sorted(losses)
    assert losses[-1][0] == np.inf


def test_numbers_are_plain_json_with_infinity_by_name(comparison):
    text = json.dumps(comparison.to_dict(), allow_nan=False)
    read = json.loads(text)
    assert [m["name"] for m in read["methods"]] == [m.name for m in comparison.methods]
    for plain, method in zip(read["methods"], comparison.methods, strict=True):
        assert float(plain["log_loss"]) == method.log_loss
        mean = float(plain["brier_difference"]["mean"])
        assert mean == method.brier_difference.mean
    assert '"inf"' in text
    assert read["n_rows"] == 60


def test_printed_it_is_a_table_of_aligned_columns_for_each_loss(comparison):
    how, *tables, legend = str(comparison).split("\n\n")
    assert how == comparison.how
    assert "'uncalibrated'" in legend
    for table, loss in zip(tables, ("log", "brier"), strict=True):
        head, rule, *body = table.splitlines()
        names = [line[:22].strip() for line in body]
        assert names == [method.name for method in comparison.ranked(loss)]
        assert {len(line) for line in (head, rule, *body)} == {len(rule)}
        assert body[0].endswith("best")
        assert table.count("reference") == 2  # the column, and the reference itself
    assert repr(comparison) == str(comparison)


def test_digits_follow_the_standard_error():
    """Methods that differ by millionths do not differ by +0.00000 ± 0.00000."""
    compared = compare(P, Y, methods=["uncalibrated", "IVAP"])
    small = Difference(-0.00000123, 0.00000045)
    ivap = replace(by_name(compared)["IVAP"], brier_difference=small)
    shown = replace(compared, methods=(ivap, by_name(compared)["uncalibrated"]))
    for text in (str(shown), shown._repr_html_(), comparison_page(shown)):
        assert "\N{MINUS SIGN}0.00000123 ± 0.00000045" in text
    (_, _, narrow, _), *_ = (row for row in shown.table("brier", most_places=4).rows)
    assert narrow in {"\N{MINUS SIGN}0.0000 ± 0.0000", "reference"}


def test_rows_are_counted_by_number_and_losses_by_weight():
    legend = str(compare(P, Y, sample_weight=WEIGHTS)).splitlines()[-1]
    assert f"{Y.sum()} of 240 rows positive; losses are means by weight." in legend
    assert "by weight" not in str(compare(P, Y))


def test_the_positive_class_is_named():
    names = np.where(Y == 1, "spam", "ham")
    compared = compare(P, names, methods=["uncalibrated", "IVAP"])
    assert compared.pos_label == compared.to_dict()["pos_label"] == "spam"
    assert f"{Y.sum()} of 240 rows positive ('spam')." in str(compared)
    assert "positive, that is &#39;spam&#39;)" in comparison_page(compared)
    assert "positive." in str(compare(P, Y, methods=["uncalibrated", "IVAP"]))


def test_in_a_notebook_it_is_a_table_without_foreign_tags():
    hostile = type("<script>&", (GaussianNB,), {})
    page = compare(X, Y, estimator=hostile())._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;&amp; trained on 180 rows" in page
    assert page.count("<tr>") == 24  # eleven methods and a head, twice


def test_a_page_is_written_whole_and_leaves_nothing_else(comparison, tmp_path):
    path = tmp_path / "comparison.html"
    path.write_text("old")
    comparison.to_html(path, title="Trees & leaves")
    assert "Trees &amp; leaves" in path.read_text(encoding="utf-8")
    assert [file.name for file in tmp_path.iterdir()] == ["comparison.html"]
