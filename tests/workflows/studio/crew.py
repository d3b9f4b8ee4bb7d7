"""Master, heads and specialists as scripts, and what a run of the studio came to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import podium
from podium.engine.log import Store
from podium.engine.result import RunResult
from tests.workflows import scripted
from tests.workflows.scripted import Scripted

WORKED = "Create a dramatic opening scene with Aladdin stealing bread"
"""The worked example of the seed."""


def graded(percent: float, feedback: str = "", *suggestions: str) -> dict[str, Any]:
    """A grade whose score is this many percent."""
    value = percent / 100
    return {
        "quality": value,
        "relevance": value,
        "consistency": value,
        "feedback": feedback,
        "suggestions": list(suggestions),
    }


def brief(*skills: str, approach: str = "the approach", **parts: Any) -> dict[str, Any]:
    """A brief; `plot="find a twist"` or `plot=("find a twist", "theme")` assigns a part, with its needs."""
    assigned = {
        key: (part, ()) if isinstance(part, str) else (part[0], part[1:]) for key, part in parts.items()
    }
    assignments = [
        {"specialist": key, "task": task, "needs": list(needs)} for key, (task, needs) in assigned.items()
    ]
    return {"approach": approach, "required_skills": list(skills), "assignments": assignments}


async def artifact(store: Store, result: RunResult, name: str) -> str:
    """The text of a file that a run left behind."""
    made = next(artifact for artifact in result.artifacts if artifact.name == name)
    return (await store.get_blob(made.blob)).decode()


def conflict(
    *departments: str, what: str = "the colour of the door", severity: str = "high"
) -> dict[str, Any]:
    return {"kind": "direct", "severity": severity, "departments": list(departments), "description": what}


def edit(*missing: str, **fields: Any) -> dict[str, Any]:
    """The editor's answer; each of `missing` is a part of the request that the text does not answer."""
    parts = [{"part": "the request", "met": not missing}]
    return {"parts": parts, "still_missing": list(missing), **fields}


def judged(preferred: str, why: str = "A and B differ.") -> Callable[[podium.Call], dict[str, Any]]:
    """A judge who prefers `team`, `draft` or neither (`equal`), in whichever order it sees them."""

    def judge(call: podium.Call) -> dict[str, Any]:
        first, second = ("team", "draft") if "/team-first/" in call.path else ("draft", "team")
        better = {first: "A", second: "B"}.get(preferred, "equal")
        scores = {"complete": 7, "correct": 7, "usable": 7, "fitting": 7}
        return {"why": why, "a": scores, "b": scores, "better": better}

    return judge


DRAFT = {"points": ["who steals what", "how the scene ends"], "document": "# A draft\n\nAll in one go."}


class Crew(Scripted):
    """`{"story/brief": …, "*/grade": [first, second]}`; what is not scripted gets an answer that passes."""

    def plain(self, call: podium.Call) -> Any:
        plain: dict[str, Any] = {
            "brief": brief(),
            "grade": graded(95, "good"),
            "validate": {"conflicts": []},
            "aggregate": "All in all.",
            "extract_facts": {"facts": []},
            "route": {"scores": []},
            "resolve": {"yields": True, "reason": "it costs less", "output": "changed"},
            "draft": DRAFT,
            "edit_result": edit(),
        }
        if call.task == "compare":
            return judged("team")(call)
        return plain.get(call.task, f"{call.task} by {call.agent}")


async def make(store: Store, crew: Crew, request: str = WORKED, **options: Any) -> RunResult:
    """Run a studio, without a direct draft and an editor unless `floor` or `editor` is given."""
    options = {"floor": False, "editor": False, **options}
    concurrency = options.pop("concurrency", None)
    budget = options.pop("budget", None)
    workflow = options.pop("workflow", "studio")
    return await podium.run(
        workflow, request, model=crew, store=store, concurrency=concurrency, budget=budget, options=options
    )


def department(result: RunResult, key: str) -> dict[str, Any]:
    """The report of a department."""
    return next(report for report in result.output["departments"] if report["departmentId"] == f"dept-{key}")


def specialist(result: RunResult, key: str, agent_id: str) -> dict[str, Any]:
    return next(item for item in department(result, key)["specialistResults"] if item["agentId"] == agent_id)


class RunEvents(scripted.RunEvents):
    """The studio's own events of a run, in order."""

    namespace = "studio"
