"""Report data of `council`: ranking, journey and chart geometry."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from podium.report.words import one_line
from podium.workflows.council.context import stage
from podium.workflows.council.deliverable import all_steps, concerned
from podium.workflows.council.discussion import CRITERIA, Discussion, Idea, Spoken, plain
from podium.workflows.council.points import RISK, Point, open_points, points_of
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


def idea_row(held: Discussion, idea: Idea, rank: int) -> dict[str, Any]:
    """Return an idea with its rank."""
    refined = [other.id for other in held.ideas if idea.id in other.refines]
    below = idea.score is not None and idea.score < held.min_score
    return {**plain(idea), "rank": rank, "refined_by": refined, "below_threshold": below}


def ranking(held: Discussion) -> list[dict[str, Any]]:
    """Return all ideas by rank, the winner first."""
    final = held.final_idea
    order = ranked(held.ideas)
    if final is not None:
        order = [final, *(idea for idea in order if idea.id != final.id)]
    return [idea_row(held, idea, rank) for rank, idea in enumerate(order, 1)]


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


def journey(held: Discussion) -> list[dict[str, Any]]:
    """Return the stages (kickoff, rounds, verdict) with their messages and new ideas."""
    stages: list[dict[str, Any]] = []
    for number in sorted({one.round for one in held.spoken}):
        said = [
            _said(one) for one in held.spoken if one.round == number and one.message.kind != "visualization"
        ]
        born = [
            {"id": idea.id, "title": idea.title, "refines": idea.refines}
            for idea in held.ideas
            if idea.round == number
        ]
        if said:
            stages.append({"round": number, "title": stage(held, number), "messages": said, "ideas": born})
    return stages


def _said(one: Spoken) -> dict[str, Any]:
    message = one.message
    return {
        "id": message.id, "role": message.sender, "speaker": NAMES.get(message.sender, message.sender),
        "to": message.to, "type": message.kind, "content": message.content, "timestamp": message.timestamp,
    }  # fmt: skip


def doubts(held: Discussion) -> dict[str, Any]:
    """Return open questions, the risks of the winner and of other ideas by severity, and the settled
    points."""
    points = points_of(held.spoken)
    still = open_points(held.spoken)
    risks = [_risk(held, point) for point in still if point.kind == RISK]
    own, others = _apart(held, risks)
    critics = [one.message.content for one in held.spoken if one.message.kind == "critic"]
    return {
        "open_questions": [point.text for point in still if point.kind != RISK],
        "risks": own, "other_risks": others,
        "settled": [{"id": one.id, "text": one.text, "how": one.how} for one in points if one.settled],
        "text": critics[-1] if critics and not points else "",
    }  # fmt: skip


def _risk(held: Discussion, point: Point) -> dict[str, Any]:
    return {
        "id": point.id, "risk": point.text, "idea": point.idea, "severity": point.severity,
        "mitigation": point.mitigation, "title": _title(held, point.idea),
    }  # fmt: skip


def next_steps(held: Discussion) -> dict[str, Any]:
    """Return the steps of the winner, by the leader or the implementer, and those of other ideas."""
    steps = all_steps(held)
    own, others = _apart(held, [{**plain(step), "title": _title(held, step.idea)} for step in steps])
    said = [one.message.content for one in held.spoken if one.message.kind == "implementer"]
    return {"steps": own, "other_steps": others, "text": said[-1] if said and not steps else ""}


def _apart(
    held: Discussion, notes: list[dict[str, Any]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Split notes into those about the winner, the ideas it refines or all ideas, and the rest."""
    meant = concerned(held)
    return [one for one in notes if one["idea"] in meant], [one for one in notes if one["idea"] not in meant]


def evidence(held: Discussion) -> dict[str, Any]:
    """Return the researcher's evidence cards, checked ones first."""
    briefs = [one for one in held.spoken if one.message.kind == "researcher"]
    cards = [card for one in briefs for card in one.details.evidence]
    cards = list({(card.claim, card.link): card for card in cards}.values())
    sources = [one.details.sources for one in briefs if one.details.sources not in ("", "model")]
    return {
        "cards": [plain(card) for card in sorted(cards, key=lambda card: not card.checked)],
        "tools": ", ".join(dict.fromkeys(name for part in sources for name in part.split(", "))),
        "briefs": len(briefs),
    }


