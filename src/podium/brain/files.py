"""Import and export of facts as JSON Lines, with the fields of `Fact`."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

import msgspec

from podium.brain.brain import checked_project
from podium.brain.editing import now, prepared
from podium.engine.codec import encode
from podium.engine.log import Store
from podium.engine.redaction import redactor
from podium.engine.store_parts import Fact, FactChange
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
    found: list[Fact] = []
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            fact = decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise UsageError(f"{source}, line {number}: {_told(error)}.", hint=_hint(error)) from error
        if not _ID.fullmatch(fact.id):
            raise UsageError(f"{source}, line {number}: {fact.id!r} cannot be the id of a fact.")
        plain = Fact(**{name: getattr(fact, name) for name in FIELDS})
        if not (plain.subject.strip() and plain.predicate.strip() and plain.value.strip()):
            raise UsageError(f"{source}, line {number}: subject, predicate and value must not be blank.")
        found.append(plain)
    return found


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
    clean = {name: prepared(told, name, redact) for name, told in by_project.items()}
    told = [fact for some in clean.values() for fact in some]
    change = FactChange(action="imported", at=now(), by=by)
    added = await store.add_facts(told, change) if told else []
    counts = Counter(fact.project for fact in added)
    return Imported({name: counts[name] for name in by_project}, len(told) - len(added))


def _told(error: Exception) -> str:
    text = str(error).split(" - at")[0].rstrip(".")
    return text[:1].lower() + text[1:] if isinstance(error, msgspec.ValidationError) else "this is not JSON"


def _hint(error: Exception) -> str:
    unknown = re.search(r"unknown field `(.+?)`", str(error))
    if unknown and (meant := nearest(unknown[1], FIELDS)):
        return f"Did you mean `{meant}`?"
    return f"A line is one JSON object with these fields: {', '.join(FIELDS)}."
