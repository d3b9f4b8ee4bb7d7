"""Data that fits a JSON schema of msgspec or pydantic.

Recursive schemas end: past a depth or a size, only required fields are written, and of several alternatives
the one that needs the fewest levels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, cast

from podium.engine.codec import encode
from podium.models.sample_values import Place, Words, make_number, make_string

Schema = Mapping[str, Any]

_RICH_DEPTH, _RICH_SIZE = 5, 600
"""Up to this depth and number of values, lists are filled and optional fields written."""
_DEEPEST, _LARGEST = 100, 50_000
"""Limits for a type that requires itself and can never be complete."""
_ITEMS = 2


def sample(schema: Schema, words: Words, *, cautious: bool = False) -> Any:
    """Return a value for a schema. `cautious` writes required fields only, and numeric dictionary keys: for
    types that want more than their schema says."""
    return _Sampler(schema, words, cautious).make(schema, (), 0)


class _Sampler:
    def __init__(self, root: Schema, words: Words, cautious: bool) -> None:
        self._root = root
        self._words = words
        self._cautious = cautious
        self._size = 0
        self._heights: dict[str, float] = {}
        self._measure()

    def make(self, schema: Schema | bool, place: Place, depth: int) -> Any:
        self._size += 1
        resolved = self._resolved({} if isinstance(schema, bool) else schema)
        if depth > _DEEPEST or self._size > _LARGEST:
            return None
        if "const" in resolved:
            return resolved["const"]
        if "enum" in resolved:
            options = [option for option in resolved["enum"] if option is not None] or [None]
            return options[self._words.choose(len(options), place)]
        alternatives = resolved.get("anyOf") or resolved.get("oneOf")
        if alternatives:
            return self.make(self._alternative(alternatives, place, depth), place, depth)
        return self._typed(resolved, place, depth)

    def _typed(self, schema: Schema, place: Place, depth: int) -> Any:
        match _type_of(schema):
            case "object":
                return self._object(schema, place, depth)
            case "array":
                return self._array(schema, place, depth)
            case "integer":
                return int(make_number(schema, self._words, place, schema.get("multipleOf", 1)))
            case "number":
                return make_number(schema, self._words, place, schema.get("multipleOf"))
            case "boolean":
                return bool(schema.get("default", True))
            case "null":
                return None
            case _:
                return make_string(schema, self._words, place)

    def _object(self, schema: Schema, place: Place, depth: int) -> dict[str, Any]:
        properties: dict[str, Schema] = schema.get("properties", {})
        required = schema.get("required", ())
        lean = self._lean(depth)
        made = {
            name: self.make(inner, (*place, name), depth + 1)
            for name, inner in properties.items()
            if not lean or name in required or self._tags(inner)
        }
        fewest, most = schema.get("minProperties", 0), schema.get("maxProperties", math.inf)
        wanted = _ITEMS if "properties" not in schema and not lean else 0
        missing = int(min(max(wanted, fewest - len(made)), most - len(made)))
        return {**made, **self._entries(schema, missing, place, depth)}

    def _entries(self, schema: Schema, count: int, place: Place, depth: int) -> dict[str, Any]:
        """Entries of a dictionary: keys that are not declared one by one."""
        if count <= 0 or schema.get("additionalProperties") is False:
            return {}
        patterns: dict[str, Schema] = schema.get("patternProperties", {})
        keys: Schema = schema.get("propertyNames", {})
        values: Schema | bool = schema.get("additionalProperties", {})
        if patterns:
            pattern, values = next(iter(patterns.items()))
            keys = {**keys, "type": "string", "pattern": pattern}
        made: dict[str, Any] = {}
        for index in range(count * 4):
            key = str(self.make(keys, (*place, "key", index), depth + 1)) if keys else self._key(index)
            if key not in made:
                made[key] = self.make(values, (*place, key), depth + 1)
            if len(made) == count:
                break
        return made

    def _key(self, index: int) -> str:
        words = self._words.words
        if self._cautious:
            return str(index + 1)
        return words[index] if index < len(words) else f"{words[index % len(words)]}-{index}"

    def _tags(self, schema: Schema) -> bool:
        """Return whether a field tells alternatives apart: it is written even where it has a default."""
        resolved = self._resolved(schema)
        return "const" in resolved or len(resolved.get("enum", ())) == 1

    def _array(self, schema: Schema, place: Place, depth: int) -> list[Any]:
        prefix: list[Schema] = schema.get("prefixItems", [])
        made = [self.make(inner, (*place, index), depth + 1) for index, inner in enumerate(prefix)]
        items = schema.get("items", not prefix)
        fewest, most = schema.get("minItems", 0), schema.get("maxItems", math.inf)
        count = int(min(max(fewest, 0 if self._lean(depth) or prefix else _ITEMS), most))
        if items is False:
            return made
        seen: set[bytes] = set()
        for index in range(len(made), max(count * 8, count + 8)):
            if len(made) >= count:
                break
            value = self.make(items, (*place, index), depth + 1)
            if schema.get("uniqueItems"):
                name = encode(value)
                if name in seen:
                    continue
                seen.add(name)
            made.append(value)
        return made

    def _resolved(self, schema: Schema) -> Schema:
        """The schema with its references followed and merged; what stands beside a reference wins."""
        resolved: dict[str, Any] = dict(schema)
        for _ in range(_DEEPEST):
            parts: list[Schema] = list(resolved.pop("allOf", ()))
            if "$ref" in resolved:
                parts.append(self._target(resolved.pop("$ref")))
            if not parts:
                break
            for part in parts:
                resolved = {**part, **resolved}
        return resolved

    def _target(self, reference: str) -> Schema:
        node: Any = self._root
        for part in reference.removeprefix("#").split("/")[1:]:
            node = node[part.replace("~1", "/").replace("~0", "~")]
        if node is self._root:
            return {key: value for key, value in self._root.items() if key != "$defs"}
        return cast("Schema", node)

    def _alternative(self, options: list[Schema], place: Place, depth: int) -> Schema:
        if self._lean(depth):
            return min(options, key=self._height)
        real = [option for option in options if option.get("type") != "null"] or options
        if any(option.get("type") == "number" for option in real):  # a decimal: its string form has rules
            real = [option for option in real if option.get("type") != "string"]
        reachable = [option for option in real if self._height(option) < math.inf] or real
        return reachable[self._words.choose(len(reachable), place)]

    def _lean(self, depth: int) -> bool:
        return self._cautious or depth >= _RICH_DEPTH or self._size > _RICH_SIZE

    def _measure(self) -> None:
        """Find how many levels each definition needs: each pass settles at least one of them."""
        definitions: dict[str, Schema] = self._root.get("$defs", {})
        for _ in definitions:
            self._heights = {f"#/$defs/{name}": self._height(inner) for name, inner in definitions.items()}

    def _height(self, schema: Schema | bool) -> float:
        if isinstance(schema, bool) or "const" in schema or "enum" in schema:
            return 0
        if "$ref" in schema:
            return self._heights.get(schema["$ref"], math.inf)
        alternatives: list[Schema] = schema.get("anyOf") or schema.get("oneOf") or []
        if alternatives:
            return min(self._height(option) for option in alternatives)
        inner: list[Schema | bool] = [*schema.get("allOf", ()), *schema.get("prefixItems", ())]
        properties: dict[str, Schema] = schema.get("properties", {})
        inner += [properties[name] for name in schema.get("required", ()) if name in properties]
        if schema.get("minItems", 0) > len(schema.get("prefixItems", ())):
            inner.append(schema.get("items", True))
        if schema.get("minProperties", 0) > len(properties):
            inner.append(schema.get("additionalProperties", True))
        return 1 + max((self._height(part) for part in inner), default=0)


def _type_of(schema: Schema) -> str:
    declared = schema.get("type")
    if isinstance(declared, list):
        names = cast("list[str]", declared)
        return next((name for name in names if name != "null"), "null")
    if isinstance(declared, str):
        return declared
    if "properties" in schema or "additionalProperties" in schema or "patternProperties" in schema:
        return "object"
    if "items" in schema or "prefixItems" in schema:
        return "array"
    return "string"
