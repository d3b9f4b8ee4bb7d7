"""The way into the second tier, and its keeper: starts the program shut in, and ends what it leaves behind.

Where there are no namespaces, a program's orphans would be adopted by the machine's first process. This one
adopts them instead, ends them all when the program ends or when it is told to, and only then ends itself.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import json
import os
import resource
import signal
import sys
from typing import Any

from podium.tools.sandbox.inside import kernel, landlock, owners, reaper

_SECCOMP_FILTER = 2
_EVERY_SIGNAL = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class _ToldToEnd(BaseException):
    """A signal came: the program is to be ended."""


def main() -> None:
    """Read the plan, start its program, keep it, tell how it ended."""
    plan: dict[str, Any] = json.loads(sys.argv[1])
    told, spare = int(plan["told"]), plan["spare"]
    os.set_inheritable(told, False)
    for number in _EVERY_SIGNAL:
        signal.signal(number, _raise)
    code: int | None = None
    lent: list[owners.Loan] = []
    try:
        if sys.platform == "linux":
            kernel.control(kernel.PARENT_DEATH_SIGNAL, signal.SIGTERM)
            kernel.control(kernel.SUBREAPER)
        if os.getppid() != plan["host"]:  # it died before the kernel was told to say so
            return
        if spare is not None:
            owners.open_ways([*plan["readable"], *plan["writable"]], plan["writable"], spare, lent)
        code = _wait_for(_start(plan))
    except _ToldToEnd:
        code = None
    finally:
        for number in _EVERY_SIGNAL:
            signal.signal(number, signal.SIG_IGN)
        reaper.sweep(spare)
        owners.give_back(lent)
        if code is not None:
            os.write(told, json.dumps({"exit-code": code}).encode() + b"\n")
    sys.exit(code or 0)


def _raise(number: int, frame: object) -> None:
    raise _ToldToEnd


def _start(plan: dict[str, Any]) -> int:
    child = os.fork()
    if child:
        return child
    try:
        for number in _EVERY_SIGNAL:
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        _give_up(plan)
        os.execvpe(plan["argv"][0], plan["argv"], os.environ)
    except OSError as error:
        os.write(2, f"{plan['argv'][0]}: {error.strerror or error}\n".encode())
        os._exit(127 if isinstance(error, (FileNotFoundError, PermissionError)) else 126)
    except BaseException as error:  # noqa: BLE001 - nothing of this child may run on
        os.write(2, f"the sandbox failed: {error!r}\n".encode())
    os._exit(126)


def _give_up(plan: dict[str, Any]) -> None:
    """Every right that the program shall not have; the filter comes last, since it forbids the rest."""
    spare = plan["spare"]
    if spare is not None:
        os.setgroups([])
        os.setresgid(spare, spare, spare)
        os.setresuid(spare, spare, spare)
    os.chdir(plan["start"])
    for name, values in plan["limits"].items():
        resource.setrlimit(getattr(resource, f"RLIMIT_{name.upper()}"), tuple(values))
    if not plan["filter"]:  # allowed to run unsandboxed
        return
    kernel.control(kernel.NO_NEW_PRIVILEGES)
    landlock.restrict([*plan["readable"], f"/proc/{os.getpid()}"], plan["writable"], plan["devices"])
    _load_filter(base64.b64decode(plan["filter"]))


def _load_filter(rules: bytes) -> None:
    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("rules", ctypes.c_char_p))

    program = Program(len(rules) // 8, rules)
    kernel.control(kernel.SECCOMP, _SECCOMP_FILTER, ctypes.addressof(program))


def _wait_for(child: int) -> int:
    """How the program ended, as a shell tells it; orphans that end meanwhile are taken in."""
    while True:
        pid, status = os.wait()
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
