"""Many at once: a hundred runs started over HTTP, and people who read meanwhile."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import httpx2
import pytest

from podium.server.http_server import listen
from tests.server.serving import done, events_of, flow, served, started

RUNS = 100


def test_requests_are_answered_while_a_run_lets_nothing_else_go_on(
    client: httpx2.Client, tmp_path: Path
) -> None:
    let_go = tmp_path / "let-go"
    run_id = started(client, flow("hogs"), str(let_go))
    while "run.started" not in {event["type"] for event in events_of(client, run_id)}:
        pass  # each of these is answered
    assert client.get(f"/api/runs/{run_id}").json()["status"] == "running"
    assert client.post("/api/runs", json={"workflow": "tree", "request": "x"}).status_code == 202
    let_go.touch()
    assert done(client, run_id)["output"] == "done"


async def test_answers_do_not_wait_for_the_client_to_confirm_a_part_of_them() -> None:
    listening = listen("127.0.0.1", 0)
    seen: list[int] = []

    def connected(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection: socket.socket = writer.get_extra_info("socket")
        seen.append(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    async with await asyncio.start_server(connected, sock=listening):
        reader, writer = await asyncio.open_connection(*listening.getsockname()[:2])
        await reader.read()
        writer.close()
    assert seen == [1]


@pytest.mark.slow
async def test_a_hundred_runs_that_are_started_at_once_all_finish(tmp_path: Path) -> None:
    with served(tmp_path, max_runs=30) as server:
        headers = {"Authorization": f"Bearer {server.token}"}
        async with httpx2.AsyncClient(base_url=server.base, headers=headers, timeout=240) as client:
            bodies = [{"workflow": "tree", "request": f"Plan garden {n}"} for n in range(RUNS)]
            answers = await asyncio.gather(*(client.post("/api/runs", json=body) for body in bodies))
            assert {answer.status_code for answer in answers} == {202}
            ids = {answer.json()["run_id"] for answer in answers}
            assert len(ids) == RUNS
            counts = {"queued": RUNS}
            while counts.get("completed") != RUNS:
                runs = (await client.get("/api/runs", params={"limit": 200})).json()["runs"]
                assert {run["run_id"] for run in runs} == ids, "each was there as soon as it was accepted"
                counts = dict[str, int]()
                for run in runs:
                    counts[run["status"]] = counts.get(run["status"], 0) + 1
                assert set(counts) <= {"queued", "running", "completed"}, counts
                ready = (await client.get("/api/ready")).json()
                assert ready["running"] <= 30
            texts = [(await client.get(f"/api/runs/{run_id}")).json()["output"]["document"] for run_id in ids]
            assert len(set(texts)) == RUNS, "nobody got the result of another"
