"""Tier contract, limits, mounts, helper launch."""

from __future__ import annotations

import os
import platform
import re
import resource
import stat
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

import msgspec

import podium
from podium.errors import UsageError
from podium.tools.sandbox.inside.processes import threads_of_user
from podium.tools.sandbox.inspection import Special

GIGABYTE = 1_000_000_000

StoppedBy = Literal["", "time", "memory", "output", "workspace", "files", "processes", "cancel"]
"""What ended a program before its own end; empty: it ended by itself."""


class SandboxLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What one execution may use. Whatever is passed stops it; see `Executed.stopped_by`."""

    seconds: float = 600.0
    """Wall time."""
    cpu_seconds: int = 1_200
    """CPU time of each process."""
    memory_bytes: int = 2 * GIGABYTE
    """All processes together, shared pages counted once; one process can never ask for twice as much."""
    processes: int = 256
    """Processes and threads together, at one time."""
    file_bytes: int = GIGABYTE
    """The largest file that can be written; writing on fails with EFBIG."""
    output_bytes: int = 10_000_000
    """Standard output and error together. What came until then is kept."""
    workspace_bytes: int = 2 * GIGABYTE
    """The workspace and the private temporary folder together; of other writable folders, their growth."""
    files: int = 100_000
    """Files and folders that are added to the workspace, the private temporary folder and other writable
    folders together."""
    open_files: int = 1_024
    """File descriptors of each process."""


class Executed(msgspec.Struct, frozen=True, kw_only=True):
    """A program that has ended, with everything that it had started."""

    argv: tuple[str, ...]
    exit_code: int
    """As a shell tells it: 128 and the signal's number for one that a signal ended."""
    stdout: str
    stderr: str
    raw: bytes = b""
    """Standard output as it came: a patch, for example, may hold bytes that are no text."""
    truncated: bool = False
    """Output beyond the cap was dropped."""
    stopped_by: StoppedBy = ""
    """The limit that ended it; empty: it ended by itself."""
    seconds: float = 0.0
    tier: str = ""
    """What it was shut in by: `bubblewrap`, `landlock`, or `none` if somebody allowed that."""
    warnings: tuple[str, ...] = ()
    """Sentences about dangerous files in the writable folders, such as setuid programs, and what was done
    about them. The caller has to show them."""

    @property
    def ok(self) -> bool:
        """It ended by itself, and says that all is well."""
        return self.exit_code == 0 and not self.stopped_by


SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store")
"""Programs and libraries, as far as they are there."""

ETC = (
    "alternatives", "ca-certificates", "crypto-policies", "fonts", "gai.conf", "host.conf", "java*",
    "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "locale.alias",
    "localtime", "magic", "mime.types", "nsswitch.conf", "os-release", "pki/tls/certs",
    "pki/ca-trust/extracted", "profile", "protocols", "services", "ssl/certs", "ssl/openssl.cnf", "terminfo",
    "timezone", "xattr.conf",
)  # fmt: skip
"""What programs read of /etc to work at all. Nothing with a password, a key, a token or a person's name."""

_CLOSED = ("/etc", "/proc", "/sys", "/dev", "/run", "/var", "/boot")
"""Folders of the system that no program sees as a whole."""

_TOO_WIDE = "The sandbox cannot be given {path}: {reason}."


class Mount(msgspec.Struct, frozen=True):
    """One file or folder inside."""

    source: str
    """Where it is outside, without symbolic links."""
    target: str
    """Where it is seen inside."""
    writable: bool = False


def system_mounts() -> list[Mount]:
    """The read-only system. Links such as /bin → usr/bin come out as folders, which no program minds."""
    etc = [str(path) for name in ETC for path in Path("/etc").glob(name)]
    found = [path for path in (*SYSTEM, *etc) if Path(path).exists()]
    return [Mount(os.path.realpath(path), path) for path in found]


def interpreter_folders() -> list[Path]:
    """The Python that runs Podium, so that tests in Python have one; it holds nothing of the user's."""
    folders = dict.fromkeys((sys.base_prefix, sys.prefix))
    return [Path(folder) for folder in folders if folder not in SYSTEM]


