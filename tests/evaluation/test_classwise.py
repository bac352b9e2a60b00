"""More than two classes: total losses, the top label, each class, the confusion."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import (
    accuracy_score,
    brier_score_loss,
    confusion_matrix,
    log_loss,
    precision_score,
    recall_score,
    roc_auc_score,
)
from sklearn.naive_bayes import GaussianNB

import abers
from abers.errors import InvalidData, InvalidParameter
from abers.evaluation import expected_calibration_error

Y = np.array(["a", "b", "c", "a", "b", "c"])
P = np.array(
    [
        [0.50, 0.25, 0.25],  # right
        [0.25, 0.50, 0.25],  # right
        [0.25, 0.25, 0.50],  # right
        [0.25, 0.50, 0.25],  # taken for b
        [0.00, 0.75, 0.25],  # right
        [0.50, 0.25, 0.25],  # taken for a
    ]
)


def by_name(evaluation):
    return {each.name: each for each in evaluation.by_class}


def drawn(size=600, classes=4, seed=0):
    """Rows whose probabilities are right, and ones that are too sure."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(classes), size)
    y = (rng.random(size)[:, None] > p.cumsum(axis=1)).sum(axis=1)
    sharp = p**2
    return y, p, sharp / sharp.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[::2], y[::2], X[1::2], y[1::2]


