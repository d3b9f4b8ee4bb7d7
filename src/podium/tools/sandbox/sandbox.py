"""Sandbox, scratch folder, spare uid and result files.

Process limits do not apply to root, and root may access all files. So when Podium runs as root, each
execution runs under a different spare uid. `inside/drop.py` keeps the workspace writable for that uid.
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
from podium.tools.sandbox.inspection import Contents, inspect_folders
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
"""The home folder inside the sandbox; empty at each start."""

PREFIX = "podium-sandbox-"
_LOCK = "lock"
_YOUNG_S = 60.0
"""Minimum age in seconds before cleanup; a younger folder may not have its lock yet."""

_FILES = {
    "passwd": f"root:x:0:0:root:/:/bin/false\npodium:x:1000:1000:podium:{HOME}:/bin/sh\n"
    "nobody:x:65534:65534:nobody:/:/bin/false\n",
    "group": "root:x:0:\npodium:x:1000:\nnogroup:x:65534:\n",
    "hosts": "127.0.0.1 localhost sandbox\n",
}
_FOLDERS = ("tmp", "tmp/home", "shm")
MASK = "mask"
"""An empty file that is mounted over what a program must not reach."""

ENTRIES = len(_FILES) + len(_FOLDERS) + len((_LOCK, MASK))
"""Number of files and folders in a fresh scratch folder."""


@contextlib.contextmanager
def scratch_folder() -> Generator[Path]:
    """Create a scratch folder, and remove it at the end with everything in it."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    lock = _lock_file(folder / _LOCK)
    try:
        folder.chmod(0o711)  # a spare uid must be able to traverse it; its contents are closed to others
        for name in _FOLDERS:
            (folder / name).mkdir(mode=0o700)
        (folder / MASK).touch(mode=0)
        for name, text in _FILES.items():
            (folder / name).write_text(text, encoding="ascii")
        yield folder
    finally:
        with contextlib.suppress(OSError):  # still in use by an ending process: `sweep_up` removes it later
            _remove(folder)
        os.close(lock)


def clear(scratch: Path) -> None:
    """Remove the temporary files of a program that has ended."""
    for name in ("tmp", "shm"):
        with contextlib.suppress(OSError):  # as in `scratch_folder`
            _remove(scratch / name)


def sweep_up(young: float = _YOUNG_S) -> None:
    """Remove scratch folders of killed processes; the kernel has released their locks."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # another user's, in use, or removed meanwhile
            info = folder.lstat()
            if info.st_uid == os.geteuid() and time.time() - info.st_ctime > young:
                lock = _lock_file(folder / _LOCK)
                _remove(folder)
                os.close(lock)


def _remove(folder: Path) -> None:
    """Remove the folder with everything in it."""
    holder = open_root(folder.parent)
    try:
        remove_entry(folder.name, holder)
    finally:
        os.close(holder)


_HIGH, _LOW = (1_800_000_000, 50_000), (58_000, 1_000)
"""First spare id and number of ids; the low range is for containers that have only 65,536 ids."""

_USER = "podium-user-"
"""Prefix of the files whose locks reserve spare ids."""

_counter = itertools.count()


@contextlib.contextmanager
def spare_user(start: int | None = None) -> Generator[int | None]:
    """Reserve a uid for one execution; None if this process is not root and keeps its uid. The end of an
    execution kills all processes of its uid, so no other execution on the machine may have the same."""
    if os.geteuid() != 0:
        yield None
        return
    first, count = _HIGH if _mapped(_HIGH[0] + _HIGH[1]) else _LOW
    start = os.getpid() * 64 + next(_counter) if start is None else start
    for offset in range(count):
        identity = first + (start + offset) % count
        file = Path(tempfile.gettempdir(), f"{_USER}{identity}")
        with contextlib.suppress(OSError):  # in use, or another user's file
            lock = _lock_file(file)
            break
    else:
        raise SandboxUnavailableError("All spare users are in use.", hint="Run fewer programs at once.")
    try:
        yield identity
    finally:
        with contextlib.suppress(OSError):
            file.unlink()
        os.close(lock)


def _lock_file(file: Path) -> int:
    """Lock a file and return the descriptor; raise `OSError` if another process holds or removed it."""
    lock = os.open(file, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.samestat(os.fstat(lock), file.lstat()):
            raise FileNotFoundError(file)
    except OSError:
        os.close(lock)
        raise
    return lock


def _mapped(identity: int) -> bool:
    """Return True if the id is mapped in this container's user namespace."""
    try:
        lines = Path("/proc/self/uid_map").read_text(encoding="ascii").splitlines()
    except OSError:  # no user namespaces in this kernel: all ids exist
        return True
    extents = [tuple(map(int, line.split())) for line in lines]
    return any(inside <= identity < inside + count for inside, _, count in extents)


