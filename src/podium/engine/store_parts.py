"""Store protocols for project facts and cached replies.

A fact has a subject, a predicate and a value, and names the run and the quote that it was taken from. It
becomes canon once it is accepted; until then it awaits review and nothing is built upon it.

One request may have several cached replies, because asking twice is meant to give two: they are samples, in
the order of their numbers. Losing cache entries costs money at most, so writes to the cache are never waited
for and never stop a run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from podium.engine.events import NOTHING, Charge

FactKind = Literal["character", "scene", "place", "object", "rule", "other"]
FactStatus = Literal["proposed", "accepted", "discarded"]
FactAction = Literal["proposed", "imported", "accepted", "discarded", "edited", "replaced"]


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a project knows, or might."""

    id: str = ""
    """Unique in its project; the brain assigns one if it is empty."""
    project: str = ""
    subject: str
    """The subject: `Elena Marsh`."""
    predicate: str
    """The property: `eye colour`."""
    value: str
    kind: FactKind = "other"
    """Kind of subject."""
    source_run: str = ""
    """The run that it was taken from; empty if a person entered it."""
    quote: str = ""
    """The quoted text that it was taken from."""
    status: FactStatus = "proposed"
    created_at: str = ""
    """Creation time in UTC: `2026-03-01T09:30:00.000000Z`."""
    updated_at: str = ""
    """Time of the last change. Used for optimistic locking: a change based on an older value is refused."""


class FactChange(msgspec.Struct, frozen=True, kw_only=True):
    """One entry in the history of a fact."""

    project: str = ""
    fact: str = ""
    """Id of the fact."""
    at: str = ""
    by: str = ""
    """A person, `cli`, or `run RUN_ID`."""
    action: FactAction
    before: dict[str, str] = {}
    """The changed fields, old values."""
    after: dict[str, str] = {}
    """The changed fields, new values; `replaced_by` names the fact that replaced this one."""


class FactUpdate(NamedTuple):
    """The new state of a fact, and the entry for its history."""

    fact: Fact
    """With the `updated_at` that it was read with."""
    change: FactChange


class ProjectShare(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of one project's facts in a store."""

    project: str
    accepted: int = 0
    proposed: int = 0
    discarded: int = 0
    updated_at: str = ""
    embedding: Charge = NOTHING
    """Cost of embedding its facts and searches."""


class Facts(Protocol):
    """The part of a store that keeps project facts."""

    async def add_facts(self, facts: Sequence[Fact], change: FactChange) -> list[Fact]:
        """Add the facts whose ids are new in their project, in one transaction, and return them. The history
        of each begins with `change`."""
        ...

    async def change_facts(self, updates: Sequence[FactUpdate], at: str) -> list[str]:
        """Change facts together with their history. Skips facts that were changed since they were read or are
        gone; returns the ids of the others."""
        ...

    async def forget_facts(self, project: str, ids: Collection[str] | None = None) -> int:
        """Remove facts (`None`: the whole project) with their history; return how many."""
        ...

    async def list_facts(
        self,
        project: str = "",
        *,
        status: Collection[str] = (),
        source_run: str = "",
        ids: Collection[str] = (),
        limit: int = 0,
    ) -> list[Fact]:
        """Return facts in the order in which they were created. Filters that are empty do not apply."""
        ...

    async def match_facts(
        self, project: str, terms: Sequence[str], *, status: Collection[str] = (), limit: int = 100
    ) -> list[Fact]:
        """Return facts that contain any of these words in some form, the best matches first."""
        ...

    async def fact_history(self, project: str, fact_id: str) -> list[FactChange]:
        """Return the changes of a fact, oldest first."""
        ...

    async def list_projects(self) -> list[ProjectShare]:
        """Return every project that has facts, by name."""
        ...

    async def project_revision(self, project: str) -> int:
        """Return a number that grows with each change of a project's facts; 0 if there are none."""
        ...

    async def put_vectors(
        self, project: str, model: str, vectors: Mapping[str, bytes], charge: Charge = NOTHING
    ) -> None:
        """Store the embeddings of facts, by fact id, and add their cost."""
        ...

    async def get_vectors(
        self, project: str, model: str, *, ids: Collection[str] | None = None
    ) -> dict[str, bytes]:
        """Return the embeddings of a project's facts (or of `ids`) by one model. Changing a fact removes its
        embedding."""
        ...


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One cached reply."""

    id: str
    """Unique id; the log refers to it when the reply was created or used."""
    key: str
    """Hash of the request."""
    number: int
    """Its position among the replies to the same request, starting at 1."""
    model: str
    data: bytes
    """The serialized reply; opaque to the store."""
    charge: Charge = NOTHING
    """Cost of the original call, which each later use saves."""
    made_us: int = 0


class CacheShare(msgspec.Struct, frozen=True, kw_only=True):
    """Contents and savings of the cache for one model."""

    model: str
    entries: int = 0
    bytes: int = 0
    hits: int = 0
    """Calls that were not made, over the lifetime of the cache."""
    saved: Charge = NOTHING
    """Cost that they would have had."""
    oldest_us: int = 0
    newest_us: int = 0

    def figures(self) -> dict[str, Any]:
        """Return the figures in the form that every interface shows."""
        return {
            "entries": self.entries,
            "bytes": self.bytes,
            "hits": self.hits,
            "saved_calls": self.saved.calls,
            "saved_usd": round(self.saved.usd, 9),
            "saved_tokens": self.saved.tokens,
        }


def total_of(shares: Iterable[CacheShare]) -> CacheShare:
    """Return the sum over all models."""
    whole = CacheShare(model="")
    for share in shares:
        whole = CacheShare(
            model="",
            entries=whole.entries + share.entries,
            bytes=whole.bytes + share.bytes,
            hits=whole.hits + share.hits,
            saved=whole.saved + share.saved,
            oldest_us=min(filter(None, (whole.oldest_us, share.oldest_us)), default=0),
            newest_us=max(whole.newest_us, share.newest_us),
        )
    return whole


class Cleared(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of the cached replies that were removed."""

    entries: int = 0
    bytes: int = 0


class Samples(Protocol):
    """The part of a store that keeps the reply cache."""

    async def find_sample(self, key: str, skip: Collection[str] = ()) -> Sample | None:
        """Return the reply with the lowest number whose id is not in `skip`, or None."""
        ...

    def keep_sample(self, sample: Sample, most_bytes: int) -> None:
        """Queue a reply. It gets its number, or the next free one if that is taken. When the cache exceeds
        `most_bytes`, the least recently used replies are removed; this is checked only now and then, so the
        cache may be a little larger for a while."""
        ...

    def use_sample(self, sample: Sample, now_us: int) -> None:
        """Queue the use of a reply: updates its last use and counts what it saved."""
        ...

    def drop_sample(self, sample_id: str) -> None:
        """Queue the removal of a reply that cannot be used."""
        ...

    async def cache_shares(self) -> list[CacheShare]:
        """Return contents and savings of the cache, by model."""
        ...

    async def clear_cache(self, *, before_us: int | None = None, model: str = "") -> Cleared:
        """Remove replies: all, those last used before a time, or those of one model."""
        ...
