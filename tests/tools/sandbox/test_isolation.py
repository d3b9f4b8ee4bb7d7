"""What a program cannot reach: the network, other people's files, processes, secrets."""

from __future__ import annotations

import os
import socket
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path

import pytest

from podium.errors import UsageError
from podium.tools.sandbox.sandbox import Sandbox
from tests.tools.sandbox.attack import attack

TRY = """
import sys
def tell(what):
    try:
        print("REACHED", what())
    except Exception as error:
        print("blocked", type(error).__name__)
"""


@pytest.fixture
def stack() -> Generator[ExitStack]:
    with ExitStack() as opened:
        yield opened


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file beside the workspace that its mode lets everybody read and write."""
    file = tmp_path / "outside" / "secret"
    file.parent.mkdir(mode=0o777)
    file.write_text("the secret")
    os.chmod(file, 0o666)
    return file


def is_untouched(secret: Path) -> bool:
    return secret.read_text() == "the secret" and os.listdir(secret.parent) == ["secret"]


async def test_tcp_on_this_machine_is_not_reached(
    sandbox: Sandbox, workspace: Path, stack: ExitStack
) -> None:
    server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    server.setblocking(False)
    program = (
        TRY + "import socket; tell(lambda: socket.create_connection(('127.0.0.1', int(sys.argv[1])), 3))"
    )
    result = await attack(sandbox, workspace, program, str(server.getsockname()[1]))
    assert result.stdout.startswith("blocked"), result
    with pytest.raises(BlockingIOError):
        server.accept()


async def test_udp_does_not_leave(sandbox: Sandbox, workspace: Path, stack: ExitStack) -> None:
    server = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    server.bind(("127.0.0.1", 0))
    server.setblocking(False)
    program = TRY + (
        "import socket\n"
        "def send():\n"
        "    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:\n"
        "        for host in ('127.0.0.1', '192.0.2.1'):\n"
        "            end.sendto(b'hello', (host, int(sys.argv[1])))\n"
        "tell(send)"
    )
    result = await attack(sandbox, workspace, program, str(server.getsockname()[1]))
    assert result.stdout.startswith("blocked"), result
    with pytest.raises(BlockingIOError):
        server.recv(1)


@pytest.mark.parametrize("kind", ["path", "abstract"])
async def test_unix_sockets_outside_are_not_reached(
    sandbox: Sandbox, workspace: Path, tmp_path: Path, stack: ExitStack, kind: str
) -> None:
    server = stack.enter_context(socket.socket(socket.AF_UNIX))
    name = str(tmp_path / "s") if kind == "path" else f"@podium-{os.getpid()}"
    server.bind(name.replace("@", "\0"))
    server.listen()
    if kind == "path":
        os.chmod(name, 0o777)
    program = TRY + (
        "import socket; tell(lambda: socket.socket(socket.AF_UNIX).connect(sys.argv[1].replace('@', chr(0))))"
    )
    result = await attack(sandbox, workspace, program, name)
    assert result.stdout.startswith("blocked"), result


async def test_files_beside_the_workspace_are_neither_read_nor_written(
    sandbox: Sandbox, workspace: Path, secret: Path
) -> None:
    program = TRY + (
        "tell(lambda: open(sys.argv[1]).read())\n"
        "tell(lambda: open(sys.argv[1] + '.new', 'w').write('x') and None)\n"
        "tell(lambda: open(sys.argv[1], 'w').write('x') and None)"
    )
    result = await attack(sandbox, workspace, program, str(secret))
    assert result.stdout.startswith("blocked")
    assert "secret" not in result.stdout
    assert is_untouched(secret)


async def test_the_users_home_and_the_systems_passwords_are_closed(sandbox: Sandbox, workspace: Path) -> None:
    program = TRY + (
        "import os\n"
        "for place in sys.argv[1:]:\n"
        "    tell(lambda: open(place).read() if not os.path.isdir(place) else os.listdir(place))"
    )
    home = Path.home()
    places = [str(home / ".ssh"), str(home / ".ssh" / "id_rsa"), str(home / ".config"), "/etc/shadow"]
    result = await attack(sandbox, workspace, program, *places)
    assert result.stdout.split("\n")[:-1] == [line for line in result.stdout.split("\n") if "blocked" in line]


async def test_a_link_out_of_the_workspace_leads_nowhere(
    sandbox: Sandbox, workspace: Path, secret: Path
) -> None:
    (workspace / "link").symlink_to(secret)
    result = await attack(sandbox, workspace, TRY + "tell(lambda: open('link').read())")
    assert result.stdout.startswith("blocked")


async def test_the_system_cannot_be_written(sandbox: Sandbox, workspace: Path) -> None:
    places = ["/usr/local/bin/podium-x", "/etc/podium-x", "/podium-x", "/var/podium-x", "/dev/podium-x"]
    program = TRY + "for place in sys.argv[1:]: tell(lambda: open(place, 'w').close())"
    result = await attack(sandbox, workspace, program, *places)
    assert result.stdout.count("blocked") == len(places), result.stdout
    assert not any(map(os.path.exists, places))


async def test_what_is_readable_is_not_writable(sandbox: Sandbox, workspace: Path, secret: Path) -> None:
    program = TRY + "print(open(sys.argv[1]).read()); tell(lambda: open(sys.argv[1], 'a').write('x'))"
    result = await attack(sandbox, workspace, program, str(secret), readable=[secret.parent])
    assert result.stdout == "the secret\nblocked " + result.stdout.split()[-1] + "\n"
    assert is_untouched(secret)


async def test_a_workspace_can_be_read_only_and_another_folder_writable(
    sandbox: Sandbox, workspace: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    command = ["sh", "-c", f"touch {other}/yes; touch no"]
    result = await sandbox.run(command, folder=workspace, writable=False, also_writable=[other])
    assert result.exit_code != 0
    assert (os.listdir(workspace), os.listdir(other)) == ([], ["yes"])


async def test_the_environment_holds_no_secret(
    sandbox: Sandbox, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-you")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/run/agent")
    program = (
        "import glob, os\n"
        "print(dict(os.environ))\n"
        "for file in glob.glob('/proc/[0-9]*/environ'):\n"
        "    try: print(open(file, 'rb').read())\n"
        "    except OSError: pass"
    )
    result = await attack(sandbox, workspace, program)
    assert result.exit_code == 0
    assert "sk-not-for-you" not in result.stdout + result.stderr
    assert "SSH_AUTH_SOCK" not in result.stdout + result.stderr


async def test_other_processes_are_not_seen(sandbox: Sandbox, workspace: Path) -> None:
    program = TRY + (
        "import os\n"
        "for name in ('cmdline', 'environ', 'mem', 'root', 'cwd', 'fd', 'maps'):\n"
        "    place = f'/proc/{sys.argv[1]}/{name}'\n"
        "    folder = name in ('root', 'cwd', 'fd')\n"
        "    tell(lambda: os.listdir(place) if folder else open(place, 'rb').read(9))\n"
        "tell(lambda: os.kill(int(sys.argv[1]), 0))"
    )
    result = await attack(sandbox, workspace, program, str(os.getpid()))
    assert result.stdout.count("blocked") == 8, result.stdout


@pytest.mark.parametrize("place", [Path("/"), Path.home(), Path("/usr"), Path("/etc/..")], ids=str)
async def test_folders_that_hold_everything_are_refused(sandbox: Sandbox, place: Path) -> None:
    with pytest.raises(UsageError, match="cannot be given"):
        await sandbox.run(["true"], folder=place)
