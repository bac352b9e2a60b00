"""A table comes back with three more columns, and nothing else changed."""

import csv
import gzip
import json
import shutil
import subprocess
import sys

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import abers
from abers.tables import predict_table

RULE = abers.fit_rule(
    np.linspace(3, -3, 500), np.arange(500) % 7 > np.arange(500) // 80
)
ADDED = ["lower", "upper", "probability"]


def read_csv(path, delimiter=","):
    with path.open(newline="") as file:
        return list(csv.reader(file, delimiter=delimiter))


def expected(scores):
    return np.column_stack((RULE.bounds(scores), RULE.probability(scores)))


@pytest.mark.parametrize(
    "source",
    ["t.csv", "semicolon.csv", "t.tsv", "t.csv.gz", "t.jsonl", "t.parquet", "t.arrow"],
)
@pytest.mark.parametrize(
    "suffix", ["csv", "tsv", "csv.gz", "csv.zst", "parquet", "arrow", "jsonl"]
)
def test_every_format_can_become_every_other(source, suffix, tables, data, tmp_path):
    """The result is read back by other libraries than the one that wrote it."""
    path = tmp_path / f"out.{suffix}"
    done = predict_table(RULE, tables[source], path)
    assert (done.n_rows, done.n_missing, done.n_pooled) == (3_000, 0, 0)
    if suffix == "parquet":
        columns = pq.read_table(path).to_pydict()
    elif suffix == "arrow":
        columns = pl.read_ipc(path).to_dict(as_series=False)
    elif suffix == "jsonl":
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        columns = {name: [row[name] for row in rows] for name in rows[0]}
    else:
        plain = tmp_path / "plain"
        opener = gzip.open if suffix == "csv.gz" else pa.input_stream
        with opener(str(path)) as packed, plain.open("wb") as file:
            shutil.copyfileobj(packed, file)
        delimiter = "\t" if suffix == "tsv" else ";" if "semi" in source else ","
        names, *rows = read_csv(plain, delimiter)
        columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    assert list(columns) == ["id", "score", "label", "weight", "region", *ADDED]
    added = np.array([columns[name] for name in ADDED], dtype=float).T
    assert np.array_equal(added, expected(data.scores))
    assert list(columns["id"]) == list(data.ids)
    assert list(columns["region"]) == data.regions.tolist()
    assert np.array_equal(np.array(columns["score"], dtype=float), data.scores)


def test_text_stays_as_it_was(tmp_path):
    """Leading zeros, long numbers, quotes, delimiters and line ends in cells."""
    odd = [
        "007",
        "1e5",
        "",
        " x ",
        'say "hi"',
        "a,b",
        "two\nlines",
        "NULL",
        "é",
        "1.10",
    ]
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    with source.open("w", newline="") as file:
        csv.writer(file).writerows(
            [["score", "odd, name"], *(("0.50", x) for x in odd)]
        )
    predict_table(RULE, source, out)
    header, *rows = read_csv(out)
    assert header == ["score", "odd, name", *ADDED]
    assert [row[:2] for row in rows] == [["0.50", x] for x in odd]


def test_objects_stay_as_they_were_written(tmp_path):
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    lines = [
        '{"score": 1.10, "n": 12345678901234567890123, "deep": {"a": [1, 2.50]}}',
        '{"score":0.5}',
        "{}",
        '  {"k": "\\u00e9", "score": null }  ',
    ]
    source.write_text("\n".join(lines))
    done = predict_table(RULE, source, out)
    assert (done.n_rows, done.n_missing) == (4, 2)
    written = out.read_text().splitlines()
    for before, after in zip(lines, written, strict=True):
        assert after.startswith(before.strip()[:-1].strip())
        assert list(json.loads(after))[-3:] == ADDED
    assert json.loads(written[2]) == dict.fromkeys(ADDED)


