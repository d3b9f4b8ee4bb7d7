"""The filter of system calls: what the program for the kernel says, and what the kernel makes of it."""

from __future__ import annotations

import errno
import struct
from pathlib import Path

import msgspec
import pytest

from podium.tools.sandbox.sandbox import Sandbox
from podium.tools.sandbox.seccomp import (
    AF_INET,
    AF_UNIX,
    DENIED,
    HIDDEN,
    MACHINES,
    MODES,
    SIGNALLING,
    UNSUPPORTED,
    Machine,
    write_filter,
)
from tests.tools.sandbox.attack import attack

ALLOW, KILL, FAIL = 0x7FFF_0000, 0x8000_0000, 0x0005_0000
KNOWN = list(MACHINES.values())


def answer(rules: bytes, number: int, *arguments: int, audit: int) -> int:
    """What the kernel would answer, by the rules of its classic BPF machine."""
    data = struct.pack("=IIQ6Q", number, audit, 0, *(*arguments, *[0] * (6 - len(arguments))))
    code = [struct.unpack_from("=HBBI", rules, at) for at in range(0, len(rules), 8)]
    value, at = 0, 0
    while True:
        operation, if_true, if_false, operand = code[at]
        at += 1
        match operation:
            case 0x20:
                value = struct.unpack_from("=I", data, operand)[0]
            case 0x54:
                value &= operand
            case 0x06:
                return operand
            case 0x15:
                at += if_true if value == operand else if_false
            case 0x35:
                at += if_true if value >= operand else if_false
            case 0x45:
                at += if_true if value & operand else if_false
            case _:
                raise AssertionError(f"unknown operation {operation:#x}")


@pytest.mark.parametrize("machine", KNOWN, ids=list(MACHINES))
def test_the_program_answers_each_call_as_it_should(machine: Machine) -> None:
    rules = write_filter(machine, families=(AF_UNIX, AF_INET))
    numbers = machine.numbers

    def ask(name: str, *arguments: int) -> int:
        return answer(rules, numbers[name], *arguments, audit=machine.audit)

    assert {ask(name) for name in DENIED if name in numbers} == {FAIL | errno.EPERM}
    assert {ask(name) for name in HIDDEN} == {FAIL | errno.ENOSYS}
    assert [ask("shmget", 0, size) for size in (56, 65_535)] == [ALLOW, ALLOW]
    assert {ask("shmget", 0, size) for size in (65_536, 1 << 32, 1 << 40)} == {FAIL | errno.ENOMEM}
    assert ask("clone3") == FAIL | errno.ENOSYS
    assert ask("clone", 0x1000_0011) == FAIL | errno.EPERM
    assert ask("clone", 0x0120_0011) == ALLOW
    assert ask("ioctl", 0, 0x5412) == FAIL | errno.EPERM
    assert ask("ioctl", 0, 0x1_0000_5412) == FAIL | errno.EPERM  # the kernel looks at 32 bits only
    assert ask("ioctl", 0, 0x5401) == ALLOW
    assert [ask("socket", family) for family in (1, 2)] == [ALLOW, ALLOW]
    assert {ask("socket", family) for family in (0, 10, 16, 17, 38)} == {FAIL | errno.EAFNOSUPPORT}
    assert {ask(name) for name in SIGNALLING} == {ALLOW}
    assert answer(rules, 0, audit=machine.audit) == ALLOW


@pytest.mark.parametrize("ignored", [(), MODES], ids=["done", "ignored"])
@pytest.mark.parametrize("machine", KNOWN, ids=list(MACHINES))
def test_set_id_bits_are_refused_in_every_call_that_sets_a_mode(
    machine: Machine, ignored: tuple[str, ...]
) -> None:
    rules = write_filter(machine, families=(), ignored=ignored)

    def ask(name: str, *arguments: int) -> int:
        return answer(rules, machine.numbers[name], *arguments, audit=machine.audit)

    places = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2, "mknod": 1, "mknodat": 2, "creat": 1}
    for name in places.keys() & machine.numbers.keys():
        before = [0] * places[name]
        assert {ask(name, *before, mode) for mode in (0o4755, 0o2755, 0o106755)} == {FAIL | errno.EPERM}
        assert ask(name, *before, 0o1777) == (FAIL if name in ignored else ALLOW)
    create, unnamed, truncate = 0o101, 0o20_200_001, 0o1001
    for name, before in (("open", [0]), ("openat", [0, 0])):
        if name in machine.numbers:
            assert {ask(name, *before, flags, 0o4755) for flags in (create, unnamed)} == {FAIL | errno.EPERM}
            assert ask(name, *before, create, 0o755) == ALLOW
            assert ask(name, *before, truncate, 0o4755) == ALLOW, (
                "it makes no file, so that the mode is noise"
            )
    assert {ask(name) for name in UNSUPPORTED} == {FAIL | errno.EOPNOTSUPP}


