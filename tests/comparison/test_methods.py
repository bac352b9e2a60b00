"""The methods that are compared, each against what it is by definition."""

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.model_selection import StratifiedKFold

import abers
from abers.comparison.methods import METHODS, OF_KIND, calibrated
from abers.errors import AbersError, InvalidParameter

RNG = np.random.default_rng(1)
MARGINS = RNG.normal(size=120).round(2)
LABELS = (MARGINS + RNG.logistic(size=120) > 0).astype(int)
WEIGHTS = RNG.integers(0, 4, 120)
NEW = np.linspace(-4, 4, 33)


def platt(scores, new, weights=None):
    return abers.PlattCalibrator().fit(scores, LABELS, weights).predict_proba(new)[:, 1]


def by(calibrator, scores, new):
    return calibrator.fit(scores, LABELS).predict_proba(new)[:, 1]


def isotonic(*, dummies, weights=None):
    model = abers.IsotonicCalibrator(dummies=dummies).fit(MARGINS, LABELS, weights)
    return model.predict_proba(NEW)[:, 1]


def test_methods_on_margins_are_the_calibrators_of_the_library():
    found = calibrated(MARGINS, LABELS, NEW, kind="margin")
    assert tuple(found) == OF_KIND["margin"]
    expected = {
        "Platt (margin)": platt(MARGINS, NEW),
        "temperature": by(abers.TemperatureCalibrator(scores="margin"), MARGINS, NEW),
        "beta": by(abers.BetaCalibrator(scores="margin"), MARGINS, NEW),
        "isotonic": isotonic(dummies=False),
        "isotonic with dummies": isotonic(dummies=True),
        "IVAP": abers.fit_rule(MARGINS, LABELS).probability(NEW),
    }
    for name, p in expected.items():
        np.testing.assert_array_equal(found[name], p, err_msg=name)


@pytest.mark.parametrize("kind", ["margin", "probability"])
def test_sigmoids_are_fitted_to_plain_labels_if_asked(kind):
    """The paper's Platt; no other method has targets."""
    scores, new = (f if kind == "margin" else expit(f) for f in (MARGINS, NEW))
    plain = calibrated(scores, LABELS, new, kind=kind, regularised=False)
    usual = calibrated(scores, LABELS, new, kind=kind)
    model = abers.PlattCalibrator(regularised=False)
    np.testing.assert_array_equal(plain[f"Platt ({kind})"], by(model, scores, new))
    changed = {name for name in plain if (plain[name] != usual[name]).any()}
    assert changed == {name for name in plain if name.startswith("Platt")}


def test_methods_on_probabilities_are_those_on_log_odds_but_for_platt():
    """The scale that Platt's sigmoid is fed decides; the others take logarithms."""
    on_margins = calibrated(MARGINS, LABELS, NEW, kind="margin")
    p, new = expit(MARGINS), expit(NEW)
    found = calibrated(p, LABELS, new, kind="probability")
    assert tuple(found) == OF_KIND["probability"]
    for name in ("isotonic", "isotonic with dummies", "IVAP", "CVAP"):
        np.testing.assert_array_equal(found[name], on_margins[name], err_msg=name)
    np.testing.assert_array_equal(found["underlying"], new)
    np.testing.assert_array_equal(found["Platt (probability)"], platt(p, new))
    for on_p, on_margin in (
        ("Platt (log-odds)", "Platt (margin)"),
        ("temperature", "temperature"),
        ("beta", "beta"),
    ):
        np.testing.assert_allclose(found[on_p], on_margins[on_margin], rtol=1e-8)


@pytest.mark.parametrize("name", ["temperature", "beta", "Platt (log-odds)"])
def test_two_columns_keep_the_digits_of_probabilities_near_1(name):
    """1 - 2e-17 is 1 in doubles; the other column knows better."""
    rest = np.r_[2e-17, 1e-15, 1e-9, 0.2, 0.6, 0.9]
    new = np.stack((rest, 1 - rest), axis=1)
    p = expit(np.stack((-MARGINS, MARGINS), axis=1) * 20)
    found = calibrated(p, LABELS, new, kind="probability", methods=name)[name]
    assert (np.diff(found) < 0).all()


