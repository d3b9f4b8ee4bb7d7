"""A real Temporal server for the tests: Temporal's own development server, in memory."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from temporalio.api.enums.v1 import EventType
from temporalio.client import Client

INSTALLED = Path(sys.prefix) / "temporal" / "bin" / "temporal"
"""Where `make test` puts it."""
PATIENCE_S = 60.0
STARTS = 5


def program() -> str:
    """The `temporal` command; empty where there is none."""
    return str(INSTALLED) if INSTALLED.exists() else shutil.which("temporal") or ""


@contextmanager
def server(**settings: object) -> Generator[str]:
    """The address of a server that does not outlive the block; `settings` are its dynamic ones.

    The server chooses further free ports before it binds them. Another process can take one in between; then
    the server ends, and is started again with other ports.
    """
    with tempfile.TemporaryFile() as output:
        for _ in range(STARTS):
            port = _free_port()
            with subprocess.Popen(_command(port, settings), stdout=output, stderr=output) as process:
                try:
                    if _serves(process, port):
                        yield f"temporal://127.0.0.1:{port}"
                        return
                finally:
                    process.kill()
        output.seek(0)
        raise AssertionError(f"the server ended {STARTS} times: {output.read().decode()}")


def _command(port: int, settings: dict[str, object]) -> list[str]:
    options = ["--headless", "--ip", "127.0.0.1", "--port", str(port), "--log-level", "error"]
    for name, value in settings.items():
        options += ["--dynamic-config-value", f"{name}={value}"]
    return [program(), "server", "start-dev", *options]


def new_namespace(address: str) -> str:
    """The address of an engine in a namespace of its own."""
    name = f"test-{os.urandom(4).hex()}"
    host = address.removeprefix("temporal://")
    command = [program(), "operator", "namespace", "create", "--address", host, "--namespace", name]
    until = time.monotonic() + PATIENCE_S
    while True:
        completed = subprocess.run(command, capture_output=True, text=True, check=False)
        if completed.returncode == 0:
            return f"{address}/{name}"
        assert time.monotonic() < until, completed.stderr
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


def _serves(process: subprocess.Popen[bytes], port: int) -> bool:
    """Wait until the server answers; false if it ended instead."""
    check = [program(), "operator", "cluster", "health", "--address", f"127.0.0.1:{port}"]
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        healthy = subprocess.run(check, capture_output=True, check=False).returncode == 0
        if process.poll() is not None:
            return False
        if healthy:
            return True
        time.sleep(0.1)
    raise AssertionError("the server does not answer")
