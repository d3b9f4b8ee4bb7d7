"""Scripted answers of `council`: distinct ideas about the topic, differing scores, and a critique of them."""

from __future__ import annotations

import re
from html import escape
from typing import Any, NamedTuple

from podium.models.messages import ToolCall
from podium.models.model import Call
from podium.models.rehearsal import rehearses
from podium.models.sample_values import LABEL, keywords, number, pick
from podium.tools.tool import unfenced
from podium.workflows.council.discussion import CRITERIA

_TOPIC = re.compile(r"^Topic: (.+?)\n</request>", re.DOTALL | re.MULTILINE)
_IDEA = re.compile(
    r"^\d+\. \[(I\d+)\] (.+?)(?: \((?:version \d+)?(?:; )?(?:refines ([^)]+))?\))?(?: - .*)?\n"
    r"   Score: (.+)$",
    re.MULTILINE,
)
_POINT = re.compile(r"^- ([RQ]\d+) \(", re.MULTILINE)
_MISSING = re.compile(r"^# Your task: (\d+) more idea", re.MULTILINE)
_NEEDED = re.compile(r"[Bb]ring at least (\d+)")
_FOCUSED = re.compile(r"^3\. Give each of these members one focus: (.+?)\. A focus", re.MULTILINE)
_LEADING = re.compile(r"the highest score wins, and that is (I\d+),")

ANGLES = (
    ("A two-week pilot", "try it small"),
    ("Ask those concerned", "people first"),
    ("Do less, better", "focus"),
    ("Share what is there", "together"),
    ("Make it a habit", "routine"),
    ("Automate the dull part", "tools"),
)
_RISKS = (
    ("it depends on people who were not asked", "high", "ask them before the pilot"),
    ("its cost is a guess", "medium", "price the first month"),
    ("something like it was tried before", "low", "find out why it ended"),
)


class Idea(NamedTuple):
    """An idea as the prompt shows it."""

    id: str
    title: str
    refines: str
    score: str


@rehearses("council", "kickoff")
def rehearse_kickoff(call: Call) -> str:
    focused, words = _FOCUSED.search(call.prompt), _words(call)
    names = focused[1].split(",") if focused else []
    lines = [f"- {name.strip()}: {words[nth % len(words)]}." for nth, name in enumerate(names)]
    return f"{LABEL} Look at {', '.join(words[:4])}. Each of you has a part:\n\n" + "\n".join(lines)


@rehearses("council", "research")
def rehearse_research(call: Call) -> Any:
    words = _words(call)
    listing = next((unfenced(message.text) for message in call.messages if message.role == "tool"), None)
    if listing is None and any(tool.name == "list_files" for tool in call.tools):
        return ToolCall("list_files", {})
    names = re.findall(r"^\s*(?:\d+\s+)?(\S+\.\w+)", listing, re.MULTILINE) if listing else []
    cards = [
        {
            "claim": f"{LABEL} What is known about {word} would stand here.",
            "source": "made up for this rehearsal",
        }
        for word in words[:2]
    ]
    cards += [{"claim": f"{LABEL} {name} was there to be read.", "source": name} for name in names[:3]]
    text = f"{LABEL} Context: {', '.join(words[:4])}."
    return {"text": text, "evidence": cards}


@rehearses("council", "ideate")
def rehearse_ideas(call: Call) -> dict[str, Any]:
    """Return other ideas each time; from the second round on, the first one refines an earlier idea."""
    topic, known = _topic(call), _ideas(call)
    missing, needed = _MISSING.search(call.prompt), _NEEDED.search(call.prompt)
    wanted = int(missing[1]) if missing else max(4, int(needed[1]) if needed else 0)
    ideas = [_new_idea(topic, _words(call), len(known) + nth) for nth in range(min(wanted, 20))]
    if "# Your task: better ideas" in call.prompt:
        idea = known[-1]
        ideas[0] = {
            "title": f"{idea.title}, with a date",
            "category": "refined",
            "refines": [idea.id],
            "description": f"{LABEL} {idea.id} after the criticism: with a date, a person and a way to stop.",
        }
    return {"ideas": ideas}


def _new_idea(topic: str, words: list[str], nth: int) -> dict[str, Any]:
    angle, category = ANGLES[(number(topic) + nth) % len(ANGLES)]
    title = f"{angle}: {words[nth % len(words)]}"
    return {
        "title": title if nth < len(ANGLES) else f"{title} ({nth // len(ANGLES) + 1})",
        "category": category,
        "description": f"{LABEL} {title}: what it takes and what it brings.",
    }


