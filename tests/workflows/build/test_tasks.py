"""Twenty programming tasks: wrong solutions are rejected by really running tests, right ones committed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import podium
from podium.engine.log import Store
from tests.workflows.build.tasks import TASKS, Task
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


class Coder(Team):
    """Writes the wrong solution of a task first, and the right one when its tests have failed."""

    def __init__(self, tasks: list[Task]) -> None:
        steps = [step(f"write {task.name}", files=[task.file]) for task in tasks]
        super().__init__({"plan": planned(*steps), "code": self.first, "fix": self.then})
        self.known = {task.name: task for task in tasks}

    def task(self, call: podium.Call) -> Task:
        match = re.search(r"^# Step [\d.]+\n\nwrite (\w+)$", call.prompt, re.MULTILINE)
        assert match is not None
        return self.known[match[1]]

    def first(self, call: podium.Call) -> Any:
        task = self.task(call)
        return changed({task.file: task.wrong, task.test_file: task.tests})

    def then(self, call: podium.Call) -> Any:
        task = self.task(call)
        assert task.name in call.prompt.partition("# Result of the tests")[2], "it sees what failed"
        right = {"path": task.file, "action": "modify", "content": task.right}
        return {"summary": "put right", "evidence": "its tests pass", "changes": [right]}


def test_there_are_twenty_of_them() -> None:
    assert len({task.name for task in TASKS}) == 20


@pytest.mark.parametrize("part", range(4))
async def test_every_wrong_solution_is_rejected_and_every_right_one_committed(
    store: Store, tmp_path: Path, part: int
) -> None:
    tasks = TASKS[part * 5 : part * 5 + 5]
    folder = repository(tmp_path / "project")
    made = await make(store, Coder(tasks), folder, "Write five functions", test_command="")
    assert (made.status, made.output["tests"]["ok"]) == ("completed", True)
    log = await RunEvents.of(store, made.run_id)
    for number, task in enumerate(tasks, 1):
        runs = log.of_type("tests_run", step_id=f"step-{number}")
        real = [(one["cycle"], one["result"]["ok"]) for one in runs if not one["result"]["summary"]]
        assert real == [(0, False), (1, True)], task.name
        assert runs[0]["result"]["failed"] >= 1, "a test failed; it did not merely break"
        assert git(folder, "show", f"{made.output['branch']}:{task.file}") == task.right.strip()
    assert [one["status"] for one in steps_of(made).values()] == ["completed"] * 5
    assert len(log.of_type("committed")) == 5
    assert not [one for one in made.output["caught"] if one["refused"]]
