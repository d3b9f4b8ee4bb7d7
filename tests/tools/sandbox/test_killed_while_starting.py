"""Podium is killed in the very moment in which it starts a sandbox: nothing of it may stay."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from podium.tools.sandbox.sandbox import Sandbox
from tests.tools.sandbox.attack import new_mark, running_with, until

DRIVER = """
import asyncio, json, os, sys
from pathlib import Path
from podium.tools.sandbox.bubblewrap import Bubblewrap
from podium.tools.sandbox.landlock import Landlock
from podium.tools.sandbox.sandbox import Sandbox
import msgspec

moment, tier, folder, mark = sys.argv[1:]
kind = {"bubblewrap": Bubblewrap, "landlock": Landlock}[tier]


class Late(kind):
    "Nothing of it runs before a file is there."

    def launch(self, job):
        launch = super().launch(job)
        wait = 'while [ ! -e "$0" ]; do sleep 0.02; done; exec "$@"'
        argv = ["/bin/sh", "-c", wait, f"{folder}/go", *launch.argv]
        return msgspec.structs.replace(launch, argv=argv)


class HalfWay(Bubblewrap):
    "Its outer process has asked to die with us and does not let the inner one go on."

    def launch(self, job):
        launch = super().launch(job)
        never, held = os.pipe()
        heard, told = os.pipe()
        words = ["--userns-block-fd", str(never), "--info-fd", str(told)]
        argv = list(launch.argv)
        if job.spare is None:
            argv[1:1] = words
        else:
            plan = json.loads(argv[-1])
            plan["argv"][1:1] = words
            argv[-1] = json.dumps(plan)
        asyncio.get_running_loop().add_reader(heard, say, heard)
        return msgspec.structs.replace(launch, argv=argv, passed=(*launch.passed, never, held, told))


def say(heard):
    asyncio.get_running_loop().remove_reader(heard)
    print("half-way", flush=True)


async def main():
    sandbox = Sandbox({"late": Late, "half-way": HalfWay, "any": kind}[moment](), "")
    program = [sys.executable, "-c", "import time; time.sleep(300)"]
    running = [sandbox.run(program, folder=Path(folder), env={"MARK": mark}) for _ in range(4)]
    print("starting", flush=True)
    await asyncio.gather(*running)


asyncio.run(main())
"""


@contextlib.asynccontextmanager
async def driver(
    moment: str, tier: str, workspace: Path, mark: str
) -> AsyncGenerator[asyncio.subprocess.Process]:
    """A Podium that starts sandboxes; killed at the end of the block."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", DRIVER, moment, tier, str(workspace), mark),
        env={**os.environ, "TMPDIR": str(workspace.parent)},
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"starting\n"
        yield process
    finally:
        process.kill()
        await process.wait()


async def test_before_the_sandbox_has_asked_to_die_with_podium(sandbox: Sandbox, workspace: Path) -> None:
    mark = new_mark()
    async with driver("late", sandbox.tier, workspace, mark):
        await until(lambda: len(running_with(mark)) > 4)
    (workspace / "go").touch()
    await until(lambda: not running_with(mark))


async def test_while_the_inner_process_of_bubblewrap_waits_for_the_outer_one(
    sandbox: Sandbox, workspace: Path
) -> None:
    if sandbox.tier != "bubblewrap":
        pytest.skip("the other tier has one process only")
    mark = new_mark()
    async with driver("half-way", sandbox.tier, workspace, mark) as process:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"half-way\n"
        assert len(running_with(mark)) > 2
    await until(lambda: not running_with(mark))


async def test_at_any_moment(sandbox: Sandbox, workspace: Path) -> None:
    mark = new_mark()
    for number in range(8):
        async with driver("any", sandbox.tier, workspace, mark):
            await asyncio.sleep(number * 0.01)
    await until(lambda: not running_with(mark))
