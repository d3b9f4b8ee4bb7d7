"""State, terminal lines and drawing of `council`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from podium.engine.events import (
    Event,
    EventData,
    RunCreated,
    RunResumed,
    StepCompleted,
    StepFailed,
    StepStarted,
)
from podium.engine.state import Fold
from podium.report.presentation import Line
from podium.report.words import count, one_line, without_marks
from podium.workflows.council import events
from podium.workflows.council.discussion import CRITERIA, Details, Discussion, Idea, Message, Spoken, Verdict
from podium.workflows.council.policy import (
    CRITIC,
    IDEATION,
    IMPLEMENTER,
    LEADER,
    MODERATOR,
    NAMES,
    RESEARCHER,
    UI_CREATOR,
    as_ids,
    ranked,
    revised,
    score_text,
)
from podium.workflows.delivery.events import BaselineCompared

_TURNS = frozenset(
    (
        "kickoff",
        "research",
        "ideate",
        "critique",
        "implement",
        "rebut",
        "synthesize",
        "validate",
        "select",
        "visualize",
    )
)


CLOSING_BRANCH = "closing"
"""Branch in which a discussion that is out of budget is scored. Its key is the number of contributions: a
later ending with more contributions emits its events again, one with the same number does not."""
_GOES_ON = (events.Said, events.IdeaAdded, events.IdeaScored, events.Selected)
"""Events that, outside the closing branch, show that the discussion has continued."""


class CouncilState(Fold):
    """State of the discussion up to the last event applied, and the current speaker."""

    def __init__(self) -> None:
        self.discussion = Discussion(topic="")
        self.phase = ""
        self.round = 0
        self.deep_dive = False
        self.min_ideas = 0
        self.leading: list[str] = []
        """Ids of the recommendation and the report."""
        self.failed: set[tuple[int, str]] = set()
        """Pairs of round and role with a failed step."""
        self.phases: list[tuple[str, int]] = []
        """Every phase with its round, in order."""
        self.paths: dict[str, str] = {}
        """Path of the step that each contribution came from, by id."""
        self._asked: dict[tuple[str, str], str] = {}
        """Path of the last step of each branch and role."""
        self._speaking: dict[str, str] = {}
        self._closing: set[str] = set()
        """Ids of the ideas that were scored because the budget ran out; an empty string stands for the
        selection."""

    @property
    def speaker(self) -> str:
        """The role that is speaking, or an empty string."""
        return next(iter(self._speaking.values()), "")

    def apply(self, event: Event) -> None:
        """Apply one event."""
        data = event.data
        match data:
            case RunCreated():
                self.discussion.topic = data.request if isinstance(data.request, str) else ""
            case StepStarted() if data.kind == "ask":
                role = str(data.about.get("role", ""))
                self._asked[event.path.rpartition("/")[0], role] = event.path
                if data.about.get("task") in _TURNS:
                    self._speaking[event.path] = role
            case StepCompleted():
                self._speaking.pop(event.path, None)
            case StepFailed():
                role = self._speaking.pop(event.path, "")
                self.failed |= {(self.round, role)} if role else set()
            case BaselineCompared():
                self.discussion.baseline = data.shown()
            case RunResumed():
                self._speaking.clear()
            case events.CouncilEvent():
                closing = event.path.startswith(CLOSING_BRANCH)
                if self._closing and not closing and isinstance(data, _GOES_ON):
                    self._reopen()
                self._apply_data(data)
                if isinstance(data, events.Said):
                    self.paths[data.id] = self._asked.get((event.path, data.sender), "")
                if isinstance(data, (events.IdeaScored, events.Selected)) and closing:
                    self._closing.add(data.id if isinstance(data, events.IdeaScored) else "")
            case _:
                if event.type.startswith("run."):
                    self._speaking.clear()

    def _apply_data(self, data: events.CouncilEvent) -> None:
        held = self.discussion
        match data:
            case events.Phase():
                self.phase, self.round = data.phase, data.round
                self.phases.append((data.phase, data.round))
                self.deep_dive, self.min_ideas = data.deep_dive, data.min_ideas
                held.rounds, held.team, held.min_score = data.rounds, data.team, data.min_score
                held.rounds_held = min(max(data.round - 1, 0), data.rounds)
            case events.Said():
                self._say(data)
            case events.IdeaAdded():
                self._add(data)
            case events.IdeaRevised():
                self._revise(data)
            case events.IdeaScored():
                self._score(data)
            case events.Selected():
                held.verdict = Verdict(
                    idea=data.id,
                    scored=data.scored,
                    below_threshold=data.below_threshold,
                    tied=data.tied,
                    leader_choice=data.leader_choice,
                    reasoning=data.reasoning,
                    chosen=data.chosen,
                    recommendation=data.recommendation,
                )
            case events.Delivered():
                held.delivered = data.result
            case events.ReportReady():
                self.leading, held.page = [name for name in (data.result, data.report) if name], data.page
            case events.Warned() if data.message not in held.warnings:
                held.warnings.append(data.message)
            case _:
                pass

    def _reopen(self) -> None:
        """Discard the closing scores and verdict when a discussion continues after the budget had ended
        it."""
        held, last = self.discussion, self._closing
        held.verdict, held.delivered, self._closing = None, None, set()
        held.ideas = [
            Idea(
                id=idea.id,
                title=idea.title,
                description=idea.description,
                category=idea.category,
                refines=idea.refines,
                round=idea.round,
                version=idea.version,
                history=idea.history,
                origin=idea.origin,
            )
            if idea.id in last
            else idea
            for idea in held.ideas
        ]

    def _say(self, data: events.Said) -> None:
        """Add a message. A message that is emitted again after a resume replaces the earlier one and all
        after it."""
        message = Message(
            id=data.id,
            sender=data.sender,
            to=data.to,
            content=data.content,
            timestamp=data.timestamp,
            kind=data.kind,
        )
        spoken = self.discussion.spoken
        number = int(data.id[1:]) if data.id[1:].isdigit() else len(spoken) + 1
        del spoken[max(number - 1, 0) :]
        spoken.append(Spoken(message, data.round, data.details))

    def _add(self, data: events.IdeaAdded) -> None:
        held = self.discussion
        idea = Idea(
            id=data.id,
            title=data.title,
            description=data.description,
            category=data.category,
            refines=as_ids(data.refines),
            round=data.round,
            origin=data.origin,
        )
        known = [idea.id for idea in held.ideas]
        before = held.ideas[: known.index(data.id)] if data.id in known else held.ideas
        held.ideas = [*before, idea]
        held.verdict = held.delivered = None

    def _revise(self, data: events.IdeaRevised) -> None:
        held = self.discussion
        held.ideas = [
            revised(
                idea,
                title=data.title,
                description=data.description,
                given_up=data.given_up,
                why=data.why,
                number=data.round,
                version=data.version,
            )
            if idea.id == data.id
            else idea
            for idea in held.ideas
        ]

    def _score(self, data: events.IdeaScored) -> None:
        held = self.discussion
        held.ideas = [
            msgspec.structs.replace(
                idea,
                criteria=data.criteria,
                score=data.score,
                pros=data.pros,
                cons=data.cons,
                feedback=data.feedback,
                validated=True,
            )
            if idea.id == data.id
            else idea
            for idea in held.ideas
        ]


PHASES = {"kickoff": "Kickoff", "validation": "Validation and selection", "visualization": "Visualization"}
SAID = 100
"""Characters of a contribution on its terminal line."""
MOST_READ = 2000
"""Characters of a contribution that are read for these."""
_IDEAS = re.compile(r"^- \*\*I\d+\. ", re.MULTILINE)
_LEAD = re.compile(r"^(?:Choice: I\d+\s+|\((?:Without search|Looked up)[^)]*\)\s*)")
"""Prefixes that are not a contribution's own words."""


