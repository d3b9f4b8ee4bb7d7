"""`podium run`: requests, the workflow's own options, JSON, events, exit codes."""

from __future__ import annotations

import pytest

from tests.cli.shell import FLOWS, Shell

RESULT_KEYS = [
    "run_id", "workflow", "status", "stop_reason", "output", "quality", "warnings", "error", "model",
    "rehearsal", "usage", "duration_s", "artifacts",
]  # fmt: skip
USAGE_KEYS = ["calls", "input_tokens", "output_tokens", "cost_usd", "unpriced_calls", "unknown_calls"]


def test_json_is_one_object_in_the_shape_of_the_specification(podium: Shell) -> None:
    output = podium("run", f"{FLOWS}:chain", "rain", "--json")
    assert output.out.count("\n") == 1
    assert list(output.json) == RESULT_KEYS
    assert list(output.json["usage"]) == USAGE_KEYS
    assert output.json["status"] == "completed"
    assert output.json["rehearsal"] is True
    assert output.json["usage"]["calls"] == 2
    assert output.json["warnings"] == ["only a test"]
    [artifact] = output.json["artifacts"]
    assert (artifact["name"], artifact["media_type"], artifact["bytes"]) == ("text.md", "text/markdown", 7)
    assert output.err == ""


def test_events_is_one_event_per_line(podium: Shell) -> None:
    lines = podium("run", f"{FLOWS}:chain", "rain", "--events").lines
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert all(list(line) == ["seq", "run_id", "time", "path", "type", "data"] for line in lines)
    assert lines[0]["type"] == "run.created"
    assert lines[-1]["type"] == "run.completed"


def test_quiet_prints_the_result_and_nothing_else(podium: Shell) -> None:
    assert podium("run", f"{FLOWS}:say", "hello", "--quiet").out == "# Heard\n\nhello\n"


def test_people_get_lines_and_a_card(podium: Shell) -> None:
    out = podium("run", f"{FLOWS}:chain", "rain in spring").out
    run_id = podium("runs", "--json").json["runs"][0]["run_id"]
    assert "rain in spring" in out.splitlines()[0]
    assert "polish/improve" in out
    assert "✓ completed" in out
    assert "Rehearsal: the answers are made up offline" in out
    assert "! only a test" in out
    assert f"podium show {run_id}" in out
    assert "\x1b" not in out


def test_the_request_comes_from_words_stdin_or_a_file(podium: Shell) -> None:
    (podium.folder / "ask.txt").write_text("from a file\n")
    assert "from a file" in podium("run", f"{FLOWS}:say", "@ask.txt", "--quiet").out
    assert "from stdin" in podium("run", f"{FLOWS}:say", "-", "--quiet", stdin="from stdin").out
    assert "- a list" in podium("run", f"{FLOWS}:say", "--quiet", "--", "- a list").out


def test_options_of_the_workflow_are_ordinary_flags(podium: Shell) -> None:
    output = podium.run("chain", "x", "--rounds", "2", "--loud", "--tone=warm", "--tags", "a", "--tags", "b")[
        "output"
    ]
    assert output == {"request": "x", "rounds": 2, "loud": True, "tone": "warm", "tags": ["a", "b"]}
    assert podium.run("chain", "x", "--no-loud", "--rounds", "0")["output"]["loud"] is False


def test_common_flags_may_stand_before_the_workflow(podium: Shell) -> None:
    output = podium("run", "--model", "rehearsal", "--json", f"{FLOWS}:chain", "--rounds", "0", "x")
    assert output.json["output"]["rounds"] == 0


def test_an_option_that_shares_a_common_name_gets_the_flags_value(podium: Shell) -> None:
    assert podium.run("shared_names", "x")["output"] == [4, 2]
    assert podium.run("shared_names", "x", "--concurrency", "3", "--max-depth", "7")["output"] == [3, 7]


def test_help_lists_the_workflows_own_options(podium: Shell) -> None:
    out = podium("run", f"{FLOWS}:chain", "--help").out
    assert "Options of chain" in out
    assert "How often it is polished." in out
    assert "--rounds" in out
    assert "dry, warm" in out
    assert "`@FILE` a file" in out
    assert "--max-usd" in out


