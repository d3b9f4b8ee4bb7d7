"""Seccomp BPF filter.

Everything is allowed except a list of calls that compilers, interpreters and test suites do not need and that
have been used for sandbox escapes: keys, tracing, mounts, namespaces, BPF, io_uring, modules. `libseccomp`
would generate the same program, but it is not available everywhere and its Python binding is unmaintained.
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

_X86_64 = {
    "acct": 163, "add_key": 248, "adjtimex": 159, "bpf": 321, "chroot": 161, "clock_adjtime": 305,
    "clock_settime": 227, "clone": 56, "clone3": 435, "create_module": 174, "delete_module": 176,
    "fanotify_init": 300, "finit_module": 313, "fsconfig": 431, "fsmount": 432, "fsopen": 430, "fspick": 433,
    "get_kernel_syms": 177, "init_module": 175, "io_uring_enter": 426, "io_uring_register": 427,
    "io_uring_setup": 425, "ioctl": 16, "ioperm": 173, "iopl": 172, "kcmp": 312, "kexec_file_load": 320,
    "kexec_load": 246, "keyctl": 250, "kill": 62, "lookup_dcookie": 212, "modify_ldt": 154, "mount": 165,
    "mount_setattr": 442, "move_mount": 429, "name_to_handle_at": 303, "nfsservctl": 180,
    "open_by_handle_at": 304, "open_tree": 428, "perf_event_open": 298, "pidfd_getfd": 438,
    "pidfd_send_signal": 424, "pivot_root": 155, "process_madvise": 440, "process_vm_readv": 310,
    "process_vm_writev": 311, "ptrace": 101, "query_module": 178, "quotactl": 179, "quotactl_fd": 443,
    "reboot": 169, "request_key": 249, "rt_sigqueueinfo": 129, "rt_tgsigqueueinfo": 297, "setdomainname": 171,
    "sethostname": 170, "setns": 308, "settimeofday": 164, "socket": 41, "swapoff": 168, "swapon": 167,
    "syslog": 103, "tgkill": 234, "tkill": 200, "umount2": 166, "unshare": 272, "uselib": 134,
    "userfaultfd": 323, "vhangup": 153, "chmod": 90, "chown": 92, "fchmodat": 268, "fchmodat2": 452,
    "fchownat": 260, "lchown": 94, "lremovexattr": 198, "lsetxattr": 189, "removexattr": 197,
    "removexattrat": 466, "setxattr": 188, "setxattrat": 463, "truncate": 76, "memfd_create": 319,
    "memfd_secret": 447, "msgget": 68, "semget": 64, "shmget": 29, "creat": 85, "fchmod": 91,
    "file_setattr": 469, "fsetxattr": 190, "mknod": 133, "mknodat": 259, "open": 2, "openat": 257,
    "openat2": 437, "socketpair": 53,
}  # fmt: skip

_AARCH64 = {
    "acct": 89, "add_key": 217, "adjtimex": 171, "bpf": 280, "chroot": 51, "clock_adjtime": 266,
    "clock_settime": 112, "clone": 220, "clone3": 435, "delete_module": 106, "fanotify_init": 262,
    "finit_module": 273, "fsconfig": 431, "fsmount": 432, "fsopen": 430, "fspick": 433, "init_module": 105,
    "io_uring_enter": 426, "io_uring_register": 427, "io_uring_setup": 425, "ioctl": 29, "kcmp": 272,
    "kexec_file_load": 294, "kexec_load": 104, "keyctl": 219, "kill": 129, "lookup_dcookie": 18, "mount": 40,
    "mount_setattr": 442, "move_mount": 429, "name_to_handle_at": 264, "nfsservctl": 42,
    "open_by_handle_at": 265, "open_tree": 428, "perf_event_open": 241, "pidfd_getfd": 438,
    "pidfd_send_signal": 424, "pivot_root": 41, "process_madvise": 440, "process_vm_readv": 270,
    "process_vm_writev": 271, "ptrace": 117, "quotactl": 60, "quotactl_fd": 443, "reboot": 142,
    "request_key": 218, "rt_sigqueueinfo": 138, "rt_tgsigqueueinfo": 240, "setdomainname": 162,
    "sethostname": 161, "setns": 268, "settimeofday": 170, "socket": 198, "swapoff": 225, "swapon": 224,
    "syslog": 116, "tgkill": 131, "tkill": 130, "umount2": 39, "unshare": 97, "userfaultfd": 282,
    "vhangup": 58, "fchmodat": 53, "fchmodat2": 452, "fchownat": 54, "lremovexattr": 15, "lsetxattr": 6,
    "removexattr": 14, "removexattrat": 466, "setxattr": 5, "setxattrat": 463, "truncate": 45,
    "memfd_create": 279, "memfd_secret": 447, "msgget": 186, "semget": 190, "shmget": 194, "fchmod": 52,
    "file_setattr": 469, "fsetxattr": 7, "mknodat": 33, "openat": 56, "openat2": 437, "socketpair": 199,
}  # fmt: skip


class Machine(msgspec.Struct, frozen=True):
    """A CPU architecture, as the kernel reports it to a filter."""

    audit: int
    """AUDIT_ARCH constant. In another architecture's ABI, a call number means a different call."""
    numbers: dict[str, int]


