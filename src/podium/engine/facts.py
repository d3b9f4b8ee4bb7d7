"""The contract of what a project knows: facts, who changed them, and finding them again.

A fact is a sentence in three parts with the run and the words that it was taken from. It counts as canon
once somebody has accepted it; until then it waits for a review, and nothing is built upon it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

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
