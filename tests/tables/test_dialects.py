"""CSV as other programs and countries write it, and a hint when it is."""

import csv
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import abers
from abers.tables import Dialect, fit_table, predict_table
from abers.tables.files import BLOCK, LONGEST_HEADER
from abers.tables.rows import load_rows

RULE = abers.fit_rule([0.25, 0.5, 0.75], [0, 1, 0])
PLAIN = "score,label\n0.25,0\n0.5,1\n0.75,0\n"
DIALECTS = {
    "decimal commas": (PLAIN.replace(",", ";").replace(".", ","), {"decimal": ","}),
    "quoted decimal commas": (
        'score,label\n"0,25",0\n" +0,5 ",1\n"7,5E-1",0\n',
        {"decimal": ","},
    ),
    "labels with decimals": (
        "score;label\n0,25;0,0\n0,5;1,000e+00\n0,75;0\n",
        {"decimal": ","},
    ),
    "another delimiter": (PLAIN.replace(",", "#"), {"delimiter": "#"}),
    "a delimiter that is rare in the header": (
        "score~label~a,b,c\n0.25~0~\n0.5~1~\n0.75~0~\n",
        {"delimiter": "~"},
    ),
    "UTF-16": (PLAIN, {"encoding": "utf-16"}),
    "UTF-8 by another name": (f"\ufeff{PLAIN}", {"encoding": "U8"}),
    "a mark that UTF-16 leaves": (f"\ufeff{PLAIN}", {"encoding": "utf-16"}),
    "a mark that UTF-16-LE leaves": (f"\ufeff{PLAIN}", {"encoding": "utf-16-le"}),
}


@pytest.mark.parametrize(("text", "options"), DIALECTS.values(), ids=DIALECTS)
def test_a_dialect_gives_the_same_rule(tmp_path, text, options):
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode(options.get("encoding", "utf-8")))
    fitted = fit_table(path, dialect=Dialect(**options)).rule
    assert np.array_equal(fitted.thresholds, RULE.thresholds)
    assert np.array_equal(fitted.upper, RULE.upper)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-8-sig"])
def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path, encoding):
    """The parser passes over it, and would not know a column by a name with it."""
    old, new = tmp_path / "old.csv", tmp_path / "new.csv"
    old.write_bytes("\ufeffid,score\n7,0.25\n".encode(encoding))
    predict_table(RULE, old, new, dialect=Dialect(encoding=encoding))
    text = new.read_bytes().decode(encoding)
    assert text.startswith("id,score,lower,upper,probability\n7,0.25,")