def test_a_file_with_one_workflow_needs_no_name(podium: Shell) -> None:
    (podium.folder / "one.py").write_text(
        "import podium\n\n@podium.workflow\nasync def only(run, request):\n    return request\n"
    )
    assert podium("run", "one.py", "hi", "--quiet").out == "hi\n"


def test_models_by_name_and_by_role(podium: Shell) -> None:
    model = f"python:{FLOWS}:reply"
    result = podium.run("chain", "x", "--model-for", f"author={model}")
    assert result["usage"]["calls"] == 2
    shown = podium("show", result["run_id"], "draft", "--json").json
    assert shown["result"] == "from python"


@pytest.mark.parametrize(
    ("flow", "words", "code", "status", "reason"),
    [
        ("say", (), 0, "completed", None),
        ("failing", (), 1, "failed", None),
        ("unfinished", (), 3, "partial", "no more ideas"),
        ("costly", ("--max-usd", "0.6"), 4, "partial", "budget"),
        ("costly", ("--max-calls", "2"), 4, "partial", "budget"),
        ("dozing", ("--time-limit", "100ms"), 4, "partial", "time"),
        ("asking", (), 5, "waiting", None),
    ],
)
def test_exit_codes(
    podium: Shell, flow: str, words: tuple[str, ...], code: int, status: str, reason: str | None
) -> None:
    result = podium.run(flow, str(podium.folder / "marks"), *words, code=code)
    assert (result["status"], result["stop_reason"]) == (status, reason)


def test_a_budget_from_the_settings_holds_and_a_flag_beats_it(podium: Shell) -> None:
    (podium.folder / "podium.toml").write_text("max_calls = 2\n")
    marks = podium.folder / "marks"
    assert podium.run("costly", str(marks), code=4)["usage"]["calls"] == 2
    assert podium.run("costly", str(marks), "--max-calls", "9")["usage"]["calls"] == 4


def test_a_stop_by_budget_suggests_the_resume_that_goes_on(podium: Shell) -> None:
    output = podium("run", f"{FLOWS}:costly", str(podium.folder / "marks"), "--max-usd", "0.5", code=4)
    suggested = next(
        line.split("podium ", 1)[1] for line in output.out.splitlines() if "podium resume" in line
    )
    assert suggested.endswith("--max-usd 1")
    assert podium(*suggested.split(), "--json").json["status"] == "completed"
    assert (podium.folder / "marks").read_text() == "ran\n" * 4


def test_the_limits_of_a_reply_are_flags_and_the_step_shows_them(podium: Shell) -> None:
    flags = ("--reply-timeout", "20m", "--reply-tokens", "9000")
    run_id = podium("run", f"{FLOWS}:chain", "rain", "--json", *flags).json["run_id"]
    lines = podium("events", run_id, "--json").lines
    attempts = [line["data"] for line in lines if line["type"] == "model.attempted"]
    assert {(data["timeout_s"], data["max_tokens"]) for data in attempts} == {(1200, 9000)}
    path = next(line["path"] for line in lines if line["type"] == "model.attempted")
    assert "limits of the reply: 20m 00s, 9,000 tokens" in podium("show", run_id, path).out
    shown = podium("show", run_id, path, "--json").json
    assert shown["reply_limits"] == {"timeout_s": 1200, "max_tokens": 9000}


@pytest.mark.parametrize(
    ("flag", "value", "message"),
    [
        ("--reply-timeout", "soon", "write 90s, 15m or 2h"),
        ("--reply-timeout", "0", "more than 0"),
        ("--reply-timeout", "30d", "at most 7 days"),
        ("--reply-tokens", "1.5", "not a whole number"),
        ("--reply-tokens", "0", "a whole number from 1"),
        ("--reply-tokens", "-4", "a whole number from 1"),
    ],
)
def test_a_wrong_limit_of_a_reply_is_wrong_usage(podium: Shell, flag: str, value: str, message: str) -> None:
    assert message in podium("run", f"{FLOWS}:chain", "rain", f"{flag}={value}", code=2).err
