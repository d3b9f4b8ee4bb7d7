"""Broken variants of a valid tool call."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from benchmarks.bfcl_data import Case
from podium.models.messages import ToolCall

LENIENT = ("number as string", "boolean as string", "boolean as number", "number as boolean")
"""Kinds that a function tool accepts, because pydantic converts them without losing anything."""
WRONG: dict[str, Any] = {"object": ["no object"], "array": {"no": "array"}}
"""A value of another type, for each type; for the others an object."""


def mutants_of(case: Case, call: ToolCall) -> Iterator[tuple[str, ToolCall]]:
    """Yield the kind and the call of each variant."""
    schema = case.by_name(call.name).schema
    given: dict[str, Any] = call.arguments
    for key, value in given.items():
        description = schema["properties"].get(key, {})
        if key in schema.get("required", ()):
            yield "missing argument", _with(call, {k: v for k, v in given.items() if k != key})
        for kind, broken in _values(description, value):
            yield kind, _with(call, {**given, key: broken})
    yield "unknown argument", _with(call, {**given, "no_such_argument": 1})
    yield "unknown function", ToolCall(f"{call.name[:50]}_no_such", given)
    yield "arguments cut off", _with(call, json.dumps(given)[:-1])
    yield "arguments no object", _with(call, json.dumps([given]))


def _with(call: ToolCall, arguments: Any) -> ToolCall:
    return ToolCall(call.name, arguments)


def _values(description: dict[str, Any], value: Any) -> Iterator[tuple[str, Any]]:
    kind = description.get("type")
    if kind is None:
        return
    yield "wrong type", WRONG.get(kind, {"no": kind})
    yield "null", None
    if "enum" in description:
        yield "not in enum", "no such value"
    if kind == "integer":
        yield "fraction for integer", value + 0.5
    if kind == "string":
        yield "string as number", 17
    if kind == "array":
        yield "array as JSON text", json.dumps(value)
    if kind in ("integer", "number"):
        yield "word for number", "many"
        yield "number as string", str(value)
        yield "boolean as number", True
    if kind == "boolean":
        yield "boolean as string", "true" if value else "false"
        yield "number as boolean", int(value)
