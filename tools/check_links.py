"""Follow the links of the site, those within it: each must lead to a page and a place.

`python tools/check_links.py [folder]` reads every page of `build/site`. What leads out
of the site is not asked for, so that the result does not depend on others.
"""

from __future__ import annotations

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

SITE = Path(__file__).parent.parent / "build" / "site"
LINKS = {"a": "href", "img": "src", "link": "href", "script": "src", "source": "srcset"}


class Page(HTMLParser):
    """What a page links to, and the places in it that others may link to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect identifiers and links."""
        given = dict(attrs)
        self.places.update(filter(None, (given.get("id"), given.get("name"))))
        target = given.get(LINKS.get(tag, ""))
        if target:
            self.links.add(target)


@cache
def page_at(path: Path) -> Page:
    """Read a page once."""
    return Page(path.read_text(encoding="utf-8"))


def has_place(target: Path, place: str) -> bool:
    """Return whether a page has this anchor; other files have none."""
    return not place or target.suffix != ".html" or place in page_at(target).places


def broken(site: Path) -> list[str]:
    """Return a line for each link that leads nowhere."""
    found = []
    for path in sorted(site.rglob("*.html")):
        if "_static" in path.relative_to(site).parts:
            continue  # of the theme
        for link in sorted(page_at(path).links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)) if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            name = path.relative_to(site)
            if not target.exists():
                found.append(f"{name}: {link} is not there")
            elif not has_place(target.resolve(), unquote(parts.fragment)):
                found.append(f"{name}: {link} has no such place")
    return found


def main() -> None:
    """Print what is broken, and fail if anything is."""
    site = Path(sys.argv[1]) if len(sys.argv) > 1 else SITE
    found = broken(site)
    pages = sum(1 for _ in site.rglob("*.html"))
    print(*found, f"{pages} pages, {len(found)} broken links.", sep="\n")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
