"""Procrastinate's way to the database, with patience: a database that restarts must not end a worker."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, LiteralString, TypeVar

import psycopg
from procrastinate import PsycopgConnector
from procrastinate.connector import Notify
from procrastinate.exceptions import ConnectorException

from podium.stores.postgres.failures import explain, is_lost

LOG = logging.getLogger("podium.cluster")
Answer = TypeVar("Answer")

_AGAIN_S = 0.1
_LONGEST_S = 1.0
_SAY_AFTER_S = 2.0
"""A restart is no news; a database that stays away is."""


class PatientConnector(PsycopgConnector):
    """Asks again until the database answers. What it asks is safe to ask twice: see `jobs.py` for how."""

    def __init__(self, *, where: str, patience_s: float, **options: Any) -> None:
        super().__init__(**options)  # pyright: ignore[reportUnknownMemberType] - a bare Callable in it
        self._where = where
        """The database as people see it."""
        self._patience_s = patience_s
        """How long the database may be away; a worker waits for ever."""
        self.away_since: float | None = None
        """When it was found that the database does not answer."""

    async def execute_query_async(self, query: LiteralString, **arguments: Any) -> None:
        asked = super().execute_query_async
        await self._asked(lambda: asked(query, **arguments))

    async def execute_query_one_async(self, query: LiteralString, **arguments: Any) -> dict[str, Any]:
        asked = super().execute_query_one_async
        return await self._asked(lambda: asked(query, **arguments))

    async def execute_query_all_async(self, query: LiteralString, **arguments: Any) -> list[dict[str, Any]]:
        asked = super().execute_query_all_async
        return await self._asked(lambda: asked(query, **arguments))

    async def listen_notify(self, on_notification: Notify, channels: Iterable[str]) -> None:
        listen, names = super().listen_notify, list(channels)
        await self._asked(lambda: listen(on_notification, names))

    async def _asked(self, ask: Callable[[], Awaitable[Answer]]) -> Answer:
        wait, since = _AGAIN_S, time.monotonic()
        while True:
            try:
                answer = await ask()
            except (ConnectorException, psycopg.Error, OSError) as error:
                cause = error.__cause__ if isinstance(error, ConnectorException) else error
                if not is_lost(cause or error):
                    raise
                if time.monotonic() - since > self._patience_s:
                    raise explain(cause or error, self._where) from error
                self._note(cause or error)
            else:
                self._answered()
                return answer
            await asyncio.sleep(wait)
            wait = min(2 * wait, _LONGEST_S)

    def _note(self, error: BaseException) -> None:
        now = time.monotonic()
        if self.away_since is None:
            self.away_since = now
        elif now - self.away_since > _SAY_AFTER_S and not self._said:
            self._said = True
            LOG.warning("The database is away, waiting for it: %s", _first_line(error))

    def _answered(self) -> None:
        if self._said:
            LOG.info("The database is back.")
        self.away_since, self._said = None, False

    _said = False


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
