"""Files that are sent to a model with a prompt."""

from __future__ import annotations

import hashlib
import mimetypes
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from podium.engine.effect import Effect
from podium.engine.redaction import redact_text
from podium.errors import UsageError
from podium.models.messages import FilePart
from podium.settings.places import named

if TYPE_CHECKING:
    from podium.agents.ask import Run

MAX_BYTES = 20_000_000
"""Largest file that can be attached; providers take no more."""
IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
PDF = "application/pdf"
_PAGE = re.compile(rb"/Type\s*/Page\b(?!s)")
_MANY_PAGES = 100
"""Assumed for a PDF whose pages are compressed: the most that providers take."""


@dataclass(frozen=True)
class File:
    """A file for `attach`: `File("map.png")`, or `File(name="notes.txt", data=b"…")`. Images (PNG, JPEG, GIF,
    WebP), PDF and text can be sent."""

    path: str | Path = ""
    name: str = ""
    data: bytes | None = None
    media_type: str = ""

    @property
    def shown(self) -> str:
        """Its name as the model and the log see it."""
        return self.name or Path(self.path).name or "file"


async def attached(run: Run, path: str, files: Sequence[File]) -> tuple[FilePart, ...]:
    """Read files once and record them: a resumed run uses the same contents, even if the files are gone."""

    async def read(effect: Effect) -> list[FilePart]:
        return [file_part(run, file) for file in files]

    inputs = [[str(file.path), file.shown, file.media_type, _digest(file)] for file in files]
    parts: list[FilePart] = await run.perform(
        "attached",
        read,
        inputs=inputs,
        path=f"{path}/attached",
        returns=list[FilePart],
        kind="files",
        about={"files": [file.shown for file in files]},
        by_fingerprint=True,
    )
    return tuple(parts)


def _digest(file: File) -> str:
    return "" if file.data is None else hashlib.blake2b(file.data, digest_size=16).hexdigest()


def file_part(run: Run, file: File) -> FilePart:
    """Read a file into the store; secrets in text are redacted."""
    data = file.data if file.data is not None else _read(file)
    if len(data) > MAX_BYTES:
        raise UsageError(
            f"The file {file.shown} has {len(data):,} bytes; at most {MAX_BYTES:,} can be attached."
        )
    media = file.media_type or mimetypes.guess_type(file.shown)[0] or _guessed(data)
    if media not in IMAGES and media != PDF:
        media = media if media.startswith("text/") else "text/plain"
        try:
            data = redact_text(data.decode(), run.core.journal.redact).encode()
        except UnicodeDecodeError:
            raise UsageError(
                f"The file {file.shown} is neither text nor an image or a PDF, so no model can read it.",
                hint="Convert it to text, PNG, JPEG, GIF, WebP or PDF.",
            ) from None
    pages = _pages(data) if media == PDF else 0
    return FilePart(file.shown, media, run.store.put_blob(data), len(data), pages)


def _read(file: File) -> bytes:
    path = named(str(file.path))
    try:
        with path.open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"The file {path} cannot be attached: {error.strerror}.") from error


def _guessed(data: bytes) -> str:
    if data.startswith(b"%PDF"):
        return PDF
    if data.startswith(b"\x89PNG"):
        return "image/png"
    return "image/jpeg" if data.startswith(b"\xff\xd8") else "text/plain"


def _pages(data: bytes) -> int:
    """Return about how many pages a PDF has, for its worst-case cost. Parsing is left to the provider: a
    malicious PDF can keep a reader busy forever."""
    return len(_PAGE.findall(data)) or _MANY_PAGES
