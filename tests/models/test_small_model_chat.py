"""A conversation with a real small model: closed, resumed, and forked at a message."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.shell import Shell

AGENT = """\
import podium

clerk = podium.Agent("clerk", instructions="Answer in few words.", max_tokens=60, temperature=0, timeout=240)
"""


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    (tmp_path / "clerk.py").write_text(AGENT)
    return Shell(tmp_path)


def test_a_conversation_is_closed_resumed_and_forked(shell: Shell, small_model: str) -> None:
    model = f"openai-compatible:smollm2@{small_model}/v1"
    first = shell("chat", "clerk.py:clerk", "--model", model, stdin="My name is Ada. Say hello.\n").out
    assert "Closed. Continue with: podium chat --resume " in first
    again = shell("chat", "--resume", "last", stdin="What is my name?\n").out
    assert "2 calls" in again
    source = shell("show", "last", "--json").json
    assert (source["status"], source["usage"]["calls"]) == ("waiting", 2)
    (shell.folder / "other.txt").write_text("Count from one to three.")
    shell("fork", source["run_id"], "--at", "question", "--reply", "other.txt", code=5)
    ended = shell("chat", "--resume", "last", stdin="/end\n").out
    assert "The conversation has ended: 1 call" in ended
    spoken = [shell("show", run, "message#2", "--json").json["result"] for run in ("last", source["run_id"])]
    assert spoken[0] != spoken[1]
