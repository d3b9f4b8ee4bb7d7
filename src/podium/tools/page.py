"""The readable text of a page: the article that trafilatura finds, or else all visible text."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import msgspec
import trafilatura

_SILENT = frozenset(("script", "style", "noscript", "template", "svg", "head", "iframe", "object"))
_BLOCKS = frozenset(
    (
        "p",
        "div",
        "br",
        "li",
        "tr",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "section",
        "article",
        "pre",
        "table",
        "hr",
    )
)


class Page(msgspec.Struct, frozen=True):
    """What a person would read of it."""

    text: str
    title: str = ""


def read_page(source: str, content_type: str) -> Page:
    """HTML as text; anything else as it is."""
    if "html" not in content_type and not re.match(r"\s*<(!doctype html|html)", source, re.IGNORECASE):
        return Page(source)
    visible = VisibleText()
    visible.feed(source)
    visible.close()
    article = trafilatura.extract(source, include_links=False, include_comments=False) or ""
    every = visible.text()
    # Too little of a page that says much: it is no article, and its lists or tables are the content.
    return Page(article if len(article) * 5 >= len(every) else every, visible.title.strip())


class VisibleText(HTMLParser):
    """All text that is not code, a line a block."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self._pieces: list[str] = []
        self._silent = 0
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_title = tag == "title" and not self.title
        if tag == "body":
            self._silent = 0  # a head that was never closed
        elif tag in _SILENT:
            self._silent += 1
        elif tag in _BLOCKS:
            self._pieces.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self._in_title = False
        if tag in _SILENT:
            self._silent = max(0, self._silent - 1)
        elif tag in _BLOCKS:
            self._pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data
        elif not self._silent:
            self._pieces.append(data)

    def text(self) -> str:
        lines = (" ".join(line.split()) for line in "".join(self._pieces).splitlines())
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
