"""Imports Podium once, then forks a process per order: its arguments, folder, environment and descriptors."""

from __future__ import annotations

import atexit
import fcntl
import gc
import importlib
import io
import json
import os
import pkgutil
import random
import runpy
import select
import signal
import socket
import sys
import termios
import threading
from typing import Any

PACKAGES = (
    "agents", "api", "brain", "cli", "cluster", "engine", "models", "report", "server", "settings", "stores",
    "workflows",
)  # fmt: skip
LEFT_OUT = ("podium.cluster.temporal",)
MORE = ("rich.live", "rich.markdown", "rich.table", "rich.tree", "sqlite3", "asyncio", "cyclopts", "pydantic")


def preload() -> None:
    for name in MORE:
        importlib.import_module(name)
    for name in PACKAGES:
        package = importlib.import_module(f"podium.{name}")
        for module in pkgutil.walk_packages(package.__path__, f"podium.{name}."):
            if not module.name.startswith(LEFT_OUT) and not module.name.endswith("__main__"):
                try:
                    importlib.import_module(module.name)
                except ModuleNotFoundError:
                    continue  # an extra that is not installed


def serve(orders: socket.socket) -> dict[str, Any] | None:
    """Fork for each order. Returns the order in the child, and None when the tests are over."""
    running: dict[int, socket.socket] = {}
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, wake_up)
    while True:
        ready, _, _ = select.select([orders, woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
            reap(running)
        if orders not in ready:
            continue
        data, fds, _, _ = socket.recv_fds(orders, 4_000_000, 4)
        if not data:
            return None
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for fd in (woken, wake, orders.fileno(), fds[3], *(child.fileno() for child in running.values())):
                os.close(fd)
            return {**json.loads(data), "fds": fds[:3]}
        status = socket.socket(fileno=fds[3])
        status.send(f"{pid:<16}".encode())
        running[pid] = status
        for fd in fds[:3]:
            os.close(fd)
        orders.send(b".")


def wake_up(number: int, frame: object) -> None:
    """Let a signal wake `select`."""


def reap(running: dict[int, socket.socket]) -> None:
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        with running.pop(pid) as asker:
            try:
                asker.send(f"{status:<16}".encode())
            except BrokenPipeError:
                continue  # nobody waits for it any more


def become(order: dict[str, Any]) -> None:
    """Turn this process into the one that was ordered."""
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    for number, fd in enumerate(order["fds"]):
        os.dup2(fd, number)
        os.close(fd)
    if order["session"]:
        os.setsid()
        if os.isatty(0):
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    random.seed()
    sys.stdin = sys.__stdin__ = io.TextIOWrapper(
        io.BufferedReader(io.FileIO(0, closefd=False)), encoding="utf-8"
    )
    sys.stdout = sys.__stdout__ = writer(1, "surrogateescape")
    sys.stderr = sys.__stderr__ = writer(2, "backslashreplace")
    first, *words = order["args"]
    given = order["env"].get("PYTHONPATH", "")
    sys.path[1:1] = [folder for folder in given.split(os.pathsep) if folder and folder not in sys.path]
    if first == "-m":
        sys.argv = words
        sys.path[0] = order["cwd"]
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = [first, *words]
        sys.path[0] = os.path.dirname(os.path.abspath(first))
        runpy.run_path(first, run_name="__main__")


def leave(order: dict[str, Any]) -> None:
    """Run the program and end like an interpreter, but do not take the imported modules apart.

    Finalizing them takes longer than most commands, and touches all memory that is shared with the server.
    """
    code: object = 0
    try:
        become(order)
    except SystemExit as exit:
        code = exit.code
    except BaseException as error:  # noqa: BLE001 - what the interpreter does with an exception that nothing caught
        sys.excepthook(type(error), error, error.__traceback__)
        code = -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    if code is not None and not isinstance(code, int):
        print(code, file=sys.stderr)
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage]
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            code = 120  # as the interpreter does when the reader of a pipe has gone
    if code == -signal.SIGINT:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(code or 0)


def writer(fd: int, errors: str) -> io.TextIOWrapper:
    buffer = io.BufferedWriter(io.FileIO(fd, "w", closefd=False))
    return io.TextIOWrapper(buffer, encoding="utf-8", errors=errors, line_buffering=os.isatty(fd) or fd == 2)


if __name__ == "__main__":
    preload()
    gc.freeze()
    ordered = serve(socket.socket(fileno=int(sys.argv[1])))
    if ordered is not None:
        leave(ordered)
