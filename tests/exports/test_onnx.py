"""Graphs of ONNX answer as abers does: rules to the bit, classifiers by their score."""

import numpy as np
import onnx
import pytest
from lightgbm import LGBMClassifier
from onnxruntime import InferenceSession, SessionOptions
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import abers
from abers.errors import InvalidParameter, InvalidType
from abers.estimators.scoring import NOISE, settled_for_rule
from abers.export import baking, to_onnx
from export_cases import LARGEST, answers, mismatches, probes, rule_of, rule_set, rules

RULES = rules()
NAN = float("nan")
FEW = 0.001  # share of rows that may differ where a runtime computes in float32


def run(model, **inputs):
    """Run a graph, from its bytes, by one thread; return outputs by name."""
    options = SessionOptions()
    options.intra_op_num_threads = 1
    session = InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))


def read(model, scores, **inputs):
    """Return lower, upper and probability of each score."""
    found = run(model, score=np.asarray(scores, dtype=float), **inputs)
    return np.column_stack([found[name] for name in ("lower", "upper", "probability")])


def facts(model):
    return {each.key: each.value for each in model.metadata_props}


def ulps(found, expected):
    """Return the distance of positive doubles in units of the last place."""
    return abs(found.view(np.int64) - np.ascontiguousarray(expected).view(np.int64))


def rows(size, seed, n_classes=2):
    return make_classification(
        size, n_informative=6, n_classes=n_classes, flip_y=0.2, random_state=seed
    )


# Rules


@pytest.mark.parametrize("kind", RULES)
@pytest.mark.parametrize("loss", ["log", "brier"])
def test_every_kind_of_rule(kind, loss):
    """At each threshold, beside it, at the edges of doubles, and in between."""
    rule = RULES[kind]
    scores = np.r_[probes(rule), np.random.default_rng(0).normal(size=100_000)]
    expected = np.column_stack(
        (rule.bounds(scores), rule.probability(scores, loss=loss))
    )
    assert mismatches(read(to_onnx(rule, loss=loss), scores), expected) == 0


@pytest.mark.parametrize("kind", RULES)
def test_float32_is_read_as_the_same_double(kind):
    rule = RULES[kind]
    with np.errstate(over="ignore", under="ignore"):
        nearest = probes(rule).astype(np.float32)
        infinity = np.float32(np.inf)
        beside = [np.nextafter(nearest, s * infinity) for s in (-1, 1)]
    scores = np.concatenate((nearest, *beside))
    found = run(to_onnx(rule, dtype="float32"), score=scores)
    assert (
        mismatches(
            np.column_stack([found[k] for k in ("lower", "upper", "probability")]),
            answers(rule, scores.astype(float)),
        )
        == 0
    )


@pytest.mark.parametrize("scores", [[], [0.5]], ids=["no row", "one row"])
def test_few_rows(scores):
    rule = RULES["rare"]
    assert mismatches(read(to_onnx(rule), scores), answers(rule, scores)) == 0


def test_nan_has_no_answer():
    found = read(to_onnx(RULES["rare"]), [NAN, 0.5, -NAN])
    assert np.isnan(found[[0, 2]]).all()
    assert mismatches(found[1], answers(RULES["rare"], [0.5])) == 0


def test_a_million_steps():
    rule = rule_of(1_000_000)
    scores = probes(rule)[::7]
    assert mismatches(read(to_onnx(rule), scores), answers(rule, scores)) == 0


def test_old_runtimes_can_run_it():
    """Opset 13 and IR 7 alone; and the facts are there."""
    model = to_onnx(RULES["middling"], loss="brier")
    assert model.ir_version == 7
    assert [(o.domain, o.version) for o in model.opset_import] == [("", 13)]
    assert facts(model) == {"abers.version": abers.__version__, "abers.loss": "brier"}


def test_a_file_is_what_was_returned(tmp_path):
    made = to_onnx(RULES["rare"], tmp_path / "rule.onnx")
    assert onnx.load(tmp_path / "rule.onnx") == made


# Rules for groups


