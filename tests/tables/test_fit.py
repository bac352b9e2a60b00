"""A rule from a table is the rule from its columns, to the last bit."""

import math
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import abers
from abers.errors import InvalidData, InvertedScoresWarning
from abers.evaluation import auc
from abers.storage.fingerprint import TAG, Fingerprint, fingerprint_of
from abers.tables import fit_table
from abers.tables.collector import is_held_out
from strategies import either_way

FORMATS = [
    *("t.csv", "semicolon.csv", "windows.csv", "t.tsv", "t.csv.gz", "t.csv.zst"),
    *("t.jsonl", "t.json", "t.ndjson.gz", "t.parquet", "t.arrow"),
    *("no-suffix", "json-without-suffix", "named.csv"),
]


def write(folder, text, name="t.csv"):
    path = folder / name
    path.write_text(text)
    return path


def large(n=10**6, decimals=None):
    """Continuous scores, or scores that repeat."""
    rng = np.random.default_rng(5)
    scores = rng.random(n) if decimals is None else rng.random(n).round(decimals)
    return scores, rng.random(n) < scores


def parquet(folder, **columns):
    path = folder / "large.parquet"
    pq.write_table(pa.table(columns), path)
    return path


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_rule_of_the_columns(name, tables, data):
    fit = fit_table(tables[name])
    assert fit.rule == abers.fit_rule(data.scores, data.labels)
    assert (fit.n_rows, fit.n_missing, fit.on_disk) == (3_000, 0, False)
    assert fit.auc == auc(data.scores, data.labels)


def test_the_fingerprint_is_that_of_the_rows(tables, data):
    expected = fingerprint_of(data.scores, data.labels)
    for name in ("t.csv", "t.parquet"):
        text = fit_table(tables[name]).metadata[TAG]
        assert Fingerprint.from_text(text) == expected


def test_several_files_are_one_table(tables, data):
    """Named one by one, or by a pattern."""
    expected = abers.fit_rule(np.tile(data.scores, 2), np.tile(data.labels, 2))
    files = [tables["t.csv"], tables["t.csv.gz"]]
    assert fit_table(files).rule == expected
    assert fit_table(str(tables["t.csv"].parent / "t.csv*z*")).n_rows == 6_000


@either_way
def test_weights_and_the_direction_reach_the_library(tables, data):
    fit = fit_table(tables["t.parquet"], weight="weight", increasing=False)
    expected = abers.fit_rule(
        data.scores, data.labels, sample_weight=data.weights, increasing=False
    )
    assert fit.rule == expected
    assert fit.auc == pytest.approx(
        1 - auc(data.scores, data.labels, sample_weight=data.weights)
    )


def test_groups_have_the_rules_that_fit_rules_gives(tables, data):
    expected = abers.fit_rules(data.scores, data.labels, data.regions, minimum=20)
    for name in ("t.csv", "t.parquet", "t.jsonl"):
        assert fit_table(tables[name], by="region", minimum=20).rule == expected
    weighted = fit_table(tables["t.csv"], by="region", weight="weight", memory=10_000)
    assert weighted.rule == abers.fit_rules(
        data.scores, data.labels, data.regions, sample_weight=data.weights
    )


def test_groups_that_are_numbers_stay_numbers(tmp_path):
    groups = np.arange(100) % 2 + 7
    path = parquet(
        tmp_path, score=np.arange(100), label=np.arange(100) % 3 > 1, g=groups
    )
    rule_set = fit_table(path, by="g", minimum=1).rule
    assert list(rule_set) == [7, 8]
    assert rule_set == abers.fit_rules(
        np.arange(100), np.arange(100) % 3 > 1, groups, minimum=1
    )


def test_counts_give_the_rule_and_the_fingerprint_of_the_rows(tmp_path, tables, data):
    diagram = abers.rules.Diagram.from_rows(data.scores, data.labels)
    columns = (diagram.scores, diagram.counts, diagram.positives)
    rows = zip(*(c.tolist() for c in columns), strict=True)
    lines = [f"{s},{n},{k}" for s, n, k in rows]
    path = write(tmp_path, "\n".join(["score,rows,good", "9,0,0", *lines]))
    counted = fit_table(path, count="rows", positives="good")
    raw = fit_table(tables["t.csv"])
    assert counted.rule == raw.rule
    assert raw.metadata.pop("abers:label") == "label"  # which counts do not have
    assert counted.metadata == raw.metadata


