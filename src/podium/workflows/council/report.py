"""What a person sees of a council: its lines, who speaks now, the recommendation first, and the report."""

from __future__ import annotations

from typing import Any

import msgspec

from podium.engine.events import Event, RunWarned
from podium.engine.state import RunState
from podium.report.lines import Line
from podium.report.markdown import cell
from podium.report.presentation import Presentation, Section
from podium.report.words import count
from podium.workflows.council import events, markdown
from podium.workflows.council.charts import concept_map, radar
from podium.workflows.council.discussion import Discussion
from podium.workflows.council.drawing import draw
from podium.workflows.council.folding import CouncilState
from podium.workflows.council.tellers import line_of
from podium.workflows.council.telling import (
    RUNNERS_UP,
    comparison,
    doubts,
    evidence,
    journey,
    next_steps,
    orders,
    ranking,
)

PACKAGE = "podium.workflows.council"
STYLE = "council.css"
LONGEST = 20_000
"""Characters of one text in the page; nobody reads more, and it has to open."""


class CouncilPresentation(Presentation):
    """Shows one council."""

    def __init__(self) -> None:
        self.council = CouncilState()
        self._told: set[str] = set()

    def apply(self, event: Event) -> None:
        self.council.apply(event)
        if isinstance(event.data, events.Warned):
            self._told.add(event.data.message)

    def line(self, event: Event, state: RunState) -> Line | None:
        return line_of(event, self.council)

    def quiets(self, event: Event) -> bool:
        if isinstance(event.data, RunWarned):  # the council's own line has told it
            return event.data.message in self._told
        if isinstance(event.data, events.CouncilEvent):
            return line_of(event, self.council) is None
        return event.type in ("step.completed", "step.failed", "artifact.created")

    def drawing(self, most: int, *, alive: bool) -> list[Line]:
        return draw(self.council, most, alive=alive)

    def summary(self) -> str:
        return summary_of(self.council.discussion)

    def deliverable(self, output: Any) -> str | None:
        return answer_of(self.council.discussion)

    def leading(self, output: Any) -> list[str]:
        return [self.council.report]

    def sections(self, *, alive: bool) -> list[Section]:
        return sections_of(self.council.discussion)


def summary_of(held: Discussion) -> str:
    """`9 ideas · 2 rounds · best 8.4`."""
    if not held.spoken:
        return ""
    told = [count(len(held.ideas), "idea"), count(held.rounds_held, "round")]
    final = held.final_idea
    told += [f"winner {final.score:g} of 10"] if final is not None and final.score is not None else []
    return " · ".join(told)


def answer_of(held: Discussion) -> str | None:
    """The recommendation in a few paragraphs, as Markdown; nothing as long as there is none."""
    final, verdict = held.final_idea, held.verdict
    if final is None or verdict is None:
        return None
    score = f"{final.score:g} of 10" if final.score is not None else "not scored"
    best = "the best" if verdict.scored else "chosen"
    parts = [
        f"## {cell(final.title, 200)}",
        f"**{score}**, {best} of {count(len(held.ideas), 'idea')} after {count(held.rounds_held, 'round')}.",
        markdown.contained(final.description[:LONGEST]),
        markdown.refinement(held),
        markdown.reservations(held),
    ]
    if verdict.reasoning:
        parts.append(f"**Why, in the leader's words:** {markdown.contained(verdict.reasoning[:LONGEST])}")
    return "\n\n".join(part for part in parts if part)


def sections_of(held: Discussion) -> list[Section]:
    """Every part of the report that has something to tell."""
    rows = ranking(held)
    radars = {idea.id: radar(idea) for idea in held.ideas}
    runners_up = rows[1 : 1 + RUNNERS_UP] if held.verdict else []
    table = {"orders": orders(rows), "radars": radars, "min_score": held.min_score, "longest": LONGEST}
    parts = [
        _recommended(held, rows, radars),
        _section("runners_up", "Runners-up", runners_up, markdown.runners_up),
        _section("next_steps", "Next steps", _filled(next_steps(held)), markdown.next_steps),
        _section("doubts", "Open questions and risks", _filled(doubts(held)), markdown.doubts),
        _section("ideas", "All ideas", rows, markdown.ideas, **table),
        _section("comparison", "Comparison", comparison(rows), markdown.comparison),
        _section("concept_map", "Concept map", _mapped(held), markdown.concept_map, drawn=concept_map(held)),
        _section("evidence", "Evidence", _cards(held), markdown.evidence),
        _section("journey", "The journey", journey(held), markdown.journey, longest=LONGEST),
    ]  # fmt: skip
    shown = [part for part in parts if part is not None]
    return [msgspec.structs.replace(part, style="" if nth else STYLE) for nth, part in enumerate(shown)]


def _recommended(held: Discussion, rows: list[dict[str, Any]], radars: dict[str, Any]) -> Section | None:
    if held.verdict is None or not rows:
        return None
    verdict = held.verdict
    choice = held.idea(verdict.leader_choice)
    data = {
        "idea": rows[0], "scored": verdict.scored, "below_threshold": verdict.below_threshold,
        "min_score": held.min_score, "tied": verdict.tied, "leader_choice": verdict.leader_choice,
        "leader_title": choice.title if choice is not None else "",
    }  # fmt: skip
    return _section(
        "recommended", "Its five scores", data, markdown.recommended, radar=radars.get(verdict.idea)
    )


def _section(name: str, title: str, data: Any, text: Any, **context: Any) -> Section | None:
    if not data:
        return None
    return Section(
        name=name, title=title, data=data, markdown=lambda: text(data), package=PACKAGE,
        template=f"{name}.html", context=context,
    )  # fmt: skip


def _filled(data: dict[str, Any]) -> dict[str, Any] | None:
    return data if any(data.values()) else None


def _cards(held: Discussion) -> dict[str, Any] | None:
    data = evidence(held)
    return data if data["briefs"] else None


def _mapped(held: Discussion) -> list[dict[str, Any]]:
    """The map as data: categories with their ideas."""
    kinds: dict[str, list[dict[str, Any]]] = {}
    for idea in held.ideas:
        kinds.setdefault(idea.category or "other", []).append(
            {"id": idea.id, "title": idea.title, "refines": idea.refines}
        )
    return [{"category": name, "ideas": ideas} for name, ideas in kinds.items()]


PRESENTATION = CouncilPresentation
