"""An ask with a time-out, and a workflow with ceilings of its own."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import podium
from podium.engine.workflow import Workflow
from podium.errors import StepTimeoutError

AGENT = podium.Agent("writer")


def store_in(folder: Path) -> str:
    return f"sqlite:///{folder}/podium.sqlite"


async def test_an_ask_that_takes_longer_than_its_time_out_has_failed_and_stays_so(tmp_path: Path) -> None:
    calls: list[str] = []

    async def never(call: podium.Call) -> Any:
        calls.append(call.path)
        await asyncio.Event().wait()

    @podium.workflow
    async def hasty(run: podium.Run, request: str) -> str:
        try:
            return await run.ask(AGENT, "write", prompt="a tale", timeout=0.05)
        except StepTimeoutError as error:
            return f"{error.path} was too slow"

    made = await podium.run(hasty, "x", model=never, store=store_in(tmp_path))
    assert (made.status, made.output, calls) == ("completed", "write was too slow", ["write"])
    replayed = await podium.replay(made.run_id, workflow=hasty, store=store_in(tmp_path))
    assert (replayed.output, len(calls)) == (made.output, 1)


async def test_a_time_out_is_no_input_so_another_one_does_not_ask_again(tmp_path: Path) -> None:
    calls: list[str] = []

    async def quick(call: podium.Call) -> str:
        calls.append(call.path)
        return "done"

    async def patient(run: podium.Run, request: str, *, seconds: float = 5.0) -> str:
        return await run.ask(AGENT, "write", prompt="a tale", timeout=seconds)

    made = await podium.run(Workflow(patient, "patient"), "x", model=quick, store=store_in(tmp_path))

    async def slower(run: podium.Run, request: str) -> str:
        return await run.ask(AGENT, "write", prompt="a tale", timeout=500.0)

    replayed = await podium.replay(
        made.run_id, workflow=Workflow(slower, "patient"), store=store_in(tmp_path)
    )
    assert (replayed.output, len(calls)) == ("done", 1)


async def test_a_workflows_own_ceilings_hold_where_nobody_says_otherwise(tmp_path: Path) -> None:
    async def answer(call: podium.Call) -> str:
        return "done"

    async def twice(run: podium.Run, request: str) -> str:
        await run.ask(AGENT, "write", prompt="one")
        return await run.ask(AGENT, "write", prompt="two")

    thrifty = Workflow(twice, "twice", budget=podium.Budget(calls=1))
    made = await podium.run(thrifty, "x", model=answer, store=store_in(tmp_path))
    assert (made.status, made.stop_reason) == ("partial", "budget")
    more = podium.Budget(calls=2)
    made = await podium.run(thrifty, "x", model=answer, store=store_in(tmp_path), budget=more)
    assert made.status == "completed"
