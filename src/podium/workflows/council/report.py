"""Presentation of a council: lines, current speaker, recommendation and report."""

from __future__ import annotations

from typing import Any

import msgspec

from podium.engine.events import Event, RunWarned
from podium.engine.state import RunState
from podium.report.presentation import Line, Presentation, Section
from podium.report.words import count
from podium.workflows.council import events, markdown
from podium.workflows.council.deliverable import LONGEST, answer_of
from podium.workflows.council.discussion import Discussion
from podium.workflows.council.report_data import (
    RUNNERS_UP,
    checks,
    comparison,
    concept_map,
    doubts,
    evidence,
    journey,
    next_steps,
    orders,
    radar,
    ranking,
)
from podium.workflows.council.view import CouncilState, draw, line_of
from podium.workflows.delivery.events import BASELINE_VERDICTS

PACKAGE = "podium.workflows.council"
STYLE = "council.css"


class CouncilPresentation(Presentation):
    """Presentation of a council run."""

    def __init__(self) -> None:
        self.council = CouncilState()
        self._told: set[str] = set()

    def apply(self, event: Event) -> None:
        self.council.apply(event)
        if isinstance(event.data, events.Warned):
            self._told.add(event.data.message)

    def line(self, event: Event, state: RunState) -> Line | None:
        return line_of(event, self.council)

    def is_hidden(self, event: Event) -> bool:
        if isinstance(event.data, RunWarned):  # the council's own line already shows it
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
        return self.council.leading

    def sections(self, *, alive: bool) -> list[Section]:
        return sections_of(self.council.discussion)


def summary_of(held: Discussion) -> str:
    """Return `9 ideas · 2 rounds` and the results of the comparisons."""
    if not held.spoken:
        return ""
    told = [count(len(held.ideas), "idea"), count(held.rounds_held, "round")]
    if held.delivered is not None and held.delivered.replaced:
        told.append("the direct draft was better")
    if held.baseline is not None:
        verdict = BASELINE_VERDICTS.get(held.baseline["preferred"], "")
        told.append(f"best of {held.baseline['n']} drafts: {verdict}")
    return " · ".join(told)


def sections_of(held: Discussion) -> list[Section]:
    """Return all sections of the report that are not empty."""
    rows = ranking(held)
    radars = {idea.id: radar(idea) for idea in held.ideas}
    runners_up = rows[1 : 1 + RUNNERS_UP] if held.verdict else []
    table = {"orders": orders(rows), "radars": radars, "min_score": held.min_score, "longest": LONGEST}
    parts = [
        _recommended(held, rows, radars),
        _section("checks", "Compared with a direct answer", checks(held), markdown.checks),
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
    """Return the section about the decision, the first part of the record."""
    if held.verdict is None or not rows:
        return None
    verdict, preferred = held.verdict, held.preferred
    quoted = (
        {"id": preferred.id, "title": preferred.title, "reason": verdict.reasoning} if preferred else None
    )
    older = [idea for name in rows[0]["refines"] if (idea := held.idea(name)) is not None]
    data = {
        "idea": rows[0], "scored": verdict.scored, "chosen": verdict.chosen, "tied": verdict.tied,
        "below_threshold": verdict.below_threshold, "min_score": held.min_score,
        "leader_choice": verdict.leader_choice, "reason": held.reason, "preferred": quoted,
        "refined": [{"id": idea.id, "title": idea.title} for idea in older],
    }  # fmt: skip
    return _section(
        "recommended",
        "The record: how it was decided",
        data,
        markdown.recommended,
        radar=radars.get(verdict.idea),
    )


SCORED = frozenset({"recommended", "checks", "runners_up", "ideas", "comparison", "concept_map"})


def _section(name: str, title: str, data: Any, text: Any, **context: Any) -> Section | None:
    if not data:
        return None
    return Section(
        name=name, title=title, data=data, markdown=lambda: text(data), package=PACKAGE,
        template=f"{name}.html", context=context, scored=name in SCORED,
    )  # fmt: skip


def _filled(data: dict[str, Any]) -> dict[str, Any] | None:
    return data if any(data.values()) else None


def _cards(held: Discussion) -> dict[str, Any] | None:
    data = evidence(held)
    return data if data["briefs"] else None


def _mapped(held: Discussion) -> list[dict[str, Any]]:
    """Return the concept map as data: categories with their ideas."""
    kinds: dict[str, list[dict[str, Any]]] = {}
    for idea in held.ideas:
        kinds.setdefault(idea.category or "other", []).append(
            {"id": idea.id, "title": idea.title, "refines": idea.refines}
        )
    return [{"category": name, "ideas": ideas} for name, ideas in kinds.items()]


PRESENTATION = CouncilPresentation
