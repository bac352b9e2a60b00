"""Score rows alone and in a batch: how many scores differ (decision 5).

Run it with `python benchmarks/alone_or_in_a_batch.py`; it takes some minutes.
"""

from __future__ import annotations

import warnings
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.ensemble import (
    BaggingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.svm import SVC, LinearSVC

from abers.estimators.scoring import class_scores, predictions, rounded_to, step_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Array = NDArray[Any]

ROWS, TRAIN = 1_000, 500
TWO = [("lr", LogisticRegression()), ("nb", GaussianNB())]
MODELS = {
    "logistic": LogisticRegression(),
    "linear SVM": LinearSVC(),
    "ridge": RidgeClassifier(),
    "LDA": LinearDiscriminantAnalysis(),
    "QDA": QuadraticDiscriminantAnalysis(reg_param=0.1),
    "naive Bayes": GaussianNB(),
    "network": MLPClassifier((20,), max_iter=100, random_state=0),
    "SVM": SVC(),
    "boosting": HistGradientBoostingClassifier(max_iter=20, random_state=0),
    "forest": RandomForestClassifier(5, random_state=0),
    "SGD": SGDClassifier(loss="log_loss", random_state=0),
    "bagging": BaggingClassifier(LogisticRegression(), 3, random_state=0),
    "voting": VotingClassifier(TWO, voting="soft"),
    "stacking": StackingClassifier(TWO, cv=3),
}
REGRESSORS = {
    "linear": LinearRegression(),
    "ridge": Ridge(),
    "network": MLPRegressor(hidden_layer_sizes=(20,), max_iter=100, random_state=0),
}


def sets() -> Iterator[tuple[str, Array, Array]]:
    """Draw sets of two and three classes, some of them hard on sums."""
    for classes in (2, 3):
        X, y = make_classification(
            ROWS, 30, n_informative=10, n_classes=classes, random_state=classes
        )
        yield f"{classes} classes", X, y
        yield f"{classes} classes, saturated", 5 * X, y
        yield f"{classes} classes, x 1e6", 1e6 * X, y
    X, y = make_classification(ROWS, 30, n_informative=10, random_state=9)
    yield "offset of 10", X + 10, y
    yield "x 1e-6", 1e-6 * X, y


def class_score(rows: Array, *, model: Any, classes: Array, method: str) -> Array:
    """Score the last class against the first of two, or against all others."""
    scores = class_scores(model, rows, len(rows), classes, method)
    return scores.of_pair(0, 1) if len(classes) == 2 else scores.of_class(2)


def prediction(rows: Array, *, model: Any, step: float) -> Array:
    """Predict targets."""
    return rounded_to(step, predictions(model, rows, len(rows)))


def cases() -> Iterator[tuple[str, str, Callable[[Array], Array], Array]]:
    """Train all models on half of the rows of each set: model, where, score, rows."""
    for where, X, y in sets():
        for name, model in MODELS.items():
            model.fit(X[:TRAIN], y[:TRAIN])
            for method in ("decision_function", "predict_proba"):
                if hasattr(model, method):
                    options = {"model": model, "classes": np.unique(y)}
                    score = partial(class_score, method=method, **options)
                    yield name, f"{where}, {method}", score, X
    for offset in (0.0, 1e6):
        for name, regressor in REGRESSORS.items():
            regressor.fit(X[:TRAIN], X[:TRAIN] @ np.arange(30) + y[:TRAIN] + offset)
            step = step_of(regressor.predict(X[TRAIN:]))
            score = partial(prediction, model=regressor, step=step)
            yield f"{name} regression", f"targets + {offset:g}", score, X


def main() -> None:
    """Print the cases in which scores differ, and the sums by model."""
    warnings.simplefilter("ignore")  # of models that are trained briefly
    total, differing = Counter[str](), Counter[str]()
    for name, where, score, X in cases():
        together = score(X)
        alone = np.concatenate([score(X[[row]]) for row in range(len(X))])
        count = int((alone != together).sum())
        total[name] += len(X)
        differing[name] += count
        if count:
            print(f"{name}, {where}: {count} of {len(X):,}", flush=True)
    for name, size in total.items():
        print(f"{name}: {differing[name]} of {size:,}")
    print(f"{differing.total()} of {total.total():,} scores differ")


if __name__ == "__main__":
    main()
