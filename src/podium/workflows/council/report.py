"""Presentation of a council: lines, current speaker, recommendation and report."""

from __future__ import annotations

from typing import Any

import msgspec

from podium.report.presentation import Line, Section, WorkflowPresentation
from podium.report.words import count
from podium.workflows.council import events, markdown
from podium.workflows.council.deliverable import LONGEST, answer_of
from podium.workflows.council.detail import CouncilView, CouncilViews
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
from podium.workflows.council.view import LINES, CouncilState, draw
from podium.workflows.delivery.events import BASELINE_VERDICTS

PACKAGE = "podium.workflows.council"
STYLE = "council.css"


class CouncilPresentation(WorkflowPresentation[CouncilState]):
    """Presentation of a council run."""

    detail_type = CouncilView
    lines = LINES
    own_events = events.CouncilEvent

    def __init__(self) -> None:
        super().__init__(CouncilState())
        self._views = CouncilViews()

    def is_shown(self, warning: str) -> bool:
        return warning in self.fold.discussion.warnings

    def detail(self, *, alive: bool) -> CouncilView:
        return self._views.build(self.fold)

    def drawing(self, most: int, *, alive: bool) -> list[Line]:
        return draw(self.fold, most, alive=alive)

    def summary(self) -> str:
        return summary_of(self.fold.discussion)

    def deliverable(self, output: Any) -> str | None:
        return answer_of(self.fold.discussion)

    def leading(self, output: Any) -> list[str]:
        return self.fold.leading

    def sections(self, *, alive: bool) -> list[Section]:
        return sections_of(self.fold.discussion)


def summary_of(held: Discussion) -> str:
    """Return `9 ideas · 2 rounds` and the results of the comparisons."""
    if not held.spoken:
        return ""
    parts = [count(len(held.ideas), "idea"), count(held.rounds_held, "round")]
    if held.delivered is not None and held.delivered.replaced:
        parts.append("the direct draft was better")
    if held.baseline is not None:
        verdict = BASELINE_VERDICTS.get(held.baseline["preferred"], "")
        parts.append(f"best of {held.baseline['n']} drafts: {verdict}")
    return " · ".join(parts)


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
    ]
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
        "idea": rows[0],
        "scored": verdict.scored,
        "chosen": verdict.chosen,
        "tied": verdict.tied,
        "below_threshold": verdict.below_threshold,
        "min_score": held.min_score,
        "leader_choice": verdict.leader_choice,
        "reason": held.reason,
        "preferred": quoted,
        "refined": [{"id": idea.id, "title": idea.title} for idea in older],
    }
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
        name=name,
        title=title,
        data=data,
        markdown=lambda: text(data),
        package=PACKAGE,
        template=f"{name}.html",
        context=context,
        scored=name in SCORED,
    )


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
