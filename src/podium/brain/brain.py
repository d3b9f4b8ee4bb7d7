"""`Brain`, the facts of one project, and the changes that a person makes to them."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import Literal

import msgspec

from podium.brain.contradictions import NAMED, Canon, Contradiction, find_contradictions
from podium.brain.semantic_search import Meaning, open_embedder
from podium.brain.vocabulary import name_key, predicate_key, search_terms
from podium.engine.codec import encode, reader
from podium.engine.events import Charge
from podium.engine.log import Store
from podium.engine.redaction import Redact, redactor
from podium.engine.store_parts import Fact, FactChange, FactUpdate
from podium.errors import UsageError
from podium.settings import Settings

LONGEST = {"subject": 200, "predicate": 200, "value": 4000, "quote": 2000}
"""Maximum characters of each field."""
EDITABLE = ("value", "subject", "predicate", "kind", "quote")


def now() -> str:
    """Return the current time in UTC, in a format that sorts chronologically."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def fact_id(fact: Fact) -> str:
    """Return an id that is the same for the same fact of the same run, so that a repeated step proposes
    nothing twice."""
    parts = [fact.source_run, name_key(fact.subject), fact.predicate.casefold(), fact.value.casefold()]
    return hashlib.blake2b(encode(parts), digest_size=6).hexdigest()


def cleaned(fact: Fact, redact: Redact) -> Fact:
    """Return a fact without secrets, lone surrogates and surplus whitespace, with its fields truncated."""
    clean: Fact = reader(Fact)(redact(encode(fact)))
    parts = {name: " ".join(getattr(clean, name).split())[:most].strip() for name, most in LONGEST.items()}
    return msgspec.structs.replace(clean, **parts)


def redacted(change: FactChange, redact: Redact) -> FactChange:
    """Return a history entry without secrets, since it repeats the values of facts."""
    clean: FactChange = reader(FactChange)(redact(encode(change)))
    return clean


def prepared(facts: Iterable[Fact], project: str, redact: Redact) -> list[Fact]:
    """Return facts ready for a store, with ids and times; skips incomplete ones."""
    moment = now()
    clean = [cleaned(fact, redact) for fact in facts]
    return [
        msgspec.structs.replace(
            fact,
            id=fact.id or fact_id(fact),
            project=project,
            created_at=fact.created_at or moment,
            updated_at=fact.updated_at or moment,
        )
        for fact in clean
        if fact.subject and fact.predicate and fact.value
    ]


def accepted(fact: Fact, by: str) -> FactUpdate:
    return _moved(fact, "accepted", by)


def discarded(fact: Fact, by: str) -> FactUpdate:
    return _moved(fact, "discarded", by)


def replaced(fact: Fact, by: str, successor: Fact) -> FactUpdate:
    """Discard a fact of canon in favour of a newer one; it stays readable."""
    change = FactChange(
        at=now(),
        by=by,
        action="replaced",
        before={"status": fact.status, "value": fact.value},
        after={"status": "discarded", "replaced_by": successor.id, "value": successor.value},
    )
    return FactUpdate(msgspec.structs.replace(fact, status="discarded"), change)


def edited(fact: Fact, by: str, **fields: str) -> FactUpdate:
    before = {name: str(getattr(fact, name)) for name in fields}
    change = FactChange(at=now(), by=by, action="edited", before=before, after=fields)
    return FactUpdate(msgspec.structs.replace(fact, **fields), change)


def _moved(fact: Fact, status: Literal["accepted", "discarded"], by: str) -> FactUpdate:
    before, after = {"status": fact.status}, {"status": status}
    change = FactChange(at=now(), by=by, action=status, before=before, after=after)
    return FactUpdate(msgspec.structs.replace(fact, status=status), change)


_K = 60
"""Rank constant of reciprocal rank fusion: weight of a first place relative to a tenth; 60 is the usual
value."""


def fuse(named: Iterable[Fact], *ranked: Sequence[Fact]) -> list[Fact]:
    """Merge several rankings into one: a fact gets points for its rank in each list, and the points of a
    first place if its subject is named."""
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
"""Browsers resolve dots in a URL as path segments, however they are escaped."""
_LOOKED_AT = 5
"""Multiple of the wanted number of facts that is retrieved before the best are chosen."""
_MEANT = 2
"""The same for facts of similar meaning: each of them takes 0.1 ms."""


