"""Tools for agents: safe web fetching, read access to one folder, and MCP servers."""

from __future__ import annotations
