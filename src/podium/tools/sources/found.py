"""What a search gives, and what is kept of a source that was read; plain data that a step can log."""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec

Kind = Literal["web", "academic", "news", "social", "corpus"]


class Found(msgspec.Struct, frozen=True):
    """One result of a search: a promise, not yet a source."""

    title: str
    url: str
    """`https://…`, or `corpus:RELATIVE/PATH` for a document of the user's folder."""
    snippet: str
    kind: Kind
    published: str = ""
    """ISO date, as exact as it is known (`2024`, `2024-05`, `2024-05-17`); empty: not told."""
    authors: tuple[str, ...] = ()
    provider: str = ""
    """Who found it, in a person's words."""
    text_url: str = ""
    """Where the full text lies when it is not at `url`, such as the PDF of a paper."""
    start: int = -1
    """Where the snippet begins in the text of a corpus document, in characters; -1: not known."""
    end: int = -1


class Retrieved(msgspec.Struct, frozen=True):
    """A source that was really read, with all of its text."""

    url: str
    title: str
    text: str
    kind: Kind
    published: str = ""
    authors: tuple[str, ...] = ()
    retrieved_at: str = ""
    """Given by the caller, for whom time is a recorded step."""
    sha256: str = ""
    """Of `text`, as UTF-8."""
    media_type: str = ""
    cut: bool = False
    """The document was longer than may be kept."""


class Provider(Protocol):
    """Somebody who can be asked. Failures are `ToolError`s of one clear sentence."""

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> Kind: ...

    async def search(self, query: str, limit: int) -> list[Found]: ...