@pytest.fixture(scope="module")
def model(digits):
    X, y, *_ = digits
    return abers.CVAPClassifier(GaussianNB(), cv=3, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def evaluation(model, digits):
    _, _, X, y = digits
    return abers.evaluate(model, X, y, groups=y % 3, name="digits")


def test_totals_of_six_rows():
    """Log loss: (3 log 2 + 2 log 4 + log 4/3) / 6; Brier: 3 / 6; 4 of 6 right."""
    evaluation = abers.evaluate(None, P, Y)
    assert isinstance(evaluation, abers.evaluation.Evaluation)
    expected = (7 * math.log(2) + math.log(4 / 3)) / 6
    assert evaluation.losses.log.after == pytest.approx(expected)
    assert evaluation.losses.brier.after == pytest.approx(0.5)
    assert evaluation.ranking.accuracy.after == pytest.approx(4 / 6)
    assert evaluation.classes == ("a", "b", "c")
    assert evaluation.calibration.before is None
    assert math.isnan(evaluation.losses.log.before)
    assert evaluation.losses.after.log_skill == pytest.approx(
        1 - expected / math.log(3)
    )
    assert evaluation.losses.after.brier_skill == pytest.approx(1 - 0.5 / (2 / 3))


def test_top_label_of_six_rows():
    """At 0.5: 3 of 5 right, at 0.75: 1 of 1; (|3 - 2.5| + |1 - 0.75|) / 6 = 1/8."""
    top = abers.evaluate(None, P, Y).calibration.after
    assert top.mean_prediction == pytest.approx(3.25 / 6)
    assert top.calibration_error == pytest.approx(1 / 8)
    assert top.curve.probabilities.tolist() == [0.5, 0.75]
    assert top.curve.frequencies.tolist() == [0.6, 1.0]


def test_classes_of_six_rows():
    """ECE of a: |1 - 0.75| / 6; of b: (0.75 + 0.25) / 6; of c: (0.25 + 0.5) / 6."""
    evaluation = abers.evaluate(None, P, Y)
    classes = by_name(evaluation)
    means = [classes[name].mean_prediction for name in "abc"]
    assert means == pytest.approx([1.75 / 6, 2.5 / 6, 1.75 / 6])
    assert [classes[name].observed_rate for name in "abc"] == pytest.approx([1 / 3] * 3)
    assert classes["a"].z == pytest.approx(-0.25 / math.sqrt(1.0625))
    errors = [classes[name].calibration_error for name in "abc"]
    assert errors == pytest.approx([0.25 / 6, 1 / 6, 0.75 / 6])
    assert evaluation.calibration.classwise_error == pytest.approx(1 / 9)
    assert classes["c"].auc == pytest.approx(0.75)  # 4 pairs in order, 4 tied, of 8
    assert evaluation.ranking.confusion.tolist() == [[1, 1, 0], [0, 2, 0], [1, 0, 1]]
    assert (classes["b"].recall, classes["b"].precision) == (1.0, pytest.approx(2 / 3))
    assert (classes["c"].n_rows, classes["c"].n_predicted) == (2, 1)


def test_difference_is_paired_over_rows():
    """Before: 1/3 for each class, which costs log 3 and 2/3 in every row."""
    evaluation = abers.evaluate(None, P, Y, before=np.full((6, 3), 1 / 3))
    rows = np.array([0.375, 0.375, 0.375, 0.875, 0.125, 0.875])
    assert evaluation.losses.log.before == pytest.approx(math.log(3))
    assert evaluation.losses.brier.before == pytest.approx(2 / 3)
    assert evaluation.losses.brier.difference == pytest.approx(-1 / 6)
    error = rows.std(ddof=1) / math.sqrt(6)
    assert evaluation.losses.brier.standard_error == pytest.approx(error)
    assert evaluation.ranking.accuracy.before == pytest.approx(
        2 / 6
    )  # a tie is the first class


def test_totals_are_those_of_scikit_learn():
    y, p, sharp = drawn()
    weights = np.random.default_rng(1).random(y.size)
    for w in (None, weights):
        evaluation = abers.evaluate(None, p, y, before=sharp, sample_weight=w)
        for change, table in (("before", sharp), ("after", p)):
            assert getattr(evaluation.losses.log, change) == pytest.approx(
                log_loss(y, table, sample_weight=w)
            )
            top = table.argmax(axis=1)
            assert getattr(evaluation.ranking.accuracy, change) == pytest.approx(
                accuracy_score(y, top, sample_weight=w)
            )
            confusion = evaluation.ranking.confusion
            if change == "before":
                confusion = evaluation.ranking.confusion_before
            np.testing.assert_allclose(
                confusion, confusion_matrix(y, top, sample_weight=w)
            )
        classes = by_name(evaluation)
        top = p.argmax(axis=1)
        recalls = recall_score(y, top, average=None, sample_weight=w)
        precisions = precision_score(y, top, average=None, sample_weight=w)
        for c in range(4):
            area = roc_auc_score(y == c, p[:, c], sample_weight=w)
            assert classes[c].auc == pytest.approx(area)
            assert classes[c].recall == pytest.approx(recalls[c])
            assert classes[c].precision == pytest.approx(precisions[c])
            one = abers.evaluate(None, p[:, c], y == c, sample_weight=w)
            assert classes[c].log_loss == pytest.approx(one.losses.log.after)
            assert classes[c].brier_skill == pytest.approx(one.losses.after.brier_skill)
            error = one.calibration.after.calibration_error
            assert classes[c].calibration_error == pytest.approx(error)


def test_brier_loss_is_that_of_scikit_learn():
    y, p, _ = drawn()
    evaluation = abers.evaluate(None, p, y)
    assert evaluation.losses.brier.after == pytest.approx(brier_score_loss(y, p))


def test_errors_are_means_by_the_definition():
    y, p, _ = drawn()
    calibration = abers.evaluate(None, p, y).calibration
    right = p.argmax(axis=1) == y
    top = expected_calibration_error(right, p.max(axis=1))
    assert calibration.after.calibration_error == pytest.approx(top)
    each = [expected_calibration_error(y == c, p[:, c]) for c in range(4)]
    assert calibration.classwise_error == pytest.approx(np.mean(each))


def test_integer_weights_count_as_repeated_rows():
    y, p, sharp = drawn(200)
    times = np.arange(200) % 3
    evaluation = abers.evaluate(None, p, y, before=sharp, sample_weight=times)
    rows = np.repeat(np.arange(200), times)
    repeated = abers.evaluate(None, p[rows], y[rows], before=sharp[rows])
    assert evaluation.n_rows == np.count_nonzero(times)
    assert evaluation.total_weight == times.sum()
    for ours, theirs in (
        (evaluation.losses.log, repeated.losses.log),
        (evaluation.losses.brier, repeated.losses.brier),
        (evaluation.ranking.accuracy, repeated.ranking.accuracy),
    ):
        for when in ("before", "after", "difference"):
            assert getattr(ours, when) == pytest.approx(getattr(theirs, when))
    np.testing.assert_array_equal(
        evaluation.ranking.confusion, repeated.ranking.confusion
    )
    assert evaluation.calibration.classwise_error == pytest.approx(
        repeated.calibration.classwise_error
    )


def test_other_names_in_another_order_change_no_total():
    y, p, _ = drawn()
    plain = abers.evaluate(None, p, y)
    names, order = np.array(["d", "a", "c", "b"]), [1, 3, 2, 0]
    other = abers.evaluate(None, p[:, order], names[y])
    assert other.classes == ("a", "b", "c", "d")
    assert other.losses.log.after == pytest.approx(plain.losses.log.after)
    assert other.losses.brier.after == pytest.approx(plain.losses.brier.after)
    assert other.ranking.accuracy.after == plain.ranking.accuracy.after
    assert other.calibration.after.calibration_error == pytest.approx(
        plain.calibration.after.calibration_error
    )
    given, renamed = by_name(plain), by_name(other)
    for c, name in enumerate(names):
        assert renamed[name].p_value == pytest.approx(given[c].p_value)


@pytest.mark.parametrize("kind", [list, pd.Series, pd.Categorical])
def test_labels_and_tables_of_any_kind(kind):
    evaluation = abers.evaluate(
        None, pd.DataFrame(P, columns=list("abc")), kind(Y.tolist())
    )
    assert evaluation.losses == abers.evaluate(None, P, Y).losses
    with pytest.raises(InvalidData, match="order"):
        abers.evaluate(None, pd.DataFrame(P, columns=list("bac")), kind(Y.tolist()))


def test_a_class_that_does_not_occur_needs_a_name():
    rows = Y != "c"
    with pytest.raises(InvalidData, match="X has 3 columns, and y 2 classes"):
        abers.evaluate(None, P[rows], Y[rows])
    evaluation = abers.evaluate(None, P[rows], Y[rows], classes=["a", "b", "c"])
    absent = by_name(evaluation)["c"]
    assert (absent.n_rows, absent.observed_rate) == (0, 0.0)
    assert math.isnan(absent.auc)
    assert math.isnan(absent.recall)
    assert math.isnan(absent.log_skill)
    json.dumps(evaluation.to_dict(), allow_nan=False)


def test_classes_may_come_in_any_order():
    evaluation = abers.evaluate(None, P[:, ::-1], Y, classes=["c", "b", "a"])
    assert evaluation.classes == ("c", "b", "a")
    assert evaluation.losses.brier.after == pytest.approx(0.5)


def test_one_wrong_row_is_named():
    wrong = P.copy()
    wrong[4] = [0.5, 0.25, 0.2]
    with pytest.raises(InvalidData, match=r"add up to 1.*0\.95 in row 4 \(1 "):
        abers.evaluate(None, wrong, Y)
    wrong[4] = [1.5, -0.25, -0.25]
    with pytest.raises(InvalidData, match=r"got 1\.5 in column 0 of row 4"):
        abers.evaluate(None, wrong, Y)
    wrong[4] = np.nan
    with pytest.raises(InvalidData, match="got nan in column 0 of row 4"):
        abers.evaluate(None, wrong, Y)
    rounded = abers.evaluate(None, np.full((6, 3), 0.333), Y)  # three digits are enough
    assert rounded.losses.log.after == pytest.approx(-math.log(0.333))


def test_labels_and_classes_that_do_not_fit_are_refused():
    with pytest.raises(InvalidData, match="got 'd' at row 1"):
        abers.evaluate(None, P, [*"adcabc"], classes=[*"abc"])
    with pytest.raises(InvalidData, match="none in 1 of 6 rows, first at row 2"):
        abers.evaluate(None, P, [*"ab", None, *"abc"], classes=[*"abc"])
    with pytest.raises(InvalidParameter, match="3 different labels"):
        abers.evaluate(None, P, Y, classes=["a", "b", "b"])
    with pytest.raises(InvalidData, match="5 y and 6 rows of X"):
        abers.evaluate(None, P, Y[:5], classes=[*"abc"])
    with pytest.raises(InvalidData, match=r"\(6, 3\); got \(6, 2\)"):
        abers.evaluate(None, P, Y, before=np.full((6, 2), 0.5))
    with pytest.raises(InvalidParameter, match="Leave classes out"):
        abers.evaluate(None, P[:, 0], Y == "a", classes=["a", "b"])
    with pytest.raises(InvalidParameter, match="a Rule has its own"):
        abers.evaluate(abers.fit_rule([1, 2], [0, 1]), [1, 2], [0, 1], classes=[0, 1])


def test_an_infinite_loss_stays_infinite():
    certain = np.eye(3)[[0, 1, 2, 1, 1, 0]]
    evaluation = abers.evaluate(None, P, Y, before=certain)
    assert evaluation.losses.log.before == math.inf
    assert evaluation.losses.log.difference == -math.inf
    assert math.isnan(evaluation.losses.log.standard_error)
    assert "∞ before" in str(evaluation)


def test_one_row_is_evaluated():
    evaluation = abers.evaluate(None, P[:1], Y[:1], before=P[1:2], classes=[*"abc"])
    assert evaluation.losses.log.difference == pytest.approx(-math.log(2))
    assert math.isnan(evaluation.losses.log.standard_error)
    assert math.isnan(evaluation.losses.after.log_skill)
    json.dumps(evaluation.to_dict(), allow_nan=False)


def test_calibrated_probabilities_pass_and_sharpened_ones_do_not():
    y, p, sharp = drawn(3_000)
    assert abers.evaluate(None, p, y).calibration.after.test.p_value > 0.01
    evaluation = abers.evaluate(None, sharp, y, before=p)
    assert evaluation.calibration.after.test.p_value < 0.01
    assert evaluation.losses.log.is_significant
    assert evaluation.losses.log.difference > 0


def test_our_classifier_tells_what_there_was_before(model, evaluation, digits):
    _, _, X, y = digits
    inner = np.mean([each.predict_proba(X) for each in model.estimators_], axis=0)
    same = abers.evaluate(None, model.predict_proba(X), y, before=inner)
    assert evaluation.losses.brier.before == pytest.approx(same.losses.brier.before)
    assert evaluation.losses.log.after == pytest.approx(same.losses.log.after)
    bounds = model.predict_bounds(X)
    top = model.predict_proba(X).argmax(axis=1)
    lower, upper = bounds[np.arange(top.size), top].T
    assert evaluation.widths.mean == pytest.approx((upper - lower).mean())
    assert evaluation.provenance.rule_rows == 899
    assert (same.in_sample, same.widths) == (None, None)


@pytest.mark.parametrize("multiclass", ["ovr", "ovo"])
@pytest.mark.parametrize("kind", ["IVAP", "pooled", "one model"])
def test_one_model_of_all_rows_recognises_them(kind, multiclass, digits):
    X, y, new, new_y = digits
    models = {
        "IVAP": abers.IVAPClassifier(GaussianNB(), calibration=0.5, random_state=0),
        "pooled": abers.CVAPClassifier(GaussianNB(), cv=3, random_state=0),
        "one model": abers.CVAPClassifier(
            GaussianNB(), cv=3, ensemble=False, random_state=0
        ),
    }
    model = models[kind].set_params(multiclass=multiclass).fit(X, y)
    inside = abers.evaluate(model, X, y)
    knows = kind == "one model"
    assert inside.in_sample is (True if knows else None)
    assert inside.provenance.rule_rows == (450 if kind == "IVAP" else 899)
    assert ("Evaluate on held-out rows" in str(inside)) == knows
    assert abers.evaluate(model, new, new_y).in_sample is not True


@pytest.mark.parametrize(
    "kind",
    [
        abers.IVAPCalibrator,
        abers.PlattCalibrator,
        abers.IsotonicCalibrator,
        abers.TemperatureCalibrator,
        abers.BetaCalibrator,
    ],
)
def test_calibrators_are_compared_with_the_probabilities_they_were_given(kind):
    y, _, sharp = drawn(1_000)
    evaluation = abers.evaluate(kind().fit(sharp[:500], y[:500]), sharp[500:], y[500:])
    raw = abers.evaluate(None, sharp[500:], y[500:])
    assert evaluation.losses.log.before == pytest.approx(raw.losses.log.after)
    assert evaluation.losses.brier.difference < 0


def test_any_classifier_of_three_classes():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=1_000).fit(X, y)
    evaluation = abers.evaluate(model, X, y)
    assert evaluation.losses.log.after == pytest.approx(
        log_loss(y, model.predict_proba(X))
    )
    assert evaluation.calibration.before is None
    assert (evaluation.widths, evaluation.in_sample) == (None, None)
    with pytest.raises(InvalidParameter, match="a LogisticRegression has its own"):
        abers.evaluate(model, X, y, classes=[0, 1, 2])
    with pytest.raises(InvalidParameter, match="a LogisticRegression has its own"):
        abers.evaluate(model, X, y, classes=[0, 1, 2], pos_label=1)
    with pytest.raises(InvalidData, match=r"among the classes.*got 3 at row 0"):
        abers.evaluate(model, X, y + 3)
    with pytest.raises(abers.AbersError, match="with predict_proba"):
        abers.evaluate(RidgeClassifier().fit(X, y), X, y)


