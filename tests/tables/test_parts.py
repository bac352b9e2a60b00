"""The parts of a fit on an engine, without one: every step as bytes, in one process."""

import json
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import abers
from abers.core.blocks import Content
from abers.errors import (
    ChangedInput,
    InvalidLabels,
    InvalidParameter,
    InvalidScores,
    InvalidTable,
    InvalidWeights,
    MissingExtra,
)
from abers.storage.fingerprint import Fingerprint, fingerprint_of
from abers.tables import fit_table, frame_rows, parts
from abers.tables.frame_rows import FitColumns

COLUMNS = FitColumns(score="s", label="y")


def frame(**columns):
    return pa.table(columns)


def batches_of(table):
    return table.to_batches() if isinstance(table, pa.Table) else [table]


def counted(maps, columns):
    return [
        answer
        for table in maps
        for answer in frame_rows.counted(batches_of(table), columns)
    ]


def judge(maps, columns):
    return parts.judged([each.head for each in counted(maps, columns)], columns)


def fit(maps, columns=COLUMNS, *, n_parts=None, increasing=True):
    """Fit as an engine does, in one process; return rule, AUC and what was judged."""
    answers = counted(maps, columns)
    judged = parts.judged([each.head for each in answers], columns)
    splitters = judged.splitters(n_parts)
    shares = {}
    for answer in answers:
        for _, diagram in answer.diagrams:
            for part, share in parts.dealt(diagram, splitters, judged.scale):
                shares.setdefault(part, []).append(share)
    held = {part: parts.merged(own) for part, own in shares.items()}
    told = [
        (i, parts.summarised(d, judged.scale, increasing=increasing))
        for i, d in held.items()
    ]
    reports = judged.reported(told, splitters.size + 1, increasing=increasing)
    pieces = [parts.pieced(d, i, reports.summaries) for i, d in held.items()]
    return parts.joined_rule(pieces[::-1], reports), reports.auc, judged


