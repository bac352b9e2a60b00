"""Files of what follows a stream: calibration sets and monitors.

As in `rules`, what passes the checksum must still be what it is called. A monitor's
file holds its p-values, and capital is won from them again: none can be forged that
does not follow from them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from abers.errors import InvalidParameter
from abers.storage import container
from abers.storage.container import Contents, Kind
from abers.storage.rules import (
    DIAGRAM,
    are_tags,
    are_weights,
    checked_tags,
    has_negative_zero,
    is_ascending,
)
from abers.validation import LARGEST_EXACT_INTEGER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from abers.storage.atomic import StrPath

    Arrays = dict[str, NDArray[Any]]

CALIBRATION_SET = Kind(
    "calibration-set",
    # Counts at distinct scores; with a window, arrivals of one label, the oldest first.
    arrays=DIAGRAM.arrays,
    facts=("increasing", "metadata", "window"),
)
MONITOR = Kind(
    "monitor",
    arrays=(
        *("dropped_rows", "dropped_scores", "evidence", "negatives", "p_labels"),
        *("p_scores", "positives", "scores", "waiting_labels", "waiting_scores"),
        *("digests", "turned"),  # bytes, last
    ),
    facts=(  # level: alpha; log_scale: of the weights of the evidence
        *("increasing", "level", "log_scale", "max_wait", "metadata"),
        *("n_calibration", "seed"),
    ),
)
DTYPES = {  # of the arrays of a monitor, by kind
    **dict.fromkeys(MONITOR.arrays, "f"),
    **dict.fromkeys(("dropped_rows", "negatives", "positives", "waiting_labels"), "i"),
    **dict.fromkeys(("digests", "turned"), "u"),
}
DIGEST_BYTES = 32
N_EVIDENCE = 27  # weights: a row for each of three rates
LARGEST_SEED = 2**63 - 1


def save_online(
    path: StrPath,
    facts: Mapping[str, Any],
    arrays: Arrays,
    metadata: Mapping[str, Any] | None,
) -> None:
    """Write a calibration set; see `OnlineVennAbers.save`."""
    if facts["window"] is not None:
        arrays = _without_repeats(arrays)
    _save(path, CALIBRATION_SET, facts, arrays, metadata)


def load_online(path: StrPath) -> Contents:
    """Read a calibration set; see `OnlineVennAbers.load`."""
    return _load(path, CALIBRATION_SET)


def save_monitor(
    path: StrPath,
    facts: Mapping[str, Any],
    arrays: Arrays,
    metadata: Mapping[str, Any] | None,
) -> None:
    """Write a monitor; see `Monitor.save`."""
    _save(path, MONITOR, facts, arrays, metadata)


def load_monitor(path: StrPath) -> Contents:
    """Read a monitor; see `Monitor.load`."""
    return _load(path, MONITOR)


def checked_monitor(facts: dict[str, Any], arrays: Arrays) -> Contents:
    """Return the contents of a monitor; refuse those that none can have."""
    try:
        flaw = _flaw_of_monitor(facts, arrays)
    except (AttributeError, LookupError, TypeError, ValueError):
        flaw = "it lacks facts or arrays"
    if flaw:
        msg = f"the state of a Monitor must be as it was made; {flaw}."
        raise InvalidParameter(msg)
    return Contents(facts, arrays)


def _save(
    path: StrPath,
    kind: Kind,
    facts: Mapping[str, Any],
    arrays: Arrays,
    metadata: Mapping[str, Any] | None,
) -> None:
    tags = {**facts["metadata"], **checked_tags(metadata)}
    contents = Contents(dict(facts) | {"metadata": tags}, arrays)
    container.write(path, kind, contents)


def _load(path: StrPath, kind: Kind) -> Contents:
    contents = container.read(path, kind)
    try:
        flaw = FLAWS[kind.name](*contents)
    except (TypeError, ValueError, OverflowError):
        flaw = f"its contents are not those of a {kind.name}"
    if flaw:
        raise container.refusal(path, kind, flaw)
    return contents


def _without_repeats(arrays: Arrays) -> Arrays:
    """Count equal arrivals that follow each other as one: equal sets, equal bytes."""
    scores, ones = arrays["scores"], arrays["positives"] > 0
    if not scores.size:
        return arrays
    new = np.ones(scores.size, dtype=np.bool_)
    new[1:] = (scores[1:] != scores[:-1]) | (ones[1:] != ones[:-1])
    starts = np.flatnonzero(new)
    counted = ("negatives", "positives")
    sums = {name: np.add.reduceat(arrays[name], starts) for name in counted}
    return {**sums, "scores": scores[starts]}


def _flaw_of_online(facts: dict[str, Any], arrays: Arrays) -> str | None:
    """Say why no observations can have made this set, if so."""
    negatives, positives, scores = (arrays[name] for name in CALIBRATION_SET.arrays)
    window = facts["window"]
    if not (
        isinstance(facts["increasing"], bool)
        and are_tags(facts["metadata"])
        and (window is None or _is_integer(window, 1, LARGEST_EXACT_INTEGER))
    ):
        return "its facts and tags are not those of a calibration set"
    if not _are_counted(negatives, positives, scores):
        return "its arrays are not those of a calibration set"
    if window is None:
        return None if is_ascending(scores) else "its scores are not ascending"
    ones = positives > 0
    apart = (scores[1:] != scores[:-1]) | (ones[1:] != ones[:-1])
    if not (
        ((negatives > 0) != ones).all()
        and apart.all()
        and negatives.sum() + positives.sum() <= window
    ):
        return "its arrivals are not those of its window"
    return None


def _flaw_of_monitor(facts: dict[str, Any], arrays: Arrays) -> str | None:
    """Say why no stream can have made this monitor, if so."""
    if not _are_facts_of_a_monitor(**facts):
        return "its facts and tags are not those of a monitor"
    if any(arrays[name].dtype.kind != DTYPES[name] for name in MONITOR.arrays):
        return "its arrays do not have the types of a monitor"
    n_rows, n_labels = arrays["p_scores"].size, arrays["p_labels"].size
    dropped, waiting = arrays["dropped_rows"], arrays["waiting_labels"]
    negatives, positives = arrays["negatives"], arrays["positives"]
    if not (
        _are_counted(negatives, positives, arrays["scores"])
        and is_ascending(arrays["scores"])
        and negatives.sum() + positives.sum() == facts["n_calibration"] + n_labels
        and n_rows == n_labels + dropped.size + waiting.size
    ):
        return "its rows and labels do not add up"
    if not (
        _are_dropped(dropped, arrays["dropped_scores"], n_rows - waiting.size)
        and (dropped.size == 0 or facts["max_wait"] is not None)
        and _are_waiting(waiting, arrays["waiting_scores"])
    ):
        return "its rows that wait, or were dropped, are not those of a stream"
    if not (
        all(_are_p_values(arrays[name]) for name in ("p_scores", "p_labels"))
        and arrays["turned"].size == n_labels
        and (arrays["turned"] <= 1).all()
        and arrays["digests"].size % DIGEST_BYTES == 0
        and _are_capital(arrays["evidence"])
    ):
        return "its p-values and its evidence are not those of a stream"
    return None


def _are_facts_of_a_monitor(
    *,
    increasing: object,
    level: object,
    log_scale: object,
    max_wait: object,
    metadata: object,
    n_calibration: object,
    seed: object,
) -> bool:
    return bool(
        isinstance(increasing, bool)
        and isinstance(level, float)
        and 0 < level < 1
        and isinstance(log_scale, float)
        and 0 <= log_scale < math.inf
        and (max_wait is None or _is_integer(max_wait, 1, LARGEST_EXACT_INTEGER))
        and are_tags(metadata)
        and _is_integer(n_calibration, 1, LARGEST_EXACT_INTEGER)
        and _is_integer(seed, 0, LARGEST_SEED)
    )


def _is_integer(value: Any, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most  # true is an int, too


def _are_counted(
    negatives: NDArray[Any], positives: NDArray[Any], scores: NDArray[Any]
) -> bool:
    return bool(
        scores.dtype == np.float64
        and negatives.dtype == positives.dtype == np.int64
        and scores.size == negatives.size == positives.size
        and not np.isnan(scores).any()
        and not has_negative_zero(scores)
        and (are_weights(negatives, positives) or not scores.size)
    )


def _are_dropped(rows: NDArray[Any], scores: NDArray[Any], n_done: int) -> bool:
    return bool(
        rows.size == scores.size
        and (rows[1:] > rows[:-1]).all()
        and (rows.size == 0 or (rows[0] >= 0 and rows[-1] < n_done))
        and not np.isnan(scores).any()
        and not has_negative_zero(scores)
    )


def _are_waiting(labels: NDArray[Any], scores: NDArray[Any]) -> bool:
    return bool(
        labels.size == scores.size
        and np.isin(labels, (-1, 0, 1)).all()
        and (labels.size == 0 or labels[0] == -1)  # it holds back the others
        and not np.isnan(scores).any()
        and not has_negative_zero(scores)
    )


def _are_p_values(values: NDArray[Any]) -> bool:
    return bool(((values >= 0) & (values <= 1)).all())


def _are_capital(weights: NDArray[Any]) -> bool:
    return bool(
        weights.size == N_EVIDENCE
        and (weights >= 0).all()
        and 0 < weights.sum() < math.inf
    )


FLAWS = {CALIBRATION_SET.name: _flaw_of_online, MONITOR.name: _flaw_of_monitor}
