"""New cases with weights of their own, through a model or its scores."""

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

import abers
from abers.errors import InvalidParameter

RNG = np.random.default_rng(7)
X = RNG.normal(size=(400, 2))
Y = (RNG.random(400) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
WEIGHTS = np.exp(X[:, 1] / 2)
NEW = RNG.normal(size=(50, 2))
OF_NEW = np.exp(NEW[:, 1] / 2)
FROZEN = FrozenEstimator(LogisticRegression().fit(X, Y))
MANY = np.digitize(X[:, 0], [-0.5, 0.5])


def classifier(labels=Y, **options):
    """All rows calibrate a model that is trained already."""
    model = FrozenEstimator(LogisticRegression().fit(X, labels))
    return abers.IVAPClassifier(model, **options).fit(X, labels, sample_weight=WEIGHTS)


def calibrator():
    return abers.IVAPCalibrator().fit(X[:, 0], Y, sample_weight=WEIGHTS)


@pytest.mark.parametrize("weight", [3, OF_NEW, (1, 4), (OF_NEW, 2 * OF_NEW)])
def test_weights_go_to_the_rule_of_two_classes(weight):
    for made, scores, new in (
        (calibrator(), X[:, 0], NEW[:, 0]),
        (classifier(), None, NEW),
    ):
        if scores is None:
            (((rule,),), new_scores) = made.rules_, made.predictions(NEW).scores
            assert rule == abers.rules.fit_rule_from_diagram(rule.diagram)
        else:
            rule = abers.fit_rule(scores, Y, sample_weight=WEIGHTS, keep_diagram=True)
            new_scores = new
        expected = rule.bounds(new_scores, weight=weight)
        assert made.predict_bounds(new, weight=weight).tobytes() == expected.tobytes()
        mirrored = made.predict_bounds(new, weight=weight, pos_label=0)
        assert mirrored.tolist() == (1 - expected[:, ::-1]).tolist()


def test_a_weight_of_one_has_the_bits_of_none():
    for made, new in ((calibrator(), NEW[:, 0]), (classifier(), NEW)):
        bounds = made.predict_bounds(new, weight=1)
        assert bounds.tobytes() == made.predict_bounds(new).tobytes()


@pytest.mark.parametrize("multiclass", ["ovr", "ovo"])
def test_with_many_classes_each_rule_has_the_weight_of_the_case(multiclass):
    model = classifier(MANY, multiclass=multiclass)
    plain = model.predict_bounds(NEW)
    assert model.predict_bounds(NEW, weight=1) == pytest.approx(plain, abs=1e-12)
    light, heavy = (model.predict_bounds(NEW, weight=w) for w in (0.1, 10))
    width = [np.diff(bounds).sum() for bounds in (light, plain, heavy)]
    assert sorted(width) == width
    with pytest.raises(InvalidParameter, match="must not depend on the label"):
        model.predict_bounds(NEW, weight=(1, 2))


def test_calibrators_to_save_keep_no_diagrams():
    for made in (calibrator(), classifier()):
        ((rule,),), ((saved,),) = made.rules_, made.calibrator_.rules
        assert saved == rule
        assert (saved.keeps_diagram, rule.keeps_diagram) == (False, True)


def test_the_guarantee_of_known_weights_is_that_of_the_rule():
    assert not calibrator().guarantee_.proven  # without the weight of a case
    kept = abers.fit_rule(X[:, 0], Y, sample_weight=WEIGHTS, keep_diagram=True)
    assert kept.guarantee.proven


def shifted(n, mean, rng):
    return rng.normal(mean, 1, (n, 1))


def test_shift_weights_estimate_the_density_ratio():
    rng = np.random.default_rng(8)
    shift = abers.rules.shift_weights(shifted(5000, 0, rng), shifted(3000, 1, rng))
    at = np.array([[-1.0], [0.0], [0.5], [1.0], [2.0]])
    assert shift.weights(at) == pytest.approx(np.exp(at[:, 0] - 0.5), rel=0.15)
    # (sum of w)^2 / sum of w^2 is n exp(-1) for a shift by one standard deviation.
    assert shift.effective_size == pytest.approx(5000 * np.exp(-1), rel=0.2)
    assert (shift.n_training, shift.n_new) == (5000, 3000)


def test_shift_weights_are_clipped_and_warn_of_a_small_effective_size():
    rng = np.random.default_rng(9)
    with pytest.warns(UserWarning, match="tell no more than .* rows without weights"):
        shift = abers.rules.shift_weights(shifted(400, 0, rng), shifted(400, 4, rng))
    assert shift.weights([[-9.0], [9.0]]) == pytest.approx([1 / 50, 50])


def test_shift_weights_take_frames_sparse_tables_and_any_classifier():
    import pandas as pd
    from scipy import sparse
    from sklearn.naive_bayes import GaussianNB

    rng = np.random.default_rng(10)
    old, new = shifted(300, 0, rng), shifted(300, 0.5, rng)
    plain = abers.rules.shift_weights(old, new, GaussianNB())
    framed = abers.rules.shift_weights(
        pd.DataFrame(old, columns=["a"]), pd.DataFrame(new, columns=["a"]), GaussianNB()
    )
    weights = framed.weights(pd.DataFrame(old, columns=["a"]))
    assert weights.tolist() == plain.weights(old).tolist()
    thin = abers.rules.shift_weights(
        sparse.csr_array(old), sparse.csr_array(new), LogisticRegression()
    )
    assert thin.weights(sparse.csr_array(old)).shape == (300,)


def test_shift_weights_need_rows_of_both_kinds():
    with pytest.raises(ValueError, match="at least 5 rows each; got 4 and 10"):
        abers.rules.shift_weights(np.ones((4, 1)), np.ones((10, 1)))
