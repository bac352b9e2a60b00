"""Several classifiers as one Venn-Abers predictor, by the partial order of scores."""

from __future__ import annotations

from dataclasses import replace
from reprlib import repr as shortened
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import _name_estimators
from sklearn.utils import Bunch, get_tags, indexable
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from abers import validation
from abers.core.inverted import warn
from abers.core.merging import LOSSES
from abers.core.poset import fitted_poset_rule
from abers.errors import (
    InvalidLabels,
    InvalidParameter,
    InvalidScores,
    InvalidWeights,
)
from abers.estimators.classifiers import CHECK_LABELS, Observations, fit_pair
from abers.estimators.folds import calibration_pair
from abers.estimators.multiclass import bounds_of_class, problems
from abers.estimators.score_columns import as_class_labels, refuse_dispatched
from abers.estimators.scoring import class_scores, response_of, settled_for_keys
from abers.estimators.weights import takes, warn_of_unweighted
from abers.estimators.wrapper import ProbabilisticClassifier, warn_of_fitted

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike

    from abers.core.poset import PosetRule
    from abers.estimators.folds import Pair
    from abers.estimators.multiclass import ProblemRows
    from abers.validation import FloatArray, IntArray

__all__ = ["PosetClassifier"]

FEWEST = 2  # classifiers, and classes
(_PROBLEM,) = problems(2, "ovo")