@pytest.mark.filterwarnings("ignore::abers.errors.InvertedScoresWarning")
@pytest.mark.parametrize("increasing", [True, False])
def test_rows_give_one_fit_whether_they_are_counted_first_or_not(tmp_path, increasing):
    """Little memory is enough for few distinct scores, if rows are counted early."""
    rng = np.random.default_rng(5)
    scores = rng.integers(0, 50, 5_000)
    labels = rng.random(5_000) < scores / 50
    path = parquet(tmp_path, score=scores, label=labels)
    whole = fit_table(path, increasing=increasing)
    counted = fit_table(path, increasing=increasing, memory=100_000)
    assert not counted.on_disk
    assert counted == whole
    assert counted.rule == abers.fit_rule(scores, labels, increasing=increasing)


@pytest.mark.parametrize(
    ("zero", "one", "pos_label"),
    [
        ("0", "1", None),
        ("0.0", "1.0", None),
        ("0.000000000000000000e+00", "1.000000000000000000e+00", None),  # numpy.savetxt
        ("-0", "+1.", None),
        ("0E-999999999", "10e-1", None),
        ("False", "true", None),
        ("no", "yes", "yes"),
        ("1", "2", "2"),
        ("1", "0", "0"),
        ("0.0", "1.0", "1"),
        ("1.0", "2", "2.0"),
        ("1.0e+01", "2.0e+01", "20"),
        ("False", "True", "true"),
        ("true", "false", "False"),
    ],
)
def test_labels_are_two_values_of_which_one_is_positive(tmp_path, zero, one, pos_label):
    path = write(tmp_path, f"s,label\n1,{zero}\n2,{one}\n3,{zero}\n")
    fit = fit_table(path, score="s", pos_label=pos_label)
    assert fit.rule == abers.fit_rule([1, 2, 3], [0, 1, 0])


def test_typed_labels_are_read_as_what_they_are(tmp_path):
    for labels in ([False, True, False], [0.0, 1.0, 0.0], pa.array(["n", "y", "n"])):
        path = parquet(tmp_path, score=[1, 2, 3], y=labels)
        pos_label = "y" if isinstance(labels, pa.Array) else None
        fit = fit_table(path, pos_label=pos_label)
        assert fit.rule == abers.fit_rule([1, 2, 3], [0, 1, 0])


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl"])
def test_integers_do_not_decide_what_a_column_is(tmp_path, name):
    """Thirty thousand rows that look like integers, then a fraction."""
    if name == "t.csv":
        rows = "".join(f"{i % 7},{i % 2}\n" for i in range(30_000))
        path = write(tmp_path, f"score,label\n{rows}0.25,1\n")
    else:
        row = '{{"score": {}, "label": {}}}\n'
        rows = "".join(row.format(i % 7, i % 2) for i in range(30_000))
        path = write(tmp_path, rows + row.format(0.25, 1), name)
    scores = [*(i % 7 for i in range(30_000)), 0.25]
    labels = [*(i % 2 for i in range(30_000)), 1]
    assert fit_table(path).rule == abers.fit_rule(scores, labels)


def test_infinities_zeros_and_spaces_are_numbers(tmp_path):
    path = write(tmp_path, "score,label\n-inf,0\n -0.0 ,1\n0,0\nInfinity,1\n1e3,1\n")
    scores = [-math.inf, 0, 0, math.inf, 1e3]
    assert fit_table(path).rule == abers.fit_rule(scores, [0, 1, 0, 1, 1])


def test_rows_that_lack_a_value_can_be_left_out(tmp_path):
    text = "score,label,g\n1,0,a\n,1,a\nNaN,0,a\n2,,a\n3,1,\n4,1,a\n NA ,1,a\n"
    fit = fit_table(write(tmp_path, text), drop_missing=True)
    assert (fit.n_rows, fit.n_missing) == (7, 4)
    assert fit.rule == abers.fit_rule([1, 3, 4], [0, 1, 1])
    grouped = fit_table(write(tmp_path, text), by="g", minimum=1, drop_missing=True)
    assert grouped.n_missing == 5


def test_a_missing_count_is_no_count_of_zero(tmp_path):
    """Such a row is left out, whatever its positives."""
    path = write(tmp_path, "score,n,k\n1,2,1\n2,,3\n3,,\n4,5,4\n")
    options = {"count": "n", "positives": "k"}
    fit = fit_table(path, **options, drop_missing=True)
    assert fit.n_missing == 2
    assert fit.rule == abers.rules.fit_rule_from_diagram(
        abers.rules.Diagram.from_counts([1, 4], [2, 5], [1, 4])
    )
    with pytest.raises(abers.AbersError, match=r"'n' must not be empty.* 2 of 4 rows"):
        fit_table(path, **options)