INSTALL = "Install bubblewrap (`apt-get install bubblewrap`), or see `podium doctor`."


class Sandbox:
    """A tested sandbox; created by `open_sandbox`."""

    def __init__(
        self, tier: Tier, reason: str, *, limits: SandboxLimits | None = None, readable: Sequence[Path] = ()
    ) -> None:
        self._tier = tier
        self._limits = limits or SandboxLimits()
        self._readable = [*interpreter_folders(), *readable]
        self.reason = reason
        """Why this tier was chosen, in one sentence for the user."""

    @property
    def tier(self) -> str:
        """`bubblewrap`, `landlock`, or `none` if the user allowed that."""
        return self._tier.name

    @property
    def limits(self) -> SandboxLimits:
        """Default limits from the settings, for calls that pass none."""
        return self._limits

    @property
    def warning(self) -> str:
        """Text that the caller must log and show; empty if programs are really confined."""
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
        """Run a program to its end, or until it exceeds a limit.

        It sees the system, the Python that runs Podium, `folder` at its own path, and the other given
        folders; its environment gets only `env` beyond a few defaults. Cancelling the awaiting task ends
        everything at once.
        """
        if not argv:
            raise ValueError("there is nothing to run")
        if reason := self._tier.check():
            raise SandboxUnavailableError(reason, hint=INSTALL)
        folder, *also_writable = map(anchored, (folder, *also_writable))
        seen, most = [*self._readable, *readable], limits or self._limits
        mounts = folder_mounts(folder, writable=writable, readable=seen, also_writable=also_writable)
        whole = [folder] if writable else []
        with scratch_folder() as scratch, spare_user() as spare:
            before = await offload(inspect_folders, whole, also_writable, most.workspace_bytes)
            job = SandboxJob(
                argv=tuple(map(str, argv)),
                start=place_inside(folder, cwd),
                mounts=mounts,
                scratch=scratch,
                env={**_environment(seen), **(env or {})},
                limits=most,
                special=before.special,
                spare=spare,
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
    """Return the number of entries that the sandbox itself may create: parent folders of mounts below /tmp,
    and the in-memory file of the seccomp filter."""
    temporary = Path("/tmp")
    targets = [Path(mount.target) for mount in mounts if Path(mount.target).is_relative_to(temporary)]
    ways = {way for target in targets for way in (target, *target.parents) if way.is_relative_to(temporary)}
    return len(ways - {temporary}) + 1


async def _secured(
    scratch: Path, whole: Sequence[Path], grown: Sequence[Path], limits: SandboxLimits, before: Contents
) -> Contents:
    """Clear the scratch folder and inspect the writable folders; cancellation waits until that is done."""

    def secure() -> Contents:
        clear(scratch)  # first: hard links into it would look like links to files outside
        return inspect_folders(whole, grown, limits.workspace_bytes, before)

    task = asyncio.ensure_future(offload(secure))
    if cancelled := await settled(task):
        raise cancelled
    return task.result()


def _judged(done: Executed, limits: SandboxLimits, before: Contents, after: Contents) -> Executed:
    """Merge the findings of the inspections into the result; a short program may have exceeded a limit before
    the watch started."""
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
    """Return the base environment inside. Of the user's own it holds only the language and the search
    path."""
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
    """Read a regular file below `folder`.

    Each path component is opened relative to the previous one without following links, so nothing can be
    swapped in between. Only regular files are read, and a pipe never blocks. Raises `ResultRefusedError` with
    the reason, or `FileNotFoundError` if the file does not exist.
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
    except OSError as error:  # a symlink gives ELOOP or ENOTDIR, a socket ENXIO
        raise ResultRefusedError(path, f"{part} is a link or no plain file ({error.strerror})") from error


def _read(file: int, path: str, max_bytes: int) -> bytes:
    try:
        info = os.fstat(file)
        if not stat.S_ISREG(info.st_mode):
            raise ResultRefusedError(path, "it is not a plain file")
        if info.st_size > max_bytes:
            raise ResultRefusedError(path, f"it is larger than {max_bytes:,} bytes")
        with os.fdopen(file, "rb", closefd=False) as stream:
            return stream.read(max_bytes)
    finally:
        os.close(file)
