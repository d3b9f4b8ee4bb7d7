"""Scripted answers of `studio`: departments that differ, and grades that show retries.

Grades depend on the request alone, so a rehearsal can be repeated.
"""

from __future__ import annotations

import re
from typing import Any

from podium.models.model import Call
from podium.models.rehearsal import rehearses, request_in, section
from podium.models.sample_values import LABEL, keywords, number

_SPECIALIST = re.compile(r"^- `(.+?)`: (.+?) \((.+?)\): (.*)$", re.MULTILINE)
_PART = re.compile(r"^# Your assignment\n\n.+? \((.+?)\): ", re.MULTILINE)
_DELIVERED = re.compile(r"^<(?:part|material)(?: key=\"[^\"]*\")? from=\"([^\"]*)\">$", re.MULTILINE)
_BATCH = re.compile(r"^## ([a-z0-9_-]+): ", re.MULTILINE)
_OF = re.compile(r"^# Material: text of the (.+)$", re.MULTILINE)
_OWN = re.compile(r"^<own [^\n]*>\n(.*?)\n</own>$", re.DOTALL | re.MULTILINE)
_KEYS = re.compile(r"^- `([a-z0-9_-]+)`: ", re.MULTILINE)
_ATTEMPT = re.compile(r"/(?:attempt|round)(?:#(\d+))?/")


@rehearses("studio", "brief")
def rehearse_brief(call: Call) -> dict[str, Any]:
    """Give parts to four specialists, to others for other requests."""
    topic = _topic(call)
    offered = _SPECIALIST.findall(section(call.prompt, "Your specialists"))
    chosen = sorted(offered, key=lambda specialist: number(topic, specialist[1]))[:4]
    return {
        "approach": f"{LABEL} Take “{topic}” apart, and keep to one voice.",
        "required_skills": [skill for _, _, skill, _ in chosen],
        "assignments": [
            {"specialist": key, "task": f"{LABEL} The {skill} of “{topic}”.", "needs": []}
            for key, _, skill, _ in chosen
        ],
    }


@rehearses("studio", "execute")
def rehearse_execution(call: Call) -> str:
    part, tries = _PART.search(call.prompt), _attempt(call)
    again = f"\n\nWritten anew with the head's feedback, attempt {tries}." if tries > 1 else ""
    return f"### {(part[1] if part else call.agent).capitalize()}: {_topic(call)}\n\n{_text(call)}{again}"


@rehearses("studio", "grade")
def rehearse_grade(call: Call) -> dict[str, Any]:
    several = _BATCH.findall(section(call.prompt, "Outputs"))
    if several:
        return {"grades": [{"specialist": key, **_grade(call, key)} for key in several]}
    return _grade(call, call.path.split("/")[1] if "/" in call.path else call.agent)


def _grade(call: Call, who: str) -> dict[str, Any]:
    """Grade a first attempt between poor and very good, and every further one better."""
    value = min(0.6 + number(_topic(call), who, call.agent) % 32 / 100 + 0.14 * (_attempt(call) - 1), 0.97)
    good = value >= 0.85
    return {
        "quality": round(value, 2),
        "relevance": round(min(value + 0.03, 1), 2),
        "consistency": round(max(value - 0.03, 0), 2),
        "feedback": "It is clear and fits the other parts." if good else "It is sound, but stays general.",
        "suggestions": [] if good else [f"Say more about {keywords(request_in(call.prompt))[0]}."],
    }


@rehearses("studio", "synthesize")
def rehearse_synthesis(call: Call) -> str:
    parts = _DELIVERED.findall(call.prompt.partition("# What your specialists delivered")[2])
    again = " Second look: tightened." if "# Your last draft" in call.prompt else ""
    return f"{_text(call)}\n- Made of {len(parts)} parts: {', '.join(parts)}.{again}"


@rehearses("studio", "head_execute")
def rehearse_head(call: Call) -> str:
    return _text(call)


@rehearses("studio", "route")
def rehearse_route(call: Call) -> dict[str, Any]:
    keys, topic = _KEYS.findall(section(call.prompt, "Departments")), _topic(call)
    ranked = sorted(keys, key=lambda key: number(topic, key))
    reason = f"a rehearsal cannot judge “{topic}”"
    return {
        "scores": [
            {"department": key, "relevance": (0.9, 0.6, 0.4, 0.1)[min(nth, 3)], "reason": reason}
            for nth, key in enumerate(ranked)
        ]
    }


@rehearses("studio", "validate")
def rehearse_validation(call: Call) -> dict[str, Any]:
    return {"conflicts": []}


@rehearses("studio", "resolve")
def rehearse_resolution(call: Call) -> dict[str, Any]:
    own = _OWN.search(call.prompt)
    reason = f"{LABEL} the other version serves the request."
    return {"yields": True, "reason": reason, "output": own[1] if own else LABEL}


@rehearses("studio", "extract_facts")
def rehearse_facts(call: Call) -> dict[str, Any]:
    """Return one fact, so that its review can be rehearsed too."""
    name, quoted = _OF.search(call.prompt), re.search(r"“(.+?)”", call.prompt)
    fact = {
        "subject": quoted[1] if quoted else "this request",
        "predicate": "worked on by",
        "value": name[1] if name else call.agent,
        "kind": "other",
        "quote": f"{LABEL} not a model's work",
    }
    return {"facts": [fact]}


@rehearses("studio", "aggregate")
def rehearse_aggregation(call: Call) -> str:
    """Return one text with a part for each department, in the shape of a deliverable."""
    parts = [f"{LABEL} Here the master would write one document on “{_topic(call)}”, ready to use."]
    for name in _DELIVERED.findall(call.prompt):
        parts.append(f"## {name.removesuffix(' Department').capitalize()}\n\nFrom the work of the {name}.")
    return "\n\n".join(parts)


def _text(call: Call) -> str:
    words = ", ".join(keywords(request_in(call.prompt), 4))
    return (
        f"{LABEL} {call.agent} would write this: “{_topic(call)}”.\n\n- What {call.agent} says about {words}."
    )


def _topic(call: Call) -> str:
    words = request_in(call.prompt).split()
    return " ".join(words[:10]).rstrip(".!?") + ("…" if len(words) > 10 else "")


def _attempt(call: Call) -> int:
    match = _ATTEMPT.search(call.path)
    return int(match[1] or 1) if match else 1
