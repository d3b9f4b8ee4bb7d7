"""How a worker meets a store or an engine that is away, refuses it, or is not what it should be."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path
from subprocess import Popen

import httpx2
import psycopg
import pytest

from podium.cluster.port import shared
from podium.cluster.procrastinate.engine import MIGRATING
from podium.cluster.worker import STOPPED
from tests.cli.shell import Shell
from tests.cluster import temporal
from tests.cluster.fleet import PATIENCE_S, lab
from tests.stores import postgres
from tests.stores.postgres import Server

AWAY = "postgresql://me@127.0.0.1:1/away"


@pytest.fixture
def shell(tmp_path: Path) -> Generator[Shell]:
    made = Shell(tmp_path)
    yield made
    made.close()


def first_line(process: Popen[bytes]) -> str:
    """What a worker says first; it goes on."""
    assert process.stderr is not None
    return process.stderr.readline().decode()


@pytest.mark.parametrize("engine", ["procrastinate", "temporal"])
def test_a_database_that_is_away_is_waited_for_on_every_engine(
    shell: Shell, engine: str, request: pytest.FixtureRequest
) -> None:
    if engine == "temporal":
        engine = temporal.new_namespace(request.getfixturevalue("temporal_server"))
    worker = shell.start("worker", "--store", AWAY, "--engine", engine)
    assert f"Waiting: The store {AWAY} cannot be reached" in first_line(worker)
    worker.send_signal(signal.SIGKILL)


def test_a_temporal_server_that_is_away_is_waited_for_and_named(shell: Shell, pg_server: Server) -> None:
    engine = "temporal://127.0.0.1:1/x"
    worker = shell.start("worker", "--store", pg_server.new_place(), "--engine", engine)
    output = first_line(worker)
    assert output.endswith(
        "Waiting: The Temporal server at 127.0.0.1:1 cannot be reached: Connection refused.\n"
    )
    worker.send_signal(signal.SIGKILL)


def test_a_store_that_refuses_is_not_waited_for(shell: Shell, pg_server: Server) -> None:
    nowhere = pg_server.url("nowhere")
    output = shell("worker", "--store", nowhere, code=2).err
    assert 'database "nowhere" does not exist' in output
    assert "Hint: Check its user, password and database." in output


def test_a_store_of_a_newer_podium_is_not_waited_for(shell: Shell, pg_server: Server) -> None:
    url = pg_server.new_database()
    shell("migrate", "--store", url)
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("UPDATE podium_schema SET version = 99")
    assert "written by a newer Podium (schema 99" in shell("worker", "--store", url, code=2).err


def test_a_namespace_that_is_not_there_is_reported(
    shell: Shell, pg_server: Server, temporal_server: str
) -> None:
    engine = f"{temporal_server}/nowhere"
    for words in (
        ("worker",),
        ("schedule", "list"),
        ("run", "tree", "x", "--detach", "--model", "rehearsal"),
    ):
        output = shell(*words, "--store", pg_server.new_place(), "--engine", engine, code=2).err
        assert "has no namespace nowhere" in output


def test_many_who_migrate_at_once_all_find_the_queue(shell: Shell, pg_server: Server) -> None:
    """Those that had to wait must look again with fresh eyes: PostgreSQL remembers what a name was not."""
    url = pg_server.new_database()
    with psycopg.connect(url) as first:
        first.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATING,))
        others = [shell.start("migrate", "--store", url) for _ in range(2)]
        with psycopg.connect(url, autocommit=True) as looking:
            waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            until = time.monotonic() + PATIENCE_S
            while looking.execute(waiting).fetchone() != (2,):
                assert time.monotonic() < until
                time.sleep(0.05)
    for process in others:
        assert process.stderr is not None
        assert (process.wait(PATIENCE_S), process.stderr.read()) == (0, b"")


def test_migrating_makes_all_that_workers_need(shell: Shell, pg_server: Server) -> None:
    """So that those who drive need no right to make tables."""
    url = pg_server.new_database()
    shell("migrate", "--store", url)
    name = f"driver_{url.rpartition('/')[2]}"
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(f"CREATE ROLE {name} LOGIN".encode())
        for what in ("TABLES", "SEQUENCES"):
            db.execute(f"GRANT ALL ON ALL {what} IN SCHEMA public TO {name}".encode())
    bare = url.replace("podium@", f"{name}@")
    queued = shell("run", "tree", "x", "--model", "rehearsal", "--detach", "--json", "--store", bare).json
    assert queued["status"] == "queued"
    worker = shell.start("worker", "--store", bare, "--port", "0")
    shell("events", queued["run_id"], "--follow", "--store", url)
    assert shell("show", queued["run_id"], "--store", url, "--json").json["status"] == "completed"
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(PATIENCE_S) == 0


async def test_a_worker_is_not_ready_while_its_database_is_away(
    engine: str, tmp_path: Path, pg_server: Server
) -> None:
    with postgres.server() as server:
        async with lab(server.new_database(), tmp_path, engine) as fleet:
            machine = await fleet.machine("--port", "0")
            address = (await machine.said("metrics at")).rpartition(" ")[2].rstrip(".")
            async with httpx2.AsyncClient(base_url=address, timeout=60) as client:
                assert (await client.get("/ready")).status_code == 200
                await asyncio.to_thread(server.stop)
                response = await client.get("/ready")
                assert (response.status_code, json.loads(response.text)["reason"]) == (
                    503,
                    "The database does not answer.",
                )
                assert (await client.get("/health")).status_code == 200
                await asyncio.to_thread(server.start)
                await ready_again(client)


async def test_a_temporal_server_that_goes_away_for_good_leaves_runs_that_others_go_on_with(
    tmp_path: Path, pg_server: Server
) -> None:
    """Even when nothing of the workflow is left there: the log says that the run wants to be driven."""
    if not temporal.program():
        pytest.skip("Temporal: its server is not installed; `make test` does that")
    with ExitStack() as stack:
        address = temporal.new_namespace(stack.enter_context(temporal.server()))
        async with lab(f"{pg_server.new_database()}?lease_s=2", tmp_path, address) as fleet:
            row = await fleet.start("gated", str(tmp_path / "never"))
            machine = await fleet.machine("--port", "0")
            address = (await machine.said("metrics at")).rpartition(" ")[2].rstrip(".")
            await fleet.event(row.run_id, "step.started")
            stack.close()
            async with httpx2.AsyncClient(base_url=address, timeout=60) as client:
                response = await client.get("/ready")
                assert (response.status_code, response.json()["reason"]) == (
                    503,
                    "The engine does not answer.",
                )
                assert (await client.get("/metrics")).status_code == 503
            await machine.said(
                f"Run {row.run_id} is not driven here any more: the connection to Temporal was lost."
            )
            unattended = await shared(fleet.store).list_unattended(STOPPED, limit=5)
            assert [(run.run_id, run.status) for run in unattended] == [(row.run_id, "paused")]
            assert not any("Traceback" in line for line in machine.lines)


async def ready_again(client: httpx2.AsyncClient) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while (await client.get("/ready")).status_code != 200:  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.1)


def test_workflows_that_are_not_podiums_own_are_reported(shell: Shell, pg_server: Server) -> None:
    """They may be somebody's own, of files that only runs name; but mostly it is a slip."""
    store = pg_server.new_place()
    worker = shell.start("worker", "--workflows", "tre, mine,council", "--store", store)
    assert worker.stdout is not None
    lines = [worker.stdout.readline().decode().strip() for _ in range(4)]
    assert lines[1:] == [
        "Only runs of tre, mine, council.",
        "tre is not a shipped workflow; it must be one of yours. Did you mean tree?",
        "mine is not a shipped workflow; it must be one of yours.",
    ]
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(PATIENCE_S) == 0
    assert "--workflows is empty" in shell("worker", "--workflows", ",", "--store", store, code=2).err


@pytest.mark.parametrize(
    "url", ["postgresql://me:sec@ret@127.0.0.1/x", "postgresql://me:sec/ret@127.0.0.1/x"]
)
def test_an_address_that_cannot_be_read_is_not_waited_for_and_not_shown(shell: Shell, url: str) -> None:
    output = shell("worker", "--store", url, code=2).err
    assert "The address of the store cannot be read." in output
    assert "ret@" not in output
