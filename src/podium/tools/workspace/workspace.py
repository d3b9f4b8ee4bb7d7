"""Workspace and restore.

The private repository is authoritative, not the work tree: after tests, a crash or a resume the tree is reset
to the recorded state, so that nothing a test wrote ever reaches a commit.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Sequence
from pathlib import Path

from podium.engine.process import offload
from podium.errors import ChangeRefusedError, WorkspaceError
from podium.tools.tool import bounded
from podium.tools.workspace.change import Applied, Caps, Change, FileStat, Refusal
from podium.tools.workspace.edits import checked
from podium.tools.workspace.git import PROGRAM, Blob, Git, History, Write
from podium.tools.workspace.origin import WorkspaceRecord
from podium.tools.workspace.project_history import MAX_SHOWN, ProjectHistory
from podium.tools.workspace.snapshots import Restoring, blob_name, collect, remove_folder
from podium.tools.workspace.transfer import inherit, publish, refuse_to_publish
from podium.tools.workspace.tree import WorkTree

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
        self._project = ProjectHistory(git, made)
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
        self.state, self.files = after, self._after(writes)
        return await self._applied(before)

    async def keep_changes(self, *, leave: Collection[str] = ()) -> Applied:
        """Record what a program changed in the work tree as a new snapshot, and remove everything else.

        The program must have ended. Only files that git would track are kept, with the path rules and caps of
        `apply`; a link must lead to a file of the tree. `warnings` names what was not kept. Paths in `leave`
        are removed without a warning.
        """
        before = self.state
        try:
            found = await self._restoring.compare(self.files, leave)
            new = [entry.path for entry in found.changed if entry.path not in self.files]
            ignored = await self._history.ignored(new, self.folder) if new else set[str]()
            kept = await offload(collect, found, ignored, self.files, self._tree, self._caps)
            if kept.writes:
                self.state = await self._history.record(before, self.head, kept.writes)
                self.files = self._after(kept.writes)
        finally:
            await self.reset()
        return await self._applied(before, kept.warnings)

    async def _applied(self, before: str, warnings: Sequence[str] = ()) -> Applied:
        if self.state == before:
            return Applied(before, [], warnings=list(warnings))
        stat = await self._history.stat(before, self.state)
        diff = await self._history.diff(before, self.state, whole=False)
        return Applied(self.state, stat, bounded(_text(diff), MAX_DIFF), list(warnings))

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

    async def restore(self, sha: str) -> None:
        """Restore branch and files to a commit or snapshot of this run, or of one it was forked from."""
        files = await self._history.files(sha) if _SHA.fullmatch(sha) else None
        if files is None and _SHA.fullmatch(sha):
            files = await self._inherited(sha)
        if files is None:
            raise WorkspaceError(
                f"The workspace of this run has no state {sha[:12]}.",
                hint="It was removed (`podium workspaces`), or changed by others. Start a new run.",
            )
        head = self._history.pointed(f"refs/podium/heads/{sha}") or sha
        self._history.point({f"refs/heads/{self.branch}": head, "refs/podium/state": sha})
        self.head, self.state, self.files = head, sha, files
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

    async def log(self, path: str = "", count: int = 20, *, skip: int = 0) -> str:
        """Return the commits of the project and the run, newest first: short hash, date and subject. Raises a
        `ToolError` if the path is refused."""
        return await self._project.log(self.head, path, count, skip)

    async def show(self, sha: str, path: str = "", *, offset: int = 0, limit: int = MAX_SHOWN) -> str:
        """Return a commit's message and patch, limited, with a note on how to read on. Raises a `ToolError`
        if there is no such commit."""
        return await self._project.show(sha, path, offset, limit)

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
        reason = "The repository's .gitignore leaves this path out, so that no commit would hold it."
        refusals = [
            Refusal(index, change.path, change.action, reason)
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
                self._tree.write(write.path, write.data, executable=write.mode == PROGRAM)

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


def _clean(message: str) -> str:
    """Return a valid commit message: printable text of at most `MAX_MESSAGE` characters, never empty."""
    printable = "".join(letter for letter in message if letter in "\n\t" or letter.isprintable())
    text = printable.encode("utf-8", "replace").decode().strip()
    return bounded(text or "Podium", MAX_MESSAGE) + "\n"


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