def _phase(data: events.Phase, council: CouncilState) -> Line:
    if data.phase == "exploration":
        return Line(f"Round {data.round} of {data.rounds}", "result", mark="▸")
    if data.phase == "kickoff":
        summary = f"{count(len(data.team), 'member')}, {count(data.rounds, 'round')}"
        return Line(f"Kickoff: {summary}", "result", mark="▸")
    return Line(PHASES.get(data.phase, data.phase), "result", mark="▸")


def _said(data: events.Said, council: CouncilState) -> Line:
    to = f" to {name_of(data.to)}" if data.to != "team" else ""
    return Line(f"{name_of(data.sender)}{to}: {gist_of(data, data.details)}", indent=1)


def gist_of(data: events.Said | Message, details: Details) -> str:
    """Return the first words of a contribution and the counts of its details. Content that other lines show
    is only counted."""
    if data.kind in ("validation", "visualization"):
        return "scores" if data.kind == "validation" else "a page of its own"
    if data.kind == "ideation" and data.to == "team" and _IDEAS.match(data.content):
        revised = f", {len(details.revised)} revised" if details.revised else ""
        return count(len(_IDEAS.findall(data.content)), "new idea") + revised
    notes = [
        count(len(details.evidence), "evidence card") if details.evidence else "",
        count(len(details.risks), "risk") if details.risks else "",
        count(len(details.open_questions), "open question") if details.open_questions else "",
        count(len(details.next_steps), "next step") if details.next_steps else "",
        f"{len(details.revised)} revised" if details.revised else "",
        f"{len(details.settled)} settled" if details.settled else "",
    ]
    counted = ", ".join(part for part in notes if part)
    own = data.content if details.own < 0 else data.content[: details.own]
    words = one_line(without_marks(_LEAD.sub("", own[:MOST_READ])), SAID)
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
    return Line(f"{data.id} {title}", "result", (score_text(data.score), parts), "◆", 1, score_in="notes")


