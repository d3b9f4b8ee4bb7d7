"""Asking a public API: one bounded GET within one time, that is not led to private addresses."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import urljoin

import msgspec

from podium.tools.addresses import Address, Target, parse_url, public_only, resolve_name
from podium.tools.http import Reply, request
from podium.tools.tool import ToolError

SECONDS = 15.0
MAX_BYTES = 5_000_000
MAX_REDIRECTS = 3


class Asker:
    """Asks one provider. An address that the user named may stand anywhere, also on their own network; where
    its answers redirect to is a stranger's choice, and must be public."""

    def __init__(self, name: str, *, trusted: bool = False, seconds: float = SECONDS) -> None:
        self._name, self._trusted, self._seconds = name, trusted, seconds

    async def get(self, url: str, headers: Mapping[str, str] | None = None) -> Reply:
        """The answer, whole, or a `ToolError` in one sentence."""
        try:
            async with asyncio.timeout(self._seconds):
                return await self._follow(parse_url(url), headers or {})
        except TimeoutError as error:
            raise ToolError(f"{self._name} took longer than {self._seconds:g} s.") from error
        except ToolError as error:
            told = str(error)
            raise ToolError(told if told.startswith(self._name) else f"{self._name}: {told}") from error

    async def json(self, url: str) -> dict[str, Any]:
        """The answer as a JSON object."""
        reply = await self.get(url, {"Accept": "application/json"})
        try:
            return msgspec.json.decode(reply.body, type=dict[str, Any])
        except (msgspec.DecodeError, RecursionError) as error:
            raise ToolError(f"{self._name} gave an answer that is not JSON.") from error

    async def _follow(self, target: Target, headers: Mapping[str, str]) -> Reply:
        home = (target.host, target.port)
        for _ in range(MAX_REDIRECTS + 1):
            at_home = (target.host, target.port) == home
            reply = await request(
                target,
                allowed=_anywhere if self._trusted and at_home else public_only,
                resolve=resolve_name,
                seconds=self._seconds,
                max_bytes=MAX_BYTES,
                headers=headers,
            )
            if reply.status not in (301, 302, 303, 307, 308):
                return self._checked(reply)
            target = parse_url(urljoin(target.url, reply.headers.get("location", "")))
        raise ToolError(f"{self._name} redirects more than {MAX_REDIRECTS} times.")

    def _checked(self, reply: Reply) -> Reply:
        if reply.status == 429 or (reply.status == 503 and "retry-after" in reply.headers):
            wait = reply.headers.get("retry-after", "")
            after = f"; it asks to wait {wait} s" if wait.isdecimal() and len(wait) < 6 else ""
            raise ToolError(f"{self._name} was asked too often{after}.")
        if reply.status != 200:
            raise ToolError(f"{self._name} answered {reply.status}.")
        if reply.cut:
            raise ToolError(f"{self._name} answered with more than {MAX_BYTES // 1_000_000} MB.")
        return reply


def _anywhere(address: Address, port: int) -> str:
    return ""
