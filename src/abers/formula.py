"""Formula: the functions that the paper's appendix plans for R, on a data frame.

`ul` trains the underlying algorithm, `ivap` calibrates it on other rows, `cvap` does so
fold by fold, and `predict` accepts any of these. Names, arguments and components are
those of the appendix; rows are counted from 0, as in Python, not from 1.

The coding of the right-hand side, such as the levels of a factor or the mean that
`scale` subtracts, is learnt from the training rows and kept for all others.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from reprlib import repr as shortened
from typing import TYPE_CHECKING, Any, NamedTuple

from abers import errors

errors.need("formulaic", extra="formula", what="abers.formula")

import narwhals as nw  # noqa: E402 (the sentence about formulaic comes first)
import numpy as np  # noqa: E402
from formulaic import model_matrix  # noqa: E402
from formulaic.errors import DataMismatchWarning, FormulaicError  # noqa: E402

from abers.core.merging import merge_folds  # noqa: E402
from abers.errors import InvalidData, InvalidParameter, InvalidType  # noqa: E402
from abers.estimators.cross_fit import cross_pairs  # noqa: E402
from abers.estimators.scoring import class_scores  # noqa: E402
from abers.estimators.venn_abers_classifiers import (  # noqa: E402
    CVAPClassifier,
    trained,
)

if TYPE_CHECKING:
    from abers.validation import FloatArray, IntArray

__all__ = ["CVAP", "IVAP", "UL", "LowerUpper", "cvap", "ivap", "predict", "ul"]


class LowerUpper(NamedTuple):
    """Lower and upper probabilities of the rows of a table."""

    lower: FloatArray
    upper: FloatArray


@dataclass(frozen=True, eq=False)
class UL:
    """The trained underlying algorithm: made by `ul`, or part of an `IVAP`.

    Attributes
    ----------
    formula : str
        The formula, as passed.
    lev : tuple
        The two levels of the label, ascending; the second one counts as 1.
    model : classifier
        Trained on a matrix with the columns of the formula, without an intercept.
    coding : formulaic.ModelSpec
        The coding of the right-hand side as this matrix, for new rows, too.
    """

    formula: str
    lev: tuple[Any, ...]
    model: Any
    coding: Any = field(repr=False)

    def predict(self, newdata: Any) -> FloatArray:
        """Return the scores of the rows of a table.

        Parameters
        ----------
        newdata : data frame
            With the columns of the right-hand side.

        Returns
        -------
        ndarray of shape (n,)
            Margins or log-odds of the second level, as they are calibrated.
        """
        X, _ = _features(self.formula, _as_frame(newdata, "newdata"), self.coding)
        return _scores(self.model, X, self.lev)


@dataclass(frozen=True, eq=False)
class IVAP:
    """An inductive Venn-Abers predictor, with the components of the appendix.

    Attributes
    ----------
    ul : UL
        Computes the scores.
    keys : ndarray of shape (k',)
        The scores of the calibration rows, ascending, without duplicates.
    F0, F1 : ndarray of shape (k',)
        Lower and upper probability at each key.
    classifier : CVAPClassifier
        The same predictor for a matrix, with one fold.
    """

    ul: UL
    keys: FloatArray
    F0: FloatArray
    F1: FloatArray
    classifier: CVAPClassifier = field(repr=False)

    def predict(self, newdata: Any) -> LowerUpper:
        """Return the lower and the upper probability of the rows of a table.

        Parameters
        ----------
        newdata : data frame
            With the columns of the right-hand side.

        Returns
        -------
        LowerUpper
            Two vectors, `lower` and `upper`.
        """
        frame = _as_frame(newdata, "newdata")
        X, _ = _features(self.ul.formula, frame, self.ul.coding)
        return LowerUpper(*self.classifier.predict_bounds(X).T)


class CVAP(tuple[IVAP, ...]):
    """A cross Venn-Abers predictor: a vector of `IVAP`, one per fold.

    Examples
    --------
    >>> from abers.formula import CVAP, ivap
    >>> data = {"y": [0, 1, 0, 1, 0, 1], "x": [1.0, 6.0, 2.0, 3.0, 4.0, 5.0]}
    >>> folds = CVAP([ivap("y ~ x", data, [0, 1], rows) for rows in ([2, 3], [4, 5])])
    >>> len(folds), folds[1].F0, folds[1].F1  # labels 0 and 1: 0, 1/2 and 1/2, 1
    (2, array([0. , 0.5]), array([0.5, 1. ]))
    """

    __slots__ = ()

    def predict(self, newdata: Any) -> FloatArray:
        """Return the probability of the second level for the rows of a table.

        Parameters
        ----------
        newdata : data frame
            With the columns of the right-hand side.

        Returns
        -------
        ndarray of shape (n,)
            The bounds of all folds, merged by minimax for log loss (Algorithm 7).
        """
        by_fold = [np.column_stack(each.predict(newdata)) for each in self]
        return merge_folds(np.stack(by_fold))


def ul(formula: str, data: Any, subset: Any = None, model: Any = None) -> UL:
    """Train the underlying algorithm on some rows of a table.

    Parameters
    ----------
    formula : str
        As for R's `lm`, say `"y ~ x1 + x2"` or `"y ~ ."`; parsed by formulaic.
    data : data frame
        Of pandas, polars or pyarrow, or a dictionary of columns.
    subset : array-like, default=None
        The rows that train, as numbers from 0 on or as a mask; None is all.
    model : classifier, default=None
        The algorithm; logistic regression if None.

    Returns
    -------
    UL
        With `lev`, the two levels of the label.

    Examples
    --------
    >>> from abers.formula import predict, ul
    >>> data = {"ill": ["no", "no", "yes", "yes"], "dose": [1.0, 2.0, 3.0, 4.0]}
    >>> fitted = ul("ill ~ dose", data)
    >>> fitted.lev
    ('no', 'yes')
    >>> predict(fitted, {"dose": [0.0, 5.0]}).round(1)  # log-odds of "yes"
    array([-2.4,  2.4])
    """
    frame = _as_frame(data, "data")
    rows = _as_rows(subset, len(frame), "subset")
    labels, lev = _labels(formula, frame.iloc[rows], "ul")
    X, coding = _features(formula, frame.iloc[rows])
    return UL(formula, lev, trained(model, X, labels), coding)


def ivap(
    formula: str, data: Any, subset1: Any, subset2: Any, model: Any = None
) -> IVAP:
    """Make an inductive Venn-Abers predictor from a training and a calibration set.

    Parameters
    ----------
    formula : str
        As for R's `lm`, say `"y ~ x1 + x2"` or `"y ~ ."`; parsed by formulaic.
    data : data frame
        Of pandas, polars or pyarrow, or a dictionary of columns.
    subset1, subset2 : array-like
        The rows of the proper training set and of the calibration set, as numbers from
        0 on or as masks; without a row in common.
    model : classifier, default=None
        The underlying algorithm; logistic regression if None.

    Returns
    -------
    IVAP
        With `keys`, `F0` and `F1`. Equal to `IVAPClassifier` with the same rows, bit
        for bit.

    Examples
    --------
    >>> from abers.formula import ivap, predict
    >>> data = {"y": [0, 1, 0, 1, 0], "x": [1.0, 5.0, 2.0, 3.0, 4.0]}
    >>> rule = ivap("y ~ x", data, subset1=[0, 1], subset2=[2, 3, 4])
    >>> rule.F0  # labels 0, 1, 0 in the order of the scores
    array([0.        , 0.33333333, 0.33333333])
    >>> rule.F1
    array([0.5       , 0.66666667, 0.66666667])
    >>> predict(rule, {"x": [3.5]})
    LowerUpper(lower=array([0.33333333]), upper=array([0.66666667]))
    """
    frame = _as_frame(data, "data")
    train = _as_rows(subset1, len(frame), "subset1")
    calibrate = _as_rows(subset2, len(frame), "subset2")
    common = np.intersect1d(train, calibrate)
    if common.size:
        msg = (
            "subset1 and subset2 must not share rows, since no row may both train and "
            f"calibrate; got row {common[0]} in both."
        )
        raise InvalidParameter(msg)
    return _ivap(formula, frame, train, calibrate, model)


def cvap(  # noqa: PLR0917 (the paper's order)
    formula: str,
    data: Any,
    subset: Any = None,
    K: int = 5,
    model: Any = None,
    seed: Any = None,
) -> CVAP:
    """Make a cross Venn-Abers predictor with K folds.

    Parameters
    ----------
    formula : str
        As for R's `lm`, say `"y ~ x1 + x2"` or `"y ~ ."`; parsed by formulaic.
    data : data frame
        Of pandas, polars or pyarrow, or a dictionary of columns.
    subset : array-like, default=None
        The rows to use, as numbers from 0 on or as a mask; None is all.
    K : int, default=5
        Number of folds.
    model : classifier, default=None
        The underlying algorithm; logistic regression if None.
    seed : int, RandomState instance or None, default=None
        Shuffles the rows into stratified folds.

    Returns
    -------
    CVAP
        A sequence of K `IVAP`. Equal to `CVAPClassifier(cv=K, merge="minimax",
        random_state=seed)` with the same matrix, bit for bit. Two levels only.

    Examples
    --------
    >>> import numpy as np
    >>> from abers.formula import cvap, predict
    >>> x = np.random.default_rng(0).normal(size=300)
    >>> fitted = cvap("{x > 0} ~ x", {"x": x}, K=3, seed=0)
    >>> len(fitted), len(fitted[0].keys), predict(fitted, {"x": [-2.0, 2.0]}).round(2)
    (3, 100, array([0.02, 0.98]))
    """
    if not isinstance(K, int | np.integer) or K < 2:
        msg = f"K must be a number of folds, at least 2; got {K!r}."
        raise InvalidParameter(msg)
    frame = _as_frame(data, "data")
    rows = _as_rows(subset, len(frame), "subset")
    labels, _ = _labels(formula, frame.iloc[rows], "cvap")
    return CVAP(
        [
            _ivap(formula, frame, rows[train], rows[calibrate], model)
            for train, calibrate in cross_pairs(K, labels, labels, seed, {})
        ]
    )


def predict(object: UL | IVAP | CVAP, newdata: Any) -> Any:  # noqa: A002 (the paper's)
    """Predict for the rows of a table; a generic function in R.

    Parameters
    ----------
    object : UL, IVAP or CVAP
        As made by `ul`, `ivap` or `cvap`.
    newdata : data frame
        With the columns of the right-hand side of the formula.

    Returns
    -------
    ndarray of shape (n,) or LowerUpper
        Scores for a `UL`, lower and upper probabilities for an `IVAP`, probabilities
        for a `CVAP`.

    Examples
    --------
    >>> from abers.formula import ivap, predict
    >>> rule = ivap("y ~ x", {"y": [0, 1, 0, 1], "x": [1, 4, 2, 3]}, [0, 1], [2, 3])
    >>> predict(rule, {"x": [2]}).upper
    array([0.5])
    """
    if not isinstance(object, UL | IVAP | CVAP):
        msg = f"object must be made by ul, ivap or cvap; got a {type(object).__name__}."
        raise InvalidType(msg)
    return object.predict(newdata)


def _ivap(
    formula: str, frame: Any, train: IntArray, calibrate: IntArray, model: Any
) -> IVAP:
    labels, lev = _labels(
        formula, frame.iloc[np.concatenate((train, calibrate))], "ivap"
    )
    X, coding = _features(formula, frame.iloc[train])
    new, _ = _features(formula, frame.iloc[calibrate], coding)
    pair = (np.arange(train.size), np.arange(train.size, labels.size))
    classifier = CVAPClassifier(model, cv=[pair], merge="minimax")
    classifier.fit(np.concatenate((X, new)), labels)
    underlying = UL(formula, lev, classifier.estimators_[0], coding)
    keys = np.unique(_scores(underlying.model, new, lev))
    lower, upper = classifier.rules_[0][0].bounds(keys).T
    return IVAP(underlying, keys, lower.copy(), upper.copy(), classifier)


def _scores(model: Any, X: FloatArray, lev: tuple[Any, ...]) -> FloatArray:
    """Score rows as the classifiers do, with the same rounding."""
    return class_scores(model, X, len(X), np.array(lev), "auto").of_pair(0, 1)


def _as_frame(data: Any, name: str) -> Any:
    """Return a pandas data frame with rows numbered from 0."""
    import pandas as pd

    try:
        frame = pd.DataFrame(data) if isinstance(data, dict) else data
        frame = nw.from_native(frame, eager_only=True).to_pandas()
    except (TypeError, ValueError) as cause:
        msg = (
            f"{name} must be a data frame, or a dictionary of columns of one length; "
            f"the {type(data).__name__} given is not: {_reason(cause)}."
        )
        raise InvalidData(msg) from cause
    if not len(frame):
        msg = f"{name} must have rows; got none."
        raise InvalidData(msg)
    return frame.reset_index(drop=True)


def _as_rows(subset: Any, size: int, name: str) -> IntArray:
    """Return row numbers, also for a mask."""
    if subset is None and name == "subset":
        return np.arange(size)
    rows: np.ndarray = np.asarray(subset)
    if rows.dtype.kind == "b" and rows.shape == (size,):
        rows = np.flatnonzero(rows)
    is_numbers = rows.dtype.kind in "iu" and rows.ndim == 1 and rows.size > 0
    if not is_numbers or rows.min() < 0 or rows.max() >= size:
        msg = (
            f"{name} must be row numbers from 0 to {size - 1} or a mask of {size} "
            f"booleans, with at least one row; got {shortened(subset)}."
        )
        raise InvalidParameter(msg)
    return rows.astype(np.int64)


def _labels(formula: str, rows: Any, owner: str) -> tuple[np.ndarray, tuple[Any, ...]]:
    """Return the labels of rows, and their two levels.

    The left-hand side is a column of any type, or computed from columns.
    """
    if not isinstance(formula, str):
        msg = f"formula must be a text such as 'y ~ x'; got {formula!r}."
        raise InvalidType(msg)
    name, tilde, _ = (part.strip() for part in formula.partition("~"))
    if not (name and tilde):
        msg = f"formula must have a label before ~, as in 'y ~ x'; got {formula!r}."
        raise InvalidParameter(msg)
    if name in rows.columns:
        labels: np.ndarray = rows[name].to_numpy()
        _refuse_missing(rows, [name])
    else:
        labels = np.asarray(_materialised(formula, rows, name + " - 1"))[:, -1]
    try:
        lev = np.unique(labels).tolist()
    except TypeError as cause:  # text and numbers have no order
        msg = f"{owner} needs labels of one kind; got {_reason(cause)}."
        raise InvalidData(msg) from cause
    if len(lev) != 2:
        msg = (
            f"{owner} needs a label of two levels; got {len(lev)}. For more than two "
            "use abers.CVAPClassifier."
        )
        raise InvalidData(msg)
    return labels, tuple(lev)


def _features(formula: str, rows: Any, coding: Any = None) -> tuple[FloatArray, Any]:
    """Return the features of rows, and their coding for new rows.

    Classifiers add an intercept, so it is left out.
    """
    matrix = _materialised(formula, rows, coding)
    matrix = getattr(matrix, "rhs", matrix)
    if isinstance(matrix, tuple):
        msg = f"formula must have one part on each side of ~; got {formula!r}."
        raise InvalidParameter(msg)
    names = np.array(matrix.model_spec.column_names)
    X = np.ascontiguousarray(np.asarray(matrix, np.float64)[:, names != "Intercept"])
    if not X.shape[1]:
        msg = (
            f"formula must name features after ~, as in 'y ~ x'; got {formula!r}. A "
            "factor of one level is none."
        )
        raise InvalidParameter(msg)
    if not np.isfinite(X).all():
        row, column = map(int, np.argwhere(~np.isfinite(X))[0])
        name = str(names[names != "Intercept"][column])
        msg = (
            f"data must make finite numbers; {name!r} is "
            f"{X[row, column].item()!r} at row {rows.index[row]}."
        )
        raise InvalidData(msg)
    return X, matrix.model_spec


def _materialised(formula: str, rows: Any, spec: Any = None) -> Any:
    """Evaluate a formula, or a part of it, with formulaic; raise if that fails."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DataMismatchWarning)
            return model_matrix(
                formula if spec is None else spec,
                rows,
                context={},
                na_action="raise",
                output="numpy",
            )
    except (DataMismatchWarning, FormulaicError, TypeError, ValueError) as cause:
        _refuse_missing(rows, [n for n in rows.columns if f"in `{n}`: " in str(cause)])
        msg = (
            "formula must be computable from the data (within I() and braces by "
            f"Python, whose power is **); {formula!r} is not: {_reason(cause)}."
        )
        raise InvalidData(msg) from cause


def _refuse_missing(rows: Any, names: list[str]) -> None:
    for name in names:
        empty = rows[name].isna().to_numpy()
        if empty.any():
            msg = (
                f"data must not be missing; {name!r} is, in {empty.sum()} of "
                f"{empty.size} rows, first at row {rows.index[empty.argmax()]}. Drop "
                "or impute these rows."
            )
            raise InvalidData(msg)


def _reason(cause: BaseException) -> str:
    """Return the first line of a message, without its full stop."""
    return str(cause).partition("\n")[0].rstrip(" .")
