"""Data model of a discussion: messages, ideas, the verdict, and points with ids that are raised and settled.

Flow and report share these structs. They are plain, so that viewing a run does not import heavy modules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

CRITERIA = ("feasibility", "innovation", "impact", "clarity", "completeness")
"""Criteria that the moderator scores, each from 0 to 10."""
DRAFT = "draft"
"""Origin of the idea that the direct draft recommends."""


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """One version of an idea, with the changes from the version before."""

    version: int
    title: str
    description: str
    round: int
    given_up: str = ""
    why: str = ""


class Idea(msgspec.Struct, kw_only=True):
    """One idea, from its first mention to its score. Title and description are those of its last version."""

    id: str
    title: str
    description: str
    category: str = ""
    round: int = 1
    refines: list[str] = []
    """The ideas that this one improves or joins."""
    criteria: dict[str, float] | None = None
    """The five scores. `None` means not scored."""
    score: float | None = None
    """Mean of the five scores, rounded to two decimals."""
    pros: list[str] = []
    cons: list[str] = []
    feedback: str = ""
    validated: bool = False
    """The moderator gave it valid scores."""
    version: int = 1
    history: list[Version] = []
    """All versions, including the first and the current one. Empty if nothing was revised."""
    origin: str = ""
    """`draft` for the idea of the direct draft; empty for the team's own ideas."""


class Message(msgspec.Struct, kw_only=True, rename={"sender": "from", "kind": "type"}):
    """One contribution, as later speakers read it. In JSON: `id, from, to, content, timestamp, type`."""

    id: str
    sender: str
    to: str
    content: str
    timestamp: str
    kind: str


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """A claim and where it comes from."""

    claim: str
    source: str = ""
    link: str = ""
    checked: bool = False
    """True if a tool returned the link. Otherwise it comes from the model's memory."""


class Risk(msgspec.Struct, frozen=True, kw_only=True):
    """A possible problem of an idea."""

    risk: str
    id: str = ""
    """`R1`, `R2`, …. Repeating an id updates the risk. Empty in logs of earlier releases."""
    idea: str | None = None
    """Id of the idea concerned. `None` means all ideas."""
    severity: str = "medium"
    mitigation: str = ""


class NextStep(msgspec.Struct, frozen=True, kw_only=True):
    """A step of the implementation."""

    step: str
    idea: str | None = None
    effort: str = ""


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """A risk or a question that is no longer open."""

    point: str
    how: str = ""