MACHINES = {
    "x86_64": Machine(0xC000_003E, _X86_64),
    "aarch64": Machine(0xC000_00B7, _AARCH64),
}


def machine() -> Machine | None:
    """Return this machine's architecture; None if no filter can be built for it."""
    return MACHINES.get(platform.machine())


_LOAD, _AND, _JUMP_EQUAL, _JUMP_MORE, _JUMP_BITS, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND, _SECOND_HIGH, _THIRD, _FOURTH = 0, 4, 16, 24, 28, 32, 40
"""Offsets in `struct seccomp_data`: the call number, its architecture, the low halves of four arguments, and
the high half of the second."""

_ALLOW, _KILL, _FAIL = 0x7FFF_0000, 0x8000_0000, 0x0005_0000
_X32 = 0x4000_0000
"""First number of x86-64's second call table (x32): the same calls under other numbers."""

_NAMESPACES = 0x7E02_0080
"""All CLONE_NEW* flags: mount, cgroup, uts, ipc, user, pid, net and time."""

_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
"""These requests inject input into the terminal."""

_FILE_FLAGS = (0x4008_6602, 0x401C_5820, 0x4080_6685, 0x800C_6613)
"""FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR, FS_IOC_ENABLE_VERITY and FS_IOC_SET_ENCRYPTION_POLICY: they can leave
files that cannot be changed or folders that cannot be listed."""

_SET_ID = 0o6000
"""S_ISUID and S_ISGID."""

_MODE_ARGUMENTS = {
    "chmod": _SECOND,
    "fchmod": _SECOND,
    "fchmodat": _THIRD,
    "fchmodat2": _THIRD,
    "mknod": _SECOND,
    "mknodat": _THIRD,
    "creat": _SECOND,
}
"""Calls that set the mode of a file, and the argument that holds it."""

_OPEN_ARGUMENTS = {"open": (_SECOND, _THIRD), "openat": (_THIRD, _FOURTH)}
"""Calls that create a file depending on their flags, and the arguments that hold the flags and the mode."""

_CREATING = 0o100 | 0o20_000_000
"""O_CREAT and the bit of O_TMPFILE that no other flag has."""

_STREAM, _SEQPACKET, _KIND_OF_SOCKET = 1, 5, 0xF

AF_UNIX, AF_INET = 1, 2

DENIED = tuple(
    """
    acct add_key adjtimex bpf chroot clock_adjtime clock_settime create_module delete_module
    fanotify_init finit_module fsconfig fsmount fsopen fspick get_kernel_syms init_module io_uring_enter
    io_uring_register io_uring_setup ioperm iopl kcmp kexec_file_load kexec_load keyctl lookup_dcookie
    modify_ldt mount mount_setattr move_mount name_to_handle_at nfsservctl open_by_handle_at open_tree
    perf_event_open pidfd_getfd pivot_root process_madvise process_vm_readv process_vm_writev ptrace
    query_module quotactl quotactl_fd reboot request_key setdomainname sethostname setns settimeofday
    swapoff swapon syslog umount2 unshare uselib userfaultfd vhangup
    """.split()
)
"""Calls that fail with EPERM."""

HIDDEN = ("memfd_create", "memfd_secret", "msgget", "semget", "openat2", "file_setattr")
"""Calls that fail with ENOSYS, as on an older kernel. The first four allocate memory that belongs to no
process, so no limit would count it; the last two take a mode or flags behind a pointer, which a filter cannot
dereference."""

UNSUPPORTED = ("setxattr", "lsetxattr", "fsetxattr", "setxattrat")
"""Calls that fail with EOPNOTSUPP, as on a file system without extended attributes: ACLs and capabilities of
files would outlive the sandbox."""

SMALL_SEGMENT = 65_536
"""Size in bytes from which System V shared memory is denied, because no limit would count it. Smaller
segments pass: databases use a few bytes to detect another running instance."""

MODES = ("chmod", "fchmodat", "fchmodat2")
"""Calls that succeed without effect where a path cannot be checked: copying a file sets its mode, and few
programs depend on the result."""

OWNERS = ("chown", "fchownat", "lchown", "lremovexattr", "removexattr", "removexattrat")
"""Calls that are denied where a path cannot be checked."""

