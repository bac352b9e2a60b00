"""Classifiers by their names, and tables made ready for them."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

import abers
from abers.estimators.models import MODELS, for_table, model_named

RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(size=(200, 2))
WORDS = RNG.integers(0, 3, 200)
X = np.column_stack([NUMBERS, WORDS])
Y = (NUMBERS[:, 0] + (WORDS == 1) + RNG.normal(size=200) > 0).astype(int)


@pytest.mark.parametrize("name", [*MODELS, "sklearn.svm:SVC"])
def test_every_model_learns_from_numbers_text_and_gaps(name):
    rows = X.copy()
    rows[::7, 0] = rows[::5, 2] = np.nan
    model = for_table(model_named(name), [False, False, True]).fit(rows, Y)
    assert model.score(rows, Y) > 0.7
    new = [[np.nan, np.nan, 17.0]]  # a word never seen
    assert model.predict(new)[0] in (0, 1)


def test_a_model_is_new_each_time_and_drawn_by_the_seed():
    first, second = model_named("random-forest"), model_named("random-forest")
    assert first is not second
    assert model_named("random-forest", random_state=5).random_state == 5
    assert first.get_params() == second.get_params()
    assert MODELS["random-forest"].random_state is None


def test_a_model_of_ones_own_is_not_modified(tmp_path, monkeypatch):
    (tmp_path / "own_models.py").write_text(
        "from sklearn.tree import DecisionTreeClassifier\n"
        "tree = DecisionTreeClassifier(max_depth=3)\n"
        "seeded = DecisionTreeClassifier(random_state=9)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    tree = model_named("own_models:tree", random_state=4)
    assert (tree.max_depth, tree.random_state) == (3, 4)
    import own_models

    assert own_models.tree.random_state is None
    assert model_named("own_models:seeded").random_state == 9


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("magic", "model must be logistic, naive-bayes"),
        ("sklearn.svm", "got 'sklearn.svm'"),
        ("sklearn.svm:", "got 'sklearn.svm:'"),
        ("nowhere:Model", "No module named 'nowhere'"),
        ("sklearn.svm:Magic", "has no attribute 'Magic'"),
        ("sklearn.pipeline:Pipeline", "missing 1 required positional argument"),
        ("math:pi", "cannot"),
        ("collections:OrderedDict", "which cannot be trained"),
    ],
)
def test_what_is_no_model_is_refused(name, message):
    with pytest.raises(abers.AbersError, match=message):
        model_named(name)


def test_weights_reach_a_model_that_takes_them():
    weights = RNG.integers(1, 4, 200).astype(float)
    model = for_table(LogisticRegression(), [False, False]).fit(NUMBERS, Y, weights)
    scaled = model[:-1].transform(NUMBERS)
    expected = LogisticRegression().fit(scaled, Y, weights)
    np.testing.assert_allclose(model[-1].coef_, expected.coef_)
    found = abers.compare(NUMBERS, Y, estimator=model, sample_weight=weights)
    assert found.how.startswith("LogisticRegression tested on 50 other rows")
    with pytest.warns(UserWarning, match="the weights act in the rules only"):
        abers.compare(
            NUMBERS,
            Y,
            estimator=for_table(KNeighborsClassifier(), [False, False]),
            sample_weight=weights,
            methods=["IVAP"],
        )


def test_many_words_share_a_column():
    rows = np.arange(500.0)[:, None]
    model = for_table(LogisticRegression(), [True])
    assert model[:-1].fit_transform(rows).shape == (500, 100)
