"""Names of MCP tools as models know them: `SERVER.tool`, of letters that every provider takes."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec
from mcp_types import Tool

from podium.settings import McpServer
from podium.tools.tool import ToolSpec, bounded

MAX_NAME = 64
MAX_DESCRIPTION = 2_000


class Named(msgspec.Struct, frozen=True):
    """A tool under both of its names."""

    original: str
    spec: ToolSpec


def name_tools(prefix: str, server: McpServer, tools: Iterable[Tool]) -> dict[str, Named]:
    """The tools that may be used. Two that would have the same name get numbers."""
    named: dict[str, Named] = {}
    for tool in tools:
        if server.tools is not None and tool.name not in server.tools:
            continue
        name = plain = f"{prefix}.{re.sub(r'[^A-Za-z0-9_-]', '_', tool.name)}"[:MAX_NAME]
        number = 2
        while name in named:
            name, number = f"{plain[: MAX_NAME - 4]}_{number}", number + 1
        description = bounded((tool.description or tool.title or "").strip(), MAX_DESCRIPTION)
        named[name] = Named(tool.name, ToolSpec(name, description, dict(tool.input_schema)))
    return named
