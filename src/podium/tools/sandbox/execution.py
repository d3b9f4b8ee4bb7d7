"""One sandboxed execution and its resource watch."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import time
from collections.abc import Callable, Sequence
from typing import Any, cast, get_args

import msgspec

from podium.engine.process import feed, send_signal
from podium.errors import SandboxUnavailableError
from podium.tools.sandbox.inside.processes import free_inodes, free_space, kill_family, shared_memory
from podium.tools.sandbox.tier import Executed, Launch, SandboxJob, SandboxLimits, StoppedBy, bare_python

_PATIENCE = 0.2
"""Seconds before the watch starts. Most programs have ended by then, and kernel limits apply meanwhile."""


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """The writable folders of a program, and their contents before it starts."""

    folders: Sequence[str]
    """Folders whose whole size counts."""
    grown: Sequence[str]
    """Folders of which only the growth counts."""
    grown_before: int
    """Bytes on disk in the `grown` folders."""
    files_before: int
    """Number of files and folders in all of them."""


class Watch:
    """The watch process of one execution. It ends with the host, because its stdin closes."""

    def __init__(self, limits: SandboxLimits, watched: Watched) -> None:
        self._plan = {
            **msgspec.to_builtins(limits),
            **msgspec.to_builtins(watched),
            "shared_before": shared_memory(),
            "free_before": free_space(watched.folders[0]),
            "inodes_before": free_inodes(watched.folders[0]),
        }
        self._starting: asyncio.Future[asyncio.subprocess.Process] | None = None
        self._process: asyncio.subprocess.Process | None = None

    async def look(self, root: int, report: Callable[[StoppedBy], None]) -> None:
        """Wait until a limit is exceeded, and report which one."""
        await asyncio.sleep(_PATIENCE)
        plan = json.dumps({**self._plan, "root": root})
        start = asyncio.create_subprocess_exec(
            *bare_python("watch"),
            plan,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={},
            cwd="/",
        )
        self._starting = asyncio.ensure_future(start)
        self._process = await asyncio.shield(self._starting)
        if reason := await self._answer():
            report(reason)

    async def last_look(self) -> StoppedBy:
        """Return the limit that the program exceeded before it ended by itself; empty if none."""
        if self._process is None or self._process.stdin is None:
            return ""
        self._process.stdin.close()
        return await self._answer()

    async def end(self) -> None:
        """Stop the watch process."""
        if self._starting is not None:
            process = await self._starting
            send_signal(process, signal.SIGKILL)
            await process.communicate()

    async def _answer(self) -> StoppedBy:
        assert self._process is not None
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        if not line:  # it crashed: without a watch the program must not go on
            _, stderr = await self._process.communicate()
            reason = (stderr.decode("utf-8", "replace").strip().splitlines() or ["no reason given"])[-1]
            raise SandboxUnavailableError(f"The watch over a program ended: {reason[:200]}.")
        word = line.decode().strip()
        return cast("StoppedBy", word) if word in get_args(StoppedBy) else ""


_CHUNK = 65_536
_CLOSING = 5.0
"""Seconds for the pipes and the last processes to close after a kill, which is usually immediate."""


class Execution:
    """A running job. It must be started on the event loop's thread: a sandbox dies with the thread that
    started it, and pool threads may end at any time."""

    def __init__(self, job: SandboxJob, launch: Launch, tier: str) -> None:
        self._job = job
        self._launch = launch
        self._tier = tier
        self._stopped: asyncio.Future[StoppedBy] = asyncio.get_running_loop().create_future()
        self._status: dict[str, Any] = {}
        self._size = 0
        self._truncated = False
        self._inner = -1

    async def finish(self, stdin: bytes, watched: Watched) -> Executed:
        """Run the job. Afterwards none of its processes is left, whatever happens; cancellation ends it at
        once."""
        began = time.monotonic()
        starting = asyncio.ensure_future(self._start())
        # The start is not interrupted: a kill in the middle could leave an untracked child process.
        cancelled = await settled(starting)
        process = starting.result()
        watch = Watch(self._job.limits, watched)
        reading = (self._read(process.stdout), self._read(process.stderr))
        parts = (feed(process.stdin, stdin), *reading, self._listen())
        pipes: list[asyncio.Future[Any]] = [asyncio.ensure_future(part) for part in parts]
        try:
            if cancelled is not None:
                raise cancelled
            ended = await self._wait(process, watch)
            stopped = await watch.last_look() if ended else self._stopped.result()
        finally:
            ending = asyncio.ensure_future(self._end(process, pipes, watch))
            cancelled = await settled(ending)
            ending.result()
        if cancelled is not None:
            raise cancelled
        return self._executed(pipes, stopped, time.monotonic() - began)

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

    async def _wait(self, process: asyncio.subprocess.Process, watch: Watch) -> bool:
        """Return True if the program ended by itself; otherwise `_stopped` holds the reason."""
        ended = asyncio.ensure_future(process.wait())
        looking = asyncio.ensure_future(watch.look(process.pid, self._stop))
        try:
            await asyncio.wait(
                {ended, self._stopped, looking},
                timeout=self._job.limits.seconds,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if looking.done():
                looking.result()
            if not ended.done():
                self._stop("time")
            return not self._stopped.done()
        finally:
            ended.cancel()
            looking.cancel()
            await asyncio.wait({ended, looking})

    def _stop(self, reason: StoppedBy) -> None:
        if not self._stopped.done():
            self._stopped.set_result(reason)

    async def _read(self, pipe: asyncio.StreamReader | None) -> bytes:
        """Read the output up to the limit that both streams share; beyond it, stop the program."""
        assert pipe is not None
        chunks: list[bytes] = []
        while chunk := await pipe.read(_CHUNK):
            room = self._job.limits.output_bytes - self._size
            self._size += len(chunk)
            chunks.append(chunk[: max(room, 0)])
            if len(chunk) > room:  # keep draining, so that the pipe can close
                self._truncated = True
                self._stop("output")
        return b"".join(chunks)

    async def _listen(self) -> None:
        """Read from the status pipe which process is the root of the sandbox, and how the program ended."""
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        status, heard = self._launch.status, bytearray()

        def hear() -> None:
            chunk = os.read(status, _CHUNK)
            heard.extend(chunk)
            self._understand(heard)
            if not chunk:
                loop.remove_reader(status)
                ended.set()

        loop.add_reader(status, hear)
        try:
            await ended.wait()
        finally:
            loop.remove_reader(status)
            os.close(status)

    def _understand(self, heard: bytearray) -> None:
        """Parse complete lines and remove them from the buffer."""
        while (end := heard.find(b"\n")) >= 0:
            message: dict[str, Any] = json.loads(heard[:end])
            del heard[: end + 1]
            if self._inner < 0 and isinstance(pid := message.get("child-pid"), int):
                with contextlib.suppress(ProcessLookupError):  # it has ended already
                    self._inner = os.pidfd_open(pid)
            self._status |= message

    async def _end(
        self, process: asyncio.subprocess.Process, pipes: Sequence[asyncio.Future[Any]], watch: Watch
    ) -> None:
        """End all processes and wait until they are gone."""
        if self._launch.keeps and process.returncode is None:
            send_signal(process, signal.SIGTERM)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_CLOSING):
                    await process.wait()
        if process.returncode is None:
            kill_family(process.pid)
        await process.wait()
        await asyncio.wait(pipes, timeout=_CLOSING)
        if self._inner >= 0:
            await _gone(self._inner)
            os.close(self._inner)
        await watch.end()
        for pipe in pipes:
            pipe.cancel()
        await asyncio.gather(*pipes, return_exceptions=True)

    def _executed(self, pipes: Sequence[asyncio.Future[Any]], stopped: StoppedBy, seconds: float) -> Executed:
        out, err = (_result(pipe) for pipe in pipes[1:3])
        if not stopped and "exit-code" not in self._status:
            words = err.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no reason given"]
            raise SandboxUnavailableError(f"the {self._tier} sandbox could not be set up: {words[0][:300]}")
        code = int(self._status.get("exit-code", 128 + signal.SIGKILL))
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


def _result(pipe: asyncio.Future[Any]) -> bytes:
    return b"" if pipe.cancelled() or pipe.exception() is not None else pipe.result()


async def _gone(descriptor: int) -> None:
    """Kill a process and wait until it has ended. The init process of a PID namespace ends after all
    others."""
    loop = asyncio.get_running_loop()
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    ended = asyncio.Event()
    loop.add_reader(descriptor, ended.set)
    try:
        async with asyncio.timeout(_CLOSING):
            await ended.wait()
    finally:
        loop.remove_reader(descriptor)


async def settled(task: asyncio.Future[Any]) -> asyncio.CancelledError | None:
    """Wait until a task is done, even if cancelled meanwhile; return the cancellation to raise later."""
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    return cancelled
