"""What the cookies of a machine's only user are signed with.

The token in the printed address is made anew at each start. The cookie that a browser got for it should
outlive that: a page that is open while the server is started again goes on by itself. So its secret is kept.

Whoever knows it and reaches the server is the user, and a user may start programs: it is worth more than the
runs. So it does not lie beside the store, which is copied, shared and backed up, and where somebody else
could put one that they know; but in the user's own state folder, one for each store. What is found there is
believed only if nobody else can have read or written it, and not for ever.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import secrets
import stat
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import platformdirs

LONGEST_S = 30 * 24 * 3600
"""A secret that is older is made anew at the next start."""

_SECRET = re.compile(r"[A-Za-z0-9_-]{43}")
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def session_secret(store_url: str, folder: Path | None = None) -> str:
    """The secret for the cookies of a store. Empty where none can be kept for the user alone: then cookies
    live as long as the server."""
    name = hashlib.sha256(store_url.encode("utf-8", "surrogateescape")).hexdigest()[:32]
    try:
        with _own_folder(folder or secrets_folder()) as place:
            return _kept(place, name) or _made(place, name)
    except OSError:  # there is no such folder to be had, or it is somebody else's
        return ""


def secrets_folder() -> Path:
    """Where the secrets of this user lie."""
    return Path(platformdirs.user_state_dir("podium", appauthor=False)) / "sessions"


@contextmanager
def _own_folder(folder: Path) -> Generator[int]:
    """The folder, open and locked, so that two servers that start at once agree; closed to everybody else."""
    folder.mkdir(mode=stat.S_IRWXU, parents=True, exist_ok=True)
    place = os.open(folder, _READ | os.O_DIRECTORY)
    try:
        found = os.fstat(place)
        if found.st_uid != os.geteuid():
            raise PermissionError(f"{folder} is somebody else's")
        if found.st_mode & _OTHERS:
            os.fchmod(place, stat.S_IRWXU)
        fcntl.flock(place, fcntl.LOCK_EX)
        yield place
    finally:
        os.close(place)


def _kept(place: int, name: str) -> str:
    """The secret of a file that only we can have read and written; empty if there is none, or it is old."""
    try:
        file = os.open(name, _READ, dir_fd=place)
    except OSError:  # not there, a link, or closed to us
        return ""
    with os.fdopen(file, "rb") as opened:
        found = os.fstat(file)
        private = found.st_uid == os.geteuid() and not found.st_mode & _OTHERS and found.st_nlink == 1
        if not (stat.S_ISREG(found.st_mode) and private) or time.time() - found.st_mtime > LONGEST_S:
            return ""
        text = opened.read(100).decode("ascii", "replace")
    return text if _SECRET.fullmatch(text) else ""


def _made(place: int, name: str) -> str:
    """A new one, written whole and then put in the place of whatever is there."""
    draft, secret = f"{name}.new", secrets.token_urlsafe(32)
    with suppress(FileNotFoundError):  # of a server that was killed just then
        os.unlink(draft, dir_fd=place)
    with os.fdopen(os.open(draft, _NEW, stat.S_IRUSR | stat.S_IWUSR, dir_fd=place), "w") as file:
        file.write(secret)
    os.replace(draft, name, src_dir_fd=place, dst_dir_fd=place)
    return secret
