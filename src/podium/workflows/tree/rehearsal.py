"""What the rehearsal model answers for a tree: a real request becomes a sensible tree of two levels.

A request that lists things is split by what it lists, any other by aspects that suit its verb. Everything is
made of the request's own words, and says that it is a rehearsal.
"""

from __future__ import annotations

import re
from typing import Any

from podium.models.model import Call
from podium.models.rehearsal import rehearses
from podium.models.request_words import is_german, keywords, orders, slug
from podium.models.sample_values import LABEL

_TASK = re.compile(
    r"^# Task\s+(.+?)\s*(?=^Why: |^It is done|^A complete answer|^No criteria)", re.DOTALL | re.MULTILINE
)
_REQUEST = re.compile(r"^<request>\n(.*?)\n</request>", re.DOTALL | re.MULTILINE)
WHOLE = "The task is the whole request."
"""What the prompt says of the root's task."""
_DEPTH = re.compile(r"Depth in the tree: (\d+) of at most (\d+)")
_CAPS = re.compile(r"at most (\d+) bands, (\d+) steps per band")
_CHILD = re.compile(r"^## (\S+): (.+?) \((completed|failed|blocked)[^)]*\)$", re.MULTILINE)
_ITEMS = re.compile(
    r"\s*(?:,\s*(?:and|or|und|oder)\s+|,|;|\b(?:and|or|versus|vs\.?|und|oder|sowie)\b)\s+", re.IGNORECASE
)
_LINK = (
    r"(?:for|in|with|to|on|by|from|as|of|about|für|im|mit|zu|zum|zur|auf|von|vom|aus|bei|nach|als|über|um)\s+"
)
"""What leads from one thing to another; an item ends before it, or begins behind it."""
_CLAUSE = re.compile(
    r"(?:die|der|das|den|dem|dass|weil|wenn|wo|damit|ob|um|in (?:der|dem|denen))\s.*\s[a-zäöüß]+"
)
"""Part of a German sentence behind a comma: it does not end in a noun."""

ASPECTS = {
    ("plan", "organise", "organize", "prepare", "schedule", "launch"): ("goals", "options", "costs", "risks"),
    ("write", "explain", "describe", "document", "teach"): ("facts", "audience", "examples", "objections"),
    ("compare", "choose", "evaluate", "review", "decide"): ("criteria", "candidates", "evidence", "risks"),
    ("fix", "improve", "migrate", "build", "design", "refactor"): ("today", "needs", "approach", "checks"),
}
_ORDERED = dict(
    zip(
        (
            orders("plan organisier bereit bereitet veranstalt"),
            orders("schreib verfass erklär beschreib erläuter dokumentier unterricht"),
            orders("vergleich wähl bewert beurteil prüf entscheid") | {"entscheidet"},
            orders("verbesser reparier migrier bau gestalt entwickel entwickl entwerf") | {"entwirf"},
        ),
        ASPECTS.values(),
        strict=True,
    )
)
"""The same verbs in German. They count at the beginning alone: in English a `plant` is something else."""
_GENERAL = ("background", "options", "evidence", "risks")
TITLES = {
    "goals": "Settle what {topic} has to achieve", "options": "Collect the options for {topic}",
    "costs": "Work out time and money for {topic}", "risks": "Name what could go wrong with {topic}",
    "facts": "Gather the facts about {topic}", "audience": "Find out who reads about {topic}",
    "examples": "Find examples that show {topic}", "objections": "Collect objections to {topic}",
    "criteria": "Settle the criteria for {topic}", "candidates": "List the candidates for {topic}",
    "evidence": "Gather evidence on {topic}", "today": "Look at how {topic} stands today",
    "needs": "Find out what {topic} needs", "approach": "Sketch an approach to {topic}",
    "checks": "Say how {topic} would be checked", "background": "Read up on {topic}",
}  # fmt: skip