def test_groups_have_totals_of_their_rows(evaluation, model, digits):
    _, _, X, y = digits
    p = model.predict_proba(X)
    assert sum(group.n_rows for group in evaluation.groups) == y.size
    for group in evaluation.groups:
        rows = y % 3 == group.name
        alone = abers.evaluate(None, p[rows], y[rows], classes=range(10))
        assert group.log_loss == pytest.approx(alone.losses.log.after)
        assert group.brier_loss == pytest.approx(alone.losses.brier.after)
        assert group.observed_rate == pytest.approx(alone.ranking.accuracy.after)
        top = alone.calibration.after
        assert group.mean_prediction == pytest.approx(top.mean_prediction)
        assert group.standard_error == pytest.approx(top.standard_error)
        assert group.calibration_error == pytest.approx(top.calibration_error)
    sizes = [abs(group.z) for group in evaluation.groups]
    assert sizes == sorted(sizes, reverse=True)


def test_result_is_json_and_prints_short(evaluation):
    kept = json.loads(json.dumps(evaluation.to_dict(), allow_nan=False))
    assert kept["classes"] == list(range(10))
    assert kept["losses"]["log"]["before"] == "inf"
    assert len(kept["by_class"]) == 10
    assert np.shape(kept["ranking"]["confusion"]) == (10, 10)
    start = "Evaluation('digits', 898 rows, 10 classes, log loss 0."
    assert repr(evaluation).startswith(start)
    text = str(evaluation).splitlines()
    assert text[0] == "Evaluation of digits"
    assert text[1].startswith("Calibration helped: log loss ∞ → 0.")
    assert text[2] == "rows: 898 of 10 classes"
    assert sum(line.startswith("class ") for line in text) == 1
    page = evaluation._repr_html_()
    assert page.count("<table>") == page.count("</table>") == 3
    hostile = abers.evaluate(None, P, Y, name="<b>")
    assert "<b>" not in hostile._repr_html_()


def test_six_hundred_classes_keep_their_confusion():
    p = np.full((600, 600), 1 / 600)
    kept = abers.evaluate(None, p, range(600), before=p).to_dict()
    for name in ("confusion", "confusion_before"):
        assert np.shape(kept["ranking"][name]) == (600, 600)
        assert np.sum(kept["ranking"][name]) == 600


def test_rows_of_different_lengths_are_refused():
    with pytest.raises(abers.AbersError, match="rows of different lengths"):
        abers.evaluate(None, [[0.5, 0.25, 0.25], [1.0]], [0, 1])


def test_many_classes_are_counted_not_listed():
    y, p, _ = drawn(500, classes=30)
    evaluation = abers.evaluate(None, p, y, classes=range(30))
    assert evaluation.printout().tables[0].rows[-1][0] == "… and 20 more"
    assert sum(each.consistency is not None for each in evaluation.by_class) == 12
