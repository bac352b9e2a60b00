"""Calibration rows, and tables of them in every format."""

import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

RNG = np.random.default_rng(1)
N = 3_000


class Data:
    """Columns that a model and an analyst might have left behind."""

    ids = tuple(f"a{i}" for i in range(N))
    scores = np.round(RNG.normal(size=N), 2)
    labels = (RNG.random(N) < 1 / (1 + np.exp(-scores))).astype(int)
    weights = RNG.integers(0, 4, N)
    regions = RNG.choice(["north", "south", "east, far"], N, p=[0.6, 0.39, 0.01])

    def rows(self):
        columns = (self.ids, self.scores, self.labels, self.weights, self.regions)
        return zip(*(np.asarray(c).tolist() for c in columns), strict=True)


NAMES = ("id", "score", "label", "weight", "region")


def quoted(value):
    return f'"{value}"' if "," in str(value) else str(value)


def as_csv(data, delimiter=",", end="\n"):
    lines = [delimiter.join(NAMES)]
    lines += [delimiter.join(map(quoted, row)) for row in data.rows()]
    return end.join([*lines, ""]).encode()


def as_json(data):
    rows = (dict(zip(NAMES, row, strict=True)) for row in data.rows())
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def as_parquet(data, path):
    """Write Parquet, and an Arrow file of the same rows."""
    columns = zip(*data.rows(), strict=True)
    table = pa.table(dict(zip(NAMES, map(list, columns), strict=True)))
    pq.write_table(table, path, row_group_size=700)
    with pa.ipc.new_file(path.with_suffix(".arrow"), table.schema) as file:
        file.write_table(table, max_chunksize=700)


@pytest.fixture(scope="session")
def data():
    return Data()


@pytest.fixture(scope="session")
def tables(data, tmp_path_factory):
    """The same rows in every format, by file name."""
    folder = tmp_path_factory.mktemp("tables")
    texts = {
        "t.csv": as_csv(data),
        "semicolon.csv": as_csv(data, ";"),
        "windows.csv": b"\xef\xbb\xbf" + as_csv(data, end="\r\n"),
        "t.tsv": as_csv(data, "\t"),
        "t.csv.gz": gzip.compress(as_csv(data)),
        "t.jsonl": as_json(data),
        "t.json": as_json(data),
        "t.ndjson.gz": gzip.compress(as_json(data)),
        "no-suffix": as_csv(data),
        "json-without-suffix": as_json(data),
    }
    for name, text in texts.items():
        (folder / name).write_bytes(text)
    with pa.CompressedOutputStream(str(folder / "t.csv.zst"), "zstd") as file:
        file.write(as_csv(data))
    as_parquet(data, folder / "t.parquet")
    (folder / "named.csv").write_bytes((folder / "t.parquet").read_bytes())
    return {path.name: path for path in sorted(folder.iterdir())}