@pytest.mark.parametrize("machine", KNOWN, ids=list(MACHINES))
def test_pairs_of_datagram_sockets_are_refused_where_sockets_are(machine: Machine) -> None:
    closed, opened = write_filter(machine, families=()), write_filter(machine, families=(AF_UNIX,))
    number, audit = machine.numbers["socketpair"], machine.audit
    flags = 0o2_004_000
    for kind, expected in ((1, ALLOW), (5, ALLOW), (2, FAIL | errno.EPROTONOSUPPORT)):
        assert answer(closed, number, 1, kind | flags, audit=audit) == expected
        assert answer(opened, number, 1, kind | flags, audit=audit) == ALLOW


@pytest.mark.parametrize("machine", KNOWN, ids=list(MACHINES))
def test_calls_of_another_architecture_are_fatal_and_x32_is_unknown(machine: Machine) -> None:
    rules = write_filter(machine, families=())
    assert answer(rules, 1, audit=0x4000_0003) == KILL
    assert answer(rules, 0x4000_0000 + 1, audit=machine.audit) == FAIL | errno.ENOSYS


@pytest.mark.parametrize("machine", KNOWN, ids=list(MACHINES))
def test_more_can_be_denied_or_ignored(machine: Machine) -> None:
    rules = write_filter(machine, families=(), also_denied=SIGNALLING, ignored=MODES)
    numbers = machine.numbers
    assert {answer(rules, numbers[name], audit=machine.audit) for name in SIGNALLING} == {FAIL | errno.EPERM}
    modes = {answer(rules, numbers[name], audit=machine.audit) for name in MODES if name in numbers}
    assert modes == {FAIL}


CALLS = {
    "keyctl": (0, 0), "ptrace": (0, 0), "mount": (0, 0, 0, 0, 0), "bpf": (0, 0, 0),
    "perf_event_open": (0, 0, 0, 0, 0), "userfaultfd": (0,), "unshare": (0x1000_0000,),
    "io_uring_setup": (1, 0), "setns": (0, 0), "pidfd_getfd": (0, 0, 0), "open_by_handle_at": (0, 0, 0),
    "add_key": (0, 0, 0, 0, 0), "process_vm_readv": (0, 0, 0, 0, 0, 0), "chroot": (0,),
    "init_module": (0, 0, 0),
}  # fmt: skip


async def test_the_kernel_refuses_the_calls_that_let_programs_out(sandbox: Sandbox, workspace: Path) -> None:
    program = (
        "import ctypes, json, platform, sys\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "for name, (number, arguments) in json.loads(sys.argv[1])[platform.machine()].items():\n"
        "    result = libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments))\n"
        "    print(name, result, ctypes.get_errno())"
    )
    table = {
        name: {call: (machine.numbers[call], CALLS[call]) for call in CALLS}
        for name, machine in MACHINES.items()
    }
    result = await attack(sandbox, workspace, program, msgspec_json(table))
    assert result.stdout.splitlines() == [f"{name} -1 {errno.EPERM}" for name in CALLS], result


def msgspec_json(value: object) -> str:
    return msgspec.json.encode(value).decode()


async def test_programs_cannot_become_root_or_type_into_the_terminal(
    sandbox: Sandbox, workspace: Path
) -> None:
    program = (
        "import fcntl, os, termios\n"
        "for what in (lambda: os.setuid(0), lambda: fcntl.ioctl(0, termios.TIOCSTI, b'x')):\n"
        "    try: what(); print('DONE')\n"
        "    except OSError as error: print(error.errno)"
    )
    result = await attack(sandbox, workspace, program)
    refused, typed = result.stdout.splitlines()
    assert refused in (str(errno.EPERM), str(errno.EINVAL))
    assert typed == str(errno.EPERM), "without the filter it would be ENOTTY"
