"""Files that a command writes where the user says (`-o FILE`)."""

from __future__ import annotations

from pathlib import Path

from podium.errors import UsageError
from podium.settings.private import write_private


def write_file(file: Path, data: bytes) -> None:
    """Write a file that only its owner may read, and the folders it needs."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_private(file, data)
    except OSError as error:
        raise UsageError(
            f"{file} cannot be written: {error.strerror}.", hint="Choose another with -o."
        ) from error
