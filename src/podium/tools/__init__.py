"""What agents can touch: the web behind a safe fetcher, files of one folder, and MCP servers."""

from __future__ import annotations
