"""scikit-learn's algorithms as an engine that scores rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from scipy.special import expit, logit
from sklearn.ensemble import BaggingClassifier, HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from abers.estimators.calibrators import PlattCalibrator
from experiments.paper.tasks import Preparation

if TYPE_CHECKING:
    from abers.validation import FloatArray, IntArray
    from experiments.paper.data import DataTable
    from experiments.paper.tasks import Inputs, RowPair


# Scores: what an underlying algorithm says of objects, on two scales.

# Trees say 0 and 1, whose log-odds are infinite, and naive Bayes comes close; a sigmoid
# of log-odds needs numbers, and a few enormous ones would decide its fit alone.
LARGEST_LOG_ODDS = float(logit(1 - 1e-6))


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """One score an object, as a probability and on the scale that models add on."""

    probability: FloatArray  # what the paper calibrates
    margin: FloatArray  # log-odds within ±13.8, or the margin of an SVM


def of_probability(probability: FloatArray) -> Scores:
    """Complete probabilities by their log-odds, held within ±13.8.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.paper.sklearn_engine import of_probability
    >>> of_probability(np.array([0.5, 1.0])).margin.round(1)
    array([ 0. , 13.8])
    """
    return Scores(probability, _held(logit(probability)))


def of_log_odds(log_odds: FloatArray) -> Scores:
    """Complete log-odds by their probabilities."""
    return Scores(expit(log_odds), _held(log_odds))


def _held(log_odds: FloatArray) -> FloatArray:
    return np.clip(log_odds, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)


@dataclass(frozen=True, slots=True, eq=False)
class PairScores:
    """The scores by an algorithm trained on one set of rows."""

    calibration: Scores
    test: Scores


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A setting of an algorithm, and its scores for each pair of training rows."""

    setting: str  # "C=0.1"; empty if there is nothing to set
    pairs: tuple[PairScores, ...]


# Pruning: one tree, grown once, cut back as far as each setting asks.
#
# scikit-learn grows a new tree for each `ccp_alpha`. Here all settings share the tree:
# what differs is only at which node the way down ends.

LEAF = -1  # scikit-learn's mark for "no child"


class Prunings:
    """A grown tree of scikit-learn, for two classes, and its minimal subtrees."""

    def __init__(self, tree: Any, alphas: Sequence[float]) -> None:
        self._tree = tree
        grown = tree.tree_
        ends = _ends(grown, np.asarray(alphas, dtype=np.float64))
        ones = grown.value[:, 0, 1] / grown.value[:, 0, :].sum(axis=1)
        self._probability = ones[ends]

    def probability(self, design: FloatArray) -> FloatArray:
        """Return the probability of label 1 for each setting and each row."""
        found: FloatArray = self._probability[:, self._tree.apply(design)]
        return found


def _ends(grown: Any, alphas: FloatArray) -> IntArray:
    """Return for each setting and node the node at which its way down ends.

    The smallest subtree that minimises impurity plus alpha times leaves: from the
    leaves up, a node becomes a leaf if that costs no more than its two subtrees.
    """
    left, right = grown.children_left, grown.children_right
    share = grown.weighted_n_node_samples / grown.weighted_n_node_samples[0]
    as_leaf = (share * grown.impurity)[:, np.newaxis] + alphas
    cost = as_leaf.copy()
    is_end = np.ones(cost.shape, dtype=np.bool_)
    inner = np.flatnonzero(left != LEAF)
    for node in inner[::-1]:  # children have higher numbers than their parent
        below = cost[left[node]] + cost[right[node]]
        is_end[node] = as_leaf[node] <= below
        cost[node] = np.minimum(as_leaf[node], below)
    ends = np.tile(np.arange(left.size), (alphas.size, 1))
    for node in inner:
        # What ended above has ended for both children, too.
        above = ends[:, node]
        stopped = is_end[node] | (above != node)
        for child in (left[node], right[node]):
            ends[stopped, child] = above[stopped]
    return ends


# Underlying algorithms: scikit-learn's stand-ins for those that the paper ran in Weka.
#
# Each learns from prepared rows with every setting of its grid. As in the paper, only
# one thing is tuned: pruning, ridge, learning rate and momentum, or the constant C.

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

    @property
    def label(self) -> str:
        """The paper's name, and the stand-in if it has another: J48 (here: tree)."""
        if not self.weka:
            return f"{self.name} (not in the paper)"
        if self.weka.startswith(self.name):  # the network, and the networks
            return self.weka
        return f"{self.weka} (here: {self.name})"


def as_text(setting: Setting) -> str:
    """Write a setting as one would read it aloud.

    Examples
    --------
    >>> from experiments.paper.sklearn_engine import as_text
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
        batch_size=min(100, labels.size),
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
            # Of six settings (rates 0.03, 0.1, 0.3; momenta 0.2, 0.9) the rows that
            # calibrate in Tables 1 and 2 choose the second of these.
            tuple({"learning_rate": rate, "momentum": 0.9} for rate in (0.03, 0.1)),
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
OF_PAPER = tuple(name for name, algorithm in ALGORITHMS.items() if algorithm.weka)


# The engine: what any must do, and how scikit-learn does it.


class Engine(Protocol):
    """What runs underlying algorithms."""

    @property
    def name(self) -> str:
        """What readers call it, and its version: other versions, other numbers."""

    def settings(self, algorithm: str) -> tuple[str, ...]:
        """Return the grid of an algorithm as text."""

    def score(
        self, table: DataTable, algorithm: str, pairs: Sequence[RowPair], test: IntArray
    ) -> list[Candidate]:
        """Train on each pair with each setting; score calibration and test rows."""


@dataclass(frozen=True, slots=True)
class SklearnEngine:
    """The algorithms of scikit-learn."""

    name: str = f"scikit-learn {version('scikit-learn')}"

    def settings(self, algorithm: str) -> tuple[str, ...]:
        """Return the grid of an algorithm as text."""
        return ALGORITHMS[algorithm].settings

    def score(
        self, table: DataTable, algorithm: str, pairs: Sequence[RowPair], test: IntArray
    ) -> list[Candidate]:
        """Train on each pair with each setting; score calibration and test rows.

        Missing values are imputed and numbers standardised by the training rows. One
        thread, so that numbers do not depend on the machine and processes do not
        compete for its cores.
        """
        chosen = ALGORITHMS[algorithm]
        with threadpool_limits(1):
            by_pair = [_score_pair(table, algorithm, pair, test) for pair in pairs]
        by_setting = zip(*by_pair, strict=True)
        return [
            Candidate(setting, scores)
            for setting, scores in zip(chosen.settings, by_setting, strict=True)
        ]


def _score_pair(
    table: DataTable, algorithm: str, pair: RowPair, test: IntArray
) -> list[PairScores]:
    chosen = ALGORITHMS[algorithm]
    preparation = Preparation.of(table, pair.train)
    train, calibrate, new = (
        preparation.apply(table.take(rows))
        for rows in (pair.train, pair.calibrate, test)
    )
    scorers = chosen.learn(train, table.labels[pair.train], chosen.grid)
    return [
        PairScores(*both) for both in zip(scorers(calibrate), scorers(new), strict=True)
    ]
