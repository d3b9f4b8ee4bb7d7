"""The server as a process: killed, stopped, started again. Runs go on."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest

from tests.cli.shell import Shell
from tests.server.serving import Served, done, flow, started, until


class Processes:
    """`podium serve`, as often as it is started."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.shell = Shell(folder)

    def serve(self, *words: str, **env: str) -> tuple[subprocess.Popen[bytes], httpx2.Client]:
        process = self.shell.start("serve", "--port", "0", "--json", *words, PODIUM_MODEL="rehearsal", **env)
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, process.stderr.read().decode() if process.stderr else ""
        return process, Served(json.loads(line)["address"], self.folder).client()


@pytest.fixture
def processes(tmp_path: Path) -> Generator[Processes]:
    started = Processes(tmp_path)
    yield started
    started.shell.close()


def test_runs_go_on_after_the_server_was_killed(processes: Processes, tmp_path: Path) -> None:
    process, client = processes.serve("--max-runs", "2")
    with client:
        ids = [started(client, flow("waits"), str(tmp_path / str(n))) for n in range(4)]
        asking = started(client, flow("asks"), "the sea")
        for run_id in ids[:2]:
            until(client, run_id, "running")
        os.kill(process.pid, signal.SIGKILL)
    process.wait()
    for n in range(4):
        (tmp_path / str(n)).touch()
    _, client = processes.serve("--max-runs", "2")
    with client:
        for run_id in ids:
            run = until(client, run_id, "completed")
            assert run["output"] == "firstsecond"
        assert until(client, asking, "waiting")["status"] == "waiting"
    began = [(tmp_path / f"{n}.began").read_text() for n in range(4)]
    assert began == ["began\n"] * 4, "no finished step was run again"


def test_a_stop_pauses_durably_and_a_waiting_run_is_answered_by_the_next_server(
    processes: Processes, tmp_path: Path
) -> None:
    process, client = processes.serve(PODIUM_PAUSE_GRACE="500ms")  # it would wait for ever
    with client:
        going = started(client, flow("waits"), str(tmp_path / "0"))
        asking = started(client, flow("asks"), "the sea")
        until(client, going, "running")
        until(client, asking, "waiting")
        with client.stream("GET", f"/api/runs/{going}/events/stream") as stream:
            for number, _ in enumerate(stream.iter_lines()):  # it ends, rather than keeping the server
                if number == 0:
                    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
    runs = {run["run_id"]: run for run in processes.shell("runs", "--json").json["runs"]}
    assert (runs[going]["status"], runs[going]["stop_reason"]) == ("paused", "server stopped")
    assert runs[asking]["status"] == "waiting"
    (tmp_path / "0").touch()
    _, client = processes.serve()
    with client:
        assert until(client, going, "completed")["output"] == "firstsecond"
        assert client.post(f"/api/runs/{asking}/answer", json={"answer": "yes"}).status_code == 202
        assert done(client, asking)["output"].startswith("yes")


def accepts(address: tuple[str, int]) -> bool:
    """Return whether a server listens at the address."""
    try:
        socket.create_connection(address).close()
    except ConnectionRefusedError:
        return False
    return True


@pytest.mark.parametrize("upload", [False, True], ids=["idle", "during an upload"])
def test_a_second_signal_pauses_the_runs_at_once(processes: Processes, tmp_path: Path, upload: bool) -> None:
    """With an open request, the second signal arrives before the server has begun to pause its runs."""
    process, client = processes.serve(PODIUM_PAUSE_GRACE="1h")
    address = (client.base_url.host, client.base_url.port or 0)
    with client, ExitStack() as stack:
        going = started(client, flow("waits"), str(tmp_path / "0"))
        until(client, going, "running")
        while not (tmp_path / "0.began").exists():
            time.sleep(0.01)
        if upload:  # its body never comes
            request = stack.enter_context(socket.create_connection(address))
            request.sendall(
                f"POST /api/runs HTTP/1.1\r\nHost: {address[0]}:{address[1]}\r\n"
                f"Authorization: {client.headers['Authorization']}\r\nContent-Type: application/json\r\n"
                "Expect: 100-continue\r\nContent-Length: 100\r\n\r\n".encode()
            )
            assert request.recv(100).startswith(b"HTTP/1.1 100")  # the server waits for the body
        process.send_signal(signal.SIGTERM)
        while accepts(address):
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    assert process.stderr is not None
    assert process.stderr.read() == b""
    (run,) = processes.shell("runs", "--json").json["runs"]
    assert (run["status"], run["stop_reason"]) == ("paused", "server stopped")
    (tmp_path / "0").touch()
    _, client = processes.serve()
    with client:
        assert until(client, going, "completed")["output"] == "firstsecond"
    assert (tmp_path / "0.began").read_text() == "began\n", "no finished step was run again"


