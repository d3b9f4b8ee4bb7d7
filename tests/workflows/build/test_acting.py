"""A coder that acts: its tools, the snapshots they lead to, and what survives a resume."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import podium
from podium import ToolCall
from podium.engine.log import Store
from podium.engine.result import RunResult
from tests.workflows.build.team import Team, git, planned, repository, step
from tests.workflows.build.team import make as make_with

SOURCE = """def total(items):
    return sum(items) + 1


def mean(items):
    return total(items) / len(items)
"""
TESTS = "from calc import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"
PROJECT = {"calc.py": SOURCE, "test_calc.py": TESTS, "notes/plan.txt": "one\n  two\nthree\n"}
DONE: dict[str, Any] = {
    "status": "done",
    "summary": "Do not add one to the total",
    "why": "The sum was one too large.",
    "evidence": "test_total passes",
    "risks": ["callers that subtracted one"],
}
FIX = ToolCall("edit_file", {"path": "calc.py", "search": "sum(items) + 1", "replace": "sum(items)"})


def acting(*turns: Any) -> Callable[[podium.Call], Any]:
    """A coder that makes these turns, one after another."""

    def code(call: podium.Call) -> Any:
        return turns[min(sum(message.role == "assistant" for message in call.messages), len(turns) - 1)]

    return code


def results(team: Team, task: str = "code") -> list[str]:
    """What the tools of the last ask gave to the model."""
    return [message.text for message in team.asked_to(task)[-1].messages if message.role == "tool"]


async def make(
    store: Store, team: Team, folder: Path, test_command: str = "", max_iterations: int = 3
) -> RunResult:
    options: dict[str, Any] = {"test_command": test_command, "max_iterations": max_iterations}
    return await make_with(store, team, folder, "Fix the total", **options)


def team_of(*turns: Any, **script: Any) -> Team:
    small = planned(step("Correct the total in calc.py", complexity="simple"))
    return Team({"plan": small, "code": acting(*turns), **script})


async def test_a_bug_is_found_fixed_and_tested_with_tools(store: Store, tmp_path: Path) -> None:
    team = team_of(
        [ToolCall("search", {"text": "items"}), ToolCall("read_file", {"path": "calc.py"})],
        [FIX, ToolCall("run_tests", {})],
        DONE,
    )
    folder = repository(tmp_path / "project", PROJECT)
    made = await make(store, team, folder)
    assert (made.status, made.error) == ("completed", "")
    found, read, edited, tested = results(team)
    assert "calc.py:2:     return sum(items) + 1" in found, "indentation is kept"
    assert "2      return sum(items) + 1" in read
    assert edited.startswith("Edited calc.py.")
    assert "2      return sum(items)\n" in edited
    assert "PASS: 1 passed" in tested
    assert "Failed before the change and passes now: test_calc.py::test_total" in tested
    branch = made.output["branch"]
    assert "sum(items) + 1" not in git(folder, "show", f"{branch}:calc.py")
    message = git(folder, "log", "-1", "--format=%B", branch)
    assert message.startswith("Do not add one to the total\n\nThe sum was one too large.")
    assert "Risk: callers that subtracted one" in message


async def test_the_red_test_that_turns_green_is_the_test_of_the_change(store: Store, tmp_path: Path) -> None:
    made = await make(store, team_of([FIX], DONE), repository(tmp_path / "project", PROJECT))
    assert made.status == "completed", "no new test is needed"
    assert made.output["baseline"]["failed"] == 1
    assert made.output["tests"]["fixed"] == ["test_calc.py::test_total"]
    changes = made.output["changes"]
    assert (changes[0]["why"], changes[0]["files"]) == ("The sum was one too large.", ["calc.py"])


async def test_planner_and_coder_see_the_tests_before_any_change(store: Store, tmp_path: Path) -> None:
    team = team_of([FIX], DONE)
    await make(store, team, repository(tmp_path / "project", PROJECT))
    for task in ("plan", "verify_plan", "code"):
        assert "FAILED test_calc.py::test_total" in team.asked_to(task)[0].prompt


async def test_what_failed_before_is_not_blamed_on_the_change(store: Store, tmp_path: Path) -> None:
    files = PROJECT | {"test_other.py": "def test_other():\n    assert 1 == 2\n"}
    made = await make(store, team_of([FIX], DONE), repository(tmp_path / "project", files))
    assert made.status == "completed"
    assert made.output["tests"]["knownFailures"] == ["test_other.py::test_other"]
    assert any("Before any change the tests fail" in warning for warning in made.warnings)


async def test_a_test_that_must_pass_and_still_fails_keeps_the_goal_unmet(
    store: Store, tmp_path: Path
) -> None:
    files = PROJECT | {"test_other.py": "def test_other():\n    assert 1 == 2\n"}
    small = {**planned(step("Correct the total", complexity="simple")), "must_pass": ["test_other"]}
    team = Team({"plan": small, "code": acting([FIX], DONE)})
    made = await make(store, team, repository(tmp_path / "project", files), max_iterations=1)
    assert (made.status, made.stop_reason) == ("partial", "goal not met")
    goal = [gate for gate in made.output["gates"] if gate["gate"] == "goal"]
    assert goal[-1]["problems"] == ["test_other.py::test_other must pass, and still fails"]


async def test_an_empty_change_is_sent_back(store: Store, tmp_path: Path) -> None:
    turns = iter([DONE, [FIX], DONE])
    team = team_of()
    team.script["code"] = lambda _: next(turns)
    made = await make(store, team, repository(tmp_path / "project", PROJECT))
    assert made.status == "completed"
    assert "Nothing was changed." in team.asked_to("code")[1].prompt
    refused = [caught["what"] for caught in made.output["caught"] if caught["refused"]]
    assert any("Nothing was changed" in what for what in refused)


async def test_commands_change_files_and_what_they_leave_out_is_told(store: Store, tmp_path: Path) -> None:
    command = "sed -i 's/ + 1//' calc.py && mkdir -p out && echo x > out/log && cat notes/plan.txt"
    team = team_of([ToolCall("run", {"command": command}), ToolCall("git_diff", {})], DONE)
    folder = repository(tmp_path / "project", PROJECT | {".gitignore": "out/\n"})
    made = await make(store, team, folder)
    assert made.status == "completed"
    ran, diff = results(team)
    assert "exit code 0" in ran
    assert "changed calc.py" in ran
    assert "\n  two\n" in ran
    assert "-    return sum(items) + 1" in diff
    assert [file["path"] for file in made.output["diff_stat"]["files"]] == ["calc.py"]


async def test_refused_calls_are_told_and_change_nothing(store: Store, tmp_path: Path) -> None:
    team = team_of(
        [
            ToolCall("read_file", {"path": "../../etc/passwd"}),
            ToolCall("edit_file", {"path": "calc.py", "search": "items", "replace": "x"}),
            ToolCall("write_file", {"path": "/etc/passwd", "content": "x"}),
            ToolCall("run", {"command": " "}),
            ToolCall("run_tests", {"selector": "--pdb"}),
            ToolCall("delete_file", {"path": "missing.py"}),
        ],
        [FIX],
        DONE,
    )
    made = await make(store, team, repository(tmp_path / "project", PROJECT))
    assert made.status == "completed"
    told = [message for message in team.asked_to("code")[-1].messages if message.role == "tool"]
    assert [message.failed for message in told] == [True] * 6 + [False]
    assert [file["path"] for file in made.output["diff_stat"]["files"]] == ["calc.py"]


async def test_calls_of_one_turn_are_made_in_their_order(store: Store, tmp_path: Path) -> None:
    write = [
        ToolCall("write_file", {"path": "a.txt", "content": "one\n"}),
        ToolCall("edit_file", {"path": "a.txt", "search": "one", "replace": "two"}),
        ToolCall("move_file", {"path": "a.txt", "to": "b.txt"}),
        ToolCall("read_file", {"path": "b.txt"}),
        ToolCall("delete_file", {"path": "b.txt"}),
        FIX,
    ]
    team = team_of(write, DONE)
    made = await make(store, team, repository(tmp_path / "project", PROJECT))
    assert made.status == "completed"
    assert "1  two" in results(team)[3]
    assert [file["path"] for file in made.output["diff_stat"]["files"]] == ["calc.py"]


async def test_a_test_command_that_does_not_work_ends_the_run_before_the_first_call(
    store: Store, tmp_path: Path
) -> None:
    team = team_of([FIX], DONE)
    made = await make(store, team, repository(tmp_path / "project", PROJECT), test_command="no-such-program")
    assert (made.status, team.calls) == ("failed", [])
    assert "no-such-program" in made.error


async def test_a_lost_test_closes_the_gate_whoever_approves(store: Store, tmp_path: Path) -> None:
    files = PROJECT | {
        "test_more.py": "from calc import mean\n\n\ndef test_mean():\n    assert mean([4]) == 5\n"
    }
    hide = ToolCall("move_file", {"path": "test_more.py", "to": "more.py"})
    empty: dict[str, Any] = {"steps": []}
    blocked = {"status": "blocked", "blocked_reason": "it has to go"}
    team = team_of([FIX, hide], DONE, fix=blocked, subplan=empty, revise_plan=empty)
    made = await make(store, team, repository(tmp_path / "project", files), max_iterations=1)
    assert made.status != "completed"
    problems = [problem for gate in made.output["gates"] for problem in gate["problems"]]
    assert any("test_mean" in problem or "test_more" in problem for problem in problems)
