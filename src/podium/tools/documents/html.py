"""HTML: the text that a person would read, and what the page says about itself."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any, cast

from podium.tools.documents.document import Document, kept
from podium.tools.page import read_page

_TITLES = ("og:title", "citation_title", "dc.title", "dcterms.title")
_DATES = (
    "article:published_time", "citation_publication_date", "citation_date", "dc.date", "dcterms.date",
    "dcterms.created", "date", "publish_date", "published", "datepublished",
)  # fmt: skip
_AUTHORS = ("citation_author", "author", "article:author", "dc.creator", "dcterms.creator", "byl")
_MAX_META = 500
_PERMALINK = re.compile(r"[ \t]*[¶\uf0c1][ \t]*$", re.MULTILINE)
"""The sign behind a heading that links to it, as Sphinx and MkDocs write it."""


def read_html(source: str) -> Document:
    """The article of a page. Its own words about date and authors are taken as they are: claims."""
    page = read_page(source, "text/html")
    about = _About()
    about.feed(source[:500_000])
    title = about.first(_TITLES) or page.title or about.heading
    return kept(
        _PERMALINK.sub("", page.text),
        _PERMALINK.sub("", title),
        about.first(_DATES) or about.time,
        about.authors(),
    )


class _About(HTMLParser):
    """The fields of `meta`, the first heading and time, and the date and authors of embedded JSON-LD."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.fields: dict[str, list[str]] = {}
        self.time = self.heading = ""
        self._inside = self._data = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "meta" and len(self.fields) < _MAX_META:
            name = given.get("name") or given.get("property") or given.get("itemprop") or ""
            self._add(name.lower(), given.get("content", ""))
        elif tag == "time" and not self.time:
            self.time = given.get("datetime", "")
        elif tag == "h1" and not self.heading:
            self._inside, self._data = "h1", ""
        elif tag == "script" and given.get("type", "").lower() == "application/ld+json":
            self._inside, self._data = "script", ""

    def handle_data(self, data: str) -> None:
        if self._inside and len(self._data) < 100_000:
            self._data += data

    def handle_endtag(self, tag: str) -> None:
        if tag == self._inside == "h1":
            self.heading = " ".join(self._data.split())
        elif tag == self._inside == "script":
            self._linked()
        if tag == self._inside:
            self._inside = ""

    def first(self, names: tuple[str, ...]) -> str:
        return next((value[0] for name in names if (value := self.fields.get(name))), "")

    def authors(self) -> list[str]:
        """Of the strongest field that names any; an address is no name."""
        for name in _AUTHORS:
            if told := [one for one in self.fields.get(name, []) if not re.match(r"https?://", one)]:
                return told
        return []

    def _add(self, name: str, value: str) -> None:
        if name and value.strip():
            self.fields.setdefault(name, []).append(value.strip()[:1_000])

    def _linked(self) -> None:
        try:
            data: Any = json.loads(self._data)
        except (ValueError, RecursionError):  # not for us
            return
        for entry in cast("list[Any]", data if isinstance(data, list) else [data])[:20]:
            fields = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
            self._add("datepublished", str(fields.get("datePublished") or ""))
            author: Any = fields.get("author")
            for one in cast("list[Any]", author if isinstance(author, list) else [author])[:20]:
                name = cast("dict[str, Any]", one).get("name") if isinstance(one, dict) else one
                self._add("author", name if isinstance(name, str) else "")
