"""Source folder and stored workspace data.

The repository is read directly, file by file, not by git: its settings can name programs that git would run.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import msgspec

from podium.errors import UsageError, WorkspaceError
from podium.settings.places import named

MAX_REF_FILE = 10_000_000
MAX_ALTERNATES = 16
_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class Origin(msgspec.Struct, frozen=True):
    """A folder that a user named."""

    folder: str
    """Root of its repository; the folder itself if it is in none."""
    below: str = ""
    """Path of the named folder inside the repository; empty for its root."""
    git_dir: str = ""
    """Empty if it is in no repository, or in one without a commit."""
    common_dir: str = ""
    """Folder of objects and branches; differs from `git_dir` in a linked work tree."""
    head: str = ""
    """The commit that is checked out."""
    owned: bool = False
    """True if the repository confirms that this folder is its work tree, so that a branch may be written
    there."""

    @property
    def object_format(self) -> str:
        return "sha256" if len(self.head) == 64 else "sha1"

    def object_folders(self) -> list[Path]:
        """Return every object folder of the repository, including its alternates."""
        folders, todo = list[Path](), [Path(self.common_dir) / "objects"]
        while todo and len(folders) < MAX_ALTERNATES:
            folder = todo.pop(0)
            if folder in folders or not _holds_objects(folder):
                continue
            folders.append(folder)
            lines = _text(folder / "info" / "alternates").splitlines()
            todo += [(folder / line).resolve() for line in lines if line and not line.startswith("#")]
        return folders


def find_origin(folder: Path) -> Origin:
    """Find the folder's repository, or raise a `UsageError` if it cannot be worked on."""
    start = named(folder).resolve()
    if not start.is_dir():
        raise UsageError(f"There is no folder {folder} to work on.", hint="Give --workspace a folder.")
    if _is_git_dir(start):
        raise UsageError(
            f"{folder} is a repository without files.", hint="Give --workspace a checkout of it."
        )
    for place in (start, *start.parents):
        if (place / ".git").exists():
            return _in_repository(place, start)
    return Origin(str(start))


def _in_repository(root: Path, start: Path) -> Origin:
    mark = root / ".git"
    git_dir, owned = (mark, True) if mark.is_dir() else _linked(mark)
    if not _is_git_dir(git_dir):
        raise WorkspaceError(
            f"{mark} is not a repository of git.", hint="Repair it, or give --workspace another folder."
        )
    named = _text(git_dir / "commondir").strip()
    common = (git_dir / named).resolve() if named else git_dir
    head = _resolve(git_dir, common)
    if not head:
        return Origin(str(start))
    below = start.relative_to(root).as_posix()
    return Origin(str(root), "" if below == "." else below, str(git_dir), str(common), head, owned=owned)


def _linked(mark: Path) -> tuple[Path, bool]:
    """Return the repository that a `.git` file names, and whether that repository links back to it.

    Such a file can name any repository; a branch is written only to one that points back.
    """
    text = _text(mark)
    if not text.startswith("gitdir:"):
        raise WorkspaceError(
            f"{mark} does not say where its repository is.",
            hint="Repair it, or give --workspace another folder.",
        )
    git_dir = (mark.parent / text.removeprefix("gitdir:").strip()).resolve()
    back = _text(git_dir / "gitdir").strip()
    return git_dir, bool(back) and (git_dir / back).resolve() == mark.resolve()


def _holds_objects(folder: Path) -> bool:
    """Return True if the folder holds git objects. An alternates file can name any folder; others are not
    shown to git."""
    return (folder / "pack").is_dir() or (folder / "info").is_dir()


def _is_git_dir(folder: Path) -> bool:
    objects = (folder / "objects").is_dir() or (folder / "commondir").is_file()
    return objects and (folder / "HEAD").is_file()


def _resolve(git_dir: Path, common: Path) -> str:
    """Return the commit of HEAD; empty before the first commit."""
    value = _text(git_dir / "HEAD").strip()
    for _ in range(5):
        if _HASH.fullmatch(value):
            return value
        name = value.removeprefix("ref:").strip()
        if not value.startswith("ref:") or ".." in name or not name.startswith("refs/"):
            break
        value = read_ref(common, name)
        if not value:
            return ""
    raise WorkspaceError("What is checked out in the repository cannot be read: HEAD is not a commit.")


def read_ref(common: Path, name: str) -> str:
    """Return the hash that a branch points at; empty if it does not exist."""
    loose = _text(common / name).strip()
    if loose:
        return loose
    for line in _text(common / "packed-refs").splitlines():
        value, _, packed = line.partition(" ")
        if packed.strip() == name:
            return value
    return ""


def _text(file: Path) -> str:
    """Return a small file's text; empty if it does not exist, is not a regular file or is too large."""
    try:
        if not file.is_file() or file.stat().st_size > MAX_REF_FILE:
            return ""
        return file.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise WorkspaceError(
            f"{str(file)[:300]} cannot be read: {error.strerror}.", hint="Repair it, or name another folder."
        ) from error


NAME = "workspace.json"


class WorkspaceRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Stored data about how a workspace was made."""

    run_id: str
    origin: Origin
    branch: str
    base: str
    """The commit it started from."""
    warnings: list[str] = []


def has_facts(home: Path) -> bool:
    """Return True if the workspace is complete; without this file it is made again."""
    return (home / NAME).is_file()


def write_facts(home: Path, made: WorkspaceRecord) -> None:
    """Write atomically; the last step of making a workspace."""
    beside = home / f"{NAME}.new"
    with beside.open("wb") as file:
        file.write(msgspec.json.encode(made))
        file.flush()
        os.fsync(file.fileno())
    beside.replace(home / NAME)


def read_facts(home: Path) -> WorkspaceRecord:
    try:
        return msgspec.json.decode((home / NAME).read_bytes(), type=WorkspaceRecord)
    except (msgspec.MsgspecError, OSError) as error:
        raise WorkspaceError(
            f"The workspace in {home} cannot be read: {error}.", hint="Start the run anew."
        ) from error
