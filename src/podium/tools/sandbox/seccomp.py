"""The filter of system calls, as a program for the kernel's classic BPF machine.

Everything is allowed but a list of calls that a compiler, an interpreter or a test suite does not need and
that have let programs out of sandboxes before: keys, tracing, mounts, namespaces, BPF, io_uring, modules.
`libseccomp` would write the same program, but it is not everywhere and its Python binding is not kept up.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterable, Sequence

from podium.tools.sandbox.syscalls import Machine

_LOAD, _JUMP_EQUAL, _JUMP_MORE, _JUMP_BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND, _SECOND_HIGH = 0, 4, 16, 24, 28
"""Offsets in `struct seccomp_data`: the call's number, its architecture, the low halves of two arguments, and
the high half of the second."""

_ALLOW, _KILL, _FAIL = 0x7FFF_0000, 0x8000_0000, 0x0005_0000
_X32 = 0x4000_0000
"""x86-64 has a second set of numbers from here on: calls by another name."""

_NAMESPACES = 0x7E02_0080
"""All CLONE_NEW* flags: mount, cgroup, uts, ipc, user, pid, net and time."""

_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
"""They type into the terminal, as if the user had."""

AF_UNIX, AF_INET = 1, 2

DENIED = (
    "acct", "add_key", "adjtimex", "bpf", "chroot", "clock_adjtime", "clock_settime", "create_module",
    "delete_module", "fanotify_init", "finit_module", "fsconfig", "fsmount", "fsopen", "fspick",
    "get_kernel_syms", "init_module", "io_uring_enter", "io_uring_register", "io_uring_setup", "ioperm",
    "iopl", "kcmp", "kexec_file_load", "kexec_load", "keyctl", "lookup_dcookie", "modify_ldt", "mount",
    "mount_setattr", "move_mount", "name_to_handle_at", "nfsservctl", "open_by_handle_at", "open_tree",
    "perf_event_open", "pidfd_getfd", "pivot_root", "process_madvise", "process_vm_readv",
    "process_vm_writev", "ptrace", "query_module", "quotactl", "quotactl_fd", "reboot", "request_key",
    "setdomainname", "sethostname", "setns", "settimeofday", "swapoff", "swapon", "syslog", "umount2",
    "unshare", "uselib", "userfaultfd", "vhangup",
)  # fmt: skip
"""Answered with EPERM."""

HIDDEN = ("memfd_create", "memfd_secret", "msgget", "semget")
"""Memory that belongs to no process, so that no limit would count it; answered as if the kernel had none."""

SMALL_SEGMENT = 65_536
"""Bytes of shared memory of the old kind from which on it is not given, for the same reason: a database asks
for a few, to find out whether another one is running."""

MODES = ("chmod", "fchmodat", "fchmodat2")
"""Ignored where a path cannot be checked: copying a file sets its mode, and few programs need it done."""

OWNERS = (
    "chown", "fchownat", "lchown", "lremovexattr", "lsetxattr", "removexattr", "removexattrat", "setxattr",
    "setxattrat",
)  # fmt: skip
"""Denied there too."""

SIGNALLING = ("kill", "tkill", "tgkill", "pidfd_send_signal", "rt_sigqueueinfo", "rt_tgsigqueueinfo")
"""Denied too where nothing else keeps a program from ending the user's other processes."""


def write_filter(
    machine: Machine, *, families: Sequence[int], also_denied: Iterable[str] = (), ignored: Iterable[str] = ()
) -> bytes:
    """The program, ready for `--seccomp` or `prctl`.

    `families` are the kinds of sockets that may be made; all others fail as if the kernel did not have them,
    so that programs fall back as they would on an older machine.
    """
    numbers = machine.numbers
    code = [
        _op(_LOAD, _ARCHITECTURE), _op(_JUMP_EQUAL, machine.audit, 1, 0), _op(_RETURN, _KILL),
        _op(_LOAD, _NUMBER), _op(_JUMP_MORE, _X32, 0, 1), _op(_RETURN, _FAIL | errno.ENOSYS),
    ]  # fmt: skip
    answers = [(name, errno.EPERM) for name in (*DENIED, *also_denied)] + [(name, 0) for name in ignored]
    for name, answer in answers:
        if name in numbers:
            code += [_op(_JUMP_EQUAL, numbers[name], 0, 1), _fail(answer)]
    for name in HIDDEN:
        code += [_op(_JUMP_EQUAL, numbers[name], 0, 1), _fail(errno.ENOSYS)]
    large = [
        _op(_JUMP_EQUAL, 0, 1, 0), _fail(errno.ENOMEM),
        _op(_LOAD, _SECOND), _op(_JUMP_MORE, SMALL_SEGMENT, 0, 1), _fail(errno.ENOMEM),
    ]  # fmt: skip
    code += _guard(numbers["shmget"], _SECOND_HIGH, large)
    # The flags of clone3 lie behind a pointer that a filter cannot follow; libc falls back to clone.
    code += [_op(_JUMP_EQUAL, numbers["clone3"], 0, 1), _op(_RETURN, _FAIL | errno.ENOSYS)]
    code += _guard(numbers["clone"], _FIRST, [_op(_JUMP_BITS, _NAMESPACES, 0, 1), _fail(errno.EPERM)])
    typing = [
        _op(_JUMP_EQUAL, _TIOCSTI, 1, 0), _op(_JUMP_EQUAL, _TIOCLINUX, 0, 1), _fail(errno.EPERM),
    ]  # fmt: skip
    code += _guard(numbers["ioctl"], _SECOND, typing)
    sockets = [op for family in families for op in (_op(_JUMP_EQUAL, family, 0, 1), _op(_RETURN, _ALLOW))]
    code += _guard(numbers["socket"], _FIRST, [*sockets, _fail(errno.EAFNOSUPPORT)])
    return b"".join([*code, _op(_RETURN, _ALLOW)])


def _guard(number: int, argument: int, checks: list[bytes]) -> list[bytes]:
    """Checks of one argument of one call; a call that passes them is allowed."""
    body = [_op(_LOAD, argument), *checks, _op(_RETURN, _ALLOW)]
    return [_op(_JUMP_EQUAL, number, 0, len(body)), *body]


def _fail(code: int) -> bytes:
    return _op(_RETURN, _FAIL | code)


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
