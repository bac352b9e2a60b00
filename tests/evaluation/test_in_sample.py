"""Rows of the fit are recognised: by a fingerprint, by quantiles, or fold by fold."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import abers
from abers.evaluation.evaluate import evaluate
from abers.evaluation.in_sample import scores_kept
from abers.storage.fingerprint import TAG, fingerprint_of
from strategies import either_way


def drawn(size, seed, digits=17):
    rng = np.random.default_rng(seed)
    scores = rng.random(size).round(digits)
    return scores, rng.random(size) < scores


def tagged(scores, labels, tmp_path, tag=None, **options):
    """A rule as `abers fit` saves it."""
    path = tmp_path / "rule.abers"
    text = fingerprint_of(scores, labels).to_text() if tag is None else tag
    abers.fit_rule(scores, labels, **options).save(path, {TAG: text})
    return abers.load(path)


def mixed(first, second):
    return [np.concatenate(pair) for pair in zip(first, second, strict=True)]


def test_a_part_that_no_quantile_gives_away_is_recognised(tmp_path):
    """500 rows of 50,000 hold one or two of the 101 percentiles, if any."""
    scores, labels = drawn(50_000, 0)
    part = scores[:500], labels[:500]
    rule = tagged(scores, labels, tmp_path)
    assert evaluate(rule, *part).in_sample
    assert not evaluate(abers.fit_rule(scores, labels), *part).in_sample
    assert not evaluate(rule, *drawn(500, 1)).in_sample


def test_most_of_the_rows_make_a_mixture_old_and_few_do_not(tmp_path):
    scores, labels = drawn(3_000, 0)
    rule = tagged(scores, labels, tmp_path)
    fresh = drawn(1_000, 1)
    assert evaluate(rule, *mixed((scores, labels), fresh)).in_sample
    few = scores[:100], labels[:100]
    assert not evaluate(rule, *mixed(few, fresh)).in_sample


def test_the_same_scores_with_other_labels_are_other_rows(tmp_path):
    """Quantiles alone would take them for those of the fit."""
    scores, labels = drawn(2_000, 0)
    rule = tagged(scores, labels, tmp_path)
    assert not evaluate(rule, scores, ~labels).in_sample
    assert evaluate(abers.fit_rule(scores, labels), scores, ~labels).in_sample


@pytest.mark.parametrize("digits", [1, 2, 3, 4])
def test_scores_that_repeat_are_no_proof(digits, tmp_path):
    """New rows with such scores look like old ones; all rows are known by their sum."""
    rule = tagged(*drawn(2_000, 0, digits), tmp_path)
    for seed in (1, 2):
        assert not evaluate(rule, *drawn(1_500, seed, digits)).in_sample
    scores, labels = drawn(2_000, 0, digits)
    assert evaluate(rule, scores[::-1], labels[::-1]).in_sample


@pytest.mark.parametrize("tag", ["v9 of the future", 7])
def test_a_tag_that_is_no_fingerprint_is_ignored(tag, tmp_path):
    scores, labels = drawn(500, 0)
    rule = tagged(scores, labels, tmp_path, tag=tag)
    assert evaluate(rule, scores, labels).in_sample  # by quantiles
    assert not evaluate(rule, *drawn(500, 1)).in_sample


def test_weights_and_rule_sets_are_recognised(tmp_path):
    scores, labels = drawn(1_000, 0)
    groups = np.where(scores > 0.5, "high", "low")
    path = tmp_path / "set.abers"
    text = fingerprint_of(scores, labels).to_text()
    abers.fit_rules(scores, labels, groups).save(path, {TAG: text})
    rule_set = abers.load(path)
    weights = np.random.default_rng(3).integers(0, 3, 1_000)
    found = evaluate(
        rule_set, scores, labels, groups=groups, sample_weight=weights + 0.5
    )
    assert found.in_sample
    fresh = drawn(1_000, 1)
    names = np.where(fresh[0] > 0.5, "high", "low")
    assert not evaluate(rule_set, *fresh, groups=names).in_sample


def test_rows_of_the_fit_are_noticed_by_quantiles_and_fresh_ones_are_not():
    scores, y = drawn(2_000, 0)
    rule = abers.fit_rule(scores, y)
    new = drawn(2_000, 8)
    assert evaluate(rule, scores, y).in_sample
    assert evaluate(rule, scores[:300], y[:300]).in_sample  # a part of them
    assert evaluate(rule, *mixed((scores, y), new)).in_sample
    weighted = evaluate(rule, scores, y, sample_weight=new[0])
    assert weighted.in_sample
    found = evaluate(rule, *new)
    assert (found.overlap, found.in_sample) == (0.0, False)
    few = evaluate(rule, *mixed((scores[:200], y[:200]), new))
    assert few.overlap > 0.05
    assert few.in_sample is False  # an eleventh of them is old


@pytest.mark.parametrize("digits", [1, 2, 3, 4])
def test_fresh_rows_are_not_suspected_because_scores_are_tied(digits):
    for seed in range(3):
        old, new = drawn(1_000, seed), drawn(900, seed + 100)
        rule = abers.fit_rule(old[0].round(digits), old[1])
        found = evaluate(rule, new[0].round(digits), new[1])
        assert found.in_sample is (None if digits <= 3 else False)
        assert evaluate(rule, old[0].round(digits), old[1]).in_sample
    assert (found.overlap is None) == (digits <= 3)


def test_a_few_tied_fresh_rows_are_not_a_part_of_the_fit():
    """A fifth of the scores is found by chance, as if they stood for 400 rows.

    But a tenth of the rows of the fit would look no different.
    """
    scores, labels = drawn(2_000, 0, 3)
    rule = abers.fit_rule(scores, labels)
    for rows in (drawn(220, 1, 3), (scores[:220], labels[:220])):
        found = evaluate(rule, *rows)
        assert 0.1 < found.overlap < 0.4
        assert found.in_sample is None


@pytest.mark.parametrize(("found", "in_sample"), [(2, None), (3, True)])
@either_way
def test_three_scores_found_are_no_chance_where_none_are_tied_and_two_may_be(
    found, in_sample
):
    """Each of the 102 scores that the rule keeps stands for 1,000 rows of the fit."""
    scores, _ = drawn(100_000, 0)
    rule = abers.fit_rule(scores, scores < 0.5)  # one level: no score but percentiles
    rows, labels = drawn(2_200, 1)
    rows[:found] = rule.score_quantiles[10 : 10 + found]
    assert evaluate(rule, rows, labels).in_sample is in_sample


@pytest.mark.parametrize("seed", range(3))
def test_rows_too_few_to_be_noticed_are_not_called_fresh(seed):
    scores, labels = drawn(20_000, seed)
    rule = abers.fit_rule(scores, labels)
    for rows in (drawn(80, seed + 50), (scores[:80], labels[:80])):
        assert evaluate(rule, *rows).in_sample is None
    assert evaluate(rule, *drawn(2_000, seed + 50)).in_sample is False
    part = evaluate(rule, scores[:2_000], labels[:2_000])
    assert part.in_sample is True


@pytest.mark.parametrize("seed", range(8))
def test_a_few_rounded_scores_without_a_tie_are_not_taken_for_continuous(seed):
    """Some of 10,000 values are found again, though no two of 200 rows share one."""
    rule = abers.fit_rule(*drawn(20_000, 0, 4))
    found = evaluate(rule, *drawn(200, seed + 100, 4))
    assert found.in_sample is None


@either_way
def test_a_rule_holds_scores_of_its_fit_at_its_steps():
    for increasing in (True, False):
        scores, labels = drawn(700, 3)
        rule = abers.fit_rule(scores, labels, increasing=increasing)
        kept = scores_kept(rule)
        assert len(kept) > 101 or not increasing
        assert np.isin(kept, scores).any(axis=1).all()
        assert np.unique(scores[np.isin(scores, kept)]).size == len(kept)


def test_weights_that_are_no_counts_leave_the_size_of_the_fit_unknown():
    scores, labels = drawn(2_000, 0)
    weights = np.random.default_rng(1).random(2_000)
    rule = abers.fit_rule(scores, labels, sample_weight=weights)
    assert evaluate(rule, *drawn(2_000, 1)).in_sample is None
    assert evaluate(rule, scores, labels).in_sample is True


def test_few_rows_are_compared_by_their_fingerprint(tmp_path):
    """Of 400 rows ten can be compared: enough, if none of them is known."""
    scores, labels = drawn(20_000, 0)
    rule = tagged(scores, labels, tmp_path)
    assert evaluate(rule, *drawn(400, 1)).in_sample is False
    assert evaluate(rule, scores[:400], labels[:400]).in_sample is True
    assert evaluate(rule, *drawn(60, 1)).in_sample is None


@pytest.mark.parametrize("columns", [1, 2, "margins"])
def test_own_scores_are_noticed_in_whatever_shape_a_calibrator_takes_them(columns):
    def shaped(scores):
        if columns == 1:
            return scores[:, np.newaxis]
        zero = 1 - scores if columns == 2 else -7 * scores
        return np.stack((zero, scores), axis=1)

    scores, y = drawn(800, 0)
    model = abers.IVAPCalibrator().fit(shaped(scores), y)
    found = evaluate(model, shaped(scores), y)
    assert found.in_sample is True
    assert found.drift == pytest.approx(0, abs=0.01)
    new = drawn(800, 1)
    found = evaluate(model, shaped(new[0]), new[1])
    assert found.in_sample is False
    assert (found.before is None) == (columns == "margins")  # these say nothing


def learnt(size, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(size, 3))
    return X, (rng.random(size) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)


@pytest.mark.parametrize(
    "inner", [DecisionTreeClassifier(), RandomForestClassifier(20, random_state=0)]
)
def test_folds_of_tied_scores_are_noticed_and_as_many_fresh_rows_are_not(inner):
    X, y = learnt(600, 0)
    model = abers.CVAPClassifier(inner, random_state=0).fit(X, y)
    order = np.random.default_rng(1).permutation(600)
    assert evaluate(model, X[order], y[order]).in_sample is True
    X, other = learnt(2_000, 2)
    rows = [np.flatnonzero(other == label)[: (y == label).sum()] for label in (0, 1)]
    rows = np.concatenate(rows)  # as many of each class as at fit
    assert evaluate(model, X[rows], other[rows]).in_sample is None


@pytest.mark.parametrize("size", [500, 200])
@pytest.mark.parametrize("kind", [abers.IVAPClassifier, abers.CVAPClassifier])
def test_a_part_of_the_rows_of_a_classifier_is_noticed(kind, size):
    X, y = learnt(2_000, 0)
    model = kind(GaussianNB(), random_state=0).fit(X, y)
    rows = np.random.default_rng(1).permutation(2_000)[:size]
    assert evaluate(model, X[rows], y[rows]).in_sample is True
    assert evaluate(model, *learnt(size, 2)).in_sample is False
    weighted = evaluate(
        model, X[rows], y[rows], sample_weight=np.linspace(0.5, 1.5, size)
    )
    assert weighted.in_sample is True


@pytest.mark.parametrize(
    ("calibration", "in_sample"),
    [
        (np.arange(1_000) % 2 == 0, False),
        (500, None),  # of how many rows?
        (np.arange(500), None),
    ],
    ids=["mask", "number", "rows"],
)
def test_rows_are_held_out_only_if_the_number_of_training_rows_is_known(
    calibration, in_sample
):
    X, y = learnt(1_000, 0)
    model = abers.IVAPClassifier(
        GaussianNB(), calibration=calibration, random_state=0
    ).fit(X, y)
    assert evaluate(model, *learnt(500, 2)).in_sample is in_sample
    assert evaluate(model, X, y).in_sample is True


class Foreign(GaussianNB):
    """Has rules that are none of ours."""

    rules_ = ("x > 1", "x > 2")


@pytest.mark.parametrize("predictor", [None, GaussianNB(), Foreign()])
def test_of_what_has_no_rule_nobody_can_tell(predictor):
    X, y = learnt(100, 0)
    X = np.full(100, 0.5) if predictor is None else X
    model = predictor and predictor.fit(X, y)
    found = evaluate(model, X, y)
    assert found.in_sample is None
    assert found.overlap is None


class Counting(GaussianNB):
    """Counts how often it is asked."""

    asked = 0

    def predict_log_proba(self, X):
        type(self).asked += 1
        return super().predict_log_proba(X)


def test_each_inner_classifier_is_asked_once():
    X, y = learnt(300, 0)
    model = abers.CVAPClassifier(Counting(), cv=4, random_state=0).fit(X, y)
    Counting.asked = 0
    evaluate(model, X, y)
    assert Counting.asked == 4