def test_cvap_of_given_scores_merges_the_rules_of_five_sub_samples():
    folds = StratifiedKFold(5, shuffle=True, random_state=7)
    bounds = [
        abers.fit_rule(MARGINS[rows], LABELS[rows]).bounds(NEW)
        for _, rows in folds.split(MARGINS, LABELS)
    ]
    found = calibrated(
        MARGINS, LABELS, NEW, kind="margin", methods="CVAP", random_state=7
    )
    np.testing.assert_array_equal(found["CVAP"], abers.merge_folds(bounds))


@pytest.mark.parametrize(("ones", "rules"), [(1, 1), (0, 1), (2, 2), (4, 4)])
def test_cvap_has_fewer_sub_samples_where_a_class_has_fewer_rows(ones, rules):
    """Zeros at one score: k of them give the upper bound 1/(k+1), and lower 0."""
    labels = np.zeros(12, int)
    labels[:ones] = 1
    scores = np.where(labels == 1, 9.0, 5.0)
    found = calibrated(scores, labels, [5.0], kind="margin", methods="CVAP")["CVAP"]
    zeros = (12 - ones) / rules
    counts = [np.floor(zeros), np.ceil(zeros)]
    low, high = (1 / (k + 1) / (1 + 1 / (k + 1)) for k in counts[::-1])
    assert low - 1e-15 <= found[0] <= high + 1e-15


@pytest.mark.parametrize("kind", ["margin", "probability"])
def test_weights_are_copies_and_rows_of_weight_zero_are_not_there(kind):
    scores = MARGINS if kind == "margin" else expit(MARGINS)
    methods = [name for name in OF_KIND[kind] if name != "CVAP"]
    weighted = calibrated(
        scores, LABELS, scores, kind=kind, methods=methods, sample_weight=WEIGHTS
    )
    copies = scores.repeat(WEIGHTS), LABELS.repeat(WEIGHTS)
    copied = calibrated(*copies, scores, kind=kind, methods=methods)
    for name, p in weighted.items():
        np.testing.assert_allclose(p, copied[name], rtol=1e-9, err_msg=name)
    left_out = np.where(WEIGHTS > 0, scores, 1.0)
    assert calibrated(
        left_out, LABELS, [0.5], kind=kind, methods="CVAP", sample_weight=WEIGHTS
    ) == calibrated(
        scores, LABELS, [0.5], kind=kind, methods="CVAP", sample_weight=WEIGHTS
    )


# --- infinite log-odds ---


def test_certain_probabilities_take_the_place_of_the_furthest_finite_log_odds():
    p = expit(MARGINS)
    p[[3, 4]] = 0, 1
    others = logit(np.delete(p, [3, 4]))
    finite = logit(np.clip(p, expit(others.min()), expit(others.max())))
    found = calibrated(
        p, LABELS, [0, 0.3, 1], kind="probability", methods="Platt (log-odds)"
    )["Platt (log-odds)"]
    new = [others.min(), logit(0.3), others.max()]
    np.testing.assert_allclose(found, platt(finite, new), rtol=1e-8)


@pytest.mark.parametrize("middle", [[], [0.5] * 20], ids=["none", "one"])
def test_a_tree_of_pure_leaves_still_has_a_sigmoid(middle):
    """Every log-odds infinite, or all but one: a unit beyond stands for infinity."""
    p = np.r_[np.zeros(30), np.ones(30), middle]
    y = np.r_[np.zeros(25), np.ones(5), np.zeros(5), np.ones(25), np.tile([0, 1], 10)]
    found = calibrated(
        p, y[: p.size], [0, 0.5, 1], kind="probability", methods="Platt (log-odds)"
    )["Platt (log-odds)"]
    # By symmetry the middle is 1/2; without one, the targets are met on either side.
    hit = (p.size / 2 + 1) / (p.size / 2 + 2)
    expected = (25 * (1 - hit) + 5 * hit) / 30
    if not middle:
        np.testing.assert_allclose(found, [expected, 0.5, 1 - expected], rtol=1e-8)
    assert found[0] == pytest.approx(expected, rel=1e-8)
    assert found[1] == pytest.approx(0.5)