class Details(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Structured data of a contribution, besides its text."""

    evidence: list[Evidence] = []
    risks: list[Risk] = []
    open_questions: list[str] = []
    settled: list[Settled] = []
    ideas: list[str] = []
    """Ids of the ideas that it added."""
    revised: list[str] = []
    """Ids of the ideas that it changed."""
    own: int = -1
    """Length of the speaker's own words at the start of the content, in characters. The rest repeats the
    fields above as text. -1 means all of it."""
    next_steps: list[NextStep] = []
    sources: str = ""
    """Sources of the researcher: `model`, or the names of the tools that answered."""


class Spoken(msgspec.Struct, frozen=True):
    """A message with its round and details."""

    message: Message
    round: int
    """0 is before the first round; the last round + 1 is after it."""
    details: Details = Details()


class Recommendation(msgspec.Struct, frozen=True, kw_only=True):
    """The winner as the leader presents it to the user."""

    idea: str
    document: str = ""
    """The whole answer to the request, in Markdown."""
    why: str = ""
    next_steps: list[NextStep] = []


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The decision of the council."""

    idea: str
    """Id of the winner."""
    scored: bool
    below_threshold: bool = False
    leader_choice: str | None = None
    reasoning: str = ""
    """The leader's reason for its own choice."""
    chosen: bool = True
    """False if neither scores nor the leader decided; then the winner is the first idea."""
    recommendation: Recommendation | None = None
    """None if the leader wrote none, or wrote one for another idea."""
    tied: list[str] = []
    """Other ideas with the same score."""


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """The delivered text, after the editor's pass and the comparison with the direct draft."""

    document: str
    checked: bool = False
    """The editor has read the text, so `missing` is the editor's list."""
    missing: list[str] = []
    """Parts of the request that the editor found unanswered."""
    preferred: str = ""
    """`team`, `draft` or `equal`. Empty means not compared."""
    why: list[str] = []

    @property
    def comparison(self) -> dict[str, Any] | None:
        """The comparison as data for the output, or None if there was none."""
        return {"preferred": self.preferred, "why": self.why} if self.preferred else None

    @property
    def replaced(self) -> bool:
        """True if the direct draft is delivered instead of the team's text."""
        return self.preferred == DRAFT


class Discussion(msgspec.Struct, kw_only=True):
    """State of a discussion."""

    topic: str
    team: list[str] = []
    rounds: int = 1
    """Planned rounds."""
    rounds_held: int = 0
    """Completed rounds."""
    min_score: float = 0.0
    spoken: list[Spoken] = []
    ideas: list[Idea] = []
    verdict: Verdict | None = None
    warnings: list[str] = []
    page: str = ""
    """Artifact id of the ui_creator's page."""
    delivered: Delivery | None = None
    """None means that the recommendation is delivered as the leader wrote it."""
    baseline: dict[str, Any] | None = None
    """`n`, `preferred`, `why` and `tokens` of the comparison with the best of several direct drafts."""

    @property
    def messages(self) -> list[Message]:
        return [contribution.message for contribution in self.spoken]

    def texts(self, kind: str) -> list[str]:
        """Return the texts of all contributions of one kind, oldest first."""
        return [message.content for message in self.messages if message.kind == kind]

    @property
    def own_ideas(self) -> list[Idea]:
        """The team's ideas, without the one of the direct draft."""
        return [idea for idea in self.ideas if idea.origin != DRAFT]

    @property
    def draft_idea(self) -> Idea | None:
        return next((idea for idea in self.ideas if idea.origin == DRAFT), None)

    @property
    def final_idea(self) -> Idea | None:
        return None if self.verdict is None else self.idea(self.verdict.idea)

    @property
    def reason(self) -> str:
        """The leader's reason for the winner. Empty if the leader only argued for another idea."""
        verdict = self.verdict
        if verdict is None:
            return ""
        if verdict.recommendation is not None and verdict.recommendation.why:
            return verdict.recommendation.why
        return verdict.reasoning if verdict.leader_choice == verdict.idea else ""

    @property
    def preferred(self) -> Idea | None:
        """The idea that the leader preferred to the winner, or None."""
        verdict = self.verdict
        if verdict is None or verdict.leader_choice == verdict.idea:
            return None
        return self.idea(verdict.leader_choice)

    def idea(self, name: str | None) -> Idea | None:
        return next((idea for idea in self.ideas if idea.id == name), None)


def plain(value: Any) -> Any:
    """Convert a struct to JSON-compatible data."""
    return msgspec.to_builtins(value)


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
    for contribution in spoken:
        _take(ledger, contribution.details, contribution.round)
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
    match = re.match(r"\W*([RQ]\d+)\b", name.strip(), re.IGNORECASE)
    if match and match[1].upper() in known:
        return match[1].upper()
    return next((point.id for point in points if _same(point.text, name)), None)


def _settle(ledger: dict[str, Point], details: Details) -> None:
    for note in details.settled:
        if point := ledger.get(note.point):
            ledger[note.point] = msgspec.structs.replace(point, settled=True, how=note.how)


def _raise(ledger: dict[str, Point], name: str, risk: Risk, number: int) -> None:
    before = ledger.get(name)
    ledger[name] = Point(
        id=name,
        kind=RISK,
        text=risk.risk,
        severity=risk.severity,
        idea=risk.idea or (before.idea if before else None),
        mitigation=risk.mitigation or (before.mitigation if before else ""),
        round=before.round if before else number,
    )


def _risk_id(ledger: dict[str, Point], risk: Risk) -> str:
    """Return the risk's own id, the id of the same risk of the same idea, or the next free id."""
    if risk.id.startswith("R"):
        return risk.id
    same = [point.id for point in ledger.values() if point.idea == risk.idea and _same(point.text, risk.risk)]
    return same[0] if same else _next(ledger, "R")


def _question_id(ledger: dict[str, Point], question: str) -> str:
    same = [point.id for point in ledger.values() if point.kind == QUESTION and _same(point.text, question)]
    return same[0] if same else _next(ledger, "Q")


def _next(ledger: dict[str, Point], letter: str) -> str:
    numbers = [int(name[1:]) for name in ledger if name[0] == letter and name[1:].isdigit()]
    return f"{letter}{max(numbers, default=0) + 1}"


def _same(first: str, other: str) -> bool:
    return " ".join(first.split()).casefold() == " ".join(other.split()).casefold()
