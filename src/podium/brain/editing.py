"""Changes that a person makes to facts, each with an entry for their history."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec

from podium.brain.vocabulary import name_key
from podium.engine.codec import encode, reader
from podium.engine.redaction import Redact
from podium.engine.store_parts import Fact, FactChange, FactUpdate

LONGEST = {"subject": 200, "predicate": 200, "value": 4000, "quote": 2000}
"""Maximum characters of each field."""
EDITABLE = ("value", "subject", "predicate", "kind", "quote")


def now() -> str:
    """Return the current time in UTC, in a format that sorts chronologically."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def fact_id(fact: Fact) -> str:
    """Return an id that is the same for the same fact of the same run, so that a repeated step proposes
    nothing twice."""
    said = [fact.source_run, name_key(fact.subject), fact.predicate.casefold(), fact.value.casefold()]
    return hashlib.blake2b(encode(said), digest_size=6).hexdigest()


def cleaned(fact: Fact, redact: Redact) -> Fact:
    """Return a fact without secrets, lone surrogates and surplus whitespace, with its fields truncated."""
    clean: Fact = reader(Fact)(redact(encode(fact)))
    parts = {name: " ".join(getattr(clean, name).split())[:most].strip() for name, most in LONGEST.items()}
    return msgspec.structs.replace(clean, **parts)


def told(change: FactChange, redact: Redact) -> FactChange:
    """Return a history entry without secrets, since it repeats the values of facts."""
    clean: FactChange = reader(FactChange)(redact(encode(change)))
    return clean


def is_whole(fact: Fact) -> bool:
    """Return whether a fact has a subject, a predicate and a value."""
    return bool(fact.subject and fact.predicate and fact.value)


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
        if is_whole(fact)
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


def _moved(fact: Fact, status: str, by: str) -> FactUpdate:
    change = FactChange(
        at=now(),
        by=by,
        action="accepted" if status == "accepted" else "discarded",
        before={"status": fact.status},
        after={"status": status},
    )
    return FactUpdate(msgspec.structs.replace(fact, status=status), change)