class Brain:
    """The facts of one project. Caches canon and reloads it when it changes; an instance belongs to one event
    loop."""

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
        """Open the brain of a project; a new project has no facts."""
        return cls(store, checked_project(project), settings or Settings.load())

    async def close(self) -> None:
        """Close the connections of the embedding model, if there are any. The store stays open."""
        if self._meaning is not None:
            await self._meaning.close()

    # ── queries ──

    async def search(
        self, text: str, limit: int = 20, *, status: Collection[str] = ("accepted",)
    ) -> list[Fact]:
        """Return the facts relevant to a text, the most relevant first: about the subjects that it names,
        with its words, and (with an embedding model) with its meaning."""
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
        """Return the maximum cost of a search, for a step with a budget; `None`: free."""
        return self._meaning.worst_case(text) if self._meaning else None

    @property
    def warning(self) -> str:
        """The reason why the last search did not use the configured embedding model; empty if it did."""
        return self._meaning.warning if self._meaning else ""

    @property
    def has_embedding(self) -> bool:
        """True if an embedding model is configured."""
        return self._meaning is not None

    async def embed(self) -> int:
        """Embed the facts of canon that have no vector; return how many were embedded."""
        return await self._meaning.embed((await self.canon()).facts) if self._meaning else 0

    async def names(self, kinds: Iterable[str] = NAMED) -> list[str]:
        """Return the names of characters, places and objects that the project knows, and their aliases."""
        return (await self.canon()).names(kinds)

    async def contradictions(self, facts: Sequence[Fact]) -> list[Contradiction]:
        """Return the contradictions that the rules find; a model may find more."""
        return find_contradictions(facts, await self.canon())

    async def facts(
        self, status: Collection[str] = ("accepted",), source_run: str = "", ids: Collection[str] = ()
    ) -> list[Fact]:
        """Return facts in the order in which they were created. Filters that are empty do not apply."""
        return await self._store.list_facts(self.project, status=status, source_run=source_run, ids=ids)

    async def canon(self) -> Canon:
        """Return all accepted facts, as of now."""
        revision = await self._store.project_revision(self.project)
        if revision != self._revision:
            self._canon = Canon(await self.facts())
            self._revision = revision
        return self._canon

    # ── changes ──

    async def propose(self, run_id: str, facts: Sequence[Fact]) -> int:
        """Add facts for review; return how many of this run's facts then await review. Skips facts that canon
        already has and incomplete ones. Facts that this run proposed before keep the decision about them."""
        proposed = [msgspec.structs.replace(fact, source_run=run_id, status="proposed") for fact in facts]
        canon = await self.canon()
        known = {_normalized(fact, canon) for fact in canon.facts}
        new = [
            fact
            for fact in prepared(proposed, self.project, self._redact)
            if _normalized(fact, canon) not in known
        ]
        if new:
            change = FactChange(action="proposed", at=now(), by=f"run {run_id}")
            await self._store.add_facts(new, change)
        return len(await self.facts(("proposed",), source_run=run_id))

    async def change(self, updates: Sequence[FactUpdate]) -> list[str]:
        """Accept, discard, edit or replace facts (see `editing`); return the ids of those that were unchanged
        since they were read."""
        clean = [
            FactUpdate(cleaned(fact, self._redact), redacted(change, self._redact))
            for fact, change in updates
        ]
        return await self._store.change_facts(clean, now())

    async def forget(self, ids: Collection[str] | None = None) -> int:
        """Remove facts, or everything, with their history; return how many."""
        return await self._store.forget_facts(self.project, ids)

    async def history(self, fact_id: str) -> list[FactChange]:
        return await self._store.fact_history(self.project, fact_id)


def checked_project(name: str) -> str:
    """Return a project's name with normalized whitespace; raise `UsageError` if it is invalid."""
    clean = " ".join(name.split())
    if clean in _NO_NAMES or len(clean) > LONGEST_PROJECT or not clean.isprintable():
        raise UsageError(
            f"{name!r} is not the name of a project.",
            hint=f"Use 1 to {LONGEST_PROJECT} characters, not only dots, for example: lighthouse.",
        )
    return clean


def _normalized(fact: Fact, canon: Canon) -> tuple[str, str, str]:
    """Return a fact in normalized form: `Ellie, eyeColor: green` is `Elena Marsh, eye colour: Green`."""
    return canon.resolve(fact.subject), predicate_key(fact.predicate), fact.value.casefold()
