"""The workspace of one run: a branch and a work tree of its own, where changes are made and tests run.

What git holds is the truth, not what lies in the work tree: after tests, a crash or a resume the tree is
brought back to the recorded state, so that nothing that a test wrote ever reaches a commit.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path

from podium.errors import ChangeRefusedError, WorkspaceError
from podium.tools.aside import aside
from podium.tools.tool import bounded
from podium.tools.workspace.change import Applied, Caps, Change, FileStat, Refusal
from podium.tools.workspace.checking import checked
from podium.tools.workspace.facts import Made
from podium.tools.workspace.git import Git
from podium.tools.workspace.history import Blob, History, Write
from podium.tools.workspace.inheriting import inherit
from podium.tools.workspace.publishing import publish, refuse_to_publish
from podium.tools.workspace.restoring import Restoring, blob_name, remove_folder
from podium.tools.workspace.tree import WorkTree

MAX_DIFF = 200_000
"""Characters of a diff in a result; the patch of the run holds all of it."""
MAX_MESSAGE = 5_000

_SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class Workspace:
    """Opened by `open_workspace`. One caller at a time."""

    def __init__(self, home: Path, made: Made, git: Git, caps: Caps) -> None:
        self.home = home
        """The run's folder, which holds everything."""
        self.folder = home / "tree"
        """The work tree: what a sandbox is given to run tests in."""
        self.made = made
        self.branch = made.branch
        self.base = made.base
        self.warnings = git.warnings = [*made.warnings, *git.warnings]
        """What the user should be told, in sentences."""
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
        """The user's folder; never written to."""
        return Path(self.made.origin.folder)

    @property
    def is_published(self) -> bool:
        """Whether the branch is left in the user's repository; else the result is the patch."""
        return not refuse_to_publish(self.made.origin)

    async def apply(self, changes: Sequence[Change]) -> Applied:
        """Make all changes, or none: `ChangeRefusedError` names every one that may not be made."""
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
        """The recorded state as a commit of the branch; its name. What tests wrote is not in it."""
        sha = await self._history.commit(self.state, self.head, _clean(message), int(time.time()))
        self._history.point(
            {f"refs/podium/kept/{sha}": sha, f"refs/heads/{self.branch}": sha, "refs/podium/state": sha}
        )
        self.head = self.state = sha
        await self.publish()
        return sha

    async def snapshot(self) -> str:
        """The recorded state, for `restore`; also in the middle of a step."""
        return self.state

    async def restore(self, sha: str) -> None:
        """Bring branch and files back to a commit or snapshot of this run, or of one it was forked from."""
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
        """Bring the files back to the recorded state: what a test run changed, left or planted is gone."""
        await self._restoring.restore(self.files)

    async def diff(self, base: str = "", *, limit: int = MAX_DIFF) -> str:
        """What the recorded state changes since a commit or snapshot; since the beginning by default."""
        return bounded(_text(await self._history.diff(base or self.base, self.state, whole=False)), limit)

    async def stat(self, base: str = "") -> list[FileStat]:
        """The same in numbers, file by file."""
        return await self._history.stat(base or self.base, self.state)

    async def patch(self) -> bytes:
        """Everything since the beginning, for `git apply` or `git am`-like use; binary files too."""
        return await self._history.diff(self.base, self.state, whole=True)

    async def commits(self) -> list[str]:
        """The commits of the run, the oldest first."""
        return await self._history.commits(self.base, self.head)

    async def contents(self, sha: str, paths: Sequence[str]) -> dict[str, bytes]:
        """What files were at a commit or snapshot; those that were not there are left out."""
        files = self.files if sha == self.state else await self._history.files(sha)
        wanted = {path: files[path] for path in paths if files and path in files}
        blobs = await self._history.blobs({blob.sha: blob.size for blob in wanted.values()})
        return {path: blobs[blob.sha] for path, blob in wanted.items()}

    async def publish(self) -> str:
        """Leave the branch in the user's repository; why that could not be, as a sentence."""
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
        """A state of the run that this one is a fork of."""
        made = await aside(inherit, self.home, self.made, self._git, sha)
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
    """A message as git takes it: text, one line first, no control characters, not endless."""
    kept = "".join(letter for letter in message if letter in "\n\t" or letter.isprintable())
    text = kept.encode("utf-8", "replace").decode().strip()
    return bounded(text or "Podium", MAX_MESSAGE) + "\n"


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
