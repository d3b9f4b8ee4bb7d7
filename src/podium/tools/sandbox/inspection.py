"""Inspection of the folders that a program may write, before it starts and after it has ended.

Files that a program leaves behind are later read, copied, deleted and handed over, possibly by root. So
set-id bits, capabilities, device files, pipes, sockets and hard links to files outside are removed, and each
finding is reported.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from podium.errors import SandboxUnavailableError, UsageError
from podium.tools.openat_walk import (
    MAX_DEPTH,
    Visit,
    descended,
    enter_folder,
    open_folder,
    open_root,
    printable,
    remove_entry,
    set_mode,
    visit_folders,
)
from podium.tools.sandbox.inside.processes import disk_bytes

Identity = tuple[int, int]
"""Device and inode number."""

NAMED = 3
"""Number of paths that a warning names."""

_SET_ID, _OTHERS_WRITE, _OWNER = 0o6000, 0o002, 0o700
_CLOCK_SLACK = 2_000_000_000
"""Nanoseconds by which a ctime may lie before the clock's time."""

_SENTENCES = {
    "set-id": "The setuid or setgid bit was removed from {}.",
    "attributes": "Capabilities or access lists were removed from {}.",
    "special": "Pipes, sockets or device files that a program left were removed: {}.",
    "everybody": "The right of every user to write was removed from {}.",
    "closed": "Folders that a program had closed to their owner were opened: {}.",
    "deep": f"Folders nested deeper than {MAX_DEPTH} levels were removed: {{}}.",
    "outside": "Hard links to files outside the workspace were replaced by copies: {}.",
    "lost": "Hard links to files outside the workspace were removed: {}.",
}
_ATTRIBUTES = ("security.capability", "system.posix_acl_access", "system.posix_acl_default")


class Special(msgspec.Struct, frozen=True):
    """A pipe, a socket or a device file."""

    path: str
    """Its absolute path."""
    is_socket: bool


class Contents(msgspec.Struct):
    """The result of inspecting the writable folders."""

    began: int = 0
    """Start of the inspection, in nanoseconds since the epoch."""
    files: int = 0
    """Number of directory entries of any kind."""
    whole_bytes: int = 0
    """Bytes on disk in the workspace."""
    grown_bytes: int = 0
    """Bytes on disk in the other writable folders."""
    special: list[Special] = []
    known: set[Identity] = set()
    """Inodes that are left as they are: special files, folders closed to their owner, world-writable
    entries."""
    setgid_roots: set[Identity] = set()
    """Writable folders with the setgid bit, whose group is inherited; folders below may have the bit too."""
    warnings: list[str] = []


def inspect_folders(
    whole: Sequence[Path], grown: Sequence[Path], max_copied: int, before: Contents | None = None
) -> Contents:
    """Inspect the folders before a program starts or, with the result of that, after it has ended.

    Before, special files are listed, not removed: they are not the program's. Files with a hard link outside
    are replaced by copies, so that programs change only the copies. After, what the program left is
    neutralized.
    """
    try:
        return _Inspection(max_copied, before).run(whole, grown)
    except OSError as error:
        raise SandboxUnavailableError(
            f"The folders that programs may write could not be inspected: {error}.",
            hint="Check who owns what is in them, or use a copy.",
        ) from error


