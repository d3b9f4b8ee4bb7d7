"""Models that turn texts into vectors, so that facts are found by what they mean.

Optional: without one, facts are found by names and words. What a hosted one costs is counted and priced like
any other call, and kept with the project.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from podium.engine.events import NOTHING
from podium.engine.loading import load_module
from podium.errors import EmbeddingError, ModelUnavailableError
from podium.models.catalogue import access_to
from podium.models.model import FREE, Embedded, Price
from podium.settings import Settings
from podium.settings.places import named

HOSTED = ("openai", "ollama", "openai-compatible")
"""Providers with an address for embeddings that Podium speaks to."""
_FORMS = "python:FILE.py:function, openai:MODEL, ollama:MODEL or openai-compatible:MODEL@URL"


class Embedder(Protocol):
    """Something that turns texts into vectors."""

    @property
    def name(self) -> str:
        """Vectors of different names are never compared."""
        ...

    @property
    def price(self) -> Price: ...

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """One request. Raises `EmbeddingError`; what it returns is yet to be `checked`."""
        ...

    async def close(self) -> None: ...


class FunctionEmbedder:
    """A function `(texts) -> vectors`, plain or async."""

    price = FREE

    def __init__(self, function: Callable[[list[str]], Any], name: str) -> None:
        self.name = name
        self._function = function

    async def embed(self, texts: Sequence[str]) -> Embedded:
        try:
            given = self._function(list(texts))
            vectors = await given if inspect.isawaitable(given) else given
        except Exception as error:
            raise EmbeddingError(f"{self.name} failed: {type(error).__name__}: {error}.") from error
        return Embedded(vectors, NOTHING)

    async def close(self) -> None:
        pass


def open_embedder(settings: Settings) -> Embedder | None:
    """The model that the settings name; `None` when they name none."""
    name = settings.brain.embedding
    kind = name.partition(":")[0]
    if not name:
        return None
    if kind == "python":
        return _open_function(name)
    if kind not in HOSTED or name == f"{kind}:":
        raise ModelUnavailableError(f"{name} is no model for embeddings.", hint=f"These work: {_FORMS}.")
    access = access_to(name, settings.providers)
    from podium.models.providers.embeddings import HostedEmbedder  # noqa: PLC0415 - takes a second to import

    return HostedEmbedder(access, settings.prices, settings.retry_wait)


def _open_function(name: str) -> FunctionEmbedder:
    file, _, function = name.removeprefix("python:").rpartition(":")
    path = named(file).resolve()
    if not file.endswith(".py") or not path.is_file():
        raise ModelUnavailableError(
            f"There is no file for the embeddings of {name}.", hint="Write it as python:FILE.py:function."
        )
    try:
        found = getattr(load_module(path), function, None)
    except Exception as error:
        raise ModelUnavailableError(
            f"The file of {name} cannot be imported: {type(error).__name__}: {error}.",
            hint=f"Try `python {path}`.",
        ) from error
    if not callable(found):
        raise ModelUnavailableError(f"{path} holds no function {function or '(empty name)'}.")
    return FunctionEmbedder(found, f"python:{path}:{function}")


def checked(vectors: Any, count: int, name: str) -> list[list[float]]:
    """One list of finite numbers for each text, all of one length."""
    try:
        found = [[float(number) for number in vector] for vector in vectors]
    except (TypeError, ValueError) as error:
        raise EmbeddingError(f"{name} returned something else than lists of numbers.") from error
    sizes = {len(vector) for vector in found}
    if len(found) != count or len(sizes) > 1 or 0 in sizes:
        raise EmbeddingError(
            f"{name} returned {len(found)} vectors of {sorted(sizes)} numbers for {count} texts.",
            hint="It must return one vector for each text, all of the same length.",
        )
    if not all(math.isfinite(number) for vector in found for number in vector):
        raise EmbeddingError(f"{name} returned numbers that are not finite.")
    return found
