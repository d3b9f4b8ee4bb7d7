"""Master, heads and specialists as scripts, and what a run of the studio came to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, cast

import podium
from podium.engine.codec import decode
from podium.engine.log import Store
from podium.engine.result import RunResult

Answer = Any | Callable[[podium.Call], Any]

WORKED = "Create a dramatic opening scene with Aladdin stealing bread"
"""The worked example of the seed."""


def graded(percent: float, feedback: str = "", *suggestions: str) -> dict[str, Any]:
    """A grade whose score is this many percent."""
    value = percent / 100
    return {
        "quality": value, "relevance": value, "consistency": value, "feedback": feedback,
        "suggestions": list(suggestions),
    }  # fmt: skip


def brief(*skills: str, approach: str = "the approach") -> dict[str, Any]:
    return {"approach": approach, "required_skills": list(skills)}


def conflict(
    *departments: str, what: str = "the colour of the door", severity: str = "high"
) -> dict[str, Any]:
    return {"kind": "direct", "severity": severity, "departments": list(departments), "description": what}


class Crew:
    """A model that answers by where it is asked: `{"story/brief": …, "*/grade": [first, second]}`.

    A list is given one by one, its last entry for ever; an exception is raised; what is not scripted gets a
    plain answer that passes.
    """

    def __init__(self, script: Mapping[str, Answer] | None = None) -> None:
        self.script = dict(script or {})
        self.calls: list[podium.Call] = []
        self._given: Counter[str] = Counter()

    async def __call__(self, call: podium.Call) -> Any:
        self.calls.append(call)
        rule = call.path if call.path in self.script else f"*/{call.task}"
        answer: Any = self.script.get(rule)
        if isinstance(answer, list):
            answers = cast("list[Any]", answer)
            nth = min(self._given[rule], len(answers) - 1)
            self._given[rule] += 1
            answer = answers[nth]
        if callable(answer):
            answer = answer(call)
            if hasattr(answer, "__await__"):
                answer = await answer
        if isinstance(answer, Exception):
            raise answer
        return _plain(call) if answer is None else answer

    def asked(self, path: str) -> list[podium.Call]:
        return [call for call in self.calls if call.path == path]

    def tasks(self, task: str) -> list[podium.Call]:
        return [call for call in self.calls if call.task == task]

    @property
    def paths(self) -> list[str]:
        return [call.path for call in self.calls]


def _plain(call: podium.Call) -> Any:
    plain: dict[str, Any] = {
        "brief": brief(), "grade": graded(95, "good"), "validate": {"conflicts": []},
        "aggregate": "All in all.", "extract_facts": {"facts": []},
        "resolve": {"yields": True, "reason": "it costs less", "output": "changed"},
    }  # fmt: skip
    return plain.get(call.task, f"{call.task} by {call.agent}")


async def make(store: Store, crew: Crew, request: str = WORKED, **options: Any) -> RunResult:
    concurrency = options.pop("concurrency", None)
    budget = options.pop("budget", None)
    workflow = options.pop("workflow", "studio")
    return await podium.run(
        workflow, request, model=crew, store=store, concurrency=concurrency, budget=budget, options=options
    )


def department(found: RunResult, key: str) -> dict[str, Any]:
    """The report of a department."""
    return next(one for one in found.output["departments"] if one["departmentId"] == f"dept-{key}")


def specialist(found: RunResult, key: str, agent_id: str) -> dict[str, Any]:
    return next(one for one in department(found, key)["specialistResults"] if one["agentId"] == agent_id)


class Told:
    """The studio's own events of a run, in order."""

    def __init__(self, rows: list[tuple[str, dict[str, Any]]]) -> None:
        self.rows = rows

    @classmethod
    async def of(cls, store: Store, run_id: str) -> Told:
        rows = await store.read(run_id)
        return cls([(row.type[7:], decode(row.data)) for row in rows if row.type.startswith("studio.")])

    def of_type(self, kind: str, **fields: Any) -> list[dict[str, Any]]:
        return [
            data for name, data in self.rows
            if name == kind and all(data.get(key) == value for key, value in fields.items())
        ]  # fmt: skip

    def index(self, kind: str, **fields: Any) -> int:
        wanted = self.of_type(kind, **fields)
        assert wanted, f"no {kind} with {fields}"
        return self.rows.index((kind, wanted[0]))
