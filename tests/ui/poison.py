"""Logs in which every text that a model could have written is hostile.

`poisoned` takes the log of a real run and appends all hostile texts to each string of its events, at any
depth; the same string becomes the same again, so that what refers to each other still does. `sampled` makes
one event of every type that is declared, with every field filled. Both look at what is there: a new field
needs no change here.
"""

from __future__ import annotations

import zlib
from typing import Any, cast

import msgspec
from msgspec import inspect

from podium.engine.events import EVENT_TYPES
from podium.engine.log import Row
from podium.server.app import ENGINE, event_schemas
from tests.payloads import payloads

BEACON = "http://beacon.invalid"
HOSTILE = payloads(BEACON)
KEPT = frozenset({"workflow", "kind", "blob", "media_type", "owner"})
"""Fields by which the engine and the page find their way; models do not write them."""
DEEPEST = 4
ENDS = ("run.completed", "run.partial", "run.cancelled", "run.paused", "run.failed")


def bad(text: str = "") -> str:
    """A text with every payload behind it, another one first for another text: a line that is cut short
    still shows some of them, and all places together show all."""
    at = zlib.crc32(text.encode()) % len(HOSTILE)
    return text + " ".join([*HOSTILE[at:], *HOSTILE[:at]])


def poison(value: Any) -> Any:
    """The same shape, with hostile strings; each dictionary gets a hostile key besides its own."""
    if isinstance(value, str):
        return bad(value) if value else value
    if isinstance(value, list):
        return [poison(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        known = cast("dict[str, Any]", value)
        inner = {key: item if key in KEPT else poison(item) for key, item in known.items()}
        return {**inner, HOSTILE[len(known) % len(HOSTILE)]: bad()} if known else inner
    return value


def poisoned(events: list[dict[str, Any]]) -> list[Row]:
    """A real log, made hostile; identifiers of artifacts stay, or nobody could open them."""
    rows: list[Row] = []
    for event in events:
        data: dict[str, Any] = event["data"]
        whole = {key: item if key in KEPT else poison(item) for key, item in data.items()}
        if event["type"] == "artifact.created":
            whole["id"] = data["id"]
        rows.append(row(len(rows) + 1, event["path"], event["type"], whole))
    return rows


def sampled(workflow: str) -> list[Row]:
    """One event of each type that such a run can hold, everything in it hostile; it asks, and then fails."""
    event_schemas()  # which declares the events of all workflows
    rooms = {*ENGINE, workflow}
    types = sorted(name for name in EVENT_TYPES if name.partition(".")[0] in rooms)
    middle = [name for name in types if name != "run.created" and name not in ENDS]
    rows = [row(1, "", "run.created", {**sample_of("run.created"), "workflow": workflow})]
    for name in ("step.started", *middle, ENDS[-1]):
        path = "" if name == ENDS[-1] else f"branch/{bad(name)}"
        rows.append(row(len(rows) + 1, path, name, sample_of(name)))
    return rows


def sample_of(event_type: str) -> dict[str, Any]:
    fields = inspect.type_info(EVENT_TYPES[event_type])
    assert isinstance(fields, inspect.StructType)
    sample = {field.encode_name: filled(field.type) for field in fields.fields if field.name not in KEPT}
    return {**sample, "kind": "ask"} if event_type == "step.started" else sample


def filled(kind: inspect.Type, depth: int = 0) -> Any:
    """A value of a type, with a hostile text wherever it holds a text; types that hold themselves end."""
    match kind:
        case inspect.StrType() | inspect.AnyType():
            return bad("sample")
        case inspect.UnionType():
            return filled(
                next(choice for choice in kind.types if not isinstance(choice, inspect.NoneType)), depth
            )
        case inspect.ListType() | inspect.SetType() | inspect.VarTupleType():
            return [filled(kind.item_type, depth + 1)] if depth < DEEPEST else []
        case inspect.DictType():
            return {HOSTILE[1]: filled(kind.value_type, depth + 1), "title": bad("title")}
        case inspect.StructType():
            return {field.encode_name: filled(field.type, depth + 1) for field in kind.fields}
        case inspect.LiteralType():
            return kind.values[0]
        case inspect.BoolType():
            return True
        case _:
            return 1


def row(seq: int, path: str, event_type: str, data: dict[str, Any]) -> Row:
    return Row(seq, 1_700_000_000_000_000 + seq * 1000, path, event_type, msgspec.json.encode(data))
