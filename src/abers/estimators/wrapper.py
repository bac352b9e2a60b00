"""Wrapper: what classifiers and regressors share that train models of the user's."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.validation import check_is_fitted

from abers.errors import InvalidParameter
from abers.estimators.folds import DEFAULT_FOLDS
from abers.estimators.log_odds import logarithms
from abers.estimators.weights import takes, warn_of_unweighted

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from abers.validation import FloatArray


ONLY_BY_SPLITTER = "groups must have a splitter that keeps them together; pass {}."


class ProbabilisticClassifier(ClassifierMixin, ABC):
    """A classifier that is asked for probabilities: the rest follows from them."""

    classes_: np.ndarray

    @abstractmethod
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class, a column each."""

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithm of the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n, features)
            As for `fit`.

        Returns
        -------
        ndarray of shape (n, C)
            The natural logarithms of `predict_proba`, a column for each class.
        """
        return logarithms(self.predict_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class.

        Parameters
        ----------
        X : array-like of shape (n, features)
            As for `fit`.

        Returns
        -------
        ndarray of shape (n,)
            Members of `classes_`.
        """
        most_probable = self.predict_proba(X).argmax(axis=1)
        predicted: np.ndarray = self.classes_[most_probable]
        return predicted


class Wrapper(MetaEstimatorMixin, BaseEstimator):
    """An estimator around a model: where parameters of `fit` go, and what X may be."""

    estimator: Any
    default_estimator: ClassVar[Any]  # the class of the model if none is given

    def _inner(self) -> Any:
        return self.default_estimator() if self.estimator is None else self.estimator

    def _is_prefit(self) -> bool:
        return isinstance(self._inner(), FrozenEstimator)

    def _jobs(self) -> int | None:
        return None

    def get_metadata_routing(self) -> MetadataRouter:
        """Tell scikit-learn where metadata goes: to itself and to the model."""
        return (
            MetadataRouter(owner=self.__class__.__name__)
            .add_self_request(self)
            .add(
                estimator=self._inner(),
                method_mapping=MethodMapping().add(caller="fit", callee="fit"),
            )
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._inner()).input_tags
        for name in ("sparse", "allow_nan", "pairwise", "string", "categorical"):
            setattr(tags.input_tags, name, getattr(inner, name))
        return tags

    def _routed(
        self, sample_weight: ArrayLike | None, params: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the parameters of the model's fit and of the splitter."""
        if _routing_enabled():
            routed = process_routing(self, "fit", sample_weight=sample_weight, **params)
            return routed.estimator.fit, routed.get("splitter", {}).get("split", {})
        fit_params, split_params = dict(params), {}
        if "groups" in fit_params and not takes(self._inner(), "groups"):
            split_params["groups"] = fit_params.pop("groups")
            self._check_splits_groups()
        if sample_weight is not None and takes(self._inner(), "sample_weight"):
            fit_params["sample_weight"] = np.asarray(sample_weight)
        elif sample_weight is not None and not self._is_prefit():
            warn_of_unweighted(self._inner(), params)
        return fit_params, split_params

    def _check_splits_groups(self) -> None:
        """Refuse groups: one split at random would keep none together."""
        raise InvalidParameter(
            ONLY_BY_SPLITTER.format("calibration, as row numbers of whole groups")
        )


def warn_of_fitted(model: Any) -> None:
    """Warn of a fitted model that is trained again, since it is not frozen.

    For the `fit` of an estimator to call: the line that calls `fit` is shown.
    """
    last = model
    while isinstance(last, Pipeline):
        last = last.steps[-1][1]
    if _is_fitted(last):
        msg = (
            f"the {type(last).__name__} given is fitted already, and will be trained "
            "again from the start: pass FrozenEstimator(model), of sklearn.frozen, to "
            "calibrate it as it is, or clone(model) to train a new one."
        )
        warnings.warn(msg, UserWarning, stacklevel=3)


def _is_fitted(model: Any) -> bool:
    """Tell whether a model has learnt something that training would replace."""
    if isinstance(model, FrozenEstimator):
        return False
    try:
        check_is_fitted(model)
        needs_fit: bool = get_tags(model).requires_fit
    except (NotFittedError, TypeError, AttributeError):  # or it cannot tell
        return False
    return needs_fit


class CrossWrapper(Wrapper):
    """One that trains a model for each fold of `cv`, `n_jobs` at a time."""

    cv: Any
    n_jobs: int | None

    def _jobs(self) -> int | None:
        return self.n_jobs

    def _check_splits_groups(self) -> None:
        """Refuse groups if `cv` is not a splitter, which may keep them together."""
        if not hasattr(self.cv, "split"):
            way = f"cv=GroupKFold({DEFAULT_FOLDS}), or another splitter by groups"
            raise InvalidParameter(ONLY_BY_SPLITTER.format(way))

    def get_metadata_routing(self) -> MetadataRouter:
        """Tell scikit-learn where metadata goes: also to the splitter."""
        router = super().get_metadata_routing()
        if hasattr(self.cv, "split"):
            router.add(
                splitter=self.cv,
                method_mapping=MethodMapping().add(caller="fit", callee="split"),
            )
        return router