def folder_mounts(
    folder: Path, *, writable: bool, readable: Iterable[Path], also_writable: Iterable[Path]
) -> list[Mount]:
    """The named folders at their own places, the outer before the inner, so that the inner one decides."""
    found = [*_mounts(readable, writable=False), *_mounts([folder], writable=writable)]
    found += _mounts(also_writable, writable=True)
    unique = {mount.target: mount for mount in found}
    return sorted(unique.values(), key=lambda mount: mount.target.count("/"))


def _mounts(paths: Iterable[Path], *, writable: bool) -> list[Mount]:
    found: list[Mount] = []
    for path in paths:
        target, source = os.path.abspath(os.path.expanduser(path)), os.path.realpath(os.path.expanduser(path))
        refuse_what_is_too_wide(source)
        places = dict.fromkeys((target, source))
        found += [Mount(source, place, writable) for place in places]
    return found


def refuse_what_is_too_wide(path: str, told: str = _TOO_WIDE) -> None:
    """A folder above the system's or the user's own would open everything that the sandbox closes."""
    if reason := _too_wide(path):
        raise UsageError(told.format(path=path, reason=reason), hint="Name a folder of the project.")


def _too_wide(path: str) -> str:
    """Why a folder cannot be given away, in a few words; empty if it can."""
    if not os.path.exists(path):
        return "it is not there"
    if path == "/":
        return "it is the whole machine"
    home = Path(os.path.realpath(os.path.expanduser("~")))
    if home.is_relative_to(path):
        return "it is your whole home folder" if str(home) == path else "it holds your home folder"
    for place in map(os.path.realpath, (*SYSTEM, *_CLOSED)):
        if Path(place).is_relative_to(path):
            return "it is a folder of the system" if place == path else f"it holds {place}, of the system"
    return ""


def places_of(path: str, mounts: Iterable[Mount]) -> list[str]:
    """Where a file of the host is seen inside."""
    real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    return [
        os.path.join(mount.target, os.path.relpath(real, mount.source))
        for mount in mounts
        if _below(real, mount.source)
    ]


def host_sockets(mounts: Iterable[Mount]) -> list[str]:
    """Return the sockets that programs of the host have bound below the mounts. A read-only mount does not
    prevent a connection to them, and the folders are too large to be searched."""
    try:
        lines = Path("/proc/net/unix").read_bytes().splitlines()[1:]
    except OSError:  # not Linux
        return []
    named = [os.fsdecode(fields[7]) for line in lines if len(fields := line.split(maxsplit=7)) == 8]
    sources = [mount.source for mount in mounts]
    return [
        path
        for path in dict.fromkeys(named)
        if path.startswith("/")
        and _is_socket(path)
        and any(_below(os.path.realpath(path), one) for one in sources)
    ]


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.lstat(path).st_mode)
    except OSError:  # removed, or of another root folder
        return False


def anchored(path: Path) -> Path:
    """The same place wherever one stands: the programs that start and watch a sandbox stand elsewhere."""
    return Path(os.path.abspath(os.path.expanduser(path)))


def place_inside(folder: Path, cwd: str) -> str:
    """The folder in which the program starts; it cannot lie outside the workspace."""
    start = os.path.abspath(folder)
    place = os.path.normpath(os.path.join(start, cwd))
    if place != start and not place.startswith(start.rstrip("/") + "/"):
        raise UsageError(f"{cwd!r} is not inside the workspace.", hint="Give a path below it.")
    return place


def search_path(readable: Sequence[Path]) -> str:
    """PATH inside: what this process has, as far as it can be seen inside, then the system's folders."""
    seen = [*SYSTEM, *(os.path.abspath(os.path.expanduser(path)) for path in readable)]
    own = [os.path.join(sys.prefix, "bin")]
    mine = [part for part in os.environ.get("PATH", "").split(":") if part.startswith("/")]
    usual = ["/usr/local/bin", "/usr/bin", "/bin"]
    visible = [part for part in (*own, *mine, *usual) if any(_below(part, place) for place in seen)]
    return ":".join(dict.fromkeys(visible))


