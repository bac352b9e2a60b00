"""The pages as a browser shows them: Chromium, headless."""

import numpy as np
import pytest
from scipy.special import expit

import abers
from abers.comparison import compare
from abers.evaluation.evaluate import evaluate
from abers.storage.fingerprint import TAG, fingerprint_of

HOSTILE = [
    "\"quoted\" & 'single' <b>bold</b>",
    "<script>document.title = 'owned'</script>",
    '"><img src=x onerror="document.title=\'owned\'">',
    "émoji 🎲 and $math$ \\frac",
    "x" * 10_000,
    "two\nlines\tand a \u202eturn",
]


def draw(size, rng):
    """Scores that say too much: their log-odds are twice what they should be."""
    margin = rng.normal(size=size)
    labels = (rng.uniform(size=size) < expit(margin - 1)).astype(int)
    return expit(2 * margin - 0.5), labels


def many_classes(rng):
    """Evaluate thirty classes, some with names that nobody should give them."""
    names = [*HOSTILE, *(f"class {number}" for number in range(24))]
    p = rng.dirichlet(np.full(30, 0.3), 4000)
    places = (rng.uniform(size=4000)[:, None] > p.cumsum(axis=1)).sum(axis=1)
    y = [names[place] for place in places.clip(0, 29)]
    groups = rng.choice(HOSTILE, 4000)
    return evaluate(None, p, y, before=p[:, ::-1], classes=names, groups=groups)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    rng = np.random.default_rng(0)
    scores, labels = draw(4000, rng)
    fresh, happened = draw(4000, rng)
    rule = abers.fit_rule(scores, labels)
    own_rows = {TAG: fingerprint_of(scores, labels).to_text()}
    names = rng.choice(HOSTILE, 4000)
    comparison = compare(fresh, happened)
    made = {
        "report": evaluate(
            rule, fresh, happened, groups=names, comparison=comparison, name="churn"
        ),
        "own-rows": evaluate(rule.with_metadata(own_rows), scores, labels),
        "hostile": evaluate(rule, fresh, happened, groups=names, name=HOSTILE[1]),
        "one-row": evaluate(rule, fresh[:1], happened[:1]),
        "one-class": evaluate(rule, fresh, np.zeros(4000)),
        "probabilities": evaluate(None, fresh, happened),
        "comparison": comparison,
        "many-classes": many_classes(rng),
    }
    for name, evaluation in made.items():
        title = HOSTILE[2] if name == "hostile" else None
        evaluation.to_html(folder / f"{name}.html", title=title)
    return folder


NAMES = [
    "report",
    "own-rows",
    "hostile",
    "one-row",
    "one-class",
    "probabilities",
    "comparison",
    "many-classes",
]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("name", NAMES)
def test_page_opens_without_trouble_and_fits(  # noqa: PLR0917
    pages, look, screenshot, name, width, scheme
):
    page, troubles, requests = look(pages / f"{name}.html", width=width, scheme=scheme)
    screenshot(page, f"{name}-{width}-{scheme}")
    assert troubles == []
    outside = [url for url in requests if not url.startswith(("data:", "file:"))]
    assert outside == []
    assert sum(url.startswith("file:") for url in requests) == 1  # the page itself
    widths = page.evaluate(
        "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert widths[0] <= widths[1]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", NAMES)
def test_every_picture_is_seen_in_its_theme(pages, look, name, scheme):
    page, _, _ = look(pages / f"{name}.html", scheme=scheme)
    pictures = page.evaluate(
        """[...document.images].map(image => ({
            loaded: image.complete && image.naturalWidth > 0,
            width: image.getBoundingClientRect().width,
            dark: image.currentSrc !== image.src,
            alt: image.alt,
        }))"""
    )
    assert len(pictures) >= 1
    for picture in pictures:
        assert picture["loaded"]
        assert picture["width"] > 300
        assert picture["dark"] == (scheme == "dark")
        assert picture["alt"]