def cut(table, n_maps):
    ends = [i * len(table) // n_maps for i in range(n_maps + 1)]
    return [table.slice(a, b - a) for a, b in pairwise(ends)]


rows = st.lists(
    st.tuples(st.sampled_from([-np.inf, -1.5, -0.0, 0.0, 2.0, 3.0]), st.booleans()),
    min_size=1,
    max_size=12,
)


@given(rows, st.integers(1, 4), st.integers(1, 5), st.booleans())
def test_parts_give_the_rule_of_the_rows_to_the_last_bit(
    observed, n_maps, n_parts, increasing
):
    scores, labels = map(list, zip(*observed, strict=True))
    maps = cut(frame(s=scores, y=labels), n_maps)
    rule, auc, _ = fit(maps, n_parts=n_parts, increasing=increasing)
    local = abers.fit_rule(scores, labels, increasing=increasing)
    assert rule == local
    assert [*map(list, rule.cells[:2])] == [*map(list, local.cells[:2])]
    if len(set(labels)) == 2:
        zeros = [s for s, y in observed if not y]
        ones = [s for s, y in observed if y]
        pairs = [(a < b) + (a == b) / 2 for a in zeros for b in ones]
        assert auc == pytest.approx(np.mean(pairs), abs=1e-15)
    else:
        assert np.isnan(auc)


def test_rows_are_counted_some_at_a_time_and_told_in_one_head(monkeypatch):
    """A head for each diagram would be gigabytes of heads for 10^12 rows."""
    monkeypatch.setattr(frame_rows, "COUNTED_ROWS", 2)
    monkeypatch.setattr("abers.core.blocks.SAMPLED", 3)
    table = frame(s=[3, 1, 2, 1, 4], y=[1, 0, 0, 1, 1])
    answers = list(frame_rows.counted(table.to_batches(max_chunksize=2), COLUMNS))
    assert [len(each.diagrams) for each in answers] == [1, 1, 1]
    assert [bool(each.head) for each in answers] == [False, False, True]
    head = frame_rows.Head.from_bytes(answers[-1].head)
    assert (head.n_rows, head.n_scores, head.labels) == (5, 5, {"1": 3, "0": 2})
    assert (head.sample.scores.tolist(), head.sample.size) == ([1, 2, 4], 5)
    whole = parts.merged(d for each in answers for _, d in each.diagrams)
    assert parts.size_of(whole) == 4
    assert fit(table.to_batches(max_chunksize=5), n_parts=2)[0] == abers.fit_rule(
        table["s"], table["y"]
    )


def test_weights_and_counts_fit_as_many_rows():
    weighted = FitColumns(score="s", label="y", weight="w")
    maps = cut(frame(s=[1, 2, 3, 3], y=[0, 1, 0, 1], w=[2.0, 1.0, 3.0, 0.0]), 2)
    rule, _, judged = fit(maps, weighted, n_parts=2)
    rows = [1, 1, 2, 3, 3, 3], [0, 0, 1, 0, 0, 0]
    assert rule == abers.fit_rule(*rows)
    assert judged.n_fitted == 3
    counts = FitColumns(score="s", count="n", positives="p")
    maps = cut(frame(s=[1, 2, 3], n=[2, 1, 3], p=[0, 1, 0]), 3)
    assert fit(maps, counts, n_parts=3)[0] == abers.fit_rule(*rows)


def test_labels_of_two_maps_are_judged_together():
    """Each of two maps may hold two labels, and both together three."""
    columns = FitColumns(score="s", label="y", positive="yes")
    fine = [frame(s=[1], y=["yes"]), frame(s=[2, 3], y=["no", "yes"])]
    assert fit(fine, columns)[0] == abers.fit_rule([1, 2, 3], [1, 0, 1])
    wrong = [frame(s=[1, 2], y=["yes", "no"]), frame(s=[3, 4], y=["yes", "maybe"])]
    with pytest.raises(InvalidLabels) as caught:
        judge(wrong, columns)
    assert str(caught.value) == (
        "column 'y' must hold two labels, 'yes' and one other; got 'maybe' in 1 of 4 "
        "rows, and the values found are 'yes', 'no', 'maybe'. Make a column of two "
        "labels first, for example one label against the rest."
    )


@pytest.mark.parametrize(
    ("table", "columns", "error", "message"),
    [
        (
            {"s": [1.0, None, np.nan], "y": [0, 1, 1]},
            COLUMNS,
            InvalidScores,
            "column 's' must not be empty, null or NaN to fit; it is in 2 of 3 rows.",
        ),
        (
            {"s": [1.0, 2.0], "y": [0.0, 0.5]},
            COLUMNS,
            InvalidLabels,
            (
                "column 'y' must hold labels 0 and 1, or true and false; got '0.5' in "
                "1 of 2 rows, and the values found are '0', '0.5'. Name the positive "
                "one with positive=."
            ),
        ),
        (
            {"s": [1, 2], "y": ["a", "b"]},
            FitColumns(score="s", label="y", positive="c"),
            InvalidLabels,
            "column 'y' must hold two labels, 'c' and one other; got 'b' in 1 of 2",
        ),
        (
            {"s": [1, 2], "y": ["a", "a"]},
            FitColumns(score="s", label="y", positive="c"),
            InvalidLabels,
            (
                "column 'y' must hold 'c', which is to be the positive label; the "
                "values found are 'a'. Name another with positive=."
            ),
        ),
        (
            {"s": [1, 2, 3, 4], "y": [0, 1, 0, 1], "w": [-1.0, np.inf, -2.0, 1.0]},
            FitColumns(score="s", label="y", weight="w"),
            InvalidWeights,
            (
                "column 'w' must be finite and not negative; got -1.0, inf and -2.0 in "
                "3 of 4 rows."
            ),
        ),
        (
            {"s": [1, 2], "n": [3, 1], "p": [4, 0]},
            FitColumns(score="s", count="n", positives="p"),
            InvalidWeights,
            "column 'p' must not exceed column 'n'; got 4.0 of 3.0 in 1 of 2 rows.",
        ),
        (
            {"s": [1.0, None], "y": [0, 1], "w": [1.0, 1.0]},
            FitColumns(score="s", label="y", weight="w"),
            InvalidScores,  # in a map that has no other row
            "column 's' must not be empty, null or NaN to fit; it is in 1 of 2 rows.",
        ),
        (
            {"s": ["1", "two"], "y": [0, 1]},
            COLUMNS,
            InvalidTable,
            "column 's' must hold numbers; got 'two' in the frame.",
        ),
        (
            {"s": [2**53 + 1, 2], "y": [0, 1]},
            COLUMNS,
            InvalidTable,
            "column 's' must not hold integers beyond 2**53",
        ),
        (
            {"s": pa.array([], pa.float64()), "y": pa.array([], pa.int64())},
            COLUMNS,
            InvalidScores,
            "the frame must have rows to fit; it has none.",
        ),
        (
            {"s": [1.0, 2.0], "y": [0, 1], "w": [0.0, 0.0]},
            FitColumns(score="s", label="y", weight="w"),
            InvalidScores,
            "the frame must have rows to fit; column 'w' is 0 in all 2 of them.",
        ),
        (
            {"s": [None, np.nan], "y": [0, 1]},
            FitColumns(score="s", label="y", drop_missing=True),
            InvalidScores,
            "the frame must have rows to fit; all its 2 rows lack a value.",
        ),
    ],
)
def test_what_is_wrong_with_rows_is_said_on_the_driver(table, columns, error, message):
    with pytest.raises(error) as caught:
        judge(cut(frame(**table), 2), columns)
    assert str(caught.value).startswith(message)


def test_a_head_stays_small_whatever_is_wrong():
    table = frame(s=[f"word {i}" for i in range(1000)], y=[0] * 1000)
    (answer,) = frame_rows.counted(table.to_batches(max_chunksize=1), COLUMNS)
    assert len(frame_rows.Head.from_bytes(answer.head).refused) == 10
    columns = FitColumns(score="s", label="y", weight="w")
    with pytest.raises(InvalidWeights, match="column 'w' must add up to at most"):
        judge([frame(s=[1, 2], y=[0, 1], w=[1.7e308, 1.7e308])], columns)


def test_rows_that_lack_a_value_may_be_left_out():
    columns = FitColumns(score="s", label="y", drop_missing=True)
    maps = cut(frame(s=[1.0, None, 3.0], y=["0", "1", ""]), 2)
    rule, _, judged = fit(maps, columns)
    assert rule == abers.fit_rule([1], [0])
    assert (judged.n_rows, judged.n_missing, judged.n_fitted) == (3, 2, 1)


def test_columns_must_be_there_and_go_together():
    for options, error, message in [
        ({"label": "z"}, InvalidTable, "the frame must have the column 'z'"),
        ({}, InvalidParameter, "a fit needs a column of labels"),
        ({"count": "y"}, InvalidParameter, "count and positives must come together"),
        (
            {"label": "y", "count": "y", "positives": "y"},
            InvalidParameter,
            "count and positives must stand instead of label and weight",
        ),
    ]:
        with pytest.raises(error, match=message):
            FitColumns(score="s", **options).check(["s", "y"])
    with pytest.raises(InvalidTable, match="must have just one column 's'"):
        COLUMNS.check(["s", "s", "y"])
    with pytest.raises(InvalidParameter, match="n_parts must be at least 1; got 0"):
        judge([frame(s=[1], y=[1])], COLUMNS).splitters(0)


def test_a_positive_label_may_be_a_number():
    columns = FitColumns.of(score="s", label="y", positive=2)
    assert fit([frame(s=[1, 2], y=[1, 2])], columns)[0] == abers.fit_rule(
        [1, 2], [0, 1]
    )


def test_rows_that_are_lost_doubled_or_changed_are_noticed():
    maps = cut(frame(s=[1, 2, 3, 4], y=[0, 1, 0, 1]), 2)
    answers = counted(maps, COLUMNS)
    judged = parts.judged([each.head for each in answers], COLUMNS)
    first, second = (
        parts.summarised(d, 0, increasing=True) for a in answers for _, d in a.diagrams
    )
    right = [(0, first), (1, second)]
    assert judged.reported(right, 2, increasing=True).parts == {0, 1}
    for wrong in ([(0, first)], [(0, first), (0, second)], [*right, (2, first)]):
        with pytest.raises(ChangedInput, match="they changed while they were read"):
            judged.reported(wrong, 2, increasing=True)
    reports = judged.reported(right, 2, increasing=True)
    other = parts.pieced(answers[1].diagrams[0][1], 0, reports.summaries)
    with pytest.raises(ChangedInput, match="part 0 changed"):
        parts.joined_rule([other], reports)


def test_workers_with_another_abers_are_refused(monkeypatch):
    answers = counted([frame(s=[1], y=[1])], COLUMNS)
    monkeypatch.setattr(frame_rows, "version", lambda _: "99.0")
    with pytest.raises(MissingExtra, match="must have the abers of the driver, 99"):
        parts.judged([each.head for each in answers], COLUMNS)


@pytest.mark.parametrize("increasing", [True, False])
def test_real_weights_give_the_rule_of_the_rows_to_the_last_bit(increasing):
    """Some maps may hold whole weights only, and count them before others tell."""
    rng = np.random.default_rng(0)
    s, y, w = rng.integers(0, 30, 300), rng.integers(0, 2, 300), rng.random(300)
    w[:100] = rng.integers(0, 3, 100)
    w[250] = 1e-30  # vanishes
    columns = FitColumns(score="s", label="y", weight="w")
    for n_maps, n_parts in ((1, 1), (3, 4), (300, 3)):
        maps = cut(frame(s=s, y=y, w=w), n_maps)
        rule, auc, judged = fit(maps, columns, n_parts=n_parts, increasing=increasing)
        assert judged.scale > 20
        assert rule == abers.fit_rule(s, y, sample_weight=w, increasing=increasing)
        assert rule.cells is None
        zeros, ones = ([*zip(s[y == i], w[y == i], strict=True)] for i in (0, 1))
        pairs = [
            (v * u * ((a < b) + (a == b) / 2), v * u) for a, v in zeros for b, u in ones
        ]
        in_order, total = np.sum(pairs, axis=0)
        assert auc == pytest.approx(in_order / total, rel=1e-9)


def test_real_weights_of_a_map_may_all_vanish_beside_those_of_another():
    columns = FitColumns(score="s", label="y", weight="w")
    light = frame(s=[5.0], y=[1], w=[1e-30])
    heavy = frame(s=[1.0, 2.0], y=[0, 1], w=[0.5, 0.7])
    rule, _, _ = fit([light, heavy], columns, n_parts=3)
    assert rule == abers.fit_rule([1, 2], [0, 1], sample_weight=[0.5, 0.7])


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        ([1e10, 0.5], "column 'w' must be whole or add up to less than about"),
        ([2.0**52, 2.0**52], "column 'w' must add up to at most"),
        ([1e-20, 1e-30], "column 'w' must not all vanish beside a new case"),
    ],
)
def test_weights_that_cannot_be_rounded_are_refused_on_the_driver(weights, sentence):
    columns = FitColumns(score="s", label="y", weight="w")
    maps = cut(frame(s=[1, 2], y=[0, 1], w=weights), 2)
    with pytest.raises(InvalidWeights, match=sentence):
        judge(maps, columns)


