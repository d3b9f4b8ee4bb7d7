"""The settings of the sandbox: `[sandbox]`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from podium.settings.places import at_home
from podium.settings.words import parse_duration, parse_size

Count = Annotated[int, msgspec.Meta(ge=1)]


class SandboxOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How programs that a model wrote are shut in, and what each execution may use."""

    tier: Literal["auto", "bubblewrap", "landlock"] = "auto"
    """`auto`: the best that works here; another one: that one or none."""
    bubblewrap: str = ""
    """Where `bwrap` is, if not in the PATH."""
    readable: list[str] = []
    """Folders that programs may read beside the system, such as a toolchain in the home folder."""
    time: float | None = None
    """Wall time of one execution: `90s`, `10m` or seconds."""
    cpu: float | None = None
    """CPU time of one process."""
    memory: int | None = None
    """All processes together: `2GB`, `500MB` or bytes."""
    processes: Count | None = None
    """Processes and threads together."""
    file_size: int | None = None
    """The largest file that can be written."""
    output: int | None = None
    """Standard output and error together."""
    workspace: int | None = None
    """The workspace and the temporary files together."""
    files: Count | None = None
    """Files and folders that a program may add to the workspace and the temporary files together."""
    open_files: Count | None = None
    """Open files of one process."""


_DURATIONS = ("time", "cpu")
_SIZES = ("memory", "file_size", "output", "workspace")

EXPECTED = (
    "a table with `tier` (auto, bubblewrap or landlock), `bubblewrap`, `readable`, `time`, `cpu`, `memory`, "
    "`processes`, `file_size`, `output`, `workspace`, `files` and `open_files`"
)
EXAMPLE = '[sandbox]\ntime = "10m"\nmemory = "2GB"'


def read_sandbox(value: Any, base: Path) -> SandboxOptions:
    """The table with its sizes and durations as numbers; paths in it count from `base`."""
    if isinstance(value, SandboxOptions):
        return value
    if not isinstance(value, dict):
        raise TypeError("not a table")
    table: dict[str, Any] = dict(value)  # type: ignore[arg-type]
    for key in _DURATIONS:
        if key in table:
            table[key] = parse_duration(table[key])
    for key in _SIZES:
        if key in table and (size := parse_size(table[key])) >= 1:
            table[key] = size
        elif key in table:
            raise ValueError(f"{key} must be more than 0")
    options = msgspec.convert(table, SandboxOptions)
    place = str(base / at_home(options.bubblewrap)) if options.bubblewrap else ""
    readable = [str(base / at_home(folder)) for folder in options.readable]
    return msgspec.structs.replace(options, bubblewrap=place, readable=readable)
