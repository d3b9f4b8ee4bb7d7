"""Report data of `council`: ranking, journey and chart geometry."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from podium.report.words import one_line
from podium.workflows.council.context import stage
from podium.workflows.council.deliverable import all_steps, concerned
from podium.workflows.council.discussion import (
    CRITERIA,
    RISK,
    Discussion,
    Idea,
    Point,
    Spoken,
    open_points,
    plain,
    points_of,
)
from podium.workflows.council.policy import NAMES, ranked, score_text
from podium.workflows.delivery.events import VERDICTS, baseline_verdict

RUNNERS_UP = 3
HEAT = (5, 6.5, 7.5, 9)
"""Score thresholds at which a cell of the comparison gets a darker shade."""
COMPARED = 6
"""Maximum ideas in the comparison."""
ALL_ORDERS = 40
"""A table with more rows is not sorted by criterion, because each sort order is a separate table in the
page."""


def idea_row(discussion: Discussion, idea: Idea, rank: int) -> dict[str, Any]:
    """Return an idea with its rank."""
    refined = [other.id for other in discussion.ideas if idea.id in other.refines]
    below = idea.score is not None and idea.score < discussion.min_score
    return {**plain(idea), "rank": rank, "refined_by": refined, "below_threshold": below}


def ranking(discussion: Discussion) -> list[dict[str, Any]]:
    """Return all ideas by rank, the winner first."""
    final = discussion.final_idea
    order = ranked(discussion.ideas)
    if final is not None:
        order = [final, *(idea for idea in order if idea.id != final.id)]
    return [idea_row(discussion, idea, rank) for rank, idea in enumerate(order, 1)]


def orders(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows sorted by each column. Sorting here keeps the page free of scripts."""
    keys: dict[str, Callable[[dict[str, Any]], Any]] = {"score": lambda row: row["rank"]}
    if len(rows) <= ALL_ORDERS:
        keys |= {name: _by(name) for name in CRITERIA}
    keys |= {
        "title": lambda row: row["title"].casefold(),
        "category": lambda row: row["category"].casefold() or "\uffff",
        "round": lambda row: row["round"],
    }
    return [{"by": name, "rows": sorted(rows, key=key)} for name, key in keys.items()]


def _by(name: str) -> Callable[[dict[str, Any]], Any]:
    def key(row: dict[str, Any]) -> Any:
        scores: dict[str, float] = row["criteria"] or {}
        return not scores, -scores.get(name, 0.0), row["rank"]

    return key


