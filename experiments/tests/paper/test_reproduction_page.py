"""The page: well formed, escaped, self-contained, and honest about what is missing."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest

from experiments.paper.claims import FURTHER, SOURCES
from experiments.paper.data import SHA256
from experiments.paper.reproduction import Findings
from experiments.paper.reproduction_page import (
    comparison_tables,
    drawings,
    method_tables,
    page,
    paired_tables,
    verdicts_sentence,
)
from experiments.paper.run import PairedError
from experiments.paper.studies import Studies
from experiments.paper.studies.artificial_data import SvmRun, Timing
from experiments.paper.studies.many_classes import ManyClasses
from experiments.paper.studies.validity import Group, Validity
from made_records import ALL_METHODS, finished, results

VOID = {"meta", "img", "source", "br"}
HOSTILE = "<script>alert(1)</script> & \"quoted\" 'single'"


class Checker(HTMLParser):
    """Collect the tree's troubles, addresses and text."""

    def __init__(self):
        super().__init__()
        self.open, self.troubles, self.addresses, self.tags = [], [], [], []
        self.text = []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        for name, value in attributes:
            if name in {"src", "href", "srcset", "action", "style"}:
                self.addresses.append(value)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.troubles.append(tag)

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def found():
    losses = dict.fromkeys(ALL_METHODS, (0.5, 0.4)) | {"isotonic": (float("inf"), 0.4)}
    once = {m: x for m, x in losses.items() if "cross" not in m and m != "CVAP"}
    table = {("adult-5000", "tree", "4:1"): losses}
    table |= {("german", "tree", ratio): losses for ratio in ("1:1", "4:1")}
    table |= {
        ("german", "tree", "all"): once,
        ("adult-permuted", "tree", "9:1"): losses,
    }
    studies = Studies(
        machines=(SvmRun(100, 0.5, 0.71, 0.8, 0.75, 0.75),),
        timings=(Timing(1_000, 1e-5, 1e-4, 1e-4, 1e-4, 1e-4, 1e-9, 1e-3, 1e-3, 1e-3),),
        classes=(
            ManyClasses("digits", 10, "tree", "CVAP", "ovo", 0.4, 0.4, 0.9, 1.0),
            ManyClasses("digits", 10, "tree", "IVAP", "ovo", 0.5, 0.5, 0.9, 1.0),
            ManyClasses("digits", 10, "tree", "underlying", "", 0.5, 0.5, 0.9, 1.0),
        ),
        validity=(
            Validity("exchangeable", 20, 9, (Group(0.5, 0.6, 9, 1.0),), 1.0, 0.3),
        ),
    )
    return Findings("quick", "scikit-learn", finished(results(table)), studies)


@pytest.fixture(scope="module")
def text(found):
    return page(found)


@pytest.fixture(scope="module")
def checked(text):
    checker = Checker()
    checker.feed(text)
    return checker


def test_every_tag_is_closed_where_it_should_be(checked):
    assert checked.troubles == []
    assert checked.open == []


def test_nothing_is_loaded_from_outside(text, checked):
    assert checked.addresses
    assert all(a.startswith("data:image/svg+xml,") for a in checked.addresses)
    assert "script" not in checked.tags
    assert "link" not in checked.tags
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert f'content="{policy}"' in text
    outside = set(re.findall(r"https?:[^\s'\"%]*", text))
    assert {address.split("/")[2] for address in outside} <= {"www.w3.org"}  # names


def test_each_picture_is_there_in_both_themes_with_words(text, checked):
    pictures = re.findall(r"<img [^>]*alt=\"([^\"]+)\"", text)
    assert len(pictures) == text.count("<source ") == checked.tags.count("figure")
    # german, wide; validity, widths, sigmoid, time, entropies
    assert len(pictures) == 2 + 2 + 5
    assert len(set(pictures)) == len(pictures)


def test_every_claim_is_shown_with_its_verdict(found, checked):
    shown = " ".join(" ".join(checked.text).split())
    for claim in found.claims:
        assert claim.says in shown
        assert claim.evidence in shown
    assert verdicts_sentence(found) in shown


