"""What cannot be fitted is refused in a sentence that says what, where and why."""

import gzip
import io
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import abers
from abers.errors import InvalidData
from abers.tables import fit_table, predict_table
from abers.tables.rows import load_rows

CASES = {
    "no score column": (
        "a,label\n1,0\n",
        {},
        (
            "one column of scores; none looks like one among its columns 'a', "
            "'label'. Name it with --score"
        ),
    ),
    "no names of columns": (
        "0.5,1\n0.7,0\n",
        {},
        "among its columns '0.5', '1'. The first line must name the columns",
    ),
    "two score columns": (
        "score,prob,label\n1,1,0\n",
        {},
        "'score', 'prob' both look like one",
    ),
    "a column that is not there": (
        "score,label\n1,0\n",
        {"weight": "w"},
        r"must have the column 'w'; its columns are 'score', 'label'",
    ),
    "nothing at all": ("", {}, "must begin with names of columns; it is empty"),
    "no rows": ("score,label\n", {}, "must have rows to fit; it has none"),
    "a name twice": ("score,score\n1,2\n", {}, "each column once; got 'score' again"),
    "text among the scores": (
        "score,label\n0.5,0\nabc,1\n",
        {},
        r"column 'score' must hold numbers; got 'abc' in row 2 of '.*t\.csv'",
    ),
    "a decimal comma": ('score,label\n"0,5",0\n', {}, "got '0,5' in row 1 of"),
    "missing scores": (
        "score,label\n0.5,0\n,1\nnan,1\n",
        {},
        (
            "'score' must not be empty, null or NaN to fit; it is in 2 of 3 rows, "
            "first in row 2 of .* with --drop-missing"
        ),
    ),
    "missing labels": ("score,label\n1,\n", {}, "'label' must not be empty.* 1 of 1"),
    "labels in words": (
        "score,label\n1,good\n2,bad\n",
        {},
        (
            "or yes and no, true and false; got 'good' in row 1 of .*, and the "
            "values found are 'good', 'bad'. Name the positive one with --pos-label"
        ),
    ),
    "a number that is nearly a label": (
        "score,label\n1,0.0e+00\n2,0.99999999999999999999\n",
        {},
        (
            "or yes and no, true and false; got '0.99999999999999999999' in row 2 "
            "of .*, and the values found are '0.0e.00', '0.99999999999999999999'. Name"
        ),
    ),
    "a positive label that never comes": (
        "score,label\n1,yes\n2,no\n",
        {"pos_label": "Yep"},
        "must hold 'Yep', which is to be the positive label; the values found are 'y",
    ),
    "a positive label that never comes, and one other": (
        "score,label\n1,yes\n2,yes\n",
        {"pos_label": "Yep"},
        "must hold 'Yep', which is to be the positive label; the values found are 'y",
    ),
    "three labels, and none named": (
        "score,label\n1,0\n2,1\n3,2\n",
        {},
        (
            "column 'label' must hold two labels; got '2' in row 3 of .*, and the "
            "values found are '0', '1', '2'. Make a column of two labels first"
        ),
    ),
    "integers that collide": (
        "score,label\n9007199254740993,0\n9007199254740992,1\n",
        {},
        "'score' must not hold integers beyond 2.*53, because larger ones collide",
    ),
    "integers that collide, among other things": (
        "score,label\n0.5,0\nNA,1\n -12345678901234567890 ,1\n",
        {"drop_missing": True},
        "'score' must not hold integers beyond 2",
    ),
    "an integer of two million digits, more than a decimal number may have": (
        f"score,label\n{'9' * 2_000_000},0\n2,1\n",
        {},
        "'score' must not hold integers beyond 2",
    ),
    "an integer of a thousand digits": (
        f"score,label\n{'9' * 5000},0\n2,1\n",
        {},
        "'score' must not hold integers beyond 2",
    ),
    "a negative weight": (
        "score,label,w\n1,0,1\n2,1,-1\n",
        {"weight": "w"},
        "column 'w' must be finite and not negative; got -1.0 in row 2",
    ),
    "an infinite weight": (
        "score,label,w\n1,0,inf\n",
        {"weight": "w"},
        "got inf in row 1",
    ),
    "weights of nothing": (
        "score,label,w\n1,0,0\n",
        {"weight": "w"},
        "must have rows to fit; column 'w' is 0 in all 1 of them",
    ),
    "counts of nothing": (
        "score,n,k\n1,0,0\n2,0,0\n",
        {"count": "n", "positives": "k"},
        "column 'n' is 0 in all 2 of them",
    ),
    "all rows held out": (
        "score,label\n1,0\n2,1\n",
        {"holdout": 0.9999},
        "must have rows to fit; --holdout 0.9999 took all 2 of them. Hold out fewer",
    ),
    "all rows left out": (
        "score,label\n,0\n2,\n",
        {"drop_missing": True},
        "must have rows to fit; all its 2 rows lack a value. Fill some in",
    ),
    "more positives than rows": (
        "score,n,k\n1,2,3\n",
        {"count": "n", "positives": "k"},
        "column 'k' must not exceed column 'n'; got 3.0 of 2.0 in row 1",
    ),
    "counts without positives": (
        "score,n\n1,2\n",
        {"count": "n"},
        "--count and --positives must come together",
    ),
    "counts and labels": (
        "score,n,k,label\n1,2,1,0\n",
        {"count": "n", "positives": "k", "label": "label"},
        "instead of --label and --weight",
    ),
    "a row that is too short": (
        "score,label\n1,0\n2\n3,1\n",
        {},
        "must have 2 values in each row, as its first line has; got 1 in row 2",
    ),
    "a row that is too long": ("score,label\n1,0,9\n", {}, "got 3 in row 1"),
    "a share of all rows": (
        "score,label\n1,0\n",
        {"holdout": 1.0},
        "from 0 to below 1",
    ),
    "no memory": ("score,label\n1,0\n", {"memory": 0}, "memory must be a positive"),
    "a tag of ours": (
        "score,label\n1,0\n",
        {"metadata": {"abers:score": "x"}},
        "tags must not begin with 'abers:'; got 'abers:score'",
    ),
    "a missing group": (
        "score,label,g\n1,0,a\n2,1,\n",
        {"by": "g"},
        "column 'g' must not be empty",
    ),
}


