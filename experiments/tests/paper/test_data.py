"""Raw files become tables, and only the right files do."""

import gzip
import shutil
import zlib
from pathlib import Path

import numpy as np
import pytest

from abers.errors import AbersError, InvalidData
from experiments.paper import data, tasks
from experiments.paper.data import table_of


def column(table, name):
    return next(c for c in table.columns if c.name == name)


def copied(data_folder, tmp_path, change=lambda content: content, suffix=""):
    """Write german.data as another user may have it."""
    content = data.read_files(data.GERMAN, data_folder)[0]
    folder = tmp_path / "german"
    folder.mkdir()
    (folder / f"german.data{suffix}").write_bytes(change(content))
    return tmp_path


@pytest.mark.parametrize("name", data.READERS)
def test_a_missing_set_is_one_sentence_that_says_where_to_get_it(name, tmp_path):
    source, _ = data.READERS[name]
    with pytest.raises(AbersError, match="UCI Machine Learning Repository") as caught:
        data.load(name, tmp_path)
    message = str(caught.value)
    assert source.title in message
    assert f"archive.ics.uci.edu/dataset/{source.number}" in message
    assert all(f"{source.folder}/{name}" in message for name in source.files)
    assert repr(str(tmp_path)) in message


def test_all_missing_sets_are_named_in_one_sentence(data_folder, tmp_path):
    folder = copied(data_folder, tmp_path)
    with pytest.raises(AbersError) as caught:
        data.verify(["spambase", "german", "bank"], folder)
    message = str(caught.value)
    assert "spambase/spambase.data" in message
    assert "bank/bank-full.csv" in message
    assert "german" not in message  # it is there


def test_a_folder_of_data_that_is_none_is_named(tmp_path):
    for wrong in (tmp_path / "typo", tmp_path / "file"):
        (tmp_path / "file").touch()
        with pytest.raises(AbersError, match=r"is no folder\..* by --data") as caught:
            data.verify(["german"], wrong)
        assert repr(str(wrong)) in str(caught.value)


def test_verifying_looks_into_the_files(data_folder, tmp_path):
    data.verify(["german"], data_folder)
    folder = copied(data_folder, tmp_path, lambda content: content[:-1])
    with pytest.raises(AbersError, match="byte for byte"):
        data.verify(["german"], folder)


def test_only_the_files_that_are_missing_are_named(data_folder, tmp_path):
    found = next(Path(data_folder, "insurance").glob("ticdata2000.txt*"))
    (tmp_path / "insurance").mkdir()
    shutil.copy(found, tmp_path / "insurance")
    assert data.missing_files(data.INSURANCE, tmp_path) == [
        "ticeval2000.txt",
        "tictgts2000.txt",
    ]


def test_packed_files_and_other_line_ends_are_the_same_data(data_folder, tmp_path):
    expected = data.load("german", data_folder)
    folder = copied(
        data_folder,
        tmp_path,
        lambda content: gzip.compress(content.replace(b"\n", b"\r\n")),
        ".gz",
    )
    found = data.load("german", folder)
    np.testing.assert_array_equal(found.labels, expected.labels)
    for ours, theirs in zip(found.columns, expected.columns, strict=True):
        np.testing.assert_array_equal(ours.values, theirs.values)


def test_a_changed_byte_is_refused(data_folder, tmp_path):
    folder = copied(
        data_folder, tmp_path, lambda content: content.replace(b"A11", b"A12", 1)
    )
    with pytest.raises(AbersError, match=r"german\.data must be UCI's file, byte for"):
        data.load("german", folder)


def test_a_damaged_archive_is_refused(data_folder, tmp_path):
    folder = copied(data_folder, tmp_path, lambda _: b"no archive", ".gz")
    with pytest.raises(AbersError, match=r"german\.data\.gz must be a gzip file"):
        data.load("german", folder)


def test_a_flipped_byte_anywhere_in_an_archive_is_refused(data_folder, tmp_path):
    """Deflate notices some before the checksum does, and says so in its own way."""
    folder = copied(data_folder, tmp_path, gzip.compress, ".gz")
    path = folder / "german" / "german.data.gz"
    whole = path.read_bytes()
    causes = set()
    for place in range(20, len(whole), len(whole) // 20):
        flipped = bytearray(whole)
        flipped[place] ^= 0xFF
        path.write_bytes(flipped)
        with pytest.raises(
            AbersError, match=r"gz must be a gzip file.*again"
        ) as caught:
            data.load("german", folder)
        causes.add(type(caught.value.__cause__))
    assert zlib.error in causes


def test_rows_of_different_lengths_are_refused():
    with pytest.raises(InvalidData, match=r"2 attributes; got \[1, 2\]"):
        table_of(["a", "b"], set(), [["1", "2"], ["3"]], np.array([0, 1]))


def test_adult_has_the_missing_values_that_its_description_counts(data_folder):
    table = data.load("adult", data_folder)
    missing = {c.name: int((c.values == -1).sum()) for c in table.columns}
    assert {name: count for name, count in missing.items() if count > 5} == {
        "workclass": 2_799,
        "occupation": 2_809,
        "native-country": 857,
    }
    assert table.labels[:32_561].sum() == 7_841


def test_tables_have_as_many_numbers_and_names_as_they_should(data_folder):
    kinds = {}
    for name in data.READERS:
        table = data.load(name, data_folder)
        names = sum(c.is_nominal for c in table.columns)
        kinds[name] = (table.n_rows, len(table.columns) - names, names)
    assert kinds == {
        "adult": (48_842, 6, 8),
        "covertype": (30_000, 10, 44),
        "insurance": (9_822, 83, 2),
        "bank": (45_211, 7, 9),
        "spambase": (4_601, 57, 0),
        "german": (1_000, 7, 13),
    }


def test_rows_of_covertype_are_a_sample_of_all(data_folder):
    """In the file's first rows every class is equally frequent."""
    labels = data.load("covertype", data_folder).labels
    shares = np.bincount(labels) / labels.size
    expected = np.array(data.COVERTYPE.class_counts) / data.COVERTYPE.n_rows
    np.testing.assert_allclose(shares, expected, atol=0.01)


def test_splits_are_those_of_the_paper(data_folder):
    sizes = {}
    for name in (*tasks.SIX, "adult-5000", "adult-permuted", "bank-file-order"):
        task = tasks.load(name, data_folder)
        ones = task.table.labels[task.test].mean()
        sizes[name] = (task.n_train, task.test.size, round(float(ones), 2))
    assert sizes == {
        "adult": (32_561, 16_281, 0.24),
        "covertype": (5_000, 25_000, 0.48),
        "insurance": (6_548, 3_274, 0.06),
        "bank": (30_140, 15_071, 0.12),
        "spambase": (3_067, 1_534, sizes["spambase"][2]),
        "german": (666, 334, 0.29),
        "adult-5000": (5_000, 43_842, 0.24),
        "adult-permuted": (32_561, 16_281, 0.24),
        "bank-file-order": (30_140, 15_071, 0.25),
    }
    assert 0.35 < sizes["spambase"][2] < 0.45  # file order would leave no spam to test