def test_the_page_says_when_a_claim_is_mixed_and_when_it_fails(checked):
    shown = " ".join(" ".join(checked.text).split())
    assert "does not hold is mixed if" in shown
    assert "otherwise it fails." in shown


def test_all_methods_are_shown_on_the_rows_of_the_tables(found):
    for table in method_tables(found):
        assert table.head == ("method", "J48 (here: tree)")
        assert {row[0] for row in table.rows} == set(ALL_METHODS)
        assert not [row for row in table.rows if "-" in row[1:]]


def test_what_was_not_run_is_said(checked):
    shown = " ".join(checked.text)
    assert "neural network" in shown
    assert "tasks: adult, covertype, insurance, bank, spambase" in shown


def test_infinite_losses_are_shown_as_infinite(found):
    first, second = comparison_tables(found)
    tree = [row for row in first.rows if row[0] == "J48 (here: tree)"]
    assert [row[1] for row in tree] == ["paper", "ours", "difference"]
    assert [row[3] for row in tree] == ["∞", "∞", "same"]
    assert [row[3] for row in second.rows][:3] == ["0.4378", "0.4000", "−0.0378"]  # noqa: RUF001
    assert ("SVM", "ours", *["not run"] * 4) in first.rows


def test_text_from_elsewhere_stays_text(found):
    text = page(replace(found, engine=HOSTILE, studies=Studies()))
    assert HOSTILE not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    checker = Checker()
    checker.feed(text)
    assert checker.troubles == []
    assert "script" not in checker.tags


def test_a_page_of_nothing_is_a_page():
    text = page(Findings("tables", "scikit-learn", ()))
    checker = Checker()
    checker.feed(text)
    assert checker.troubles == checker.open == []
    assert "Tables 1 and 2 were not run." in " ".join(checker.text)


def test_verdicts_of_the_paper_of_notes_and_of_ours_are_counted_apart(found):
    counted = verdicts_sentence(found).split(". ")
    assert len(counted) == 3
    for sentence, source in zip(counted, SOURCES, strict=True):
        numbers = [int(n) for n in re.findall(r"\d+", sentence)]
        claims = [claim for claim in found.claims if claim.source == source]
        assert numbers[0] == len(claims) == sum(numbers[1:])


def test_the_page_names_the_paper_and_what_has_run(found, checked):
    shown = " ".join(" ".join(checked.text).split())
    assert "Vladimir Vovk, Ivan Petej, and Valentina Fedorova" in shown
    assert "NIPS 2015" in shown
    assert "arXiv:1511.00213" in shown
    assert found.commit in shown
    assert SHA256["adult.data"] in shown
    assert SHA256["german.data"] in shown
    assert datetime.now(UTC).date().isoformat() in shown


def test_claims_of_the_paper_are_quoted_with_their_place(found, checked):
    shown = " ".join(" ".join(checked.text).split())
    for claim in found.claims:
        assert claim.source in SOURCES
        assert claim.place in shown
        assert claim.place.startswith("Asked") == (claim.source == FURTHER)
        assert claim.quote in shown
    quoted = [claim for claim in found.claims if claim.quote]
    assert len(quoted) > 40


def test_figures_have_the_numbers_of_the_paper(found):
    told = {one.name: one.sentence for one in drawings(found)}
    assert told["german-log"].startswith("Figure 11 of the paper. Log loss on german")
    assert told["adult-permuted-brier"].startswith("Figure 14 of the paper.")


def test_differences_have_paired_standard_errors(found):
    unit = found.finished[0]
    error = PairedError("IVAP", "Platt", 0.0012, 0.0034)
    known = replace(found, finished=(replace(unit, errors=(error,)),))
    log, brier = paired_tables(known)
    assert log.rows[0][2].endswith("± 0.0012")
    assert brier.rows[0][2].endswith("± 0.0034")
    assert "±" not in log.rows[0][1]  # CVAP and IVAP: not known
