"""A monitor of a stream: tests that may be checked after every row, for ever.

Under the hypothesis that calibration rows and stream are exchangeable, three p-values
of each row are uniform (`bag`).

Each test bets on its own p-values (`bets`). P-values of different tests depend on each
other, so tests do not share or exchange capital; each has a third of alpha.
"""

from __future__ import annotations

import math
import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from abers import _kernel, validation
from abers.core.diagram import are_weights
from abers.core.fitted import (
    Contents,
    Layout,
    Stored,
    are_tags,
    is_ascending,
    is_flag,
    is_rate,
)
from abers.errors import InvalidData, InvalidParameter
from abers.formatting import as_json
from abers.online.bag import Bag
from abers.online.bets import TESTS, capital_for
from abers.online.online_set import arrivals_of, is_window

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from abers.choices import ThemeName
    from abers.core.fitted import Arrays, Facts
    from abers.validation import FloatArray, IntArray

UNKNOWN = -1  # a label that has not come yet
LARGEST_SEED = 2**63 - 1
LARGEST_LOG = math.log(sys.float_info.max)


class PValues(NamedTuple):
    """The p-values of each test, in the order of rows."""

    scores: FloatArray
    labels: FloatArray
    slope: FloatArray


class UnlabelledRows(NamedTuple):
    """Rows of the stream with unknown labels, and their scores."""

    rows: IntArray
    scores: FloatArray


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MonitorState:
    """What a monitor has found so far.

    Attributes
    ----------
    n_calibration, n_rows, n_labels : int
        Calibration rows, rows of the stream, and those whose labels have been used.
    n_waiting, n_dropped : int
        Rows whose labels have not been used yet, and rows dropped because of
        `max_wait`.
    capital_scores, capital_labels, capital_slope : float
        What each test has made of an initial capital of 1.
    limit : float
        The capital at which a test raises the alarm: 3 / alpha.
    alarm : bool
        Whether any test has reached the limit; once True, always True.
    alarms : dict
        For each test that has, the row of the stream at which it did, from 0.
    since_row : int or None
        The first of these rows.
    p_values : PValues
        The p-values of each test: `scores` has one for each row, `labels` and `slope`
        one for each label used.
    alpha : float
        The largest probability that there is ever a false alarm.
    """

    n_calibration: int
    n_rows: int
    n_labels: int
    n_waiting: int
    n_dropped: int
    capital_scores: float
    capital_labels: float
    capital_slope: float
    limit: float
    alarm: bool
    alarms: dict[str, int]
    since_row: int | None
    p_values: PValues
    alpha: float

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the p-values as plain JSON types.

        Returns
        -------
        dict
            A capital too large for a double is "inf".
        """
        plain: dict[str, Any] = as_json(self)
        del plain["p_values"]
        return plain

    def __repr__(self) -> str:
        capital = ", ".join(
            f"{test}: {getattr(self, f'capital_{test}'):.3g}" for test in TESTS
        )
        alarm = "no alarm"
        if self.alarm:
            alarm = f"alarm by {', '.join(self.alarms)} since row {self.since_row}"
        return f"MonitorState({self.n_rows} rows; capital {capital}; {alarm})"


def is_seed(value: object) -> bool:
    """Return whether this is a valid random seed."""
    return type(value) is int and 0 <= value <= LARGEST_SEED


def is_positive_count(value: object) -> bool:
    """Return whether this is a positive number of rows."""
    return value is not None and is_window(value)


class Monitor(Stored):
    """Watch a stream of scores and labels, and raise an alarm if it has changed.

    Three tests bet that the stream differs from the calibration rows: one on the
    scores, one on the rate of positives at a given score, one on how steeply that rate
    rises with the score. As long as all rows are exchangeable, the probability that
    there is *ever* an alarm is at most `alpha`, however long the stream is and however
    often you look. This requires a model trained on other rows, and labels whose delay
    does not depend on their value.

    All rows are kept for comparison. After an alarm, the decision is yours: usually,
    recalibrate and start a new monitor with the new calibration rows.

    Threads may share it: one changes it at a time, and others read or save it as it is
    before or after a whole batch of rows. Rows of two threads count in the order of
    their `update` calls, which is up to you.

    Parameters
    ----------
    scores : array-like of shape (n,)
        Scores of the calibration rows. Real numbers, ±inf allowed, NaN refused.
    labels : array-like of shape (n,)
        0 or 1, or bool.
    alpha : float, default=0.01
        The largest probability that there is ever a false alarm.
    random_state : int, default=0
        Seed of the random numbers that break ties. None draws a seed.
    max_wait : int, default=10_000
        How many rows may arrive between a row and its label; after that, the row is
        dropped from the tests of labels. None waits for ever: then one label that never
        comes stops all tests of labels.
    increasing : bool, default=True
        Whether a higher score means a higher probability of label 1.

    Examples
    --------
    >>> import abers, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> def rows(n, odds):
    ...     scores = rng.normal(size=n)
    ...     return scores, rng.random(n) < odds / (odds + np.exp(-scores))
    >>> monitor = abers.Monitor(*rows(1000, odds=1))
    >>> monitor.update(*rows(500, odds=1)).alarm
    False
    >>> monitor.update(*rows(500, odds=4)).alarms  # row 500 is the first different one
    {'labels': 613}
    """

    _layout: ClassVar = Layout(
        "monitor",
        arrays={
            **dict.fromkeys(("dropped_rows", "negatives", "positives"), "i"),
            **dict.fromkeys(("dropped_scores", "p_labels", "p_scores", "scores"), "f"),
            "turned": "u",
            "waiting_labels": "i",
            "waiting_scores": "f",
        },
        facts={
            "increasing": is_flag,
            "level": is_rate,
            "max_wait": is_window,
            "metadata": are_tags,
            "n_calibration": is_positive_count,
            "seed": is_seed,
        },
    )

    def __init__(
        self,
        scores: ArrayLike,
        labels: ArrayLike,
        *,
        alpha: float = 0.01,
        random_state: int | None = 0,
        max_wait: int | None = 10_000,
        increasing: bool = True,
    ) -> None:
        self._alpha = _checked_alpha(alpha)
        self._max_wait = _checked_wait(max_wait)
        self._increasing = validation.as_flag(increasing, "increasing")
        self._seed = _checked_seed(random_state)
        validation.as_calibration_scores(scores)
        rows = arrivals_of(scores, labels, None)
        bag = _kernel.merge_classes(
            np.sort(rows.scores[rows.negatives > 0]),
            np.sort(rows.scores[rows.positives > 0]),
        )
        self._begin(*bag)
        self._n_calibration = rows.scores.size

    def _begin(
        self, scores: FloatArray, negatives: IntArray, positives: IntArray
    ) -> None:
        """Start with these counts of labels at distinct scores."""
        self._alone = threading.Lock()
        self._bag = Bag(
            *(scores, negatives, positives),
            increasing=self._increasing,
            seed=np.random.SeedSequence(self._seed),
        )
        self._p_scores, self._p_labels = _Growing(np.float64), _Growing(np.float64)
        self._p_slope, self._turned = _Growing(np.float64), _Growing(np.bool_)
        self._dropped_rows, self._dropped = _Growing(np.int64), _Growing(np.float64)
        self._waiting_scores = np.empty(0)
        self._waiting_labels = np.empty(0, dtype=np.int64)
        self._capital = {test: capital_for(test) for test in TESTS}
        self._alarms: dict[str, int] = {}
        self._metadata: dict[str, Any] = {}

    @property
    def alpha(self) -> float:
        """The largest probability that there is ever a false alarm."""
        return self._alpha

    @property
    def max_wait(self) -> int | None:
        """How many rows late a label may be; None for any number."""
        return self._max_wait

    @property
    def increasing(self) -> bool:
        """Whether a higher score means a higher probability."""
        return self._increasing

    @property
    def random_state(self) -> int:
        """The seed."""
        return self._seed

    @property
    def metadata(self) -> dict[str, Any]:
        """A copy of your own tags, as given to `save`."""
        return dict(self._metadata)

    @property
    def waiting(self) -> UnlabelledRows:
        """The rows that wait for a label."""
        with self._alone:
            places = np.flatnonzero(self._waiting_labels == UNKNOWN)
            first = self._p_scores.size - self._waiting_scores.size
            return UnlabelledRows(first + places, self._waiting_scores[places])

    @property
    def dropped(self) -> UnlabelledRows:
        """The rows that `max_wait` has dropped."""
        with self._alone:
            return UnlabelledRows(self._dropped_rows.view(), self._dropped.view())

    @property
    def state(self) -> MonitorState:
        """The findings so far."""
        with self._alone:
            return self._state()

    def _state(self) -> MonitorState:
        capital = {name: power_of_e(one.log) for name, one in self._capital.items()}
        return MonitorState(
            n_calibration=self._n_calibration,
            n_rows=self._p_scores.size,
            n_labels=self._p_labels.size,
            n_waiting=self._waiting_scores.size,
            n_dropped=self._dropped.size,
            capital_scores=capital["scores"],
            capital_labels=capital["labels"],
            capital_slope=capital["slope"],
            limit=len(TESTS) / self._alpha,
            alarm=bool(self._alarms),
            alarms=dict(self._alarms),
            since_row=min(self._alarms.values(), default=None),
            p_values=self._p_values(),
            alpha=self._alpha,
        )

    def update(
        self,
        scores: ArrayLike,
        labels: ArrayLike | None = None,
        *,
        known: ArrayLike | None = None,
    ) -> MonitorState:
        """Add new rows, in order of arrival.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Real numbers, ±inf allowed, NaN refused.
        labels : array-like of shape (n,), default=None
            0 or 1, or bool. None if unknown so far: pass them to `update_labels` later.
        known : array-like of shape (n,), default=None
            Bools: which of the labels are known; the others are ignored. None: all are
            known.

        Returns
        -------
        MonitorState
            The findings so far.

        Examples
        --------
        >>> import abers
        >>> monitor = abers.Monitor([1, 2, 3], [0, 1, 0], max_wait=1)
        >>> state = monitor.update([2, 1, 3], [1, 0, 0], known=[True, False, True])
        >>> state.n_labels, state.n_dropped  # the last one is not late yet
        (2, 1)
        """
        s = validation.as_scores(scores) + 0.0
        validation.check_scores(s, purpose="monitoring")
        given = _checked_known(known, labels, s.size)
        y = np.full(s.size, UNKNOWN)
        if labels is not None:
            y[given] = arrivals_of(s, labels, given.astype(np.int64)).positives
        with self._alone:
            self._test_scores(s)
            self._waiting_scores = np.concatenate([self._waiting_scores, s])
            self._waiting_labels = np.concatenate([self._waiting_labels, y])
            self._use_labels()
            return self._state()

    def update_labels(
        self, labels: ArrayLike, rows: ArrayLike | None = None
    ) -> MonitorState:
        """Add labels of rows that came without one.

        Labels are used in the order of the rows: a missing one holds back those after
        it. If labels were used on arrival, and ones were reported sooner than zeros,
        the early surplus of ones would look like a change.

        Parameters
        ----------
        labels : array-like of shape (n,)
            0 or 1, or bool.
        rows : array-like of shape (n,), default=None
            Their rows in the stream, counted from 0. None: the oldest rows without a
            label, in order. Rows dropped because of `max_wait` are skipped.

        Returns
        -------
        MonitorState
            The findings so far.
        """
        y = validation.as_labels(labels)
        with self._alone:
            places = self._places(rows, y.size)
            y = arrivals_of(np.zeros(y.size), y, None).positives
            here = places >= 0
            self._waiting_labels = self._waiting_labels.copy()
            self._waiting_labels[places[here]] = y[here]
            self._use_labels()
            return self._state()

    def plot(self, *, ax: Any = None, theme: ThemeName = "light") -> Any:
        """Draw the capital of each test over time.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure by pyplot.
        theme : {"light", "dark"}, default="light"
            The background that the colours are for.

        Returns
        -------
        MonitorDisplay
            With the artists as attributes.
        """
        from abers.plots import MonitorDisplay

        return MonitorDisplay.from_monitor(self, ax=ax, theme=theme)

    def capital_paths(self) -> dict[str, tuple[IntArray, FloatArray]]:
        """Return the path of each test's capital.

        Returns
        -------
        dict
            For each test, the rows of the stream and the logarithm of its capital after
            each.
        """
        with self._alone:
            p_values = self._p_values()
            rows = {test: self._label_rows() for test in TESTS}
        rows["scores"] = np.arange(p_values.scores.size)
        return {
            test: (rows[test], capital_for(test).play(getattr(p_values, test)))
            for test in TESTS
        }

    def __repr__(self) -> str:
        return f"Monitor({self.state!r})".replace("MonitorState(", "").replace(
            "))", ")"
        )

    def _test_scores(self, scores: FloatArray) -> None:
        """Bet on the rank of each score among the earlier ones."""
        first = self._p_scores.size
        p = self._bag.test_scores(scores)
        self._p_scores.extend(p)
        self._bet("scores", p, first + np.arange(scores.size))

    def _use_labels(self) -> None:
        """Use all labels that are not held back; drop rows that waited too long."""
        labels = self._waiting_labels
        has_label = labels != UNKNOWN
        usable = has_label.copy()
        if self._max_wait is not None:
            usable[: max(0, labels.size - self._max_wait)] = True
        n = labels.size if usable.all() else int(usable.argmin())
        if n == 0:
            return
        rows = self._p_scores.size - labels.size + np.arange(n)
        scores, has_label, labels = self._waiting_scores[:n], has_label[:n], labels[:n]
        self._waiting_scores = self._waiting_scores[n:]
        self._waiting_labels = self._waiting_labels[n:]
        self._dropped_rows.extend(rows[~has_label])
        self._dropped.extend(scores[~has_label])
        self._test_labels(scores[has_label], labels[has_label], rows[has_label])

    def _test_labels(self, scores: FloatArray, y: IntArray, rows: IntArray) -> None:
        """Bet on the labels of these rows."""
        if not y.size:
            return
        tested = self._bag.test_labels(scores, y)
        self._p_labels.extend(tested.p)
        self._turned.extend(tested.turned)
        self._p_slope.extend(tested.slope)
        self._bet("labels", tested.p, rows)
        self._bet("slope", self._p_slope.view()[-y.size :], rows)

    def _bet(self, test: str, p: FloatArray, rows: IntArray) -> None:
        """Play, and record the first row at which the capital reaches the limit."""
        path = self._capital[test].play(p)
        reached = path >= math.log(len(TESTS) / self._alpha)
        if test not in self._alarms and reached.any():
            self._alarms[test] = int(rows[reached.argmax()])

    def _p_values(self) -> PValues:
        columns = self._p_scores, self._p_labels, self._p_slope
        return PValues(*(column.view() for column in columns))

    def _label_rows(self) -> IntArray:
        """Return the rows whose labels have been used."""
        n_done = self._p_scores.size - self._waiting_scores.size
        return np.setdiff1d(np.arange(n_done), self._dropped_rows.view())

    def _places(self, rows: ArrayLike | None, n_labels: int) -> IntArray:
        """Return the positions of rows among the waiting ones; below 0 if dropped."""
        unknown = np.flatnonzero(self._waiting_labels == UNKNOWN)
        first = self._p_scores.size - self._waiting_scores.size
        if rows is None:
            if n_labels > unknown.size:
                msg = (
                    "labels must not be more than the rows that wait for one; got "
                    f"{n_labels} for {unknown.size} rows. Nothing was changed."
                )
                raise InvalidData(msg)
            return unknown[:n_labels]
        wanted = validation.as_rows(rows)
        validation.check_length(n_labels, wanted.size, "labels", "rows")
        waits = np.isin(wanted, first + unknown)
        waits &= np.isin(
            np.arange(wanted.size), np.unique(wanted, return_index=True)[1]
        )
        bad = ~waits & ~np.isin(wanted, self._dropped_rows.view())
        if bad.any():
            msg = (
                "rows must be rows of the stream that wait for a label, each once; got "
                f"{int(wanted[bad.argmax()])}. Nothing was changed."
            )
            raise InvalidData(msg)
        return np.where(waits, wanted - first, -1)

    def _contents(self) -> Contents:
        """Return the contents for a file or pickle, which later rows do not change."""
        with self._alone:
            return Contents(self._facts(), self._arrays())

    def _facts(self) -> Facts:
        return {
            "increasing": self._increasing,
            "level": self._alpha,
            "max_wait": self._max_wait,
            "metadata": dict(self._metadata),
            "n_calibration": self._n_calibration,
            "seed": self._seed,
        }

    def _arrays(self) -> Arrays:
        scores, negatives, positives = self._bag.diagram()
        return {
            "dropped_rows": self._dropped_rows.view(),
            "dropped_scores": self._dropped.view(),
            "negatives": negatives,
            "p_labels": self._p_labels.view(),
            "p_scores": self._p_scores.view(),
            "positives": positives,
            "scores": scores,
            "turned": self._turned.view().astype(np.uint8),
            "waiting_labels": self._waiting_labels,
            "waiting_scores": self._waiting_scores,
        }

    def _restore(self, facts: Facts, arrays: Arrays) -> None:
        # The capital is recomputed from the p-values, so it cannot be forged.
        self._alpha, self._max_wait = facts["level"], facts["max_wait"]
        self._increasing, self._seed = facts["increasing"], facts["seed"]
        bag = (arrays[name] for name in ("scores", "negatives", "positives"))
        self._begin(*bag)
        others = np.concatenate([arrays["dropped_scores"], arrays["waiting_scores"]])
        self._bag.add_scores(others)  # which puts them among the others
        self._n_calibration = facts["n_calibration"]
        self._metadata = dict(facts["metadata"])
        self._waiting_scores = arrays["waiting_scores"]
        self._waiting_labels = arrays["waiting_labels"]
        for column, name in (
            (self._dropped_rows, "dropped_rows"),
            (self._dropped, "dropped_scores"),
            (self._p_labels, "p_labels"),
            (self._p_scores, "p_scores"),
        ):
            column.extend(arrays[name])
        turned, p = arrays["turned"] == 1, arrays["p_labels"]
        self._turned.extend(turned)
        self._p_slope.extend(np.where(turned, 1 - p, p))
        self._bag.skip(self._p_scores.size, self._p_labels.size)
        p_values, label_rows = self._p_values(), self._label_rows()
        self._bet("scores", p_values.scores, np.arange(p_values.scores.size))
        self._bet("labels", p_values.labels, label_rows)
        self._bet("slope", p_values.slope, label_rows)

    @classmethod
    def _flaw(cls, facts: Facts, arrays: Arrays) -> str | None:
        return _flaw_of_rows(facts, arrays) or _flaw_of_tests(arrays)


def _flaw_of_rows(facts: Facts, arrays: Arrays) -> str | None:
    """Return why these cannot be the rows of a stream, or None."""
    n_rows, n_labels = arrays["p_scores"].size, arrays["p_labels"].size
    waiting, dropped = arrays["waiting_labels"], arrays["dropped_rows"]
    scores, negatives, positives = (
        arrays[name] for name in ("scores", "negatives", "positives")
    )
    if not (
        scores.size == negatives.size == positives.size
        and are_weights(negatives, positives)
        and is_ascending(scores)
        and negatives.sum() + positives.sum() == facts["n_calibration"] + n_labels
        and n_rows == n_labels + dropped.size + waiting.size
    ):
        return "its rows and labels do not add up"
    if not (
        dropped.size == arrays["dropped_scores"].size
        and is_ascending(dropped)
        and (dropped.size == 0 or _may_be_dropped(dropped, n_rows, facts["max_wait"]))
    ):
        return "its dropped rows are not rows of the stream"
    if not (
        waiting.size == arrays["waiting_scores"].size
        and np.isin(waiting, (UNKNOWN, 0, 1)).all()
        and (waiting.size == 0 or waiting[0] == UNKNOWN)  # it holds back the others
        and (facts["max_wait"] is None or waiting.size <= facts["max_wait"])
    ):
        return "its waiting rows are not those of a stream"
    return None


def _may_be_dropped(rows: IntArray, n_rows: int, max_wait: int | None) -> bool:
    """Return whether at least `max_wait` rows came after each of these."""
    return max_wait is not None and rows[0] >= 0 and rows[-1] < n_rows - max_wait


def _flaw_of_tests(arrays: Arrays) -> str | None:
    """Return why these cannot be p-values of rows, or None."""
    columns = [arrays["p_scores"], arrays["p_labels"]]
    # Random numbers that break ties are above 0, and so are the p-values.
    if not all(((p > 0) & (p <= 1)).all() for p in columns):
        return "its p-values are not between 0 and 1"
    turned = arrays["turned"]
    if turned.size != arrays["p_labels"].size or (turned > 1).any():
        return "its p-values are not turned, or not, one by one"
    return None


class _Growing:
    """A column that grows; earlier views of it do not change."""

    def __init__(self, dtype: Any) -> None:
        self._room = np.empty(16, dtype=dtype)
        self.size = 0

    def extend(self, values: NDArray[Any]) -> None:
        end = self.size + values.size
        if end > self._room.size:
            room = np.empty(max(end, 2 * self._room.size), dtype=self._room.dtype)
            room[: self.size] = self._room[: self.size]
            self._room = room
        self._room[self.size : end] = values
        self.size = end

    def view(self) -> NDArray[Any]:
        view = self._room[: self.size]
        view.flags.writeable = False
        return view


def power_of_e(log: float) -> float:
    """Return e to this power, or infinity if it exceeds a double."""
    return math.inf if log > LARGEST_LOG else math.exp(log)


def _checked_alpha(alpha: Any) -> float:
    is_number = isinstance(alpha, int | float | np.floating)
    if not is_number or not 0 < alpha < 1:
        msg = f"alpha must be above 0 and below 1; got {alpha!r}."
        raise InvalidParameter(msg)
    return float(alpha)


def _checked_known(
    known: ArrayLike | None, labels: ArrayLike | None, n_rows: int
) -> NDArray[np.bool_]:
    """Return a mask of the known labels."""
    if known is None:
        return np.ones(n_rows, dtype=np.bool_)
    if labels is None:
        msg = "known must go with labels; got no labels."
        raise InvalidParameter(msg)
    given = validation.as_labels(known, "known")
    validation.check_length(given.size, n_rows, "known", "scores")
    if given.dtype != np.bool_ and given.size:
        msg = f"known must be of bool; got an array of {given.dtype}."
        raise InvalidParameter(msg)
    return given.astype(np.bool_)


def _checked_wait(max_wait: Any) -> int | None:
    if max_wait is None:
        return None
    wait = validation.as_count(max_wait, "max_wait")
    if not is_window(wait):
        msg = (
            "max_wait must be at least 1 and below 2**53, or None to wait for ever; "
            f"got {wait}."
        )
        raise InvalidParameter(msg)
    return wait


def _checked_seed(random_state: Any) -> int:
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint32)[0])
    seed = validation.as_count(random_state, "random_state")
    if seed > LARGEST_SEED:
        msg = f"random_state must be at most 2**63 - 1; got {seed}."
        raise InvalidParameter(msg)
    return seed
