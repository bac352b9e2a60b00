"""Protected probabilities: they follow a change, and cost at most 1 bit if none comes.

A rule is right as long as new rows resemble its calibration rows. `Protected` tracks
the log loss of its probabilities, and adjusts them once other odds would have had a
smaller loss: it mixes maps of the log-odds, with weights that follow the losses. An
account in bits ensures that the total loss of the issued numbers never exceeds the
rule's by more than 1 bit, whatever the data, and however late the labels come
(`kernel/protection.hpp`).
"""

from __future__ import annotations

import json
import math
import threading
from collections import deque
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from abers import _kernel, validation
from abers.core import guarantees
from abers.core.fitted import (
    SUM_TOLERANCE,
    SURROGATE,
    Contents,
    Layout,
    Stored,
    are_tags,
    contents_of,
    flaw_of,
    is_number_or_none,
    layout_of,
    restored,
)
from abers.core.rule import Rule
from abers.errors import InvalidData, InvalidParameter, InvalidType
from abers.online.online_set import OnlineVennAbers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    from abers.core.fitted import Arrays, Facts
    from abers.core.guarantees import Guarantee
    from abers.validation import FloatArray

    RowId = int | str

RATES, MAPS = 3, 15  # of the mixture; each rate's first map is the identity
BASES: dict[str, type[Rule | OnlineVennAbers]] = {
    "rule": Rule,
    "set": OnlineVennAbers,
}
NOTHING = {"f": np.float64, "i": np.int64, "fi": np.float64, "u": np.uint8}
WORD = 8  # bytes
SET_ASIDE = 1e-6  # bits, for periods without change; see the kernel


class Account(NamedTuple):
    """Bits beyond the base: spent on labels, at stake in rows, allowed per row."""

    excess: float
    reserved: float
    allowance: float


class WaitingRow(NamedTuple):
    """A row whose label has not come yet."""

    score: float
    base: float
    issued: float


def is_base(value: object) -> bool:
    """Return whether this may describe the base: the facts of a rule or a set."""
    return isinstance(value, dict)


def is_number(value: object) -> bool:
    """Return whether this is a finite float other than -0.0."""
    return value is not None and is_number_or_none(value)