# Every text of a picture, as large as the page shows it.
TYPE = """() => [...document.images].flatMap(image => {
    const start = "data:image/svg+xml,".length;
    const source = decodeURIComponent(image.currentSrc.slice(start));
    const holder = document.createElement("div");
    holder.style.width = `${image.getBoundingClientRect().width}px`;
    document.body.append(holder);
    holder.innerHTML = source;
    const picture = holder.querySelector("svg");
    picture.setAttribute("width", "100%");
    picture.removeAttribute("height");
    const sizes = [...picture.querySelectorAll("text")].map(text => {
        const matrix = text.getScreenCTM();
        const scale = Math.hypot(matrix.a, matrix.b);
        return scale * parseFloat(getComputedStyle(text).fontSize);
    });
    holder.remove();
    return sizes;
})"""


@pytest.mark.parametrize("width", [700, 1000, 1400])
@pytest.mark.parametrize("name", ["report", "hostile", "comparison"])
def test_type_in_pictures_is_large_enough_to_read(pages, look, name, width):
    """On narrower screens pictures shrink, and their type with them."""
    page, _, _ = look(pages / f"{name}.html", width=width)
    sizes = page.evaluate(TYPE)
    assert len(sizes) > 20
    assert 11 <= min(sizes) <= max(sizes) <= 18


@pytest.mark.parametrize("name", ["report", "hostile", "comparison"])
def test_numbers_of_tables_are_seen_on_a_narrow_screen(pages, look, name):
    page, _, _ = look(pages / f"{name}.html", width=400)
    cells = page.evaluate(
        """[...document.querySelectorAll("tbody th, tbody td")].map(cell => {
            const range = document.createRange();
            range.selectNodeContents(cell);
            const { left, right, height } = range.getBoundingClientRect();
            return { left, right, height, outer: cell.closest(".wide").scrollWidth };
        })"""
    )
    assert len(cells) > 20
    for cell in cells:
        assert cell["height"] > 10
        assert 0 <= cell["left"] < cell["right"] <= 400
        assert cell["outer"] <= 400


def test_cells_are_labelled_on_a_narrow_screen_only(pages, look):
    shown = """getComputedStyle(document.querySelector("td"), "::before").content"""
    page, _, _ = look(pages / "report.html", width=400)
    assert page.evaluate(shown) == '"log loss"'
    page, _, _ = look(pages / "report.html", width=1400)
    assert page.evaluate(shown) == "none"


def test_tables_and_figures_stand_in_two_columns_on_a_wide_screen(pages, look):
    page, _, _ = look(pages / "report.html", width=1400)
    for container in (".tables > *", ".figures > *"):
        first, second = page.evaluate(
            f"""[...document.querySelectorAll("{container}")].slice(0, 2)
                .map(item => item.getBoundingClientRect().toJSON())"""
        )
        assert first["top"] == second["top"]
        assert second["right"] > 1300


def test_user_text_stays_text(pages, look):
    page, _, _ = look(pages / "hostile.html")
    assert page.title() == HOSTILE[2]
    assert page.locator("h1").inner_text() == HOSTILE[2]
    assert page.locator("script, b, img[src=x]").count() == 0
    cells = page.locator("tbody th").all_inner_texts()
    assert any(cell.startswith("<script>") for cell in cells)
    assert max(map(len, cells)) < 200


def test_paper_gets_the_light_pictures(pages, look, screenshot):
    page, _, _ = look(pages / "report.html", scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("[...document.images].every(i => i.currentSrc === i.src)")
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == "rgb(255, 255, 255)"
    screenshot(page, "report-print")


def test_rows_of_the_fit_are_marked_in_red(pages, look):
    page, _, _ = look(pages / "own-rows.html")
    warning = page.locator(".warning")
    assert "rows that the predictor was fitted to" in warning.inner_text()
    red, green, blue = page.evaluate(
        """getComputedStyle(document.querySelector(".warning")).color
            .match(/\\d+/g).map(Number)"""
    )
    assert red > 2 * max(green, blue)
