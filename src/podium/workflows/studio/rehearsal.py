"""What the rehearsal model answers for a studio: departments that differ, and grades that make retries seen.

Everything is made of the request's own words and of what the prompt says about the team, and says that it is
a rehearsal. Grades are the same for the same request, so a rehearsal can be repeated.
"""

from __future__ import annotations

import re
from typing import Any

from podium.models.model import Call
from podium.models.rehearsal import rehearses
from podium.models.request_words import keywords, number, pick
from podium.models.sample_values import LABEL

_SPECIALIST = re.compile(r"^- `(.+?)`: (.+?) \((.+?)\): (.*)$", re.MULTILINE)
_PART = re.compile(r"^# Your assignment\n\n.+? \((.+?)\): ", re.MULTILINE)
_DELIVERED = re.compile(r"^<(?:part|material)(?: key=\"[^\"]*\")? from=\"([^\"]*)\">$", re.MULTILINE)
_BATCH = re.compile(r"^## ([a-z0-9_-]+): ", re.MULTILINE)
_OF = re.compile(r"^# Material: text of the (.+)$", re.MULTILINE)
_REQUEST = re.compile(r"^<request>\n(.*?)\n</request>$", re.DOTALL | re.MULTILINE)
_OWN = re.compile(r"^<own [^\n]*>\n(.*?)\n</own>$", re.DOTALL | re.MULTILINE)
_KEYS = re.compile(r"^- `([a-z0-9_-]+)`: ", re.MULTILINE)
_ATTEMPT = re.compile(r"/(?:attempt|round)(?:#(\d+))?/")

ANGLES = (
    "what it has to do for the whole",
    "the one detail that people will remember",
    "what is left out on purpose",
    "where it could go wrong, and what then",
    "how it begins and how it ends",
)
FEEDBACK = (
    "It is sound, but stays general.",
    "The request is met; the detail is not.",
    "It says what, and hardly why.",
    "It is clear and fits what the others do.",
)


@rehearses("studio", "brief")
def rehearse_brief(call: Call) -> dict[str, Any]:
    """The head gives parts to four specialists, to others for other requests; skills decide among them."""
    offered = _SPECIALIST.findall(_section(call.prompt, "Your specialists"))
    topic = _topic(call)
    ranked = sorted(offered, key=lambda one: number(topic, one[1]))
    return {
        "approach": f"{LABEL} Take “{topic}” apart, settle one thing each, and keep to one voice.",
        "required_skills": [specialization for _, _, specialization, _ in ranked[:4]],
        "assignments": [
            {"specialist": key, "task": f"{LABEL} The {specialization} of “{topic}”.", "needs": []}
            for key, _, specialization, _ in ranked[:4]
        ],
    }


@rehearses("studio", "execute")
def rehearse_execution(call: Call) -> str:
    part = _PART.search(call.prompt)
    what, topic, words = part[1] if part else call.agent, _topic(call), keywords(_request(call), 4)
    tries = _attempt(call)
    lines = [f"### {what.capitalize()}: {topic}", f"{LABEL} {call.agent} would write this part."]
    first, second = _angle(call.agent, 0), _angle(call.agent, 1)
    lines.append(f"- {' and '.join(words[:2]).capitalize()}, {first}.\n- {words[-1].capitalize()}, {second}.")
    if tries > 1:
        lines.append(f"Written anew with the head's feedback, attempt {tries}.")
    return "\n\n".join(lines)


@rehearses("studio", "grade")
def rehearse_grade(call: Call) -> dict[str, Any]:
    several = _BATCH.findall(_section(call.prompt, "Outputs"))
    if several:
        return {"grades": [{"specialist": key, **_grade(call, key)} for key in several]}
    return _grade(call, call.path.split("/")[1] if "/" in call.path else call.agent)


def _grade(call: Call, who: str) -> dict[str, Any]:
    """A first attempt lies between poor and very good; every further one is better."""
    tries = _attempt(call)
    base = 0.6 + number(_topic(call), who, call.agent) % 32 / 100
    value = min(base + 0.14 * (tries - 1), 0.97)
    good = value >= 0.85
    return {
        "quality": round(value, 2),
        "relevance": round(min(value + 0.03, 1), 2),
        "consistency": round(max(value - 0.03, 0), 2),
        "feedback": FEEDBACK[-1] if good else pick(FEEDBACK[:-1], who, tries),
        "suggestions": [] if good else [f"Say more about {pick(keywords(_request(call), 6), who)}."],
    }