@rehearses("council", "critique")
def rehearse_critique(call: Call) -> dict[str, Any]:
    """Name one risk of each idea; after the defence, call every second point settled."""
    risks = [(idea, *pick(_RISKS, idea.title, call.path)) for idea in _ideas(call)]
    lines = "\n".join(f"- {idea.id} ({idea.title}): {risk}." for idea, risk, _, _ in risks)
    if "were defended" in call.prompt:
        settled = [
            {"point": name, "how": "the idea starts smaller now"} for name in _POINT.findall(call.prompt)[::2]
        ]
        text = f"{LABEL} After the defence, this still stands:\n\n{lines}"
        return {"text": text, "risks": [], "open_questions": [], "settled": settled}
    return {
        "text": f"{LABEL} What could go wrong:\n\n{lines}",
        "risks": [
            {"risk": f"{idea.title}: {risk}", "idea": idea.id, "severity": severity, "mitigation": mitigation}
            for idea, risk, severity, mitigation in risks
        ],
        "open_questions": [f"Who decides about {word}?" for word in _words(call)[:2]],
        "settled": [],
    }


@rehearses("council", "implement")
def rehearse_implementation(call: Call) -> dict[str, Any]:
    steps = [
        {"step": f"Settle a first date for “{idea.title}”", "idea": idea.id, "effort": "half a day"}
        for idea in _ideas(call)
    ]
    lines = "\n".join(f"- {idea.id}: start with {idea.title.lower()}." for idea in _ideas(call))
    return {"text": f"{LABEL} In practice:\n\n{lines}", "next_steps": steps}


@rehearses("council", "rebut")
def rehearse_rebuttal(call: Call) -> dict[str, Any]:
    """Defend every idea; the first one gets a new version."""
    ideas = _ideas(call)
    lines = "\n".join(f"- {idea.id} ({idea.title}): it would start smaller." for idea in ideas)
    revisions = [
        {
            "idea": idea.id,
            "description": f"{LABEL} {idea.title}: starts with one team and one month.",
            "given_up": "the start everywhere at once",
            "why": "its cost was a guess",
        }
        for idea in ideas[:1]
    ]
    return {"text": f"{LABEL} To the criticism, idea by idea:\n\n{lines}", "revisions": revisions}


@rehearses("council", "validate")
def rehearse_evaluation(call: Call) -> dict[str, Any]:
    return {"evaluations": [_evaluation(idea) for idea in _ideas(call)]}


def _evaluation(idea: Idea) -> dict[str, Any]:
    """Return scores from 4.5 to 10 that depend on the title; a refinement gains a little."""
    level = 4.5 + number(idea.title) % 8 / 2 + bool(idea.refines) * 0.5
    scores = {name: min(10.0, level + number(idea.title, name) % 5 / 2) for name in CRITERIA}
    best, worst = (choose(scores, key=lambda name: scores[name]) for choose in (max, min))
    return {
        "idea": idea.id,
        **scores,
        "pros": [f"Its {best} is its strength."],
        "cons": [f"Its {worst} is too low."],
        "feedback": f"{LABEL} {idea.title}: work on its {worst}.",
    }


@rehearses("council", "select")
def rehearse_selection(call: Call) -> dict[str, Any]:
    ideas, leading = _ideas(call), _LEADING.search(call.prompt)
    best = max(ideas, key=lambda idea: float(idea.score.split("/")[0]) if "/" in idea.score else 0.0)
    idea = next((idea for idea in ideas if leading and idea.id == leading[1]), best)
    document = (
        f"{LABEL} Do this: {idea.title[:1].lower()}{idea.title[1:]}.\n\n"
        "### Why\n\nIt is small enough to start, and it can be stopped.\n\n"
        "### What it takes\n\n- One person, half a day a week\n\n"
        "### Steps\n\n1. Name who is responsible\n2. Try it for a month\n3. Decide by what was seen\n\n"
        "### Still open\n\n- Whether those concerned want it: ask them before the start"
    )
    steps = [
        {"step": "Name who is responsible", "effort": "an hour"},
        {"step": "Try it for a month", "effort": "half a day a week"},
    ]
    why = f"{LABEL} It can start small and be stopped."
    return {
        "choice": idea.id,
        "reasoning": f"{LABEL} {idea.id} ({idea.title}) holds up best against what was said about it.",
        "recommendation": {"idea": idea.id, "document": document, "why": why, "next_steps": steps},
    }


@rehearses("council", "visualize")
def rehearse_page(call: Call) -> str:
    rows = "".join(
        f"<tr><td>{idea.id}</td><td>{escape(idea.title)}</td><td>{escape(idea.score)}</td></tr>"
        for idea in _ideas(call)
    )
    return (
        f"<h1>{escape(_topic(call))}</h1><p>{LABEL} A UI creator would present the discussion here.</p>"
        f"<h2>Ideas</h2><table><tr><th>Id</th><th>Idea</th><th>Score</th></tr>{rows}</table>"
    )


def _topic(call: Call) -> str:
    match = _TOPIC.search(call.prompt)
    return " ".join(match[1].split())[:200] if match else call.task


def _words(call: Call) -> list[str]:
    return keywords(f"Topic:\n{_topic(call)}\n\n#", 10)


def _ideas(call: Call) -> list[Idea]:
    return [Idea(*fields) for fields in _IDEA.findall(call.prompt)]