def _selected(data: events.Selected, council: CouncilState) -> Line:
    score = (score_text(data.score),)
    low = " (below the threshold)" if data.below_threshold else "" if data.chosen else " (not chosen)"
    other = ""
    if data.leader_choice and data.leader_choice != data.id:
        other = f"; the leader preferred {data.leader_choice}"
    weight = "warning" if data.below_threshold or not data.scored or not data.chosen else "result"
    return Line(
        f"Winner: {data.id} {one_line(data.title, 100)}{low}{other}", weight, score, "★", score_in="notes"
    )


def _ready(data: events.ReportReady, council: CouncilState) -> Line:
    also = ", and the UI Creator's page" if data.page else ""
    return Line(f"The report is ready{also}", mark="✓")


def _warned(data: events.Warned, council: CouncilState) -> Line:
    return Line(one_line(data.message, 300), "warning", mark="!", indent=1)


def name_of(role: str) -> str:
    """Return the name of a role."""
    return NAMES.get(role, one_line(role, 40))


LINES: dict[type[EventData], Callable[[Any, CouncilState], Line | None]] = {
    events.Phase: _phase,
    events.Said: _said,
    events.IdeaAdded: _idea,
    events.IdeaRevised: _revised,
    events.IdeaScored: _scored,
    events.Selected: _selected,
    events.ReportReady: _ready,
    events.Warned: _warned,
}


ORDER = (RESEARCHER, IDEATION, CRITIC, IMPLEMENTER, LEADER, MODERATOR, UI_CREATOR)
IN_ROUNDS = frozenset(ORDER[:5])
SPOKE, SPEAKS, FAILED, TO_COME, ABSENT = "✓", "●", "✗", "○", "·"
LEADERS = 3
"""Number of leading ideas in the drawing."""


def draw(council: CouncilState, most: int, *, alive: bool = True) -> list[Line]:
    """Draw at most `most` lines: the progress, a row for each speaker, and the leading ideas once scored."""
    held = council.discussion
    if not council.phase or most < 1:
        return []
    head = Line(f"{_where(council)} · {count(len(held.ideas), 'idea')}", "result", mark="▸")
    rows = [_row(council, role, alive) for role in ORDER if role in held.team]
    scored = [idea for idea in ranked(held.ideas) if idea.score is not None]
    best = [
        Line(f"{idea.id} {one_line(idea.title, 80)}", "result", (score_text(idea.score),), "◆", 1)
        for idea in scored[:LEADERS]
    ]
    if len(rows) + len(best) + 1 > most:
        rows = [row for row in rows if SPEAKS in row.mark]
    return [head, *rows, *best][:most]


def _where(council: CouncilState) -> str:
    if council.phase == "exploration":
        return f"round {council.round} of {council.discussion.rounds}"
    return council.phase


def _row(council: CouncilState, role: str, alive: bool) -> Line:
    """Return a speaker's row with a sign for each round: spoke, speaking, failed, to come."""
    held = council.discussion
    speaks = alive and council.speaker == role
    last = held.rounds + 1
    stages = range(1, last) if role in IN_ROUNDS else range(last, last + 1)
    signs = [
        _sign(council, role, number, speaks) if number in stages else ABSENT for number in range(1, last + 1)
    ]
    return Line(NAMES[role], "result" if speaks else "routine", (), " ".join(signs), 1)


def _sign(council: CouncilState, role: str, number: int, speaks: bool) -> str:
    spoke = any(
        spoken.round == number and spoken.message.sender == role for spoken in council.discussion.spoken
    )
    if speaks and council.round == number:
        return SPEAKS
    if spoke:
        return SPOKE
    if (number, role) in council.failed:
        return FAILED
    return TO_COME if number >= council.round else ABSENT
