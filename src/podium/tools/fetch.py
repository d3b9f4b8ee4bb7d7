"""SSRF-safe fetcher.

A name is looked up once, every answer is checked, and the connection is made to an address that was checked.
Spellings of an address (`127.1`, `0x7f.1`, `2130706433`, a name that points to it) all end in such an answer.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import cast
from urllib.parse import urljoin, urlsplit

import httpcore2
import msgspec

from podium.engine.process import offload
from podium.tools.documents.document import charset_inside
from podium.tools.tool import ToolError

Address = IPv4Address | IPv6Address
Policy = Callable[[Address, int], str]
"""Why no connection may be made to this address and port; empty: it may."""
Resolve = Callable[[str, int], Awaitable[list[Address]]]
"""All addresses of a name."""

MAX_URL = 2_048

_REFUSED_4 = [
    IPv4Network(net)
    for net in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
        "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24",
        "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/4", "240.0.0.0/4",
        "168.63.129.16/32",  # a cloud's own metadata, on an address that is otherwise public
    )
]  # fmt: skip
_GLOBAL_6 = IPv6Network("2000::/3")
_REFUSED_6 = [
    IPv6Network(net)
    for net in (
        "2001::/23",  # protocol assignments: Teredo, ORCHID and the like
        "2001:db8::/32", "3fff::/20",  # documentation
        "2002::/16",  # 6to4: an IPv4 address inside
        "2620:4f:8000::/48",
    )
]  # fmt: skip


class Target(msgspec.Struct, frozen=True):
    """A URL that may be asked for, in parts."""

    scheme: str
    host: str
    port: int
    path: str
    """With the query, as it goes onto the wire."""

    @property
    def url(self) -> str:
        usual = {"http": 80, "https": 443}[self.scheme] == self.port
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}{'' if usual else f':{self.port}'}{self.path}"


def public_only(address: Address, port: int) -> str:
    """The policy for what a model asks for: the public internet."""
    if isinstance(address, IPv4Address):
        refused = any(address in net for net in _REFUSED_4) or not address.is_global
    else:  # every range that is not global unicast is refused, with all that embeds an IPv4 address
        refused = address not in _GLOBAL_6 or any(address in net for net in _REFUSED_6)
    return f"{address} is not a public address" if refused else ""


async def resolve_name(host: str, port: int) -> list[Address]:
    """Ask the system, once."""
    try:
        answers = await offload(socket.getaddrinfo, host, port, 0, socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ToolError(f"{host} could not be found: {error}.") from error
    found = [ip_address(str(answer[4][0]).partition("%")[0]) for answer in answers]
    return list(dict.fromkeys(found))


def parse_url(url: str) -> Target:
    """A URL in parts, or a `ToolError` that says what is wrong with it."""
    text = url.strip()
    if len(text) > MAX_URL or any(ord(char) < 33 or char in "\\\x7f" for char in text):
        raise ToolError("That is not a URL: it is too long or holds spaces or control characters.")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise ToolError(f"That is not a URL: {error}.") from error
    if parts.scheme not in ("http", "https"):
        raise ToolError(f"Only http and https can be fetched, not {parts.scheme or 'that'}.")
    if "@" in parts.netloc:
        raise ToolError("A URL with a user name or password is refused.")
    port = port or {"http": 80, "https": 443}[parts.scheme]
    path = _ascii(parts.path or "/") + (f"?{_ascii(parts.query)}" if parts.query else "")
    return Target(parts.scheme, _host(parts.hostname or ""), port, path)


def _host(name: str) -> str:
    if ":" in name:  # IPv6, which urlsplit took out of its brackets
        try:
            return str(IPv6Address(name))
        except ValueError as error:
            raise ToolError("That is not a URL: its IPv6 address is wrong.") from error
    try:
        host = name.encode("idna").decode("ascii").lower().rstrip(".")
    except UnicodeError as error:
        raise ToolError("That is not a URL: its host name is wrong.") from error
    if not host or not all(char.isalnum() or char in ".-_" for char in host):
        raise ToolError("That is not a URL: its host name is wrong.")
    return host


def _ascii(text: str) -> str:
    return "".join(
        char if ord(char) < 128 else "".join(f"%{byte:02X}" for byte in char.encode()) for char in text
    )


AGENT = "Mozilla/5.0 (compatible; podium)"
_PHASES = ("connect", "read", "write", "pool")


class Reply(msgspec.Struct, frozen=True):
    """What came back."""

    status: int
    headers: dict[str, str]
    """By their names in lower case; of repeated ones the last."""
    body: bytes
    """Uncompressed, at most as large as was allowed."""
    cut: bool = False
    """There was more."""


class PinnedBackend(httpcore2.AsyncNetworkBackend):
    """Connects to addresses that were checked, and never to a name, which could point elsewhere by then."""

    def __init__(self, allowed: Policy, resolve: Resolve) -> None:
        self._allowed, self._resolve = allowed, resolve
        self._network = cast("httpcore2.AsyncNetworkBackend", httpcore2.AnyIOBackend())

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        addresses = await self._resolve(host, port)
        for address in addresses:  # one bad answer spoils all: a name that points to us as well is a trap
            if reason := self._allowed(address, port):
                raise ToolError(f"{host} is refused: {reason}.")
        failure: Exception = ToolError(f"{host} has no address.")
        for address in addresses[:4]:
            try:
                return await self._network.connect_tcp(
                    str(address), port, timeout, local_address, socket_options
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        raise ToolError("Only hosts can be fetched from.")


async def request(
    target: Target,
    *,
    allowed: Policy,
    resolve: Resolve,
    seconds: float,
    max_bytes: int,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    content: bytes | None = None,
    trust: ssl.SSLContext | None = None,
) -> Reply:
    """Send one request and read at most `max_bytes` of what comes back, also when it is compressed.

    `seconds` bounds each phase; whoever calls bounds the whole. Redirects are not followed.
    """
    sent = {"Host": target.url.split("/")[2], "User-Agent": AGENT, "Accept-Encoding": "gzip"}
    url = httpcore2.URL(
        scheme=target.scheme, host=target.host, port=target.port, target=target.path.encode("ascii")
    )
    try:
        async with (
            httpcore2.AsyncConnectionPool(
                ssl_context=trust, network_backend=PinnedBackend(allowed, resolve)
            ) as pool,
            pool.stream(
                method,
                url,
                headers=list((sent | dict(headers or {})).items()),
                content=content,
                extensions={"timeout": dict.fromkeys(_PHASES, seconds)},
            ) as response,
        ):
            found = {
                name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers
            }
            body, cut = await _read(response.aiter_stream(), found.get("content-encoding", ""), max_bytes)
            return Reply(response.status, found, body, cut)
    except httpcore2.TimeoutException as error:
        raise ToolError(f"{target.host} took too long to answer.") from error
    except (httpcore2.NetworkError, httpcore2.ProtocolError, ssl.SSLError, OSError) as error:
        raise ToolError(f"{target.host} could not be reached: {error or type(error).__name__}.") from error


async def _read(chunks: AsyncIterator[bytes], encoding: str, max_bytes: int) -> tuple[bytes, bool]:
    """The body, uncompressed piece by piece: one that unfolds into gigabytes is cut like a large one."""
    unfold = _unfolder(encoding)
    kept, size, wire = list[bytes](), 0, 0
    async for chunk in chunks:
        wire += len(chunk)
        data = chunk
        while data:
            piece, data = unfold(data, max_bytes - size + 1)
            kept.append(piece)
            size += len(piece)
            if size > max_bytes or wire > max_bytes:
                return b"".join(kept)[:max_bytes], True
    return b"".join(kept), False


def _unfolder(encoding: str) -> Callable[[bytes, int], tuple[bytes, bytes]]:
    """Turns a piece of a body into its contents, at most so many bytes at once, and what is left of it."""
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return lambda data, most: (data, b"")
    if name not in ("gzip", "x-gzip", "deflate"):
        raise ToolError(f"The answer is encoded as {encoding[:40]!r}, which was not asked for.")
    engine = zlib.decompressobj(wbits=47)  # gzip or zlib, by its beginning

    def unfold(data: bytes, most: int) -> tuple[bytes, bytes]:
        try:
            return engine.decompress(data, most), engine.unconsumed_tail
        except zlib.error as error:
            raise ToolError("The answer is not validly compressed.") from error

    return unfold


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
