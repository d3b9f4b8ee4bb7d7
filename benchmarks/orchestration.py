"""A whole orchestration beside the ideal schedule of the same calls and beside plain asyncio: the `tree`
workflow at its largest with a model of 20 ms, and a smaller one with a model of 1 s, as real ones are."""

from __future__ import annotations

import argparse
import asyncio
import heapq
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import podium
from benchmarks.common import FULL, QUICK, Sizes

LATENCY_S = 0.02
REAL_S = 1.0
REAL = replace(FULL, depth=3, branching=5, repetitions=1)
REAL_QUICK = replace(QUICK, depth=1, branching=3, repetitions=1)
NOTE = {"appendMarkdown": "Looked at it; nothing else to note.", "tailPreview": "nothing else to note"}


@dataclass
class Grown:
    """Wall times of the same tree, in rounds in which each contender ran once."""

    nodes: int
    calls: int
    ideal_s: float
    tree_s: list[float] = field(default_factory=list[float])
    plain_s: list[float] = field(default_factory=list[float])
    latency_s: float = LATENCY_S


def answers(branching: int) -> dict[str, dict[str, Any]]:
    """What planner, executor and aggregator say; of ordinary size."""
    steps = [
        {
            "id": f"part-{n}",
            "title": f"Work on part {n}",
            "reason": "It is a part of the whole.",
            "successCriteria": [f"part {n} is described"],
            "stepIndex": n,
        }
        for n in range(branching)
    ]
    band = {"index": 0, "goal": "All parts", "parallelizable": True, "steps": steps}
    document = {"type": "document", "label": "text", "title": "A part", "documentMarkdown": "Words. " * 40}
    result = {
        "kind": "document", "summary": "It is described.", "successAssessment": {"met": True},
        "primaryArtifactLabel": "text",
        "parentHint": {"hintType": "read_documents", "artifactLabels": ["text"]},
    }  # fmt: skip
    written = {"artifacts": [document], "result": result, "scratchpad": NOTE}
    synthesis: dict[str, Any] = {"summary": "All parts are there.", "keyFindings": [], "gaps": []}
    plan = {"summary": "In parts.", "bands": [band]}
    return {
        "plan": {"mode": "plan", "modeReason": "It is large.", "plan": plan, "scratchpad": NOTE},
        "execute": {**written, "actions": [{"kind": "analysis", "note": "Thought about it."}]},
        "aggregate": {**written, "synthesis": synthesis, "next": {"shouldReplan": False}},
    }


def ideal(depth: int, branching: int, cap: int, latency: float) -> float:
    """The end of the last call if nothing but the model takes time: calls start in the order in which they
    become possible, `cap` of them at once."""
    free = [0.0] * cap
    ready: list[tuple[float, int, Callable[[float], None]]] = []
    number, end = 0, 0.0

    def call(at: float, then: Callable[[float], None]) -> None:
        nonlocal number
        number += 1
        heapq.heappush(ready, (at, number, then))

    def node(level: int, at: float, then: Callable[[float], None]) -> None:
        if level == depth:
            call(at, then)
            return
        left = branching

        def child_done(when: float) -> None:
            nonlocal left
            left -= 1
            if not left:
                call(when, then)

        def planned(when: float) -> None:
            for _ in range(branching):
                node(level + 1, when, child_done)

        call(at, planned)

    def finish(when: float) -> None:
        nonlocal end
        end = when

    node(0, 0.0, finish)
    while ready:
        at, _, then = heapq.heappop(ready)
        done = max(at, heapq.heappop(free)) + latency
        heapq.heappush(free, done)
        then(done)
    return end


async def plain(sizes: Sizes, latency: float = LATENCY_S) -> float:
    """The same calls in the same shape, with nothing around them."""
    slots = asyncio.Semaphore(sizes.cap)

    async def call() -> None:
        async with slots:
            await asyncio.sleep(latency)

    async def node(level: int) -> None:
        await call()
        if level < sizes.depth:
            await asyncio.gather(*(node(level + 1) for _ in range(sizes.branching)))
            await call()

    begin = time.perf_counter()
    await node(0)
    return time.perf_counter() - begin


async def grown(sizes: Sizes, store: Path, latency: float = LATENCY_S) -> tuple[float, int, int]:
    """The workflow itself: seconds, nodes, calls."""
    said, calls = answers(sizes.branching), 0

    async def model(call: podium.Call) -> dict[str, Any]:
        nonlocal calls
        calls += 1
        await asyncio.sleep(latency)
        return said[call.task]

    options = {
        "max_depth": sizes.depth,
        "max_steps": sizes.branching,
        "max_nodes": 100_000,
        "floor": False,
        "editor": False,
    }
    begin = time.perf_counter()
    result = await podium.run(
        "tree", "a task of many parts", model=model, store=str(store), concurrency=sizes.cap, options=options
    )
    seconds = time.perf_counter() - begin
    if result.status != "completed":
        raise AssertionError(f"the tree ended as {result.status}: {result.error}")
    return seconds, len(result.output["nodes"]), calls


async def measure(sizes: Sizes, folder: Path, latency: float = LATENCY_S) -> Grown:
    """One round to warm up (imports, compiled prompts), then as many as are wanted."""
    _, nodes, calls = await grown(sizes, folder / "warm.sqlite", 0.0)
    best = ideal(sizes.depth, sizes.branching, sizes.cap, latency)
    found = Grown(nodes, calls, best, latency_s=latency)
    for round_ in range(max(1, sizes.repetitions)):
        found.plain_s.append(await plain(sizes, latency))
        seconds, _, _ = await grown(sizes, folder / f"{round_}.sqlite", latency)
        found.tree_s.append(seconds)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--real", action="store_true", help="the smaller tree, with a model of 1 s")
    given = parser.parse_args()
    if given.real:
        work = measure(REAL_QUICK if given.quick else REAL, given.folder, REAL_S)
    else:
        work = measure(QUICK if given.quick else FULL, given.folder)
    print(json.dumps(asdict(asyncio.run(work))))
