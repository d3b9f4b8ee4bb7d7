"""HTML: the text that a person would read, and what the page says about itself."""

from __future__ import annotations

import json
import re
from typing import Any, cast

from podium.tools.documents.document import Document, kept
from podium.tools.page import Element, content, parse, title_of

_TITLES = ("og:title", "citation_title", "dc.title", "dcterms.title")
_DATES = (
    "article:published_time", "citation_publication_date", "citation_date", "dc.date", "dcterms.date",
    "dcterms.created", "date", "publish_date", "published", "datepublished",
)  # fmt: skip
_AUTHORS = ("citation_author", "author", "article:author", "dc.creator", "dcterms.creator", "byl")
_MAX_META = 500
_MAX_LINKED = 100_000
_PERMALINK = re.compile(r"[ \t]*[¶\uf0c1][ \t]*$", re.MULTILINE)
"""The sign behind a heading that links to it, as Sphinx and MkDocs write it."""


def read_html(source: str) -> Document:
    """Return the content of a page. Its own words about date and authors are taken as they are: claims."""
    tree = parse(source)
    if tree is None:
        return kept("")
    about = _About(tree)
    title = about.first(_TITLES) or title_of(tree) or about.heading
    return kept(
        _without_permalinks(content(tree, source)),
        _without_permalinks(title),
        about.first(_DATES) or about.time,
        about.authors(),
    )


def _without_permalinks(text: str) -> str:
    return _PERMALINK.sub("", text) if "¶" in text or "\uf0c1" in text else text


class _About:
    """The fields of `meta`, the first heading and time, and the date and authors of embedded JSON-LD."""

    def __init__(self, tree: Element) -> None:
        self.fields: dict[str, list[str]] = {}
        self.time = self.heading = ""
        for element in tree.iter("meta", "time", "h1", "script"):
            self._take(element)

    def _take(self, element: Element) -> None:
        tag, given = element.tag, element.attrib
        if tag == "meta" and len(self.fields) < _MAX_META:
            name = given.get("name") or given.get("property") or given.get("itemprop") or ""
            self._add(name.lower(), given.get("content", ""))
        elif tag == "time" and not self.time:
            self.time = given.get("datetime", "")
        elif tag == "h1" and not self.heading:
            self.heading = " ".join("".join(element.itertext()).split())
        elif tag == "script" and given.get("type", "").lower() == "application/ld+json":
            self._linked((element.text or "")[:_MAX_LINKED])

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

    def _linked(self, source: str) -> None:
        try:
            data: Any = json.loads(source)
        except (ValueError, RecursionError):  # not for us
            return
        for entry in cast("list[Any]", data if isinstance(data, list) else [data])[:20]:
            fields = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
            self._add("datepublished", str(fields.get("datePublished") or ""))
            author: Any = fields.get("author")
            for one in cast("list[Any]", author if isinstance(author, list) else [author])[:20]:
                name = cast("dict[str, Any]", one).get("name") if isinstance(one, dict) else one
                self._add("author", name if isinstance(name, str) else "")
