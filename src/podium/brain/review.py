"""Review, import and export of facts: a person's decisions, and JSON Lines with the fields of `Fact`."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from podium.brain.brain import Brain, accepted, checked_project, discarded, edited, now, prepared, replaced
from podium.brain.contradictions import Canon, Contradiction, find_contradictions
from podium.engine.codec import encode
from podium.engine.log import Store
from podium.engine.redaction import redactor
from podium.engine.store_parts import Fact, FactChange, FactUpdate
from podium.errors import UsageError
from podium.settings import Settings, nearest

FIELDS = Fact.__struct_fields__
_ID = re.compile(r"(?!\.{1,2}$)[\w.-]{0,64}")


class _Line(Fact, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A fact in a file; unknown fields are an error."""


class Imported(msgspec.Struct, frozen=True):
    """The outcome of an import."""

    added: dict[str, int]
    """Number of new facts, by project."""
    known: int
    """Number of facts whose ids already existed; they were not changed."""


def write_lines(facts: Iterable[Fact]) -> Iterator[bytes]:
    for fact in facts:
        yield encode(fact)


def read_lines(data: bytes, source: str) -> list[Fact]:
    """Parse the facts of a file; raise `UsageError` with the line number for the first error."""
    decoder = msgspec.json.Decoder(_Line)
    facts: list[Fact] = []
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            fact = decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise UsageError(f"{source}, line {number}: {_reason(error)}.", hint=_hint(error)) from error
        if not _ID.fullmatch(fact.id):
            raise UsageError(f"{source}, line {number}: {fact.id!r} cannot be the id of a fact.")
        plain = Fact(**{name: getattr(fact, name) for name in FIELDS})
        if not (plain.subject.strip() and plain.predicate.strip() and plain.value.strip()):
            raise UsageError(f"{source}, line {number}: subject, predicate and value must not be blank.")
        facts.append(plain)
    return facts


async def import_facts(
    store: Store,
    facts: Iterable[Fact],
    *,
    settings: Settings,
    project: str = "",
    accept: bool = False,
    by: str = "import",
) -> Imported:
    """Import facts in one transaction: all of them or, after a crash, none. `project` overrides the one that
    each fact names; `accept` accepts proposed facts."""
    by_project: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        if accept and fact.status == "proposed":
            fact = msgspec.structs.replace(fact, status="accepted")
        by_project[checked_project(project or fact.project)].append(fact)
    redact = redactor(settings.secrets())
    clean = [fact for name, named in by_project.items() for fact in prepared(named, name, redact)]
    change = FactChange(action="imported", at=now(), by=by)
    added = await store.add_facts(clean, change) if clean else []
    counts = Counter(fact.project for fact in added)
    return Imported({name: counts[name] for name in by_project}, len(clean) - len(added))


def _reason(error: Exception) -> str:
    text = str(error).split(" - at")[0].rstrip(".")
    return text[:1].lower() + text[1:] if isinstance(error, msgspec.ValidationError) else "this is not JSON"


def _hint(error: Exception) -> str:
    unknown = re.search(r"unknown field `(.+?)`", str(error))
    if unknown and (meant := nearest(unknown[1], FIELDS)):
        return f"Did you mean `{meant}`?"
    return f"A line is one JSON object with these fields: {', '.join(FIELDS)}."


class ReviewResult(msgspec.Struct):
    """Ids of the facts that a review has processed so far."""

    accepted: list[str] = []
    discarded: list[str] = []
    edited: list[str] = []
    replaced: list[str] = []
    """Facts of canon that were replaced by an accepted fact."""
    conflicting: list[str] = []
    """Facts that were to be accepted with all others, but contradict canon: they are still proposed."""
    changed_meanwhile: list[str] = []
    """Facts that were changed elsewhere since they were read: nothing was done to them."""


class Review:
    """Decisions about facts of one project. Each is durable before the next one is made."""

    def __init__(self, brain: Brain, *, by: str) -> None:
        self.brain = brain
        self.outcome = ReviewResult()
        self._by = by

    async def clashes(self, fact: Fact) -> list[Contradiction]:
        return await self.brain.contradictions([fact])

    async def accept(self, fact: Fact) -> bool:
        return await self._apply([fact], self.outcome.accepted, accept=True)

    async def accept_all(self, facts: Sequence[Fact]) -> None:
        """Accept all facts that contradict nothing, at once; the rest stay for individual decisions. The
        second of two new facts may contradict the first."""
        canon = Canon((await self.brain.canon()).facts)
        fitting: list[Fact] = []
        for fact in facts:
            if find_contradictions([fact], canon):
                self.outcome.conflicting.append(fact.id)
            else:
                canon.add(fact)
                fitting.append(fact)
        await self._apply(fitting, self.outcome.accepted, accept=True)

    async def discard(self, facts: Sequence[Fact]) -> None:
        await self._apply(facts, self.outcome.discarded, accept=False)

    async def edit(self, fact: Fact, **fields: str) -> Fact | None:
        """Change fields of a fact and return the new state; `None` if it was changed elsewhere meanwhile."""
        changed = {name: text for name, text in fields.items() if str(getattr(fact, name)) != text}
        if not changed:
            return fact
        if not await self._done([edited(fact, self._by, **changed)], self.outcome.edited):
            return None
        (after,) = await self.brain.facts((), ids=[fact.id])
        return after

    async def replace(self, fact: Fact) -> bool:
        """Accept a fact and discard the facts of canon that it contradicts."""
        superseded = {clash.canon.id: clash.canon for clash in await self.clashes(fact)}
        updates = [replaced(known, self._by, fact) for known in superseded.values()]
        done = await self.brain.change([accepted(fact, self._by), *updates])
        self.outcome.accepted += [fact.id] if fact.id in done else []
        self.outcome.replaced += [known for known in superseded if known in done]
        self.outcome.changed_meanwhile += [known for known in (fact.id, *superseded) if known not in done]
        return fact.id in done

    async def _apply(self, facts: Sequence[Fact], into: list[str], *, accept: bool) -> bool:
        decide = accepted if accept else discarded
        return await self._done([decide(fact, self._by) for fact in facts], into)

    async def _done(self, updates: Sequence[FactUpdate], into: list[str]) -> bool:
        done = await self.brain.change(updates)
        into += done
        missed = [update.fact.id for update in updates if update.fact.id not in done]
        self.outcome.changed_meanwhile += missed
        return not missed
