"""1,555 nodes: they all come to their end, also when the process is killed in the middle."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import warm
from tests.workflows.tree.programs.big import AT_ONCE

ROOT = Path(__file__).parents[3]
NODES = 1 + 6 + 36 + 216 + 1296
CALLS = 2 * (1 + 6 + 36 + 216) + 1296
"""Inner nodes plan and aggregate, leaves at the deepest level only execute."""


def spawn(store: Path, calls: Path, *order: str) -> subprocess.Popen[str]:
    program = [sys.executable, "-m", "tests.workflows.tree.programs.big", str(store), str(calls), *order]
    return warm.Popen(program, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def made(calls: Path) -> list[str]:
    return calls.read_text().splitlines() if calls.exists() else []


@pytest.mark.parametrize("kill_at", [300, 1100])
def test_a_large_tree_that_is_killed_pays_only_for_what_was_in_flight_again(
    tmp_path: Path, kill_at: int
) -> None:
    store, calls = tmp_path / "podium.sqlite", tmp_path / "calls"
    with spawn(store, calls, "start") as first:
        assert first.stdout is not None
        run_id = first.stdout.readline().strip()
        give_up = time.monotonic() + 60
        while len(made(calls)) < kill_at and first.poll() is None and time.monotonic() < give_up:
            time.sleep(0.005)
        first.kill()
    assert kill_at <= len(made(calls)) < CALLS, "it was killed in the middle"
    with spawn(store, calls, "resume", run_id) as second:
        out, _ = second.communicate(timeout=120)
    assert out.splitlines()[-1] == f"completed {NODES} {{'completed'}}"
    paths = made(calls)
    assert len(set(paths)) == CALLS, "every call of the tree was made"
    assert len(paths) <= CALLS + AT_ONCE, "none but those in flight was made twice"
