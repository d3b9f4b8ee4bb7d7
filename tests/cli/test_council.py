"""`podium run council` as a user meets it."""

from __future__ import annotations

import pytest

from tests.cli.shell import Shell

TOPIC = "How can our small town get more people to cycle to work?"


def test_a_council_from_topic_to_report(podium: Shell) -> None:
    output = podium("run", "council", TOPIC, "--preset", "extended", "--model", "rehearsal")
    assert "▸ Round 2 of 2" in output.out
    assert "★ Winner: " in output.out
    assert "20 calls" in output.out
    assert "report.html" in output.out
    podium("report", "last", "-o", "report.html")
    page = (podium.folder / "report.html").read_text()
    assert "<h2>The record: how it was decided</h2>" in page
    assert "<script" not in page
    assert "## All ideas" in podium("report", "last", "--format", "md").out
    sections = podium("report", "last", "--format", "json").json["sections"]
    assert sections["recommended"]["idea"]["score"] > 0


def test_run_json_gives_the_whole_output(podium: Shell) -> None:
    data = podium("run", "council", TOPIC, "--model", "rehearsal", "--json").json
    assert set(data["output"]) == {
        "topic",
        "status",
        "rounds",
        "ideas",
        "final_idea",
        "scored",
        "below_threshold",
        "leader_choice",
        "chosen",
        "reasoning",
        "recommendation",
        "deliverable",
        "open_points",
        "settled_points",
        "messages",
        "comparison",
        "baseline",
        "warnings",
    }
    assert (data["status"], data["rehearsal"], data["usage"]["calls"]) == ("completed", True, 10)


def test_every_flag_of_a_council_is_taken(podium: Shell) -> None:
    flags = [
        "--roles",
        "leader,ideation,critic,moderator",
        "--rounds",
        "2",
        "--passes",
        "2",
        "--min-ideas",
        "9",
    ]
    more = ["--min-score", "9.9", "--deep-dive", "--context-window", "16000"]
    data = podium("run", "council", TOPIC, *flags, *more, "--model", "rehearsal", "--json").json
    types = [m["type"] for m in data["output"]["messages"]]
    assert types.count("synthesis") == 2
    assert types.count("critic") == 4
    assert data["output"]["below_threshold"] is True
    assert len(data["output"]["ideas"]) >= 9
    assert "visualization" not in types


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--roles", "ideation,critic"], "needs the role team_leader"),
        (["--roles", "leader,ideation,critik"], "Did you mean critic?"),
        (["--rounds", "9"], "rounds"),
        (["--rounds", "1.5"], "whole number"),
        (["--preset", "huge"], "huge"),
        (["--approve", "plan"], "no gate plan"),
        (["--web"], "researcher"),
        (["--context-window", "10"], "--context-window"),
    ],
)
def test_what_is_wrong_is_reported_in_one_sentence_before_anything_starts(
    podium: Shell, flags: list[str], message: str
) -> None:
    output = podium("run", "council", TOPIC, *flags, "--model", "rehearsal", code=2)
    assert message in output.err
    assert "Traceback" not in output.err
    assert podium("runs", "--json").json["runs"] == []


def test_a_person_approves_the_result(podium: Shell) -> None:
    waiting = podium("run", "council", TOPIC, "--approve", "result", "--model", "rehearsal", code=5)
    assert "as the result?" in waiting.out
    assert podium("answer", "last", "approve", code=None).code in (0, 5)
    output = podium("resume", "last", code=None)
    assert podium("show", "last", "--json").json["status"] == "completed", output.err


def test_the_live_view_draws_rounds_and_speakers(podium: Shell) -> None:
    podium("run", "council", TOPIC, "--preset", "full", "--model", "rehearsal")
    shown = podium("show", "last").out
    assert "✓ ✓ ✓ ·  Critic" in shown or "✓ ✓ ✓ · Critic" in shown
