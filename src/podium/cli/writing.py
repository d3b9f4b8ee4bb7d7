"""Files that a command writes where the user says (`-o FILE`)."""

from __future__ import annotations

from pathlib import Path

from podium.errors import UsageError


def write_file(file: Path, data: bytes) -> None:
    """Write a file, with the folders that it needs; one that cannot be written is told."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    except OSError as error:
        raise UsageError(
            f"{file} cannot be written: {error.strerror}.", hint="Choose another with -o."
        ) from error
