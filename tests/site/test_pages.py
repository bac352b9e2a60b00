"""The pages of the repository become pages of the site."""

import re
from decimal import Decimal
from pathlib import Path

import check_links
import how_it_works
import pytest
import site_pages

ROOT = Path(__file__).parents[2]


def turned(text, source="docs/guide.md"):
    return site_pages.on_site(text, source, site_pages.places())


def test_links_between_pages_follow_them_to_their_places():
    assert turned("[x](production.md#groups)") == "[x](production.md#groups)"
    assert turned("[x](../benchmarks/BAND.md)") == "[x](benchmarks/band.md)"
    assert turned("[x](docs/guide.md)", "CHANGELOG.md") == "[x](guide.md)"
    assert turned("[x](../ARCHITECTURE.md)") == "[x](architecture.md)"
    record = "docs/decisions/0001-kernel-and-specification.md"
    assert turned("[x](../../benchmarks/README.md)", record) == (
        "[x](../benchmarks/index.md)"
    )


def test_links_elsewhere_and_code_stay():
    for text in ("[x](https://a.org/b.md)", "[x](#here)", "```\n[x](nowhere.md)\n```"):
        assert turned(text) == text


def test_a_link_to_what_is_not_there_is_refused():
    with pytest.raises(SystemExit, match=r"links to nowhere\.md, which is not there"):
        turned("[x](nowhere.md)")


def test_pictures_follow_the_theme_of_the_site():
    page = (ROOT / "docs" / "gallery.md").read_text()
    pictures = page.count("<picture>")
    made = turned(page, "docs/gallery.md")
    assert pictures > 0
    assert "<picture>" not in made
    for theme in ("light", "dark"):
        assert made.count(f":class: only-{theme}\n") == pictures
    page = (ROOT / "docs" / "how-it-works.md").read_text()
    made = turned(page, "docs/how-it-works.md")
    assert made.count(":class: only-dark\n") == page.count("<picture>")


def test_every_page_is_in_the_user_guide_or_in_the_menu():
    where = site_pages.places()
    guide = site_pages.guide_page(where)
    menu = (ROOT / "docs" / "index.md").read_text() + site_pages.project_page()
    for path in (ROOT / "docs").glob("*.md"):
        if path.stem != "index":
            assert re.search(
                rf"^{path.stem}$|<{path.stem}>", guide + menu, re.MULTILINE
            )


def test_a_page_that_is_listed_nowhere_comes_last():
    guide = site_pages.guide_page({"docs/new.md": "new.md"})
    assert ":caption: More\n:maxdepth: 2\n\nnew\n" in guide


def test_tables_of_the_landing_page_have_the_measured_numbers():
    speed = (ROOT / "benchmarks" / "README.md").read_text()
    rows = re.findall(
        r"^\| ([^|]+) \| ([^|]+) \|", site_pages.speed_table(), re.MULTILINE
    )
    assert len(rows) == 6
    for title, time in rows[1:]:
        assert f"| {time} (" in speed, title
    study = (ROOT / "experiments" / "accuracy" / "ACCURACY.md").read_text()
    head, _, *rows = site_pages.accuracy_table().splitlines()
    assert len(rows) == 5
    assert head.count("|") == 8
    for row in rows:
        *by_classifier, many = re.findall(r"(?<=\| )[-+\d.]+(?= \|)", row)
        assert len(by_classifier) == 5, row
        for loss in by_classifier:
            assert f" / {loss} |" in study, row
        assert f"| {many} ± " in study, row


STUDY = "experiments/accuracy/ACCURACY.md"


def columns_of_study(heading, column):
    """Return one column of a table of the study, by the names of its rows."""
    head, *rows = site_pages.table_of(STUDY, heading)
    return {row[0].strip("*"): row[head.index(column)] for row in rows}


def one_line(path):
    return " ".join((ROOT / path).read_text().split())


