"""Podium runs teams of language-model agents: durable, budgeted, watchable, resumable.

    import podium

    @podium.workflow
    async def haiku(run: podium.Run, request: str) -> str:
        poet = podium.Agent("poet", instructions="You write haiku.")
        return await run.ask(poet, "write", prompt="Write a haiku about {{ topic }}.", topic=request)

    result = await podium.run(haiku, "the sea", model="rehearsal")

Names are loaded when they are first used, so `import podium` costs nearly nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from podium.agents.agent import Agent
    from podium.agents.ask import Run
    from podium.agents.conversation import Thread
    from podium.agents.files import File
    from podium.agents.tools import Tool, ToolContext, tool
    from podium.api import RunHandle, answer, cancel, fork, replay, resume, run, start
    from podium.engine.branch import Failed, Ok
    from podium.engine.budget import Budget
    from podium.engine.events import Charge, Event, EventData
    from podium.engine.process import Process, run_process
    from podium.engine.result import RunResult
    from podium.engine.state import RunState
    from podium.engine.steps import Retry
    from podium.engine.workflow import Outcome, Partial, Workflow, workflow
    from podium.errors import (
        BudgetExhaustedError,
        InvalidReplyError,
        ModelFailedError,
        PodiumError,
        StepFailedError,
        StopRun,
    )
    from podium.models.messages import Message, ToolCall
    from podium.models.model import Call
    from podium.models.rehearsal import rehearses
    from podium.settings import Settings
    from podium.stores import open_store
    from podium.tools.toolsets import files, mcp, web

_HOMES = {
    "Agent": "podium.agents.agent",
    "Budget": "podium.engine.budget",
    "BudgetExhaustedError": "podium.errors",
    "Call": "podium.models.model",
    "Charge": "podium.engine.events",
    "Event": "podium.engine.events",
    "EventData": "podium.engine.events",
    "Failed": "podium.engine.branch",
    "File": "podium.agents.files",
    "InvalidReplyError": "podium.errors",
    "Message": "podium.models.messages",
    "ModelFailedError": "podium.errors",
    "Ok": "podium.engine.branch",
    "Outcome": "podium.engine.workflow",
    "Partial": "podium.engine.workflow",
    "PodiumError": "podium.errors",
    "Process": "podium.engine.process",
    "Retry": "podium.engine.steps",
    "Run": "podium.agents.ask",
    "RunHandle": "podium.api",
    "RunResult": "podium.engine.result",
    "RunState": "podium.engine.state",
    "Settings": "podium.settings",
    "StepFailedError": "podium.errors",
    "StopRun": "podium.errors",
    "Thread": "podium.agents.conversation",
    "Tool": "podium.agents.tools",
    "ToolCall": "podium.models.messages",
    "ToolContext": "podium.agents.tools",
    "Workflow": "podium.engine.workflow",
    "answer": "podium.api",
    "cancel": "podium.api",
    "files": "podium.tools.toolsets",
    "fork": "podium.api",
    "mcp": "podium.tools.toolsets",
    "open_store": "podium.stores",
    "rehearses": "podium.models.rehearsal",
    "replay": "podium.api",
    "resume": "podium.api",
    "run": "podium.api",
    "run_process": "podium.engine.process",
    "start": "podium.api",
    "tool": "podium.agents.tools",
    "web": "podium.tools.toolsets",
    "workflow": "podium.engine.workflow",
}

__all__ = [
    "Agent",
    "Budget",
    "BudgetExhaustedError",
    "Call",
    "Charge",
    "Event",
    "EventData",
    "Failed",
    "File",
    "InvalidReplyError",
    "Message",
    "ModelFailedError",
    "Ok",
    "Outcome",
    "Partial",
    "PodiumError",
    "Process",
    "Retry",
    "Run",
    "RunHandle",
    "RunResult",
    "RunState",
    "Settings",
    "StepFailedError",
    "StopRun",
    "Thread",
    "Tool",
    "ToolCall",
    "ToolContext",
    "Workflow",
    "__version__",
    "answer",
    "cancel",
    "files",
    "fork",
    "mcp",
    "open_store",
    "rehearses",
    "replay",
    "resume",
    "run",
    "run_process",
    "start",
    "tool",
    "web",
    "workflow",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'podium' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