POINTS = {
    "goals": ("{a} comes first: say when it is good enough", "{b} is wanted, but not at the cost of {a}",
              "nothing is promised about {c}"),
    "options": ("the plain way: only {a}, and that well", "the rich way: {a} together with {b}",
                "the safe way: {a}, with {c} held back"),
    "costs": ("{a} takes the largest share", "{b} can wait, and costs more if it does",
              "keep a tenth back for {c}"),
    "risks": ("{a} falls through: have a second choice", "{b} and {c} get in each other's way",
              "nobody feels responsible for {b}"),
    "facts": ("what is known of {a}, with its source", "where sources on {b} disagree",
              "what nobody has written down about {c}"),
    "audience": ("readers who meet {a} for the first time", "readers who know {b} and want more",
                 "readers who only came for {c}"),
    "examples": ("a small case of {a}", "a case in which {b} goes wrong",
                 "a case that shows {c} at its best"),
    "criteria": ("{a} counts twice", "{b} counts once", "{c} only breaks a tie"),
    "today": ("{a} works, and should stay", "{b} works by habit only", "{c} is missing"),
    "approach": ("begin with {a}", "then {b}, as soon as {a} stands", "leave {c} for last"),
    "checks": ("{a} can be counted", "{b} can be tried out in an hour", "{c} needs a second opinion"),
}  # fmt: skip
KNOWN, UNCLEAR = "Say what is known and from where", "Say what is still unclear"
_PLAIN = ("what speaks for {a}", "what {b} asks in return", "when {c} would be the wrong choice")


@rehearses("tree", "plan")
def rehearse_plan(call: Call) -> dict[str, Any]:
    """The root splits; so does its first step; everything else is done in one go."""
    task, depth = _task(call), _depth(call)
    first = call.path.split("/")[0].startswith("1-")
    if depth == 0 or (depth == 1 and first):
        bands = _root_bands(task) if depth == 0 else _inner_bands(task)
        return _planned(task, _capped(bands, call.prompt))
    return {
        "mode": "execute",
        "modeReason": f"“{task}” is one piece of work.",
        "leafDecision": {"canExecuteDirectly": True, "complexity": "low", "blockers": []},
        "scratchpad": _note(f"Do it in one go: {task}."),
    }


@rehearses("tree", "execute")
def rehearse_execution(call: Call) -> dict[str, Any]:
    task = _task(call)
    wanted = _section(call.prompt, "Deliverable")
    read = [f"{title} ({state})" for _, title, state in _CHILD.findall(_section(call.prompt, "What you can"))]
    files = re.findall(
        r"^## list_files .*?\(Material[^\n]*\n(.*?)\nEND ", call.prompt, re.DOTALL | re.MULTILINE
    )
    actions: list[dict[str, Any]] = [{"kind": "analysis", "note": f"What “{task}” asks for."}]
    if "`list_files`" in call.prompt and "# What your tool calls returned" not in call.prompt:
        actions.append(
            {"kind": "tool_call", "note": "See what there is.", "toolName": "list_files", "toolArgs": {}}
        )
    artifacts: list[dict[str, Any]] = []
    if "document" in wanted:
        text = _leaf_document(task, points_on(task), read, files)
        artifacts.append({"type": "document", "label": "report", "title": task, "documentMarkdown": text})
    if "JSON" in wanted:
        payload = {"task": task, "points": points_on(task)}
        artifacts.append({"type": "json", "label": "data", "jsonPayload": payload})
    return _answer(f"{LABEL} {task}: {points_on(task)[0]}.", artifacts) | {"actions": actions}


@rehearses("tree", "aggregate")
def rehearse_aggregation(call: Call) -> dict[str, Any]:
    task = _task(call)
    children = _CHILD.findall(_section(call.prompt, "What the steps returned"))
    gaps = [f"{title} returned nothing" for _, title, state in children if state != "completed"]
    done = [title for _, title, state in children if state == "completed"]
    lines = [f"# {task}", f"{LABEL} This is where the aggregator would write the answer to the whole task."]
    lines += [f"## {title}\n\n{_first_points(call.prompt, title)}" for title in done]
    lines += ["## What is missing\n\n" + "\n".join(f"- {gap}" for gap in gaps)] if gaps else []
    document = {
        "type": "document", "label": "synthesis", "title": task, "isPrimary": True,
        "documentMarkdown": "\n\n".join(lines),
    }  # fmt: skip
    findings = [f"{title}: done" for title in done]
    summary = f"{LABEL} {task}: put together from {len(done)} of {len(children)} parts."
    answer = _answer(summary, [document], met=not gaps)
    return answer | {
        "synthesis": {"summary": summary, "keyFindings": findings, "gaps": gaps},
        "next": {"shouldReplan": False},
    }