def checks(held: Discussion) -> dict[str, Any] | None:
    """Return the editor's missing parts and the comparisons with a direct draft and with the best of several;
    None if nothing was checked."""
    delivered, alone = held.delivered, held.baseline
    data: dict[str, Any] = {"missing": [], "comparison": None, "baseline": None}
    if delivered is not None:
        data["missing"] = delivered.missing
        if delivered.preferred:
            verdict = VERDICTS.get(delivered.preferred, delivered.preferred)
            data["comparison"] = {
                "verdict": verdict, "preferred": delivered.preferred, "why": delivered.why,
                "replaced": delivered.replaced,
            }  # fmt: skip
    if alone is not None:
        data["baseline"] = {**alone, "verdict": baseline_verdict(alone["n"], alone["preferred"])}
    return data if any(data.values()) else None


def _title(held: Discussion, name: str | None) -> str:
    idea = held.idea(name)
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
    told = ", ".join(f"{name} {idea.criteria[name]:g}" for name in CRITERIA)
    return {
        "shape": _polygon([idea.criteria[name] for name in CRITERIA]),
        "rings": [_polygon([ring] * len(CRITERIA)) for ring in RINGS],
        "axes": [_axis(nth, name, idea.criteria[name]) for nth, name in enumerate(CRITERIA)],
        "said": f"{one_line(idea.title, 120)}: {told}; {score_text(idea.score)} of 10 in all",
    }


def _axis(nth: int, name: str, value: float) -> dict[str, Any]:
    x, y = _point(nth, 10)
    text_x, text_y = _point(nth, 11.2)
    anchor = "middle" if abs(text_x - CENTRE[0]) < 8 else "start" if text_x > CENTRE[0] else "end"
    return {
        "x": x, "y": y, "text_x": text_x, "text_y": text_y + 4, "anchor": anchor,
        "label": name, "value": f"{value:g}",
    }  # fmt: skip


def _polygon(values: list[float]) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in (_point(nth, value) for nth, value in enumerate(values)))


def _point(nth: int, value: float) -> tuple[float, float]:
    """Return the coordinates of a value on an axis. The first axis points up."""
    angle = math.tau * nth / len(CRITERIA) - math.tau / 4
    length = RADIUS * value / 10
    return round(CENTRE[0] + length * math.cos(angle), 1), round(CENTRE[1] + length * math.sin(angle), 1)


def concept_map(held: Discussion) -> dict[str, Any] | None:
    """Return topic, categories and ideas in three columns with connecting lines; refinements on the right."""
    if not held.ideas:
        return None
    shown = held.ideas[:MOST_ON_MAP]
    kinds: dict[str, list[Idea]] = {}
    for idea in shown:
        kinds.setdefault(idea.category or "other", []).append(idea)
    height = ROW * len(shown)
    ideas: dict[str, dict[str, Any]] = {}
    categories: list[dict[str, Any]] = []
    for name, members in kinds.items():
        first = len(ideas)
        for idea in members:
            ideas[idea.id] = _idea_box(idea, len(ideas) * ROW, held)
        middle = (first + len(members) / 2) * ROW
        categories.append(
            {"label": _fitted(name, CATEGORY[1]), "title": one_line(name), "y": middle,
             "members": [ideas[idea.id] for idea in members]}
        )  # fmt: skip
    links = [
        _bend(ideas[new], ideas[old], nth)
        for nth, (new, old) in enumerate((idea.id, old) for idea in shown for old in idea.refines)
        if old in ideas
    ]
    return {
        "height": height, "topic": _lines(held.topic), "topic_y": height / 2, "categories": categories,
        "ideas": list(ideas.values()), "refinements": links, "left_out": len(held.ideas) - len(shown),
        "said": f"{len(held.ideas)} ideas in {len(kinds)} categories, {len(links)} of them refinements",
    }  # fmt: skip


def _idea_box(idea: Idea, y: float, held: Discussion) -> dict[str, Any]:
    score = "" if idea.score is None else score_text(idea.score)
    room = IDEA[1] - 60 - LETTER * len(score)
    return {
        "id": idea.id, "y": y + ROW / 2, "label": f"{idea.id}  {_fitted(idea.title, room)}", "score": score,
        "title": f"{idea.id} {one_line(idea.title)}",
        "winner": held.verdict is not None and held.verdict.idea == idea.id,
    }  # fmt: skip


def _bend(new: dict[str, Any], old: dict[str, Any], nth: int) -> dict[str, Any]:
    """Return a line outside the last column, from a refinement to the idea that it refines."""
    edge = IDEA[0] + IDEA[1]
    out = edge + 10 + 6 * (nth % 4)
    return {
        "path": f"M{edge:g},{new['y']:g} H{out:g} V{old['y']:g} H{edge + 3:g}", "y": old["y"],
        "said": f"{new['id']} refines {old['id']}",
    }  # fmt: skip


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
