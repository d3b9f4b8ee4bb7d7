"""Document reader processes and their pool."""

from __future__ import annotations

import selectors
import subprocess
import sys
import threading
import time
from types import TracebackType
from typing import Self

import msgspec

from podium.settings import variable
from podium.tools.documents.child import LENGTH, PLAIN, ReadRequest, ReadResponse, read_plain
from podium.tools.documents.document import Document
from podium.tools.documents.word_vectors import Meaning
from podium.tools.tool import ToolError

SECONDS = 20.0
MEDIA_TYPES = {
    "md": "text/markdown", "markdown": "text/markdown", "mdown": "text/markdown", "txt": "text/plain",
    "text": "text/plain", "html": "text/html", "htm": "text/html", "xhtml": "text/html",
    "pdf": "application/pdf",
}  # fmt: skip
"""Media types by file extension; files with other extensions are not documents."""


def media_type_of(name: str) -> str:
    """Return the media type for a file name; empty if it is not a document."""
    return MEDIA_TYPES.get(name.rpartition(".")[2].lower(), "") if "." in name else ""


class DocumentReader:
    """A reader for use by one thread. It starts its process with the first document that needs one, and
    restarts it after a crash or timeout."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def read(self, data: bytes, media_type: str) -> Document:
        """Read a document, or raise a `ToolError` whose message is a clause such as "it is empty"."""
        if media_type in PLAIN:
            return read_plain(data, media_type)
        return self._answered(ReadRequest(media_type, data))[0]

    def read_and_embed(self, data: bytes, media_type: str) -> tuple[Document, Meaning | None]:
        """Like `read`, and return the vectors of its passages. All types are read in the process."""
        return self._answered(ReadRequest(media_type, data, embed=True))

    def _answered(self, request: ReadRequest) -> tuple[Document, Meaning | None]:
        answer = self._ask(request)
        if answer.document is None:
            raise ToolError(answer.trouble)
        return answer.document, answer.meaning

    def close(self) -> None:
        """Kill the process."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.communicate()

    def _ask(self, request: ReadRequest) -> ReadResponse:
        child = self._child = self._child or _start()
        message = msgspec.msgpack.encode(request)
        try:
            _send(child, len(message).to_bytes(LENGTH) + message)
            until = time.monotonic() + self._seconds
            size = int.from_bytes(_exactly(child, LENGTH, until))
            return msgspec.msgpack.decode(_exactly(child, size, until), type=ReadResponse)
        except TimeoutError as error:
            self.close()
            raise ToolError(f"reading it took longer than {self._seconds:g} s") from error
        except (OSError, EOFError) as error:
            self.close()
            raise ToolError("it cannot be read: its reader process ended") from error


def _start() -> subprocess.Popen[bytes]:
    """Start the child process. It gets no API keys, and its working directory is not on `sys.path`. It has
    its own process group, so that Ctrl-C in the terminal does not look like a reader that crashed."""
    env = {name: value for name in ("PATH", "PYTHONPATH", "LANG") if (value := variable(name))}
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "podium.tools.documents.child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=env,
        bufsize=0,
        process_group=0,
    )


def _send(child: subprocess.Popen[bytes], message: bytes) -> None:
    assert child.stdin is not None
    unsent = memoryview(message)
    while unsent:
        unsent = unsent[child.stdin.write(unsent) :]


def _exactly(child: subprocess.Popen[bytes], size: int, until: float) -> bytes:
    assert child.stdout is not None
    pieces, missing = list[bytes](), size
    with selectors.DefaultSelector() as waiting:
        waiting.register(child.stdout, selectors.EVENT_READ)
        while missing:
            if not waiting.select(max(until - time.monotonic(), 0)):
                raise TimeoutError
            piece = child.stdout.read(min(missing, 1_000_000))
            if not piece:
                raise EOFError
            pieces.append(piece)
            missing -= len(piece)
    return b"".join(pieces)


class Readers:
    """A pool of reader processes that run while there is work and end when it is done."""

    def __init__(self, most: int = 2) -> None:
        self._slots, self._lock = threading.Semaphore(most), threading.Lock()
        self._idle: list[DocumentReader] = []
        self._users = 0

    def read(self, data: bytes, media_type: str) -> Document:
        """Like `DocumentReader.read`, from any thread; waits for a free reader."""
        with self._lock:
            self._users += 1
        try:
            with self._slots:
                return self._read(data, media_type)
        finally:
            self._leave()

    def _read(self, data: bytes, media_type: str) -> Document:
        with self._lock:
            reader = self._idle.pop() if self._idle else DocumentReader()
        try:
            return reader.read(data, media_type)
        finally:
            with self._lock:
                self._idle.append(reader)

    def _leave(self) -> None:
        with self._lock:
            self._users -= 1
            ended, self._idle = ([], self._idle) if self._users else (self._idle, [])
        for reader in ended:
            reader.close()