class Protected(Stored):
    """Probabilities that follow a change, at a total log loss of at most 1 bit more.

    `predict` issues a probability for each new row, and `update` learns the labels when
    they come. Labels may come late and in any order, even one that depends on their
    values. If a label will never come, `drop` its row.

    As long as nothing changes, the issued number is nearly that of the base. Once the
    odds have shifted, or the base has become over- or underconfident, the issued number
    follows within some hundred labels. It is not proven to be calibrated, and may lie
    outside the base's bounds; so it has no bounds.

    Threads may share it; one predicts or updates at a time.

    Parameters
    ----------
    base : Rule or OnlineVennAbers
        The source of the probabilities to protect. An `OnlineVennAbers` learns the rows
        that `update` receives.

    Examples
    --------
    >>> import abers
    >>> rule = abers.fit_rule([1, 2, 3, 4], [0, 0, 1, 1])
    >>> protected = abers.Protected(rule)
    >>> rule.probability([2])  # 0 and 1/2, merged
    array([0.33333333])
    >>> for _ in range(300):  # all are positive from now on
    ...     probability = protected.predict([2])
    ...     _ = protected.update([2], [1])
    >>> probability.round(2)
    array([0.65])
    >>> round(protected.excess)  # bits
    -279
    """

    __slots__ = (
        "_account",
        "_active",
        "_alone",
        "_base",
        "_by_id",
        "_in_order",
        "_tags",
    )
    _layout: ClassVar = Layout(
        "protected",
        arrays={
            "active": "f",  # weights of the mixture: one row of maps per rate
            "ids": "u",  # of the last rows, as JSON; earlier rows have none
            **dict.fromkeys(("waiting_base", "waiting_issued", "waiting_scores"), "f"),
            **{
                f"{prefix}_{name}": letters
                for prefix, base in BASES.items()
                for name, letters in layout_of(base).arrays.items()
            },
        },
        facts={
            "account": is_number,
            "allowance": is_number,
            "base": is_base,
            "excess": is_number,
            "metadata": are_tags,
        },
    )

    def __init__(self, base: Rule | OnlineVennAbers) -> None:
        if not isinstance(base, tuple(BASES.values())):
            msg = (
                "base must be a Rule or an OnlineVennAbers; got a "
                f"{type(base).__name__}."
            )
            raise InvalidType(msg)
        if isinstance(base, Rule):
            base = base.without_diagram()  # new cases have no weights here
        active = np.zeros((RATES, MAPS))
        active[:, 0] = 1 / RATES
        self._begin(base, active.ravel(), Account(0.0, 0.0, 1 - SET_ASIDE), {})

    def _begin(
        self,
        base: Rule | OnlineVennAbers,
        active: FloatArray,
        account: Account,
        tags: dict[str, Any],
    ) -> None:
        self._base = base
        self._active = active
        self._account = account
        self._tags = tags
        self._in_order: deque[WaitingRow] = deque()  # rows without ids, oldest first
        self._by_id: dict[RowId, WaitingRow] = {}
        self._alone = threading.Lock()

    @property
    def base(self) -> Rule | OnlineVennAbers:
        """The source of the probabilities that are protected."""
        return self._base

    @property
    def excess(self) -> float:
        """Log loss beyond the base's, in bits, over the rows with labels.

        At most 1. If negative, the issued numbers were better than the base's.
        """
        return self._account.excess

    @property
    def account(self) -> float:
        """How much the rows without labels can still add to `excess`, in bits.

        `excess` plus `account` is at most 1.
        """
        return self._account.reserved

    @property
    def n_waiting(self) -> int:
        """Number of rows that wait for a label."""
        return len(self._in_order) + len(self._by_id)

    @property
    def waiting_ids(self) -> list[RowId]:
        """The ids of rows that wait for their label, in the order of prediction."""
        return list(self._by_id)

    @property
    def metadata(self) -> dict[str, Any]:
        """A copy of your own tags, as given to `save`."""
        return dict(self._tags)

    @property
    def guarantee(self) -> Guarantee:
        """What is proven: a bound on the total loss, but nothing about calibration."""
        return guarantees.PROTECTED

    def predict(
        self, scores: ArrayLike, ids: Iterable[RowId] | None = None
    ) -> FloatArray:
        """Issue a probability of label 1 for each score.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Real numbers, ±inf allowed, NaN refused.
        ids : sequence of n integers or strings, default=None
            Used by `update` to find the rows. Without ids, labels must come in the
            order of the predictions.

        Returns
        -------
        ndarray of shape (n,)
            Each depends on the earlier labels and on the waiting rows.
        """
        s = validation.as_scores(scores)
        validation.check_scores(s, purpose="predicting")
        keys = None if ids is None else _as_ids(ids, s.size)
        issued = np.empty(s.size)
        with self._alone:
            if keys is not None:
                self._refuse_known(keys)
            base = self._base.probability(s)
            self._account = Account(
                *_kernel.issue(base, self._active, self._account, issued)
            )
            columns = (s + 0.0).tolist(), base.tolist(), issued.tolist()
            rows = map(WaitingRow, *columns)
            if keys is None:
                self._in_order.extend(rows)
            else:
                self._by_id.update(zip(keys, rows, strict=True))
        return issued

    def update(
        self,
        scores: ArrayLike,
        labels: ArrayLike,
        ids: Iterable[RowId] | None = None,
    ) -> Protected:
        """Learn labels of predicted rows: all or none.

        Parameters
        ----------
        scores : array-like of shape (n,)
            As they were predicted.
        labels : array-like of shape (n,)
            0 or 1, or bool, in the order in which they came.
        ids : sequence of n integers or strings, default=None
            As in `predict`, in any order. Without ids, the labels belong to the oldest
            rows without an id, and `scores` must match.

        Returns
        -------
        Protected
            Itself.

        Raises
        ------
        InvalidData
            If a row does not wait for a label, or was predicted for another score;
            nothing is changed.
        """
        s, y = validation.as_scores(scores), validation.as_labels(labels)
        validation.check_length(y.size, s.size, "labels", "scores")
        validation.check_scores_and_labels(s, y)
        with self._alone:
            base, issued = self._take(s, ids)
            ones = y == 1
            account = _kernel.learn(base, issued, ones, self._active, self._account)
            self._settle(Account(*account))
            if isinstance(self._base, OnlineVennAbers):
                self._base.add_many(s, ones)
        return self

    def drop(self, scores: ArrayLike, ids: Iterable[RowId] | None = None) -> Protected:
        """Declare that rows will never get a label; they leave the account.

        Parameters
        ----------
        scores : array-like of shape (n,)
            As they were predicted.
        ids : sequence of n integers or strings, default=None
            As in `predict`. Without ids, the oldest rows without an id.

        Returns
        -------
        Protected
            Itself.

        Raises
        ------
        InvalidData
            If a row does not wait for a label, or was predicted for another score;
            nothing is changed.
        """
        s = validation.as_scores(scores)
        validation.check_scores(s, purpose="dropping")
        with self._alone:
            base, issued = self._take(s, ids)
            self._settle(Account(*_kernel.release(base, issued, self._account)))
        return self

    def __repr__(self) -> str:
        return (
            f"Protected({self._base!r}, {self.n_waiting} waiting, "
            f"excess {self.excess:.3f} bits)"
        )

    def _settle(self, account: Account) -> None:
        """Update the account; exactly 0 if no row is waiting."""
        self._account = account if self.n_waiting else account._replace(reserved=0.0)

    def _take(
        self, scores: FloatArray, ids: Iterable[RowId] | None
    ) -> tuple[FloatArray, FloatArray]:
        """Remove waiting rows; return their base and issued probabilities."""
        if ids is None:
            if scores.size > len(self._in_order):
                msg = (
                    "labels without ids must be of rows that were predicted without "
                    f"ids; got {scores.size} where {len(self._in_order)} wait. "
                    "Nothing was changed."
                )
                raise InvalidData(msg)
            rows = list(islice(self._in_order, scores.size))
            self._check_scores(scores, rows)
            for _ in rows:
                self._in_order.popleft()
        else:
            keys = _as_ids(ids, scores.size)
            for key in keys:
                if key not in self._by_id:
                    msg = (
                        f"ids must be of rows that wait for their label; {key!r} does "
                        "not. Nothing was changed."
                    )
                    raise InvalidData(msg)
            rows = [self._by_id[key] for key in keys]
            self._check_scores(scores, rows)
            for key in keys:
                del self._by_id[key]
        pairs = np.array([row[1:] for row in rows]).reshape(-1, 2)
        base, issued = np.ascontiguousarray(pairs.T)
        return base, issued

    def _check_scores(self, scores: FloatArray, rows: list[WaitingRow]) -> None:
        predicted = np.array([row.score for row in rows])
        differ = predicted != scores
        if differ.any():
            row = int(differ.argmax())
            msg = (
                "scores must be those that were predicted; got "
                f"{scores[row].item()!r} at row {row}, predicted was "
                f"{predicted[row].item()!r}. Nothing was changed. Give ids, or drop "
                "the rows whose labels will not come."
            )
            raise InvalidData(msg)

    def _refuse_known(self, keys: list[RowId]) -> None:
        for key in keys:
            if key in self._by_id:
                msg = (
                    f"ids must be new; {key!r} waits for its label already. "
                    "Nothing was changed."
                )
                raise InvalidParameter(msg)

    def _contents(self) -> Contents:
        with self._alone:
            columns = _columns(chain(self._in_order, self._by_id.values()))
            base_facts, base_arrays = contents_of(self._base)
            arrays = {
                "active": self._active + 0.0,
                "ids": _as_bytes(list(self._by_id)),
                "waiting_base": columns[1],
                "waiting_issued": columns[2],
                "waiting_scores": columns[0],
            }
            facts = {
                "account": self._account.reserved + 0.0,
                "allowance": self._account.allowance + 0.0,
                "base": base_facts,
                "excess": self._account.excess + 0.0,
                "metadata": dict(self._tags),
            }
        for prefix, kind in BASES.items():
            is_here = isinstance(self._base, kind)
            for name, letters in layout_of(kind).arrays.items():
                array = base_arrays[name] if is_here else np.empty(0, NOTHING[letters])
                arrays[f"{prefix}_{name}"] = array
        return Contents(facts, arrays)

    def _restore(self, facts: Facts, arrays: Arrays) -> None:
        kind, contents = _base_of(facts, arrays)
        account = Account(facts["excess"], facts["account"], facts["allowance"])
        tags = dict(facts["metadata"])
        self._begin(restored(kind, contents), arrays["active"] + 0.0, account, tags)
        columns = (
            arrays[f"waiting_{name}"].tolist() for name in ("scores", "base", "issued")
        )
        rows = list(map(WaitingRow, *columns))
        ids = _from_bytes(arrays["ids"]) or []
        first = len(rows) - len(ids)
        self._in_order.extend(rows[:first])
        self._by_id.update(zip(ids, rows[first:], strict=True))

    @classmethod
    def _flaw(cls, facts: Facts, arrays: Arrays) -> str | None:
        return (
            _flaw_of_base(facts, arrays)
            or _flaw_of_rows(arrays)
            or _flaw_of_account(facts, arrays)
        )