# ── how a request is split ───────────────────────────────────────────────────────────────────────


def _root_bands(task: str) -> list[tuple[str, list[tuple[str, str]]]]:
    items, topic = listed_items(task), _topic(task)
    if items:
        parts = [(f"{n}-{_slug(item)}", f"Look into {item}") for n, item in enumerate(items, 1)]
    else:
        parts = [
            (f"{n}-{name}", TITLES[name].format(topic=topic)) for n, name in enumerate(_aspects(task)[:3], 1)
        ]
    closing = (f"{len(parts) + 1}-draft", f"Draft a first answer to “{topic}” from these parts")
    return [("Understand each part", parts), ("Bring the parts together", [closing])]


def _inner_bands(task: str) -> list[tuple[str, list[tuple[str, str]]]]:
    subject = task[0].lower() + task[1:]
    parts = [("1a-sources", f"{KNOWN}: {subject}"), ("1b-doubts", f"{UNCLEAR}: {subject}")]
    return [("See both sides", parts)]


def listed_items(task: str) -> list[str]:
    """What a request names side by side (“Postgres, MySQL and SQLite”); none if it lists nothing."""
    found = [part.strip(" .!?:") for part in _ITEMS.split(task)]
    if not 2 <= len(found) <= 5:
        return []
    found[0] = (
        " ".join(found[0].split()[-2:]) if len(found[0].split()) > 3 else found[0].split(maxsplit=1)[-1]
    )
    found[0] = re.sub(rf"^{_LINK}", "", found[0])
    found[-1] = re.split(rf"\s+{_LINK}", found[-1])[0]
    fits = all(1 <= len(part.split()) <= 4 for part in found) and len(set(found)) == len(found)
    fits = fits and not any(_CLAUSE.fullmatch(part) for part in found[1:])
    return found[:4] if fits else []


def _aspects(task: str) -> tuple[str, ...]:
    order = _order(task)
    if order:
        return next(aspects for verbs, aspects in _ORDERED.items() if order in verbs)
    words = set(re.findall(r"[a-z]+", task.lower()))
    return next((aspects for verbs, aspects in ASPECTS.items() if words & set(verbs)), _GENERAL)


def _order(task: str) -> str:
    """The verb with which a German request begins."""
    first = task.lower().removeprefix("bitte ").partition(" ")[0]
    known = any(first in verbs for verbs in _ORDERED)
    return first if known and is_german(task) else ""


_QUESTION = re.compile(
    r"^(how|why|when|where|what|who|which)\s+(?:do|does|did|is|are|was|were|can|should)\s+"
    r"|^(wie|warum|wieso|weshalb|wann|wo|was|wer|welche[rsmn]?)\s+(?=\w+\s)",
    re.IGNORECASE,
)
_POLITE = re.compile(r"^(?:bitte\s+)?\w+\s+(?:(?:sie|bitte|mir|uns|doch|mal)\s+)*", re.IGNORECASE)
"""The verb, and what stands between it and what is wanted."""
_PARTICLE = re.compile(r"\s(?:vor|zusammen|aus|auf|ab|an)$")
"""The other half of a German verb: “bereite ein Fest vor”."""


def _topic(task: str) -> str:
    """What a request is about: without the verb that orders it, a question as a clause."""
    text = task.strip(" .!?")
    verb, _, rest = text.partition(" ")
    if rest and _order(task):
        text = _PARTICLE.sub("", _POLITE.sub("", text))
    elif rest and any(verb.lower() in verbs for verbs in ASPECTS):
        text = rest
    text = _QUESTION.sub(lambda found: f"{(found[1] or found[2]).lower()} ", text)
    words = text.split()
    return " ".join(words[:9]) + ("…" if len(words) > 9 else "")


def _capped(
    bands: list[tuple[str, list[tuple[str, str]]]], prompt: str
) -> list[tuple[str, list[tuple[str, str]]]]:
    caps = _CAPS.search(prompt)
    most_bands, most_steps = (int(caps[1]), int(caps[2])) if caps else (3, 4)
    return [(goal, steps[:most_steps]) for goal, steps in bands[:most_bands]]


# ── shapes ───────────────────────────────────────────────────────────────────────────────────────