def test_infinite_margins_are_bounded_in_the_same_way():
    found = calibrated(
        [-np.inf, 0, 1, np.inf],
        [0, 0, 1, 1],
        [0, -np.inf, 1, np.inf],
        kind="margin",
        methods=["Platt (margin)", "IVAP"],
    )
    p = found["Platt (margin)"]
    assert p[0] == p[1] < p[2] == p[3]
    assert found["IVAP"].tolist() == abers.fit_rule(
        [-np.inf, 0, 1, np.inf], [0, 0, 1, 1]
    ).probability([0, -np.inf, 1, np.inf]).tolist()  # fmt: skip


def test_both_columns_of_probabilities_keep_the_log_odds_that_one_column_loses():
    """1 - 1e-20 is 1 in doubles, its other column is not 0."""
    margins = MARGINS * 20
    two = np.stack((expit(-margins), expit(margins)), axis=1)
    by_two = calibrated(
        two, LABELS, two, kind="probability", methods="Platt (log-odds)"
    )["Platt (log-odds)"]
    np.testing.assert_allclose(by_two, platt(margins, margins), rtol=1e-8)
    assert (two[:, 1] == 1).any()


# --- what is offered ---


def test_platt_is_offered_for_each_scale_once():
    """Issue 5: never both log-odds and margin for the same thing."""
    assert [name for name in OF_KIND["probability"] if "Platt" in name] == [
        "Platt (probability)",
        "Platt (log-odds)",
    ]
    assert [name for name in OF_KIND["margin"] if "Platt" in name] == ["Platt (margin)"]
    on_scores = set(OF_KIND["probability"]) | set(OF_KIND["margin"])
    assert set(METHODS) - on_scores == {"CVAP pooled"}  # of several models


def test_an_unknown_method_is_refused_with_those_that_are_offered():
    with pytest.raises(InvalidParameter, match="methods must be among 'Platt") as error:
        calibrated(MARGINS, LABELS, NEW, kind="margin", methods=["IVAP", "ivap"])
    assert str(error.value).endswith("'IVAP', 'CVAP'; got 'ivap'.")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"kind": "logit"}, "kind must be 'probability' or 'margin'; got 'logit'"),
        ({"methods": []}, "methods must be among .*; got none"),
        ({"methods": "underlying"}, "among .* here; got 'underlying'"),
        ({"scores": [0.5, np.nan, 1]}, "scores must not be NaN; got NaN in 1 of 3"),
        ({"scores": [0.5, 1]}, "got 3 labels and 2 scores"),
        ({"scores": [], "labels": []}, "scores must not be empty"),
        ({"scores": [[1, 2]] * 3}, "must be one column of margin scores; got 2"),
        ({"labels": [0, 1, 2]}, "labels must be 0 or 1; got 2 at row 2"),
        ({"sample_weight": [0, 0, 0]}, "sample_weight must not all be zero"),
        ({"kind": "probability"}, "must be between 0 and 1; got 2.0 at row 1"),
        (
            {"kind": "probability", "scores": [[0.5, 0.5], [0.5, 0.4], [1, 0]]},
            "must be between 0 and 1 and add up to 1; got 0.5, 0.4 at row 1",
        ),
    ],
)
def test_what_cannot_be_calibrated_is_refused_in_a_sentence(change, sentence):
    arguments = {"scores": [1, 2, 3], "labels": [0, 1, 1], "kind": "margin"} | change
    with pytest.raises(AbersError, match=sentence):
        calibrated(new_scores=[0.5], **arguments)