def _base_of(
    facts: Facts, arrays: Arrays
) -> tuple[type[Rule | OnlineVennAbers], Contents]:
    """Return the class of the base, and its contents."""
    prefix = "set" if "window" in facts["base"] else "rule"
    kind = BASES[prefix]
    of_base = {name: arrays[f"{prefix}_{name}"] for name in layout_of(kind).arrays}
    return kind, Contents(facts["base"], of_base)


def _flaw_of_base(facts: Facts, arrays: Arrays) -> str | None:
    kind, contents = _base_of(facts, arrays)
    if flaw := flaw_of(kind, contents):
        return f"its base is not valid: {flaw}"
    n_numbers = sum(array.size for array in contents.arrays.values())
    prefixes = tuple(f"{prefix}_" for prefix in BASES)
    n_all = sum(arrays[name].size for name in arrays if name.startswith(prefixes))
    return None if n_numbers == n_all else "it has two bases"


def _flaw_of_rows(arrays: Arrays) -> str | None:
    scores, base, issued = (
        arrays[f"waiting_{name}"] for name in ("scores", "base", "issued")
    )
    ids = _from_bytes(arrays["ids"])
    if ids is None:
        return "its ids are not distinct integers or texts, written as abers does"
    if not scores.size == base.size == issued.size >= len(ids):
        return "its waiting rows are not equally long"
    inside = (base > 0) & (base < 1) & (issued > 0) & (issued < 1)
    if not (inside | ((issued == base) & ((base == 0) | (base == 1)))).all():
        return "its waiting rows do not have probabilities"
    return None


