"""The council as a few lines, while it is held and afterwards: rounds as columns, speakers as rows."""

from __future__ import annotations

from podium.report.lines import Line
from podium.report.words import count, one_line
from podium.workflows.council.folding import CouncilState
from podium.workflows.council.policy import (
    CRITIC,
    IDEATION,
    IMPLEMENTER,
    LEADER,
    MODERATOR,
    NAMES,
    RESEARCHER,
    UI_CREATOR,
    ranked,
    score_text,
)

ORDER = (RESEARCHER, IDEATION, CRITIC, IMPLEMENTER, LEADER, MODERATOR, UI_CREATOR)
IN_ROUNDS = frozenset(ORDER[:5])
SPOKE, SPEAKS, FAILED, TO_COME, ABSENT = "✓", "●", "✗", "○", "·"
LEADERS = 3
"""Ideas that lead the ranking in the picture."""


def draw(council: CouncilState, most: int, *, alive: bool = True) -> list[Line]:
    """At most `most` lines: how far it is, a row for each speaker, and the leading ideas once scored."""
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
    """A speaker and a sign for each round: spoke, speaks, failed, to come."""
    held = council.discussion
    speaks = alive and council.speaker == role
    last = held.rounds + 1
    stages = range(1, last) if role in IN_ROUNDS else range(last, last + 1)
    signs = [
        _sign(council, role, number, speaks) if number in stages else ABSENT for number in range(1, last + 1)
    ]
    return Line(NAMES[role], "result" if speaks else "routine", (), " ".join(signs), 1)


def _sign(council: CouncilState, role: str, number: int, speaks: bool) -> str:
    spoke = any(one.round == number and one.message.sender == role for one in council.discussion.spoken)
    if speaks and council.round == number:
        return SPEAKS
    if spoke:
        return SPOKE
    if (number, role) in council.failed:
        return FAILED
    return TO_COME if number >= council.round else ABSENT
