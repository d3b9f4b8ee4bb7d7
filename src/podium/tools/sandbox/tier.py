"""Tier contract, limits, mounts and helper launch."""

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
"""Reason why a program was stopped; empty if it ended by itself."""


class SandboxLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Resource limits of one execution. Exceeding one stops it; see `Executed.stopped_by`."""

    seconds: float = 600.0
    """Wall time."""
    cpu_seconds: int = 1_200
    """CPU time of each process."""
    memory_bytes: int = 2 * GIGABYTE
    """Memory of all processes together, shared pages counted once. One process can never allocate twice as
    much."""
    processes: int = 256
    """Processes and threads together, at any time."""
    file_bytes: int = GIGABYTE
    """Maximum size of a written file; further writes fail with EFBIG."""
    output_bytes: int = 10_000_000
    """Standard output and error together. Output up to the limit is kept."""
    workspace_bytes: int = 2 * GIGABYTE
    """Size of the workspace and the private temporary folder together, plus the growth of other writable
    folders."""
    files: int = 100_000
    """Files and folders added to the workspace, the private temporary folder and other writable folders
    together."""
    open_files: int = 1_024
    """File descriptors of each process."""


class Executed(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a program that has ended, with all processes it started."""

    argv: tuple[str, ...]
    exit_code: int
    """As in a shell: 128 plus the signal number if a signal ended it."""
    stdout: str
    stderr: str
    raw: bytes = b""
    """Standard output as bytes: a patch, for example, may hold bytes that are not text."""
    truncated: bool = False
    """Output beyond the limit was dropped."""
    stopped_by: StoppedBy = ""
    """The limit that ended it; empty if it ended by itself."""
    seconds: float = 0.0
    tier: str = ""
    """The tier used: `bubblewrap`, `landlock`, or `none` if the user allowed that."""
    warnings: tuple[str, ...] = ()
    """Sentences about dangerous files in the writable folders, such as setuid programs, and how they were
    handled. The caller must show them."""

    @property
    def ok(self) -> bool:
        """True if it ended by itself with exit code 0."""
        return self.exit_code == 0 and not self.stopped_by


SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store")
"""Folders with programs and libraries, where they exist."""

ETC = tuple(
    """
    alternatives ca-certificates crypto-policies fonts gai.conf host.conf java* ld.so.cache ld.so.conf
    ld.so.conf.d locale.alias localtime magic mime.types nsswitch.conf os-release pki/tls/certs
    pki/ca-trust/extracted profile protocols services ssl/certs ssl/openssl.cnf terminfo timezone
    xattr.conf
    """.split()
)
"""Entries of /etc that programs need to work. None holds a password, a key, a token or a person's name."""

_CLOSED = ("/etc", "/proc", "/sys", "/dev", "/run", "/var", "/boot")
"""System folders that are never visible as a whole."""

_TOO_WIDE = "The sandbox cannot be given {path}: {reason}."


class Mount(msgspec.Struct, frozen=True):
    """One file or folder mounted in the sandbox."""

    source: str
    """Path outside, with symlinks resolved."""
    target: str
    """Path inside."""
    writable: bool = False


def system_mounts() -> list[Mount]:
    """Return the read-only system mounts. Symlinks such as /bin → usr/bin become folders, which programs do
    not notice."""
    etc = [str(path) for name in ETC for path in Path("/etc").glob(name)]
    paths = [path for path in (*SYSTEM, *etc) if Path(path).exists()]
    return [Mount(os.path.realpath(path), path) for path in paths]


def interpreter_folders() -> list[Path]:
    """Return the folders of the Python that runs Podium, for tests in Python; they hold no user data."""
    folders = dict.fromkeys((sys.base_prefix, sys.prefix))
    return [Path(folder) for folder in folders if folder not in SYSTEM]


