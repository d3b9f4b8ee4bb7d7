"""Tools of MCP servers: programs that are started here, and servers that run elsewhere."""

from __future__ import annotations
