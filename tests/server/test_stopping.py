"""The end of a server: no connection is left open."""

from __future__ import annotations

import asyncio
import socket
import time
from pathlib import Path

from podium.server.http_server import PodiumServer
from tests.server.serving import PATIENCE_S, Served, done, flow, served, started


def place(server: Served) -> tuple[str, int]:
    host, _, port = server.base.removeprefix("http://").partition(":")
    return host, int(port)


def is_closed(line: socket.socket) -> bool:
    """Whether the other side has ended a connection; waits for it, and reads what was sent before."""
    line.settimeout(PATIENCE_S)
    try:
        while line.recv(65_536):
            pass
    except ConnectionResetError:
        pass
    return True


def test_a_connection_accepted_in_the_moment_of_the_stop_is_closed(tmp_path: Path) -> None:
    """It comes while the loop is busy, and the loop is told of it in the same turn as of the stop."""
    made: list[tuple[asyncio.AbstractEventLoop, PodiumServer]] = []
    lines: list[socket.socket] = []
    with served(tmp_path, made=made) as server:
        loop, running = made[0]

        def at_once() -> None:
            lines.append(socket.create_connection(place(server)))
            time.sleep(0.3)  # longer than the pause after which the server looks whether it shall end
            running.should_exit = True

        loop.call_soon_threadsafe(at_once)
    with lines[0]:
        assert is_closed(lines[0])


def test_a_reader_who_reads_nothing_is_let_go_at_the_end(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        with server.client() as client:
            run_id = started(client, flow("counts"), "3000:4000")
            done(client, run_id)
        host, port = place(server)
        stuck = socket.create_connection((host, port))
        stuck.sendall(
            f"GET /api/runs/{run_id}/events/stream HTTP/1.1\r\nHost: {host}:{port}\r\n"
            f"Authorization: Bearer {server.token}\r\n\r\n".encode()
        )
        assert stuck.recv(100)
    with stuck:
        assert is_closed(stuck)
