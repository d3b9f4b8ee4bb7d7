"""Store protocols for brain facts and cached replies.

A fact is a sentence in three parts with the run and the words that it was taken from. It counts as canon
once somebody has accepted it; until then it waits for a review, and nothing is built upon it.

One question may have several answers, because asking twice is meant to give two: they are samples, in the
order of their numbers. Losing any of it costs money at most, so nothing here is waited for and nothing here
may stop a run.
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
    """Unique in its project; given by the brain when it is empty."""
    project: str = ""
    subject: str
    """Whom or what it is about: `Elena Marsh`."""
    predicate: str
    """What is told of it: `eye colour`."""
    value: str
    kind: FactKind = "other"
    """What the subject is."""
    source_run: str = ""
    """The run that it was taken from; empty: a person told it."""
    quote: str = ""
    """The words that it was taken from."""
    status: FactStatus = "proposed"
    created_at: str = ""
    """When it was told, in UTC: `2026-03-01T09:30:00.000000Z`."""
    updated_at: str = ""
    """When it was last changed. A change is refused if somebody else made another since."""


class FactChange(msgspec.Struct, frozen=True, kw_only=True):
    """One entry in the history of a fact."""

    project: str = ""
    fact: str = ""
    """Its id."""
    at: str = ""
    by: str = ""
    """A person, `cli`, or `run RUN_ID`."""
    action: FactAction
    before: dict[str, str] = {}
    """What was changed, as it was."""
    after: dict[str, str] = {}
    """What was changed, as it became; `replaced_by` names the fact that took this one's place."""


class FactUpdate(NamedTuple):
    """A fact as it is to be, and what its history tells of it."""

    fact: Fact
    """With the `updated_at` that it was read with."""
    change: FactChange


class ProjectShare(msgspec.Struct, frozen=True, kw_only=True):
    """What a store holds of one project."""

    project: str
    accepted: int = 0
    proposed: int = 0
    discarded: int = 0
    updated_at: str = ""
    embedding: Charge = NOTHING
    """What embedding its facts and searches has cost."""


class Facts(Protocol):
    """The part of a store that keeps what projects know."""

    async def add_facts(self, facts: Sequence[Fact], change: FactChange) -> list[Fact]:
        """Add those facts whose ids are new in their project, all at once or none; returns them. The history
        of each begins with `change`."""
        ...

    async def change_facts(self, updates: Sequence[FactUpdate], at: str) -> list[str]:
        """Change facts together with their history. One that was changed since it was read, or is gone, is
        left alone; returns the ids of the others."""
        ...

    async def forget_facts(self, project: str, ids: Collection[str] | None = None) -> int:
        """Remove facts (`None`: the whole project) with their history; returns how many."""
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
        """In the order in which they were told; what is not given does not narrow it."""
        ...

    async def match_facts(
        self, project: str, terms: Sequence[str], *, status: Collection[str] = (), limit: int = 100
    ) -> list[Fact]:
        """Facts that hold any of these words in some form, the best matches first."""
        ...

    async def fact_history(self, project: str, fact_id: str) -> list[FactChange]:
        """What happened to a fact, oldest first."""
        ...

    async def list_projects(self) -> list[ProjectShare]:
        """Every project that has facts, by name."""
        ...

    async def project_revision(self, project: str) -> int:
        """A number that grows with each change of a project's facts; 0: there are none."""
        ...

    async def put_vectors(
        self, project: str, model: str, vectors: Mapping[str, bytes], charge: Charge = NOTHING
    ) -> None:
        """Keep the embeddings of facts, by fact id, and count what they cost."""
        ...

    async def get_vectors(
        self, project: str, model: str, *, ids: Collection[str] | None = None
    ) -> dict[str, bytes]:
        """The embeddings of a project's facts by one model, or those of some facts. Those of facts that were
        changed are gone."""
        ...


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One answer in the cache."""

    id: str
    """Unique; what a log names when it tells that this answer was used or made."""
    key: str
    """The hash of what was asked."""
    number: int
    """Its place among the answers to the same question, from 1 on."""
    model: str
    data: bytes
    """The answer as its owner wrote it; the store does not look inside."""
    charge: Charge = NOTHING
    """What it cost when it was made: what each later use saves."""
    made_us: int = 0


class CacheShare(msgspec.Struct, frozen=True, kw_only=True):
    """What the cache holds, and has saved, of one model."""

    model: str
    entries: int = 0
    bytes: int = 0
    hits: int = 0
    """Calls that were not made, in the whole life of the cache."""
    saved: Charge = NOTHING
    """What these would have cost."""
    oldest_us: int = 0
    newest_us: int = 0

    def figures(self) -> dict[str, Any]:
        """As every interface tells them."""
        return {
            "entries": self.entries,
            "bytes": self.bytes,
            "hits": self.hits,
            "saved_calls": self.saved.calls,
            "saved_usd": round(self.saved.usd, 9),
            "saved_tokens": self.saved.tokens,
        }


def total_of(shares: Iterable[CacheShare]) -> CacheShare:
    """All models together."""
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
    """What was taken out of the cache."""

    entries: int = 0
    bytes: int = 0


class Samples(Protocol):
    """The part of a store that keeps the cache."""

    async def find_sample(self, key: str, skip: Collection[str] = ()) -> Sample | None:
        """The answer with the lowest number whose id is not in `skip`."""
        ...

    def keep_sample(self, sample: Sample, most_bytes: int) -> None:
        """Queue an answer. It gets its number, or the next free one if somebody else was quicker. When the
        cache holds more than `most_bytes`, what was not used for the longest time goes; that is looked
        at now and then, so the cache may be a little larger for a while."""
        ...

    def use_sample(self, sample: Sample, now_us: int) -> None:
        """Queue that an answer was used: it is fresh again, and what it saved is counted."""
        ...

    def drop_sample(self, sample_id: str) -> None:
        """Queue the removal of an answer that is of no use."""
        ...

    async def cache_shares(self) -> list[CacheShare]:
        """What the cache holds and has saved, by model."""
        ...

    async def clear_cache(self, *, before_us: int | None = None, model: str = "") -> Cleared:
        """Remove answers: all, or those that were last used before a moment, or those of one model."""
        ...
