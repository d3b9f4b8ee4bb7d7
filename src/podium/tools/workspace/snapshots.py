"""Restoring a snapshot to the work tree, and collecting the changes that a program made since.

Whatever a program left is untrusted: links are not followed, and only files that a coder could have written
are collected.
"""

from __future__ import annotations

import hashlib
import posixpath
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from podium.engine.process import offload
from podium.errors import WorkspaceError
from podium.tools.openat_walk import printable
from podium.tools.workspace.change import LEFT_OUT, Caps, is_git, path_trouble
from podium.tools.workspace.edits import workspace_trouble
from podium.tools.workspace.git import FILE, LINK, PROGRAM, SUBMODULE, Blob, History, Write
from podium.tools.workspace.tree import TreeEntry, WorkTree

Marks = dict[str, tuple[tuple[int, ...], str]]
"""For files read before: the mark they had, and their blob hash."""


_LOCKS: defaultdict[Path, threading.Lock] = defaultdict(threading.Lock)
"""One lock for each work tree that this process writes."""

T = TypeVar("T")


class Restoring:
    """Compares the tree with a commit and repairs differences; unchanged files are not read again."""

    def __init__(self, tree: WorkTree, history: History) -> None:
        self._tree, self._history = tree, history
        self._marks: Marks = {}

    async def restore(self, files: Mapping[str, Blob]) -> None:
        """Make the tree hold exactly these files."""
        missing = await offload(self._alone, self._clear, files)
        sizes = {blob.sha: blob.size for blob in missing.values() if blob.mode != SUBMODULE}
        blobs = await self._history.blobs(sizes)
        await offload(self._alone, self._write, missing, blobs)

    async def compare(self, files: Mapping[str, Blob], leave: Collection[str]) -> TreeDifference:
        """Return how the tree differs from these files. Paths in `leave` are skipped; `.git` entries are
        removed."""
        return await offload(self._alone, self._compare, files, frozenset(leave))

    def _compare(self, files: Mapping[str, Blob], leave: Collection[str]) -> TreeDifference:
        changed, refused = list[TreeEntry](), defaultdict[str, list[str]](list)
        folders = {folder for path in files for folder in _above(path)}
        seen, planted, skipped, submodule = set[str](), list[str](), "", ""
        for entry in self._tree.walk():
            path, blob = entry.path, files.get(entry.path)
            if submodule and path.startswith(submodule):
                refused[IN_SUBMODULE].append(path)
            if (skipped and path.startswith(skipped)) or (submodule and path.startswith(submodule)):
                continue
            tracked = blob is not None or path in folders
            reason = "" if path in leave else _reason_to_skip(entry, tracked=tracked)
            if path in leave or reason:
                skipped = path + "/"
            elif blob is not None and blob.mode == SUBMODULE:
                submodule = path + "/"
            elif entry.kind == "folder":
                continue
            elif blob is None or not self._is_same(entry, blob):
                changed.append(entry)
            seen.add(path)
            if reason:
                refused[reason].append(path)
                planted += [path] if reason == GIT else []
        for path in planted:
            self._tree.remove(path)
        missing = [path for path, blob in files.items() if path not in seen and blob.mode != SUBMODULE]
        return TreeDifference(changed, missing, dict(refused))

    def _alone(self, work: Callable[..., T], *args: Any) -> T:
        """Run under the tree's lock. A cancelled call leaves its thread running; the next call waits for
        it."""
        with _LOCKS[self._tree.root]:
            return work(*args)

    def _clear(self, files: Mapping[str, Blob]) -> dict[str, Blob]:
        """Remove everything that does not belong to the tree; return the files left to write."""
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

    def _is_same(self, entry: TreeEntry, blob: Blob) -> bool:
        if blob.mode == LINK:
            if entry.kind != "link":
                return False
            target = self._tree.target(entry.path).encode("utf-8", "surrogateescape")
            return _name(target, blob) == blob.sha
        if entry.kind != "file" or entry.size != blob.size or entry.executable != (blob.mode == PROGRAM):
            return False
        if entry.is_unsafe:
            return False
        mark, sha = self._marks.get(entry.path, ((), ""))
        if mark != entry.mark:
            try:
                sha = _name(self._tree.read(entry.path, blob.size), blob)
            except (OSError, WorkspaceError):  # no permission, or replaced by something else: write it again
                return False
            self._marks[entry.path] = (entry.mark, sha)
        return sha == blob.sha


