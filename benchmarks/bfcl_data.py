"""Cases of the Berkeley Function Calling Leaderboard, and one golden set of calls for each."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from jsonschema import Draft202012Validator

from podium.models.messages import ToolCall

TYPES = {"dict": "object", "float": "number", "tuple": "array"}
"""Type names of the data set that JSON schema writes otherwise. `any` has no type."""
LEAVE_OUT = object()


class Function(NamedTuple):
    """A function of a case."""

    name: str
    """With characters that every provider accepts."""
    original: str
    description: str
    schema: dict[str, Any]


class Case(NamedTuple):
    """A request with its functions and the acceptable calls."""

    id: str
    functions: list[Function]
    answer: list[dict[str, dict[str, list[Any]]]]

    def by_original(self, name: str) -> Function | None:
        return next((function for function in self.functions if function.original == name), None)

    def by_name(self, name: str) -> Function:
        return next(function for function in self.functions if function.name == name)


def cases_of(data: Path, name: str) -> list[Case]:
    """Return the cases of a category."""
    answers = {
        row["id"]: row["ground_truth"] for row in _rows(data / "possible_answer" / f"BFCL_v4_{name}.json")
    }
    return [
        Case(row["id"], _functions(row["function"]), answers[row["id"]])
        for row in _rows(data / f"BFCL_v4_{name}.json")
        if row["id"] in answers
    ]


def _rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]


def _functions(documents: Sequence[Mapping[str, Any]]) -> list[Function]:
    made: dict[str, Function] = {}
    for document in documents:
        name = re.sub(r"[^A-Za-z0-9_-]", "_", document["name"])[:60]
        while name in made:
            name += "_"
        schema = {**json_schema(document["parameters"]), "additionalProperties": False}
        made[name] = Function(name, document["name"], document["description"], schema)
    return list(made.values())


def json_schema(node: Mapping[str, Any]) -> dict[str, Any]:
    """Translate a parameter description of the data set into JSON schema."""
    kept = {key: node[key] for key in ("description", "enum", "default", "required") if key in node}
    kind = str(node.get("type", "any")).lower()
    if kind in TYPES or kind in {"object", "array", "string", "integer", "number", "boolean"}:
        kept["type"] = TYPES.get(kind, kind)
    if isinstance(node.get("properties"), Mapping):
        properties = cast("Mapping[str, Mapping[str, Any]]", node["properties"])
        kept["properties"] = {name: json_schema(value) for name, value in properties.items()}
        kept["additionalProperties"] = False
    if isinstance(node.get("items"), Mapping):
        kept["items"] = json_schema(cast("Mapping[str, Any]", node["items"]))
    return kept


def golden_calls(case: Case) -> list[ToolCall]:
    """Return calls that the data set accepts: per argument the first value that fits the schema. A call that
    cannot be made to fit keeps its first values."""
    calls: list[ToolCall] = []
    for entry in case.answer:
        for name, arguments in entry.items():
            function = case.by_original(name)
            schema = function.schema if function else {}
            calls.append(ToolCall(function.name if function else name, _chosen(arguments, schema)))
    return calls


def _chosen(alternatives: Mapping[str, list[Any]], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Choose a value for each key; optional keys without a value that fits are left out."""
    properties, required = schema.get("properties", {}), schema.get("required", ())
    values: dict[str, Any] = {}
    for key, candidates in alternatives.items():
        listed = candidates if isinstance(cast("Any", candidates), list) else [candidates]
        node = properties.get(key, not properties)
        value = _first_fit(listed, node, key in required)
        if value is not LEAVE_OUT:
            values[key] = value
    return values


def _first_fit(candidates: Sequence[Any], schema: Mapping[str, Any] | bool, required: bool) -> Any:
    """`schema` is False for a key that the function does not have."""
    inner: Mapping[str, Any] = schema if isinstance(schema, Mapping) else {}
    expanded = [_expanded(candidate, inner) for candidate in candidates if candidate != ""]
    validator: Any = Draft202012Validator(schema)
    for value in expanded:
        if validator.is_valid(value):
            return value
    if not required:
        return LEAVE_OUT
    return expanded[0] if expanded else ""


def _expanded(value: Any, schema: Mapping[str, Any]) -> Any:
    """Objects list alternatives again for each key, also inside arrays."""
    if isinstance(value, dict):
        return _chosen(cast("dict[str, list[Any]]", value), schema)
    if isinstance(value, list):
        return [_expanded(item, schema.get("items", {})) for item in cast("list[Any]", value)]
    return value
