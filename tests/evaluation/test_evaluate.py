"""All that is known about a predictor, against computations row by row."""

import hashlib
import json
import re
import struct
import subprocess
import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import abers
from abers import evaluation
from abers.evaluation import reliability
from abers.evaluation.evaluate import evaluate
from abers.storage.fingerprint import TAG, fingerprint_of
from witnesses import X, Y


def drawn(size, seed, power=1.5):
    """Scores that are probabilities, too high, and their labels."""
    rng = np.random.default_rng(seed)
    scores = rng.random(size)
    return scores, rng.random(size) < scores**power


@pytest.fixture(scope="module")
def rule():
    return abers.fit_rule(*drawn(2_000, 0))


@pytest.fixture(scope="module")
def fresh():
    return drawn(1_500, 1)


@pytest.fixture(scope="module")
def evaluated(rule, fresh):
    return evaluate(rule, *fresh)


def numbers(value, place=""):
    """All numbers of an evaluation, by their place in its dictionary."""
    if isinstance(value, list):
        value = dict(enumerate(value))
    if isinstance(value, dict):
        inner = [numbers(x, f"{place}/{key}") for key, x in value.items()]
        return {key: number for part in inner for key, number in part.items()}
    return {place: value} if isinstance(value, int | float) else {}


def without(evaluated, *places):
    return {
        key: number
        for key, number in numbers(evaluated.to_dict()).items()
        if not any(place in key for place in places)
    }


def test_a_small_case_is_that_by_hand():
    """The rule of 1, 2, 3 with labels 0, 1, 0 says 1/3, 1/2 and 1/2."""
    rule = abers.fit_rule([1, 2, 3], [0, 1, 0])
    evaluated = evaluate(rule, [1, 2, 3, 3], [0, 0, 1, 1], name="toy")
    assert (
        evaluated.n_rows,
        evaluated.n_positives,
        evaluated.calibration.observed_rate,
    ) == (
        4,
        2,
        0.5,
    )
    assert evaluated.calibration.after.mean_prediction == pytest.approx(
        (1 / 3 + 3 / 2) / 4
    )
    assert evaluated.losses.brier.after == pytest.approx((1 / 9 + 3 / 4) / 4)
    assert evaluated.losses.log.after == pytest.approx(np.log(1.5 * 8) / 4)
    assert evaluated.ranking.auc == 1.0
    assert evaluated.widths.mean == pytest.approx((1 / 2 + 3 / 3) / 4)
    assert evaluated.calibration.before is None
    assert np.isnan(evaluated.losses.log.before)


def test_numbers_are_those_of_the_rows(rule, fresh, evaluated):
    scores, y = fresh
    p = rule.probability(scores)
    for when, q in (("before", scores), ("after", p)):
        quality = getattr(evaluated.calibration, when)
        assert quality.mean_prediction == pytest.approx(q.mean())
        assert quality.standard_error == pytest.approx(
            np.sqrt((q * (1 - q)).sum()) / q.size
        )
        for loss in ("log", "brier"):
            parts = getattr(getattr(evaluated.losses, when), loss)
            assert parts == reliability.decompose(y, q, loss=loss)
        assert quality.test == evaluation.calibration_test(y, q)
        expected = evaluation.expected_calibration_error(y, q)
        assert quality.calibration_error == pytest.approx(expected, rel=1e-12)
        histogram, _ = np.histogram(q, bins=50, range=(0, 1))
        np.testing.assert_allclose(quality.histogram, histogram / q.size)
    assert evaluated.ranking.auc == pytest.approx(evaluation.auc(scores, y))
    assert evaluated.widths == evaluation.bound_widths(rule.bounds(scores))
    index = evaluation.population_stability_index(rule.score_quantiles, scores)
    assert evaluated.drift.psi == pytest.approx(index)
    assert evaluated.drift.level == "stable"


