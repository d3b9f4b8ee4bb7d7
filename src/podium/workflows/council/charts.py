"""Figures of a council as geometry: a radar for each idea, and a map of how ideas hang together."""

from __future__ import annotations

import math
from typing import Any

from podium.report.words import one_line
from podium.workflows.council.discussion import CRITERIA, Discussion, Idea
from podium.workflows.council.policy import score_text

RADIUS = 70.0
CENTRE = 110.0, 92.0
RINGS = (2.5, 5.0, 7.5, 10.0)

ROW = 34
TOPIC, CATEGORY, IDEA = (0.0, 190.0), (250.0, 170.0), (480.0, 480.0)
"""Left edge and width of the map's columns."""
LETTER, BOLD = 7.4, 8.6
"""Width of a letter, plain and bold."""
MOST_ON_MAP = 60


def radar(idea: Idea) -> dict[str, Any] | None:
    """Corners of an idea's scores on five axes, the rings behind them, and what a screen reader says."""
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
    """Where a value lies on an axis; the first one points upwards."""
    angle = math.tau * nth / len(CRITERIA) - math.tau / 4
    length = RADIUS * value / 10
    return round(CENTRE[0] + length * math.cos(angle), 1), round(CENTRE[1] + length * math.sin(angle), 1)


def concept_map(held: Discussion) -> dict[str, Any] | None:
    """Topic, categories and ideas in three columns, with lines between them; refinements on the right."""
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
    """A line outside the last column, from a refinement to what it refines."""
    edge = IDEA[0] + IDEA[1]
    out = edge + 10 + 6 * (nth % 4)
    return {
        "path": f"M{edge:g},{new['y']:g} H{out:g} V{old['y']:g} H{edge + 3:g}", "y": old["y"],
        "said": f"{new['id']} refines {old['id']}",
    }  # fmt: skip


def _lines(topic: str, most: int = 5) -> list[str]:
    """The topic in lines that fit into its box."""
    room, lines = int((TOPIC[1] - 24) / BOLD), [""]
    for word in one_line(topic).split():
        if len(lines[-1]) + len(word) + 1 <= room or not lines[-1]:
            lines[-1] = one_line(f"{lines[-1]} {word}", room)
        else:
            lines.append(one_line(word, room))
    return lines if len(lines) <= most else [*lines[: most - 1], one_line(f"{lines[most - 1]} …", room)]


def _fitted(text: str, width: float) -> str:
    return one_line(text, max(int(width / LETTER), 3))
