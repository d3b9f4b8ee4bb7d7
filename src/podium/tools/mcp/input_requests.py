"""Requests of an MCP server for input, answered by a person or by a model."""

from __future__ import annotations

from base64 import b64decode
from typing import Any, Literal, cast

import msgspec

from podium.agents.agent import Agent
from podium.agents.ask import Run
from podium.agents.conversation import ToolOutcome
from podium.agents.files import IMAGES, File
from podium.errors import StepFailedError
from podium.tools.tool import bounded

MAX_QUESTION = 2_000


class InputRequest(msgspec.Struct, frozen=True):
    """A request as the log keeps it."""

    kind: Literal["elicit", "sample"]
    data: dict[str, Any]
    """Its parameters in the form of the protocol."""


class Answered(msgspec.Struct, frozen=True):
    """A request and its answer, in the form of the protocol."""

    request: InputRequest
    response: dict[str, Any]


class CallRound(msgspec.Struct, frozen=True, omit_defaults=True):
    """The end of one round of a call: its outcome, or a request of the server."""

    outcome: ToolOutcome | None = None
    request: InputRequest | None = None


async def respond(run: Run, agent: Agent, server: str, request: InputRequest) -> dict[str, Any]:
    """Answer a request of a server. `agent` is the one that called the tool."""
    if request.kind == "elicit":
        return await _elicit(run, server, request.data)
    return await _sample(run, agent, server, request.data)


async def _elicit(run: Run, server: str, data: dict[str, Any]) -> dict[str, Any]:
    """Ask a person. A form is answered with data that fits its schema; an address, by accepting it."""
    question = bounded(
        f"The MCP server {server} asks: {' '.join(str(data['message']).split())}", MAX_QUESTION
    )
    if data.get("mode") == "url":
        answer = await run.wait_for(
            question, choices=("accept", "decline", "cancel"), details={"server": server, "url": data["url"]}
        )
        return {"action": answer}
    answer = await run.wait_for(
        question,
        choices=("decline", "cancel"),
        details={"server": server},
        answers={"accept": data["requestedSchema"]},
    )
    if isinstance(answer, dict):
        return {"action": "accept", "content": cast("dict[str, Any]", answer)["accept"]}
    return {"action": answer}


async def _sample(run: Run, agent: Agent, server: str, data: dict[str, Any]) -> dict[str, Any]:
    """Ask the model of the agent that called the tool. The server's budget is the run's."""
    sampler = Agent(
        f"MCP server {server}",
        instructions=data.get("systemPrompt", ""),
        profile=agent.profile,
        model=agent.model,
        temperature=data.get("temperature", agent.temperature),
        max_tokens=max(1, min(int(data["maxTokens"]), agent.max_tokens)),
    )
    messages, images = _messages(data["messages"])
    prompt = (
        messages[0][1] if len(messages) == 1 else "\n\n".join(f"[{role}] {text}" for role, text in messages)
    )
    try:
        text = await run.ask(sampler, "sample", prompt=prompt or "(no text)", attach=images)
    except StepFailedError as error:
        return {"error": error.reason}
    model = run.models.name_for(sampler, run.config)
    return {
        "role": "assistant",
        "content": {"type": "text", "text": text},
        "model": model,
        "stopReason": "maxTokens" if run.cut_off else "endTurn",
    }


def _messages(given: list[dict[str, Any]]) -> tuple[list[tuple[str, str]], list[File]]:
    """Return the messages of a request as role and text, and their images."""
    messages: list[tuple[str, str]] = []
    images: list[File] = []
    for message in given:
        content = message["content"]
        parts: list[str] = []
        for block in cast("list[dict[str, Any]]", content if isinstance(content, list) else [content]):
            if block["type"] == "text":
                parts.append(block["text"])
            elif block["type"] == "image" and block["mimeType"] in IMAGES:
                name = f"image-{len(images) + 1}"
                images.append(File(name=name, data=b64decode(block["data"]), media_type=block["mimeType"]))
                parts.append(f"[{name}]")
            else:
                parts.append(f"[{block['type']}]")
        messages.append((message["role"], "\n".join(parts)))
    return messages, images
