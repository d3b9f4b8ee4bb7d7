"""Markdown that a model wrote, as HTML that is safe to open: no script, no remote image, no styles."""

from __future__ import annotations

import re
from collections.abc import Callable

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup

from podium.report.words import safe

_TAGS = {
    "a", "abbr", "b", "blockquote", "br", "caption", "code", "dd", "del", "details", "div", "dl", "dt", "em",
    "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "kbd", "li", "ol", "p", "pre", "s", "span", "strong",
    "sub", "summary", "sup", "table", "tbody", "td", "th", "thead", "tr", "u", "ul",
}  # fmt: skip
_ATTRIBUTES = {"a": {"href", "title"}, "td": {"align"}, "th": {"align"}, "ol": {"start"}}


def prose(text: str, *extensions: Callable[[MarkdownIt], None]) -> Markup:
    """Rendered and sanitised. An image becomes a link: opening a report must not call anybody.

    An extension may teach the parser more; what it makes is sanitised like everything else."""
    parser = MarkdownIt("js-default", {"html": False, "linkify": False, "typographer": False})
    parser.disable("image")
    for extend in extensions:
        extend(parser)
    rendered = parser.render(safe(text))
    clean = nh3.clean(
        rendered,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )
    return Markup(clean)


# ── what a log kept ──────────────────────────────────────────────────────────────────────────────

_KEPT_TAGS = (_TAGS - {"h1"}) | {"cite", "mark", "section"}
_KEPT_ATTRIBUTES = {
    **_ATTRIBUTES, "*": {"class", "id", "aria-label", "tabindex"}, "span": {"aria-hidden"},
}  # fmt: skip
_NAME = re.compile(r"[a-z]{1,20}-?\d{0,6}")


def kept_html(html: str) -> Markup:
    """HTML that a workflow of ours made and a log kept, made safe once more: anybody can edit a log.

    Unlike text, it may have classes, and names to which its own links lead; nothing may lie over the page."""
    clean = nh3.clean(
        safe(html),
        tags=_KEPT_TAGS,
        attributes=_KEPT_ATTRIBUTES,
        attribute_filter=_kept,
        url_schemes={"http", "https"},
        link_rel="noopener noreferrer nofollow",
    )
    return Markup(clean)


def _kept(tag: str, name: str, value: str) -> str | None:
    if name == "class":
        return " ".join(word for word in value.split() if _NAME.fullmatch(word)) or None
    if name == "id":
        return value if _NAME.fullmatch(value) else None
    if name == "href" and not value.startswith(("http://", "https://")):
        return value if value.startswith("#") and _NAME.fullmatch(value[1:]) else None
    return "-1" if name == "tabindex" else value
