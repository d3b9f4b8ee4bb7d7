"""The tool that reads an address: fetched by the safe fetcher, read where it can be ended."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from podium.tools.arguments import Arguments, read_arguments, spec_of
from podium.tools.documents.document import Document
from podium.tools.fetch import Fetcher
from podium.tools.sources.reading import DOCUMENTS, read_fetched
from podium.tools.tool import MAX_TEXT, ToolError, ToolResult, bounded, succeeded
from podium.tools.untrusted import untrusted


class FetchArguments(Arguments, frozen=True):
    """Of `fetch_url`."""

    url: Annotated[str, Meta(description="An http or https address on the public internet")]
    offset: Annotated[int, Meta(ge=0, description="Characters of the text to skip")] = 0


class FetchUrl:
    """A page or a PDF as text, fenced as untrusted."""

    def __init__(self, fetcher: Fetcher) -> None:
        self.spec = spec_of("fetch_url", "Fetch a web page or a PDF and read its text.", FetchArguments)
        self._fetcher = fetcher

    async def call(self, args: dict[str, Any]) -> ToolResult:
        asked = read_arguments(args, FetchArguments)
        fetched = await self._fetcher.fetch(asked.url, types=DOCUMENTS)
        document = await read_fetched(asked.url, fetched)
        return succeeded(untrusted(_shown(document, asked.offset, fetched.url), fetched.url, MAX_TEXT))


def _shown(document: Document, offset: int, url: str) -> str:
    """A part of the text that fits with its fence, and how to read on."""
    room, text = MAX_TEXT - 1_000, document.text
    if offset and offset >= len(text):
        raise ToolError(f"The text of {url} has only {len(text):,} characters.")
    title = f"Title: {bounded(document.title, 300)}\n\n" if document.title else ""
    end = offset + room - len(title)
    more = f"\n[{len(text) - end:,} characters follow: offset {end}]" if end < len(text) else ""
    cut = "\n[the document is longer than can be fetched]" if document.cut and not more else ""
    return title + (text[offset:end] or "[no text]") + more + cut