def comparison(rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the best ideas compared by criterion, with the best values marked; None for fewer than two
    scored ideas."""
    scored = [row for row in rows if row["criteria"] is not None]
    shown = scored[:COMPARED]
    if len(shown) < 2:
        return None
    columns = [{**row["criteria"], "score": row["score"]} for row in shown]
    lines: list[dict[str, Any]] = []
    for name in (*CRITERIA, "score"):
        best = max(column[name] for column in columns)
        lines.append({"name": name, "cells": [_cell(name, column[name], best) for column in columns]})
    ideas = [{"id": row["id"], "title": row["title"]} for row in shown]
    return {"ideas": ideas, "lines": lines, "of": len(scored), "left_out": len(scored) - len(shown)}


def _cell(name: str, value: float, best: float) -> dict[str, Any]:
    text = score_text(value) if name == "score" else f"{value:g}"
    heat = sum(value >= step for step in HEAT)
    return {"value": value, "text": text, "best": value == best, "heat": heat}


def journey(discussion: Discussion) -> list[dict[str, Any]]:
    """Return the stages (kickoff, rounds, verdict) with their messages and new ideas."""
    stages: list[dict[str, Any]] = []
    for number in sorted({contribution.round for contribution in discussion.spoken}):
        messages = [
            _message(contribution)
            for contribution in discussion.spoken
            if contribution.round == number and contribution.message.kind != "visualization"
        ]
        born = [
            {"id": idea.id, "title": idea.title, "refines": idea.refines}
            for idea in discussion.ideas
            if idea.round == number
        ]
        if messages:
            stages.append(
                {"round": number, "title": stage(discussion, number), "messages": messages, "ideas": born}
            )
    return stages


def _message(contribution: Spoken) -> dict[str, Any]:
    message = contribution.message
    return {
        "id": message.id,
        "role": message.sender,
        "speaker": NAMES.get(message.sender, message.sender),
        "to": message.to,
        "type": message.kind,
        "content": message.content,
        "timestamp": message.timestamp,
    }


def doubts(discussion: Discussion) -> dict[str, Any]:
    """Return open questions, the risks of the winner and of other ideas by severity, and the settled
    points."""
    points = points_of(discussion.spoken)
    still = open_points(discussion.spoken)
    risks = [_risk(discussion, point) for point in still if point.kind == RISK]
    own, others = _apart(discussion, risks)
    critics = discussion.texts("critic")
    return {
        "open_questions": [point.text for point in still if point.kind != RISK],
        "risks": own,
        "other_risks": others,
        "settled": [
            {"id": point.id, "text": point.text, "how": point.how} for point in points if point.settled
        ],
        "text": critics[-1] if critics and not points else "",
    }


def _risk(discussion: Discussion, point: Point) -> dict[str, Any]:
    return {
        "id": point.id,
        "risk": point.text,
        "idea": point.idea,
        "severity": point.severity,
        "mitigation": point.mitigation,
        "title": _title(discussion, point.idea),
    }


def next_steps(discussion: Discussion) -> dict[str, Any]:
    """Return the steps of the winner, by the leader or the implementer, and those of other ideas."""
    steps = all_steps(discussion)
    own, others = _apart(
        discussion, [{**plain(step), "title": _title(discussion, step.idea)} for step in steps]
    )
    texts = discussion.texts("implementer")
    return {"steps": own, "other_steps": others, "text": texts[-1] if texts and not steps else ""}


def _apart(
    discussion: Discussion, notes: list[dict[str, Any]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Split notes into those about the winner, the ideas it refines or all ideas, and the rest."""
    meant = concerned(discussion)
    own = [note for note in notes if note["idea"] in meant]
    return own, [note for note in notes if note not in own]


def evidence(discussion: Discussion) -> dict[str, Any]:
    """Return the researcher's evidence cards, checked ones first."""
    briefs = [turn.details for turn in discussion.spoken if turn.message.kind == "researcher"]
    cards = [card for brief in briefs for card in brief.evidence]
    cards = list({(card.claim, card.link): card for card in cards}.values())
    sources = [brief.sources for brief in briefs if brief.sources not in ("", "model")]
    return {
        "cards": [plain(card) for card in sorted(cards, key=lambda card: not card.checked)],
        "tools": ", ".join(dict.fromkeys(name for part in sources for name in part.split(", "))),
        "briefs": len(briefs),
    }


def checks(discussion: Discussion) -> dict[str, Any] | None:
    """Return the editor's missing parts and the comparisons with a direct draft and with the best of several;
    None if nothing was checked."""
    delivered, alone = discussion.delivered, discussion.baseline
    data: dict[str, Any] = {"missing": [], "comparison": None, "baseline": None}
    if delivered is not None:
        data["missing"] = delivered.missing
        if delivered.preferred:
            verdict = VERDICTS.get(delivered.preferred, delivered.preferred)
            data["comparison"] = {
                "verdict": verdict,
                "preferred": delivered.preferred,
                "why": delivered.why,
                "replaced": delivered.replaced,
            }
    if alone is not None:
        data["baseline"] = {**alone, "verdict": baseline_verdict(alone["n"], alone["preferred"])}
    return data if any(data.values()) else None


def _title(discussion: Discussion, name: str | None) -> str:
    idea = discussion.idea(name)
    return "" if idea is None else idea.title


RADIUS = 70.0
CENTRE = 110.0, 92.0
RINGS = (2.5, 5.0, 7.5, 10.0)

ROW = 34
TOPIC, CATEGORY, IDEA = (0.0, 190.0), (250.0, 170.0), (480.0, 480.0)
"""Left edge and width of the columns of the concept map."""
LETTER, BOLD = 7.4, 8.6
"""Width of a letter in pixels, plain and bold."""
MOST_ON_MAP = 60


def radar(idea: Idea) -> dict[str, Any] | None:
    """Return the radar chart of an idea: polygon, rings, axes and the text for screen readers; None without
    scores."""
    if idea.criteria is None or idea.score is None:
        return None
    scores = ", ".join(f"{name} {idea.criteria[name]:g}" for name in CRITERIA)
    return {
        "shape": _polygon([idea.criteria[name] for name in CRITERIA]),
        "rings": [_polygon([ring] * len(CRITERIA)) for ring in RINGS],
        "axes": [_axis(nth, name, idea.criteria[name]) for nth, name in enumerate(CRITERIA)],
        "said": f"{one_line(idea.title, 120)}: {scores}; {score_text(idea.score)} of 10 in all",
    }


def _axis(nth: int, name: str, value: float) -> dict[str, Any]:
    x, y = _point(nth, 10)
    text_x, text_y = _point(nth, 11.2)
    anchor = "middle" if abs(text_x - CENTRE[0]) < 8 else "start" if text_x > CENTRE[0] else "end"
    return {
        "x": x,
        "y": y,
        "text_x": text_x,
        "text_y": text_y + 4,
        "anchor": anchor,
        "label": name,
        "value": f"{value:g}",
    }


def _polygon(values: list[float]) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in (_point(nth, value) for nth, value in enumerate(values)))