def test_difference_is_paired_over_rows(rule, fresh, evaluated):
    scores, y = fresh
    p = rule.probability(scores)
    each = {
        "log": np.where(y, np.log(scores / p), np.log((1 - scores) / (1 - p))),
        "brier": (y - p) ** 2 - (y - scores) ** 2,
    }
    for loss, difference in each.items():
        change = getattr(evaluated.losses, loss)
        assert change.difference == pytest.approx(difference.mean())
        assert change.after - change.before == pytest.approx(difference.mean())
        error = difference.std(ddof=1) / np.sqrt(y.size)
        assert change.standard_error == pytest.approx(error)


@pytest.mark.parametrize("loss", ["log", "brier"])
def test_sorted_scores_and_rows_give_the_same(rule, fresh, loss):
    """Pieces of the rule on one side, a probability for each row on the other."""
    scores, y = fresh
    by_scores = numbers(evaluate(rule, scores, y, loss=loss).to_dict())
    by_rows = numbers(evaluate(rule, scores, y, before=scores, loss=loss).to_dict())
    assert by_scores == pytest.approx(by_rows, rel=1e-9, abs=1e-12)


def test_weights_of_one_are_none_and_their_scale_does_not_matter(
    rule, fresh, evaluated
):
    scores, y = fresh
    ones = evaluate(rule, scores, y, sample_weight=np.ones(y.size))
    assert without(ones) == without(evaluated)
    tenths = evaluate(rule, scores, y, sample_weight=np.full(y.size, 0.1))
    assert (evaluated.total_weight, evaluated.effective_rows) == (None, None)
    assert tenths.total_weight == pytest.approx(150)
    assert tenths.effective_rows == pytest.approx(1_500)
    left_out = "/curve/weights/", "/total_weight", "/effective_rows"
    assert without(tenths, *left_out) == pytest.approx(
        without(evaluated, *left_out), rel=1e-7, abs=1e-9
    )


def test_weights_are_copies_in_means_but_not_in_errors(rule, fresh):
    scores, y = fresh
    w = np.random.default_rng(2).integers(0, 4, y.size)
    weighted = evaluate(rule, scores, y, sample_weight=w, groups=y)
    copied = evaluate(rule, np.repeat(scores, w), np.repeat(y, w))
    assert weighted.n_rows == np.count_nonzero(w)
    assert weighted.n_positives == np.count_nonzero(w[y])
    assert weighted.calibration.observed_rate == pytest.approx(
        copied.calibration.observed_rate
    )
    assert weighted.losses.log.difference == pytest.approx(copied.losses.log.difference)
    assert weighted.ranking.auc == pytest.approx(copied.ranking.auc)
    assert weighted.drift.psi == pytest.approx(copied.drift.psi)
    assert weighted.drift.psi != evaluate(rule, scores[w > 0], y[w > 0]).drift.psi
    assert weighted.losses.log.standard_error > copied.losses.log.standard_error
    share = w / w.sum()
    p = rule.probability(scores)
    each = (y - p) ** 2 - (y - scores) ** 2
    variance = (share**2 * (each - share @ each) ** 2).sum()
    n = weighted.n_rows
    expected = np.sqrt(variance * n / (n - 1))
    assert weighted.losses.brier.standard_error == pytest.approx(expected)


def test_rows_without_weight_may_hold_anything(rule):
    evaluated = evaluate(
        rule, [0.2, np.nan, 0.7], [0, 7, 1], sample_weight=[2, 0, 1], groups=[1, 2, 1]
    )
    assert (evaluated.n_rows, evaluated.n_positives) == (2, 1)
    assert [group.name for group in evaluated.groups] == [1]


def test_infinite_losses_are_shown(rule):
    evaluated = evaluate(None, [0.0, 0.5], [1, 0], before=[0.5, 0.5])
    assert evaluated.losses.log.after == evaluated.losses.log.difference == np.inf
    assert np.isnan(evaluated.losses.log.standard_error)
    assert evaluated.to_dict()["losses"]["log"]["after"] == "inf"
    both = evaluate(None, [0.0, 0.5], [1, 0], before=[0.5, 1.0])
    assert np.isnan(both.losses.log.difference)
    assert "∞ before, ∞ after" in str(both)
    better = evaluate(rule, [0.0, 0.5], [1, 0])
    assert better.losses.log.difference == -np.inf


