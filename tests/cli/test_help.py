"""Pages of help, read as a newcomer reads them."""

from __future__ import annotations

import subprocess

import pytest

from podium.cli.app import NAMES
from podium.workflows import SHIPPED
from tests.cli.shell import COMMAND, FLOWS, Shell

PICKY = """\
import podium


@podium.workflow
async def picky(run: podium.Run, request: str, *, must: int, loud: bool = False, rate: float = 0.5) -> None:
    '''Wants things.'''
"""


@pytest.mark.parametrize("command", NAMES)
def test_a_page_names_its_arguments_and_leaves_no_trailing_space(podium: Shell, command: str) -> None:
    lines = podium(command, "--help").out.splitlines()
    assert lines[0].startswith(f"Usage: podium {command}")
    assert "ARGS" not in lines[0]
    assert [line for line in lines if line != line.rstrip()] == []
    assert all(len(line) <= 160 for line in lines)


def test_a_page_shows_more_than_the_list_of_commands(podium: Shell) -> None:
    assert "new totals" in podium("resume", "--help").out
    assert "inherited" in podium("fork", "--help").out
    assert "Exit codes: 0 completed" in podium("run", "--help").out
    assert "new totals" not in podium("--help").out


def test_prose_is_folded_to_the_width_and_commands_are_not(podium: Shell) -> None:
    out = podium("run", "--help", COLUMNS="60").out
    shipped = ", ".join(name for name in SHIPPED if name != "chat")
    assert f"Shipped workflows: {shipped}." in out.replace("\n", " "), "name it in `podium run --help`"
    assert max(map(len, out.splitlines())) <= 60
    assert '  podium run hello.py "Plan a small garden"\n' in podium("--help", COLUMNS="30").out


def test_options_say_what_is_needed_and_keep_quiet_about_nothing(podium: Shell) -> None:
    (podium.folder / "picky.py").write_text(PICKY)
    lines = podium("run", "picky.py", "--help").out.splitlines()
    assert "Wants things." in lines
    descriptions = {line.split()[0]: line.split(None, 2)[-1] for line in lines if line.startswith("  --")}
    assert descriptions["--must"] == "[required]"
    assert "default" not in descriptions["--loud,"]
    assert descriptions["--rate"] == "[default: 0.5]"
    assert "podium run picky.py --help" in podium("run", "picky.py", "x", code=2).err


def test_a_reader_may_leave_a_page_half_read(podium: Shell) -> None:
    page = subprocess.run(
        ["sh", "-c", f"({' '.join(COMMAND)} run {FLOWS}:chain --help; echo $? >code) | true"],
        cwd=podium.folder,
        env=podium.env,
        capture_output=True,
        check=True,
    )
    assert page.stderr == b""