GROUPED = {"s": [1, 2, 1, 2, 3], "y": [0, 1, 0, 1, 0], "g": ["a", "a", "b", "b", "b"]}


def test_groups_give_the_rule_set_of_the_rows():
    columns = FitColumns(score="s", label="y", by="g")
    answers = counted(cut(frame(**GROUPED), 3), columns)
    judged = parts.judged([each.head for each in answers], columns)
    diagrams = [pair for each in answers for pair in each.diagrams]
    rules, auc = parts.grouped_rules(diagrams, judged, minimum=1, increasing=True)
    assert rules == abers.fit_rules(*GROUPED.values(), minimum=1)
    assert auc == 4 / 6
    with pytest.raises(ChangedInput):
        parts.grouped_rules(diagrams[1:], judged, minimum=1, increasing=True)


def test_groups_of_real_weights_give_the_rule_set_of_the_rows():
    w = [0.5, 1.25, 0.1, 3, 1e-30]
    columns = FitColumns(score="s", label="y", by="g", weight="w")
    answers = counted(cut(frame(**GROUPED, w=w), 3), columns)
    judged = parts.judged([each.head for each in answers], columns)
    diagrams = [
        (group, parts.merged_group([each], judged.scale))
        for answer in answers
        for group, each in answer.diagrams
    ]
    rules, _ = parts.grouped_rules(diagrams, judged, minimum=0, increasing=True)
    assert rules == abers.fit_rules(*GROUPED.values(), minimum=0, sample_weight=w)