def test_readme_quotes_the_numbers_that_were_measured():
    readme = one_line("README.md")
    two = columns_of_study("### K models, two classes: differences", "log loss")
    many = columns_of_study("### K models, many classes: differences", "log loss")

    def quoted(difference, digits):
        mean, error = (Decimal(part) / 10_000 for part in difference.split(" ± "))
        return f"{-mean:.{digits}f} ± {error:.{digits}f}"

    peers = [
        f"{name} (scikit-learn)" for name in ("sigmoid", "temperature", "isotonic")
    ]
    first, second, third = (quoted(two[peer], 4) for peer in peers)
    assert f"by {first} than its sigmoid, by {second} than its temperature" in readme
    assert f"by {third} than its isotonic regression" in readme
    first, second, third = (quoted(many[peer], 3) for peer in peers)
    assert f"Three to twenty classes: by {first}, {second} and {third}." in readme
    shares = [
        columns_of_study(f"## K models, {classes} classes", "infinite")[peers[2]]
        for classes in ("two", "many")
    ]
    assert "happened in {} and {} of".format(*shares).replace("%", " %") in readme
    wins = columns_of_study("## Post hoc, two classes", "log loss: win rate")
    stacked, plain = (f"{float(wins[name]):.2f}"[1:] for name in ("stacked", "IVAP"))
    assert f"it beats {stacked} of the other methods" in readme
    assert f"the plain one {plain}" in readme
    times = dict(
        re.findall(
            r"^\| (.+?) \|.*\| (.+?) \|$", site_pages.speed_table(), re.MULTILINE
        )
    )
    million = times["venn-abers"], times["**abers**, exact"]
    assert "takes {} there and {} here".format(*million) in readme


@pytest.mark.parametrize(
    ("classes", "method", "sentence"),
    [
        ("two", "stacked", "beats on average {} of the other {} methods with two"),
        ("two", "beta (betacal)", "(the best peer, beta calibration, {})"),
        ("many", "stacked", "and {} of {} with more"),
        ("many", "SMS", "(structured matrix scaling {})"),
    ],
)
def test_guide_quotes_the_win_rates_of_the_study(classes, method, sentence):
    """Its differences are held by experiments/tests/accuracy."""
    wins = columns_of_study(f"## Post hoc, {classes} classes", "log loss: win rate")
    quoted = sentence.format(f"{float(wins[method]):.2f}"[1:], len(wins) - 1)
    assert quoted in one_line("docs/guide.md")


def test_a_table_that_is_gone_is_an_error():
    with pytest.raises(SystemExit, match="has no table after '### abnormal'"):
        site_pages.table_of("benchmarks/README.md", "### abnormal")


def test_pictures_of_how_it_works_are_those_that_its_script_draws():
    made = how_it_works.pictures()
    folder = ROOT / "docs" / "how-it-works"
    assert {path.name for path in folder.iterdir()} == set(made)
    page = (ROOT / "docs" / "how-it-works.md").read_text()
    assert set(re.findall(r"how-it-works/([\w-]+\.svg)", page)) == set(made)

    def words(picture):
        return re.findall(r"<text [^>]*>(.*?)</text>", picture)

    for name, picture in made.items():
        assert words((folder / name).read_text()) == words(picture)


PICTURES = sorted((ROOT / "docs").glob("[!_]*/*.svg"))
TELEPHONE = 360  # CSS pixels that a picture gets on a narrow screen


@pytest.mark.parametrize(
    "path", PICTURES, ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_text_of_a_picture_has_eleven_pixels_on_a_telephone(path):
    picture = path.read_text()
    width = float(re.search(r'viewBox="0 0 ([\d.]+) ', picture)[1])
    sizes = re.findall(r"font(?:-size)?: ?([\d.]+)px", picture)
    assert sizes
    assert min(map(float, sizes)) * TELEPHONE / width >= 10.9


def test_broken_links_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<a href="b.html#here">1</a><a href="b.html#there">2</a><img src="c.png">'
        '<a href="https://a.org/#x">3</a><a href="#top">4</a><p id="top">'
    )
    (tmp_path / "b.html").write_text('<p id="here"><a href="a.html">back</a>')
    assert check_links.broken(tmp_path) == [
        "a.html: b.html#there has no such place",
        "a.html: c.png is not there",
    ]