@pytest.mark.parametrize(("text", "options", "sentence"), CASES.values(), ids=CASES)
def test_a_wrong_table_is_refused_in_a_sentence(tmp_path, text, options, sentence):
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(abers.AbersError, match=sentence) as caught:
        fit_table(path, **options)
    assert "\n" not in str(caught.value)


BYTES = {
    "latin-1": ("t.csv", "score,label\n1,é\n".encode("latin-1"), "UTF-8"),
    "no Parquet": ("t.parquet", b"score,label\n1,0\n", "must be a Parquet file"),
    "half a Parquet file": ("t.parquet", b"PAR1 and then no more", "be a Parquet file"),
    "half a gzip file": (
        "t.csv.gz",
        gzip.compress(b"score,label\n1,0\n" * 9)[:30],
        "'.*t.csv.gz' must be a whole compressed file",
    ),
    "an open quote": ("t.csv", b'"' + b"x" * 200_000, "must be delimited text"),
    "a JSON array": ("t.json", b'[{"score": 1}]\n', "line 1 does not: got \\["),
    "broken JSON": ("t.jsonl", b'{"score": 1}\n{"score": \n', "line 2 does not"),
    "mixed integers that collide": (
        "t.jsonl",
        b'{"score": 0.5, "label": 0}\n{"score": 9007199254740993, "label": 1}\n',
        "'score' must not hold integers beyond 2",
    ),
    "half of a surrogate pair": (
        "t.jsonl",
        b'{"score": 1, "label": "0"}\n{"score": 2, "label": "\\ud83d"}\n',
        r"'label' must hold text; got half of a surrogate pair, '\\ud83d', in row 2",
    ),
    "half of a surrogate pair in a name": (
        "t.jsonl",
        b'{"score": 1, "label": "0"}\n{"score": 2, "label": "1", "\\udc00": 1}\n',
        r"must name columns by text; .*, '\\udc00', in line 2\.",
    ),
    "no JSON": ("t.jsonl", b"\n", "an object in each line; it holds none"),
    "JSON that is no number": (
        "t.jsonl",
        b'{"score": 1, "label": 0}\n{"score": "abc", "label": 1}\n',
        "column 'score' must hold numbers; got '\"abc\"' in row 2",
    ),
}