def test_too_many_scores_of_groups_are_refused(monkeypatch):
    monkeypatch.setattr(parts, "GROUPED_SCORES", 4)
    parts.check_group_size(4)
    with pytest.raises(InvalidParameter, match="at most 4 distinct scores together"):
        parts.check_group_size(5)


def test_the_fit_is_that_of_a_table(tmp_path):
    """The same numbers, tags and fingerprint as `abers fit` on a file of these rows."""
    path = tmp_path / "rows.csv"
    path.write_text("s,y\n1,no\n2,yes\n,no\n3,no\n")
    local = fit_table(
        path, score="s", label="y", positive="yes", drop_missing=True, metadata={"a": 1}
    )
    columns = FitColumns(
        score="s", label="y", positive="yes", drop_missing=True, fingerprinted=True
    )
    maps = cut(frame(s=[1, 2, None, 3], y=["no", "yes", "no", "no"]), 2)
    rule, auc, judged = fit(maps, columns)
    made = judged.fit(rule, auc, increasing=True, metadata={"a": 1})
    for name in ("rule", "n_rows", "n_missing", "n_fitted", "auc", "metadata"):
        assert getattr(made, name) == getattr(local, name)
    stored = Fingerprint.from_text(made.metadata["abers:fingerprint"])
    assert stored == fingerprint_of([1, 2, 3], [0, 1, 0])


def test_a_head_is_a_few_kilobytes_whatever_it_counts():
    scores = np.arange(100_000.0)
    (answer,) = frame_rows.counted(
        frame(s=scores, y=scores.astype(int) % 2).to_batches(), COLUMNS
    )
    assert len(answer.head) < 10_000
    facts = frame_rows.Head.from_bytes(answer.head)
    assert facts.n_rows == 100_000
    assert Content(*facts.content).n_positives == 50_000
    json.dumps(facts.labels)