class _Inspection:
    """One walk over all writable folders."""

    def __init__(self, max_copied: int, before: Contents | None) -> None:
        self._before = before
        self._max_copied = max_copied
        self._contents = Contents(began=time.time_ns())
        self._findings: dict[str, list[str]] = {}
        self._visited: set[Identity] = set()
        self._linked: dict[Identity, tuple[os.stat_result, list[tuple[Path, str]]]] = {}
        self._hands_on_group = False

    def run(self, whole: Sequence[Path], grown: Sequence[Path]) -> Contents:
        for folder in whole:
            self._contents.whole_bytes += self._inspect(folder)
        for folder in grown:
            self._contents.grown_bytes += self._inspect(folder)
        self._separate()
        self._contents.warnings = [
            _SENTENCES[kind].format(_named(paths)) for kind, paths in self._findings.items()
        ]
        return self._contents

    def _inspect(self, folder: Path) -> int:
        """Inspect one folder; return its bytes on disk."""
        try:
            root = open_root(folder)
        except FileNotFoundError:  # removed by the program
            return 0
        try:
            info = os.fstat(root)
            self._hands_on_group = self._may_hand_on_group(info)
            self._check_mode("", root, info, str(folder))
            return sum(self._visit(folder, visit) for visit in visit_folders(root, self._enter))
        finally:
            os.close(root)

    def _may_hand_on_group(self, info: os.stat_result) -> bool:
        if self._before is not None:
            return _identity(info) in self._before.setgid_roots
        if info.st_mode & stat.S_ISGID:
            self._contents.setgid_roots.add(_identity(info))
        return bool(info.st_mode & stat.S_ISGID)

    def _enter(self, name: str, handle: int) -> int | None:
        """Open a folder; return None if it was already visited through another writable folder, or was
        inaccessible before."""
        identity = _identity(os.stat(name, dir_fd=handle, follow_symlinks=False))
        if identity in self._visited:
            return None
        if self._before is not None and identity not in self._before.known:
            return enter_folder(name, handle)
        try:
            return open_folder(name, handle)
        except PermissionError:  # inaccessible before the program started, so for the program too
            return None

    def _visit(self, folder: Path, visit: Visit) -> int:
        """Inspect the entries of a folder, without subfolders; return their bytes on disk."""
        self._visited.add(_identity(os.fstat(visit.handle)))
        total, odd = 0, _SET_ID | _OTHERS_WRITE
        for entry in visit.entries:
            try:
                info = entry.stat(follow_symlinks=False)
            except FileNotFoundError:  # removed by another program of the user
                continue
            total += disk_bytes(info)
            self._contents.files += 1
            is_file = stat.S_ISREG(info.st_mode)
            if is_file and info.st_nlink == 1 and not info.st_mode & odd and not self._is_new(info):
                continue  # most files need no further check
            if is_file and info.st_nlink > 1:
                names = self._linked.setdefault(_identity(info), (info, []))[1]
                names.append((folder, visit.path + entry.name))
            elif is_file or stat.S_ISDIR(info.st_mode):
                self._check(entry.name, info, visit)
            elif not stat.S_ISLNK(info.st_mode):
                self._check_special(entry.name, info, folder, visit)
        return total

    def _check(self, name: str, info: os.stat_result, visit: Visit) -> None:
        path = visit.path + name
        if visit.is_deepest and stat.S_ISDIR(info.st_mode) and self._before is not None:
            remove_entry(name, visit.handle)
            self._report("deep", path)
        else:
            self._check_mode(name, visit.handle, info, path)
            self._check_attributes(name, visit.handle, info, path)

    def _check_special(self, name: str, info: os.stat_result, folder: Path, visit: Visit) -> None:
        if self._before is None:
            path = str(folder / f"{visit.path}{name}")
            self._contents.special.append(Special(path, stat.S_ISSOCK(info.st_mode)))
            self._contents.known.add(_identity(info))
        elif _identity(info) not in self._before.known:
            remove_entry(name, visit.handle)
            self._report("special", visit.path + name)

    def _check_mode(self, name: str, handle: int, info: os.stat_result, path: str) -> None:
        """Correct the mode of a file or folder; an empty name means the folder of the handle itself."""
        is_folder, mode = stat.S_ISDIR(info.st_mode), stat.S_IMODE(info.st_mode)
        allowed = stat.S_ISGID if is_folder and self._hands_on_group else 0
        wanted, kinds = mode & ~(_SET_ID & ~allowed), list[str]()
        if wanted != mode:
            kinds.append("set-id")
        for_all, closed = bool(mode & _OTHERS_WRITE), is_folder and mode & _OWNER != _OWNER
        if self._before is None and (for_all or closed):
            self._contents.known.add(_identity(info))
        elif self._before is not None and _identity(info) not in self._before.known:
            kinds += [*(["everybody"] if for_all else []), *(["closed"] if closed else [])]
            wanted = (wanted & ~_OTHERS_WRITE) | (_OWNER if is_folder else 0)
        if wanted == mode or os.geteuid() not in (0, info.st_uid):  # another user's: not from our program
            return
        if name:
            set_mode(name, wanted, handle)
        else:
            os.fchmod(handle, wanted)
        for kind in kinds:
            self._report(kind, path)

    def _is_new(self, info: os.stat_result) -> bool:
        """Return True if it may have changed since the program was started."""
        return self._before is not None and info.st_ctime_ns >= self._before.began - _CLOCK_SLACK

    def _check_attributes(self, name: str, handle: int, info: os.stat_result, path: str) -> None:
        """Remove capabilities and ACLs from what has changed since the program was started."""
        if not self._is_new(info) or sys.platform != "linux":
            return
        place = f"/proc/self/fd/{handle}/{name}"
        try:
            present = [name for name in os.listxattr(place, follow_symlinks=False) if name in _ATTRIBUTES]
        except OSError:  # a file system without attributes
            return
        for attribute in present:
            os.removexattr(place, attribute, follow_symlinks=False)
        if present:
            self._report("attributes", path)

    def _separate(self) -> None:
        """Replace files that have a hard link outside by copies; check the other files with several links."""
        outside = [group for group in self._linked.values() if group[0].st_nlink > len(group[1])]
        size = sum(info.st_size * len(names) for info, names in outside)
        if size > self._max_copied and self._before is None:
            folder, path = outside[0][1][0]
            raise UsageError(
                f"{folder} holds hard links to files outside, such as {printable(path)}, of {size:,} bytes.",
                hint="Copy the folder (`cp -r`) and use the copy: a program would change the files outside.",
            )
        for info, names in self._linked.values():
            is_outside = info.st_nlink > len(names)
            for folder, path in names if is_outside else names[:1]:
                *folders, name = path.split("/")
                with descended(open_root(folder), folders, open_folder) as handle:
                    if not is_outside:
                        self._check_mode(name, handle, info, path)
                        self._check_attributes(name, handle, info, path)
                    elif size > self._max_copied:
                        os.unlink(name, dir_fd=handle)
                        self._report("lost", path)
                    else:
                        _replace_by_copy(name, handle)
                        self._report("outside", path)

    def _report(self, kind: str, path: str) -> None:
        self._findings.setdefault(kind, []).append(path)