def _flaw_of_account(facts: Facts, arrays: Arrays) -> str | None:
    active, account, excess = arrays["active"], facts["account"], facts["excess"]
    if not (
        active.size == RATES * MAPS
        and (active >= 0).all()
        and math.isclose(active.sum(), 1, rel_tol=SUM_TOLERANCE)
    ):
        return "its weights are not shares of 1"
    reserved = _kernel.reserved_for(arrays["waiting_base"], arrays["waiting_issued"])
    some = SUM_TOLERANCE * (1 + abs(excess))
    if account < 0 or abs(account - reserved) > some:
        return "its account is not that of its waiting rows"
    if not 0 <= facts["allowance"] <= 1 - excess - account + some:
        return "its excess, account and allowance are more than 1 bit"
    return None


def _columns(rows: Iterable[WaitingRow]) -> FloatArray:
    """Return scores, base probabilities and issued ones, each an array."""
    table = np.array(list(rows), dtype=np.float64).reshape(-1, len(WaitingRow._fields))
    return np.ascontiguousarray(table.T) + 0.0


def _as_ids(ids: Iterable[RowId], n_rows: int) -> list[RowId]:
    """Return ids as plain integers and strings; raise if invalid or repeated."""
    keys: list[Any] = [
        key.item() if isinstance(key, np.generic) else key for key in ids
    ]
    validation.check_length(len(keys), n_rows, "ids", "scores")
    for row, key in enumerate(keys):
        if not _is_id(key):
            msg = f"ids must be integers or texts; got {key!r} at row {row}."
            raise InvalidParameter(msg)
    if len(set(keys)) < len(keys):
        twice = next(key for row, key in enumerate(keys) if key in keys[:row])
        msg = f"ids must be distinct; got {twice!r} twice."
        raise InvalidParameter(msg)
    return keys


def _is_id(value: object) -> bool:
    if isinstance(value, str):
        return not SURROGATE.search(value)
    return type(value) is int and -(2**63) <= value < 2**63


def _as_bytes(ids: list[RowId]) -> NDArray[np.uint8]:
    """Return ids as JSON, in bytes padded to whole words; empty without ids."""
    if not ids:
        return np.empty(0, np.uint8)
    text = json.dumps(ids, separators=(",", ":"))
    return np.frombuffer((text + " " * (-len(text) % WORD)).encode("ascii"), np.uint8)


def _from_bytes(written: NDArray[np.uint8]) -> list[RowId] | None:
    """Return the ids that `_as_bytes` wrote; None if it cannot have written this."""
    if not written.size:
        return []
    try:
        ids = json.loads(written.tobytes())
    except (ValueError, RecursionError):
        return None
    is_valid = isinstance(ids, list) and all(map(_is_id, ids))
    if not is_valid or len(set(ids)) < len(ids):
        return None
    return ids if _as_bytes(ids).tobytes() == written.tobytes() else None
