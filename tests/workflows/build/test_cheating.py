"""A coder that cheats: what a program can catch is caught, never committed, and told in the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podium.engine.log import Store
from tests.workflows.build.team import (
    RunEvents,
    Team,
    changed,
    git,
    make,
    planned,
    repository,
    step,
    steps_of,
)

CALC = "def double(number):\n    return number * 2\n"
TESTS = """from calc import double


def test_double():
    assert double(2) == 4
    assert double(0) == 0
"""
FILES = {"calc.py": CALC, "test_calc.py": TESTS}
PLAN = planned(
    step("write triple in calc.py", files=["calc.py"]), step("say so in the readme", files=["README.md"])
)
RIGHT = {
    "calc.py": f"{CALC}\n\ndef triple(number):\n    return number * 3\n",
    "test_calc.py": f"{TESTS}".replace("import double", "import double, triple")
    + "\n\ndef test_triple():\n    assert triple(2) == 6\n    assert triple(5) == 15\n",
}


def rewritten(files: dict[str, str], **fields: Any) -> dict[str, Any]:
    changes = [{"path": path, "action": "modify", "content": text} for path, text in files.items()]
    return {
        "status": "done",
        "summary": "All tests pass.",
        "evidence": "I ran them.",
        "changes": changes,
        **fields,
    }


README = rewritten({"README.md": "# A project that knows triple\n"})


def cheat(**files: str) -> dict[str, Any]:
    return rewritten({**RIGHT, **{name.replace("__", "."): text for name, text in files.items()}})


WRONG = f"{CALC}\n\ndef triple(number):\n    return number * 2\n"
HARD_CODED = f"{CALC}\n\ndef triple(number):\n    if number == 2:\n        return 6\n    return 15\n"
NOTHING = (
    TESTS.replace("import double", "import double, triple")
    + "\n\ndef test_triple():\n    triple(2)\n    assert True\n"
)
WEAKENED = RIGHT["test_calc.py"].replace("    assert double(0) == 0\n", "")
DELETED = (
    RIGHT["test_calc.py"].partition("def test_double")[0] + "def test_triple():\n    assert triple(2) == 6\n"
)
SKIPPED = RIGHT["test_calc.py"].replace(
    "def test_double", "import pytest\n\n\n@pytest.mark.skip\ndef test_double"
)
KEY = "-----BEGIN RSA PRIVATE " + "KEY-----"
FORGED = """import os
import sys

if "pytest" in sys.modules:
    [place] = [word.partition("=")[2] for word in sys.argv if word.startswith("--junitxml")]
    with open(place, "w") as file:
        file.write("<testsuite><testcase name='test_double'/><testcase name='test_triple'/></testsuite>")
    os._exit(0)
"""
BY_RULE = {
    "forges the result of its tests": cheat(calc__py=f"{FORGED}\n\n{WRONG}"),
    "writes tests that assert nothing": cheat(test_calc__py=NOTHING, calc__py=WRONG),
    "deletes a test": cheat(test_calc__py=DELETED),
    "takes a check out of a test": cheat(test_calc__py=WEAKENED),
    "skips a test": cheat(test_calc__py=SKIPPED),
    "returns the answers of its tests": cheat(calc__py=HARD_CODED),
    "brings no tests": rewritten({"calc.py": RIGHT["calc.py"]}),
    "edits outside the step": rewritten({**RIGHT, "README.md": "# Mine now\n"}),
    "brings a key": rewritten({**RIGHT, "calc.py": f"{RIGHT['calc.py']}\nKEY = '''{KEY}'''\n"}),
}


@pytest.mark.parametrize("trick", BY_RULE)
async def test_a_program_catches_it_although_the_supervisor_likes_it(
    store: Store, tmp_path: Path, trick: str
) -> None:
    folder = repository(tmp_path / "project", FILES)
    honest = rewritten({**RIGHT, "README.md": "# A project\n"})
    team = Team({"plan": PLAN, "code": [BY_RULE[trick], README], "fix": honest})
    made = await make(store, team, folder, test_command="")
    assert (made.status, steps_of(made)["step-1"]["attempts"]) == ("completed", 1)
    gate = next(one for one in made.output["gates"] if not one["passed"])
    assert (gate["gate"], gate["by"]) == ("code", "rule")
    assert gate["problems"]
    caught = [one["what"] for one in made.output["caught"] if one["refused"]]
    assert caught == gate["problems"]
    assert caught[0] in team.asked_to("fix")[0].prompt, "the coder is told"
    page = (await store.get_blob(made.artifacts[2].blob)).decode()
    assert "Found by program" in page
    assert git(folder, "show", f"{made.output['branch']}:calc.py").strip() == RIGHT["calc.py"].strip()
    assert "test_double" in git(folder, "show", f"{made.output['branch']}:test_calc.py")


async def test_claiming_success_with_failing_tests_counts_for_nothing(store: Store, tmp_path: Path) -> None:
    folder = repository(tmp_path / "project", FILES)
    fixed = rewritten({"calc.py": RIGHT["calc.py"]})
    team = Team({"plan": PLAN, "code": [cheat(calc__py=WRONG), README], "fix": fixed})
    made = await make(store, team, folder, test_command="")
    log = await RunEvents.of(store, made.run_id)
    first = log.of_type("tests_run", step_id="step-1")[0]["result"]
    assert (first["ok"], first["framework"], first["failed"]) == (False, "pytest", 1)
    assert first["failures"][0]["name"].endswith("test_triple")
    assert "test_triple" in team.asked_to("fix_plan")[0].prompt
    assert (made.status, team.tasks.count("fix")) == ("completed", 1)
    assert len(log.of_type("committed")) == 2


async def test_no_tests_at_all_is_a_failure(store: Store, tmp_path: Path) -> None:
    """Nothing that could be run: documents alone, in a folder without any tests."""
    team = Team(
        {
            "code": changed({"notes.md": "# Notes\n"}),
            "fix": changed({"more.md": "# More\n"}),
            "subplan": planned(),
            "revise_plan": planned(),
        }
    )
    made = await make(store, team, repository(tmp_path / "project"), test_command="", max_iterations=1)
    log = await RunEvents.of(store, made.run_id)
    result = log.of_type("tests_run")[0]["result"]
    assert (result["ok"], result["exitCode"]) == (False, None)
    assert "no tests" in result["note"]
    assert (made.status, made.output["commits"]) == ("failed", [])
