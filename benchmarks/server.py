"""The server under load: `python -m benchmarks.server`. One real process, one client process on loopback.

Runs are started all at once over HTTP, each a talk of several answers that take as long as a fast model's;
while they go, a person's reads (the list, one run, its events) are timed one after the other; then many
readers follow one run to its end.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import msgspec

ANSWERS, ANSWER_S = 20, 0.25
PROGRAM = """
import asyncio
import podium

speaker = podium.Agent("speaker")


@podium.workflow
async def talk(run: podium.Run, request: str) -> list[str]:
    return [
        await run.ask(speaker, "speak", prompt="{{ n }}: {{ r }}", n=n, r=request, key=str(n))
        for n in range(ANSWERS)
    ]


async def answer(call: podium.Call) -> str:
    await asyncio.sleep(ANSWER_S)
    return call.prompt * 20
"""


class Loaded(msgspec.Struct, frozen=True):
    """What a load came to. Times in milliseconds."""

    runs: int
    accepted_p50: float
    """From a request to start a run to its answer, all of them sent at once."""
    accepted_p95: float
    reads: int
    read_p50: float
    read_p95: float
    read_max: float
    total_s: float
    """Until the last run was over."""
    readers: int
    followed_s: float
    """Until the last reader of one run had its last event."""
    events: int


@asynccontextmanager
async def serving(folder: Path, max_runs: int) -> AsyncGenerator[httpx2.AsyncClient]:
    """A server in a process of its own."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "podium",
        "serve",
        "--port",
        "0",
        "--json",
        "--max-runs",
        str(max_runs),
        "--store",
        str(folder / "podium.sqlite"),
        stdout=asyncio.subprocess.PIPE,
        cwd=folder,
    )
    assert process.stdout is not None
    base, _, token = json.loads(await process.stdout.readline())["address"].partition("?token=")
    limits, headers = httpx2.Limits(max_connections=None), {"Authorization": f"Bearer {token}"}
    try:
        async with httpx2.AsyncClient(base_url=base, headers=headers, limits=limits, timeout=300) as client:
            yield client
    finally:
        process.terminate()
        await process.wait()


async def timed(client: httpx2.AsyncClient, path: str) -> float:
    began = time.perf_counter()
    (await client.get(path)).raise_for_status()
    return (time.perf_counter() - began) * 1000


async def start(client: httpx2.AsyncClient, program: Path, request: str) -> tuple[str, float]:
    began = time.perf_counter()
    body = {"workflow": f"{program}:talk", "request": request, "model": f"python:{program}:answer"}
    answer = (await client.post("/api/runs", json=body)).raise_for_status()
    return answer.json()["run_id"], (time.perf_counter() - began) * 1000


async def follow(client: httpx2.AsyncClient, run_id: str) -> int:
    """The number of events of a finished run, as its stream tells them."""
    seen = 0
    async with client.stream("GET", f"/api/runs/{run_id}/events/stream") as answer:
        async for line in answer.aiter_lines():
            seen += line.startswith("id: ")
            if '"at_rest":true' in line:
                break
    return seen


async def measure(
    folder: Path, runs: int, readers: int, answer_s: float = ANSWER_S, answers: int = ANSWERS
) -> Loaded:
    program = folder / "talk.py"
    program.write_text(f"ANSWERS, ANSWER_S = {answers}, {answer_s}\n{PROGRAM}")
    async with serving(folder, runs) as client:
        began = time.perf_counter()
        accepted = await asyncio.gather(*(start(client, program, f"Garden {n}") for n in range(runs)))
        reads: list[float] = []
        while True:
            one = accepted[len(reads) % runs][0]
            for path in ("/api/runs", f"/api/runs/{one}", f"/api/runs/{one}/events?limit=200"):
                reads.append(await timed(client, path))
            ready = (await client.get("/api/ready")).json()
            if not ready["running"] and not ready["queued"]:
                break
        total = time.perf_counter() - began
        began = time.perf_counter()
        seen = await asyncio.gather(*(follow(client, accepted[0][0]) for _ in range(readers)))
        followed = time.perf_counter() - began
        assert len(set(seen)) == 1
    waits = [wait for _, wait in accepted]
    return Loaded(
        runs,
        statistics.median(waits),
        _p95(waits),
        len(reads),
        statistics.median(reads),
        _p95(reads),
        max(reads),
        total,
        readers,
        followed,
        seen[0],
    )


def _p95(values: list[float]) -> float:
    return statistics.quantiles(values, n=20)[-1] if len(values) > 1 else values[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--readers", type=int, default=200)
    parser.add_argument("--answers", type=int, default=ANSWERS, help="of each run")
    parser.add_argument(
        "--answer-s", type=float, default=ANSWER_S, help="how long a model's answer takes; 0: no time at all"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(measure(Path(folder), given.runs, given.readers, given.answer_s, given.answers))
    print(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())


if __name__ == "__main__":
    main()
