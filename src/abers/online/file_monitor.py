"""A monitor of files: rows arrive in some, their labels in others, matched by id.

Rows are tested in order of arrival. A label waits for its turn: a missing one holds
back those after it, until `max_wait` rows have come after its row. Then the row is
dropped, before its label is known, and counted. Memory does not grow with the number of
rows: it holds counts on a grid of scores, the waiting rows, hashes of recent ids, and a
line per file.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, get_args, get_origin, get_type_hints

import numpy as np

from abers.core.diagram import Diagram
from abers.core.fit import rule_of_diagram
from abers.core.fitted import (
    Contents,
    Layout,
    Stored,
    are_tags,
    contents_of,
    flaw_of,
    is_ascending,
    is_flag,
    is_rate,
    is_whole,
    layout_of,
    restored,
)
from abers.core.rule import Rule
from abers.errors import InvalidData, InvalidParameter
from abers.online.alarms import WHAT, Alarm, Stall, direction_of
from abers.online.bets import BEFORE_ALL, TESTS
from abers.online.ledger import (
    KINDS,
    NEVER,
    NO_COUNTS,
    FileCounts,
    FileFacts,
    LedgerLine,
    Taken,
    Waiting,
    as_bytes,
    from_bytes,
    hashes_of_ids,
)
from abers.online.monitor import UNKNOWN, is_seed, power_of_e
from abers.online.protected import NOTHING, Protected
from abers.online.stream_tests import (
    SUMS,
    GridCounts,
    StreamTests,
    are_bets,
    fresh_bets,
    rounded,
)
from abers.validation import LARGEST_EXACT_INTEGER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from abers.core.fitted import Arrays, Facts
    from abers.validation import FloatArray, IntArray

SCORE_BITS = 10  # about three digits
MAX_WAIT = 10_000
REMEMBERED = 100_000  # ids of rows; at least this many recent ones are recognised
MOST_BITS = 53
SKETCH = 64  # hashes of each file's ids, the least, which are kept for ever
DELAYS = 54  # classes of delays in rows, by number of bits
USUAL = 0.99  # share of labels within the usual delay
FIRST_LABEL = 0.1  # share of `max_wait` in which at least one label should come
PROTECTED = "protected_"  # prefix of arrays
ARRAYS_OF_PROTECTED = layout_of(Protected).arrays


def is_wait(value: object) -> bool:
    """Return whether this is a valid number of rows to wait for a label."""
    return is_whole(value) and value != 0


def is_bits(value: object) -> bool:
    """Return whether this is a valid number of significant bits of a score."""
    return type(value) is int and 1 <= value <= MOST_BITS


def is_list(value: object) -> bool:
    """Return whether this is a list, which `_flaw` checks in detail."""
    return isinstance(value, list)


def is_dict_or_none(value: object) -> bool:
    """Return whether this is a dict, which `_flaw` checks in detail, or None."""
    return value is None or isinstance(value, dict)


def is_stall(value: object) -> bool:
    """Return whether this is a stall, or None."""
    return value is None or _is_made_as(Stall, value)


class FileMonitor(Stored):
    """The state of `abers monitor`; see `abers.Monitor` for the tests.

    Made by `begin`; `add_rows` and `add_labels` take the contents of one file each.
    They either raise without changing anything, or accept the whole file. Without
    groups, it can also protect the rule of its calibration rows, for the rows whose
    probability is requested.
    """

    _layout: ClassVar = Layout(
        "file-monitor",
        arrays={
            **dict.fromkeys(("bet_floats", "file_capitals", "scores"), "f"),
            "waiting_scores": "f",
            **dict.fromkeys(("bet_rows", "delays", "early_labels", "early_rows"), "i"),
            **dict.fromkeys(("file_counts", "n_calibration", "n_scores"), "i"),
            **dict.fromkeys(("others", "negatives", "positives"), "i"),
            **dict.fromkeys(("recent_ids", "sketches", "n_sketched"), "i"),
            **dict.fromkeys(("waiting_labels", "waiting_groups"), "i"),
            **dict.fromkeys(("early_ids", "waiting_ids"), "u"),
            **{f"{PROTECTED}{name}": of for name, of in ARRAYS_OF_PROTECTED.items()},
        },
        facts={
            "alarms": is_list,
            "alpha": is_rate,
            "files": is_list,
            "groups": is_list,
            "has_ids": is_flag,
            "increasing": is_flag,
            "max_wait": is_wait,
            "metadata": are_tags,
            "protected": is_dict_or_none,
            "score_bits": is_bits,
            "seed": is_seed,
            "stall": is_stall,
        },
    )

    def __init__(
        self,
        settings: Mapping[str, Any],
        groups: Sequence[str | None],
        counts: Sequence[GridCounts],
    ) -> None:
        """Start from the calibration rows of each group."""
        self.alpha: float = settings["alpha"]
        self.has_ids: bool = settings["has_ids"]  # then labels can come later
        self.increasing: bool = settings["increasing"]
        self.max_wait: int = settings["max_wait"]
        self.score_bits: int = settings["score_bits"]
        self.seed: int = settings["seed"]
        self.groups = tuple(groups)
        self.metadata: dict[str, Any] = {}
        self.tests = [
            StreamTests(
                each,
                increasing=self.increasing,
                seed=np.random.SeedSequence([self.seed, place]),
            )
            for place, each in enumerate(counts)
        ]
        self.n_calibration = [each.n_scores for each in self.tests]
        self.ledger: list[LedgerLine] = []
        self.alarms: list[Alarm] = []
        self.stall: Stall | None = None
        self.protected: Protected | None = None  # None with groups
        self._first_dropped: tuple[int, str | None] | None = None  # since `judge`
        self.waiting = Waiting.none()
        self.early: dict[str, tuple[int, int]] = {}  # label, and rows at its arrival
        self.recent_ids = np.empty(0, dtype=np.int64)
        self.sketches: list[IntArray] = []  # one per file
        self.delays = np.zeros(DELAYS, dtype=np.int64)

    @classmethod
    def begin(
        cls,
        scores: FloatArray,
        labels: IntArray,
        groups: Sequence[str] | None = None,
        **settings: Any,
    ) -> FileMonitor:
        """Start a monitor from calibration rows."""
        names: tuple[str | None, ...] = (None,)
        codes = np.zeros(scores.size, dtype=np.int64)
        if groups is not None:
            names = tuple(sorted(set(groups)))
            places = {name: place for place, name in enumerate(names)}
            codes = np.array([places[name] for name in groups], dtype=np.int64)
        grid = rounded(scores, settings["score_bits"])
        counts = [
            _counts(grid[codes == place], labels[codes == place])
            for place in range(len(names))
        ]
        monitor = cls(settings, names, counts)
        if groups is None:
            diagram = Diagram.from_rows(scores, labels)
            rule = rule_of_diagram(diagram, increasing=monitor.increasing)
            monitor.protected = Protected(rule)
        return monitor

    @property
    def n_rows(self) -> int:
        """Number of rows of the stream."""
        return sum(line.counts.n_rows for line in self.ledger)

    @property
    def limit(self) -> float:
        """The capital at which a test raises the alarm: level / tests, by Ville."""
        return len(TESTS) * len(self.groups) / self.alpha

    def note_calibration(self, file: FileFacts, ids: Sequence[str]) -> None:
        """Record a file of calibration rows."""
        self._note(file, "calibration", NO_COUNTS, hashes_of_ids(ids))

    def digests(self) -> set[str]:
        """Return the SHA-256 of each file that was added."""
        return {line.file.digest for line in self.ledger}

    def add_rows(
        self,
        file: FileFacts,
        scores: FloatArray,
        labels: IntArray,
        ids: Sequence[str] = (),
        groups: Sequence[str] | None = None,
        *,
        protect: bool = False,
    ) -> Taken:
        """Add rows.

        Parameters
        ----------
        file : FileFacts
            The file they come from.
        scores, labels : ndarray of shape (n,)
            In order of arrival; an unknown label is -1.
        ids : sequence of n strings, default=()
            To match later labels, if the monitor uses ids.
        groups : sequence of n strings, default=None
            If the monitor uses groups.
        protect : bool, default=False
            Whether to issue a protected probability for each row.

        Returns
        -------
        Taken
            How many rows were left out since their group has no calibration rows, and
            the issued probabilities.
        """
        if protect:
            self.check_protects()
        hashes = hashes_of_ids(ids)
        self._refuse_known(file, ids, hashes)
        codes, kept = self._codes(groups, scores.size)
        labels = labels.copy()
        for row in np.flatnonzero(labels == UNKNOWN).tolist() if self.early else ():
            labels[row], _ = self.early.pop(ids[row], (UNKNOWN, 0))
        if not self.has_ids:
            labels[labels == UNKNOWN] = NEVER
        n_given = int((labels[kept] >= 0).sum())
        self.delays[0] += n_given
        first, s = self.n_rows, rounded(scores[kept], self.score_bits)
        rows = first + np.arange(s.size)
        for place, tests in enumerate(self.tests):
            mine = codes == place
            if mine.any():
                tests.test_scores(s[mine], rows[mine], math.log(self.limit))
        own_ids = tuple(one for one, is_kept in zip(ids, kept, strict=False) if is_kept)
        new = Waiting(scores[kept], labels[kept], codes, own_ids)
        self.waiting = self.waiting.joined(new)
        issued = self._issue(scores, labels, ids) if protect else None
        self._forget_early(first + s.size)
        used, dropped = self._use_labels(first + s.size)
        self.recent_ids = np.concatenate([self.recent_ids, hashes])
        self.recent_ids = self.recent_ids[-max(REMEMBERED, self.max_wait) :]
        n_issued = 0 if issued is None else issued.size
        counts = FileCounts(s.size, n_given, used, dropped, n_issued)
        self._note(file, "rows", counts, hashes)
        return Taken(int((~kept).sum()), issued)

    def add_labels(self, file: FileFacts, ids: Sequence[str], labels: IntArray) -> int:
        """Add labels of rows, by id.

        Parameters
        ----------
        file : FileFacts
            The file they come from.
        ids, labels : sequence of n strings, ndarray of shape (n,)
            In any order. A label of -1 is still unknown.

        Returns
        -------
        int
            Number of unused labels, whose rows already have one or were dropped. Labels
            of rows that have not come yet are kept.
        """
        places = {one: place for place, one in enumerate(self.waiting.ids)}
        own = self.waiting.labels.copy()
        gone = np.isin(hashes_of_ids(ids), self._known_hashes())
        n_rows, n_gone, given = self.n_rows, 0, []
        first = n_rows - own.size
        for one, y, is_gone in zip(ids, labels.tolist(), gone.tolist(), strict=True):
            place = places.get(one)
            if y < 0:
                continue
            if place is not None and own[place] == UNKNOWN:
                own[place] = y
                given.append(place)
                self.delays[(n_rows - 1 - first - place).bit_length()] += 1
            elif place is not None or is_gone or one in self.early:
                n_gone += 1
            else:
                self.early[one] = y, n_rows
        self.waiting = self.waiting._replace(labels=own)
        self._learn(given)
        self._forget_early(n_rows)
        used, dropped = self._use_labels(n_rows)
        counts = FileCounts(0, len(given), used, dropped, 0)
        self._note(file, "labels", counts, hashes_of_ids(()))
        return n_gone

    def check_protects(self) -> None:
        """Raise if a monitor with groups is asked to protect probabilities."""
        if self.protected is None:
            msg = (
                "a state with --by must be followed without --protect, which is for "
                "one rule of all rows; begin a state of each group."
            )
            raise InvalidParameter(msg)

    def _issue(
        self, scores: FloatArray, labels: IntArray, ids: Sequence[str]
    ) -> FloatArray:
        """Issue a probability for each row, then learn the known labels."""
        if self.protected is None:
            return np.empty(0)
        keys: Sequence[int | str] = ids if self.has_ids else range(scores.size)
        issued = self.protected.predict(scores, keys)
        known = labels >= 0
        rows = np.flatnonzero(known).tolist()
        self.protected.update(scores[rows], labels[rows], [keys[i] for i in rows])
        if not self.has_ids:  # no labels can come later
            rows = np.flatnonzero(~known).tolist()
            self.protected.drop(scores[rows], [keys[i] for i in rows])
        return issued

    def _learn(self, places: Sequence[int]) -> None:
        """Pass labels that have come to the protection of the waiting rows."""
        mine = self._issued(places)
        if self.protected is not None and mine:
            ids = [self.waiting.ids[place] for place in mine]
            at = np.array(mine)
            self.protected.update(self.waiting.scores[at], self.waiting.labels[at], ids)

    def _forget(self, places: Sequence[int]) -> None:
        """Remove dropped rows from the account."""
        mine = self._issued(places)
        if self.protected is not None and mine:
            ids = [self.waiting.ids[place] for place in mine]
            self.protected.drop(self.waiting.scores[np.array(mine)], ids)

    def _issued(self, places: Sequence[int]) -> list[int]:
        """Return the places whose rows have a probability but no label."""
        if self.protected is None or not self.protected.n_waiting:
            return []
        waits = set(self.protected.waiting_ids)
        return [place for place in places if self.waiting.ids[place] in waits]

    def set_max_wait(self, max_wait: int) -> None:
        """From now on, wait this many rows for a label."""
        self.max_wait = max_wait
        used, dropped = self._use_labels(self.n_rows)
        last = self.ledger[-1]
        counts = last.counts._replace(
            n_used=last.counts.n_used + used, n_dropped=last.counts.n_dropped + dropped
        )
        capitals = self._log_capitals()
        self.ledger[-1] = last._replace(counts=counts, log_capitals=capitals)
        self._note_alarms()
        self._first_dropped, self.stall = None, self._overdue(used)

    def judge(self, n_before: int) -> None:
        """Check whether labels stall, by the lines of the ledger from this one on."""
        lines = self.ledger[n_before:]
        n_rows, given, used, dropped, _ = np.sum(
            [NO_COUNTS, *(line.counts for line in lines)], axis=0
        ).tolist()
        if n_rows == given == 0:
            return  # nothing came, so nothing has changed
        self.stall = None
        first, self._first_dropped = self._first_dropped, None
        has_labels = self.delays.any()  # has any label come yet?
        if first is not None and (2 * dropped > n_rows or not has_labels):
            self.stall = self._stall("dropped", *first, dropped)
        else:
            self.stall = self._overdue(used)

    def _overdue(self, n_used: int) -> Stall | None:
        """Return the stall if a label is overdue and blocks more than was tested."""
        labels = self.waiting.labels
        is_unknown = labels == UNKNOWN
        if not is_unknown.any():
            return None
        place, n_unknown = int(is_unknown.argmax()), int(is_unknown.sum())
        n_held = labels.size - n_unknown
        waited = labels.size - 1 - place
        row = self.n_rows - labels.size + place
        reason = "held back" if n_held else "no labels"
        if not self.delays.any():
            # The usual delay is unknown at first; a first file may be a large one.
            is_first = self.place_of(row) == self.place_of(self.n_rows - 1)
            if is_first or waited <= FIRST_LABEL * self.max_wait:
                return None
            reason = "no label yet"
        elif n_used > n_held or waited <= 2 * self._usual_delay():
            return None
        return self._stall(reason, row, self.waiting.ids[place], n_held or n_unknown)

    def file_of(self, row: int) -> FileFacts:
        """Return the file that contains a row of the stream."""
        return self.ledger[self.place_of(row)].file

    def place_of(self, row: int) -> int:
        """Return the position, in the ledger, of the file that contains a row."""
        ends = np.cumsum([line.counts.n_rows for line in self.ledger])
        place = int(np.searchsorted(ends, row, side="right"))
        return min(place, len(self.ledger) - 1)

    def _stall(self, reason: str, row: int, one: str | None, n: int) -> Stall:
        file = self.file_of(row)
        return Stall(reason, row, one, file.name, file.date, n, self.max_wait)

    def _usual_delay(self) -> float:
        """Return a delay, in rows, within which nearly all labels have come so far."""
        counts = np.cumsum(self.delays)
        bits = int(np.searchsorted(counts, USUAL * counts[-1]))
        return 2.0**bits - 1

    def _refuse_known(
        self, file: FileFacts, ids: Sequence[str], hashes: IntArray
    ) -> None:
        """Raise for rows that came before."""
        known = np.isin(hashes, self._known_hashes())
        if known.any():
            first = int(known.argmax())
            msg = (
                f"{file.name!r} must hold new rows; {known.sum():,} of its "
                f"{len(ids):,} ids came before, the first of them {ids[first]!r} in "
                f"{self._file_with(hashes[first]).name!r}. None of its rows was taken. "
                "To bring labels, give a file with ids and labels, but no scores."
            )
            raise InvalidData(msg)
        distinct, at = np.unique(hashes, return_index=True)
        if distinct.size < hashes.size:
            again = np.setdiff1d(np.arange(hashes.size), at)[0]
            msg = (
                f"{file.name!r} must have an id for each row; {ids[again]!r} is there "
                "twice. None of its rows was taken."
            )
            raise InvalidData(msg)

    def _known_hashes(self) -> IntArray:
        return np.concatenate([self.recent_ids, *self.sketches])

    def _file_with(self, one: np.int64) -> FileFacts:
        """Return the file in which an id came before."""
        for line, sketch in zip(self.ledger, self.sketches, strict=True):
            if one in sketch:
                return line.file
        place = int((self.recent_ids == one).argmax())
        return self.file_of(self.n_rows - self.recent_ids.size + place)

    def _codes(
        self, groups: Sequence[str] | None, n: int
    ) -> tuple[IntArray, NDArray[np.bool_]]:
        """Return the group codes of rows with calibration rows, and their mask."""
        if groups is None:
            return np.zeros(n, dtype=np.int64), np.ones(n, dtype=np.bool_)
        places = {name: place for place, name in enumerate(self.groups)}
        codes = np.array([places.get(name, UNKNOWN) for name in groups], dtype=np.int64)
        return codes[codes >= 0], codes >= 0

    def _forget_early(self, n_rows: int) -> None:
        """Drop labels whose rows are long overdue."""
        self.early = {
            one: (label, at)
            for one, (label, at) in self.early.items()
            if n_rows - at <= self.max_wait
        }

    def _use_labels(self, n_rows: int) -> tuple[int, int]:
        """Test labels that are not held back; return how many, and the rows dropped."""
        labels = self.waiting.labels
        usable = labels != UNKNOWN
        usable[: max(0, labels.size - self.max_wait)] = True
        n = labels.size if usable.all() else int(usable.argmin())
        y, codes = self.waiting.labels, self.waiting.groups
        scores = rounded(self.waiting.scores[:n], self.score_bits)
        rows = n_rows - labels.size + np.arange(n)
        known = y[:n] >= 0
        if not known.all() and self._first_dropped is None:
            place = int(known.argmin())
            one = self.waiting.ids[place] if self.has_ids else None
            self._first_dropped = int(rows[place]), one
        if self.has_ids:
            self._forget(np.flatnonzero(~known).tolist())
        for place, tests in enumerate(self.tests):
            mine = np.flatnonzero(known & (codes[:n] == place))
            if mine.size:
                tests.test_labels(
                    scores[mine], y[mine], rows[mine], math.log(self.limit)
                )
        self.waiting = self.waiting.after(n)
        return int(known.sum()), int((~known).sum())

    def _note(
        self, file: FileFacts, kind: str, counts: FileCounts, hashes: IntArray
    ) -> None:
        """Add a line to the ledger, with the alarms raised in it."""
        self.ledger.append(LedgerLine(file, kind, counts, self._log_capitals()))
        self.sketches.append(np.sort(hashes)[:SKETCH])
        self._note_alarms()

    def _log_capitals(self) -> FloatArray:
        return np.array([[t.capital[test].log for test in TESTS] for t in self.tests])

    def _note_alarms(self) -> None:
        raised = {(alarm.group, alarm.test) for alarm in self.alarms}
        for group, tests in zip(self.groups, self.tests, strict=True):
            for test, reached in tests.reached.items():
                if (group, test) in raised:
                    continue
                file = self.file_of(reached.row)
                since = self.file_of(reached.after + 1)
                self.alarms.append(
                    Alarm(
                        *(test, group, reached.row, file.name, file.date),
                        direction_of(test, reached.bet),
                        *(reached.after + 1, since.name, since.date),
                        reached.since,
                    )
                )

    def to_dict(self) -> dict[str, Any]:
        """Return the findings so far, ready for JSON.

        Returns
        -------
        dict
            Counts, capitals, alarms and stalls with their sentences, and the ledger.
        """
        counts = [line.counts for line in self.ledger]
        totals = FileCounts(*np.sum(counts, axis=0).tolist())
        return {
            "n_calibration": sum(self.n_calibration),
            "n_rows": totals.n_rows,
            "n_labels": totals.n_used,
            "n_waiting": self.waiting.scores.size,
            "n_waiting_labels": int((self.waiting.labels != UNKNOWN).sum()),
            "n_dropped": totals.n_dropped,
            "n_early_labels": len(self.early),
            "n_files": len(self.ledger),
            "alpha": self.alpha,
            "limit": self.limit,
            "max_wait": self.max_wait,
            "alarm": bool(self.alarms),
            "alarms": [
                alarm._asdict() | {"size": alarm.size, "sentence": alarm.sentence}
                for alarm in self.alarms
            ],
            "stalled": self.stall is not None,
            "stall": self.stall
            and self.stall._asdict() | {"sentence": self.stall.sentence},
            "protected": self.protected and _protection(self.protected, totals),
            "groups": [self._group(place) for place in range(len(self.groups))],
            "ledger": [
                {
                    "file": line.file.name,
                    "date": line.file.date,
                    "kind": line.kind,
                    **line.counts._asdict(),
                    "log_capital": {
                        test: line.log_capitals[:, i].tolist()
                        for i, test in enumerate(TESTS)
                    },
                }
                for line in self.ledger
            ],
        }

    def _group(self, place: int) -> dict[str, Any]:
        tests, n_before = self.tests[place], self.n_calibration[place]
        capitals = {
            f"capital_{test}": power_of_e(tests.capital[test].log) for test in TESTS
        }
        return {
            "group": self.groups[place],
            "n_calibration": n_before,
            "n_rows": tests.n_scores - n_before,
            "n_labels": tests.n_labels - n_before,
            **capitals,
        }

    def __repr__(self) -> str:
        alarm = "alarm" if self.alarms else "no alarm"
        return f"FileMonitor({self.n_rows} rows, {len(self.ledger)} files, {alarm})"

    def _contents(self) -> Contents:
        return Contents(self._facts(), self._arrays())

    def _facts(self) -> Facts:
        return {
            "alarms": [alarm._asdict() for alarm in self.alarms],
            "alpha": self.alpha,
            "files": [[*line.file, line.kind] for line in self.ledger],
            "groups": list(self.groups),
            "has_ids": self.has_ids,
            "increasing": self.increasing,
            "max_wait": self.max_wait,
            "metadata": dict(self.metadata),
            "protected": self.protected and contents_of(self.protected).facts,
            "score_bits": self.score_bits,
            "seed": self.seed,
            "stall": None if self.stall is None else self.stall._asdict(),
        }

    def _arrays(self) -> Arrays:
        counts = [tests.counts for tests in self.tests]
        bets = [tests.capital[test] for tests in self.tests for test in TESTS]
        early = list(self.early.values())
        of_protected = (
            {name: np.empty(0, NOTHING[of]) for name, of in ARRAYS_OF_PROTECTED.items()}
            if self.protected is None
            else contents_of(self.protected).arrays
        )
        return {
            **{f"{PROTECTED}{name}": array for name, array in of_protected.items()},
            **{
                name: np.concatenate([getattr(each, name) for each in counts])
                for name in GridCounts._fields
            },
            "bet_floats": np.concatenate([bet.floats() for bet in bets]),
            "bet_rows": np.concatenate([bet.least_rows for bet in bets]),
            "delays": self.delays,
            "early_ids": as_bytes(list(self.early)),
            "early_labels": np.array([y for y, _ in early], dtype=np.int64),
            "early_rows": np.array([at for _, at in early], dtype=np.int64),
            "file_capitals": np.array(
                [line.log_capitals for line in self.ledger], dtype=np.float64
            ).ravel(),
            "file_counts": np.array(
                [line.counts for line in self.ledger], dtype=np.int64
            ).ravel(),
            "n_calibration": np.array(self.n_calibration, dtype=np.int64),
            "n_scores": np.array([each.scores.size for each in counts], dtype=np.int64),
            "n_sketched": np.array([s.size for s in self.sketches], dtype=np.int64),
            "recent_ids": self.recent_ids,
            "sketches": _joined(self.sketches),
            "waiting_groups": self.waiting.groups,
            "waiting_ids": as_bytes(self.waiting.ids),
            "waiting_labels": self.waiting.labels,
            "waiting_scores": self.waiting.scores,
        }

    def _restore(self, facts: Facts, arrays: Arrays) -> None:
        FileMonitor.__init__(self, facts, facts["groups"], _counts_of(arrays))
        self.metadata = dict(facts["metadata"])
        self.n_calibration = arrays["n_calibration"].tolist()
        n_groups = len(self.groups)
        floats, rows = _split(arrays["bet_floats"], n_groups), arrays["bet_rows"]
        for place, tests in enumerate(self.tests):
            n = self.n_calibration[place]
            tests.skip(tests.n_scores - n, tests.n_labels - n)
            tests.restore(floats[place], _split(rows, n_groups)[place])
        capitals = arrays["file_capitals"].reshape(-1, n_groups, len(TESTS))
        counts = arrays["file_counts"].reshape(-1, len(FileCounts._fields)).tolist()
        self.ledger = [
            LedgerLine(FileFacts(*file), kind, FileCounts(*each), logs)
            for (*file, kind), each, logs in zip(
                facts["files"], counts, capitals, strict=True
            )
        ]
        self.alarms = [Alarm(**alarm) for alarm in facts["alarms"]]
        for alarm in self.alarms:
            tests = self.tests[self.groups.index(alarm.group)]
            tests.has_alarm(alarm.test)
        self.stall = None if facts["stall"] is None else Stall(**facts["stall"])
        self.waiting = Waiting(
            arrays["waiting_scores"],
            arrays["waiting_labels"],
            arrays["waiting_groups"],
            from_bytes(arrays["waiting_ids"]) or (),
        )
        early = zip(
            from_bytes(arrays["early_ids"]) or (),
            zip(
                arrays["early_labels"].tolist(),
                arrays["early_rows"].tolist(),
                strict=True,
            ),
            strict=True,
        )
        self.early = dict(early)
        self.recent_ids, self.delays = arrays["recent_ids"], arrays["delays"].copy()
        if facts["protected"] is not None:
            contents = _contents_of_protected(facts, arrays)
            self.protected = restored(Protected, contents)
        ends = np.cumsum(arrays["n_sketched"])
        self.sketches = np.split(arrays["sketches"], ends)[: len(self.ledger)]

    @classmethod
    def _flaw(cls, facts: Facts, arrays: Arrays) -> str | None:
        return (
            _flaw_of_groups(facts, arrays)
            or _flaw_of_files(facts, arrays)
            or _flaw_of_rows(facts, arrays)
            or _flaw_of_bets(facts, arrays)
            or _flaw_of_protected(facts, arrays)
        )


def _flaw_of_groups(facts: Facts, arrays: Arrays) -> str | None:
    """Return why these cannot be counts of the rows of groups, or None."""
    groups, sizes = facts["groups"], arrays["n_scores"]
    names = [name for name in groups if isinstance(name, str)]
    if groups != [None] and (not groups or groups != sorted(set(names))):
        return "its groups are not texts in order"
    columns = [arrays[name] for name in GridCounts._fields]
    if not (
        sizes.size == arrays["n_calibration"].size == len(groups)
        and (sizes > 0).all()
        and (sizes <= columns[0].size).all()
        and all(column.size == sizes.sum() for column in columns)
    ):
        return "its counts are not those of its groups"
    for counts, n in zip(_counts_of(arrays), arrays["n_calibration"], strict=True):
        n_labels = int(counts.negatives.sum() + counts.positives.sum())
        if not (
            is_ascending(counts.scores)
            and all((column >= 0).all() for column in counts[1:])
            and (counts.others + counts.negatives + counts.positives > 0).all()
            and sum(float(column.sum(dtype=np.float64)) for column in counts[1:])
            < LARGEST_EXACT_INTEGER
            and 0 < n <= n_labels
        ):
            return "its counts are not those of rows"
    return None


def _flaw_of_files(facts: Facts, arrays: Arrays) -> str | None:
    """Return why these cannot be the files of a stream, or None."""
    files, n_groups = facts["files"], len(facts["groups"])
    n_sketched, counts = arrays["n_sketched"], arrays["file_counts"]
    well_made = all(
        isinstance(file, list)
        and len(file) == len(FileFacts._fields) + 1
        and all(isinstance(text, str) for text in file)
        and file[-1] in KINDS
        for file in files
    )
    if not (
        files
        and well_made
        and counts.size == len(files) * len(FileCounts._fields)
        and (counts >= 0).all()
        and arrays["file_capitals"].size == len(files) * n_groups * len(TESTS)
        and n_sketched.size == len(files)
        and ((n_sketched >= 0) & (n_sketched <= SKETCH)).all()
        and arrays["sketches"].size == n_sketched.sum()
    ):
        return "its files are not those of a stream"
    return None


def _flaw_of_rows(facts: Facts, arrays: Arrays) -> str | None:
    """Return why these cannot be waiting rows and early labels, or None."""
    n_rows, _, n_used, n_dropped, _ = (
        arrays["file_counts"].reshape(-1, len(FileCounts._fields)).sum(axis=0)
    )
    n_before = arrays["n_calibration"].sum()
    n_labels = arrays["negatives"].sum() + arrays["positives"].sum()
    waiting = [arrays[f"waiting_{name}"] for name in ("scores", "labels", "groups")]
    if not (
        n_labels == n_before + n_used
        and n_labels + arrays["others"].sum() == n_before + n_rows
        and n_rows == n_used + n_dropped + waiting[0].size
        and waiting[0].size == waiting[1].size == waiting[2].size
        and waiting[0].size <= facts["max_wait"]
        and np.isin(waiting[1], (UNKNOWN, 0, 1)).all()
        and ((waiting[2] >= 0) & (waiting[2] < len(facts["groups"]))).all()
    ):
        return "its rows and labels do not add up"
    ids, early = from_bytes(arrays["waiting_ids"]), from_bytes(arrays["early_ids"])
    if (
        ids is None
        or early is None
        or len(ids) != (waiting[0].size if facts["has_ids"] else 0)
        or not len(early) == arrays["early_labels"].size == arrays["early_rows"].size
        or not np.isin(arrays["early_labels"], (0, 1)).all()
        or arrays["delays"].size != DELAYS
        or (arrays["delays"] < 0).any()
    ):
        return "its ids are not those of rows and labels"
    return None


def _flaw_of_bets(facts: Facts, arrays: Arrays) -> str | None:
    """Return why these cannot be bets and alarms, or None."""
    fresh = fresh_bets()
    n_groups, n_rows = (
        len(facts["groups"]),
        arrays["file_counts"][:: len(FileCounts._fields)].sum(),
    )
    rows = arrays["bet_rows"]
    if not (
        arrays["bet_floats"].size == n_groups * fresh.floats
        and rows.size == n_groups * fresh.rows
        and ((rows >= BEFORE_ALL) & (rows < n_rows)).all()
        and np.isfinite(arrays["bet_floats"]).all()
        and all(map(are_bets, _split(arrays["bet_floats"], n_groups)))
    ):
        return "its bets are not those of its tests"
    if not all(
        _is_made_as(Alarm, alarm)
        and alarm["group"] in facts["groups"]
        and alarm["test"] in TESTS
        and alarm["direction"] in WHAT
        and set(alarm["since"]) == set(SUMS[alarm["test"]])
        for alarm in facts["alarms"]
    ):
        return "its alarms are not those of its tests"
    return None


def _protection(protected: Protected, totals: FileCounts) -> dict[str, Any]:
    """Return the account of protected probabilities, in bits."""
    excess = protected.excess
    change = f"{abs(excess):,.1f} bits {'more' if excess > 0 else 'less'} than"
    return {
        "n_rows": totals.n_protected,
        "n_waiting": protected.n_waiting,
        "excess": excess,
        "account": protected.account,
        "sentence": (
            "The protected probabilities have cost "
            f"{change if round(excess, 1) else 'as much as'} the rule's so far, in log "
            "loss; whatever comes, they will never have cost more than 1 bit more."
        ),
    }


def _contents_of_protected(facts: Facts, arrays: Arrays) -> Contents:
    of_protected = {name: arrays[f"{PROTECTED}{name}"] for name in ARRAYS_OF_PROTECTED}
    return Contents(facts["protected"], of_protected)


def _flaw_of_protected(facts: Facts, arrays: Arrays) -> str | None:
    """Return why this cannot protect the rule of the calibration rows, or None."""
    contents = _contents_of_protected(facts, arrays)
    if (contents.facts is None) != (facts["groups"] != [None]):
        return "it must protect one rule, or have groups"
    if contents.facts is None:
        has_some = any(array.size for array in contents.arrays.values())
        return "it has arrays of what it does not protect" if has_some else None
    if flaw := flaw_of(Protected, contents):
        return f"its protected rule is not valid: {flaw}"
    protected = restored(Protected, contents)
    waiting = zip(
        from_bytes(arrays["waiting_ids"]) or (),
        arrays["waiting_scores"].tolist(),
        arrays["waiting_labels"].tolist(),
        strict=facts["has_ids"],
    )
    unlabelled = {(one, score) for one, score, label in waiting if label == UNKNOWN}
    issued = zip(
        protected.waiting_ids, contents.arrays["waiting_scores"].tolist(), strict=False
    )
    if not (
        isinstance(protected.base, Rule)
        and protected.base.increasing == facts["increasing"]
        and len(protected.waiting_ids) == protected.n_waiting
        and set(issued) <= unlabelled
    ):
        return "its protected rule is not that of its rows"
    return None


def _is_made_as(kind: Any, value: object) -> bool:
    """Return whether all fields of a named tuple are present, each of its type."""
    return (
        isinstance(value, dict)
        and value.keys() == set(kind._fields)
        and all(
            _is_of(value[name], hint) for name, hint in get_type_hints(kind).items()
        )
    )


def _is_of(value: object, hint: Any) -> bool:
    """Return whether a value is an int, str, float, choice or mapping, as hinted."""
    if get_origin(hint) is dict:
        _, kind = get_args(hint)
        return isinstance(value, dict) and all(_is_of(v, kind) for v in value.values())
    is_finite = not isinstance(value, float) or math.isfinite(value)
    return type(value) in (get_args(hint) or (hint,)) and is_finite


def _counts(scores: FloatArray, labels: IntArray) -> GridCounts:
    """Count labels at distinct scores."""
    distinct, at = np.unique(scores, return_inverse=True)
    positives = np.bincount(at, labels, minlength=distinct.size).astype(np.int64)
    negatives = np.bincount(at, minlength=distinct.size) - positives
    return GridCounts(distinct, np.zeros_like(positives), negatives, positives)


def _counts_of(arrays: Arrays) -> list[GridCounts]:
    """Return the counts of each group, stored end to end."""
    ends = np.cumsum(arrays["n_scores"])[:-1]
    columns = (np.split(arrays[name], ends) for name in GridCounts._fields)
    return [GridCounts(*each) for each in zip(*columns, strict=True)]


def _split(values: Any, n: int) -> Any:
    """Split an array into this many rows of equal length."""
    return values.reshape(n, -1)


def _joined(parts: Sequence[IntArray]) -> IntArray:
    return np.concatenate([np.empty(0, dtype=np.int64), *parts])
