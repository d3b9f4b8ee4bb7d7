"""Sandbox, scratch folder, spare uid, result files.

Limits on processes do not hold for root, and root's files are root's own: so root's sandboxes run as somebody
else, each execution as another. How the workspace stays writable for that somebody is in `inside/drop.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import itertools
import os
import signal
import stat
import tempfile
import time
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path, PurePosixPath

import msgspec

from podium.engine.process import offload
from podium.errors import ResultRefusedError, SandboxUnavailableError
from podium.tools.openat_walk import NO_LINKS, descended, open_root, remove_entry
from podium.tools.sandbox.execution import Execution, Watched, settled
from podium.tools.sandbox.inspection import Contents, inspect_after, inspect_before
from podium.tools.sandbox.tier import (
    Executed,
    Mount,
    SandboxJob,
    SandboxLimits,
    Tier,
    anchored,
    folder_mounts,
    interpreter_folders,
    place_inside,
    search_path,
)

HOME = "/tmp/home"
"""The home folder inside; empty at each start."""

PREFIX = "podium-sandbox-"
_LOCK = "lock"
_YOUNG_S = 60.0
"""One that is younger may not have its lock yet."""

_FILES = {
    "passwd": f"root:x:0:0:root:/:/bin/false\npodium:x:1000:1000:podium:{HOME}:/bin/sh\n"
    "nobody:x:65534:65534:nobody:/:/bin/false\n",
    "group": "root:x:0:\npodium:x:1000:\nnogroup:x:65534:\n",
    "hosts": "127.0.0.1 localhost sandbox\n",
}
_FOLDERS = ("tmp", "tmp/home", "shm")
MASK = "mask"
"""An empty file that covers what a program must not reach."""

ENTRIES = len(_FILES) + len(_FOLDERS) + len((_LOCK, MASK))
"""Files and folders in a fresh one."""


@contextlib.contextmanager
def scratch_folder() -> Generator[Path]:
    """A fresh one, removed at the end whatever a program left in it."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    lock = _locked(folder)
    try:
        folder.chmod(0o711)  # a spare user has to pass; what lies in it is closed to others
        for name in _FOLDERS:
            (folder / name).mkdir(mode=0o700)
        (folder / MASK).touch(mode=0)
        for name, text in _FILES.items():
            (folder / name).write_text(text, encoding="ascii")
        yield folder
    finally:
        with contextlib.suppress(
            OSError
        ):  # a process that is just being ended holds it: `sweep_up` removes it
            _remove(folder)
        os.close(lock)


def clear(scratch: Path) -> None:
    """Remove the temporary files of a program that has ended."""
    for name in ("tmp", "shm"):
        with contextlib.suppress(OSError):  # as above
            _remove(scratch / name)


def sweep_up(young: float = _YOUNG_S) -> None:
    """Remove what processes that were killed left behind: the kernel has let go of their locks."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # somebody else's, in use, or gone meanwhile
            found = folder.lstat()
            if found.st_uid == os.geteuid() and time.time() - found.st_ctime > young:
                lock = _locked(folder)
                _remove(folder)
                os.close(lock)


def _locked(folder: Path) -> int:
    """A descriptor that holds the folder's lock; `BlockingIOError` if another process has it."""
    lock = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise
    return lock


def _remove(folder: Path) -> None:
    """Remove it with whatever a program left in it."""
    holder = open_root(folder.parent)
    try:
        remove_entry(folder.name, holder)
    finally:
        os.close(holder)


_HIGH, _LOW = (1_800_000_000, 50_000), (58_000, 1_000)
"""Where spare ids begin and how many there are; the low ones for containers that have only 65,536."""

_counter = itertools.count()


def spare_id() -> int | None:
    """An id for the next execution; `None` if this process is not root and stays who it is."""
    if os.geteuid() != 0:
        return None
    first, count = _HIGH if _mapped(_HIGH[0] + _HIGH[1]) else _LOW
    return first + (os.getpid() * 64 + next(_counter)) % count


def _mapped(identity: int) -> bool:
    """Whether this container's root may use that id."""
    try:
        lines = Path("/proc/self/uid_map").read_text(encoding="ascii").splitlines()
    except OSError:  # no user namespaces in this kernel: all ids are there
        return True
    extents = [tuple(map(int, line.split())) for line in lines]
    return any(inside <= identity < inside + count for inside, _, count in extents)


INSTALL = "Install bubblewrap (`apt-get install bubblewrap`), or see `podium doctor`."


