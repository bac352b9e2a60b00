"""The pages as a browser shows them: Chromium, headless."""

import numpy as np
import pytest
from scipy.special import expit

import abers
from abers.comparison import compare
from abers.evaluation.evaluate import evaluate

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
    names = rng.choice(HOSTILE, 4000)
    comparison = compare(fresh, happened)
    made = {
        "report": evaluate(
            rule, fresh, happened, groups=names, comparison=comparison, name="churn"
        ),
        "own-rows": evaluate(rule, scores, labels),
        "hostile": evaluate(rule, fresh, happened, groups=names, name=HOSTILE[1]),
        "one-row": evaluate(rule, fresh[:1], happened[:1]),
        "one-class": evaluate(rule, fresh, np.zeros(4000)),
        "probabilities": evaluate(None, fresh, happened),
        "comparison": comparison,
        "many-classes": many_classes(rng),
    }
    for name, found in made.items():
        title = HOSTILE[2] if name == "hostile" else None
        found.to_html(folder / f"{name}.html", title=title)
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
    assert "rows the rule was fitted to" in warning.inner_text()
    red, green, blue = page.evaluate(
        """getComputedStyle(document.querySelector(".warning")).color
            .match(/\\d+/g).map(Number)"""
    )
    assert red > 2 * max(green, blue)
