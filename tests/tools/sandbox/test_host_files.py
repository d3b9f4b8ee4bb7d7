"""Sockets, pipes and devices of the host in folders that a program sees: it cannot use them."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path

import pytest

from podium.errors import UsageError
from podium.tools.sandbox.sandbox import Sandbox
from tests.tools.sandbox.attack import attack

TRY = """
import os, socket, sys
def tell(what):
    try:
        print("REACHED", what())
    except OSError as error:
        print("blocked", type(error).__name__)
def connect(path):
    socket.socket(socket.AF_UNIX).connect(path)
def send(path):
    socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'hello', path)
def send_raw(path):
    socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW)[0].sendto(b'hello', path)
"""


@pytest.fixture
def stack() -> Generator[ExitStack]:
    with ExitStack() as opened:
        yield opened


def listen(stack: ExitStack, path: Path, monkeypatch: pytest.MonkeyPatch) -> socket.socket:
    """A server of the host that every user may connect to; bound by a short name, as the kernel wants it."""
    monkeypatch.chdir(path.parent)
    server = stack.enter_context(socket.socket(socket.AF_UNIX))
    server.bind(path.name)
    server.listen()
    server.setblocking(False)
    os.chmod(path.name, 0o777)
    return server


def receive(stack: ExitStack, path: Path, monkeypatch: pytest.MonkeyPatch) -> socket.socket:
    monkeypatch.chdir(path.parent)
    server = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
    server.bind(path.name)
    server.setblocking(False)
    os.chmod(path.name, 0o777)
    return server


async def test_a_listening_socket_in_the_workspace_is_not_reached(
    sandbox: Sandbox, workspace: Path, stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "sub").mkdir()
    server = listen(stack, workspace / "sub" / "host", monkeypatch)
    program = TRY + (
        "tell(lambda: connect('sub/host'))\n"
        "tell(lambda: os.link('sub/host', 'other'))\ntell(lambda: connect('other'))\n"
        "tell(lambda: os.rename('sub/host', 'moved'))\ntell(lambda: connect('moved'))\n"
        "os.rename('sub', 'renamed'); tell(lambda: connect('renamed/host')); os.rename('renamed', 'sub')"
    )
    result = await attack(sandbox, workspace, program)
    assert result.exit_code == 0, result.stderr
    assert "REACHED" not in result.stdout.replace("REACHED None\nblocked", "moved\nblocked")
    with pytest.raises(BlockingIOError):
        server.accept()


async def test_the_hosts_socket_is_still_there_afterwards(
    sandbox: Sandbox, workspace: Path, stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = listen(stack, workspace / "host", monkeypatch)
    result = await sandbox.run(["ls"], folder=workspace)
    assert (result.stdout, result.warnings) == ("host\n", ())
    client = stack.enter_context(socket.socket(socket.AF_UNIX))
    client.connect("host")
    stack.enter_context(server.accept()[0])


@pytest.mark.parametrize("way", ["send", "send_raw"])
async def test_no_datagram_reaches_a_socket_of_the_host(
    sandbox: Sandbox, workspace: Path, stack: ExitStack, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """One end of a pair of datagram sockets can send to any socket that has a path."""
    os.chmod(workspace.parent, 0o755)
    inside = receive(stack, workspace / "host", monkeypatch)
    outside = receive(stack, workspace.parent / "host", monkeypatch)
    program = TRY + f"for path in sys.argv[1:]: tell(lambda: {way}(path))"
    result = await attack(sandbox, workspace, program, "host", str(workspace.parent / "host"))
    assert result.stdout.count("blocked") == 2, result
    for server in (inside, outside):
        with pytest.raises(BlockingIOError):
            server.recv(1)


async def test_a_socket_in_a_readable_folder_is_not_reached(
    sandbox: Sandbox, workspace: Path, tmp_path: Path, stack: ExitStack
) -> None:
    (tmp_path / "tools").mkdir()
    server = stack.enter_context(socket.socket(socket.AF_UNIX))
    server.bind(str(tmp_path / "tools" / "host"))
    server.listen()
    os.chmod(tmp_path / "tools" / "host", 0o777)
    program = TRY + "tell(lambda: connect(sys.argv[1]))"
    result = await attack(
        sandbox, workspace, program, str(tmp_path / "tools" / "host"), readable=[tmp_path / "tools"]
    )
    assert result.stdout.startswith("blocked"), result


async def test_a_workspace_that_is_named_by_a_link_is_closed_at_both_names(
    sandbox: Sandbox, workspace: Path, tmp_path: Path, stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    listen(stack, workspace / "host", monkeypatch)
    (tmp_path / "link").symlink_to(workspace)
    program = TRY + "for path in sys.argv[1:]: tell(lambda: connect(path))"
    result = await attack(
        sandbox, tmp_path / "link", program, "host", str(workspace / "host"), str(tmp_path / "link" / "host")
    )
    assert result.stdout.count("blocked") == 3, result


async def test_a_program_can_use_sockets_of_its_own(sandbox: Sandbox, workspace: Path) -> None:
    """Stream pairs everywhere; sockets with a path only where namespaces keep them in."""
    program = (
        "import os, socket\none, two = socket.socketpair()\none.send(b'pair'); print(two.recv(9))\n"
        "try:\n"
        "    server = socket.socket(socket.AF_UNIX); server.bind('own'); server.listen()\n"
        "    client = socket.socket(socket.AF_UNIX); client.connect('own'); client.send(b'own')\n"
        "    print(server.accept()[0].recv(9))\n"
        "except OSError: print('none')"
    )
    result = await attack(sandbox, workspace, program)
    expected = "b'own'" if sandbox.tier == "bubblewrap" else "none"
    assert result.stdout.splitlines() == ["b'pair'", expected], result.stderr


async def test_a_pipe_of_the_host_is_closed_or_refused(sandbox: Sandbox, workspace: Path) -> None:
    os.mkfifo(workspace / "host", 0o666)
    reader = os.open(workspace / "host", os.O_RDONLY | os.O_NONBLOCK)
    program = TRY + "tell(lambda: os.write(os.open('host', os.O_WRONLY | os.O_NONBLOCK), b'hello'))"
    try:
        if sandbox.tier == "landlock":
            with pytest.raises(UsageError, match="host is a pipe or a device file"):
                await attack(sandbox, workspace, program)
        else:
            result = await attack(sandbox, workspace, program)
            assert result.stdout.startswith("blocked"), result
        assert os.read(reader, 9) == b""
    finally:
        os.close(reader)
    assert stat.S_ISFIFO((workspace / "host").lstat().st_mode)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a device file")
async def test_a_device_of_the_host_is_closed_or_refused(sandbox: Sandbox, workspace: Path) -> None:
    os.mknod(workspace / "zero", stat.S_IFCHR | 0o666, os.makedev(1, 5))
    os.chmod(workspace / "zero", 0o666)
    program = TRY + "tell(lambda: open('zero', 'rb').read(9))"
    if sandbox.tier == "landlock":
        with pytest.raises(UsageError, match="zero is a pipe or a device file"):
            await attack(sandbox, workspace, program)
    else:
        result = await attack(sandbox, workspace, program)
        assert result.stdout.startswith("blocked"), result


async def test_too_many_to_close_are_refused(sandbox: Sandbox, workspace: Path) -> None:
    for number in range(101):
        os.mkfifo(workspace / str(number))
    with pytest.raises(UsageError, match="pipe") as caught:
        await sandbox.run(["true"], folder=workspace)
    assert "copy" in caught.value.hint