@pytest.mark.parametrize(
    ("scores", "labels"),
    [([0.5], [1]), ([0.5], [0]), ([0.2, 0.7], [1, 1]), ([3, 3, 3], [0, 1, 1])],
)
def test_one_row_one_class_and_equal_scores_can_be_judged(rule, scores, labels):
    evaluated = evaluate(rule, scores, labels, groups=["<b>"] * len(labels))
    json.dumps(evaluated.to_dict(), allow_nan=False)
    assert str(evaluated)
    assert np.isnan(evaluated.ranking.auc) or evaluated.ranking.auc == 0.5
    assert evaluated.drift is None  # too few rows to tell
    assert not evaluated.ranking.is_inverted


def test_an_inverted_score_is_noticed(rule, fresh):
    scores, y = fresh
    assert evaluate(rule, 1 - scores, y).ranking.is_inverted
    assert not evaluate(
        rule, np.random.default_rng(0).random(y.size), y
    ).ranking.is_inverted
    assert not evaluate(rule, scores, y).ranking.is_inverted


@pytest.mark.parametrize(("ones", "zeros", "inverted"), [(18, 32, 0), (17, 33, 1)])
def test_a_score_is_inverted_from_a_p_value_of_one_percent(ones, zeros, inverted):
    """Of 50 each so many are high: an AUC of 0.36 or 0.34, with an error of 0.058."""
    y = np.repeat([1, 0], 50)
    high = np.concatenate([np.arange(50) < ones, np.arange(50) < zeros])
    evaluated = evaluate(None, np.where(high, 0.6, 0.4), y)
    assert evaluated.ranking.auc == pytest.approx(0.5 + (ones - zeros) / 100)
    assert evaluated.ranking.is_inverted == inverted


def test_probabilities_are_ranked_as_judged_not_as_before(fresh):
    p, y = fresh
    evaluated = evaluate(None, p, y, before=1 - p)
    assert evaluated.ranking.auc == pytest.approx(evaluation.auc(p, y))
    assert not evaluated.ranking.is_inverted
    assert evaluate(None, 1 - p, y, before=p).ranking.is_inverted


def test_a_rule_that_falls_is_judged_by_its_own_direction(fresh):
    scores, y = drawn(1_000, 5)
    falling = abers.fit_rule(1 - scores, y, increasing=False)
    evaluated = evaluate(falling, 1 - fresh[0], fresh[1])
    rising = evaluate(abers.fit_rule(scores, y), *fresh)
    assert (
        evaluated.calibration.before is None
    )  # such scores are no probabilities of label 1
    assert not evaluated.ranking.is_inverted
    assert evaluated.ranking.auc == pytest.approx(1 - rising.ranking.auc)
    assert evaluated.losses.log.after == pytest.approx(rising.losses.log.after)
    np.testing.assert_allclose(
        evaluated.calibration.band.scores, rising.calibration.band.scores - 1
    )
    np.testing.assert_allclose(
        evaluated.calibration.band.lower, rising.calibration.band.lower
    )


@pytest.mark.parametrize(
    "model",
    [
        abers.IVAPClassifier(GaussianNB(), random_state=0),
        abers.CVAPClassifier(GaussianNB(), cv=3, random_state=0),
    ],
)
def test_our_classifiers_are_judged_with_bounds_and_what_was_said_before(model):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(900, 2))
    labels = np.where(rng.random(900) < 1 / (1 + np.exp(-features[:, 0])), "yes", "no")
    model.fit(features[:600], labels[:600])
    rows, y = features[600:], labels[600:] == "yes"
    evaluated = evaluate(model, rows, labels[600:])
    p = model.predict_proba(rows)[:, 1]
    assert evaluated.losses.log.after == pytest.approx(evaluation.log_loss(y, p))
    inner = [one.predict_proba(rows)[:, 1] for one in model.estimators_]
    assert evaluated.calibration.before.mean_prediction == pytest.approx(np.mean(inner))
    assert evaluated.widths == evaluation.bound_widths(model.predict_bounds(rows))
    assert (evaluated.rule is not None) == (len(model.rules_) == 1)
    assert evaluated.pos_label == "yes"
    with pytest.raises(
        abers.AbersError, match=r"\['no', 'yes'\]; got 'maybe' at row 1"
    ):
        evaluate(model, rows[:2], ["no", "maybe"])


