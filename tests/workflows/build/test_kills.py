"""`kill -9` of a build whose coder acts, at events of its log. `make test-kill` takes every event."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
STRIDE = 1 if os.environ.get("KILL_FULL") else 50


def check(report: dict[str, Any], undisturbed: dict[str, Any]) -> int:
    """Check one run; return how many commands in flight were repeated."""
    assert report["status"] == "completed"
    same = ("tree", "log", "commits")
    assert {name: report[name] for name in same} == {name: undisturbed[name] for name in same}
    for life in report["lives"]:
        asked = {line.removeprefix("model ") for line in life["notes"] if line.startswith("model ")}
        assert not asked & set(life["done_before"]), "a finished turn was asked again"
    commands = [line for life in report["lives"] for line in life["notes"] if line.startswith("command ")]
    wanted = [line for line in undisturbed["lives"][0]["notes"] if line.startswith("command ")]
    repeated = len(commands) - len(wanted)
    assert sorted(set(commands)) == sorted(wanted)
    assert repeated <= 1, "a command that had finished was run again"
    return repeated


@pytest.mark.slow
@pytest.mark.timeout(5400 if STRIDE == 1 else 900)
def test_a_build_with_an_acting_coder_is_killed_at_events_of_its_log(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.workflows.build.programs.build_lab", str(tmp_path), str(STRIDE)],
        capture_output=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    undisturbed, *reports = [json.loads(line) for line in done.stdout.splitlines()]
    assert undisturbed["log"] == "one\ntwo\nthree"
    repeated = [check(report, undisturbed) for report in reports]
    killed = [report for report in reports if any(life["killed"] for life in report["lives"])]
    print(f"\n{len(killed)} of {len(reports)} runs killed, {sum(repeated)} commands in flight were repeated")
    assert len(killed) == len(reports)
