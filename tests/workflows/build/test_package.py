"""A change to a real package of somebody else's, with its own test suite as the gate."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from podium.engine.log import Store
from tests.workflows.build.team import RunEvents, Team, git, make, planned, step, steps_of

PACKAGE = "inflection==0.5.1"
FILE, TESTS = "inflection/__init__.py", "test_inflection.py"
GOAL = "Add a function `initials` to inflection that gives the first letters of words, in capitals"


def source_tree(folder: Path) -> Path:
    """The package's sdist as a repository; skips where the registry cannot be reached."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--no-binary",
        ":all:",
        "-d",
        str(folder),
        PACKAGE,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    archives = list(folder.glob("*.tar.gz"))
    if done.returncode != 0 or not archives:
        pytest.skip(f"the package registry cannot be reached: {done.stderr.strip()[-200:]}")
    with tarfile.open(archives[0]) as archive:
        archive.extractall(folder, filter="data")
    root = next(path for path in folder.iterdir() if path.is_dir())
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "as it was released")
    return root


def appended(text: str, more: str) -> dict[str, Any]:
    """An edit that adds something after the last lines of a file."""
    end = text.rstrip("\n").rsplit("\n", 4)
    last = "\n".join(end[1:])
    assert text.count(last) == 1
    return {"search": last, "replace": f"{last}\n\n\n{more}"}


async def test_its_own_suite_rejects_the_wrong_change_and_lets_the_right_one_pass(
    store: Store, tmp_path: Path
) -> None:
    root = source_tree(tmp_path)
    code, tests = (root / FILE).read_text(), (root / TESTS).read_text()
    new_test = 'def test_initials():\n    assert inflection.initials("new york city") == "NYC"\n'
    function = 'def initials(words: str) -> str:\n    """The first letters, in capitals."""\n    return {}\n'
    breaking = code.replace("return word.lower()", "return word.upper()", 1)
    assert breaking != code
    right = 'right = "".join(word[0].upper() for word in words.split())'.partition("= ")[2]
    broken = {
        "summary": "done, all tests pass",
        "evidence": "the tests",
        "changes": [
            {"path": FILE, "action": "modify", "content": breaking + "\n\n" + function.format(right)},
            {"path": TESTS, "action": "modify", "edits": [appended(tests, new_test)]},
        ],
    }
    mended = {"path": FILE, "action": "modify", "content": code + "\n\n" + function.format(right)}
    steps = [step("write initials", files=[FILE]), step("say so in the readme", 1, files=["README.rst"])]
    fix = {"summary": "mended", "evidence": "the tests", "changes": [mended]}
    team = Team({"plan": planned(*steps), "code": [broken, readme(root)], "fix": fix})
    made = await make(store, team, root, GOAL, test_command="")
    assert (made.status, [one["status"] for one in steps_of(made).values()]) == (
        "completed",
        ["completed"] * 2,
    )
    runs = [
        one["result"]
        for one in (await RunEvents.of(store, made.run_id)).of_type("tests_run", step_id="step-1")
    ]
    assert runs[0]["failed"] > 0, "its own suite found what the change broke elsewhere"
    assert runs[-1]["ok"] is True
    assert made.output["tests"]["passed"] > 100, "the whole suite of the package"
    assert git(root, "status", "--porcelain") == ""


def readme(root: Path) -> dict[str, Any]:
    edits = [appended((root / "README.rst").read_text(), "It also knows ``initials``.")]
    changes = [{"path": "README.rst", "action": "modify", "edits": edits}]
    return {"summary": "told", "evidence": "the readme", "changes": changes}
