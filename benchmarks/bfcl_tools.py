"""Podium tools for the functions of the Berkeley Function Calling Leaderboard."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Literal

from pydantic import ConfigDict, create_model

from benchmarks.bfcl_data import Function
from podium.agents.tools import Tool, tool

PLAIN: dict[str, Any] = {"string": str, "integer": int, "number": float, "boolean": bool}


def schema_tool(function: Function, body: Callable[..., Any]) -> Tool:
    """Return a tool whose arguments the JSON schema validates, as for a tool of an MCP server."""
    return Tool(function.name, function.description, function.schema, body)


def function_tool(function: Function, body: Callable[..., Any]) -> Tool:
    """Return a tool made from a function that has the types of the schema in its signature."""
    schema = function.schema
    required, properties = schema.get("required", ()), schema["properties"]
    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=type_of(name, node),
            default=inspect.Parameter.empty if name in required else node.get("default"),
        )
        for name, node in properties.items()
    ]

    async def called(**values: Any) -> Any:
        return await body(**{name: _plain(value) for name, value in values.items()})

    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return tool(name=function.name, description=function.description)(called)


def type_of(name: str, node: dict[str, Any]) -> Any:
    """Return the Python type of a schema."""
    kind = node.get("type")
    if "enum" in node:
        return Literal[tuple(node["enum"])]
    if kind == "array":
        return list[type_of(name, node.get("items", {}))]
    if kind == "object" and "properties" in node:
        required = node.get("required", ())
        fields: dict[str, Any] = {
            key: (type_of(key, value), ... if key in required else None)
            for key, value in node["properties"].items()
        }
        return create_model(name, __config__=ConfigDict(extra="forbid"), **fields)
    return dict[str, Any] if kind == "object" else PLAIN.get(kind or "", Any)


def _plain(value: Any) -> Any:
    """Return models as the objects that the call gave."""
    if isinstance(value, list):
        return [_plain(item) for item in value]  # type: ignore[reportUnknownVariableType]
    return value.model_dump(exclude_unset=True) if hasattr(value, "model_dump") else value
