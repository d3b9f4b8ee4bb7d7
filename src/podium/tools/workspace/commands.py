"""Shell commands of a coder, run in the sandbox on the workspace.

A command gets the folders and environment that the tests get. What it changed in files that git would track
becomes a snapshot; everything else is removed, as after tests.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from podium.tools.sandbox.sandbox import Sandbox
from podium.tools.sandbox.tier import StoppedBy
from podium.tools.testing.execution import link_folders, project_of, shell_command
from podium.tools.testing.report import plain
from podium.tools.tool import ToolError
from podium.tools.workspace.change import FileStat
from podium.tools.workspace.workspace import Workspace

MAX_COMMAND = 50_000
MAX_COMMAND_OUTPUT = 200_000
"""Maximum characters of output in a result."""

_MERGED = 'exec 2>&1; exec sh -c "$1"'
"""Starts the command with both outputs in one stream, in the order in which they are written."""


class CommandResult(msgspec.Struct, frozen=True, kw_only=True):
    """A command that has ended, with all processes it started."""

    exit_code: int
    """As in a shell: 128 plus the signal number if a signal ended it."""
    output: str
    """Standard output and error in the order they were written; a long one keeps its beginning and end."""
    seconds: float
    stopped_by: StoppedBy = ""
    """The limit that ended it; empty if it ended by itself."""
    snapshot: str
    """State of the workspace afterwards; the state before if nothing changed."""
    files: list[FileStat] = []
    """Files that the command changed and that are kept."""
    diff: str = ""
    """The same as a patch, truncated if very long."""
    warnings: list[str] = []
    """Sentences about what was not kept, and about dangerous files that were removed."""
    tier: str = ""

    @property
    def timed_out(self) -> bool:
        return self.stopped_by == "time"


async def run_command(
    workspace: Workspace, sandbox: Sandbox, command: str, *, seconds: float
) -> CommandResult:
    """Run `sh -c command` in the project's folder, and keep its changes as a snapshot.

    Raises a `ToolError` if this is no command. A command that wrote more files or bytes than the sandbox
    allows leaves nothing; any other end keeps what was written until then.
    """
    _check(command)
    await workspace.reset()
    project = project_of(workspace)
    chosen = await shell_command(project, sandbox, ["sh", "-c", _MERGED, "sh", command])
    links = link_folders(chosen, project)
    limits = msgspec.structs.replace(sandbox.limits, seconds=min(seconds, sandbox.limits.seconds))
    try:
        done = await sandbox.run(
            chosen.argv,
            folder=project.tree,
            cwd=project.below or ".",
            readable=[Path(folder) for folder in chosen.readable],
            env=chosen.env,
            limits=limits,
        )
    except BaseException:
        await workspace.reset()
        raise
    warnings, kept = list(done.warnings), None
    if done.stopped_by in ("workspace", "files"):
        await workspace.reset()
        warnings.append(
            f"None of the changes were kept: the command exceeded the limit of {done.stopped_by}."
        )
    else:
        kept = await workspace.keep_changes(leave=links)
        warnings += kept.warnings
    return CommandResult(
        exit_code=done.exit_code,
        output=_shown(plain(done.stdout, project.tree)),
        seconds=round(done.seconds, 3),
        stopped_by=done.stopped_by,
        snapshot=workspace.state,
        files=kept.files if kept else [],
        diff=kept.diff if kept else "",
        warnings=warnings,
        tier=done.tier,
    )


def _check(command: str) -> None:
    if not command.strip():
        raise ToolError("A command is needed.")
    data = command.encode("utf-8", "replace")
    if len(data) > MAX_COMMAND:
        raise ToolError(f"The command is longer than {MAX_COMMAND:,} bytes: write a script and run it.")
    if b"\0" in data or data.decode() != command:
        raise ToolError("The command holds characters that no command can hold.")


def _shown(text: str) -> str:
    """Return the output, or its beginning and end with a note on how to see the rest."""
    if len(text) <= MAX_COMMAND_OUTPUT:
        return text
    half = MAX_COMMAND_OUTPUT // 2 - 100
    left_out = len(text) - 2 * half
    note = f"[{left_out:,} characters left out here: run it again with `| sed -n 'FIRST,LASTp'` to see them]"
    return f"{text[:half]}\n{note}\n{text[-half:]}"