@pytest.mark.filterwarnings("ignore::abers.errors.UnknownGroupWarning")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rules_for_groups(dtype):
    """Each group at the thresholds of all; small, unseen and empty ones, too."""
    found_rules = rule_set()
    scores = np.concatenate([probes(found_rules[g]) for g in (None, *found_rules)])
    with np.errstate(over="ignore", under="ignore"):
        scores = scores.astype(dtype)
    model = to_onnx(found_rules, dtype=dtype)
    for group in (*found_rules, "unseen", ""):
        groups = np.full(scores.size, group, dtype=object)
        found = run(model, score=scores, group=groups)
        found = np.column_stack([found[k] for k in ("lower", "upper", "probability")])
        exact = scores.astype(float)
        expected = np.column_stack(
            (found_rules.bounds(exact, groups), found_rules.probability(exact, groups))
        )
        assert mismatches(found, expected) == 0, group


def test_groups_that_are_integers_and_nan():
    rng = np.random.default_rng(0)
    scores, groups = rng.random(400), rng.integers(-2, 2, 400) * 2**40
    found_rules = abers.fit_rules(scores, rng.random(400) < scores, groups, minimum=9)
    asked = np.r_[scores, NAN]
    by = np.r_[groups[:-1], 12345, groups[0]]
    found = read(to_onnx(found_rules), asked, group=by)
    expected = np.column_stack(
        (
            found_rules.bounds(scores, by[:-1]),
            found_rules.probability(scores, by[:-1]),
        )
    )
    assert mismatches(found[:-1], expected) == 0
    assert np.isnan(found[-1]).all()


def test_groups_that_share_the_pooled_rule():
    scores, labels = [1.0, 2.0, 3.0], [0, 1, 0]
    few = abers.fit_rules(scores, labels, ["a", "b", "b"], minimum=30)
    found = read(to_onnx(few), scores, group=np.array(["a", "b", "c"], dtype=object))
    assert mismatches(found, answers(few[None], scores)) == 0


# Baked steps


@pytest.mark.parametrize("kind", ["rare", "forest-like", "infinite", "weighted"])
@pytest.mark.parametrize("scale", ["margins", "pair", "class"])
def test_baked_steps_are_read_as_a_classifier_reads_its_rule(kind, scale):
    """At and near each step, by all the ulps at which rounding could go wrong."""
    scored = {
        "margins": baking.margins(NOISE),
        "pair": baking.log_odds(NOISE, of_pair=True),
        "class": baking.log_odds(NOISE, of_pair=False),
    }[scale]
    known = RULES[kind].thresholds
    known = known[abs(known) != LARGEST]
    rounded = abers.fit_rule(scored(known).values, np.arange(known.size) % 3 > 0)
    start, bounds = baking.baked(rounded, scored)
    raw = rounded.thresholds[np.isfinite(rounded.thresholds)]
    shifts = np.array([0, 1, 31, 33, 4096, 5000, 9000, 20000])
    places = raw.view(np.int64)[:, None] + np.r_[shifts, -shifts]
    raw = np.r_[places.ravel().view(np.float64), start[1:], -np.inf, np.inf]
    raw = raw[~np.isnan(raw)]
    with np.errstate(over="ignore"):  # near the largest doubles
        expected = rounded.bounds(settled_for_rule(scored(raw), rounded))
    found = bounds[np.searchsorted(start, raw, side="right") - 1]
    assert np.array_equal(found, expected)


# Calibrators


@pytest.mark.parametrize("loss", ["log", "brier"])
def test_a_calibrator_of_one_column(loss):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=500)
    labels = np.where(rng.random(500) < 1 / (1 + np.exp(-scores)), "yes", "no")
    fitted = abers.IVAPCalibrator(loss=loss).fit(scores, labels)
    asked = np.r_[probes(fitted.rules_[0][0])]
    found = run(to_onnx(fitted), score=asked)
    bounds = np.column_stack((found["lower"], found["upper"]))
    assert np.array_equal(bounds, fitted.predict_bounds(asked))
    assert np.array_equal(found["probabilities"], fitted.predict_proba(asked))
    assert np.array_equal(found["label"], fitted.predict(asked))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", ["probability", "margin"])
