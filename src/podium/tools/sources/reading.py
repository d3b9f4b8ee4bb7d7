"""A page or a PDF from the web as text: fetched by the safe fetcher, read where it can be ended."""

from __future__ import annotations

import re

import msgspec

from podium.tools.aside import aside
from podium.tools.documents.document import Document, kept
from podium.tools.documents.plain import read_text
from podium.tools.documents.readers import Readers
from podium.tools.fetch import READABLE, Fetched, Fetcher
from podium.tools.tool import ToolError

DOCUMENTS = re.compile(
    rf"{READABLE.pattern}|application/(x-)?pdf|(application|binary)/octet-stream", re.IGNORECASE
)
"""Content types that can be read here: text, and PDFs under whatever name servers send them."""
_HTML = re.compile(r"\s*(<!--.*?-->\s*)*<(!doctype html|html|head|body)\b", re.IGNORECASE | re.DOTALL)


_READERS = Readers()
"""For the whole process: a page or a PDF of a stranger can keep a reader busy for ever."""


async def read_url(url: str, fetcher: Fetcher | None = None) -> tuple[str, Document]:
    """The media type and the text of what is there, or a `ToolError`."""
    fetched = await (fetcher or Fetcher()).fetch(url, types=DOCUMENTS)
    document = await read_fetched(url, fetched)
    if not document.text:
        raise ToolError(f"{url} has no text.")
    return "application/pdf" if _is_pdf(fetched) else fetched.content_type or "text/plain", document


async def read_fetched(url: str, fetched: Fetched) -> Document:
    """What can be read of something that was fetched, or a `ToolError`."""
    is_pdf = _is_pdf(fetched)
    if not is_pdf and (fetched.content_type.endswith(("pdf", "octet-stream"))):
        raise ToolError(f"{url} is {fetched.content_type}, which cannot be read as text.")
    if is_pdf and fetched.cut:
        raise ToolError(f"{url} is a PDF of more than 5 MB, which is not fetched.")
    try:
        return await aside(_read_pdf if is_pdf else _read_page, fetched)
    except ToolError as error:
        raise ToolError(f"{url}: {str(error).rstrip('.')}.") from error


def _is_pdf(fetched: Fetched) -> bool:
    return fetched.body.startswith(b"%PDF-")


def _read_pdf(fetched: Fetched) -> Document:
    return _READERS.read(fetched.body, "application/pdf")


def _read_page(fetched: Fetched) -> Document:
    text = fetched.text
    if "html" in fetched.content_type or _HTML.match(text[:2_000]):
        document = _READERS.read(text.encode("utf-8", "replace"), "text/html")
    else:
        document = read_text(text) if fetched.content_type == "text/plain" else kept(text)
    return msgspec.structs.replace(document, cut=document.cut or fetched.cut)
