"""The sandbox: one method that runs a program and gives what it said, whatever the program tries."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from podium.errors import SandboxUnavailableError
from podium.tools.sandbox.execution import Execution
from podium.tools.sandbox.limits import Executed, Limits
from podium.tools.sandbox.mounts import (
    anchored,
    folder_mounts,
    interpreter_folders,
    place_inside,
    search_path,
)
from podium.tools.sandbox.scratch import HOME, scratch_folder
from podium.tools.sandbox.spare import spare_id
from podium.tools.sandbox.tier import Job, Tier

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
        seen = [*self._readable, *readable]
        mounts = folder_mounts(folder, writable=writable, readable=seen, also_writable=also_writable)
        with scratch_folder() as scratch:
            job = Job(
                argv=tuple(map(str, argv)),
                start=place_inside(folder, cwd),
                mounts=mounts,
                scratch=scratch,
                env={**_environment(seen), **(env or {})},
                limits=limits or self._limits,
                spare=spare_id(),
            )
            execution = Execution(job, self._tier.launch(job), self.tier)
            folders = [folder, scratch] if writable else [scratch]
            return await execution.finish(stdin, folders, also_writable)


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
