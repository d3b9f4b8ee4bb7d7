"""Embeddings over the wire: OpenAI's address for them, which Ollama and compatible servers have too."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from openai import APIConnectionError, APIStatusError, OpenAIError

from podium.engine.events import NOTHING
from podium.errors import EmbeddingError
from podium.models.catalogue import Access
from podium.models.faults import retried
from podium.models.model import Embedded, Price, Usage, charge
from podium.models.providers.backends import open_client
from podium.models.providers.opening import rates_for
from podium.settings import OwnPrice

AT_ONCE = 128
"""Texts in one request."""
ATTEMPTS = 3


class HostedEmbedder:
    """One model at one address. Every request that was answered is counted and priced."""

    def __init__(self, access: Access, prices: Mapping[str, OwnPrice], retry_wait: float) -> None:
        self.name = access.name
        self.price: Price = rates_for(access, prices).price
        self._model = access.model
        self._retry_wait = retry_wait
        self._client, self._close = open_client(access)

    async def embed(self, texts: Sequence[str]) -> Embedded:
        vectors: list[list[float]] = []
        spent = NOTHING
        for start in range(0, len(texts), AT_ONCE):
            some = list(texts[start : start + AT_ONCE])
            reply = await self._ask(some)
            spent += charge(self.price, Usage(_tokens(reply, some)))
            vectors += _vectors(reply, len(some), self.name)
        return Embedded(vectors, spent)

    async def close(self) -> None:
        await self._close()

    async def _ask(self, texts: list[str]) -> Any:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return await self._client.embeddings.create(
                    model=self._model, input=texts, encoding_format="float"
                )
            except OpenAIError as error:
                if attempt == ATTEMPTS or not _worth_another(error):
                    raise EmbeddingError(
                        f"{self.name} gave no embeddings: {_told(error)}.",
                        hint="Facts are found by their words and names until it does.",
                    ) from error
            await asyncio.sleep(self._retry_wait * 2 ** (attempt - 1))
        raise AssertionError("the last attempt returns or raises")


def _worth_another(error: OpenAIError) -> bool:
    if isinstance(error, APIStatusError):
        return retried(error.status_code)
    return isinstance(error, APIConnectionError)


def _told(error: OpenAIError) -> str:
    if isinstance(error, APIStatusError):
        return f"HTTP {error.status_code}"
    return str(error).rstrip(".") or type(error).__name__


def _tokens(reply: Any, texts: Sequence[str]) -> int:
    """As the server counted them; one that does not count is taken to have read every byte."""
    told = getattr(getattr(reply, "usage", None), "prompt_tokens", None)
    return told if isinstance(told, int) else sum(len(text.encode()) for text in texts)


def _vectors(reply: Any, count: int, name: str) -> list[list[float]]:
    try:
        found = sorted(reply.data, key=lambda one: one.index)
        vectors = [list(one.embedding) for one in found]
    except (AttributeError, TypeError) as error:
        raise EmbeddingError(f"{name} answered with something else than embeddings.") from error
    if len(vectors) != count:
        raise EmbeddingError(f"{name} answered with {len(vectors)} vectors for {count} texts.")
    return vectors
