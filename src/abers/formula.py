"""Formula: the functions that the paper's appendix plans for R, on a data frame.

`ul` trains the underlying algorithm, `ivap` calibrates it with other rows, `cvap` does
so fold by fold, and `predict` asks any of them. Names, arguments and components are the
appendix's; rows are counted from 0, as in Python, not from 1.

The coding of the right-hand side, say the levels of a factor or the mean that `scale`
subtracts, is learnt from the rows that train, and kept for all others.
"""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from abers import errors

errors.need("formulaic", extra="formula", what="abers.formula")

import narwhals as nw  # noqa: E402 (says first what to install)
import numpy as np  # noqa: E402
from formulaic import model_matrix  # noqa: E402
from formulaic.errors import (  # noqa: E402
    DataMismatchWarning,
    FormulaicError,
    FormulaParsingError,
)

from abers.core.merging import merge_folds  # noqa: E402
from abers.errors import (  # noqa: E402
    InvalidLabels,
    InvalidParameter,
    InvalidTable,
    InvalidType,
)
from abers.estimators.cross_fit import cross_pairs  # noqa: E402
from abers.estimators.scoring import class_scores  # noqa: E402
from abers.estimators.venn_abers_classifiers import (  # noqa: E402
    CVAPClassifier,
    trained,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from abers.validation import FloatArray, IntArray

__all__ = ["CVAP", "IVAP", "UL", "LowerUpper", "cvap", "ivap", "predict", "ul"]

INTERCEPT = "Intercept"  # classifiers have their own
MOST_SHOWN = 5
# As formulaic and Python name what is wrong: a factor with nulls, levels that are new,
# a term that has other columns than it had, a name that nobody knows.
FACTOR = re.compile(r"in `(.+?)`: ")
LEVELS = re.compile(r"\{.*\}")
CHANGED = re.compile("Term `(.+?)` has generated columns")
QUOTED = re.compile("[`'](.+?)[`']")


class LowerUpper(NamedTuple):
    """Lower and upper probabilities of the rows of a table."""

    lower: FloatArray
    upper: FloatArray


@dataclass(frozen=True, eq=False)
class UL:
    """The underlying algorithm, trained: made by `ul`, or a part of an `IVAP`.

    Attributes
    ----------
    formula : str
        As it was given.
    lev : tuple
        The two levels of the label, ascending; the second one counts as 1.
    model : classifier
        Trained on a matrix with the columns of the formula, without an intercept.
    coding : formulaic.ModelSpec
        How the right-hand side becomes this matrix, for new rows too.
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
        return _scores(self, _coded(self, _as_frame(newdata, "newdata")))


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
        X = _coded(self.ul, _as_frame(newdata, "newdata"))
        if not len(X):
            return LowerUpper(np.empty(0), np.empty(0))
        return LowerUpper(*self.classifier.predict_bounds(X).T)


class CVAP(Sequence[IVAP]):
    """A cross Venn-Abers predictor: as the appendix wants it, a vector of K `IVAP`.

    Parameters
    ----------
    ivaps : sequence of IVAP
        One for each fold.

    Examples
    --------
    >>> from abers.formula import CVAP, ivap
    >>> data = {"y": [0, 1, 0, 1, 0, 1], "x": [1.0, 6.0, 2.0, 3.0, 4.0, 5.0]}
    >>> folds = CVAP([ivap("y ~ x", data, [0, 1], rows) for rows in ([2, 3], [4, 5])])
    >>> len(folds), folds[1].F0, folds[1].F1  # labels 0 and 1: 0, 1/2 and 1/2, 1
    (2, array([0. , 0.5]), array([0.5, 1. ]))
    """

    def __init__(self, ivaps: Sequence[IVAP]) -> None:
        self._ivaps = tuple(ivaps)

    def __len__(self) -> int:
        return len(self._ivaps)

    def __getitem__(self, k: Any) -> Any:
        return CVAP(self._ivaps[k]) if isinstance(k, slice) else self._ivaps[k]

    def __repr__(self) -> str:
        return f"CVAP({len(self)} folds of {self._ivaps[0].ul.formula!r})"

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
        by_fold = [np.column_stack(each.predict(newdata)) for each in self._ivaps]
        return merge_folds(np.stack(by_fold))


def ul(formula: str, data: Any, subset: Any = None, model: Any = None) -> UL:
    """Train the underlying algorithm on some rows of a table.

    Parameters
    ----------
    formula : str
        As for R's `lm`, say `"y ~ x1 + x2"` or `"y ~ ."`; by formulaic.
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
    frame = _as_rows_to_fit(data)
    rows = _as_rows(subset, len(frame), "subset")
    X, y, coding = _matrix(formula, frame.iloc[rows])
    lev = _levels(y, "ul")
    return UL(formula, lev, trained(model, X, y), coding.rhs)


def ivap(
    formula: str, data: Any, subset1: Any, subset2: Any, model: Any = None
) -> IVAP:
    """Make an inductive Venn-Abers predictor of a training and a calibration set.

    Parameters
    ----------
    formula : str
        As for R's `lm`, say `"y ~ x1 + x2"` or `"y ~ ."`; by formulaic.
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
        With `keys`, `F0` and `F1`. To the last bit what `IVAPClassifier` does with the
        same rows.

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
    frame = _as_rows_to_fit(data)
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
    """Make a cross Venn-Abers predictor of K folds.

    Parameters
    ----------
    formula : str
        As for R's `lm`, say `"y ~ x1 + x2"` or `"y ~ ."`; by formulaic.
    data : data frame
        Of pandas, polars or pyarrow, or a dictionary of columns.
    subset : array-like, default=None
        The rows to use, as numbers from 0 on or as a mask; None is all.
    K : int, default=5
        Number of folds.
    model : classifier, default=None
        The underlying algorithm; logistic regression if None.
    seed : int, RandomState instance or None, default=None
        Shuffles the rows into folds, which keep the shares of the labels.

    Returns
    -------
    CVAP
        A sequence of K `IVAP`. To the last bit what `CVAPClassifier(cv=K,
        merge="minimax", random_state=seed)` does with the same matrix. Two levels only.

    Examples
    --------
    >>> import numpy as np
    >>> from abers.formula import cvap, predict
    >>> x = np.random.default_rng(0).normal(size=300)
    >>> fitted = cvap("{x > 0} ~ x", {"x": x}, K=3, seed=0)
    >>> len(fitted), len(fitted[0].keys), predict(fitted, {"x": [-2.0, 2.0]}).round(2)
    (3, 100, array([0.02, 0.98]))
    """
    if isinstance(K, bool) or not isinstance(K, int | np.integer):
        msg = f"K must be a number of folds; got {K!r}."
        raise InvalidType(msg)
    if K < 2:
        msg = f"K must be at least 2; got {K}."
        raise InvalidParameter(msg)
    frame = _as_rows_to_fit(data)
    rows = _as_rows(subset, len(frame), "subset")
    _, y, _ = _matrix(formula, frame.iloc[rows])
    _levels(y, "cvap")
    pairs = cross_pairs(K, y, y, seed, {})
    return CVAP(
        [
            _ivap(formula, frame, rows[train], rows[calibrate], model)
            for train, calibrate in pairs
            if train is not None
        ]
    )


def predict(object: UL | IVAP | CVAP, newdata: Any) -> Any:  # noqa: A002 (the paper's)
    """Predict for the rows of a table: what R calls a generic function.

    Parameters
    ----------
    object : UL, IVAP or CVAP
        As made by `ul`, `ivap` or `cvap`.
    newdata : data frame
        With the columns of the right-hand side of the formula.

    Returns
    -------
    ndarray of shape (n,) or LowerUpper
        Of an `UL` scores, of an `IVAP` lower and upper probabilities, of a `CVAP`
        probabilities.

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
    X, y, coding = _matrix(formula, frame.iloc[train])
    labels = _labels(formula, coding.lhs, frame.iloc[calibrate])
    new = _features(formula, coding.rhs, frame.iloc[calibrate])
    everything = np.concatenate((y, labels))
    lev = _levels(everything, "ivap")
    pair = (np.arange(y.size), np.arange(y.size, everything.size))
    classifier = CVAPClassifier(model, cv=[pair], merge="minimax")
    classifier.fit(np.concatenate((X, new)), everything)
    underlying = UL(formula, lev, classifier.estimators_[0], coding.rhs)
    keys = np.unique(_scores(underlying, new))
    ((rule,),) = classifier.rules_
    if rule is None:
        msg = "the calibration rows must have labels; got none."
        raise InvalidLabels(msg)
    lower, upper = rule.bounds(keys).T
    return IVAP(underlying, keys, lower.copy(), upper.copy(), classifier)


def _scores(underlying: UL, X: FloatArray) -> FloatArray:
    """Score rows as classifiers do, rounded as they round."""
    if not len(X):
        return np.empty(0)
    scores = class_scores(underlying.model, X, len(X), np.array(underlying.lev), "auto")
    return scores.of_pair(0, 1)


def _levels(labels: np.ndarray, owner: str) -> tuple[Any, ...]:
    try:
        lev = np.unique(labels).tolist()
    except TypeError as cause:  # no order of text and numbers
        kinds = sorted({type(label).__name__ for label in labels.tolist()})
        msg = f"{owner} needs labels of one kind; got {' and '.join(kinds)}."
        raise InvalidLabels(msg) from cause
    if len(lev) != 2:
        count = "one level" if len(lev) == 1 else f"{len(lev)} levels"
        advice = " For more than two use abers.CVAPClassifier." if len(lev) > 2 else ""
        msg = f"{owner} needs a label of two levels; got {count}.{advice}"
        raise InvalidLabels(msg)
    return tuple(lev)


def _as_frame(data: Any, name: str) -> Any:
    """Return a pandas data frame, whose rows are numbered."""
    import pandas as pd

    if isinstance(data, dict):
        try:
            return pd.DataFrame(data)
        except ValueError as cause:
            sizes = [
                f"{key!r} of length {len(column)}"
                if hasattr(column, "__len__")
                else f"{key!r}, which is {column!r}"
                for key, column in data.items()
            ]
            msg = (
                f"{name} must have columns, all of one length; got "
                f"{', '.join(sizes[:MOST_SHOWN])}."
            )
            raise InvalidTable(msg) from cause
    if isinstance(data, pd.DataFrame) and data.columns.has_duplicates:
        twice = data.columns[data.columns.duplicated()].tolist()[0]
        msg = f"{name} must have columns of different names; got {twice!r} twice."
        raise InvalidTable(msg)
    frame = nw.from_native(data, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        msg = (
            f"{name} must be a data frame or a dictionary of columns; "
            f"got a {type(data).__name__}."
        )
        raise InvalidType(msg)
    return frame.to_pandas().reset_index(drop=True)


def _as_rows_to_fit(data: Any) -> Any:
    frame = _as_frame(data, "data")
    if not len(frame):
        msg = "data must have rows; got none."
        raise InvalidTable(msg)
    return frame


def _as_rows(subset: Any, size: int, name: str) -> IntArray:
    """Return row numbers, for a mask too."""
    if subset is None and name == "subset":
        return np.arange(size)
    rows: np.ndarray = np.asarray(subset)
    if rows.dtype.kind == "b" and rows.shape == (size,):
        rows = np.flatnonzero(rows)
    outside = rows.dtype.kind in "iu" and ((rows < 0) | (rows >= size)).any()
    if rows.dtype.kind not in "iu" or rows.ndim != 1 or not rows.size or outside:
        msg = (
            f"{name} must be row numbers from 0 to {size - 1} or a mask of {size} "
            f"booleans, with at least one row; got {_described(subset, rows, size)}."
        )
        raise InvalidParameter(msg)
    return rows.astype(np.int64)


def _described(subset: Any, rows: np.ndarray, size: int) -> str:
    if not rows.ndim:
        return repr(subset)
    if rows.dtype.kind in "iu" and rows.ndim == 1 and rows.size:
        return f"the row number {rows[(rows < 0) | (rows >= size)][0]}"
    return f"an array of {rows.dtype} with shape {rows.shape}"


def _matrix(formula: str, rows: Any) -> tuple[FloatArray, np.ndarray, Any]:
    """Return features without an intercept, labels, and the coding of both."""
    if not isinstance(formula, str):
        msg = f"formula must be a text such as 'y ~ x'; got {formula!r}."
        raise InvalidType(msg)
    with _our_words(formula, rows):
        both = model_matrix(
            formula, rows, context={}, na_action="raise", output="numpy"
        )
    if not hasattr(both, "lhs"):
        msg = f"formula must have a label before ~, as in 'y ~ x'; got {formula!r}."
        raise InvalidParameter(msg)
    if isinstance(both.lhs, tuple) or isinstance(both.rhs, tuple):
        msg = f"formula must have one part on each side of ~; got {formula!r}."
        raise InvalidParameter(msg)
    X = _without_intercept(both.rhs, rows)
    if not X.shape[1]:
        msg = (
            f"formula must name features after ~, as in 'y ~ x'; got {formula!r}. A "
            "factor of one level is none."
        )
        raise InvalidParameter(msg)
    coding = both.model_spec
    return X, _labels(formula, coding.lhs, rows), coding


def _labels(formula: str, coding: Any, rows: Any) -> np.ndarray:
    """Return a column as it is, whatever its type, or what is computed of some."""
    name = formula.partition("~")[0].strip()
    if name in rows.columns:
        if rows[name].isna().any():
            _refuse_missing(name, rows)
        column: np.ndarray = rows[name].to_numpy()
        return column
    with _our_words(formula, rows):
        matrix = np.asarray(coding.get_model_matrix(rows, context={}))
    if matrix.shape[1] > 2:
        msg = (
            f"formula must have a label of two levels before ~; {name!r} has "
            f"{matrix.shape[1]}. For more than two use abers.CVAPClassifier."
        )
        raise InvalidLabels(msg)
    last: np.ndarray = matrix[:, -1]
    return last


def _coded(underlying: UL, rows: Any) -> FloatArray:
    """Return features of new rows, coded as those that trained."""
    return _features(underlying.formula, underlying.coding, rows)


def _features(formula: str, coding: Any, rows: Any) -> FloatArray:
    """Return features of further rows, coded as those that train."""
    with _our_words(formula, rows):
        matrix = coding.get_model_matrix(rows, context={})
    return _without_intercept(matrix, rows)


def _without_intercept(matrix: Any, rows: Any) -> FloatArray:
    names = matrix.model_spec.column_names
    kept = [place for place, name in enumerate(names) if name != INTERCEPT]
    X = np.ascontiguousarray(np.asarray(matrix, dtype=np.float64)[:, kept])
    infinite = ~np.isfinite(X)
    if infinite.any():
        row, column = map(int, np.argwhere(infinite)[0])
        msg = (
            f"data must make finite numbers; {names[kept[column]]!r} is "
            f"{X[row, column].item()!r} at row {rows.index[row]}."
        )
        raise InvalidTable(msg)
    return X


@contextlib.contextmanager
def _our_words(formula: str, rows: Any) -> Iterator[None]:
    """Say in our words what formulaic has against a formula or its data."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DataMismatchWarning)
            yield
    except FormulaParsingError as cause:
        msg = f"formula must be as for R's lm; {formula!r} is not: {_reason(cause)}."
        raise InvalidParameter(msg) from cause
    except DataMismatchWarning as cause:
        levels = LEVELS.search(str(cause))
        msg = (
            "data must have no level that the rows which train lack; a factor of "
            f"{formula!r} has {levels[0] if levels else 'one'}. Leave these rows out, "
            "or join rare levels."
        )
        raise InvalidTable(msg) from cause
    except FormulaicError as cause:
        _refuse_factor(formula, cause)
    except (TypeError, ValueError) as cause:
        if found := FACTOR.search(str(cause)):
            _refuse_missing(found[1], rows, cause)
        msg = f"formula must make numbers of rows; {formula!r} fails: {_reason(cause)}."
        raise InvalidParameter(msg) from cause


def _refuse_factor(formula: str, cause: FormulaicError) -> NoReturn:
    """Raise for a part of a formula that cannot be computed from the data."""
    if isinstance(cause.__cause__, NameError):
        quoted = QUOTED.search(str(cause.__cause__))
        name = quoted[1] if quoted else formula
        is_call = f"{name}(" in str(cause)
        way = f" NumPy's is np.{name}." if is_call and hasattr(np, name) else ""
        msg = (
            f"data must hold what {formula!r} names; no column and no function is "
            f"called {name!r}.{way}"
        )
        raise InvalidTable(msg) from cause
    if changed := CHANGED.match(str(cause)):
        msg = (
            f"data must have columns of the kinds that trained {formula!r}; "
            f"{changed[1]!r} has become text, or another number of columns."
        )
        raise InvalidTable(msg) from cause
    way = " Within I() and braces the power of Python is **." if "^" in formula else ""
    msg = f"formula must be computable; {formula!r} is not: {_reason(cause)}.{way}"
    raise InvalidParameter(msg) from cause


def _reason(cause: BaseException) -> str:
    """Return the first line of a message, without its full stop."""
    return str(cause).partition("\n")[0].rstrip(" .")


def _refuse_missing(name: str, rows: Any, cause: Exception | None = None) -> NoReturn:
    where = "in some row"
    if name in rows.columns:
        empty = rows[name].isna().to_numpy()
        first = rows.index[empty.argmax()]
        where = f"in {empty.sum()} of {empty.size} rows, first at row {first}"
    msg = f"data must not be missing; {name!r} is, {where}. Drop or impute these rows."
    raise InvalidTable(msg) from cause
