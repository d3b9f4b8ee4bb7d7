"""One bounded HTTP request, to an address that the policy allowed. The HTTP itself is httpcore's."""

from __future__ import annotations

import ssl
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import cast

import httpcore2
import msgspec

from podium.tools.addresses import Policy, Resolve, Target
from podium.tools.tool import ToolError

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
