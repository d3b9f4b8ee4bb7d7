"""SSRF-safe fetcher.

A host name is resolved once, every resolved address is checked, and the connection goes to a checked address.
All spellings of an address (`127.1`, `0x7f.1`, `2130706433`, a name that resolves to it) end up in that
check.
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
"""Returns why a connection to this address and port is refused; empty if it is allowed."""
Resolve = Callable[[str, int], Awaitable[list[Address]]]
"""Returns all addresses of a host name."""

MAX_URL = 2_048

_REFUSED_4 = [
    IPv4Network(net)
    for net in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
        "168.63.129.16/32",  # Azure's metadata service, on an otherwise public address
    )
]
_GLOBAL_6 = IPv6Network("2000::/3")
_REFUSED_6 = [
    IPv6Network(net)
    for net in (
        "2001::/23",  # protocol assignments: Teredo, ORCHID and the like
        "2001:db8::/32",
        "3fff::/20",  # documentation
        "2002::/16",  # 6to4: embeds an IPv4 address
        "2620:4f:8000::/48",
    )
]


class Target(msgspec.Struct, frozen=True):
    """A validated URL, split into its parts."""

    scheme: str
    host: str
    port: int
    path: str
    """Path with the query, as it is sent."""

    @property
    def url(self) -> str:
        usual = {"http": 80, "https": 443}[self.scheme] == self.port
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}{'' if usual else f':{self.port}'}{self.path}"


def public_only(address: Address, port: int) -> str:
    """Policy for URLs that a model requests: public internet addresses only."""
    if isinstance(address, IPv4Address):
        refused = any(address in net for net in _REFUSED_4) or not address.is_global
    else:  # refuse every range that is not global unicast, and every range that embeds an IPv4 address
        refused = address not in _GLOBAL_6 or any(address in net for net in _REFUSED_6)
    return f"{address} is not a public address" if refused else ""


def anywhere(address: Address, port: int) -> str:
    """Policy for URLs that the user configured: every address."""
    return ""


async def resolve_name(host: str, port: int) -> list[Address]:
    """Resolve a host name once with the system resolver."""
    try:
        answers = await offload(socket.getaddrinfo, host, port, 0, socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ToolError(f"{host} could not be resolved: {error}.") from error
    addresses = [ip_address(str(answer[4][0]).partition("%")[0]) for answer in answers]
    return list(dict.fromkeys(addresses))


def parse_url(url: str) -> Target:
    """Split a URL into its parts, or raise a `ToolError` that says what is wrong with it."""
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
    if ":" in name:  # IPv6; urlsplit has removed the brackets
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
    """An HTTP response."""

    status: int
    headers: dict[str, str]
    """Keyed by lower-case name; the last one wins if a header is repeated."""
    body: bytes
    """Decompressed, at most `max_bytes` long."""
    cut: bool = False
    """The body was longer and is truncated."""


class PinnedBackend(httpcore2.AsyncNetworkBackend):
    """Network backend that connects to checked addresses only, never to a name that may resolve differently
    later."""

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
        for address in addresses:  # one refused address refuses the name: it may be DNS rebinding
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
        raise ToolError("Unix sockets are refused.")


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
    """Send one request and read at most `max_bytes` of the response body, counted after decompression too.

    `seconds` limits each phase; the caller limits the total time. Redirects are not followed.
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
            received = {
                name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers
            }
            body, cut = await _read(response.aiter_stream(), received.get("content-encoding", ""), max_bytes)
            return Reply(response.status, received, body, cut)
    except httpcore2.TimeoutException as error:
        raise ToolError(f"{target.host} took too long to answer.") from error
    except (httpcore2.NetworkError, httpcore2.ProtocolError, ssl.SSLError, OSError) as error:
        raise ToolError(f"{target.host} could not be reached: {error or type(error).__name__}.") from error


async def _read(chunks: AsyncIterator[bytes], encoding: str, max_bytes: int) -> tuple[bytes, bool]:
    """Read and decompress the body chunk by chunk, so that a decompression bomb is truncated like any large
    body."""
    unfold = _unfolder(encoding)
    pieces, size, wire = list[bytes](), 0, 0
    async for chunk in chunks:
        wire += len(chunk)
        data = chunk
        while data:
            piece, data = unfold(data, max_bytes - size + 1)
            pieces.append(piece)
            size += len(piece)
            if size > max_bytes or wire > max_bytes:
                return b"".join(pieces)[:max_bytes], True
    return b"".join(pieces), False


def _unfolder(encoding: str) -> Callable[[bytes, int], tuple[bytes, bytes]]:
    """Return a function that decompresses a chunk: it returns at most `most` bytes and the unconsumed
    input."""
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return lambda data, most: (data, b"")
    if name not in ("gzip", "x-gzip", "deflate"):
        raise ToolError(f"The response is encoded as {encoding[:40]!r}, which was not requested.")
    engine = zlib.decompressobj(wbits=47)  # gzip or zlib, detected by the header

    def unfold(data: bytes, most: int) -> tuple[bytes, bytes]:
        try:
            return engine.decompress(data, most), engine.unconsumed_tail
        except zlib.error as error:
            raise ToolError("The response is not validly compressed.") from error

    return unfold


MAX_BYTES = 5_000_000
MAX_SECONDS = 15.0
MAX_REDIRECTS = 5

READABLE = re.compile(
    r"text/.+|application/(xhtml\+xml|xml|json|yaml|x-yaml|toml|rtf|.+\+(xml|json)|x-ndjson)", re.IGNORECASE
)
"""Content types that are text. Research passes a wider pattern."""


class Fetched(msgspec.Struct, frozen=True):
    """A fetched document."""

    url: str
    """The final URL, after redirects."""
    content_type: str
    """Lower case, without parameters; empty if the server sent none."""
    charset: str
    body: bytes
    cut: bool = False
    """The document exceeds the size limit and is truncated."""

    @property
    def text(self) -> str:
        """The body decoded with the charset from the header, else the one in the document, else UTF-8."""
        charset = self.charset or charset_inside(self.body) or "utf-8"
        try:
            return self.body.decode(charset, "replace")
        except (LookupError, UnicodeError):  # unknown encoding
            return self.body.decode("utf-8", "replace")


class Fetcher:
    """Fetches URLs for a model. Policy and resolver are parameters, so that tests need no patching."""

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
        """Fetch the document, or raise a one-sentence `ToolError`. The time limit includes redirects."""
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
                raise ToolError(f"{target.url} redirects without a target.")
            target = parse_url(urljoin(target.url, location))
        raise ToolError(f"{target.url} redirects more than {MAX_REDIRECTS} times.")


def _checked(target: Target, reply: Reply, types: re.Pattern[str]) -> Fetched:
    if reply.status >= 300 or reply.status < 200:
        raise ToolError(f"{target.url} answered {reply.status}.")
    header = reply.headers.get("content-type", "")
    kind, _, parameters = header.partition(";")
    kind = kind.strip().lower()
    if (kind and not types.fullmatch(kind)) or (not kind and b"\0" in reply.body[:1024]):
        raise ToolError(f"{target.url} is {kind[:80] or 'binary'}, which cannot be read as text.")
    charset = re.search(r"charset=\"?([\w.:-]{1,40})", parameters, re.IGNORECASE)
    return Fetched(target.url, kind, charset[1] if charset else "", reply.body, reply.cut)