def test_rows_held_out_depend_on_their_numbers_alone(tmp_path):
    """So they are the same rows in CSV and Parquet, in one file and in two."""
    scores, labels = large(20_000)
    held = is_held_out(np.arange(20_000), 0.25)
    assert 4_700 < held.sum() < 5_300
    path = parquet(tmp_path, score=scores, label=labels)
    fit = fit_table(path, holdout=0.25)
    assert fit.rule == abers.fit_rule(scores[~held], labels[~held])
    assert fit.n_held_out == held.sum() == fit.held_out.n_rows
    p, y = fit.rule.probability(scores[held]), labels[held]
    for values, q in ((fit.held_out.rule, p), (fit.held_out.scores, scores[held])):
        log_loss = -np.where(y, np.log(q), np.log1p(-q)).mean()
        assert values.log_loss == pytest.approx(log_loss)
        assert values.brier_loss == pytest.approx(((y - q) ** 2).mean())


def test_scores_that_are_no_probabilities_have_no_losses(tables, data):
    fit = fit_table(tables["t.csv"], holdout=0.5, by="region", weight="weight")
    assert fit.held_out.scores is None
    held = is_held_out(np.arange(3_000), 0.5)
    p = fit.rule.probability(data.scores[held], data.regions[held].tolist())
    w = data.weights[held]
    brier = (w * (data.labels[held] - p) ** 2).sum() / w.sum()
    assert fit.held_out.rule.brier_loss == pytest.approx(brier)


@pytest.mark.parametrize("decimals", [None, 5, 2])
def test_a_rule_fitted_on_disk_is_the_rule_fitted_in_memory(tmp_path, decimals):
    """A million rows in the memory of a few thousand."""
    scores, labels = large(decimals=decimals)
    path = parquet(tmp_path, score=scores, label=labels)
    fit = fit_table(path, memory=8_000_000, temp=tmp_path, holdout=0.01)
    held = is_held_out(np.arange(10**6), 0.01)
    assert fit.on_disk == (decimals != 2)
    assert fit.rule == abers.fit_rule(scores[~held], labels[~held])
    assert fit.auc == pytest.approx(auc(scores[~held], labels[~held]), abs=1e-12)
    p = fit.rule.probability(scores[held])
    assert fit.held_out.rule.brier_loss == pytest.approx(
        ((labels[held] - p) ** 2).mean()
    )
    assert list(tmp_path.iterdir()) == [path]


WEIGHTS = np.linspace(0.1, 3, 200_000)


@pytest.mark.parametrize(
    "weights",
    [
        np.arange(200_000) % 5,
        WEIGHTS,
        np.where(np.arange(200_000) < 100_000, np.arange(200_000) % 5, WEIGHTS),
        10 ** np.linspace(-12, 2, 200_000),
    ],
    ids=["whole", "real", "first whole, then real", "over many magnitudes"],
)
@either_way
def test_weights_on_disk_give_the_rule_in_memory(tmp_path, weights):
    """To the bit: what real ones are rounded to depends on all of them."""
    scores, labels = large(200_000, decimals=4)
    path = parquet(tmp_path, score=scores, label=labels, w=weights)
    fit = fit_table(path, weight="w", memory=1_000_000, increasing=False)
    expected = abers.fit_rule(scores, labels, sample_weight=weights, increasing=False)
    assert fit.on_disk
    assert fit.rule == expected
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("memory", [20_000, 10**9])
def test_groups_of_real_weights_in_little_memory_are_the_same_groups(tmp_path, memory):
    scores, labels = large(5_000, decimals=2)
    groups, weights = np.arange(5_000) % 3, np.linspace(0.1, 3, 5_000)
    path = parquet(tmp_path, score=scores, label=labels, g=groups, w=weights)
    fit = fit_table(path, by="g", weight="w", memory=memory, holdout=0.2)
    kept = ~is_held_out(np.arange(5_000), 0.2)
    assert fit.rule == abers.fit_rules(
        scores[kept], labels[kept], groups[kept], sample_weight=weights[kept]
    )
    held = ~kept
    p = fit.rule.probability(scores[held], groups[held])
    brier = np.average((labels[held] - p) ** 2, weights=weights[held])
    assert fit.held_out.rule.brier_loss == pytest.approx(brier, rel=1e-9)


def test_weights_that_cannot_be_rounded_are_refused_by_their_column(tmp_path):
    path = parquet(tmp_path, score=[1, 2], label=[0, 1], w=[1e10, 0.5])
    with pytest.raises(InvalidData, match=r"^column 'w' must be whole or add up to"):
        fit_table(path, weight="w")


