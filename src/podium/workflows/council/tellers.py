"""How a council's events are told: one line for each speaker, idea and score, indented below its round."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from podium.engine.events import Event, EventData
from podium.report.lines import Line
from podium.report.words import count, one_line
from podium.workflows.council import events
from podium.workflows.council.discussion import CRITERIA
from podium.workflows.council.folding import CouncilState
from podium.workflows.council.policy import NAMES, as_ids, score_text

PHASES = {"kickoff": "Kickoff", "validation": "Validation and selection", "visualization": "Visualization"}
SAID = 100
"""Characters of a contribution on its line."""
_IDEAS = re.compile(r"^- \*\*I\d+\. ", re.MULTILINE)
_LEAD = re.compile(r"^(?:Choice: I\d+\s+|\((?:Without search|Looked up)[^)]*\)\s*)")
"""What stands before a contribution's own words."""


def line_of(event: Event, council: CouncilState) -> Line | None:
    """The line of an event of a council; `council` has taken it into account already."""
    teller = _TELLERS.get(type(event.data))
    return None if teller is None else teller(event.data, council)


def _phase(data: events.Phase, council: CouncilState) -> Line:
    if data.phase == "exploration":
        return Line(f"Round {data.round} of {data.rounds}", "result", mark="▸")
    if data.phase == "kickoff":
        told = f"{count(len(data.team), 'member')}, {count(data.rounds, 'round')}"
        return Line(f"Kickoff: {told}", "result", mark="▸")
    return Line(PHASES.get(data.phase, data.phase), "result", mark="▸")


def _said(data: events.Said, council: CouncilState) -> Line:
    to = f" to {_name(data.to)}" if data.to != "team" else ""
    return Line(f"{_name(data.sender)}{to}: {_gist(data)}", indent=1)


def _gist(data: events.Said) -> str:
    """The first words of a contribution, and what it holds besides; what other lines tell is only named."""
    if data.kind in ("validation", "visualization"):
        return "scores" if data.kind == "validation" else "a page of its own"
    details = data.details
    if data.kind == "ideation" and data.to == "team" and _IDEAS.match(data.content):
        revised = f", {len(details.revised)} revised" if details.revised else ""
        return count(len(_IDEAS.findall(data.content)), "new idea") + revised
    told = [
        count(len(details.evidence), "evidence card") if details.evidence else "",
        count(len(details.risks), "risk") if details.risks else "",
        count(len(details.open_questions), "open question") if details.open_questions else "",
        count(len(details.next_steps), "next step") if details.next_steps else "",
        f"{len(details.revised)} revised" if details.revised else "",
        f"{len(details.settled)} settled" if details.settled else "",
    ]
    counted = ", ".join(part for part in told if part)
    own = data.content if details.own < 0 else data.content[: details.own]
    words = one_line(_LEAD.sub("", own), SAID)
    return f"{words} ({counted})" if counted else words


def _idea(data: events.IdeaAdded, council: CouncilState) -> Line:
    older = as_ids(data.refines)
    refines = f" (refines {', '.join(older)})" if older else ""
    notes = (one_line(data.category, 20),) if data.category else ()
    return Line(f"{data.id} {one_line(data.title, 100)}{refines}", "result", notes, "+", 1)


def _revised(data: events.IdeaRevised, council: CouncilState) -> Line:
    why = f": {one_line(data.why, 100)}" if data.why else ""
    return Line(f"{data.id} {one_line(data.title, 100)}, version {data.version}{why}", "result", (), "~", 1)


def _scored(data: events.IdeaScored, council: CouncilState) -> Line:
    idea = council.discussion.idea(data.id)
    title = one_line(idea.title, 80) if idea is not None else ""
    parts = " ".join(f"{data.criteria.get(name, 0):g}" for name in CRITERIA)
    return Line(f"{data.id} {title}", "result", (score_text(data.score), parts), "◆", 1)


def _selected(data: events.Selected, council: CouncilState) -> Line:
    score = (score_text(data.score),)
    low = " (below the threshold)" if data.below_threshold else "" if data.chosen else " (nobody chose it)"
    other = ""
    if data.leader_choice and data.leader_choice != data.id:
        other = f"; the leader preferred {data.leader_choice}"
    weight = "warning" if data.below_threshold or not data.scored or not data.chosen else "result"
    return Line(f"Winner: {data.id} {one_line(data.title, 100)}{low}{other}", weight, score, "★")


def _ready(data: events.ReportReady, council: CouncilState) -> Line:
    also = ", and the UI Creator's page" if data.page else ""
    return Line(f"The report is ready{also}", mark="✓")


def _warned(data: events.Warned, council: CouncilState) -> Line:
    return Line(one_line(data.message, 300), "warning", mark="!", indent=1)


def _name(role: str) -> str:
    return NAMES.get(role, one_line(role, 40))


_TELLERS: dict[type[EventData], Callable[[Any, CouncilState], Line | None]] = {
    events.Phase: _phase,
    events.Said: _said,
    events.IdeaAdded: _idea,
    events.IdeaRevised: _revised,
    events.IdeaScored: _scored,
    events.Selected: _selected,
    events.ReportReady: _ready,
    events.Warned: _warned,
}
