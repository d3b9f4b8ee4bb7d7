"""Lists the functions of Podium that one ask or one request passes through, in the order of their first call.

    python -m benchmarks.trace ask
    python -m benchmarks.trace post

`ask` is a `run.ask` whose model is a function; threads and background tasks of the store are not counted.
`post` is a `POST /api/runs` from its first byte to the reply, in the thread of the server; the run goes
on in another one. Both follow others, so that caches are filled. The store is SQLite.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from types import FrameType

from tests.server.serving import served

import podium

PACKAGE = f"{Path(podium.__file__).parent}/"


class Trace:
    """Counts the calls of each function of the package in this thread."""

    def __init__(self) -> None:
        self.calls: Counter[tuple[str, str]] = Counter()
        self.switches = 0
        """Calls from a function of one package to one of another."""

    def start(self) -> None:
        sys.setprofile(self.count)

    def stop(self) -> None:
        sys.setprofile(None)

    def count(self, frame: FrameType, event: str, arg: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE):
            file = code.co_filename.removeprefix(PACKAGE)
            self.calls[file, code.co_qualname] += 1
            caller = frame.f_back.f_code.co_filename if frame.f_back is not None else ""
            if caller.startswith(PACKAGE):
                self.switches += _package_of(file) != _package_of(caller.removeprefix(PACKAGE))

    def report(self) -> str:
        files = Counter(file for file, _ in self.calls)
        lines = [f"{calls:4}  {file}  {name}" for (file, name), calls in self.calls.items()]
        lines += ["", *(f"{number:4}  {file}" for file, number in files.most_common())]
        summary = f"{len(self.calls)} functions in {len(files)} files, {self.switches} switches of package"
        return "\n".join([*lines, "", summary])


def _package_of(file: str) -> str:
    return file.partition("/")[0]


async def trace_asks() -> Trace:
    """Return the shortest trace of several asks: others contain the store's own background tasks."""
    writer = podium.Agent("writer", instructions="Write one sentence.")
    traces: list[Trace] = []

    async def answer(call: podium.Call) -> str:
        return "A sentence."

    async def flow(run: podium.Run, request: str) -> None:
        for _ in range(10):
            traces.append(Trace())
            traces[-1].start()
            await run.ask(writer, "write", prompt="Write about {{ topic }}.", topic=request)
            traces[-1].stop()

    with tempfile.TemporaryDirectory() as folder:
        await podium.run(podium.Workflow(flow, "flow"), "rain", model=answer, store=f"{folder}/trace.sqlite")
    return min(traces[2:], key=lambda trace: len(trace.calls))


def trace_posts() -> Trace:
    """Return the shortest trace of several requests."""
    current: list[Trace] = []

    def count(frame: FrameType, event: str, arg: object) -> None:
        if current and threading.current_thread().name == "server":
            current[-1].count(frame, event, arg)

    traces: list[Trace] = []
    threading.setprofile(count)
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as server, server.client() as client:
        for _ in range(6):
            current.append(Trace())
            reply = client.post("/api/runs", json={"workflow": "tree", "request": "Plan a walk"})
            traces.append(current.pop())
            reply.raise_for_status()
    return min(traces[2:], key=lambda trace: len(trace.calls))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["ask"]:
            print(asyncio.run(trace_asks()).report())
        case ["post"]:
            print(trace_posts().report())
        case _:
            sys.exit("usage: python -m benchmarks.trace ask|post")
