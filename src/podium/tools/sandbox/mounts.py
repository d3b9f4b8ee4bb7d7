"""What a sandboxed program sees of this machine's files: the system, the named folders, and nothing else."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from podium.errors import UsageError

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
