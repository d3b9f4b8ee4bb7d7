"""Subprocesses and offloaded blocking calls."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import functools
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

_PR_SET_PDEATHSIG = 1
_LIBC: ctypes.CDLL | None = ctypes.CDLL(None) if sys.platform == "linux" else None


class Process(msgspec.Struct, frozen=True):
    """A subprocess that has ended."""

    returncode: int
    stdout: str
    stderr: str
    truncated: bool = False
    """Output beyond the cap was dropped."""


async def run_process(
    command: Sequence[str | Path],
    *,
    cwd: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    max_output: int = 1_000_000,
) -> Process:
    """Run a command to its end, inside a step. If the step is cancelled or times out, the command and
    every process of its group are killed."""
    process = await asyncio.create_subprocess_exec(
        *map(str, command),
        cwd=cwd,
        env=env,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
        preexec_fn=functools.partial(_die_with, os.getpid()),
    )
    try:
        return await _finished(process, stdin, max_output)
    finally:
        await _kill_group(process)


async def _finished(process: asyncio.subprocess.Process, stdin: bytes, cap: int) -> Process:
    _, (out, cut_out), (err, cut_err) = await asyncio.gather(
        feed(process.stdin, stdin), _read(process.stdout, cap), _read(process.stderr, cap)
    )
    code = await process.wait()
    return Process(code, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"), cut_out or cut_err)


async def feed(pipe: asyncio.StreamWriter | None, data: bytes) -> None:
    """Write all input to a process and close its pipe."""
    if pipe is None:
        return
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the process need not read its input
        if data:
            pipe.write(data)
            await pipe.drain()
        pipe.close()
        await pipe.wait_closed()


async def _read(pipe: asyncio.StreamReader | None, cap: int) -> tuple[bytes, bool]:
    if pipe is None:
        return b"", False
    chunks, size = list[bytes](), 0
    while chunk := await pipe.read(65_536):
        if size < cap:
            chunks.append(chunk[: cap - size])
        size += len(chunk)
    return b"".join(chunks), size > cap


def send_signal(process: asyncio.subprocess.Process, number: int) -> None:
    """Send a signal unless the process has ended.

    `Process.send_signal` polls first. If the process has just ended, that takes the exit status away from the
    event loop, which then warns of an unknown child process and reports 255.
    """
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, number)


async def _kill_group(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # the group has ended already
        os.killpg(process.pid, signal.SIGKILL)
    if process.returncode is None:
        await asyncio.shield(process.wait())


def _die_with(parent: int) -> None:
    """Linux: have the kernel kill the child when the parent dies. Exits if the parent died before that was
    set."""
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(128 + signal.SIGKILL)


T = TypeVar("T")


async def offload(work: Callable[..., T], *args: Any) -> T:
    """Run `work` in a daemon thread of its own.

    A loop that ends waits for the threads of `asyncio.to_thread`, so a name server that does not respond
    would keep a cancelled run alive. This thread is abandoned instead.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if done.cancelled():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]

    def work_and_settle() -> None:
        result, raised = None, None
        try:
            result = work(*args)
        except BaseException as error:  # noqa: BLE001 - it is raised again where it is waited for
            raised = error
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, result, raised)

    threading.Thread(target=work_and_settle, name=f"podium-{work.__name__}", daemon=True).start()
    return await done
