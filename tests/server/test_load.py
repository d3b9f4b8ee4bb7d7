"""Many at once: a hundred runs started over HTTP, and people who read meanwhile."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx2

from tests.server.serving import served

RUNS = 100


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