@rehearses("studio", "synthesize")
def rehearse_synthesis(call: Call) -> str:
    topic = _topic(call)
    parts = _DELIVERED.findall(call.prompt.partition("# What your specialists delivered")[2])
    again = " Second look: tightened." if "# Your last draft" in call.prompt else ""
    lines = [
        f"{LABEL} {call.agent} would make one text of {len(parts)} parts on “{topic}”.{again}",
        "\n".join(f"- From the {name}: {_angle(call.agent, nth)}." for nth, name in enumerate(parts)),
    ]
    return "\n\n".join(lines)


@rehearses("studio", "head_execute")
def rehearse_head(call: Call) -> str:
    topic = _topic(call)
    return (
        f"{LABEL} {call.agent} would write this alone: “{topic}”.\n\n"
        f"- {_angle(call.agent, 0).capitalize()}.\n- {_angle(call.agent, 1).capitalize()}."
    )


@rehearses("studio", "route")
def rehearse_route(call: Call) -> dict[str, Any]:
    keys, topic = _KEYS.findall(_section(call.prompt, "Departments")), _topic(call)
    ranked = sorted(keys, key=lambda key: number(topic, key))
    strengths = (0.9, 0.6, 0.4)
    return {
        "scores": [
            {"department": key, "relevance": strengths[nth] if nth < len(strengths) else 0.1,
             "reason": f"a rehearsal cannot tell; place {nth + 1} for “{topic}”"}
            for nth, key in enumerate(ranked)
        ]
    }  # fmt: skip


@rehearses("studio", "validate")
def rehearse_validation(call: Call) -> dict[str, Any]:
    return {"conflicts": []}


@rehearses("studio", "resolve")
def rehearse_resolution(call: Call) -> dict[str, Any]:
    own = _OWN.search(call.prompt)
    text = own[1] if own else LABEL
    return {"yields": True, "reason": f"{LABEL} the other version serves the request.", "output": text}


@rehearses("studio", "extract_facts")
def rehearse_facts(call: Call) -> dict[str, Any]:
    """One fact, so that a review can be rehearsed too; it waits for one, and says what it is."""
    name, quoted = _OF.search(call.prompt), re.search(r"“(.+?)”", call.prompt)
    fact = {
        "subject": quoted[1] if quoted else "this request", "predicate": "worked on by",
        "value": name[1] if name else call.agent, "kind": "other", "quote": f"{LABEL} not a model's work",
    }  # fmt: skip
    return {"facts": [fact]}


@rehearses("studio", "aggregate")
def rehearse_aggregation(call: Call) -> str:
    """One text with a part for each department's work, in the shape that a deliverable has."""
    names = _DELIVERED.findall(call.prompt)
    parts = [f"{LABEL} Here the master would write one document on “{_topic(call)}”, ready to use."]
    for nth, name in enumerate(names):
        what = name.removesuffix(" Department").capitalize()
        parts.append(f"## {what}\n\nIt would hold {_angle(name, nth)}, from the work of the {name}.")
    return "\n\n".join(parts)


def _angle(who: str, nth: int) -> str:
    """Something to say: other people begin with other things, and nobody repeats one at once."""
    return ANGLES[(number(who) + nth) % len(ANGLES)]


def _topic(call: Call) -> str:
    words = _request(call).split()
    return " ".join(words[:10]).rstrip(".!?") + ("…" if len(words) > 10 else "")


def _request(call: Call) -> str:
    found = _REQUEST.search(call.prompt)
    return found[1] if found else ""


def _attempt(call: Call) -> int:
    found = _ATTEMPT.search(call.path)
    return int(found[1] or 1) if found else 1


def _section(prompt: str, title: str) -> str:
    """The part of a prompt under a heading that begins so."""
    found = re.search(rf"^# {title}[^\n]*\n(.*?)(?=^# |\Z)", prompt, re.DOTALL | re.MULTILINE)
    return found[1] if found else ""
