"""The host's side of the warden: one for each process of Podium, started with its first sandbox."""

from __future__ import annotations

import os
import uuid

import msgspec

from podium.tools.sandbox.bare import bare_python


class _Warden(msgspec.Struct, frozen=True):
    """A warden that was started."""

    host: int
    """The process whose death it waits for; a process forked off from that one has none yet."""
    pid: int
    mark: str


_warden: _Warden | None = None


def warded_mark() -> str:
    """A word that a sandbox has to carry among its arguments to be ended when this process dies, at whatever
    moment that is. It is a secret of nobody's: to know it harms only who repeats it."""
    global _warden
    if _warden is None or not _is_alive(_warden):
        _warden = _started()
    return _warden.mark


def _is_alive(warden: _Warden) -> bool:
    if warden.host != os.getpid():
        return False
    try:
        return os.waitpid(warden.pid, os.WNOHANG) == (0, 0)
    except ChildProcessError:  # somebody else has taken in its end
        return False


def _started() -> _Warden:
    """Started in a session of its own, so that it is not killed with the host's group. The writing end of its
    input is never closed: the kernel does that."""
    mark = f"podium-warded-{uuid.uuid4().hex}"
    reading, writing = os.pipe()
    os.write(writing, mark.encode())
    argv = bare_python("warden")
    nowhere = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
    actions = [(os.POSIX_SPAWN_DUP2, reading, 0), nowhere, (os.POSIX_SPAWN_DUP2, 1, 2)]
    try:
        pid = os.posix_spawn(argv[0], argv, {}, file_actions=actions, setsid=True)
    except BaseException:
        os.close(writing)
        raise
    finally:
        os.close(reading)
    return _Warden(os.getpid(), pid, mark)
