"""`podium migrate`, `podium copy`, and other commands on a store in PostgreSQL; passwords stay unseen."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import psycopg
import pytest
from psycopg import OperationalError

from podium.cli.failure import STOPPED, exit_code_of
from podium.engine.result import RunResult
from podium.errors import StoreAwayError
from podium.stores.postgres.connection import explain
from podium.stores.sqlite.connection import SCHEMA
from tests.cli.shell import FLOWS, Shell
from tests.stores.postgres import Server

PASSWORD = "s3cret-word"


@pytest.fixture
def database(pg_server: Server) -> str:
    """A URL with a password (which this server does not ask for)."""
    name = pg_server.new_database().rpartition("/")[2]
    return pg_server.url(name, PASSWORD)


def run(podium: Shell, *words: str, **env: str) -> str:
    output = podium(
        "run", f"{FLOWS}:chain", "a request", "--model", "rehearsal", "--json", *words, code=0, **env
    )
    return output.json["run_id"]


# ── migrate ──

SQLITE, POSTGRES = (len(list(SCHEMA.glob(f"{kind}_*.sql"))) for kind in ("sqlite", "postgres"))
"""The newest schema of each."""


def test_migrate_makes_a_store_and_shows_what_it_found(podium: Shell, tmp_path: Path) -> None:
    path = tmp_path / "new.sqlite"
    made = podium("migrate", "--store", str(path), code=0)
    assert made.out == f"Created the store sqlite:///{path} with schema {SQLITE}.\n"
    again = podium("migrate", "--store", str(path), code=0)
    assert again.out == f"The store sqlite:///{path} is up to date (schema {SQLITE}).\n"
    assert podium("migrate", "--store", str(path), "--json", code=0).json == {
        "store": f"sqlite:///{path}",
        "before": SQLITE,
        "after": SQLITE,
    }


def test_migrate_in_postgresql(podium: Shell, database: str) -> None:
    assert f"with schema {POSTGRES}." in podium("migrate", "--store", database, code=0).out
    assert f"is up to date (schema {POSTGRES})" in podium("migrate", "--store", database, code=0).out
    with psycopg.connect(database, autocommit=True) as db:
        db.execute("UPDATE podium_schema SET version = 99")
    refused = podium("migrate", "--store", database, code=2)
    assert f"newer Podium (schema 99; known: {POSTGRES})" in refused.err


def test_migrate_refuses_what_is_no_store(podium: Shell, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "other.sqlite") as db:
        db.execute("CREATE TABLE mine (x)")
    refused = podium("migrate", "--store", "other.sqlite", code=2)
    assert "not a Podium store" in refused.err
    assert "Traceback" not in refused.err


# ── copy ──


def test_a_run_is_copied_to_postgresql_and_back(podium: Shell, database: str, tmp_path: Path) -> None:
    run_id = run(podium)
    copied = podium("copy", "last", "--to", database, "--json", code=0).json
    events = podium("events", run_id, "--json", code=0).out
    assert copied["events"] == len(events.splitlines())
    assert copied["run"]["run_id"] == run_id
    assert podium("events", run_id, "--json", "--store", database, code=0).out == events
    back = str(tmp_path / "back.sqlite")
    output = podium("copy", run_id, "--store", database, "--to", back, code=0)
    assert output.out.startswith(f"Copied run {run_id} to sqlite:///{back}: {copied['events']} events, ")
    assert podium("events", run_id, "--json", "--store", back, code=0).out == events
    shown = [podium("show", run_id, "--json", *where, code=0).json for where in ((), ("--store", back))]
    assert shown[0] == shown[1]
    podium("replay", run_id, "--store", back, code=0)


def test_large_values_go_along(podium: Shell, database: str) -> None:
    flow = "import podium\n\n\n@podium.workflow\nasync def flow(run, request: str) -> str:\n"
    flow += "    return await run.step('large', str.__mul__, 'x', 100_000)\n"
    (podium.folder / "flow.py").write_text(flow)
    made = podium("run", "flow.py", "x", "--json", code=0).json
    copied = podium("copy", made["run_id"], "--to", database, "--json", code=0).json
    assert copied["blobs"] == 1
    shown = podium("show", made["run_id"], "--json", "--store", database, code=0).json
    assert shown["output"] == "x" * 100_000


def test_a_run_that_is_there_already_is_refused(podium: Shell, database: str) -> None:
    run_id = run(podium)
    podium("copy", run_id, "--to", database, code=0)
    refused = podium("copy", run_id, "--to", database, code=2)
    assert f"has a run {run_id} already" in refused.err
    assert PASSWORD not in refused.err
    same = podium("copy", run_id, "--to", database, "--store", database, code=2)
    assert "The run is already in that store" in same.err


def test_a_run_that_is_driven_is_refused(podium: Shell, tmp_path: Path) -> None:
    flow = "import asyncio\nimport podium\n\n\n@podium.workflow\nasync def flow(run, request: str) -> None:\n"
    flow += "    await run.step('long', asyncio.sleep, 600)\n"
    (podium.folder / "flow.py").write_text(flow)
    process = podium.start("run", "flow.py", "x", "--events")
    assert process.stdout is not None
    run_id = json.loads(process.stdout.readline())["run_id"]
    refused = podium("copy", run_id, "--to", str(tmp_path / "copy.sqlite"), code=2)
    assert f"pid {process.pid}" in refused.err
    assert "cannot be copied while" in refused.err


def test_copy_needs_a_run_and_a_place(podium: Shell, tmp_path: Path) -> None:
    run_id = run(podium)
    assert "--to" in podium("copy", run_id, code=2).err
    assert "There is no run nothing" in podium("copy", "nothing", "--to", "x.sqlite", code=2).err
    unreachable = podium("copy", run_id, "--to", f"postgresql://me:{PASSWORD}@127.0.0.1:1/db", code=2)
    assert "cannot be reached" in unreachable.err
    assert PASSWORD not in unreachable.err


# ── passwords ──


def test_no_command_shows_the_password_of_the_store(podium: Shell, database: str) -> None:
    run_id = run(podium, "--store", database)
    outputs = [
        podium(*words, "--store", database, code=None)
        for words in (
            ["run", f"{FLOWS}:chain", "again", "--model", "rehearsal"],
            ["runs"],
            ["show", run_id],
            ["show", run_id, "--json"],
            ["events", run_id, "--json"],
            ["report", run_id, "--format", "json"],
            ["doctor"],
            ["doctor", "--json"],
            ["migrate", "--json"],
            ["resume", run_id],
            ["cancel", run_id],
            ["fork", run_id],
            ["cache"],
            ["artifacts", run_id],
            ["brain", "show"],
        )
    ]
    assert all(PASSWORD not in output.out + output.err for output in outputs)
    assert all("Traceback" not in output.err for output in outputs)
    assert any("--store postgresql://podium@127.0.0.1" in output.out + output.err for output in outputs)
    with psycopg.connect(database) as db:
        for table in ("event", "run", "driver"):
            rows = db.execute(f"SELECT {table}::text FROM {table}".encode()).fetchall()
            assert rows or table == "driver"
            assert all(PASSWORD.encode().hex() not in text and PASSWORD not in text for (text,) in rows)


def test_the_doctor_looks_at_postgresql(podium: Shell, database: str) -> None:
    checks = {
        check["name"]: check for check in podium("doctor", "--json", "--store", database).json["checks"]
    }
    assert checks["store"]["state"] == "ok"
    assert "a question takes" in checks["store"]["told"]
    assert "lock" not in checks
    gone = podium("doctor", "--json", "--store", f"postgresql://me:{PASSWORD}@127.0.0.1:1/db", code=1).json
    (store,) = [check for check in gone["checks"] if check["name"] == "store"]
    assert store["state"] == "fail"
    assert PASSWORD not in json.dumps(gone)


def test_a_store_that_stays_away_stops_a_run_which_can_be_resumed() -> None:
    lost = explain(OperationalError("connection refused"), "postgresql://somewhere")
    assert isinstance(lost, StoreAwayError)
    assert exit_code_of(lost) == STOPPED
    result = RunResult(run_id="r", workflow="w", status="paused", stop_reason="store error")
    assert result.exit_code == STOPPED
