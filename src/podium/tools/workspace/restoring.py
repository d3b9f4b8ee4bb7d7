"""Making the work tree equal to a commit, whatever lies in it now."""

from __future__ import annotations

import hashlib
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from podium.errors import WorkspaceError
from podium.tools.aside import aside
from podium.tools.workspace.history import LINK, PROGRAM, SUBMODULE, Blob, History
from podium.tools.workspace.tree import Entry, WorkTree

Marks = dict[str, tuple[tuple[int, ...], str]]
"""Of files that were read before: the mark they had, and the name of their blob."""


_LOCKS: defaultdict[Path, threading.Lock] = defaultdict(threading.Lock)
"""Of each work tree that this process writes."""

T = TypeVar("T")


class Restoring:
    """Compares the tree with a commit and mends what differs; unchanged files are not read again."""

    def __init__(self, tree: WorkTree, history: History) -> None:
        self._tree, self._history = tree, history
        self._marks: Marks = {}

    async def restore(self, files: Mapping[str, Blob]) -> None:
        """Afterwards the tree holds these files and nothing else."""
        missing = await aside(self._alone, self._clear, files)
        sizes = {blob.sha: blob.size for blob in missing.values() if blob.mode != SUBMODULE}
        blobs = await self._history.blobs(sizes)
        await aside(self._alone, self._write, missing, blobs)

    def _alone(self, work: Callable[..., T], *args: Any) -> T:
        """A cancelled call leaves its thread behind; the next one waits for it."""
        with _LOCKS[self._tree.root]:
            return work(*args)

    def _clear(self, files: Mapping[str, Blob]) -> dict[str, Blob]:
        """Remove what does not belong there; what is left to write."""
        missing, stale = dict(files), list[str]()
        folders = {folder for path in files for folder in _above(path)}
        gone = ""
        for entry in self._tree.walk():
            if gone and entry.path.startswith(gone):
                continue
            blob = files.get(entry.path)
            if entry.kind == "folder" and (entry.path in folders or (blob and blob.mode == SUBMODULE)):
                missing.pop(entry.path, None)
                if entry.is_unsafe:
                    self._tree.close_to_others(entry.path)
            elif blob is not None and self._is_same(entry, blob):
                del missing[entry.path]
            else:
                stale.append(entry.path)
                gone = entry.path + "/" if entry.kind == "folder" else ""
        for path in stale:
            self._tree.remove(path)
        return missing

    def _write(self, missing: Mapping[str, Blob], blobs: Mapping[str, bytes]) -> None:
        for path, blob in missing.items():
            if blob.mode == SUBMODULE:
                self._tree.make_folder(path)
            elif blob.mode == LINK:
                self._tree.link(path, blobs[blob.sha].decode("utf-8", "surrogateescape"))
            else:
                self._tree.write(path, blobs[blob.sha], executable=blob.mode == PROGRAM)

    def _is_same(self, entry: Entry, blob: Blob) -> bool:
        if blob.mode == LINK:
            return entry.kind == "link" and _name(_link(self._tree, entry.path), blob) == blob.sha
        if entry.kind != "file" or entry.size != blob.size or entry.executable != (blob.mode == PROGRAM):
            return False
        if entry.is_unsafe:
            return False
        mark, sha = self._marks.get(entry.path, ((), ""))
        if mark != entry.mark:
            try:
                sha = _name(self._tree.read(entry.path, blob.size), blob)
            except (OSError, WorkspaceError):  # no rights to it, or it is something else by now: written anew
                return False
            self._marks[entry.path] = (entry.mark, sha)
        return sha == blob.sha


def blob_name(data: bytes, *, sha256: bool) -> str:
    """The name that git gives a file's contents."""
    known = hashlib.sha256 if sha256 else hashlib.sha1
    return known(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _name(data: bytes, blob: Blob) -> str:
    return blob_name(data, sha256=len(blob.sha) == 64)


def _link(tree: WorkTree, path: str) -> bytes:
    return tree.target(path).encode("utf-8", "surrogateescape")


def _above(path: str) -> list[str]:
    return [path[:at] for at, letter in enumerate(path) if letter == "/"]


def remove_folder(folder: Path) -> None:
    """A folder of a run, with whatever was planted in it."""
    if folder.exists():
        WorkTree(folder.parent).remove(folder.name)
