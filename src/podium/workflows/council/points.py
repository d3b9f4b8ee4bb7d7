"""Open points of a discussion: risks and questions with ids that are raised, updated and settled."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from podium.workflows.council.discussion import Details, Risk, Spoken

RISK, QUESTION = "risk", "question"
SEVERITIES = {"high": 0, "medium": 1, "low": 2}


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """A risk (`R1`) or a question (`Q1`), open until it is settled."""

    id: str
    kind: str
    text: str
    idea: str | None = None
    severity: str = "medium"
    mitigation: str = ""
    round: int = 0
    settled: bool = False
    how: str = ""
    """The resolution, if settled."""


def points_of(spoken: Sequence[Spoken]) -> list[Point]:
    """Return all points in the order in which they were raised. Raising a settled point reopens it."""
    ledger: dict[str, Point] = {}
    for one in spoken:
        _take(ledger, one.details, one.round)
    return list(ledger.values())


def points_after(spoken: Sequence[Spoken], details: Details, number: int) -> list[Point]:
    """Return all points after a further contribution in round `number`."""
    ledger = {point.id: point for point in points_of(spoken)}
    _take(ledger, details, number)
    return list(ledger.values())


def _take(ledger: dict[str, Point], details: Details, number: int) -> None:
    _settle(ledger, details)
    for risk in details.risks:
        _raise(ledger, _risk_id(ledger, risk), risk, number)
    for question in details.open_questions:
        name = _question_id(ledger, question)
        ledger[name] = Point(id=name, kind=QUESTION, text=question, round=number)


def open_points(spoken: Sequence[Spoken]) -> list[Point]:
    """Return the unsettled points: risks by severity, then questions."""
    still = [point for point in points_of(spoken) if not point.settled]
    return sorted(still, key=lambda point: (point.kind == QUESTION, SEVERITIES.get(point.severity, 1)))


def with_ids(details: Details, spoken: Sequence[Spoken]) -> Details:
    """Return the details with an id for every risk."""
    ledger = {point.id: point for point in points_of(spoken)}
    risks: list[Risk] = []
    for risk in details.risks:
        name = _risk_id(ledger, risk)
        _raise(ledger, name, risk, 0)
        risks.append(msgspec.structs.replace(risk, id=name))
    return msgspec.structs.replace(details, risks=risks)


def find_point(name: str, points: Sequence[Point]) -> str | None:
    """Return the id of the named point, or None. The name may be `R2`, `[R2]`, `R2: …`, or the point's
    text."""
    known = {point.id for point in points}
    found = re.match(r"\W*([RQ]\d+)\b", name.strip(), re.IGNORECASE)
    if found and found[1].upper() in known:
        return found[1].upper()
    return next((point.id for point in points if _same(point.text, name)), None)


def _settle(ledger: dict[str, Point], details: Details) -> None:
    for one in details.settled:
        if point := ledger.get(one.point):
            ledger[one.point] = msgspec.structs.replace(point, settled=True, how=one.how)


def _raise(ledger: dict[str, Point], name: str, risk: Risk, number: int) -> None:
    before = ledger.get(name)
    ledger[name] = Point(
        id=name, kind=RISK, text=risk.risk, severity=risk.severity,
        idea=risk.idea or (before.idea if before else None),
        mitigation=risk.mitigation or (before.mitigation if before else ""),
        round=before.round if before else number,
    )  # fmt: skip


def _risk_id(ledger: dict[str, Point], risk: Risk) -> str:
    """Return the risk's own id, the id of the same risk of the same idea, or the next free id."""
    if risk.id.startswith("R"):
        return risk.id
    same = [point.id for point in ledger.values() if point.idea == risk.idea and _same(point.text, risk.risk)]
    return same[0] if same else _next(ledger, "R")


def _question_id(ledger: dict[str, Point], question: str) -> str:
    same = [one.id for one in ledger.values() if one.kind == QUESTION and _same(one.text, question)]
    return same[0] if same else _next(ledger, "Q")


def _next(ledger: dict[str, Point], letter: str) -> str:
    numbers = [int(name[1:]) for name in ledger if name[0] == letter and name[1:].isdigit()]
    return f"{letter}{max(numbers, default=0) + 1}"


def _same(one: str, other: str) -> bool:
    return " ".join(one.split()).casefold() == " ".join(other.split()).casefold()
