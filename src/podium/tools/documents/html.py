"""HTML reader."""

from __future__ import annotations

import json
import re
from collections.abc import Set
from functools import lru_cache
from importlib import import_module
from itertools import chain
from typing import Any, cast

from podium.tools.documents.document import Document, kept

etree: Any = import_module("lxml.etree")
"""lxml has no type stubs, so it is imported as `Any`."""
Element = Any

_SILENT = (
    "script",
    "style",
    "noscript",
    "template",
    "svg",
    "math",
    "iframe",
    "object",
    "canvas",
    "head",
    "button",
    "select",
    "textarea",
)
_BLOCKS = frozenset(
    """
    address article aside blockquote body br caption center dd details dialog div dl dt fieldset
    figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr legend li main nav ol p pre section
    summary table tbody tfoot thead tr ul
    """.split()
)
_CELLS = frozenset(("td", "th"))
_CONTAINERS = frozenset(("div", "section", "ul", "ol", "table", "form", "header", "footer", "aside", "p"))
_OUTER_TAGS = frozenset(("aside", "footer", "header"))
"""Tags that are boilerplate outside the content; inside it they hold notes and headings."""
_PRUNED_ROLES = frozenset(("navigation", "banner", "contentinfo", "search", "complementary", "dialog"))
_KEPT_TAGS = frozenset(("html", "body", "main", "article", "h1", "h2", "h3", "pre", "code", "dl", "dt", "dd"))
"""Tags that are never treated as boilerplate because of their class."""
_PRUNED_NAMES = re.compile(
    r"(?:^|[\s_-])(?:nav|navbar|navigation|navheader|navfooter|topnav|subnav|menu|breadcrumbs?|sidebar"
    r"|sphinxsidebar|sphinxsidebarwrapper|footer|masthead|headerlink|skip|skiplink|pagination|pager"
    r"|cookies?|consent|newsletter|subscribe|subscription|signup|share|sharing|social|related|recommended"
    r"|recirc|trending|promo|promoted|advert|advertisement|ads?|sponsored|comments?|disqus|popup|modal"
    r"|overlay|hidden|print-only|screen-reader-text|sr-only|visually-hidden|toolbar|byline-share|editsection"
    r"|catlinks|printfooter)(?:$|[\s_-])",
    re.IGNORECASE,
)
_CONTENT_NAMES = frozenset(
    """
    content main main-content maincontent main_content mw-content-text bodycontent article-body
    article_body articlebody article-content article__body story-body entry-content post-content
    post-body markdown-body rst-content documentwrapper
    """.split()
)
"""Ids and classes that site generators and CMSs use for the main content."""
_SMALLEST_SHARE = 0.2
"""Minimum share of the visible text outside links. An extracted article below it is not the content of the
page."""
_MARKED_SHARE = 0.4
"""Minimum share of the text outside boilerplate that a marked element must hold to count as the content."""
_PLAIN_SHARE = 0.6
"""Minimum share of the visible text outside boilerplate for a page without a marked element to be used as a
whole."""
_LINKED_SHARE = 0.4
_INDEX_SHARE = 0.75
"""Shares of the text inside links. A page below the first is prose, above the second a table of contents;
pages in between are not used as a whole."""
_DENSITY = 0.06
"""Minimum visible characters per character of source; pages of large web sites have fewer."""
_MOST_SCRIPTS = 10
_BREAK, _SPACE = "\x01", "\x02"
"""Placeholders for line breaks, and for spaces of preformatted text, until white space is normalized."""
_DECLARATION = re.compile(r"^\s*<\?xml[^>]{0,200}\?>")
_PARSER = etree.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=True)


def parse(source: str) -> Element | None:
    """Parse a page; None if it has no element."""
    clean = _DECLARATION.sub("", source).replace(_BREAK, "").replace(_SPACE, "")
    try:
        return etree.fromstring(clean.encode("utf-8", "replace"), parser=_PARSER)
    except etree.XMLSyntaxError:
        return None


def visible_text(source: str) -> str:
    """Return all text of a page or fragment, without scripts and other invisible elements."""
    tree = parse(source)
    return "" if tree is None else text_of(tree, set(tree.iter(*_SILENT)))


def title_of(tree: Element) -> str:
    title = next(tree.iter("title"), None)
    return " ".join("".join(title.itertext()).split()) if title is not None else ""