def test_the_third_signal_ends_a_server_whose_run_hangs(processes: Processes, tmp_path: Path) -> None:
    process, client = processes.serve()
    address = (client.base_url.host, client.base_url.port or 0)
    with client:
        hanging = started(client, flow("hogs"), str(tmp_path / "0"))
        until(client, hanging, "running")
    process.send_signal(signal.SIGINT)
    while accepts(address):
        time.sleep(0.01)
    while process.poll() is None:  # signals that arrive together count as one
        process.send_signal(signal.SIGINT)
        time.sleep(0.01)
    assert process.returncode == 130
    (tmp_path / "0").touch()
    _, client = processes.serve()
    with client:
        assert until(client, hanging, "completed")["output"] == "done"


def test_a_run_that_a_terminal_drives_is_watched_but_left_to_it(processes: Processes, tmp_path: Path) -> None:
    terminal = processes.shell.start("run", flow("waits"), str(tmp_path / "0"), "--json")
    _, client = processes.serve()
    with client:
        runs: list[dict[str, str]] = []
        while not runs:
            runs = client.get("/api/runs").json()["runs"]
        run_id = runs[0]["run_id"]
        assert until(client, run_id, "running")["holder"].startswith(f"pid {terminal.pid}")
        refused = client.post(f"/api/runs/{run_id}/resume", json={})
        assert (refused.status_code, str(terminal.pid) in refused.json()["error"]) == (409, True)
        assert client.post(f"/api/runs/{run_id}/cancel", json={}).json()["status"] == "cancelled"
    assert terminal.wait(30) == 130


def test_a_run_can_be_taken_from_a_process_that_hangs(processes: Processes, tmp_path: Path) -> None:
    terminal = processes.shell.start("run", flow("waits"), str(tmp_path / "0"), "--json")
    _, client = processes.serve()
    with client:
        runs: list[dict[str, str]] = []
        while not runs:
            runs = client.get("/api/runs").json()["runs"]
        run_id = runs[0]["run_id"]
        until(client, run_id, "running")
        terminal.send_signal(signal.SIGSTOP)
        assert client.post(f"/api/runs/{run_id}/resume", json={"take_over": True}).status_code == 202
        (tmp_path / "0").touch()
        assert until(client, run_id, "completed")["output"] == "firstsecond"
        terminal.send_signal(signal.SIGCONT)
        assert terminal.wait(30) == 1, "it finds that the run is not its own any more"


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("--host", "0.0.0.0"), "can be reached from other machines, so users are needed"),
        (("--host", "0.0.0.0", "--users", "none.toml"), "cannot be read"),
        (("--max-runs", "0"), "--max-runs"),
        (("--store", "/proc/nothing/podium.sqlite"), "/proc/nothing"),
        (("--port", "70000"), "--port"),
    ],
)
def test_a_server_that_cannot_be_is_refused_in_a_sentence(
    tmp_path: Path, words: tuple[str, ...], shown: str
) -> None:
    shell = Shell(tmp_path)
    output = shell("serve", *words, code=2)
    assert shown in output.err
    assert "Traceback" not in output.err


def test_a_port_that_is_taken_is_reported(processes: Processes) -> None:
    _, client = processes.serve()
    port = str(client.base_url).rstrip("/").rpartition(":")[2]
    client.close()
    assert "in use" in processes.shell("serve", "--port", port, code=2).err


def test_a_user_is_added_and_their_key_shown_once(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    key = shell("users", "add", "alice", "--budget-usd", "5", "--file", "u.toml").out.strip()
    assert key.startswith("podium-alice-")
    assert key not in (tmp_path / "u.toml").read_text()
    assert (tmp_path / "u.toml").stat().st_mode & 0o777 == 0o600
    assert "there is a user alice" in shell("users", "add", "alice", "--file", "u.toml", code=2).err.lower()
    assert "cannot be the name" in shell("users", "add", "Al-ice", code=2).err
    (user,) = shell("users", "list", "--file", "u.toml", "--json").json["users"]
    assert (user["name"], user["budget_usd"]) == ("alice", 5)
    assert key not in shell("users", "list", "--file", "u.toml").out


def test_without_the_extra_the_command_says_how_to_get_it(tmp_path: Path) -> None:
    block = "import sys; sys.modules['fastapi'] = None\n"
    code = f"{block}from podium.cli.main import main\nsys.exit(main(['serve']))"
    completed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=60
    )
    assert completed.returncode == 2
    assert "pip install 'podium[server]'" in completed.stderr
