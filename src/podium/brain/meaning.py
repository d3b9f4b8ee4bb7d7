"""Finding facts by what they mean, with the embedding model of the settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from podium.brain.embedding import Embedder, checked
from podium.brain.vectors import nearest, pack, promising, sketch
from podium.engine.events import Charge
from podium.engine.facts import Fact
from podium.engine.log import Store
from podium.errors import EmbeddingError
from podium.models.model import Usage, charge

AT_ONCE = 128
"""Facts in one request; what was paid for is kept before the next one."""
LONGEST = 8000
"""Characters of a text that are embedded; models refuse what is much longer."""


class Meaning:
    """The vectors of one project by one model."""

    def __init__(self, store: Store, project: str, embedder: Embedder) -> None:
        self._store = store
        self._project = project
        self._embedder = embedder
        self._sketched = f"{embedder.name} (sketches)"
        """Sketches lie beside the vectors that they are of, and go with them when a fact changes."""
        self._sketches: dict[str, bytes] = {}
        self._read: dict[str, bytes] = {}
        """Vectors that a search has read already."""
        self._revision = -1
        self.warning = ""
        """Why the last search went by words and names alone; empty: it did not."""

    async def nearest(self, text: str, canon: Sequence[Fact], limit: int) -> list[Fact]:
        """The facts nearest in meaning. A model that fails costs the search its meaning, not its result."""
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
        """Embed the facts that have no vector of this model yet; returns how many."""
        done = await self._current()
        left = [fact for fact in canon if fact.id not in done]
        paid = await self._vectors([fact.id for fact in left])  # a crash came between vector and sketch
        await self._sketch(paid)
        missing = [fact for fact in left if fact.id not in paid]
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
        """The most that a search can cost; `None`: nothing."""
        if self._embedder.price.kind == "free":
            return None
        return charge(self._embedder.price, Usage(len(text[:LONGEST].encode())))

    async def close(self) -> None:
        await self._embedder.close()

    async def _embedded(self, texts: list[str]) -> list[bytes]:
        """Count what it cost before anything is made of it."""
        done = await self._embedder.embed(texts)
        if done.charge.calls:
            await self._store.put_vectors(self._project, self._embedder.name, {}, done.charge)
        return [pack(vector) for vector in checked(done.vectors, len(texts), self._embedder.name)]

    async def _current(self) -> dict[str, bytes]:
        """The sketches of all facts that have a vector."""
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
    """A fact as a sentence."""
    return f"{fact.subject}, {fact.predicate}: {fact.value}"
