"""Markdown and plain text readers: the text, with metadata from its first lines."""

from __future__ import annotations

import re
from datetime import date
from typing import Any, cast

import yaml

from podium.tools.documents.document import MAX_AUTHORS, Document, decoded, kept
from podium.tools.tool import ToolError

PLAIN = ("text/markdown", "text/plain")
"""Media types that are read without a child process."""

MAX_FRONT_MATTER = 4_000
MAX_BRACKETS = 100
"""Maximum opening brackets in front matter; thousands of nested ones keep a YAML parser busy for seconds."""
_OPENING = re.compile(r"[\[{]")
_FENCED = re.compile(r"\A\ufeff?---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_HEADING = re.compile(r"^#{1,2}[ \t]+(.{1,300}?)[ \t#]*$|^(.{1,200})\n=+[ \t]*$", re.MULTILINE)
_FIELD = re.compile(r"(title|date|published|authors?|by|source|publisher):[ \t]*(.{0,500})", re.IGNORECASE)
_MARKUP = re.compile(r"\.\.( .*)?|:[\w-]+:.*|([=\-~*#^\"'`+])\2{2,}")
LATEST_HEADING = 60
"""Number of lines at the start of a text in which a heading is searched."""
_ISO = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
_AND = re.compile(r"\s*;\s*|\s+and\s+|\s*&\s*")


def read_plain(data: bytes, media_type: str) -> Document:
    """Read a file of one of these types, or raise a `ToolError`."""
    if b"\0" in data[:4096] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ToolError("it is not text")
    return (read_markdown if media_type == "text/markdown" else read_text)(decoded(data))


def read_markdown(source: str) -> Document:
    """Read Markdown. The metadata comes from the front matter; without a title there, the first heading is
    the title."""
    source = source.replace("\r\n", "\n")
    fields, body = _front_matter(source)
    heading = _HEADING.search(body[:20_000])
    title = _scalar(fields.get("title")) or ((heading[1] or heading[2]) if heading else "")
    published = _scalar(fields.get("date")) or _scalar(fields.get("published"))
    return kept(body, title, published, _names(fields))


def read_text(source: str) -> Document:
    """Read plain text. The metadata comes from leading lines such as `Title:` and `Date:`, or else from the
    first line and a date near it."""
    lines = source.replace("\r\n", "\n").lstrip("\ufeff\n").splitlines()
    fields: dict[str, Any] = {}
    for one in lines[:8]:
        if not (found := _FIELD.fullmatch(one.strip())):
            break
        fields[found[1].lower()] = found[2]
    at = next((nth for nth, one in enumerate(lines[:LATEST_HEADING]) if _is_text(one)), 0)
    first, after = lines[at].strip() if lines else "", lines[at + 1].strip() if at + 1 < len(lines) else ""
    alone = len(first) <= 120 and (not after or set(after) <= set("=-~*#^"))
    title = fields.get("title") or (first if alone and not fields else "")
    dated = _ISO.search("\n".join(lines[:5])[:400])
    published = fields.get("date") or fields.get("published") or (dated[0] if dated else "")
    return kept(source, title, published, _names(fields))


def _is_text(line: str) -> bool:
    """Return True if a line is neither empty nor reStructuredText markup (a target, comment, rule or
    field)."""
    return bool(line.strip()) and not line[0].isspace() and not _MARKUP.fullmatch(line.strip())


def _front_matter(source: str) -> tuple[dict[str, Any], str]:
    """Split the fields between `---` lines from the rest; anything that is not a YAML mapping stays text."""
    found = _FENCED.match(source[: MAX_FRONT_MATTER + 10])
    if found is None or len(_OPENING.findall(found[1])) > MAX_BRACKETS:
        return {}, source
    try:
        fields = yaml.safe_load(found[1])
    except (yaml.YAMLError, ValueError, RecursionError):  # a horizontal rule, or hostile input
        return {}, source
    if not isinstance(fields, dict):
        return {}, source
    told = cast("dict[Any, Any]", fields)
    return {str(name).lower(): value for name, value in told.items()}, source[found.end() :]


def _names(fields: dict[str, Any]) -> list[str]:
    for key in ("authors", "author", "by", "publisher", "source"):
        value = fields.get(key)
        if isinstance(value, list):
            return [_name(one) for one in cast("list[Any]", value)[:MAX_AUTHORS]]
        if name := _name(value):
            return _AND.split(name) if key == "authors" else [name]
    return []


def _name(value: Any) -> str:
    """Return an author's name; some tools write `{name: …}`."""
    return _scalar(cast("dict[str, Any]", value).get("name") if isinstance(value, dict) else value)


def _scalar(value: Any) -> str:
    """Return a single value as text, or "". Lists are refused: a YAML bomb would fill the memory when written
    out."""
    return str(value) if isinstance(value, (str, int, float, date)) else ""
