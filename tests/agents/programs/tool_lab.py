"""Kills a run of an agent with tools at every event of its log, resumes it, and reports each as a JSON line.

    python -m tests.agents.programs.tool_lab FOLDER STRIDE

The run has six turns, parallel calls, a sub-agent, a call that needs approval and two that must happen once:
one of the agent, one of its sub-agent.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import podium
from podium.agents.tools import ToolContext, tool
from podium.models.messages import ToolCall
from podium.models.model import Call
from podium.settings import Settings
from tests.engine.programs.kill_lab import KillingStore, drive

NOTES = "TOOL_LAB_NOTES"
CREATED = 2
"""Events that are written with the run itself, before it is driven."""
SETTINGS = Settings.load(cwd="/", env={})


def note(*words: object) -> None:
    """Append a line that survives the process."""
    with Path(os.environ[NOTES]).open("a") as file:
        file.write(" ".join(map(str, words)) + "\n")


@tool
async def look_up(ctx: ToolContext, place: str) -> str:
    """Look up a place."""
    note("look_up", ctx.path, ctx.call_id)
    return f"{place} is nice"


@tool(once=True)
async def pay(ctx: ToolContext, amount: int) -> str:
    """Pay."""
    note("pay", ctx.path, ctx.call_id)
    return f"paid {amount}"


@tool(once=True)
async def stamp(ctx: ToolContext) -> str:
    """Stamp."""
    note("stamp", ctx.path, ctx.call_id)
    return "stamped"


@tool(approve=True)
async def book(ctx: ToolContext, place: str) -> str:
    """Book a place."""
    note("book", ctx.path, ctx.call_id)
    return f"booked {place}"


CRITIC = podium.Agent("critic", tools=[look_up, stamp])
PLANNER = podium.Agent("planner", tools=[look_up, pay, book, CRITIC.as_tool()])

TURNS: list[list[ToolCall]] = [
    [ToolCall("look_up", {"place": name}) for name in ("Lisbon", "Porto", "Faro")],
    [ToolCall("critic", {"request": "Is Porto nice?"}), ToolCall("look_up", {"place": "Sintra"})],
    [ToolCall("pay", {"amount": 3})],
    [ToolCall("book", {"place": "Porto"}), ToolCall("nothing", {})],
    [ToolCall("look_up", {"town": "Braga"})],
]


async def model(call: Call) -> Any:
    note("model", call.path)
    done = sum(message.role == "assistant" for message in call.messages)
    if call.agent == "critic":
        return [ToolCall("look_up", {"place": "Porto"}), ToolCall("stamp")] if done == 0 else "yes"
    if done < len(TURNS):
        return TURNS[done]
    return " | ".join(message.text for message in call.messages if message.role == "tool")


@podium.workflow
async def travel(run: podium.Run, request: str) -> str:
    return await run.ask(PLANNER, "plan", prompt=request)


async def opened(store_path: str, at: int, durable: bool) -> KillingStore:
    store = await KillingStore.open(store_path)
    assert isinstance(store, KillingStore)
    store.countdown, store.durable = at, durable
    return store


async def begin(store_path: str, at: int, durable: bool) -> None:
    store = await opened(store_path, at, durable)
    handle = await podium.start(travel, "Plan it", store=store, settings=SETTINGS, model=model)
    await handle.result()
    await store.close()


async def go_on(store_path: str, at: int, durable: bool) -> None:
    """Resume once; its questions are answered before, as by a person."""
    store = await opened(store_path, at, durable)
    [row] = await store.list_runs()
    handle = await podium.resume(row.run_id, store=store, settings=SETTINGS, workflow=travel, model=model)
    await handle.result()
    await store.close()


async def look(store_path: str) -> dict[str, Any]:
    async with podium.open_store(f"sqlite:///{store_path}") as store:
        rows = await store.list_runs()
        if not rows:
            return {"status": "none", "done": [], "events": 0}
        [row] = rows
        events = await store.read(row.run_id)
        waiting = [e.path for e in events if e.type == "run.waiting"]
        answered = [e.path for e in events if e.type == "run.answered"]
        ended = [json.loads(e.data) for e in events if e.type == "run.completed"]
        return {
            "run": row.run_id,
            "status": row.status,
            "open": [path for path in waiting if path not in answered],
            "questions": waiting,
            "output": ended[0]["output"] if ended else None,
            "done": [e.path for e in events if e.type == "step.completed"],
            "events": len(events),
        }


async def answer(store_path: str, run_id: str, path: str) -> None:
    async with podium.open_store(f"sqlite:///{store_path}") as store:
        text = "skip" if "outcome" in path else "approve"
        await podium.answer(run_id, text, question=path, store=store)


def trial(folder: Path, number: int, at: int, durable: bool) -> dict[str, Any]:
    """One run over all its lives. It is killed once, at the event `at` of its drivers; 0: never."""
    store_path, notes = str(folder / f"{number}.sqlite"), folder / f"{number}.notes"
    notes.touch()
    os.environ[NOTES] = str(notes)
    lives: list[dict[str, Any]] = []
    answered: set[str] = set()
    seen: dict[str, Any] = {"status": "none", "done": [], "events": 0}
    while seen["status"] not in ("completed", "failed", "partial"):
        for path in seen.get("open", ()):
            if path not in answered:  # a driver may be killed before it takes an answer out of the inbox
                asyncio.run(answer(store_path, seen["run"], path))
                answered.add(path)
        was_killed = any(life["killed"] for life in lives)
        left = 0 if was_killed else max(0, at - max(0, seen["events"] - CREATED))
        life = go_on if seen["events"] else begin

        async def work(ready: Any, life: Any = life, left: int = left) -> None:
            ready()
            await life(store_path, left, durable)

        before, earlier = len(notes.read_text().splitlines()), seen["done"]
        killed = drive(work)
        new = notes.read_text().splitlines()[before:]
        lives.append({"killed": killed, "done_before": earlier, "notes": new})
        seen = asyncio.run(look(store_path))
        assert len(lives) < 12, seen
    return {"at": at, "durable": durable, "lives": lives, **seen}


def main(folder: Path, stride: int) -> None:
    whole = trial(folder, 0, 0, False)
    print(json.dumps(whole), flush=True)
    number = 0
    for at in range(1, whole["events"] - CREATED + 1, stride):
        for durable in (False, True):
            number += 1
            print(json.dumps(trial(folder, number, at, durable)), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
