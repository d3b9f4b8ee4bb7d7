"""The sandbox: one method that runs a program and gives what it said, whatever the program tries."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from podium.errors import SandboxUnavailableError
from podium.tools.aside import aside
from podium.tools.sandbox.execution import Execution, settled
from podium.tools.sandbox.inspection import Contents, inspect_after, inspect_before
from podium.tools.sandbox.limits import Executed, Limits
from podium.tools.sandbox.mounts import (
    Mount,
    anchored,
    folder_mounts,
    interpreter_folders,
    place_inside,
    search_path,
)
from podium.tools.sandbox.scratch import ENTRIES, HOME, clear, scratch_folder
from podium.tools.sandbox.spare import spare_id
from podium.tools.sandbox.tier import Job, Tier
from podium.tools.sandbox.watching import Watched

INSTALL = "Install bubblewrap (`apt-get install bubblewrap`), or see `podium doctor`."


class Sandbox:
    """Made by `open_sandbox`, which has tried it out."""

    def __init__(
        self, tier: Tier, reason: str, *, limits: Limits | None = None, readable: Sequence[Path] = ()
    ) -> None:
        self._tier = tier
        self._limits = limits or Limits()
        self._readable = [*interpreter_folders(), *readable]
        self.reason = reason
        """Why it is this tier, in one sentence for a person."""

    @property
    def tier(self) -> str:
        """`bubblewrap`, `landlock`, or `none` if somebody allowed that."""
        return self._tier.name

    @property
    def limits(self) -> Limits:
        """What holds where a call does not say otherwise, from the settings."""
        return self._limits

    @property
    def warning(self) -> str:
        """What the caller has to log and show; empty when programs are really shut in."""
        return self.reason if self.tier == "none" else ""

    async def run(
        self,
        argv: Sequence[str],
        *,
        folder: Path,
        cwd: str = ".",
        writable: bool = True,
        readable: Sequence[Path] = (),
        also_writable: Sequence[Path] = (),
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        limits: Limits | None = None,
    ) -> Executed:
        """Run a program to its end, or to the first limit that it passes.

        It sees the system, the Python that runs Podium, `folder` at its own place, and what else is named;
        of the environment only `env`. Cancelling the task that awaits this ends everything at once.
        """
        if not argv:
            raise ValueError("there is nothing to run")
        if reason := self._tier.check():
            raise SandboxUnavailableError(reason, hint=INSTALL)
        folder, *also_writable = map(anchored, (folder, *also_writable))
        seen, most = [*self._readable, *readable], limits or self._limits
        mounts = folder_mounts(folder, writable=writable, readable=seen, also_writable=also_writable)
        whole = [folder] if writable else []
        with scratch_folder() as scratch:
            before = await aside(inspect_before, whole, also_writable, most.workspace_bytes)
            job = Job(
                argv=tuple(map(str, argv)),
                start=place_inside(folder, cwd),
                mounts=mounts,
                scratch=scratch,
                env={**_environment(seen), **(env or {})},
                limits=most,
                special=before.special,
                spare=spare_id(),
            )
            watched = Watched(
                folders=[*map(str, whole), str(scratch)],
                grown=list(map(str, also_writable)),
                grown_before=before.grown_bytes,
                files_before=before.files + ENTRIES + _own_entries(mounts),
            )
            execution = Execution(job, self._tier.launch(job), self.tier)
            try:
                done = await execution.finish(stdin, watched)
            finally:
                after = await _secured(scratch, whole, also_writable, most, before)
        return _judged(done, most, before, after)


def _own_entries(mounts: Sequence[Mount]) -> int:
    """Entries that the sandbox itself may make: folders on the way to what is mounted below /tmp, and the
    file in memory that holds the filter of system calls."""
    temporary = Path("/tmp")
    targets = [Path(mount.target) for mount in mounts if Path(mount.target).is_relative_to(temporary)]
    ways = {way for target in targets for way in (target, *target.parents) if way.is_relative_to(temporary)}
    return len(ways - {temporary}) + 1


async def _secured(
    scratch: Path, whole: Sequence[Path], grown: Sequence[Path], limits: Limits, before: Contents
) -> Contents:
    """Clear and inspect what a program could write; a cancel waits until that is done."""

    def secure() -> Contents:
        clear(scratch)  # first: hard links into it would look like links to files outside
        return inspect_after(whole, grown, limits.workspace_bytes, before)

    task = asyncio.ensure_future(aside(secure))
    if cancelled := await settled(task):
        raise cancelled
    return task.result()


def _judged(done: Executed, limits: Limits, before: Contents, after: Contents) -> Executed:
    """Add to the result what the inspections found; a short program may have passed a limit unwatched."""
    stopped = done.stopped_by
    grown = after.grown_bytes - before.grown_bytes
    written = after.whole_bytes - before.whole_bytes + grown
    if not stopped and after.files - before.files > limits.files:
        stopped = "files"
    elif not stopped and written > 0 and after.whole_bytes + grown > limits.workspace_bytes:
        stopped = "workspace"
    code = 128 + signal.SIGKILL if stopped else done.exit_code
    warnings = tuple(dict.fromkeys((*before.warnings, *after.warnings)))
    return msgspec.structs.replace(done, stopped_by=stopped, exit_code=code, warnings=warnings)


def _environment(readable: Sequence[Path]) -> dict[str, str]:
    """The whole environment inside: nothing of the user's but the language and where programs are found."""
    return {
        "PATH": search_path(readable),
        "HOME": HOME,
        "TMPDIR": "/tmp",
        "USER": "podium",
        "LOGNAME": "podium",
        "SHELL": "/bin/sh",
        "LANG": os.environ.get("LANG", "C.UTF-8") or "C.UTF-8",
        "TERM": "dumb",
        "PYTHONDONTWRITEBYTECODE": "1",
        "NO_COLOR": "1",
        "GIT_CONFIG_NOSYSTEM": "1",
    }
