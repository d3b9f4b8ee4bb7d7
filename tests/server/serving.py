"""A server in a thread of this process, with a loop of its own; and clients for it."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

from podium.server.http_server import PodiumServer, Serving, Started, serve
from podium.settings import Settings

PROGRAMS = Path(__file__).parent / "programs"
FLOWS = PROGRAMS / "flows.py"
PATIENCE_S = 60.0
OVER = ("completed", "partial", "failed", "cancelled")
TRUSTS_NOBODY = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Here is only HTTP: a client need not read the certificates of all authorities, which takes it 30 ms."""


def flow(name: str) -> str:
    return f"{FLOWS}:{name}"


class Served:
    """A server that runs, and how to reach it."""

    def __init__(self, address: str, folder: Path) -> None:
        base, _, self.token = address.partition("?token=")
        self.base = base.rstrip("/")
        self.folder = folder

    def client(self, key: str | None = None, **headers: str) -> httpx2.Client:
        """A client with a key (`""`: with none)."""
        known = self.token if key is None else key
        sent = {**({"Authorization": f"Bearer {known}"} if known else {}), **headers}
        return httpx2.Client(base_url=self.base, headers=sent, timeout=PATIENCE_S, verify=TRUSTS_NOBODY)


@contextmanager
def served(
    folder: Path,
    *,
    pause_grace: str | None = None,
    made: list[tuple[asyncio.AbstractEventLoop, PodiumServer]] | None = None,
    **options: Any,
) -> Generator[Served]:
    """A server for as long as a block lasts; it is stopped in order. `made` receives its loop and itself."""
    settings = Settings.load(
        cwd=folder, env={}, store=str(folder / "podium.sqlite"), model="rehearsal", pause_grace=pause_grace
    )
    started: list[Started] = []
    servers = made if made is not None else []
    known = threading.Event()
    failed: list[BaseException] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        serving = Serving(settings=settings, port=0, **options)
        await serve(
            serving,
            lambda what: (started.append(what), known.set()),  # type: ignore[func-returns-value]
            made=lambda server: servers.append((loop, server)),
        )

    def run() -> None:
        try:
            asyncio.run(main())
        except BaseException as error:  # noqa: BLE001 - told below, in the test's own thread
            failed.append(error)
            known.set()

    thread = threading.Thread(target=run, name="server")
    thread.start()
    try:
        assert known.wait(PATIENCE_S)
        if failed:
            raise failed[0]
        yield Served(started[0].address, folder)
    finally:
        for loop, server in servers:
            loop.call_soon_threadsafe(setattr, server, "should_exit", True)
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


def started(client: httpx2.Client, workflow: str, request: str, **more: Any) -> str:
    """The id of a new run."""
    answer = client.post("/api/runs", json={"workflow": workflow, "request": request, **more})
    assert answer.status_code == 202, answer.text
    return answer.json()["run_id"]


def events_of(client: httpx2.Client, run_id: str) -> list[dict[str, Any]]:
    return client.get(f"/api/runs/{run_id}/events", params={"limit": 5000}).json()["events"]


def until(client: httpx2.Client, run_id: str, *wanted: str) -> dict[str, Any]:
    """Follow a run until it is in one of these statuses; by its stream, so that nothing is slept away."""
    with client.stream("GET", f"/api/runs/{run_id}/events/stream") as stream:
        name = ""
        for line in stream.iter_lines():
            name = line.removeprefix("event: ") if line.startswith("event: ") else name if line else ""
            if (
                name == "status"
                and line.startswith("data: ")
                and any(f'"{status}"' in line for status in wanted)
            ):
                break
    return client.get(f"/api/runs/{run_id}").json()


def done(client: httpx2.Client, run_id: str) -> dict[str, Any]:
    return until(client, run_id, *OVER)
