"""Rehearsed answers of the drafter, the editor and the judge."""

from __future__ import annotations

import re
from typing import Any

from podium.models.model import Call
from podium.models.rehearsal import rehearses
from podium.models.request_words import keywords
from podium.models.sample_values import LABEL

_REQUEST = re.compile(r"<request>\n(.*?)\n</request>", re.DOTALL)

_GAPS = re.compile(r"^# What the team says is missing\n\n((?:- .*\n)+)", re.MULTILINE)


@rehearses("*", "draft")
def rehearse_draft(call: Call) -> dict[str, Any] | None:
    """Points made of the request's own words. Other workflows may have a task of this name."""
    if call.role != "drafter":
        return None
    request = _request(call)
    words = keywords(request)[:3] or ["the request"]
    points = [f"what to do about {word}" for word in words]
    lines = "\n".join(f"- {point}" for point in points)
    return {
        "points": points,
        "document": f"# {request[:200]}\n\n{LABEL} A direct answer in one go:\n\n{lines}",
    }


@rehearses("*", "edit_result")
def rehearse_edit(call: Call) -> dict[str, Any] | None:
    """An editor who changes nothing, and finds missing what the team says is missing."""
    if call.role != "editor":
        return None
    gaps = _GAPS.search(call.prompt)
    missing = [line.removeprefix("- ") for line in gaps[1].splitlines()] if gaps else []
    whole = {"part": _request(call)[:300] or "the request", "met": not missing}
    return {"parts": [whole], "still_missing": missing}


@rehearses("*", "compare")
def rehearse_comparison(call: Call) -> dict[str, Any] | None:
    """A judge who sees no difference: made-up texts cannot be compared."""
    if call.role != "judge":
        return None
    scores = {"complete": 5, "correct": 5, "usable": 5, "fitting": 5}
    return {"why": f"{LABEL} Both texts are made up.", "a": scores, "b": scores, "better": "equal"}


@rehearses("*", "pick")
def rehearse_pick(call: Call) -> dict[str, Any] | None:
    """A judge who takes the first: made-up texts are equally good."""
    return {"why": f"{LABEL} All texts are made up.", "best": 1} if call.role == "judge" else None


def _request(call: Call) -> str:
    found = _REQUEST.search(call.prompt)
    return " ".join(found[1].split()) if found else ""
