"""Log and commits of the project, for a coder.

The private repository holds the commits of the run and, without its history, the commit it started from.
Older commits are read from the objects of the user's repository, if they are still there. Git runs in the
sandbox and sees these objects only: no setting of the user's repository is read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from podium.errors import WorkspaceError
from podium.tools.folder import SECRET_FILES
from podium.tools.openat_walk import printable
from podium.tools.sandbox.tier import Executed
from podium.tools.tool import ToolError
from podium.tools.workspace.change import path_trouble
from podium.tools.workspace.git import Git, listed_folder
from podium.tools.workspace.origin import WorkspaceRecord
from podium.tools.workspace.tree import WorkTree

MAX_COMMITS = 200
MAX_SHOWN = 40_000
_ROOM = 200
"""Characters reserved for notes."""
_MAX_SHALLOW = 1_000_000
_SHORT = re.compile(r"[0-9a-f]{4,64}")
_PLAIN = ("--no-color", "--no-decorate", "--no-show-signature", "--no-notes", "--no-mailmap", "--date=short")
_PATCH = ("-p", "-M", "--stat", "--no-ext-diff", "--no-textconv", "--format=commit %H%nDate: %ad%n%n%B")


class ProjectHistory:
    """Reads commits of the project and of the run."""

    def __init__(self, git: Git, made: WorkspaceRecord) -> None:
        self._git, self._made = git, made

    async def log(self, head: str, path: str, count: int, skip: int) -> str:
        """Return one line per commit, newest first: short hash, date and subject."""
        count, skip = max(1, min(count, MAX_COMMITS)), max(0, skip)
        words = ["log", *_PLAIN, f"--skip={skip}", f"-{count + 1}", "--format=%H %h %ad %s", head]
        done, ends = await self._read(words, _pathspec(path))
        rows = [line.split(" ", 1) for line in done.stdout.splitlines() if " " in line]
        lines = [printable(row[1])[:300] for row in rows[:count]]
        if len(rows) > count:
            lines.append(f"[older commits follow: skip {skip + count}]")
        elif not path and rows and rows[-1][0] in ends:
            lines.append("[the history before this commit is not available here]")
        elif path and ends:
            lines.append("[commits that are not available here may have changed it as well]")
        return "\n".join(lines) or "No commits."

    async def show(self, sha: str, path: str, offset: int, limit: int) -> str:
        """Return a commit's message, statistics and patch, `limit` characters at most with a note on how to
        read on. Files whose names look like secrets are left out."""
        if not _SHORT.fullmatch(sha):
            raise ToolError(f"{printable(sha)[:80]} is not the hash of a commit.")
        commit = f"{sha}^{{commit}}"
        found, ends = await self._read(["rev-parse", "--verify", "--quiet", "--end-of-options", commit])
        full = found.stdout.strip()
        if not full:
            raise ToolError(f"There is no commit {sha} here.")
        if full in ends:
            done, _ = await self._read(["log", *_PLAIN, "-1", "--format=commit %H%nDate: %ad%n%n%B", full])
            note = "[the commit before it is not available here, so there is no patch]"
            return _part(f"{done.stdout.strip()}\n{note}", offset, limit)
        secrets = [f":(exclude,glob,icase)**/{pattern}" for pattern in SECRET_FILES]
        done, _ = await self._read(["show", *_PLAIN, *_PATCH, full], [*(_pathspec(path) or [":/"]), *secrets])
        return _part(done.stdout, offset, limit)

    async def _read(self, words: Sequence[str], paths: Sequence[str] = ()) -> tuple[Executed, set[str]]:
        """Run git with the user's objects, or else without them; return its result and the commits whose
        parents are missing."""
        words = [*words, *(["--", *paths] if paths else [])]
        folders = self._made.origin.object_folders() if self._made.origin.head else []
        if folders:
            ends = _shallow_commits(Path(self._made.origin.common_dir))
            place = self._git.folder / "shallow"
            place.write_text("".join(f"{sha}\n" for sha in sorted(ends)), encoding="ascii")
            env = {
                "GIT_ALTERNATE_OBJECT_DIRECTORIES": ":".join(map(listed_folder, folders)),
                "GIT_SHALLOW_FILE": str(place),
            }
            done = await self._git.execute(*words, readable=folders, env=env)
            if done.ok:
                return done, ends
        ends = _shallow_commits(self._git.dir)
        done = await self._git.execute(*words)
        if not done.ok and words[0] != "rev-parse":
            raise WorkspaceError(f"`git {words[0]}` failed in the workspace: exit code {done.exit_code}.")
        return done, ends


def _pathspec(path: str) -> list[str]:
    if not path:
        return []
    if trouble := path_trouble(path.rstrip("/")):
        raise ToolError(trouble)
    return [f":(top,literal){path.rstrip('/')}"]


def _shallow_commits(folder: Path) -> set[str]:
    """Return the commits of a repository whose parents it does not hold."""
    try:
        text = WorkTree(folder).read("shallow", _MAX_SHALLOW).decode("ascii", "replace")
    except (OSError, WorkspaceError):  # none, or not a plain file
        return set()
    return {line for line in text.split() if re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", line)}


def _part(text: str, offset: int, limit: int) -> str:
    """Return the text from `offset`, with a note on how to read on."""
    if offset and offset >= len(text):
        raise ToolError(f"There are only {len(text):,} characters.")
    start = max(0, offset)
    end = start + max(limit, 2 * _ROOM) - _ROOM
    if end >= len(text):
        return text[start:]
    return f"{text[start:end]}\n[{len(text) - end:,} characters follow: offset {end}, or name a path]"
