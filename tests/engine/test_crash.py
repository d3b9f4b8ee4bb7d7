"""`kill -9` at any instant: the same result, no finished step run again, at most the calls in flight
repeated, and never past the budget. `test_kill.py` takes random instants, and workflows that ask models."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import podium
from podium.settings import Settings
from tests import warm
from tests.engine.programs import crash_flow
from tests.engine.programs.kill_log import label_of
from tests.stores.postgres import Server

ROOT = Path(__file__).parents[2]


def lab(folder: Path, kind: str, *url: str) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "tests.engine.programs.crash_lab", str(folder), kind, *url]
    completed = warm.run(command, text=True, cwd=ROOT, timeout=300)
    assert completed.returncode == 0, completed.stderr
    return [json.loads(line) for line in completed.stdout.splitlines()]


async def reference(folder: Path) -> str:
    """The result of a run that nobody disturbs."""
    crash_flow.CALLS = folder / "reference.log"
    result = await podium.run(
        crash_flow.crash,
        "go",
        store=str(folder / "reference.sqlite"),
        settings=Settings.load(cwd="/", env={}),
    )
    return str(result.output)


def check(report: dict[str, Any], output: str) -> None:
    assert report["status"] == "completed", report
    assert report["output"] == output, report["how"]
    begun: Counter[str] = Counter(report["begun"])
    assert len(begun) == 30
    for path in report["done_when_killed"]:
        assert begun[label_of(path)] == 1, f"{path} was finished and ran again: {report['how']}"
    assert max(begun.values()) <= 2, "a call in flight is repeated at most once"


@pytest.mark.slow
async def test_killed_at_every_step_boundary(tmp_path: Path) -> None:
    reports = lab(tmp_path, "boundaries")
    assert len(reports) == 60
    output = await reference(tmp_path)
    for report in reports:
        assert report["was_killed"], report["how"]
        check(report, output)


def test_killed_right_after_start_returns_the_run_exists(tmp_path: Path) -> None:
    reports = lab(tmp_path, "starts")
    assert len(reports) == 30
    assert all(report["was_killed"] for report in reports)
    assert all(report["status"] in {"queued", "running"} for report in reports), Counter(
        report["status"] for report in reports
    )


@pytest.mark.slow
def test_a_crash_in_the_middle_never_lets_the_budget_be_passed(tmp_path: Path) -> None:
    """By the called function's own count, over both lives together."""
    check_capped(lab(tmp_path, "capped"), 20)


def test_nor_does_it_in_postgresql(tmp_path: Path, pg_server: Server) -> None:
    check_capped(lab(tmp_path, "capped", pg_server.new_place()), 4)


@pytest.mark.slow
async def test_killed_at_step_boundaries_in_postgresql(tmp_path: Path, pg_server: Server) -> None:
    reports = lab(tmp_path, "boundaries", pg_server.new_place())
    assert len(reports) == 10
    output = await reference(tmp_path)
    for report in reports:
        assert report["was_killed"], report["how"]
        check(report, output)


def check_capped(reports: list[dict[str, Any]], trials: int) -> None:
    assert len(reports) == trials
    for report in reports:
        assert report["was_killed"], report["how"]
        assert len(report["begun"]) <= 20, f"{len(report['begun'])} calls under a cap of 20: {report['how']}"
        assert report["status"] == "partial"
