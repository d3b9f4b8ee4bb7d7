"""Markdown that a model wrote, as HTML that is safe to open: no script, no remote image, no styles."""

from __future__ import annotations

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
