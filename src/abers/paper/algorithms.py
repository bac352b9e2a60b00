"""Underlying algorithms: scikit-learn's stand-ins for those that the paper ran in Weka.

Each learns from prepared rows with every setting of its grid. As in the paper, only one
thing is tuned: pruning, ridge, learning rate and momentum, or the constant C.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.ensemble import BaggingClassifier, HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from abers.estimators import PlattCalibrator
from abers.paper.pruning import Prunings
from abers.paper.scores import Scores, of_log_odds, of_probability

if TYPE_CHECKING:
    from abers.paper.preparation import Inputs
    from abers.validation import FloatArray, IntArray

Setting = Mapping[str, float]
Scorer = Callable[["Inputs"], Scores]
Scorers = Callable[["Inputs"], list[Scores]]  # one Scores for each setting
SEED = 0


@dataclass(frozen=True, slots=True)
class Algorithm:
    """An underlying algorithm, its counterpart in the paper, and what is tuned."""

    name: str
    weka: str  # "" if the paper has none
    how: str  # the stand-in and its fixed settings
    grid: tuple[Setting, ...]
    learn: Callable[[Inputs, IntArray, Sequence[Setting]], Scorers]

    @property
    def settings(self) -> tuple[str, ...]:
        """The grid as text."""
        return tuple(as_text(setting) for setting in self.grid)


def as_text(setting: Setting) -> str:
    """Write a setting as one would read it aloud.

    Examples
    --------
    >>> from abers.paper.algorithms import as_text
    >>> as_text({"learning_rate": 0.3, "momentum": 0.2})
    'learning_rate=0.3 momentum=0.2'
    """
    return " ".join(f"{name}={value:g}" for name, value in setting.items())


def _one_by_one(
    learn: Callable[[Inputs, IntArray, Setting], Scorer],
) -> Callable[[Inputs, IntArray, Sequence[Setting]], Scorers]:
    """Learn each setting on its own."""

    def learn_all(inputs: Inputs, labels: IntArray, grid: Sequence[Setting]) -> Scorers:
        scorers = [learn(inputs, labels, setting) for setting in grid]
        return lambda new: [scorer(new) for scorer in scorers]

    return learn_all


def _grown() -> DecisionTreeClassifier:
    return DecisionTreeClassifier(
        criterion="entropy", min_samples_leaf=2, random_state=SEED
    )


def _learn_tree(inputs: Inputs, labels: IntArray, grid: Sequence[Setting]) -> Scorers:
    return _pruned([_grown().fit(inputs.design, labels)], grid)


def _learn_bagging(
    inputs: Inputs, labels: IntArray, grid: Sequence[Setting]
) -> Scorers:
    model = BaggingClassifier(_grown(), n_estimators=10, random_state=SEED)
    return _pruned(model.fit(inputs.design, labels).estimators_, grid)


def _pruned(trees: Sequence[Any], grid: Sequence[Setting]) -> Scorers:
    alphas = [setting["ccp_alpha"] for setting in grid]
    prunings = [Prunings(tree, alphas) for tree in trees]

    def score(new: Inputs) -> list[Scores]:
        of_trees = [pruning.probability(new.design) for pruning in prunings]
        return [of_probability(p) for p in np.mean(of_trees, axis=0)]

    return score


def _learn_logistic(inputs: Inputs, labels: IntArray, setting: Setting) -> Scorer:
    # To the optimum: short of it, the fourth digit of a loss is the optimiser's.
    model = LogisticRegression(C=setting["C"], solver="newton-cholesky", tol=1e-8)
    model.fit(inputs.design, labels)
    return lambda new: of_log_odds(model.decision_function(new.design))


def _learn_naive_bayes(inputs: Inputs, labels: IntArray, _setting: Setting) -> Scorer:
    """Add the log-likelihoods of numbers and names, and the prior once."""
    shares = np.log(np.bincount(labels, minlength=2) / labels.size)
    parts: list[tuple[Any, Callable[[Inputs], Any]]] = []
    if inputs.numeric.shape[1]:
        parts.append((GaussianNB(), lambda new: new.numeric))
    if inputs.levels:
        names = CategoricalNB(alpha=1, min_categories=inputs.levels)
        parts.append((names, lambda new: new.codes))
    for model, of in parts:
        model.fit(of(inputs), labels)

    def score(new: Inputs) -> Scores:
        joint = sum(model.predict_joint_log_proba(of(new)) for model, of in parts)
        joint = joint - (len(parts) - 1) * shares
        return of_log_odds(joint[:, 1] - joint[:, 0])

    return score


def _learn_network(inputs: Inputs, labels: IntArray, setting: Setting) -> Scorer:
    model = MLPClassifier(
        hidden_layer_sizes=(50,),
        activation="logistic",
        solver="sgd",
        batch_size=100,
        learning_rate_init=setting["learning_rate"],
        momentum=setting["momentum"],
        nesterovs_momentum=False,
        max_iter=60,
        n_iter_no_change=60,
        random_state=SEED,
    )
    _fit_in_time(model, inputs.design, labels)
    return _by_probability(model)


def _learn_svm(inputs: Inputs, labels: IntArray, setting: Setting) -> Scorer:
    """Fit a sigmoid to the training margins, as Weka's "build logistic models" does."""
    model = LinearSVC(loss="hinge", C=setting["C"], random_state=SEED)
    _fit_in_time(model, inputs.design, labels)
    margins = model.decision_function(inputs.design)
    sigmoid = PlattCalibrator().fit(margins, labels)

    def score(new: Inputs) -> Scores:
        margin = model.decision_function(new.design)
        return Scores(sigmoid.predict_proba(margin)[:, 1], margin)

    return score


