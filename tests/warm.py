"""Processes that start fast: forked from one that has imported Podium, instead of a new interpreter.

`Popen` and `run` are those of `subprocess`, and `spawn` is `asyncio.create_subprocess_exec`, for
`[sys.executable, "-m", MODULE, …]` and `[sys.executable, FILE, …]`. The process is as real as any: it has its
own pid, environment, folder, pipes and signals, and ends like an interpreter. Only its imports were done
before it began. With `start_new_session` a terminal on its stdin becomes its own.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path
from typing import Any

_PROGRAM = Path(__file__).parent / "programs" / "fork_server.py"
_SHAPING = ("PYTHON", "LD_", "LC_", "LANG", "MALLOC_")
"""Variables that shape an interpreter when it starts; a process that sets another value is not forked."""


class Popen(subprocess.Popen[Any]):
    """A `subprocess.Popen` whose process is forked by the fork server, if it can be."""

    status: socket.socket | None = None
    """Receives the wait status of a forked process."""

    def _execute_child(self, args: list[str], *rest: Any) -> None:
        """Replace the method that forks and executes. `rest` are its positional arguments in `subprocess`."""
        cwd, env, session = rest[4], rest[5], rest[20]
        pipes = rest[9:15]
        p2cread, c2pwrite, errwrite = pipes[0], pipes[3], pipes[5]
        if not _is_plain(args, env):
            super()._execute_child(args, *rest)  # type: ignore[misc]
            return
        ours, theirs = socket.socketpair()
        fds = [fd if fd != -1 else number for number, fd in enumerate((p2cread, c2pwrite, errwrite))]
        order = {
            "args": args[1:],
            "cwd": str(cwd or Path.cwd()),
            "env": dict(env or os.environ),
            "session": session,
        }
        with theirs:
            _server().order(order, [*fds, theirs.fileno()])
        self.pid = int(ours.recv(16))
        self.status = ours
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]

    def _ended(self, timeout: float | None) -> int | None:
        """The wait status of a forked process, or None if it still runs."""
        assert self.status is not None
        if not select.select([self.status], [], [], timeout)[0]:
            return None
        status = self.status.recv(16)
        self.status.close()
        return int(status) if status else signal.SIGKILL  # the fork server itself was killed

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        if self.status is None:
            return super()._try_wait(wait_flags)  # type: ignore[misc]
        status = self._ended(0 if wait_flags & os.WNOHANG else None)
        return (0, 0) if status is None else (self.pid, status)

    def _internal_poll(self, *args: Any, **kwargs: Any) -> int | None:
        if self.status is None:
            return super()._internal_poll(*args, **kwargs)  # type: ignore[misc]
        if self.returncode is None and (status := self._ended(0)) is not None:
            self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


class Process:
    """Like `asyncio.subprocess.Process`, for a `Popen`."""

    def __init__(self, popen: Popen) -> None:
        self._popen = popen
        self.pid = popen.pid
        self.stdin: asyncio.StreamWriter | None = None
        self.stdout: asyncio.StreamReader | None = None
        self._ended = asyncio.create_task(self._watch())

    async def connect(self) -> None:
        loop = asyncio.get_running_loop()
        if self._popen.stdin is not None:
            transport, protocol = await loop.connect_write_pipe(
                asyncio.streams.FlowControlMixin, self._popen.stdin
            )
            self.stdin = asyncio.StreamWriter(transport, protocol, None, loop)
        if self._popen.stdout is not None:
            self.stdout = reader = asyncio.StreamReader()
            await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), self._popen.stdout)

    @property
    def returncode(self) -> int | None:
        return self._popen.returncode

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    async def wait(self) -> int:
        return await asyncio.shield(self._ended)

    async def communicate(self, input: bytes = b"") -> tuple[bytes, None]:
        assert self.stdout is not None
        if self.stdin is not None:
            self.stdin.write(input)
            self.stdin.close()
        output = await self.stdout.read()
        await self.wait()
        return output, None

    async def _watch(self) -> int:
        if (status := self._popen.status) is None:
            code = await asyncio.to_thread(self._popen.wait)
        else:
            readable = asyncio.Event()
            loop = asyncio.get_running_loop()
            loop.add_reader(status, readable.set)
            try:
                await readable.wait()
            finally:
                loop.remove_reader(status)
            code = self._popen.wait()
        if self.stdin is not None:
            self.stdin.close()
        return code


async def spawn(*args: object, **options: Any) -> Process:
    """Start a process that is spoken to by streams."""
    process = Process(Popen([str(word) for word in args], **options))
    await process.connect()
    return process


def run(
    args: list[str], *, timeout: float, input: bytes | str | None = None, check: bool = False, **options: Any
) -> subprocess.CompletedProcess[Any]:
    """Run a process to its end and return what it wrote."""
    stdin = subprocess.PIPE if input is not None else subprocess.DEVNULL
    with Popen(args, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options) as process:
        try:
            out, err = process.communicate(input, timeout=timeout)
        except BaseException:
            process.kill()
            raise
    completed = subprocess.CompletedProcess(args, process.returncode, out, err)
    if check:
        completed.check_returncode()
    return completed


def _is_plain(args: list[str], env: dict[str, str] | None) -> bool:
    """True for a module or a file of this interpreter, in an environment that starts it the same way."""
    if args[0] != sys.executable or len(args) < 2 or (args[1] != "-m" and not args[1].endswith(".py")):
        return False
    if env is None:
        return True
    if not set(env.get("PYTHONPATH", "").split(os.pathsep)) <= _FOLDERS:
        return False  # it may hide or replace modules
    shaping = {
        name: value for name, value in env.items() if name.startswith(_SHAPING) and name != "PYTHONPATH"
    }
    return all(
        os.environ.get(name, _SAME.get(name)) == value or _SAME.get(name) == value
        for name, value in shaping.items()
    )


_ROOT = Path(__file__).parents[1]
_FOLDERS = {"", str(_ROOT), str(_ROOT / "src"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)}
# Values that make no difference to an interpreter of these tests.
_SAME = {"LANG": "C.UTF-8", "PYTHONPATH": str(_ROOT / "src")}


class _ForkServer:
    def __init__(self) -> None:
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, str(_PROGRAM), str(theirs.fileno())]
        env = {**os.environ, **_SAME}
        self._process = subprocess.Popen(
            command, pass_fds=[theirs.fileno()], env=env, stdin=subprocess.DEVNULL
        )
        theirs.close()
        self._lock = threading.Lock()
        atexit.register(self.close)

    def order(self, order: dict[str, Any], fds: list[int]) -> None:
        with self._lock:
            socket.send_fds(self._ours, [json.dumps(order).encode()], fds)
            assert self._ours.recv(1) == b"."

    def close(self) -> None:
        self._ours.close()
        self._process.wait()


@cache
def _server() -> _ForkServer:
    return _ForkServer()
