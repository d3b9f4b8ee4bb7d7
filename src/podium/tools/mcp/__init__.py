"""MCP server tools: local servers over stdio and remote servers over HTTP."""

from __future__ import annotations
