"""Connections that do not come to the point: a client has a while to say what it wants, then it is let go.

Uvicorn waits for ever for the rest of a request's head, so that a few hundred clients who send a byte now and
then could take every place there is.
"""

from __future__ import annotations

import asyncio
from asyncio import TimerHandle, Transport
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from podium.server.strict_http import StrictConnection

HEAD_S = 20.0
"""For everything before the body of a request."""
MOST_HEAD = 65_536
"""Bytes of a request's head."""


class Punctual(H11Protocol):
    """The head of a request comes within `head_s` seconds and is unambiguous, or the connection is closed."""

    head_s = HEAD_S
    _late: TimerHandle | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.conn = StrictConnection(h11.SERVER, MOST_HEAD)

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self.cycle or self.cycle.response_complete:  # there is none before the first request
            self._expect()  # what has come is not a whole head; a byte more does not give it more time
        elif self._late is not None:
            self._late.cancel()
            self._late = None

    def connection_lost(self, exc: Exception | None) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None
        super().connection_lost(exc)

    def _expect(self) -> None:
        if self._late is None:
            self._late = asyncio.get_running_loop().call_later(self.head_s, self._let_go)

    def _let_go(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()