SIGNALLING = ("kill", "tkill", "tgkill", "pidfd_send_signal", "rt_sigqueueinfo", "rt_tgsigqueueinfo")
"""Calls that are denied where nothing else prevents a program from signalling the user's other processes."""


def write_filter(
    machine: Machine, *, families: Sequence[int], also_denied: Iterable[str] = (), ignored: Iterable[str] = ()
) -> bytes:
    """Build the BPF program, ready for `--seccomp` or `prctl`.

    `families` are the allowed socket families; all others fail as if the kernel did not support them, so that
    programs use their usual fallback.
    """
    numbers = machine.numbers
    code = [_op(_LOAD, _ARCHITECTURE), _op(_JUMP_EQUAL, machine.audit, 1, 0), _op(_RETURN, _KILL)]
    code += [_op(_LOAD, _NUMBER), _op(_JUMP_MORE, _X32, 0, 1), _fail(errno.ENOSYS)]
    passed_over = frozenset(ignored)
    code += _mode_guards(numbers, passed_over)
    answers = [
        *((name, 0) for name in sorted(passed_over - _MODE_ARGUMENTS.keys())),
        *((name, errno.EPERM) for name in (*DENIED, *also_denied)),
        *((name, errno.EOPNOTSUPP) for name in UNSUPPORTED),
        *((name, errno.ENOSYS) for name in HIDDEN),
    ]
    for name, answer in answers:
        if name in numbers:
            code += [_op(_JUMP_EQUAL, numbers[name], 0, 1), _fail(answer)]
    large = [_op(_JUMP_EQUAL, 0, 1, 0), _fail(errno.ENOMEM)]
    large += [_op(_LOAD, _SECOND), _op(_JUMP_MORE, SMALL_SEGMENT, 0, 1), _fail(errno.ENOMEM)]
    code += _guard(numbers["shmget"], _SECOND_HIGH, large)
    # The flags of clone3 lie behind a pointer that a filter cannot dereference; libc falls back to clone.
    code += [_op(_JUMP_EQUAL, numbers["clone3"], 0, 1), _fail(errno.ENOSYS)]
    code += _guard(numbers["clone"], _FIRST, [_op(_JUMP_BITS, _NAMESPACES, 0, 1), _fail(errno.EPERM)])
    requests = (_TIOCSTI, _TIOCLINUX, *_FILE_FLAGS)
    refused = [op for number in requests for op in (_op(_JUMP_EQUAL, number, 0, 1), _fail(errno.EPERM))]
    code += _guard(numbers["ioctl"], _SECOND, refused)
    sockets = [op for family in families for op in (_op(_JUMP_EQUAL, family, 0, 1), _op(_RETURN, _ALLOW))]
    code += _guard(numbers["socket"], _FIRST, [*sockets, _fail(errno.EAFNOSUPPORT)])
    if AF_UNIX not in families:
        code += _guard(numbers["socketpair"], _SECOND, _CONNECTED_PAIRS)
    return b"".join([*code, _op(_RETURN, _ALLOW)])


def _mode_guards(numbers: Mapping[str, int], ignored: Collection[str]) -> list[bytes]:
    """Refuse to set S_ISUID and S_ISGID with EPERM. Ignored calls succeed without effect."""
    code: list[bytes] = []
    refuse = [_op(_JUMP_BITS, _SET_ID, 0, 1), _fail(errno.EPERM)]
    for name, mode in _MODE_ARGUMENTS.items():
        if name in numbers:
            code += _guard(numbers[name], mode, [*refuse, *([_fail(0)] if name in ignored else [])])
    for name, (flags, mode) in _OPEN_ARGUMENTS.items():
        if name in numbers:
            checks = [_op(_JUMP_BITS, _CREATING, 0, 3), _op(_LOAD, mode), *refuse]
            code += _guard(numbers[name], flags, checks)
    return code


def _guard(number: int, argument: int, checks: list[bytes]) -> list[bytes]:
    """Build checks of one argument of one call; a call that passes them is allowed."""
    body = [_op(_LOAD, argument), *checks, _op(_RETURN, _ALLOW)]
    return [_op(_JUMP_EQUAL, number, 0, len(body)), *body]


def _fail(code: int) -> bytes:
    return _op(_RETURN, _FAIL | code)


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


_CONNECTED_PAIRS = [
    _op(_AND, _KIND_OF_SOCKET),
    _op(_JUMP_EQUAL, _STREAM, 2, 0),
    _op(_JUMP_EQUAL, _SEQPACKET, 1, 0),
    _fail(errno.EPROTONOSUPPORT),
]
"""Checks of a socket pair's type: one end of a datagram pair can send to any other socket."""