def test_a_calibrator_of_a_column_for_each_class(n_classes, kind):
    X, y = rows(900, 0, n_classes)
    model = LogisticRegression().fit(X[:300], y[:300])
    scores = model.predict_proba(X)
    if kind == "margin":
        scores = np.log(scores) + 5
    calibrator = abers.IVAPCalibrator(multiclass="ovr")
    fitted = calibrator.fit(scores[300:600], y[300:600])
    assert fitted.scores_kind_ == kind
    made = to_onnx(fitted, check=scores)
    assert facts(made)["abers.check.differing"] == "0"
    found = run(made, scores=scores)
    close = abs(found["probabilities"] - fitted.predict_proba(scores)).max()
    assert close < 1e-15
    assert np.array_equal(found["label"], fitted.predict(scores))


# Classifiers

DOUBLES = {
    "logistic": LogisticRegression(),
    "pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
    "Gaussian naive Bayes": GaussianNB(),
    "Bernoulli naive Bayes": BernoulliNB(),
    "linear SVM": LinearSVC(),
}
SINGLES = {
    "forest": RandomForestClassifier(30, random_state=0),
    "shallow forest": RandomForestClassifier(30, max_depth=4, random_state=0),
    "extra trees": ExtraTreesClassifier(30, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=20, random_state=0),
    "histogram boosting": HistGradientBoostingClassifier(max_iter=20, random_state=0),
    "LightGBM": LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1),
    "SVM": SVC(),
}


def compared(model, X, **options):
    """Return the share of rows whose bounds differ, after comparing all else."""
    made = to_onnx(model, check=X, **options)
    found = run(made, X=X)
    bounds = np.stack((found["lower"], found["upper"]), axis=-1)
    same = (abs(bounds - model.predict_bounds(X)) < 1e-12).reshape(len(X), -1).all(1)
    assert int(facts(made)["abers.check.differing"]) == (~same).sum()
    p = model.predict_proba(X)
    assert abs(found["probabilities"] - p)[same].max() < 1e-14
    assert np.array_equal(found["label"][same], model.predict(X)[same])
    return 1 - same.mean()


@pytest.fixture(scope="module", params=[2, 3], ids=["two classes", "three classes"])
def known(request):
    """Rows to fit to, and 10,000 with more that are new."""
    X, y = rows(3_000, 0, request.param)
    return X, y, np.concatenate((X, rows(7_000, 1, request.param)[0]))


@pytest.mark.parametrize("kind", DOUBLES)
def test_what_computes_in_double_has_the_same_bounds(known, kind):
    X, y, asked = known
    classifier = abers.IVAPClassifier(
        DOUBLES[kind], calibration=0.5, multiclass="ovr", random_state=0
    )
    assert compared(classifier.fit(X, y), asked) == 0


@pytest.mark.filterwarnings("ignore:the bounds of .* differ from those of abers")
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("kind", SINGLES)
def test_what_computes_in_float32_differs_in_few_rows(known, kind):
    """SVMs of three classes add up votes, and amplify what they lack in digits."""
    X, y, asked = known
    classifier = abers.IVAPClassifier(
        SINGLES[kind], calibration=0.5, multiclass="ovr", random_state=0
    )
    share = compared(classifier.fit(X, y), asked)
    assert share <= (0.01 if kind == "SVM" and len(set(y)) > 2 else FEW)


def test_without_a_tolerance_a_forest_is_read_beside_its_scores():
    """Its scores are thresholds, and a float32 is beside them."""
    X, y = rows(3_000, 0)
    model = abers.IVAPClassifier(SINGLES["forest"], calibration=0.5, random_state=0)
    model.fit(X, y)
    with pytest.warns(UserWarning, match="rows differ from those of abers, by up to"):
        made = to_onnx(model, check=X, tolerance=2.0**-48)
    assert int(facts(made)["abers.check.differing"]) > 100


@pytest.mark.parametrize("loss", ["log", "brier"])
def test_the_answers_of_one_fold_and_two_classes_have_the_same_bits(loss):
    X, y = rows(2_000, 0)
    names = np.array(["no", "yes"])[y]
    model = abers.IVAPClassifier(GaussianNB(), loss=loss, random_state=0).fit(X, names)
    found = run(to_onnx(model), X=X)
    bounds = np.column_stack((found["lower"], found["upper"]))
    assert np.array_equal(bounds, model.predict_bounds(X))
    assert np.array_equal(found["probabilities"], model.predict_proba(X))
    assert np.array_equal(found["label"], model.predict(X))


