"""Numbers of the system calls that the filter speaks of, for the two architectures that it knows."""

from __future__ import annotations

import platform

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
    """An architecture, as the kernel tells it to a filter."""

    audit: int
    """Its AUDIT_ARCH constant: a call made in another architecture's way is not what its number says."""
    numbers: dict[str, int]


MACHINES = {
    "x86_64": Machine(0xC000_003E, _X86_64),
    "aarch64": Machine(0xC000_00B7, _AARCH64),
}


def machine() -> Machine | None:
    """This machine's architecture; `None`: no filter can be written for it."""
    return MACHINES.get(platform.machine())