def _learn_boosting(inputs: Inputs, labels: IntArray, setting: Setting) -> Scorer:
    names = np.arange(len(inputs.levels)) + inputs.numeric.shape[1]
    model = HistGradientBoostingClassifier(
        learning_rate=setting["learning_rate"],
        categorical_features=names if names.size else None,
        early_stopping=False,
        random_state=SEED,
    )

    def both(some: Inputs) -> FloatArray:
        return np.hstack([some.numeric, some.codes])

    model.fit(both(inputs), labels)
    return lambda new: of_log_odds(model.decision_function(both(new)))


def _fit_in_time(model: Any, design: FloatArray, labels: IntArray) -> None:
    """Fit within the passes allowed; short of the optimum a model has to compete."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(design, labels)


def _by_probability(model: Any) -> Scorer:
    return lambda new: of_probability(model.predict_proba(new.design)[:, 1])


def _grid(name: str, *values: float) -> tuple[Setting, ...]:
    return tuple({name: value} for value in values)


# J48 prunes at any confidence, so nothing here is left as it has grown.
PRUNING = _grid(
    "ccp_alpha", 0.0002, 0.0005, 0.001, 0.0015, 0.002, 0.003, 0.005, 0.01, 0.02
)
ALGORITHMS = {
    algorithm.name: algorithm
    for algorithm in (
        Algorithm(
            "tree",
            "J48",
            "DecisionTreeClassifier: entropy, 2 rows a leaf, cost-complexity pruning",
            PRUNING,
            _learn_tree,
        ),
        Algorithm(
            "bagging",
            "J48 bagging",
            "BaggingClassifier: 10 such trees",
            PRUNING,
            _learn_bagging,
        ),
        Algorithm(
            "logistic",
            "logistic",
            "LogisticRegression, at its optimum",
            _grid("C", 0.001, 0.01, 0.1, 1, 10, 100),
            _one_by_one(_learn_logistic),
        ),
        Algorithm(
            "naive Bayes",
            "naive Bayes",
            "GaussianNB for numbers and CategoricalNB(alpha=1) for names, added up",
            ({},),
            _one_by_one(_learn_naive_bayes),
        ),
        Algorithm(
            "neural network",
            "neural networks",
            "MLPClassifier: 50 logistic units, gradient of 100 rows, 60 epochs",
            tuple(
                {"learning_rate": rate, "momentum": momentum}
                for rate in (0.03, 0.1, 0.3)
                for momentum in (0.2, 0.9)
            ),
            _one_by_one(_learn_network),
        ),
        Algorithm(
            "SVM",
            "SVM",
            "LinearSVC: hinge loss, then a sigmoid of its training margins",
            _grid("C", 0.01, 0.1, 1, 10),
            _one_by_one(_learn_svm),
        ),
        Algorithm(
            "boosting",
            "",
            "HistGradientBoostingClassifier: 100 rounds",
            _grid("learning_rate", 0.03, 0.1, 0.3),
            _one_by_one(_learn_boosting),
        ),
    )
}
