"""The HTTP side of a provider: every request is counted, every answer has an end, every wait too."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from contextvars import ContextVar
from functools import partial
from typing import Any

import httpx2

CONNECT_S, WRITE_S, READ_S = 10.0, 60.0, 600.0
"""Time-outs of a client. A call's own time-out replaces `READ_S`."""
SERVER_TIMEOUT = "X-Server-Timeout"
"""A header with which Google's client tells the server how long it may take."""

MOST_BODY = 8_000_000
"""Bytes of an answer that comes in one piece; real ones are a hundredth of it."""
MOST_STREAM = 48_000_000
"""Bytes of a streamed answer: each piece is wrapped in some hundred bytes."""

CONNECTIONS = 1000
IDLE = 20
"""Connections that are kept for later. The pool probes each of them before every request: with a hundred, a
single call took 1.6 ms longer and 200 at once half as long again."""


class Tally:
    """What one call did on the wire."""

    __slots__ = ("problem", "read_s", "requests", "status")

    def __init__(self, requests: int = 0, read_s: float | None = None) -> None:
        self.requests = requests
        self.read_s = read_s
        """Seconds to wait for the next bytes of the answer; `None`: as the client is set up."""
        self.status = 0
        """The HTTP status of the answer."""
        self.problem = ""
        """Why we stopped reading."""


TALLY: ContextVar[Tally | None] = ContextVar("podium_wire_tally", default=None)
"""The call that the current task makes."""


class StoppedReadingError(Exception):
    """An answer was cut off by us."""


class Capped:
    """An answer's bytes, up to a limit."""

    def __init__(self, stream: Any, most: int, tally: Tally | None) -> None:
        self._stream = stream
        self._most = most
        self._tally = tally

    async def __aiter__(self) -> AsyncIterator[bytes]:
        seen = 0
        async for data in self._stream:
            seen += len(data)
            if seen > self._most:
                raise stopped(self._tally, f"the answer is longer than {self._most // 1_000_000} MB")
            yield data

    async def aclose(self) -> None:
        await self._stream.aclose()


class CappedStream(Capped, httpx2.AsyncByteStream):
    """The same, as httpx2 knows streams."""


def stopped(tally: Tally | None, problem: str) -> StoppedReadingError:
    """Note why reading ends here: the client's libraries wrap what is raised below them."""
    if tally is not None:
        tally.problem = problem
    return StoppedReadingError(problem)


async def count(request: Any) -> None:
    """A hook: a request is about to go out. Gives it the time-out of its call, for every client library."""
    tally = TALLY.get()
    if tally is None:
        return
    tally.requests += 1
    if tally.read_s is None:
        return
    connect = min(CONNECT_S, tally.read_s)
    request.extensions["timeout"] = {"connect": connect, "read": tally.read_s, "write": WRITE_S, "pool": None}
    if SERVER_TIMEOUT in request.headers:
        seconds = max(float(request.headers[SERVER_TIMEOUT]), tally.read_s)
        request.headers[SERVER_TIMEOUT] = str(math.ceil(seconds))


def count_sent(**told: Any) -> None:
    """The same for AWS's client, which calls it in the thread of the request, with this task's variables."""
    tally = TALLY.get()
    if tally is not None:
        tally.requests += 1


async def cap(response: Any, kind: type[Capped] = CappedStream) -> None:
    """A hook: an answer begins. Compressed ones, which were not asked for, could unfold without end."""
    tally = TALLY.get()
    if tally is not None:
        tally.status = response.status_code
    if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise stopped(tally, "the answer is compressed, which was not asked for")
    streamed = "text/event-stream" in response.headers.get("content-type", "")
    response.stream = kind(response.stream, MOST_STREAM if streamed else MOST_BODY, tally)


def timeouts(library: Any = httpx2) -> Any:
    return library.Timeout(connect=CONNECT_S, read=READ_S, write=WRITE_S, pool=None)


def http_client(library: Any = httpx2) -> Any:
    """A client of httpx2, or of the older httpx that one provider still uses. Hooks, not a transport of our
    own: with one, the proxies of the environment would be ignored. Redirects are not followed: a key goes
    to the address that was given and to no other."""
    kind = CappedStream
    if library is not httpx2:
        kind = type("CappedStream", (Capped, library.AsyncByteStream), {})
    return library.AsyncClient(
        timeout=timeouts(library),
        limits=library.Limits(max_connections=CONNECTIONS, max_keepalive_connections=IDLE),
        headers={"Accept-Encoding": "identity"},
        event_hooks={"request": [count], "response": [partial(cap, kind=kind)]},
        follow_redirects=False,
    )
