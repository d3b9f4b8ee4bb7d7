"""A workflow that prints: what it says never gets into results, nor into the footer."""

from __future__ import annotations

import pytest

from tests.cli.shell import Shell

CHATTY = """\
import subprocess
import sys

import podium

print("heard at import")


def chat() -> str:
    print("heard in a step")
    print("muttered in a step", file=sys.stderr)
    subprocess.run(["echo", "heard from a program"], check=True)
    return "said"


@podium.workflow
async def chatty(run: podium.Run, request: str) -> str:
    print("heard in the workflow")
    return await run.step("chat", chat)
"""
HEARD = ("heard at import", "heard in the workflow", "heard in a step", "heard from a program")


@pytest.fixture
def chatty(podium: Shell) -> Shell:
    (podium.folder / "chatty.py").write_text(CHATTY)
    return podium


def test_json_stays_one_object_whatever_a_workflow_prints(chatty: Shell) -> None:
    output = chatty("run", "chatty.py", "x", "--json")
    assert output.json["output"] == "said"
    assert [words for words in HEARD if words not in output.err] == []


def test_events_and_quiet_keep_stdout_for_results_too(chatty: Shell) -> None:
    assert [event["seq"] for event in chatty("run", "chatty.py", "x", "--events").lines][:2] == [1, 2]
    assert chatty("run", "chatty.py", "x", "--quiet").out == "said\n"
    assert chatty("replay", "last", "--json").json["same"] is True


def test_what_is_printed_stands_above_the_footer(chatty: Shell) -> None:
    screen = chatty.terminal("run", "chatty.py", "x")
    assert screen.wait() == 0
    for words in ("heard in the workflow", "heard in a step", "muttered in a step"):
        assert words in screen.screen
    assert not [line for line in screen.screen if "in flight" in line]
