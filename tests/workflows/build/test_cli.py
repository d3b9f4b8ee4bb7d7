"""`build` from the command line: flags, refusals, what `show` tells, and the exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from podium.errors import UsageError
from podium.workflows.build.flow import prepare
from tests import warm
from tests.workflows.build.team import git, repository

MODEL = """
from tests.workflows.build.team import Team, planned, step

team = Team({"plan": planned("write the answer down", step("look_at it *again*", 1))})


async def answer(call):
    return await team(call)
"""
ROOT = Path(__file__).parents[3]


def podium(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PODIUM_STORE": str(folder / "s.sqlite"), "PYTHONPATH": str(ROOT), "COLUMNS": "120"}
    command = [sys.executable, "-m", "podium", *words]
    return warm.run(command, cwd=folder / "project", env=env, text=True, timeout=200)


def test_run_show_and_take_the_result(tmp_path: Path) -> None:
    folder = repository(tmp_path / "project")
    (tmp_path / "model.py").write_text(MODEL)
    words = ["--workspace", ".", "--test-command", "sh check.sh", "--model", "python:../model.py:answer"]
    done = podium(tmp_path, "run", "build", "Write it down", *words, "--time-limit", "15m", "--json")
    assert done.returncode == 0, done.stderr
    made: dict[str, Any] = json.loads(done.stdout)
    assert (made["status"], made["output"]["state"]["timeLimit"]) == ("completed", 900)
    branch = made["output"]["branch"]
    shown = podium(tmp_path, "show", "last").stdout
    assert "✓ 1. write the answer down" in shown
    markdown = r"- ✓ look\_at it \*again\*"
    assert markdown in shown, "on a pipe it is Markdown"
    assert markdown in podium(tmp_path, "show", "last", "--output").stdout
    assert "2 files changed" in shown
    base = git(folder, "rev-parse", "HEAD")[:12]
    assert f"git diff {base}..{branch}" in shown
    assert "right" in git(folder, "diff", f"{base}..{branch}")
    git(folder, "merge", "-q", branch)
    assert (folder / "answer.txt").is_file()
    assert podium(tmp_path, "show", "last", "--diff").stdout.strip() == git(
        folder, "diff", "--full-index", f"{base}..{branch}"
    )
    lines = podium(tmp_path, "events", "last").stdout
    assert "PLAN_REQUEST orchestrator → planner" in lines


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"workspace": "/no/such/folder"}, "There is no folder /no/such/folder."),
        ({"test_command": "make 'test"}, "^The test command make 'test cannot be read: a quotation mark"),
        ({"test_command": "  "}, "is empty"),
    ],
)
def test_what_cannot_be_worked_on_is_refused_before_anything_starts(
    options: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        prepare("a goal", options)


@pytest.mark.parametrize(
    ("folder", "said"),
    [
        ("/", "^A build cannot work on /: it is the whole machine\\.$"),
        ("/etc", "^A build cannot work on /etc: it is a folder of the system\\.$"),
        ("/usr", "^A build cannot work on /usr: it is a folder of the system\\.$"),
        ("~", "^A build cannot work on .*: it is your whole home folder\\.$"),
        ("~/..", "^A build cannot work on .*: (it holds your home folder|it is the whole machine)\\.$"),
        ("a-file", "a-file is not a folder\\.$"),
        ("bare.git", "is a repository without files"),
        ("broken", "does not say where its repository is"),
    ],
)
def test_a_folder_that_is_no_project_is_refused_before_anything_starts(
    tmp_path: Path, folder: str, said: str
) -> None:
    tmp_path.joinpath("bare.git").mkdir()
    git(tmp_path / "bare.git", "init", "-q", "--bare")
    tmp_path.joinpath("broken").mkdir()
    tmp_path.joinpath("broken/.git").write_text("nothing of use")
    tmp_path.joinpath("a-file").touch()
    with pytest.raises(UsageError, match=said) as refused:
        prepare("a goal", {"workspace": folder if folder[0] == "~" else str(tmp_path / folder)})
    assert refused.value.hint


def test_a_run_without_files_has_no_diff_and_says_so(tmp_path: Path) -> None:
    repository(tmp_path / "project")
    assert podium(tmp_path, "run", "tree", "a garden", "--model", "rehearsal").returncode == 0
    done = podium(tmp_path, "show", "last", "--diff")
    assert (done.returncode, "has no patch" in done.stderr) == (2, True)


def test_a_goal_is_text_and_a_workspace_gets_its_full_path(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="must be text"):
        prepare({"goal": 1}, {})
    prepared = prepare("a goal", {"workspace": f"{tmp_path}/../{tmp_path.name}"})
    assert prepared["workspace"] == str(tmp_path.resolve())
    assert prepare("a goal", {"max_iterations": 1}) == {"max_iterations": 1}
