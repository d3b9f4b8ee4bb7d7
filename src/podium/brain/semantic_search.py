"""Embeddings and vector search.

Optional: without an embedding model, facts are found by names and words. The cost of a hosted one is counted
and priced like any other call, and stored with the project.

A vector of 1,536 numbers is 6 KB to read and 0.1 ms to compare. So each has a sketch of one bit per number,
and only the vectors with the closest sketches are read and compared in full.
"""

from __future__ import annotations

import inspect
import math
import sys
from array import array
from collections.abc import Callable, Mapping, Sequence
from operator import mul
from typing import Any, Protocol

from podium.engine.events import NOTHING, Charge
from podium.engine.log import Store
from podium.engine.store_parts import Fact
from podium.engine.workflow import load_module
from podium.errors import EmbeddingError, ModelUnavailableError
from podium.models.catalogue import access_to
from podium.models.model import FREE, Embedded, Price, Usage, charge
from podium.settings import Settings
from podium.settings.places import named

HOSTED = ("openai", "ollama", "openai-compatible")
"""Providers with a supported embeddings endpoint."""
_FORMS = "python:FILE.py:function, openai:MODEL, ollama:MODEL or openai-compatible:MODEL@URL"


class Embedder(Protocol):
    """A model that turns texts into vectors."""

    @property
    def name(self) -> str:
        """Name of the model; vectors of different names are never compared."""
        ...

    @property
    def price(self) -> Price: ...

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Embed texts in one request. Raises `EmbeddingError`; the result must still be validated with
        `checked`."""
        ...

    async def close(self) -> None: ...


class FunctionEmbedder:
    """An embedder backed by a function `(texts) -> vectors`, sync or async."""

    price = FREE

    def __init__(self, function: Callable[[list[str]], Any], name: str) -> None:
        self.name = name
        self._function = function

    async def embed(self, texts: Sequence[str]) -> Embedded:
        try:
            result = self._function(list(texts))
            vectors = await result if inspect.isawaitable(result) else result
        except Exception as error:
            raise EmbeddingError(f"{self.name} failed: {type(error).__name__}: {error}.") from error
        return Embedded(vectors, NOTHING)

    async def close(self) -> None:
        pass


def open_embedder(settings: Settings) -> Embedder | None:
    """Open the embedding model of the settings; `None` if there is none."""
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
        embed = getattr(load_module(path), function, None)
    except Exception as error:
        raise ModelUnavailableError(
            f"The file of {name} cannot be imported: {type(error).__name__}: {error}.",
            hint=f"Try `python {path}`.",
        ) from error
    if not callable(embed):
        raise ModelUnavailableError(f"{path} holds no function {function or '(empty name)'}.")
    return FunctionEmbedder(embed, f"python:{path}:{function}")


def checked(vectors: Any, count: int, name: str) -> list[list[float]]:
    """Return the vectors if there is one list of finite numbers per text, all of one length; else raise
    `EmbeddingError`."""
    try:
        rows = [[float(number) for number in vector] for vector in vectors]
    except (TypeError, ValueError) as error:
        raise EmbeddingError(f"{name} returned something else than lists of numbers.") from error
    sizes = {len(vector) for vector in rows}
    if len(rows) != count or len(sizes) > 1 or 0 in sizes:
        raise EmbeddingError(
            f"{name} returned {len(rows)} vectors of {sorted(sizes)} numbers for {count} texts.",
            hint="It must return one vector for each text, all of the same length.",
        )
    if not all(math.isfinite(number) for vector in rows for number in vector):
        raise EmbeddingError(f"{name} returned numbers that are not finite.")
    return rows


LEAST = 0.2
"""Cosine similarity below which two texts count as unrelated."""
COMPARED = 100_000
"""Numbers that one search compares in full: 65 vectors of 1,536 numbers, or 1,000 of 100."""


def pack(vector: Sequence[float]) -> bytes:
    """Normalize a vector to length 1 and pack it as little-endian 32-bit floats."""
    length = math.sqrt(sum(map(mul, vector, vector))) or 1.0
    packed = array("f", (number / length for number in vector))
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def unpack(data: bytes) -> list[float]:
    numbers = array("f", data)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tolist()


def sketch(data: bytes) -> bytes:
    """Return one bit for each number of a packed vector: whether it is above their mean. The sign alone would
    carry no information for vectors without negative numbers."""
    numbers = unpack(data)
    mean = sum(numbers) / len(numbers)
    bits = "".join("1" if number > mean else "0" for number in numbers)
    return int(bits, 2).to_bytes((len(bits) + 7) // 8, "big")


def promising(sketches: Mapping[str, bytes], query: bytes, limit: int) -> list[str]:
    """Return the facts whose sketches differ least from the query's: as many as may be compared in full, and
    at least `limit`. Sketches of another length are from another model under the same name and are
    skipped."""
    sought = sketch(query)
    wanted, size = int.from_bytes(sought, "big"), len(sought)
    apart = {
        fact: (int.from_bytes(own, "big") ^ wanted).bit_count()
        for fact, own in sketches.items()
        if len(own) == size
    }
    most = max(limit, COMPARED // (len(query) // 4))
    return sorted(apart, key=apart.__getitem__)[:most] if len(apart) > most else list(apart)


def nearest(vectors: Mapping[str, bytes], query: bytes, limit: int) -> list[str]:
    """Return the facts with the most similar meaning, the most similar first."""
    sought = unpack(query)
    scored = [
        (sum(map(mul, sought, unpack(data))), fact)
        for fact, data in vectors.items()
        if len(data) == len(query)
    ]
    close = sorted((pair for pair in scored if pair[0] >= LEAST), key=lambda pair: -pair[0])
    return [fact for _, fact in close[:limit]]


AT_ONCE = 128
"""Facts per request; each request's vectors are stored before the next one."""
LONGEST = 8000
"""Maximum characters of a text that are embedded; models refuse much longer ones."""


