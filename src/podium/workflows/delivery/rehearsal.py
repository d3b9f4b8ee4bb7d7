"""Scripted answers of the drafter, the editor and the judge, in every workflow.

Other workflows may have tasks of these names, so each answer checks the role.
"""

from __future__ import annotations

from typing import Any

from podium.models.model import Call
from podium.models.rehearsal import rehearses, request_in, section
from podium.models.sample_values import LABEL, keywords


@rehearses("*", "draft")
def rehearse_draft(call: Call) -> dict[str, Any] | None:
    if call.role != "drafter":
        return None
    request = request_in(call.prompt)
    points = [f"what to do about {word}" for word in keywords(request)[:3]]
    lines = "\n".join(f"- {point}" for point in points)
    document = f"# {request[:200]}\n\n{LABEL} A direct answer in one go:\n\n{lines}"
    return {"points": points, "document": document}


@rehearses("*", "edit_result")
def rehearse_edit(call: Call) -> dict[str, Any] | None:
    """Change nothing, and miss what the team says is missing."""
    if call.role != "editor":
        return None
    gaps = section(call.prompt, "What the team says is missing").splitlines()
    missing = [line.removeprefix("- ") for line in gaps if line.startswith("- ")]
    part = {"part": request_in(call.prompt)[:300] or "the request", "met": not missing}
    return {"parts": [part], "still_missing": missing}


@rehearses("*", "compare")
def rehearse_comparison(call: Call) -> dict[str, Any] | None:
    if call.role != "judge":
        return None
    scores = {"complete": 5, "correct": 5, "usable": 5, "fitting": 5}
    return {"why": f"{LABEL} Both texts are made up.", "a": scores, "b": scores, "better": "equal"}


@rehearses("*", "pick")
def rehearse_pick(call: Call) -> dict[str, Any] | None:
    return {"why": f"{LABEL} All texts are made up.", "best": 1} if call.role == "judge" else None
