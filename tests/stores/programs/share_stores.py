"""Runs that name their store by its path, in event loops that end in every way there is."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import warnings
from pathlib import Path

import podium


@podium.workflow
async def three(run: podium.Run, request: str) -> int:
    return sum([await run.step("count", count, number) for number in (1, 2, 3)])


async def count(number: int) -> int:
    return number


async def one_run(store: str) -> None:
    result = await podium.run(three, "count", store=store, model="rehearsal")
    assert (result.status, result.output) == ("completed", 6), result


def with_asyncio_run(store: str) -> None:
    for _ in range(3):
        asyncio.run(one_run(store))


def with_a_loop_that_is_only_closed(store: str) -> None:
    for _ in range(3):
        loop = asyncio.new_event_loop()
        loop.run_until_complete(one_run(store))
        loop.close()


def with_a_loop_that_is_left_open(store: str) -> None:
    asyncio.new_event_loop().run_until_complete(one_run(store))


def with_threads(store: str) -> None:
    failures: list[BaseException] = []

    def work() -> None:
        try:
            asyncio.run(several())
        except BaseException as error:  # noqa: BLE001 - it is reported below
            failures.append(error)

    async def several() -> None:
        await asyncio.gather(*(one_run(store) for _ in range(5)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def with_fork(store: str) -> None:
    """A child that was forked while the parent has the store open uses one of its own."""

    async def parent() -> None:
        await one_run(store)
        run_in_child(store)
        await one_run(store)

    asyncio.run(parent())


def run_in_child(store: str) -> None:
    with warnings.catch_warnings(
        action="ignore", category=DeprecationWarning
    ):  # Python 3.12 warns of threads
        pid = os.fork()
    if pid == 0:
        status = 1
        try:
            asyncio.run(one_run(store))
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(pid, 0)[1] == 0


def open_here(folder: Path) -> list[str]:
    """What this process has open in a folder."""
    links = [f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd")]
    return [
        os.readlink(link)
        for link in links
        if os.path.exists(link) and os.readlink(link).startswith(str(folder))
    ]


if __name__ == "__main__":
    way, path = sys.argv[1:]
    globals()[f"with_{way}"](path)
    if way in ("asyncio_run", "threads", "fork"):
        print(*open_here(Path(path).resolve().parent))
        print(*[thread.name for thread in threading.enumerate() if thread is not threading.main_thread()])
