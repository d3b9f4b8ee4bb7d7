"""Podium, on a SQLite store file with every fsync on. A call is one `run.step`, or one `run.ask`.

Store and settings are opened once, as a program does that starts many runs.
"""

from __future__ import annotations

from asyncio import gather
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import podium
from benchmarks.common import MODEL
from podium import Agent, Call, Run, RunResult, Settings, Workflow, workflow

WORKER = Agent("worker", role="worker", instructions="Answer in one line.")

PYTHON_MODEL = f"python:{Path(__file__).resolve()}:answer"


@workflow
async def chain_of_steps(run: Run, request: Any) -> None:
    for i in range(request["n"]):
        await run.step("call", MODEL.answer, str(i))


@workflow
async def fanout_of_steps(run: Run, request: Any) -> None:
    await run.step("plan", MODEL.answer, "plan")
    await run.gather({f"part-{i}": run.step("call", MODEL.answer, str(i)) for i in range(request["n"])})
    await run.step("merge", MODEL.answer, "merge")


@workflow
async def tree_of_steps(run: Run, request: Any) -> None:
    await node(run, "r", request["depth"], request["branching"])


async def node(run: Run, tag: str, depth: int, branching: int) -> None:
    if depth == 0:
        await run.step("execute", MODEL.answer, tag)
        return
    await run.step("plan", MODEL.answer, f"{tag}:plan")
    await run.gather({f"n{k}": node(run, f"{tag}.{k}", depth - 1, branching) for k in range(branching)})
    await run.step("merge", MODEL.answer, f"{tag}:merge")


@workflow
async def chain_of_asks(run: Run, request: Any) -> None:
    for i in range(request["n"]):
        await call(run, str(i))


async def call(run: Run, tag: str) -> str:
    return await run.ask(WORKER, "call", prompt="Call {{ tag }}", tag=tag)


@workflow
async def fanout_of_asks(run: Run, request: Any) -> None:
    await run.ask(WORKER, "plan", prompt="Plan")
    await run.gather({f"part-{i}": call(run, str(i)) for i in range(request["n"])})
    await run.ask(WORKER, "merge", prompt="Merge")


async def answer(call: Call) -> str:
    """The fake model, as `python:` model of `run.ask`."""
    return await MODEL.answer(call.prompt)


class PodiumSteps:
    """A `Subject`."""

    version = podium.__version__

    @asynccontextmanager
    async def opened(self, folder: Path) -> AsyncGenerator[None]:
        self.settings = Settings.load()
        async with podium.open_store(f"sqlite:///{folder}/podium.sqlite") as self.store:
            yield

    async def _run(self, flow: Workflow, **request: int) -> None:
        check(await podium.run(flow, request, store=self.store, settings=self.settings))

    async def chain(self, run: str, n: int) -> None:
        await self._run(chain_of_steps, n=n)

    async def fanout(self, run: str, n: int) -> None:
        await self._run(fanout_of_steps, n=n)

    async def tree(self, run: str, depth: int, branching: int) -> None:
        await self._run(tree_of_steps, depth=depth, branching=branching)

    async def many(self, run: str, runs: int, steps: int) -> None:
        await gather(*(self.chain(run, steps) for _ in range(runs)))

    async def resume(self, run: str, n: int) -> None:
        (row,) = await self.store.list_runs()
        check(await (await podium.resume(row.run_id, store=self.store)).result())


class PodiumAsks(PodiumSteps):
    """The same through agents, prompts and the model layer."""

    async def _run(self, flow: Workflow, **request: int) -> None:
        check(
            await podium.run(
                flow, request, model=PYTHON_MODEL, concurrency=1_000, store=self.store, settings=self.settings
            )
        )

    async def chain(self, run: str, n: int) -> None:
        await self._run(chain_of_asks, n=n)

    async def fanout(self, run: str, n: int) -> None:
        await self._run(fanout_of_asks, n=n)


def check(result: RunResult) -> None:
    """A measurement of a run that failed would be worth nothing."""
    if result.status != "completed":
        raise AssertionError(f"the run ended as {result.status}: {result.error}")


steps = PodiumSteps()
asks = PodiumAsks()
