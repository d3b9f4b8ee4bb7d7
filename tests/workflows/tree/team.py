"""Planners, executors and aggregators as scripts, and what a run of the tree came to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import podium
from podium.engine.log import Store
from podium.engine.result import RunResult
from tests.workflows import scripted
from tests.workflows.scripted import BARE, Scripted, floor_answer

NOTE = {"appendMarkdown": "noted", "tailPreview": "noted"}


def step(
    name: str, title: str = "", criteria: Sequence[str] = ("it is there",), index: int = 0
) -> dict[str, Any]:
    return {
        "id": name,
        "title": title or f"Do {name}",
        "reason": f"because of {name}",
        "successCriteria": list(criteria),
        "stepIndex": index,
    }


def band(index: int, *steps: str | dict[str, Any], parallel: bool = True) -> dict[str, Any]:
    made = [
        step(planned, index=n) if isinstance(planned, str) else {**planned, "stepIndex": n}
        for n, planned in enumerate(steps)
    ]
    return {"index": index, "goal": f"goal {index}", "parallelizable": parallel, "steps": made}


def plan(*bands: dict[str, Any], summary: str = "a plan") -> dict[str, Any]:
    return {
        "mode": "plan",
        "modeReason": "it has parts",
        "plan": {"summary": summary, "bands": list(bands)},
        "scratchpad": NOTE,
    }


def execute(complexity: str = "low") -> dict[str, Any]:
    return {
        "mode": "execute",
        "modeReason": "it is one thing",
        "leafDecision": {"canExecuteDirectly": True, "complexity": complexity, "blockers": []},
        "scratchpad": NOTE,
    }


def document(label: str = "doc", title: str = "A title", text: str = "# A title\n\nText.") -> dict[str, Any]:
    return {"type": "document", "label": label, "title": title, "documentMarkdown": text}


def result(*labels: str, met: bool | None = True, primary: str | None = None) -> dict[str, Any]:
    made: dict[str, Any] = {
        "kind": "document",
        "summary": "what came out",
        "parentHint": {"hintType": "read_documents", "artifactLabels": list(labels)},
    }
    if met is not None:
        made["successAssessment"] = {"met": met}
    if primary:
        made["primaryArtifactLabel"] = primary
    return made


def leaf(
    *artifacts: dict[str, Any], met: bool | None = True, actions: Sequence[dict[str, Any]] = ()
) -> dict[str, Any]:
    made = list(artifacts) or [document()]
    return {
        "actions": list(actions),
        "artifacts": made,
        "scratchpad": NOTE,
        "result": result(*(artifact["label"] for artifact in made), met=met),
    }


def tool_call(name: str, note: str = "to know more", **args: Any) -> dict[str, Any]:
    return {"kind": "tool_call", "note": note, "toolName": name, "toolArgs": args}


def aggregate(
    *artifacts: dict[str, Any],
    met: bool | None = True,
    gaps: Sequence[str] = (),
    replan: str = "",
    hints: Sequence[str] | None = None,
) -> dict[str, Any]:
    made = list(artifacts) or [document("synthesis", "Synthesis")]
    labels = [artifact["label"] for artifact in made] if hints is None else hints
    return {
        "synthesis": {"summary": "all in all", "keyFindings": ["one"], "gaps": list(gaps)},
        "artifacts": made,
        "scratchpad": NOTE,
        "result": result(*labels, met=met),
        "next": {"shouldReplan": bool(replan), "replanReason": replan or None},
    }


class Team(Scripted):
    """`{"plan": …, "a/execute": [first, second]}`; what is not scripted gets the plain answer of its role."""

    def plain(self, call: podium.Call) -> Any:
        known = {"plan": execute, "execute": leaf, "aggregate": aggregate}
        return known[call.task]() if call.task in known else floor_answer(call)


async def grow(store: Store, team: Team, request: str = "the task", **options: Any) -> RunResult:
    concurrency = options.pop("concurrency", None)
    budget = options.pop("budget", None)
    return await podium.run(
        "tree",
        request,
        model=team,
        store=store,
        concurrency=concurrency,
        budget=budget,
        options={**BARE, **options},
    )


class RunEvents(scripted.RunEvents):
    """The tree's own events of a run, in order."""

    namespace = "tree"

    def of_node(self, node_id: str) -> list[str]:
        return [name for name, data in self.rows if data["nodeId"] == node_id]

    def messages(self, node_id: str) -> list[str]:
        return [data["message"] for data in self.of_type("node_status", nodeId=node_id) if data["message"]]