@pytest.mark.parametrize(("name", "content", "sentence"), BYTES.values(), ids=BYTES)
def test_wrong_bytes_are_refused_in_a_sentence(tmp_path, name, content, sentence):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises((abers.AbersError, OSError), match=sentence) as caught:
        fit_table(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("written_by", ["pyarrow", "abers"])
def test_a_damaged_page_is_refused_if_it_has_a_checksum(tmp_path, written_by):
    """Without one nobody could tell: the damaged score is a number, too."""
    path, scores = tmp_path / "t.parquet", [0.1234567, 0.7654321, 0.5432109]
    table = pa.table({"score": scores, "label": [0, 1, 0]})
    options = {"use_dictionary": False, "compression": "none"}
    pq.write_table(table, path, write_page_checksum=written_by == "pyarrow", **options)
    if written_by == "abers":
        rule = abers.fit_rule([1, 2], [0, 1])
        predict_table(rule, path, tmp_path / "out.parquet", prefix="its_")
        path = tmp_path / "out.parquet"
    content = path.read_bytes()
    page = content.index(np.array(scores).tobytes())
    path.write_bytes(content[: page + 15] + b"\x3e" + content[page + 16 :])
    with pytest.raises(InvalidData, match="be a Parquet file; could not verify page"):
        fit_table(path, score="score")


def test_a_column_that_is_not_used_may_hold_half_of_a_surrogate_pair(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'{"score": 1, "label": 0, "name": "\\ud83d"}\n')
    assert fit_table(path).n_rows == 1


def test_wrong_types_are_named(tmp_path):
    path = tmp_path / "t.parquet"
    for column, sentence in (
        (pa.array([[1.0], [2.0]]), "must hold numbers; in .* it holds list"),
        (pa.array([2**60 + 1, 2]), "integers beyond 2"),
    ):
        pq.write_table(pa.table({"score": column, "label": [0, 1]}), path)
        with pytest.raises(abers.AbersError, match=sentence):
            fit_table(path)


@pytest.mark.parametrize("role", ["label", "region"])
@pytest.mark.parametrize("values", [[[0], [1]], [{"a": 0}, {"a": 1}]], ids=str)
def test_labels_and_groups_are_single_values(tmp_path, role, values):
    path = tmp_path / "t.parquet"
    columns = {"score": [1.0, 2.0], "label": [0, 1], "region": ["a", "b"]}
    pq.write_table(pa.table(columns | {role: values}), path)
    sentence = (
        f"column '{role}' must hold text, numbers or booleans; in '{path}' it holds "
        r"(list|struct).*\. Make a column of single values first\."
    )
    for read in (fit_table, load_rows):
        with pytest.raises(InvalidData, match=sentence):
            read(path, by="region")


def test_a_rule_is_no_table(tmp_path):
    abers.fit_rule([1, 2], [0, 1]).save(tmp_path / "rule.abers")
    must = r"rule.abers' must be a table or a diagram; it is a rule"
    with pytest.raises(abers.AbersError, match=must):
        fit_table(tmp_path / "rule.abers")


def test_files_of_one_table_must_be_alike(tmp_path):
    (tmp_path / "a.csv").write_text("score,label\n1,0\n")
    (tmp_path / "b.csv").write_text("label,score\n0,1\n")
    (tmp_path / "c.jsonl").write_text('{"score": 1, "label": 0}\n')
    for other, sentence in (
        (
            "b.csv",
            "must have the columns of .*'label', 'score' instead of 'score', 'la",
        ),
        ("c.jsonl", "must have the format of the files before it, csv; it is json"),
    ):
        with pytest.raises(abers.AbersError, match=sentence):
            fit_table([tmp_path / "a.csv", tmp_path / other])


def test_files_that_are_not_there_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"No such file .*none\.csv"):
        fit_table(tmp_path / "none.csv")
    with pytest.raises(abers.AbersError, match="must match at least one file"):
        fit_table(str(tmp_path / "*.csv"))
    with pytest.raises(abers.AbersError, match="named once; got '-' twice"):
        fit_table(["-", "-"])


def test_a_pipe_is_named_in_messages(monkeypatch):
    class Standard:
        buffer = io.BytesIO(b"score,label\nx,0\n")

    monkeypatch.setattr(sys, "stdin", Standard)
    with pytest.raises(abers.AbersError, match="got 'x' in row 1 of standard input"):
        fit_table("-")
