"""Finding facts by what they mean, with the embedding model of the settings."""

from __future__ import annotations

from collections.abc import Sequence

from podium.brain.embedding import Embedder, checked
from podium.brain.vectors import Vectors, pack
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
        self._vectors = Vectors({})
        self._revision = -1
        self.warning = ""
        """Why the last search went by words and names alone; empty: it did not."""

    async def nearest(self, text: str, canon: Sequence[Fact], limit: int) -> list[Fact]:
        """The facts nearest in meaning. A model that fails costs the search its meaning, not its result."""
        vectors = await self._current()
        facts = {fact.id: fact for fact in canon}
        try:
            (query,) = await self._embedded([text[:LONGEST]])
        except EmbeddingError as error:
            self.warning = str(error)
            return []
        self.warning = ""
        return [facts[fact] for fact in vectors.nearest(query, limit, facts.keys())]

    async def embed(self, canon: Sequence[Fact]) -> int:
        """Embed the facts that have no vector of this model yet; returns how many."""
        known = await self._store.get_vectors(self._project, self._embedder.name)
        missing = [fact for fact in canon if fact.id not in known]
        for start in range(0, len(missing), AT_ONCE):
            some = missing[start : start + AT_ONCE]
            vectors = await self._embedded([text_of(fact) for fact in some])
            packed = {fact.id: vector for fact, vector in zip(some, vectors, strict=True)}
            await self._store.put_vectors(self._project, self._embedder.name, packed)
        if missing:
            self._revision = -1
        return len(missing)

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

    async def _current(self) -> Vectors:
        revision = await self._store.project_revision(self._project)
        if revision != self._revision:
            self._vectors = Vectors(await self._store.get_vectors(self._project, self._embedder.name))
            self._revision = revision
        return self._vectors


def text_of(fact: Fact) -> str:
    """A fact as a sentence."""
    return f"{fact.subject}, {fact.predicate}: {fact.value}"
