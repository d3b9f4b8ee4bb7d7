"""A workflow of one ask, for tests of agents with tools."""

from __future__ import annotations

from typing import Any

import podium
from tests.scripted_models import Script
from tests.scripted_models import tool_results as results

__all__ = ["Script", "acting", "results"]


def acting(*tools: Any, returns: Any = str, timeout: float | None = None, **options: Any) -> podium.Workflow:
    """A workflow of one ask."""
    agent = podium.Agent("Ida", tools=tools, **options)

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> Any:
        return await run.ask(agent, "plan", prompt=request, returns=returns, timeout=timeout)

    return flow