class PosetClassifier(ProbabilisticClassifier, MetaEstimatorMixin, _BaseComposition):
    """Two or more classifiers, calibrated together without a formula for their scores.

    A case is above another if no classifier scores it lower. Isotonic regression on
    this partial order, on rows that the classifiers have not seen, gives the bounds.
    Best for classifiers of about equal strength that err differently; where one is
    much better, stack them first and calibrate the stack by `IVAPClassifier`.

    The **bounds** of an object are the probability if it were a 0 (lower) and if it
    were a 1 (upper). With unit weights, one of the two is calibrated as long as new
    cases resemble the calibration cases. They are not a confidence interval, and they
    shrink to a point as data grow.

    Parameters
    ----------
    estimators : list of classifiers, or of (str, classifier) pairs
        At least two, each with `decision_function` or `predict_proba`. With pairs, as
        in scikit-learn's `VotingClassifier`, `set_params` reaches their parameters by
        name. A `FrozenEstimator` is prefit and is not trained.
    calibration : float, int or array-like, default=0.2
        Fraction or number of rows that calibrate, drawn at random without stratifying
        (the guarantee needs it); or a boolean mask or row numbers of those rows. All
        others train. If all classifiers are prefit, all rows calibrate. Three or more
        classifiers take up to 10,000 calibration rows.
    loss : {"log", "brier"}, default="log"
        The loss for which bounds are merged to one probability.
    response_method : {"auto", "decision_function", "predict_proba"}, default="auto"
        What scores the objects. "auto" takes `decision_function` if it exists, and
        else the log-odds of probabilities.
    n_jobs : int, default=None
        Classifiers that are trained at a time, and threads that predict.
    random_state : int, RandomState instance or None, default=None
        Draws the calibration rows.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labels, ascending.
    estimators_ : list of classifiers
        The fitted classifiers.
    named_estimators_ : Bunch
        The same by name.
    rule_ : PosetRule
        The rule, of as many scores as there are classifiers.
    response_method_ : str
        `response_method` as at fit, which also scores new objects.

    Examples
    --------
    >>> import abers
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> models = [GaussianNB(), DecisionTreeClassifier(max_depth=3, random_state=0)]
    >>> model = abers.PosetClassifier(models, random_state=0).fit(X, y)
    >>> model.rule_.n_scores, model.predict_bounds(X[:3]).shape
    (2, (3, 2))
    """

    estimators_: list[Any]
    rule_: PosetRule
    response_method_: str
    _names: list[str]  # of the fitted classifiers

    def __init__(
        self,
        estimators: Any,
        *,
        calibration: Any = 0.2,
        loss: str = "log",
        response_method: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimators = estimators
        self.calibration = calibration
        self.loss = loss
        self.response_method = response_method
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        **params: Any,
    ) -> Self:
        """Train the classifiers and fit the rule.

        Parameters
        ----------
        X : array-like of shape (n, features)
            Whatever all the classifiers take.
        y : array-like of shape (n,)
            Labels of two classes.
        sample_weight : array-like of shape (n,), default=None
            Whole numbers. They go to the classifiers that take weights, and into the
            rule, where an observation of weight w counts as w observations.
        **params : dict
            Further parameters, routed as metadata.

        Returns
        -------
        object
            Itself.
        """
        names, models = self._members()
        validation.check_choice(self.loss, LOSSES, "loss")
        for model in models:
            response_of(model, self.response_method)
            warn_of_fitted(model)
        classes, encoded = self._labels(y, models)
        refuse_dispatched(X, "X")
        X, encoded = indexable(X, encoded)
        validate_data(self, X, skip_check_array=True)
        weights = None
        if sample_weight is not None:
            whole = validation.as_whole_weights(
                sample_weight, encoded.size, other="rows of X"
            )
            validation.check_total(whole, "sample_weight")
            weights = whole.astype(np.float64)
        routed = self._routed(names, models, sample_weight, params)
        data = Observations(X, classes, encoded, weights, {})
        estimators, samples = self._train(data, models, routed)
        if not samples[0].labels.size:
            msg = (
                "some calibration rows must have a positive weight; got weights of 0 "
                "only, so that no class has any. Calibrate with more or other rows."
            )
            raise InvalidWeights(msg)
        rule, inverted = fitted_poset_rule(
            np.column_stack([sample.scores for sample in samples]),
            samples[0].labels,
            samples[0].weights,
        )
        self.classes_, self.rule_, self.estimators_ = classes, rule, estimators
        self._names = names
        self.response_method_ = self.response_method
        # Last, so that the classifier is fitted even if warnings are errors.
        if inverted:
            column, order = next(iter(inverted.items()))
            more = len(inverted) - 1
            others = f", as are those of {more} more" if more else ""
            warn(
                f"The scores of {names[column]!r} are inverted on the calibration rows "
                f"(AUC {order.auc:.3f}){others}: higher ones go with fewer rows of "
                f"class {classes.tolist()[1]!r}. {CHECK_LABELS}"
            )
        return self

    def _train(
        self, data: Observations, models: list[Any], routed: list[dict[str, Any]]
    ) -> tuple[list[Any], list[ProblemRows]]:
        """Train all classifiers on the same rows; return what each calibrates by."""
        pair = self._pair(models, data.encoded.size)
        fitted = Parallel(n_jobs=self.n_jobs)(
            delayed(fit_pair)(
                clone(model),
                replace(data, fit_params=fit_params),
                pair,
                [_PROBLEM],
                self.response_method,
            )
            for model, fit_params in zip(models, routed, strict=True)
        )
        return [model for model, _ in fitted], [rows for _, (rows,) in fitted]

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n, features)
            As for `fit`.

        Returns
        -------
        ndarray of shape (n, 2)
            Rows sum to 1. No guarantee of calibration is proven for merged numbers.
        """
        check_is_fitted(self)
        p = self.rule_.probability(
            self._scores(X), self.loss, n_threads=effective_n_jobs(self.n_jobs)
        )
        return np.column_stack((1 - p, p))

    def predict_bounds(self, X: Any, *, positive: Any = None) -> FloatArray:
        """Return lower and upper probability.

        Parameters
        ----------
        X : array-like of shape (n, features)
            As for `fit`.
        positive : object, default=None
            The class whose bounds to return; None is `classes_[1]`.

        Returns
        -------
        ndarray of shape (n, 2)
            The probability if the case were a 0, and if it were a 1; not a confidence
            interval.
        """
        check_is_fitted(self)
        bounds = self.rule_.bounds(
            self._scores(X), n_threads=effective_n_jobs(self.n_jobs)
        )
        return bounds_of_class(bounds, self.classes_, positive)

    @property
    def named_estimators_(self) -> Bunch:
        """The fitted classifiers by name."""
        return Bunch(**dict(zip(self._names, self.estimators_, strict=True)))

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002
        """Return the parameters, and with `deep` those of named classifiers.

        Parameters
        ----------
        deep : bool, default=True
            Whether classifiers that have names are among them, with their parameters.

        Returns
        -------
        dict
            Names and values.
        """
        params: dict[str, Any] = self._get_params("estimators", deep=deep)
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also those of named classifiers, as `name__parameter`.

        Parameters
        ----------
        **params : dict
            Names and values.

        Returns
        -------
        object
            Itself.
        """
        self._set_params("estimators", **params)
        return self

    def get_metadata_routing(self) -> MetadataRouter:
        """Tell scikit-learn where metadata goes: to itself and to the classifiers."""
        router = MetadataRouter(owner=self.__class__.__name__).add_self_request(self)
        names, models = self._members()
        for name, model in zip(names, models, strict=True):
            router.add(
                **{name: model},
                method_mapping=MethodMapping().add(caller="fit", callee="fit"),
            )
        return router

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        try:
            _, models = self._members()
        except InvalidParameter:  # `fit` will say it
            return tags
        inner = [get_tags(model).input_tags for model in models]
        for name in ("sparse", "allow_nan", "pairwise", "string", "categorical"):
            setattr(tags.input_tags, name, all(getattr(each, name) for each in inner))
        return tags

    def _members(self) -> tuple[list[str], list[Any]]:
        """Return the names of the classifiers, made up if not given, and these."""
        members = self.estimators
        if not isinstance(members, list | tuple) or len(members) < FEWEST:
            is_list = isinstance(members, list | tuple)
            got = f"{len(members)}" if is_list else f"a {type(members).__name__}"
            msg = (
                "estimators must be a list of at least two classifiers, or of pairs "
                f"(name, classifier); got {got}. For one classifier use IVAPClassifier."
            )
            raise InvalidParameter(msg)
        named = [isinstance(each, list | tuple) and len(each) == 2 for each in members]
        if not any(named):
            members = _name_estimators(members)
        elif not all(named) or not all(isinstance(name, str) for name, _ in members):
            msg = "estimators must be all pairs (name, classifier), or all classifiers."
            raise InvalidParameter(msg)
        names, models = map(list, zip(*members, strict=True))
        self._validate_names(names)
        return names, models

    def _labels(self, y: ArrayLike, models: list[Any]) -> tuple[np.ndarray, IntArray]:
        """Return the two classes and each label's place; prefit models know theirs."""
        labels = as_class_labels(y, type(self).__name__)
        prefit = [m for m in models if isinstance(m, FrozenEstimator)]
        known = [m.classes_ for m in prefit if hasattr(m, "classes_")]
        for its_classes in known:
            unknown = ~np.isin(labels, its_classes)
            if unknown.any():
                row = int(unknown.argmax())
                msg = (
                    "labels must be among those of the prefit classifiers, "
                    f"{its_classes.tolist()!r}; got {labels.tolist()[row]!r} at row "
                    f"{row}."
                )
                raise InvalidLabels(msg)
        classes = np.unique(np.concatenate([labels, *known]))
        if len(classes) > FEWEST:
            msg = (
                "Only binary classification is supported. PosetClassifier got "
                f"{len(classes)} classes, {shortened(classes.tolist())}; to ask about "
                "one class against the rest, pass y == label."
            )
            raise InvalidLabels(msg)
        if len(classes) < FEWEST:
            got = f"one class only, {classes.tolist()!r}" if classes.size else "no rows"
            msg = f"PosetClassifier needs labels of two classes; got {got}."
            raise InvalidLabels(msg)
        return classes, np.searchsorted(classes, labels)

    def _routed(
        self,
        names: list[str],
        models: list[Any],
        sample_weight: ArrayLike | None,
        params: dict[str, Any],
    ) -> list[dict[str, Any]]:
        """Return the parameters of each classifier's fit."""
        if _routing_enabled():
            routed = process_routing(self, "fit", sample_weight=sample_weight, **params)
            return [routed[name].fit for name in names]
        if params:
            msg = (
                f"fit got parameters that it does not know, {sorted(params)}; to pass "
                "them on to the classifiers, enable scikit-learn's metadata routing."
            )
            raise InvalidParameter(msg)
        if sample_weight is None:
            return [{} for _ in models]
        for model in models:
            if not takes(model, "sample_weight") and not isinstance(
                model, FrozenEstimator
            ):
                warn_of_unweighted(model, params)
        return [
            {"sample_weight": np.asarray(sample_weight)}
            if takes(model, "sample_weight")
            else {}
            for model in models
        ]

    def _pair(self, models: list[Any], size: int) -> Pair:
        """Choose the rows that train and those that calibrate."""
        pair: Pair = (None, np.arange(size))
        if not all(isinstance(model, FrozenEstimator) for model in models):
            pair = calibration_pair(self.calibration, size, self.random_state)
        most, rows = validation.MOST_VECTORS, len(pair[1])
        if len(models) > FEWEST and rows > most:  # said before anything is trained
            msg = (
                f"three or more classifiers must be calibrated with at most {most} "
                f"rows, because all pairs are compared; got {rows}. Pass "
                f"calibration={most}, or take two classifiers, which have no limit."
            )
            raise InvalidScores(msg)
        return pair

    def _scores(self, X: Any) -> FloatArray:
        """Score objects by each classifier, where its calibration scores are."""
        validation.check_choice(self.loss, LOSSES, "loss")
        if getattr(X, "ndim", 2) != 1:  # the classifier words that one better
            validate_data(self, X, skip_check_array=True, reset=False)
        columns = [
            settled_for_keys(
                _PROBLEM.scored(
                    class_scores(
                        model, X, self.classes_, self.response_method_, _num_samples(X)
                    )
                ),
                np.unique(keys),
            )
            for model, keys in zip(self.estimators_, self.rule_.scores.T, strict=True)
        ]
        return np.column_stack(columns)