def test_types_and_metadata_of_parquet_stay(tmp_path):
    source, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    table = pa.table(
        {
            "score": pa.array([1, None, 3], pa.int32()),
            "when": pa.array([0, 1, None], pa.timestamp("ms", "UTC")),
            "code": pa.array(["a", "b", "a"]).dictionary_encode(),
            "list": pa.array([[1], [], None], pa.list_(pa.int8())),
            "price": pa.array([1, 2, 3], pa.decimal128(12, 2)),
            "text": pa.array(["", None, "x"], pa.large_string()),
        }
    ).replace_schema_metadata({"made by": "someone"})
    pq.write_table(table, source)
    done = predict_table(RULE, source, out, prefix="p_")
    written = pq.read_table(out)
    assert done.n_missing == 1
    assert written.select(table.column_names).equals(table)
    assert written.schema.metadata[b"made by"] == b"someone"
    assert written.column_names[-3:] == ["p_" + name for name in ADDED]
    assert written["p_lower"].to_pylist() == [
        RULE.bounds([1])[0, 0],
        None,
        RULE.lower[-1],
    ]


def test_missing_scores_give_empty_cells_and_a_count(tmp_path):
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("score\n1\n\nNaN\n2\n")
    assert predict_table(RULE, source, out).n_missing == 2
    rows = read_csv(out)
    assert rows[2] == ["", "", "", ""]
    assert rows[3] == ["NaN", "", "", ""]
    assert [float(x) for x in rows[4][1:]] == expected([2.0])[0].tolist()
    with pytest.raises(
        abers.AbersError, match=r"'score' must not be empty.*in row 2 of"
    ):
        predict_table(RULE, source, tmp_path / "none.csv", missing="error")
    assert not (tmp_path / "none.csv").exists()


@pytest.mark.filterwarnings("ignore::abers.errors.UnknownGroupWarning")
def test_each_group_is_answered_by_its_own_rule(tables, data, tmp_path):
    rules = abers.fit_rules(data.scores, data.labels, data.regions)
    out = tmp_path / "out.parquet"
    source = pq.read_table(tables["t.parquet"])
    regions = ["nowhere", None, "", *data.regions[3:]]
    source = source.set_column(4, "region", pa.array(regions))
    pq.write_table(source, tmp_path / "in.parquet")
    done = predict_table(rules, tmp_path / "in.parquet", out, by="region", loss="brier")
    added = pq.read_table(out).to_pandas()[ADDED].to_numpy()
    groups = [None if region == "" else region for region in regions]
    assert np.array_equal(added[:, :2], rules.bounds(data.scores, groups))
    assert np.array_equal(
        added[:, 2], rules.probability(data.scores, groups, loss="brier")
    )
    assert done.n_pooled == sum(name is None for name in rules.rule_of(groups))
    assert done.n_rest == 0


@pytest.mark.filterwarnings("ignore::abers.errors.UnknownGroupWarning")
def test_small_groups_are_answered_by_the_rule_that_they_share(data, tmp_path):
    names = data.regions.astype(object)
    names[:120:2], names[1:120:2] = "fax", "phone"
    rules = abers.fit_rules(data.scores, data.labels, names, minimum=40)
    groups = ["mars", None, *names[2:]]
    table = pa.table({"score": data.scores, "g": groups})
    pq.write_table(table, tmp_path / "in.parquet")
    out = tmp_path / "out.parquet"
    done = predict_table(rules, tmp_path / "in.parquet", out, by="g")
    added = pq.read_table(out).to_pandas()[ADDED[:2]].to_numpy()
    assert np.array_equal(added, rules.bounds(data.scores, groups))
    kinds = rules.kind_of(groups).tolist()
    assert (done.n_rest, done.n_pooled) == (kinds.count("rest"), 2)
    assert done.n_rest == 118 + (names == "east, far").sum()


def test_columns_of_the_fit_are_found_again(tmp_path, tables):
    """Though the table has another column that looks like a score."""
    abers.tables.fit_table(tables["t.csv"], by="region").save(tmp_path / "r.abers")
    rules = abers.load(tmp_path / "r.abers")
    (tmp_path / "in.csv").write_text("prob,score,region\n0.5,1,north\n")
    predict_table(rules, tmp_path / "in.csv", tmp_path / "out.csv")
    (row,) = read_csv(tmp_path / "out.csv")[1:]
    assert [float(x) for x in row[3:5]] == rules["north"].bounds([1])[0].tolist()


