"""Tables are found in folders, behind patterns and URIs, and inside structs."""

import json
import socket
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

import abers
from abers.errors import InvalidData, InvalidFile
from abers.tables import fit_table, predict_table
from abers.tables.rows import load_rows

SCORES = [1.0, 2.0, 3.0, 4.0]
LABELS = [0, 1, 0, 1]
DAYS = ["2026-11-01", "a b%", None, "2026-11-01"]
RULE = abers.fit_rule(SCORES, LABELS)


@pytest.fixture(params=["parquet", "csv"])
def folder(request, tmp_path):
    """Rows in a folder for each day, as pyarrow writes them, beside other files."""
    path = tmp_path / "rows"
    table = pa.table({"score": SCORES, "label": LABELS, "day": DAYS})
    ds.write_dataset(
        table,
        path,
        format=request.param,
        partitioning=["day"],
        partitioning_flavor="hive",
    )
    (path / "_SUCCESS").touch()
    (path / ".spool").mkdir()
    (path / ".spool" / "part.csv").write_text("other\n1\n")
    return path


def test_a_folder_is_one_table(folder):
    assert fit_table(folder).rule == RULE
    assert fit_table(f"{folder}/").rule == RULE


@pytest.mark.parametrize(
    "pattern", ["{}/day=*", "{}/day=*/", "{}/day=*/*", "{}/day=*/**"]
)
def test_a_pattern_may_match_folders_and_files_in_them(folder, pattern):
    assert fit_table(pattern.format(folder)).rule == RULE


def test_folders_named_key_value_are_the_columns_that_pyarrow_reads(folder):
    """Its own discovery of partitions is the definition."""
    kind = next(folder.glob("day=*/*")).suffix[1:]
    schema = pa.schema([("score", pa.float64()), ("day", pa.string())])
    partitioning = ds.partitioning(pa.schema([schema.field("day")]), flavor="hive")
    expected = ds.dataset(folder, schema, format=kind, partitioning=partitioning)
    rows = load_rows(folder, by="day")
    read = pa.table([rows.scores, rows.groups], schema)
    assert read.sort_by("score") == expected.to_table().sort_by("score")
    assert set(rows.groups) == set(DAYS)


def test_a_column_of_folders_is_written_as_any_other(folder, tmp_path):
    for name in ("out.csv", "out.parquet", "out.jsonl"):
        predict_table(RULE, folder, tmp_path / name, score="score")
        rows = load_rows(tmp_path / name, score="score", by="day")
        assert sorted(map(str, rows.groups)) == sorted(map(str, DAYS))