def blob_name(data: bytes, *, sha256: bool) -> str:
    """Return the hash that git gives a file's contents."""
    known = hashlib.sha256 if sha256 else hashlib.sha1
    return known(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _name(data: bytes, blob: Blob) -> str:
    return blob_name(data, sha256=len(blob.sha) == 64)


def _above(path: str) -> list[str]:
    return [path[:at] for at, letter in enumerate(path) if letter == "/"]


def remove_folder(folder: Path) -> None:
    """Remove a folder of a run, with everything planted in it."""
    if folder.exists():
        WorkTree(folder.parent).remove(folder.name)


GIT = "Git's own files cannot be changed."
SPECIAL = "Pipes, sockets and device files are never kept."
GENERATED = "Folders that tools generate are not part of the project."
IN_SUBMODULE = "Files of a submodule belong to another repository."
IGNORED = "The .gitignore files leave them out."
OUTSIDE = "Only links to files of the project, with a relative target, are kept."
SAME_NAME = "Another file has the same name but for upper and lower case."
NAMED = 5
"""Maximum number of paths that a warning names."""
MAX_COLLECTED = 100_000_000
"""Maximum bytes of all changed files together, renamed ones included."""


class TreeDifference(msgspec.Struct, frozen=True):
    """The differences between the work tree and a recorded state."""

    changed: list[TreeEntry]
    """Files and links that are new or differ."""
    missing: list[str]
    """Files that the tree has no longer."""
    refused: dict[str, list[str]]
    """Reason -> paths that are never collected."""


class Collected(msgspec.Struct, frozen=True):
    """Changes to record, and sentences about the others."""

    writes: list[Write]
    warnings: list[str]


def _reason_to_skip(entry: TreeEntry, *, tracked: bool) -> str:
    """Return why nothing of this entry is collected; empty if it may be."""
    name = entry.path.rpartition("/")[2]
    if is_git(name):
        return GIT
    if entry.kind == "special":
        return SPECIAL
    return GENERATED if name in LEFT_OUT and not tracked else ""


class _Refused(Exception):
    """The reason why one change is not collected."""


def collect(
    found: TreeDifference, ignored: Collection[str], files: Mapping[str, Blob], tree: WorkTree, caps: Caps
) -> Collected:
    """Read the changed files, within the caps. Refused ones are left out; too many are refused as a whole."""
    refused = defaultdict[str, list[str]](list)
    for reason, paths in found.refused.items():
        refused[reason] += paths
    staying = {*files, *(entry.path for entry in found.changed)} - set(found.missing)
    collector, writes = _Collector(files, staying, tree, caps), list[Write]()
    for path in found.missing:
        if trouble := path_trouble(path):
            refused[trouble].append(path)
        else:
            writes.append(Write(path, None))
    for entry in found.changed:
        try:
            write = collector.write_of(entry, ignored)
        except _Refused as error:
            refused[str(error)].append(entry.path)
            continue
        if collector.trouble():
            break
        if write is not None:
            writes.append(write)
    warnings = [f"Not kept: {_named(paths)}. {reason}" for reason, paths in refused.items()]
    if trouble := collector.trouble() or workspace_trouble(writes, files, caps):
        return Collected([], [f"None of the changes were kept. {trouble}", *warnings])
    return Collected(writes, warnings)


class _Collector:
    """Reads changed files and counts what is new in them."""

    def __init__(
        self, files: Mapping[str, Blob], staying: Collection[str], tree: WorkTree, caps: Caps
    ) -> None:
        self._files, self._tree, self._caps = files, tree, caps
        self._folded = Counter(path.casefold() for path in staying)
        self._known = {blob.sha for blob in files.values()}
        self._sizes = {blob.size for blob in files.values()}
        self._sha256 = any(len(sha) == 64 for sha in self._known)
        self._bytes = self._new_files = self._new_bytes = 0

    def write_of(self, entry: TreeEntry, ignored: Collection[str]) -> Write | None:
        """Return the write that records this entry; None if only permissions differ that git does not
        know."""
        path, blob = entry.path, self._files.get(entry.path)
        if path in ignored:
            raise _Refused(IGNORED)
        if trouble := path_trouble(path):
            raise _Refused(trouble)
        if blob is None and self._folded[path.casefold()] > 1:
            raise _Refused(SAME_NAME)
        if entry.kind == "link":
            mode, data = LINK, self._target(path)
        else:
            mode, data = PROGRAM if entry.executable else FILE, self._contents(entry)
        sha = blob_name(data, sha256=self._sha256)
        if sha not in self._known:
            if len(data) > self._caps.file_bytes:
                raise _Refused(self._too_large())
            self._new_files, self._new_bytes = self._new_files + 1, self._new_bytes + len(data)
        self._bytes += len(data)
        return None if blob is not None and (blob.sha, blob.mode) == (sha, mode) else Write(path, data, mode)

    def trouble(self) -> str:
        """Return why the changes together are too much; empty if they are not."""
        caps = self._caps
        if self._new_files > caps.changes:
            return f"More than {caps.changes:,} files were written, which is the limit for one set."
        if self._new_bytes > caps.change_bytes or self._bytes > MAX_COLLECTED:
            limit = min(caps.change_bytes, MAX_COLLECTED)
            return f"More than {limit:,} bytes were written, which is the limit for one set."
        return ""

    def _contents(self, entry: TreeEntry) -> bytes:
        """Return a file's contents. A file over the limit may only be a renamed or copied one."""
        limit = self._caps.file_bytes
        if entry.size > limit and (entry.size not in self._sizes or entry.size > MAX_COLLECTED):
            raise _Refused(self._too_large())
        try:
            return self._tree.read(entry.path, max(limit, entry.size))
        except OSError as error:
            raise _Refused(f"They cannot be read: {error.strerror}.") from error

    def _target(self, path: str) -> bytes:
        """Return the target of a link, if it leads to a file or folder of the tree."""
        target = self._tree.target(path)
        names = target.split("/")
        while names and names[0] == "..":
            names.pop(0)
        place = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        if target.startswith("/") or ".." in names or place.startswith("..") or path_trouble(place):
            raise _Refused(OUTSIDE)
        if self._tree.look(place).kind not in ("file", "folder"):
            raise _Refused(OUTSIDE)
        return target.encode("utf-8", "surrogateescape")

    def _too_large(self) -> str:
        return f"A file may have {self._caps.file_bytes:,} bytes at most."


def _named(paths: list[str]) -> str:
    more = f" and {len(paths) - NAMED:,} more" if len(paths) > NAMED else ""
    return ", ".join(printable(path)[:200] for path in paths[:NAMED]) + more
