"""The ui_creator's page, made safe: it may say what it likes, but do nothing and fetch nothing."""

from __future__ import annotations

import re

import nh3
from markupsafe import Markup

from podium.report.frame import templates_of
from podium.report.prose import prose
from podium.report.words import one_line, safe

_FENCE = re.compile(r"```[\w+-]*[ \t]*\n(.*?)(?:\n[ \t]*```|\Z)", re.DOTALL)
_BODY = re.compile(r"<body\b[^>]*>(.*?)(?:</body\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"<(?:[a-z][a-z0-9]*)(?:\s[^<>]*)?/?>", re.IGNORECASE)
_TAGS = {
    "a", "abbr", "article", "aside", "b", "blockquote", "br", "caption", "cite", "code", "col", "colgroup",
    "dd", "del", "details", "div", "dl", "dt", "em", "figcaption", "figure", "footer", "h1", "h2", "h3", "h4",
    "h5", "h6", "header", "hr", "i", "ins", "kbd", "li", "main", "mark", "ol", "p", "pre", "q", "s",
    "section", "small", "span", "strong", "sub", "summary", "sup", "table", "tbody", "td", "tfoot", "th",
    "thead", "tr", "u", "ul",
}  # fmt: skip
_STYLES = {
    "background-color", "border-radius", "color", "font-size", "font-style", "font-weight", "margin",
    "margin-bottom", "margin-top", "padding", "text-align", "text-decoration",
}  # fmt: skip
"""None of them can fetch anything or lie over something else."""
_ATTRIBUTES = {
    "*": {"style", "title"}, "a": {"href"}, "td": {"colspan", "rowspan"}, "ol": {"start"},
    "th": {"colspan", "rowspan", "scope"}, "details": {"open"},
}  # fmt: skip
_DROPPED = {"script", "style", "template", "noscript", "iframe", "object", "svg", "math", "head", "title"}
"""Removed with everything inside."""


def made_safe(reply: str, title: str, *, rehearsal: bool = False) -> str:
    """A page of its own out of a model's reply; empty if nothing is left of it."""
    body = _body_of(reply)
    if not nh3.clean(body, tags=set()).strip():
        return ""
    page = templates_of("podium.workflows.council").get_template("page.html")
    return page.render(title=one_line(title, 120), body=Markup(body), rehearsal=rehearsal)


def _body_of(reply: str) -> str:
    """The sanitised content; a reply without HTML is read as Markdown."""
    text = safe(reply)
    fence = _FENCE.search(text)
    if fence and _TAG.search(fence[1]):
        text = fence[1]
    if not _TAG.search(text):
        return str(prose(text))
    body = _BODY.search(text)
    return nh3.clean(
        body[1] if body else text,
        tags=_TAGS,
        clean_content_tags=_DROPPED,
        attributes=_ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
        filter_style_properties=_STYLES,
    )
