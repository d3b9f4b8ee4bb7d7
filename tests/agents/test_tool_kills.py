"""`kill -9` of an agent with tools at events of its log. `make test-kill` takes every event."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
STRIDE = 1 if os.environ.get("KILL_FULL") else 6
TURNS = 6


def lab(folder: Path) -> list[dict[str, Any]]:
    """Run the lab in a process of its own; return the undisturbed run and those that were killed."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.agents.programs.tool_lab", str(folder), str(STRIDE)],
        capture_output=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return [json.loads(line) for line in done.stdout.splitlines()]


def check(report: dict[str, Any], undisturbed: dict[str, Any]) -> None:
    ids: dict[str, set[str]] = defaultdict(set)
    notes = [note.split() for life in report["lives"] for note in life["notes"]]
    for life in report["lives"]:
        repeated = {note.split()[1] for note in life["notes"]} & set(life["done_before"])
        assert not repeated, "a finished turn or call was executed again"
    for _, path, *call_id in notes:
        ids[path].update(call_id)
    tools = {path: found for path, found in ids.items() if found}
    assert all(len(found) == 1 for found in tools.values()), "the id of a call changed"
    assert len({str(found) for found in tools.values()}) == len(tools), "two calls have the same id"

    stamped = sum(what == "stamp" for what, *_ in notes)
    asked = "plan/tool[2.0]/answer/question[outcome 1.1]" in report["questions"]
    assert stamped == 1 or (asked and stamped == 0), "a call of a sub-agent was repeated"
    paid = sum(what == "pay" for what, *_ in notes)
    if "plan/question[outcome 3.0]" in report["questions"]:  # killed during the call: a person says "skip"
        assert paid <= 1
        expected = undisturbed["output"].split(" | ")
        got = report["output"].split(" | ")
        assert [text for text in got if text not in expected] == [got[5]]
        assert "unknown" in got[5]
    else:
        assert paid == 1
        assert report["output"] == undisturbed["output"]


@pytest.mark.timeout(1800)
def test_an_agent_with_tools_is_killed_at_events_of_its_log(tmp_path: Path) -> None:
    undisturbed, *reports = lab(tmp_path)
    check(undisturbed, undisturbed)
    for report in reports:
        try:
            check(report, undisturbed)
        except AssertionError as error:
            (tmp_path / "failed.json").write_text(json.dumps(report))
            error.add_note(f"event {report['at']}, durable {report['durable']}: {tmp_path / 'failed.json'}")
            raise
    killed = [report for report in reports if any(life["killed"] for life in report["lives"])]
    repeats = sum(
        len(notes) - len(set(notes))
        for report in reports
        for notes in [[note for life in report["lives"] for note in life["notes"]]]
    )
    print(f"\n{len(killed)} of {len(reports)} runs killed, {repeats} calls in flight were repeated")
    assert len(killed) == len(reports)
    assert (
        sum("turn" in path or path == "plan" for path in undisturbed["done"] if "tool" not in path) == TURNS
    )
