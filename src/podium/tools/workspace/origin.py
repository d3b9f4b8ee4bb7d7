"""Source folder and stored workspace data.

Read by us, file by file, not by git: the settings of a repository can name programs that git would run.
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
    """The root of its repository; the folder itself where it is in none."""
    below: str = ""
    """Where the named folder lies in the repository."""
    git_dir: str = ""
    """Empty: it is in no repository, or in one without a commit."""
    common_dir: str = ""
    """Where objects and branches are; other than `git_dir` in a linked work tree."""
    head: str = ""
    """The commit that is checked out."""
    owned: bool = False
    """Whether the repository says that this folder is its own, so that a branch may be left there."""

    @property
    def object_format(self) -> str:
        return "sha256" if len(self.head) == 64 else "sha1"

    def object_folders(self) -> list[Path]:
        """Every folder that holds objects of the repository, also those it borrows from."""
        found, todo = list[Path](), [Path(self.common_dir) / "objects"]
        while todo and len(found) < MAX_ALTERNATES:
            folder = todo.pop(0)
            if folder in found or not _holds_objects(folder):
                continue
            found.append(folder)
            lines = _text(folder / "info" / "alternates").splitlines()
            todo += [(folder / line).resolve() for line in lines if line and not line.startswith("#")]
        return found


def find_origin(folder: Path) -> Origin:
    """The folder and its repository, or a `UsageError` when it cannot be worked on."""
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
    """The repository that a `.git` file names, and whether that one knows of it.

    Anybody can write such a file; only a repository that points back is one to leave a branch in.
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
    """A list of folders can name any; one that holds no objects need not be shown to git."""
    return (folder / "pack").is_dir() or (folder / "info").is_dir()


def _is_git_dir(folder: Path) -> bool:
    objects = (folder / "objects").is_dir() or (folder / "commondir").is_file()
    return objects and (folder / "HEAD").is_file()


def _resolve(git_dir: Path, common: Path) -> str:
    """The commit of HEAD; empty before the first one."""
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
    """What a branch points at; empty if there is none of that name."""
    loose = _text(common / name).strip()
    if loose:
        return loose
    for line in _text(common / "packed-refs").splitlines():
        value, _, packed = line.partition(" ")
        if packed.strip() == name:
            return value
    return ""


def _text(file: Path) -> str:
    """A small file's text; empty if it is not there or no regular file."""
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
    """How a workspace was made."""

    run_id: str
    origin: Origin
    branch: str
    base: str
    """The commit that it began with."""
    warnings: list[str] = []


def has_facts(home: Path) -> bool:
    """A workspace without its facts was not finished, and is made again."""
    return (home / NAME).is_file()


def write_facts(home: Path, made: WorkspaceRecord) -> None:
    """In one move; last of all when a workspace is made."""
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
