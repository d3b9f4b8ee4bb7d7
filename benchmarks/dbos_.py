"""DBOS on PostgreSQL: a workflow with steps, every step durable before the next.

Runs in a virtual environment of its own, so the type checker cannot see the package.
"""
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUntypedFunctionDecorator=false

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from dbos import DBOS, SetWorkflowID

from benchmarks.common import MODEL, POSTGRES


@DBOS.step()
async def step(tag: str) -> str:
    return await MODEL.answer(tag)


@DBOS.workflow()
async def chain_of_steps(n: int) -> None:
    for i in range(n):
        await step(str(i))


@DBOS.workflow()
async def fanout_of_steps(n: int) -> None:
    await step("plan")
    await asyncio.gather(*(step(str(i)) for i in range(n)))
    await step("merge")


class Dbos:
    """A `Subject` of the workloads that are measured on PostgreSQL."""

    version = version("dbos")

    @asynccontextmanager
    async def opened(self, folder: Path) -> AsyncGenerator[None]:
        url = os.environ[POSTGRES]
        DBOS(config={"name": "benchmark", "system_database_url": url, "log_level": "ERROR"})
        DBOS.launch()
        try:
            yield
        finally:
            DBOS.destroy()

    async def _run(self, workflow: Any, run: str, n: int) -> None:
        with SetWorkflowID(run):
            handle = await DBOS.start_workflow_async(workflow, n)
        await handle.get_result()

    async def chain(self, run: str, n: int) -> None:
        await self._run(chain_of_steps, f"{run}-chain", n)

    async def fanout(self, run: str, n: int) -> None:
        await self._run(fanout_of_steps, run, n)

    async def many(self, run: str, runs: int, steps: int) -> None:
        await asyncio.gather(*(self._run(chain_of_steps, f"{run}-{i}", steps) for i in range(runs)))

    async def tree(self, run: str, depth: int, branching: int) -> None:
        raise NotImplementedError("the tree is measured on SQLite")

    async def resume(self, run: str, n: int) -> None:
        raise NotImplementedError("resuming is measured on SQLite")


dbos = Dbos()
