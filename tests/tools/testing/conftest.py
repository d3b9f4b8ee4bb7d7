"""The workspace's own fixtures."""

from __future__ import annotations

from tests.tools.workspace.conftest import opened, sandbox, user, workspace

__all__ = ["opened", "sandbox", "user", "workspace"]
