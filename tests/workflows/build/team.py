"""Planner, coder, tester and supervisor as scripts, a repository to work on, and what a run came to."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import podium
from podium.engine.log import Store
from podium.engine.result import RunResult
from podium.workflows.build.flow import build_with
from podium.workflows.build.sandbox_workspace import open_sandbox_workspace
from tests.workflows import scripted
from tests.workflows.scripted import Scripted

GOAL = "Write the right answer down"
CHECK = "sh check.sh"
"""A test command that takes no time: it looks whether the answer is right."""
WORKFLOW = build_with(open_sandbox_workspace, first_wait_s=0.001)

TEST = """from pathlib import Path


def test_answer():
    assert "right" in Path("answer.txt").read_text()  # {note}
"""


def git(folder: Path, *words: str) -> str:
    return subprocess.run(
        ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *words],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()


def repository(folder: Path, files: Mapping[str, str] | None = None) -> Path:
    """A checkout with one commit."""
    written = {
        "check.sh": "test ! -e answer.txt || grep -q right answer.txt\n",
        "README.md": "# A project\n",
    } | dict(files or {})
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in written.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "the beginning")
    return folder


def planned(*steps: str | dict[str, Any], analysis: str = "how it is done") -> dict[str, Any]:
    plan_steps = [{"description": step} if isinstance(step, str) else step for step in steps]
    return {"analysis": analysis, "steps": plan_steps}


def step(description: str, *depends_on: int, **fields: Any) -> dict[str, Any]:
    return {"description": description, "depends_on": list(depends_on), **fields}


def coded(answer: str = "right", **fields: Any) -> dict[str, Any]:
    """A change that writes the answer down, with a test."""
    return {
        "status": "done",
        "summary": f"the answer is {answer}",
        "evidence": "answer.txt holds it",
        "changes": [
            {"path": "answer.txt", "action": "create", "content": f"{answer}\n"},
            {"path": "tests/test_answer.py", "action": "create", "content": TEST.format(note="")},
        ],
        **fields,
    }


def changed(files: Mapping[str, str], **fields: Any) -> dict[str, Any]:
    changes = [{"path": path, "action": "create", "content": text} for path, text in files.items()]
    return {"status": "done", "summary": "done", "evidence": "see the tests", "changes": changes, **fields}


def scored(score: float, *issues: str, verified: bool | None = None, **fields: Any) -> dict[str, Any]:
    """A verdict; on a step, the same score for everything unless `fields` say otherwise."""
    passed = score >= 50 if verified is None else verified
    return {
        "verified": passed,
        "score": score,
        "issues": list(issues),
        "recommendation": "continue",
        "reason": "so",
        "code_score": score,
        "review_score": score,
        "goal_score": score,
        "goal_met": passed,
        **fields,
    }


class Team(Scripted):
    """`{"code": [first, second], "verify_goal": scored(79)}`; the rest gets an answer that passes."""

    anywhere = "{task}"

    def plain(self, call: podium.Call) -> Any:
        return plain_answer(call)


def plain_answer(call: podium.Call) -> Any:
    """What passes, where a test has nothing else to say."""
    if call.task.startswith("verify_"):
        return scored(90)
    if call.task in ("plan", "revise_plan"):
        return planned("write the answer down", step("write it down again", 1))
    if call.task == "code" and not knows_answer(call):
        return coded()
    answers: dict[str, Any] = {
        "subplan": planned("write a smaller answer"),
        "test_review": {"summary": "well tested", "findings": [], "edge_cases": []},
        "fix_plan": {"diagnosis": "it is wrong", "instructions": ["make it right"]},
    }
    return answers.get(call.task) or retested(f"again in {call.path}")


def knows_answer(call: podium.Call) -> bool:
    """Whether the answer is in the workspace already, by the map in the prompt."""
    return "answer.txt" in call.prompt.partition(" from the workspace\n")[2].partition("END UNTRUSTED")[0]


def modified(answer: str = "right", note: str = "") -> dict[str, Any]:
    """The answer once more, in a file that is there already."""
    text = f"{answer} {note}".strip()
    return {
        "status": "done",
        "summary": f"the answer is {text}",
        "evidence": "answer.txt holds it",
        "changes": [
            {"path": "answer.txt", "action": "modify", "content": f"{text}\n"},
            {"path": "tests/test_answer.py", "action": "modify", "content": TEST.format(note=note)},
        ],
    }


def retested(note: str) -> dict[str, Any]:
    """The same answer with another version of its test."""
    changed_test = {"path": "tests/test_answer.py", "action": "modify", "content": TEST.format(note=note)}
    answer = {"path": "answer.txt", "action": "modify", "content": "right\n"}
    return {**modified(), "changes": [answer, changed_test]}


async def make(
    store: Store,
    team: Team,
    folder: Path,
    goal: str = GOAL,
    *,
    budget: podium.Budget | None = None,
    approve: tuple[str, ...] = (),
    **options: Any,
) -> RunResult:
    options = {"workspace": str(folder), "test_command": CHECK, **options}
    return await podium.run(
        WORKFLOW, goal, model=team, store=store, budget=budget, approve=approve, options=options
    )


async def go_on(store: Store, run_id: str, team: Team, budget: podium.Budget | None = None) -> RunResult:
    handle = await podium.resume(run_id, workflow=WORKFLOW, model=team, store=store, budget=budget)
    return await handle.result()


class RunEvents(scripted.RunEvents):
    """The build's own events of a run."""

    namespace = "build"

    def messages(self) -> list[str]:
        return [data["type"] for data in self.of_type("message")]

    def statuses(self, step_id: str) -> list[str]:
        found = [data["status"] for data in self.of_type("step_status", step_id=step_id)]
        return [status for nth, status in enumerate(found) if not nth or status != found[nth - 1]]


def steps_of(result: RunResult) -> dict[str, dict[str, Any]]:
    """The steps of the current plan and of its sub-plans, by id."""
    by_id: dict[str, dict[str, Any]] = {}

    def add(steps: list[dict[str, Any]]) -> None:
        for one in steps:
            by_id[one["id"]] = one
            add(one["subSteps"])

    add(result.output["state"]["currentPlan"]["steps"])
    return by_id
