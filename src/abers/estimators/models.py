"""Models: classifiers by name, for the command line, and the scores of the demo."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.validation import has_fit_parameter

from abers.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from abers.validation import FloatArray, IntArray


MODELS = {
    "logistic": LogisticRegression(max_iter=1000),
    "naive-bayes": GaussianNB(),
    "random-forest": RandomForestClassifier(),
    "gradient-boosting": HistGradientBoostingClassifier(),
}
MOST_CATEGORIES = 100  # of a column of text; the rarest share one


def model_named(name: str, *, random_state: int = 0) -> Any:
    """Return a new classifier, by its name in `MODELS` or as module:attribute.

    The random state is given to one that has such a parameter and none of its own.

    >>> model_named("naive-bayes")
    GaussianNB()
    >>> model_named("sklearn.tree:DecisionTreeClassifier", random_state=7)
    DecisionTreeClassifier(random_state=7)
    """
    model = clone(MODELS[name]) if name in MODELS else _imported(name)
    parameters = model.get_params()
    if "random_state" in parameters and parameters["random_state"] is None:
        model.set_params(random_state=random_state)
    return model


def _imported(name: str) -> Any:
    """Import a classifier that a user names."""
    module, colon, attribute = name.partition(":")
    must = (
        f"model must be {', '.join(MODELS)}, or MODULE:ATTRIBUTE of a classifier that "
        "can be imported"
    )
    if not (colon and module and attribute):
        msg = f"{must}; got {name!r}."
        raise InvalidParameter(msg)
    try:
        found = getattr(importlib.import_module(module), attribute)
        model = found() if isinstance(found, type) else clone(found)
    except Exception as cause:  # whatever importing and making it may raise
        reason = str(cause).partition("\n")[0].rstrip(".")
        msg = f"{must}; {name!r} cannot: {reason}."
        raise InvalidParameter(msg) from cause
    if not all(hasattr(model, method) for method in ("fit", "get_params")):
        msg = f"{must}; {name!r} is a {type(model).__name__}, which cannot be trained."
        raise InvalidParameter(msg)
    return model


def for_table(model: Any, is_text: Sequence[bool]) -> Pipeline:
    """Put before a classifier what turns columns into numbers that it can take.

    Missing numbers become the median, and all are scaled to mean 0 and variance 1;
    text, given as codes, becomes a column for each value, missing ones among them, at
    most 100. All of this is learnt from the rows of a training alone.

    >>> model = for_table(model_named("logistic"), [False, True])
    >>> nan = float("nan")  # three numbers, of which one is missing, beside two words
    >>> X = [[1.0, 0], [nan, 1], [3.0, 1], [2.0, 0]]
    >>> model[:-1].fit_transform(X)[1]  # the median is the mean here: 0
    array([0., 0., 1.])
    """
    numbers = [place for place, text in enumerate(is_text) if not text]
    words = [place for place, text in enumerate(is_text) if text]
    scaled = make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()
    )
    encoded = OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        max_categories=MOST_CATEGORIES,
        sparse_output=False,
    )
    columns = ColumnTransformer(
        [("numbers", scaled, numbers), ("text", encoded, words)]
    )
    kind = WeightedPipeline if has_fit_parameter(model, "sample_weight") else Pipeline
    return kind([("columns", columns), ("model", model)])


class WeightedPipeline(Pipeline):
    """A pipeline that hands weights on to its last step, as a classifier takes them."""

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train all steps; the weights are for the last one."""
        given = {} if sample_weight is None else {"sample_weight": sample_weight}
        last = self.steps[-1][0]
        super().fit(X, y, **{f"{last}__{name}": w for name, w in given.items()})
        return self


EIGHT = 8
# Of 1,797 images: the first 397 train, the last 200 are new.
CUTS = {"calibration": 397, "recent": 1197, "new": 1597}
PALE = 0.5  # ink that is left when the scanner fades


@dataclass(frozen=True, slots=True, eq=False)
class ScoredImages:
    """Images that a classifier has scored."""

    images: IntArray  # their numbers in the data
    ink: NDArray[np.str_]  # "thick": more ink than the median of the trained; or "thin"
    scores: FloatArray  # the probability of an eight, says naive Bayes
    labels: IntArray  # 1 for an eight


def scored_digits(seed: int = EIGHT) -> dict[str, ScoredImages]:
    """Ask naive Bayes of handwritten digits whether they are eights.

    Returns "calibration", "recent" and "new" images, and the recent ones "pale", after
    the scanner has faded; none was used to train, and the seed draws which. The data
    are those of `sklearn.datasets.load_digits`, 1,797 images of 8 x 8 pixels. Naive
    Bayes takes pixels for independent, counts the same evidence many times, and is far
    too sure; it orders images well, all the same.

    >>> recent = scored_digits()["recent"]
    >>> f"predicted {recent.scores.mean():.2f}, observed {recent.labels.mean():.2f}"
    'predicted 0.18, observed 0.10'
    """
    pixels, digits = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(digits.size)
    train, *parts = np.split(order, list(CUTS.values()))
    darkness = pixels.mean(axis=1)
    ink = np.where(darkness > np.median(darkness[train]), "thick", "thin")
    labels = (digits == EIGHT).astype(np.int64)
    model = GaussianNB(var_smoothing=0.1).fit(pixels[train], labels[train])

    def scored(rows: IntArray, shade: float = 1.0) -> ScoredImages:
        of_others, of_eights = model.predict_log_proba(pixels[rows] * shade).T
        # Rounded, so that every machine makes the same tables.
        scores = expit((of_eights - of_others).round(4))
        return ScoredImages(rows, ink[rows], scores, labels[rows])

    found: dict[str, Any] = dict(zip(CUTS, map(scored, parts), strict=True))
    return found | {"pale": scored(parts[1], PALE)}
