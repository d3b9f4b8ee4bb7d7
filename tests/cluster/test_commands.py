"""The commands of a fleet, and a server that leaves the driving to workers."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections.abc import Awaitable, Callable, Generator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from podium.cluster.port import Schedule, shared
from podium.engine.codec import decode
from podium.engine.history import history_of
from tests.cli.shell import Shell
from tests.cluster.fleet import FLOWS, PATIENCE_S, Lab, every_second


@pytest.fixture
def shell(fleet: Lab, tmp_path: Path) -> Generator[Shell]:
    made = Shell(tmp_path)
    made.env["PODIUM_STORE"] = fleet.url
    made.env["PODIUM_ENGINE"] = fleet.name
    yield made
    made.close()


async def said(shell: Shell, *words: str, code: int = 0) -> str:
    output = await asyncio.to_thread(shell, *words, code=code)
    return output.out + output.err


async def until(look: Callable[[], Awaitable[Any]], wanted: Any) -> None:
    """Look again and again, until it is what is wanted, or more."""
    async with asyncio.timeout(PATIENCE_S):
        while await look() < wanted:  # noqa: ASYNC110 - what is looked at lies in another process
            await asyncio.sleep(0.05)


async def completed(fleet: Lab) -> int:
    return len(await fleet.store.list_runs(status=("completed",), limit=500))


async def waiting_for_a_person(fleet: Lab) -> int:
    return len(await fleet.store.list_runs(status=("waiting",)))


async def calls(fleet: Lab) -> int:
    return len(fleet.noted("paid"))


async def waiting(fleet: Lab) -> int:
    return (await fleet.engine.load()).waiting


async def test_a_run_is_left_to_the_fleet_and_answered_from_a_terminal(fleet: Lab, shell: Shell) -> None:
    queued = json.loads(
        await said(shell, "run", f"{FLOWS}:asks", "Which?", "--model", "rehearsal", "--detach", "--json")
    )
    assert queued["status"] == "queued"
    machine = await fleet.machine()
    await fleet.event(queued["run_id"], "run.waiting")
    await machine.said(f"Run {queued['run_id']} is waiting")
    assert "Answered question" in await said(shell, "answer", queued["run_id"], "this")
    log = await fleet.over(queued["run_id"])
    assert decode(log[-1].data)["output"] == "this"
    drivers = {decode(row.data)["holder"] for row in log if row.type in ("run.started", "run.resumed")}
    assert drivers == {f"pid {machine.pid} on {next(iter(drivers)).rpartition(' ')[2]}"}


async def test_a_fleet_needs_a_store_that_all_machines_reach(shell: Shell) -> None:
    for words in (
        ("worker",),
        ("run", "tree", "x", "--detach", "--model", "rehearsal"),
        ("schedule", "list"),
    ):
        shell.env["PODIUM_STORE"] = str(shell.folder / "here.sqlite")
        output = await said(shell, *words, code=2)
        assert "need a store that all of them reach" in output


async def test_an_engine_that_is_not_there_is_refused(shell: Shell) -> None:
    assert "There is no engine steam" in await said(shell, "worker", "--engine", "steam", code=2)


async def test_schedules_are_added_listed_and_removed(fleet: Lab, shell: Shell) -> None:
    words = ("schedule", "add", "0 8 * * *", f"{FLOWS}:three", "Good morning", "--name", "morning")
    assert "The schedule morning starts three at 0 8 * * * (UTC)." in await said(shell, *words)
    assert "There is a schedule morning already." in await said(shell, *words, code=2)
    assert "morning  0 8 * * *   three     Good morning" in await said(shell, "schedule", "list")
    away = ("--store", "postgresql://127.0.0.1:1/away")
    output = await said(shell, "schedule", "add", "61 * * * *", f"{FLOWS}:three", "x", *away, code=2)
    assert (
        "'61 * * * *' is not a cron expression that ever fires" in output
    )  # before anybody is asked to keep it
    output = await said(shell, "schedule", "add", "every day", f"{FLOWS}:three", "x", code=2)
    assert "'every day' is not a cron expression that ever fires" in output
    assert "Removed the schedule morning" in await said(shell, "schedule", "remove", "morning")
    assert "There is no schedule morning." in await said(shell, "schedule", "remove", "morning", code=2)
    assert "There are no schedules." in await said(shell, "schedule", "list")


async def test_each_moment_of_a_schedule_starts_one_run_however_many_workers_there_are(fleet: Lab) -> None:
    began = time.time()
    start = {"workflow": f"{FLOWS}:three", "request": "tick", "model": "rehearsal"}
    await fleet.engine.add_schedule(
        Schedule(name="tick", cron=every_second(fleet), workflow="three", start=start, created_at=began)
    )
    machines = [await fleet.machine() for _ in range(3)]
    await until(lambda: completed(fleet), 5)
    await machines[0].kill()
    killed = len(await fleet.store.list_runs())
    await until(lambda: completed(fleet), killed + 5)
    assert await fleet.engine.remove_schedule("tick")
    moments: list[int] = []
    for machine in machines[1:]:
        machine.signal(signal.SIGTERM)
        assert await machine.end() == 0
    for row in await fleet.store.list_runs(limit=500):
        created, _, _ = history_of(await fleet.store.read(row.run_id, types=("run.created",)))
        assert created.config["schedule"] == "tick"
        moments.append(created.config["moment"])
    assert len(moments) == len(set(moments)), "a moment has started two runs"
    first, last = min(moments), max(moments)
    assert sorted(moments) == list(range(first, last + 1)), "a moment has started no run"
    assert first >= began


async def test_a_worker_shows_probes_and_an_autoscaler_how_it_does(fleet: Lab) -> None:
    gate = fleet.folder / "open"
    await fleet.start("gated", str(gate))
    await fleet.start("gated", str(gate))
    machine = await fleet.machine("--port", "0", "--concurrency", "1")
    address = (await machine.said("metrics at")).rpartition(" ")[2].rstrip(".")
    await until(lambda: calls(fleet), 2)
    await fleet.carries(1, 1)
    async with httpx2.AsyncClient(base_url=address) as client:
        assert (await client.get("/health")).json() == {"alive": True, "running": 1}
        assert (await client.get("/ready")).status_code == 200
        metrics = (await client.get("/metrics")).text
        assert "podium_queue_depth 1\n" in metrics
        assert "podium_worker_running 1\n" in metrics
        machine.signal(signal.SIGTERM)
        await machine.said("Stopping")
        assert (await client.get("/ready")).status_code == 503
    gate.touch()
    assert await machine.end() == 0


async def test_a_server_on_postgresql_only_accepts_and_shows(fleet: Lab, shell: Shell) -> None:
    server = shell.start("serve", "--port", "0", "--json")
    assert server.stdout is not None
    ready = json.loads(await asyncio.to_thread(server.stdout.readline))
    assert ready["drives"] is False
    host, _, token = ready["address"].partition("/?token=")
    bearer = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(base_url=host, headers=bearer, timeout=60) as client:
        body = {"workflow": f"{FLOWS}:asks", "request": "Which?", "model": "rehearsal"}
        run_id = (await client.post("/api/runs", json=body)).json()["run_id"]
        await until(lambda: waiting(fleet), 1)
        assert (await client.get(f"/api/runs/{run_id}")).json()["status"] == "queued"
        await fleet.machine()
        await fleet.event(run_id, "run.waiting")
        await until(lambda: waiting_for_a_person(fleet), 1)
        assert (await client.post(f"/api/runs/{run_id}/answer", json={"answer": "this"})).status_code == 202
        await fleet.over(run_id)
        assert (await client.get(f"/api/runs/{run_id}")).json()["output"] == "this"
    server.send_signal(signal.SIGTERM)
    await asyncio.to_thread(server.communicate)
    assert server.returncode == 0


async def test_an_owner_has_no_more_runs_at_once_than_they_may_on_all_machines(fleet: Lab) -> None:
    gate = fleet.folder / "open"
    await shared(fleet.store).set_limit("alice", 2)
    rows = [await fleet.start("gated", str(gate), marks={"owner": "alice"}) for _ in range(5)]
    other = await fleet.start("three", marks={"owner": "bob"})
    for _ in range(3):
        await fleet.machine()
    await fleet.over(other.run_id)
    await until(lambda: shared(fleet.store).count_open("alice"), (2, 3))
    gate.touch()
    for row in rows:
        await fleet.over(row.run_id)
    logs = [await fleet.store.read(row.run_id) for row in rows]
    spans = [(log[1].time_us, log[-1].time_us) for log in logs]
    assert max(sum(begin <= moment < end for begin, end in spans) for moment, _ in spans) == 2


async def test_a_workflow_may_have_a_long_name(fleet: Lab) -> None:
    row = await fleet.start("a_workflow_whose_name_is_longer_than_a_channel_of_postgresql_may_be")
    machine = await fleet.machine("--workflows", row.workflow)
    await fleet.over(row.run_id)
    assert row.run_id in await machine.said("is completed")
