"""A second predictor of the same rows, and groups by several columns."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

import abers
from abers.errors import AbersError
from abers.evaluation.discrimination import paired_auc
from abers.evaluation.evaluate import evaluate


def draw(size, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(size, 2))
    return X, (rng.random(size) < expit(X @ [1, 0.5] - 1)).astype(int)


def test_the_challenger_is_evaluated_on_the_same_rows():
    X, y = draw(2_000, 0)
    rows, labels = draw(1_000, 1)
    first, second = (
        abers.CalibratedClassifier(LogisticRegression(C=c), random_state=0).fit(X, y)
        for c in (1e-5, 1.0)
    )
    evaluation = evaluate(first, rows, labels, challenger=second)
    alone = evaluate(second, rows, labels)
    other = evaluation.challenger
    assert other.evaluation.losses == alone.losses
    assert other.log.before == evaluation.losses.log.after
    assert other.log.after == alone.losses.log.after
    assert other.auc.after == pytest.approx(alone.ranking.after.auc.value)
    given = evaluate(first, rows, labels, challenger=second.predict_proba(rows)[:, 1])
    assert given.challenger.log == other.log
    plain = evaluation.to_dict()["challenger"]
    assert plain["evaluation"]["n_rows"] == 1_000
    assert evaluation.to_dict()["challenger"]["log"]["after"] == other.log.after


def test_paired_errors_of_the_auc_are_those_of_delong():
    """Against the covariance of the placements, written out pair by pair."""
    rng = np.random.default_rng(3)
    labels = rng.random(300) < 0.3
    first = rng.normal(size=300) + labels
    second = np.round(first + rng.normal(size=300), 1)
    change = paired_auc(labels, first, second)
    ones, zeros = labels, ~labels
    moved = []
    for column in (first, second):
        above = column[ones][:, None] > column[zeros]
        tied = column[ones][:, None] == column[zeros]
        moved.append(above + tied / 2)
    difference = moved[1] - moved[0]
    variance = sum(
        difference.mean(axis=axis).var(ddof=1) / difference.shape[1 - axis]
        for axis in (0, 1)
    )
    assert change.difference == pytest.approx(difference.mean())
    assert change.standard_error == pytest.approx(np.sqrt(variance))


def test_two_columns_with_one_curve_differ_as_often_as_the_level_says():
    """2,000 data sets; p < 0.01 in 1 % of them, give or take 3 standard errors."""
    rng = np.random.default_rng(4)
    z = []
    for _ in range(2_000):
        labels = rng.random(200) < 0.5
        shared = rng.normal(size=200) + labels
        pair = (shared + rng.normal(size=200) for _ in range(2))
        change = paired_auc(labels, *pair)
        z.append(change.difference / change.standard_error)
    share = np.mean(np.abs(z) > norm.isf(0.005))
    assert abs(share - 0.01) < 3 * np.sqrt(0.01 * 0.99 / 2_000)


def test_of_many_classes_losses_are_compared():
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, 300)
    p = np.eye(3)[y] * 0.5 + 0.5 / 3
    even = np.full((300, 3), 1 / 3)
    evaluation = evaluate(None, even, y, challenger=p)
    assert evaluation.challenger.auc is None
    assert evaluation.challenger.log.difference == pytest.approx(
        -np.log(2)
    )  # 2/3 for 1/3
    report = evaluation.to_markdown()
    assert "The challenger is better" in report
    (accuracies,) = (s for s in report.split("\n") if s.startswith("| accuracy |"))
    first = evaluation.calibration.observed_rate
    assert accuracies == f"| accuracy | {100 * first:.1f} % | 100.0 % |  |"


def test_a_challenger_of_other_rows_is_refused():
    with pytest.raises(AbersError, match="challenger and labels must be equally"):
        evaluate(None, [0.5, 0.5], [0, 1], challenger=[0.5])
    with pytest.raises(AbersError, match="challenger must have a value for each row"):
        evaluate(None, [0.5, 0.5], [0, 1], challenger=0.5)


def test_groups_of_several_columns_are_corrected_for_all_of_them():
    labels = np.tile([0, 1], 600)
    p = np.full(1_200, 0.5)
    groups = {
        "region": np.repeat(["east", "west"], 600),
        "product": np.where(np.arange(1_200) % 3, "loan", "card"),
    }
    p[:600] = 0.6
    evaluation = evaluate(None, p, labels, groups=groups)
    assert [g.label for g in evaluation.groups][:1] == ["region = east"]
    assert {g.column for g in evaluation.groups} == {"region", "product"}
    alone = evaluate(None, p, labels, groups=groups["region"])
    assert alone.groups[0].column is None
    # Holm: the smallest p-value of four is four times itself, of two only twice.
    east = next(g for g in evaluation.groups if g.label == "region = east")
    assert east.p_value == pytest.approx(2 * alone.groups[0].p_value)
    frame = evaluate(None, p, labels, groups=pd.DataFrame(groups))
    assert [g.label for g in frame.groups] == [g.label for g in evaluation.groups]
    card = evaluation.to_markdown()
    assert "| region |" in card
    assert "| product |" in card
    assert "most in region = east: 60.0 % against 50.0 %." in card
    with pytest.raises(AbersError, match="at least one column"):
        evaluate(None, p, labels, groups={})
    with pytest.raises(AbersError, match="groups\\['region'\\]"):
        evaluate(None, p, labels, groups={"region": ["east"]})


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda X, y: (abers.fit_rule(expit(X[:, 0]), y), expit(X[:, 0])),
            "the scores",
        ),
        (
            lambda X, y: (
                abers.CalibratedClassifier(LogisticRegression()).fit(X, y),
                X,
            ),
            "the mean of the probabilities of 5 models",
        ),
        (
            lambda X, y: (abers.IVAPClassifier(LogisticRegression()).fit(X, y), X),
            "the probabilities of the model",
        ),
    ],
)
def test_the_report_says_what_before_is(make, sentence):
    X, y = draw(500, 6)
    predictor, rows = make(X, y)
    evaluation = evaluate(predictor, rows, y)
    assert evaluation.calibration.before_is == sentence
    assert f"Before: {sentence}." in evaluation.to_markdown()
    assert evaluate(None, [0.5, 0.4], [0, 1]).calibration.before_is is None
    given = evaluate(predictor, rows, y, before=np.full(500, 0.5))
    assert given.calibration.before_is == "the probabilities given as those before"
