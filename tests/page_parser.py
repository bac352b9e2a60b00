"""A page as a parser sees it."""

from html.parser import HTMLParser


class Page(HTMLParser):
    """Check that tags close, and keep the cells of tables and the headings."""

    VOID = ("meta", "img", "source", "br")

    def __init__(self, text):
        super().__init__()
        self.open, self.rows, self.headings, self.attributes = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag == "tr":
            self.rows.append([])
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in {"th", "td"}:
            self.rows[-1].append(data)
        if self.open and self.open[-1] in {"h1", "h2"}:
            self.headings.append(data)
