"""One Chromium for all tests: that of the system, headless."""

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"


@pytest.fixture(scope="session")
def browser():
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.fail("these tests look at pages in Chromium; install it: chromium")
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as engine:
        opened = engine.chromium.launch(
            executable_path=chromium,
            args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
        )
        yield opened
        opened.close()


@pytest.fixture
def look(browser):
    """Open a file, and return the page with what went wrong and what it asked for."""
    contexts = []

    def open_page(path, *, width=1400, scheme="light"):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme
        )
        contexts.append(context)
        page = context.new_page()
        troubles, requests = [], []
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_load_state("networkidle")
        return page, troubles, requests

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture
def screenshot():
    """Keep what a page looks like, for people to see."""

    def keep(page, name):
        page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)

    return keep
