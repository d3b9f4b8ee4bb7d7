"""Readers for Markdown, plain text and PDF, and the child process that reads documents for its parent.

The child reads one document after another until its input ends. HTML and PDF are read only there: a malicious
file can keep a reader busy forever. Each document has a CPU time limit, even if the parent no longer waits
for it.
"""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING, Any, cast

import yaml

from podium.tools.documents.document import MAX_AUTHORS, Document, decoded, kept
from podium.tools.tool import ToolError

if TYPE_CHECKING:
    from pypdf import PdfReader
import io
import resource
import sys
from typing import BinaryIO

import msgspec

from podium.tools.documents.document import MAX_CHARACTERS
from podium.tools.documents.word_vectors import Meaning, meaning_of

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
    for line in lines[:8]:
        if not (match := _FIELD.fullmatch(line.strip())):
            break
        fields[match[1].lower()] = match[2]
    at = next((nth for nth, line in enumerate(lines[:LATEST_HEADING]) if _is_text(line)), 0)
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
    match = _FENCED.match(source[: MAX_FRONT_MATTER + 10])
    if match is None or len(_OPENING.findall(match[1])) > MAX_BRACKETS:
        return {}, source
    try:
        fields = yaml.safe_load(match[1])
    except (yaml.YAMLError, ValueError, RecursionError):  # a horizontal rule, or hostile input
        return {}, source
    if not isinstance(fields, dict):
        return {}, source
    mapping = cast("dict[Any, Any]", fields)
    return {str(name).lower(): value for name, value in mapping.items()}, source[match.end() :]


def _names(fields: dict[str, Any]) -> list[str]:
    for key in ("authors", "author", "by", "publisher", "source"):
        value = fields.get(key)
        if isinstance(value, list):
            return [_name(author) for author in cast("list[Any]", value)[:MAX_AUTHORS]]
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


MAX_PAGES = 500
_FAULTS = (
    *(ValueError, TypeError, LookupError, AttributeError, OSError, ArithmeticError),
    *(RecursionError, MemoryError, NotImplementedError),
)
"""Errors that pypdf raises for broken files, besides its own."""
_WRITTEN = re.compile(r"D:(\d{4})(\d{2})?(\d{2})?")


def read_pdf(data: bytes) -> Document:
    """Return the text, page by page, or raise a one-sentence `ToolError`."""
    from pypdf import PdfReader  # noqa: PLC0415 - an extra, slow to import
    from pypdf.errors import PyPdfError  # noqa: PLC0415 - an extra, slow to import

    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise ToolError("it is locked with a password")
        return _pdf_document(reader)
    except (PyPdfError, *_FAULTS) as error:
        raise ToolError(f"it is not a PDF that can be read ({type(error).__name__})") from error


def _pdf_document(reader: PdfReader) -> Document:
    pages, size, cut = list[str](), 0, len(reader.pages) > MAX_PAGES
    for page in reader.pages[:MAX_PAGES]:
        text = page.extract_text()
        pages.append(text)
        size += len(text)
        if size > MAX_CHARACTERS:
            cut = True
            break
    about = reader.metadata
    created = _WRITTEN.match(str(about.creation_date_raw or "") if about else "")
    date = "-".join(part for part in created.groups() if part) if created else ""
    text = "\n\n".join(pages)
    if not text.strip():
        raise ToolError("it has no text; it may hold pictures of pages only")
    author = str(about.author or "") if about else ""
    return kept(text, str(about.title or "") if about else "", date, re.split(r"\s*;\s*", author), cut=cut)


CPU_SECONDS = 20
MAX_MEMORY = 2_000_000_000
INSTALL = "pip install 'podium[research]'"
LENGTH = 8
"""Size of the length prefix of each message, in bytes."""


class ReadRequest(msgspec.Struct, frozen=True):
    """A document to read."""

    media_type: str
    data: bytes
    embed: bool = False
    """Also compute its vectors."""


class ReadResponse(msgspec.Struct, frozen=True):
    """The document, or the reason why it could not be read."""

    document: Document | None = None
    trouble: str = ""
    meaning: Meaning | None = None


def main() -> None:
    _bound(resource.RLIMIT_AS, MAX_MEMORY)
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while (request := _next(source)) is not None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        _bound(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime) + CPU_SECONDS)
        answer = msgspec.msgpack.encode(_answered(request))
        sink.write(len(answer).to_bytes(LENGTH) + answer)
        sink.flush()


def _bound(limit: int, soft: int) -> None:
    _, hard = resource.getrlimit(limit)
    resource.setrlimit(limit, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


def _next(source: BinaryIO) -> ReadRequest | None:
    head = source.read(LENGTH)
    if len(head) < LENGTH:
        return None
    return msgspec.msgpack.decode(source.read(int.from_bytes(head)), type=ReadRequest)


def _answered(request: ReadRequest) -> ReadResponse:
    try:
        document = _read(request)
        return ReadResponse(
            document, meaning=meaning_of(document.text, document.title) if request.embed else None
        )
    except ToolError as error:
        return ReadResponse(trouble=str(error))
    except ModuleNotFoundError as error:
        return ReadResponse(trouble=f"reading it needs {error.name}: {INSTALL}")
    except Exception as error:  # noqa: BLE001 - a library may raise anything for a hostile document
        return ReadResponse(trouble=f"it cannot be read ({type(error).__name__})")


def _read(request: ReadRequest) -> Document:
    if request.media_type == "application/pdf":
        return read_pdf(request.data)
    if request.media_type in PLAIN:
        return read_plain(request.data, request.media_type)
    from podium.tools.documents.html import read_html  # noqa: PLC0415 - an extra, slow to import

    return read_html(decoded(request.data))


if __name__ == "__main__":
    main()
