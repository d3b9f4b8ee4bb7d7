"""A question over HTTP with nothing but an HTTP client: what every other way is held against. Needs no
more than pydantic and httpx2, because a peer imports it in a virtual environment of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path

import httpx2
from pydantic import BaseModel

SYSTEM, PROMPT = "Answer in one line.", "Judge what lies before you."
LIMITS = httpx2.Limits(max_connections=1_000, max_keepalive_connections=20)
"""The same for all who let us choose."""


class Verdict(BaseModel):
    """What is asked for."""

    verdict: str
    text: str
    score: float
    notes: str


SCHEMA = Verdict.model_json_schema()


class Asker:
    """One way to ask; a subclass says how a single question is put."""

    version = ""

    @asynccontextmanager
    async def opened(self, address: str, folder: Path) -> AsyncGenerator[None]:
        yield

    async def ask(self) -> None:
        raise NotImplementedError

    async def chain(self, n: int) -> None:
        """One question after the other."""
        for _ in range(n):
            await self.ask()

    async def fanout(self, n: int) -> None:
        """All at once."""
        await asyncio.gather(*(self.ask() for _ in range(n)))


class BareClient(Asker):
    """The HTTP client that Pydantic AI uses, and one check of the reply."""

    version = version("httpx2")

    @asynccontextmanager
    async def opened(self, address: str, folder: Path) -> AsyncGenerator[None]:
        self.address = f"{address}/chat/completions"
        async with httpx2.AsyncClient(limits=LIMITS) as self.client:
            yield

    async def ask(self) -> None:
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": PROMPT}]
        form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True}}
        body = {"model": "bench", "messages": messages, "max_tokens": 4096, "response_format": form}
        answer = await self.client.post(self.address, json=body, headers={"Authorization": "Bearer no-key"})
        Verdict.model_validate_json(answer.json()["choices"][0]["message"]["content"])


http = BareClient()
