"""Scripted answers of `tree`: a request becomes a tree of two levels.

A request that lists things (“Postgres, MySQL and SQLite”) is split by what it lists, any other by three fixed
aspects.
"""

from __future__ import annotations

import re
from typing import Any

from podium.models.messages import ToolCall
from podium.models.model import Call
from podium.models.rehearsal import rehearses, request_in, section
from podium.models.sample_values import LABEL, keywords, slug
from podium.tools.tool import unfenced

_TASK = re.compile(
    r"^# Task\s+(.+?)\s*(?=^Why: |^It is done|^A complete answer|^No criteria)", re.DOTALL | re.MULTILINE
)
WHOLE = "The task is the whole request."
"""The prompt's text for the root's task."""
_DEPTH = re.compile(r"Depth in the tree: (\d+) of at most (\d+)")
_CAPS = re.compile(r"at most (\d+) bands, (\d+) steps per band")
_CHILD = re.compile(r"^## (\S+): (.+?) \((completed|failed|blocked)[^)]*\)$", re.MULTILINE)
_ITEMS = re.compile(
    r"\s*(?:,\s*(?:and|or|und|oder)\s+|,|;|\b(?:and|or|versus|vs\.?|und|oder)\b)\s+", re.IGNORECASE
)
_JOINED = re.compile(r"\b(?:and|or|vs|versus|und|oder)\b|;", re.IGNORECASE)
_LINK = r"(?:for|in|with|to|on|by|from|as|of|about|für|im|mit|zu|auf|von)\s+"
"""Prepositions: an item of a list ends before one, or starts after it."""
ASPECTS = (
    ("1-goals", "Settle the goals"),
    ("2-options", "Collect the options"),
    ("3-risks", "Name the risks"),
)

Bands = list[tuple[str, list[tuple[str, str]]]]
"""Goal, and id and title of each step."""


@rehearses("tree", "plan")
def rehearse_plan(call: Call) -> dict[str, Any]:
    """Split the root and its first step; everything else is done in one go."""
    task, depth = _task(call), _DEPTH.search(call.prompt)
    level = int(depth[1]) if depth else 0
    if level == 0:
        return _planned(call, _root_bands(task))
    if level == 1 and call.path.startswith("1-"):
        parts = [("1a-sources", f"{task}: what is known"), ("1b-doubts", f"{task}: what is unclear")]
        return _planned(call, [("See both sides", parts)])
    return {
        "mode": "execute",
        "modeReason": f"“{task}” is one piece of work.",
        "leafDecision": {"canExecuteDirectly": True, "complexity": "low", "blockers": []},
        "scratchpad": _note(f"Do it in one go: {task}."),
    }


def _root_bands(task: str) -> Bands:
    parts = list(ASPECTS)
    if items := listed_items(task):
        parts = [(f"{n}-{slug(item, 24) or 'part'}", f"Look into {item}") for n, item in enumerate(items, 1)]
    closing = (f"{len(parts) + 1}-draft", "Draft a first answer")
    return [("Understand each part", parts), ("Bring the parts together", [closing])]


def listed_items(task: str) -> list[str]:
    """Return up to four things that a request names side by side; none if it lists nothing."""
    items = [part.strip(" .!?:") for part in _ITEMS.split(task)]
    if not 2 <= len(items) <= 5 or not _JOINED.search(task):
        return []
    first = items[0].split()
    items[0] = re.sub(rf"^{_LINK}", "", " ".join(first[-2:] if len(first) > 3 else first[1:] or first))
    items[-1] = re.split(rf"\s+{_LINK}", items[-1])[0]
    fits = all(1 <= len(item.split()) <= 4 for item in items) and len(set(items)) == len(items)
    return items[:4] if fits else []


def _planned(call: Call, bands: Bands) -> dict[str, Any]:
    caps = _CAPS.search(call.prompt)
    most_bands, most_steps = (int(caps[1]), int(caps[2])) if caps else (3, 4)
    bands = [(goal, parts[:most_steps]) for goal, parts in bands[:most_bands]]
    steps = sum(len(parts) for _, parts in bands)
    return {
        "mode": "plan",
        "modeReason": f"“{_task(call)}” is made of {steps} different pieces of work.",
        "plan": {
            "summary": f"{steps} steps in {len(bands)} bands.",
            "bands": [
                {
                    "index": index,
                    "goal": goal,
                    "parallelizable": True,
                    "steps": [
                        {
                            "id": name,
                            "title": title,
                            "reason": f"{goal}.",
                            "stepIndex": number,
                            "successCriteria": [
                                f"names three points on “{title}”",
                                "says what they stand on",
                            ],
                        }
                        for number, (name, title) in enumerate(parts)
                    ],
                }
                for index, (goal, parts) in enumerate(bands)
            ],
        },
        "scratchpad": _note(f"Split into {steps} steps."),
    }


