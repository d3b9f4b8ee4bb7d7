"""The `chat` workflow: one thread, in which a person and an agent take turns.

Every message is an answer to a question of the run (`question[N]`), every reply an ask of the thread
(`message`, `message#2`, …). So a conversation can be closed, resumed and forked at any message like any run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any

from msgspec import Meta

import podium
from podium.agents.agent import Agent
from podium.agents.ask import Run
from podium.engine.workflow import Outcome, Workflow, load_module
from podium.errors import BudgetExhaustedError, StepFailedError, UsageError
from podium.report.words import sentence
from podium.settings.places import named

NEXT = "Your message"
"""Question of the run between two messages."""
END = "/end"
"""Message that ends a conversation for good."""
ASSISTANT = Agent(
    "assistant",
    instructions=(
        "You are a helpful assistant. Answer directly and to the point. If you have tools, use them where "
        "they make the answer better, and say what you could not find out."
    ),
)
TOOL_SETS = ("web", "files", "mcp")


async def chat(
    run: Run,
    request: str,
    *,
    agent: Annotated[str, Meta(description="Agent of your own: FILE.py:name; default: an assistant.")] = "",
    tools: Annotated[str, Meta(description="Tools, comma-separated: web, files=FOLDER, mcp=SERVER.")] = "",
) -> Outcome:
    """Talk with an agent. The conversation is durable: close it, resume it, fork it at any message."""
    who = agent_of(agent) if agent else ASSISTANT
    who = replace(who, tools=[*who.tools, *tool_sets(tools)])
    thread = run.thread(who, "message")
    text, answers = request, 0
    last = ""
    while text.strip() != END:
        question = NEXT
        try:
            last = await thread.ask(text)
            answers += 1
        except BudgetExhaustedError:
            raise
        except StepFailedError as error:
            question = (
                f"There is no answer: {sentence(error.reason)} Send your message again, or another one."
            )
        text = str(await run.wait_for(question))
    return Outcome(output={"answers": answers, "last": last})


def agent_of(ref: str) -> Agent:
    """Return the agent `FILE.py:name`, or the only one of a file."""
    file, colon, name = ref.rpartition(":")
    if not colon or not file.endswith(".py"):
        file, name = ref, ""
    path = named(file)
    if not file.endswith(".py") or not path.is_file():
        raise UsageError(f"There is no file {file} with an agent.", hint="Name it as FILE.py:name.")
    agents = {key: value for key, value in vars(load_module(path)).items() if isinstance(value, Agent)}
    if name in agents or (not name and len(agents) == 1):
        return agents[name] if name else next(iter(agents.values()))
    names = ", ".join(f"{file}:{key}" for key in agents) or "none; write `name = podium.Agent(…)`"
    missing = f"holds no agent {name}" if name else f"holds {len(agents)} agents"
    raise UsageError(f"{path} {missing}.", hint=f"Agents in it: {names}.")


def tool_sets(wanted: str) -> Sequence[Any]:
    """Return the tools that `web,files=FOLDER,mcp=SERVER` names."""
    sets: list[Any] = []
    for item in (part.strip() for part in wanted.split(",")):
        name, equals, value = item.partition("=")
        if not item:
            continue
        if name not in TOOL_SETS or (name != "web") != bool(equals and value.strip()):
            raise UsageError(f"{item!r} names no tools.", hint="Use web, files=FOLDER or mcp=SERVER.")
        make: Callable[..., Any] = getattr(podium, name)
        sets.append(make(value.strip()) if value else make())
    return sets


WORKFLOW = Workflow(chat, "chat", ref="chat")
