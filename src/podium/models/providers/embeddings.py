"""Embeddings over OpenAI's endpoint, which Ollama and compatible servers have too."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from openai import APIConnectionError, APIStatusError, OpenAIError

from podium.engine.budget import MOST_TOKENS, is_count
from podium.errors import EmbeddingError
from podium.models.catalogue import Access
from podium.models.model import Embedded, Price, Usage, charge, retried
from podium.models.providers.clients import open_client
from podium.models.providers.hosted import rates_for
from podium.settings import OwnPrice

ATTEMPTS = 3


class HostedEmbedder:
    """An embedding model at one address. Every request that was answered is counted and priced."""

    def __init__(self, access: Access, prices: Mapping[str, OwnPrice], retry_wait: float) -> None:
        self.name = access.name
        self.price: Price = rates_for(access, prices).price
        self._model = access.model
        self._retry_wait = retry_wait
        self._client, self._close = open_client(access)

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Embed texts in one request, with up to three attempts."""
        reply = await self._ask(list(texts))
        return Embedded(_vectors(reply), charge(self.price, Usage(_tokens(reply, texts))))

    async def close(self) -> None:
        await self._close()

    async def _ask(self, texts: list[str]) -> Any:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return await self._client.embeddings.create(
                    model=self._model, input=texts, encoding_format="float"
                )
            except (OpenAIError, ValueError) as error:  # invalid JSON is a ValueError
                if attempt == ATTEMPTS or not _worth_another(error):
                    raise EmbeddingError(
                        f"{self.name} gave no embeddings: {_message(error)}.",
                        hint="Facts are found by their words and names until it does.",
                    ) from error
            await asyncio.sleep(self._retry_wait * 2 ** (attempt - 1))
        raise AssertionError("the last attempt returns or raises")


def _worth_another(error: Exception) -> bool:
    if isinstance(error, APIStatusError):
        return retried(error.status_code)
    return isinstance(error, APIConnectionError)


def _message(error: Exception) -> str:
    if isinstance(error, APIStatusError):
        return f"HTTP {error.status_code}"
    if not isinstance(error, OpenAIError):
        return "the answer is not what was asked for"
    return str(error).rstrip(".") or type(error).__name__


def _tokens(reply: Any, texts: Sequence[str]) -> int:
    """Return the server's token count; a missing or implausible one is replaced by the number of bytes."""
    tokens: Any = getattr(getattr(reply, "usage", None), "prompt_tokens", None)
    return tokens if is_count(tokens, MOST_TOKENS) else sum(len(text.encode()) for text in texts)


def _vectors(reply: Any) -> list[Any]:
    """Return the vectors in the order of the texts; the caller validates them."""
    data: Any = getattr(reply, "data", None) or []
    numbered: list[tuple[int, Any]] = [
        (getattr(item, "index", 0) or 0, getattr(item, "embedding", None) or []) for item in data
    ]
    return [vector for _, vector in sorted(numbered, key=_first)]


def _first(pair: tuple[int, Any]) -> int:
    return pair[0]
