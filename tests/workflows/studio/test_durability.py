"""A studio that is killed goes on where it was, pays nothing twice, and replays without a call."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import podium
from podium.stores import open_store
from tests import warm

ROOT = Path(__file__).parents[3]


def drive(folder: Path, log: str, kill_at: int = 0, run_id: str = "") -> subprocess.CompletedProcess[str]:
    words = [str(folder / "runs.sqlite"), str(folder / log), str(kill_at), *([run_id] if run_id else [])]
    command = [sys.executable, "-m", "tests.workflows.studio.programs.patient", *words]
    return warm.run(command, cwd=ROOT, text=True, timeout=120)


def logged(completed: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert completed.returncode == 0, completed.stderr
    return json.loads(completed.stdout)


def without_times(output: dict[str, Any]) -> str:
    """The output without what depends on the clock and on the run's id."""
    for report in output["departments"]:
        del report["metadata"], report["headExecutionId"]
        for item in report["specialistResults"]:
            del item["executionTime"]
    return json.dumps(output, sort_keys=True)


@pytest.mark.parametrize("kill_at", [1, 7, 15, 26, 29, 31])
async def test_killed_at_any_call_it_ends_in_the_same_result_and_pays_nothing_twice(
    tmp_path: Path, kill_at: int
) -> None:
    whole = logged(drive(tmp_path, "whole.log"))
    killed = drive(tmp_path, "calls.log", kill_at)
    assert killed.returncode == -9
    async with open_store(f"sqlite:///{tmp_path}/runs.sqlite") as store:
        run_id = next(row.run_id for row in await store.list_runs() if row.run_id != whole["run_id"])
    again = logged(drive(tmp_path, "calls.log", run_id=run_id))
    assert (again["status"], without_times(again["output"])) == ("completed", without_times(whole["output"]))
    calls = Counter((tmp_path / "calls.log").read_text().splitlines())
    repeated = {path: number for path, number in calls.items() if number > 1}
    assert sum(repeated.values()) - len(repeated) <= 8, "at most what was in flight"
    assert set(calls) == set((tmp_path / "whole.log").read_text().splitlines())
    async with open_store(f"sqlite:///{tmp_path}/runs.sqlite") as store:
        replayed = await podium.replay(run_id, store=store)
        assert replayed.output["deliverable"] == again["output"]["deliverable"]
