"""The safe fetcher: http(s) from public addresses, checked after DNS and on each redirect, and bounded."""

from __future__ import annotations

import asyncio
import re
import ssl
from urllib.parse import urljoin

import msgspec

from podium.tools.addresses import Policy, Resolve, Target, parse_url, public_only, resolve_name
from podium.tools.documents.encoding import charset_inside
from podium.tools.http import Reply, request
from podium.tools.tool import ToolError

MAX_BYTES = 5_000_000
MAX_SECONDS = 15.0
MAX_REDIRECTS = 5

READABLE = re.compile(
    r"text/.+|application/(xhtml\+xml|xml|json|yaml|x-yaml|toml|rtf|.+\+(xml|json)|x-ndjson)", re.IGNORECASE
)
"""Content types that are text; research asks for others as well."""


class Fetched(msgspec.Struct, frozen=True):
    """A document as it came."""

    url: str
    """Where it was found in the end."""
    content_type: str
    """In lower case and without parameters; empty when the server did not say."""
    charset: str
    body: bytes
    cut: bool = False
    """It was longer than may be fetched."""

    @property
    def text(self) -> str:
        """The body as text, in the encoding that it names."""
        told = self.charset or charset_inside(self.body) or "utf-8"
        try:
            return self.body.decode(told, "replace")
        except (LookupError, UnicodeError):  # an encoding that does not exist
            return self.body.decode("utf-8", "replace")


class Fetcher:
    """Fetches what a model asks for. Where it may go is passed in, so that nothing needs to be patched."""

    def __init__(
        self,
        allowed: Policy = public_only,
        resolve: Resolve = resolve_name,
        *,
        seconds: float = MAX_SECONDS,
        max_bytes: int = MAX_BYTES,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self._allowed, self._resolve, self._trust = allowed, resolve, trust
        self._seconds, self._max_bytes = seconds, max_bytes

    async def fetch(self, url: str, *, types: re.Pattern[str] = READABLE) -> Fetched:
        """The document, or a `ToolError` in one sentence. The time is for all of it, redirects included."""
        try:
            async with asyncio.timeout(self._seconds):
                return await self._follow(parse_url(url), types)
        except TimeoutError as error:
            raise ToolError(f"{url} took longer than {self._seconds:g} s.") from error

    async def _follow(self, target: Target, types: re.Pattern[str]) -> Fetched:
        for _ in range(MAX_REDIRECTS + 1):
            reply = await request(
                target,
                allowed=self._allowed,
                resolve=self._resolve,
                seconds=self._seconds,
                max_bytes=self._max_bytes,
                headers={
                    "Accept": "text/html,text/plain,application/xhtml+xml,application/json;q=0.9,*/*;q=0.5"
                },
                trust=self._trust,
            )
            if reply.status not in (301, 302, 303, 307, 308):
                return _checked(target, reply, types)
            if not (location := reply.headers.get("location", "")):
                raise ToolError(f"{target.url} redirects to nowhere.")
            target = parse_url(urljoin(target.url, location))
        raise ToolError(f"{target.url} redirects more than {MAX_REDIRECTS} times.")


def _checked(target: Target, reply: Reply, types: re.Pattern[str]) -> Fetched:
    if reply.status >= 300 or reply.status < 200:
        raise ToolError(f"{target.url} answered {reply.status}.")
    told = reply.headers.get("content-type", "")
    kind, _, parameters = told.partition(";")
    kind = kind.strip().lower()
    if (kind and not types.fullmatch(kind)) or (not kind and b"\0" in reply.body[:1024]):
        raise ToolError(f"{target.url} is {kind[:80] or 'binary'}, which cannot be read as text.")
    charset = re.search(r"charset=\"?([\w.:-]{1,40})", parameters, re.IGNORECASE)
    return Fetched(target.url, kind, charset[1] if charset else "", reply.body, reply.cut)
