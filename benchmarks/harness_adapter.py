"""Podium in the shape of an adapter of an outside harness that compares orchestration frameworks.

Copied into that harness's folder of adapters it is found by its constants; `common` is the harness's
own module with its fake model, which is why the type checker cannot see it from here.
"""
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false, reportUnknownVariableType=false

from __future__ import annotations

import asyncio
from typing import Any

import podium
from common import LLM
from podium import Run, Workflow, workflow
from podium.engine.log import Store

FRAMEWORK = "podium"
VENV = "podium"
IMPORT = "podium"
DISTS = ["podium"]
VARIANTS = {"sqlite": {"durable": True, "store": "SQLite WAL, synchronous=FULL, group commit"}}


async def ask_model(tag: str) -> str:
    reply: str = await LLM(tag)
    return reply


@workflow
async def chain_flow(run: Run, request: Any) -> None:
    for i in range(request["n"]):
        await run.step("call", ask_model, str(i))


@workflow
async def fanout_flow(run: Run, request: Any) -> None:
    await run.step("plan", ask_model, "plan")
    await run.gather({f"part-{i}": run.step("call", ask_model, str(i)) for i in range(request["n"])})
    await run.step("merge", ask_model, "merge")


@workflow
async def tree_flow(run: Run, request: Any) -> None:
    await node(run, "r", request["depth"], request["branch"])


async def node(run: Run, tag: str, depth: int, branch: int) -> None:
    if depth == 0:
        await run.step("execute", ask_model, tag)
        return
    await run.step("plan", ask_model, tag)
    await run.gather({f"n{k}": node(run, f"{tag}.{k}", depth - 1, branch) for k in range(branch)})
    await run.step("merge", ask_model, tag)


class Opened:
    """The store of this process, between `setup` and `teardown`."""

    store: Store


async def setup(variant: str, workdir: str) -> None:
    Opened.store = await podium.open_store(f"sqlite:///{workdir}/podium.sqlite")


async def teardown() -> None:
    await Opened.store.close()


async def _run(flow: Workflow, **request: int) -> None:
    result = await podium.run(flow, request, store=Opened.store)
    assert result.status == "completed", result.error


async def chain(run: str, n: int) -> None:
    await _run(chain_flow, n=n)


async def fanout(run: str, n: int) -> None:
    await _run(fanout_flow, n=n)


async def tree(run: str, depth: int, branch: int) -> None:
    await _run(tree_flow, depth=depth, branch=branch)


async def many(run: str, runs: int, steps: int) -> None:
    await asyncio.gather(*(chain(run, steps) for _ in range(runs)))


async def resume(run: str, n: int) -> None:
    (row,) = await Opened.store.list_runs()
    result = await (await podium.resume(row.run_id, store=Opened.store)).result()
    assert result.status == "completed", result.error