def folder_mounts(
    folder: Path, *, writable: bool, readable: Iterable[Path], also_writable: Iterable[Path]
) -> list[Mount]:
    """Return mounts of the given folders at their own paths, outer before inner, so that the inner one takes
    precedence."""
    mounts = [*_mounts(readable, writable=False), *_mounts([folder], writable=writable)]
    mounts += _mounts(also_writable, writable=True)
    unique = {mount.target: mount for mount in mounts}
    return sorted(unique.values(), key=lambda mount: mount.target.count("/"))


def _mounts(paths: Iterable[Path], *, writable: bool) -> list[Mount]:
    mounts: list[Mount] = []
    for path in paths:
        target, source = os.path.abspath(os.path.expanduser(path)), os.path.realpath(os.path.expanduser(path))
        refuse_what_is_too_wide(source)
        places = dict.fromkeys((target, source))
        mounts += [Mount(source, place, writable) for place in places]
    return mounts


def refuse_what_is_too_wide(path: str, message: str = _TOO_WIDE) -> None:
    """Raise if a folder contains system folders or the home folder: it would expose everything that the
    sandbox hides."""
    if reason := _too_wide(path):
        raise UsageError(message.format(path=path, reason=reason), hint="Name a folder of the project.")


def _too_wide(path: str) -> str:
    """Return why a folder must not be mounted, in a few words; empty if it may."""
    if not os.path.exists(path):
        return "it does not exist"
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
    """Return the paths inside at which a file of the host is visible."""
    real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    return [
        os.path.join(mount.target, os.path.relpath(real, mount.source))
        for mount in mounts
        if _below(real, mount.source)
    ]


def host_sockets(mounts: Iterable[Mount]) -> list[str]:
    """Return the sockets that host programs have bound below the mounts. A read-only mount does not prevent
    connections to them, and the folders are too large to search."""
    try:
        lines = Path("/proc/net/unix").read_bytes().splitlines()[1:]
    except OSError:  # not Linux
        return []
    named = [os.fsdecode(fields[7]) for line in lines if len(fields := line.split(maxsplit=7)) == 8]
    sources = [mount.source for mount in mounts]
    paths = [path for path in dict.fromkeys(named) if path.startswith("/") and _is_socket(path)]
    real = {path: os.path.realpath(path) for path in paths}
    return [path for path in paths if any(_below(real[path], source) for source in sources)]


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.lstat(path).st_mode)
    except OSError:  # removed, or in another root file system
        return False


def anchored(path: Path) -> Path:
    """Return an absolute path: the programs that start and watch a sandbox have another working directory."""
    return Path(os.path.abspath(os.path.expanduser(path)))


def place_inside(folder: Path, cwd: str) -> str:
    """Return the working directory of the program; it must lie inside the workspace."""
    start = os.path.abspath(folder)
    place = os.path.normpath(os.path.join(start, cwd))
    if place != start and not place.startswith(start.rstrip("/") + "/"):
        raise UsageError(f"{cwd!r} is not inside the workspace.", hint="Give a path below it.")
    return place


def search_path(readable: Sequence[Path]) -> str:
    """Return PATH inside: this process's entries that are visible inside, then the system's folders."""
    seen = [*SYSTEM, *(os.path.abspath(os.path.expanduser(path)) for path in readable)]
    own = [os.path.join(sys.prefix, "bin")]
    mine = [part for part in os.environ.get("PATH", "").split(":") if part.startswith("/")]
    usual = ["/usr/local/bin", "/usr/bin", "/bin"]
    visible = [part for part in (*own, *mine, *usual) if any(_below(part, place) for place in seen)]
    return ":".join(dict.fromkeys(visible))


def _below(path: str, place: str) -> bool:
    return path == place or path.startswith(place.rstrip("/") + "/")


