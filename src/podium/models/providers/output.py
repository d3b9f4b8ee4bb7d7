"""How a structured reply is asked for: the provider's own schema mode, a tool, or words in the prompt."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, cast

from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.tools import ToolDefinition

Mode = Literal["", "native", "tool", "prompted"]
MODES: list[Mode] = ["native", "tool", "prompted"]
"""The best first."""

TOOL = "answer"
"""The name of the tool through which a model answers."""
WRAPPED = "value"
"""The only field of the object around a reply that is no object itself."""


class Ordered(NamedTuple):
    """A schema as providers take it."""

    schema: dict[str, Any]
    wrapped: bool
    """The reply lies in the field `value` of an object."""


def best_mode(profile: ModelProfile, schema: dict[str, Any], system: str) -> Mode:
    """Native where the provider can hold a model to this schema, else a tool, else words."""
    free = system == "anthropic" and _open(schema)
    if profile.get("supports_json_schema_output", False) and not free:
        return "native"
    return "tool" if profile.get("supports_tools", True) else "prompted"


def ordered(schema: dict[str, Any]) -> Ordered:
    """Providers want an object at the root: a reference is resolved, anything else is wrapped."""
    definitions: dict[str, Any] = schema.get("$defs", {})
    root = {key: value for key, value in schema.items() if key != "$defs"}
    if set(root) == {"$ref"}:
        name = str(root["$ref"]).removeprefix("#/$defs/")
        root = cast("dict[str, Any]", definitions.get(name, root))
    wrapped = root.get("type") != "object"
    if wrapped:
        root = {"type": "object", "properties": {WRAPPED: root}, "required": [WRAPPED]}
    return Ordered({**root, "$defs": definitions} if definitions else root, wrapped)


def parameters(mode: Mode, schema: dict[str, Any]) -> ModelRequestParameters:
    if mode == "tool":
        tool = ToolDefinition(
            name=TOOL, description="Give the answer.", parameters_json_schema=schema, kind="output"
        )
        return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)
    wanted = OutputObjectDefinition(json_schema=schema, name=TOOL)
    return ModelRequestParameters(
        output_mode="native" if mode == "native" else "prompted", output_object=wanted, allow_text_output=True
    )


def _open(schema: Any) -> bool:
    """Whether a schema holds objects with free keys: a strict mode would turn them into empty ones."""
    if isinstance(schema, list):
        return any(_open(item) for item in cast("list[Any]", schema))
    if not isinstance(schema, dict):
        return False
    node = cast("dict[str, Any]", schema)
    free = node.get("additionalProperties", False)
    if free is True or isinstance(free, dict) or (node.get("type") == "object" and "properties" not in node):
        return True
    return not node or any(_open(value) for value in node.values() if isinstance(value, (dict, list)))
