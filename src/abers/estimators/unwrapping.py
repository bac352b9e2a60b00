"""Find the calibrated model inside pipelines, searches and other wrappers.

scikit-learn's wrappers know `predict_proba` and not `predict_bounds`. Bounds, and what
`evaluate` shows beyond probabilities, come from the model inside, on X as the wrappers
would hand it on.
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
    steps: tuple[Any, ...]  # fitted transformers that X passes first
    path: str  # names of the wrappers and the model, from the outside in

    def transform(self, X: Any) -> Any:
        """Return X as the model takes it."""
        for step in self.steps:
            X = step.transform(X)
        return X


def unwrap(model: Any) -> Unwrapped:
    """Take off the wrappers around a model; raise if they are not fitted."""
    check_is_fitted(model)
    steps: list[Any] = []
    names = [type(model).__name__]
    while (inner := _inside(model, steps)) is not None:
        model = inner
        names.append(type(model).__name__)
    return Unwrapped(model, tuple(steps), " > ".join(names))


def _inside(model: Any, steps: list[Any]) -> Any:
    """Return the model in a wrapper, adding its transformers to `steps`; else None."""
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
    """Return the model in a wrapper that gives predictions, and X as it takes it.

    Both as they are, if the model is no wrapper, or there is none inside.
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
        As the outermost wrapper takes it. It passes the pipeline's transformers on its
        way.
    pos_label : object, default=None
        The class whose bounds to return. None is `classes_[1]` of two classes, and
        every class of more.

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
