"""Sandbox tier selection by a test run."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import tempfile
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from podium.errors import PodiumError, SandboxUnavailableError
from podium.settings import SandboxOptions, Settings
from podium.tools.sandbox.bubblewrap import Bubblewrap
from podium.tools.sandbox.landlock import Landlock, Unsandboxed
from podium.tools.sandbox.sandbox import Sandbox, sweep_up
from podium.tools.sandbox.tier import SandboxLimits, Tier

_LIMITS = SandboxLimits(seconds=20)
_VARIABLE = "PODIUM_PROBE"
"""Set in our own environment while a sandbox is tested."""

_PROGRAM = """
import json, os, socket, sys
file, port, unix = sys.argv[1:]
def tried(what):
    try:
        what()
        return True
    except OSError:
        return False
def connect(family, address):
    with socket.socket(family) as end:
        end.settimeout(2)
        end.connect(address)
status = dict(line.rstrip().split(":", 1) for line in open("/proc/self/status"))
open("written", "w").close()
open(os.path.join(os.environ["TMPDIR"], "written"), "w").close()
tried(lambda: open(file + ".new", "w").close())  # in a /tmp of its own this works, and does no harm
print(json.dumps({
    "root": os.stat("/proc/1").st_uid == os.getuid() == 0,
    "capabilities": int(status["CapEff"], 16) != 0,
    "privileges": status["NoNewPrivs"].strip() != "1",
    "filter": status["Seccomp"].strip() != "2",
    "read": tried(lambda: open(file).close()),
    "tcp": tried(lambda: connect(socket.AF_INET, ("127.0.0.1", int(port)))),
    "unix": tried(lambda: connect(socket.AF_UNIX, unix)),
    "environment": "PODIUM_PROBE" in os.environ,
}))
"""

_LEAKS = {
    "root": "programs still run as root",
    "capabilities": "programs keep capabilities",
    "privileges": "programs can gain privileges",
    "filter": "the filter of system calls is not in force",
    "read": "files of the user can be read",
    "write": "files of the user can be written",
    "tcp": "the network can be reached",
    "unix": "sockets of the user can be reached",
    "environment": "the environment can be seen",
}


async def find_leak(sandbox: Sandbox) -> str:
    """Return why this sandbox leaks, in a few words; empty if it holds."""
    with _bait() as (folder, arguments):
        try:
            done = await sandbox.run(
                [sys.executable, "-I", "-S", "-c", _PROGRAM, *arguments], folder=folder, limits=_LIMITS
            )
        except (PodiumError, OSError) as error:
            return str(error)
        if not done.ok:
            words = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.exit_code}"]
            return f"a trial program failed in it: {words[0][:200]}"
        if not (folder / "written").exists():
            return "the workspace cannot be written"
        results: dict[str, Any] = json.loads(done.stdout)
        results["write"] = (folder.parent / "file.new").exists()
    leaks = [text for name, text in _LEAKS.items() if results.get(name, True)]
    return ", ".join(leaks)


@contextlib.contextmanager
def _bait() -> Generator[tuple[Path, list[str]]]:
    """Yield a workspace, and beside it things that must be unreachable: a file, a port and a socket."""
    with contextlib.ExitStack() as stack:
        outside = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="podium-probe-")))
        os.chmod(outside, 0o755)  # readable by mode: only the sandbox may block access
        (outside / "file").write_text("secret", encoding="ascii")
        (outside / "workspace").mkdir()
        port = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        unix = stack.enter_context(socket.socket(socket.AF_UNIX))
        unix.bind(str(outside / "socket"))
        os.chmod(outside / "socket", 0o777)
        unix.listen()
        number = port.getsockname()[1]
        os.environ[_VARIABLE] = "secret"
        stack.callback(os.environ.pop, _VARIABLE, None)
        yield outside / "workspace", [str(outside / "file"), str(number), str(outside / "socket")]


HINT = (
    "Install bubblewrap (`apt-get install bubblewrap`) and let users make namespaces, or use Linux 5.13 or "
    "newer with Landlock; `podium doctor` says more. `--allow-unsandboxed` runs programs with all your "
    "permissions."
)

_LIMIT_OPTIONS = {
    "time": "seconds",
    "cpu": "cpu_seconds",
    "memory": "memory_bytes",
    "processes": "processes",
    "file_size": "file_bytes",
    "output": "output_bytes",
    "workspace": "workspace_bytes",
    "files": "files",
    "open_files": "open_files",
}
"""Maps setting keys to fields of `SandboxLimits`."""


async def open_sandbox(settings: Settings, *, allow_unsandboxed: bool = False) -> Sandbox:
    """Return a sandbox of the first tier that passes its test.

    If none does, raise `SandboxUnavailableError`, or, if `allow_unsandboxed`, return a sandbox of the tier
    `none`, whose `warning` the caller must log and show.
    """
    options = settings.sandbox
    sweep_up()
    reasons: list[str] = []
    for tier in tiers(options):
        reason = tier.check() or await find_leak(_sandbox(tier, "", options))
        if not reason:
            return _sandbox(tier, _why(tier, reasons), options)
        reasons.append(f"{tier.name}: {reason}")
    problems = "; ".join(reasons)
    if allow_unsandboxed:
        return _sandbox(Unsandboxed(), f"Programs run with all your permissions: {problems}", options)
    raise SandboxUnavailableError(f"Programs cannot be sandboxed here ({problems}).", hint=HINT)


def tiers(options: SandboxOptions) -> Sequence[Tier]:
    """Return the tiers to try, best first."""
    return [
        tier for tier in (Bubblewrap(options.bubblewrap), Landlock()) if options.tier in ("auto", tier.name)
    ]


def limits_of(options: SandboxOptions) -> SandboxLimits:
    """Return the limits of the settings, with defaults for the rest."""
    values = {
        field: value for key, field in _LIMIT_OPTIONS.items() if (value := getattr(options, key)) is not None
    }
    if "cpu_seconds" in values:
        values["cpu_seconds"] = max(1, round(values["cpu_seconds"]))
    return msgspec.structs.replace(SandboxLimits(), **values)


def _sandbox(tier: Tier, reason: str, options: SandboxOptions) -> Sandbox:
    readable = [Path(folder) for folder in options.readable]
    return Sandbox(tier, reason, limits=limits_of(options), readable=readable)


def _why(tier: Tier, reasons: Sequence[str]) -> str:
    if not reasons:
        return f"{tier.name} works here: no network, no secrets, only the workspace can be written"
    return f"{tier.name} works here, better ones do not ({'; '.join(reasons)})"