def test_a_table_without_rows_comes_back_without_rows(tmp_path):
    (tmp_path / "in.csv").write_text("score,x\n")
    for name in ("out.csv", "out.parquet", "out.arrow", "out.jsonl"):
        assert predict_table(RULE, tmp_path / "in.csv", tmp_path / name).n_rows == 0
    assert (tmp_path / "out.csv").read_text() == "score,x,lower,upper,probability\n"
    assert pq.read_table(tmp_path / "out.parquet").num_rows == 0
    assert pa.ipc.open_file(tmp_path / "out.arrow").read_all().num_rows == 0
    assert (tmp_path / "out.jsonl").read_text() == ""


WRONG = {
    "a column that is there": ({"prefix": ""}, r"it has 'lower' already.*--prefix"),
    "a rule without groups": ({"by": "lower", "prefix": "p"}, "--by must go with"),
    "another loss": ({"loss": "0/1"}, "loss must be 'log' or 'brier'"),
    "another policy": ({"missing": "zero"}, "missing must be 'null' or 'error'"),
    "another format": ({"format": "xlsx", "prefix": "p"}, "format must be 'csv' or"),
}


@pytest.mark.parametrize(("options", "sentence"), WRONG.values(), ids=WRONG)
def test_wrong_wishes_are_refused_and_nothing_is_written(options, sentence, tmp_path):
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("score,lower\n1,2\n")
    with pytest.raises(abers.AbersError, match=sentence):
        predict_table(RULE, source, out, **options)
    assert list(tmp_path.iterdir()) == [source]


def test_files_of_other_types_are_refused(tmp_path):
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for path, values in zip(paths, ([1.0], [1]), strict=True):
        pq.write_table(pa.table({"score": values}), path)
    with pytest.raises(abers.AbersError, match="'score' is int64, there double"):
        predict_table(RULE, paths, tmp_path / "out.parquet")


def test_nested_columns_cannot_become_text(tmp_path):
    pq.write_table(pa.table({"score": [1], "x": [[1]]}), tmp_path / "in.parquet")
    with pytest.raises(abers.AbersError, match="Write Parquet or JSON lines"):
        predict_table(RULE, tmp_path / "in.parquet", tmp_path / "out.csv")
    predict_table(RULE, tmp_path / "in.parquet", tmp_path / "out.jsonl")
    assert json.loads((tmp_path / "out.jsonl").read_text())["x"] == [1]


def test_inputs_and_existing_files_are_safe(tmp_path):
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("score\n1\n")
    out.write_text("precious")
    with pytest.raises(abers.AbersError, match="exists; overwrite it with --force"):
        predict_table(RULE, source, out)
    with pytest.raises(abers.AbersError, match="must not be what is read"):
        predict_table(RULE, source, source, force=True)
    with pytest.raises(abers.AbersError, match="folder or a device"):
        predict_table(RULE, source, tmp_path, force=True)
    with pytest.raises(FileNotFoundError, match=r"no' must exist to .*; make it first"):
        predict_table(RULE, source, tmp_path / "no" / "out.csv")
    assert out.read_text() == "precious"
    predict_table(RULE, source, out, force=True)
    assert out.read_text().startswith("score,lower")


ONLY_WHAT_IS_NEEDED = """
import sys
import abers
from abers.tables import predict_table

predict_table(abers.fit_rule([1, 2], [0, 1]), sys.argv[1], sys.argv[2])
print(*sys.modules)
"""


def test_predicting_text_loads_neither_pandas_nor_other_formats(tmp_path):
    """pyarrow loads pandas where it may need it, which takes longer than the work."""
    path = tmp_path / "t.csv"
    path.write_text('score,"a, b"\n1,x\n2,"y, z"\n')
    command = [sys.executable, "-c", ONLY_WHAT_IS_NEEDED, path, tmp_path / "out.csv"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert {"pandas", "pyarrow.parquet"}.isdisjoint(done.stdout.split())
    assert (tmp_path / "out.csv").read_text().splitlines()[2].startswith('2,"y, z",')