def test_naive_bayes_keeps_the_order_of_what_underflows():
    """Probabilities of 0, whose logarithms are far apart."""
    rng = np.random.default_rng(0)
    y = rng.random(600) < 0.5
    X = rng.normal(60 * y[:, None] * rng.random((600, 4)), 1.0)
    model = abers.IVAPClassifier(GaussianNB(), calibration=0.5, random_state=0)
    model.fit(X, y)
    assert (model.estimators_[0].predict_proba(X) == 0).any()
    assert compared(model, X) == 0


def test_float32_features_are_the_same_doubles():
    X, y = rows(2_000, 0)
    model = abers.IVAPClassifier(random_state=0).fit(X, y)
    single = X.astype(np.float32)
    found = run(to_onnx(model, dtype="float32", check=single), X=single)
    expected = model.predict_bounds(single.astype(float))
    assert np.array_equal(np.column_stack((found["lower"], found["upper"])), expected)


def test_a_prefit_model_and_a_missing_value():
    X, y = rows(2_000, 0)
    prefit = FrozenEstimator(LogisticRegression().fit(X[:1_000], y[:1_000]))
    model = abers.IVAPClassifier(prefit).fit(X[1_000:], y[1_000:])
    asked = X[:3].copy()
    asked[1, 2] = NAN
    found = run(to_onnx(model), X=asked)
    assert np.isnan(found["lower"]).tolist() == [False, True, False]
    assert np.isnan(found["probabilities"]).any(axis=1).tolist() == [False, True, False]
    assert np.array_equal(found["label"][[0, 2]], model.predict(X[[0, 2]]))
    assert run(to_onnx(model), X=X[:0])["probabilities"].shape == (0, 2)


# Cross predictors


@pytest.mark.parametrize("loss", ["log", "brier"])
@pytest.mark.parametrize("cv", [5, 40])
def test_folds_have_the_same_bounds_and_a_probability_to_four_ulps(loss, cv):
    X, y = rows(3_000, 0)
    model = abers.CVAPClassifier(cv=cv, merge="minimax", loss=loss, random_state=0)
    model.fit(X, y)
    found = run(to_onnx(model, check=X), X=X)
    by_fold = model.predict_fold_bounds(X)[:, 0]
    assert np.array_equal(found["fold_lower"].T, by_fold[..., 0])
    assert np.array_equal(found["fold_upper"].T, by_fold[..., 1])
    assert (
        ulps(found["probabilities"][:, 1].copy(), model.predict_proba(X)[:, 1]).max()
        <= 4
    )
    bounds = np.column_stack((found["lower"], found["upper"]))
    assert abs(bounds - model.predict_bounds(X)).max() < 1e-15
    assert (bounds[:, 0] <= found["probabilities"][:, 1]).all()
    assert (found["probabilities"][:, 1] <= bounds[:, 1]).all()