def test_any_classifier_of_two_classes_can_be_judged():
    model = LogisticRegression().fit(X, Y)
    evaluated = evaluate(model, X, Y)
    expected = evaluation.log_loss(Y, model.predict_proba(X)[:, 1])
    assert evaluated.losses.log.after == pytest.approx(expected)
    assert evaluated.calibration.before is None
    assert (evaluated.widths, evaluated.drift, evaluated.rule) == (None,) * 3
    with pytest.raises(NotFittedError):
        evaluate(LogisticRegression(), X, Y)
    with pytest.raises(abers.AbersError, match="got the class GaussianNB"):
        evaluate(GaussianNB, X, Y)


def test_an_evaluation_becomes_json_of_a_bounded_size():
    scores, y = drawn(20_000, 9)
    evaluated = evaluate(
        abers.fit_rule(*drawn(20_000, 10)), scores, y, groups=y, name="n"
    )
    plain = evaluated.to_dict()
    text = json.dumps(plain, allow_nan=False)
    assert len(text) < 200_000
    longest = max(len(x) for x in plain["calibration"]["after"]["curve"].values())
    assert 2 <= longest <= 500
    assert json.loads(text) == plain
    assert plain["groups"][0]["n_rows"] == evaluated.groups[0].n_rows


def test_hashes_are_those_of_the_bytes(rule, evaluated):
    scores, y, w = [0.25, 0.5], [0, 1], [1.0, 3.0]
    data = struct.pack("<2d", *scores) + bytes(y)
    expected = hashlib.sha256(data).hexdigest()
    assert evaluate(rule, scores, y).provenance.data_hash == expected
    weighted = evaluate(rule, scores, y, sample_weight=w)
    expected = hashlib.sha256(data + struct.pack("<2d", *w)).hexdigest()
    assert weighted.provenance.data_hash == expected
    assert weighted.total_weight == 4
    assert weighted.effective_rows == pytest.approx(1.6)
    assert (
        evaluated.provenance.rule_hash == evaluate(rule, [1], [1]).provenance.rule_hash
    )
    assert evaluated.provenance.versions["abers"] == abers.__version__


@pytest.mark.parametrize("changed", ["n_rows", "n_positives", "increasing"])
def test_hash_of_a_rule_depends_on_all_its_facts(rule, changed):
    names = ("n_rows", "n_positives", "increasing")
    facts = {name: getattr(rule, name) for name in names}
    facts[changed] = facts[changed] - 1 if changed != "increasing" else False
    other = abers.rules.Rule(rule._table, **facts)  # noqa: SLF001
    hashes = {evaluate(r, [1], [1]).provenance.rule_hash for r in (rule, other)}
    assert len(hashes) == 2


def test_text_gives_the_observed_rate_and_warns(rule):
    scores, y = drawn(2_000, 0)
    tagged = rule.with_metadata({TAG: fingerprint_of(scores, y).to_text()})
    evaluated = evaluate(tagged, scores, y, name="<script>")
    assert f"observed rate: {y.mean():.4f}" in str(evaluated)
    assert "the predictor was fitted to" in str(evaluated)
    shown = evaluated._repr_html_()
    assert "&lt;script&gt;" in shown
    assert "<script>" not in shown


def test_small_differences_keep_two_digits():
    p, y = drawn(2_000, 0)
    text = str(evaluate(None, p + 1e-5 * (0.5 - p), y, before=p))
    errors = re.findall(r"± ([\d.]+)\)", text)
    assert [float(error) > 0 for error in errors] == [True, True, True]


def test_page_of_hostile_names_is_written(rule, fresh, tmp_path):
    scores, y = fresh
    hostile = ['"><script>alert(1)</script>', "😀" * 10_000, "half \ud800", "'"]
    groups = [hostile[row % 4] for row in range(y.size)]
    page = tmp_path / "page.html"
    evaluated = evaluate(rule, scores, y, groups=groups, name=hostile[0])
    evaluated.to_html(page, title=hostile[2])
    text = page.read_text(encoding="utf-8")
    assert "<script" not in text
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_judging_a_rule_does_not_import_scikit_learn():
    script = (
        "import sys, abers; from abers.evaluation.evaluate import evaluate;"
        "evaluate(abers.fit_rule([1, 2], [0, 1]), [1, 2], [0, 1]);"
        "print('sklearn' in sys.modules)"
    )
    command = [sys.executable, "-c", script]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert output == "False\n"


