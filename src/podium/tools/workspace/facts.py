"""What is known of a workspace from its first moment; kept beside it as JSON."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from podium.errors import WorkspaceError
from podium.tools.workspace.origin import Origin

NAME = "workspace.json"


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """How a workspace was made."""

    run_id: str
    origin: Origin
    branch: str
    base: str
    """The commit that it began with."""
    warnings: list[str] = []


def has_facts(home: Path) -> bool:
    """A workspace without its facts was not finished, and is made again."""
    return (home / NAME).is_file()


def write_facts(home: Path, made: Made) -> None:
    """In one move; last of all when a workspace is made."""
    beside = home / f"{NAME}.new"
    with beside.open("wb") as file:
        file.write(msgspec.json.encode(made))
        file.flush()
        os.fsync(file.fileno())
    beside.replace(home / NAME)


def read_facts(home: Path) -> Made:
    try:
        return msgspec.json.decode((home / NAME).read_bytes(), type=Made)
    except (msgspec.MsgspecError, OSError) as error:
        raise WorkspaceError(
            f"The workspace in {home} cannot be read: {error}.", hint="Start the run anew."
        ) from error