class Sandbox:
    """Made by `open_sandbox`, which has tried it out."""

    def __init__(
        self, tier: Tier, reason: str, *, limits: SandboxLimits | None = None, readable: Sequence[Path] = ()
    ) -> None:
        self._tier = tier
        self._limits = limits or SandboxLimits()
        self._readable = [*interpreter_folders(), *readable]
        self.reason = reason
        """Why it is this tier, in one sentence for a person."""

    @property
    def tier(self) -> str:
        """`bubblewrap`, `landlock`, or `none` if somebody allowed that."""
        return self._tier.name

    @property
    def limits(self) -> SandboxLimits:
        """What holds where a call does not say otherwise, from the settings."""
        return self._limits

    @property
    def warning(self) -> str:
        """What the caller has to log and show; empty when programs are really shut in."""
        return self.reason if self.tier == "none" else ""

    async def run(
        self,
        argv: Sequence[str],
        *,
        folder: Path,
        cwd: str = ".",
        writable: bool = True,
        readable: Sequence[Path] = (),
        also_writable: Sequence[Path] = (),
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        limits: SandboxLimits | None = None,
    ) -> Executed:
        """Run a program to its end, or to the first limit that it passes.

        It sees the system, the Python that runs Podium, `folder` at its own place, and what else is named;
        of the environment only `env`. Cancelling the task that awaits this ends everything at once.
        """
        if not argv:
            raise ValueError("there is nothing to run")
        if reason := self._tier.check():
            raise SandboxUnavailableError(reason, hint=INSTALL)
        folder, *also_writable = map(anchored, (folder, *also_writable))
        seen, most = [*self._readable, *readable], limits or self._limits
        mounts = folder_mounts(folder, writable=writable, readable=seen, also_writable=also_writable)
        whole = [folder] if writable else []
        with scratch_folder() as scratch:
            before = await offload(inspect_before, whole, also_writable, most.workspace_bytes)
            job = SandboxJob(
                argv=tuple(map(str, argv)),
                start=place_inside(folder, cwd),
                mounts=mounts,
                scratch=scratch,
                env={**_environment(seen), **(env or {})},
                limits=most,
                special=before.special,
                spare=spare_id(),
            )
            watched = Watched(
                folders=[*map(str, whole), str(scratch)],
                grown=list(map(str, also_writable)),
                grown_before=before.grown_bytes,
                files_before=before.files + ENTRIES + _own_entries(mounts),
            )
            execution = Execution(job, self._tier.launch(job), self.tier)
            try:
                done = await execution.finish(stdin, watched)
            finally:
                after = await _secured(scratch, whole, also_writable, most, before)
        return _judged(done, most, before, after)


def _own_entries(mounts: Sequence[Mount]) -> int:
    """Entries that the sandbox itself may make: folders on the way to what is mounted below /tmp, and the
    file in memory that holds the filter of system calls."""
    temporary = Path("/tmp")
    targets = [Path(mount.target) for mount in mounts if Path(mount.target).is_relative_to(temporary)]
    ways = {way for target in targets for way in (target, *target.parents) if way.is_relative_to(temporary)}
    return len(ways - {temporary}) + 1


async def _secured(
    scratch: Path, whole: Sequence[Path], grown: Sequence[Path], limits: SandboxLimits, before: Contents
) -> Contents:
    """Clear and inspect what a program could write; a cancel waits until that is done."""

    def secure() -> Contents:
        clear(scratch)  # first: hard links into it would look like links to files outside
        return inspect_after(whole, grown, limits.workspace_bytes, before)

    task = asyncio.ensure_future(offload(secure))
    if cancelled := await settled(task):
        raise cancelled
    return task.result()


def _judged(done: Executed, limits: SandboxLimits, before: Contents, after: Contents) -> Executed:
    """Add to the result what the inspections found; a short program may have passed a limit unwatched."""
    stopped = done.stopped_by
    grown = after.grown_bytes - before.grown_bytes
    written = after.whole_bytes - before.whole_bytes + grown
    if not stopped and after.files - before.files > limits.files:
        stopped = "files"
    elif not stopped and written > 0 and after.whole_bytes + grown > limits.workspace_bytes:
        stopped = "workspace"
    code = 128 + signal.SIGKILL if stopped else done.exit_code
    warnings = tuple(dict.fromkeys((*before.warnings, *after.warnings)))
    return msgspec.structs.replace(done, stopped_by=stopped, exit_code=code, warnings=warnings)


def _environment(readable: Sequence[Path]) -> dict[str, str]:
    """The whole environment inside: nothing of the user's but the language and where programs are found."""
    return {
        "PATH": search_path(readable),
        "HOME": HOME,
        "TMPDIR": "/tmp",
        "USER": "podium",
        "LOGNAME": "podium",
        "SHELL": "/bin/sh",
        "LANG": os.environ.get("LANG", "C.UTF-8") or "C.UTF-8",
        "TERM": "dumb",
        "PYTHONDONTWRITEBYTECODE": "1",
        "NO_COLOR": "1",
        "GIT_CONFIG_NOSYSTEM": "1",
    }


_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def read_result(folder: Path, path: str, *, max_bytes: int = 10_000_000) -> bytes:
    """The bytes of a plain file below `folder`.

    Each part of the path is opened from the one before without following links, so nothing can be exchanged
    in between; what is not a plain file is never read, and a pipe never waited for. `ResultRefusedError` says
    what was wrong; a file that is not there is the usual `FileNotFoundError`.
    """
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\0" in path:
        raise ResultRefusedError(path, "it is not a path below the workspace")
    with descended(open_root(folder), parts[:-1], lambda part, at: _open(part, NO_LINKS, at, path)) as holder:
        file = _open(parts[-1], _FILE, holder, path)
    return _read(file, path, max_bytes)


def _open(part: str, flags: int, holder: int, path: str) -> int:
    try:
        return os.open(part, flags, dir_fd=holder)
    except FileNotFoundError:
        raise
    except OSError as error:  # a link gives ELOOP or ENOTDIR, a socket ENXIO
        raise ResultRefusedError(path, f"{part} is a link or no plain file ({error.strerror})") from error


def _read(file: int, path: str, max_bytes: int) -> bytes:
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            raise ResultRefusedError(path, "it is not a plain file")
        if found.st_size > max_bytes:
            raise ResultRefusedError(path, f"it is larger than {max_bytes:,} bytes")
        with os.fdopen(file, "rb", closefd=False) as stream:
            return stream.read(max_bytes)
    finally:
        os.close(file)
