"""`kill -9` of real drivers, over six workflows: at random instants, and at events of the log.

Part of the instants is in every test run; `make test-kill` takes all 500, and every event.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.engine.kill_checks import check, figures
from tests.engine.programs.kill_flows import CASES, CHAIN_CALLS
from tests.engine.programs.kill_log import Report

ROOT = Path(__file__).parents[2]
FULL = bool(os.environ.get("KILL_FULL"))
SEED = os.environ.get("KILL_SEED", "20")

INSTANTS = {"steps": 100, "repairs": 100, "branches": 90, "tree": 70, "council": 60, "chain": 80}
SHARE = 1 if FULL else 4
"""One of so many instants is part of every test run."""
STRIDES = {"repairs": 1, "branches": 1, "chain": 1, "tree": 0, "council": 0, "steps": 0}
"""The small workflows are killed at events, too: at every one, or at one of so many."""


def lab(folder: Path, name: str) -> list[Report]:
    """Run the lab in a process of its own; return its reports, the undisturbed run first."""
    instants, stride = INSTANTS[name] // SHARE, STRIDES[name] * SHARE
    words = [str(folder), name, str(instants), str(stride), SEED]
    done = subprocess.run(
        [sys.executable, "-m", "tests.engine.programs.kill_lab", *words],
        capture_output=True, cwd=ROOT, timeout=1800, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    return [msgspec.json.decode(line, type=Report) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("name", CASES)
def test_a_killed_run_gives_the_same_result_and_counts_each_call_once(tmp_path: Path, name: str) -> None:
    case, (undisturbed, *reports) = CASES[name], lab(tmp_path, name)
    check(case, undisturbed, undisturbed)
    for report in reports:
        try:
            check(case, report, undisturbed)
        except AssertionError as error:
            (tmp_path / "failed.json").write_bytes(msgspec.json.encode(report))
            error.add_note(f"{name} {report.how}: see {tmp_path / 'failed.json'}")
            raise
    print(f"\n{name}: {figures(reports)}")
    assert all(report.lives[0].killed for report in reports)
    assert sum(bool(report.lives[0].begun) for report in reports) > len(reports) / 4, "calls must be hit, too"
    if name == "chain":
        assert len(undisturbed.last.begun) == CHAIN_CALLS
