"""Workspace and restore.

The private repository is authoritative, not the work tree: after tests, a crash or a resume the tree is reset
to the recorded state, so that nothing a test wrote ever reaches a commit.
"""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from podium.engine.process import offload
from podium.errors import ChangeRefusedError, WorkspaceError
from podium.tools.tool import bounded
from podium.tools.workspace.change import Applied, Caps, Change, FileStat, Refusal
from podium.tools.workspace.editing import checked
from podium.tools.workspace.git import LINK, PROGRAM, SUBMODULE, Blob, Git, History, Write
from podium.tools.workspace.origin import WorkspaceRecord
from podium.tools.workspace.transfer import inherit, publish, refuse_to_publish
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
            return entry.kind == "link" and _name(_link(self._tree, entry.path), blob) == blob.sha
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


def _link(tree: WorkTree, path: str) -> bytes:
    return tree.target(path).encode("utf-8", "surrogateescape")


def _above(path: str) -> list[str]:
    return [path[:at] for at, letter in enumerate(path) if letter == "/"]


def remove_folder(folder: Path) -> None:
    """Remove a folder of a run, with everything planted in it."""
    if folder.exists():
        WorkTree(folder.parent).remove(folder.name)


MAX_DIFF = 200_000
"""Maximum characters of a diff in a result; the patch of the run is complete."""
MAX_MESSAGE = 5_000

_SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class Workspace:
    """The workspace of a run; opened by `open_workspace`. Not safe for concurrent use."""

    def __init__(self, home: Path, made: WorkspaceRecord, git: Git, caps: Caps) -> None:
        self.home = home
        """The run's folder, which holds everything."""
        self.folder = home / "tree"
        """The work tree, in which a sandbox runs tests."""
        self.made = made
        self.branch = made.branch
        self.base = made.base
        self.warnings = git.warnings = [*made.warnings, *git.warnings]
        """Sentences to show to the user."""
        self.head = made.base
        """The last commit of the branch."""
        self.state = made.base
        """The recorded state: `head`, or a snapshot after it."""
        self.files: dict[str, Blob] = {}
        """Every file of the state."""
        self._git, self._caps = git, caps
        self._history = History(git)
        self._tree = WorkTree(self.folder)
        self._restoring = Restoring(self._tree, self._history)

    @property
    def origin(self) -> Path:
        """The user's folder; its files are never written."""
        return Path(self.made.origin.folder)

    @property
    def is_published(self) -> bool:
        """True if the branch is written to the user's repository; otherwise the result is the patch."""
        return not refuse_to_publish(self.made.origin)

    async def apply(self, changes: Sequence[Change]) -> Applied:
        """Apply all changes or none; a `ChangeRefusedError` lists every refused one."""
        await self.reset()
        writes = checked(changes, self.files, self._tree, self._caps)
        await self._refuse_ignored(changes, writes)
        before = self.state
        try:
            self._write(writes)
            after = await self._history.record(before, self.head, writes)
        except Exception:
            await self.reset()
            raise
        self._marked(after, self._after(writes))
        stat = await self._history.stat(before, after)
        diff = await self._history.diff(before, after, whole=False)
        return Applied(after, stat, bounded(_text(diff), MAX_DIFF))

    async def commit(self, message: str) -> str:
        """Commit the recorded state to the branch; return the hash. Files written by tests are not
        included."""
        sha = await self._history.commit(self.state, self.head, _clean(message), int(time.time()))
        self._history.point(
            {f"refs/podium/kept/{sha}": sha, f"refs/heads/{self.branch}": sha, "refs/podium/state": sha}
        )
        self.head = self.state = sha
        await self.publish()
        return sha

    async def snapshot(self) -> str:
        """Return the recorded state, for `restore`; also valid in the middle of a step."""
        return self.state

    async def restore(self, sha: str) -> None:
        """Restore branch and files to a commit or snapshot of this run, or of one it was forked from."""
        files = await self._history.files(sha) if _SHA.fullmatch(sha) else None
        if files is None and _SHA.fullmatch(sha):
            files = await self._inherited(sha)
        if files is None:
            raise WorkspaceError(
                f"The workspace of this run has no state {sha[:12]}.",
                hint="It was removed (`podium workspaces`), or changed by somebody else. Start a new run.",
            )
        head = self._history.pointed(f"refs/podium/heads/{sha}") or sha
        self._history.point({f"refs/heads/{self.branch}": head, "refs/podium/state": sha})
        self.head = head
        self._marked(sha, files)
        await self.reset()

    async def reset(self) -> None:
        """Reset the files to the recorded state, removing everything that a test run changed, left or
        planted."""
        await self._restoring.restore(self.files)

    async def diff(self, base: str = "", *, limit: int = MAX_DIFF) -> str:
        """Return the diff of the recorded state since a commit or snapshot; by default since the base."""
        return bounded(_text(await self._history.diff(base or self.base, self.state, whole=False)), limit)

    async def stat(self, base: str = "") -> list[FileStat]:
        """Return the diff statistics per file."""
        return await self._history.stat(base or self.base, self.state)

    async def patch(self) -> bytes:
        """Return everything since the base as a patch for `git apply`, including binary files."""
        return await self._history.diff(self.base, self.state, whole=True)

    async def commits(self) -> list[str]:
        """Return the commits of the run, oldest first."""
        return await self._history.commits(self.base, self.head)

    async def contents(self, sha: str, paths: Sequence[str]) -> dict[str, bytes]:
        """Return file contents at a commit or snapshot; missing files are left out."""
        files = self.files if sha == self.state else await self._history.files(sha)
        wanted = {path: files[path] for path in paths if files and path in files}
        blobs = await self._history.blobs({blob.sha: blob.size for blob in wanted.values()})
        return {path: blobs[blob.sha] for path, blob in wanted.items()}

    async def publish(self) -> str:
        """Write the branch to the user's repository; return why that failed as a sentence, or ""."""
        if trouble := refuse_to_publish(self.made.origin):
            return trouble
        outgoing = self._git.folder / "outgoing"
        remove_folder(outgoing)
        outgoing.mkdir()
        try:
            pack = await self._history.pack(self.base, self.head, outgoing)
            self._history.point({f"refs/podium/published/{self.head}": self.head})
            ours = {self.base, *self._history.names("refs/podium/published")}
            publish(self.made.origin, self.branch, self.head, ours, outgoing / f"pack-{pack}")
        except WorkspaceError as error:
            trouble = f"{error} {error.hint}".strip()
            if trouble not in self.warnings:
                self.warnings.append(trouble)
        remove_folder(outgoing)
        return trouble

    async def _inherited(self, sha: str) -> dict[str, Blob] | None:
        """Import a state of the run that this one was forked from."""
        made = await offload(inherit, self.home, self.made, self._git, sha)
        if made is None:
            return None
        self.made, self.base = made, made.base
        return await self._history.files(sha)

    async def _refuse_ignored(self, changes: Sequence[Change], writes: Sequence[Write]) -> None:
        new = [write.path for write in writes if write.data is not None and write.path not in self.files]
        ignored = await self._history.ignored(new, self.folder) if new else set[str]()
        told = "The repository's .gitignore leaves this path out, so that no commit would hold it."
        refusals = [
            Refusal(index, change.path, change.action, told)
            for index, change in enumerate(changes)
            if (change.new_path or change.path) in ignored
        ]
        if refusals:
            raise ChangeRefusedError(refusals)

    def _write(self, writes: Sequence[Write]) -> None:
        for write in writes:
            if write.data is None:
                self._tree.remove(write.path)
        for write in writes:
            if write.data is not None:
                self._tree.write(write.path, write.data, executable=write.mode == "100755")

    def _after(self, writes: Sequence[Write]) -> dict[str, Blob]:
        sha256 = len(self.base) == 64
        files = dict(self.files)
        for write in writes:
            if write.data is None:
                del files[write.path]
        for write in writes:
            if write.data is not None:
                files[write.path] = Blob(write.mode, blob_name(write.data, sha256=sha256), len(write.data))
        return files

    def _marked(self, state: str, files: dict[str, Blob]) -> None:
        self.state, self.files = state, files


def _clean(message: str) -> str:
    """Return a valid commit message: printable text of at most `MAX_MESSAGE` characters, never empty."""
    kept = "".join(letter for letter in message if letter in "\n\t" or letter.isprintable())
    text = kept.encode("utf-8", "replace").decode().strip()
    return bounded(text or "Podium", MAX_MESSAGE) + "\n"


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
