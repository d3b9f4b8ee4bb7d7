"""Reading a source: the whole text of what a search found, from the corpus or safely from the web."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from podium.tools.corpus.corpus import SCHEME, Corpus, path_of
from podium.tools.documents.document import Document
from podium.tools.sources.choosing import MISSING
from podium.tools.sources.found import Found, Retrieved
from podium.tools.tool import ToolError

if TYPE_CHECKING:
    from podium.tools.fetch import Fetcher

LEAST_TEXT = 200
"""Characters below which another address of the same source is tried: a notice, not a text."""


async def retrieve(
    found: Found, *, at: str, corpus: Corpus | None = None, fetcher: Fetcher | None = None
) -> Retrieved:
    """The source with its text, or a `ToolError` in one sentence. `at` is the time to note.

    The source keeps the address by which it was found. Its own title, date and authors fill what the search
    did not tell. A corpus document is the one that the index holds, so positions of passages fit.
    """
    if found.url.startswith(SCHEME):
        if corpus is None:
            raise ToolError(f"{found.url} is in a corpus, and there is none here.")
        kept = await corpus.read(path_of(found.url))
        return _retrieved(found, kept.document, kept.media_type, at)
    media_type, document = await _from_web(found, fetcher)
    return _retrieved(found, document, media_type, at)


async def _from_web(found: Found, fetcher: Fetcher | None) -> tuple[str, Document]:
    """The first address that gives a text; if none gives a long one, the longest."""
    try:
        from podium.tools.sources.reading import read_url  # noqa: PLC0415 - an extra, slow to import
    except ModuleNotFoundError as error:
        raise ToolError(MISSING) from error
    best: tuple[str, Document] | None = None
    failure: ToolError | None = None
    for url in dict.fromkeys(address for address in (found.text_url, found.url) if address):
        try:
            read = await read_url(url, fetcher)
        except ToolError as error:
            failure = error
            continue
        if best is None or len(read[1].text) > len(best[1].text):
            best = read
        if len(best[1].text) >= LEAST_TEXT:
            break
    if best is None:
        raise failure or ToolError(f"{found.title!r} has no address.")
    return best


def _retrieved(found: Found, document: Document, media_type: str, at: str) -> Retrieved:
    return Retrieved(
        url=found.url,
        title=found.title or document.title,
        text=document.text,
        kind=found.kind,
        published=found.published or document.published,
        authors=found.authors or document.authors,
        retrieved_at=at,
        sha256=hashlib.sha256(document.text.encode()).hexdigest(),
        media_type=media_type,
        cut=document.cut,
    )