def test_products_of_many_folds_do_not_underflow():
    """Upper bounds of 1e-12 in 40 folds: the product is far below a double."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4_000, 1))
    y = (X[:, 0] > 0).astype(int)
    weights = np.where(y == 0, 1e10, 1.0)
    model = abers.CVAPClassifier(cv=40, merge="minimax", random_state=0)
    model.fit(X, y, sample_weight=weights)
    expected = model.predict_proba(X)[:, 1]
    assert np.log10(model.predict_fold_bounds(X)[:, 0, :, 1]).sum(axis=0).min() < -400
    found = run(to_onnx(model), X=X)["probabilities"][:, 1].copy()
    assert ulps(found, expected).max() <= 4


def test_a_row_that_one_fold_cannot_score():
    X, y = rows(1_000, 0)
    model = abers.CVAPClassifier(merge="minimax", random_state=0).fit(X, y)
    asked = X[:2].copy()
    asked[0, 0] = NAN
    found = run(to_onnx(model), X=asked)
    for name in ("lower", "upper", "probabilities", "fold_lower", "fold_upper"):
        assert np.isnan(found[name][0]).all(), name
        assert not np.isnan(found[name][1]).any(), name


@pytest.mark.parametrize("merge", ["pooled", "minimax"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_one_model_of_all_rows(merge, n_classes):
    X, y = rows(1_500, 0, n_classes)
    model = abers.CVAPClassifier(
        GaussianNB(), merge=merge, ensemble=False, multiclass="ovr", random_state=0
    )
    assert (
        compared(model.fit(X, y), np.concatenate((X, rows(2_000, 1, n_classes)[0])))
        == 0
    )


@pytest.mark.parametrize("loss", ["log", "brier"])
def test_folds_of_three_classes(loss):
    X, y = rows(1_500, 0, 3)
    model = abers.CVAPClassifier(
        merge="minimax", multiclass="ovr", loss=loss, random_state=0
    )
    assert compared(model.fit(X, y), X) == 0


def test_a_class_that_a_fold_never_saw():
    X, y = rows(600, 0, 3)
    pairs = [
        (np.arange(300), np.arange(300, 600)),
        (np.arange(300, 600), np.arange(300)),
    ]
    seen = pairs[0][0][y[pairs[0][0]] != 2]
    with pytest.warns(UserWarning, match="missing from the training rows"):
        model = abers.CVAPClassifier(
            cv=[(seen, pairs[0][1]), pairs[1]], merge="minimax", multiclass="ovr"
        ).fit(X, y)
    assert compared(model, X) == 0


# Refusals


def test_a_graph_of_another_score_is_refused():
    """As that of a converter which gives probabilities where margins are read."""
    X, y = rows(1_000, 0)
    model = abers.IVAPClassifier(random_state=0).fit(X, y)
    inner = model.estimators_[0]
    margins = inner.decision_function
    inner.decision_function = lambda rows: 1 / (1 + np.exp(-margins(rows)))
    with pytest.raises(InvalidParameter, match="must compute the scores of the inner"):
        to_onnx(model)


def test_trees_that_split_off_missing_values_are_refused():
    """The converter would search for ever."""
    X, y = rows(1_000, 0)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = NAN
    model = abers.IVAPClassifier(SINGLES["forest"], random_state=0).fit(X, y)
    with pytest.raises(InvalidParameter, match="must not split off missing values"):
        to_onnx(model)


def test_margins_of_lightgbm_are_margins():
    """Its converter has no option for them: what it gives are probabilities."""
    X, y = rows(1_000, 0)
    model = abers.IVAPClassifier(SINGLES["LightGBM"], random_state=0).fit(X, y)
    assert hasattr(model.estimators_[0], "decision_function")
    assert compared(model, X) <= FEW


def fitted(**options):
    X, y = rows(400, 0, 3 if "multiclass" in options else 2)
    return abers.CVAPClassifier(random_state=0, **options).fit(X, y)


@pytest.mark.parametrize(
    ("model", "options", "error", "message"),
    [
        (fitted(), {}, InvalidParameter, "must have ensemble=False"),
        (
            fitted(multiclass="ovo", merge="minimax"),
            {},
            InvalidParameter,
            "multiclass='ovr'",
        ),
        (LogisticRegression(), {}, InvalidType, "got a LogisticRegression"),
        (RULES["rare"], {"check": [1.0]}, InvalidParameter, "must be None for rules"),
        (RULES["rare"], {"loss": "hinge"}, InvalidParameter, "loss must be"),
        (RULES["rare"], {"dtype": "float16"}, InvalidParameter, "dtype must be"),
        (
            fitted(ensemble=False),
            {"tolerance": 0.5},
            InvalidParameter,
            "tolerance must be between",
        ),
        (
            abers.fit_rules([1, 2], [0, 1], [0.5, 1.5], minimum=1),
            {},
            InvalidParameter,
            "groups must be text, or integers",
        ),
    ],
)
def test_refusals(model, options, error, message):
    with pytest.raises(error, match=message):
        to_onnx(model, **options)


def test_what_nobody_converts_is_refused():
    class Own(LogisticRegression):
        pass

    X, y = rows(400, 0)
    model = abers.IVAPClassifier(Own(), random_state=0).fit(X, y)
    with pytest.raises(InvalidParameter, match="that skl2onnx converts; Own"):
        to_onnx(model)
