"""On a terminal: lines with a footer, questions asked on the spot, narrow screens, no colour."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.cli.shell import FLOWS, Shell, Terminal

COLOUR = re.compile(rb"\x1b\[[0-9;]*[349][0-9;]*m")


def patient(podium: Shell, *words: str, columns: int = 100, **env: str) -> Terminal:
    """A run that has done its first step and waits in its second."""
    screen = podium.terminal(
        "run", f"{FLOWS}:patient", str(podium.folder), *words, columns=columns, rows=40, **env
    )
    screen.until("marked")
    screen.until("1 in flight")
    return screen


def test_a_footer_shows_place_and_spend_and_leaves_with_the_end(podium: Shell) -> None:
    screen = patient(podium, "--max-usd", "2", "--max-calls", "9")
    assert "● running" in screen.seen
    assert "$0.00 of $2.00" in screen.seen
    assert "0 of 9 calls" in screen.seen
    (podium.folder / "go").touch()
    assert screen.wait() == 0
    assert "✓ completed" in screen.seen
    assert COLOUR.search(screen.raw)
    assert not [line for line in screen.screen if "in flight" in line or "● running" in line]


def test_ctrl_c_pauses_and_the_printed_command_goes_on(podium: Shell) -> None:
    screen = patient(podium)
    screen.interrupt()
    screen.until("Pausing")
    screen.interrupt()
    assert screen.wait() == 130
    assert "podium resume " in screen.seen
    assert "^C" not in screen.seen
    (podium.folder / "go").touch()
    resumed = podium.terminal("resume", "last")
    assert resumed.wait() == 0
    assert "✓ completed" in resumed.seen
    assert (podium.folder / "marks").read_text() == "ran\n"


def test_questions_are_asked_on_the_spot(podium: Shell) -> None:
    screen = podium.terminal("run", f"{FLOWS}:asking", "a text")
    screen.until("2. reject")
    assert "text: a text" in screen.seen
    screen.type("maybe\n")
    screen.until("Please answer one of: approve, reject.")
    screen.type("app\n")
    screen.until("Under which name?")
    screen.type("\n")
    screen.until("Please answer.")
    screen.type("Ada\n")
    assert screen.wait() == 0
    assert "approve as Ada" in screen.seen
    questions = [line for line in screen.seen.splitlines() if line.endswith("? Under which name?")]
    assert questions == ["? Under which name?"], "asked once, not told and asked"
    assert podium("show", "last", "--output").out == "approve as Ada\n"


@pytest.mark.parametrize("keys", ["\x04", "\x03"])
def test_leaving_a_question_open_exits_with_the_command_to_answer(podium: Shell, keys: str) -> None:
    screen = podium.terminal("run", f"{FLOWS}:asking", "x")
    screen.until("> ")
    screen.type(keys)
    assert screen.wait() == 5
    assert "podium answer" in screen.seen
    assert podium("runs", "--json").json["runs"][0]["status"] == "waiting"


def test_json_on_a_terminal_asks_nothing(podium: Shell) -> None:
    screen = podium.terminal("run", f"{FLOWS}:asking", "x", "--json")
    assert screen.wait() == 5
    assert '"status":"waiting"' in screen.seen


def test_no_color_shows_the_same_without_colour(podium: Shell) -> None:
    screen = patient(podium, NO_COLOR="1")
    (podium.folder / "go").touch()
    assert screen.wait() == 0
    assert not COLOUR.search(screen.raw)
    assert "✓ completed" in screen.seen


def test_a_dumb_terminal_gets_plain_lines(podium: Shell) -> None:
    screen = podium.terminal("run", f"{FLOWS}:chain", "rain", TERM="dumb")
    assert screen.wait() == 0
    assert b"\x1b" not in screen.raw
    assert "✓ completed" in screen.seen


def test_an_ascii_terminal_gets_signs_that_it_can_show(podium: Shell) -> None:
    output = podium("run", f"{FLOWS}:chain", "rain", PYTHONIOENCODING="ascii", PYTHONUTF8="0", LC_ALL="C")
    assert "+ completed" in output.out
    assert output.out.isascii()


def test_sixty_columns_are_enough(podium: Shell, tmp_path: Path) -> None:
    (tmp_path / "wide.py").write_text(
        "import podium\n\n"
        "def talk(x: str) -> str:\n    return x\n\n"
        "@podium.workflow\nasync def wide(run, request):\n"
        "    async with run.branch('a-rather-long-branch-name'):\n"
        "        async with run.branch('another-long-branch-name'):\n"
        "            await run.step('talk', talk, '漢字 and a very long line of words ' * 20)\n"
        "    return 'short'\n"
    )
    screen = podium.terminal(
        "run", "wide.py", "a request that is longer than sixty columns, " * 3, columns=60
    )
    assert screen.wait() == 0
    lines = [line for line in screen.screen if "podium " not in line]
    assert max(cell_len(line) for line in lines) <= 60, lines
    assert any("…" in line and "talk" in line for line in lines)


def test_forty_columns_fold_between_words(podium: Shell) -> None:
    words = ["run", f"{FLOWS}:chain", "a request that is far too long", "--max-calls", "9", "--max-usd", "2"]
    screen = podium.terminal(*words, columns=40)
    assert screen.wait() == 0
    assert screen.screen[0].startswith("flows.py:chain  ")
    assert screen.screen[1] == "a request that is far too long"
    assert max(cell_len(line) for line in screen.screen if "podium " not in line) <= 40, screen.screen
    assert not [line for line in screen.screen if line.endswith((" t", " to", " tok"))]


def test_a_failure_is_reported_once_before_the_end(podium: Shell) -> None:
    screen = podium.terminal("run", f"{FLOWS}:chain", "x", "--model", f"python:{FLOWS}:refuse")
    assert screen.wait() == 1
    failures = [line for line in screen.screen if "no luck today" in line]
    assert [line[10:].split() for line in failures[:1]] == [
        ["draft", "✗", "RuntimeError:", "no", "luck", "today"]
    ]
    assert len(failures) == 2
    assert "python:flows.py:refuse" in screen.screen[1]


def test_help_and_lists_fit_sixty_columns(podium: Shell) -> None:
    podium.run("chain", "a request that is longer than what fits into sixty columns of a terminal")
    for words in (["--help"], ["run", "--help"], ["runs"]):
        screen = podium.terminal(*words, columns=60)
        assert screen.wait() == 0
        assert max(cell_len(line) for line in screen.screen) <= 60, screen.screen


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_a_long_request_leaves_room_for_the_others(podium: Shell, columns: int) -> None:
    ids = [podium.run("say", request)["run_id"] for request in ("漢字 " * 300, "short")]
    screen = podium.terminal("runs", columns=columns)
    assert screen.wait() == 0
    head, short, long = [line for line in screen.screen if line]
    assert [line.split()[:3] for line in (short, long)] == [
        [run_id, "✓", "completed"] for run_id in ids[::-1]
    ]
    assert head.index("request") == short.index("short")
    assert cell_len(long) <= columns
    assert long.endswith("…")