def _planned(task: str, bands: list[tuple[str, list[tuple[str, str]]]]) -> dict[str, Any]:
    steps = sum(len(parts) for _, parts in bands)
    goals = "; ".join(goal.lower() for goal, _ in bands)
    return {
        "mode": "plan",
        "modeReason": f"“{_topic(task)}” is made of {steps} different pieces of work.",
        "plan": {
            "summary": f"{steps} steps in {len(bands)} bands: {goals}.",
            "bands": [
                {
                    "index": index, "goal": goal, "parallelizable": True,
                    "steps": [
                        {"id": name, "title": title, "reason": f"{goal}.", "stepIndex": number,
                         "successCriteria": [f"names three points on “{title}”", "says what they stand on"]}
                        for number, (name, title) in enumerate(parts)
                    ],
                }
                for index, (goal, parts) in enumerate(bands)
            ],
        },
        "scratchpad": _note(f"Split into {steps} steps."),
    }  # fmt: skip


def _answer(summary: str, artifacts: list[dict[str, Any]], *, met: bool = True) -> dict[str, Any]:
    kinds = {artifact["type"] for artifact in artifacts}
    labels = [artifact["label"] for artifact in artifacts]
    return {
        "artifacts": artifacts,
        "result": {
            "kind": "hybrid" if len(kinds) > 1 else next(iter(kinds)),
            "summary": summary,
            "successAssessment": {"met": met},
            "primaryArtifactLabel": labels[0],
            "parentHint": {
                "hintType": "read_documents" if "document" in kinds else "read_json",
                "artifactLabels": labels,
            },
        },
        "scratchpad": _note(summary),
    }  # fmt: skip


def points_on(task: str) -> list[str]:
    """Three points that could only belong to this task: its aspect's, about its own words."""
    lead, _, rest = task.rpartition(": ")
    aspect, topic = aspect_of(rest[:1].upper() + rest[1:])
    aspect = {KNOWN: "facts", UNCLEAR: "risks"}.get(lead, aspect)
    words = [*keywords(topic), "effort", "care"]
    return [form.format(a=words[0], b=words[1], c=words[2]) for form in POINTS.get(aspect, _PLAIN)]


def aspect_of(title: str) -> tuple[str, str]:
    """Which aspect a step's title belongs to, and what it is about."""
    for name, form in TITLES.items():
        before, _, after = form.partition("{topic}")
        if title.startswith(before) and title.endswith(after):
            return name, title.removeprefix(before).removesuffix(after)
    quoted = re.search("“(.+)”", title)
    return "", quoted[1] if quoted else title.removeprefix("Look into ")


def _leaf_document(task: str, points: list[str], read: list[str], files: list[str]) -> str:
    lines = [f"# {task}", f"{LABEL} An executor would write this part."]
    lines.append("\n".join(f"{n}. {point[0].upper()}{point[1:]}." for n, point in enumerate(points, 1)))
    if read:
        lines.append("It builds on: " + "; ".join(read) + ".")
    if files:
        lines.append("Files that were there:\n\n```\n" + files[0][:500] + "\n```")
    return "\n\n".join(lines)


def _first_points(prompt: str, title: str) -> str:
    """What a child's document begins with."""
    opening = rf'^<document [^\n]*title="{re.escape(title)}">$'
    found = re.search(rf"{opening}.*?^</document>$", prompt, re.DOTALL | re.MULTILINE)
    points = re.findall(r"^(?:\d\.|-) (.+)$", found[0], re.MULTILINE) if found else []
    return "\n".join(f"- {point}" for point in points[:2]) or "Nothing of this part could be read."


def _note(text: str) -> dict[str, str]:
    return {"appendMarkdown": text, "tailPreview": text}


def _task(call: Call) -> str:
    found = _TASK.search(call.prompt)
    if found is not None and found[1].startswith(WHOLE):
        found = _REQUEST.search(call.prompt)
    return " ".join(found[1].split()) if found else call.task


def _depth(call: Call) -> int:
    found = _DEPTH.search(call.prompt)
    return int(found[1]) if found else 0


def _section(prompt: str, title: str) -> str:
    """The part of a prompt under a heading that begins so."""
    found = re.search(rf"^# {title}[^\n]*\n(.*?)(?=^# |\Z)", prompt, re.DOTALL | re.MULTILINE)
    return found[1] if found else ""


def _slug(text: str) -> str:
    return slug(text, 24) or "part"