def _identity(info: os.stat_result) -> Identity:
    return info.st_dev, info.st_ino


def _replace_by_copy(name: str, handle: int) -> None:
    """Replace a file by a copy with the same owner, times and mode, but without set-id bits."""
    beside = f".podium-{secrets.token_hex(8)}"
    reading = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with os.fdopen(os.open(name, reading, dir_fd=handle), "rb") as old:
        info = os.fstat(old.fileno())
        making = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with os.fdopen(os.open(beside, making, 0o600, dir_fd=handle), "wb") as new:
            try:
                shutil.copyfileobj(old, new)
                new.flush()
                if os.geteuid() == 0:
                    os.fchown(new.fileno(), info.st_uid, info.st_gid)
                os.fchmod(new.fileno(), stat.S_IMODE(info.st_mode) & ~_SET_ID)
                os.utime(new.fileno(), ns=(info.st_atime_ns, info.st_mtime_ns))
                os.rename(beside, name, src_dir_fd=handle, dst_dir_fd=handle)
            except OSError:
                os.unlink(beside, dir_fd=handle)
                raise


def _named(paths: Sequence[str]) -> str:
    """Return the first few paths and the number of the others."""
    more = f" and {len(paths) - NAMED:,} more" if len(paths) > NAMED else ""
    return ", ".join(printable(path)[:200] for path in paths[:NAMED]) + more
