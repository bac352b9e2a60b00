"""A fit on an engine, without one: every step as bytes, in one process."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import abers
from abers.engines import counting
from abers.engines.counting import CountedFrame, FitColumns, Tally, added_up, as_diagram
from abers.engines.messages import from_bytes
from abers.errors import InvalidData, InvalidParameter, MissingExtra
from abers.storage.fingerprint import Fingerprint, fingerprint_of
from abers.tables import fit_table

COLUMNS = FitColumns(score="s", label="y")


def frame(**columns):
    return pa.table(columns)


def counted(maps, columns=COLUMNS):
    """Return what the workers yield: tallies, and messages with their groups."""
    rows = [
        row
        for table in maps
        for some in counting.count(batches_of(table), columns)
        for row in some
    ]
    tallies = [row.tally for row in rows if row.tally]
    return tallies, [(row.group, row.diagram) for row in rows if not row.tally]


def batches_of(table):
    return table.to_batches() if isinstance(table, pa.Table) else [table]


def check(maps, columns):
    return CountedFrame.of(counted(maps, columns)[0], columns)


def fit(maps, columns=COLUMNS, *, increasing=True, minimum=30, metadata=None):
    """Fit as an engine does, in one process."""
    tallies, messages = counted(maps, columns)
    whole = CountedFrame.of(tallies, columns)
    whole.check_same(counting.checksums(message for _, message in messages))
    diagrams = added_up([(g, as_diagram(m, whole.scale)) for g, m in messages[::-1]])
    return whole.fit_diagrams(
        diagrams, minimum=minimum, increasing=increasing, metadata=metadata
    )


def cut(table, n_maps):
    ends = [i * len(table) // n_maps for i in range(n_maps + 1)]
    return [table.slice(a, b - a) for a, b in pairwise(ends)]


rows = st.lists(
    st.tuples(st.sampled_from([-np.inf, -1.5, -0.0, 0.0, 2.0, 3.0]), st.booleans()),
    min_size=1,
    max_size=12,
)


@pytest.mark.filterwarnings("ignore::abers.errors.InvertedScoresWarning")
@given(rows, st.integers(1, 4), st.booleans())
def test_diagrams_of_workers_give_the_rule_of_the_rows_to_the_last_bit(
    observed, n_maps, increasing
):
    scores, labels = map(list, zip(*observed, strict=True))
    made = fit(cut(frame(s=scores, y=labels), n_maps), increasing=increasing)
    local = abers.fit_rule(scores, labels, increasing=increasing)
    assert made.rule == local
    assert [*map(list, made.rule.cells[:2])] == [*map(list, local.cells[:2])]
    if len(set(labels)) == 2:
        zeros = [s for s, y in observed if not y]
        ones = [s for s, y in observed if y]
        pairs = [(a < b) + (a == b) / 2 for a in zeros for b in ones]
        auc = np.mean(pairs) if increasing else 1 - np.mean(pairs)
        assert made.auc == pytest.approx(auc, abs=1e-15)
    else:
        assert np.isnan(made.auc)


@pytest.mark.parametrize(("merged_scores", "sizes"), [(0, [2, 2, 1]), (9, [4])])
def test_rows_are_counted_some_at_a_time_and_tallied_once(
    merged_scores, sizes, monkeypatch
):
    """Small diagrams of one worker are added up before they are sent."""
    monkeypatch.setattr(counting, "COUNTED_ROWS", 2)
    monkeypatch.setattr(counting, "MERGED_SCORES", merged_scores)
    monkeypatch.setattr(counting, "SAMPLED", 2)
    table = frame(s=[3, 1, 2, 1, 4], y=[1, 0, 0, 1, 1])
    batches = table.to_batches(max_chunksize=2)
    *diagrams, last = [row for some in counting.count(batches, COLUMNS) for row in some]
    assert [each.n_scores for each in diagrams] == sizes
    assert all(len(each.sample) <= 2 * 8 for each in diagrams)
    tally = Tally.from_text(last.tally)
    assert (tally.n_rows, tally.n_scores) == (5, sum(sizes))
    assert (tally.n_negatives, tally.n_positives) == (2, 3)
    assert tally.labels == {"1": 3, "0": 2}
    whole = added_up([(None, each.diagram) for each in diagrams])[None]
    assert whole == abers.rules.Diagram.from_rows(table["s"], table["y"])


def test_weights_and_counts_fit_as_many_rows():
    weighted = FitColumns(score="s", label="y", weight="w")
    maps = cut(frame(s=[1, 2, 3, 3], y=[0, 1, 0, 1], w=[2.0, 1.0, 3.0, 0.0]), 2)
    made = fit(maps, weighted)
    rows = [1, 1, 2, 3, 3, 3], [0, 0, 1, 0, 0, 0]
    assert made.rule == abers.fit_rule(*rows)
    assert made.rule.cells is None  # how far weights scatter is unknown
    assert made.n_fitted == 3
    counts = FitColumns(score="s", count="n", positives="p")
    maps = cut(frame(s=[1, 2, 3], n=[2, 1, 3], p=[0, 1, 0]), 3)
    assert fit(maps, counts).rule == abers.fit_rule(*rows)


def test_labels_of_two_maps_are_read_as_those_of_one_table():
    """Two maps may hold one label each, and together a pair or none."""
    maps = [frame(s=[1], y=["Yes"]), frame(s=[2, 3], y=["no", "yes"])]
    expected = abers.fit_rule([1, 2, 3], [1, 0, 1])
    for pos_label in (None, "yes"):
        columns = FitColumns(score="s", label="y", pos_label=pos_label)
        maps_of = maps if pos_label is None else [frame(s=[1], y=["yes"]), maps[1]]
        fitted = fit(maps_of, columns)
        assert fitted.rule == expected
        assert fitted.metadata["abers:pos-label"].casefold() == "yes"
    wrong = [frame(s=[1], y=["yes"]), frame(s=[2], y=["0"])]
    with pytest.raises(InvalidData, match="'0' in 1 of 2 rows"):
        check(wrong, FitColumns(score="s", label="y"))


def test_one_label_stands_against_all_others():
    """Also if it comes after more labels than a worker remembers."""
    labels = [*(f"other {i}" for i in range(100)), "yes"]
    maps = [frame(s=list(range(101)), y=labels)]
    columns = FitColumns(score="s", label="y", pos_label="yes")
    expected = abers.fit_rule(range(101), [label == "yes" for label in labels])
    assert fit(maps, columns).rule == expected


@pytest.mark.parametrize(
    ("table", "columns", "error", "message"),
    [
        (
            {"s": [1.0, None, np.nan], "y": [0, 1, 1]},
            COLUMNS,
            InvalidData,
            "column 's' must not be empty, null or NaN to fit; it is in 2 of 3 rows.",
        ),
        (
            {"s": [1.0, 2.0], "y": [0.0, 0.5]},
            COLUMNS,
            InvalidData,
            (
                "column 'y' must hold labels 0 and 1, or yes and no, true and false; "
                "got '0.5' in 1 of 2 rows, and the values found are '0', '0.5'. Name "
                "the positive one with pos_label=."
            ),
        ),
        (
            {"s": [1, 2], "y": ["a", "a"]},
            FitColumns(score="s", label="y", pos_label="c"),
            InvalidData,
            (
                "column 'y' must hold 'c', which is to be the positive label; the "
                "values found are 'a'. Name another with pos_label=."
            ),
        ),
        (
            {"s": [1, 2, 3, 4], "y": [0, 1, 0, 1], "w": [-1.0, np.inf, -2.0, 1.0]},
            FitColumns(score="s", label="y", weight="w"),
            InvalidData,
            ("column 'w' must be finite and not negative; got -1.0 in the frame."),
        ),
        (
            {"s": [1, 2], "n": [3, 1], "p": [4, 0]},
            FitColumns(score="s", count="n", positives="p"),
            InvalidData,
            "column 'p' must not exceed column 'n'; got 4.0 of 3.0 in the frame.",
        ),
        (
            {"s": [1.0, None], "y": [0, 1], "w": [1.0, 1.0]},
            FitColumns(score="s", label="y", weight="w"),
            InvalidData,  # in a map that has no other row
            "column 's' must not be empty, null or NaN to fit; it is in 1 of 2 rows.",
        ),
        (
            {"s": ["1", "two"], "y": [0, 1]},
            COLUMNS,
            InvalidData,
            "column 's' must hold numbers; got 'two' in the frame.",
        ),
        (
            {"s": [2**53 + 1, 2], "y": [0, 1]},
            COLUMNS,
            InvalidData,
            "column 's' must not hold integers beyond 2**53",
        ),
        (
            {"s": pa.array([], pa.float64()), "y": pa.array([], pa.int64())},
            COLUMNS,
            InvalidData,
            "the frame must have rows to fit; it has none.",
        ),
        (
            {"s": [1.0, 2.0], "y": [0, 1], "w": [0.0, 0.0]},
            FitColumns(score="s", label="y", weight="w"),
            InvalidData,
            "the frame must have rows to fit; column 'w' is 0 in all 2 of them.",
        ),
        (
            {"s": [None, np.nan], "y": [0, 1]},
            FitColumns(score="s", label="y", drop_missing=True),
            InvalidData,
            "the frame must have rows to fit; all its 2 rows lack a value.",
        ),
    ],
)
def test_what_is_wrong_with_rows_is_said_on_the_driver(table, columns, error, message):
    with pytest.raises(error) as caught:
        check(cut(frame(**table), 2), columns)
    assert str(caught.value).startswith(message)


def test_a_tally_stays_small_whatever_is_wrong():
    """A worker stops at the first batch that cannot be read; labels are cut off."""
    table = frame(s=[f"word {i}" for i in range(1000)], y=[0] * 1000)
    ((last,),) = counting.count(table.to_batches(max_chunksize=1), COLUMNS)
    assert len(Tally.from_text(last.tally).refusals) == 1
    labels = frame(s=[1] * 1000, y=[f"label {i}" for i in range(1000)])
    tallies, _ = counted([labels])
    assert len(Tally.from_text(tallies[0]).labels) == 20
    columns = FitColumns(score="s", label="y", weight="w")
    with pytest.raises(InvalidData, match="column 'w' must add up to at most"):
        check([frame(s=[1, 2], y=[0, 1], w=[1.7e308, 1.7e308])], columns)


@pytest.mark.parametrize("third", ["2", "yes"])
def test_a_third_label_is_seen_behind_many_spellings_of_two(third):
    labels = [*(f"{'0' * n}.0" for n in range(1, 30)), "1", third]
    table = frame(s=[1.0] * len(labels), y=labels)
    with pytest.raises(InvalidData, match=f"must hold two labels; got '{third}' in 1"):
        check([table], FitColumns(score="s", label="y"))


def test_rows_that_lack_a_value_may_be_left_out():
    columns = FitColumns(score="s", label="y", drop_missing=True)
    maps = cut(frame(s=[1.0, None, 3.0], y=["0", "1", ""]), 2)
    made = fit(maps, columns)
    assert made.rule == abers.fit_rule([1], [0])
    assert (made.n_rows, made.n_missing, made.n_fitted) == (3, 2, 1)


def test_columns_must_be_there_and_go_together():
    for options, error, message in [
        ({"label": "z"}, InvalidData, "the frame must have the column 'z'"),
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
    with pytest.raises(InvalidData, match="must have just one column 's'"):
        COLUMNS.check(["s", "s", "y"])


def test_a_positive_label_may_be_a_number():
    columns = FitColumns.of(score="s", label="y", pos_label=2)
    made = fit([frame(s=[1, 2], y=[1, 2])], columns)
    assert made.rule == abers.fit_rule([1, 2], [0, 1])


def test_rows_that_are_lost_doubled_or_changed_are_noticed():
    maps = cut(frame(s=[1, 2, 3, 4], y=[0, 1, 0, 1]), 2)
    tallies, [(_, first), (_, second)] = counted(maps)
    whole = CountedFrame.of(tallies, COLUMNS)
    whole.check_same(counting.checksums([second, first]))
    _, [(_, other)] = counted([frame(s=[1, 2.5], y=[0, 1])])
    for wrong in ([first], [first, first], [other, second], [first, second, second]):
        with pytest.raises(InvalidData, match="they changed while they were read"):
            whole.check_same(counting.checksums(wrong))
    whole.check_totals(2, 2)
    with pytest.raises(InvalidData, match="they changed while they were read"):
        whole.check_totals(1, 3)


def test_workers_with_another_abers_are_refused(monkeypatch):
    tallies, _ = counted([frame(s=[1], y=[1])])
    monkeypatch.setattr(counting, "version", lambda _: "99.0")
    with pytest.raises(
        MissingExtra, match=r"abers of the driver, 99.0; .*python.* has"
    ):
        CountedFrame.of(tallies, COLUMNS)


@pytest.mark.parametrize("increasing", [True, False])
def test_real_weights_give_the_rule_of_the_rows_to_the_last_bit(increasing):
    """Some maps may hold whole weights only, and count them before others tell."""
    rng = np.random.default_rng(0)
    s, y, w = rng.integers(0, 30, 300), rng.integers(0, 2, 300), rng.random(300)
    w[:100] = rng.integers(0, 3, 100)
    w[250] = 1e-30  # vanishes
    columns = FitColumns(score="s", label="y", weight="w")
    for n_maps in (1, 3, 300):
        maps = cut(frame(s=s, y=y, w=w), n_maps)
        assert check(maps, columns).scale > 20
        made = fit(maps, columns, increasing=increasing)
        local = abers.fit_rule(s, y, sample_weight=w, increasing=increasing)
        assert made.rule == local
        assert made.rule.cells is None
        zeros, ones = ([*zip(s[y == i], w[y == i], strict=True)] for i in (0, 1))
        pairs = [
            (v * u * ((a < b) + (a == b) / 2), v * u) for a, v in zeros for b, u in ones
        ]
        in_order, total = np.sum(pairs, axis=0)
        auc = in_order / total if increasing else 1 - in_order / total
        assert made.auc == pytest.approx(auc, rel=1e-9)


def test_real_weights_of_a_map_may_all_vanish_beside_those_of_another():
    columns = FitColumns(score="s", label="y", weight="w")
    light = frame(s=[5.0], y=[1], w=[1e-30])
    heavy = frame(s=[1.0, 2.0], y=[0, 1], w=[0.5, 0.7])
    assert fit([light, heavy], columns).rule == abers.fit_rule(
        [1, 2], [0, 1], sample_weight=[0.5, 0.7]
    )


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
    with pytest.raises(InvalidData, match=sentence):
        check(maps, columns)


GROUPED = {"s": [1, 2, 1, 2, 3], "y": [0, 1, 0, 1, 0], "g": ["a", "a", "b", "b", "b"]}


def test_groups_give_the_rule_set_of_the_rows():
    columns = FitColumns(score="s", label="y", by="g")
    made = fit(cut(frame(**GROUPED), 3), columns, minimum=1)
    assert made.rule == abers.fit_rules(*GROUPED.values(), minimum=1)
    assert made.auc == 4 / 6
    assert made.metadata["abers:by"] == "g"


def test_groups_of_real_weights_give_the_rule_set_of_the_rows():
    w = [0.5, 1.25, 0.1, 3, 1e-30]
    columns = FitColumns(score="s", label="y", by="g", weight="w")
    made = fit(cut(frame(**GROUPED, w=w), 3), columns, minimum=0)
    assert made.rule == abers.fit_rules(*GROUPED.values(), minimum=0, sample_weight=w)


def test_the_fit_is_that_of_a_table(tmp_path):
    """The same numbers, tags and fingerprint as `abers fit` on a file of these rows."""
    path = tmp_path / "rows.csv"
    path.write_text("s,y\n1,no\n2,yes\n,no\n3,no\n")
    local = fit_table(
        path,
        score="s",
        label="y",
        pos_label="yes",
        drop_missing=True,
        metadata={"a": 1},
    )
    columns = FitColumns(
        score="s", label="y", pos_label="yes", drop_missing=True, fingerprinted=True
    )
    maps = cut(frame(s=[1, 2, None, 3], y=["no", "yes", "no", "no"]), 2)
    made = fit(maps, columns, metadata={"a": 1})
    for name in ("rule", "n_rows", "n_missing", "n_fitted", "auc", "metadata"):
        assert getattr(made, name) == getattr(local, name)
    stored = Fingerprint.from_text(made.metadata["abers:fingerprint"])
    assert stored == fingerprint_of([1, 2, 3], [0, 1, 0])


@pytest.mark.parametrize("in_sample", [True, False])
def test_evaluation_recognises_the_rows_of_a_frame_that_was_counted(
    in_sample, tmp_path
):
    """The fingerprint is of the rows that were counted, not of the counts."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=400).round(4)
    labels = rng.random(400) < 1 / (1 + np.exp(-scores))
    diagram = abers.rules.Diagram.from_rows(scores, labels)
    counts = frame(s=diagram.scores, n=diagram.counts, p=diagram.positives)
    columns = FitColumns(score="s", count="n", positives="p", fingerprinted=True)
    fit(cut(counts, 3), columns).save(tmp_path / "rule.abers")
    rule = abers.load(tmp_path / "rule.abers")
    stored = Fingerprint.from_text(rule.metadata["abers:fingerprint"])
    assert stored == fingerprint_of(scores, labels)
    shift = 0 if in_sample else 1e-7
    assert abers.evaluate(rule, scores + shift, labels).in_sample == in_sample


def test_a_tally_is_a_few_kilobytes_whatever_it_counts():
    scores = np.arange(100_000.0)
    table = frame(s=scores, y=scores.astype(int) % 2)
    columns = FitColumns(score="s", label="y", fingerprinted=True)
    ((diagram, last),) = counting.count(table.to_batches(), columns)
    assert len(last.tally) < 10_000
    assert len(diagram.sample) == 8 * 256
    tally = Tally.from_text(last.tally)
    assert (tally.n_rows, tally.n_positives) == (100_000, 50_000)
    assert tally.fingerprint == fingerprint_of(scores, table["y"])
    assert from_bytes(diagram.diagram, abers.rules.Diagram).scores.size == 100_000