class SandboxJob(msgspec.Struct, frozen=True, kw_only=True):
    """A requested execution."""

    argv: Sequence[str]
    start: str
    """Working directory inside."""
    mounts: Sequence[Mount]
    """Mounts in addition to the system, outer folders first."""
    scratch: Path
    """Private folder on the host; it holds `tmp`, `shm` and a few files of /etc."""
    env: Mapping[str, str]
    """Environment of the program. A tier may override entries with `Launch.env`."""
    limits: SandboxLimits
    special: Sequence[Special] = ()
    """Pipes, sockets and device files that already exist in writable folders."""
    spare: int | None
    """The uid that root drops to; None if Podium does not run as root."""


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """The process to start for a job."""

    argv: Sequence[str]
    passed: Sequence[int] = ()
    """Descriptors that it inherits; closed on this side after the start."""
    env: Mapping[str, str] = {}
    """Variables of this tier that override those of the job."""
    keeps: bool = False
    """True if the started process ends all others on SIGTERM; otherwise they die with it."""
    status: int = -1
    """Pipe on which it reports, as JSON lines, `child-pid` (when it ends, all have ended) and `exit-code`."""


class Tier(Protocol):
    """A sandboxing mechanism."""

    @property
    def name(self) -> str:
        """Name in results, settings and messages."""
        ...

    def check(self) -> str:
        """Return why it is unusable now, by a cheap check; empty if it is usable."""
        ...

    def launch(self, job: SandboxJob) -> Launch:
        """Return the process to start for this job."""
        ...


_ROOM = 1_024
_PER_NAMESPACE = (5, 14)
"""First kernel version that counts processes per user namespace."""


def kernel_limits(limits: SandboxLimits) -> dict[str, tuple[int, int]]:
    """Return soft and hard value by `prlimit` name.

    The limits on memory and processes are twice the requested ones: they only bound usage between two checks
    of the watch, which stops the program and reports the reason. Memory is RLIMIT_DATA and not RLIMIT_AS:
    runtimes such as V8, Go and Java reserve much more than they use.
    """
    wanted = {
        "core": 0,
        "cpu": limits.cpu_seconds,
        "data": limits.memory_bytes * 2,
        "fsize": limits.file_bytes,
        "nofile": limits.open_files,
        "nproc": limits.processes * 2,
    }
    values = {name: (_possible(name, value), _possible(name, value)) for name, value in wanted.items()}
    # Between the two a program gets SIGXCPU, which names the reason; at the second it is killed.
    return {**values, "cpu": (values["cpu"][0], _possible("cpu", limits.cpu_seconds + 1))}


def limits_of_whole_user(limits: SandboxLimits) -> dict[str, tuple[int, int]]:
    """Return the limits for kernels that count a user's processes over the whole machine: the existing ones
    are added, with a margin for others that the user starts meanwhile. The watch still counts exactly."""
    values = kernel_limits(limits)
    most = _possible("nproc", threads_of_user(os.getuid()) + max(limits.processes * 2, _ROOM))
    return {**values, "nproc": (most, most)}


def counts_per_namespace() -> bool:
    """Return True if this kernel counts the processes of a user namespace separately."""
    version = re.match(r"(\d+)\.(\d+)", platform.release())
    return version is not None and (int(version[1]), int(version[2])) >= _PER_NAMESPACE


def _possible(name: str, value: int) -> int:
    """Cap a value at the current hard limit, which cannot be raised."""
    _, hard = resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}"))
    return value if hard == resource.RLIM_INFINITY else min(value, hard)


_START = (
    "import sys; home = sys.argv.pop(1); sys.path[:0] = [home]; "
    "podium = sys.modules['podium'] = type(sys)('podium'); podium.__path__ = [home + '/podium']; "
    "from podium.tools.sandbox.inside.{name} import main; main()"
)
"""`podium` is an empty package: its own module imports what these programs do not need, at every start."""


def bare_python(name: str) -> list[str]:
    """Return the start of a command line that runs a program of `inside/`; its arguments follow."""
    home = str(Path(podium.__file__).parents[1])
    return [sys.executable, "-I", "-S", "-c", _START.format(name=name), home]
