"""How much a sandboxed program may use, and what is known of it when it has ended."""

from __future__ import annotations

from typing import Literal

import msgspec

GIGABYTE = 1_000_000_000

StoppedBy = Literal["", "time", "memory", "output", "workspace", "files", "processes", "cancel"]
"""What ended a program before its own end; empty: it ended by itself."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one execution may use. Whatever is passed stops it; see `Executed.stopped_by`."""

    seconds: float = 600.0
    """Wall time."""
    cpu_seconds: int = 1_200
    """CPU time of each process."""
    memory_bytes: int = 2 * GIGABYTE
    """All processes together, shared pages counted once; one process can never ask for twice as much."""
    processes: int = 256
    """Processes and threads together, at one time."""
    file_bytes: int = GIGABYTE
    """The largest file that can be written; writing on fails with EFBIG."""
    output_bytes: int = 10_000_000
    """Standard output and error together. What came until then is kept."""
    workspace_bytes: int = 2 * GIGABYTE
    """The workspace and the private temporary folder together; of other writable folders, their growth."""
    files: int = 100_000
    """Files and folders that are added to the workspace, the private temporary folder and other writable
    folders together."""
    open_files: int = 1_024
    """File descriptors of each process."""


class Executed(msgspec.Struct, frozen=True, kw_only=True):
    """A program that has ended, with everything that it had started."""

    argv: tuple[str, ...]
    exit_code: int
    """As a shell tells it: 128 and the signal's number for one that a signal ended."""
    stdout: str
    stderr: str
    raw: bytes = b""
    """Standard output as it came: a patch, for example, may hold bytes that are no text."""
    truncated: bool = False
    """Output beyond the cap was dropped."""
    stopped_by: StoppedBy = ""
    """The limit that ended it; empty: it ended by itself."""
    seconds: float = 0.0
    tier: str = ""
    """What it was shut in by: `bubblewrap`, `landlock`, or `none` if somebody allowed that."""
    warnings: tuple[str, ...] = ()
    """Sentences about dangerous files in the writable folders, such as setuid programs, and what was done
    about them. The caller has to show them."""

    @property
    def ok(self) -> bool:
        """It ended by itself, and says that all is well."""
        return self.exit_code == 0 and not self.stopped_by