@pytest.mark.parametrize(
    ("scores", "labels", "options", "message"),
    [
        ([0.5, np.nan], [0, 1], {}, "scores must not be NaN"),
        ([0.5], [0, 1], {}, "equally long"),
        ([], [], {}, "scores must not be empty"),
        ([0.5, 0.6], [0, 2], {}, "labels must be 0 or 1"),
        ([0.5], [0], {"loss": "hinge"}, "loss must be"),
        ([0.5], [0], {"before": [2]}, "before must be between 0 and 1"),
        ([0.5], [0], {"before": [0, 1]}, "before and labels must be equally long"),
        ([0.5], [0], {"groups": []}, "groups and labels must be equally long"),
        ([0.5], [0], {"sample_weight": [0]}, "sample_weight must not all be zero"),
    ],
)
def test_what_cannot_be_judged_is_refused(rule, scores, labels, options, message):
    with pytest.raises(abers.AbersError, match=message):
        evaluate(rule, scores, labels, **options)


@pytest.mark.parametrize("weight", [5e-324, 2.0**-900, 2.0**900])
def test_the_scale_of_weights_does_not_matter(rule, fresh, weight):
    scores, y = fresh
    half, other = (
        evaluate(rule, scores, y, sample_weight=np.full(y.size, each))
        for each in (0.5, weight)
    )
    first, second = half.to_dict(), other.to_dict()
    assert other.total_weight == y.size * weight
    for plain in (first, second):
        del plain["total_weight"], plain["provenance"]
    assert first == second
    p = rule.probability(scores)
    for function in (evaluation.log_loss, evaluation.brier_loss, evaluation.log_skill):
        one, another = (
            function(y, p, sample_weight=np.full(y.size, each))
            for each in (0.5, weight)
        )
        assert one == another


def test_the_scale_of_weights_does_not_matter_for_many_classes():
    rng = np.random.default_rng(3)
    p, y = rng.dirichlet([1, 1, 1], 200), rng.integers(0, 3, 200)
    half, least = (
        evaluate(None, p, y, sample_weight=np.full(200, each)) for each in (0.5, 5e-324)
    )
    assert half.losses.log.after == least.losses.log.after
    assert least.total_weight == 200 * 5e-324


@pytest.mark.parametrize("least", [1e-170, 5e-324])
def test_weights_too_far_apart_are_refused_with_a_sentence(rule, fresh, least):
    scores, y = fresh
    weights = np.where(np.arange(y.size) % 2, 1.0, least)
    sentence = (
        "^sample_weight must be zero or at least 1e-140 of the largest, 1.0; "
        f"got {least} at row 0. Use 0 to leave a row out.$"
    )
    p = np.stack((scores / 2, scores / 2, 1 - scores), axis=1)
    for ask in (
        lambda: evaluate(rule, scores, y, sample_weight=weights),
        lambda: evaluate(None, p, y, classes=[0, 1, 2], sample_weight=weights),
        lambda: abers.check(rule, scores, y, sample_weight=weights),
        lambda: evaluation.auc(scores, y, sample_weight=weights),
    ):
        with pytest.raises(abers.errors.InvalidData, match=sentence):
            ask()


def test_weights_far_apart_count_as_they_are(rule, fresh):
    scores, y = fresh
    odd = np.arange(y.size) % 2 == 1
    evaluated = evaluate(rule, scores, y, sample_weight=np.where(odd, 1.0, 1e-130))
    alone = evaluate(rule, scores[odd], y[odd])
    assert evaluated.n_rows == y.size
    assert evaluated.losses.log.after == pytest.approx(alone.losses.log.after)
    assert evaluated.effective_rows == pytest.approx(odd.sum())
    checked = abers.check(rule, scores, y, sample_weight=np.where(odd, 1.0, 1e-130))
    assert checked.passed
