"""Find the calibrated model inside pipelines, searches and other wrappers.

scikit-learn's wrappers know `predict_proba` but not `predict_bounds`. Bounds, and what
`evaluate` shows beyond probabilities, come from the model inside, given X as the
wrappers would pass it on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from abers.errors import InvalidType

if TYPE_CHECKING:
    from abers.validation import FloatArray


class Unwrapped(NamedTuple):
    """A model without its wrappers."""

    model: Any
    steps: tuple[Any, ...]  # fitted transformers applied to X
    path: str  # names of the wrappers and the model, outermost first

    def transform(self, X: Any) -> Any:
        """Return X as the model inside takes it."""
        for step in self.steps:
            X = step.transform(X)
        return X


def unwrap(model: Any) -> Unwrapped:
    """Remove the wrappers around a model; raise if they are not fitted."""
    check_is_fitted(model)
    steps: list[Any] = []
    names = [type(model).__name__]
    while (inner := _inside(model, steps)) is not None:
        model = inner
        names.append(type(model).__name__)
    return Unwrapped(model, tuple(steps), " > ".join(names))


def _inside(model: Any, steps: list[Any]) -> Any:
    """Return the model in a wrapper, and append its transformers to `steps`."""
    if isinstance(model, Pipeline):
        *transformers, (_, last) = model.steps
        steps += [step for _, step in transformers if step not in (None, "passthrough")]
        return last
    if isinstance(model, FrozenEstimator):
        return model.estimator
    if isinstance(model, FixedThresholdClassifier | TunedThresholdClassifierCV):
        return getattr(model, "estimator_", None)
    return getattr(model, "best_estimator_", None)  # of a search, with refit=True


def calibrated_inside(model: Any, X: Any) -> tuple[Any, Any]:
    """Return the model with predictions inside a wrapper, and X as it takes it.

    Both are unchanged if the model is not a wrapper, or has no such model inside.
    """
    if isinstance(model, type) or _inside(model, []) is None:
        return model, X
    unwrapped = unwrap(model)
    if not hasattr(unwrapped.model, "predictions"):
        return model, X
    return unwrapped.model, unwrapped.transform(X)


def predict_bounds(model: Any, X: Any, *, pos_label: Any = None) -> FloatArray:
    """Return the bounds of a calibrated model, through pipelines and searches.

    Parameters
    ----------
    model : fitted estimator
        A CalibratedClassifier, IVAPClassifier, CVAPClassifier or another model with
        `predict_bounds`; or a Pipeline, a search (GridSearchCV), a FrozenEstimator or a
        TunedThresholdClassifierCV around one, to any depth.
    X : array-like
        Input of the outermost wrapper. The pipeline's transformers are applied to it.
    pos_label : object, default=None
        The class whose bounds to return. None is `classes_[1]` with two classes, and
        every class with more.

    Returns
    -------
    ndarray of shape (n, 2) or (n, C, 2)
        The lower and upper probability; see `predict_bounds` of the model inside.

    Raises
    ------
    InvalidType
        If there is no model with bounds inside.

    Examples
    --------
    >>> import abers, numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X = np.arange(100.0).reshape(-1, 1)
    >>> y = (X[:, 0] > 40).astype(int)
    >>> model = make_pipeline(StandardScaler(), abers.IVAPClassifier(random_state=0))
    >>> abers.predict_bounds(model.fit(X, y), X[:2]).shape
    (2, 2)
    """
    unwrapped = unwrap(model)
    if not hasattr(unwrapped.model, "predict_bounds"):
        msg = (
            "model must be, or wrap, a model with predict_bounds, such as "
            f"CalibratedClassifier; got {unwrapped.path}."
        )
        raise InvalidType(msg)
    options = {} if pos_label is None else {"pos_label": pos_label}
    bounds: FloatArray = unwrapped.model.predict_bounds(
        unwrapped.transform(X), **options
    )
    return bounds
