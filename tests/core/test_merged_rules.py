"""K rules read and merged at once give what their bounds give afterwards."""

import kinds
import numpy as np
import pytest

import abers
from abers.core.merging import merge_rules


@pytest.fixture(scope="module")
def folds():
    rng = np.random.default_rng(2)
    rules = [abers.fit_rule(*kinds.normal(rng, 3_000)) for _ in range(7)]
    scores = [kinds.normal(rng, 5_001)[0] for _ in rules]
    return rules, scores


@pytest.mark.parametrize("loss", ["log", "brier"])
@pytest.mark.parametrize("k", [1, 2, 7])
def test_merging_rules_gives_the_bits_of_merging_their_bounds(folds, k, loss):
    rules, scores = folds[0][:k], folds[1][:k]
    bounds = [rule.bounds(s) for rule, s in zip(rules, scores, strict=True)]
    merged = merge_rules(rules, scores, loss)
    assert (merged == abers.rules.merge_folds(bounds, loss)).all()


def test_one_rule_merged_is_its_probability(folds):
    rule, scores = folds[0][0], folds[1][0]
    assert (merge_rules([rule], [scores]) == rule.probability(scores)).all()


def test_missing_score_of_a_fold_is_refused(folds):
    rules, scores = folds
    bad = [*scores[:6], np.where(np.arange(5_001) == 4_000, np.nan, scores[6])]
    with pytest.raises(abers.AbersError, match="1 of 5001 rows, first at row 4000"):
        merge_rules(rules, bad)


def test_every_fold_scores_the_same_objects(folds):
    rules, scores = folds
    with pytest.raises(abers.AbersError, match="equally long"):
        merge_rules(rules, [*scores[:6], scores[6][:-1]])
    with pytest.raises(abers.AbersError, match="got 6 scores and 7 rules"):
        merge_rules(rules, scores[:6])
