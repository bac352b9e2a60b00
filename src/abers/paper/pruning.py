"""Pruning: one tree, grown once, cut back as far as each setting asks.

scikit-learn grows a tree anew for each `ccp_alpha`. Here all settings share the tree:
what differs is only at which node the way down ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abers.validation import FloatArray, IntArray

LEAF = -1  # scikit-learn's mark for "no child"


class Prunings:
    """A grown tree of scikit-learn, for two classes, and its minimal subtrees.

    Parameters
    ----------
    tree : sklearn.tree.DecisionTreeClassifier
        Fitted without pruning.
    alphas : sequence of float
        The price of a leaf, in impurity, for each setting.
    """

    def __init__(self, tree: Any, alphas: Sequence[float]) -> None:
        self._tree = tree
        grown = tree.tree_
        ends = _ends(grown, np.asarray(alphas, dtype=np.float64))
        ones = grown.value[:, 0, 1] / grown.value[:, 0, :].sum(axis=1)
        self._probability = ones[ends]

    def probability(self, design: FloatArray) -> FloatArray:
        """Return the probability of label 1 for each setting and each row."""
        found: FloatArray = self._probability[:, self._tree.apply(design)]
        return found


def _ends(grown: Any, alphas: FloatArray) -> IntArray:
    """Return for each setting and node the node at which its way down ends.

    The smallest subtree that minimises impurity plus alpha times leaves: from the
    leaves up, a node becomes a leaf if that costs no more than its two subtrees.
    """
    left, right = grown.children_left, grown.children_right
    share = grown.weighted_n_node_samples / grown.weighted_n_node_samples[0]
    as_leaf = (share * grown.impurity)[:, np.newaxis] + alphas
    cost = as_leaf.copy()
    is_end = np.ones(cost.shape, dtype=np.bool_)
    inner = np.flatnonzero(left != LEAF)
    for node in inner[::-1]:  # children have higher numbers than their parent
        below = cost[left[node]] + cost[right[node]]
        is_end[node] = as_leaf[node] <= below
        cost[node] = np.minimum(as_leaf[node], below)
    ends = np.tile(np.arange(left.size), (alphas.size, 1))
    for node in inner:
        # What ended above has ended for both children, too.
        above = ends[:, node]
        stopped = is_end[node] | (above != node)
        for child in (left[node], right[node]):
            ends[stopped, child] = above[stopped]
    return ends