class Meaning:
    """The vectors of one project by one model."""

    def __init__(self, store: Store, project: str, embedder: Embedder) -> None:
        self._store = store
        self._project = project
        self._embedder = embedder
        self._sketched = f"{embedder.name} (sketches)"
        """Name for the sketches, stored like vectors of a model: they are removed with the vectors when a
        fact changes."""
        self._sketches: dict[str, bytes] = {}
        self._read: dict[str, bytes] = {}
        """Vectors that a search has already read."""
        self._revision = -1
        self.warning = ""
        """Why the last search used words and names alone; empty if it did not."""

    async def nearest(self, text: str, canon: Sequence[Fact], limit: int) -> list[Fact]:
        """Return the facts of the most similar meaning; empty if the model fails, so that the search still
        works without it."""
        facts = {fact.id: fact for fact in canon}
        try:
            (query,) = await self._embedded([text[:LONGEST]])
        except EmbeddingError as error:
            self.warning = str(error)
            return []
        self.warning = ""
        sketches = {fact: own for fact, own in (await self._current()).items() if fact in facts}
        vectors = await self._vectors(promising(sketches, query, limit))
        return [facts[fact] for fact in nearest(vectors, query, limit)]

    async def embed(self, canon: Sequence[Fact]) -> int:
        """Embed the facts that have no vector of this model yet; return how many."""
        done = await self._current()
        unsketched = [fact for fact in canon if fact.id not in done]
        paid = await self._vectors([fact.id for fact in unsketched])  # a crash came between vector and sketch
        await self._sketch(paid)
        missing = [fact for fact in unsketched if fact.id not in paid]
        for start in range(0, len(missing), AT_ONCE):
            some = missing[start : start + AT_ONCE]
            vectors = await self._embedded([text_of(fact) for fact in some])
            packed = {fact.id: vector for fact, vector in zip(some, vectors, strict=True)}
            await self._store.put_vectors(self._project, self._embedder.name, packed)
            await self._sketch(packed)
        return len(missing)

    async def _sketch(self, vectors: Mapping[str, bytes]) -> None:
        if vectors:
            made = {fact: sketch(data) for fact, data in vectors.items()}
            await self._store.put_vectors(self._project, self._sketched, made)

    def worst_case(self, text: str) -> Charge | None:
        """Return the maximum cost of a search; `None`: free."""
        if self._embedder.price.kind == "free":
            return None
        return charge(self._embedder.price, Usage(len(text[:LONGEST].encode())))

    async def close(self) -> None:
        await self._embedder.close()

    async def _embedded(self, texts: list[str]) -> list[bytes]:
        """Embed texts. Records the cost before the result is used."""
        done = await self._embedder.embed(texts)
        if done.charge.calls:
            await self._store.put_vectors(self._project, self._embedder.name, {}, done.charge)
        return [pack(vector) for vector in checked(done.vectors, len(texts), self._embedder.name)]

    async def _current(self) -> dict[str, bytes]:
        """Return the sketches of all facts that have a vector."""
        revision = await self._store.project_revision(self._project)
        if revision != self._revision:
            self._sketches = await self._store.get_vectors(self._project, self._sketched)
            self._read.clear()
            self._revision = revision
        return self._sketches

    async def _vectors(self, ids: Sequence[str]) -> dict[str, bytes]:
        new = [fact for fact in ids if fact not in self._read]
        if new:
            self._read |= await self._store.get_vectors(self._project, self._embedder.name, ids=new)
        return {fact: self._read[fact] for fact in ids if fact in self._read}


def text_of(fact: Fact) -> str:
    """Return a fact as a sentence."""
    return f"{fact.subject}, {fact.predicate}: {fact.value}"
