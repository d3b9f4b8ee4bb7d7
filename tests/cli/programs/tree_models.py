"""Models for trees: one answers whatever the tree asks, the others go wrong in a chosen way.

What a node does follows from its title: `wide 3x2` is split into 3 steps that are `wide 3x1`, and so on;
`mixed` has a step that fails and one that is planned `again`.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from pathlib import Path
from typing import Any

_TITLE = re.compile(r"^# Task\s+(.+?)\s*(?=^Why: |^It is done|^No criteria)", re.DOTALL | re.MULTILINE)
_REQUEST = re.compile(r"^<request>\n(.*?)\n</request>", re.DOTALL | re.MULTILINE)


async def answer(call: Any) -> dict[str, Any]:
    """Everything goes as the titles say."""
    title = " ".join(_TITLE.search(call.prompt)[1].split())  # pyright: ignore
    if title == "The task is the whole request.":
        title = " ".join(_REQUEST.search(call.prompt)[1].split())  # pyright: ignore
    if call.task == "plan":
        return _plan(title, call)
    if call.task == "execute":
        return _execute(title)
    return _aggregate(title, call)


async def no_planner(call: Any) -> dict[str, Any]:
    """The root's planner fails, so the run does."""
    if call.task == "plan":
        raise RuntimeError("the planner is out for lunch")
    return await answer(call)


async def patient(call: Any) -> dict[str, Any]:
    """Executors wait until there is a file `go` in the folder that `PATIENT` names."""
    if call.task == "execute":
        await asyncio.to_thread(_wait_for, Path(os.environ["PATIENT"]) / "go")
    return await answer(call)


def _wait_for(file: Path) -> None:
    while not file.exists():
        time.sleep(0.02)


def _plan(title: str, call: Any) -> dict[str, Any]:
    wide = re.fullmatch(r"wide (\d+)x(\d+)(.*)", title)
    note = {"appendMarkdown": "Planned.", "tailPreview": "Planned."}
    if wide and int(wide[2]) > 0:
        names = [f"wide {wide[1]}x{int(wide[2]) - 1} n{n}" for n in range(int(wide[1]))]
        bands = [names[: len(names) // 2], names[len(names) // 2 :]]
    elif title.startswith("again"):
        bands = [["part one", "part two"]]
    elif title.startswith("mixed"):
        bands = [["part one", "fails early"], ["part two", "again below"]]
    else:
        return {
            "mode": "execute",
            "modeReason": "one piece",
            "leafDecision": {"canExecuteDirectly": True, "complexity": "low", "blockers": []},
            "scratchpad": note,
        }
    return {"mode": "plan", "modeReason": "parts", "plan": _bands(bands), "scratchpad": note}


def _bands(bands: list[list[str]]) -> dict[str, Any]:
    return {
        "summary": "in parts",
        "bands": [
            {
                "index": index,
                "goal": f"goal {index}",
                "parallelizable": True,
                "steps": [
                    {
                        "id": name.replace(" ", "-"),
                        "title": name,
                        "reason": "needed",
                        "stepIndex": nth,
                        "successCriteria": [f"{name} is there"],
                    }
                    for nth, name in enumerate(names)
                ],
            }
            for index, names in enumerate(band for band in bands if band)
        ],
    }


def _execute(title: str) -> dict[str, Any]:
    if title.startswith("fails"):
        raise RuntimeError("no source for this")
    return _result(title, "report", met=title != "part two") | {"actions": []}


def _aggregate(title: str, call: Any) -> dict[str, Any]:
    again = title.startswith("again") and not re.search(r"#\d+$", call.path)
    return _result(title, "synthesis", met=True) | {
        "synthesis": {"summary": f"{title} in short", "keyFindings": [], "gaps": ["figures for 2029"]},
        "next": {"shouldReplan": again, "replanReason": "part two is thin" if again else None},
    }


def _result(title: str, label: str, *, met: bool) -> dict[str, Any]:
    text = f"# {title}\n\nWhat there is to say about *{title}*. <script>alert(1)</script>\n"
    return {
        "artifacts": [{"type": "document", "label": label, "title": title, "documentMarkdown": text}],
        "result": {
            "kind": "document",
            "summary": f"{title} in short",
            "primaryArtifactLabel": label,
            "successAssessment": {"met": met, "notes": "" if met else "one figure is missing"},
            "parentHint": {"hintType": "read_documents", "artifactLabels": [label]},
        },
        "scratchpad": {"appendMarkdown": "Done.", "tailPreview": "Done."},
    }