def _below(path: str, place: str) -> bool:
    return path == place or path.startswith(place.rstrip("/") + "/")


class SandboxJob(msgspec.Struct, frozen=True, kw_only=True):
    """One execution, as it was asked for."""

    argv: Sequence[str]
    start: str
    """The folder in which it starts."""
    mounts: Sequence[Mount]
    """What it sees beside the system, the outer folders first."""
    scratch: Path
    """A folder of its own, outside: `tmp`, `shm` and a few files of /etc lie in it."""
    env: Mapping[str, str]
    """All variables that it gets."""
    limits: SandboxLimits
    special: Sequence[Special] = ()
    """Pipes, sockets and device files in writable folders that were there before."""
    spare: int | None
    """The user id that root drops to; `None`: Podium is not run by root."""


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """What has to be started for a job."""

    argv: Sequence[str]
    passed: Sequence[int] = ()
    """Descriptors that it inherits, closed on this side once it has started."""
    env: Mapping[str, str] = {}
    """Variables that this tier needs to be other than the job's."""
    keeps: bool = False
    """Whether what is started ends all others when it is asked to; otherwise they die with it."""
    status: int = -1
    """Where it tells, as lines of JSON, `child-pid` (whose end is the end of all) and `exit-code`."""


class Tier(Protocol):
    """A way to shut programs in."""

    @property
    def name(self) -> str:
        """What it is called in results, settings and messages."""
        ...

    def check(self) -> str:
        """Cheaply: why it cannot be used now; empty if it can."""
        ...

    def launch(self, job: SandboxJob) -> Launch:
        """How to start this job."""
        ...


_ROOM = 1_024
_PER_NAMESPACE = (5, 14)
"""The first kernel that counts a user's processes in each user namespace."""


def kernel_limits(limits: SandboxLimits) -> dict[str, tuple[int, int]]:
    """Name for `prlimit`, soft and hard value. The ones on memory and processes are twice what was asked for:
    they only bound what can happen between two looks of the watch, which ends the program and says why.

    Memory is RLIMIT_DATA and not RLIMIT_AS: runtimes such as V8, Go and Java reserve much more than they use.
    """
    wanted = {
        "core": 0,
        "cpu": limits.cpu_seconds,
        "data": limits.memory_bytes * 2,
        "fsize": limits.file_bytes,
        "nofile": limits.open_files,
        "nproc": limits.processes * 2,
    }
    found = {name: (_possible(name, value), _possible(name, value)) for name, value in wanted.items()}
    # Between the two a program gets SIGXCPU, by which we know what ended it; at the second it is killed.
    return {**found, "cpu": (found["cpu"][0], _possible("cpu", limits.cpu_seconds + 1))}


def limits_of_whole_user(limits: SandboxLimits) -> dict[str, tuple[int, int]]:
    """The same where the kernel counts a user's processes over the whole machine: those that are there are
    added, and room for what else the user starts meanwhile. The watch still counts exactly."""
    found = kernel_limits(limits)
    most = _possible("nproc", threads_of_user(os.getuid()) + max(limits.processes * 2, _ROOM))
    return {**found, "nproc": (most, most)}


def counts_per_namespace() -> bool:
    """Whether this kernel counts the processes of a user namespace by themselves."""
    found = re.match(r"(\d+)\.(\d+)", platform.release())
    return found is not None and (int(found[1]), int(found[2])) >= _PER_NAMESPACE


def _possible(name: str, value: int) -> int:
    """Nobody may raise a hard limit."""
    _, hard = resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}"))
    return value if hard == resource.RLIM_INFINITY else min(value, hard)


_START = (
    "import sys; sys.path[:0] = [sys.argv.pop(1)]; "
    "from podium.tools.sandbox.inside.{name} import main; main()"
)


def bare_python(name: str) -> list[str]:
    """The beginning of a command line that runs one of them; what follows are its arguments."""
    home = str(Path(podium.__file__).parents[1])
    return [sys.executable, "-I", "-S", "-c", _START.format(name=name), home]
