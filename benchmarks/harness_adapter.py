"""Podium as an adapter of an outside harness that compares orchestration frameworks.

Copied into that harness's folder of adapters it is found by its constants. It needs this repository on
`PYTHONPATH`; `common` is the harness's own module, which the type checker cannot see from here.
"""
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false, reportUnknownVariableType=false

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

from benchmarks.common import MODEL
from benchmarks.podium_ import steps
from common import LLM

FRAMEWORK = "podium"
VENV = "podium"
IMPORT = "podium"
DISTS = ["podium"]
VARIANTS = {"sqlite": {"durable": True, "store": "SQLite WAL, synchronous=FULL, group commit"}}

MODEL.outside = LLM
OPENED = AsyncExitStack()

chain, fanout, tree, many, resume = steps.chain, steps.fanout, steps.tree, steps.many, steps.resume


async def setup(variant: str, workdir: str) -> None:
    await OPENED.enter_async_context(steps.opened(Path(workdir)))


async def teardown() -> None:
    await OPENED.aclose()
