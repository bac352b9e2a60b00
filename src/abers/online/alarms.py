"""Alarms and stalls of a monitor in operation, as sentences for people on call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from abers.online.bets import STAKES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from abers.validation import FloatArray

# The contribution of each row to the sums of its test.
SCORE_SUMS = ("rows", "percentile", "distance")
LABEL_SUMS = tuple(
    f"{what}_{where}"
    for where in ("below", "above")
    for what in ("labels", "positives", "expected")
)
DIRECTIONS = {  # of the bets on p-values that are too small, or too large
    "scores": ("lower", "higher"),
    "labels": ("more positives", "fewer positives"),
    "slope": ("steeper", "flatter"),
}
SPREADS = ("wider", "narrower")  # p-values are too near the ends, or the middle
WHAT = {
    "lower": "scores are lower than before",
    "higher": "scores are higher than before",
    "wider": "scores are more spread out than before",
    "narrower": "scores are less spread out than before",
    "more positives": (
        "positives are more frequent at the same score, so probabilities are too low"
    ),
    "fewer positives": (
        "positives are less frequent at the same score, so probabilities are too high"
    ),
    "steeper": (
        "the rate of positives rises more steeply with the score, so probabilities are "
        "too close together"
    ),
    "flatter": (
        "the rate of positives rises less steeply with the score, so probabilities are "
        "too far apart"
    ),
}

ADVICE = (
    "Find out what has changed. If the change is permanent, fit the rule to the rows "
    "since then and start a new state with --start."
)


def direction_of(test: str, bet: int) -> str:
    """Return the direction of the change if this bet wins; the first stakes nothing."""
    side, stake = divmod(bet - 1, STAKES.size)
    too_large = STAKES[stake] > 0
    if side == 0:
        return DIRECTIONS[test][int(too_large)]
    return SPREADS[int(not too_large)]


def score_terms(p: FloatArray) -> FloatArray:
    """Return the contributions of rows to the sums of a test of scores."""
    return np.column_stack([np.ones(p.size), 100 * p, 100 * np.abs(p - 0.5)])


def label_terms(y: Any, expected: FloatArray, below: Any) -> FloatArray:
    """Return the contributions of rows to the sums of a test of labels."""
    one_side = np.column_stack([np.ones(y.size), y, expected])
    return np.hstack([one_side * side[:, None] for side in (below, ~below)])


class Alarm(NamedTuple):
    """An alarm, as it was raised."""

    test: str
    group: str | None
    row: int  # of the stream, at which the capital reached the limit
    file: str  # that contains this row
    date: str
    direction: str
    since_row: int  # an estimate
    since_file: str
    since_date: str
    since: dict[str, float]  # sums over the rows since then

    @property
    def size(self) -> str:
        """The size of the change, in the rows from its estimated start to the alarm."""
        sums = self.since
        if self.test == "scores":
            n = sums["rows"]
            if self.direction in SPREADS:
                return (
                    f"the {n:,.0f} scores lie {sums['distance'] / n:.0f} percentiles "
                    "from the median on average (25 without a change)"
                )
            return (
                f"the {n:,.0f} scores lie at percentile "
                f"{sums['percentile'] / n:.0f} of those before on average (50 without "
                "a change)"
            )
        if self.test == "labels":
            whole = {
                what: sums[f"{what}_below"] + sums[f"{what}_above"]
                for what in ("labels", "positives", "expected")
            }
            return _rates(whole, "", "labels")
        return " and ".join(
            f"{_rates(sums, f'_{where}', name)}"
            for where, name in (
                ("below", "labels at low scores"),
                ("above", "labels at high scores"),
            )
            if sums[f"labels_{where}"]
        )

    @property
    def sentence(self) -> str:
        """What happened, since when, and how large the change is."""
        where = "" if self.group is None else f" of group {self.group!r}"
        return (
            f"{WHAT[self.direction]}{where}. Raised in {self.file!r} ({self.date}); "
            f"the change began at about {self.since_file!r} ({self.since_date}), row "
            f"{self.since_row:,} of the stream (an estimate). From there to the alarm "
            f"{self.size}."
        )


def _rates(sums: Mapping[str, float], end: str, what: str) -> str:
    """Compare the number of positives with the expected number."""
    n = sums[f"labels{end}"]
    observed, expected = (
        100 * sums[f"{each}{end}"] / n for each in ("positives", "expected")
    )
    return (
        f"{observed:.1f} % of {n:,.0f} {what} are positive, expected {expected:.1f} %"
    )


class Stall(NamedTuple):
    """Why no labels are tested any more, or only a few."""

    reason: str  # "held back", "no labels", "no label yet" or "dropped"
    row: int  # of the stream: the first without a label, or dropped
    id: str | None
    file: str  # that contains this row
    date: str
    n_rows: int  # held back, waiting, or dropped
    max_wait: int

    @property
    def sentence(self) -> str:
        """What is wrong, and what to do."""
        which = f"row {self.row:,} of the stream" if self.id is None else f"{self.id!r}"
        which += f" of {self.file!r} ({self.date})"
        if self.reason == "dropped" and self.id is None:
            return (
                f"{self.n_rows:,} rows came without a label, from {which} on, and none "
                "can come later, because the state was begun without --id. Bring "
                "scores and labels together, or begin a state with --id. Until then "
                "only scores are tested."
            )
        if self.reason == "dropped":
            return (
                f"{self.n_rows:,} rows were dropped, from {which} on, because their "
                f"labels had not come {self.max_wait:,} rows later. If labels come "
                "later than that, give a larger --max-wait; if they have ceased, "
                "repair their delivery."
            )
        if self.reason == "no label yet":
            return (
                f"no label has come so far, and {self.n_rows:,} rows wait for one, "
                f"from {which} on: only scores are tested. Bring labels in a file of "
                f"ids and labels; a row is dropped once {self.max_wait:,} have come "
                "after it."
            )
        if self.reason == "no labels":
            return (
                f"{self.n_rows:,} rows wait for a label, from {which} on, longer than "
                "labels have taken so far. Bring their labels in a file of ids and "
                f"labels; a row is dropped once {self.max_wait:,} have come after it."
            )
        return (
            f"the label of {which} is missing and holds back {self.n_rows:,} labelled "
            "rows. Bring it in a file of ids and labels, or give a smaller --max-wait; "
            f"its row is dropped once {self.max_wait:,} have come after it."
        )