def test_groups_in_little_memory_are_the_same_groups(tmp_path):
    """Byte for byte; those from 3 on are small and share a rule."""
    scores, labels = large(50_000)
    groups = np.arange(50_000) % 3
    groups[:100] = np.arange(100) // 25 + 3
    path = parquet(tmp_path, score=scores, label=labels, g=groups)
    fit = fit_table(path, by="g", memory=300_000)
    expected = abers.fit_rules(scores, labels, groups)
    assert fit.rule == expected
    assert fit.rule.kind_of(list(fit.rule)).tolist() == ["own"] * 3 + ["rest"] * 4
    assert fit.rule.rest == abers.fit_rule(scores[:100], labels[:100])
    little, plenty = tmp_path / "little.abers", tmp_path / "plenty.abers"
    fit.rule.save(little)
    expected.save(plenty)
    assert little.read_bytes() == plenty.read_bytes()
    assert fit.auc == pytest.approx(auc(scores, labels), abs=1e-12)


def test_tags_are_saved_with_the_rule(tmp_path, tables):
    fit = fit_table(tables["t.csv"], by="region", metadata={"model": "v7"})
    fit.save(tmp_path / "rules.abers")
    tags = abers.load(tmp_path / "rules.abers").metadata
    assert tags["model"] == "v7"
    assert (tags["abers:score"], tags["abers:by"]) == ("score", "region")
    assert tags["abers:label"] == "label"
    assert "abers:pos-label" not in tags


def test_the_positive_label_is_remembered(tmp_path):
    path = write(tmp_path, "score,fate\n1,no\n2,yes\n")
    tags = fit_table(path, label="fate", pos_label="yes").metadata
    assert (tags["abers:label"], tags["abers:pos-label"]) == ("fate", "yes")


def test_the_other_label_may_be_written_in_several_ways(tmp_path):
    path = write(tmp_path, "score,label\n1,0\n2,1\n3,0.0\n4,1.0\n")
    fit = fit_table(path, pos_label="1")
    assert fit.rule == abers.fit_rule([1, 2, 3, 4], [0, 1, 0, 1])


@pytest.mark.parametrize("pos_label", ["True", "true", "1", "1.0"])
def test_typed_labels_may_be_named_by_what_equals_them(tmp_path, pos_label):
    for labels in ([False, True, False], [0.0, 1.0, 0.0], [0, 1, 0]):
        path = parquet(tmp_path, score=[1, 2, 3], y=labels)
        fit = fit_table(path, pos_label=pos_label)
        assert fit.rule == abers.fit_rule([1, 2, 3], [0, 1, 0])


def test_large_scores_that_do_not_collide_are_numbers(tmp_path):
    """2**53 itself, and what is written as a real number."""
    scores = [-(2**53), 0.5, 2**53, 1e300]
    text = "score,label\n-9007199254740992,0\n0.5,1\n 9007199254740992,0\n1e300,1\n"
    fit = fit_table(write(tmp_path, text))
    assert fit.rule == abers.fit_rule(scores, [0, 1, 0, 1])


def inverted_table(folder):
    scores, labels = large(5_000)
    weights = np.arange(5_000) % 3 + 0.5
    groups = np.where(np.arange(5_000) < 2_500, "a", "b")
    path = parquet(folder, score=-scores, label=labels, weight=weights, group=groups)
    return path, -scores, labels, weights


@pytest.mark.parametrize(
    "options", [{}, {"memory": 10_000}, {"weight": "weight"}, {"by": "group"}]
)
def test_inverted_scores_of_a_table_are_warned_of_once(options, tmp_path):
    path, scores, labels, weights = inverted_table(tmp_path)
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        fit = fit_table(path, score="score", label="label", **options)
    assert [each.category for each in raised] == [InvertedScoresWarning]
    assert raised[0].filename == __file__
    assert fit.on_disk == ("memory" in options)
    area = auc(scores, labels, sample_weight=weights if "weight" in options else None)
    sentence = f"The score is inverted (AUC {area:.3f}): higher scores go with fewer"
    if "by" not in options:  # whose rows are compared within groups
        assert str(raised[0].message).startswith(sentence)
    fit_table(path, score="score", label="label", increasing=False, **options)


def test_a_table_whose_weight_lies_in_few_rows_is_not_taken_for_inverted(tmp_path):
    _, scores, labels, weights = inverted_table(tmp_path)
    weights[:4], labels[:4] = 1e9 + 0.5, [0, 0, 1, 1]
    path = parquet(tmp_path, score=scores, label=labels, weight=weights)
    fit_table(path, weight="weight")