def content(tree: Element, source: str) -> str:
    """Return the text of the main content.

    A page that is mostly text, such as documentation, exports and blogs, is handled here in about a
    millisecond: the result is the element marked as the content, or everything except obvious menus and
    footers. For pages of large web sites, trafilatura extracts the article, which takes ten times as long.
    """
    body = next(tree.iter("body"), tree)
    silent = set[Any](body.iter(*_SILENT))
    visible = _length(body, silent)
    text = _plainly(tree, body, silent, visible) if visible >= len(source) * _DENSITY else None
    if text is None:
        text = _article(source)
    if len(text) >= visible * _SMALLEST_SHARE:
        return text
    unlinked = max(visible - _linked(body, silent), visible // 4)
    # If so little is left, the page is a list or a table.
    return text_of(body, silent) if len(text) < unlinked * _SMALLEST_SHARE else text


def _plainly(tree: Element, body: Element, silent: set[Any], visible: int) -> str | None:
    """Return the content of a page that is mostly text; None if it is not such a page."""
    if sum(1 for _ in tree.iter("script")) > _MOST_SCRIPTS:
        return None
    boilerplate = _boilerplate(body, visible) | silent
    rest = _length(body, boilerplate)
    marked = _marked(body)
    if marked is not None and _length(marked, boilerplate) >= max(rest * _MARKED_SHARE, 1):
        return text_of(marked, boilerplate)
    linked = _linked(body, boilerplate)
    is_plain = linked <= rest * _LINKED_SHARE or linked >= rest * _INDEX_SHARE
    return text_of(body, boilerplate) if is_plain and rest >= visible * _PLAIN_SHARE else None


def text_of(root: Element, skipped: Set[Any]) -> str:
    """Return the text of an element, one line for each block; preformatted text keeps its lines."""
    pieces: list[str] = []
    pre, bullet = 0, False
    walk = etree.iterwalk(root, events=("start", "end"))
    for event, element in walk:
        tag = element.tag
        if event == "start":
            if element in skipped:
                walk.skip_subtree()
                continue
            if tag in _BLOCKS:
                pieces.append(f"{_BREAK}- " if tag == "li" else "" if bullet else _BREAK)
                pre += tag == "pre"
                bullet = bullet or tag == "li"
            elif tag in _CELLS and element.getprevious() is not None:
                pieces.append(" | ")
            text = element.text
        else:
            if tag in _BLOCKS and element not in skipped:
                pieces.append(_BREAK)
                pre -= tag == "pre"
            text = element.tail if element is not root else None
        if text:
            bullet = bullet and text.isspace()
            pieces.append(text.replace("\n", _BREAK).replace(" ", _SPACE) if pre else text)
    lines = "".join(pieces).split(_BREAK)
    settled = (" ".join(line.split()).replace(_SPACE, " ").rstrip() for line in lines)
    return "\n".join(line for line in settled if line.strip(" -|")).strip("\n")


def _boilerplate(body: Element, visible: int) -> set[Any]:
    """Return the elements that are boilerplate by tag, role or class. An element with half of the page's text
    is never boilerplate."""
    elements: set[Any] = set()
    for element in body.iter(etree.Element):
        tag, attributes = element.tag, element.attrib
        suspect = tag == "nav" or (tag in _OUTER_TAGS and _is_outside(element))
        suspect = suspect or (bool(attributes) and tag not in _KEPT_TAGS and _is_named(tag, attributes))
        if suspect and _length(element) < visible / 2:
            elements.add(element)
    return elements


def _is_named(tag: str, attributes: Any) -> bool:
    """Return True if role, classes or (for a container) id mark the element as boilerplate."""
    role, hidden = attributes.get("role"), attributes.get("aria-hidden") == "true" or "hidden" in attributes
    if role in _PRUNED_ROLES or hidden or _is_pruned(attributes.get("class", "")):
        return True
    return tag in _CONTAINERS and _is_pruned(attributes.get("id", ""))


@lru_cache(maxsize=10_000)
def _is_pruned(names: str) -> bool:
    return _PRUNED_NAMES.search(names[:500]) is not None


def _is_outside(element: Element) -> bool:
    """Return True if the element is outside `article`, `main` and `section`."""
    return next(element.iterancestors("article", "main", "section"), None) is None


def _marked(body: Element) -> Element | None:
    """Return the single element that the page marks as its content; None if there is none or several."""
    mains: list[Element] = list(dict.fromkeys(chain(body.iter("main"), body.iterfind(".//*[@role='main']"))))
    articles = [
        article for article in body.iter("article") if next(article.iterancestors("article"), None) is None
    ]
    if len(articles) == 1 and (not mains or _length(articles[0]) * 2 > _length(mains[0])):
        return articles[0]
    if len(mains) == 1:
        return mains[0]
    named = [
        element
        for element in body.iter("div", "section", "td")
        if _CONTENT_NAMES & set(f"{element.get('class', '')} {element.get('id', '')}".lower().split())
    ]
    outer = [element for element in named if not any(other in named for other in element.iterancestors())]
    return outer[0] if len(outer) == 1 and not articles else None


def _length(element: Element, skipped: Set[Any] = frozenset()) -> int:
    """Return the number of non-space characters of an element, without skipped elements."""
    whole = sum(map(len, "".join(element.itertext()).split()))
    return whole - sum(_length(part) for part in skipped if _is_outermost(part, element, skipped))


def _is_outermost(element: Element, root: Element, skipped: Set[Any]) -> bool:
    """Return True if an element lies inside `root` and inside no other skipped element."""
    for parent in element.iterancestors():
        if parent is root:
            return True
        if parent in skipped:
            return False
    return False


def _linked(body: Element, skipped: Set[Any]) -> int:
    """Return the number of characters inside links."""
    return sum(
        _length(link)
        for link in body.iter("a")
        if link not in skipped and not any(parent in skipped for parent in link.iterancestors())
    )


def _article(source: str) -> str:
    import trafilatura  # noqa: PLC0415 - slow to import, and few pages need it

    return trafilatura.extract(source, include_links=False, include_comments=False, fast=True) or ""


_TITLES = ("og:title", "citation_title", "dc.title", "dcterms.title")
_DATES = (
    "article:published_time",
    "citation_publication_date",
    "citation_date",
    "dc.date",
    "dcterms.date",
    "dcterms.created",
    "date",
    "publish_date",
    "published",
    "datepublished",
)
_AUTHORS = ("citation_author", "author", "article:author", "dc.creator", "dcterms.creator", "byl")
_MAX_META = 500
_MAX_LINKED = 100_000
_PERMALINK = re.compile(r"[ \t]*[¶\uf0c1][ \t]*$", re.MULTILINE)
"""The permalink sign behind a heading, as written by Sphinx and MkDocs."""


def read_html(source: str) -> Document:
    """Extract the content of a page. Its date and authors are unverified claims of the page."""
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
        tag, attributes = element.tag, element.attrib
        if tag == "meta" and len(self.fields) < _MAX_META:
            name = attributes.get("name") or attributes.get("property") or attributes.get("itemprop") or ""
            self._add(name.lower(), attributes.get("content", ""))
        elif tag == "time" and not self.time:
            self.time = attributes.get("datetime", "")
        elif tag == "h1" and not self.heading:
            self.heading = " ".join("".join(element.itertext()).split())
        elif tag == "script" and attributes.get("type", "").lower() == "application/ld+json":
            self._linked((element.text or "")[:_MAX_LINKED])

    def first(self, names: tuple[str, ...]) -> str:
        return next((value[0] for name in names if (value := self.fields.get(name))), "")

    def authors(self) -> list[str]:
        """Return the authors of the first field in `_AUTHORS` that names any; URLs are skipped."""
        for name in _AUTHORS:
            values = self.fields.get(name, [])
            if authors := [value for value in values if not re.match(r"https?://", value)]:
                return authors
        return []

    def _add(self, name: str, value: str) -> None:
        if name and value.strip():
            self.fields.setdefault(name, []).append(value.strip()[:1_000])

    def _linked(self, source: str) -> None:
        try:
            data: Any = json.loads(source)
        except (ValueError, RecursionError):  # malformed JSON-LD: ignore it
            return
        for entry in cast("list[Any]", data if isinstance(data, list) else [data])[:20]:
            fields = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
            self._add("datepublished", str(fields.get("datePublished") or ""))
            author: Any = fields.get("author")
            for person in cast("list[Any]", author if isinstance(author, list) else [author])[:20]:
                name = cast("dict[str, Any]", person).get("name") if isinstance(person, dict) else person
                self._add("author", name if isinstance(name, str) else "")
