"""Arguments of our own tools: declared once as a struct, from which the schema and the check follow."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from podium.settings.validation import plain
from podium.tools.tool import ToolError, ToolSpec

S = TypeVar("S", bound=msgspec.Struct)


class Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a tool is called with. Fields are described with `msgspec.Meta(description=…)`."""


def spec_of(name: str, description: str, arguments: type[Arguments]) -> ToolSpec:
    """The tool as a model sees it, its schema without references."""
    schema = msgspec.json.schema(arguments)
    body: dict[str, Any] = dict(schema["$defs"][arguments.__name__])
    for key in ("title", "description"):
        body.pop(key, None)
    return ToolSpec(name, description, body)


def read_arguments(args: dict[str, Any], kind: type[S]) -> S:
    """The arguments in their types, or a sentence that says which one is wrong."""
    try:
        return msgspec.convert(args, kind, strict=False)
    except msgspec.ValidationError as error:
        known = ", ".join(kind.__struct_fields__)
        raise ToolError(f"The arguments are wrong: {plain(error)} It takes: {known}.") from error