def _point(nth: int, value: float) -> tuple[float, float]:
    """Return the coordinates of a value on an axis. The first axis points up."""
    angle = math.tau * nth / len(CRITERIA) - math.tau / 4
    length = RADIUS * value / 10
    return round(CENTRE[0] + length * math.cos(angle), 1), round(CENTRE[1] + length * math.sin(angle), 1)


def concept_map(discussion: Discussion) -> dict[str, Any] | None:
    """Return topic, categories and ideas in three columns with connecting lines; refinements on the right."""
    if not discussion.ideas:
        return None
    shown = discussion.ideas[:MOST_ON_MAP]
    kinds: dict[str, list[Idea]] = {}
    for idea in shown:
        kinds.setdefault(idea.category or "other", []).append(idea)
    height = ROW * len(shown)
    ideas: dict[str, dict[str, Any]] = {}
    categories: list[dict[str, Any]] = []
    for name, members in kinds.items():
        first = len(ideas)
        for idea in members:
            ideas[idea.id] = _idea_box(idea, len(ideas) * ROW, discussion)
        middle = (first + len(members) / 2) * ROW
        categories.append(
            {
                "label": _fitted(name, CATEGORY[1]),
                "title": one_line(name),
                "y": middle,
                "members": [ideas[idea.id] for idea in members],
            }
        )
    links = [
        _bend(ideas[new], ideas[old], nth)
        for nth, (new, old) in enumerate((idea.id, old) for idea in shown for old in idea.refines)
        if old in ideas
    ]
    return {
        "height": height,
        "topic": _lines(discussion.topic),
        "topic_y": height / 2,
        "categories": categories,
        "ideas": list(ideas.values()),
        "refinements": links,
        "left_out": len(discussion.ideas) - len(shown),
        "said": f"{len(discussion.ideas)} ideas in {len(kinds)} categories, {len(links)} of them refinements",
    }


def _idea_box(idea: Idea, y: float, discussion: Discussion) -> dict[str, Any]:
    score = "" if idea.score is None else score_text(idea.score)
    room = IDEA[1] - 60 - LETTER * len(score)
    return {
        "id": idea.id,
        "y": y + ROW / 2,
        "label": f"{idea.id}  {_fitted(idea.title, room)}",
        "score": score,
        "title": f"{idea.id} {one_line(idea.title)}",
        "winner": discussion.verdict is not None and discussion.verdict.idea == idea.id,
    }


def _bend(new: dict[str, Any], old: dict[str, Any], nth: int) -> dict[str, Any]:
    """Return a line outside the last column, from a refinement to the idea that it refines."""
    edge = IDEA[0] + IDEA[1]
    out = edge + 10 + 6 * (nth % 4)
    return {
        "path": f"M{edge:g},{new['y']:g} H{out:g} V{old['y']:g} H{edge + 3:g}",
        "y": old["y"],
        "said": f"{new['id']} refines {old['id']}",
    }


def _lines(topic: str, most: int = 5) -> list[str]:
    """Wrap the topic into lines that fit its box."""
    room, lines = int((TOPIC[1] - 24) / BOLD), [""]
    for word in one_line(topic).split():
        if len(lines[-1]) + len(word) + 1 <= room or not lines[-1]:
            lines[-1] = one_line(f"{lines[-1]} {word}", room)
        else:
            lines.append(one_line(word, room))
    return lines if len(lines) <= most else [*lines[: most - 1], one_line(f"{lines[most - 1]} …", room)]


def _fitted(text: str, width: float) -> str:
    return one_line(text, max(int(width / LETTER), 3))
