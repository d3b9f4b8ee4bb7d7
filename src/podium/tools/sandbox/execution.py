"""One execution from its start to the end of everything that it started."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from podium.errors import SandboxUnavailableError
from podium.tools.aside import aside
from podium.tools.sandbox.limits import Executed, StoppedBy
from podium.tools.sandbox.processes import family_of, kill_all
from podium.tools.sandbox.tier import Job, Launch
from podium.tools.sandbox.watch import Watch

_CHUNK = 65_536
_LAST_WORDS = 5.0
"""Seconds for the pipes and the last processes to close after a kill, which the kernel does at once."""


class Execution:
    """A job that runs. It must be started on the loop's own thread: a sandbox dies with the thread that
    started it, and threads of a pool end when they like."""

    def __init__(self, job: Job, launch: Launch, tier: str) -> None:
        self._job = job
        self._launch = launch
        self._tier = tier
        self._stopped: asyncio.Future[StoppedBy] = asyncio.get_running_loop().create_future()
        self._told: dict[str, Any] = {}
        self._size = 0
        self._truncated = False
        self._inner = -1

    async def finish(self, stdin: bytes, folders: Sequence[Path], grown: Sequence[Path]) -> Executed:
        """Run it. Whatever happens, nothing of it runs afterwards; a cancel ends it at once."""
        loop = asyncio.get_running_loop()

        def tell(reason: StoppedBy) -> None:
            with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(self._stop, reason)

        began = time.monotonic()
        process = await self._start()
        watch = Watch(process.pid, self._job.limits, folders, grown, tell)
        parts = (
            _feed(process, stdin), self._read(process.stdout), self._read(process.stderr), self._listen(),
        )  # fmt: skip
        pipes: list[asyncio.Future[Any]] = [asyncio.ensure_future(part) for part in parts]
        try:
            if grown:
                await aside(watch.measure_before)
            watch.start()
            ended = await self._wait(process)
            stopped = self._stopped.result() if not ended else ""
            if ended and time.monotonic() - began > 1 and await aside(watch.too_large):
                stopped = "workspace"
        finally:
            watch.end()
            await _uninterrupted(self._end(process, pipes))
        return self._executed(process, pipes, stopped, time.monotonic() - began)

    async def _start(self) -> asyncio.subprocess.Process:
        try:
            return await asyncio.create_subprocess_exec(
                *self._launch.argv,
                env={**self._job.env, **self._launch.env},
                cwd="/",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                pass_fds=tuple(self._launch.passed),
                start_new_session=True,
            )
        except BaseException as error:
            os.close(self._launch.status)
            if isinstance(error, OSError):
                raise SandboxUnavailableError(f"the sandbox could not be started: {error}") from error
            raise
        finally:
            for descriptor in self._launch.passed:
                os.close(descriptor)

    async def _wait(self, process: asyncio.subprocess.Process) -> bool:
        """Whether it ended by itself; otherwise `_stopped` says what ended it."""
        ended = asyncio.ensure_future(process.wait())
        try:
            await asyncio.wait(
                {ended, self._stopped}, timeout=self._job.limits.seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if not ended.done():
                self._stop("time")
            return not self._stopped.done()
        finally:
            if not ended.done():
                ended.cancel()

    def _stop(self, reason: StoppedBy) -> None:
        if not self._stopped.done():
            self._stopped.set_result(reason)

    async def _read(self, pipe: asyncio.StreamReader | None) -> bytes:
        """What comes, up to the cap that both streams share; beyond it the program is ended."""
        assert pipe is not None
        kept: list[bytes] = []
        while chunk := await pipe.read(_CHUNK):
            room = self._job.limits.output_bytes - self._size
            self._size += len(chunk)
            if len(chunk) > room:
                kept.append(chunk[: max(room, 0)])
                self._truncated = True
                self._stop("output")
                break
            kept.append(chunk)
        return b"".join(kept)

    async def _listen(self) -> None:
        """Hear from the sandbox which process holds all others, and how the program ended."""
        reader = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        pipe = os.fdopen(self._launch.status, "rb", buffering=0)
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
        try:
            while line := await reader.readline():
                told = _decoded(line)
                if self._inner < 0 and isinstance(pid := told.get("child-pid"), int):
                    with contextlib.suppress(ProcessLookupError):  # it has ended already
                        self._inner = os.pidfd_open(pid)
                self._told |= told
        finally:
            transport.close()

    async def _end(self, process: asyncio.subprocess.Process, pipes: Sequence[asyncio.Future[Any]]) -> None:
        """End all of it and wait until it is gone."""
        if self._launch.keeps and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LAST_WORDS):
                    await process.wait()
        if process.returncode is None:
            kill_all((process.pid, *family_of(process.pid).pids))
        await process.wait()
        await asyncio.wait(pipes, timeout=_LAST_WORDS)
        if self._inner >= 0:
            await _gone(self._inner)
            os.close(self._inner)
        for pipe in pipes:
            pipe.cancel()
        await asyncio.gather(*pipes, return_exceptions=True)

    def _executed(
        self, process: asyncio.subprocess.Process, pipes: Sequence[asyncio.Future[Any]], stopped: StoppedBy,
        seconds: float,
    ) -> Executed:  # fmt: skip
        out, err = (_result(pipe) for pipe in pipes[1:3])
        if not stopped and "exit-code" not in self._told:
            words = err.decode("utf-8", "replace").strip().splitlines()[-1:] or ["it gave no reason"]
            raise SandboxUnavailableError(f"the {self._tier} sandbox could not be set up: {words[0][:300]}")
        code = int(self._told.get("exit-code", 128 + signal.SIGKILL))
        if not stopped and code == 128 + signal.SIGXCPU:
            stopped = "time"
        return Executed(
            argv=tuple(self._job.argv),
            exit_code=128 + signal.SIGKILL if stopped else code,
            stdout=out.decode("utf-8", "replace"),
            stderr=err.decode("utf-8", "replace"),
            raw=out,
            truncated=self._truncated,
            stopped_by=stopped,
            seconds=seconds,
            tier=self._tier,
        )


async def _feed(process: asyncio.subprocess.Process, data: bytes) -> None:
    pipe = process.stdin
    assert pipe is not None
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it need not read its input
        if data:
            pipe.write(data)
            await pipe.drain()
        pipe.close()
        await pipe.wait_closed()


def _decoded(line: bytes) -> dict[str, Any]:
    try:
        return json.loads(line)
    except ValueError:  # cut off by a kill
        return {}


def _result(pipe: asyncio.Future[Any]) -> bytes:
    return b"" if pipe.cancelled() or pipe.exception() is not None else pipe.result()


async def _gone(descriptor: int) -> None:
    """Kill a process and wait until it has ended; a namespace's first one ends after all others."""
    loop = asyncio.get_running_loop()
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    ended = asyncio.Event()
    loop.add_reader(descriptor, ended.set)
    try:
        async with asyncio.timeout(_LAST_WORDS):
            await ended.wait()
    finally:
        loop.remove_reader(descriptor)


async def _uninterrupted(work: Any) -> None:
    """Finish the clean-up, also when it is cancelled meanwhile; the cancel is passed on afterwards."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    task.result()
    if cancelled is not None:
        raise cancelled