def test_a_delimiter_counts_more_than_the_name_of_a_file(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text(PLAIN)
    assert fit_table(path, dialect=Dialect(",")).n_rows == 3


def test_rows_to_judge_are_read_by_their_dialect(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("score;label;naïve\n0,5;1;x\n".encode("latin-1"))
    dialect = Dialect(decimal=",", encoding="latin-1")
    assert load_rows(path, dialect=dialect).scores.tolist() == [0.5]


def test_what_is_written_looks_like_what_was_read(tmp_path):
    """The delimiter, the decimal mark and the encoding; other columns to the letter."""
    old, new = tmp_path / "old.csv", tmp_path / "new.csv"
    old.write_bytes("größe;score\n1.000,50;0,25\n-;\n".encode("latin-1"))
    dialect = Dialect(decimal=",", encoding="latin-1")
    predict_table(RULE, old, new, dialect=dialect)
    assert new.read_bytes().decode("latin-1") == (
        "größe;score;lower;upper;probability\n"
        "1.000,50;0,25;0;0,5;0,3333333333333333\n"
        "-;;;;\n"
    )


def test_a_decimal_comma_is_quoted_where_commas_are_delimiters(tmp_path):
    old, new = tmp_path / "old.parquet", tmp_path / "new.csv"
    pq.write_table(pa.table({"score": [0.25], "name": ["1.5"]}), old)
    predict_table(RULE, old, new, dialect=Dialect(decimal=","))
    row = next(csv.DictReader(new.read_text().splitlines()))
    assert (row["score"], row["name"], row["upper"]) == ("0,25", "1.5", "0,5")


def test_a_byte_order_mark_is_written_once(tmp_path):
    old, new = tmp_path / "old.csv", tmp_path / "new.csv"
    old.write_text("score\n" + "0.25\n" * 3, encoding="utf-16")
    predict_table(RULE, old, new, dialect=Dialect(encoding="utf-16"))
    text = new.read_bytes().decode("utf-16")
    assert text.startswith("score,lower")
    assert "\ufeff" not in text


def test_text_that_an_encoding_lacks_is_named(tmp_path):
    old, new = tmp_path / "old.parquet", tmp_path / "new.csv"
    pq.write_table(pa.table({"score": [0.25], "price": ["1 €"]}), old)
    sentence = (
        "text must have an encoding in LATIN-1 .*; '€' has none. Name another with"
    )
    with pytest.raises(abers.AbersError, match=sentence):
        predict_table(RULE, old, new, dialect=Dialect(encoding="latin-1"))
    assert not new.exists()


LATIN = 'score,label,name\n0.25,0,Ulm\n0.5,1,"Köln, Süd"\n'.encode("latin-1")


def test_bytes_of_a_column_that_is_not_read_may_be_anything(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(LATIN)
    assert fit_table(path).n_rows == 2


@pytest.mark.parametrize("name", ["new.parquet", "new.jsonl", "new.csv"])
def test_bytes_that_are_no_text_are_named_where_they_must_be_text(tmp_path, name):
    old, new = tmp_path / "old.csv", tmp_path / name
    old.write_bytes(LATIN)
    sentence = (
        r"old.csv' must be text in UTF-8; column 'name' is not in row 2\. "
        "Name its encoding with --encoding, for example latin-1"
    )
    for act in (
        lambda: predict_table(RULE, old, new),
        lambda: fit_table(old, by="name"),
    ):
        with pytest.raises(abers.AbersError, match=sentence):
            act()
    predict_table(RULE, old, new, dialect=Dialect(encoding="latin-1"))
    assert new.exists()


def test_json_is_utf_8_whatever_the_dialect_of_text_is(tmp_path):
    old, new = tmp_path / "old.csv", tmp_path / "new.jsonl"
    old.write_bytes(LATIN)
    predict_table(RULE, old, new, dialect=Dialect(encoding="latin-1"))
    *_, row = map(json.loads, new.read_text().splitlines())
    assert row["name"] == "Köln, Süd"


USELESS = {
    "--delimiter": ({"delimiter": ";"}, "it"),
    "--decimal": ({"decimal": ","}, "it"),
    "--encoding": ({"encoding": "latin-1"}, "it"),
    "--delimiter and --decimal": ({"delimiter": ";", "decimal": ","}, "them"),
}


@pytest.mark.parametrize(("named", "given"), USELESS.items(), ids=USELESS)
@pytest.mark.parametrize("form", ["parquet", "json"])
def test_a_dialect_is_refused_where_nothing_is_written_in_one(
    tmp_path, form, named, given
):
    """A format with types says itself how it is written."""
    old = tmp_path / f"old.{form}"
    table = pa.table({"score": [0.25, 0.5], "label": [0, 1]})
    if form == "parquet":
        pq.write_table(table, old)
    else:
        old.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    options, them = given
    dialect = Dialect(**options)
    sentence = (
        f"^{named} must go with CSV or TSV; .*old.* is {form}, .* Leave {them} out"
    )
    for act in (
        lambda: fit_table(old, dialect=dialect),
        lambda: load_rows(old, dialect=dialect),
        lambda: predict_table(RULE, old, tmp_path / "new.parquet", dialect=dialect),
        lambda: predict_table(RULE, old, tmp_path / "new", dialect=dialect),
    ):
        with pytest.raises(abers.AbersError, match=sentence):
            act()
    assert [path.name for path in tmp_path.iterdir()] == [old.name]
    predict_table(RULE, old, tmp_path / "new", format="csv", dialect=dialect)
    plain = Dialect(encoding="U8")  # the default by another name
    assert fit_table(old, dialect=plain).n_rows == 2


HINTS = {
    "a decimal comma": (
        b"score;label\n0.5;1\n0,25;0\n",
        {},
        r"got '0,25' in row 2 of .*\. If its comma stands before decimals, say --dec",
    ),
    "a decimal point": (
        b"score;label\n0,5;1\n0.25;0\n",
        {"decimal": ","},
        r"got '0.25' in row 2 of .* point stands before decimals, leave out --decimal",
    ),
    "a list": (b"score;label\n1,2,3;1\n", {}, r"got '1,2,3' in row 1 of '[^']*'\.$"),
    "thousands and decimals": (
        b"score;label\n1.000,5;1\n",
        {"decimal": ","},
        r"got '1.000,5' in row 1 of '[^']*'\.$",
    ),
    "a delimiter that is not found": (
        b"score:label\n1:0\n",
        {},
        "its columns 'score:label'. If that is several, name what is .* --delimiter",
    ),
    "a header that is not UTF-8": (
        "score,label,größe\n1,0,2\n".encode("latin-1"),
        {},
        "must be text in UTF-8; its first line is not. Name its enc.* example latin-1",
    ),
    "UTF-16": (PLAIN.encode("utf-16"), {}, "--encoding, for example utf-16"),
    "no UTF-16": (PLAIN.encode(), {"encoding": "utf-16"}, "text in UTF-16; it is not"),
    "no ASCII": (LATIN, {"encoding": "ascii"}, "must be text in ASCII; it is not"),
    "a number beyond all doubles": (
        b"score,label\ninf,1\n-Infinity,0\n0.5,1\n-1e400,0\n",
        {},
        "'score' must hold numbers below 1.8e308, .*; got '-1e400' in row 4 of '.*t.cs",
    ),
    "a first line without an end": (
        b"score,label," + b",".join(b"x%d" % i for i in range(200_000)),
        {},
        "name its columns in a first line of at most 1 MiB; it is longer, or a quote",
    ),
    "a name without an end": (
        b'score,label,"' + b"x" * 200_000,
        {},
        "name its columns in a first line of at most 1 MiB; it is longer, or a quote",
    ),
    "a row that is too long": (
        b"score,label,text\n1,0,a\n" + b"2,1," + b"x" * 2 * BLOCK + b"\n",
        {},
        "must have rows of at most 4 MiB; one after row [01] is longer, or a quote",
    ),
    "a quote without an end": (
        b'score,label,text\n1,0,a\n2,1,"' + b"1,0,a\n" * BLOCK,
        {},
        "must have rows of at most 4 MiB; one after row [01] is longer, or a quote",
    ),
}


@pytest.mark.parametrize(("content", "options", "sentence"), HINTS.values(), ids=HINTS)
def test_what_looks_like_another_dialect_is_refused_with_a_hint(
    tmp_path, content, options, sentence
):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(abers.AbersError, match=sentence) as caught:
        fit_table(path, dialect=Dialect(**options))
    assert "\n" not in str(caught.value)


def test_rows_and_first_lines_up_to_the_limit_are_read(tmp_path):
    path = tmp_path / "t.csv"
    names = ",".join(f"x{i}" for i in range(100_000))
    names += "," * (LONGEST_HEADER - len(names) - len("score,label,\n"))
    path.write_text(f"score,label,{names[:-1].rstrip(',')}\n")
    with pytest.raises(abers.AbersError, match="it has none"):
        fit_table(path)
    long = "x" * (BLOCK - 100)
    path.write_text(f"score,label,text\n1,0,{long}\n2,1,{long}\n")
    assert fit_table(path).n_rows == 2


def test_a_quote_within_a_name_opens_nothing(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('score,label,5" disk\n' + "0.5,1,3\n" * 200_000)
    assert fit_table(path).n_rows == 200_000


def test_a_number_beyond_all_doubles_is_refused_in_json_too(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"score": Infinity, "label": 1}\n{"score": 1e400, "label": 0}\n')
    with pytest.raises(abers.AbersError, match=r"below 1.8e308.*row 2 of '.*t.jsonl'"):
        fit_table(path)
    path.write_text('{"score": "0.5", "label": 1}\n{"score": 1e400, "label": 0}\n')
    with pytest.raises(abers.AbersError, match=r"below 1.8e308.*row 2 of '.*t.jsonl'"):
        fit_table(path)
    path.write_text('{"score": Infinity, "label": 1}\n{"score": 1, "label": 0}\n')
    assert fit_table(path).n_rows == 2


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"delimiter": ",,"}, "delimiter must be one ASCII character.*; got ',,'"),
        ({"delimiter": ""}, "delimiter must be one ASCII character"),
        ({"delimiter": '"'}, "neither a quote nor a line break"),
        ({"delimiter": "§"}, "delimiter must be one ASCII character"),
        ({"decimal": ";"}, "decimal must be '.' or ','; got ';'"),
        ({"encoding": "latin-99"}, "such as utf-8, .* or utf-16; got 'latin-99'"),
        ({"encoding": "hex"}, "must be the name of an encoding of text"),
        ({"encoding": "a\0b"}, "must be the name of an encoding of text"),
    ],
)
def test_a_dialect_that_nobody_writes_is_refused(options, sentence):
    with pytest.raises(abers.errors.InvalidParameter, match=sentence):
        Dialect(**options)
