"""Brain of one project."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import msgspec

from podium.brain.canon import NAMED, Canon
from podium.brain.contradictions import Contradiction, find_contradictions
from podium.brain.editing import cleaned, now, prepared, told
from podium.brain.semantic_search import Meaning, open_embedder
from podium.brain.vocabulary import predicate_key, search_terms
from podium.engine.events import Charge
from podium.engine.log import Store
from podium.engine.redaction import redactor
from podium.engine.store_parts import Fact, FactChange, FactUpdate
from podium.errors import UsageError
from podium.settings import Settings

_K = 60
"""How much a first place is worth beside a tenth; the usual figure of reciprocal rank fusion."""


def fuse(named: Iterable[Fact], *ranked: Sequence[Fact]) -> list[Fact]:
    """One order out of several: a fact gets points for its place in each list, and the points of a first
    place for being about somebody who is named."""
    points: dict[str, float] = {}
    facts: dict[str, Fact] = {}
    for fact in named:
        facts.setdefault(fact.id, fact)
        points[fact.id] = 1 / (_K + 1)
    for order in ranked:
        for place, fact in enumerate(order, 1):
            facts.setdefault(fact.id, fact)
            points[fact.id] = points.get(fact.id, 0.0) + 1 / (_K + place)
    return sorted(facts.values(), key=lambda fact: -points[fact.id])


LONGEST_PROJECT = 100
_NO_NAMES = ("", ".", "..")
"""Browsers read dots in an address as the way up, however they are written."""
_LOOKED_AT = 5
"""So many times the wanted number of facts is looked at before the best are chosen."""
_MEANT = 2
"""The same for those that mean nearly the same: each of them takes a tenth of a millisecond."""


class Brain:
    """Reads canon once and again when somebody changes it; an instance belongs to one event loop."""

    def __init__(self, store: Store, project: str, settings: Settings) -> None:
        self.project = project
        self._store = store
        self._redact = redactor(settings.secrets())
        self._canon = Canon([])
        self._revision = -1
        embedder = open_embedder(settings)
        self._meaning = None if embedder is None else Meaning(store, project, embedder)

    @classmethod
    async def open(cls, store: Store, project: str, *, settings: Settings | None = None) -> Brain:
        """The brain of a project; one that nobody has told anything yet is empty."""
        return cls(store, checked_project(project), settings or Settings.load())

    async def close(self) -> None:
        """Let go of the embedding model's connections, where there are any. The store stays open."""
        if self._meaning is not None:
            await self._meaning.close()

    # ── what is known ──

    async def search(
        self, text: str, limit: int = 20, *, status: Collection[str] = ("accepted",)
    ) -> list[Fact]:
        """The facts that matter to a text, the most telling first: about whom it names, with its words, and
        (with an embedding model) with its meaning."""
        if limit <= 0 or not text.strip():
            return []
        canon = await self.canon() if set(status) == {"accepted"} else Canon(await self.facts(status))
        subjects = dict.fromkeys([*canon.mentioned(text), *canon.beginning_with(text)])
        named = [fact for key in subjects for fact in canon.about(key)]
        most = limit * _LOOKED_AT
        matched = await self._store.match_facts(self.project, search_terms(text), status=status, limit=most)
        near = limit * _MEANT
        meant = await self._meaning.nearest(text, canon.facts, near) if self._meaning else []
        return fuse(named, matched, meant)[:limit]

    def search_cost(self, text: str) -> Charge | None:
        """The most that a search can cost, for a step that has a budget; `None`: nothing."""
        return self._meaning.worst_case(text) if self._meaning else None

    @property
    def warning(self) -> str:
        """Why the last search could not go by meaning although a model is configured for that."""
        return self._meaning.warning if self._meaning else ""

    @property
    def has_embedding(self) -> bool:
        """Whether a model finds facts by meaning here."""
        return self._meaning is not None

    async def embed(self) -> int:
        """Give canon the vectors that it lacks; returns how many facts were embedded."""
        return await self._meaning.embed((await self.canon()).facts) if self._meaning else 0

    async def names(self, kinds: Iterable[str] = NAMED) -> list[str]:
        """Names of characters, places and objects that the project knows, and their other names."""
        return (await self.canon()).names(kinds)

    async def contradictions(self, facts: Sequence[Fact]) -> list[Contradiction]:
        """What the rules find; an empty list does not mean that a model would find nothing."""
        return find_contradictions(facts, await self.canon())

    async def facts(
        self, status: Collection[str] = ("accepted",), source_run: str = "", ids: Collection[str] = ()
    ) -> list[Fact]:
        """Facts in the order in which they were told; what is empty does not narrow it."""
        return await self._store.list_facts(self.project, status=status, source_run=source_run, ids=ids)

    async def canon(self) -> Canon:
        """Everything that was accepted, as it stands now."""
        revision = await self._store.project_revision(self.project)
        if revision != self._revision:
            self._canon = Canon(await self.facts())
            self._revision = revision
        return self._canon

    # ── what is told ──

    async def propose(self, run_id: str, facts: Sequence[Fact]) -> int:
        """Let facts wait for review; returns how many of this run's then do. What canon says already, and
        what says nothing, is left out; what this run has proposed before keeps what was decided about it."""
        given = [msgspec.structs.replace(fact, source_run=run_id, status="proposed") for fact in facts]
        canon = await self.canon()
        known = {_said(fact, canon) for fact in canon.facts}
        new = [
            fact for fact in prepared(given, self.project, self._redact) if _said(fact, canon) not in known
        ]
        if new:
            change = FactChange(action="proposed", at=now(), by=f"run {run_id}")
            await self._store.add_facts(new, change)
        return len(await self.facts(("proposed",), source_run=run_id))

    async def change(self, updates: Sequence[FactUpdate]) -> list[str]:
        """Accept, discard, edit or replace facts (see `editing`); returns the ids of those that nobody else
        has changed since they were read."""
        clean = [
            FactUpdate(cleaned(fact, self._redact), told(change, self._redact)) for fact, change in updates
        ]
        return await self._store.change_facts(clean, now())

    async def forget(self, ids: Collection[str] | None = None) -> int:
        """Remove facts, or everything, with their history."""
        return await self._store.forget_facts(self.project, ids)

    async def history(self, fact_id: str) -> list[FactChange]:
        return await self._store.fact_history(self.project, fact_id)


def checked_project(name: str) -> str:
    """A project's name, without blanks around it."""
    clean = " ".join(name.split())
    if clean in _NO_NAMES or len(clean) > LONGEST_PROJECT or not clean.isprintable():
        raise UsageError(
            f"{name!r} is not the name of a project.",
            hint=f"Use 1 to {LONGEST_PROJECT} characters, not only dots, for example: lighthouse.",
        )
    return clean


def _said(fact: Fact, canon: Canon) -> tuple[str, str, str]:
    """A fact without its wording: `Ellie, eyeColor: green` is `Elena Marsh, eye colour: Green`."""
    return canon.resolve(fact.subject), predicate_key(fact.predicate), fact.value.casefold()
