"""A real Temporal server for the tests: Temporal's own development server, in memory."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from temporalio.api.enums.v1 import EventType
from temporalio.client import Client

INSTALLED = Path(sys.prefix) / "temporal" / "bin" / "temporal"
"""Where `make test` puts it."""
PATIENCE_S = 60.0


def program() -> str:
    """The `temporal` command; empty where there is none."""
    return str(INSTALLED) if INSTALLED.exists() else shutil.which("temporal") or ""


@contextmanager
def server(**settings: object) -> Generator[str]:
    """The address of a server that does not outlive the block; `settings` are its dynamic ones."""
    port = _free_port()
    command = [
        program(), "server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", str(port),
        "--log-level", "error",
        *(word for name, value in settings.items() for word in ("--dynamic-config-value", f"{name}={value}")),
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            _wait(process, port)
            yield f"temporal://127.0.0.1:{port}"
        finally:
            process.kill()


def new_namespace(address: str) -> str:
    """The address of an engine in a namespace of its own."""
    name = f"test-{os.urandom(4).hex()}"
    host = address.removeprefix("temporal://")
    command = [program(), "operator", "namespace", "create", "--address", host, "--namespace", name]
    until = time.monotonic() + PATIENCE_S
    while True:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return f"{address}/{name}"
        assert time.monotonic() < until, done.stderr
        time.sleep(0.2)


async def connected(address: str) -> Client:
    """A client of the namespace that an engine's address names."""
    host, _, namespace = address.removeprefix("temporal://").partition("/")
    return await Client.connect(host, namespace=namespace)


async def happened(address: str, workflow_id: str, kind: EventType.ValueType) -> int:
    """How many events of a kind the server's own history of a workflow has."""
    client = await connected(address)
    history = client.get_workflow_handle(workflow_id).fetch_history_events()
    return sum([event.event_type == kind async for event in history])


async def continued(address: str, workflow_id: str) -> bool:
    """Whether a workflow goes on for another one of its name, whose history had grown long."""
    client = await connected(address)
    async for event in client.get_workflow_handle(workflow_id).fetch_history_events():
        return bool(event.workflow_execution_started_event_attributes.continued_execution_run_id)
    return False


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        assert process.poll() is None, "the server ended"
        with socket.socket() as trial:
            trial.settimeout(0.2)
            if trial.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("the server does not answer")
