"""Multicalibration: probabilities put right for many overlapping groups at once.

In core: like a rule it is fitted to calibration rows and answers with bounds, and it
needs nothing but numpy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from abers import validation
from abers.core import merging
from abers.errors import InvalidGroups, InvalidType

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from abers.validation import FloatArray

# Relative to columns of length 1: smaller singular values are rounding.
LEAST_VALUE = 1e-10
LEAST_REST = 1e-8  # of the length of a row: below, it lies among those of the fit
LARGEST = 1e100  # of numbers that are squared and added up
NAMES = (
    "For a column of names pass np.asarray(names)[:, None] == levels, with levels = "
    "np.unique(names) of the calibration rows."
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Multicalibrated:
    """A model's probabilities, calibrated for groups; made by `fit_multicalibrated`.

    The **bounds** of a case are its probability if it were a 0 (lower) and if it were a
    1 (upper). For the bound that belongs to the case's label, the expectation of group
    times (label - bound) is 0 for every group, as long as new cases resemble the
    calibration cases. They are not a confidence interval. Their distance is the
    leverage of the case: large where few calibration rows had its groups. They may
    leave [0, 1]; the merged probability does not.

    Attributes
    ----------
    n_observations : int
        Calibration rows.
    n_groups : int
        Columns of groups.
    dependent : tuple of int
        Columns that are combinations of those before them, such as the last one of
        groups that exclude each other beside a column of ones. They change nothing.
    """

    n_observations: int
    n_groups: int
    dependent: tuple[int, ...]
    # The columns, brought to length 1, are L S R; the coefficients are for these.
    _lengths: FloatArray
    _values: FloatArray  # S, without zeros
    _right: FloatArray  # R: its rows span those of the fit
    _coefficients: FloatArray

    def bounds(self, probabilities: ArrayLike, groups: ArrayLike) -> FloatArray:
        """Return the lower and upper probability of each case.

        Parameters
        ----------
        probabilities : array-like of shape (n,)
            Probabilities by the model that was calibrated.
        groups : array-like of shape (n, m)
            The groups of each case, with the columns of the fit.

        Returns
        -------
        ndarray of shape (n, 2)
            Columns lower and upper. They may leave [0, 1]; they are (0, 1) for groups
            that no calibration rows speak of.
        """
        return _bounds(*self._fitted(probabilities, groups))

    def probability(
        self, probabilities: ArrayLike, groups: ArrayLike, loss: str = "log"
    ) -> FloatArray:
        """Return one probability for each case: the bounds, cut and merged.

        What is cut to [0, 1] is the fit without the new case; its leverage is then
        added in full, so that no probability of a member is 0 or 1.

        Parameters
        ----------
        probabilities : array-like of shape (n,)
            Probabilities by the model that was calibrated.
        groups : array-like of shape (n, m)
            The groups of each case, with the columns of the fit.
        loss : {"log", "brier"}, default="log"
            The loss whose worst excess over the better bound is made smallest.

        Returns
        -------
        ndarray of shape (n,)
            Between 0 and 1. No guarantee is proven for it.
        """
        validation.check_choice(loss, merging.LOSSES, "loss")
        base, h = self._fitted(probabilities, groups)
        lower, upper = _bounds(np.clip(base, 0, 1), h).T
        return merging.MINIMAX[loss](lower, np.minimum(upper, 1.0))

    def _fitted(
        self, probabilities: ArrayLike, groups: ArrayLike
    ) -> tuple[FloatArray, FloatArray]:
        """Return the fit without the new case, and h; infinite where groups are new."""
        p, columns = _checked(probabilities, groups, self.n_groups)
        rows = columns / self._lengths
        places = rows @ self._right.T
        h = ((places / self._values) ** 2).sum(axis=1)
        # A row outside of those of the fit is fitted by itself: to its label.
        rest = np.linalg.norm(rows - places @ self._right, axis=1)
        h[rest > LEAST_REST * np.linalg.norm(rows, axis=1)] = np.inf
        return p + rows @ self._coefficients, h

    def __repr__(self) -> str:
        more = f", {len(self.dependent)} dependent" if self.dependent else ""
        return (
            f"Multicalibrated({self.n_observations} observations, "
            f"{self.n_groups} groups{more})"
        )


def fit_multicalibrated(
    probabilities: ArrayLike, labels: ArrayLike, groups: ArrayLike
) -> Multicalibrated:
    """Calibrate probabilities for many groups at once, which may overlap.

    Venn multicalibration for squared loss: the residuals, label minus probability, are
    regressed on the groups by least squares, with the new case added once as a 0 and
    once as a 1. It is for probabilities of a model that does not know the groups. If
    groups do not overlap and are large, `fit_rules` does more: it corrects the whole
    curve in each of them, not only its mean.

    Parameters
    ----------
    probabilities : array-like of shape (n,)
        Probabilities of label 1 by a model that was not fitted to these rows.
    labels : array-like of shape (n,)
        0 or 1, or bool.
    groups : array-like of shape (n, m)
        A column for each group: 1 or True for its members, 0 for others, or any
        numbers. A column of ones makes the overall mean right, too; a column of the
        probabilities themselves also their spread.

    Returns
    -------
    Multicalibrated
        With `bounds(probabilities, groups)` and `probability(...)`.

    Notes
    -----
    Let f be the probabilities, G the groups, A = G'G; of a new case p and g. Put h =
    g'A⁻¹g and base = p + g'A⁻¹G'(labels - f). Least squares on all rows and the new
    one with label y fits (base + h y) / (1 + h) to it: the bounds are base (1 - l) and
    base (1 - l) + l, where l = h / (1 + h) is the leverage of the new case. If A has no
    inverse, its pseudo-inverse is used, which fits the same.

    *Guarantee.* The normal equations of the n + 1 rows are sums over rows of g_j (label
    - fit) = 0 for each column j. If the rows are exchangeable, each has the same
    expectation, so that of the new case is 0: E[g_j (Y - p_Y)] = 0, with p_Y the bound
    that belongs to its label. It holds for few rows, too.

    References
    ----------
    van der Laan, Alaa: Generalized Venn and Venn-Abers calibration with applications in
    conformal prediction, ICML 2025.

    Examples
    --------
    A model predicts 1/2 for everybody. Three rows are in the group, one of them a 1:

    >>> import abers
    >>> fitted = abers.fit_multicalibrated([0.5] * 3, [0, 0, 1], [[1], [1], [1]])
    >>> fitted.bounds([0.5], [[1]])  # 1 of 4 and 2 of 4
    array([[0.25, 0.5 ]])
    >>> fitted.bounds([0.5], [[0]])  # not a member
    array([[0.5, 0.5]])
    """
    f, columns = _checked(probabilities, groups, None)
    y = validation.as_labels(labels)
    validation.check_length(y.size, f.size, "labels", "probabilities")
    validation.check_scores_and_labels(f, y, np.ones(f.size, dtype=np.bool_))
    lengths = _lengths(columns)
    unit = columns / lengths
    left, values, right = np.linalg.svd(unit, full_matrices=False)
    kept = values > LEAST_VALUE
    fitted = (left[:, kept].T @ (y - f)) / values[kept]
    return Multicalibrated(
        n_observations=len(columns),
        n_groups=columns.shape[1],
        dependent=_dependent(unit),
        _lengths=lengths,
        _values=values[kept],
        _right=right[kept],
        _coefficients=right[kept].T @ fitted,
    )


def _bounds(base: FloatArray, h: FloatArray) -> FloatArray:
    """Return (base + h y) / (1 + h) for both labels: least squares with the new row."""
    leverage = 1 - 1 / (1 + h)
    lower = base / (1 + h)
    return np.column_stack((lower, lower + leverage))


def _checked(
    probabilities: ArrayLike, groups: ArrayLike, n_groups: int | None
) -> tuple[FloatArray, FloatArray]:
    """Return probabilities and as many rows of finite numbers."""
    is_new = n_groups is not None
    p = validation.as_probabilities(probabilities, "probabilities", may_be_empty=is_new)
    columns = _as_columns(groups)
    wanted = "one column or more" if n_groups is None else f"{n_groups} columns"
    if columns.ndim != 2 or not (
        columns.shape[1] if n_groups is None else columns.shape[1] == n_groups
    ):
        msg = (
            f"groups must have {wanted}, one a group, of numbers or truth values; got "
            f"shape {columns.shape}. {NAMES}"
        )
        raise InvalidGroups(msg)
    validation.check_length(len(columns), p.size, "groups", "probabilities")
    bad = ~np.isfinite(columns)
    if bad.any():
        row, column = map(int, np.argwhere(bad)[0])
        msg = (
            f"groups must be finite numbers; got {columns[row, column].item()!r} in "
            f"column {column} of row {row}. Give rows without a group a column of "
            "their own."
        )
        raise InvalidGroups(msg)
    large = abs(columns) > LARGEST
    if large.any():
        row, column = map(int, np.argwhere(large)[0])
        msg = (
            f"groups must be numbers of at most {LARGEST:.0e} in size, because they "
            f"are squared; got {columns[row, column].item()!r} in column {column} of "
            f"row {row}. Scale the column."
        )
        raise InvalidGroups(msg)
    return p, columns


def _as_columns(groups: ArrayLike) -> FloatArray:
    """Return numbers of any shape; of names say how to make columns of them."""
    try:
        return validation.as_numbers(groups, "groups")
    except InvalidType as error:
        if "real numbers" not in str(error):
            raise
        msg = f"{error} {NAMES}"
        raise InvalidType(msg) from error


def _lengths(columns: FloatArray) -> FloatArray:
    """Return the length of each column, 1 if nobody is in it."""
    lengths: FloatArray = np.linalg.norm(columns, axis=0)
    lost = (lengths < 1 / LARGEST) & (columns != 0).any(axis=0)
    if lost.any():
        column = int(lost.argmax())
        most = abs(columns[:, column]).max().item()
        msg = (
            f"groups must have a number of at least {1 / LARGEST:.0e} in size in each "
            f"column that is not all 0; got at most {most!r} in column {column}. Scale "
            "the column."
        )
        raise InvalidGroups(msg)
    lengths[lengths == 0] = 1.0
    return lengths


def _dependent(unit: FloatArray) -> tuple[int, ...]:
    """Return the columns that are combinations of those before them.

    >>> _dependent(np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 0.0]]))
    (2,)
    """
    # Few rows, with the same inner products.
    factor: FloatArray = np.asarray(np.linalg.qr(unit, mode="r"))
    basis = np.empty((len(factor), 0))
    found = []
    for place, column in enumerate(factor.T):
        rest = column - basis @ (basis.T @ column)
        rest -= basis @ (basis.T @ rest)  # again: the first time leaves rounding
        length = np.linalg.norm(rest)
        if length > LEAST_VALUE:
            basis = np.column_stack((basis, rest / length))
        else:
            found.append(place)
    return tuple(found)