def test_a_column_of_folders_is_added_to_objects_that_are_kept(tmp_path):
    (tmp_path / "day=7").mkdir()
    (tmp_path / "day=7" / "a.jsonl").write_text('{"score":  2.0}\n')
    predict_table(RULE, tmp_path / "day=7", tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_text().startswith('{"score":  2.0, "day": "7"')


def test_the_column_of_a_file_stands_before_that_of_its_folder(tmp_path):
    (tmp_path / "day=7").mkdir()
    (tmp_path / "day=7" / "a.csv").write_text("score,label,day\n1,0,8\n")
    assert load_rows(tmp_path, by="day").groups == ["8"]


def test_a_uri_of_this_machine_is_a_path(folder):
    assert fit_table(folder.as_uri()).rule == RULE
    file = next(folder.glob("day=*/*"))
    assert fit_table(file.as_uri()).n_rows == fit_table(file).n_rows


NESTED = pa.table(
    {
        "label": LABELS,
        "model": [{"a": {"score": s, "x": "y"}} for s in SCORES[:-1]] + [None],
    }
)


@pytest.fixture(params=["n.parquet", "n.arrow", "n.jsonl"])
def nested(request, tmp_path):
    """Scores inside structs inside structs; the last row has none."""
    path = tmp_path / request.param
    if path.suffix == ".parquet":
        pq.write_table(NESTED, path)
    elif path.suffix == ".arrow":
        with pa.ipc.new_file(path, NESTED.schema) as file:
            file.write_table(NESTED)
    else:
        path.write_text("".join(json.dumps(r) + "\n" for r in NESTED.to_pylist()))
    return path


def test_a_dotted_name_reads_a_field_of_a_struct(nested, tmp_path):
    fit = fit_table(nested, score="model.a.score", drop_missing=True)
    assert fit.rule == abers.fit_rule(SCORES[:-1], LABELS[:-1])
    assert fit.n_missing == 1
    out = tmp_path / f"out{nested.suffix}"
    fit.save(tmp_path / "rule.abers")  # which remembers the field
    counts = predict_table(abers.load(tmp_path / "rule.abers"), nested, out)
    assert (counts.n_rows, counts.n_missing) == (4, 1)
    lower = load_rows(out, score="lower", drop_missing=True).scores
    assert np.array_equal(lower, fit.rule.bounds(SCORES[:-1])[:, 0])


@pytest.mark.parametrize("name", ["model.b", "model.a.score.x", "a.score", "model."])
def test_a_field_that_is_not_there_is_refused(nested, name):
    sentence = f"must have the column '{name}'; its columns are 'label', 'model'"
    with pytest.raises(InvalidData, match=sentence):
        fit_table(nested, score=name)


def test_a_column_with_a_dot_in_its_name_stands_before_a_field(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"a.b": 2.0, "a": {"b": 3.0}, "label": 1}\n')
    assert load_rows(path, score="a.b").scores.tolist() == [2.0]


def test_objects_that_repeat_a_field_are_refused(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": {"b": 3.0, "b": 4.0}, "label": 1}\n')
    with pytest.raises(InvalidData, match="line 1 does not: it has 'b' twice"):
        fit_table(path, score="a.b")


def test_a_field_of_objects_that_become_text_is_refused(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": {"b": 3.0}, "label": 1}\n')
    with pytest.raises(InvalidData, match=r"'a' must stay an object while 'b' is read"):
        predict_table(RULE, path, tmp_path / "out.csv", score="a.b")


def test_a_folder_that_holds_no_table_is_refused_in_a_sentence(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "mixed").mkdir()
    (tmp_path / "mixed" / "a.csv").write_text("score,label\n1,0\n")
    (tmp_path / "mixed" / "b.jsonl").write_text('{"score": 1, "label": 0}\n')
    (tmp_path / "partly" / "day=1").mkdir(parents=True)
    (tmp_path / "partly" / "a.csv").write_text("score,label\n1,0\n")
    (tmp_path / "partly" / "day=1" / "b.csv").write_text("score,label\n1,0\n")
    for name, sentence in (
        ("empty", "must be a file, or a folder with at least one; there is none"),
        ("mixed", "b.jsonl' must have the format of the files before it, csv; it is j"),
        ("partly", "must have the columns of .*; got 'score', 'label', 'day' instead"),
        ("none*/", "must match at least one file; there is none"),
    ):
        with pytest.raises(InvalidData, match=sentence):
            fit_table(str(tmp_path / name))


def test_what_is_read_in_a_folder_is_not_overwritten(folder):
    file = next(folder.glob("day=*/*"))
    with pytest.raises(abers.errors.OutputExists, match="must not be what is read"):
        predict_table(RULE, folder, file, force=True)


WRONG_URIS = {
    "http://host/t.csv": "must be a path, or a URI such as file:///folder or s3://",
    "s3://bucket/a b": "must be a path, or a URI .*; Cannot parse URI",
    "file:///no/such/file": "must be a file, or a folder with at least one",
}


@pytest.mark.parametrize(("uri", "sentence"), WRONG_URIS.items(), ids=WRONG_URIS)
def test_a_wrong_uri_is_refused_in_a_sentence(uri, sentence):
    with pytest.raises(InvalidData, match=sentence) as caught:
        fit_table(uri)
    assert "\n" not in str(caught.value)


def test_nothing_is_written_to_a_uri(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("score\n1\n")
    for to in ("s3://bucket/out.csv", (tmp_path / "out.csv").as_uri()):
        with pytest.raises(InvalidFile, match="must be a path of this machine"):
            predict_table(RULE, path, to, score="score")


@pytest.fixture(scope="module")
def endpoint():
    """An object store on loopback, in a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=quiet, stderr=quiet) as server:
        try:
            _wait_for(port, server)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()


def _wait_for(port, server, seconds=60):
    end = time.monotonic() + seconds
    while server.poll() is None and time.monotonic() < end:
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    msg = "the object store must start"
    raise AssertionError(msg)


@pytest.fixture
def bucket(endpoint, monkeypatch):
    """A bucket, with the environment that leads to it."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "name")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "word")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    options = {"endpoint_override": endpoint, "region": "us-east-1"}
    store = fs.S3FileSystem(allow_bucket_creation=True, **options)
    store.create_dir("bucket")
    return fs.SubTreeFileSystem("bucket", store)


def test_an_object_store_is_read_in_place(folder, bucket):
    fs.copy_files(
        str(folder),
        "rows",
        destination_filesystem=bucket,
        source_filesystem=fs.LocalFileSystem(),
    )
    fit = fit_table("s3://bucket/rows", by="day", drop_missing=True)
    same = fit_table(folder, by="day", drop_missing=True)
    assert fit.rule == same.rule
    assert fit.metadata == same.metadata
    bucket.delete_dir("rows")


def test_files_of_every_format_are_read_from_an_object_store(tables, bucket, data):
    for name in ("t.csv.gz", "t.parquet", "t.arrow", "t.jsonl", "windows.csv"):
        with bucket.open_output_stream(name, compression=None) as file:
            file.write(tables[name].read_bytes())
        fit = fit_table(f"s3://bucket/{name}")
        assert fit.rule == abers.fit_rule(data.scores, data.labels)
        bucket.delete_file(name)


@pytest.mark.usefixtures("bucket")
@pytest.mark.parametrize("name", ["s3://no-such-bucket/t", "s3://bucket/none.csv"])
def test_what_an_object_store_does_not_have_is_refused(name):
    with pytest.raises(InvalidData, match="must be a file, or a folder with") as caught:
        fit_table(name)
    assert "\n" not in str(caught.value)


class Forbidden(BaseHTTPRequestHandler):
    """An object store that lets nobody in."""

    def do_HEAD(self):
        self.send_error(403)

    def log_message(self, *_):
        pass


@pytest.mark.usefixtures("bucket")
def test_what_an_object_store_does_not_let_us_read_is_refused(monkeypatch):
    with HTTPServer(("127.0.0.1", 0), Forbidden) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
        sentence = "'s3://bucket/t' must be there and readable; .*ACCESS_DENIED"
        with pytest.raises(InvalidData, match=sentence) as caught:
            fit_table("s3://bucket/t")
        server.shutdown()
    assert "\n" not in str(caught.value)