@rehearses("tree", "execute")
def rehearse_execution(call: Call) -> Any:
    files = next((unfenced(message.text) for message in call.messages if message.role == "tool"), None)
    if files is None and any(tool.name == "list_files" for tool in call.tools):
        return ToolCall("list_files", {"purpose": "See what there is."})
    task, wanted = _task(call), section(call.prompt, "Deliverable")
    subject = request_in(call.prompt).partition(" ")[2]  # a request begins with what to do
    points = [f"What to say about {word}" for word in keywords(subject or task, 3)]
    actions: list[dict[str, Any]] = [{"kind": "analysis", "note": f"What “{task}” asks for."}]
    artifacts: list[dict[str, Any]] = []
    if "document" in wanted:
        lines = [f"# {task}", f"{LABEL} An executor would write this part.", _listed(points)]
        read = _CHILD.findall(section(call.prompt, "What you can"))
        lines += [f"It builds on: {'; '.join(title for _, title, _ in read)}."] if read else []
        lines += [f"```\n{files[:500]}\n```"] if files else []
        text = "\n\n".join(lines)
        artifacts.append({"type": "document", "label": "report", "title": task, "documentMarkdown": text})
    if "JSON" in wanted:
        payload = {"task": task, "points": points}
        artifacts.append({"type": "json", "label": "data", "jsonPayload": payload})
    return _answer(f"{LABEL} {task}: {points[0]}.", artifacts) | {"actions": actions}


@rehearses("tree", "aggregate")
def rehearse_aggregation(call: Call) -> dict[str, Any]:
    task = _task(call)
    children = _CHILD.findall(section(call.prompt, "What the steps returned"))
    gaps = [f"{title} returned nothing" for _, title, state in children if state != "completed"]
    done = [title for _, title, state in children if state == "completed"]
    lines = [f"# {task}", f"{LABEL} This is where the aggregator would write the answer to the whole task."]
    lines += [f"## {title}\n\n{_first_points(call.prompt, title)}" for title in done]
    lines += [f"## What is missing\n\n{_listed(gaps)}"] if gaps else []
    document = {
        "type": "document",
        "label": "synthesis",
        "title": task,
        "isPrimary": True,
        "documentMarkdown": "\n\n".join(lines),
    }
    summary = f"{LABEL} {task}: put together from {len(done)} of {len(children)} parts."
    findings = [f"{title}: done" for title in done]
    return _answer(summary, [document], met=not gaps) | {
        "synthesis": {"summary": summary, "keyFindings": findings, "gaps": gaps},
        "next": {"shouldReplan": False},
    }


def _answer(summary: str, artifacts: list[dict[str, Any]], *, met: bool = True) -> dict[str, Any]:
    kinds = {artifact["type"] for artifact in artifacts}
    labels = [artifact["label"] for artifact in artifacts]
    hint = "read_documents" if "document" in kinds else "read_json"
    return {
        "artifacts": artifacts,
        "result": {
            "kind": "hybrid" if len(kinds) > 1 else next(iter(kinds)),
            "summary": summary,
            "successAssessment": {"met": met},
            "primaryArtifactLabel": labels[0],
            "parentHint": {"hintType": hint, "artifactLabels": labels},
        },
        "scratchpad": _note(summary),
    }


def _first_points(prompt: str, title: str) -> str:
    """Return the first points of a child's document."""
    opening = rf'^<document [^\n]*title="{re.escape(title)}">$'
    match = re.search(rf"{opening}.*?^</document>$", prompt, re.DOTALL | re.MULTILINE)
    points = re.findall(r"^- (.+)$", match[0], re.MULTILINE) if match else []
    return _listed(points[:2]) or "Nothing of this part could be read."


def _listed(points: list[str]) -> str:
    return "\n".join(f"- {point}" for point in points)


def _note(text: str) -> dict[str, str]:
    return {"appendMarkdown": text, "tailPreview": text}


def _task(call: Call) -> str:
    match = _TASK.search(call.prompt)
    if match is not None and match[1].startswith(WHOLE):
        return request_in(call.prompt)
    return " ".join(match[1].split()) if match else call.task
