"""Fit a rule to each group of objects, and one to all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from abers import validation
from abers.core.diagram import Diagram
from abers.core.group_names import as_groups, refuse_missing_groups, rows_by_group
from abers.core.rule_set import RuleSet

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def fit_rules(
    scores: ArrayLike,
    labels: ArrayLike,
    groups: ArrayLike,
    *,
    minimum: int = 30,
    sample_weight: ArrayLike | None = None,
    increasing: bool = True,
) -> RuleSet:
    """Fit a rule to each group, valid within the group (Mondrian prediction).

    Parameters
    ----------
    scores : array-like of shape (n,)
        Any real numbers that order the objects, ±inf allowed. A column of a pandas,
        polars or pyarrow table will do, here and below.
    labels : array-like of shape (n,)
        0 or 1, or bool.
    groups : array-like of shape (n,)
        The group of each row: text, integers, floats or booleans, all of one type; or
        categories. None may be missing.
    minimum : int, default=30
        Least number of negatives and of positives that a group needs for a rule of its
        own; smaller groups, and those never seen, are left to the pooled rule. No
        upper bound of a rule is below 1 / (1 + negatives), no lower bound above
        positives / (1 + positives): with fewer than 30 of each, not even a perfect
        score brings the bounds below 0.03 and above 0.97.
    sample_weight : array-like of shape (n,), default=None
        An observation of weight w counts as w observations, for `minimum` too.
    increasing : bool, default=True
        Whether a higher score means a higher probability of label 1.

    Returns
    -------
    RuleSet
        A rule for each large group, and the pooled one; see there for what is valid.

    Examples
    --------
    >>> import abers
    >>> scores, labels = [1, 2, 1, 2, 3], [0, 1, 0, 1, 0]
    >>> groups = ["shop", "shop", "web", "web", "web"]
    >>> rule_set = abers.fit_rules(scores, labels, groups, minimum=1)
    >>> rule_set.bounds([2, 2, 2], ["shop", "web", "phone"])  # pooled: 2/4, 3/4
    array([[0.5       , 1.        ],
           [0.33333333, 0.66666667],
           [0.5       , 0.75      ]])
    >>> rule_set.rule_of(["shop", "web", "phone"])  # None: the pooled rule
    array(['shop', 'web', None], dtype=object)
    """
    s = validation.as_calibration_scores(scores)
    y = validation.as_labels(labels)
    w = None if sample_weight is None else validation.as_weights(sample_weight, s.size)
    Diagram.from_observations(s, y, sample_weight=w)  # refuses rows by their number
    names = as_groups(groups)
    validation.check_length(len(names), s.size, "groups", "scores")
    rows_of = rows_by_group(names)
    if w is not None:  # rows of weight 0 are left out, and with them their groups
        rows_of = {name: rows[w[rows] > 0] for name, rows in rows_of.items()}
    refuse_missing_groups(rows_of.pop(None, np.empty(0, np.int64)), s.size)
    diagrams = {
        name: Diagram.from_observations(
            s[rows], y[rows], sample_weight=None if w is None else w[rows]
        )
        for name, rows in rows_of.items()
        if name is not None and rows.size
    }
    return RuleSet(diagrams, minimum=minimum, increasing=increasing)
