"""PDF text extraction. Runs in a child process, because a malicious PDF can keep a reader busy forever."""

from __future__ import annotations

import io
import re

from pypdf import PdfReader
from pypdf.errors import PyPdfError

from podium.tools.documents.document import MAX_CHARACTERS, Document, kept
from podium.tools.tool import ToolError

MAX_PAGES = 500
_WRITTEN = re.compile(r"D:(\d{4})(\d{2})?(\d{2})?")


def read_pdf(data: bytes) -> Document:
    """Return the text, page by page, or raise a one-sentence `ToolError`."""
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise ToolError("it is locked with a password")
        return _document(reader)
    except ToolError:
        raise
    except (PyPdfError, ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise ToolError(f"it is not a PDF that can be read ({type(error).__name__})") from error
    except (OSError, ArithmeticError, RecursionError, MemoryError, NotImplementedError) as error:
        raise ToolError(f"it is not a PDF that can be read ({type(error).__name__})") from error


def _document(reader: PdfReader) -> Document:
    pages, size, cut = list[str](), 0, len(reader.pages) > MAX_PAGES
    for page in reader.pages[:MAX_PAGES]:
        text = page.extract_text()
        pages.append(text)
        size += len(text)
        if size > MAX_CHARACTERS:
            cut = True
            break
    about = reader.metadata
    told = _WRITTEN.match(str(about.creation_date_raw or "") if about else "")
    date = "-".join(part for part in told.groups() if part) if told else ""
    text = "\n\n".join(pages)
    if not text.strip():
        raise ToolError("it has no text; it may hold pictures of pages only")
    author = str(about.author or "") if about else ""
    return kept(text, str(about.title or "") if about else "", date, re.split(r"\s*;\s*", author), cut=cut)
