"""`podium chat`: messages on a pipe and in a terminal, closed, resumed, forked, with tools and approvals."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.shell import Shell

TALK = Path(__file__).parent / "programs" / "talk.py"
MODEL = ("--model", f"python:{TALK}:listener")


def test_a_conversation_is_closed_resumed_and_forked_at_a_message(podium: Shell) -> None:
    first = podium("chat", f"{TALK}:butler", *MODEL, stdin="one\n\nwhat time is it\n").out
    assert "heard one; last one" in first
    assert '→ clock(zone="UTC")' in first
    assert "last 12:00 UTC" in first
    assert "Closed. Continue with: podium chat --resume " in first
    again = podium("chat", "--resume", "last", stdin="three\n").out
    assert "last 12:00 UTC" in again
    assert "heard one + what time is it + three" in again
    (podium.folder / "other.txt").write_text("two")
    source = podium("runs", "--json").json["runs"][0]["run_id"]
    podium("fork", source, "--at", "question", "--reply", "other.txt", code=5)
    ended = podium("chat", "--resume", "last", stdin="/end\n").out
    assert "heard one + two; last two" in ended
    assert "The conversation has ended: 1 call" in ended
    assert podium("show", "last", "--json").json["status"] == "completed"


def test_a_tool_is_approved_in_the_conversation(podium: Shell) -> None:
    screen = podium.terminal("chat", f"{TALK}:butler", *MODEL)
    screen.until("you> ")
    screen.type("please ring\n")
    screen.until("May the agent call ring?")
    screen.type('{"approve": {"times": 1}}\n')
    screen.until("last rang 1 times")
    screen.until("2 calls")
    screen.type("\x04")
    assert screen.wait() == 0
    assert "Closed." in screen.seen


def test_an_earlier_answer_is_not_shown_for_a_message_that_has_none_yet(podium: Shell) -> None:
    podium("chat", f"{TALK}:butler", *MODEL, stdin="one\n")
    asking = podium("chat", "--resume", "last", stdin="please ring\n").out
    assert asking.count("heard one; last one") == 1, "it is shown as the last answer only"
    assert "May the agent call ring?" in asking
    assert "Answer with: podium answer " in asking
    podium("answer", "last", "reject", code=5)
    failed = podium("chat", "--resume", "last", "--model", f"python:{TALK}:broken", stdin="two\n").out
    assert failed.count("; last ") == 1
    assert "the line is dead. Send" in failed


def test_a_model_that_fails_does_not_end_the_conversation(podium: Shell) -> None:
    failed = podium("chat", "--model", f"python:{TALK}:broken", stdin="one\n").out
    assert "There is no answer: " in failed
    assert "the line is dead" in failed
    again = podium("chat", "--resume", "last", *MODEL, stdin="two\n").out
    assert "last two" in again


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("no.py:agent",), "There is no file no.py with an agent."),
        ((f"{TALK}:cook",), "holds no agent cook."),
        (("--tools", "hammer"), "'hammer' names no tools."),
        (("--tools", "files"), "'files' names no tools."),
        (("--resume", "zzzz"), "There is no run zzzz"),
        ((f"{TALK}:butler", "--resume", "last"), "resumed with its own agent"),
    ],
)
def test_mistakes_are_reported_before_anything_is_said(
    podium: Shell, words: tuple[str, ...], problem: str
) -> None:
    output = podium("chat", *words, code=2, stdin="hello\n")
    assert problem in output.err
    assert "Hint: " in output.err


def test_only_conversations_are_resumed(podium: Shell) -> None:
    podium("run", "tree", "Plan a picnic", "--model", "rehearsal")
    assert "is not a conversation" in podium("chat", "--resume", "last", code=2).err
