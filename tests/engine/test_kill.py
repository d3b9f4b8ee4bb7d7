"""`kill -9` of real drivers, over six workflows: at random instants, and at events of the log.

Part of it is in every test run; `make test-kill` takes all 500 instants, and every event.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec
import pytest

from tests import warm
from tests.engine.kill_checks import check, figures
from tests.engine.programs.kill_flows import CASES, CHAIN_CALLS
from tests.engine.programs.kill_log import Report

ROOT = Path(__file__).parents[2]
FULL = bool(os.environ.get("KILL_FULL"))
SEED = os.environ.get("KILL_SEED", "20")

INSTANTS = {"steps": 100, "repairs": 100, "branches": 90, "tree": 70, "council": 60, "chain": 80}
"""Random instants at which each workflow is killed: 500 in all."""
SHARE = 1 if FULL else 8
"""One of so many of them is part of every test run."""
STRIDE = 1 if FULL else 10
"""The small workflows are killed at events of the log, too: at one of so many."""


def lab(folder: Path, name: str, instants: int, stride: int) -> tuple[Report, list[Report]]:
    """Run the lab in a process of its own; return the undisturbed run and those that were killed."""
    words = [str(folder), name, str(instants), str(stride), SEED]
    command = [sys.executable, "-m", "tests.engine.programs.kill_lab", *words]
    completed = warm.run(command, cwd=ROOT, timeout=1800)
    assert completed.returncode == 0, completed.stderr.decode()
    first, *reports = [msgspec.json.decode(line, type=Report) for line in completed.stdout.splitlines()]
    return first, reports


def check_all(folder: Path, name: str, undisturbed: Report, reports: list[Report]) -> None:
    """Check every run; keep the report of the one that fails."""
    for report in (undisturbed, *reports):
        try:
            check(CASES[name], report, undisturbed)
        except AssertionError as error:
            (folder / "failed.json").write_bytes(msgspec.json.encode(report))
            error.add_note(f"{name}, {report.how}: see {folder / 'failed.json'}")
            raise


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", CASES)
def test_killed_at_random_instants(tmp_path: Path, name: str) -> None:
    undisturbed, reports = lab(tmp_path, name, INSTANTS[name] // SHARE, 0)
    check_all(tmp_path, name, undisturbed, reports)
    print(f"\n{name} at instants: {figures(reports)}")
    assert len(reports) == INSTANTS[name] // SHARE
    assert all(report.lives[0].killed for report in reports)
    assert any(report.lives[0].begun for report in reports), "some instants have to hit a run under way"


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", ["repairs", "branches", "chain"])
def test_killed_at_events_of_the_log(tmp_path: Path, name: str) -> None:
    undisturbed, reports = lab(tmp_path, name, 0, STRIDE)
    check_all(tmp_path, name, undisturbed, reports)
    print(f"\n{name} at events: {figures(reports)}")
    assert len(reports) >= undisturbed.last.seen.events // STRIDE
    assert any(report.lives[0].killed for report in reports)
    if name == "chain":
        assert len(undisturbed.last.begun) == CHAIN_CALLS
