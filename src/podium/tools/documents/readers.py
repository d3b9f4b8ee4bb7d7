"""Readers shared by all who read at the same time."""

from __future__ import annotations

import threading

from podium.tools.documents.document import Document
from podium.tools.documents.reader import Reader


class Readers:
    """A few processes that stay warm while there is something to read, and end when there is not."""

    def __init__(self, most: int = 2) -> None:
        self._slots, self._lock = threading.Semaphore(most), threading.Lock()
        self._idle: list[Reader] = []
        self._users = 0

    def read(self, data: bytes, media_type: str) -> Document:
        """As `Reader.read`, from any thread; waits for its turn."""
        with self._lock:
            self._users += 1
        try:
            with self._slots:
                return self._read(data, media_type)
        finally:
            self._leave()

    def _read(self, data: bytes, media_type: str) -> Document:
        with self._lock:
            reader = self._idle.pop() if self._idle else Reader()
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
